// Access of one device to another's memory. Here every device reaches every other's: enabling is
// kept, because programs ask for it, and changes nothing.

#include <acl/acl_rt.h>
#include <stdatomic.h>

#include "base/env.h"
#include "base/error.h"
#include "replay/context.h"
#include "replay/primary.h"

// Bit `peer` of row `device`. relaxed throughout: nothing is published with it.
static _Atomic uint64_t enabled[RP_ENV_DEVICES_MAX][RP_ENV_DEVICES_MAX / 64];

static _Atomic uint64_t *word_of(int32_t device, int32_t peer)
{
    return &enabled[device][peer / 64];
}

static uint64_t bit_of(int32_t peer)
{
    return UINT64_C(1) << (peer % 64);
}

static rp_status check_pair(int32_t device, int32_t peer)
{
    if (device == peer) {
        return rp_fail(RP_EINVAL, "device and peer are both %d; they must differ", device);
    }
    const rp_status st = rp_device_check_id(device);
    return st == RP_OK ? rp_device_check_id(peer) : st;
}

static rp_status can_access(int32_t *out, int32_t device, int32_t peer)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "canAccessPeer is a null pointer");
    }
    const rp_status st = check_pair(device, peer);
    if (st == RP_OK) {
        *out = 1;
    }
    return st;
}

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? can_access(canAccessPeer, deviceId, peerDeviceId) : st);
}

static rp_status current_pair(int32_t peer, int32_t *device)
{
    struct rp_context *context;
    const rp_status st = rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    *device = context->device_id;
    return check_pair(*device, peer);
}

static rp_status enable(int32_t peer, uint32_t flags)
{
    int32_t device;
    if (flags != 0) {
        return rp_fail(RP_EFEATURE, "flags is %u; it is reserved and must be 0", flags);
    }
    const rp_status st = current_pair(peer, &device);
    if (st == RP_OK) {
        atomic_fetch_or_explicit(word_of(device, peer), bit_of(peer), memory_order_relaxed);
    }
    return st;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? enable(peerDeviceId, flags) : st);
}

static rp_status disable(int32_t peer)
{
    int32_t device;
    const rp_status st = current_pair(peer, &device);
    if (st == RP_OK) {
        atomic_fetch_and_explicit(word_of(device, peer), ~bit_of(peer), memory_order_relaxed);
    }
    return st;
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? disable(peerDeviceId) : st);
}

static rp_status get_status(int32_t device, int32_t peer, int32_t *out)
{
    if (out == NULL) {
        return rp_fail(RP_ENULL, "status is a null pointer");
    }
    const rp_status st = check_pair(device, peer);
    if (st == RP_OK) {
        const uint64_t word = atomic_load_explicit(word_of(device, peer), memory_order_relaxed);
        *out = (word & bit_of(peer)) != 0 ? 1 : 0;
    }
    return st;
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t *status)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_status(deviceId, peerDeviceId, status) : st);
}

static rp_status get_topology(uint32_t device, uint32_t other, uint64_t *value)
{
    if (value == NULL) {
        return rp_fail(RP_ENULL, "value is a null pointer");
    }
    const rp_status st = check_pair((int32_t)device, (int32_t)other);
    if (st == RP_OK) {
        *value = ACL_RT_DEVS_TOPOLOGY_HCCS; // all to all, as in an A2 server
    }
    return st;
}

aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t *value)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_topology(deviceId, otherDeviceId, value) : st);
}
