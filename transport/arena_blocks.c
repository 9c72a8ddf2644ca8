// Blocks: best fit with immediate joining, over two trees and an address-ordered list.

#include "transport/arena_blocks.h"

#include "base/alloc.h"

static struct rp_block *block_of_start(struct rp_tree_node *node)
{
    return node == NULL ? NULL : rp_container_of(node, struct rp_block, by_start);
}

static struct rp_block *block_of_bytes(struct rp_tree_node *node)
{
    return node == NULL ? NULL : rp_container_of(node, struct rp_block, by_bytes);
}

static struct rp_block *block_create(void)
{
    struct rp_block *block = rp_calloc(1, sizeof(*block));
    if (block != NULL) {
        rp_list_init(&block->order);
        rp_list_init(&block->link);
    }
    return block;
}

static void index_start(struct rp_blocks *blocks, struct rp_block *block)
{
    block->by_start.major = block->start;
    rp_tree_insert(&blocks->by_start, &block->by_start);
}

static void mark_free(struct rp_blocks *blocks, struct rp_block *block)
{
    block->use = RP_BLOCK_FREE;
    block->owner = NULL;
    block->by_bytes.major = block->bytes;
    block->by_bytes.minor = block->start;
    rp_tree_insert(&blocks->by_bytes, &block->by_bytes);
}

rp_status rp_blocks_init(struct rp_blocks *blocks, uint64_t bytes)
{
    struct rp_block *all = block_create();
    if (all == NULL) {
        return RP_ENOMEM;
    }
    *blocks = (struct rp_blocks){ 0 };
    rp_list_init(&blocks->order);
    all->bytes = bytes;
    rp_list_push_back(&blocks->order, &all->order);
    index_start(blocks, all);
    mark_free(blocks, all);
    return RP_OK;
}

void rp_blocks_fini(struct rp_blocks *blocks)
{
    rp_list_each(link, &blocks->order)
    {
        rp_free(rp_container_of(link, struct rp_block, order));
    }
    rp_list_init(&blocks->order);
    blocks->by_start.root = NULL;
    blocks->by_bytes.root = NULL;
}

static uint64_t aligned_start(const struct rp_block *block, uint64_t align, uint64_t bias)
{
    return rp_align_up(block->start + bias, align) - bias;
}

// The free block to carve from. The smallest that is large enough may miss the alignment; the
// smallest with room for any alignment then does. One in between might have done too, and is passed
// over: looking at each of them would cost as many steps as there are such blocks.
static struct rp_block *find_free(
        const struct rp_blocks *blocks, uint64_t bytes, uint64_t align, uint64_t bias)
{
    struct rp_block *block = block_of_bytes(rp_tree_ceil(&blocks->by_bytes, bytes, 0));
    if (block == NULL) {
        return NULL;
    }
    uint64_t lost = aligned_start(block, align, bias) - block->start;
    if (lost <= block->bytes - bytes) {
        return block;
    }
    if (bytes > UINT64_MAX - align) {
        return NULL;
    }
    return block_of_bytes(rp_tree_ceil(&blocks->by_bytes, bytes + align - 1, 0));
}

// Cuts `block` in two at `offset` from its start; `rest` becomes the free upper part.
static void split(
        struct rp_blocks *blocks, struct rp_block *block, uint64_t offset, struct rp_block *rest)
{
    rest->start = block->start + offset;
    rest->bytes = block->bytes - offset;
    block->bytes = offset;
    rp_list_insert_before(block->order.next, &rest->order);
    index_start(blocks, rest);
}

rp_status rp_blocks_carve(struct rp_blocks *blocks, uint64_t bytes, uint64_t align, uint64_t bias,
        struct rp_block **out)
{
    struct rp_block *block = find_free(blocks, bytes, align, bias);
    if (block == NULL) {
        return RP_ENORES;
    }
    uint64_t front = aligned_start(block, align, bias) - block->start;
    struct rp_block *tail = NULL;
    struct rp_block *taken = block;
    if (front > 0) {
        taken = block_create();
        if (taken == NULL) {
            return RP_ENOMEM;
        }
    }
    if (block->bytes - front > bytes) {
        tail = block_create();
        if (tail == NULL) {
            goto undo_taken;
        }
    }
    rp_tree_remove(&blocks->by_bytes, &block->by_bytes);
    if (front > 0) {
        split(blocks, block, front, taken);
        mark_free(blocks, block);
    }
    if (tail != NULL) {
        split(blocks, taken, bytes, tail);
        mark_free(blocks, tail);
    }
    taken->use = RP_BLOCK_MOVING;
    *out = taken;
    return RP_OK;

undo_taken:
    if (taken != block) {
        rp_free(taken);
    }
    return RP_ENOMEM;
}

// Appends the free block `upper` to its lower neighbour.
static void join(struct rp_blocks *blocks, struct rp_block *lower, struct rp_block *upper)
{
    lower->bytes += upper->bytes;
    rp_tree_remove(&blocks->by_start, &upper->by_start);
    rp_list_remove(&upper->order);
    rp_free(upper);
}

// The neighbour on one side if it is free, taken out of the tree of free blocks; else NULL.
static struct rp_block *take_free(struct rp_blocks *blocks, struct rp_list *link)
{
    if (link == &blocks->order) {
        return NULL;
    }
    struct rp_block *block = rp_container_of(link, struct rp_block, order);
    if (block->use != RP_BLOCK_FREE) {
        return NULL;
    }
    rp_tree_remove(&blocks->by_bytes, &block->by_bytes);
    return block;
}

void rp_blocks_release(struct rp_blocks *blocks, struct rp_block *block)
{
    struct rp_block *below = take_free(blocks, block->order.prev);
    struct rp_block *above = take_free(blocks, block->order.next);
    if (above != NULL) {
        join(blocks, block, above);
    }
    if (below != NULL) {
        join(blocks, below, block);
        block = below;
    }
    mark_free(blocks, block);
}

struct rp_block *rp_blocks_at(const struct rp_blocks *blocks, uint64_t offset)
{
    return block_of_start(rp_tree_floor(&blocks->by_start, offset, 0));
}

uint64_t rp_blocks_largest(const struct rp_blocks *blocks)
{
    struct rp_block *block =
            block_of_bytes(rp_tree_floor(&blocks->by_bytes, UINT64_MAX, UINT64_MAX));
    return block == NULL ? 0 : block->bytes;
}
