// Allocation and free, registered host memory, questions about memory.

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "support/acl_test.h"
#include "support/gate.h"

// ---- allocation ----

Test(device_memory, every_policy_and_size_is_aligned_and_usable, .init = on_device)
{
    const size_t sizes[] = { 1, 31, 32, 33, 63, 64, 4095, 4096, 4097, 1 << 20, (2 << 20) + 1 };
    for (int policy = ACL_MEM_MALLOC_HUGE_FIRST; policy <= 99; policy += policy < 7 ? 1 : 92) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            void *memory = NULL;
            WORKS(aclrtMalloc(&memory, sizes[i], (aclrtMemMallocPolicy)policy));
            cr_assert(eq(sz, (uintptr_t)memory % 64, 0));
            memset(memory, 0x5a, sizes[i] + 32); // what kernels may read beyond the end
            WORKS(aclrtFree(memory));
        }
    }
}

Test(device_memory, the_other_allocators, .init = on_device)
{
    void *memory;
    aclrtMallocAttribute attributes[] = {
        { .attr = ACL_RT_MEM_ATTR_MODULE_ID, .value.moduleId = 3 },
        { .attr = ACL_RT_MEM_ATTR_DEVICE_ID, .value.deviceId = 0 },
        { .attr = ACL_RT_MEM_ATTR_VA_FLAG, .value.vaFlag = 1 },
    };
    aclrtMallocConfig config = { attributes, 3 };
    WORKS(aclrtMallocAlign32(&memory, 100, ACL_MEM_MALLOC_NORMAL_ONLY));
    WORKS(aclrtFree(memory));
    WORKS(aclrtMallocCached(&memory, 100, ACL_MEM_MALLOC_NORMAL_ONLY));
    WORKS(aclrtFree(memory));
    WORKS(aclrtMallocWithCfg(&memory, 100,
            (aclrtMemMallocPolicy)(ACL_MEM_MALLOC_HUGE_ONLY | ACL_MEM_TYPE_HIGH_BAND_WIDTH),
            &config));
    WORKS(aclrtFree(memory));
    WORKS(aclrtMallocForTaskScheduler(&memory, 100, ACL_MEM_MALLOC_HUGE_ONLY, NULL));
    WORKS(aclrtFree(memory));
    WORKS(aclrtMallocHost(&memory, 100));
    cr_assert(eq(sz, (uintptr_t)memory % 64, 0));
    WORKS(aclrtFreeHost(memory));
    WORKS(aclrtMallocHostWithCfg(&memory, 100, &config));
    WORKS(aclrtFreeHost(memory));
}

Test(device_memory, bad_requests, .init = on_device)
{
    void *memory = NULL;
    aclrtMallocAttribute attribute = { .attr = (aclrtMallocAttrType)77 };
    aclrtMallocConfig config = { NULL, 1 };
    ANSWERS(100000, aclrtMalloc(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtMalloc(&memory, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtMallocAlign32(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtMallocCached(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtMallocHost(NULL, 64));
    ANSWERS(100000, aclrtMallocHost(&memory, 0));
    ANSWERS(100000, aclrtMallocWithCfg(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    ANSWERS(100000, aclrtMallocWithCfg(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    ANSWERS(100000, aclrtMallocWithCfg(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    ANSWERS(107000, aclrtMallocWithCfg(&memory, 64, (aclrtMemMallocPolicy)9, NULL));
    config.attrs = &attribute;
    ANSWERS(107000, aclrtMallocWithCfg(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    attribute = (aclrtMallocAttribute){ .attr = ACL_RT_MEM_ATTR_DEVICE_ID, .value.deviceId = 8 };
    ANSWERS(107001, aclrtMallocWithCfg(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    attribute.value.deviceId = 5; // not in use
    ANSWERS(107001, aclrtMallocWithCfg(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    attribute = (aclrtMallocAttribute){ .attr = ACL_RT_MEM_ATTR_VA_FLAG, .value.vaFlag = 2 };
    ANSWERS(107000, aclrtMallocHostWithCfg(&memory, 64, &config));
    cr_assert(eq(ptr, memory, NULL));
}

Test(device_memory, too_much_is_an_error_and_no_crash, .init = on_device)
{
    void *memory = NULL;
    void *more = NULL;
    ANSWERS(207001, aclrtMalloc(&memory, (size_t)1 << 40, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMalloc(&memory, 200 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(207001, aclrtMalloc(&more, 100 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(207001, aclrtMallocHost(&more, 100 << 20));
    WORKS(aclrtFree(memory));
    WORKS(aclrtMalloc(&more, 100 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtFree(more));
}

Test(device_memory, what_cannot_be_freed, .init = on_device)
{
    uint8_t *memory;
    uint8_t *host;
    int foreign;
    WORKS(aclrtMalloc((void **)&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMallocHost((void **)&host, 4096));
    ANSWERS(100000, aclrtFree(NULL));
    ANSWERS(100000, aclrtFreeHost(NULL));
    ANSWERS(100000, aclrtFreeWithDevSync(NULL));
    ANSWERS(100000, aclrtFreeHostWithDevSync(NULL));
    ANSWERS(107000, aclrtFree(&foreign));
    ANSWERS(107000, aclrtFreeHost(&foreign));
    ANSWERS(107000, aclrtFree(memory + 64));
    ANSWERS(107000, aclrtFree(host));
    ANSWERS(107000, aclrtFreeHost(memory));
    WORKS(aclrtFree(memory));
    ANSWERS(107000, aclrtFree(memory));
    WORKS(aclrtFreeHost(host));
    ANSWERS(107000, aclrtFreeHost(host));
}

Test(device_memory, synced_free_waits_for_the_device, .init = on_device, .timeout = 30)
{
    static struct gate gate;
    aclrtStream stream;
    void *memory;
    void *host;
    gate_init(&gate);
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMallocHost(&host, 1 << 20));
    WORKS(gate_put(&gate, stream));
    WORKS(aclrtMemsetAsync(memory, 1 << 20, 7, 1 << 20, stream));
    gate_open(&gate);
    WORKS(aclrtFreeWithDevSync(memory));
    cr_assert(eq(int, gate.reached, 1));
    WORKS(aclrtFreeHostWithDevSync(host));
}

static void *churn(void *arg)
{
    uintptr_t bad = aclrtSetDevice(0) != 0;
    for (int i = 0; i < 500; i++) {
        const size_t size = (size_t)(i * 37 % 100000) + 1;
        uint8_t *memory;
        if (aclrtMalloc((void **)&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
            bad = 1;
            break;
        }
        memset(memory, (int)(uintptr_t)arg, size);
        bad |= memory[size - 1] != (uint8_t)(uintptr_t)arg;
        bad |= aclrtFree(memory) != 0;
    }
    return (void *)bad;
}

Test(device_memory, threads_allocate_and_free, .init = on_device, .timeout = 60)
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

// ---- questions ----

Test(device_memory, how_much_there_is, .init = on_device)
{
    size_t free_before;
    size_t free_after;
    size_t total;
    void *memory;
    WORKS(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    cr_assert(eq(sz, total, 256 << 20));
    cr_assert(le(sz, free_before, total));
    WORKS(aclrtMalloc(&memory, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free_after, &total));
    cr_assert(le(sz, free_after, total - (64 << 20)));
    for (int attr = ACL_DDR_MEM; attr <= ACL_MEM_P2P_HUGE1G; attr++) {
        WORKS(aclrtGetMemInfo((aclrtMemAttr)attr, &free_after, &total));
    }
    WORKS(aclrtGetMemInfo(ACL_DDR_MEM, &free_after, &total)); // this chip has none
    cr_assert(all(eq(sz, free_after, 0), eq(sz, total, 0)));
    ANSWERS(107016, aclrtGetMemInfo((aclrtMemAttr)18, &free_after, &total));
    ANSWERS(107016, aclrtGetMemInfo((aclrtMemAttr)-1, &free_after, &total));
    ANSWERS(100000, aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total));
    ANSWERS(100000, aclrtGetMemInfo(ACL_HBM_MEM, &free_after, NULL));
}

Test(device_memory, small_chips_answer_for_ddr, .init = small_device)
{
    size_t free_bytes;
    size_t total;
    setenv("REPRISE_SOC_NAME", "Ascend310P3", 1);
    WORKS(aclrtSetDevice(0));
    WORKS(aclrtGetMemInfo(ACL_DDR_MEM, &free_bytes, &total));
    cr_assert(eq(sz, total, 256 << 20));
}

Test(device_memory, usage_and_its_peak, .init = on_device)
{
    aclrtMemUsageInfo usage[2];
    size_t count = 0;
    void *memory;
    WORKS(aclrtMalloc(&memory, 32 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtGetMemUsageInfo(0, usage, 2, &count));
    cr_assert(eq(sz, count, 1));
    cr_assert(ge(u64, usage[0].curMemSize, 32 << 20));
    WORKS(aclrtFree(memory));
    WORKS(aclrtGetMemUsageInfo(0, usage, 2, &count));
    cr_assert(lt(u64, usage[0].curMemSize, 32 << 20));
    cr_assert(ge(u64, usage[0].memPeakSize, 32 << 20));
    WORKS(aclrtGetMemUsageInfo(3, usage, 2, &count)); // not in use
    cr_assert(eq(u64, usage[0].memPeakSize, 0));
    ANSWERS(107001, aclrtGetMemUsageInfo(8, usage, 2, &count));
    ANSWERS(107000, aclrtGetMemUsageInfo(0, usage, 0, &count));
    ANSWERS(100000, aclrtGetMemUsageInfo(0, NULL, 2, &count));
    ANSWERS(100000, aclrtGetMemUsageInfo(0, usage, 2, NULL));
}

Test(device_memory, what_an_address_belongs_to, .init = on_device)
{
    aclrtPtrAttributes attributes;
    uint8_t *memory;
    uint8_t *host;
    int pageable;
    void *base;
    size_t size;
    WORKS(aclrtSetDevice(2));
    WORKS(aclrtMalloc((void **)&memory, 100000, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMallocHost((void **)&host, 100000));
    WORKS(aclrtPointerGetAttributes(memory + 5, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE));
    cr_assert(eq(u32, attributes.location.id, 2));
    cr_assert(ge(u32, attributes.pageSize, 4096));
    WORKS(aclrtPointerGetAttributes(host, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST));
    WORKS(aclrtPointerGetAttributes(&pageable, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED));
    ANSWERS(100000, aclrtPointerGetAttributes(NULL, &attributes));
    ANSWERS(100000, aclrtPointerGetAttributes(memory, NULL));
    WORKS(aclrtMemGetAddressRange(memory + 77, &base, &size));
    cr_assert(eq(ptr, base, memory));
    cr_assert(ge(sz, size, 100000));
    ANSWERS(107000, aclrtMemGetAddressRange(&pageable, &base, &size));
    ANSWERS(100000, aclrtMemGetAddressRange(NULL, &base, &size));
    WORKS(aclrtFree(memory));
    WORKS(aclrtPointerGetAttributes(memory, &attributes)); // nobody's any more
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED));
}

Test(device_memory, types_of_addresses, .init = on_device)
{
    void *list[2];
    uint32_t result = 7;
    WORKS(aclrtMalloc(&list[0], 64, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMalloc(&list[1], 64, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    cr_assert(eq(u32, result, 1));
    WORKS(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DVPP, &result, 0));
    cr_assert(eq(u32, result, 0));
    list[1] = &result;
    WORKS(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    cr_assert(eq(u32, result, 0));
    ANSWERS(100000, aclrtCheckMemType(NULL, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    ANSWERS(100000, aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, NULL, 0));
    ANSWERS(107000, aclrtCheckMemType(list, 0, ACL_RT_MEM_TYPE_DEV, &result, 0));
    ANSWERS(107000, aclrtCheckMemType(list, 2, 0, &result, 0));
    ANSWERS(107000, aclrtCheckMemType(list, 2, 0x100, &result, 0));
    ANSWERS(107000, aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 1));
}

// ---- registered host memory ----

static _Alignas(4096) uint8_t area[4 * 4096];

Test(device_memory, registered_memory_is_host_memory, .init = on_device)
{
    void *device = NULL;
    aclrtPtrAttributes attributes;
    WORKS(aclrtHostRegister(area, 8192, ACL_HOST_REGISTER_MAPPED, &device));
    cr_assert(ne(ptr, device, NULL));
    ((uint8_t *)device)[5] = 99;
    cr_assert(eq(u8, area[5], 99));
    WORKS(aclrtPointerGetAttributes(area + 8191, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST));
    WORKS(aclrtPointerGetAttributes(area + 8192, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED));
    device = NULL;
    WORKS(aclrtHostGetDevicePointer(area + 100, &device, 0));
    cr_assert(eq(ptr, device, area + 100));
    WORKS(aclrtHostUnregister(area));
    WORKS(aclrtPointerGetAttributes(area, &attributes));
    cr_assert(eq(int, attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED));
}

Test(device_memory, codes_of_registering, .init = on_device)
{
    void *device;
    void *pinned;
    void *memory;
    WORKS(aclrtMallocHost(&pinned, 4096));
    WORKS(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtHostRegister(NULL, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    ANSWERS(100000, aclrtHostRegister(area, 0, ACL_HOST_REGISTER_MAPPED, &device));
    ANSWERS(100000, aclrtHostRegister(area, 4096, ACL_HOST_REGISTER_MAPPED, NULL));
    ANSWERS(107000, aclrtHostRegister(area + 1, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    ANSWERS(107000, aclrtHostRegister(area, UINT64_MAX, ACL_HOST_REGISTER_MAPPED, &device));
    ANSWERS(107000, aclrtHostRegister(memory, 4096, ACL_HOST_REGISTER_MAPPED, &device));
    ANSWERS(207000, aclrtHostRegister(area, 4096, ACL_HOST_REGISTER_IOMEMORY, &device));
    ANSWERS(207000, aclrtHostRegister(area, 4096, ACL_HOST_REGISTER_READONLY, &device));
    ANSWERS(107000, aclrtHostRegisterV2(area, 4096, 0));
    ANSWERS(107000, aclrtHostRegisterV2(area, 4096, 0x40));
    ANSWERS(207000, aclrtHostRegisterV2(area, 4096, ACL_HOST_REG_IOMEMORY));
    WORKS(aclrtHostRegisterV2(area, 8192, ACL_HOST_REG_PINNED));
    ANSWERS(507910, aclrtHostRegisterV2(area, 4096, ACL_HOST_REG_PINNED));
    ANSWERS(507910, aclrtHostRegister(area + 4096, 8192, ACL_HOST_REGISTER_MAPPED, &device));
    WORKS(aclrtHostRegister(area + 8192, 4096, ACL_HOST_REGISTER_MAPPED, &device)); // beside it
    ANSWERS(507911, aclrtHostGetDevicePointer(area, &device, 0)); // pinned, not mapped
    ANSWERS(100000, aclrtHostGetDevicePointer(NULL, &device, 0));
    ANSWERS(100000, aclrtHostGetDevicePointer(area, NULL, 0));
    ANSWERS(100000, aclrtHostGetDevicePointer(area, &device, 1));
    ANSWERS(507910, aclrtHostRegisterV2(pinned, 4096, ACL_HOST_REG_PINNED));
    ANSWERS(507911, aclrtHostUnregister(area + 4096)); // not its start
    WORKS(aclrtHostUnregister(area));
    ANSWERS(507911, aclrtHostUnregister(area));
    ANSWERS(100000, aclrtHostUnregister(NULL));
}
