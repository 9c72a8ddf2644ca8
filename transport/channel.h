#ifndef REPRISE_TRANSPORT_CHANNEL_H
#define REPRISE_TRANSPORT_CHANNEL_H

/*
 * A channel: one communicator's path to one peer, for HOST_TS task lists. One
 * const table per wire: shm here, tcp in transport/channel_tcp.h.
 *
 * `own` and `peers` are the two ends of a pair's point-to-point words (kernels/
 * pair.h): this rank stores into `own` and then calls `publish`, after which the
 * peer finds it in its `peers`, with everything that was put before.
 *
 * `put` writes only into the region that the receiver offered: its windows.
 * `signal` adds one to what the receiver has been sent, after all earlier puts
 * of this channel are visible there; `test` takes one signal of the peer if
 * there is one. Used under the device's baton, but for `close`, which may come
 * from any thread once nobody else uses the channel.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/line.h"

enum rp_window {
    RP_WINDOW_IN = 0,
    RP_WINDOW_OUT = 1,
};

struct rp_channel;

struct rp_channel_ops {
    const char *name; /* "shm"; also the log tag */
    rp_status (*put)(struct rp_channel *ch, enum rp_window window, uint64_t dst_off,
            const void *src, uint64_t bytes);
    rp_status (*signal)(struct rp_channel *ch);
    rp_status (*publish)(struct rp_channel *ch);
    void (*update)(struct rp_channel *ch);
    bool (*test)(struct rp_channel *ch);
    unsigned (*progress)(struct rp_channel *ch, unsigned budget);
    void (*close)(struct rp_channel *ch);
};

struct rp_channel {
    const struct rp_channel_ops *ops; /* first member of every concrete channel */
    uint32_t peer;
    struct rp_pair *own;         /* what this rank says to the peer */
    const struct rp_pair *peers; /* what the peer says to this rank */
};

/** rp_channel_put: RP_OK when the bytes have left `src`; RP_EPARAM outside the window; RP_AGAIN:
 * progress, then retry. */
static inline rp_status rp_channel_put(struct rp_channel *ch, enum rp_window window,
        uint64_t dst_off, const void *src, uint64_t bytes)
{
    return ch->ops->put(ch, window, dst_off, src, bytes);
}
static inline rp_status rp_channel_signal(struct rp_channel *ch)
{
    return ch->ops->signal(ch);
}
/** rp_channel_publish: RP_OK when what stands in `own` is on its way; RP_AGAIN as rp_channel_put.
 */
static inline rp_status rp_channel_publish(struct rp_channel *ch)
{
    return ch->ops->publish(ch);
}
/** rp_channel_update: this rank's line, record or status has changed: tell the peer. For
 * rp_comm_publish; what cannot be sent at once follows by itself. */
static inline void rp_channel_update(struct rp_channel *ch)
{
    ch->ops->update(ch);
}
static inline bool rp_channel_test(struct rp_channel *ch)
{
    return ch->ops->test(ch);
}
static inline unsigned rp_channel_progress(struct rp_channel *ch, unsigned budget)
{
    return ch->ops->progress(ch, budget);
}
static inline void rp_channel_close(struct rp_channel *ch)
{
    ch->ops->close(ch);
}

/** rp_channel_shm_open: channel of `lines`' own rank to `peer` over the control segment. Freed by
 * close. */
RP_MUST_USE rp_status rp_channel_shm_open(
        struct rp_lines *lines, uint32_t peer, struct rp_channel **out);

/** rp_channel_shm_restart: a channel of shared memory whose peer's signals count from 0 again
 * (kernels/line_restart.h). Baton. */
void rp_channel_shm_restart(struct rp_channel *ch);

#endif
