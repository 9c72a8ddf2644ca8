// One-shot notifies of several processes: export under a key, import by it.

#include <acl/acl_rt.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/notify.h"
#include "replay/share.h"

#define KEY_LEN_MIN 65 // what the API asks for

static pthread_mutex_t export_lock = PTHREAD_MUTEX_INITIALIZER; // exports and lists

static rp_status get_export_key(aclrtNotify handle, char *key, size_t len, uint64_t flags)
{
    struct rp_notify *notify;
    struct rp_share *share;
    char text[RP_SHARE_KEY_BYTES];
    rp_status st = rp_notify_resolve(handle, "notify", false, &notify);
    if (st != RP_OK) {
        return st;
    }
    if (key == NULL) {
        return rp_fail(RP_ENULL, "key is a null pointer");
    }
    if (len < KEY_LEN_MIN) {
        return rp_fail(RP_EPARAM, "len is %zu; a key takes %d", len, KEY_LEN_MIN);
    }
    if ((flags & ~ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) != 0) {
        return rp_fail(RP_EPARAM,
                "flags are %llu; they can be ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT or "
                "_DISABLE_PID_VALIDATION",
                (unsigned long long)flags);
    }
    pthread_mutex_lock(&export_lock);
    st = rp_notify_export(notify, &share);
    if (st == RP_OK && !rp_share_is_ours(share)) {
        st = rp_fail(
                RP_EPARAM, "notify %u was imported; only its exporter has its key", notify->id);
    }
    if (st == RP_OK) {
        if (flags != 0) {
            rp_share_allow_all(share);
        }
        rp_share_key(share, text);
        memcpy(key, text, sizeof(text));
    }
    pthread_mutex_unlock(&export_lock);
    return st;
}

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len, uint64_t flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_export_key(notify, key, len, flags) : st);
}

static rp_status check_list(const void *list, const char *name, size_t count)
{
    if (list == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", name);
    }
    return count == 0 ? rp_fail(RP_EPARAM, "num is 0") : RP_OK;
}

static rp_status set_import_pid(aclrtNotify handle, const int32_t *pids, size_t count)
{
    struct rp_notify *notify;
    rp_status st = rp_notify_resolve(handle, "notify", false, &notify);
    if (st == RP_OK) {
        st = check_list(pids, "pid", count);
    }
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&export_lock);
    // relaxed: stored under the lock, or before anybody had the notify.
    struct rp_share *share = atomic_load_explicit(&notify->share, memory_order_relaxed);
    if (share == NULL || !rp_share_is_ours(share)) {
        st = rp_fail(RP_EPARAM, "notify %u is not exported; aclrtNotifyGetExportKey comes first",
                notify->id);
    } else {
        st = rp_share_allow(share, pids, count);
    }
    pthread_mutex_unlock(&export_lock);
    return st;
}

aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_import_pid(notify, pid, num) : st);
}

// This chip has no super pod, so there is no id of a server to be named (see device_info.c).
static rp_status set_import_pid_inter_server(
        aclrtNotify handle, const aclrtServerPid *servers, size_t count)
{
    struct rp_notify *notify;
    rp_status st = rp_notify_resolve(handle, "notify", false, &notify);
    if (st == RP_OK) {
        st = check_list(servers, "serverPids", count);
    }
    if (st == RP_OK) {
        st = rp_fail(RP_ENOTSUP,
                "notify %u: processes of server %u cannot import it: servers of this chip form no "
                "super pod; aclrtNotifySetImportPid lists processes of this one",
                notify->id, servers[0].sdid);
    }
    return st;
}

aclError aclrtNotifySetImportPidInterServer(
        aclrtNotify notify, aclrtServerPid *serverPids, size_t num)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_import_pid_inter_server(notify, serverPids, num) : st);
}

static rp_status import_by_key(aclrtNotify *out, const char *key, uint64_t flags)
{
    struct rp_context *context;
    struct rp_share *share;
    struct rp_notify *notify;
    if (out == NULL || key == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", out == NULL ? "notify" : "key");
    }
    if ((flags & ~ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) != 0) {
        return rp_fail(RP_EPARAM,
                "flags are %llu; they can be ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT or "
                "_ENABLE_PEER_ACCESS",
                (unsigned long long)flags);
    }
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_share_open(RP_SHARE_NOTIFY, key, &share);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_notify_import(share, &notify);
    if (st != RP_OK) {
        rp_share_close(share);
        return st;
    }
    *out = notify;
    return RP_OK;
}

aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key, uint64_t flags)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? import_by_key(notify, key, flags) : st);
}
