#include "support/local_ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "transport/segment.h"

static uint64_t comms_made; // each has its own range of sequence numbers

// What a test cannot go on without.
static void need(rp_status st, const char *what)
{
    if (st != RP_OK) {
        const char *why = rp_error_take();
        fprintf(stderr, "%s: %s: %s\n", what, rp_status_name(st), why != NULL ? why : "");
        _exit(1);
    }
}

void local_env(const char *progress)
{
    setenv("REPRISE_DEVICE_COUNT", "16", 1);
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    setenv("REPRISE_PROGRESS", progress, 1);
    need(rp_enter(), "rp_enter");
}

static rp_status make_comm(struct local_ranks *ranks, uint32_t r, const char *name,
        struct rp_segment *segment, struct rp_comm **out)
{
    const uint32_t size = ranks->size;
    struct rp_comm_parts parts = {
        .rank = r,
        .size = size,
        .device_id = rp_device_id(ranks->rank[r].device),
        .name = name,
        .settings = { .tuning = { .tiny_bytes = 40, .small_bytes = 8192 } },
        .member = rp_calloc(size, sizeof(struct rp_member)),
        .process = rp_calloc(size, sizeof(struct rp_process *)),
        .arena = rp_device_arena(ranks->rank[r].device),
        .segment = rp_segment_ref(segment),
        .zero_copy = true,
    };
    for (uint32_t q = 0; q < size; q++) {
        parts.process[q] = rp_process_ref(rp_process_self());
        parts.member[q] = (struct rp_member){
            .process = rp_process_self_id(),
            .pid = getpid(),
            .device_id = rp_device_id(ranks->rank[q].device),
            .arena_bytes = rp_arena_bytes(rp_device_arena(ranks->rank[q].device)),
            .host = "localhost",
        };
    }
    return rp_comm_create(&parts, out);
}

void local_comm_open(struct local_ranks *ranks, const char *name, struct rp_comm **comm)
{
    struct rp_segment *segment;
    need(rp_segment_create(
                 ranks->size, LOCAL_WINDOW_BYTES, ++comms_made * RP_SEQ_BASE_UNIT, &segment),
            "rp_segment_create");
    for (uint32_t r = 0; r < ranks->size; r++) {
        need(make_comm(ranks, r, name, segment, &comm[r]), "rp_comm_create");
        need(rp_comm_reserve_window(comm[r], LOCAL_WINDOW_BYTES), "rp_comm_reserve_window");
    }
    rp_segment_unref(segment);
}

void local_comm_close(struct local_ranks *ranks, struct rp_comm **comm)
{
    for (uint32_t r = 0; r < ranks->size; r++) {
        rp_device_enter(ranks->rank[r].device);
        (void)rp_comm_retire(comm[r]);
        rp_device_leave(ranks->rank[r].device);
    }
}

void local_ranks_open(struct local_ranks *ranks, uint32_t size)
{
    *ranks = (struct local_ranks){ .size = size };
    const uint32_t devices = size == 0 ? 1 : size;
    for (uint32_t r = 0; r < devices; r++) {
        struct local_rank *rank = &ranks->rank[r];
        need(rp_context_create((int32_t)r, false, &rank->context), "rp_context_create");
        rank->device = rank->context->device;
        rank->stream = rank->context->default_stream;
    }
    if (size != 0) {
        struct rp_comm *comm[LOCAL_RANKS_MAX];
        local_comm_open(ranks, "test", comm);
        for (uint32_t r = 0; r < size; r++) {
            ranks->rank[r].comm = comm[r];
        }
    }
}

void local_ranks_close(struct local_ranks *ranks)
{
    if (ranks->size != 0) {
        struct rp_comm *comm[LOCAL_RANKS_MAX];
        for (uint32_t r = 0; r < ranks->size; r++) {
            comm[r] = ranks->rank[r].comm;
        }
        local_comm_close(ranks, comm);
    }
    const uint32_t devices = ranks->size == 0 ? 1 : ranks->size;
    for (uint32_t r = 0; r < devices; r++) {
        rp_context_destroy(ranks->rank[r].context, true);
    }
}

void *local_alloc(struct local_rank *rank, size_t bytes)
{
    void *memory;
    need(rp_arena_alloc(rp_device_arena(rank->device), bytes, 64, RP_ARENA_DEVICE, &memory),
            "rp_arena_alloc");
    memset(memory, 0, bytes);
    return memory;
}

struct rp_stream *local_stream(struct local_rank *rank)
{
    struct rp_stream *stream;
    need(rp_stream_create(rank->context, 0, 0, false, &stream), "rp_stream_create");
    return stream;
}

void local_stream_end(struct rp_stream *stream)
{
    if (rp_handle_remove(RP_HANDLE_STREAM, stream)) {
        rp_stream_retire(stream, true);
    }
}

struct rp_event *local_event(struct local_rank *rank, enum rp_event_kind kind)
{
    // The first reference of each is never given up.
    static struct rp_event events[4096];
    static _Atomic uint32_t ids;
    const uint32_t id = atomic_fetch_add(&ids, 1);
    struct rp_event *event = &events[id % 4096];
    *event = (struct rp_event){ .id = id };
    event->kind = (uint8_t)kind;
    event->context = rank->context;
    event->device_id = rp_device_id(rank->device);
    atomic_init(&event->refs, 1);
    return event;
}

struct rp_op local_all_reduce(
        const struct local_rank *rank, const float *send, float *recv, uint64_t count)
{
    struct rp_op op = {
        .comm = rank->comm,
        .send = send,
        .recv = recv,
        .record = {
            .count = count,
            .op = RP_OP_ALL_REDUCE,
            .dtype = RP_DTYPE_FP32,
            .reduce = RP_REDUCE_SUM,
            .expansion = RP_EXPANSION_AIV,
            .algorithm = RP_ALGORITHM_FUSED,
            .buffer_class = RP_CLASS_CONTIGUOUS,
        },
    };
    const struct rp_arena *arena = rp_device_arena(rank->device);
    if (!rp_arena_offset(arena, send, count * sizeof(float), &op.record.send_off) ||
            !rp_arena_offset(arena, recv, count * sizeof(float), &op.record.recv_off)) {
        op.record.buffer_class = RP_CLASS_STAGED;
    }
    op.record.digest = rp_record_digest(&op.record);
    return op;
}

void local_run_op(struct rp_stream *stream, const struct rp_op *op)
{
    const struct rp_task task = { .insn = { .kind = RP_INSN_COLLECTIVE }, .op = op };
    need(rp_stream_submit(stream, &task), "collective");
}

void local_copy(struct rp_stream *stream, void *dst, const void *src, uint64_t bytes)
{
    struct rp_task task = { .insn = { .kind = RP_INSN_COPY } };
    task.insn.u.copy.dst = dst;
    task.insn.u.copy.src = src;
    task.insn.u.copy.bytes = bytes;
    need(rp_stream_submit(stream, &task), "copy");
}

void local_fill(struct rp_stream *stream, void *dst, int value, uint64_t bytes)
{
    struct rp_task task = { .insn = { .kind = RP_INSN_FILL } };
    task.insn.u.fill.dst = dst;
    task.insn.u.fill.value = (uint32_t)value;
    task.insn.u.fill.count = bytes;
    need(rp_stream_submit(stream, &task), "fill");
}

void local_host_fn(struct rp_stream *stream, void (*fn)(void *), void *arg)
{
    struct rp_task task = { .insn = { .kind = RP_INSN_HOST_FN } };
    task.insn.u.call.fn = fn;
    task.insn.u.call.arg = arg;
    need(rp_stream_submit(stream, &task), "host function");
}

void local_record(struct rp_stream *stream, struct rp_event *event)
{
    need(rp_stream_submit_event(stream, event, RP_EVENT_RECORD, 0, 0), "record");
}

void local_wait(struct rp_stream *stream, struct rp_event *event, uint64_t timeout_ns)
{
    need(rp_stream_submit_event(stream, event, RP_EVENT_WAIT, 0, timeout_ns), "wait");
}

rp_status local_drained(struct rp_stream *stream, unsigned timeout_s)
{
    return rp_stream_drain(stream, timeout_s * RP_NS_PER_S);
}

bool local_ended(struct rp_stream *stream)
{
    return atomic_load_explicit(&stream->ended, memory_order_seq_cst) >=
           atomic_load_explicit(&stream->submitted, memory_order_seq_cst);
}

bool local_until(bool (*ready)(void *arg), void *arg, unsigned timeout_s)
{
    const uint64_t deadline_ns = rp_deadline_ns(timeout_s * RP_NS_PER_S);
    while (!ready(arg)) {
        if (rp_now_ns() > deadline_ns) {
            return false;
        }
        usleep(50);
    }
    return true;
}

struct errand {
    struct local_rank *rank;
    void (*fn)(struct local_rank *rank, void *arg);
    void *arg;
};

static void *run_errand(void *value)
{
    const struct errand *errand = value;
    errand->fn(errand->rank, errand->arg);
    return NULL;
}

void local_each_rank(
        struct local_ranks *ranks, void (*fn)(struct local_rank *rank, void *arg), void *arg)
{
    struct errand errand[LOCAL_RANKS_MAX];
    pthread_t thread[LOCAL_RANKS_MAX];
    for (uint32_t r = 0; r < ranks->size; r++) {
        errand[r] = (struct errand){ .rank = &ranks->rank[r], .fn = fn, .arg = arg };
        if (pthread_create(&thread[r], NULL, run_errand, &errand[r]) != 0) {
            fprintf(stderr, "no thread for rank %u\n", r);
            _exit(1);
        }
    }
    for (uint32_t r = 0; r < ranks->size; r++) {
        pthread_join(thread[r], NULL);
    }
}
