// The channel between ranks of one node: puts copy straight into the receiver's window, a signal is
// one addition to the counter that the receiver's part of the segment holds for the sender. It has
// no state to move on by itself, so progress has nothing to do and a put never has to wait.

#include "transport/channel.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "kernels/copy.h"

#define SIGNAL_STRIDE (RP_CACHELINE / sizeof(uint64_t)) // counters, a line apart

struct shm_channel {
    struct rp_channel base;
    struct rp_lines *lines;
    uint64_t taken; // signals of the peer that rp_channel_test has answered for
};
static_assert(offsetof(struct shm_channel, base) == 0, "first member of every channel");

static struct shm_channel *shm_of(struct rp_channel *ch)
{
    return rp_container_of(ch, struct shm_channel, base);
}

static rp_status shm_put(struct rp_channel *ch, enum rp_window window, uint64_t dst_off,
        const void *src, uint64_t bytes)
{
    const struct rp_lines *lines = shm_of(ch)->lines;
    const struct rp_peer *peer = &lines->peer[ch->peer];
    if (dst_off > lines->window_bytes || bytes > lines->window_bytes - dst_off) {
        return rp_fail(RP_EPARAM,
                "a put of %" PRIu64 " bytes at %" PRIu64 " does not fit the %" PRIu64
                " bytes that rank %" PRIu32 " offers",
                bytes, dst_off, lines->window_bytes, ch->peer);
    }
    uint8_t *dst = window == RP_WINDOW_IN ? peer->window_in : peer->window_out;
    rp_copy(dst + dst_off, src, bytes);
    return RP_OK;
}

static rp_status shm_signal(struct rp_channel *ch)
{
    const struct rp_lines *lines = shm_of(ch)->lines;
    const struct rp_peer *peer = &lines->peer[ch->peer];
    const size_t place = lines->peer[lines->rank].index * SIGNAL_STRIDE;
    // seq_cst [S1] [D1]: pairs with the load in shm_test, after the stores of all earlier puts; and
    // stands before the look at `sleeping`.
    atomic_fetch_add_explicit(&peer->signal[place], 1, memory_order_seq_cst);
    rp_doorbell_ring(peer->bell);
    return RP_OK;
}

static rp_status shm_publish(struct rp_channel *ch)
{
    // The words are shared already. seq_cst [D1]: between their stores and the look at `sleeping`.
    rp_lines_fence();
    rp_doorbell_ring(shm_of(ch)->lines->peer[ch->peer].bell);
    return RP_OK;
}

static void shm_update(struct rp_channel *ch)
{
    (void)ch; // what this rank stores is what the peer loads
}

static bool shm_test(struct rp_channel *ch)
{
    struct shm_channel *shm = shm_of(ch);
    const struct rp_peer *own = &shm->lines->peer[shm->lines->rank];
    const size_t place = shm->lines->peer[ch->peer].index * SIGNAL_STRIDE;
    // seq_cst [S1] [D1]: pairs with the addition in shm_signal; a sleeper's second look.
    if (atomic_load_explicit(&own->signal[place], memory_order_seq_cst) == shm->taken) {
        return false;
    }
    shm->taken++;
    return true;
}

static unsigned shm_progress(struct rp_channel *ch, unsigned budget)
{
    (void)ch;
    (void)budget;
    return 0;
}

static void shm_close(struct rp_channel *ch)
{
    rp_free(shm_of(ch));
}

static const struct rp_channel_ops shm_ops = {
    .name = "shm",
    .put = shm_put,
    .signal = shm_signal,
    .publish = shm_publish,
    .update = shm_update,
    .test = shm_test,
    .progress = shm_progress,
    .close = shm_close,
};

void rp_channel_shm_restart(struct rp_channel *ch)
{
    assert(ch->ops == &shm_ops);
    shm_of(ch)->taken = 0;
}

rp_status rp_channel_shm_open(struct rp_lines *lines, uint32_t peer, struct rp_channel **out)
{
    assert(peer < lines->size && peer != lines->rank);
    struct shm_channel *shm = rp_calloc(1, sizeof(*shm));
    if (shm == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the channel to rank %" PRIu32, peer);
    }
    shm->base.ops = &shm_ops;
    shm->base.peer = peer;
    shm->base.own = &lines->peer[lines->rank].pair[lines->peer[peer].index];
    shm->base.peers = &lines->peer[peer].pair[lines->peer[lines->rank].index];
    shm->lines =
            lines; // `taken` is 0: the peer may have signalled already, and only since creation
    *out = &shm->base;
    return RP_OK;
}
