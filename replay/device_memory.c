// Device memory and pinned host memory: allocation and free, both in the current device's arena.

#include <acl/acl_rt.h>
#include <string.h>

#include "base/env.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/device.h"
#include "replay/primary.h"
#include "replay/prof.h"
#include "transport/arena.h"

#define ALIGN_BYTES 64   // of every address
#define ROUND_BYTES 32   // sizes are multiples of it
#define PADDING_BYTES 32 // that aclrtMalloc adds, for kernels that read past the end

/* aclrtMallocWithCfg: one of the policies 0 .. 7, and these on top. */
#define POLICY_LAST ACL_MEM_MALLOC_HUGE1G_ONLY_P2P
#define POLICY_EXTRAS                                                                 \
    ((uint32_t)ACL_MEM_TYPE_LOW_BAND_WIDTH | (uint32_t)ACL_MEM_TYPE_HIGH_BAND_WIDTH | \
            (uint32_t)ACL_MEM_ACCESS_USER_SPACE_READONLY)

// ---- allocation ----

static rp_status check_request(const void *out, uint64_t size, const char *name)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    if (size == 0) {
        return rp_fail(RP_EINVAL, "size is 0; at least one byte is needed");
    }
    if (size > SIZE_MAX - 2 * ROUND_BYTES - PADDING_BYTES) {
        return rp_fail(RP_EINVAL, "size %llu overflows", (unsigned long long)size);
    }
    return RP_OK;
}

static rp_status allocate(enum rp_arena_kind kind, size_t bytes, void **out)
{
    struct rp_context *context;
    const rp_status st = rp_context_current(&context);
    return st == RP_OK
                   ? rp_arena_alloc(rp_device_arena(context->device), bytes, ALIGN_BYTES, kind, out)
                   : st;
}

// The 1G policies and the newest chips do without the padding.
static bool pads(aclrtMemMallocPolicy policy)
{
    return policy != ACL_MEM_MALLOC_HUGE1G_ONLY && policy != ACL_MEM_MALLOC_HUGE1G_ONLY_P2P &&
           strncmp(rp_env_device()->soc_name, "Ascend950", strlen("Ascend950")) != 0;
}

// All policies succeed: what page sizes there are is up to the host. A value outside the enum means
// the default, as on the chip.
static rp_status alloc_device(void **out, size_t size, bool padded)
{
    const rp_status st = check_request(out, size, "devPtr");
    if (st != RP_OK) {
        return st;
    }
    const size_t bytes = rp_align_up(size, ROUND_BYTES) + (padded ? PADDING_BYTES : 0);
    return allocate(RP_ARENA_DEVICE, bytes, out);
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? alloc_device(devPtr, size, pads(policy)) : st);
    rp_prof_end(RP_PROF_MALLOC, began_ns);
    return answer;
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    (void)policy;
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? alloc_device(devPtr, size, false) : st);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? alloc_device(devPtr, size, pads(policy)) : st);
}

// What a configuration asks for.
struct request {
    int32_t device_id; // -1: the current one
};

static rp_status read_attribute(const aclrtMallocAttribute *attribute, struct request *request)
{
    switch (attribute->attr) {
    case ACL_RT_MEM_ATTR_RSV:
    case ACL_RT_MEM_ATTR_MODULE_ID: // for statistics of the chip's driver
        return RP_OK;
    case ACL_RT_MEM_ATTR_DEVICE_ID:
        if (attribute->value.deviceId > INT32_MAX) {
            return rp_fail(RP_EDEVICE, "device id %u of the configuration is out of range",
                    attribute->value.deviceId);
        }
        request->device_id = (int32_t)attribute->value.deviceId;
        return rp_device_check_id(request->device_id);
    case ACL_RT_MEM_ATTR_VA_FLAG: // one address for host and device, which it always is
        if (attribute->value.vaFlag > 1) {
            return rp_fail(RP_EPARAM, "the flag for a common address is %u; it can be 0 or 1",
                    attribute->value.vaFlag);
        }
        return RP_OK;
    }
    return rp_fail(RP_EPARAM, "attribute %d of the configuration is unknown", (int)attribute->attr);
}

static rp_status read_config(const aclrtMallocConfig *config, struct request *request)
{
    *request = (struct request){ .device_id = -1 };
    if (config == NULL) {
        return RP_OK;
    }
    if (config->numAttrs != 0 && config->attrs == NULL) {
        return rp_fail(RP_EINVAL, "cfg has %zu attributes at a null pointer", config->numAttrs);
    }
    rp_status st = RP_OK;
    for (size_t i = 0; st == RP_OK && i < config->numAttrs; i++) {
        st = read_attribute(&config->attrs[i], request);
    }
    return st;
}

// On the device that was asked for, which is brought up if need be.
static rp_status allocate_on(int32_t device_id, enum rp_arena_kind kind, size_t bytes, void **out)
{
    struct rp_context *context;
    struct rp_device *device;
    rp_status st = rp_context_current(&context);
    if (st != RP_OK || device_id < 0 || device_id == context->device_id) {
        return st == RP_OK ? allocate(kind, bytes, out) : st;
    }
    if (rp_device_peek(device_id) == NULL) {
        return rp_fail(RP_EDEVICE, "device %d of the configuration is not in use by this process",
                device_id);
    }
    st = rp_device_ref(device_id, &device);
    if (st == RP_OK) {
        st = rp_arena_alloc(rp_device_arena(device), bytes, ALIGN_BYTES, kind, out);
        rp_device_unref(device);
    }
    return st;
}

static rp_status alloc_config(
        void **out, size_t size, aclrtMemMallocPolicy policy, const aclrtMallocConfig *config)
{
    struct request request;
    rp_status st = out == NULL ? rp_fail(RP_ENULL, "devPtr is a null pointer") : RP_OK;
    if (st == RP_OK) {
        st = read_config(config, &request);
    }
    if (st == RP_OK) {
        st = check_request(out, size, "devPtr");
    }
    if (st == RP_OK && ((uint32_t)policy & ~POLICY_EXTRAS) > POLICY_LAST) {
        st = rp_fail(RP_EPARAM, "policy 0x%x is not one of ACL_MEM_MALLOC_*", (uint32_t)policy);
    }
    return st == RP_OK ? allocate_on(request.device_id, RP_ARENA_DEVICE, size, out) : st;
}

aclError aclrtMallocWithCfg(
        void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? alloc_config(devPtr, size, policy, cfg) : st);
}

aclError aclrtMallocForTaskScheduler(
        void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? alloc_config(devPtr, size, policy, cfg) : st);
}

static rp_status alloc_host(void **out, uint64_t size, const aclrtMallocConfig *config)
{
    struct request request;
    rp_status st = check_request(out, size, "hostPtr");
    if (st == RP_OK) {
        st = read_config(config, &request);
    }
    return st == RP_OK ? allocate_on(request.device_id, RP_ARENA_HOST, size, out) : st;
}

aclError aclrtMallocHost(void **hostPtr, size_t size)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? alloc_host(hostPtr, size, NULL) : st);
    rp_prof_end(RP_PROF_MALLOC_HOST, began_ns);
    return answer;
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? alloc_host(ptr, size, cfg) : st);
}

// ---- free ----

// Needs no current context: the address says whose memory it is.
static rp_status release(void *ptr, enum rp_arena_kind kind, const char *name)
{
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    struct rp_arena *arena = rp_arena_find(ptr);
    if (arena == NULL) {
        return rp_fail(
                RP_EPARAM, "%s %p is no memory of a device in use by this process", name, ptr);
    }
    return rp_arena_free(arena, ptr, kind);
}

// What was queued may use the memory, so it is waited for; a failure of that is told, and nothing
// is freed then.
static rp_status release_synced(void *ptr, enum rp_arena_kind kind, const char *name)
{
    struct rp_context *context;
    if (ptr == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_context_drain(context, UINT64_MAX);
    }
    return st == RP_OK ? release(ptr, kind, name) : st;
}

aclError aclrtFree(void *devPtr)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? release(devPtr, RP_ARENA_DEVICE, "devPtr") : st);
    rp_prof_end(RP_PROF_FREE, began_ns);
    return answer;
}

aclError aclrtFreeWithDevSync(void *devPtr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? release_synced(devPtr, RP_ARENA_DEVICE, "devPtr") : st);
}

aclError aclrtFreeHost(void *hostPtr)
{
    const uint64_t began_ns = rp_prof_begin();
    const rp_status st = rp_enter();
    const aclError answer = rp_acl(st == RP_OK ? release(hostPtr, RP_ARENA_HOST, "hostPtr") : st);
    rp_prof_end(RP_PROF_FREE_HOST, began_ns);
    return answer;
}

aclError aclrtFreeHostWithDevSync(void *hostPtr)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? release_synced(hostPtr, RP_ARENA_HOST, "hostPtr") : st);
}
