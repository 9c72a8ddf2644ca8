// Where submissions come from. A replay must not allocate, so they are kept: blocks that only grow,
// one pool a device. API threads take under a lock; whoever holds the baton gives back without one
// (a push on a stack that is only ever emptied as a whole, so that no element can return between a
// look and an exchange), because a preempted caller must not hold up the device.

#include "base/alloc.h"
#include "replay/scheduler.h"

#define BLOCK_SUBMISSIONS 32

struct block {
    struct rp_list link;
    struct rp_submission sub[BLOCK_SUBMISSIONS];
};

void rp_pool_init(struct rp_device *device)
{
    pthread_mutex_init(&device->pool_lock, NULL);
    rp_list_init(&device->pool_free);
    rp_list_init(&device->pool_blocks);
    // relaxed: no other thread has the device yet.
    atomic_store_explicit(&device->pool_back, NULL, memory_order_relaxed);
}

void rp_pool_fini(struct rp_device *device)
{
    struct rp_list *link;
    while ((link = rp_list_pop_front(&device->pool_blocks)) != NULL) {
        struct block *block = rp_container_of(link, struct block, link);
        for (unsigned i = 0; i < BLOCK_SUBMISSIONS; i++) {
            rp_free(block->sub[i].more_tickets);
            rp_free(block->sub[i].bound);
        }
        rp_free(block);
    }
    pthread_mutex_destroy(&device->pool_lock);
}

// Under pool_lock.
static void collect(struct rp_device *device)
{
    // acquire [P1]: pairs with the exchange in rp_pool_give: the submission is as it was left.
    struct rp_mpsc_node *node =
            atomic_exchange_explicit(&device->pool_back, NULL, memory_order_acquire);
    while (node != NULL) {
        // relaxed: written before the exchange above published it.
        struct rp_mpsc_node *next = atomic_load_explicit(&node->next, memory_order_relaxed);
        struct rp_submission *sub = rp_container_of(node, struct rp_submission, link);
        rp_list_push_front(&device->pool_free, &sub->in_pool);
        node = next;
    }
}

// Under pool_lock.
static bool grow(struct rp_device *device)
{
    struct block *block = rp_calloc(1, sizeof(*block));
    if (block == NULL) {
        return false;
    }
    rp_list_push_back(&device->pool_blocks, &block->link);
    for (unsigned i = 0; i < BLOCK_SUBMISSIONS; i++) {
        struct rp_submission *sub = &block->sub[i];
        rp_list_init(&sub->in_stream);
        rp_list_init(&sub->lane.call.link);
        rp_list_push_back(&device->pool_free, &sub->in_pool);
    }
    return true;
}

static struct rp_submission *take(struct rp_device *device)
{
    pthread_mutex_lock(&device->pool_lock);
    if (rp_list_empty(&device->pool_free)) {
        collect(device);
    }
    struct rp_list *link = NULL;
    if (!rp_list_empty(&device->pool_free) || grow(device)) {
        link = rp_list_pop_front(&device->pool_free);
    }
    pthread_mutex_unlock(&device->pool_lock);
    return link == NULL ? NULL : rp_container_of(link, struct rp_submission, in_pool);
}

void rp_pool_give(struct rp_device *device, struct rp_submission *sub)
{
    // relaxed: a first guess.
    struct rp_mpsc_node *top = atomic_load_explicit(&device->pool_back, memory_order_relaxed);
    do {
        // relaxed: published by the exchange.
        atomic_store_explicit(&sub->link.next, top, memory_order_relaxed);
        // release [P1]: pairs with collect().
    } while (!atomic_compare_exchange_weak_explicit(
            &device->pool_back, &top, &sub->link, memory_order_release, memory_order_relaxed));
}

// Room for `count` tickets. Kept with the submission, so that after a while every one of them has
// enough.
static bool make_room(uint64_t **tickets, uint32_t *room, uint32_t count)
{
    if (count <= *room) {
        return true;
    }
    uint64_t *grown = rp_realloc(*tickets, count * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    *tickets = grown;
    *room = count;
    return true;
}

static bool has_room(struct rp_submission *sub, uint32_t comms, uint32_t bounds)
{
    return (comms <= RP_TICKETS_INLINE || make_room(&sub->more_tickets, &sub->more_room, comms)) &&
           make_room(&sub->bound, &sub->bound_room, bounds);
}

rp_status rp_submission_create(
        struct rp_device *device, uint32_t comms, uint32_t bounds, struct rp_submission **out)
{
    struct rp_submission *sub = take(device);
    if (sub != NULL && !has_room(sub, comms, bounds)) {
        rp_pool_give(device, sub);
        sub = NULL;
    }
    if (sub == NULL) {
        return rp_fail(RP_ENOMEM, "no memory to queue another task");
    }
    *out = sub;
    return RP_OK;
}
