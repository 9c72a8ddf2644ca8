#include "replay/batch.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"

rp_status rp_batch_create(uint32_t count, struct rp_batch **out)
{
    const size_t items_bytes = count * sizeof(struct rp_pair_item);
    const size_t run_off =
            rp_align_up(sizeof(struct rp_batch) + items_bytes, _Alignof(struct rp_pair_run));
    struct rp_batch *batch = rp_calloc(1, run_off + count * sizeof(struct rp_pair_run));
    if (batch == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a batch of %u sends and receives", count);
    }
    // relaxed: nobody else has it yet.
    atomic_store_explicit(&batch->refs, 1, memory_order_relaxed);
    batch->count = count;
    batch->run = (struct rp_pair_run *)(void *)((char *)batch + run_off);
    *out = batch;
    return RP_OK;
}

void rp_batch_ref(struct rp_batch *batch)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
}

void rp_batch_unref(struct rp_batch *batch)
{
    // acq_rel [B1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) == 1) {
        rp_free(batch);
    }
}
