#ifndef TESTS_SUPPORT_PROOF_CASE_H
#define TESTS_SUPPORT_PROOF_CASE_H

/* What the tests of expansion share: operators, windows, and ranks on nodes in every manner. */

#include "capture/expand.h"
#include "support/list_proof.h"

extern const uint16_t proof_ops[];
#define PROOF_OPS 10

bool proof_in_place(uint16_t op);

/** proof_knows_op: whether the matrix has the algorithm for the operator. */
bool proof_knows_op(uint8_t algorithm, uint16_t op);

/** proof_strict: of those that fold in rank order and round once, as strict determinism asks. */
bool proof_strict(uint8_t algorithm);

/** proof_prove: runs `op` and ends the test with a sentence if it is wrong. */
void proof_prove(struct list_proof *proof, const struct list_proof_op *op, uint32_t ranks);

/** proof_window: room for a few elements a slice in every region, so that a few thousand are
 * several rounds. */
uint64_t proof_window(uint32_t ranks);

/** proof_levels_window: the same in the part of it that two levels have between the nodes. */
uint64_t proof_levels_window(uint32_t ranks);

uint32_t proof_random(uint64_t *state, uint32_t below);
void proof_shuffle(uint32_t *rank_of, uint32_t ranks, uint64_t seed);

#define PROOF_RANKS_MAX 48

/* Ranks on nodes, and the arrays of it. */
struct proof_nodes {
    struct rp_layout layout;
    uint32_t ranks;
    uint32_t first[PROOF_RANKS_MAX + 1];
    uint32_t rank_of[PROOF_RANKS_MAX];
};

/* How ranks are numbered: node by node, dealt out one a node in turn, in disorder. */
enum proof_numbering { IN_ORDER, DEALT, SHUFFLED, NUMBERINGS };

void proof_nodes(struct proof_nodes *nodes, const uint32_t *cards, uint32_t count,
        enum proof_numbering numbering);

/* Cards by node; the first ones are CI's. */
struct proof_layout {
    uint32_t nodes;
    uint32_t cards[12];
};
extern const struct proof_layout proof_layouts[];
#define PROOF_LAYOUTS 17
#define PROOF_LAYOUTS_CI 12

#endif
