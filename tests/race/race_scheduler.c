// Two devices under fire: on each a thread that reduces with the other device (eager calls,
// replays, host functions in between), two that hand a buffer to and fro between their streams by
// events, one that serves callbacks, and one that looks, enters the baton and waits for everything.
// All data is plain memory, so ThreadSanitizer checks that stream order, events, calls and the
// lines order it. Once for each way of progress.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "replay/callback.h"
#include "support/local_ranks.h"

#define ROUNDS 150
#define WAIT_S 60
#define BYTES 20000

static struct local_ranks ranks;
static _Atomic int faults;
static _Atomic bool over; // observers end

static void fault(const char *what, uint32_t device, int round)
{
    const char *why = rp_error_take();
    fprintf(stderr, "device %u, round %d: %s: %s\n", device, round, what, why != NULL ? why : "");
    atomic_fetch_add(&faults, 1);
}

static void add_one(void *number)
{
    ++*(float *)number;
}

// ---- collectives ----

static struct rp_program *reduce_program(struct local_rank *rank, float *data)
{
    struct rp_program *program = rp_program_create(
            &(struct rp_program_size){ .lanes = 1, .insns = 3, .ops = 2, .comms = 1 });
    program->id = 1;
    program->lane_first[1] = 3;
    program->comm[0] = rank->comm;
    rp_comm_ref(rank->comm);
    program->comm_ops[0] = 2;
    program->insn[0].kind = RP_INSN_COLLECTIVE;
    program->insn[1].kind = RP_INSN_HOST_FN;
    program->insn[1].u.call.fn = add_one;
    program->insn[1].u.call.arg = data;
    program->insn[2].kind = RP_INSN_COLLECTIVE;
    program->insn[2].index = 1;
    program->op[0] = local_all_reduce(rank, data, data, 4);
    program->op[1] = local_all_reduce(rank, data, data, 4);
    return program;
}

static void *reduce(void *arg)
{
    struct local_rank *rank = arg;
    const uint32_t r = rank->comm->rank;
    struct rp_stream *stream = local_stream(rank);
    float *data = local_alloc(rank, 64);
    float *large = local_alloc(rank, 100000);
    struct rp_program *program = reduce_program(rank, data);
    const struct rp_op eager = local_all_reduce(rank, data, data, 4);
    const struct rp_op zero_copy = local_all_reduce(rank, large, large, 25000);
    for (int round = 0; round < ROUNDS; round++) {
        data[0] = 1;
        large[24999] = (float)r;
        local_run_op(stream, &eager);                     // 2
        local_host_fn(stream, add_one, data);             // 3
        if (rp_stream_replay(stream, program) != RP_OK) { // 6, 7, 14
            fault("replay", r, round);
        }
        local_run_op(stream, &zero_copy);
        if (local_drained(stream, WAIT_S) != RP_OK || data[0] != 14 || large[24999] != 1) {
            fault("reduce", r, round);
            break;
        }
    }
    rp_program_unref(program);
    local_stream_end(stream);
    return NULL;
}

// ---- two streams, one buffer ----

struct pair {
    struct local_rank *rank;
    uint8_t *ball;
    struct rp_event *to[2]; // side i waits for to[i]
    pthread_barrier_t turn; // a wait binds to the latest record, so that must have been called
};

struct side {
    struct pair *pair;
    int index;
};

static void *play(void *arg)
{
    struct side *side = arg;
    struct pair *pair = side->pair;
    const uint32_t r = pair->rank->comm->rank;
    struct rp_stream *stream = local_stream(pair->rank);
    uint8_t *copy = local_alloc(pair->rank, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        if (side->index == round % 2) {
            local_fill(stream, pair->ball, round, BYTES);
            local_record(stream, pair->to[1 - side->index]);
            pthread_barrier_wait(&pair->turn);
        } else {
            pthread_barrier_wait(&pair->turn);
            local_wait(stream, pair->to[side->index], 0);
            local_copy(stream, copy, pair->ball, BYTES);
            if (local_drained(stream, WAIT_S) != RP_OK || copy[0] != (uint8_t)round ||
                    copy[BYTES - 1] != (uint8_t)round) {
                fault("play", r, round);
            }
        }
        pthread_barrier_wait(&pair->turn); // the next round's filler waits for this copy's end
    }
    if (local_drained(stream, WAIT_S) != RP_OK) {
        fault("play", r, ROUNDS);
    }
    local_stream_end(stream);
    return NULL;
}

// ---- callbacks ----

static void *serve(void *arg)
{
    _Atomic bool *served = arg;
    while (!atomic_load(served)) {
        if (rp_report_process(10 * RP_NS_PER_MS) != RP_OK) {
            (void)rp_error_take();
        }
    }
    return NULL;
}

static void *call_back(void *arg)
{
    struct local_rank *rank = arg;
    struct rp_stream *stream = local_stream(rank);
    pthread_t server;
    float *number = local_alloc(rank, 64);
    _Atomic bool served = false;
    pthread_create(&server, NULL, serve, &served);
    if (rp_report_subscribe((uint64_t)server, stream) != RP_OK) {
        fault("subscribe", rank->comm->rank, 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct rp_task task = { .insn = { .kind = RP_INSN_CALLBACK, .flag = 1 } };
        task.insn.u.call.fn = add_one;
        task.insn.u.call.arg = number;
        if (rp_stream_submit(stream, &task) != RP_OK || local_drained(stream, WAIT_S) != RP_OK ||
                *number != (float)(round + 1)) {
            fault("callback", rank->comm->rank, round);
        }
    }
    if (rp_report_unsubscribe((uint64_t)server, stream) != RP_OK) {
        fault("unsubscribe", rank->comm->rank, 0);
    }
    atomic_store(&served, true);
    pthread_join(server, NULL);
    local_stream_end(stream);
    return NULL;
}

// ---- the observer ----

static bool never(void *arg)
{
    (void)arg;
    return atomic_load(&over);
}

static void *observe(void *arg)
{
    struct local_rank *rank = arg;
    while (!atomic_load(&over)) {
        rp_device_step_once(rank->device);
        rp_device_enter(rank->device);
        rp_device_leave(rank->device);
        if (rp_device_wait(rank->device, never, NULL, RP_NS_PER_MS, RP_ESYNCTIMEOUT) != RP_OK) {
            (void)rp_error_take();
        }
    }
    return NULL;
}

static void fire(struct local_rank *rank, void *arg)
{
    (void)arg;
    struct pair pair = { .rank = rank, .ball = local_alloc(rank, BYTES) };
    struct side side[2] = { { &pair, 0 }, { &pair, 1 } };
    pthread_t thread[4];
    pthread_barrier_init(&pair.turn, NULL, 2);
    pair.to[0] = local_event(rank, RP_EVENT_EX);
    pair.to[1] = local_event(rank, RP_EVENT_EX);
    pthread_create(&thread[0], NULL, reduce, rank);
    pthread_create(&thread[1], NULL, play, &side[0]);
    pthread_create(&thread[2], NULL, play, &side[1]);
    pthread_create(&thread[3], NULL, call_back, rank);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
    }
    pthread_barrier_destroy(&pair.turn);
}

static void fire_with(const char *progress)
{
    pthread_t observer[2];
    rp_env_reset();
    local_env(progress);
    atomic_store(&over, false);
    local_ranks_open(&ranks, 2);
    for (int i = 0; i < 2; i++) {
        pthread_create(&observer[i], NULL, observe, &ranks.rank[i]);
    }
    local_each_rank(&ranks, fire, NULL);
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(observer[i], NULL);
    }
    local_ranks_close(&ranks);
    printf("%s: %d faults\n", progress, atomic_load(&faults));
}

// ---- one thread owns all ranks, while other devices come and go ----

static void *come_and_go(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        struct rp_device *device;
        if (rp_device_ref(9, &device) != RP_OK) {
            fault("device 9", 9, 0);
            break;
        }
        rp_device_unref(device);
    }
    return NULL;
}

static void own_all(const char *progress)
{
    enum { RANKS = 3 };
    pthread_t comer;
    float *data[RANKS];
    rp_env_reset();
    local_env(progress);
    atomic_store(&over, false);
    local_ranks_open(&ranks, RANKS);
    pthread_create(&comer, NULL, come_and_go, NULL);
    for (uint32_t r = 0; r < RANKS; r++) {
        data[r] = local_alloc(&ranks.rank[r], 4096);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            const struct rp_op op = local_all_reduce(&ranks.rank[r], data[r], data[r], 1000);
            data[r][999] = (float)r;
            local_run_op(ranks.rank[r].stream, &op);
            local_host_fn(ranks.rank[r].stream, add_one, &data[r][999]);
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            if (local_drained(ranks.rank[r].stream, WAIT_S) != RP_OK || data[r][999] != 4) {
                fault("own", r, round);
            }
        }
    }
    atomic_store(&over, true);
    pthread_join(comer, NULL);
    local_ranks_close(&ranks);
    printf("%s, one thread: %d faults\n", progress, atomic_load(&faults));
}

int main(void)
{
    fire_with("auto");
    fire_with("caller");
    fire_with("thread");
    own_all("auto");
    own_all("caller");
    return atomic_load(&faults) != 0;
}
