// World communicators from rank tables: threads and processes meet by the file alone.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/rank_test.h"

#define RANKS 4
#define COUNT 100

// Its own content for every test, so that suites which run at once do not meet.
struct table {
    char path[64];
};

static struct table table_make(const char *name, uint32_t servers, uint32_t salt)
{
    struct table table;
    snprintf(table.path, sizeof(table.path), "/tmp/rp_table_%s_%d_%u", name, getpid(), salt);
    FILE *file = fopen(table.path, "we");
    cr_assert(ne(ptr, file, NULL));
    fprintf(file,
            "{\"status\":\"completed\",\"version\":\"1.0\",\"job\":\"%d.%u\","
            "\"server_count\":\"%u\",\"server_list\":[",
            getpid(), salt, servers);
    for (unsigned r = 0; r < RANKS; r++) {
        const unsigned server = r * servers / RANKS;
        const bool first = r == 0 || (r - 1) * servers / RANKS != server;
        if (first) {
            fprintf(file, "%s{\"server_id\":\"127.0.0.%u\",\"device\":[", r == 0 ? "" : "]},",
                    server + 1);
        }
        fprintf(file,
                "%s{\"device_id\":\"%u\",\"device_ip\":\"127.0.1.%u\",\"device_port\":\"%u\","
                "\"rank_id\":\"%u\"}",
                first ? "" : ",", r, r + 1, 20000 + (unsigned)getpid() % 20000, r);
    }
    fprintf(file, "]}]}\n");
    cr_assert(eq(int, fclose(file), 0));
    return table;
}

static void sum_ranks(struct rank *rank, HcclComm comm)
{
    void *memory;
    must(aclrtMalloc(&memory, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    float *data = memory;
    for (int i = 0; i < COUNT; i++) {
        data[i] = (float)(rank->id + 1);
    }
    must(HcclAllReduce(
            data, data, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(data[COUNT - 1] == 10.0f, "the sum is %g", (double)data[COUNT - 1]);
    must(aclrtFree(memory));
}

static void take_device(struct rank *rank)
{
    must(aclrtSetDevice((int32_t)rank->id));
    must(aclrtCreateStream(&rank->stream));
}

// Made, used and destroyed several times: each attempt meets its own ranks only.
static void run_worlds(struct rank *rank)
{
    const struct table *table = rank->arg;
    take_device(rank);
    for (int round = 0; round < 5; round++) {
        HcclComm comm = NULL;
        HcclComm second = NULL;
        char name[COMM_NAME_MAX_LENGTH];
        uint32_t size;
        must(HcclCommInitClusterInfo(table->path, rank->id, &comm));
        must(HcclGetRankSize(comm, &size));
        must(HcclGetCommName(comm, name));
        must_hold(size == RANKS, "%u ranks", size);
        must_hold(strcmp(name, "hccl_world_group") == 0, "it is called %s", name);
        must_be(HcclCommInitClusterInfo(table->path, rank->id, &second), HCCL_E_UNAVAIL);
        must_hold(strstr(rank_error_text(), "one at a time") != NULL, "not said why");
        sum_ranks(rank, comm);
        must(HcclCommDestroy(comm));
    }
}

static void run_job(const char *name, enum rank_mode mode, uint32_t servers)
{
    const struct table table = table_make(name, servers, 0);
    const struct rank_job job = { .ranks = RANKS,
        .mode = mode,
        .fn = run_worlds,
        .arg = &table,
        .env = ENV("HCCL_BUFFSIZE=4", "HCCL_CONNECT_TIMEOUT=60") };
    assert_job(&job, "%s", name);
    unlink(table.path);
}

Test(cluster_info, threads_meet_by_the_file, .timeout = 120)
{
    run_job("threads", RANK_THREADS, 1);
}

Test(cluster_info, processes_meet_by_the_file, .timeout = 120)
{
    run_job("processes", RANK_PROCESSES, 1);
}

// device_ip is in 127.0.1.0/24, which the loopback interface has like all of 127.0.0.0/8.
Test(cluster_info, servers_of_one_machine_meet_over_tcp, .timeout = 120)
{
    run_job("servers", RANK_PROCESSES, 2);
    run_job("mixed", RANK_THREADS, 2);
}

// ---- what goes wrong ----

static void run_bad_calls(struct rank *rank)
{
    const struct table *table = rank->arg;
    HcclComm comm = NULL;
    HcclCommConfig config;
    char long_path[5000];
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    HcclCommConfigInit(&config);
    take_device(rank);
    must_be(HcclCommInitClusterInfo(NULL, 0, &comm), HCCL_E_PTR);
    must_be(HcclCommInitClusterInfo(table->path, 0, NULL), HCCL_E_PTR);
    must_be(HcclCommInitClusterInfoConfig(table->path, 0, NULL, &comm), HCCL_E_PTR);
    must_be(HcclCommInitClusterInfo(long_path, 0, &comm), HCCL_E_PARA);
    must_be(HcclCommInitClusterInfo("/no/such/table", 0, &comm), HCCL_E_INTERNAL);
    must_be(HcclCommInitClusterInfo(table->path, RANKS, &comm), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "has the ranks 0 to 3") != NULL, "not said why");
    must_be(HcclCommInitClusterInfo(table->path, 2, &comm), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "rank 2 is on device 2 by the rank table") != NULL,
            "not said why");
    config.hcclBufferSize = 0;
    must_be(HcclCommInitClusterInfoConfig(table->path, 0, &config, &comm), HCCL_E_PARA);
    must_hold(comm == NULL, "a communicator came out");
}

Test(cluster_info, refuses_bad_arguments, .timeout = 60)
{
    const struct table table = table_make("bad", 1, 0);
    const struct rank_job job = {
        .ranks = 1, .mode = RANK_PROCESSES, .fn = run_bad_calls, .arg = &table
    };
    assert_job(&job, "bad arguments");
    unlink(table.path);
}

// Rank 3 has another file than the others: nobody meets it, and both sides are told.
static void run_other_file(struct rank *rank)
{
    const struct table *tables = rank->arg;
    HcclComm comm = NULL;
    take_device(rank);
    must_be(HcclCommInitClusterInfo(tables[rank->id == 3].path, rank->id, &comm), HCCL_E_TIMEOUT);
    const char *why = rank_error_text();
    const char *what = rank->id == 3 ? "rank 0 at the local socket" : "rank 3 never arrived";
    must_hold(strstr(why, what) != NULL && strstr(why, "the same rank table") != NULL, "%s", why);
}

Test(cluster_info, ranks_with_different_files_do_not_meet, .timeout = 60)
{
    const struct table tables[2] = { table_make("one", 1, 0), table_make("two", 1, 1) };
    const struct rank_job job = { .ranks = RANKS,
        .mode = RANK_PROCESSES,
        .fn = run_other_file,
        .arg = tables,
        .env = ENV("HCCL_CONNECT_TIMEOUT=3") };
    assert_job(&job, "another file");
    unlink(tables[0].path);
    unlink(tables[1].path);
}

// A failed attempt is over when its ranks come again: rank 2 is missing in the first round.
static void run_again(struct rank *rank)
{
    const struct table *table = rank->arg;
    HcclComm comm = NULL;
    take_device(rank);
    if (rank->id != 2) {
        must_be(HcclCommInitClusterInfo(table->path, rank->id, &comm), HCCL_E_TIMEOUT);
        must_hold(
                strstr(rank_error_text(), "rank 2 never arrived") != NULL, "%s", rank_error_text());
    }
    rank_barrier(rank);
    rank_sleep_us(rank->id == 0 ? 500000 : 0); // the others are there before the root
    must(HcclCommInitClusterInfo(table->path, rank->id, &comm));
    sum_ranks(rank, comm);
    must(HcclCommDestroy(comm));
}

Test(cluster_info, another_attempt_meets_after_one_that_failed, .timeout = 60)
{
    const struct table table = table_make("again", 1, 0);
    const struct rank_job job = { .ranks = RANKS,
        .mode = RANK_PROCESSES,
        .fn = run_again,
        .arg = &table,
        .env = ENV("HCCL_CONNECT_TIMEOUT=3", "HCCL_BUFFSIZE=4") };
    assert_job(&job, "again");
    unlink(table.path);
}
