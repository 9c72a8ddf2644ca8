#include "base/alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_FIRST 8 // elements of an array that grows

// Successes left before the one failure; negative: none is asked for. The count of the process
// is shared, so its order with other memory does not matter: relaxed throughout.
static _Thread_local int64_t thread_left = -1;
static _Atomic int64_t process_left = -1;

void rp_alloc_fail_after(int64_t count)
{
    thread_left = count;
}

void rp_alloc_fail_process_after(int64_t count)
{
    atomic_store_explicit(&process_left, count, memory_order_relaxed);
}

bool rp_alloc_fail_pending(void)
{
    return thread_left >= 0 || atomic_load_explicit(&process_left, memory_order_relaxed) >= 0;
}

static bool must_fail(void)
{
    bool fail = false;
    if (RP_UNLIKELY(thread_left >= 0)) {
        fail = thread_left-- == 0;
    }
    if (RP_UNLIKELY(atomic_load_explicit(&process_left, memory_order_relaxed) >= 0)) {
        fail |= atomic_fetch_sub_explicit(&process_left, 1, memory_order_relaxed) == 0;
    }
    if (RP_UNLIKELY(fail)) {
        errno = ENOMEM;
    }
    return fail;
}

void *rp_malloc(size_t bytes)
{
    return must_fail() ? NULL : malloc(bytes == 0 ? 1 : bytes);
}

void *rp_calloc(size_t count, size_t bytes)
{
    size_t product;
    if (must_fail() || __builtin_mul_overflow(count, bytes, &product)) {
        return NULL; // sanitizers end the process where calloc itself finds it
    }
    return calloc(1, product == 0 ? 1 : product);
}

void *rp_realloc(void *memory, size_t bytes)
{
    return must_fail() ? NULL : realloc(memory, bytes == 0 ? 1 : bytes);
}

void *rp_array_room(void *array, uint32_t count, uint32_t *room, size_t bytes)
{
    if (count < *room) {
        return array;
    }
    const uint32_t wanted = *room == 0 ? ARRAY_FIRST : 2 * *room;
    void *larger = wanted < *room ? NULL : rp_realloc(array, wanted * bytes);
    if (larger != NULL) {
        *room = wanted;
    }
    return larger;
}

void *rp_aligned_calloc(size_t alignment, size_t bytes)
{
    if (must_fail() || bytes > SIZE_MAX - alignment) {
        return NULL;
    }
    size_t rounded = (size_t)rp_align_up(bytes == 0 ? 1 : bytes, alignment);
    void *memory = aligned_alloc(alignment, rounded);
    if (memory != NULL) {
        memset(memory, 0, rounded);
    }
    return memory;
}

char *rp_strdup(const char *text)
{
    return must_fail() ? NULL : strdup(text);
}

void rp_free(void *memory)
{
    free(memory); // glibc keeps errno since 2.33; Debian 12 has 2.36
}
