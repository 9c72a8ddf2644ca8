// What happens when a rank gives up, leaves or dies: how it tells its peers, how they put it into
// words, and when its memory is its own again.

#include "kernels/line_failure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

bool rp_peer_failed(const struct rp_peer *peer)
{
    const struct rp_rank_status *status = &peer->block->status;
    // seq_cst [L4] [L5] [D1]: pairs with the stores in rp_lines_fail and rp_lines_leave; the
    // caller's second look at the counters comes after.
    return atomic_load_explicit(&status->error, memory_order_seq_cst) != 0 ||
           atomic_load_explicit(&status->left, memory_order_seq_cst) != 0 ||
           // acquire [L5]: pairs with transport's liveness check.
           atomic_load_explicit(&peer->gone, memory_order_acquire) != 0;
}

#define UNEVEN_TEXT_BYTES 128

static uint32_t op_number(uint64_t seq)
{
    return (uint32_t)(seq % RP_SEQ_BASE_UNIT);
}

void rp_lines_describe_place(uint64_t seq, char *text, size_t bytes)
{
    if (seq == 0) {
        snprintf(text, bytes, "a send or receive");
    } else {
        snprintf(text, bytes, "op #%" PRIu32, op_number(seq));
    }
}

// Our own call `seq`, for the beginning of a sentence.
static void describe_own(const struct rp_lines *lines, uint64_t seq, char *text, size_t bytes)
{
    if (seq > lines->base && seq <= lines->announced && lines->announced - seq < RP_RECORD_RING) {
        const struct rp_record record = rp_lines_record(lines, lines->rank, seq);
        rp_record_describe(&record, text, bytes);
    } else {
        snprintf(text, bytes, "op #%" PRIu32, op_number(seq));
    }
}

// A peer's published cause as our own status: what the ranks have in common stays what it is;
// what concerns the peer alone (an abort, its memory) is a remote failure here.
static rp_status adopt_cause(uint32_t error)
{
    switch (-(int64_t)error) {
    case RP_ETASKTIMEOUT:
    case RP_EMISMATCH:
    case RP_ECYCLE:
    case RP_ESUSPEND:
    case RP_ELINK:
    case RP_ERETRY:
        return (rp_status)(-(int64_t)error);
    default:
        return RP_EREMOTE;
    }
}

static rp_status explain_error(struct rp_lines *lines, uint32_t q, const char *own, uint32_t error)
{
    const struct rp_rank_status *status = &lines->peer[q].block->status;
    // relaxed: [L4] has ordered both.
    const uint32_t culprit = atomic_load_explicit(&status->culprit, memory_order_relaxed);
    const uint64_t seq = atomic_load_explicit(&status->error_seq, memory_order_relaxed);
    const bool named = culprit < lines->size && culprit != q;
    char because[48] = "";
    if (named) {
        snprintf(because, sizeof(because), ", because of rank %" PRIu32, culprit);
    }
    lines->culprit = named ? culprit : q;
    char calls[RP_DIFFERENCE_TEXT_BYTES] = "";
    if (error == (uint32_t)-RP_EMISMATCH) {
        rp_lines_describe_difference(lines, q, culprit, seq, calls, sizeof(calls));
    }
    char place[RP_PLACE_TEXT_BYTES];
    rp_lines_describe_place(seq, place, sizeof(place));
    const char *cause = rp_status_text((rp_status)(-(int64_t)error));
    return rp_fail(adopt_cause(error), "%s: rank %" PRIu32 " gave up at %s: %s%s%s", own, q, place,
            cause, because, calls);
}

static rp_status explain(struct rp_lines *lines, uint32_t q, const char *own)
{
    const struct rp_peer *peer = &lines->peer[q];
    // acquire [L4]: pairs with the store in rp_lines_fail.
    const uint32_t error = atomic_load_explicit(&peer->block->status.error, memory_order_acquire);
    if (error != 0) {
        return explain_error(lines, q, own, error);
    }
    lines->culprit = q;
    // relaxed: the words only; what q stored before it died or left has been read.
    if (atomic_load_explicit(&peer->gone, memory_order_relaxed) != 0) {
        return rp_fail(RP_EREMOTE, "%s: rank %" PRIu32 " has died%s; its last op was #%" PRIu32,
                own, q, peer->signal != NULL ? "" : " or its connection was lost",
                op_number(peer->seen_arrived));
    }
    return rp_fail(RP_EREMOTE,
            "%s: rank %" PRIu32 " has destroyed the communicator; its last op was #%" PRIu32, own,
            q, op_number(peer->seen_arrived));
}

rp_status rp_peer_explain(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    char own[RP_RECORD_TEXT_BYTES];
    describe_own(lines, seq, own, sizeof(own));
    return explain(lines, q, own);
}

bool rp_lines_lost(struct rp_lines *lines, uint32_t q)
{
    return rp_peer_failed(&lines->peer[q]);
}

rp_status rp_lines_explain(struct rp_lines *lines, uint32_t q, const char *own)
{
    rp_peer_look(&lines->peer[q]); // for the number of its last op
    return explain(lines, q, own);
}

rp_status rp_lines_revoked(struct rp_lines *lines, uint32_t q, uint64_t seq)
{
    return rp_peer_explain(lines, q, seq); // `error` is stored before `revoked_from`
}

rp_status rp_lines_differ(struct rp_lines *lines, uint32_t q, uint64_t seq, uint64_t digest)
{
    const struct rp_record own = rp_lines_record(lines, lines->rank, seq);
    const struct rp_record theirs = rp_lines_record(lines, q, seq);
    char own_text[RP_RECORD_TEXT_BYTES];
    char their_text[RP_RECORD_TEXT_BYTES];
    rp_record_describe(&own, own_text, sizeof(own_text));
    rp_record_describe(&theirs, their_text, sizeof(their_text));
    lines->culprit = q;
    if (theirs.digest == digest) {
        return rp_fail(RP_EMISMATCH,
                "the line of rank %" PRIu32 " for op #%" PRIu32 " (%s) is not that of its record",
                q, op_number(seq), their_text);
    }
    return rp_fail(RP_EMISMATCH,
            "the calls of the ranks differ: rank %" PRIu32 " called %s; rank %" PRIu32 " called %s",
            lines->rank, own_text, q, their_text);
}

static int describe_uneven(const struct rp_uneven *uneven, char *text, size_t bytes)
{
    return snprintf(text, bytes,
            "rank %" PRIu32 " sends %" PRIu64 " elements to rank %" PRIu32
            ", which expects %" PRIu64,
            uneven->sender, uneven->sent, uneven->expects, uneven->expected);
}

rp_status rp_lines_uneven(
        struct rp_lines *lines, uint32_t q, uint64_t seq, uint64_t sent, uint64_t expected)
{
    char own[RP_RECORD_TEXT_BYTES];
    char counts[UNEVEN_TEXT_BYTES];
    describe_own(lines, seq, own, sizeof(own));
    lines->culprit = q;
    lines->uneven = (struct rp_uneven){
        .seq = seq,
        .sender = q,
        .expects = lines->rank,
        .sent = sent,
        .expected = expected,
    };
    describe_uneven(&lines->uneven, counts, sizeof(counts));
    return rp_fail(RP_EMISMATCH, "%s: the counts of the ranks differ: %s", own, counts);
}

// What q published of counts that differ; and this rank says so, too, should it give up for that.
static bool hear_of_uneven(struct rp_lines *lines, uint32_t q)
{
    const struct rp_rank_status *status = &lines->peer[q].block->status;
    // relaxed, all: [L4] has ordered them.
    if (atomic_load_explicit(&status->uneven, memory_order_relaxed) == 0) {
        return false;
    }
    lines->uneven = (struct rp_uneven){
        .seq = atomic_load_explicit(&status->error_seq, memory_order_relaxed),
        .sender = atomic_load_explicit(&status->sender, memory_order_relaxed),
        .expects = atomic_load_explicit(&status->expects, memory_order_relaxed),
        .sent = atomic_load_explicit(&status->sent, memory_order_relaxed),
        .expected = atomic_load_explicit(&status->expected, memory_order_relaxed),
    };
    return true;
}

// The two calls that q found to differ, or the two counts, for those who merely hear of it; ""
// where a ring has gone on.
void rp_lines_describe_difference(struct rp_lines *lines, uint32_t q, uint32_t culprit,
        uint64_t seq, char *text, size_t bytes)
{
    *text = '\0';
    if (hear_of_uneven(lines, q)) {
        char counts[UNEVEN_TEXT_BYTES];
        describe_uneven(&lines->uneven, counts, sizeof(counts));
        snprintf(text, bytes, "; %s", counts);
        return;
    }
    if (culprit >= lines->size || culprit == q) {
        return;
    }
    const struct rp_record one = rp_lines_record(lines, q, seq);
    const struct rp_record other = rp_lines_record(lines, culprit, seq);
    char one_text[RP_RECORD_TEXT_BYTES];
    char other_text[RP_RECORD_TEXT_BYTES];
    if (seq == 0 || one.seq != seq || other.seq != seq) {
        return;
    }
    rp_record_describe(&one, one_text, sizeof(one_text));
    rp_record_describe(&other, other_text, sizeof(other_text));
    snprintf(text, bytes, "; rank %" PRIu32 " called %s; rank %" PRIu32 " called %s", q, one_text,
            culprit, other_text);
}

static void publish_uneven(struct rp_rank_status *status, const struct rp_uneven *uneven)
{
    // relaxed, all: published by the store of `error` [L4].
    atomic_store_explicit(&status->sender, uneven->sender, memory_order_relaxed);
    atomic_store_explicit(&status->expects, uneven->expects, memory_order_relaxed);
    atomic_store_explicit(&status->sent, uneven->sent, memory_order_relaxed);
    atomic_store_explicit(&status->expected, uneven->expected, memory_order_relaxed);
    atomic_store_explicit(&status->uneven, 1, memory_order_relaxed);
}

void rp_lines_fail(struct rp_lines *lines, rp_status cause, uint32_t culprit, uint64_t seq)
{
    struct rp_rank_status *status = &lines->peer[lines->rank].block->status;
    // relaxed: only this rank stores it.
    if (atomic_load_explicit(&status->error, memory_order_relaxed) != 0) {
        return;
    }
    rp_lines_flush(lines); // earlier ops that we are done with can still complete elsewhere
    const uint32_t error = (uint32_t) - (cause < 0 ? cause : RP_EINTERNAL);
    // relaxed: published by the store of `error`.
    atomic_store_explicit(&status->culprit, culprit, memory_order_relaxed);
    atomic_store_explicit(&status->error_seq, seq, memory_order_relaxed);
    if (cause == RP_EMISMATCH && lines->uneven.seq != 0) {
        publish_uneven(status, &lines->uneven);
    }
    // seq_cst [L4] [L5] [D1]: pairs with the loads in rp_peer_failed and rp_peer_explain. Before
    // `revoked_from`, so that who sees an op revoked can say why.
    atomic_store_explicit(&status->error, error, memory_order_seq_cst);
    // seq_cst [L3]: pairs with rp_lines_check_one; our look at the peers' `arrived` comes after.
    atomic_store_explicit(&status->revoked_from, lines->completed + 1, memory_order_seq_cst);
    rp_lines_ring(lines);
}

bool rp_lines_released(struct rp_lines *lines)
{
    for (uint32_t q = 0; q < lines->size; q++) {
        if (q == lines->rank) {
            continue;
        }
        struct rp_peer *peer = &lines->peer[q];
        const struct rp_line *line = peer->block->line;
        // seq_cst [L3]: after our store of `revoked_from`, so that what q announces later than this
        // it will find revoked.
        const uint64_t arrived =
                rp_max_u64(atomic_load_explicit(&line[0].arrived, memory_order_seq_cst),
                        atomic_load_explicit(&line[1].arrived, memory_order_seq_cst));
        // seq_cst [L2]: q's accesses up to here are finished.
        const uint64_t done = rp_max_u64(atomic_load_explicit(&line[0].done, memory_order_seq_cst),
                atomic_load_explicit(&line[1].done, memory_order_seq_cst));
        // It can be inside those of our ops only that both have announced.
        const uint64_t shared = rp_min_u64(arrived, lines->announced);
        if (shared > lines->completed && done < shared &&
                // acquire [L4]: its accesses are before its store of `error`.
                atomic_load_explicit(&peer->block->status.error, memory_order_acquire) == 0 &&
                // acquire [L5]: pairs with transport's liveness check.
                atomic_load_explicit(&peer->gone, memory_order_acquire) == 0) {
            return false;
        }
    }
    return true;
}

void rp_lines_leave(struct rp_lines *lines)
{
    rp_lines_flush(lines);
    // seq_cst [L5] [D1]: pairs with rp_peer_failed; this rank's last counters come before.
    atomic_store_explicit(&lines->peer[lines->rank].block->status.left, 1, memory_order_seq_cst);
    rp_lines_ring(lines);
}

// A list of ranks that grows: "0-3,5". `first` is UINT32_MAX while no run is open.
struct rank_list {
    char text[200];
    size_t used;
    uint32_t first;
    uint32_t last;
};

static void list_close(struct rank_list *list)
{
    if (list->first == RP_NO_RANK) {
        return;
    }
    char run[32];
    const char *comma = list->used == 0 ? "" : ",";
    const int bytes = list->first == list->last
                              ? snprintf(run, sizeof(run), "%s%" PRIu32, comma, list->first)
                              : snprintf(run, sizeof(run), "%s%" PRIu32 "-%" PRIu32, comma,
                                        list->first, list->last);
    list->first = RP_NO_RANK;
    if (list->used + (size_t)bytes + sizeof("...") > sizeof(list->text)) {
        if (list->used != 0 && list->text[list->used - 1] != '.') {
            memcpy(list->text + list->used, "...", sizeof("..."));
            list->used += 3;
        }
        return;
    }
    memcpy(list->text + list->used, run, (size_t)bytes + 1);
    list->used += (size_t)bytes;
}

static void list_add(struct rank_list *list, uint32_t rank)
{
    if (list->first != RP_NO_RANK && list->last + 1 == rank) {
        list->last = rank;
        return;
    }
    list_close(list);
    list->first = rank;
    list->last = rank;
}

// Every rank has arrived: who holds the op up is one of those that are not done with it.
static uint32_t not_done(
        struct rp_lines *lines, uint64_t seq, const char *here, char *text, size_t bytes)
{
    struct rank_list busy = { .first = RP_NO_RANK };
    uint32_t peer = RP_NO_RANK;
    uint32_t peers = 0;
    for (uint32_t q = 0; q < lines->size; q++) {
        const bool own = q == lines->rank;
        if ((own ? lines->finished : lines->peer[q].seen_done) >= seq) {
            continue;
        }
        list_add(&busy, q);
        peer = own ? peer : q;
        peers += !own;
    }
    list_close(&busy);
    snprintf(text, bytes, "arrived: %s; missing: none; not done: %s", here,
            busy.used != 0 ? busy.text : "none");
    return peers == 1 ? peer : RP_NO_RANK;
}

uint32_t rp_lines_waiting_for(struct rp_lines *lines, uint64_t seq, char *text, size_t bytes)
{
    struct rank_list here = { .first = RP_NO_RANK };
    struct rank_list missing = { .first = RP_NO_RANK };
    uint32_t lowest = RP_NO_RANK;
    for (uint32_t q = 0; q < lines->size; q++) {
        bool arrived = lines->announced >= seq;
        if (q != lines->rank) {
            rp_peer_look(&lines->peer[q]);
            arrived = lines->peer[q].seen_arrived >= seq;
        }
        list_add(arrived ? &here : &missing, q);
        if (!arrived && lowest == RP_NO_RANK) {
            lowest = q;
        }
    }
    list_close(&here);
    list_close(&missing);
    if (lowest == RP_NO_RANK) {
        return not_done(lines, seq, here.text, text, bytes);
    }
    const uint64_t done = lowest == lines->rank ? lines->finished : lines->peer[lowest].seen_done;
    snprintf(text, bytes, "arrived: %s; missing: %s (last done #%" PRIu32 ")",
            here.used != 0 ? here.text : "none", missing.text, op_number(done));
    return lowest;
}
