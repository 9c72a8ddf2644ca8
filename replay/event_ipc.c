// Events of several processes: ACL_EVENT_IPC. Their records are numbered, and reached, in a page
// that all of them map; all else is as with other events.

#include <acl/acl_rt.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "replay/context.h"
#include "replay/event.h"
#include "replay/share.h"

static_assert(ACL_IPC_EVENT_HANDLE_SIZE == RP_SHARE_KEY_BYTES, "a handle is a key");

static rp_status get_handle(aclrtEvent handle, aclrtIpcEventHandle *out)
{
    if (handle == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s is a null pointer", handle == NULL ? "event" : "handle");
    }
    const struct rp_event *event = rp_event_from_handle(handle);
    if (event == NULL) {
        return rp_fail(RP_EHANDLE, "event %p is no event, or was destroyed", handle);
    }
    if (event->share == NULL) {
        return rp_fail(RP_EPARAM,
                "event %" PRIu32 " was not created with ACL_EVENT_IPC: it is of this process only",
                event->id);
    }
    if (!rp_share_is_ours(event->share)) {
        return rp_fail(RP_EPARAM, "the event was opened by a handle; only the process that created "
                                  "it has that");
    }
    memset(out->reserved, 0, sizeof(out->reserved));
    rp_share_key(event->share, out->reserved);
    return RP_OK;
}

aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? get_handle(event, handle) : st);
}

static rp_status open_handle(const aclrtIpcEventHandle *handle, aclrtEvent *out)
{
    struct rp_context *context;
    struct rp_event *event;
    struct rp_share *share;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "event is a null pointer");
    }
    if (memchr(handle->reserved, '\0', sizeof(handle->reserved)) == NULL) {
        return rp_fail(RP_EPARAM, "handle is none of aclrtIpcGetEventHandle");
    }
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_share_open(RP_SHARE_EVENT, handle->reserved, &share);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_event_create(context, RP_EVENT_EX, ACL_EVENT_IPC, &event);
    if (st != RP_OK) {
        rp_share_close(share);
        return st;
    }
    rp_event_share(event, share);
    return rp_event_publish(event, out);
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? open_handle(&handle, event) : st);
}
