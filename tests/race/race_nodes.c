// Ranks that are threads of one process and yet of several nodes, by a rank table that puts them on
// two servers: their channels are TCP, while another thread asks how they are. Communicators come
// and go, some of them by ranks that disagree.

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>
#include <hccl/hccl_rank_graph.h>

#include "race/race_check.h"

#define RANKS 3
#define ROUNDS 6
#define REPLAYS 10
#define WORDS 100000

static HcclComm comms[RANKS];
static char table[64];
static pthread_barrier_t together; // ranks, watcher

// Ranks 0 and 1 are on one server, rank 2 on another.
static bool write_table(void)
{
    snprintf(table, sizeof(table), "/tmp/rp_race_nodes_%d", getpid());
    FILE *file = fopen(table, "we");
    if (file == NULL) {
        return false;
    }
    fprintf(file,
            "{\"status\":\"completed\",\"version\":\"1.0\",\"job\":\"%d\",\"server_count\":\"2\","
            "\"server_list\":[",
            getpid());
    for (int r = 0; r < RANKS; r++) {
        fprintf(file, "%s", r == 1 ? "," : r == 2 ? "]}," : "");
        if (r != 1) {
            fprintf(file, "{\"server_id\":\"127.0.0.%d\",\"device\":[", r + 1);
        }
        fprintf(file,
                "{\"device_id\":\"%d\",\"device_ip\":\"127.0.1.%d\",\"device_port\":\"%d\","
                "\"rank_id\":\"%d\"}",
                r, r + 1, 20000 + getpid() % 20000, r);
    }
    fprintf(file, "]}]}\n");
    return fclose(file) == 0;
}

static bool run_calls(HcclComm comm, aclrtStream stream, uint32_t *data)
{
    bool ok = true;
    for (uint64_t count = 1; ok && count <= WORDS; count *= 10) {
        for (uint64_t i = 0; i < count; i++) {
            data[i] = (uint32_t)i;
        }
        ok = check(HcclAllReduce(
                     data, data, count, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream)) &&
             check(HcclBarrier(comm, stream)) && check(aclrtSynchronizeStream(stream)) &&
             check(data[count - 1] != RANKS * (uint32_t)(count - 1));
    }
    return ok;
}

static bool run_graph(HcclComm comm, aclrtStream stream, uint32_t *data)
{
    aclmdlRI graph = NULL;
    bool ok = check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED)) &&
              check(HcclAllReduce(
                      data, data, 999, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_MAX, comm, stream)) &&
              check(HcclBroadcast(data, 999, HCCL_DATA_TYPE_UINT32, 2, comm, stream)) &&
              check(HcclReduce(
                      data, data, 999, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, 1, comm, stream)) &&
              check(HcclAlltoAll(data, 450, HCCL_DATA_TYPE_UINT32, data + 2000, 450,
                      HCCL_DATA_TYPE_UINT32, comm, stream)) &&
              check(aclmdlRICaptureEnd(stream, &graph));
    for (int i = 0; ok && i < REPLAYS; i++) {
        ok = check(aclmdlRIExecuteAsync(graph, stream));
    }
    ok = ok && check(aclrtSynchronizeStream(stream));
    return graph != NULL && check(aclmdlRIDestroy(graph)) && ok;
}

// Rank 2 calls something else: all are told.
static bool run_mismatch(HcclComm comm, aclrtStream stream, uint32_t *data, uint32_t rank)
{
    HcclResult error = HCCL_SUCCESS;
    const HcclResult issued = HcclAllReduce(
            data, data, rank == 2 ? 70 : 71, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm, stream);
    const aclError ended =
            issued == HCCL_SUCCESS ? aclrtSynchronizeStream(stream) : (aclError)issued;
    return check(ended == ACL_SUCCESS) && check(HcclGetCommAsyncError(comm, &error)) &&
           check(error != HCCL_E_PARA);
}

static void *rank_main(void *arg)
{
    const uint32_t rank = *(uint32_t *)arg;
    uint32_t *data = NULL;
    aclrtStream stream = NULL;
    bool ok = check(aclrtSetDevice((int32_t)rank)) && check(aclrtCreateStream(&stream)) &&
              check(aclrtMalloc((void **)&data, WORDS * sizeof(*data), ACL_MEM_MALLOC_HUGE_FIRST));
    for (int round = 0; round < ROUNDS; round++) {
        ok = ok && check(HcclCommInitClusterInfo(table, rank, &comms[rank]));
        pthread_barrier_wait(&together); // the communicators are there
        ok = ok && run_calls(comms[rank], stream, data) && run_graph(comms[rank], stream, data);
        pthread_barrier_wait(&together); // the watcher has left off
        if (ok && round % 2 == 1) {
            ok = run_mismatch(comms[rank], stream, data, rank);
        }
        ok = ok && check(HcclCommDestroy(comms[rank]));
    }
    if (ok) {
        check(aclrtFree(data));
        check(aclrtDestroyStream(stream));
    }
    return NULL;
}

static void *watch(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&together);
        HcclComm comm = comms[i % RANKS];
        uint32_t size = 0, nodes = 0, *sizes = NULL;
        check(aclrtSetDevice((int32_t)(i % RANKS)));
        for (int k = 0; k < 200 && !atomic_load(&failed); k++) {
            HcclResult error = HCCL_SUCCESS;
            check(HcclGetCommAsyncError(comm, &error));
            check(error);
            check(HcclGetRankSize(comm, &size));
            check(size != RANKS);
            check(HcclRankGraphGetInstSizeListByLayer(comm, 0, &sizes, &nodes));
            check(nodes != 2);
        }
        pthread_barrier_wait(&together);
    }
    return NULL;
}

static int run_all(void)
{
    pthread_t ranks[RANKS], watcher;
    uint32_t id[RANKS];
    if (!write_table()) {
        return 1;
    }
    pthread_barrier_init(&together, NULL, RANKS + 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        id[r] = r;
        pthread_create(&ranks[r], NULL, rank_main, &id[r]);
    }
    pthread_create(&watcher, NULL, watch, NULL);
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(ranks[r], NULL);
    }
    pthread_join(watcher, NULL);
    pthread_barrier_destroy(&together);
    unlink(table);
    return atomic_load(&failed) ? 1 : 0;
}

// The environment is read once a process, so each form has its own.
static bool run_form(const char *progress, const char *algorithm)
{
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
        setenv("HCCL_BUFFSIZE", "1", 1);
        setenv("REPRISE_PROGRESS", progress, 1);
        setenv("HCCL_ALGO", algorithm, 1);
        exit(run_all());
    }
    int status = -1;
    const bool ok = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    if (!ok) {
        fprintf(stderr, "%s %s: status 0x%x\n", progress, algorithm, (unsigned)status);
    }
    return ok;
}

int main(void)
{
    bool ok = run_form("auto", "level0:NA");
    ok = run_form("thread", "level0:ring") && ok;
    return ok ? 0 : 1;
}
