#include "support/list_proof.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/dtype.h"
#include "support/list_proof_state.h"

// ---- tasks ----

static void run_reduce(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    const uint32_t count = task->fold_count;
    const uint64_t bytes = task->bytes;
    if (count == 0 || count > proof->ranks || task->fold_own >= count) {
        proof_complain(
                proof, rank, "%u inputs, of which number %u is the own one", count, task->fold_own);
        return;
    }
    uint32_t *values = need(malloc(count * bytes * sizeof(*values)));
    uint32_t *column = need(malloc(count * sizeof(*column)));
    for (uint32_t p = 0; p < count; p++) {
        const struct rp_ht_addr arrived = {
            .base = RP_HT_WIN_IN,
            .off = task->fold_off + (uint64_t)p * task->fold_step,
        };
        proof_read(
                proof, rank, p == task->fold_own ? task->src : arrived, bytes, values + p * bytes);
    }
    for (uint64_t i = 0; i < bytes && !proof_broken(proof); i++) {
        for (uint32_t p = 0; p < count; p++) {
            column[p] = values[p * bytes + i];
        }
        values[i] = expr_fold(&proof->expr, column, count);
    }
    proof_write(proof, rank, task->dst, bytes, values);
    free(column);
    free(values);
}

static void run_copy(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    uint32_t *values = need(malloc(task->bytes * sizeof(*values)));
    proof_read(proof, rank, task->src, task->bytes, values);
    proof_write(proof, rank, task->dst, task->bytes, values);
    free(values);
}

static void run_put(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    if (task->peer >= proof->ranks || task->peer == rank ||
            (task->dst.base != RP_HT_WIN_IN && task->dst.base != RP_HT_WIN_OUT)) {
        proof_complain(proof, rank, "a put that goes to no peer's window");
        return;
    }
    uint32_t *values = need(malloc(task->bytes * sizeof(*values)));
    proof_read(proof, rank, task->src, task->bytes, values);
    proof_put(proof, rank, task, values);
    free(values);
}

// What a rank finds in front of a block is the count that its sender puts there for it.
static void run_check(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    uint32_t values[sizeof(uint64_t)];
    const uint64_t unit = proof->element_bytes;
    proof->element_bytes = 1; // it is none
    proof_read(proof, rank, task->src, sizeof(uint64_t), values);
    proof->element_bytes = unit;
    for (uint64_t i = 0; i < sizeof(uint64_t); i++) {
        if (values[i] != proof_count_symbol(proof, task->peer, rank, i)) {
            proof_complain(proof, rank, "no count of rank %u stands before its block", task->peer);
            return;
        }
    }
}

static bool run_task(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    if (task->kind == RP_HT_WAIT && !proof_take_signal(proof, rank, task->peer)) {
        return false;
    }
    proof->rank[rank].time++;
    proof->tasks++;
    const bool moves = task->kind == RP_HT_COPY || task->kind == RP_HT_PUT;
    if (moves && task->bytes == 0 && proof->op->matrix != NULL) {
        return true; // nothing is left of this block
    }
    switch ((enum rp_ht_kind)task->kind) {
    case RP_HT_COPY:
        run_copy(proof, rank, task);
        break;
    case RP_HT_PUT:
        run_put(proof, rank, task);
        break;
    case RP_HT_REDUCE:
        run_reduce(proof, rank, task);
        break;
    case RP_HT_SIGNAL:
        proof_send_signal(proof, rank, task->peer);
        break;
    case RP_HT_WAIT:
        break;
    case RP_HT_CHECK:
        run_check(proof, rank, task);
        break;
    }
    return true;
}

// How many elements of the largest of its blocks a rank goes through; with a row at least one, so
// that there is a first round.
static uint64_t rank_count(const struct list_proof *proof, uint32_t rank)
{
    uint64_t most = 1;
    if (proof->op->matrix == NULL) {
        return proof->op->count;
    }
    for (uint32_t q = 0; q < proof->ranks; q++) {
        const uint64_t out = proof_pair(proof, rank, q);
        const uint64_t in = proof_pair(proof, q, rank);
        most = out > most ? out : most;
        most = in > most ? in : most;
    }
    return most;
}

// By the matrix: whether the task is one in the rank's present round.
static bool is_due(const struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    const uint64_t done = proof->rank[rank].done;
    return task->when == RP_HT_ALWAYS || done == 0 ||
           (task->when == RP_HT_OUT && proof_pair(proof, rank, task->peer) > done) ||
           (task->when == RP_HT_IN && proof_pair(proof, task->peer, rank) > done);
}

// The task with no more bytes than there are left of its block.
static struct rp_ht_task clip(
        const struct list_proof *proof, uint32_t rank, const struct rp_ht_task *whole)
{
    struct rp_ht_task task = *whole;
    const bool src = task.src.base == RP_HT_SEND || task.src.base == RP_HT_RECV;
    const bool dst = task.dst.base == RP_HT_SEND || task.dst.base == RP_HT_RECV;
    if (proof->op->matrix == NULL || (!src && !dst)) {
        return task;
    }
    const struct rp_ht_addr user = src ? task.src : task.dst;
    const uint64_t count = user.base == RP_HT_SEND ? proof_pair(proof, rank, user.block)
                                                   : proof_pair(proof, user.block, rank);
    const uint64_t done = proof->rank[rank].done;
    const uint64_t left = count > done ? (count - done) * proof->element_bytes : 0;
    task.bytes = task.bytes < left ? task.bytes : left;
    return task;
}

// The next task of `rank`, over the ends of lists; NULL when it is through.
static const struct rp_ht_task *next_task(struct list_proof *proof, uint32_t rank)
{
    struct rank *at = &proof->rank[rank];
    const uint64_t count = rank_count(proof, rank);
    while (at->done < count) {
        const bool full = count - at->done >= at->list->round_count || proof->op->matrix != NULL;
        const struct rp_task_list *list = full ? at->list : at->tail;
        while (at->task < list->task_count && !is_due(proof, rank, &list->task[at->task])) {
            at->task++;
        }
        if (at->task < list->task_count) {
            return &list->task[at->task];
        }
        at->task = 0;
        at->done += list->round_count;
    }
    return NULL;
}

// One to many tasks of one rank that can run: a long run lets it get far ahead.
static void run_some(struct list_proof *proof)
{
    const uint32_t index = proof_draw(proof, proof->ready_count);
    const uint32_t rank = proof->ready[index];
    uint32_t left = proof_draw(proof, 4) == 0 ? UINT32_MAX : 1 + proof_draw(proof, 4);
    for (; left > 0 && !proof_broken(proof); left--) {
        const struct rp_ht_task *task = next_task(proof, rank);
        struct rp_ht_task clipped = { .bytes = 0 };
        if (task != NULL) {
            clipped = clip(proof, rank, task);
        }
        if (task == NULL || !run_task(proof, rank, &clipped)) {
            proof->ready[index] = proof->ready[--proof->ready_count];
            proof->rank[rank].waits_for = task == NULL ? NOBODY : (uint16_t)task->peer;
            return;
        }
        proof->rank[rank].task++;
    }
}

static void run_all(struct list_proof *proof)
{
    for (uint32_t r = 0; r < proof->ranks; r++) {
        proof->rank[r].waits_for = NOBODY;
        proof_make_ready(proof, r);
    }
    while (proof->ready_count > 0 && !proof_broken(proof)) {
        run_some(proof);
    }
    for (uint32_t r = 0; r < proof->ranks; r++) {
        if (proof->rank[r].waits_for != NOBODY) {
            proof_complain(proof, r, "waits for rank %u for ever", proof->rank[r].waits_for);
        }
    }
    proof->ready_count = 0;
}

// ---- the operator as a whole ----

static void check_signals(struct list_proof *proof)
{
    for (size_t i = 0; i < (size_t)proof->ranks * proof->ranks; i++) {
        struct mailbox *box = &proof->box[i];
        if (box->first != box->end) {
            proof_complain(proof, (uint32_t)(i / proof->ranks), "a signal of rank %u is left over",
                    (uint32_t)(i % proof->ranks));
        }
        for (; box->first < box->end; box->first++) {
            proof_knowledge_unref(box->signal[box->first].knows);
        }
        box->first = box->end = 0;
    }
}

// Whoever put knows that what it put was used: it may put again at once.
static void check_credits(struct list_proof *proof)
{
    for (uint32_t i = 0; i < proof->touched_count; i++) {
        const struct page *page = proof->touched[i];
        for (unsigned k = 0; k < PAGE_CELLS && !proof_broken(proof); k++) {
            const struct cell *cell = &page->cell[k];
            if (cell->epoch == proof->epoch && cell->putter != NOBODY &&
                    !proof_knows(proof, cell->putter, page->owner, cell->owner_time)) {
                proof_complain(proof, cell->putter,
                        "ends before it knows that rank %u is through with what it put",
                        page->owner);
            }
        }
    }
    proof->touched_count = 0;
}

// Nobody leaves a barrier before everyone has come.
static void check_barrier(struct list_proof *proof)
{
    for (uint32_t r = 0; r < proof->ranks; r++) {
        for (uint32_t q = 0; q < proof->ranks; q++) {
            if (!proof_knows(proof, r, q, 1)) {
                proof_complain(proof, r, "leaves the barrier before rank %u has come", q);
            }
        }
    }
}

// Byte `off` of the blocks that rank `rank` gets.
static bool block_right(struct list_proof *proof, uint32_t rank, uint64_t off, uint32_t id)
{
    if (proof->op->matrix == NULL) {
        const uint32_t from = (uint32_t)(off / proof->block_bytes);
        return id ==
               expr_input(&proof->expr, from, rank * proof->block_bytes + off % proof->block_bytes);
    }
    for (uint32_t q = 0; q < proof->ranks; q++) {
        const uint64_t begin = proof_recv_off(proof, rank, q);
        if (off - begin < proof_pair(proof, q, rank) * proof->element_bytes) {
            return id == expr_input(&proof->expr, q, proof_send_off(proof, q, rank) + off - begin);
        }
    }
    return id == EXPR_NONE; // behind the last block
}

static bool has_input(const struct list_proof_op *op, uint32_t rank)
{
    return (op->op != RP_OP_BROADCAST && op->op != RP_OP_SCATTER) || rank == op->root;
}

static bool result_right(struct list_proof *proof, uint32_t rank, uint64_t off, uint32_t id)
{
    const struct list_proof_op *op = proof->op;
    struct expr_table *expr = &proof->expr;
    switch (op->op) {
    case RP_OP_ALL_REDUCE:
        if (rank != 0) {
            return id == proof->rank[0].recv[off]; // the very same sum
        }
        return op->strict ? expr_is_strict_sum(expr, id, off) : expr_is_sum(expr, id, off);
    case RP_OP_REDUCE:
        if (rank != op->root) {
            return id == (op->in_place ? expr_input(expr, rank, off) : EXPR_NONE);
        }
        return op->strict ? expr_is_strict_sum(expr, id, off) : expr_is_sum(expr, id, off);
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
        off += rank * proof->block_bytes;
        return op->strict ? expr_is_strict_sum(expr, id, off) : expr_is_sum(expr, id, off);
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
        return id ==
               expr_input(expr, (uint32_t)(off / proof->block_bytes), off % proof->block_bytes);
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_V:
        return block_right(proof, rank, off, id);
    case RP_OP_SCATTER:
        return id == expr_input(expr, op->root, rank * proof->block_bytes + off);
    default:
        return id == expr_input(expr, op->root, off);
    }
}

static void check_results(struct list_proof *proof)
{
    for (uint32_t r = 0; r < proof->ranks && !proof_broken(proof); r++) {
        const struct rank *at = &proof->rank[r];
        for (uint64_t off = 0; off < proof->recv_bytes && !proof_broken(proof); off++) {
            if (!result_right(proof, r, off, at->recv[off])) {
                proof_complain(proof, r, "byte %" PRIu64 " of the result is wrong", off);
            }
        }
        for (uint64_t off = 0; off < proof->send_bytes && !proof_broken(proof); off++) {
            const uint32_t *byte = &at->send[off];
            const bool shared = byte >= at->recv && byte < at->recv + proof->recv_bytes;
            if (!shared && has_input(proof->op, r) && *byte != expr_input(&proof->expr, r, off)) {
                proof_complain(proof, r, "byte %" PRIu64 " of the input was written", off);
            }
        }
    }
}

static void set_sizes(struct list_proof *proof, const struct list_proof_op *op)
{
    const uint64_t element = rp_dtype_bytes((enum rp_dtype)op->dtype);
    const uint64_t block = op->op == RP_OP_BARRIER ? 0 : op->count * element;
    proof->op = op;
    proof->element_bytes = element;
    proof->block_bytes = block;
    const struct rp_record record = { .op = op->op, .dtype = op->dtype, .count = op->count };
    proof->send_bytes = rp_record_send_bytes(&record, proof->ranks);
    proof->recv_bytes = rp_record_recv_bytes(&record, proof->ranks);
    if (op->matrix == NULL) {
        return;
    }
    proof->send_bytes = proof->recv_bytes = 0; // of whoever has most
    for (uint32_t r = 0; r < proof->ranks; r++) {
        const uint64_t out = proof_send_off(proof, r, proof->ranks);
        const uint64_t in = proof_recv_off(proof, r, proof->ranks);
        proof->send_bytes = out > proof->send_bytes ? out : proof->send_bytes;
        proof->recv_bytes = in > proof->recv_bytes ? in : proof->recv_bytes;
    }
}

// Buffers with nothing in the output and a symbol in each byte of the input. In place: one is
// within the other.
static void place(struct list_proof *proof, uint32_t rank)
{
    struct rank *at = &proof->rank[rank];
    const uint64_t send = proof->send_bytes;
    const uint64_t recv = proof->recv_bytes;
    const bool one = proof->op->in_place || proof->op->op == RP_OP_BROADCAST;
    at->memory = need(calloc(send + recv + 1, sizeof(*at->memory)));
    at->send = at->memory;
    at->recv = at->memory;
    if (!one) {
        at->recv += send;
    } else if (recv > send) {
        at->send += rank * proof->block_bytes;
    } else if (recv < send) {
        at->recv += rank * proof->block_bytes;
    }
    for (uint64_t off = 0; off < send && has_input(proof->op, rank); off++) {
        at->send[off] = expr_input(&proof->expr, rank, off);
    }
}

static struct rp_expand_request make_request(
        const struct list_proof *proof, const struct list_proof_op *op)
{
    return (struct rp_expand_request){
        .op = op->op,
        .dtype = op->dtype,
        .algorithm = op->algorithm,
        .root = op->root,
        .size = proof->ranks,
        .count = op->count,
        .window_bytes = proof->window_bytes,
        .layout = op->layout,
    };
}

uint64_t list_proof_round_count(const struct list_proof *proof, const struct list_proof_op *op)
{
    const struct rp_expand_request request = make_request(proof, op);
    return rp_expand_round_count(&request);
}

static void expand(struct list_proof *proof, uint32_t rank)
{
    struct rank *at = &proof->rank[rank];
    struct rp_expand_request request = make_request(proof, proof->op);
    const uint64_t most = rp_expand_round_count(&request);
    request.rank = rank;
    request.count = proof->op->count < most && proof->op->matrix == NULL ? proof->op->count : most;
    if (rp_expand(&request, &at->list) != RP_OK) {
        proof_complain(proof, rank, "%s", rp_error_take());
        return;
    }
    request.count = proof->op->matrix == NULL ? proof->op->count % request.count : 0;
    if (request.count != 0 && rp_expand(&request, &at->tail) != RP_OK) {
        proof_complain(proof, rank, "%s", rp_error_take());
    }
}

static void mutate(struct list_proof *proof)
{
    if (proof->op->mutate == NULL || proof_broken(proof)) {
        return;
    }
    struct rp_task_list **lists = need(malloc(proof->ranks * sizeof(struct rp_task_list *)));
    for (uint32_t r = 0; r < proof->ranks; r++) {
        lists[r] = proof->rank[r].list;
    }
    proof->op->mutate(lists, proof->ranks, proof->op->arg);
    free(lists);
}

bool list_proof_run(struct list_proof *proof, const struct list_proof_op *op)
{
    proof->fault[0] = '\0';
    proof->epoch++;
    set_sizes(proof, op);
    const uint64_t counts = op->matrix == NULL ? 0 : proof->ranks * sizeof(uint64_t);
    expr_init(&proof->expr, proof->ranks, proof->send_bytes + counts);
    for (uint32_t r = 0; r < proof->ranks; r++) {
        struct rank *at = &proof->rank[r];
        at->time = at->task = 0;
        at->done = 0;
        at->knows = proof_knowledge_new(proof, NULL);
        place(proof, r);
        if (!proof_broken(proof)) {
            expand(proof, r);
        }
    }
    mutate(proof);
    if (!proof_broken(proof)) {
        run_all(proof);
    }
    check_signals(proof);
    check_credits(proof);
    if (op->op == RP_OP_BARRIER) {
        check_barrier(proof);
    } else {
        check_results(proof);
    }
    for (uint32_t r = 0; r < proof->ranks; r++) {
        struct rank *at = &proof->rank[r];
        proof_knowledge_unref(at->knows);
        rp_free(at->list);
        rp_free(at->tail);
        free(at->memory);
        at->list = at->tail = NULL;
    }
    return !proof_broken(proof);
}
