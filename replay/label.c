// Labels and lists of them.

#include "replay/label.h"

#include "base/alloc.h"

void rp_label_ref(struct rp_label *label)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&label->refs, 1, memory_order_relaxed);
}

void rp_label_unref(struct rp_label *label)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&label->refs, 1, memory_order_acq_rel) == 1) {
        rp_free(label);
    }
}

void rp_label_list_ref(struct rp_label_list *list)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
}

void rp_label_list_unref(struct rp_label_list *list)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&list->refs, 1, memory_order_acq_rel) == 1) {
        for (uint32_t i = 0; i < list->count; i++) {
            rp_label_unref(list->label[i]);
        }
        rp_free(list);
    }
}
