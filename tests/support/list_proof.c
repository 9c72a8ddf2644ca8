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

static bool run_task(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    if (task->kind == RP_HT_WAIT && !proof_take_signal(proof, rank, task->peer)) {
        return false;
    }
    proof->rank[rank].time++;
    proof->tasks++;
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
    }
    return true;
}

// The next task of `rank`, over the ends of lists; NULL when it is through.
static const struct rp_ht_task *next_task(struct list_proof *proof, uint32_t rank)
{
    struct rank *at = &proof->rank[rank];
    while (at->done < proof->op->count) {
        const bool full = proof->op->count - at->done >= at->list->round_count;
        const struct rp_task_list *list = full ? at->list : at->tail;
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
        if (task == NULL || !run_task(proof, rank, task)) {
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
    case RP_OP_REDUCE_SCATTER:
        off += rank * proof->block_bytes;
        return op->strict ? expr_is_strict_sum(expr, id, off) : expr_is_sum(expr, id, off);
    case RP_OP_ALL_GATHER:
        return id ==
               expr_input(expr, (uint32_t)(off / proof->block_bytes), off % proof->block_bytes);
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
            if (!shared && *byte != expr_input(&proof->expr, r, off)) {
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
    proof->send_bytes = op->op == RP_OP_REDUCE_SCATTER ? block * proof->ranks : block;
    proof->recv_bytes = op->op == RP_OP_ALL_GATHER ? block * proof->ranks : block;
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
    const bool sender = proof->op->op != RP_OP_BROADCAST || rank == proof->op->root;
    for (uint64_t off = 0; off < send && sender; off++) {
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
    request.count = proof->op->count < most ? proof->op->count : most;
    if (rp_expand(&request, &at->list) != RP_OK) {
        proof_complain(proof, rank, "%s", rp_error_take());
        return;
    }
    request.count = proof->op->count % request.count;
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
    expr_init(&proof->expr, proof->ranks, proof->send_bytes);
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
