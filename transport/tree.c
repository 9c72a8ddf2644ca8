// A treap by splitting and merging: both walk down one path and relink as they go, so there is no
// rotation, no parent pointer and no recursion.

#include "transport/tree.h"

#include <stdbool.h>
#include <stddef.h>

// The priority is not stored: two multiplications cost less than the memory for it.
static uint64_t priority(const struct rp_tree_node *node)
{
    uint64_t x = node->major ^ (node->minor * UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 32);
}

static bool key_below(const struct rp_tree_node *node, uint64_t major, uint64_t minor)
{
    return node->major < major || (node->major == major && node->minor < minor);
}

void rp_tree_insert(struct rp_tree *tree, struct rp_tree_node *node)
{
    uint64_t own = priority(node);
    struct rp_tree_node **link = &tree->root;
    while (*link != NULL && priority(*link) >= own) {
        link = key_below(*link, node->major, node->minor) ? &(*link)->right : &(*link)->left;
    }
    // The node takes the place of the first of lower priority, whose tree is split around its key.
    struct rp_tree_node *rest = *link;
    struct rp_tree_node **below = &node->left;
    struct rp_tree_node **above = &node->right;
    *link = node;
    while (rest != NULL) {
        if (key_below(rest, node->major, node->minor)) {
            *below = rest;
            below = &rest->right;
            rest = rest->right;
        } else {
            *above = rest;
            above = &rest->left;
            rest = rest->left;
        }
    }
    *below = NULL;
    *above = NULL;
}

void rp_tree_remove(struct rp_tree *tree, struct rp_tree_node *node)
{
    struct rp_tree_node **link = &tree->root;
    while (*link != node) {
        link = key_below(*link, node->major, node->minor) ? &(*link)->right : &(*link)->left;
    }
    struct rp_tree_node *below = node->left;
    struct rp_tree_node *above = node->right;
    while (below != NULL && above != NULL) {
        if (priority(below) >= priority(above)) {
            *link = below;
            link = &below->right;
            below = below->right;
        } else {
            *link = above;
            link = &above->left;
            above = above->left;
        }
    }
    *link = below != NULL ? below : above;
}

struct rp_tree_node *rp_tree_floor(const struct rp_tree *tree, uint64_t major, uint64_t minor)
{
    struct rp_tree_node *best = NULL;
    struct rp_tree_node *node = tree->root;
    while (node != NULL) {
        if (key_below(node, major, minor) || (node->major == major && node->minor == minor)) {
            best = node;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return best;
}

struct rp_tree_node *rp_tree_ceil(const struct rp_tree *tree, uint64_t major, uint64_t minor)
{
    struct rp_tree_node *best = NULL;
    struct rp_tree_node *node = tree->root;
    while (node != NULL) {
        if (key_below(node, major, minor)) {
            node = node->right;
        } else {
            best = node;
            node = node->left;
        }
    }
    return best;
}
