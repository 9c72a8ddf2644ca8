// The life of a kernel function.

#include "replay/kernel.h"

#include "base/alloc.h"

void rp_function_ref(struct rp_function *function)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&function->refs, 1, memory_order_relaxed);
}

void rp_function_unref(struct rp_function *function)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&function->refs, 1, memory_order_acq_rel) == 1) {
        rp_free(function->name);
        rp_free(function);
    }
}
