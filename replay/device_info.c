// What a device is: attributes, capabilities, identity, load.

#include <acl/acl_rt.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/cores.h"
#include "replay/device.h"
#include "replay/primary.h"
#include "transport/arena.h"
#include "transport/arena_limits.h"

#define NPU_ARCH_A2 2201 // what the kernels' compiler calls the architecture
#define PCI_ID_BYTES 13  // "0000:3d:00.0" and the zero

// ---- attributes ----

// Of the device in use, or as it would be made.
static rp_status total_memory(int32_t id, int64_t *out)
{
    struct rp_device *device;
    if (rp_device_peek(id) != NULL && rp_device_ref(id, &device) == RP_OK) {
        struct rp_arena_info info;
        rp_arena_query(rp_device_arena(device), &info);
        *out = (int64_t)info.total_bytes;
        rp_device_unref(device);
        return RP_OK;
    }
    struct rp_arena_size size;
    const rp_status st = rp_arena_choose_size(id, &size);
    if (st == RP_OK) {
        *out = (int64_t)size.total_bytes;
    }
    return st;
}

static rp_status get_attribute(int32_t id, aclrtDevAttr attr, int64_t *value)
{
    const struct rp_chip *chip = rp_chip();
    switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
        *value = chip->aicpu_cores;
        return RP_OK;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
        *value = chip->cube_cores;
        return RP_OK;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
        *value = chip->vector_cores;
        return RP_OK;
    case ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE:
        *value = (int64_t)chip->vector_local_bytes;
        return RP_OK;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
        return total_memory(id, value);
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
        *value = (int64_t)chip->l2_bytes;
        return RP_OK;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_MAINBOARD_ID:
        *value = 0;
        return RP_OK;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
        *value = rp_env_device()->visible.id[id];
        return RP_OK;
    case ACL_DEV_ATTR_HD_CONNECT_TYPE:
        *value = ACL_HOST_DEVICE_CONNECT_TYPE_PCIE;
        return RP_OK;
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
        *value = ACL_DEVICE_FORM_FACTOR_PCIE_CARD;
        return RP_OK;
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_IS_VIRTUAL: // not a slice of a larger device
        *value = 0;
        return RP_OK;
    case ACL_DEV_ATTR_NPU_ARCH:
        *value = NPU_ARCH_A2;
        return RP_OK;
    case ACL_DEV_ATTR_WARP_SIZE:
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_MAX_GRID_DIM_X:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Y:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Z:
    case ACL_DEV_ATTR_MAX_BLOCK_PER_GRID:
    case ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_X:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Y:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Z:
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
        return rp_fail(RP_ENOTSUP, "attribute %d: this chip has no such thing", (int)attr);
    }
    return rp_fail(RP_EPARAM, "attr is %d; there is no such attribute", (int)attr);
}

static rp_status get_info(uint32_t id, aclrtDevAttr attr, int64_t *value)
{
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    if (id >= rp_device_count()) {
        return rp_fail(RP_EPARAM, "device id %u is not in 0 .. %u", id, rp_device_count() - 1);
    }
    return get_attribute((int32_t)id, attr, value);
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_info(deviceId, attr, value) : st);
}

static rp_status get_old_info(uint32_t id, aclDeviceInfo info, int64_t *value)
{
    static const aclrtDevAttr attrs[] = {
        [ACL_DEVICE_INFO_AI_CORE_NUM] = ACL_DEV_ATTR_AICORE_CORE_NUM,
        [ACL_DEVICE_INFO_VECTOR_CORE_NUM] = ACL_DEV_ATTR_VECTOR_CORE_NUM,
        [ACL_DEVICE_INFO_L2_SIZE] = ACL_DEV_ATTR_L2_CACHE_SIZE,
    };
    if (value != NULL && ((int)info < 0 || (size_t)info >= RP_ARRAY_LENGTH(attrs))) {
        return rp_fail(RP_EINVAL, "deviceInfo is %d; there is no such number", (int)info);
    }
    return get_info(id, value == NULL ? ACL_DEV_ATTR_L2_CACHE_SIZE : attrs[info], value);
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_old_info(deviceId, deviceInfo, value) : st);
}

static rp_status get_feature(int32_t id, aclrtDevFeatureType feature, int32_t *value)
{
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    if (feature != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
            feature != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
        return rp_fail(RP_EPARAM, "devFeatureType is %d; there is no such feature", (int)feature);
    }
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        *value = ACL_DEV_FEATURE_NOT_SUPPORT; // neither makes sense without the chip's firmware
    }
    return st;
}

aclError aclrtGetDeviceCapability(
        int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_feature(deviceId, devFeatureType, value) : st);
}

// ---- identity ----

// What is the same in every process of this machine and on no other.
static void read_machine(char *out, size_t bytes)
{
    const char *node = rp_env_device()->node_id;
    if (node[0] != '\0') {
        rp_text_copy(out, bytes, node);
        return;
    }
    out[0] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(out, (int)bytes, file) == NULL) {
            out[0] = '\0';
        }
        fclose(file);
    }
}

static rp_status get_uuid(int32_t id, aclrtUuid *uuid)
{
    struct {
        char machine[RP_ENV_NAME_MAX];
        uint32_t device;
    } name = { .device = 0 };
    if (uuid == NULL) {
        return rp_fail(RP_ENULL, "uuid is a null pointer");
    }
    const rp_status st = rp_device_check_id(id);
    if (st != RP_OK) {
        return st;
    }
    read_machine(name.machine, sizeof(name.machine));
    name.device = rp_env_device()->visible.id[id];
    // Fails only for a length out of range.
    crypto_generichash((unsigned char *)uuid->bytes, sizeof(uuid->bytes),
            (const unsigned char *)&name, sizeof(name), NULL, 0);
    return RP_OK;
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_uuid(deviceId, uuid) : st);
}

// There is no bus: the physical id stands where bus and domain would.
static void pci_text(uint32_t physical, char out[PCI_ID_BYTES])
{
    snprintf(out, PCI_ID_BYTES, "%04x:%02x:00.0", (physical >> 8) & 0xffff, physical & 0xff);
}

static rp_status get_pci(int32_t id, char *out, int32_t room)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "pciBusId is a null pointer");
    }
    if (room < PCI_ID_BYTES) {
        return rp_fail(RP_EPARAM, "len is %d; the text has %d bytes", room, PCI_ID_BYTES);
    }
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        pci_text(rp_env_device()->visible.id[id], out);
    }
    return st;
}

aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char *pciBusId, int32_t len)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_pci(deviceId, pciBusId, len) : st);
}

static rp_status find_pci(const char *text, int32_t *out)
{
    char candidate[PCI_ID_BYTES];
    if (text == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", text == NULL ? "pciBusId" : "deviceId");
    }
    const struct rp_device_list *visible = &rp_env_device()->visible;
    for (uint32_t i = 0; i < visible->count; i++) {
        pci_text(visible->id[i], candidate);
        if (strcmp(candidate, text) == 0) {
            *out = (int32_t)i;
            return RP_OK;
        }
    }
    return rp_fail(RP_EPARAM, "no visible device has the address \"%.32s\"", text);
}

aclError aclrtDeviceGetByPCIBusId(const char *pciBusId, int32_t *deviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? find_pci(pciBusId, deviceId) : st);
}

// ---- load ----

static int32_t memory_percent(int32_t id)
{
    struct rp_device *device;
    struct rp_arena_info info;
    if (rp_device_peek(id) == NULL || rp_device_ref(id, &device) != RP_OK) {
        return 0;
    }
    rp_arena_query(rp_device_arena(device), &info);
    rp_device_unref(device);
    const uint64_t used = info.total_bytes - rp_min_u64(info.free_bytes, info.total_bytes);
    return info.total_bytes == 0 ? 0 : (int32_t)(used / ((info.total_bytes + 99) / 100));
}

static rp_status get_load(int32_t id, aclrtUtilizationInfo *info)
{
    if (info == NULL) {
        return rp_fail(RP_ENULL, "utilizationInfo is a null pointer");
    }
    if (info->utilizationExtend != NULL) {
        return rp_fail(RP_EINVAL, "utilizationExtend is reserved and must be NULL");
    }
    const rp_status st = rp_device_check_id(id);
    if (st == RP_OK) {
        info->cubeUtilization = -1; // cores of the host are not told apart by device
        info->vectorUtilization = -1;
        info->aicpuUtilization = -1;
        info->memoryUtilization = memory_percent(id);
    }
    return st;
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_load(deviceId, utilizationInfo) : st);
}
