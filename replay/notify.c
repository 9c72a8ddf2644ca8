// Notifies: the objects. Their tasks are in tasks_notify.c.

#include "replay/notify.h"

#include "base/alloc.h"

void rp_notify_ref(struct rp_notify *notify)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&notify->refs, 1, memory_order_relaxed);
}

void rp_notify_unref(struct rp_notify *notify)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&notify->refs, 1, memory_order_acq_rel) == 1) {
        rp_free(notify);
    }
}
