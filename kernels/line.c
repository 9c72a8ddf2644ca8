// The line protocol: what a rank stores for its peers, and what it concludes from theirs. How a
// rank gives up, and what is said about it, is in line_failure.c.

#include "kernels/line.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/line_failure.h"

void rp_rank_block_init(struct rp_rank_block *block, uint64_t base)
{
    memset(block, 0, sizeof(*block));
    for (unsigned i = 0; i < 2; i++) {
        // relaxed: nobody else has the block yet; mapping it comes after.
        atomic_store_explicit(&block->line[i].arrived, base, memory_order_relaxed);
        atomic_store_explicit(&block->line[i].done, base, memory_order_relaxed);
    }
}

// Ranks that are threads of one process allocate these one after the other and write them in every
// op: they must not share a cache line, nor a pair of lines that is fetched together.
static void *calloc_apart(uint32_t count, size_t bytes)
{
    return rp_aligned_calloc(2 * RP_CACHELINE, rp_align_up(count * bytes, 2 * RP_CACHELINE));
}

rp_status rp_lines_init(struct rp_lines *lines, uint32_t rank, uint32_t size, uint64_t base)
{
    *lines = (struct rp_lines){
        .rank = rank,
        .size = size,
        .base = base,
        .announced = base,
        .finished = base,
        .published = base,
        .completed = base,
        .culprit = RP_NO_RANK,
    };
    lines->peer = calloc_apart(size, sizeof(*lines->peer));
    lines->bells = rp_calloc(size, sizeof(*lines->bells));
    lines->srcs = calloc_apart(size, sizeof(*lines->srcs));
    lines->dsts = calloc_apart(size, sizeof(*lines->dsts));
    lines->copies = calloc_apart(size, RP_CACHELINE);
    if (lines->peer == NULL || lines->bells == NULL || lines->srcs == NULL || lines->dsts == NULL ||
            lines->copies == NULL) {
        rp_lines_fini(lines);
        return rp_fail(RP_ENOMEM, "no memory for the table of the communicator's %u ranks", size);
    }
    for (uint32_t q = 0; q < size; q++) {
        lines->peer[q].seen_arrived = base;
        lines->peer[q].seen_done = base;
        lines->peer[q].index = q;
    }
    return RP_OK;
}

void rp_lines_fini(struct rp_lines *lines)
{
    rp_free(lines->peer);
    rp_free(lines->bells);
    rp_free(lines->srcs);
    rp_free(lines->dsts);
    rp_free(lines->copies);
    lines->peer = NULL;
    lines->bells = NULL;
    lines->srcs = NULL;
    lines->dsts = NULL;
    lines->copies = NULL;
    lines->bell_count = 0;
}

void rp_lines_add_bell(struct rp_lines *lines, struct rp_doorbell_end *bell)
{
    for (uint32_t i = 0; i < lines->bell_count; i++) {
        if (lines->bells[i] == bell) {
            return;
        }
    }
    assert(lines->bell_count < lines->size);
    lines->bells[lines->bell_count++] = bell;
}

void rp_peer_look(struct rp_peer *peer)
{
    for (unsigned i = 0; i < 2; i++) {
        // seq_cst [L1] [D1]: pairs with the store in rp_lines_announce_quietly.
        const uint64_t arrived =
                atomic_load_explicit(&peer->block->line[i].arrived, memory_order_seq_cst);
        // seq_cst [L2] [D1]: pairs with the stores there and in rp_lines_flush_quietly.
        const uint64_t done =
                atomic_load_explicit(&peer->block->line[i].done, memory_order_seq_cst);
        peer->seen_arrived = rp_max_u64(peer->seen_arrived, arrived);
        peer->seen_done = rp_max_u64(peer->seen_done, done);
    }
}

rp_status rp_lines_arrived_slow(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    struct rp_peer *peer = &lines->peer[q];
    rp_peer_look(peer);
    if (peer->seen_arrived >= seq) {
        return RP_OK;
    }
    if (!rp_peer_failed(peer)) {
        return RP_AGAIN;
    }
    rp_peer_look(peer); // what it stored before it failed counts [L5]
    return peer->seen_arrived >= seq ? RP_OK : rp_peer_explain(lines, q, seq);
}

rp_status rp_lines_done_slow(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    struct rp_peer *peer = &lines->peer[q];
    rp_peer_look(peer);
    if (peer->seen_done >= seq) {
        return RP_OK;
    }
    if (!rp_peer_failed(peer)) {
        return RP_AGAIN;
    }
    rp_peer_look(peer); // [L5]
    return peer->seen_done >= seq ? RP_OK : rp_peer_explain(lines, q, seq);
}

rp_status rp_lines_all_arrived(struct rp_lines *lines, uint64_t seq)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        const rp_status st = q == lines->rank ? RP_OK : rp_lines_arrived(lines, q, seq);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

rp_status rp_lines_all_done(struct rp_lines *lines, uint64_t seq)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        const rp_status st = q == lines->rank ? RP_OK : rp_lines_done(lines, q, seq);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

rp_status rp_lines_ready(struct rp_lines *lines)
{
    // The line's last user is the op before the one announced last; the first two ops have none.
    const uint64_t last_use = lines->announced > lines->base ? lines->announced - 1 : lines->base;
    const rp_status st = rp_lines_all_done(lines, last_use);
    if (RP_UNLIKELY(st == RP_AGAIN)) {
        rp_lines_flush(lines);
    }
    return st;
}

rp_status rp_lines_announce(struct rp_lines *lines, const struct rp_record *record,
        const void *payload, size_t payload_bytes)
{
    const rp_status st = rp_lines_announce_quietly(lines, record, payload, payload_bytes);
    rp_lines_settle(lines);
    return st;
}

rp_status rp_lines_announce_quietly(struct rp_lines *lines, const struct rp_record *record,
        const void *payload, size_t payload_bytes)
{
    const rp_status st = rp_lines_ready(lines);
    if (st != RP_OK) {
        return st;
    }
    const uint64_t seq = lines->announced + 1;
    struct rp_rank_block *own = lines->peer[lines->rank].block;
    struct rp_line *line = &own->line[seq % 2];
    struct rp_record *slot = &own->record[seq % RP_RECORD_RING];
    *slot = *record;
    slot->seq = seq;
    if (slot->digest == 0) {
        slot->digest = rp_record_digest(slot);
    }
    if (payload != NULL) {
        assert(payload_bytes <= RP_LINE_PAYLOAD_BYTES);
        memcpy(line->payload, payload, payload_bytes);
    }
    // relaxed: published by the store of `arrived`.
    atomic_store_explicit(&line->word, slot->digest, memory_order_relaxed);
    // release [L2]: a peer may look at `done` alone.
    atomic_store_explicit(&line->done, lines->finished, memory_order_release);
    // release [L1]: pairs with the loads of `arrived`; rp_lines_settle follows.
    atomic_store_explicit(&line->arrived, seq, memory_order_release);
    lines->announced = seq;
    lines->published = lines->finished;
    lines->ring_due = true;
    return RP_OK;
}

void rp_lines_flush_quietly(struct rp_lines *lines)
{
    if (lines->finished <= lines->published) {
        return;
    }
    // The line that is written next: peers are polling the other one.
    struct rp_line *line = &lines->peer[lines->rank].block->line[(lines->announced + 1) % 2];
    // release [L2]: pairs with the loads of `done`; rp_lines_settle follows.
    atomic_store_explicit(&line->done, lines->finished, memory_order_release);
    lines->published = lines->finished;
    lines->ring_due = true;
}

void rp_lines_flush(struct rp_lines *lines)
{
    rp_lines_flush_quietly(lines);
    rp_lines_settle(lines);
}

void rp_lines_complete(struct rp_lines *lines, uint64_t seq)
{
    if (lines->completed + 1 < seq) {
        // Earlier ops are open as far as we know. Those that every peer is done with are not.
        uint64_t all_done = lines->finished;
        for (uint32_t q = 0; q < lines->size; q++) {
            if (q != lines->rank) {
                all_done = rp_min_u64(all_done, lines->peer[q].seen_done);
            }
        }
        lines->completed = rp_max_u64(lines->completed, all_done);
    }
    if (lines->completed + 1 == seq) {
        lines->completed = seq;
    }
}

struct rp_record rp_lines_record(const struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    return lines->peer[q].block->record[seq % RP_RECORD_RING]; // ordered by [L1]
}

rp_status rp_lines_stage_arrived(struct rp_lines *lines, uint32_t q, uint64_t round)
{
    const struct rp_peer *peer = &lines->peer[q];
    // seq_cst [L6] [D1]: pairs with rp_lines_stage_fill.
    if (atomic_load_explicit(&peer->block->stage.arrived, memory_order_seq_cst) >= round) {
        return RP_OK;
    }
    if (!rp_peer_failed(peer)) {
        return RP_AGAIN;
    }
    // seq_cst [L6] [L5]: the same, once more.
    if (atomic_load_explicit(&peer->block->stage.arrived, memory_order_seq_cst) >= round) {
        return RP_OK;
    }
    return rp_peer_explain(lines, q, lines->announced);
}

rp_status rp_lines_stage_done(struct rp_lines *lines, uint32_t q, uint64_t round)
{
    const struct rp_peer *peer = &lines->peer[q];
    // seq_cst [L6] [D1]: pairs with rp_lines_stage_finish.
    if (atomic_load_explicit(&peer->block->stage.done, memory_order_seq_cst) >= round) {
        return RP_OK;
    }
    if (!rp_peer_failed(peer)) {
        return RP_AGAIN;
    }
    // seq_cst [L6] [L5]: the same, once more.
    if (atomic_load_explicit(&peer->block->stage.done, memory_order_seq_cst) >= round) {
        return RP_OK;
    }
    return rp_peer_explain(lines, q, lines->announced);
}

void rp_lines_stage_fill(struct rp_lines *lines, uint64_t round)
{
    // seq_cst [L6] [D1]: pairs with the loads in rp_lines_stage_arrived.
    atomic_store_explicit(
            &lines->peer[lines->rank].block->stage.arrived, round, memory_order_seq_cst);
    rp_lines_ring(lines);
}

void rp_lines_stage_finish(struct rp_lines *lines, uint64_t round)
{
    // seq_cst [L6] [D1]: pairs with the loads in rp_lines_stage_done.
    atomic_store_explicit(&lines->peer[lines->rank].block->stage.done, round, memory_order_seq_cst);
    rp_lines_ring(lines);
}
