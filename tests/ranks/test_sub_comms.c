// Sub-communicators: any members in any order, several at once, each with its own settings.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rank_test.h"

#define COUNT 1000
#define SETTINGS ENV("HCCL_BUFFSIZE=4", "HCCL_CONNECT_TIMEOUT=60")

static HcclResult create(HcclComm parent, uint32_t count, uint32_t *ranks, uint64_t id,
        uint32_t own, HcclCommConfig *config, HcclComm *out)
{
    HcclCommConfig plain;
    HcclCommConfigInit(&plain);
    return HcclCreateSubCommConfig(
            &parent, count, ranks, id, own, config != NULL ? config : &plain, out);
}

// Sums rank numbers of the parent over the sub-communicator.
static void sum_over(HcclComm comm, unsigned value, float expected, float *data, aclrtStream stream)
{
    for (int i = 0; i < COUNT; i++) {
        data[i] = (float)value;
    }
    must(HcclAllReduce(data, data, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    must(aclrtSynchronizeStream(stream));
    must_hold(data[COUNT - 1] == expected, "the sum is %g instead of %g", (double)data[COUNT - 1],
            (double)expected);
}

static float *buffer(void)
{
    void *memory;
    must(aclrtMalloc(&memory, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    return memory;
}

// ---- random groups ----

// A shuffled subset of 1 to n ranks; the same on all ranks.
static uint32_t draw_members(const struct rank *rank, uint64_t round, uint32_t *members)
{
    const uint32_t count = 1 + word(0, round, 0) % rank->count;
    for (uint32_t i = 0; i < rank->count; i++) {
        members[i] = i;
    }
    for (uint32_t i = 0; i < rank->count; i++) {
        const uint32_t other = word(1, round, i) % rank->count;
        const uint32_t kept = members[i];
        members[i] = members[other];
        members[other] = kept;
    }
    return count;
}

static void check_identity(HcclComm comm, uint32_t count, uint32_t own)
{
    uint32_t size;
    uint32_t id;
    must(HcclGetRankSize(comm, &size));
    must(HcclGetRankId(comm, &id));
    must_hold(
            size == count && id == own, "rank %u of %u instead of %u of %u", id, size, own, count);
}

static void run_random_groups(struct rank *rank)
{
    enum { LIVE = 3 };
    HcclComm live[LIVE] = { NULL };
    rank_open(rank);
    float *data = buffer();
    for (uint64_t round = 0; round < 24; round++) {
        uint32_t members[RANKS_MAX];
        const uint32_t count = draw_members(rank, round, members);
        uint32_t own = UINT32_MAX;
        float sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            own = members[i] == rank->id ? i : own;
            sum += (float)members[i];
        }
        HcclComm *slot = &live[round % LIVE];
        must(HcclCommDestroy(*slot)); // while others still use theirs
        *slot = NULL;
        if (own == UINT32_MAX) {
            must(create(rank->comm, 0, NULL, 0xFFFFFFFF, 0, NULL, slot));
            must_hold(*slot == NULL, "a rank that is no member got a communicator");
            continue;
        }
        must(create(rank->comm, count, members, round, own, NULL, slot));
        check_identity(*slot, count, own);
        sum_over(*slot, rank->id, sum, data, rank->stream);
    }
    for (int i = 0; i < LIVE; i++) {
        must(HcclCommDestroy(live[i]));
    }
    must(aclrtFree(data));
    rank_close(rank);
}

static void run_both_modes(rank_fn *fn, unsigned ranks, const char *what)
{
    for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
        const struct rank_job job = {
            .ranks = ranks, .mode = (enum rank_mode)mode, .fn = fn, .env = SETTINGS
        };
        assert_job(&job, "%s, mode %d", what, mode);
    }
}

Test(sub_comms, random_groups_in_any_order, .timeout = 240)
{
    run_both_modes(run_random_groups, 5, "random groups");
}

// ---- the same id, names, nesting, the parent's end ----

static void run_lives(struct rank *rank)
{
    uint32_t pair[2] = { rank->id / 2 * 2 + 1, rank->id / 2 * 2 };
    uint32_t all[4] = { 3, 2, 1, 0 };
    const uint32_t own = 1 - rank->id % 2;
    HcclComm reversed = NULL;
    HcclComm sub = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    char parent[COMM_NAME_MAX_LENGTH];
    char expected[2 * COMM_NAME_MAX_LENGTH];
    rank_open(rank);
    float *data = buffer();
    must(HcclGetCommName(rank->comm, parent));
    for (int round = 0; round < 3; round++) { // one id for both pairs, again and again
        must(create(rank->comm, 2, pair, 5, own, NULL, &sub));
        must(HcclGetCommName(sub, name));
        snprintf(expected, sizeof(expected), "%s_sub_5", parent);
        must_hold(strcmp(name, expected) == 0, "it is called %s", name);
        sum_over(sub, 1, 2.0f, data, rank->stream);
        must(HcclCommDestroy(sub));
    }
    must(create(rank->comm, 4, all, 6, 3 - rank->id, NULL, &reversed));
    must(create(reversed, 2, pair, 6, own, NULL, &sub) == HCCL_E_PARA ? 0 : 1);
    uint32_t nested[2] = { 3 - pair[0], 3 - pair[1] };
    must(create(reversed, 2, nested, 6, own, NULL, &sub));
    must(HcclCommDestroy(rank->comm));
    must(HcclCommDestroy(reversed));
    sum_over(sub, rank->id, (float)(pair[0] + pair[1]), data, rank->stream);
    must(HcclCommDestroy(sub));
    must(aclrtFree(data));
}

Test(sub_comms, live_and_end_by_themselves, .timeout = 120)
{
    run_both_modes(run_lives, 4, "lives");
}

// ---- settings of their own; work at once ----

static void run_settings(struct rank *rank)
{
    static const char *const algorithms[] = { "", "level0:ring", "level0:H-D_R" };
    uint32_t members[4] = { 2, 0, 3, 1 };
    uint32_t own = 0;
    HcclComm sub[3];
    aclrtStream stream[3];
    float *data[3];
    while (members[own] != rank->id) {
        own++;
    }
    rank_open(rank);
    for (uint32_t i = 0; i < 3; i++) {
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        config.hcclBufferSize = i + 1;
        config.hcclOpExpansionMode = i == 0 ? 3 : 1; // AIV, HOST
        config.hcclDeterministic = i;
        snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "%s", algorithms[i]);
        snprintf(config.hcclCommName, sizeof(config.hcclCommName), "sub%u", i);
        must(create(rank->comm, 4, members, i, own, &config, &sub[i]));
        must(aclrtCreateStream(&stream[i]));
        data[i] = buffer();
        HcclComm found = NULL;
        must(HcclCommGetHandleWithName(config.hcclCommName, &found));
        must_hold(found == sub[i], "another communicator has the name");
    }
    for (int round = 0; round < 20; round++) {
        for (uint32_t k = 0; k < 3; k++) { // in another order on every rank: they are independent
            const uint32_t i = (k + rank->id) % 3;
            must(HcclAllReduce(data[i], data[i], COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                    sub[i], stream[i]));
        }
        must(HcclBarrier(rank->comm, rank->stream));
    }
    for (uint32_t i = 0; i < 3; i++) {
        must(aclrtSynchronizeStream(stream[i]));
        must(HcclCommDestroy(sub[(i + rank->id) % 3]));
    }
    must(aclrtSynchronizeStream(rank->stream));
    rank_close(rank);
}

Test(sub_comms, have_settings_of_their_own_and_never_block_each_other, .timeout = 120)
{
    run_both_modes(run_settings, 4, "settings");
}

// ---- bad calls ----

static void run_bad(struct rank *rank)
{
    uint32_t members[3] = { 1, 0, 1 };
    uint32_t pair[2] = { 1, 0 };
    uint32_t far[2] = { 0, 2 };
    HcclComm sub = NULL;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    rank_open(rank);
    must_be(HcclCreateSubCommConfig(NULL, 2, pair, 1, 0, &config, &sub), HCCL_E_PTR);
    must_be(HcclCreateSubCommConfig(&rank->comm, 2, pair, 1, 0, NULL, &sub), HCCL_E_PTR);
    must_be(HcclCreateSubCommConfig(&rank->comm, 2, pair, 1, 0, &config, NULL), HCCL_E_PTR);
    must_be(create(rank->comm, 2, NULL, 1, 0, NULL, &sub), HCCL_E_PARA);
    must_be(create(rank->comm, 2, pair, 0xFFFFFFFF, 0, NULL, &sub), HCCL_E_PARA);
    must_be(create(rank->comm, 0, pair, 1, 0, NULL, &sub), HCCL_E_PARA);
    must_be(create(rank->comm, 2, pair, 1, 2, NULL, &sub), HCCL_E_PARA);
    must_be(create(rank->comm, 3, members, 1, 0, NULL, &sub), HCCL_E_PARA);
    must_be(create(rank->comm, 2, far, 1, 0, NULL, &sub), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "rankIds[1] is 2") != NULL, "%s", rank_error_text());
    must_be(create(rank->comm, 2, pair, 1, rank->id, NULL, &sub), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "but this is rank") != NULL, "%s", rank_error_text());
    config.hcclBufferSize = 0;
    must_be(create(rank->comm, 2, pair, 1, 1 - rank->id, &config, &sub), HCCL_E_PARA);
    must_hold(sub == NULL, "a communicator came out");
    rank_close(rank);
}

Test(sub_comms, refuse_bad_arguments, .timeout = 60)
{
    const struct rank_job job = {
        .ranks = 2, .mode = RANK_PROCESSES, .fn = run_bad, .env = SETTINGS
    };
    assert_job(&job, "bad arguments");
}

// ---- members that disagree, or never come ----

static void run_apart(struct rank *rank)
{
    uint32_t members[3] = { 3, 1, 2 };
    uint32_t others[3] = { 3, 2, 1 };
    HcclComm sub = NULL;
    rank_open(rank);
    if (rank->id != 0) {
        const uint32_t own = rank->id == 3 ? 0 : rank->id;
        must_be(create(rank->comm, 3, rank->id == 3 ? others : members, 1, own, NULL, &sub),
                HCCL_E_PARA);
        must_hold(strstr(rank_error_text(), "rankIds differs") != NULL, "%s", rank_error_text());
    }
    rank_barrier(rank);
    if (rank->id != 0 && rank->id != 2) { // rank 2 never calls
        must_be(create(rank->comm, 3, members, 2, rank->id == 3 ? 0 : 1, NULL, &sub),
                HCCL_E_TIMEOUT);
        must_hold(
                strstr(rank_error_text(), "rank 2 (rank 2 of \"") != NULL, "%s", rank_error_text());
    }
    rank_barrier(rank);
    if (rank->id == 2) { // the root never calls
        must_be(create(rank->comm, 3, members, 3, 2, NULL, &sub), HCCL_E_TIMEOUT);
        must_hold(
                strstr(rank_error_text(), "rank 0 (rank 3 of \"") != NULL, "%s", rank_error_text());
    }
    rank_barrier(rank);
    rank_close(rank);
}

Test(sub_comms, say_who_is_missing_and_what_differs, .timeout = 60)
{
    const struct rank_job job = { .ranks = 4,
        .mode = RANK_PROCESSES,
        .fn = run_apart,
        .env = ENV("HCCL_CONNECT_TIMEOUT=3", "HCCL_BUFFSIZE=4") };
    assert_job(&job, "apart");
}

// ---- from several threads at once ----

struct maker {
    HcclComm parent;
    int32_t device;
    uint32_t own;
    uint64_t id;
    HcclComm sub;
    HcclResult result;
};

static void *make_one(void *arg)
{
    struct maker *maker = arg;
    uint32_t members[2] = { 1, 0 };
    aclrtSetDevice(maker->device);
    maker->result = create(maker->parent, 2, members, maker->id, 1 - maker->own, NULL, &maker->sub);
    return NULL;
}

static void run_makers(struct rank *rank)
{
    enum { MAKERS = 4 };
    struct maker maker[MAKERS];
    pthread_t thread[MAKERS];
    rank_open(rank);
    float *data = buffer();
    for (unsigned i = 0; i < MAKERS; i++) {
        maker[i] = (struct maker){
            .parent = rank->comm, .device = rank->device, .own = rank->id, .id = i
        };
        must(pthread_create(&thread[i], NULL, make_one, &maker[i]));
    }
    for (unsigned i = 0; i < MAKERS; i++) {
        must(pthread_join(thread[i], NULL));
    }
    for (unsigned i = 0; i < MAKERS; i++) {
        must(maker[i].result);
        sum_over(maker[i].sub, 1, 2.0f, data, rank->stream);
        must(HcclCommDestroy(maker[i].sub));
    }
    must(aclrtFree(data));
    rank_close(rank);
}

Test(sub_comms, are_made_by_several_threads_at_once, .timeout = 120)
{
    run_both_modes(run_makers, 2, "makers");
}
