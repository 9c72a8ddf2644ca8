#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "support/list_proof_state.h"

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

uint32_t proof_draw(struct list_proof *proof, uint32_t below)
{
    proof->random = proof->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(proof->random >> 33) % below;
}

// The first fault counts: what follows may come of it.
void proof_complain(struct list_proof *proof, uint32_t rank, const char *fmt, ...)
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

bool proof_broken(const struct list_proof *proof)
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

struct knowledge *proof_knowledge_new(const struct list_proof *proof, const struct knowledge *from)
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

void proof_knowledge_unref(struct knowledge *knows)
{
    if (--knows->refs == 0) {
        free(knows);
    }
}

// Whether `rank` knows what `other` did at `time`.
bool proof_knows(const struct list_proof *proof, uint32_t rank, uint32_t other, uint32_t time)
{
    return rank == other || proof->rank[rank].knows->at[other] >= time;
}

void proof_make_ready(struct list_proof *proof, uint32_t rank)
{
    proof->ready[proof->ready_count++] = rank;
}

void proof_send_signal(struct list_proof *proof, uint32_t rank, uint32_t peer)
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
        proof_make_ready(proof, peer);
    }
}

static void learn(struct list_proof *proof, uint32_t rank, uint32_t peer, const struct signal *of)
{
    struct rank *at = &proof->rank[rank];
    if (at->knows->at[peer] >= of->time) {
        return; // nothing new
    }
    if (at->knows->refs > 1) {
        struct knowledge *own = proof_knowledge_new(proof, at->knows);
        proof_knowledge_unref(at->knows);
        at->knows = own;
    }
    uint32_t *mine = at->knows->at;
    const uint32_t *theirs = of->knows->at;
    for (uint32_t q = 0; q < proof->ranks; q++) {
        mine[q] = theirs[q] > mine[q] ? theirs[q] : mine[q];
    }
    mine[peer] = of->time;
}

bool proof_take_signal(struct list_proof *proof, uint32_t rank, uint32_t peer)
{
    struct mailbox *box = &proof->box[(size_t)rank * proof->ranks + peer];
    if (box->first == box->end) {
        return false;
    }
    const struct signal *of = &box->signal[box->first++];
    learn(proof, rank, peer, of);
    proof_knowledge_unref(of->knows);
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
    if (cell->putter != NOBODY && !proof_knows(proof, rank, cell->putter, cell->write_time)) {
        proof_complain(proof, rank, "byte %" PRIu64 " of window %u races with a put of rank %u",
                off, window, cell->putter);
    }
    cell->owner_time = proof->rank[rank].time;
    return cell;
}

static void claim(struct list_proof *proof, uint32_t rank, struct cell *cell, uint32_t owner,
        unsigned window, uint64_t off)
{
    if (cell->writer != NOBODY && cell->writer != rank) {
        proof_complain(proof, rank,
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
    if (cell->putter != NOBODY && !proof_knows(proof, rank, cell->putter, cell->write_time)) {
        proof_complain(proof, rank,
                "byte %" PRIu64 " of window %u of rank %u races with a put of %u", off, window,
                owner, cell->putter);
    }
    if (cell->owner_time != 0 && !proof_knows(proof, rank, owner, cell->owner_time)) {
        proof_complain(proof, rank,
                "byte %" PRIu64 " of window %u of rank %u is written while it may be in use", off,
                window, owner);
    }
    cell->value = value;
    cell->putter = (uint16_t)rank;
    cell->write_time = proof->rank[rank].time;
}

static bool in_window(struct list_proof *proof, uint32_t rank, uint64_t off, uint64_t bytes)
{
    if (off + bytes > proof->window_bytes) {
        proof_complain(proof, rank, "offset %" PRIu64 " is outside the window", off);
        return false;
    }
    return true;
}

void proof_put(struct list_proof *proof, uint32_t rank, const struct rp_ht_task *task,
        const uint32_t *values)
{
    if (in_window(proof, rank, task->dst.off, task->bytes)) {
        for (uint64_t i = 0; i < task->bytes && !proof_broken(proof); i++) {
            put_cell(proof, rank, task->peer, task->dst.base == RP_HT_WIN_OUT, task->dst.off + i,
                    values[i]);
        }
    }
}

uint64_t proof_pair(const struct list_proof *proof, uint32_t from, uint32_t to)
{
    return proof->op->matrix[(size_t)from * proof->ranks + to];
}

uint64_t proof_send_off(const struct list_proof *proof, uint32_t rank, uint32_t peer)
{
    uint64_t elements = 0;
    for (uint32_t q = 0; q < peer; q++) {
        elements += proof_pair(proof, rank, q);
    }
    return elements * proof->element_bytes;
}

uint64_t proof_recv_off(const struct list_proof *proof, uint32_t rank, uint32_t peer)
{
    uint64_t elements = 0;
    for (uint32_t q = 0; q < peer; q++) {
        elements += proof_pair(proof, q, rank);
    }
    return elements * proof->element_bytes;
}

uint32_t proof_count_symbol(struct list_proof *proof, uint32_t from, uint32_t to, uint64_t i)
{
    return expr_input(&proof->expr, from, proof->send_bytes + to * sizeof(uint64_t) + i);
}

// Where a block of a user's buffer begins, and how long it is.
static struct span {
    uint64_t off, bytes;
} block_of(const struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr)
{
    const bool send = addr.base == RP_HT_SEND;
    if (proof->op->matrix == NULL) {
        return (struct span){ addr.block * proof->block_bytes, proof->block_bytes };
    }
    const uint64_t count =
            send ? proof_pair(proof, rank, addr.block) : proof_pair(proof, addr.block, rank);
    return (struct span){
        send ? proof_send_off(proof, rank, addr.block) : proof_recv_off(proof, rank, addr.block),
        count * proof->element_bytes,
    };
}

// By a table one of the buffers has this rank's block alone.
static bool is_one(const struct list_proof *proof, bool send)
{
    const uint64_t all = send ? proof->send_bytes : proof->recv_bytes;
    return rp_op_has_table(proof->op->op) && all == proof->block_bytes;
}

// The cell of the user's buffer; NULL, and a fault, outside it.
static uint32_t *user_cells(
        struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes)
{
    const struct rank *at = &proof->rank[rank];
    const bool send = addr.base == RP_HT_SEND;
    const uint64_t round_off = at->done * proof->element_bytes;
    const bool one = is_one(proof, send);
    if (one && addr.block != rank) {
        proof_complain(proof, rank, "block %u of a buffer that has its own alone", addr.block);
        return NULL;
    }
    const struct span block = block_of(proof, rank, addr);
    const uint64_t off = (one ? 0 : block.off) + round_off + addr.off;
    const uint64_t room = send ? proof->send_bytes : proof->recv_bytes;
    if (addr.off + bytes + round_off > block.bytes || off + bytes > room) {
        proof_complain(proof, rank, "block %u, offset %" PRIu64 ": outside the user's buffer",
                addr.block, addr.off);
        return NULL;
    }
    return (send ? at->send : at->recv) + off;
}

static void check_units(
        struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes)
{
    if (bytes == 0 || bytes % proof->element_bytes != 0 || addr.off % proof->element_bytes != 0) {
        proof_complain(proof, rank, "%" PRIu64 " bytes at %" PRIu64 " are no whole elements", bytes,
                addr.off);
    }
}

// Reads `bytes` values at `addr` into `values`.
void proof_read(struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes,
        uint32_t *values)
{
    memset(values, 0, bytes * sizeof(*values));
    if (addr.base == RP_HT_ROW) {
        for (uint64_t i = 0; i < bytes; i++) {
            values[i] = proof_count_symbol(proof, rank, addr.block, i);
        }
        return;
    }
    check_units(proof, rank, addr, bytes);
    if (addr.base == RP_HT_SEND || addr.base == RP_HT_RECV) {
        const uint32_t *from = user_cells(proof, rank, addr, bytes);
        if (from != NULL) {
            memcpy(values, from, bytes * sizeof(*values));
        }
    } else if (in_window(proof, rank, addr.off, bytes)) {
        const unsigned window = addr.base == RP_HT_WIN_OUT;
        for (uint64_t i = 0; i < bytes && !proof_broken(proof); i++) {
            values[i] = own_cell(proof, rank, window, addr.off + i)->value;
        }
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (values[i] == EXPR_NONE) {
            proof_complain(
                    proof, rank, "byte %" PRIu64 " is used before it is written", addr.off + i);
            return;
        }
    }
}

void proof_write(struct list_proof *proof, uint32_t rank, struct rp_ht_addr addr, uint64_t bytes,
        const uint32_t *values)
{
    check_units(proof, rank, addr, bytes);
    if (addr.base == RP_HT_SEND) {
        proof_complain(proof, rank, "the input is written");
    } else if (addr.base == RP_HT_RECV) {
        uint32_t *to = user_cells(proof, rank, addr, bytes);
        if (to != NULL) {
            memcpy(to, values, bytes * sizeof(*values));
        }
    } else if (in_window(proof, rank, addr.off, bytes)) {
        const unsigned window = addr.base == RP_HT_WIN_OUT;
        for (uint64_t i = 0; i < bytes && !proof_broken(proof); i++) {
            struct cell *cell = own_cell(proof, rank, window, addr.off + i);
            cell->value = values[i];
            if (cell->putter == NOBODY) { // not in the place of what a peer has sent
                claim(proof, rank, cell, rank, window, addr.off + i);
            }
        }
    }
}
