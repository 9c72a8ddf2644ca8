// What a collective does when the ranks' calls differ, when a record lies, when a rank gives up or
// dies: it ends on every rank, says why, and touches nothing that it may not touch.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "support/aiv_case.h"
#include "support/aiv_end.h"

#define TIMEOUT_S 60
#define ARENA_BYTES (1u << 20)
#define TINY_COUNT 4
#define SMALL_COUNT 1000
#define LARGE_COUNT 20000

TestSuite(aiv_failure, .timeout = TIMEOUT_S);

static const uint64_t form_counts[] = { TINY_COUNT, SMALL_COUNT, LARGE_COUNT };

// fp32 all-reduce of `count` elements, from the arena's start to its middle.
static struct fake_call make_call(const struct fake_comm *comm, uint32_t rank, uint64_t count)
{
    uint8_t *arena = fake_comm_arena(comm, rank);
    return (struct fake_call){
        .record = { .op = RP_OP_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = count },
        .send = arena,
        .recv = arena + ARENA_BYTES / 2,
    };
}

static void begin(
        struct rp_aiv_op *op, struct fake_comm *comm, uint32_t rank, const struct fake_call *call)
{
    const struct rp_record record = fake_call_record(comm, rank, call);
    rp_aiv_begin(
            op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call->send, call->recv);
}

static rp_status step(struct rp_aiv_op *op, uint64_t budget_bytes)
{
    bool progress = false;
    return rp_aiv_step(op, budget_bytes, &progress);
}

struct difference {
    struct rp_record other; // what rank 2 calls
    uint64_t count;         // of the all-reduce that the others call
};

static bool run_mismatch(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const struct difference *difference = arg;
    struct fake_call call = make_call(comm, rank, difference->count);
    memset(fake_comm_arena(comm, rank), 0x11, ARENA_BYTES);
    if (rank == 2) {
        call.record = difference->other;
    }
    const rp_status st = fake_comm_call(comm, rank, &call);
    if (st != RP_EMISMATCH) {
        fprintf(stderr, "rank %u: %s\n", rank, rp_status_name(st));
        return false;
    }
    bool ok = aiv_is_sentence(rank == 2 ? "rank 2 called" : "differ");
    for (size_t i = 0; i < ARENA_BYTES; i++) {
        if (fake_comm_arena(comm, rank)[i] != 0x11) {
            fprintf(stderr, "rank %u: byte %zu was written\n", rank, i);
            ok = false;
            break;
        }
    }
    return aiv_give_up(comm, rank, st) && ok;
}

// Each field that a digest covers, in each form, also such that the ranks choose different forms.
Test(aiv_failure, differing_calls_are_an_error_on_every_rank)
{
    for (size_t f = 0; f < RP_ARRAY_LENGTH(form_counts); f++) {
        const struct rp_record same = {
            .op = RP_OP_ALL_REDUCE, .dtype = RP_DTYPE_FP32, .count = form_counts[f]
        };
        struct difference rows[7];
        for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
            rows[i] = (struct difference){ .other = same, .count = form_counts[f] };
        }
        rows[0].other.op = RP_OP_ALL_GATHER;
        rows[1].other.op = RP_OP_BARRIER;
        rows[2].other.dtype = RP_DTYPE_INT32;
        rows[3].other.reduce = RP_REDUCE_MAX;
        rows[4].other.count++;
        rows[5].other.count = form_counts[(f + 1) % RP_ARRAY_LENGTH(form_counts)];
        rows[6].other.determinism = 2;
        for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
            struct fake_comm *comm = fake_comm_create(3, ARENA_BYTES, 4096);
            cr_assert(fake_comm_run(comm, FAKE_THREADS, 30, run_mismatch, &rows[i]),
                    "form %zu, row %zu", f, i);
            fake_comm_destroy(comm);
        }
    }
}

static void begin_rooted(struct rp_aiv_op *op, struct fake_comm *comm, enum rp_op_kind kind,
        uint32_t rank, uint32_t root, uint64_t count)
{
    struct fake_call call = make_call(comm, rank, count);
    call.record.op = (uint16_t)kind;
    call.record.root = root;
    begin(op, comm, rank, &call);
}

static void begin_broadcast(
        struct rp_aiv_op *op, struct fake_comm *comm, uint32_t rank, uint32_t root, uint64_t count)
{
    begin_rooted(op, comm, RP_OP_BROADCAST, rank, root, count);
}

// Who receives a broadcast reads its root's data alone. It does not go on with that while another
// rank's call differs.
Test(aiv_failure, rank_that_has_all_it_needs_hears_of_a_mismatch)
{
    for (size_t f = 0; f < RP_ARRAY_LENGTH(form_counts); f++) {
        struct fake_comm *comm = fake_comm_create(3, ARENA_BYTES, 4096);
        const struct fake_call other = make_call(comm, 2, form_counts[f]);
        struct rp_aiv_op op[3];
        begin_broadcast(&op[0], comm, 0, 0, form_counts[f]);
        begin_broadcast(&op[1], comm, 1, 0, form_counts[f]);
        begin(&op[2], comm, 2, &other);
        cr_assert(eq(int, step(&op[0], 1), RP_AGAIN));
        cr_assert(eq(int, step(&op[1], 1), RP_AGAIN));
        cr_assert(eq(int, step(&op[2], 1), RP_EMISMATCH));
        cr_assert(aiv_is_sentence("rank 2 called AllReduce"));
        rp_lines_fail(&comm->lines[2], RP_EMISMATCH, comm->lines[2].culprit, op[2].seq);
        cr_assert(eq(int, step(&op[0], 1), RP_EMISMATCH));
        cr_assert(aiv_is_sentence("rank 0 called Broadcast"));
        cr_assert(eq(int, step(&op[1], 1), RP_EMISMATCH));
        cr_assert(aiv_is_sentence("rank 2 called AllReduce"));
        fake_comm_destroy(comm);
    }
}

// Neither would wait for anybody if roots did not, or in a reduce, where each takes the other for
// the root, those that are no root.
Test(aiv_failure, two_roots_find_each_other)
{
    static const struct {
        enum rp_op_kind kind;
        bool own; // each takes itself for the root, or the other
        const char *name;
    } rows[] = {
        { RP_OP_BROADCAST, true, "rank 1 called Broadcast" },
        { RP_OP_SCATTER, true, "rank 1 called Scatter" },
        { RP_OP_REDUCE, false, "rank 1 called Reduce" },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        for (size_t f = 0; f < RP_ARRAY_LENGTH(form_counts); f++) {
            struct fake_comm *comm = fake_comm_create(2, ARENA_BYTES, 4096);
            struct rp_aiv_op op[2];
            for (uint32_t r = 0; r < 2; r++) {
                begin_rooted(
                        &op[r], comm, rows[i].kind, r, rows[i].own ? r : 1 - r, form_counts[f] / 2);
            }
            cr_assert(eq(int, step(&op[0], 1), RP_AGAIN));
            cr_assert(eq(int, step(&op[1], 1), RP_EMISMATCH));
            cr_assert(eq(int, step(&op[0], 1), RP_EMISMATCH));
            cr_assert(aiv_is_sentence(rows[i].name));
            fake_comm_destroy(comm);
        }
    }
}

// Bytes from another process: where rank 1 says its buffers are is checked before it is believed.
Test(aiv_failure, offsets_outside_the_arena_are_refused)
{
    const uint64_t bytes = LARGE_COUNT * sizeof(float);
    const struct {
        uint64_t send_off;
        uint64_t recv_off;
    } rows[] = {
        { ARENA_BYTES, 0 },
        { ARENA_BYTES - bytes + 1, 0 },
        { UINT64_MAX, 0 },
        { UINT64_MAX - bytes + 1, 0 },
        { 0, ARENA_BYTES - bytes + 1 },
        { 0, UINT64_MAX - bytes / 2 },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct fake_comm *comm = fake_comm_create(2, ARENA_BYTES, 4096);
        struct rp_aiv_op op[2];
        for (uint32_t r = 0; r < 2; r++) {
            const struct fake_call call = make_call(comm, r, LARGE_COUNT);
            begin(&op[r], comm, r, &call);
        }
        op[1].record.send_off = rows[i].send_off;
        op[1].record.recv_off = rows[i].recv_off;
        cr_assert(eq(int, step(&op[1], 1), RP_AGAIN));
        cr_assert(eq(int, step(&op[0], 1), RP_EMISMATCH));
        cr_assert(eq(u32, comm->lines[0].culprit, 1));
        cr_assert(aiv_is_sentence("rank 1 names 80000 bytes at offset"));
        fake_comm_destroy(comm);
    }
}

Test(aiv_failure, offsets_up_to_the_arenas_end_are_taken)
{
    const uint64_t bytes = LARGE_COUNT * sizeof(float);
    struct fake_comm *comm = fake_comm_create(2, ARENA_BYTES, 4096);
    struct rp_aiv_op op[2];
    for (uint32_t r = 0; r < 2; r++) {
        struct fake_call call = make_call(comm, r, LARGE_COUNT);
        call.recv = fake_comm_arena(comm, r) + ARENA_BYTES - bytes;
        begin(&op[r], comm, r, &call);
    }
    cr_assert(eq(int, step(&op[1], UINT64_MAX), RP_AGAIN));
    cr_assert(eq(int, step(&op[0], UINT64_MAX), RP_OK));
    cr_assert(eq(int, step(&op[1], UINT64_MAX), RP_OK));
    fake_comm_destroy(comm);
}

Test(aiv_failure, windows_too_small_for_the_ranks_are_refused)
{
    struct fake_comm *comm = fake_comm_create(5, ARENA_BYTES, 256);
    struct rp_aiv_op op[5];
    for (uint32_t r = 0; r < 5; r++) {
        struct fake_call call = make_call(comm, r, LARGE_COUNT / 5);
        call.record.op = RP_OP_REDUCE_SCATTER;
        call.record.dtype = RP_DTYPE_FP64;
        call.staged = true;
        comm->lines[r].window_bytes = 64;
        begin(&op[r], comm, r, &call);
    }
    for (uint32_t r = 0; r < 4; r++) {
        cr_assert(eq(int, step(&op[r], UINT64_MAX), RP_AGAIN));
    }
    cr_assert(eq(int, step(&op[4], UINT64_MAX), RP_EINTERNAL));
    cr_assert(aiv_is_sentence("too small"));
    fake_comm_destroy(comm);
}

// Rank 1 gives up while rank 0 is in the middle: no byte more is read or written.
Test(aiv_failure, revocation_stops_a_peer_within_a_piece)
{
    struct fake_comm *comm = fake_comm_create(2, ARENA_BYTES, 4096);
    struct rp_aiv_op op[2];
    for (uint32_t r = 0; r < 2; r++) {
        const struct fake_call call = make_call(comm, r, LARGE_COUNT);
        begin(&op[r], comm, r, &call);
    }
    cr_assert(eq(int, step(&op[1], 1), RP_AGAIN));
    cr_assert(eq(int, step(&op[0], 1), RP_AGAIN)); // one piece
    const uint64_t reached = op[0].offset;
    cr_assert(gt(u64, reached, 0));
    rp_lines_fail(&comm->lines[1], RP_ETASKTIMEOUT, RP_NO_RANK, op[1].seq);
    cr_assert(not(rp_lines_released(&comm->lines[1])));
    memset(fake_comm_arena(comm, 1), 0x77, ARENA_BYTES);
    cr_assert(eq(int, step(&op[0], UINT64_MAX), RP_ETASKTIMEOUT));
    cr_assert(eq(u64, op[0].offset, reached));
    cr_assert(eq(u64, comm->lines[0].finished, FAKE_BASE));
    for (size_t i = 0; i < ARENA_BYTES; i++) {
        cr_assert(eq(u8, fake_comm_arena(comm, 1)[i], 0x77));
    }
    rp_lines_fail(&comm->lines[0], RP_ETASKTIMEOUT, comm->lines[0].culprit, op[0].seq);
    cr_assert(rp_lines_released(&comm->lines[1]));
    cr_assert(rp_lines_released(&comm->lines[0]));
    fake_comm_destroy(comm);
}

static rp_reduce_fn *real_fold;
static struct rp_lines *failing;

static void fold_while_peer_fails(void *const *dsts, unsigned dst_count, const void *const *srcs,
        unsigned src_count, size_t first, size_t end, bool stream)
{
    real_fold(dsts, dst_count, srcs, src_count, first, end, stream);
    rp_lines_fail(failing, RP_EDEVABORT, RP_NO_RANK, failing->announced);
}

// The peer gives up during the last access, which may have read what its user has overwritten:
// without the look after it this would be a success with wrong data.
Test(aiv_failure, revocation_during_the_last_piece_is_seen)
{
    struct fake_comm *comm = fake_comm_create(2, ARENA_BYTES, 4096);
    struct rp_reduce_impl hooked = *comm->reduce;
    real_fold = hooked.fold[RP_DTYPE_FP32][RP_REDUCE_SUM];
    hooked.fold[RP_DTYPE_FP32][RP_REDUCE_SUM] = fold_while_peer_fails;
    failing = &comm->lines[1];
    struct rp_aiv_op op[2];
    for (uint32_t r = 0; r < 2; r++) {
        const struct fake_call call = make_call(comm, r, LARGE_COUNT / 2); // one piece a slice
        begin(&op[r], comm, r, &call);
    }
    op[0].reduce = &hooked;
    cr_assert(eq(int, step(&op[1], 1), RP_AGAIN));
    cr_assert(eq(int, step(&op[0], UINT64_MAX), RP_EREMOTE));
    cr_assert(aiv_is_sentence("rank 1 gave up"));
    cr_assert(eq(u64, comm->lines[0].finished, FAKE_BASE)); // no `done` for that op
    fake_comm_destroy(comm);
}

// A rank that has not come to the op yet will find it revoked: it holds nobody up.
Test(aiv_failure, rank_that_never_announced_holds_no_memory)
{
    struct fake_comm *comm = fake_comm_create(2, ARENA_BYTES, 4096);
    struct rp_aiv_op op[2];
    for (uint32_t r = 0; r < 2; r++) {
        const struct fake_call call = make_call(comm, r, LARGE_COUNT);
        begin(&op[r], comm, r, &call);
    }
    cr_assert(eq(int, step(&op[0], 1), RP_AGAIN));
    rp_lines_fail(&comm->lines[0], RP_ETASKTIMEOUT, 1, op[0].seq);
    cr_assert(rp_lines_released(&comm->lines[0]));
    cr_assert(eq(int, step(&op[1], 1), RP_ETASKTIMEOUT));
    cr_assert(aiv_is_sentence("rank 0 gave up at op #1: the task timed out, because of rank 1"));
    fake_comm_destroy(comm);
}

Test(aiv_failure, every_rank_ends_when_one_dies)
{
    for (unsigned seed = 1; seed <= 150; seed++) {
        cr_assert(aiv_end_a_rank(seed, true), "seed %u", seed);
    }
}

Test(aiv_failure, every_rank_ends_when_one_gives_up)
{
    for (unsigned seed = 1; seed <= 150; seed++) {
        cr_assert(aiv_end_a_rank(seed, false), "seed %u", seed);
    }
}
