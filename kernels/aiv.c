// AIV collectives: the phases that every form runs through. Announce, wait for all ranks and
// compare digests, work, finish.
//
// Nothing is written to an output before every rank has arrived with the same digest: a mismatch is
// found while the buffers are as the callers left them.

#include "kernels/aiv.h"

#include <string.h>

#include "base/cpu.h"
#include "kernels/aiv_forms.h"

enum phase {
    PHASE_ANNOUNCE,
    PHASE_GATHER,
    PHASE_WORK,
    PHASE_OVER,
};

// How often a step looks for a peer's line before it gives up. With one rank a core the answer is
// a cache miss or two away, nearer than the way through the scheduler; a rank that has no core
// will not come, so the limit is well below what a yield costs.
#define POLLS 12

static rp_aiv_work_fn *const works[] = {
    [RP_FORM_LOCAL] = rp_aiv_local_work,
    [RP_FORM_TINY] = rp_aiv_tiny_work,
    [RP_FORM_SMALL] = rp_aiv_small_work,
    [RP_FORM_ZERO_COPY] = rp_aiv_zero_copy_work,
    [RP_FORM_STAGED] = rp_aiv_staged_work,
};

// By bytes and ranks alone: the record is the same on all ranks as far as the digest goes.
static enum rp_aiv_form choose_form(const struct rp_aiv_op *op, const struct rp_aiv_tuning *tuning)
{
    const uint64_t bytes = rp_record_send_bytes(&op->record, op->lines->size);
    if (op->lines->size == 1) {
        return RP_FORM_LOCAL;
    }
    if (rp_aiv_has_row(op)) {
        return RP_FORM_LARGE;
    }
    if (bytes <= rp_min_u64(tuning->tiny_bytes, RP_LINE_PAYLOAD_BYTES)) {
        return RP_FORM_TINY;
    }
    if (bytes <= rp_min_u64(tuning->small_bytes, RP_SLOT_BYTES)) {
        return RP_FORM_SMALL;
    }
    return RP_FORM_LARGE;
}

void rp_aiv_begin(struct rp_aiv_op *op, struct rp_lines *lines, const struct rp_reduce_impl *reduce,
        const struct rp_aiv_tuning *tuning, const struct rp_record *record, const void *send,
        void *recv)
{
    // Field by field: a compound literal is built elsewhere and then copied, which took a third of
    // the time of a tiny op that waits for nobody.
    op->lines = lines;
    op->reduce = reduce;
    op->record = *record;
    op->send = send;
    op->recv = recv;
    op->counts = NULL;
    op->seq = 0;
    op->offset = 0;
    op->filled = 0;
    op->folded = 0;
    op->round = 0;
    op->peer = 0;
    op->phase = PHASE_ANNOUNCE;
    op->block_bytes = record->op == RP_OP_BARRIER ? 0 : record->count * rp_aiv_element_bytes(op);
    if (op->record.digest == 0) {
        op->record.digest = rp_record_digest(&op->record);
    }
    op->form = (uint8_t)choose_form(op, tuning);
}

uint64_t rp_aiv_payload_bytes(const struct rp_aiv_op *op)
{
    return op->record.op == RP_OP_ALL_GATHER_V ? rp_aiv_block(op, op->lines->rank).bytes
                                               : rp_record_send_bytes(&op->record, op->lines->size);
}

void rp_aiv_pack(const struct rp_aiv_op *op, uint8_t *dst)
{
    if (op->record.op != RP_OP_REDUCE_SCATTER_V) {
        const uint64_t bytes = rp_aiv_payload_bytes(op);
        if (bytes != 0) {
            rp_copy(dst, op->send, bytes);
        }
        return;
    }
    for (uint32_t q = 0; q < op->lines->size; q++) {
        const struct rp_slice block = rp_aiv_block(op, q);
        rp_copy(dst + q * op->block_bytes, op->send + block.start, block.bytes);
    }
}

static bool uses_slot(const struct rp_aiv_op *op)
{
    return op->form == RP_FORM_LARGE ? rp_aiv_has_row(op)
                                     : op->form == RP_FORM_SMALL && rp_aiv_offers(op);
}

// Whether the op is complete only when every rank is done with it.
static bool awaits_all(const struct rp_aiv_op *op)
{
    return op->form == RP_FORM_ZERO_COPY || rp_aiv_has_row(op);
}

static rp_status announce(struct rp_aiv_op *op)
{
    struct rp_lines *lines = op->lines;
    uint8_t packed[RP_LINE_PAYLOAD_BYTES];
    const void *payload = NULL;
    uint64_t payload_bytes = 0;
    if (op->form == RP_FORM_TINY && rp_aiv_offers(op)) {
        payload_bytes = rp_aiv_payload_bytes(op);
        payload = payload_bytes == 0 ? NULL : op->send;
        if (op->record.op == RP_OP_REDUCE_SCATTER_V) {
            rp_aiv_pack(op, packed);
            payload = packed;
        }
    } else if (uses_slot(op)) {
        const rp_status st = rp_lines_ready(lines);
        if (st != RP_OK) {
            return st;
        }
        if (op->form == RP_FORM_SMALL) {
            rp_aiv_small_fill(op);
        } else {
            rp_aiv_row_fill(op);
        }
    }
    const rp_status st = rp_lines_announce_quietly(lines, &op->record, payload, payload_bytes);
    if (st == RP_OK) {
        op->seq = lines->announced;
        op->record.seq = op->seq;
    }
    return st;
}

static rp_status await_arrival(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    // relaxed: rp_lines_arrived looks again, and properly.
    const _Atomic uint64_t *arrived = &lines->peer[q].block->line[seq % 2].arrived;
    for (unsigned i = 0; i < POLLS; i++) {
        if (RP_LIKELY(atomic_load_explicit(arrived, memory_order_relaxed) >= seq)) {
            break;
        }
        rp_cpu_pause();
    }
    return rp_lines_arrived(lines, q, seq);
}

static rp_status await_done(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    // relaxed: rp_lines_done looks again. A peer that has not gone on stores it here.
    const _Atomic uint64_t *done = &lines->peer[q].block->line[(seq + 1) % 2].done;
    for (unsigned i = 0; i < POLLS && lines->peer[q].seen_done < seq; i++) {
        if (atomic_load_explicit(done, memory_order_relaxed) >= seq) {
            break;
        }
        rp_cpu_pause();
    }
    return rp_lines_done(lines, q, seq);
}

// Every rank sees every other one arrive before its work, also where it reads nothing of it: in a
// broadcast or scatter that goes through lines or slots only the root has something to offer. But
// two receivers whose calls differ, or two ranks that both take themselves for the root, would
// never compare their calls; and who had left with the root's data could not be told any more that
// the others had failed. The other lines are read while the root's is on its way.
static rp_status gather(struct rp_aiv_op *op, bool *progress)
{
    struct rp_lines *lines = op->lines;
    for (; op->peer < lines->size; op->peer++) {
        if (op->peer == lines->rank) {
            continue;
        }
        rp_status st = await_arrival(lines, op->peer, op->seq);
        if (st != RP_OK) {
            return st;
        }
        // The digest first: lines outlive a failure, and "the calls differ" says more than "that
        // rank gave up because the calls differ".
        st = rp_lines_match(lines, op->peer, op->seq, op->record.digest);
        if (st != RP_OK) {
            return st;
        }
        if (rp_aiv_has_row(op)) {
            st = rp_aiv_row_check(op, op->peer);
            if (st != RP_OK) {
                return st;
            }
        }
        if (op->form == RP_FORM_LARGE) {
            rp_lines_settle(lines); // before the first look for a revocation
        }
        st = rp_lines_check_one(lines, op->peer, op->seq);
        if (st != RP_OK) {
            return st;
        }
        *progress = true;
    }
    op->peer = 0;
    return RP_OK;
}

// All ranks read the same records, so all decide alike.
static enum rp_aiv_form choose_large_form(const struct rp_aiv_op *op)
{
    const struct rp_lines *lines = op->lines;
    for (uint32_t q = 0; q < lines->size; q++) {
        if (rp_lines_record(lines, q, op->seq).buffer_class != RP_CLASS_CONTIGUOUS) {
            return RP_FORM_STAGED;
        }
    }
    return lines->zero_copy ? RP_FORM_ZERO_COPY : RP_FORM_STAGED;
}

static rp_status run(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    rp_status st = RP_OK;
    switch ((enum phase)op->phase) {
    case PHASE_ANNOUNCE:
        st = announce(op);
        if (st != RP_OK) {
            return st;
        }
        *progress = true;
        op->phase = PHASE_GATHER;
        // fallthrough
    case PHASE_GATHER:
        st = gather(op, progress);
        if (st != RP_OK) {
            return st;
        }
        if (op->form == RP_FORM_LARGE) {
            op->form = (uint8_t)choose_large_form(op);
        }
        op->phase = PHASE_WORK;
        // fallthrough
    case PHASE_WORK:
        st = works[op->form](op, budget_bytes, progress);
        if (st != RP_OK) {
            return st;
        }
        rp_lines_finish(op->lines, op->seq);
        if (awaits_all(op)) {
            rp_lines_flush_quietly(op->lines); // every rank waits for it
        }
        *progress = true;
        op->phase = PHASE_OVER;
        // fallthrough
    case PHASE_OVER:
        return RP_OK;
    }
    return RP_OK;
}

rp_status rp_aiv_step(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    *progress = false;
    const rp_status st = run(op, budget_bytes, progress);
    if (st == RP_AGAIN) {
        rp_lines_flush(op->lines);
    } else if (st != RP_OK || !awaits_all(op)) {
        rp_lines_settle(op->lines); // else rp_aiv_complete does, when the stores are through
    }
    return st;
}

rp_status rp_aiv_complete(struct rp_aiv_op *op)
{
    struct rp_lines *lines = op->lines;
    rp_status st = RP_OK;
    for (uint32_t q = 0; awaits_all(op) && q < lines->size && st == RP_OK; q++) {
        st = q == lines->rank ? RP_OK : await_done(lines, q, op->seq);
    }
    if (st == RP_AGAIN) {
        rp_lines_flush(lines);
        return st;
    }
    rp_lines_settle(lines);
    if (st == RP_OK) {
        rp_lines_complete(lines, op->seq);
    }
    return st;
}

// Overlapping buffers are copied as memmove does, from whichever end is safe.
rp_status rp_aiv_local_work(struct rp_aiv_op *op, uint64_t budget_bytes, bool *progress)
{
    if (op->recv == op->send) {
        return RP_OK;
    }
    const struct rp_slice block = rp_aiv_block(op, 0); // from byte 0 on, without a table
    const bool backwards = op->recv > op->send && (uint64_t)(op->recv - op->send) < block.bytes;
    const uint64_t left = block.bytes - op->offset;
    const uint64_t bytes = rp_min_u64(left, rp_max_u64(budget_bytes, RP_CACHELINE));
    const uint64_t at = backwards ? left - bytes : op->offset;
    const bool gathers = op->record.op == RP_OP_ALL_GATHER_V;
    const uint64_t into_send = gathers ? 0 : block.start;
    const uint64_t into_recv = gathers              ? block.start
                               : rp_aiv_has_row(op) ? rp_aiv_output_block(op, 0).start
                                                    : 0;
    if (bytes != 0) {
        memmove(op->recv + into_recv + at, op->send + into_send + at, bytes);
    }
    op->offset += bytes;
    *progress = true;
    return op->offset == block.bytes ? RP_OK : RP_AGAIN;
}
