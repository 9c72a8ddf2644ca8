// Op records: the digest that ranks compare, and the words that explain a difference.

#include "kernels/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/dtype.h"

// Bijective, so that two records that differ in one word never meet here; the multipliers are
// those of the splitmix64 generator.
uint64_t rp_mix_u64(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint64_t rp_record_digest(const struct rp_record *record)
{
    const uint64_t call = (uint64_t)record->root << 32 | (uint64_t)record->op << 16 |
                          (uint64_t)record->dtype << 8 | record->reduce;
    const uint64_t choice = (uint64_t)record->expansion << 16 | (uint64_t)record->algorithm << 8 |
                            record->determinism;
    uint64_t digest = rp_mix_u64(choice + 1);
    digest = rp_mix_u64(digest ^ call);
    // Each rank of an AlltoAllV sends what it likes.
    digest = rp_mix_u64(digest ^ (record->op == RP_OP_ALLTOALL_V ? 0 : record->count));
    return digest != 0 ? digest : 1;
}

const char *rp_op_kind_name(unsigned op)
{
    switch (op) {
    case RP_OP_BROADCAST:
        return "Broadcast";
    case RP_OP_ALL_REDUCE:
        return "AllReduce";
    case RP_OP_REDUCE:
        return "Reduce";
    case RP_OP_SEND:
        return "Send";
    case RP_OP_RECEIVE:
        return "Recv";
    case RP_OP_ALL_GATHER:
        return "AllGather";
    case RP_OP_REDUCE_SCATTER:
        return "ReduceScatter";
    case RP_OP_ALLTOALL_V:
        return "AlltoAllV";
    case RP_OP_ALLTOALL_VC:
        return "AlltoAllVC";
    case RP_OP_ALLTOALL:
        return "AlltoAll";
    case RP_OP_SCATTER:
        return "Scatter";
    case RP_OP_BATCH_SEND_RECV:
        return "BatchSendRecv";
    case RP_OP_ALL_GATHER_V:
        return "AllGatherV";
    case RP_OP_REDUCE_SCATTER_V:
        return "ReduceScatterV";
    case RP_OP_BARRIER:
        return "Barrier";
    default:
        return "unknown operator";
    }
}

static const char *const dtype_names[] = {
    [RP_DTYPE_INT8] = "int8",
    [RP_DTYPE_INT16] = "int16",
    [RP_DTYPE_INT32] = "int32",
    [RP_DTYPE_FP16] = "fp16",
    [RP_DTYPE_FP32] = "fp32",
    [RP_DTYPE_INT64] = "int64",
    [RP_DTYPE_UINT64] = "uint64",
    [RP_DTYPE_UINT8] = "uint8",
    [RP_DTYPE_UINT16] = "uint16",
    [RP_DTYPE_UINT32] = "uint32",
    [RP_DTYPE_FP64] = "fp64",
    [RP_DTYPE_BFP16] = "bfp16",
    [RP_DTYPE_INT128] = "int128",
    [RP_DTYPE_HIF8] = "hif8",
    [RP_DTYPE_FP8E4M3] = "fp8e4m3",
    [RP_DTYPE_FP8E5M2] = "fp8e5m2",
    [RP_DTYPE_FP8E8M0] = "fp8e8m0",
};
static const char *const reduce_names[] = {
    [RP_REDUCE_SUM] = "sum",
    [RP_REDUCE_PROD] = "prod",
    [RP_REDUCE_MAX] = "max",
    [RP_REDUCE_MIN] = "min",
};
static const char *const expansion_names[] = {
    [RP_EXPANSION_AIV] = "AIV",
    [RP_EXPANSION_HOST_TS] = "HOST_TS",
};
static const char *const algorithm_names[] = {
    [RP_ALGORITHM_FUSED] = "fused",
    [RP_ALGORITHM_MESH] = "mesh",
    [RP_ALGORITHM_RING] = "ring",
    [RP_ALGORITHM_HD] = "H-D_R",
    [RP_ALGORITHM_NHR] = "NHR",
    [RP_ALGORITHM_NB] = "NB",
    [RP_ALGORITHM_PAIRWISE] = "pairwise",
    [RP_ALGORITHM_STAR] = "star",
    [RP_ALGORITHM_PIPELINE] = "pipeline",
};
static const char *const two_level_names[] = {
    [RP_ALGORITHM_MESH] = "two levels with mesh",
    [RP_ALGORITHM_RING] = "two levels with ring",
    [RP_ALGORITHM_HD] = "two levels with H-D_R",
    [RP_ALGORITHM_NHR] = "two levels with NHR",
    [RP_ALGORITHM_NB] = "two levels with NB",
    [RP_ALGORITHM_PAIRWISE] = "two levels with pairwise",
    [RP_ALGORITHM_STAR] = "two levels with star",
};
static const char *const determinism_names[] = { "order free", "deterministic", "strict" };

static bool has_elements(unsigned op)
{
    return op != RP_OP_BARRIER && op != RP_OP_BATCH_SEND_RECV;
}

static bool reduces(unsigned op)
{
    return op == RP_OP_ALL_REDUCE || op == RP_OP_REDUCE_SCATTER || op == RP_OP_REDUCE ||
           op == RP_OP_REDUCE_SCATTER_V;
}

static bool is_rooted(unsigned op)
{
    return op == RP_OP_BROADCAST || op == RP_OP_SCATTER || op == RP_OP_REDUCE;
}

static const char *name_of(const char *const *names, size_t count, unsigned value)
{
    return value < count && names[value] != NULL ? names[value] : "?";
}

static const char *algorithm_name(unsigned algorithm)
{
    return algorithm & RP_TWO_LEVELS
                   ? name_of(two_level_names, RP_ARRAY_LENGTH(two_level_names),
                             algorithm & ~RP_TWO_LEVELS)
                   : name_of(algorithm_names, RP_ARRAY_LENGTH(algorithm_names), algorithm);
}

struct rp_record_words rp_record_words(const struct rp_record *record)
{
    const unsigned op = record->op;
    return (struct rp_record_words){
        .op = rp_op_kind_name(op),
        .dtype = has_elements(op)
                         ? name_of(dtype_names, RP_ARRAY_LENGTH(dtype_names), record->dtype)
                         : NULL,
        .reduce = reduces(op) ? name_of(reduce_names, RP_ARRAY_LENGTH(reduce_names), record->reduce)
                              : NULL,
        .expansion = name_of(expansion_names, RP_ARRAY_LENGTH(expansion_names), record->expansion),
        .algorithm = rp_op_is_pairs(op) ? "direct" : algorithm_name(record->algorithm),
    };
}

// A text that grows clause by clause; what does not fit is cut.
struct text {
    char *at;
    size_t left; // the NUL included
};

static void append(struct text *text, const char *fmt, ...) RP_PRINTF(2, 3);

static void append(struct text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int used = vsnprintf(text->at, text->left, fmt, args);
    va_end(args);
    const size_t step = used < 0 ? 0 : rp_min_u64((uint64_t)used, text->left - 1);
    text->at += step;
    text->left -= step;
}

// ", NAME", or ", WHAT 77" for a value without a name: the value may come from a peer.
static void append_name(
        struct text *text, const char *const *names, size_t count, unsigned value, const char *what)
{
    if (value < count && names[value] != NULL) {
        append(text, ", %s", names[value]);
    } else {
        append(text, ", %s %u", what, value);
    }
}

static const char *count_word(unsigned op)
{
    return op == RP_OP_ALLTOALL_V ? "sends" : rp_op_is_uneven(op) ? "largest count" : "count";
}

void rp_record_describe(const struct rp_record *record, char *text, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    struct text out = { .at = text, .left = bytes };
    const unsigned op = record->op;
    append(&out, "%s", rp_op_kind_name(op));
    if (!rp_op_is_pairs(op)) { // whose numbers are their pairs'
        append(&out, " #%" PRIu64, record->seq % RP_SEQ_BASE_UNIT);
    }
    if (op == RP_OP_SEND || op == RP_OP_RECEIVE) {
        append(&out, " %s rank %" PRIu32, op == RP_OP_SEND ? "to" : "from", record->root);
    } else if (op == RP_OP_BATCH_SEND_RECV) {
        append(&out, " of %" PRIu64 " items", record->count);
    }
    if (has_elements(op)) {
        append(&out, ", %s %" PRIu64, count_word(op), record->count);
        append_name(&out, dtype_names, RP_ARRAY_LENGTH(dtype_names), record->dtype, "type");
    }
    if (reduces(op)) {
        append_name(&out, reduce_names, RP_ARRAY_LENGTH(reduce_names), record->reduce, "reduction");
    }
    if (is_rooted(op)) {
        append(&out, ", root %" PRIu32, record->root);
    } else if (rp_op_is_uneven(op) && op != RP_OP_ALLTOALL_V) {
        append(&out, ", table %08" PRIx32, record->root);
    }
    append_name(&out, expansion_names, RP_ARRAY_LENGTH(expansion_names), record->expansion,
            "expansion");
    const unsigned between = record->algorithm & ~RP_TWO_LEVELS;
    if (record->algorithm != between && between < RP_ARRAY_LENGTH(two_level_names)) {
        append_name(&out, two_level_names, RP_ARRAY_LENGTH(two_level_names), between,
                "two levels with algorithm");
    } else if (record->algorithm != RP_ALGORITHM_FUSED) {
        append_name(&out, algorithm_names, RP_ARRAY_LENGTH(algorithm_names), record->algorithm,
                "algorithm");
    }
    if (record->determinism != 0) {
        append_name(&out, determinism_names, RP_ARRAY_LENGTH(determinism_names),
                record->determinism, "determinism");
    }
    if (record->graph != 0) {
        append(&out, ", task %" PRIu32 " of graph %" PRIu64, record->task, record->graph);
    }
}

static uint64_t one_buffer_bytes(const struct rp_record *record)
{
    return record->count * rp_dtype_bytes((enum rp_dtype)record->dtype);
}

uint64_t rp_record_send_bytes(const struct rp_record *record, uint32_t ranks)
{
    switch (record->op) {
    case RP_OP_BARRIER:
    case RP_OP_RECEIVE:
    case RP_OP_BATCH_SEND_RECV:
        return 0;
    case RP_OP_REDUCE_SCATTER:
    case RP_OP_REDUCE_SCATTER_V:
    case RP_OP_SCATTER:
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_VC:
        return one_buffer_bytes(record) * ranks;
    default:
        return one_buffer_bytes(record);
    }
}

uint64_t rp_record_recv_bytes(const struct rp_record *record, uint32_t ranks)
{
    switch (record->op) {
    case RP_OP_BARRIER:
    case RP_OP_SEND:
    case RP_OP_BATCH_SEND_RECV:
        return 0;
    case RP_OP_ALL_GATHER:
    case RP_OP_ALL_GATHER_V:
    case RP_OP_ALLTOALL:
    case RP_OP_ALLTOALL_VC:
        return one_buffer_bytes(record) * ranks;
    default:
        return one_buffer_bytes(record);
    }
}

uint64_t rp_record_input_bytes(const struct rp_record *record, uint32_t rank, uint32_t ranks)
{
    const bool none = record->op == RP_OP_SCATTER && record->root != rank;
    return none ? 0 : rp_record_send_bytes(record, ranks);
}

uint64_t rp_record_output_bytes(const struct rp_record *record, uint32_t rank, uint32_t ranks)
{
    const bool none = record->op == RP_OP_REDUCE && record->root != rank;
    return none ? 0 : rp_record_recv_bytes(record, ranks);
}
