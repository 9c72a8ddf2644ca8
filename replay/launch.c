// The life of a kernel launch; what makes one is kernel.c.

#include "replay/launch.h"

#include "base/alloc.h"
#include "replay/kernel.h"

void rp_launch_ref(struct rp_launch *launch)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&launch->refs, 1, memory_order_relaxed);
}

void rp_launch_unref(struct rp_launch *launch)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&launch->refs, 1, memory_order_acq_rel) == 1) {
        rp_function_unref(launch->function);
        rp_free(launch->attrs);
        rp_free(launch);
    }
}
