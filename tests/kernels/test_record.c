// What a digest covers, and that a record of any content can be put into words.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "base/util.h"
#include "kernels/dtype.h"
#include "kernels/record.h"

static const struct rp_record sample = {
    .seq = 3 * RP_SEQ_BASE_UNIT + 17,
    .count = 1024,
    .op = RP_OP_ALL_REDUCE,
    .dtype = RP_DTYPE_FP32,
    .reduce = RP_REDUCE_SUM,
    .expansion = RP_EXPANSION_AIV,
};

Test(record, digest_covers_what_ranks_must_agree_on)
{
    struct rp_record other[8];
    for (size_t i = 0; i < RP_ARRAY_LENGTH(other); i++) {
        other[i] = sample;
    }
    other[0].op = RP_OP_ALL_GATHER;
    other[1].dtype = RP_DTYPE_INT32;
    other[2].reduce = RP_REDUCE_MAX;
    other[3].count = 1025;
    other[4].root = 1;
    other[5].expansion = RP_EXPANSION_HOST_TS;
    other[6].algorithm = RP_ALGORITHM_RING;
    other[7].determinism = 2;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(other); i++) {
        cr_assert(ne(u64, rp_record_digest(&other[i]), rp_record_digest(&sample)));
        for (size_t j = 0; j < i; j++) {
            cr_assert(ne(u64, rp_record_digest(&other[i]), rp_record_digest(&other[j])));
        }
    }
}

Test(record, digest_leaves_out_what_each_rank_chooses)
{
    struct rp_record other = sample;
    other.digest = 5;
    other.seq = 99;
    other.send_off = 4096;
    other.recv_off = 8192;
    other.graph = 3;
    other.task = 4;
    other.buffer_class = RP_CLASS_STAGED;
    cr_assert(eq(u64, rp_record_digest(&other), rp_record_digest(&sample)));
}

// Counts that differ in one bit, as wrong arguments do, and digests of nothing.
Test(record, digest_is_never_zero_and_tells_counts_apart)
{
    struct rp_record a = { 0 };
    cr_assert(ne(u64, rp_record_digest(&a), 0));
    uint64_t seen[64];
    for (unsigned bit = 0; bit < 64; bit++) {
        a.count = UINT64_C(1) << bit;
        seen[bit] = rp_record_digest(&a);
        cr_assert(ne(u64, seen[bit], 0));
        for (unsigned i = 0; i < bit; i++) {
            cr_assert(ne(u64, seen[i], seen[bit]));
        }
    }
}

static void expect_text(const struct rp_record *record, const char *want)
{
    char text[RP_RECORD_TEXT_BYTES];
    rp_record_describe(record, text, sizeof(text));
    cr_assert(eq(str, text, (char *)want));
}

Test(record, is_described_by_what_the_operator_has)
{
    struct rp_record record = sample;
    expect_text(&record, "AllReduce #17, count 1024, fp32, sum, AIV");
    record.op = RP_OP_BROADCAST;
    record.root = 3;
    record.reduce = 0;
    expect_text(&record, "Broadcast #17, count 1024, fp32, root 3, AIV");
    record.op = RP_OP_BARRIER;
    expect_text(&record, "Barrier #17, AIV");
    record = sample;
    record.op = RP_OP_REDUCE_SCATTER;
    record.dtype = RP_DTYPE_BFP16;
    record.reduce = RP_REDUCE_MIN;
    record.expansion = RP_EXPANSION_HOST_TS;
    record.algorithm = RP_ALGORITHM_RING;
    record.determinism = 2;
    record.graph = 7;
    record.task = 3;
    expect_text(&record, "ReduceScatter #17, count 1024, bfp16, min, HOST_TS, ring, strict, "
                         "task 3 of graph 7");
    record = sample;
    record.op = RP_OP_ALL_GATHER;
    expect_text(&record, "AllGather #17, count 1024, fp32, AIV");
    record.op = RP_OP_ALLTOALL;
    expect_text(&record, "AlltoAll #17, count 1024, fp32, AIV");
    record.op = RP_OP_SCATTER;
    record.root = 5;
    expect_text(&record, "Scatter #17, count 1024, fp32, root 5, AIV");
    record.op = RP_OP_REDUCE;
    record.reduce = RP_REDUCE_MAX;
    expect_text(&record, "Reduce #17, count 1024, fp32, max, root 5, AIV");
}

// Every byte of a record may come from a peer that is out of its mind.
Test(record, is_described_whatever_its_bytes)
{
    struct rp_record record;
    char text[RP_RECORD_TEXT_BYTES];
    for (unsigned value = 0; value < 256; value++) {
        memset(&record, (int)value, sizeof(record));
        for (unsigned op = 0; op < 128; op++) {
            record.op = (uint16_t)op;
            rp_record_describe(&record, text, sizeof(text));
            cr_assert(lt(sz, strlen(text), sizeof(text) - 1)); // nothing is cut
        }
    }
    memset(&record, 0xff, sizeof(record));
    expect_text(&record, "unknown operator #4294967295, count 18446744073709551615, type 255, "
                         "expansion 255, algorithm 255, determinism 255, task 4294967295 of graph "
                         "18446744073709551615");
}

Test(record, description_is_cut_to_the_room_it_has)
{
    char text[8] = "xxxxxxx";
    rp_record_describe(&sample, text, 0);
    cr_assert(eq(str, text, "xxxxxxx"));
    rp_record_describe(&sample, text, 1);
    cr_assert(eq(str, text, ""));
    rp_record_describe(&sample, text, sizeof(text));
    cr_assert(eq(str, text, "AllRedu"));
}

Test(record, bytes_follow_the_operator)
{
    static const struct {
        enum rp_op_kind op;
        uint64_t send;
        uint64_t recv;
        uint64_t input[2]; // on the root, elsewhere
        uint64_t output[2];
    } rows[] = {
        { RP_OP_ALL_REDUCE, 40, 40, { 40, 40 }, { 40, 40 } },
        { RP_OP_BROADCAST, 40, 40, { 40, 40 }, { 40, 40 } },
        { RP_OP_ALL_GATHER, 40, 120, { 40, 40 }, { 120, 120 } },
        { RP_OP_REDUCE_SCATTER, 120, 40, { 120, 120 }, { 40, 40 } },
        { RP_OP_REDUCE, 40, 40, { 40, 40 }, { 40, 0 } },
        { RP_OP_SCATTER, 120, 40, { 120, 0 }, { 40, 40 } },
        { RP_OP_ALLTOALL, 120, 120, { 120, 120 }, { 120, 120 } },
        { RP_OP_BARRIER, 0, 0, { 0, 0 }, { 0, 0 } },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        const struct rp_record record = {
            .op = (uint16_t)rows[i].op, .dtype = RP_DTYPE_FP64, .count = 5, .root = 1
        };
        cr_assert(eq(u64, rp_record_send_bytes(&record, 3), rows[i].send));
        cr_assert(eq(u64, rp_record_recv_bytes(&record, 3), rows[i].recv));
        for (uint32_t r = 0; r < 3; r++) {
            const unsigned side = r != record.root;
            cr_assert(eq(u64, rp_record_input_bytes(&record, r, 3), rows[i].input[side]));
            cr_assert(eq(u64, rp_record_output_bytes(&record, r, 3), rows[i].output[side]));
        }
    }
}
