// The line protocol as single calls, in one thread that plays all ranks. What whole collectives do
// with it is in test_aiv.c, what threads do to it in tests/race/race_lines.c.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "support/fake_comm.h"

#define RANKS 3

static struct fake_comm *comm;
static struct rp_lines *lines; // lines[r]: rank r's end

static void setup(void)
{
    comm = fake_comm_create(RANKS, 4096, 4096);
    lines = comm->lines;
}

static void teardown(void)
{
    fake_comm_destroy(comm);
}

TestSuite(line, .init = setup, .fini = teardown, .timeout = 20);

// Op `n` of the communicator.
static uint64_t op(unsigned n)
{
    return FAKE_BASE + n;
}

static rp_status announce(uint32_t rank)
{
    const struct rp_record record = {
        .op = RP_OP_ALL_REDUCE, .count = 1, .dtype = RP_DTYPE_FP32, .expansion = RP_EXPANSION_AIV
    };
    return rp_lines_announce(&lines[rank], &record, NULL, 0);
}

static void finish(uint32_t rank, unsigned n)
{
    rp_lines_finish(&lines[rank], op(n));
    rp_lines_flush(&lines[rank]);
}

static void expect_sentence(const char *part)
{
    const char *text = rp_error_take();
    cr_assert(ne(ptr, (void *)text, NULL));
    cr_assert(ne(ptr, strstr(text, part), NULL), "\"%s\" is not in \"%s\"", part, text);
}

Test(line, announcement_carries_record_digest_and_payload)
{
    const struct rp_record record = { .op = RP_OP_BROADCAST, .count = 9, .root = 2 };
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(1)), RP_AGAIN));
    cr_assert(eq(int, rp_lines_announce(&lines[0], &record, "hello", 6), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(2)), RP_AGAIN));
    cr_assert(eq(int, rp_lines_match(&lines[1], 0, op(1), rp_record_digest(&record)), RP_OK));
    cr_assert(eq(str, (char *)lines[1].peer[0].block->line[op(1) % 2].payload, "hello"));
    const struct rp_record seen = rp_lines_record(&lines[1], 0, op(1));
    cr_assert(eq(u64, seen.seq, op(1)));
    cr_assert(eq(u64, seen.count, 9));
    cr_assert(eq(u32, seen.root, 2));
    cr_assert(eq(u64, seen.digest, rp_record_digest(&record)));
}

// Line 1 was used by op 1: op 3 waits until every peer is done with op 1, and no longer.
Test(line, is_written_again_only_when_every_peer_is_done)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_AGAIN));
    finish(1, 1);
    cr_assert(eq(int, announce(0), RP_AGAIN));
    cr_assert(eq(int, rp_lines_ready(&lines[0]), RP_AGAIN));
    finish(2, 1);
    cr_assert(eq(int, rp_lines_ready(&lines[0]), RP_OK));
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_AGAIN));
    cr_assert(eq(u64, lines[0].announced, op(3)));
}

Test(line, announcement_publishes_done_without_a_flush)
{
    cr_assert(eq(int, announce(0), RP_OK));
    rp_lines_finish(&lines[0], op(1));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(1)), RP_AGAIN));
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(2)), RP_AGAIN));
}

// Two ranks that wait for each other's `done` must both have published theirs.
Test(line, blocked_announcement_publishes_done)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_OK));
    rp_lines_finish(&lines[0], op(2));
    cr_assert(eq(int, announce(0), RP_AGAIN));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(2)), RP_OK));
}

Test(line, counters_of_either_line_count)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_OK)); // op 1's line says 1, op 2's says 2
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(2)), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(1)), RP_OK));
    finish(0, 1); // goes into the line that op 3 will use
    cr_assert(eq(u64, lines[0].peer[0].block->line[op(3) % 2].done, op(1)));
    cr_assert(eq(u64, lines[0].peer[0].block->line[op(2) % 2].done, op(0)));
    cr_assert(eq(int, rp_lines_done(&lines[2], 0, op(1)), RP_OK));
}

Test(line, flush_stores_nothing_that_peers_know)
{
    finish(0, 1);
    struct rp_line *line = lines[0].peer[0].block->line;
    line[0].done = op(0);
    line[1].done = op(0);
    rp_lines_flush(&lines[0]);
    cr_assert(eq(u64, line[0].done, op(0)));
    cr_assert(eq(u64, line[1].done, op(0)));
}

// The ring and both lines go round many times; every rank sees the record of each op.
Test(line, records_are_found_through_the_whole_ring)
{
    for (unsigned n = 1; n <= 3 * RP_RECORD_RING; n++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            const struct rp_record record = { .op = RP_OP_ALL_GATHER, .count = n, .task = r };
            cr_assert(eq(int, rp_lines_announce(&lines[r], &record, NULL, 0), RP_OK));
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            cr_assert(eq(int, rp_lines_all_arrived(&lines[r], op(n)), RP_OK));
            const uint32_t q = (r + 1) % RANKS;
            const struct rp_record seen = rp_lines_record(&lines[r], q, op(n));
            cr_assert(eq(u64, seen.count, n));
            cr_assert(eq(u32, seen.task, q));
            finish(r, n);
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            cr_assert(eq(int, rp_lines_all_done(&lines[r], op(n)), RP_OK));
        }
    }
}

Test(line, all_arrived_and_all_done_mean_every_peer)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(1), RP_OK));
    cr_assert(eq(int, rp_lines_all_arrived(&lines[0], op(1)), RP_AGAIN));
    cr_assert(eq(int, announce(2), RP_OK));
    cr_assert(eq(int, rp_lines_all_arrived(&lines[0], op(1)), RP_OK));
    finish(2, 1);
    cr_assert(eq(int, rp_lines_all_done(&lines[0], op(1)), RP_AGAIN));
    finish(1, 1);
    cr_assert(eq(int, rp_lines_all_done(&lines[0], op(1)), RP_OK));
}

Test(line, mismatch_names_both_ranks_and_both_calls)
{
    const struct rp_record mine = {
        .op = RP_OP_ALL_REDUCE, .count = 1024, .dtype = RP_DTYPE_FP32, .expansion = RP_EXPANSION_AIV
    };
    const struct rp_record theirs = { .op = RP_OP_BROADCAST,
        .count = 4,
        .dtype = RP_DTYPE_INT8,
        .root = 1,
        .expansion = RP_EXPANSION_AIV };
    cr_assert(eq(int, rp_lines_announce(&lines[0], &mine, NULL, 0), RP_OK));
    cr_assert(eq(int, rp_lines_announce(&lines[2], &theirs, NULL, 0), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(&lines[0], 2, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_match(&lines[0], 2, op(1), rp_record_digest(&mine)), RP_EMISMATCH));
    cr_assert(eq(u32, lines[0].culprit, 2));
    expect_sentence("rank 0 called AllReduce #1, count 1024, fp32, sum, AIV; rank 2 called "
                    "Broadcast #1, count 4, int8, root 1, AIV");
}

Test(line, word_that_is_not_its_records_is_a_mismatch_too)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(1), RP_OK));
    const uint64_t digest = rp_lines_record(&lines[0], 0, op(1)).digest;
    lines[0].peer[1].block->line[op(1) % 2].word ^= 1;
    cr_assert(eq(int, rp_lines_match(&lines[0], 1, op(1), digest), RP_EMISMATCH));
    expect_sentence("is not that of its record");
}

Test(line, failure_revokes_what_is_open_and_tells_why)
{
    cr_assert(eq(int, announce(0), RP_OK));
    rp_lines_complete(&lines[0], op(1));
    finish(1, 1);
    finish(2, 1);
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, rp_lines_check(&lines[1], op(2)), RP_OK));
    rp_lines_fail(&lines[0], RP_ETASKTIMEOUT, 2, op(2));
    cr_assert(eq(int, rp_lines_check(&lines[1], op(1)), RP_OK)); // complete on rank 0
    cr_assert(eq(int, rp_lines_check(&lines[1], op(2)), RP_ETASKTIMEOUT));
    cr_assert(eq(u32, lines[1].culprit, 2));
    expect_sentence("op #2: rank 0 gave up at op #2: the task timed out, because of rank 2");
    cr_assert(eq(int, rp_lines_check(&lines[1], op(77)), RP_ETASKTIMEOUT));
}

Test(line, what_a_rank_stored_before_it_failed_counts)
{
    cr_assert(eq(int, announce(0), RP_OK));
    finish(0, 1);
    cr_assert(eq(int, announce(0), RP_OK));
    rp_lines_fail(&lines[0], RP_EINTERNAL, RP_NO_RANK, op(2));
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(2)), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(2)), RP_EREMOTE));
    cr_assert(eq(u32, lines[1].culprit, 0));
    expect_sentence("rank 0 gave up at op #2: internal error");
    cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(3)), RP_EREMOTE));
}

// An earlier op that this rank is done with must not fail elsewhere for want of a flush.
Test(line, failure_publishes_the_done_that_was_due)
{
    cr_assert(eq(int, announce(0), RP_OK));
    rp_lines_finish(&lines[0], op(1));
    rp_lines_fail(&lines[0], RP_ELINK, RP_NO_RANK, op(2));
    cr_assert(eq(int, rp_lines_done(&lines[1], 0, op(1)), RP_OK));
}

Test(line, first_failure_stays)
{
    cr_assert(eq(int, announce(0), RP_OK));
    rp_lines_fail(&lines[0], RP_EMISMATCH, 1, op(1));
    rp_lines_fail(&lines[0], RP_ETASKTIMEOUT, 2, op(9));
    cr_assert(eq(int, rp_lines_check(&lines[2], op(1)), RP_EMISMATCH));
    cr_assert(eq(u32, lines[2].culprit, 1));
    expect_sentence("gave up at op #1: the ranks' calls differ, because of rank 1");
}

// What all ranks share keeps its code on every rank; what concerns one rank is remote elsewhere.
Test(line, peers_adopt_shared_causes_only)
{
    static const struct {
        int32_t cause;
        rp_status seen;
    } rows[] = {
        { RP_ETASKTIMEOUT, RP_ETASKTIMEOUT },
        { RP_EMISMATCH, RP_EMISMATCH },
        { RP_ECYCLE, RP_ECYCLE },
        { RP_ELINK, RP_ELINK },
        { RP_ERETRY, RP_ERETRY },
        { RP_EREMOTE, RP_EREMOTE },
        { RP_EDEVABORT, RP_EREMOTE },
        { RP_ENOMEM, RP_EREMOTE },
        { RP_OK, RP_EREMOTE },  // not a failure: the caller's mistake is an internal error
        { -12345, RP_EREMOTE }, // no status at all: a peer out of its mind
        { INT32_MIN, RP_EREMOTE },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        lines[0].peer[0].block->status.error = 0;
        rp_lines_fail(&lines[0], RP_OK, RP_NO_RANK, op(1));
        if (rows[i].cause != RP_OK) {
            lines[0].peer[0].block->status.error = (uint32_t) - (int64_t)rows[i].cause;
        }
        lines[0].peer[0].block->status.culprit = 12345; // no rank: not to be followed
        cr_assert(eq(int, rp_lines_arrived(&lines[1], 0, op(1)), rows[i].seen));
        cr_assert(eq(u32, lines[1].culprit, 0));
    }
}

Test(line, death_counts_after_the_last_counters)
{
    cr_assert(eq(int, announce(2), RP_OK));
    finish(2, 1);
    cr_assert(eq(int, announce(2), RP_OK));
    lines[0].peer[2].gone = 1;
    cr_assert(eq(int, rp_lines_arrived(&lines[0], 2, op(2)), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[0], 2, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[0], 2, op(2)), RP_EREMOTE));
    cr_assert(eq(u32, lines[0].culprit, 2));
    expect_sentence("rank 2 has died; its last op was #2");
    cr_assert(eq(int, rp_lines_all_arrived(&lines[0], op(3)), RP_AGAIN)); // rank 1 comes first
    cr_assert(eq(int, announce(1), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(&lines[0], 2, op(3)), RP_EREMOTE));
}

Test(line, sentence_begins_with_the_own_call)
{
    cr_assert(eq(int, announce(0), RP_OK));
    lines[0].peer[1].gone = 1;
    cr_assert(eq(int, rp_lines_arrived(&lines[0], 1, op(1)), RP_EREMOTE));
    expect_sentence("AllReduce #1, count 1, fp32, sum, AIV: rank 1 has died");
}

Test(line, leaving_is_no_failure_of_what_was_before)
{
    cr_assert(eq(int, announce(1), RP_OK));
    rp_lines_finish(&lines[1], op(1));
    rp_lines_leave(&lines[1]); // publishes `done` too
    cr_assert(eq(int, rp_lines_arrived(&lines[0], 1, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_done(&lines[0], 1, op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_check(&lines[0], op(1)), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(&lines[0], 1, op(2)), RP_EREMOTE));
    expect_sentence("rank 1 has destroyed the communicator; its last op was #1");
}

Test(line, blocked_announcement_ends_with_the_peers_failure)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(0), RP_AGAIN));
    finish(1, 1);
    lines[0].peer[2].gone = 1;
    cr_assert(eq(int, announce(0), RP_EREMOTE));
    cr_assert(eq(u64, lines[0].announced, op(2)));
}

// Rank 0 fails with ops 2 and 3 open. Each row is one peer's state; the other peer is free.
Test(line, memory_is_released_peer_by_peer)
{
    static const struct {
        unsigned arrived;
        unsigned done;
        bool error;
        bool gone;
        bool released;
    } rows[] = {
        { 1, 1, false, false, true },  // has announced none of them: will find them revoked
        { 1, 0, false, false, true },  // op 1 is complete here, whatever it still does there
        { 2, 1, false, false, false }, // is inside op 2
        { 2, 2, false, false, true }, { 3, 2, false, false, false }, // is inside op 3
        { 3, 1, false, false, false }, { 3, 3, false, false, true },
        { 3, 1, true, false, true },  // has acknowledged
        { 3, 1, false, true, true },  // has died
        { 4, 3, false, false, true }, // is inside an op that rank 0 never announced
    };
    for (uint32_t r = 0; r < RANKS; r++) {
        finish(r, 1);
    }
    for (unsigned n = 1; n <= 3; n++) {
        finish(1, n);
        finish(2, n);
        cr_assert(eq(int, announce(0), RP_OK));
        if (n == 1) {
            rp_lines_complete(&lines[0], op(1));
        }
    }
    rp_lines_fail(&lines[0], RP_ETASKTIMEOUT, RP_NO_RANK, op(2));
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct rp_rank_block *block = lines[0].peer[1].block;
        block->line[0].arrived = op(rows[i].arrived);
        block->line[1].arrived = op(0);
        block->line[0].done = op(0);
        block->line[1].done = op(rows[i].done);
        block->status.error = rows[i].error;
        lines[0].peer[1].gone = rows[i].gone;
        cr_assert(eq(int, rp_lines_released(&lines[0]), rows[i].released), "row %zu", i);
    }
}

Test(line, completion_counts_in_order)
{
    for (unsigned n = 1; n <= 2; n++) {
        cr_assert(eq(int, announce(0), RP_OK));
        rp_lines_finish(&lines[0], op(n));
    }
    rp_lines_complete(&lines[0], op(2)); // op 1 is open
    cr_assert(eq(u64, lines[0].completed, op(0)));
    rp_lines_complete(&lines[0], op(1));
    cr_assert(eq(u64, lines[0].completed, op(1)));
    finish(1, 2);
    finish(2, 2);
    cr_assert(eq(int, announce(0), RP_OK)); // has seen both done with op 2
    rp_lines_finish(&lines[0], op(3));
    rp_lines_complete(&lines[0], op(3));
    cr_assert(eq(u64, lines[0].completed, op(3)));
}

Test(line, stage_counters_work_like_the_others)
{
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(1), RP_OK));
    cr_assert(eq(int, rp_lines_stage_arrived(&lines[0], 1, 1), RP_AGAIN));
    rp_lines_stage_fill(&lines[1], 2);
    cr_assert(eq(int, rp_lines_stage_arrived(&lines[0], 1, 2), RP_OK));
    cr_assert(eq(int, rp_lines_stage_done(&lines[0], 1, 1), RP_AGAIN));
    rp_lines_stage_finish(&lines[1], 1);
    cr_assert(eq(int, rp_lines_stage_done(&lines[0], 1, 1), RP_OK));
    rp_lines_fail(&lines[1], RP_ELINK, RP_NO_RANK, op(1));
    cr_assert(eq(int, rp_lines_stage_arrived(&lines[0], 1, 2), RP_OK));
    cr_assert(eq(int, rp_lines_stage_arrived(&lines[0], 1, 3), RP_ELINK));
    cr_assert(eq(int, rp_lines_stage_done(&lines[0], 1, 2), RP_ELINK));
    expect_sentence("rank 1 gave up at op #1");
}

static void expect_waiting(struct rp_lines *end, unsigned n, const char *want, uint32_t lowest)
{
    char text[128];
    cr_assert(eq(u32, rp_lines_waiting_for(end, op(n), text, sizeof(text)), lowest));
    cr_assert(eq(str, text, (char *)want));
}

Test(line, report_says_who_is_missing)
{
    expect_waiting(&lines[0], 1, "arrived: none; missing: 0-2 (last done #0)", 0);
    cr_assert(eq(int, announce(0), RP_OK));
    cr_assert(eq(int, announce(2), RP_OK));
    expect_waiting(&lines[0], 1, "arrived: 0,2; missing: 1 (last done #0)", 1);
    cr_assert(eq(int, announce(1), RP_OK));
    expect_waiting(&lines[0], 1, "arrived: 0-2; missing: none; not done: 0-2", RP_NO_RANK);
    finish(2, 1);
    expect_waiting(&lines[0], 1, "arrived: 0-2; missing: none; not done: 0-1", 1);
    finish(1, 1);
    expect_waiting(&lines[0], 1, "arrived: 0-2; missing: none; not done: 0", RP_NO_RANK);
    cr_assert(eq(int, announce(0), RP_OK));
    expect_waiting(&lines[0], 2, "arrived: 0; missing: 1-2 (last done #1)", 1);
}

// Every second rank: a list that does not fit is cut where a rank ends.
Test(line, long_report_is_cut)
{
    enum { MANY = 200 };
    struct rp_lines wide;
    char text[512];
    struct rp_rank_block *blocks = rp_aligned_calloc(RP_CACHELINE, MANY * sizeof(*blocks));
    cr_assert(eq(int, rp_lines_init(&wide, 0, MANY, FAKE_BASE), RP_OK));
    for (uint32_t q = 0; q < MANY; q++) {
        rp_rank_block_init(&blocks[q], FAKE_BASE);
        wide.peer[q].block = &blocks[q];
        blocks[q].line[0].arrived = op(q % 2);
    }
    cr_assert(eq(u32, rp_lines_waiting_for(&wide, op(1), text, sizeof(text)), 0));
    cr_assert(eq(int, strncmp(text, "arrived: 1,3,5,7,", 17), 0));
    cr_assert(ne(ptr, strstr(text, "...; missing: 0,2,4,"), NULL));
    cr_assert(ne(ptr, strstr(text, "... (last done #0)"), NULL));
    rp_lines_fini(&wide);
    rp_free(blocks);
}

enum publication {
    ANNOUNCE,
    FLUSH,
    FAIL,
    LEAVE,
    STAGE_FILL,
    STAGE_FINISH,
    PUBLICATIONS,
};

static void publish(enum publication what)
{
    switch (what) {
    case ANNOUNCE:
        cr_assert(eq(int, announce(0), RP_OK));
        break;
    case FLUSH:
        finish(0, 1);
        break;
    case FAIL:
        rp_lines_fail(&lines[0], RP_ELINK, RP_NO_RANK, op(1));
        break;
    case LEAVE:
        rp_lines_leave(&lines[0]);
        break;
    case STAGE_FILL:
        rp_lines_stage_fill(&lines[0], 1);
        break;
    case STAGE_FINISH:
        rp_lines_stage_finish(&lines[0], 1);
        break;
    case PUBLICATIONS:
        break;
    }
}

// A peer that says it sleeps is rung by each of them.
Test(line, every_publication_wakes_sleeping_peers)
{
    for (unsigned what = 0; what < PUBLICATIONS; what++) {
        teardown();
        setup();
        struct rp_sleep sleep[RANKS];
        for (uint32_t r = 1; r < RANKS; r++) {
            rp_doorbell_prepare(&comm->bell[r], &sleep[r]);
        }
        publish((enum publication)what);
        for (uint32_t r = 1; r < RANKS; r++) {
            cr_assert(eq(int, rp_doorbell_wait(&comm->bell[r], &sleep[r], 0), RP_WAKE_BELL),
                    "publication %u, rank %u", what, r);
        }
    }
}

Test(line, bell_is_added_once)
{
    cr_assert(eq(u32, lines[0].bell_count, RANKS - 1));
    rp_lines_add_bell(&lines[0], &comm->bell[1]);
    cr_assert(eq(u32, lines[0].bell_count, RANKS - 1));
    rp_lines_add_bell(&lines[0], &comm->bell[0]); // a process with several members hears itself
    cr_assert(eq(u32, lines[0].bell_count, RANKS));
}

Test(line, init_gives_all_back_when_memory_is_short)
{
    for (int64_t n = 0;; n++) {
        struct rp_lines end;
        rp_alloc_fail_after(n);
        const rp_status st = rp_lines_init(&end, 0, 2, FAKE_BASE);
        if (!rp_alloc_fail_pending()) {
            cr_assert(eq(int, st, RP_ENOMEM));
            cr_assert(eq(ptr, end.peer, NULL));
            continue;
        }
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, RP_OK));
        cr_assert(ge(i64, n, 4));
        rp_lines_fini(&end);
        break;
    }
}
