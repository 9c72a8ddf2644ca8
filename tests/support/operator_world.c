#include "support/operator_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/record.h"
#include "support/guard.h"

#define GUARD 64
#define POOL_BYTES (OPERATOR_CALLS * 2 * (OPERATOR_BUFFER_BYTES + 4 * GUARD))
#define WORDS_BYTES 1400

// ---- the world ----

static void open_comms(struct operator_world *world)
{
    struct rank *rank = world->rank;
    for (unsigned i = 0; i < world->form_count; i++) {
        const struct operator_form *form = &world->forms[i];
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        config.hcclBufferSize = 1;
        config.hcclOpExpansionMode = form->expansion;
        config.hcclDeterministic = form->determinism;
        config.hcclExecTimeOut = 60;
        if (form->algo != NULL) {
            snprintf(config.hcclAlgo, sizeof(config.hcclAlgo), "%s", form->algo);
        }
        if (rank->id == 0) {
            must(HcclGetRootInfo(&world->shared->info));
        }
        rank_barrier(rank);
        must(HcclCommInitRootInfoConfig(
                rank->count, &world->shared->info, rank->id, &config, &world->comm[i]));
        rank_barrier(rank);
    }
}

void operator_world_open(struct operator_world *world, struct rank *rank,
        const struct operator_form *forms, unsigned form_count)
{
    *world = (struct operator_world){
        .rank = rank,
        .shared = rank->shared,
        .forms = forms,
        .form_count = form_count,
        .image = malloc(OPERATOR_BUFFER_BYTES),
    };
    must_hold(form_count <= OPERATOR_FORMS_MAX && world->image != NULL, "no room");
    must(aclrtSetDevice(rank->device));
    for (unsigned i = 0; i < 2; i++) {
        must(aclrtCreateStream(&world->stream[i]));
    }
    must(aclrtCreateEventExWithFlag(&world->fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&world->join, ACL_EVENT_SYNC));
    must(aclrtMalloc((void **)&world->pool[OPERATOR_ARENA], POOL_BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMallocHost((void **)&world->pool[OPERATOR_PINNED], POOL_BYTES));
    world->pool[OPERATOR_MALLOC] = malloc(POOL_BYTES);
    must_hold(world->pool[OPERATOR_MALLOC] != NULL, "malloc");
    open_comms(world);
}

void operator_world_close(struct operator_world *world)
{
    for (unsigned i = 0; i < world->form_count; i++) {
        must(HcclCommDestroy(world->comm[i]));
    }
    must(aclrtFree(world->pool[OPERATOR_ARENA]));
    must(aclrtFreeHost(world->pool[OPERATOR_PINNED]));
    free(world->pool[OPERATOR_MALLOC]);
    free(world->image);
    must(aclrtDestroyEvent(world->fork));
    must(aclrtDestroyEvent(world->join));
    for (unsigned i = 0; i < 2; i++) {
        must(aclrtDestroyStream(world->stream[i]));
    }
    must(aclrtResetDevice(world->rank->device));
}

// ---- buffers ----

// The addresses of the pools are multiples of 16 at least; `skew` does the rest.
static struct operator_buffer cut(
        struct operator_world *world, unsigned memory, size_t bytes, size_t skew)
{
    size_t *used = &world->used[memory];
    const size_t at = (*used + GUARD - 1) / GUARD * GUARD + GUARD + skew;
    *used = at + bytes + GUARD;
    must_hold(*used <= POOL_BYTES, "the pool is too small");
    return (struct operator_buffer){ world->pool[memory] + at, bytes };
}

static void place(struct operator_world *world, const struct operator_case *c)
{
    const unsigned id = world->rank->id;
    memset(world->used, 0, sizeof(world->used));
    for (unsigned i = 0; i < c->calls; i++) {
        const struct operator_call *call = &c->call[i];
        const size_t send_bytes = operator_send_bytes(call, id);
        const size_t recv_bytes = operator_recv_bytes(call, id);
        size_t offset;
        struct operator_buffer *send = &world->send[i], *recv = &world->recv[i];
        if (!operator_in_place(call, id, &offset)) {
            *send = cut(world, call->of[id].memory[0], send_bytes, call->of[id].skew[0]);
            *recv = cut(world, call->of[id].memory[1], recv_bytes, call->of[id].skew[1]);
            continue;
        }
        const size_t larger = send_bytes > recv_bytes ? send_bytes : recv_bytes;
        const struct operator_buffer whole =
                cut(world, call->of[id].memory[0], larger, call->of[id].skew[0]);
        *send = *recv = whole;
        *(send_bytes < recv_bytes ? send : recv) = (struct operator_buffer){ whole.data + offset,
            send_bytes < recv_bytes ? send_bytes : recv_bytes };
    }
}

static bool one_buffer(const struct operator_buffer *a, const struct operator_buffer *b)
{
    return a->data < b->data + b->bytes + GUARD && b->data < a->data + a->bytes + GUARD;
}

// The input into the shared memory and from there into the buffer; poison everywhere else.
static void load(struct operator_world *world, const struct operator_case *c, unsigned round)
{
    const unsigned id = world->rank->id;
    for (unsigned i = 0; i < c->calls; i++) {
        const struct operator_buffer *send = &world->send[i], *recv = &world->recv[i];
        uint8_t *input =
                world->shared->input[id][world->turn % 2] + (size_t)i * OPERATOR_BUFFER_BYTES;
        memset(send->data - GUARD, GUARD_POISON, send->bytes + 2 * GUARD);
        memset(recv->data - GUARD, GUARD_POISON, recv->bytes + 2 * GUARD);
        operator_fill(&c->call[i], id, round, input);
        memcpy(send->data, input, send->bytes);
    }
}

// ---- running ----

struct failing {
    const struct operator_world *world;
    const struct operator_case *c;
    unsigned round;
};

static _Noreturn void give_up(const struct failing *at, unsigned call, const char *what)
{
    char words[WORDS_BYTES];
    operator_case_words(at->c, at->world->forms, words, sizeof(words));
    rank_fail(__FILE__, __LINE__, "call %u, round %u: %s\n  %s", call + 1, at->round, what, words);
}

static void well(const struct failing *at, unsigned call, const char *what, int result)
{
    char text[512];
    if (result != 0) {
        snprintf(text, sizeof(text), "%s answers %d: %.400s", what, result, rank_error_text());
        give_up(at, call, text);
    }
}

static void issue(const struct failing *at, unsigned i, aclrtStream stream)
{
    const struct operator_world *world = at->world;
    const struct operator_call *call = &at->c->call[i];
    if (operator_calls(call, world->rank->id)) {
        well(at, i, rp_op_kind_name(call->op),
                (int)operator_issue(call, world->rank->id, world->send[i].data, world->recv[i].data,
                        world->comm[call->comm], stream));
    }
}

static aclmdlRI capture(const struct failing *at)
{
    const struct operator_world *world = at->world;
    const struct operator_case *c = at->c;
    aclmdlRI graph = NULL;
    well(at, 0, "CaptureBegin",
            aclmdlRICaptureBegin(world->stream[0], ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    if (c->forked) {
        well(at, 0, "RecordEvent", aclrtRecordEvent(world->fork, world->stream[0]));
        well(at, 0, "StreamWaitEvent", aclrtStreamWaitEvent(world->stream[1], world->fork));
    }
    for (unsigned i = 0; i < c->calls; i++) {
        const unsigned side = c->forked ? c->call[i].of[world->rank->id].stream : 0;
        issue(at, i, world->stream[side]);
    }
    if (c->forked) {
        well(at, 0, "RecordEvent", aclrtRecordEvent(world->join, world->stream[1]));
        well(at, 0, "StreamWaitEvent", aclrtStreamWaitEvent(world->stream[0], world->join));
    }
    well(at, 0, "CaptureEnd", aclmdlRICaptureEnd(world->stream[0], &graph));
    return graph;
}

static void run_round(const struct failing *at, aclmdlRI graph)
{
    const struct operator_world *world = at->world;
    const struct operator_case *c = at->c;
    const bool replayed =
            graph != NULL && (c->mode == OPERATOR_CAPTURED || at->round % 2 == c->seed % 2);
    if (replayed) {
        for (unsigned k = 0; k <= c->queued; k++) {
            well(at, 0, "ExecuteAsync", aclmdlRIExecuteAsync(graph, world->stream[0]));
        }
    } else {
        for (unsigned i = 0; i < c->calls; i++) {
            issue(at, i, world->stream[c->call[i].of[world->rank->id].stream]);
        }
    }
    for (unsigned s = 0; s < 2; s++) {
        well(at, 0, replayed ? "the replay" : "synchronising",
                aclrtSynchronizeStream(world->stream[s]));
    }
}

// ---- checking ----

static bool is_poison(const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (from[i] != GUARD_POISON) {
            return false;
        }
    }
    return true;
}

static void compare(const struct failing *at, unsigned call, const char *what, const uint8_t *got,
        const uint8_t *wanted, size_t bytes)
{
    char text[160];
    size_t i = 0;
    if (memcmp(got, wanted, bytes) == 0) {
        return;
    }
    while (got[i] == wanted[i]) {
        i++;
    }
    snprintf(text, sizeof(text), "%s: byte %zu of %zu is 0x%02x and not 0x%02x", what, i, bytes,
            got[i], wanted[i]);
    give_up(at, call, text);
}

static void check_call(const struct failing *at, unsigned i)
{
    const struct operator_world *world = at->world;
    const struct operator_call *call = &at->c->call[i];
    const struct operator_buffer *send = &world->send[i], *recv = &world->recv[i];
    const unsigned id = world->rank->id;
    const bool shared = one_buffer(send, recv);
    const void *inputs[OPERATOR_RANKS];
    for (unsigned r = 0; r < call->ranks; r++) {
        inputs[r] = world->shared->input[r][world->turn % 2] + (size_t)i * OPERATOR_BUFFER_BYTES;
    }
    // The larger buffer as it must be: poison, with the input where that lies in it, with the
    // output.
    const struct operator_buffer *whole = shared && send->bytes > recv->bytes ? send : recv;
    memset(world->image, GUARD_POISON, whole->bytes);
    if (shared) {
        memcpy(world->image + (send->data - whole->data), inputs[id], send->bytes);
    }
    operator_expect(call, id, inputs, world->image + (recv->data - whole->data));
    compare(at, i, "the output", whole->data, world->image, whole->bytes);
    if (!shared) {
        compare(at, i, "the input, which was changed", send->data, inputs[id], send->bytes);
        if (!is_poison(send->data - GUARD, GUARD) || !is_poison(send->data + send->bytes, GUARD)) {
            give_up(at, i, "bytes beside the input were written");
        }
    }
    if (!is_poison(whole->data - GUARD, GUARD) || !is_poison(whole->data + whole->bytes, GUARD)) {
        give_up(at, i, "bytes beside the output were written");
    }
}

void operator_world_run(struct operator_world *world, const struct operator_case *c)
{
    struct failing at = { world, c, 0 };
    aclmdlRI graph = NULL;
    rank_step(world->rank, c->seed);
    place(world, c);
    if (c->mode != OPERATOR_EAGER) {
        graph = capture(&at);
    }
    for (; at.round < c->rounds; at.round++) {
        world->turn++;
        load(world, c, at.round);
        run_round(&at, graph);
        rank_barrier(world->rank); // all inputs are there
        for (unsigned i = 0; i < c->calls; i++) {
            check_call(&at, i);
        }
    }
    if (graph != NULL) {
        well(&at, 0, "Destroy", aclmdlRIDestroy(graph));
    }
}
