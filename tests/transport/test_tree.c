#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "transport/tree.h"

#define NODES 600

struct rig {
    struct rp_tree tree;
    struct rp_tree_node node[NODES];
    bool in[NODES];
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

// What the tree should answer, by looking at every node.
static struct rp_tree_node *slow_search(struct rig *rig, uint64_t major, uint64_t minor, bool up)
{
    struct rp_tree_node *best = NULL;
    for (int i = 0; i < NODES; i++) {
        struct rp_tree_node *node = &rig->node[i];
        bool below = node->major < major || (node->major == major && node->minor < minor);
        bool equal = node->major == major && node->minor == minor;
        if (!rig->in[i] || !(equal || below != up)) {
            continue;
        }
        bool lower = best == NULL || node->major < best->major ||
                     (node->major == best->major && node->minor < best->minor);
        best = best == NULL || lower == up ? node : best;
    }
    return best;
}

Test(tree, answers_like_a_list_after_any_inserts_and_removals)
{
    static struct rig rig;
    uint64_t random = 1;
    for (int i = 0; i < NODES; i++) {
        rig.node[i].major = (uint64_t)i / 3; // each major thrice
        rig.node[i].minor = (uint64_t)i % 3 * 10;
    }
    for (int step = 0; step < 20000; step++) {
        uint64_t i = next_random(&random) % NODES;
        if (rig.in[i]) {
            rp_tree_remove(&rig.tree, &rig.node[i]);
        } else {
            rp_tree_insert(&rig.tree, &rig.node[i]);
        }
        rig.in[i] = !rig.in[i];
        uint64_t major = next_random(&random) % (NODES / 3 + 2);
        uint64_t minor = next_random(&random) % 31;
        cr_assert(eq(ptr, rp_tree_floor(&rig.tree, major, minor),
                slow_search(&rig, major, minor, false)));
        cr_assert(eq(
                ptr, rp_tree_ceil(&rig.tree, major, minor), slow_search(&rig, major, minor, true)));
    }
}

static int depth(const struct rp_tree_node *node)
{
    if (node == NULL) {
        return 0;
    }
    int left = depth(node->left);
    int right = depth(node->right);
    return 1 + (left > right ? left : right);
}

// In ascending order an unbalanced tree would be a list of 100,000.
Test(tree, keys_in_order_make_no_list)
{
    enum { COUNT = 100000 };
    struct rp_tree tree = { 0 };
    struct rp_tree_node *nodes = calloc(COUNT, sizeof(*nodes));
    for (uint64_t i = 0; i < COUNT; i++) {
        nodes[i].major = i * 65536; // as block addresses are
        rp_tree_insert(&tree, &nodes[i]);
    }
    cr_assert(lt(int, depth(tree.root), 80));
    free(nodes);
}
