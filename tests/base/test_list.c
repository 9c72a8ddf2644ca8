#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/list.h"

struct item {
    int number;
    struct rp_list link;
};

static struct rp_list head;
static struct item items[4];

static void setup(void)
{
    rp_list_init(&head);
    for (int i = 0; i < 4; i++) {
        items[i].number = i;
        rp_list_init(&items[i].link);
    }
}

// The numbers in the list, first one in the highest digit; checks the backward links too.
static int numbers(void)
{
    int forward = 0;
    int backward = 0;
    int power = 1;
    rp_list_each(link, &head)
    {
        forward = 10 * forward + rp_container_of(link, struct item, link)->number + 1;
    }
    for (struct rp_list *link = head.prev; link != &head; link = link->prev) {
        backward += power * (rp_container_of(link, struct item, link)->number + 1);
        power *= 10;
    }
    cr_assert(eq(int, forward, backward));
    return forward;
}

TestSuite(list, .init = setup);

Test(list, is_empty_at_first)
{
    cr_assert(rp_list_empty(&head));
    cr_assert(eq(ptr, rp_list_first(&head), NULL));
    cr_assert(eq(ptr, rp_list_pop_front(&head), NULL));
    cr_assert(eq(int, numbers(), 0));
}

Test(list, keeps_the_order_of_pushes)
{
    rp_list_push_back(&head, &items[0].link);
    rp_list_push_back(&head, &items[1].link);
    rp_list_push_front(&head, &items[2].link);
    rp_list_insert_before(&items[1].link, &items[3].link);
    cr_assert(eq(int, numbers(), 3142));
}

Test(list, pops_from_the_front)
{
    rp_list_push_back(&head, &items[0].link);
    rp_list_push_back(&head, &items[1].link);
    cr_assert(eq(ptr, rp_list_pop_front(&head), &items[0].link));
    cr_assert(eq(ptr, rp_list_pop_front(&head), &items[1].link));
    cr_assert(rp_list_empty(&head));
}

Test(list, removing_twice_does_no_harm)
{
    for (int i = 0; i < 3; i++) {
        rp_list_push_back(&head, &items[i].link);
    }
    rp_list_remove(&items[1].link);
    rp_list_remove(&items[1].link);
    cr_assert(eq(int, numbers(), 13));
    cr_assert(rp_list_empty(&items[1].link));
}

Test(list, current_element_may_be_removed_while_walking)
{
    for (int i = 0; i < 4; i++) {
        rp_list_push_back(&head, &items[i].link);
    }
    rp_list_each(link, &head)
    {
        if (rp_container_of(link, struct item, link)->number % 2 == 0) {
            rp_list_remove(link);
        }
    }
    cr_assert(eq(int, numbers(), 24));
}

Test(list, splice_moves_everything_behind)
{
    struct rp_list other = RP_LIST_INIT(other);
    rp_list_push_back(&head, &items[0].link);
    rp_list_splice_back(&head, &other);
    cr_assert(eq(int, numbers(), 1));
    rp_list_push_back(&other, &items[1].link);
    rp_list_push_back(&other, &items[2].link);
    rp_list_splice_back(&head, &other);
    cr_assert(eq(int, numbers(), 123));
    cr_assert(rp_list_empty(&other));
}
