// Questions about devices, numbering, cores, peers, settings of the process.

#include <string.h>
#include <unistd.h>

#include "support/acl_test.h"

Test(device_api, there_are_eight_unless_the_environment_says_otherwise)
{
    uint32_t count;
    aclrtRunMode mode;
    WORKS(aclrtGetDeviceCount(&count));
    cr_assert(eq(u32, count, 8));
    ANSWERS(100000, aclrtGetDeviceCount(NULL));
    WORKS(aclrtGetRunMode(&mode));
    cr_assert(eq(int, mode, ACL_HOST));
    ANSWERS(100000, aclrtGetRunMode(NULL));
}

Test(device_api, the_environment_sets_the_count)
{
    uint32_t count;
    setenv("REPRISE_DEVICE_COUNT", "3", 1);
    WORKS(aclrtGetDeviceCount(&count));
    cr_assert(eq(u32, count, 3));
    ANSWERS(107001, aclrtSetDevice(3));
}

Test(device_api, visible_devices_are_numbered_anew, .init = small_device)
{
    uint32_t count;
    int32_t id;
    setenv("ASCEND_RT_VISIBLE_DEVICES", "2,5,6", 1);
    WORKS(aclrtGetDeviceCount(&count));
    cr_assert(eq(u32, count, 3));
    WORKS(aclrtSetDevice(2));
    ANSWERS(107001, aclrtSetDevice(3));
    WORKS(aclrtGetDevice(&id));
    cr_assert(eq(int, id, 2));
    WORKS(aclrtGetLogicDevIdByUserDevId(1, &id));
    cr_assert(eq(int, id, 5));
    WORKS(aclrtGetPhyDevIdByUserDevId(2, &id));
    cr_assert(eq(int, id, 6));
    WORKS(aclrtGetUserDevIdByLogicDevId(5, &id));
    cr_assert(eq(int, id, 1));
    WORKS(aclrtGetUserDevIdByPhyDevId(2, &id));
    cr_assert(eq(int, id, 0));
    WORKS(aclrtGetLogicDevIdByPhyDevId(7, &id));
    cr_assert(eq(int, id, 7));
    WORKS(aclrtGetPhyDevIdByLogicDevId(3, &id));
    cr_assert(eq(int, id, 3));
    ANSWERS(107001, aclrtGetUserDevIdByPhyDevId(3, &id)); // not visible
    ANSWERS(107001, aclrtGetLogicDevIdByUserDevId(3, &id));
    ANSWERS(107001, aclrtGetPhyDevIdByLogicDevId(8, &id));
    ANSWERS(107001, aclrtGetPhyDevIdByLogicDevId(-1, &id));
    ANSWERS(100000, aclrtGetLogicDevIdByUserDevId(0, NULL));
    ANSWERS(100000, aclrtGetUserDevIdByLogicDevId(0, NULL));
}

Test(device_api, attributes, .init = small_device)
{
    int64_t value;
    const struct {
        aclrtDevAttr attr;
        int64_t value;
    } rows[] = {
        { ACL_DEV_ATTR_AICORE_CORE_NUM, 24 },
        { ACL_DEV_ATTR_CUBE_CORE_NUM, 24 },
        { ACL_DEV_ATTR_VECTOR_CORE_NUM, 48 },
        { ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE, 192 * 1024 },
        { ACL_DEV_ATTR_L2_CACHE_SIZE, 192 << 20 },
        { ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, 256 << 20 },
        { ACL_DEV_ATTR_PHY_CHIP_ID, 1 },
        { ACL_DEV_ATTR_IS_VIRTUAL, 0 },
        { ACL_DEV_ATTR_NPU_ARCH, 2201 },
        { ACL_DEV_ATTR_HD_CONNECT_TYPE, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        WORKS(aclrtGetDeviceInfo(1, rows[i].attr, &value));
        cr_assert(eq(i64, value, rows[i].value), "attribute %d", rows[i].attr);
    }
    WORKS(aclrtSetDevice(1));
    WORKS(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
    cr_assert(eq(i64, value, 256 << 20)); // the same once it is in use
    ANSWERS(100000, aclrtGetDeviceInfo(1, ACL_DEV_ATTR_SMP_ID, NULL));
    ANSWERS(107000, aclrtGetDeviceInfo(8, ACL_DEV_ATTR_SMP_ID, &value));
    ANSWERS(107000, aclrtGetDeviceInfo(1, (aclrtDevAttr)999, &value));
    ANSWERS(207000, aclrtGetDeviceInfo(1, ACL_DEV_ATTR_WARP_SIZE, &value));
    WORKS(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
    cr_assert(eq(i64, value, 48));
    ANSWERS(100000, aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &value));
    ANSWERS(100000, aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, NULL));
}

Test(device_api, features_and_status)
{
    int32_t value;
    aclrtDeviceStatus status;
    WORKS(aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &value));
    cr_assert(eq(int, value, ACL_DEV_FEATURE_NOT_SUPPORT));
    ANSWERS(107000, aclrtGetDeviceCapability(0, (aclrtDevFeatureType)77, &value));
    ANSWERS(107001, aclrtGetDeviceCapability(9, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &value));
    ANSWERS(100000, aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, NULL));
    WORKS(aclrtQueryDeviceStatus(0, &status));
    cr_assert(eq(int, status, ACL_RT_DEVICE_STATUS_NORMAL));
    ANSWERS(107001, aclrtQueryDeviceStatus(8, &status));
    ANSWERS(100000, aclrtQueryDeviceStatus(0, NULL));
}

Test(device_api, identity)
{
    aclrtUuid a;
    aclrtUuid again;
    aclrtUuid b;
    char pci[13];
    int32_t id;
    WORKS(aclrtDeviceGetUuid(0, &a));
    WORKS(aclrtDeviceGetUuid(0, &again));
    WORKS(aclrtDeviceGetUuid(1, &b));
    cr_assert(eq(int, memcmp(&a, &again, sizeof(a)), 0));
    cr_assert(ne(int, memcmp(&a, &b, sizeof(a)), 0));
    ANSWERS(107001, aclrtDeviceGetUuid(8, &a));
    ANSWERS(100000, aclrtDeviceGetUuid(0, NULL));
    WORKS(aclrtDeviceGetPCIBusId(7, pci, sizeof(pci)));
    cr_assert(eq(str, pci, "0000:07:00.0"));
    WORKS(aclrtDeviceGetByPCIBusId(pci, &id));
    cr_assert(eq(int, id, 7));
    ANSWERS(107000, aclrtDeviceGetPCIBusId(7, pci, 12));
    ANSWERS(100000, aclrtDeviceGetPCIBusId(7, NULL, 13));
    ANSWERS(107001, aclrtDeviceGetPCIBusId(8, pci, 13));
    ANSWERS(107000, aclrtDeviceGetByPCIBusId("0000:ff:00.0", &id));
    ANSWERS(100000, aclrtDeviceGetByPCIBusId(NULL, &id));
    WORKS(aclrtDeviceGetBareTgid(&id));
    cr_assert(eq(int, id, getpid()));
    ANSWERS(100000, aclrtDeviceGetBareTgid(NULL));
}

Test(device_api, load, .init = on_device)
{
    aclrtUtilizationInfo info = { 0 };
    void *memory;
    WORKS(aclrtMalloc(&memory, 128 << 20, ACL_MEM_MALLOC_NORMAL_ONLY));
    WORKS(aclrtGetDeviceUtilizationRate(0, &info));
    cr_assert(all(ge(int, info.memoryUtilization, 50), le(int, info.memoryUtilization, 100)));
    cr_assert(eq(int, info.cubeUtilization, -1));
    WORKS(aclrtGetDeviceUtilizationRate(5, &info));
    cr_assert(eq(int, info.memoryUtilization, 0));
    ANSWERS(100000, aclrtGetDeviceUtilizationRate(0, NULL));
    ANSWERS(107001, aclrtGetDeviceUtilizationRate(8, &info));
    info.utilizationExtend = (aclrtUtilizationExtendInfo *)&info;
    ANSWERS(100000, aclrtGetDeviceUtilizationRate(0, &info));
}

Test(device_api, peers, .init = on_device)
{
    int32_t value = -1;
    uint64_t topology;
    WORKS(aclrtDeviceCanAccessPeer(&value, 0, 1));
    cr_assert(eq(int, value, 1));
    ANSWERS(100000, aclrtDeviceCanAccessPeer(&value, 1, 1));
    ANSWERS(100000, aclrtDeviceCanAccessPeer(NULL, 0, 1));
    ANSWERS(107001, aclrtDeviceCanAccessPeer(&value, 0, 8));
    WORKS(aclrtDevicePeerAccessStatus(0, 7, &value));
    cr_assert(eq(int, value, 0));
    WORKS(aclrtDeviceEnablePeerAccess(7, 0));
    WORKS(aclrtDevicePeerAccessStatus(0, 7, &value));
    cr_assert(eq(int, value, 1));
    WORKS(aclrtDevicePeerAccessStatus(7, 0, &value)); // one direction
    cr_assert(eq(int, value, 0));
    WORKS(aclrtDeviceDisablePeerAccess(7));
    WORKS(aclrtDevicePeerAccessStatus(0, 7, &value));
    cr_assert(eq(int, value, 0));
    ANSWERS(200006, aclrtDeviceEnablePeerAccess(7, 1));
    ANSWERS(100000, aclrtDeviceEnablePeerAccess(0, 0));
    ANSWERS(107001, aclrtDeviceEnablePeerAccess(8, 0));
    ANSWERS(100000, aclrtDeviceDisablePeerAccess(0));
    WORKS(aclrtGetDevicesTopo(0, 1, &topology));
    cr_assert(eq(u64, topology, ACL_RT_DEVS_TOPOLOGY_HCCS));
    ANSWERS(100000, aclrtGetDevicesTopo(0, 1, NULL));
}

Test(device_api, priorities_and_overflow_mode, .init = on_device)
{
    int32_t least;
    int32_t greatest;
    aclrtFloatOverflowMode mode;
    WORKS(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    cr_assert(all(eq(int, least, 7), eq(int, greatest, 0)));
    WORKS(aclrtDeviceGetStreamPriorityRange(NULL, NULL));
    WORKS(aclrtGetDeviceSatMode(&mode));
    cr_assert(eq(int, mode, ACL_RT_OVERFLOW_MODE_INFNAN));
    WORKS(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
    WORKS(aclrtGetDeviceSatMode(&mode));
    cr_assert(eq(int, mode, ACL_RT_OVERFLOW_MODE_SATURATION));
    ANSWERS(107000, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF));
    ANSWERS(100000, aclrtGetDeviceSatMode(NULL));
}

Test(device_api, limits_of_cores, .init = on_device)
{
    uint32_t value;
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 48));
    WORKS(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 10));
    WORKS(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 10));
    WORKS(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 4));
    WORKS(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 10)); // the stream's counts only once it is used
    WORKS(aclrtUseStreamResInCurrentThread(stream));
    WORKS(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 4));
    WORKS(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    cr_assert(eq(u32, value, 24));
    WORKS(aclrtUnuseStreamResInCurrentThread(stream));
    WORKS(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 10));
    WORKS(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 4));
    WORKS(aclrtResetStreamResLimit(stream));
    WORKS(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 10));
    WORKS(aclrtResetDeviceResLimit(0));
    WORKS(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    cr_assert(eq(u32, value, 48));
    ANSWERS(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 0));
    ANSWERS(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25));
    ANSWERS(107000, aclrtSetDeviceResLimit(0, (aclrtDevResLimitType)2, 1));
    ANSWERS(107001, aclrtSetDeviceResLimit(8, ACL_RT_DEV_RES_CUBE_CORE, 1));
    ANSWERS(100000, aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, NULL));
    ANSWERS(107000, aclrtGetResInCurrentThread((aclrtDevResLimitType)2, &value));
}

Test(device_api, timeouts)
{
    uint64_t interval;
    uint64_t actual;
    uint32_t ms;
    WORKS(aclrtGetOpTimeOutInterval(&interval));
    cr_assert(eq(u64, interval, 1000));
    WORKS(aclrtGetOpExecuteTimeout(&ms));
    cr_assert(eq(u32, ms, 1836000));
    WORKS(aclrtSetOpExecuteTimeOut(7));
    WORKS(aclrtGetOpExecuteTimeout(&ms));
    cr_assert(eq(u32, ms, 7000));
    WORKS(aclrtSetOpExecuteTimeOutWithMs(5));
    WORKS(aclrtGetOpExecuteTimeout(&ms));
    cr_assert(eq(u32, ms, 5));
    WORKS(aclrtSetOpExecuteTimeOutV2(1001, &actual));
    cr_assert(eq(u64, actual, 2000));
    WORKS(aclrtSetOpExecuteTimeOutV2(0, &actual)); // the longest
    cr_assert(ge(u64, actual, UINT64_C(1) << 40));
    ANSWERS(100000, aclrtSetOpExecuteTimeOutV2(1, NULL));
    ANSWERS(100000, aclrtGetOpExecuteTimeout(NULL));
    ANSWERS(100000, aclrtGetOpTimeOutInterval(NULL));
    WORKS(aclrtSetOpWaitTimeout(3));
}
