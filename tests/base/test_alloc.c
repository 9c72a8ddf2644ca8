#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"

Test(alloc, memory_can_be_used_and_freed)
{
    char *text = rp_strdup("text");
    cr_assert(eq(str, text, "text"));
    int *numbers = rp_calloc(4, sizeof(*numbers));
    cr_assert(eq(int, numbers[0] | numbers[3], 0));
    numbers = rp_realloc(numbers, 100 * sizeof(*numbers));
    numbers[99] = 1;
    void *plain = rp_malloc(10);
    memset(plain, 1, 10);
    rp_free(plain);
    rp_free(numbers);
    rp_free(text);
    rp_free(NULL);
}

Test(alloc, zero_bytes_are_not_a_failure)
{
    void *memory[] = { rp_malloc(0), rp_calloc(0, 8), rp_calloc(8, 0), rp_realloc(NULL, 0),
        rp_aligned_calloc(64, 0) };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(memory); i++) {
        cr_assert(ne(ptr, memory[i], NULL), "%zu", i);
        rp_free(memory[i]);
    }
}

Test(alloc, aligned_memory_is_aligned_and_cleared)
{
    for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
        unsigned char *memory = rp_aligned_calloc(alignment, 100);
        cr_assert(eq(sz, (uintptr_t)memory % alignment, 0));
        for (int i = 0; i < 100; i++) {
            cr_assert(eq(int, memory[i], 0));
        }
        rp_free(memory);
    }
}

Test(alloc, products_and_roundings_that_overflow_fail)
{
    volatile size_t huge = SIZE_MAX;
    cr_assert(eq(ptr, rp_calloc(huge / 2, 4), NULL));
    cr_assert(eq(ptr, rp_aligned_calloc(64, huge - 8), NULL));
}

Test(alloc, n_th_allocation_fails_once)
{
    for (int64_t n = 0; n < 4; n++) {
        rp_alloc_fail_after(n);
        for (int64_t i = 0; i < 8; i++) {
            errno = 0;
            void *memory = rp_malloc(8);
            cr_assert(eq(int, memory == NULL, i == n), "allocation %d of %d", (int)i, (int)n);
            cr_assert(eq(int, errno, i == n ? ENOMEM : 0));
            cr_assert(eq(int, rp_alloc_fail_pending(), i < n));
            rp_free(memory);
        }
    }
}

Test(alloc, every_kind_of_allocation_counts)
{
    rp_alloc_fail_after(4);
    void *memory[] = { rp_malloc(1), rp_calloc(1, 1), rp_realloc(NULL, 1), rp_strdup("a"),
        rp_aligned_calloc(64, 1) };
    cr_assert(eq(ptr, memory[4], NULL));
    for (size_t i = 0; i < 4; i++) {
        cr_assert(ne(ptr, memory[i], NULL));
        rp_free(memory[i]);
    }
}

static void *allocate(void *unused)
{
    (void)unused;
    return rp_malloc(8);
}

static void *allocate_elsewhere(void)
{
    pthread_t thread;
    void *memory;
    cr_assert(eq(int, pthread_create(&thread, NULL, allocate, NULL), 0));
    cr_assert(eq(int, pthread_join(thread, &memory), 0));
    return memory;
}

Test(alloc, thread_hook_leaves_other_threads_alone)
{
    rp_alloc_fail_after(0);
    void *memory = allocate_elsewhere();
    cr_assert(ne(ptr, memory, NULL));
    cr_assert(rp_alloc_fail_pending());
    rp_alloc_fail_after(-1);
    rp_free(memory);
}

Test(alloc, process_hook_counts_all_threads)
{
    rp_alloc_fail_process_after(1);
    void *first = rp_malloc(8);
    cr_assert(ne(ptr, first, NULL));
    cr_assert(eq(ptr, allocate_elsewhere(), NULL));
    cr_assert(not(rp_alloc_fail_pending()));
    rp_free(first);
}
