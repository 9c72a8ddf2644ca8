#include "support/list_proof.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/dtype.h"
#include "support/list_expr.h"

#define PAGE_CELLS 256
#define NOBODY UINT16_MAX

// A byte of a window. Times are those of the writer's and of the owner's own clock.
struct cell {
    uint32_t epoch; // of the operator that touched it last; the next four are of that
    uint32_t value;
    uint32_t write_time;
    uint32_t owner_time; // the owner read or wrote it last; 0: did not
    uint16_t putter;     // who put here last; NOBODY
    uint16_t writer;     // the one rank that ever writes it; NOBODY: none yet
};

// What a rank knew at some moment: of every rank's clock, shared by signals and the rank itself.
struct knowledge {
    uint32_t refs;
    uint32_t at[];
};

struct signal {
    struct knowledge *knows;
    uint32_t time; // of the sender's own clock
};

struct mailbox {
    struct signal *signal;
    uint32_t first, end, room;
};

struct page {
    uint32_t epoch; // of the operator that touched it last
    uint32_t owner;
    struct cell cell[PAGE_CELLS];
};

struct rank {
    struct page **page[2]; // of window-in and window-out
    struct rp_task_list *list, *tail;
    struct knowledge *knows; // the own entry counts for nothing: `time` does
    uint32_t time;
    uint32_t task;
    uint64_t done; // elements of each block in finished rounds
    uint32_t *send, *recv;
    uint32_t *memory;
    uint16_t waits_for; // NOBODY: it can run, or is over
};

struct list_proof {
    uint32_t ranks;
    uint64_t window_bytes;
    uint64_t random;
    uint32_t epoch;
    uint64_t tasks;
    struct rank *rank;
    struct mailbox *box; // [receiver * ranks + sender]
    uint32_t *ready;
    uint32_t ready_count;
    struct page **touched; // by the operator under way
    uint32_t touched_count, touched_room;
    struct expr_table expr;
    // The operator under way.
    const struct list_proof_op *op;
    uint64_t element_bytes, block_bytes, send_bytes, recv_bytes;
    char fault[256];
};

static void *need(void *memory)
{
    if (memory == NULL) {
        perror("list_proof");
        _exit(99);
    }
    return memory;
}

static uint32_t draw(struct list_proof *proof, uint32_t below)
{
    proof->random = proof->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(proof->random >> 33) % below;
}

static void complain(struct list_proof *proof, uint32_t rank, const char *fmt, ...) RP_PRINTF(3, 4);

// The first fault counts: what follows may come of it.
static void complain(struct list_proof *proof, uint32_t rank, const char *fmt, ...)
{
    if (proof->fault[0] != '\0') {
        return;
    }
    const struct rank *at = &proof->rank[rank];
    const int used = snprintf(proof->fault, sizeof(proof->fault),
            "rank %u of %u, element %" PRIu64 ", task %u: ", rank, proof->ranks, at->done,
            at->task);
    va_list args;
    va_start(args, fmt);
    vsnprintf(proof->fault + used, sizeof(proof->fault) - (size_t)used, fmt, args);
    va_end(args);
}

static bool broken(const struct list_proof *proof)
{
    return proof->fault[0] != '\0';
}

const char *list_proof_fault(const struct list_proof *proof)
{
    return proof->fault;
}

uint64_t list_proof_tasks(const struct list_proof *proof)
{
    return proof->tasks;
}

// ---- what ranks know ----

static struct knowledge *knowledge_new(const struct list_proof *proof, const struct knowledge *from)
{
    const size_t bytes = proof->ranks * sizeof(uint32_t);
    struct knowledge *knows = need(malloc(sizeof(*knows) + bytes));
    knows->refs = 1;
    if (from == NULL) {
        memset(knows->at, 0, bytes);
    } else {
        memcpy(knows->at, from->at, bytes);
    }
    return knows;
}

static void knowledge_unref(struct knowledge *knows)
{
    if (--knows->refs == 0) {
        free(knows);
    }
}

// Whether `rank` knows what `other` did at `time`.
static bool knows(const struct list_proof *proof, uint32_t rank, uint32_t other, uint32_t time)
{
    return rank == other || proof->rank[rank].knows->at[other] >= time;
}

static void make_ready(struct list_proof *proof, uint32_t rank)
{
    proof->ready[proof->ready_count++] = rank;
}

static void send_signal(struct list_proof *proof, uint32_t rank, uint32_t peer)
{
    struct mailbox *box = &proof->box[(size_t)peer * proof->ranks + rank];
    struct rank *at = &proof->rank[rank];
    if (box->end == box->room) {
        box->room = box->room == 0 ? 4 : 2 * box->room;
        box->signal = need(realloc(box->signal, box->room * sizeof(*box->signal)));
    }
    at->knows->refs++;
    box->signal[box->end++] = (struct signal){ .knows = at->knows, .time = at->time };
    if (proof->rank[peer].waits_for == rank) {
        proof->rank[peer].waits_for = NOBODY;
        make_ready(proof, peer);
    }
}

static void learn(struct list_proof *proof, uint32_t rank, uint32_t peer, const struct signal *of)
{
    struct rank *at = &proof->rank[rank];
    if (at->knows->at[peer] >= of->time) {
        return; // nothing new
    }
    if (at->knows->refs > 1) {
        struct knowledge *own = knowledge_new(proof, at->knows);
        knowledge_unref(at->knows);
        at->knows = own;
    }
    uint32_t *mine = at->knows->at;
    const uint32_t *theirs = of->knows->at;
    for (uint32_t q = 0; q < proof->ranks; q++) {
        mine[q] = theirs[q] > mine[q] ? theirs[q] : mine[q];
    }
    mine[peer] = of->time;
}

static bool take_signal(struct list_proof *proof, uint32_t rank, uint32_t peer)
{
    struct mailbox *box = &proof->box[(size_t)rank * proof->ranks + peer];
    if (box->first == box->end) {
        return false;
    }
    const struct signal *of = &box->signal[box->first++];
    learn(proof, rank, peer, of);
    knowledge_unref(of->knows);
    return true;
}

// ---- memory ----

static void touch(struct list_proof *proof, struct page *page)
{
    if (proof->touched_count == proof->touched_room) {
        proof->touched_room = proof->touched_room == 0 ? 64 : 2 * proof->touched_room;
        proof->touched = need(realloc(proof->touched, proof->touched_room * sizeof(struct page *)));
    }
    proof->touched[proof->touched_count++] = page;
}

static struct cell *cell_at(struct list_proof *proof, uint32_t owner, unsigned window, uint64_t off)
{
    struct page **page = &proof->rank[owner].page[window][off / PAGE_CELLS];
    if (*page == NULL) {
        *page = need(malloc(sizeof(**page)));
        (*page)->epoch = 0;
        (*page)->owner = owner;
        for (unsigned i = 0; i < PAGE_CELLS; i++) {
            (*page)->cell[i] = (struct cell){ .writer = NOBODY };
        }
    }
    if ((*page)->epoch != proof->epoch) {
        (*page)->epoch = proof->epoch;
        touch(proof, *page);
    }
    struct cell *cell = &(*page)->cell[off % PAGE_CELLS];
    if (cell->epoch != proof->epoch) {
        *cell = (struct cell){
            .epoch = proof->epoch,
            .putter = NOBODY,
            .writer = cell->writer,
        };
    }
    return cell;
}

// A byte of its own window that a rank reads or writes.
static struct cell *own_cell(struct list_proof *proof, uint32_t rank, unsigned window, uint64_t off)
{
    struct cell *cell = cell_at(proof, rank, window, off);
    if (cell->putter != NOBODY && !knows(proof, rank, cell->putter, cell->write_time)) {
        complain(proof, rank, "byte %" PRIu64 " of window %u races with a put of rank %u", off,
                window, cell->putter);
    }
    cell->owner_time = proof->rank[rank].time;
    return cell;
}

static void claim(struct list_proof *proof, uint32_t rank, struct cell *cell, uint32_t owner,
        unsigned window, uint64_t off)
{
    if (cell->writer != NOBODY && cell->writer != rank) {
        complain(proof, rank,
                "byte %" PRIu64
                " of window %u of rank %u is written, and rank %u writes it as well",
                off, window, owner, cell->writer);
    }
    cell->writer = (uint16_t)rank;
}

static void put_cell(struct list_proof *proof, uint32_t rank, uint32_t owner, unsigned window,
        uint64_t off, uint32_t value)
{
    struct cell *cell = cell_at(proof, owner, window, off);
    claim(proof, rank, cell, owner, window, off);
    if (cell->putter != NOBODY && !knows(proof, rank, cell->putter, cell->write_time)) {
        complain(proof, rank, "byte %" PRIu64 " of window %u of rank %u races with a put of %u",
                off, window, owner, cell->putter);
    }
    if (cell->owner_time != 0 && !knows(proof, rank, owner, cell->owner_time)) {
        complain(proof, rank,
                "byte %" PRIu64 " of window %u of rank %u is written while it may be in use", off,
                window, owner);
    }
    cell->value = value;
    cell->putter = (uint16_t)rank;
    cell->write_time = proof->rank[rank].time;
}

// The cell of the user's buffer; NULL, and a fault, outside it.
static uint32_t *user_cells(
        struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes)
{
    const struct rank *at = &proof->rank[rank];
    const bool send = addr.base == RP_HT_SEND;
    const uint64_t round_off = at->done * proof->element_bytes;
    const uint64_t off = addr.block * proof->block_bytes + round_off + addr.off;
    const uint64_t room = send ? proof->send_bytes : proof->recv_bytes;
    if (addr.off + bytes > proof->block_bytes - round_off || off + bytes > room) {
        complain(proof, rank, "block %u, offset %" PRIu64 ": outside the user's buffer", addr.block,
                addr.off);
        return NULL;
    }
    return (send ? at->send : at->recv) + off;
}

static bool in_window(struct list_proof *proof, uint32_t rank, uint64_t off, uint64_t bytes)
{
    if (off + bytes > proof->window_bytes) {
        complain(proof, rank, "offset %" PRIu64 " is outside the window", off);
        return false;
    }
    return true;
}

static void check_units(
        struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes)
{
    if (bytes == 0 || bytes % proof->element_bytes != 0 || addr.off % proof->element_bytes != 0) {
        complain(proof, rank, "%" PRIu64 " bytes at %" PRIu64 " are no whole elements", bytes,
                addr.off);
    }
}

// Reads `bytes` values at `addr` into `values`.
static void read_values(struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr,
        uint64_t bytes, uint32_t *values)
{
    check_units(proof, rank, addr, bytes);
    memset(values, 0, bytes * sizeof(*values));
    if (addr.base == RP_HT_SEND || addr.base == RP_HT_RECV) {
        const uint32_t *from = user_cells(proof, rank, addr, bytes);
        if (from != NULL) {
            memcpy(values, from, bytes * sizeof(*values));
        }
    } else if (in_window(proof, rank, addr.off, bytes)) {
        const unsigned window = addr.base == RP_HT_WIN_OUT;
        for (uint64_t i = 0; i < bytes && !broken(proof); i++) {
            values[i] = own_cell(proof, rank, window, addr.off + i)->value;
        }
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (values[i] == EXPR_NONE) {
            complain(proof, rank, "byte %" PRIu64 " is used before it is written", addr.off + i);
            return;
        }
    }
}

static void write_own(struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr,
        uint64_t bytes, const uint32_t *values)
{
    check_units(proof, rank, addr, bytes);
    if (addr.base == RP_HT_SEND) {
        complain(proof, rank, "the input is written");
    } else if (addr.base == RP_HT_RECV) {
        uint32_t *to = user_cells(proof, rank, addr, bytes);
        if (to != NULL) {
            memcpy(to, values, bytes * sizeof(*values));
        }
    } else if (in_window(proof, rank, addr.off, bytes)) {
        const unsigned window = addr.base == RP_HT_WIN_OUT;
        for (uint64_t i = 0; i < bytes && !broken(proof); i++) {
            struct cell *cell = own_cell(proof, rank, window, addr.off + i);
            cell->value = values[i];
            if (cell->putter == NOBODY) { // not in the place of what a peer has sent
                claim(proof, rank, cell, rank, window, addr.off + i);
            }
        }
    }
}

// ---- tasks ----

static void run_reduce(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    const uint32_t count = task->fold_count;
    const uint64_t bytes = task->bytes;
    if (count == 0 || count > proof->ranks || task->fold_own >= count) {
        complain(
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
        read_values(
                proof, rank, p == task->fold_own ? task->src : arrived, bytes, values + p * bytes);
    }
    for (uint64_t i = 0; i < bytes && !broken(proof); i++) {
        for (uint32_t p = 0; p < count; p++) {
            column[p] = values[p * bytes + i];
        }
        values[i] = expr_fold(&proof->expr, column, count);
    }
    write_own(proof, rank, task->dst, bytes, values);
    free(column);
    free(values);
}

static void run_copy(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    uint32_t *values = need(malloc(task->bytes * sizeof(*values)));
    read_values(proof, rank, task->src, task->bytes, values);
    write_own(proof, rank, task->dst, task->bytes, values);
    free(values);
}

static void run_put(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    if (task->peer >= proof->ranks || task->peer == rank ||
            (task->dst.base != RP_HT_WIN_IN && task->dst.base != RP_HT_WIN_OUT)) {
        complain(proof, rank, "a put that goes to no peer's window");
        return;
    }
    uint32_t *values = need(malloc(task->bytes * sizeof(*values)));
    read_values(proof, rank, task->src, task->bytes, values);
    if (in_window(proof, rank, task->dst.off, task->bytes)) {
        for (uint64_t i = 0; i < task->bytes && !broken(proof); i++) {
            put_cell(proof, rank, task->peer, task->dst.base == RP_HT_WIN_OUT, task->dst.off + i,
                    values[i]);
        }
    }
    free(values);
}

static bool run_task(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task)
{
    if (task->kind == RP_HT_WAIT && !take_signal(proof, rank, task->peer)) {
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
        send_signal(proof, rank, task->peer);
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
    const uint32_t index = draw(proof, proof->ready_count);
    const uint32_t rank = proof->ready[index];
    uint32_t left = draw(proof, 4) == 0 ? UINT32_MAX : 1 + draw(proof, 4);
    for (; left > 0 && !broken(proof); left--) {
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
        make_ready(proof, r);
    }
    while (proof->ready_count > 0 && !broken(proof)) {
        run_some(proof);
    }
    for (uint32_t r = 0; r < proof->ranks; r++) {
        if (proof->rank[r].waits_for != NOBODY) {
            complain(proof, r, "waits for rank %u for ever", proof->rank[r].waits_for);
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
            complain(proof, (uint32_t)(i / proof->ranks), "a signal of rank %u is left over",
                    (uint32_t)(i % proof->ranks));
        }
        for (; box->first < box->end; box->first++) {
            knowledge_unref(box->signal[box->first].knows);
        }
        box->first = box->end = 0;
    }
}

// Whoever put knows that what it put was used: it may put again at once.
static void check_credits(struct list_proof *proof)
{
    for (uint32_t i = 0; i < proof->touched_count; i++) {
        const struct page *page = proof->touched[i];
        for (unsigned k = 0; k < PAGE_CELLS && !broken(proof); k++) {
            const struct cell *cell = &page->cell[k];
            if (cell->epoch == proof->epoch && cell->putter != NOBODY &&
                    !knows(proof, cell->putter, page->owner, cell->owner_time)) {
                complain(proof, cell->putter,
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
            if (!knows(proof, r, q, 1)) {
                complain(proof, r, "leaves the barrier before rank %u has come", q);
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
    for (uint32_t r = 0; r < proof->ranks && !broken(proof); r++) {
        const struct rank *at = &proof->rank[r];
        for (uint64_t off = 0; off < proof->recv_bytes && !broken(proof); off++) {
            if (!result_right(proof, r, off, at->recv[off])) {
                complain(proof, r, "byte %" PRIu64 " of the result is wrong", off);
            }
        }
        for (uint64_t off = 0; off < proof->send_bytes && !broken(proof); off++) {
            const uint32_t *byte = &at->send[off];
            const bool shared = byte >= at->recv && byte < at->recv + proof->recv_bytes;
            if (!shared && *byte != expr_input(&proof->expr, r, off)) {
                complain(proof, r, "byte %" PRIu64 " of the input was written", off);
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
        complain(proof, rank, "%s", rp_error_take());
        return;
    }
    request.count = proof->op->count % request.count;
    if (request.count != 0 && rp_expand(&request, &at->tail) != RP_OK) {
        complain(proof, rank, "%s", rp_error_take());
    }
}

static void mutate(struct list_proof *proof)
{
    if (proof->op->mutate == NULL || broken(proof)) {
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
        at->knows = knowledge_new(proof, NULL);
        place(proof, r);
        if (!broken(proof)) {
            expand(proof, r);
        }
    }
    mutate(proof);
    if (!broken(proof)) {
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
        knowledge_unref(at->knows);
        rp_free(at->list);
        rp_free(at->tail);
        free(at->memory);
        at->list = at->tail = NULL;
    }
    return !broken(proof);
}

struct list_proof *list_proof_create(uint32_t ranks, uint64_t window_bytes, uint64_t seed)
{
    struct list_proof *proof = need(calloc(1, sizeof(*proof)));
    const uint64_t pages = (window_bytes + PAGE_CELLS - 1) / PAGE_CELLS;
    proof->ranks = ranks;
    proof->window_bytes = window_bytes;
    proof->random = seed * 2 + 1;
    proof->rank = need(calloc(ranks, sizeof(*proof->rank)));
    proof->box = need(calloc((size_t)ranks * ranks, sizeof(*proof->box)));
    proof->ready = need(calloc(ranks, sizeof(*proof->ready)));
    for (uint32_t r = 0; r < ranks; r++) {
        for (unsigned w = 0; w < 2; w++) {
            proof->rank[r].page[w] = need(calloc(pages, sizeof(struct page *)));
        }
    }
    return proof;
}

void list_proof_destroy(struct list_proof *proof)
{
    const uint64_t pages = (proof->window_bytes + PAGE_CELLS - 1) / PAGE_CELLS;
    for (uint32_t r = 0; r < proof->ranks; r++) {
        for (unsigned w = 0; w < 2; w++) {
            for (uint64_t i = 0; i < pages; i++) {
                free(proof->rank[r].page[w][i]);
            }
            free(proof->rank[r].page[w]);
        }
    }
    for (size_t i = 0; i < (size_t)proof->ranks * proof->ranks; i++) {
        free(proof->box[i].signal);
    }
    expr_fini(&proof->expr);
    free(proof->touched);
    free(proof->rank);
    free(proof->box);
    free(proof->ready);
    free(proof);
}
