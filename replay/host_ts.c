// HOST_TS: walks one rank's list of a collective, round by round.
//
// A signal of a peer is taken only with a look at what that peer announced: a list that was made
// for another call would pair with ours by accident and move the wrong bytes.

#include <assert.h>
#include <string.h>

#include "base/cpu.h"
#include "kernels/copy.h"
#include "replay/collective.h"
#include "replay/scheduler.h"

#define POLLS 12 // as the AIV kernels: a peer on its own core is nearer than the scheduler

// One step of one op's list, as its tasks see it.
struct walk {
    const struct rp_op *op;
    struct rp_lines *lines;
    struct rp_hts_run *run;
    const struct rp_reduce_impl *reduce;
    uint64_t seq;
    uint64_t element_bytes;
    uint64_t round_off; // bytes of each block that the rounds before have handled
    uint64_t budget_bytes;
};

static uint64_t digest_of(const struct rp_op *op)
{
    return op->record.digest != 0 ? op->record.digest : rp_record_digest(&op->record);
}

// Rounds until this rank's own blocks are through, of which there is one at least: its peers may
// have more of them.
static uint64_t row_rounds(const struct rp_op *op)
{
    const struct rp_counts *row = op->counts;
    uint64_t most = 1;
    for (uint32_t q = 0; q < row->ranks; q++) {
        most = rp_max_u64(most, rp_max_u64(row->at[q], rp_counts_expected(row, q)));
    }
    return most / op->list->round_count + (most % op->list->round_count != 0);
}

static uint64_t full_rounds(const struct rp_op *op)
{
    if (op->list == NULL) {
        return 0;
    }
    if (rp_op_has_row(op->record.op)) {
        return row_rounds(op);
    }
    return op->list->round_count == 0 ? 1 : op->record.count / op->list->round_count;
}

// The list of round `round`, NULL after the last.
static const struct rp_task_list *round_list(const struct rp_op *op, uint64_t round)
{
    const uint64_t full = full_rounds(op);
    if (round < full) {
        return op->list;
    }
    return round == full ? op->tail : NULL;
}

// By a table a block lies where that says, but the buffer with one block alone has it at its start.
static uint64_t block_off(const struct walk *walk, const struct rp_ht_addr *at)
{
    const struct rp_op *op = walk->op;
    if (op->counts == NULL) {
        return at->block * op->record.count * walk->element_bytes;
    }
    if (rp_op_has_row(op->record.op)) {
        return walk->element_bytes * (at->base == RP_HT_RECV
                                                     ? rp_counts_recv_place(op->counts, at->block)
                                                     : rp_counts_place(op->counts, at->block));
    }
    const enum rp_ht_base many = op->record.op == RP_OP_ALL_GATHER_V ? RP_HT_RECV : RP_HT_SEND;
    return at->base == many ? rp_counts_place(op->counts, at->block) * walk->element_bytes : 0;
}

static uint64_t buffer_off(const struct walk *walk, const struct rp_ht_addr *at)
{
    return block_off(walk, at) + walk->round_off + at->off;
}

// The bytes of a task. Lists are made for the largest block; of a smaller one less is left in a
// round, or nothing. The user's buffer in the task tells which block it is; between windows it may
// move more than there is, into a place that nobody reads.
static uint64_t task_bytes(const struct walk *walk, const struct rp_ht_task *task)
{
    const struct rp_counts *counts = walk->op->counts;
    if (counts == NULL) {
        return task->bytes;
    }
    const struct rp_ht_addr *user = task->src.base <= RP_HT_RECV   ? &task->src
                                    : task->dst.base <= RP_HT_RECV ? &task->dst
                                                                   : NULL;
    if (user == NULL) {
        return task->bytes;
    }
    const bool expected = rp_op_has_row(walk->op->record.op) && user->base == RP_HT_RECV;
    const uint64_t count =
            expected ? rp_counts_expected(counts, user->block) : counts->at[user->block];
    const uint64_t block_bytes = count * walk->element_bytes;
    const uint64_t begin = walk->round_off + user->off;
    return rp_min_u64(task->bytes, block_bytes - rp_min_u64(block_bytes, begin));
}

static const uint8_t *source(const struct walk *walk, const struct rp_ht_addr *at)
{
    const struct rp_peer *self = &walk->lines->peer[walk->lines->rank];
    switch ((enum rp_ht_base)at->base) {
    case RP_HT_SEND:
        return (const uint8_t *)walk->op->send + buffer_off(walk, at);
    case RP_HT_RECV:
        return (const uint8_t *)walk->op->recv + buffer_off(walk, at);
    case RP_HT_WIN_IN:
        return self->window_in + at->off;
    case RP_HT_ROW:
        return (const uint8_t *)&walk->op->counts->at[at->block];
    case RP_HT_WIN_OUT:
        break;
    }
    return self->window_out + at->off;
}

// Where a copy or a reduction stores; no list stores into the user's input.
static uint8_t *target(const struct walk *walk, const struct rp_ht_addr *at)
{
    const struct rp_peer *self = &walk->lines->peer[walk->lines->rank];
    assert(at->base != RP_HT_SEND);
    if (at->base == RP_HT_RECV) {
        return (uint8_t *)walk->op->recv + buffer_off(walk, at);
    }
    return (at->base == RP_HT_WIN_IN ? self->window_in : self->window_out) + at->off;
}

// `bytes` more of the task's `total` are done, at `cost` bytes of work.
static rp_status advance(struct walk *walk, uint64_t bytes, uint64_t total, uint64_t cost)
{
    walk->budget_bytes -= rp_min_u64(walk->budget_bytes, cost);
    walk->run->done_bytes += bytes;
    return walk->run->done_bytes == total ? RP_OK : RP_AGAIN;
}

static rp_status task_copy(struct walk *walk, const struct rp_ht_task *task)
{
    const uint64_t done = walk->run->done_bytes;
    const uint64_t total = task_bytes(walk, task);
    const uint64_t bytes = rp_min_u64(total - done, walk->budget_bytes);
    if (bytes != 0) { // else the block is empty, and may have no buffer
        const uint8_t *src = source(walk, &task->src);
        uint8_t *dst = target(walk, &task->dst);
        if (src != dst) {
            rp_copy(dst + done, src + done, bytes);
        }
    }
    return advance(walk, bytes, total, bytes);
}

static rp_status task_reduce(struct walk *walk, const struct rp_ht_task *task)
{
    const uint32_t inputs = task->fold_count;
    const uint64_t done = walk->run->done_bytes;
    const uint64_t total = task_bytes(walk, task);
    uint64_t bytes = rp_max_u64(walk->budget_bytes / inputs, walk->element_bytes);
    bytes = rp_min_u64(total - done, bytes - bytes % walk->element_bytes);
    if (bytes == 0) {
        return advance(walk, 0, total, 0); // an empty block, which may have no buffer
    }
    const uint8_t *window = walk->lines->peer[walk->lines->rank].window_in + task->fold_off + done;
    const void **srcs = walk->lines->srcs;
    assert(inputs <= walk->lines->size);
    for (uint32_t p = 0; p < inputs; p++) {
        srcs[p] = window + (uint64_t)p * task->fold_step;
    }
    srcs[task->fold_own] = source(walk, &task->src) + done;
    void *dst = target(walk, &task->dst) + done;
    const struct rp_record *record = &walk->op->record;
    rp_reduce(walk->reduce, (enum rp_dtype)record->dtype, (enum rp_reduce_op)record->reduce, &dst,
            1, srcs, inputs, bytes / walk->element_bytes);
    return advance(walk, bytes, total, bytes * inputs);
}

static rp_status task_put(struct walk *walk, const struct rp_ht_task *task)
{
    struct rp_channel *channel = walk->op->comm->channel[task->peer];
    const uint64_t done = walk->run->done_bytes;
    const uint64_t total = task_bytes(walk, task);
    const uint64_t bytes = rp_min_u64(total - done, walk->budget_bytes);
    if (bytes != 0) {
        const enum rp_window window = task->dst.base == RP_HT_WIN_IN ? RP_WINDOW_IN : RP_WINDOW_OUT;
        const rp_status st = rp_channel_put(
                channel, window, task->dst.off + done, source(walk, &task->src) + done, bytes);
        if (st != RP_OK) {
            (void)rp_channel_progress(channel, 1);
            return st;
        }
    }
    return advance(walk, bytes, total, bytes);
}

static rp_status task_signal(struct walk *walk, const struct rp_ht_task *task)
{
    struct rp_channel *channel = walk->op->comm->channel[task->peer];
    const rp_status st = rp_channel_signal(channel);
    if (st == RP_AGAIN) {
        (void)rp_channel_progress(channel, 1);
    }
    return st;
}

static bool take_signal(struct rp_channel *channel)
{
    for (unsigned i = 0; i < POLLS; i++) {
        if (rp_channel_test(channel)) {
            return true;
        }
        rp_cpu_pause();
    }
    return false;
}

// Whether the peer announced the same call. It did so before it signalled.
static rp_status compare(struct walk *walk, uint32_t q)
{
    const rp_status st = rp_lines_arrived(walk->lines, q, walk->seq);
    if (st == RP_OK) {
        return rp_lines_match(walk->lines, q, walk->seq, digest_of(walk->op));
    }
    return st != RP_AGAIN ? st
                          : rp_fail(RP_EINTERNAL, "rank %u signalled before it announced its call",
                                    (unsigned)q);
}

static rp_status task_wait(struct walk *walk, const struct rp_ht_task *task)
{
    struct rp_channel *channel = walk->op->comm->channel[task->peer];
    if (take_signal(channel)) {
        return compare(walk, task->peer);
    }
    (void)rp_channel_progress(channel, 1);
    // A peer that is done with the op, or never will be, has signalled all that it is going to.
    // Its signals came before that, so one more look decides.
    const rp_status st = rp_lines_done(walk->lines, task->peer, walk->seq);
    if (st == RP_AGAIN) {
        return RP_AGAIN;
    }
    if (rp_channel_test(channel)) {
        return compare(walk, task->peer);
    }
    return st == RP_OK ? RP_AGAIN : st;
}

// A pair of ranks that think differently of its block finds out before either has written a byte of
// it, and all ranks hear of it.
static rp_status task_check(struct walk *walk, const struct rp_ht_task *task)
{
    const uint64_t expected = rp_counts_expected(walk->op->counts, task->peer);
    uint64_t sent;
    memcpy(&sent, source(walk, &task->src), sizeof(sent));
    return sent == expected ? RP_OK
                            : rp_lines_uneven(walk->lines, task->peer, walk->seq, sent, expected);
}

static rp_status (*const tasks[])(struct walk *walk, const struct rp_ht_task *task) = {
    [RP_HT_COPY] = task_copy,
    [RP_HT_REDUCE] = task_reduce,
    [RP_HT_PUT] = task_put,
    [RP_HT_SIGNAL] = task_signal,
    [RP_HT_WAIT] = task_wait,
    [RP_HT_CHECK] = task_check,
};

// Whether the task is one in this round.
static bool is_due(const struct walk *walk, const struct rp_ht_task *task)
{
    const uint64_t begin = walk->round_off / walk->element_bytes;
    switch ((enum rp_ht_when)task->when) {
    case RP_HT_FIRST:
        return walk->run->round == 0;
    case RP_HT_OUT:
        return walk->run->round == 0 || walk->op->counts->at[task->peer] > begin;
    case RP_HT_IN:
        return walk->run->round == 0 || rp_counts_expected(walk->op->counts, task->peer) > begin;
    case RP_HT_ALWAYS:
        break;
    }
    return true;
}

// Goes on with one round's list until it is over.
static rp_status round_step(struct walk *walk, const struct rp_task_list *list, bool *moved)
{
    struct rp_hts_run *run = walk->run;
    while (run->next < list->task_count) {
        if (walk->budget_bytes == 0) {
            return RP_AGAIN;
        }
        const struct rp_ht_task *task = &list->task[run->next];
        if (task->when != RP_HT_ALWAYS && !is_due(walk, task)) {
            run->next++;
            continue;
        }
        const uint64_t done = run->done_bytes;
        const rp_status st = tasks[task->kind](walk, task);
        *moved |= st == RP_OK || run->done_bytes != done;
        if (st == RP_OK) {
            run->next++;
            run->done_bytes = 0;
        } else if (st != RP_AGAIN || run->done_bytes == done) {
            return st;
        }
    }
    run->next = 0;
    run->round++;
    return RP_OK;
}

// A list looks at the calls of those ranks alone whose signals it takes. Who leaves with all it
// needs could not be told any more that others differ, so it sees everybody's call first.
static rp_status see_all(struct walk *walk)
{
    struct rp_lines *lines = walk->lines;
    uint32_t *q = &walk->run->seen;
    for (; *q < lines->size; ++*q) {
        if (*q == lines->rank) {
            continue;
        }
        rp_status st = rp_lines_arrived(lines, *q, walk->seq);
        st = st != RP_OK ? st : rp_lines_match(lines, *q, walk->seq, digest_of(walk->op));
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

rp_status rp_hts_step(struct rp_hts_run *run, const struct rp_op *op, uint64_t seq,
        const struct rp_reduce_impl *reduce, uint64_t budget_bytes, bool *moved)
{
    struct walk walk = {
        .op = op,
        .lines = &op->comm->lines,
        .run = run,
        .reduce = reduce,
        .seq = seq,
        .element_bytes = rp_max_u64(rp_dtype_bytes((enum rp_dtype)op->record.dtype), 1),
        .budget_bytes = rp_max_u64(budget_bytes, 1),
    };
    *moved = false;
    const uint64_t round_bytes = op->list == NULL ? 0 : op->list->round_count * walk.element_bytes;
    // A step is one chunk: peers must not have revoked the op before it, nor after the last.
    rp_status st = rp_lines_check(walk.lines, seq);
    const struct rp_task_list *list;
    while (st == RP_OK && (list = round_list(op, run->round)) != NULL) {
        walk.round_off = run->round * round_bytes;
        st = round_step(&walk, list, moved);
    }
    st = st == RP_OK ? see_all(&walk) : st;
    return st == RP_OK ? rp_lines_check(walk.lines, seq) : st;
}

uint32_t rp_hts_awaited(const struct rp_hts_run *run, const struct rp_op *op)
{
    const struct rp_task_list *list = round_list(op, run->round);
    if (list == NULL || run->next >= list->task_count || list->task[run->next].kind != RP_HT_WAIT) {
        return RP_NO_RANK;
    }
    return list->task[run->next].peer;
}

rp_status rp_hts_compare(const struct rp_op *op, uint64_t seq)
{
    struct rp_lines *lines = &op->comm->lines;
    for (uint32_t q = 0; q < lines->size; q++) {
        if (q == lines->rank) {
            continue;
        }
        rp_status st = rp_lines_arrived(lines, q, seq);
        if (st == RP_OK) {
            st = rp_lines_match(lines, q, seq, digest_of(op));
        }
        if (st != RP_OK && st != RP_AGAIN) {
            return st;
        }
    }
    return RP_OK;
}
