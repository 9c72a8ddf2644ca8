#ifndef REPRISE_TRANSPORT_LOOP_H
#define REPRISE_TRANSPORT_LOOP_H

/*
 * One libuv loop per device, entered only by the thread that holds the device's
 * baton. Bootstrap and connections live on it. rp_loop_wake alone may be called
 * from any thread.
 */

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"
#include "base/status.h"

struct rp_loop;

/** rp_loop_create: RP_ENOMEM, or RP_ESYS when libuv cannot open its descriptors. */
RP_MUST_USE rp_status rp_loop_create(struct rp_loop **out);

/** rp_loop_destroy: closes what is left on the loop, runs it dry, frees it. Holder of the baton
 * only. */
void rp_loop_destroy(struct rp_loop *loop);

uv_loop_t *rp_loop_uv(struct rp_loop *loop);

/**
 * rp_loop_step: run what is ready without blocking; returns whether any callback ran.
 *
 * Sentences of what fails in a callback are captured (base/error.h): they belong to whoever asks
 * for the object's outcome later, not to the thread that happens to drive the loop.
 */
bool rp_loop_step(struct rp_loop *loop);

/** rp_loop_active: whether anything is open on the loop (else stepping it is a waste). One load. */
bool rp_loop_active(const struct rp_loop *loop);

/** rp_loop_fd: the descriptor to poll while asleep; rp_loop_timeout_ms: the longest poll, -1 no
 *  bound. 0 means that there is something to do at once. */
int rp_loop_fd(const struct rp_loop *loop);
int rp_loop_timeout_ms(const struct rp_loop *loop);

/** rp_loop_count_begin/_end: whoever has a handle open announces it, which makes the loop active;
 *  the end is told in the handle's close callback. */
void rp_loop_count_begin(struct rp_loop *loop);
void rp_loop_count_end(struct rp_loop *loop);

/** rp_loop_ran: every callback on the loop says so, for rp_loop_step's answer. */
void rp_loop_ran(struct rp_loop *loop);

/* Something on the loop that rp_loop_destroy has to end first. `close` is called once, with the
 * object already detached; it closes its handles and may free itself in their close callbacks. */
struct rp_loop_object {
    struct rp_list link;
    void (*close)(struct rp_loop_object *object);
};
void rp_loop_attach(struct rp_loop *loop, struct rp_loop_object *object);
/** rp_loop_objects: the attached ones, struct rp_loop_object. */
struct rp_list *rp_loop_objects(struct rp_loop *loop);
/** rp_loop_detach: the object ends by itself. Harmless when it is not attached. */
void rp_loop_detach(struct rp_loop_object *object);

/**
 * rp_loop_wake: make a sleeping driver of this loop return from its poll. Any thread.
 *
 * A call that overlaps rp_loop_destroy is harmless (the one wake-up handle closes behind a lock,
 * after which wakes do nothing); a call after it returned is not.
 */
void rp_loop_wake(struct rp_loop *loop);

#endif
