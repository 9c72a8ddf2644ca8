// Copies and fills: arguments, directions, when they run, what capture modes say.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/context.h"
#include "replay/stream.h"
#include "support/acl_test.h"
#include "support/gate.h"

#define BYTES 4096

static uint8_t *device;
static uint8_t *device2;
static uint8_t *pinned;
static uint8_t pageable[BYTES];
static uint8_t pageable2[BYTES];
static aclrtStream stream;

static void with_memory(void)
{
    on_device();
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtMalloc((void **)&device, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMalloc((void **)&device2, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMallocHost((void **)&pinned, BYTES));
}

static void pattern(uint8_t *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        memory[i] = (uint8_t)(i * 7 + seed);
    }
}

static bool has_pattern(const uint8_t *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != (uint8_t)(i * 7 + seed)) {
            return false;
        }
    }
    return true;
}

// ---- synchronous ----

Test(copy_api, all_directions_and_kinds, .init = with_memory)
{
    uint8_t *const ends[] = { device, device2, pinned, pageable, pageable2 };
    unsigned seed = 0;
    for (int kind = ACL_MEMCPY_HOST_TO_HOST; kind <= ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE; kind++) {
        for (int from = 0; from < 5; from++) {
            for (int to = 0; to < 5; to++) { // the kind is a hint at most
                pattern(ends[from], BYTES, ++seed);
                WORKS(aclrtMemcpy(ends[to], BYTES, ends[from], BYTES, (aclrtMemcpyKind)kind));
                cr_assert(has_pattern(ends[to], BYTES, seed));
            }
        }
    }
}

Test(copy_api, arguments_are_checked_in_order, .init = with_memory)
{
    const aclrtMemcpyKind bad = (aclrtMemcpyKind)8;
    WORKS(aclrtMemcpy(NULL, 0, NULL, 0, bad)); // nothing to copy: nothing is checked
    ANSWERS(100000, aclrtMemcpy(NULL, 8, pageable, 8, ACL_MEMCPY_DEFAULT));
    ANSWERS(100000, aclrtMemcpy(device, 8, NULL, 8, ACL_MEMCPY_DEFAULT));
    ANSWERS(100000, aclrtMemcpy(device, 8, pageable, 9, bad));
    ANSWERS(100000, aclrtMemcpy(device, 8, pageable, 8, (aclrtMemcpyKind)-1));
    ANSWERS(100000, aclrtMemcpy(device, 8, pageable, 8, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE));
    ANSWERS(107000, aclrtMemcpy(device, 8, pageable, 9, ACL_MEMCPY_HOST_TO_DEVICE));
    WORKS(aclrtMemcpy(device, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE));
    WORKS(aclrtMemcpyAsync(NULL, 0, NULL, 0, bad, (aclrtStream)1));
    ANSWERS(100000, aclrtMemcpyAsync(NULL, 8, pageable, 8, ACL_MEMCPY_DEFAULT, stream));
    ANSWERS(100000, aclrtMemcpyAsync(device, 8, pageable, 8, bad, stream));
    ANSWERS(107000, aclrtMemcpyAsync(device, 8, pinned, 9, ACL_MEMCPY_DEFAULT, stream));
    ANSWERS(107017, aclrtMemcpyAsync(device, 8, pinned, 8, ACL_MEMCPY_DEFAULT, (aclrtStream)1));
    WORKS(aclrtMemcpyAsync(device, 8, device, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

Test(copy_api, memory_that_is_not_there, .init = with_memory)
{
    WORKS(aclrtFree(device2));
    ANSWERS(107000, aclrtMemcpy(device2, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    ANSWERS(107000, aclrtMemcpy(pageable, 8, device2, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    ANSWERS(107000, aclrtMemcpyAsync(device2, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    ANSWERS(107000, aclrtMemset(device2, 8, 0, 8));
    uint8_t *large;
    uint8_t *host;
    WORKS(aclrtMalloc((void **)&large, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMallocHost((void **)&host, 8 << 20));
    ANSWERS(107000, aclrtMemcpy(large, 8 << 20, host, 8 << 20, ACL_MEMCPY_HOST_TO_DEVICE));
    ANSWERS(107000, aclrtMemset(large, 8 << 20, 0, 8 << 20));
}

Test(copy_api, a_synchronous_copy_does_not_wait_for_streams, .init = with_memory, .timeout = 30)
{
    static struct gate gate;
    gate_init(&gate);
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtMemsetAsync(device, BYTES, 1, BYTES, stream));
    pattern(pageable, BYTES, 3);
    WORKS(aclrtMemcpy(device, BYTES, pageable, BYTES, ACL_MEMCPY_HOST_TO_DEVICE));
    cr_assert(has_pattern(device, BYTES, 3));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(u8, device[17], 1));
}

Test(copy_api, more_than_2_gib, .timeout = 120)
{
    const size_t bytes = ((size_t)1 << 31) + 4097;
    uint8_t *source;
    uint8_t *target;
    setenv("REPRISE_DEVICE_MEMORY", "5G", 1);
    WORKS(aclrtSetDevice(0));
    if (aclrtMalloc((void **)&target, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
        cr_skip_test("this machine has no 2 GiB to spare");
    }
    // One page of a file, again and again: the source takes no memory.
    source = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
            -1, 0);
    cr_assert(ne(ptr, source, MAP_FAILED));
    source[0] = 1;
    source[(size_t)1 << 31] = 2;
    source[bytes - 1] = 3;
    WORKS(aclrtMemcpy(target, bytes, source, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    cr_assert(all(eq(u8, target[0], 1), eq(u8, target[(size_t)1 << 31], 2),
            eq(u8, target[bytes - 1], 3)));
    WORKS(aclrtMemsetAsync(target, bytes, 9, bytes, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_assert(all(eq(u8, target[0], 9), eq(u8, target[bytes - 1], 9)));
}

// ---- asynchronous ----

Test(copy_api, pinned_and_device_copies_are_queued, .init = with_memory, .timeout = 30)
{
    static struct gate gate;
    uint8_t *const ends[][2] = { { device, pinned }, { pinned, device }, { device2, device } };
    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        memset(ends[i][0], 0, BYTES);
        pattern(ends[i][1], BYTES, 40u + (unsigned)i);
        WORKS(gate_put(&gate, stream));
        WORKS(aclrtMemcpyAsync(ends[i][0], BYTES, ends[i][1], BYTES, ACL_MEMCPY_DEFAULT, stream));
        cr_assert(eq(u8, ends[i][0][1], 0)); // not yet
        gate_open(&gate);
        WORKS(aclrtSynchronizeStream(stream));
        cr_assert(has_pattern(ends[i][0], BYTES, 40u + (unsigned)i));
    }
}

Test(copy_api, registered_memory_counts_as_pinned, .init = with_memory, .timeout = 30)
{
    static struct gate gate;
    static _Alignas(4096) uint8_t area[BYTES];
    gate_init(&gate);
    WORKS(aclrtHostRegisterV2(area, BYTES, ACL_HOST_REG_PINNED));
    pattern(device, BYTES, 5);
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtMemcpyAsync(area, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    cr_assert(eq(u8, area[0], 0));
    gate_open(&gate);
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(has_pattern(area, BYTES, 5));
}

static void open_late(void *arg)
{
    gate_open(arg);
}

Test(copy_api, pageable_copies_wait_and_run_at_once, .init = with_memory, .timeout = 30)
{
    static struct gate gate;
    aclrtStream opener;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&opener));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtMemsetAsync(device, BYTES, 1, BYTES, stream));
    WORKS(aclrtLaunchHostFunc(opener, open_late, &gate));
    pattern(pageable, BYTES, 8);
    WORKS(aclrtMemcpyAsync(device, BYTES, pageable, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    cr_assert(has_pattern(device, BYTES, 8)); // after the fill
    WORKS(aclrtMemcpyAsync(pageable2, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    cr_assert(has_pattern(pageable2, BYTES, 8));
    WORKS(aclrtMemcpyAsyncWithCondition(
            pageable2, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
}

Test(copy_api, host_to_host_is_not_asynchronous, .init = with_memory)
{
    ANSWERS(207000, aclrtMemcpyAsync(pageable, 8, pageable2, 8, ACL_MEMCPY_HOST_TO_HOST, stream));
    ANSWERS(207000, aclrtMemcpyAsync(pinned, 8, pageable2, 8, ACL_MEMCPY_DEFAULT, stream));
    ANSWERS(207000, aclrtMemcpyAsync(pinned, 8, pinned + 8, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

Test(copy_api, a_staged_copy_takes_the_data_at_once, .init = with_memory, .timeout = 30)
{
    static struct gate gate;
    gate_init(&gate);
    for (unsigned i = 1; i <= 4; i++) {
        WORKS(gate_put(&gate, stream));
        memset(device, 0, BYTES);
        pattern(pageable, BYTES, i);
        WORKS(aclrtMemcpyAsync(
                device, BYTES, pageable, BYTES, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
        memset(pageable, 0xff, BYTES); // it may be reused now
        cr_assert(eq(u8, device[3], 0));
        gate_open(&gate);
        WORKS(aclrtSynchronizeStream(stream));
        cr_assert(has_pattern(device, BYTES, i));
    }
    WORKS(aclrtDestroyStream(stream)); // frees the buffers
}

Test(copy_api, a_failed_stream_is_told_by_a_pageable_copy, .init = with_memory, .timeout = 30)
{
    aclrtEvent event;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtStreamWaitEventWithTimeout(stream, event, 1));
    ANSWERS(107019, aclrtMemcpyAsync(device, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

static void *copy_thread(void *arg)
{
    static int answer;
    (void)arg;
    if (aclrtSetDevice(0) != 0) {
        return NULL;
    }
    answer = aclrtMemcpyAsync(device, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, NULL);
    return &answer;
}

// The stream that is waited for goes, too; the address sanitizer looks on.
Test(copy_api, a_forced_reset_ends_a_pageable_copy, .init = with_memory, .timeout = 30)
{
    aclrtEvent event;
    pthread_t thread;
    void *answer = NULL;
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtStreamWaitEvent(NULL, event)); // nobody records it
    cr_assert(eq(int, pthread_create(&thread, NULL, copy_thread, NULL), 0));
    usleep(50000);
    WORKS(aclrtResetDeviceForce(0));
    cr_assert(eq(int, pthread_join(thread, &answer), 0));
    const int code = *(int *)answer;
    // 107002: it was so late that its context was gone already.
    cr_assert(code == 107023 || code == 107002, "%d", code);
}

// ---- rows ----

Test(copy_api, rows, .init = with_memory)
{
    pattern(pageable, BYTES, 0);
    memset(device, 0xee, BYTES);
    WORKS(aclrtMemcpy2d(device, 100, pageable, 64, 30, 10, ACL_MEMCPY_HOST_TO_DEVICE));
    memcpy(pinned, pageable, BYTES);
    memset(device2, 0xee, BYTES);
    WORKS(aclrtMemcpy2dAsync(device2, 100, pinned, 64, 30, 10, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    WORKS(aclrtSynchronizeStream(stream));
    for (int row = 0; row < 10; row++) {
        for (int i = 0; i < 100; i++) {
            const uint8_t expected = i < 30 ? pageable[row * 64 + i] : 0xee;
            cr_assert(eq(u8, device[row * 100 + i], expected));
            cr_assert(eq(u8, device2[row * 100 + i], expected));
        }
    }
    WORKS(aclrtMemcpy2dAsync(
            device2, 64, device, 100, 30, 10, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    WORKS(aclrtMemcpy2dAsync(
            pageable2, 30, device2, 64, 30, 10, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    for (int row = 0; row < 10; row++) {
        cr_assert(eq(int, memcmp(pageable2 + row * 30, pageable + row * 64, 30), 0));
    }
}

Test(copy_api, arguments_of_rows, .init = with_memory)
{
    const aclrtMemcpyKind kind = ACL_MEMCPY_HOST_TO_DEVICE;
    WORKS(aclrtMemcpy2d(NULL, 0, NULL, 0, 0, 5, (aclrtMemcpyKind)77));
    WORKS(aclrtMemcpy2dAsync(NULL, 0, NULL, 0, 5, 0, (aclrtMemcpyKind)77, stream));
    ANSWERS(100000, aclrtMemcpy2d(NULL, 8, pageable, 8, 8, 1, kind));
    ANSWERS(100000, aclrtMemcpy2d(device, 8, NULL, 8, 8, 1, kind));
    ANSWERS(100000, aclrtMemcpy2d(device, 7, pageable, 8, 8, 1, kind));
    ANSWERS(100000, aclrtMemcpy2d(device, 8, pageable, 7, 8, 1, kind));
    ANSWERS(100000, aclrtMemcpy2d(device, 8, pageable, 8, 8, 1, ACL_MEMCPY_HOST_TO_HOST));
    ANSWERS(100000, aclrtMemcpy2d(device, 5000001, pageable, 5000001, 5000001, 1, kind));
    ANSWERS(100000, aclrtMemcpy2d(device, 8, pageable, 8, 8, 5 * 1024 * 1024 + 1, kind));
    ANSWERS(100000, aclrtMemcpy2d(device, SIZE_MAX, pageable, 8, 8, 3, kind));
    ANSWERS(107000, aclrtMemcpy2d(device, 1 << 20, pageable, 8, 8, 9, kind)); // past its end
    ANSWERS(207000, aclrtMemcpy2d(device, 8, device2, 8, 8, 1, ACL_MEMCPY_DEVICE_TO_DEVICE));
    ANSWERS(107000, aclrtMemcpy2d(device, 8, device2, 8, 8, 1, ACL_MEMCPY_DEFAULT));
    ANSWERS(107000, aclrtMemcpy2d(pageable, 8, pageable2, 8, 8, 1, ACL_MEMCPY_DEFAULT));
    ANSWERS(107017, aclrtMemcpy2dAsync(device, 8, pinned, 8, 8, 1, kind, (aclrtStream)1));
}

// ---- batches ----

static aclrtMemcpyBatchAttr to_device = {
    .dstLoc = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_DEVICE },
    .srcLoc = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_HOST },
};
static aclrtMemcpyBatchAttr from_device = {
    .dstLoc = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_HOST },
    .srcLoc = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_DEVICE },
};

Test(copy_api, batches, .init = with_memory)
{
    void *dsts[] = { device, device + 100, device + 300 };
    void *srcs[] = { pinned, pinned + 1000, pinned + 2000 };
    size_t sizes[] = { 50, 60, 70 };
    size_t rooms[] = { 50, 100, 70 };
    size_t first = 0;
    size_t failed = 5;
    pattern(pinned, BYTES, 1);
    WORKS(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 3, &to_device, &first, 1, &failed));
    cr_assert(eq(sz, failed, SIZE_MAX));
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, memcmp(dsts[i], srcs[i], sizes[i]), 0));
    }
    memset(device, 0, BYTES);
    WORKS(aclrtMemcpyBatchAsync(
            dsts, rooms, srcs, sizes, 3, &to_device, &first, 1, &failed, stream));
    WORKS(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, memcmp(dsts[i], srcs[i], sizes[i]), 0));
    }
    memset(pinned, 0, BYTES);
    WORKS(aclrtMemcpyBatchV2(srcs, rooms, dsts, sizes, 3, &from_device, &first, 1));
    cr_assert(eq(int, memcmp(dsts[1], srcs[1], sizes[1]), 0));
    WORKS(aclrtMemcpyBatchAsyncV2(srcs, rooms, dsts, sizes, 3, &from_device, &first, 1, stream));
    WORKS(aclrtSynchronizeStream(stream));
}

Test(copy_api, arguments_of_batches, .init = with_memory)
{
    void *dsts[] = { device, device + 100 };
    void *srcs[] = { pinned, pageable };
    size_t sizes[] = { 50, 60 };
    size_t rooms[] = { 50, 60 };
    size_t first[] = { 0, 1 };
    size_t failed;
    aclrtMemcpyBatchAttr attrs[] = { to_device, to_device };
#define BATCH(...) aclrtMemcpyBatch(__VA_ARGS__, &failed)
    WORKS(BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 2));
    ANSWERS(100000, aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attrs, first, 2, NULL));
    ANSWERS(100000, BATCH(NULL, rooms, srcs, sizes, 2, attrs, first, 2));
    ANSWERS(100000, BATCH(dsts, NULL, srcs, sizes, 2, attrs, first, 2));
    ANSWERS(100000, BATCH(dsts, rooms, NULL, sizes, 2, attrs, first, 2));
    ANSWERS(100000, BATCH(dsts, rooms, srcs, NULL, 2, attrs, first, 2));
    ANSWERS(100000, BATCH(dsts, rooms, srcs, sizes, 0, attrs, first, 2));
    ANSWERS(100000, BATCH(dsts, rooms, srcs, sizes, 2, NULL, first, 2));
    ANSWERS(100000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, NULL, 2));
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 0));
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 3));
    first[1] = 0; // not ascending
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 2));
    first[1] = 2; // beyond the batch
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 2));
    first[0] = first[1] = 1;
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 1));
    first[0] = 0;
    sizes[1] = 61; // more than its room
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 2));
    cr_assert(eq(sz, failed, 1));
    sizes[1] = 60;
    attrs[1] = from_device; // not what the addresses are
    ANSWERS(107000, BATCH(dsts, rooms, srcs, sizes, 2, attrs, first, 2));
    cr_assert(eq(sz, failed, 1));
    attrs[1] = to_device;
    ANSWERS(107000, // pageable memory
            aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, 2, attrs, first, 2, &failed, stream));
    cr_assert(eq(sz, failed, 1));
    sizes[0] = sizes[1] = 0;
    WORKS(BATCH(NULL, NULL, NULL, sizes, 2, NULL, NULL, 0));
}

// ---- fills ----

Test(copy_api, fills, .init = with_memory)
{
    WORKS(aclrtMemset(device, BYTES, 0x1234, 100)); // the low byte
    cr_assert(all(eq(u8, device[0], 0x34), eq(u8, device[99], 0x34)));
    WORKS(aclrtMemset(pageable, BYTES, 5, BYTES));
    cr_assert(eq(u8, pageable[BYTES - 1], 5));
    WORKS(aclrtMemsetAsync(device, BYTES, 7, BYTES, stream));
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(u8, device[BYTES - 1], 7));
    WORKS(aclrtMemsetD32(device, BYTES, 0xdeadbeef, 10));
    cr_assert(all(eq(u8, device[36], 0xef), eq(u8, device[39], 0xde), eq(u8, device[40], 7)));
    WORKS(aclrtMemsetD32Async(device, BYTES, 0x01020304, BYTES / 4, stream));
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(all(eq(u8, device[0], 4), eq(u8, device[BYTES - 1], 1)));
}

Test(copy_api, arguments_of_fills, .init = with_memory)
{
    WORKS(aclrtMemset(NULL, 0, 0, 0));
    WORKS(aclrtMemsetAsync(NULL, 0, 0, 0, (aclrtStream)1));
    WORKS(aclrtMemsetD32(NULL, 0, 0, 0));
    ANSWERS(100000, aclrtMemset(NULL, 8, 0, 8));
    ANSWERS(107000, aclrtMemset(device, 8, 0, 9));
    ANSWERS(100000, aclrtMemsetAsync(NULL, 8, 0, 8, stream));
    ANSWERS(107000, aclrtMemsetAsync(device, 8, 0, 9, stream));
    ANSWERS(107017, aclrtMemsetAsync(device, 8, 0, 8, (aclrtStream)1));
    ANSWERS(100000, aclrtMemsetD32(NULL, 8, 0, 2));
    ANSWERS(100000, aclrtMemsetD32(device, 8, 0, 3));
    ANSWERS(100000, aclrtMemsetD32(device + 1, 8, 0, 2));
    ANSWERS(100000, aclrtMemsetD32(pageable, 8, 0, 2));
    ANSWERS(100000, aclrtMemsetD32Async(device, 8, 0, SIZE_MAX, stream));
    ANSWERS(107017, aclrtMemsetD32Async(device, 8, 0, 2, (aclrtStream)1));
}

// ---- capture modes: the counts that capture keeps, set by hand ----

struct mode_row {
    int context; // mode of an open capture, -1: none
    int own;     // of one that this thread began
    int exchange;
    bool allowed;
};

Test(copy_api, what_capture_modes_allow, .init = with_memory)
{
    const struct mode_row rows[] = {
        { -1, -1, RP_CAPTURE_GLOBAL, true },
        { RP_CAPTURE_GLOBAL, -1, RP_CAPTURE_GLOBAL, false },
        { RP_CAPTURE_GLOBAL, -1, RP_CAPTURE_THREAD_LOCAL, true },
        { RP_CAPTURE_GLOBAL, -1, RP_CAPTURE_RELAXED, true },
        { RP_CAPTURE_GLOBAL, RP_CAPTURE_GLOBAL, RP_CAPTURE_GLOBAL, false },
        { RP_CAPTURE_GLOBAL, RP_CAPTURE_GLOBAL, RP_CAPTURE_THREAD_LOCAL, false },
        { RP_CAPTURE_GLOBAL, RP_CAPTURE_GLOBAL, RP_CAPTURE_RELAXED, true },
        { RP_CAPTURE_THREAD_LOCAL, -1, RP_CAPTURE_GLOBAL, true },
        { RP_CAPTURE_THREAD_LOCAL, RP_CAPTURE_THREAD_LOCAL, RP_CAPTURE_GLOBAL, false },
        { RP_CAPTURE_THREAD_LOCAL, RP_CAPTURE_THREAD_LOCAL, RP_CAPTURE_THREAD_LOCAL, false },
        { RP_CAPTURE_THREAD_LOCAL, RP_CAPTURE_THREAD_LOCAL, RP_CAPTURE_RELAXED, true },
        { RP_CAPTURE_RELAXED, RP_CAPTURE_RELAXED, RP_CAPTURE_GLOBAL, true },
        { RP_CAPTURE_RELAXED, -1, RP_CAPTURE_GLOBAL, true },
    };
    struct rp_thread *self = rp_thread_self();
    struct rp_context *context = self->context;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct mode_row *row = &rows[i];
        if (row->context >= 0) {
            atomic_store(&context->captures[row->context], 1);
        }
        if (row->own >= 0) {
            atomic_store(&self->own_captures[row->own], 1);
        }
        self->exchange_mode = (enum rp_capture_mode)row->exchange;
        const int sync = row->allowed ? 0 : 107030;
        const int async = row->allowed ? 0 : 107041;
        memset(device, 0, BYTES);
        memset(pageable, 1, BYTES);
        ANSWERS(sync, aclrtMemcpy(device, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE));
        cr_assert(eq(u8, device[0], row->allowed ? 1 : 0)); // a refused one does nothing
        ANSWERS(sync, aclrtMemset(device, 8, 2, 8));
        ANSWERS(sync, aclrtMemcpy2d(device, 8, pageable, 8, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
        ANSWERS(async, aclrtMemcpyAsync(device, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        ANSWERS(async, aclrtMemcpy2dAsync(
                               device, 8, pageable, 8, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        WORKS(aclrtMemcpyAsync(device, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        WORKS(aclrtMemsetAsync(device, 8, 2, 8, stream));
        void *memory;
        WORKS(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST)); // never restricted
        WORKS(aclrtFree(memory));
        for (int mode = 0; mode < RP_CAPTURE_MODES; mode++) {
            atomic_store(&context->captures[mode], 0);
            atomic_store(&self->own_captures[mode], 0);
        }
    }
}

static bool offered_pageable;

static rp_status refuse_pageable(struct rp_stream *to, const struct rp_task *task)
{
    (void)to;
    offered_pageable = task->pageable;
    return task->pageable ? RP_EPARAM : RP_OK;
}

Test(copy_api, pageable_copies_are_offered_to_a_capturing_stream, .init = with_memory)
{
    static const struct rp_submit_ops ops = { .run = refuse_pageable };
    struct rp_stream *captured = rp_stream_from_handle(stream);
    atomic_store(&captured->capture_status, RP_CAPTURE_ACTIVE);
    atomic_store(&captured->submit, &ops);
    ANSWERS(107000, aclrtMemcpyAsync(device, 8, pageable, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    cr_assert(offered_pageable);
    ANSWERS(107000,
            aclrtMemcpyAsync(device, 8, pinned, 8, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    ANSWERS(107000,
            aclrtMemcpy2dAsync(device, 8, pageable, 8, 8, 1, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    WORKS(aclrtMemcpyAsync(device, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    cr_assert(not(offered_pageable));
    atomic_store(&captured->capture_status, RP_CAPTURE_NONE);
    atomic_store(&captured->submit, &rp_submit_eager);
}
