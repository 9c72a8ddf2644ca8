#ifndef TESTS_SUPPORT_OPERATOR_CALL_H
#define TESTS_SUPPORT_OPERATOR_CALL_H

/*
 * One collective as all its ranks call it: who gives how many elements from
 * where to whom, and so what must come out. Whatever an operator is called, it
 * moves the block that rank s has for rank d, or folds the blocks that all ranks
 * have for rank d; that is all the oracle knows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hccl/hccl.h>

#include "kernels/dtype.h"
#include "kernels/record.h"

#define OPERATOR_RANKS 8

enum operator_memory {
    OPERATOR_ARENA,
    OPERATOR_MALLOC,
    OPERATOR_PINNED,
    OPERATOR_MEMORIES,
};

struct operator_call {
    unsigned op; /* enum rp_op_kind */
    enum rp_dtype dtype;
    enum rp_reduce_op reduce;
    unsigned ranks;
    uint32_t root; /* of a send: who sends */
    uint32_t peer; /* of a send: who receives */
    uint64_t count;
    bool in_place; /* where the operator may be */
    bool exact;    /* values whose reduction has the same bits in any order */
    uint64_t fill; /* seed of the values */
    unsigned comm;
    /* Of operators whose blocks differ: elements from s to d, and where they lie there and here. */
    uint64_t block[OPERATOR_RANKS][OPERATOR_RANKS];
    uint64_t send_place[OPERATOR_RANKS][OPERATOR_RANKS]; /* [s][d], in s's buffer */
    uint64_t recv_place[OPERATOR_RANKS][OPERATOR_RANKS]; /* [d][s], in d's buffer */
    struct {
        uint8_t memory[2]; /* enum operator_memory, of the send and of the receive buffer */
        uint8_t skew[2];   /* of their addresses, in bytes; less than 64 */
        uint8_t stream;
    } of[OPERATOR_RANKS];
};

/** operator_has_blocks: whether the operator goes by `block`. */
bool operator_has_blocks(unsigned op);

/** operator_place_blocks: fill both places from `block`: in rank order back to back where the
 * operator wants that, else backwards and with gaps. */
void operator_place_blocks(struct operator_call *call);

/** operator_calls: whether rank `rank` makes a call at all. */
bool operator_calls(const struct operator_call *call, unsigned rank);

/** operator_send_bytes, operator_recv_bytes: of rank `rank`'s buffers; 0 for one that it has not.
 */
size_t operator_send_bytes(const struct operator_call *call, unsigned rank);
size_t operator_recv_bytes(const struct operator_call *call, unsigned rank);

/** operator_in_place: whether rank `rank`'s buffers are one; then where the smaller one begins in
 * the larger. */
bool operator_in_place(const struct operator_call *call, unsigned rank, size_t *offset);

/** operator_fill: rank `rank`'s input in round `round`. */
void operator_fill(const struct operator_call *call, unsigned rank, unsigned round, void *to);

/** operator_expect: write what rank `rank` receives into `recv`, and nothing beside it. send[s] is
 * rank s's input. */
void operator_expect(
        const struct operator_call *call, unsigned rank, const void *const *send, uint8_t *recv);

/** operator_issue: the Hccl call of rank `rank`. */
HcclResult operator_issue(const struct operator_call *call, unsigned rank, void *send, void *recv,
        HcclComm comm, aclrtStream stream);

/** operator_knows: whether operator_issue has the operator. */
bool operator_knows(unsigned op);

#endif
