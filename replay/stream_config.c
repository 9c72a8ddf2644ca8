// Configurations that streams are made from (aclrtCreateStreamV2). The struct is the public
// header's.

#include <acl/acl_rt.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/util.h"
#include "replay/context.h"

aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void)
{
    if (rp_enter() != RP_OK) {
        return NULL;
    }
    aclrtStreamConfigHandle *config = rp_calloc(1, sizeof(*config));
    if (config == NULL) {
        rp_fail(RP_ENOMEM, "no memory for a stream configuration");
        return NULL;
    }
    if (rp_handle_add(RP_HANDLE_OTHER, config) != RP_OK) {
        rp_free(config);
        return NULL;
    }
    return config;
}

static rp_status check_config(const aclrtStreamConfigHandle *config)
{
    if (config == NULL) {
        return rp_fail(RP_ENULL, "handle is a null pointer");
    }
    if (!rp_handle_live(RP_HANDLE_OTHER, config)) {
        return rp_fail(RP_EHANDLE, "handle %p is no stream configuration, or was destroyed",
                (const void *)config);
    }
    return RP_OK;
}

static rp_status destroy_config(aclrtStreamConfigHandle *config)
{
    rp_status st = check_config(config);
    if (st == RP_OK && !rp_handle_remove(RP_HANDLE_OTHER, config)) {
        st = rp_fail(RP_EHANDLE, "another thread is destroying configuration %p", (void *)config);
    }
    if (st == RP_OK) {
        rp_free(config);
    }
    return st;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy_config(handle) : st);
}

static const struct {
    size_t off;
    size_t bytes;
} members[] = {
    [ACL_RT_STREAM_WORK_ADDR_PTR] = { offsetof(aclrtStreamConfigHandle, workptr), sizeof(void *) },
    [ACL_RT_STREAM_WORK_SIZE] = { offsetof(aclrtStreamConfigHandle, workSize), sizeof(size_t) },
    [ACL_RT_STREAM_FLAG] = { offsetof(aclrtStreamConfigHandle, flag), sizeof(size_t) },
    [ACL_RT_STREAM_PRIORITY] = { offsetof(aclrtStreamConfigHandle, priority), sizeof(uint32_t) },
};

static rp_status set_config(aclrtStreamConfigHandle *config, aclrtStreamConfigAttr attr,
        const void *value, size_t bytes)
{
    const rp_status st = check_config(config);
    if (st != RP_OK) {
        return st;
    }
    if (value == NULL) {
        return rp_fail(RP_ENULL, "attrValue is a null pointer");
    }
    if ((size_t)attr >= RP_ARRAY_LENGTH(members)) {
        return rp_fail(RP_EINVAL, "attr is %d; there is no such attribute", (int)attr);
    }
    if (bytes != members[attr].bytes) {
        return rp_fail(RP_EINVAL, "valueSize is %zu; attribute %d has %zu bytes", bytes, (int)attr,
                members[attr].bytes);
    }
    memcpy((char *)config + members[attr].off, value, bytes);
    return RP_OK;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr,
        const void *attrValue, size_t valueSize)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_config(handle, attr, attrValue, valueSize) : st);
}

aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = check_config(handle);
    }
    return st == RP_OK
                   ? aclrtCreateStreamWithConfig(stream, handle->priority, (uint32_t)handle->flag)
                   : rp_acl(st);
}
