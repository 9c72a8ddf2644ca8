#ifndef REPRISE_TRANSPORT_TREE_H
#define REPRISE_TRANSPORT_TREE_H

/*
 * An ordered set of nodes that live inside their owners: a treap, whose shape
 * is random because each node's priority is a hash of its key. Insert, remove
 * and search take O(log n) steps on average, whatever the order of the calls;
 * nothing is allocated, so removing cannot fail.
 *
 * Threads: none of it is atomic; whoever owns the tree guards it.
 */

#include <stdint.h>

/* The key is (major, minor), unique in its tree and unchanged while in it. */
struct rp_tree_node {
    struct rp_tree_node *left;
    struct rp_tree_node *right;
    uint64_t major;
    uint64_t minor;
};

struct rp_tree {
    struct rp_tree_node *root; /* NULL: empty */
};

void rp_tree_insert(struct rp_tree *tree, struct rp_tree_node *node);

/** rp_tree_remove: take out `node`, which is in `tree`. */
void rp_tree_remove(struct rp_tree *tree, struct rp_tree_node *node);

/** rp_tree_floor: the node with the largest key that is not above (major, minor); NULL: none. */
struct rp_tree_node *rp_tree_floor(const struct rp_tree *tree, uint64_t major, uint64_t minor);

/** rp_tree_ceil: the node with the smallest key that is not below (major, minor); NULL: none. */
struct rp_tree_node *rp_tree_ceil(const struct rp_tree *tree, uint64_t major, uint64_t minor);

#endif
