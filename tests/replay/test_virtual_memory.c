// Virtual memory: reserve, physical memory, map, unmap, and what peers would see.

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/vmm.h"
#include "support/acl_test.h"
#include "transport/arena.h"

#define GRANULE ((size_t)2 << 20)

static const aclrtPhysicalMemProp prop = {
    .handleType = ACL_MEM_HANDLE_TYPE_NONE,
    .allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED,
    .memAttr = ACL_HBM_MEM_HUGE,
    .location = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_DEVICE },
};

static uint8_t *reserve(size_t granules)
{
    void *range = NULL;
    WORKS(aclrtReserveMemAddress(&range, granules * GRANULE, 0, NULL, 1));
    return range;
}

static aclrtDrvMemHandle physical(size_t granules)
{
    aclrtDrvMemHandle handle = NULL;
    WORKS(aclrtMallocPhysical(&handle, granules * GRANULE, &prop, 0));
    return handle;
}

static size_t used(void)
{
    aclrtMemUsageInfo usage;
    size_t count;
    WORKS(aclrtGetMemUsageInfo(0, &usage, 1, &count));
    return usage.curMemSize;
}

// What hccl_test does for zero copy.
Test(virtual_memory, reserve_map_use_unmap_release, .init = on_device)
{
    size_t minimum;
    size_t recommended;
    aclrtPhysicalMemProp ask = prop;
    WORKS(aclrtMemGetAllocationGranularity(&ask, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &minimum));
    WORKS(aclrtMemGetAllocationGranularity(
            &ask, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &recommended));
    cr_assert(all(eq(sz, minimum, GRANULE), eq(sz, recommended, GRANULE)));
    const size_t before = used();
    uint8_t *range = reserve(8);
    cr_assert(eq(sz, used(), before)); // addresses alone take nothing
    aclrtDrvMemHandle handles[2] = { physical(2), physical(4) };
    WORKS(aclrtMapMem(range, 2 * GRANULE, 0, handles[0], 0));
    WORKS(aclrtMapMem(range + 2 * GRANULE, 4 * GRANULE, 0, handles[1], 0));
    cr_assert(eq(sz, used(), before + 6 * GRANULE));
    memset(range, 0x77, 6 * GRANULE);
    // Pieces side by side are one buffer.
    WORKS(aclrtMemset(range + GRANULE, 4 * GRANULE, 1, 4 * GRANULE));
    cr_assert(all(eq(u8, range[0], 0x77), eq(u8, range[5 * GRANULE - 1], 1)));
    ANSWERS(107000, aclrtMemset(range + 5 * GRANULE, 2 * GRANULE, 1, 2 * GRANULE)); // a hole
    ANSWERS(107000, aclrtReleaseMemAddress(range));                                 // still mapped
    WORKS(aclrtUnmapMem(range));
    WORKS(aclrtUnmapMem(range + 2 * GRANULE));
    WORKS(aclrtFreePhysical(handles[0]));
    WORKS(aclrtFreePhysical(handles[1]));
    cr_assert(eq(sz, used(), before));
    WORKS(aclrtReleaseMemAddress(range));
    ANSWERS(107000, aclrtReleaseMemAddress(range));
}

Test(virtual_memory, the_first_mapping_is_in_place, .init = on_device)
{
    uint8_t *range = reserve(4);
    aclrtDrvMemHandle handle = physical(2);
    WORKS(aclrtMapMem(range + GRANULE, 2 * GRANULE, 0, handle, 0));
    cr_assert(eq(ptr, (void *)rp_vmm_home(range + GRANULE + 5, GRANULE), range + GRANULE + 5));
    aclrtPtrAttributes attributes;
    WORKS(aclrtPointerGetAttributes(range + GRANULE, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE));
    WORKS(aclrtPointerGetAttributes(range, &attributes)); // not mapped
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED));
    void *base;
    size_t size;
    WORKS(aclrtMemGetAddressRange(range + 2 * GRANULE, &base, &size));
    cr_assert(all(eq(ptr, base, range + GRANULE), eq(sz, size, 2 * GRANULE)));
    ANSWERS(107000, aclrtFree(range + GRANULE));
}

Test(virtual_memory, a_handle_mapped_twice_is_the_same_memory, .init = on_device)
{
    uint8_t *range = reserve(6);
    aclrtDrvMemHandle handle = physical(2);
    uint8_t *first = range;
    uint8_t *second = range + 4 * GRANULE;
    WORKS(aclrtMapMem(first, 2 * GRANULE, 0, handle, 0));
    WORKS(aclrtMapMem(second, 2 * GRANULE, 0, handle, 0));
    first[12345] = 1;
    cr_assert(eq(u8, second[12345], 1));
    second[2 * GRANULE - 1] = 2;
    cr_assert(eq(u8, first[2 * GRANULE - 1], 2));
    // Peers find an alias where its pages are.
    cr_assert(eq(ptr, (void *)rp_vmm_home(second + 77, 100), first + 77));
    cr_assert(eq(ptr, (void *)rp_vmm_home(first + 77, 100), first + 77));
    WORKS(aclrtUnmapMem(first));
    cr_assert(eq(u8, second[12345], 1)); // the other one lives on
    second[0] = 3;
    WORKS(aclrtFreePhysical(handle));
    cr_assert(eq(u8, second[0], 3)); // and outlives its handle
    WORKS(aclrtUnmapMem(second));
    WORKS(aclrtReleaseMemAddress(range));
}

Test(virtual_memory, content_survives_while_it_is_not_mapped, .init = on_device)
{
    uint8_t *range = reserve(4);
    aclrtDrvMemHandle handle = physical(1);
    aclrtDrvMemHandle other = physical(1);
    WORKS(aclrtMapMem(range, GRANULE, 0, handle, 0));
    memset(range, 0x42, GRANULE);
    WORKS(aclrtUnmapMem(range));
    // Another handle at the same address gets pages of its own.
    WORKS(aclrtMapMem(range, GRANULE, 0, other, 0));
    memset(range, 0x99, GRANULE);
    WORKS(aclrtMapMem(range + 2 * GRANULE, GRANULE, 0, handle, 0));
    cr_assert(all(eq(u8, range[2 * GRANULE], 0x42), eq(u8, range[3 * GRANULE - 1], 0x42)));
    WORKS(aclrtUnmapMem(range));
    WORKS(aclrtUnmapMem(range + 2 * GRANULE));
    WORKS(aclrtMapMem(range, GRANULE, 0, handle, 0)); // home again
    cr_assert(eq(u8, range[100], 0x42));
    WORKS(aclrtMapMem(range + 3 * GRANULE, GRANULE, 0, other, 0));
    cr_assert(eq(u8, range[3 * GRANULE + 100], 0x99));
}

Test(virtual_memory, addresses_are_given_back_with_the_last_page, .init = on_device)
{
    const size_t before = used();
    uint8_t *range = reserve(2);
    aclrtDrvMemHandle handle = physical(1);
    WORKS(aclrtMapMem(range, GRANULE, 0, handle, 0));
    range[0] = 5;
    WORKS(aclrtUnmapMem(range));
    WORKS(aclrtReleaseMemAddress(range)); // the handle's pages are still in it
    ANSWERS(107000, aclrtMapMem(range, GRANULE, 0, handle, 0));
    uint8_t *elsewhere = reserve(1);
    WORKS(aclrtMapMem(elsewhere, GRANULE, 0, handle, 0));
    cr_assert(eq(u8, elsewhere[0], 5));
    WORKS(aclrtUnmapMem(elsewhere));
    WORKS(aclrtFreePhysical(handle));
    WORKS(aclrtReleaseMemAddress(elsewhere));
    cr_assert(eq(sz, used(), before));
}

Test(virtual_memory, adjacent_aliases_are_one_piece_only_where_their_pages_are, .init = on_device)
{
    uint8_t *range = reserve(4);
    uint8_t *mirror = reserve(4);
    aclrtDrvMemHandle handles[2] = { physical(1), physical(1) };
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtMapMem(range + (size_t)i * GRANULE, GRANULE, 0, handles[i], 0));
        WORKS(aclrtMapMem(mirror + (size_t)i * GRANULE, GRANULE, 0, handles[i], 0));
        WORKS(aclrtMapMem(mirror + (size_t)(3 - i) * GRANULE, GRANULE, 0, handles[i], 0));
    }
    cr_assert(eq(ptr, (void *)rp_vmm_home(mirror + 5, 2 * GRANULE - 5), range + 5));
    cr_assert(eq(ptr, (void *)rp_vmm_home(mirror + 2 * GRANULE, 2 * GRANULE), NULL)); // swapped
    cr_assert(eq(ptr, (void *)rp_vmm_home(mirror + 2 * GRANULE, GRANULE), range + GRANULE));
    int outside;
    cr_assert(eq(ptr, (void *)rp_vmm_home(&outside, 4), &outside));
    for (int i = 0; i < 4; i++) {
        WORKS(aclrtUnmapMem(mirror + (size_t)i * GRANULE));
    }
    cr_assert(eq(ptr, (void *)rp_vmm_home(mirror, 4), mirror)); // no alias is left
}

Test(virtual_memory, memory_of_the_host, .init = on_device)
{
    aclrtPhysicalMemProp host = prop;
    aclrtDrvMemHandle handle;
    aclrtPtrAttributes attributes;
    host.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    host.memAttr = ACL_DDR_MEM_HUGE;
    uint8_t *range = reserve(1);
    WORKS(aclrtMallocPhysical(&handle, GRANULE, &host, 0));
    WORKS(aclrtMapMem(range, GRANULE, 0, handle, 0));
    WORKS(aclrtPointerGetAttributes(range, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST));
}

Test(virtual_memory, handles_can_be_held_again, .init = on_device)
{
    uint8_t *range = reserve(1);
    aclrtDrvMemHandle handle = physical(1);
    aclrtDrvMemHandle again = NULL;
    aclrtPhysicalMemProp got;
    WORKS(aclrtMapMem(range, GRANULE, 0, handle, 0));
    WORKS(aclrtMemGetAllocationPropertiesFromHandle(handle, &got));
    cr_assert(eq(int, got.memAttr, ACL_HBM_MEM_HUGE));
    WORKS(aclrtMemRetainAllocationHandle(range + 100, &again));
    cr_assert(eq(ptr, again, handle));
    WORKS(aclrtFreePhysical(handle));
    WORKS(aclrtMemGetAllocationPropertiesFromHandle(again, &got));
    WORKS(aclrtFreePhysical(again)); // once more
    ANSWERS(107017, aclrtFreePhysical(again));
    ANSWERS(107017, aclrtMemGetAllocationPropertiesFromHandle(again, &got));
    WORKS(aclrtMemRetainAllocationHandle(range, &again)); // while it is mapped it can be had again
    WORKS(aclrtUnmapMem(range));
    ANSWERS(107000, aclrtMemRetainAllocationHandle(range, &again));
    WORKS(aclrtMapMem(range, GRANULE, 0, handle, 0));
    WORKS(aclrtUnmapMem(range));
    WORKS(aclrtFreePhysical(handle));
}

Test(virtual_memory, codes_of_reserving_and_allocating, .init = on_device)
{
    void *range;
    aclrtDrvMemHandle handle;
    aclrtPhysicalMemProp bad = prop;
    size_t granularity;
    ANSWERS(100000, aclrtReserveMemAddress(NULL, GRANULE, 0, NULL, 0));
    ANSWERS(100000, aclrtReserveMemAddress(&range, 0, 0, NULL, 0));
    ANSWERS(100000, aclrtReserveMemAddress(&range, GRANULE, 0, NULL, 2));
    ANSWERS(107000, aclrtReserveMemAddress(&range, GRANULE, 4096, NULL, 0));
    ANSWERS(207001, aclrtReserveMemAddress(&range, SIZE_MAX / 2, 0, NULL, 0));
    ANSWERS(207001, aclrtReserveMemAddress(&range, SIZE_MAX, 0, NULL, 0));
    WORKS(aclrtReserveMemAddressNoUCMemory(&range, 1, 0, (void *)0x1000, 0)); // rounded up
    ANSWERS(100000, aclrtReleaseMemAddress(NULL));
    ANSWERS(107000, aclrtReleaseMemAddress((uint8_t *)range + GRANULE / 2));
    ANSWERS(100000, aclrtMallocPhysical(NULL, GRANULE, &prop, 0));
    ANSWERS(100000, aclrtMallocPhysical(&handle, GRANULE, NULL, 0));
    ANSWERS(100000, aclrtMallocPhysical(&handle, 0, &prop, 0));
    ANSWERS(100000, aclrtMallocPhysical(&handle, GRANULE, &prop, 1));
    ANSWERS(107000, aclrtMallocPhysical(&handle, GRANULE + 1, &prop, 0));
    ANSWERS(207001, aclrtMallocPhysical(&handle, 200 * GRANULE, &prop, 0));
    bad.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
    ANSWERS(100000, aclrtMallocPhysical(&handle, GRANULE, &bad, 0));
    bad = prop;
    bad.location.type = ACL_MEM_LOCATION_TYPE_MANAGED;
    ANSWERS(100000, aclrtMallocPhysical(&handle, GRANULE, &bad, 0));
    bad = prop;
    bad.location.id = 8;
    ANSWERS(107001, aclrtMallocPhysical(&handle, GRANULE, &bad, 0));
    bad = prop;
    bad.memAttr = ACL_DDR_MEM_HUGE; // not on a device
    ANSWERS(100000, aclrtMallocPhysical(&handle, GRANULE, &bad, 0));
    ANSWERS(100000, aclrtMemGetAllocationGranularity(&bad, 0, &granularity));
    bad.memAttr = (aclrtMemAttr)99;
    ANSWERS(100000, aclrtMallocPhysical(&handle, GRANULE, &bad, 0));
    bad = prop;
    ANSWERS(107000,
            aclrtMemGetAllocationGranularity(&bad, (aclrtMemGranularityOptions)5, &granularity));
    ANSWERS(100000, aclrtMemGetAllocationGranularity(&bad, 0, NULL));
    ANSWERS(100000, aclrtMemGetAllocationGranularity(NULL, 0, &granularity));
}

Test(virtual_memory, promised_memory_is_counted, .init = on_device)
{
    aclrtDrvMemHandle handles[4];
    aclrtDrvMemHandle more;
    size_t free_bytes;
    size_t total;
    WORKS(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
    const size_t quarter = free_bytes / 4 / GRANULE * GRANULE;
    for (int i = 0; i < 4; i++) {
        WORKS(aclrtMallocPhysical(&handles[i], quarter, &prop, 0));
    }
    ANSWERS(207001, aclrtMallocPhysical(&more, quarter, &prop, 0));
    WORKS(aclrtFreePhysical(handles[2]));
    WORKS(aclrtMallocPhysical(&handles[2], quarter, &prop, 0));
}

Test(virtual_memory, codes_of_mapping, .init = on_device)
{
    uint8_t *range = reserve(4);
    aclrtDrvMemHandle handle = physical(2);
    int foreign;
    ANSWERS(100000, aclrtMapMem(NULL, 2 * GRANULE, 0, handle, 0));
    ANSWERS(100000, aclrtMapMem(range, 2 * GRANULE, 0, NULL, 0));
    ANSWERS(100000, aclrtMapMem(range, 0, 0, handle, 0));
    ANSWERS(100000, aclrtMapMem(range, 2 * GRANULE, 0, handle, 1));
    ANSWERS(107000, aclrtMapMem(range, 2 * GRANULE, GRANULE, handle, 0));
    ANSWERS(107017, aclrtMapMem(range, 2 * GRANULE, 0, &foreign, 0));
    ANSWERS(107000, aclrtMapMem(range, GRANULE, 0, handle, 0)); // not the handle's size
    ANSWERS(107000, aclrtMapMem(range + 4096, 2 * GRANULE, 0, handle, 0));
    ANSWERS(107000, aclrtMapMem(range + 3 * GRANULE, 2 * GRANULE, 0, handle, 0));
    ANSWERS(107000, aclrtMapMem(&foreign, 2 * GRANULE, 0, handle, 0));
    WORKS(aclrtMapMem(range, 2 * GRANULE, 0, handle, 0));
    ANSWERS(107000, aclrtMapMem(range + GRANULE, 2 * GRANULE, 0, handle, 0)); // overlaps
    ANSWERS(107000, aclrtUnmapMem(range + GRANULE));                          // not its start
    ANSWERS(107000, aclrtUnmapMem(range + 3 * GRANULE));
    ANSWERS(107000, aclrtUnmapMem(&foreign));
    ANSWERS(100000, aclrtUnmapMem(NULL));
    WORKS(aclrtUnmapMem(range));
    ANSWERS(107000, aclrtUnmapMem(range));
    ANSWERS(100000, aclrtFreePhysical(NULL));
    ANSWERS(107017, aclrtFreePhysical(&foreign));
    WORKS(aclrtFreePhysical(handle));
    ANSWERS(107017, aclrtFreePhysical(handle));
    ANSWERS(107017, aclrtMapMem(range, 2 * GRANULE, 0, handle, 0));
}

Test(virtual_memory, every_failing_allocation_is_survived, .init = on_device, .timeout = 60)
{
    const size_t before = used();
    for (int64_t n = 0;; n++) {
        void *range = NULL;
        aclrtDrvMemHandle handle = NULL;
        rp_alloc_fail_after(n);
        int answer = aclrtReserveMemAddress(&range, 2 * GRANULE, 0, NULL, 0);
        answer = answer != 0 ? answer : aclrtMallocPhysical(&handle, GRANULE, &prop, 0);
        answer = answer != 0 ? answer : aclrtMapMem(range, GRANULE, 0, handle, 0);
        const bool over = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(answer == 0 || answer == 207001, "%d", answer);
        if (answer == 0) {
            WORKS(aclrtUnmapMem(range));
        }
        if (handle != NULL) {
            WORKS(aclrtFreePhysical(handle));
        }
        if (range != NULL) {
            WORKS(aclrtReleaseMemAddress(range));
        }
        cr_assert(eq(sz, used(), before));
        if (over) {
            cr_assert(ge(i64, n, 3));
            break;
        }
    }
}

static void *churn(void *arg)
{
    uintptr_t bad = aclrtSetDevice(0) != 0;
    void *range;
    bad |= aclrtReserveMemAddress(&range, 4 * GRANULE, 0, NULL, 0) != 0;
    for (int i = 0; i < 40; i++) {
        aclrtDrvMemHandle handle;
        uint8_t *at = (uint8_t *)range + (size_t)(i % 4) * GRANULE;
        bad |= aclrtMallocPhysical(&handle, GRANULE, &prop, 0) != 0;
        bad |= aclrtMapMem(at, GRANULE, 0, handle, 0) != 0;
        at[7] = (uint8_t)(uintptr_t)arg;
        bad |= at[7] != (uint8_t)(uintptr_t)arg;
        bad |= aclrtUnmapMem(at) != 0;
        bad |= aclrtFreePhysical(handle) != 0;
    }
    bad |= aclrtReleaseMemAddress(range) != 0;
    return (void *)bad;
}

Test(virtual_memory, threads, .init = on_device, .timeout = 60)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) {
        cr_assert(eq(int, pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0));
    }
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        cr_assert(eq(ptr, bad, NULL));
    }
}
