// What one thread can see of the queue; what several see is tests/race/race_mpsc.c.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/mpsc.h"

static struct rp_mpsc queue;
static struct rp_mpsc_node nodes[8];

static void setup(void)
{
    rp_mpsc_init(&queue);
}

TestSuite(mpsc, .init = setup);

Test(mpsc, is_empty_at_first)
{
    cr_assert(rp_mpsc_empty(&queue));
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), NULL));
}

Test(mpsc, pops_in_the_order_of_pushes)
{
    for (int i = 0; i < 8; i++) {
        rp_mpsc_push(&queue, &nodes[i]);
        cr_assert(not(rp_mpsc_empty(&queue)));
    }
    for (int i = 0; i < 8; i++) {
        cr_assert(not(rp_mpsc_empty(&queue)));
        cr_assert(eq(ptr, rp_mpsc_pop(&queue), &nodes[i]));
    }
    cr_assert(rp_mpsc_empty(&queue));
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), NULL));
}

Test(mpsc, popped_node_may_be_pushed_again_at_once)
{
    rp_mpsc_push(&queue, &nodes[0]);
    for (int i = 0; i < 100; i++) {
        rp_mpsc_push(&queue, &nodes[1 + i % 2]);
        struct rp_mpsc_node *node = rp_mpsc_pop(&queue);
        cr_assert(eq(ptr, node, i == 0 ? &nodes[0] : &nodes[1 + (i - 1) % 2]));
    }
}

// A producer that has swung `head` and not linked its node yet, made by hand.
Test(mpsc, cut_queue_is_neither_empty_nor_poppable)
{
    struct rp_mpsc_node *before =
            atomic_exchange_explicit(&queue.head, &nodes[0], memory_order_seq_cst);
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), NULL));
    cr_assert(not(rp_mpsc_empty(&queue)));
    rp_mpsc_push(&queue, &nodes[1]);
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), NULL), "order holds behind the gap too");
    atomic_store_explicit(&before->next, &nodes[0], memory_order_release);
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), &nodes[0]));
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), &nodes[1]));
    cr_assert(rp_mpsc_empty(&queue));
}

Test(mpsc, cut_behind_the_last_node_holds_that_node_back)
{
    rp_mpsc_push(&queue, &nodes[0]);
    struct rp_mpsc_node *before =
            atomic_exchange_explicit(&queue.head, &nodes[1], memory_order_seq_cst);
    cr_assert(eq(ptr, before, &nodes[0]));
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), NULL));
    atomic_store_explicit(&before->next, &nodes[1], memory_order_release);
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), &nodes[0]));
    cr_assert(eq(ptr, rp_mpsc_pop(&queue), &nodes[1]));
    cr_assert(rp_mpsc_empty(&queue));
}
