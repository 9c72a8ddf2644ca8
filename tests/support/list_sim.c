#include "support/list_sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "kernels/dtype.h"
#include "support/oracle_reduce.h"

#define RANKS_MAX 16
#define GUARD 32 // bytes around every buffer, which must stay as they are
#define GUARD_BYTE 0xa5

struct clock {
    uint32_t at[RANKS_MAX];
};

// Who wrote and who read a byte of a window last, and when by that rank's own clock.
struct trace {
    uint32_t write_time;
    uint32_t read_time;
    uint8_t writer;
    uint8_t touched; // bit 0: written, bit 1: read
};

struct window {
    uint8_t *bytes;
    struct trace *trace;
};

// Signals under way from one rank to another, with the sender's clock.
struct mailbox {
    struct clock *clock;
    uint32_t first, end, room;
};

// One rank's side of an operator.
struct part {
    uint8_t *memory; // guards and buffers
    uint8_t *send;
    uint8_t *recv;
    uint8_t *input; // a copy of what `send` held
    size_t bytes;   // of memory
    struct rp_task_list *list;
    struct rp_task_list *tail;
};

struct op {
    struct list_sim_op what;
    struct oracle_call call;
    uint64_t block_bytes;
    struct part part[RANKS_MAX];
};

struct rank {
    struct window window[2];
    struct clock clock;
    uint32_t op, task;
    uint64_t done; // elements of each block in finished rounds
};

struct list_sim {
    uint32_t ranks;
    uint64_t window_bytes;
    uint64_t random;
    struct op *op;
    uint32_t op_count;
    struct rank rank[RANKS_MAX];
    struct mailbox box[RANKS_MAX][RANKS_MAX]; // [receiver][sender]
    bool broken;
};

static void *need(void *memory)
{
    if (memory == NULL) {
        perror("list_sim");
        _exit(99);
    }
    return memory;
}

static uint32_t draw(struct list_sim *sim, uint32_t below)
{
    sim->random = sim->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(sim->random >> 33) % below;
}

static void complain(struct list_sim *sim, uint32_t rank, const char *fmt, ...) RP_PRINTF(3, 4);

static void complain(struct list_sim *sim, uint32_t rank, const char *fmt, ...)
{
    const struct rank *at = &sim->rank[rank];
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "rank %u of %u, op %u, element %" PRIu64 ", task %u: ", rank, sim->ranks,
            at->op, at->done, at->task);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    sim->broken = true;
}

struct list_sim *list_sim_create(uint32_t ranks, uint64_t window_bytes, uint64_t seed)
{
    struct list_sim *sim = need(calloc(1, sizeof(*sim)));
    sim->ranks = ranks;
    sim->window_bytes = window_bytes;
    sim->random = seed * 2 + 1;
    for (uint32_t r = 0; r < ranks; r++) {
        for (unsigned w = 0; w < 2; w++) {
            sim->rank[r].window[w].bytes = need(calloc(window_bytes, 1));
            sim->rank[r].window[w].trace = need(calloc(window_bytes, sizeof(struct trace)));
        }
    }
    return sim;
}

void list_sim_destroy(struct list_sim *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        for (uint32_t i = 0; i < sim->op_count; i++) {
            free(sim->op[i].part[r].memory);
            free(sim->op[i].part[r].input);
            rp_free(sim->op[i].part[r].list);
            rp_free(sim->op[i].part[r].tail);
        }
        for (uint32_t q = 0; q < sim->ranks; q++) {
            free(sim->box[r][q].clock);
        }
        for (unsigned w = 0; w < 2; w++) {
            free(sim->rank[r].window[w].bytes);
            free(sim->rank[r].window[w].trace);
        }
    }
    free(sim->op);
    free(sim);
}

// ---- adding an operator ----

static struct rp_expand_request make_request(
        const struct list_sim *sim, const struct list_sim_op *op, uint32_t rank, uint64_t count)
{
    return (struct rp_expand_request){
        .op = op->op,
        .dtype = op->dtype,
        .reduce = op->reduce,
        .algorithm = op->algorithm,
        .root = op->root,
        .rank = rank,
        .size = sim->ranks,
        .count = count,
        .window_bytes = sim->window_bytes,
    };
}

uint64_t list_sim_round_count(const struct list_sim *sim, const struct list_sim_op *op)
{
    const struct rp_expand_request request = make_request(sim, op, 0, 1);
    return rp_expand_round_count(&request);
}

static enum oracle_op oracle_of(uint16_t op)
{
    switch (op) {
    case RP_OP_ALL_REDUCE:
        return ORACLE_ALL_REDUCE;
    case RP_OP_REDUCE_SCATTER:
        return ORACLE_REDUCE_SCATTER;
    case RP_OP_ALL_GATHER:
        return ORACLE_ALL_GATHER;
    case RP_OP_REDUCE:
        return ORACLE_REDUCE;
    case RP_OP_SCATTER:
        return ORACLE_SCATTER;
    case RP_OP_ALLTOALL:
        return ORACLE_ALLTOALL;
    case RP_OP_ALL_GATHER_V:
        return ORACLE_ALL_GATHER_V;
    case RP_OP_REDUCE_SCATTER_V:
        return ORACLE_REDUCE_SCATTER_V;
    default:
        return ORACLE_BROADCAST; // a barrier has no bytes
    }
}

static void place(struct list_sim *sim, struct op *op, uint32_t rank)
{
    struct part *part = &op->part[rank];
    const bool barrier = op->what.op == RP_OP_BARRIER;
    const size_t send = barrier ? 0 : oracle_send_bytes(&op->call);
    const size_t recv = barrier ? 0 : oracle_recv_bytes(&op->call);
    const bool one =
            op->what.op == RP_OP_BROADCAST ||
            (op->what.in_place && op->what.op != RP_OP_ALLTOALL && !rp_op_has_table(op->what.op));
    const size_t room = one ? (send > recv ? send : recv) : send + GUARD + recv;
    part->bytes = room + 2 * GUARD;
    part->memory = need(malloc(part->bytes));
    memset(part->memory, GUARD_BYTE, part->bytes);
    part->send = part->memory + GUARD;
    part->recv = part->memory + GUARD;
    if (!one) {
        part->recv += send + GUARD;
    } else if (recv > send) {
        part->send += rank * op->block_bytes;
    } else if (recv < send) {
        part->recv += rank * op->block_bytes;
    }
    if (!barrier) {
        const size_t element = rp_dtype_bytes((enum rp_dtype)op->what.dtype);
        oracle_fill((enum rp_dtype)op->what.dtype, part->send, send / element, draw(sim, 1u << 30));
    }
    part->input = need(malloc(send + 1));
    memcpy(part->input, part->send, send);
}

static bool expand(struct list_sim *sim, struct op *op, uint32_t rank)
{
    struct part *part = &op->part[rank];
    const uint64_t most = list_sim_round_count(sim, &op->what);
    const uint64_t count = op->what.count;
    struct rp_expand_request request =
            make_request(sim, &op->what, rank, count < most ? count : most);
    if (rp_expand(&request, &part->list) != RP_OK) {
        return false;
    }
    request.count = count % part->list->round_count;
    return request.count == 0 || rp_expand(&request, &part->tail) == RP_OK;
}

bool list_sim_add(struct list_sim *sim, const struct list_sim_op *what)
{
    sim->op = need(realloc(sim->op, (sim->op_count + 1) * sizeof(*sim->op)));
    struct op *op = &sim->op[sim->op_count++];
    *op = (struct op){ .what = *what };
    op->call = (struct oracle_call){ .op = oracle_of(what->op),
        .dtype = (enum rp_dtype)what->dtype,
        .reduce = (enum rp_reduce_op)what->reduce,
        .count = what->count,
        .root = what->root,
        .ranks = sim->ranks };
    op->block_bytes = what->count * rp_dtype_bytes((enum rp_dtype)what->dtype);
    bool ok = true;
    for (uint32_t r = 0; r < sim->ranks; r++) {
        place(sim, op, r);
        ok = expand(sim, op, r) && ok;
    }
    return ok;
}

// ---- running ----

static const struct rp_task_list *current_list(const struct list_sim *sim, uint32_t rank)
{
    const struct rank *at = &sim->rank[rank];
    const struct op *op = &sim->op[at->op];
    const struct part *part = &op->part[rank];
    return op->what.count - at->done >= part->list->round_count ? part->list : part->tail;
}

// Whether `rank` has seen what `other` did at `time`.
static bool seen(const struct list_sim *sim, uint32_t rank, uint32_t other, uint32_t time)
{
    return sim->rank[rank].clock.at[other] >= time;
}

static void trace_window(struct list_sim *sim, uint32_t rank, uint32_t owner, unsigned window,
        uint64_t off, uint64_t bytes, bool writes)
{
    const uint32_t now = sim->rank[rank].clock.at[rank];
    for (uint64_t i = off; i < off + bytes; i++) {
        struct trace *trace = &sim->rank[owner].window[window].trace[i];
        if ((trace->touched & 1) != 0 && !seen(sim, rank, trace->writer, trace->write_time)) {
            complain(sim, rank, "byte %" PRIu64 " of window %u of rank %u races with a write of %u",
                    i, window, owner, trace->writer);
            return;
        }
        if (writes && (trace->touched & 2) != 0 && !seen(sim, rank, owner, trace->read_time)) {
            complain(sim, rank, "byte %" PRIu64 " of window %u of rank %u is not read yet", i,
                    window, owner);
            return;
        }
        if (writes) {
            trace->touched = 1;
            trace->writer = (uint8_t)rank;
            trace->write_time = now;
        } else {
            trace->touched |= 2;
            trace->read_time = now;
        }
    }
}

// By a table, blocks lie in the larger buffer where that says.
static uint64_t block_off(const struct op *op, struct rp_ht_addr addr)
{
    const size_t element = rp_dtype_bytes((enum rp_dtype)op->what.dtype);
    if (!rp_op_has_table(op->what.op)) {
        return addr.block * op->block_bytes;
    }
    const bool in_recv = op->what.op == RP_OP_ALL_GATHER_V;
    return (addr.base == RP_HT_RECV) == in_recv
                   ? oracle_table(&op->call).place[addr.block] * element
                   : 0;
}

static uint64_t block_bytes(const struct op *op, struct rp_ht_addr addr)
{
    return rp_op_has_table(op->what.op) ? oracle_table(&op->call).count[addr.block] *
                                                  rp_dtype_bytes((enum rp_dtype)op->what.dtype)
                                        : op->block_bytes;
}

// What is left of a task's bytes in a block that a table makes smaller than the others.
static uint64_t bytes_left(const struct list_sim *sim, uint32_t rank, const struct rp_ht_task *task)
{
    const struct op *op = &sim->op[sim->rank[rank].op];
    const bool src = task->src.base == RP_HT_SEND || task->src.base == RP_HT_RECV;
    const bool dst = task->dst.base == RP_HT_SEND || task->dst.base == RP_HT_RECV;
    if (!rp_op_has_table(op->what.op) || (!src && !dst)) {
        return task->bytes;
    }
    const struct rp_ht_addr user = src ? task->src : task->dst;
    const uint64_t whole = block_bytes(op, user);
    const uint64_t begin =
            sim->rank[rank].done * rp_dtype_bytes((enum rp_dtype)op->what.dtype) + user.off;
    const uint64_t left = whole > begin ? whole - begin : 0;
    return left < task->bytes ? left : task->bytes;
}

// Where an address lies; NULL when it is outside its buffer. `owner`: whose window it is.
static uint8_t *resolve(struct list_sim *sim, uint32_t rank, uint32_t owner, struct rp_ht_addr addr,
        uint64_t bytes, bool writes)
{
    const struct rank *at = &sim->rank[rank];
    const struct op *op = &sim->op[at->op];
    const struct part *part = &op->part[rank];
    if (addr.base == RP_HT_WIN_IN || addr.base == RP_HT_WIN_OUT) {
        const unsigned window = addr.base == RP_HT_WIN_OUT;
        if (addr.off + bytes > sim->window_bytes) {
            complain(sim, rank, "offset %" PRIu64 " is outside the window", addr.off);
            return NULL;
        }
        trace_window(sim, rank, owner, window, addr.off, bytes, writes);
        return sim->rank[owner].window[window].bytes + addr.off;
    }
    const uint64_t element = rp_dtype_bytes((enum rp_dtype)op->what.dtype);
    const bool send = addr.base == RP_HT_SEND;
    const uint64_t off = block_off(op, addr) + at->done * element + addr.off;
    const size_t room = send ? oracle_send_bytes(&op->call) : oracle_recv_bytes(&op->call);
    if (bytes != 0 &&
            (addr.off + bytes > block_bytes(op, addr) - at->done * element || off + bytes > room)) {
        complain(sim, rank, "block %u, offset %" PRIu64 ": outside the user's buffer", addr.block,
                addr.off);
        return NULL;
    }
    if (send && writes) {
        complain(sim, rank, "the input is written");
        return NULL;
    }
    if (send ? !oracle_sends(&op->call, rank) : !oracle_receives(&op->call, rank)) {
        complain(sim, rank, "a buffer is used that the operator does not have there");
        return NULL;
    }
    return (send ? part->send : part->recv) + off;
}

static void run_reduce(struct list_sim *sim, uint32_t rank, const struct rp_ht_task *task)
{
    const struct op *op = &sim->op[sim->rank[rank].op];
    const enum rp_dtype dtype = (enum rp_dtype)op->what.dtype;
    const uint64_t bytes = bytes_left(sim, rank, task);
    const void *srcs[RANKS_MAX];
    for (uint32_t p = 0; p < task->fold_count && bytes != 0; p++) {
        const uint64_t off = task->fold_off + (uint64_t)p * task->fold_step;
        srcs[p] = p == task->fold_own
                          ? resolve(sim, rank, rank, task->src, bytes, false)
                          : resolve(sim, rank, rank,
                                    (struct rp_ht_addr){ .base = RP_HT_WIN_IN, .off = off }, bytes,
                                    false);
        if (srcs[p] == NULL) {
            return;
        }
    }
    uint8_t *dst = bytes == 0 ? NULL : resolve(sim, rank, rank, task->dst, bytes, true);
    if (dst != NULL) {
        oracle_reduce(dtype, (enum rp_reduce_op)op->what.reduce, srcs, task->fold_count, dst,
                bytes / rp_dtype_bytes(dtype));
    }
}

static void run_move(struct list_sim *sim, uint32_t rank, const struct rp_ht_task *task)
{
    const bool put = task->kind == RP_HT_PUT;
    const uint32_t owner = put ? task->peer : rank;
    if (put && task->dst.base != RP_HT_WIN_IN && task->dst.base != RP_HT_WIN_OUT) {
        complain(sim, rank, "a put that goes to no window");
        return;
    }
    const uint64_t bytes = bytes_left(sim, rank, task);
    if (bytes == 0) {
        return;
    }
    const uint8_t *src = resolve(sim, rank, rank, task->src, bytes, false);
    uint8_t *dst = resolve(sim, rank, owner, task->dst, bytes, true);
    if (src != NULL && dst != NULL) {
        memmove(dst, src, bytes);
    }
}

static void send_signal(struct list_sim *sim, uint32_t rank, uint32_t peer)
{
    struct mailbox *box = &sim->box[peer][rank];
    if (box->end == box->room) {
        box->room = box->room == 0 ? 16 : 2 * box->room;
        box->clock = need(realloc(box->clock, box->room * sizeof(*box->clock)));
    }
    box->clock[box->end++] = sim->rank[rank].clock;
}

static bool take_signal(struct list_sim *sim, uint32_t rank, uint32_t peer)
{
    struct mailbox *box = &sim->box[rank][peer];
    if (box->first == box->end) {
        return false;
    }
    const struct clock *clock = &box->clock[box->first++];
    for (uint32_t q = 0; q < sim->ranks; q++) {
        if (clock->at[q] > sim->rank[rank].clock.at[q]) {
            sim->rank[rank].clock.at[q] = clock->at[q];
        }
    }
    return true;
}

static bool run_task(struct list_sim *sim, uint32_t rank, const struct rp_ht_task *task)
{
    if (task->kind == RP_HT_WAIT && !take_signal(sim, rank, task->peer)) {
        return false;
    }
    sim->rank[rank].clock.at[rank]++;
    switch ((enum rp_ht_kind)task->kind) {
    case RP_HT_COPY:
    case RP_HT_PUT:
        run_move(sim, rank, task);
        break;
    case RP_HT_REDUCE:
        run_reduce(sim, rank, task);
        break;
    case RP_HT_SIGNAL:
        send_signal(sim, rank, task->peer);
        break;
    case RP_HT_WAIT:
    case RP_HT_CHECK:
        break;
    }
    return true;
}

// To the end of the lists that have no task left.
static void advance(struct list_sim *sim, uint32_t rank)
{
    struct rank *at = &sim->rank[rank];
    while (at->op < sim->op_count) {
        const struct rp_task_list *list = current_list(sim, rank);
        if (at->task < list->task_count) {
            return;
        }
        at->task = 0;
        at->done += list->round_count;
        if (at->done == sim->op[at->op].what.count) {
            at->done = 0;
            at->op++;
        }
    }
}

// One to many tasks of one rank: a long run lets a rank get far ahead. False: it could do nothing.
static bool run_some(struct list_sim *sim, uint32_t rank)
{
    struct rank *at = &sim->rank[rank];
    uint32_t left = draw(sim, 4) == 0 ? 1000 : 1 + draw(sim, 4);
    bool moved = false;
    for (; left > 0 && !sim->broken; left--) {
        advance(sim, rank);
        if (at->op == sim->op_count ||
                !run_task(sim, rank, &current_list(sim, rank)->task[at->task])) {
            break;
        }
        at->task++;
        moved = true;
    }
    advance(sim, rank);
    return moved;
}

static bool all_done(const struct list_sim *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        if (sim->rank[r].op < sim->op_count) {
            return false;
        }
    }
    return true;
}

bool list_sim_run(struct list_sim *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        advance(sim, r);
    }
    while (!sim->broken && !all_done(sim)) {
        bool moved = false;
        const uint32_t first = draw(sim, sim->ranks);
        for (uint32_t i = 0; i < sim->ranks && !moved; i++) {
            moved = run_some(sim, (first + i) % sim->ranks);
        }
        if (!moved) {
            complain(sim, first, "all ranks stand still");
        }
    }
    for (uint32_t r = 0; r < sim->ranks && !sim->broken; r++) {
        for (uint32_t q = 0; q < sim->ranks; q++) {
            if (sim->box[r][q].first != sim->box[r][q].end) {
                complain(sim, r, "a signal of rank %u is left over", q);
            }
        }
    }
    return !sim->broken;
}

// ---- results ----

const void *list_sim_input(const struct list_sim *sim, uint32_t index, uint32_t rank)
{
    return sim->op[index].part[rank].input;
}

const void *list_sim_output(const struct list_sim *sim, uint32_t index, uint32_t rank)
{
    return sim->op[index].part[rank].recv;
}

// Guards, and the part of a shared buffer that the operator may not touch, are as they were.
static bool untouched(const struct op *op, uint32_t rank)
{
    const struct part *part = &op->part[rank];
    const size_t recv = oracle_recv_bytes(&op->call);
    const size_t send = oracle_send_bytes(&op->call);
    for (size_t i = 0; i < part->bytes; i++) {
        const uint8_t *at = part->memory + i;
        const bool output =
                oracle_receives(&op->call, rank) && at >= part->recv && at < part->recv + recv;
        const bool input = at >= part->send && at < part->send + send;
        const uint8_t want = input ? part->input[at - part->send] : GUARD_BYTE;
        if (!output && *at != want) {
            fprintf(stderr, "rank %u: byte %zu of its memory was written\n", rank, i);
            return false;
        }
    }
    return true;
}

bool list_sim_check(const struct list_sim *sim, uint32_t index)
{
    const struct op *op = &sim->op[index];
    const size_t bytes = oracle_recv_bytes(&op->call);
    const void *sends[RANKS_MAX];
    bool ok = true;
    if (op->what.op == RP_OP_BARRIER) {
        return true;
    }
    for (uint32_t r = 0; r < sim->ranks; r++) {
        sends[r] = op->part[r].input;
    }
    uint8_t *want = need(malloc(bytes));
    for (uint32_t r = 0; r < sim->ranks && ok; r++) {
        memset(want, GUARD_BYTE, bytes); // between blocks
        oracle_collective(&op->call, sends, r, want);
        if (oracle_receives(&op->call, r) && memcmp(want, op->part[r].recv, bytes) != 0) {
            fprintf(stderr, "rank %u of %u, op %u: wrong result\n", r, sim->ranks, index);
            ok = false;
        }
        ok = ok && untouched(op, r);
    }
    free(want);
    return ok;
}
