#ifndef REPRISE_KERNELS_RECORD_H
#define REPRISE_KERNELS_RECORD_H

/*
 * The op record: what one rank says about one collective. It is 64 bytes,
 * fixed-width, and lies in shared memory: peers read it to find the owner's
 * buffers (zero copy) and to name both calls when digests differ.
 *
 * A record holds offsets into the owner's arena, never pointers, since every
 * process maps an arena elsewhere.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* Operators. The values are HcclCMDType's. Sends, receives and batches of them have a sequence for
 * each pair of ranks (kernels/pair.h), the others that of the communicator. */
enum rp_op_kind {
    RP_OP_BROADCAST = 1,
    RP_OP_ALL_REDUCE = 2,
    RP_OP_REDUCE = 3,
    RP_OP_SEND = 4,
    RP_OP_RECEIVE = 5,
    RP_OP_ALL_GATHER = 6,
    RP_OP_REDUCE_SCATTER = 7,
    RP_OP_ALLTOALL_V = 8,
    RP_OP_ALLTOALL_VC = 9,
    RP_OP_ALLTOALL = 10,
    RP_OP_SCATTER = 12,
    RP_OP_BATCH_SEND_RECV = 13,
    RP_OP_ALL_GATHER_V = 16,
    RP_OP_REDUCE_SCATTER_V = 17,
    RP_OP_BARRIER = 103,
};

/* How an op reaches its peers' data. Agreed by all ranks before submission. */
enum rp_expansion {
    RP_EXPANSION_AIV = 1,
    RP_EXPANSION_HOST_TS = 2,
};

enum rp_algorithm {
    RP_ALGORITHM_FUSED = 0, /* the AIV kernel picks tiny, small or large by bytes alone */
    RP_ALGORITHM_MESH = 1,
    RP_ALGORITHM_RING = 2,
    RP_ALGORITHM_HD = 3,       /* recursive halving and doubling */
    RP_ALGORITHM_NHR = 4,      /* nonuniform hierarchical ring */
    RP_ALGORITHM_NB = 5,       /* nonuniform Bruck */
    RP_ALGORITHM_PAIRWISE = 6, /* one pair at a time */
    RP_ALGORITHM_STAR = 7,     /* through one rank */
    RP_ALGORITHM_PIPELINE = 8, /* a ring of nodes over a mesh within each */
    RP_ALGORITHMS = 9,
};

/* Set in an algorithm: it is the one between the nodes, and within each there is a mesh. */
#define RP_TWO_LEVELS 0x80u

/* Where the owner's buffers lie; not part of the digest (it is the owner's choice). */
enum rp_buffer_class {
    RP_CLASS_CONTIGUOUS = 0, /* in the owner's arena at send_off / recv_off */
    RP_CLASS_STAGED = 1,     /* anywhere else: all ranks run this op in rounds through windows */
};

/*
 * Sequence numbers of a communicator start behind a base that is a multiple of
 * this unit, so that texts can show the op's own number: the lower half.
 */
#define RP_SEQ_BASE_UNIT (UINT64_C(1) << 32)

struct rp_record {
    uint64_t digest;      /* rp_record_digest(): what must be equal on all ranks; 0: not yet made */
    uint64_t seq;         /* communicator sequence number, filled at run time */
    uint64_t count;       /* elements, as the API call counts them; of a table or matrix: the
                           largest; of AlltoAllV: what the owner sends, not part of the digest; of a
                           batch: items */
    uint64_t send_off;    /* bytes from the owner's arena base; class CONTIGUOUS only */
    uint64_t recv_off;    /* bytes from the owner's arena base; class CONTIGUOUS only */
    uint64_t graph;       /* id of the graph that replays it; 0: an eager call */
    uint32_t root;        /* rank, the other end of a send, or hash of a table or matrix; else 0 */
    uint16_t op;          /* enum rp_op_kind */
    uint8_t dtype;        /* enum rp_dtype */
    uint8_t reduce;       /* enum rp_reduce_op; 0 where nothing is reduced */
    uint8_t expansion;    /* enum rp_expansion */
    uint8_t algorithm;    /* enum rp_algorithm, maybe with RP_TWO_LEVELS */
    uint8_t determinism;  /* 0 off, 1 on, 2 strict */
    uint8_t buffer_class; /* enum rp_buffer_class */
    uint32_t task;        /* its number in that graph, as aclmdlRITaskGetSeqId tells it */
};
static_assert(sizeof(struct rp_record) == RP_CACHELINE, "one record, one line");

/* Enough for any text that rp_record_describe() makes. */
#define RP_RECORD_TEXT_BYTES 224

/**
 * rp_record_digest: 64-bit hash of the fields that all ranks must agree on
 * (op, dtype, reduce, count, root, expansion, algorithm, determinism; of
 * AlltoAllV not the count).
 * Never 0, so that a line that was never written differs from every op.
 */
uint64_t rp_record_digest(const struct rp_record *record);

/**
 * rp_record_describe: writes one readable clause such as
 * "AllReduce #17, count 1024, fp32, sum, AIV" into `text` (at most `bytes`
 * bytes with the NUL). Every field is checked: the record may be a peer's.
 */
void rp_record_describe(const struct rp_record *record, char *text, size_t bytes);

/** rp_op_has_table: whether the operator has a block a rank, by a table (kernels/counts.h). */
static inline bool rp_op_has_table(unsigned op)
{
    return op == RP_OP_ALL_GATHER_V || op == RP_OP_REDUCE_SCATTER_V;
}

/** rp_op_has_row: whether it has a block for each pair of ranks, by a row of a table a rank. */
static inline bool rp_op_has_row(unsigned op)
{
    return op == RP_OP_ALLTOALL_V || op == RP_OP_ALLTOALL_VC;
}

/** rp_op_is_uneven: either; its blocks lie where rp_op.counts says. */
static inline bool rp_op_is_uneven(unsigned op)
{
    return rp_op_has_table(op) || rp_op_has_row(op);
}

/** rp_op_is_pairs: whether the operator is a list of sends and receives (kernels/pair.h). */
static inline bool rp_op_is_pairs(unsigned op)
{
    return op == RP_OP_SEND || op == RP_OP_RECEIVE || op == RP_OP_BATCH_SEND_RECV;
}

/** rp_mix_u64: a bijection that spreads every bit of `value`; what digests are made of. */
uint64_t rp_mix_u64(uint64_t value);

/** rp_op_kind_name: "AllReduce"; "unknown operator" for any other value. */
const char *rp_op_kind_name(unsigned op);

/* A record in words; static, "?" for a value without a name, NULL for what the operator does not
 * have. */
struct rp_record_words {
    const char *op, *dtype, *reduce, *expansion, *algorithm;
};

/** rp_record_words: for whoever shows the parts of a record one by one. */
struct rp_record_words rp_record_words(const struct rp_record *record);

/**
 * rp_record_send_bytes, rp_record_recv_bytes: bytes of a send and of a receive
 * buffer for `ranks` ranks, the same for all of them: of a scatter's input and a
 * reduce's output, which the root alone has, too; as if every block of a table
 * were as large as the largest; of AlltoAllV what this rank sends; none
 * of a batch, whose items have their own. Counts were checked at the API,
 * so the products fit 64 bits.
 */
uint64_t rp_record_send_bytes(const struct rp_record *record, uint32_t ranks);
uint64_t rp_record_recv_bytes(const struct rp_record *record, uint32_t ranks);

/**
 * rp_record_input_bytes, rp_record_output_bytes: the same of rank `rank`'s own
 * buffers: 0 for one that the operator never looks at there. A broadcast's only
 * buffer is both everywhere.
 */
uint64_t rp_record_input_bytes(const struct rp_record *record, uint32_t rank, uint32_t ranks);
uint64_t rp_record_output_bytes(const struct rp_record *record, uint32_t rank, uint32_t ranks);

#endif
