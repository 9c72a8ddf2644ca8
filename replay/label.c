// Labels and lists of them.

#include "replay/label.h"

#include "base/alloc.h"
#include "base/error.h"
#include "replay/context.h"

// relaxed, both: a count and numbers, nothing is published with them.
static _Atomic uint32_t live_count;
static _Atomic uint32_t next_id;

static bool count_in(void)
{
    uint32_t live = atomic_load_explicit(&live_count, memory_order_relaxed);
    do {
        if (live == RP_LABELS_MAX) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(
            &live_count, &live, live + 1, memory_order_relaxed, memory_order_relaxed));
    return true;
}

rp_status rp_label_create(struct rp_context *context, struct rp_label **out)
{
    if (!count_in()) {
        return rp_fail(RP_ENORES, "there are %d labels already", RP_LABELS_MAX);
    }
    struct rp_label *label = rp_calloc(1, sizeof(*label));
    if (label == NULL) {
        atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
        return rp_fail(RP_ENOMEM, "no memory for a label");
    }
    atomic_init(&label->refs, 1);
    label->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    label->context = context;
    rp_context_ref(context);
    *out = label;
    return RP_OK;
}

void rp_label_ref(struct rp_label *label)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&label->refs, 1, memory_order_relaxed);
}

void rp_label_unref(struct rp_label *label)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&label->refs, 1, memory_order_acq_rel) == 1) {
        atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
        rp_context_unref(label->context);
        rp_free(label);
    }
}

rp_status rp_label_list_create(
        struct rp_label *const *label, uint32_t count, struct rp_label_list **out)
{
    struct rp_label_list *list = rp_calloc(1, sizeof(*list) + count * sizeof(list->label[0]));
    if (list == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a list of %u labels", count);
    }
    atomic_init(&list->refs, 1);
    list->count = count;
    for (uint32_t i = 0; i < count; i++) {
        list->label[i] = label[i];
        rp_label_ref(label[i]);
    }
    *out = list;
    return RP_OK;
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
