#include "support/list_expr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *need(void *memory)
{
    if (memory == NULL) {
        perror("list_expr");
        _exit(99);
    }
    return memory;
}

void expr_init(struct expr_table *table, uint32_t ranks, uint64_t input_bytes)
{
    if (table->slot == NULL) {
        table->slots = 1u << 12;
        table->slot = need(calloc(table->slots, sizeof(*table->slot)));
    } else if (table->nodes != 0) {
        memset(table->slot, 0, table->slots * sizeof(*table->slot));
    }
    if (table->ranks != ranks) {
        free(table->seen);
        table->seen = need(calloc(ranks, sizeof(*table->seen)));
    }
    table->ranks = ranks;
    table->input_bytes = input_bytes;
    table->first_fold = (uint32_t)(1 + ranks * input_bytes);
    table->nodes = 0;
}

void expr_fini(struct expr_table *table)
{
    free(table->node);
    free(table->slot);
    free(table->seen);
    free(table->stack);
    *table = (struct expr_table){ .ranks = 0 };
}

static uint32_t hash(uint32_t left, uint32_t right)
{
    const uint64_t key = (uint64_t)left << 32 | right;
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static uint32_t *find(const struct expr_table *table, uint32_t left, uint32_t right)
{
    uint32_t at = hash(left, right) % table->slots;
    while (table->slot[at] != 0) {
        const struct expr_node *node = &table->node[table->slot[at] - table->first_fold];
        if (node->left == left && node->right == right) {
            break;
        }
        at = (at + 1) % table->slots;
    }
    return &table->slot[at];
}

static void grow(struct expr_table *table)
{
    table->slots *= 2;
    free(table->slot);
    table->slot = need(calloc(table->slots, sizeof(*table->slot)));
    for (uint32_t i = 0; i < table->nodes; i++) {
        *find(table, table->node[i].left, table->node[i].right) = table->first_fold + i;
    }
}

static uint32_t make(struct expr_table *table, uint32_t left, uint32_t right)
{
    uint32_t *slot = find(table, left, right);
    if (*slot != 0) {
        return *slot;
    }
    if (table->nodes == table->room) {
        table->room = table->room == 0 ? 1024 : 2 * table->room;
        table->node = need(realloc(table->node, table->room * sizeof(*table->node)));
    }
    table->node[table->nodes] = (struct expr_node){ left, right };
    const uint32_t id = table->first_fold + table->nodes++;
    *slot = id;
    if (2 * table->nodes > table->slots) {
        grow(table);
    }
    return id;
}

uint32_t expr_fold(struct expr_table *table, const uint32_t *values, uint32_t count)
{
    uint32_t sum = values[0];
    for (uint32_t i = 1; i < count; i++) {
        sum = make(table, sum, values[i]);
    }
    return count == 1 ? sum : make(table, sum, EXPR_NONE);
}

static void push(struct expr_table *table, uint32_t *depth, uint32_t id)
{
    if (*depth == table->stack_room) {
        table->stack_room = table->stack_room == 0 ? 64 : 2 * table->stack_room;
        table->stack = need(realloc(table->stack, table->stack_room * sizeof(*table->stack)));
    }
    table->stack[(*depth)++] = id;
}

// One input that a sum holds; false: not one that it should, or a second time.
static bool count_input(struct expr_table *table, uint32_t id, uint64_t off)
{
    const uint64_t rank = (id - 1) / table->input_bytes;
    return (id - 1) % table->input_bytes == off && table->seen[rank]++ == 0;
}

bool expr_is_sum(struct expr_table *table, uint32_t id, uint64_t off)
{
    uint32_t depth = 0;
    uint32_t inputs = 0;
    bool ok = true;
    memset(table->seen, 0, table->ranks * sizeof(*table->seen));
    push(table, &depth, id);
    while (depth > 0 && ok) {
        const uint32_t at = table->stack[--depth];
        if (at == EXPR_NONE) {
            ok = false;
        } else if (at < table->first_fold) {
            ok = count_input(table, at, off);
            inputs++;
        } else {
            const struct expr_node node = table->node[at - table->first_fold];
            push(table, &depth, node.left);
            if (node.right != EXPR_NONE) {
                push(table, &depth, node.right);
            }
        }
    }
    return ok && inputs == table->ranks;
}

bool expr_is_strict_sum(const struct expr_table *table, uint32_t id, uint64_t off)
{
    if (table->ranks == 1) {
        return id == expr_input(table, 0, off);
    }
    if (id < table->first_fold || table->node[id - table->first_fold].right != EXPR_NONE) {
        return false;
    }
    uint32_t at = table->node[id - table->first_fold].left;
    for (uint32_t rank = table->ranks - 1; rank > 0; rank--) {
        if (at < table->first_fold ||
                table->node[at - table->first_fold].right != expr_input(table, rank, off)) {
            return false;
        }
        at = table->node[at - table->first_fold].left;
    }
    return at == expr_input(table, 0, off);
}
