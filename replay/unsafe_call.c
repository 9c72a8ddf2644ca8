// The rule of capture modes (spec of aclgraph, "unsafe calls"): who may execute at once while a
// capture is open.
//
//   C  the strictest mode among all open captures of the context
//   T  the strictest among those that this thread began
//   X  what this thread exchanged its mode for; GLOBAL at first
//
//   X GLOBAL        refused when C is GLOBAL, or T is THREAD_LOCAL
//   X THREAD_LOCAL  refused when T is GLOBAL or THREAD_LOCAL
//   X RELAXED       never refused
//
// The counts are read without a lock: a capture that begins at the same moment on another thread is
// a race of the program's own.

#include <stdatomic.h>

#include "base/error.h"
#include "replay/context.h"

static const char *const mode_names[RP_CAPTURE_MODES] = { "GLOBAL", "THREAD_LOCAL", "RELAXED" };

// The first mode with an open capture; RP_CAPTURE_MODES: none.
static enum rp_capture_mode strictest(_Atomic uint32_t *captures)
{
    for (int mode = RP_CAPTURE_GLOBAL; mode < RP_CAPTURE_MODES; mode++) {
        // acquire: pairs with capture's update under its lock.
        if (atomic_load_explicit(&captures[mode], memory_order_acquire) > 0) {
            return (enum rp_capture_mode)mode;
        }
    }
    return RP_CAPTURE_MODES;
}

rp_status rp_capture_unsafe_allowed(struct rp_context *context, const char *call, rp_status refusal)
{
    const enum rp_capture_mode open = strictest(context->captures);
    if (open == RP_CAPTURE_MODES) {
        return RP_OK;
    }
    struct rp_thread *thread = rp_thread_self();
    if (thread == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the thread's capture mode");
    }
    const enum rp_capture_mode own = strictest(thread->own_captures);
    bool refused = false;
    if (thread->exchange_mode == RP_CAPTURE_GLOBAL) {
        refused = open == RP_CAPTURE_GLOBAL || own == RP_CAPTURE_THREAD_LOCAL;
    } else if (thread->exchange_mode == RP_CAPTURE_THREAD_LOCAL) {
        refused = own == RP_CAPTURE_GLOBAL || own == RP_CAPTURE_THREAD_LOCAL;
    }
    if (!refused) {
        return RP_OK;
    }
    const bool by_own =
            thread->exchange_mode == RP_CAPTURE_THREAD_LOCAL || open != RP_CAPTURE_GLOBAL;
    return rp_fail(refusal,
            "%s would execute at once, which the open capture of mode %s forbids to this thread "
            "(stream %d is capturing; the thread's mode is %s, see "
            "aclmdlRICaptureThreadExchangeMode)",
            call, mode_names[by_own ? own : open], rp_context_capturing_stream(context),
            mode_names[thread->exchange_mode]);
}
