#ifndef REPRISE_REPLAY_CALLBACK_H
#define REPRISE_REPLAY_CALLBACK_H

/*
 * Users' functions: kernels, and two ways that a stream uses one or the other of:
 *
 *   host functions (aclrtLaunchHostFunc) run on a callback thread of the device,
 *   or on a thread that waits for them; replay/callback.c. Kernels do the same
 *   with the device's cores
 *   callbacks (aclrtLaunchCallback) run on the thread that subscribed to the
 *   stream, while it is in aclrtProcessReport; replay/report.c
 *
 * Neither runs under a baton. While one runs, rp_thread_in_callback() is true of
 * its thread, and calls that would wait are refused.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_call;
struct rp_stream;

/** rp_callback_enter / rp_callback_leave: around any user's function; they nest. */
void rp_callback_enter(void);
void rp_callback_leave(void);

/**
 * rp_report_subscribe: callbacks of `stream` run on thread `thread_id` (the value of
 * pthread_self()) from now on.
 *
 *   RP_ESUBSCRIBE  the stream has a thread already
 *   RP_ETHREADSUB  the thread serves streams of another device
 *   RP_ENOMEM
 */
RP_MUST_USE rp_status rp_report_subscribe(uint64_t thread_id, struct rp_stream *stream);

/**
 * rp_report_unsubscribe: no more; RP_ESUBSCRIBE when the stream has no thread,
 * RP_ETHREADSUB when it has another one. Callbacks that are queued and not
 * running yet end their stream's task with RP_ENOSUB. A stream is unsubscribed
 * before its handle is destroyed.
 */
RP_MUST_USE rp_status rp_report_unsubscribe(uint64_t thread_id, struct rp_stream *stream);

/** rp_report_check: RP_OK while `stream` has a thread, RP_ENOSUB otherwise (aclrtLaunchCallback).
 */
RP_MUST_USE rp_status rp_report_check(struct rp_stream *stream);

/**
 * rp_report_process: run the callbacks that are queued for the calling thread, and
 * wait for the first for at most `timeout_ns` (UINT64_MAX: for ever).
 *
 *   RP_ETHREADSUB  the thread is not subscribed to any stream, or is no more
 *   RP_ENOREPORT   none came
 *   RP_ECALLBACK   called by a callback
 */
RP_MUST_USE rp_status rp_report_process(uint64_t timeout_ns);

/** rp_report_post: queue a copy of `call`, or `call` itself if its lane waits, for the thread of
 *  `stream`. RP_ENOSUB, RP_ENOMEM. Baton. */
RP_MUST_USE rp_status rp_report_post(struct rp_stream *stream, struct rp_call *call);

/** rp_report_withdraw: take back a call that the thread has not begun; false: it has. */
bool rp_report_withdraw(struct rp_call *call);

/**
 * rp_call_withdraw: the call of a parked lane, unless somebody has begun it: it is
 * not made, and its lane goes on with `st` as its outcome. Baton.
 */
void rp_call_withdraw(struct rp_call *call, rp_status st);

#endif
