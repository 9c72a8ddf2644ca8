#include "support/boot.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "transport/arena.h"

#define PATTERN_BYTES 4096
#define PATTERN(rank) (UINT64_C(0x5265707269736500) + (rank))

static void sleep_ms(uint32_t ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
    nanosleep(&pause, NULL);
}

struct rp_comm_settings boot_settings(uint32_t timeout_s)
{
    return (struct rp_comm_settings){
        .buffer_bytes = 1 << 20,
        .expansion_env = -1,
        .exec_timeout_ns = 60 * RP_NS_PER_S,
        .aiv_timeout_ns = 60 * RP_NS_PER_S,
        .connect_timeout_s = timeout_s,
        .tuning = { .tiny_bytes = 32, .small_bytes = 8192 },
    };
}

bool boot_rank_open(struct boot_rank *rank, int32_t device_id)
{
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    rank->request.device_id = device_id;
    return rp_loop_create(&rank->loop) == RP_OK &&
           rp_arena_create(device_id, &rank->request.arena) == RP_OK;
}

void boot_drive(struct rp_loop *loop)
{
    struct pollfd poll_fd = { .fd = rp_loop_fd(loop), .events = POLLIN };
    if (!rp_loop_step(loop)) {
        int timeout_ms = rp_loop_timeout_ms(loop);
        poll(&poll_fd, 1, timeout_ms == 0 ? 0 : 1);
    }
}

// Says who it is, in its arena and in its part of the segment.
static void write_pattern(struct boot_rank *rank)
{
    void *block;
    uint64_t pattern = PATTERN(rank->comm->rank);
    rank->outcome->zero_copy = rank->comm->lines.zero_copy;
    rank->outcome->nodes = rank->comm->nodes;
    for (uint32_t i = 0; i < rank->comm->size && i < BOOT_RANKS_MAX; i++) {
        rank->outcome->node[i] = rank->comm->member[i].node;
    }
    rp_text_copy(rank->outcome->name, sizeof(rank->outcome->name), rank->comm->name);
    if (rp_arena_alloc(rank->request.arena, PATTERN_BYTES, 64, RP_ARENA_DEVICE, &block) != RP_OK ||
            !rp_arena_offset(
                    rank->request.arena, block, PATTERN_BYTES, &rank->outcome->pattern_off)) {
        rank->outcome->status = RP_ENOMEM;
        return;
    }
    memcpy(block, &pattern, sizeof(pattern));
    memcpy(rank->comm->lines.peer[rank->comm->rank].slot[0], &pattern, sizeof(pattern));
}

// Drives the loop until the join has ended.
static rp_status drive_join(struct boot_rank *rank)
{
    uint32_t steps = 0;
    for (;;) {
        rp_status st = rp_join_poll(rank->join, &rank->comm);
        if (st != RP_AGAIN) {
            return st;
        }
        if (rank->steps_max == 0 && rank->free_after == 0) {
            boot_drive(rank->loop);
            continue;
        }
        steps += rp_loop_step(rank->loop) ? 1 : 0;
        if (steps != 0 && steps == rank->steps_max) {
            kill(getpid(), SIGKILL);
        }
        if (steps != 0 && steps == rank->free_after) {
            rp_join_free(rank->join);
            rank->join = NULL;
            return RP_EDEVABORT;
        }
    }
}

void boot_rank_join(struct boot_rank *rank)
{
    struct boot_outcome *outcome = rank->outcome;
    sleep_ms(rank->delay_ms);
    uint64_t begin_ns = rp_now_ns();
    (void)rp_error_take();
    rp_status st = rp_join_start(rank->loop, &rank->request, &rank->join);
    if (st == RP_OK) {
        st = drive_join(rank);
    }
    outcome->elapsed_ns = rp_now_ns() - begin_ns;
    outcome->status = st;
    if (st != RP_OK) {
        const char *text = rp_error_take();
        rp_text_copy(outcome->sentence, sizeof(outcome->sentence), text == NULL ? "" : text);
        return;
    }
    write_pattern(rank);
}

const char *boot_rank_check(const struct boot_rank *rank, const struct boot_outcome *outcome)
{
    const struct rp_comm *comm = rank->comm;
    for (uint32_t i = 0; i < comm->size; i++) {
        const struct rp_peer *peer = &comm->lines.peer[i];
        uint64_t pattern = 0;
        if (comm->member[i].node != comm->member[comm->rank].node) {
            if (comm->channel[i] == NULL || peer->block == NULL || peer->arena != NULL) {
                return "a rank of another node has no channel, or an arena";
            }
            continue;
        }
        memcpy(&pattern, peer->slot[0], sizeof(pattern));
        if (pattern != PATTERN(i)) {
            return "a rank's slot is not the one that the rank wrote";
        }
        if (!comm->lines.zero_copy) {
            continue;
        }
        memcpy(&pattern, peer->arena + outcome[i].pattern_off, sizeof(pattern));
        if (pattern != PATTERN(i)) {
            return "a rank's arena is not the one that the rank wrote";
        }
    }
    return "";
}

void boot_rank_close(struct boot_rank *rank)
{
    rp_join_free(rank->join);
    if (rank->comm != NULL) {
        rp_comm_retire(rank->comm);
    }
    rp_loop_destroy(rank->loop);
    rp_arena_destroy(rank->request.arena);
    rank->join = NULL;
    rank->comm = NULL;
    rank->loop = NULL;
    rank->request.arena = NULL;
}

static void must(bool good, const char *what)
{
    if (!good) {
        const char *text = rp_error_take();
        fprintf(stderr, "%s: %s", what, text == NULL ? "failed\n" : text);
        abort();
    }
}

void boot_group_open(struct boot_group *group, uint32_t size, uint32_t timeout_s)
{
    memset(group, 0, sizeof(*group));
    group->size = size;
    for (uint32_t i = 0; i < size; i++) {
        struct boot_rank *rank = &group->rank[i];
        must(boot_rank_open(rank, (int32_t)i), "opening a rank");
        rank->outcome = &group->outcome[i];
        rank->outcome->status = RP_AGAIN;
        rank->request.root_info = group->info;
        rank->request.size = size;
        rank->request.rank = i;
        rank->request.settings = boot_settings(timeout_s);
    }
    must(rp_bootstrap_root(group->rank[0].loop, 0, group->info) == RP_OK, "opening the root");
}

static bool all_succeeded(const struct boot_group *group)
{
    for (uint32_t i = 0; i < group->size; i++) {
        if (group->outcome[i].status != RP_OK) {
            return false;
        }
    }
    return true;
}

struct boot_thread {
    struct boot_group *group;
    uint32_t index;
};

// Drives the loop until `counter` says that all are as far: the root may live on it.
static void drive_until_all(
        struct boot_group *group, struct boot_rank *rank, _Atomic uint32_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_acq_rel);
    while (atomic_load_explicit(counter, memory_order_acquire) < group->present) {
        boot_drive(rank->loop);
    }
}

static void *run_rank(void *arg)
{
    struct boot_thread thread = *(struct boot_thread *)arg;
    struct boot_group *group = thread.group;
    struct boot_rank *rank = &group->rank[thread.index];
    free(arg);
    group->check[thread.index] = "";
    boot_rank_join(rank);
    drive_until_all(group, rank, &group->ended);
    if (all_succeeded(group)) {
        group->check[thread.index] = boot_rank_check(rank, group->outcome);
    }
    drive_until_all(group, rank, &group->checked);
    return NULL;
}

void boot_group_start(struct boot_group *group)
{
    group->present = 0;
    for (uint32_t i = 0; i < group->size; i++) {
        group->present += group->absent[i] ? 0 : 1;
    }
    for (uint32_t i = 0; i < group->size; i++) {
        if (group->absent[i]) {
            continue;
        }
        struct boot_thread *arg = malloc(sizeof(*arg));
        must(arg != NULL, "malloc");
        *arg = (struct boot_thread){ .group = group, .index = i };
        must(pthread_create(&group->thread[i], NULL, run_rank, arg) == 0, "pthread_create");
    }
}

void boot_group_wait(struct boot_group *group)
{
    for (uint32_t i = 0; i < group->size; i++) {
        if (!group->absent[i]) {
            pthread_join(group->thread[i], NULL);
        }
    }
}

void boot_group_run(struct boot_group *group)
{
    boot_group_start(group);
    boot_group_wait(group);
}

void boot_group_close(struct boot_group *group)
{
    for (uint32_t i = 0; i < group->size; i++) {
        boot_rank_close(&group->rank[i]);
    }
}

bool boot_group_all(const struct boot_group *group, rp_status status, const char *text)
{
    bool good = true;
    for (uint32_t i = 0; i < group->size; i++) {
        const struct boot_outcome *outcome = &group->outcome[i];
        if (group->absent[i] ||
                (outcome->status == status && strstr(outcome->sentence, text) != NULL &&
                        (group->check[i] == NULL || group->check[i][0] == '\0'))) {
            continue;
        }
        good = false;
        fprintf(stderr, "rank %u: %s after %.3f s: %s %s\n", i, rp_status_name(outcome->status),
                (double)outcome->elapsed_ns / 1e9, outcome->sentence, group->check[i]);
    }
    return good;
}
