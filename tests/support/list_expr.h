#ifndef TESTS_SUPPORT_LIST_EXPR_H
#define TESTS_SUPPORT_LIST_EXPR_H

/* What a byte may hold in a proof: an input, or a fold of such. Equal ones have one id. */

#include <stdbool.h>
#include <stdint.h>

#define EXPR_NONE 0u /* never written */

struct expr_table {
    uint32_t ranks;
    uint64_t input_bytes; /* of each rank */
    uint32_t first_fold;  /* ids below are inputs */
    struct expr_node {
        uint32_t left, right; /* right EXPR_NONE: `left` rounded to the element's type */
    } * node;
    uint32_t nodes, room;
    uint32_t *slot; /* open addressing; ids */
    uint32_t slots;
    uint16_t *seen; /* [ranks] scratch */
    uint32_t *stack;
    uint32_t stack_room;
};

/** expr_init: forgets all; `table` was zeroed or used before. */
void expr_init(struct expr_table *table, uint32_t ranks, uint64_t input_bytes);
void expr_fini(struct expr_table *table);

/** expr_input: byte `off` of the input of `rank`. */
static inline uint32_t expr_input(const struct expr_table *table, uint32_t rank, uint64_t off)
{
    return (uint32_t)(1 + rank * table->input_bytes + off);
}

/** expr_fold: `count` values folded in order, rounded at the end. One value: itself. */
uint32_t expr_fold(struct expr_table *table, const uint32_t *values, uint32_t count);

/** expr_is_sum: whether `id` holds byte `off` of every rank's input, each once. */
bool expr_is_sum(struct expr_table *table, uint32_t id, uint64_t off);

/** expr_is_strict_sum: and as the left fold in rank order, rounded once. */
bool expr_is_strict_sum(const struct expr_table *table, uint32_t id, uint64_t off);

#endif
