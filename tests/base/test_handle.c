#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/handle.h"
#include "base/util.h"

#define OBJECTS 5000

static alignas(16) char objects[OBJECTS][16];

static int count_live(enum rp_handle_kind kind)
{
    int live = 0;
    for (int i = 0; i < OBJECTS; i++) {
        live += rp_handle_live(kind, objects[i]);
    }
    return live;
}

Test(handle, any_pointer_may_be_asked)
{
    int local;
    cr_assert(not(rp_handle_live(RP_HANDLE_STREAM, NULL)));
    cr_assert(not(rp_handle_live(RP_HANDLE_STREAM, &local)));
    cr_assert(not(rp_handle_live(RP_HANDLE_STREAM, (void *)1)));
    cr_assert(not(rp_handle_live(RP_HANDLE_STREAM, (void *)UINTPTR_MAX)));
    cr_assert(not(rp_handle_remove(RP_HANDLE_STREAM, &local)));
    cr_assert(not(rp_handle_remove(RP_HANDLE_STREAM, NULL)));
}

Test(handle, is_live_between_add_and_remove)
{
    cr_assert(eq(int, rp_handle_add(RP_HANDLE_EVENT, objects[0]), RP_OK));
    cr_assert(rp_handle_live(RP_HANDLE_EVENT, objects[0]));
    cr_assert(rp_handle_remove(RP_HANDLE_EVENT, objects[0]));
    cr_assert(not(rp_handle_live(RP_HANDLE_EVENT, objects[0])));
    cr_assert(not(rp_handle_remove(RP_HANDLE_EVENT, objects[0])), "only once");
    cr_assert(eq(int, rp_handle_add(RP_HANDLE_EVENT, objects[0]), RP_OK), "the address returns");
    cr_assert(rp_handle_live(RP_HANDLE_EVENT, objects[0]));
}

Test(handle, kinds_are_apart)
{
    cr_assert(eq(int, rp_handle_add(RP_HANDLE_STREAM, objects[0]), RP_OK));
    for (int kind = 0; kind < RP_HANDLE_KINDS; kind++) {
        cr_assert(eq(int, rp_handle_live((enum rp_handle_kind)kind, objects[0]),
                kind == RP_HANDLE_STREAM));
    }
}

Test(handle, thousands_are_found_and_only_they)
{
    for (int i = 0; i < OBJECTS; i++) {
        cr_assert(eq(int, rp_handle_add(RP_HANDLE_EVENT, objects[i]), RP_OK));
    }
    cr_assert(eq(int, count_live(RP_HANDLE_EVENT), OBJECTS));
    for (int i = 0; i < OBJECTS; i += 2) {
        cr_assert(rp_handle_remove(RP_HANDLE_EVENT, objects[i]));
    }
    for (int i = 0; i < OBJECTS; i++) {
        cr_assert(eq(int, rp_handle_live(RP_HANDLE_EVENT, objects[i]), i % 2));
    }
}

// Removed handles leave marks in the table; they must not fill it up.
Test(handle, coming_and_going_for_ever_takes_no_memory, .timeout = 60)
{
    // A table is allocated with the first handle; a second one would be waste here.
    rp_alloc_fail_after(1);
    for (int i = 0; i < 1000000; i++) {
        char *object = objects[i % OBJECTS];
        cr_assert(eq(int, rp_handle_add(RP_HANDLE_OTHER, object), RP_OK));
        cr_assert(rp_handle_remove(RP_HANDLE_OTHER, object));
    }
    cr_assert(rp_alloc_fail_pending());
    cr_assert(eq(int, count_live(RP_HANDLE_OTHER), 0));
}

static void add_up(void *object, void *sum)
{
    *(uintptr_t *)sum += (uintptr_t)object;
}

Test(handle, each_visits_the_live_ones)
{
    uintptr_t sum = 0;
    uintptr_t expected = 0;
    for (int i = 0; i < 100; i++) {
        cr_assert(eq(int, rp_handle_add(RP_HANDLE_COMM, objects[i]), RP_OK));
        expected += i % 3 == 0 ? 0 : (uintptr_t)objects[i];
    }
    for (int i = 0; i < 100; i += 3) {
        cr_assert(rp_handle_remove(RP_HANDLE_COMM, objects[i]));
    }
    rp_handle_each(RP_HANDLE_COMM, add_up, &sum);
    cr_assert(eq(u64, sum, expected));
}

Test(handle, table_that_cannot_grow_is_an_error)
{
    rp_alloc_fail_after(0);
    cr_assert(eq(int, rp_handle_add(RP_HANDLE_GRAPH, objects[0]), RP_ENOMEM));
    cr_assert(not(rp_handle_live(RP_HANDLE_GRAPH, objects[0])));
    cr_assert(eq(int, rp_handle_add(RP_HANDLE_GRAPH, objects[0]), RP_OK));
}

// Two threads add and remove their own objects and look at each other's.
static void *come_and_go(void *argument)
{
    int first = *(int *)argument;
    for (int round = 0; round < 200; round++) {
        for (int i = first; i < OBJECTS; i += 2 * 10) {
            if (rp_handle_add(RP_HANDLE_STREAM, objects[i]) != RP_OK ||
                    !rp_handle_live(RP_HANDLE_STREAM, objects[i])) {
                return argument;
            }
        }
        for (int i = first; i < OBJECTS; i += 2 * 10) {
            rp_handle_live(RP_HANDLE_STREAM, objects[i ^ 1]);
            if (!rp_handle_remove(RP_HANDLE_STREAM, objects[i])) {
                return argument;
            }
        }
    }
    return NULL;
}

Test(handle, threads_do_not_lose_each_other_s_handles, .timeout = 60)
{
    pthread_t thread[2];
    int first[2] = { 0, 1 };
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, pthread_create(&thread[i], NULL, come_and_go, &first[i]), 0));
    }
    for (int i = 0; i < 2; i++) {
        void *failed;
        cr_assert(eq(int, pthread_join(thread[i], &failed), 0));
        cr_assert(eq(ptr, failed, NULL));
    }
    cr_assert(eq(int, count_live(RP_HANDLE_STREAM), 0));
}
