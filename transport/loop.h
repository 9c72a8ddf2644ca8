#ifndef REPRISE_TRANSPORT_LOOP_H
#define REPRISE_TRANSPORT_LOOP_H

/*
 * One libuv loop per device, entered only by the thread that holds the device's
 * baton. Bootstrap and connections live on it. rp_loop_wake alone may be called
 * from any thread.
 */

#include <stdbool.h>
#include <uv.h>

#include "base/status.h"

struct rp_loop;

RP_MUST_USE rp_status rp_loop_create(struct rp_loop **out);
/** rp_loop_destroy: closes what is left on the loop, runs it dry, frees it. Holder of the baton only. */
void rp_loop_destroy(struct rp_loop *loop);

uv_loop_t *rp_loop_uv(struct rp_loop *loop);

/** rp_loop_step: run what is ready without blocking; returns whether any callback ran. */
bool rp_loop_step(struct rp_loop *loop);

/** rp_loop_active: whether anything is open on the loop (else stepping it is a waste). One load. */
bool rp_loop_active(const struct rp_loop *loop);

/** rp_loop_fd: the descriptor to poll while asleep; rp_loop_timeout_ms: uv's timer hint, -1 none. */
int rp_loop_fd(const struct rp_loop *loop);
int rp_loop_timeout_ms(const struct rp_loop *loop);

/** rp_loop_count_begin/_end: bootstrap objects announce themselves, which makes the loop active. */
void rp_loop_count_begin(struct rp_loop *loop);
void rp_loop_count_end(struct rp_loop *loop);

/** rp_loop_wake: make a sleeping driver of this loop return from its poll. Any thread. */
void rp_loop_wake(struct rp_loop *loop);

#endif
