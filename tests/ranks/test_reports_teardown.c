// Replays that are right until something is torn down: graphs that are destroyed while they and
// others run, in any order, then eager work, then every way to end a process. And the original's
// ceilings: sixteen graphs in flight on sixteen AIV communicators in strict determinism.
//
// R25 and R28 of the user reports; R22 and the rest of R25 are in test_lifetime.c, R24 in
// test_flat.c, R26 in test_scale.c, by their names. tests/race/race_teardown.c is R25 under
// ThreadSanitizer.

#include <pthread.h>
#include <stdlib.h>

#include "support/rank_test.h"

static void in_both_expansions(struct rank_job *job)
{
    job->env = AIV;
    assert_job(job, "AIV, %u ranks", job->ranks);
    job->env = HOST_TS;
    assert_job(job, "HOST_TS, %u ranks", job->ranks);
}

// ---- Graphs destroyed in random order while others run ----

enum { GRAPHS = 20, STREAMS = 4 };

enum exit_kind {
    EXIT_CLOSED, // everything is given back
    EXIT_MAIN,
    EXIT_SECOND_THREAD,
    EXIT_PENDING, // with replays queued
    EXIT_KINDS
};

struct running {
    struct rank_call call;
    aclmdlRI graph;
    aclrtStream stream;
    uint64_t version;
    bool pending;
};

static void capture_one(struct rank *rank, struct running *r)
{
    capture_begin(r->stream);
    must(rank_call_issue(&r->call, rank->comm, r->stream));
    must(HcclBarrier(rank->comm, r->stream));
    r->graph = capture_end(r->stream);
}

static void start_one(struct running *r, uint64_t version)
{
    r->version = version;
    r->pending = true;
    rank_call_load(&r->call, version);
    replay(r->graph, r->stream);
}

static void end_one(struct running *r, bool by_destroying)
{
    if (by_destroying) {
        must(aclmdlRIDestroy(r->graph)); // waits for the replay
        r->graph = NULL;
    } else {
        must(aclrtSynchronizeStream(r->stream));
    }
    if (r->pending) {
        rank_call_check(&r->call, r->version, by_destroying ? "destroyed" : "synchronised");
        r->pending = false;
    }
}

static void open_running(struct rank *rank, struct running *running, const aclrtStream *stream)
{
    for (unsigned g = 0; g < GRAPHS; g++) {
        const struct oracle_call what = { .op = (enum oracle_op)(g % 4),
            .dtype = g % 3 == 0 ? RP_DTYPE_FP32 : RP_DTYPE_INT16,
            .count = g % 5 == 0 ? 20000 : 40 * g,
            .root = g % rank->count,
            .ranks = rank->count };
        running[g] = (struct running){ .stream = stream[g % STREAMS] };
        rank_call_open(&running[g].call, rank, &what,
                &(struct rank_call_options){ .seed = g, .versions = 5 });
        capture_one(rank, &running[g]);
    }
}

// The same choices on all ranks, so that they stay in one order.
static void run_and_destroy(struct rank *rank, struct running *running, unsigned steps)
{
    struct rank agreed = { .random = 4711 };
    for (unsigned step = 0; step < steps; step++) {
        struct running *r = &running[rank_random(&agreed, GRAPHS)];
        if (!r->pending) {
            start_one(r, step);
        } else {
            end_one(r, rank_random(&agreed, 2) == 0);
        }
        if (r->graph == NULL) {
            capture_one(rank, r);
        }
    }
}

static void eager_work(struct rank *rank, struct running *running)
{
    for (unsigned g = 0; g < GRAPHS; g++) {
        rank_call_load(&running[g].call, g);
        must(rank_call_issue(&running[g].call, rank->comm, rank->stream));
    }
    must(aclrtSynchronizeStream(rank->stream));
    for (unsigned g = 0; g < GRAPHS; g++) {
        rank_call_check(&running[g].call, g, "eager after the graphs");
    }
}

static void *exit_here(void *arg)
{
    (void)arg;
    exit(0);
}

static void end_process(struct rank *rank, struct running *running, enum exit_kind kind)
{
    if (kind == EXIT_PENDING) {
        for (unsigned g = 0; g < GRAPHS; g++) {
            capture_one(rank, &running[g]);
            start_one(&running[g], g);
        }
    }
    rank_barrier(rank);
    rank_done(rank);
    if (kind == EXIT_SECOND_THREAD) {
        pthread_t thread;
        pthread_create(&thread, NULL, exit_here, NULL);
        pthread_join(thread, NULL);
    }
    exit(0);
}

static void teardown_rank(struct rank *rank)
{
    static struct running running[GRAPHS]; // reachable when the process exits
    const enum exit_kind kind = *(const enum exit_kind *)rank->arg;
    aclrtStream stream[STREAMS];
    rank_open(rank);
    for (unsigned k = 0; k < STREAMS; k++) {
        must(aclrtCreateStream(&stream[k]));
    }
    open_running(rank, running, stream);
    run_and_destroy(rank, running, soak_rounds(400, 20000));
    for (unsigned g = 0; g < GRAPHS; g++) {
        struct running *r = &running[(g * 7 + 3) % GRAPHS]; // with replays of others under way
        end_one(r, true);
    }
    eager_work(rank, running);
    if (kind != EXIT_CLOSED) {
        end_process(rank, running, kind);
    }
    for (unsigned g = 0; g < GRAPHS; g++) {
        rank_call_close(&running[g].call);
    }
    for (unsigned k = 0; k < STREAMS; k++) {
        must(aclrtDestroyStream(stream[k]));
    }
    rank_close(rank);
}

Test(reports, r25_graphs_destroyed_while_others_run_then_every_way_to_exit, .timeout = 120)
{
    for (int k = EXIT_CLOSED; k < EXIT_KINDS; k++) {
        const enum exit_kind kind = (enum exit_kind)k;
        struct rank_job job = { .ranks = 2, .fn = teardown_rank, .arg = &kind };
        in_both_expansions(&job);
    }
}

// ---- Sixteen AIV communicators at once, strictly deterministic ----

enum { COMMS = 16, IN_A_GRAPH = 3 };

struct strand {
    HcclComm comm;
    aclrtStream stream;
    aclmdlRI graph;
    struct rank_call call[IN_A_GRAPH];
};

static void open_strand(struct rank *rank, struct strand *s, unsigned number)
{
    must(aclrtCreateStream(&s->stream));
    for (unsigned k = 0; k < IN_A_GRAPH; k++) {
        const struct oracle_call what = {
            .op = k == 1 ? ORACLE_REDUCE_SCATTER : ORACLE_ALL_REDUCE,
            .dtype = k == 2 ? RP_DTYPE_BFP16 : RP_DTYPE_FP32,
            .count = k == 0 ? 5000 : 300,
            .ranks = rank->count,
        };
        rank_call_open(&s->call[k], rank, &what,
                &(struct rank_call_options){ .seed = number * 10 + k, .versions = 3 });
    }
    capture_begin(s->stream);
    for (unsigned k = 0; k < IN_A_GRAPH; k++) {
        must(rank_call_issue(&s->call[k], s->comm, s->stream));
    }
    s->graph = capture_end(s->stream);
}

static void close_strand(struct strand *s)
{
    must(aclmdlRIDestroy(s->graph));
    must(aclrtDestroyStream(s->stream));
    for (unsigned k = 0; k < IN_A_GRAPH; k++) {
        rank_call_close(&s->call[k]);
    }
}

// Each rank launches in another order: communicators do not depend on each other.
static void sixteen_rank(struct rank *rank)
{
    const unsigned rounds = *(const unsigned *)rank->arg;
    static struct strand strand[COMMS];
    HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
    rank_open(rank);
    strand[0].comm = rank->comm;
    for (unsigned c = 1; c < COMMS; c++) {
        rank_barrier(rank);
        must(rank_join_again(rank, c, &strand[c].comm));
    }
    for (unsigned c = 0; c < COMMS; c++) {
        open_strand(rank, &strand[c], c);
        must(HcclConfigGetInfo(
                strand[c].comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode));
        must_hold(mode == HCCL_OP_EXPANSION_MODE_AIV, "strict determinism switches AIV off");
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned c = 0; c < COMMS; c++) {
            for (unsigned k = 0; k < IN_A_GRAPH; k++) {
                rank_call_load(&strand[c].call[k], round + c);
            }
        }
        for (unsigned c = 0; c < COMMS; c++) {
            const unsigned turn = (c * (2 * rank->id + 1) + round) % COMMS;
            replay(strand[turn].graph, strand[turn].stream);
        }
        must(aclrtSynchronizeDevice());
        for (unsigned c = 0; c < COMMS; c++) {
            for (unsigned k = 0; k < IN_A_GRAPH; k++) {
                rank_call_check(&strand[c].call[k], round + c, "among sixteen"); // the strict bits
            }
        }
    }
    for (unsigned c = 0; c < COMMS; c++) {
        close_strand(&strand[c]);
    }
    for (unsigned c = 1; c < COMMS; c++) {
        must(HcclCommDestroy(strand[c].comm));
    }
    rank_close(rank);
}

Test(reports, r28_sixteen_graphs_on_sixteen_aiv_communicators_in_strict_determinism, .timeout = 60)
{
    const unsigned rounds = soak_rounds(25, 1000);
    static const char *const env[] = { "HCCL_OP_EXPANSION_MODE=AIV", "HCCL_DETERMINISTIC=strict",
        NULL };
    struct rank_job job = { .ranks = 4, .fn = sixteen_rank, .arg = &rounds, .env = env };
    assert_job(&job, "processes");
}
