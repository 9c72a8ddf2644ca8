// One rank's part of random programs: what is run after what, and what is compared.

#include "support/random_program_run.h"

#include <stdlib.h>
#include <string.h>

// ---- what lives through many programs ----

static void open_comms(struct random_runner *r)
{
    // Expansion: 1 is HOST, 3 is AIV. Determinism: 2 is strict.
    static const struct {
        uint32_t expansion, determinism;
        const char *algorithm;
    } settings[RANDOM_COMMS] = {
        { 3, 0, "" },
        { 1, 0, "level0:ring" },
        { 3, 2, "" },
        { 1, 2, "" },
        { 3, 0, "" },
        { 1, 0, "" },
    };
    const struct rank *rank = r->rank;
    for (unsigned c = 0; c < RANDOM_COMMS; c++) {
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        config.hcclOpExpansionMode = settings[c].expansion;
        config.hcclDeterministic = settings[c].determinism;
        config.hcclBufferSize = 1;
        strcpy(config.hcclAlgo, settings[c].algorithm);
        if (random_comm_has(c, rank->count, rank->id)) {
            must(rank_join(r->rank, c, random_comm_size(c, rank->count),
                    random_comm_rank(c, rank->count, rank->id), &config, &r->comm[c]));
        }
    }
}

static bool with_notifies(const struct random_runner *r)
{
    return (((const struct random_control *)r->rank->shared)->features & RANDOM_WITH_NOTIFIES) != 0;
}

static void open_runner(struct random_runner *r, struct rank *rank)
{
    *r = (struct random_runner){
        .rank = rank, .cut = RANDOM_TASKS, .source = random_begin(rank->id)
    };
    must(aclrtSetDevice(rank->device));
    open_comms(r);
    for (unsigned s = 0; s < RANDOM_STREAMS; s++) {
        must(aclrtCreateStream(&r->stream[s]));
    }
    for (unsigned e = 0; e < RANDOM_EVENTS; e++) {
        must(aclrtCreateEventExWithFlag(&r->event[e], ACL_EVENT_SYNC));
    }
    for (unsigned e = 0; e < RANDOM_OUTSIDE_EVENTS; e++) {
        must(aclrtCreateEventExWithFlag(&r->outside[0][e], ACL_EVENT_SYNC));
        must(aclrtCreateEventExWithFlag(&r->outside[1][e], ACL_EVENT_SYNC));
    }
    for (unsigned e = 0; e < RANDOM_HOPS; e++) {
        must(aclrtCreateEventExWithFlag(&r->hop[e], ACL_EVENT_SYNC));
    }
    for (unsigned e = 0; e < RANDOM_HOLDS; e++) {
        must(aclrtCreateEventWithFlag(&r->hold[e], ACL_EVENT_EXTERNAL));
    }
    for (unsigned s = 0; s < RANDOM_SEGMENTS * RANDOM_BUILT_STREAMS; s++) {
        must(aclrtCreateStreamWithConfig(
                &r->bound[s / RANDOM_BUILT_STREAMS][s % RANDOM_BUILT_STREAMS], 0,
                ACL_STREAM_PERSISTENT));
    }
    random_serve_begin(r);
    r->kernel = random_kernel();
    for (unsigned n = 0; with_notifies(r) && n < RANDOM_NOTIFIES; n++) {
        must(aclrtCreateNotify(&r->notify[n], 0));
    }
    for (unsigned i = 0; i < RANDOM_ROUNDS; i++) {
        r->image[i] = malloc(RANDOM_IMAGE_BYTES);
        must_hold(r->image[i] != NULL, "no memory for the test's own");
    }
    r->program = malloc(sizeof(*r->program));
    must_hold(r->program != NULL, "no memory for the test's own");
}

static void close_runner(struct random_runner *r)
{
    random_serve_end(r);
    for (unsigned e = 0; e < RANDOM_EVENTS; e++) {
        must(aclrtDestroyEvent(r->event[e]));
    }
    for (unsigned e = 0; e < RANDOM_OUTSIDE_EVENTS; e++) {
        must(aclrtDestroyEvent(r->outside[0][e]));
        must(aclrtDestroyEvent(r->outside[1][e]));
    }
    for (unsigned e = 0; e < RANDOM_HOPS; e++) {
        must(aclrtDestroyEvent(r->hop[e]));
    }
    for (unsigned e = 0; e < RANDOM_HOLDS; e++) {
        must(aclrtDestroyEvent(r->hold[e]));
    }
    for (unsigned n = 0; with_notifies(r) && n < RANDOM_NOTIFIES; n++) {
        must(aclrtDestroyNotify(r->notify[n]));
    }
    for (unsigned s = 0; s < RANDOM_STREAMS; s++) {
        must(aclrtDestroyStream(r->stream[s]));
    }
    for (unsigned s = 0; s < RANDOM_SEGMENTS * RANDOM_BUILT_STREAMS; s++) {
        must(aclrtDestroyStream(r->bound[s / RANDOM_BUILT_STREAMS][s % RANDOM_BUILT_STREAMS]));
    }
    for (unsigned i = 0; i < RANDOM_TASKS; i++) {
        must(r->flag[i] != NULL ? aclrtDestroyEvent(r->flag[i]) : 0);
    }
    for (unsigned c = 0; c < RANDOM_COMMS; c++) {
        must(HcclCommDestroy(r->comm[c]));
    }
    must(r->slab[RANDOM_DEVICE] != NULL ? aclrtFree(r->slab[RANDOM_DEVICE]) : 0);
    must(r->slab[RANDOM_PINNED] != NULL ? aclrtFreeHost(r->slab[RANDOM_PINNED]) : 0);
    free(r->slab[RANDOM_PAGEABLE]);
    for (unsigned i = 0; i < RANDOM_ROUNDS; i++) {
        free(r->image[i]);
    }
    free(r->program);
    must(aclrtResetDevice(r->rank->device));
}

// ---- runs ----

// The value writes of the outside that the segment at `first` waits for: a replay may be queued
// before them.
static void write_outside(struct random_runner *r, unsigned first, unsigned round)
{
    const struct random_program *p = r->program;
    for (unsigned i = first; i-- > 0 && p->task[i].kind != RANDOM_GRAPH_END;) {
        if (p->task[i].kind == RANDOM_VALUE_WRITE) {
            random_issue(r, i, i + 1, round, false);
        }
    }
}

static void submit_segment(struct random_runner *r, unsigned first, unsigned round, unsigned on)
{
    const unsigned end = random_block_end(r->program, first);
    const unsigned segment = r->program->task[first].value;
    if (!r->replayed[segment]) {
        random_hop(r, on, 0);
        write_outside(r, first, round);
        random_issue(r, first + 1, end, round, false);
        random_hop(r, 0, on);
        return;
    }
    if (r->is_built[segment] && random_chance(&r->source, 30)) {
        must(aclrtSynchronizeStream(r->stream[on]));
        write_outside(r, first, round);
        must(aclmdlRIExecute(r->graph[segment], 20000));
        return;
    }
    must(aclmdlRIExecuteAsync(r->graph[segment], r->stream[on]));
    if (random_chance(&r->source, 10)) {
        rank_sleep_us(100); // it comes to its waits
    }
    write_outside(r, first, round);
    random_release(r, first, round);
}

// Whether the segment after the one at `first` runs beside it.
static bool is_joined(const struct random_program *p, unsigned first)
{
    for (unsigned i = first + 1; i < p->tasks; i++) {
        if (p->task[i].kind == RANDOM_SEGMENT) {
            return p->task[i].beside;
        }
    }
    return false;
}

// Submits everything, each segment as `replayed` says. Begins and ends on stream 0.
static void submit(struct random_runner *r, unsigned round)
{
    const struct random_program *p = r->program;
    const unsigned replay_on = round % 2 == 0 ? p->replay_on : 0;
    unsigned on = 0;
    random_defaults(r);
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        if (task->kind != RANDOM_SEGMENT) {
            if (task->kind != RANDOM_VALUE_WRITE) {
                random_issue(r, i, i + 1, round, false);
            }
            continue;
        }
        if (task->beside) {
            submit_segment(r, i, round, RANDOM_STREAM_BESIDE);
        } else {
            const unsigned next = r->replayed[task->value] ? replay_on : 0;
            random_hop(r, on, next);
            on = next;
            if (is_joined(p, i)) {
                random_hop(r, on, RANDOM_STREAM_BESIDE);
            }
            submit_segment(r, i, round, on);
        }
        if (task->beside && !is_joined(p, i)) {
            random_hop(r, RANDOM_STREAM_BESIDE, on);
        }
        i = random_block_end(p, i);
    }
    random_hop(r, on, 0);
}

static void finish(struct random_runner *r)
{
    must(aclrtSynchronizeStream(r->stream[0]));
    must(aclrtSynchronizeStream(r->stream[RANDOM_STREAM_OUTSIDE]));
}

static void be_late(struct random_runner *r)
{
    if (random_chance(&r->source, 8)) {
        rank_sleep_us(random_below(&r->source, 300));
    }
}

static void replay_all(struct random_runner *r, bool all)
{
    for (unsigned s = 0; s < RANDOM_SEGMENTS; s++) {
        r->replayed[s] = all;
    }
}

static void check(struct random_runner *r, unsigned round, bool *known, const char *what)
{
    if (known[round]) {
        random_compare(r, r->image[round], round, what, what[0] == 'e' ? "the replay" : "eager");
    } else {
        random_save(r, round);
        random_compare(r, r->image[round], round, what, "itself"); // the guards
        known[round] = true;
    }
}

// All rounds in a way that `replayed` says, or, if mixed, as this rank likes.
static void run_rounds(struct random_runner *r, bool *known, const char *what, bool mixed)
{
    const struct random_program *p = r->program;
    for (unsigned round = 0; round < p->rounds; round++) {
        for (unsigned s = 0; mixed && s < RANDOM_SEGMENTS; s++) {
            r->replayed[s] = random_chance(&r->source, 50);
        }
        if (mixed || r->replayed[0]) {
            random_update(r, round);
        }
        if (!p->chained || round == 0) {
            random_load(r, round);
        }
        be_late(r);
        submit(r, round);
        if (!p->chained || round + 1 == p->rounds) {
            finish(r);
            check(r, round, known, what);
        }
    }
}

static void capture_all(struct random_runner *r)
{
    memset(r->variant, 0, sizeof(r->variant));
    for (unsigned i = 0; i < r->program->tasks; i++) {
        if (r->program->task[i].kind == RANDOM_SEGMENT) {
            be_late(r);
            const unsigned segment = r->program->task[i].value;
            r->is_built[segment] = random_can_build(r->program, i) && random_chance(&r->source, 70);
            r->graph[segment] = r->is_built[segment] ? random_build(r, i) : random_capture(r, i);
        }
    }
}

static void destroy_all(struct random_runner *r)
{
    for (unsigned s = 0; s < RANDOM_SEGMENTS; s++) {
        must(r->graph[s] != NULL ? aclmdlRIDestroy(r->graph[s]) : 0);
        r->graph[s] = NULL;
    }
    memset(r->word, 0, sizeof(r->word));
}

// Graphs are destroyed as soon as their replays are queued.
static void destroy_queued(struct random_runner *r)
{
    random_load(r, 0);
    replay_all(r, true);
    random_update(r, 0);
    submit(r, 0);
    destroy_all(r);
    finish(r);
}

// While eager work of the same program is under way.
static void capture_beside(struct random_runner *r)
{
    random_load(r, 0);
    replay_all(r, false);
    submit(r, 0);
    capture_all(r);
    finish(r);
}

static void ask_oracle(struct random_runner *r, const bool *known)
{
    const struct random_program *p = r->program;
    uint8_t *images[RANKS_MAX] = { NULL };
    if (!p->exact || p->seed / 3 % p->ranks != r->rank->id) {
        return;
    }
    for (unsigned rank = 0; rank < p->ranks; rank++) {
        images[rank] = malloc(RANDOM_IMAGE_BYTES);
        must_hold(images[rank] != NULL, "no memory for the test's own");
    }
    for (unsigned round = 0; round < p->rounds; round++) {
        for (unsigned rank = 0; rank < p->ranks && (!p->chained || round == 0); rank++) {
            for (unsigned b = 0; b < p->buffers; b++) {
                random_fill_buffer(p, b, rank, round, images[rank] + p->buffer[b].offset);
            }
        }
        random_oracle(p, images, round);
        if (known[round]) {
            // What the library left, as if it had been found in the buffers now.
            random_load(r, round);
            for (unsigned b = 0; b < p->buffers; b++) {
                memcpy(r->address[b], r->image[round] + p->buffer[b].offset, p->buffer[b].bytes);
            }
            replay_all(r, false);
            random_compare(r, images[r->rank->id], round, "eager", "the oracle");
        }
    }
    for (unsigned rank = 0; rank < p->ranks; rank++) {
        free(images[rank]);
    }
}

static void run_program(struct random_runner *r)
{
    const struct random_program *p = r->program;
    bool known[RANDOM_ROUNDS] = { false };
    random_place(r);
    random_prepare_calls(r);
    random_serve_choose(r);
    for (unsigned cuts = 0; cuts < p->cuts; cuts++) {
        random_cut(r);
    }
    for (unsigned way = 0; way < 2; way++) {
        const bool replay = (way == 0) == p->graph_first;
        if (replay && p->capture_early) {
            capture_beside(r);
        } else if (replay) {
            capture_all(r);
        }
        replay_all(r, replay);
        run_rounds(r, known, replay ? "replayed" : "eager", false);
    }
    if (p->mixed) {
        run_rounds(r, known, "mixed", true);
    }
    if (p->destroy_early) {
        destroy_queued(r);
    } else {
        destroy_all(r);
    }
    ask_oracle(r, known);
    random_unplace(r);
}

void random_rank(struct rank *rank)
{
    struct random_control *control = rank->shared;
    struct random_runner *r = malloc(sizeof(*r));
    must_hold(r != NULL, "no memory for the test's own");
    open_runner(r, rank);
    for (uint64_t n = 0; n < control->count; n++) {
        const uint64_t seed = control->first + n * control->stride;
        // relaxed: read once this process has ended or when it is late.
        atomic_store_explicit(&control->seed[rank->id], seed, memory_order_relaxed);
        for (unsigned again = 0; again < control->repeat; again++) {
            random_program_make(r->program, seed, control->features);
            random_program_drop(r->program, control->dropped);
            run_program(r);
        }
        rank_step(rank, n + 1);
    }
    close_runner(r);
    free(r);
}
