#ifndef REPRISE_REPLAY_STREAM_ABORT_H
#define REPRISE_REPLAY_STREAM_ABORT_H

/*
 * Stopping what a stream runs and dropping what it has queued.
 */

#include "replay/stream.h"

/**
 * rp_stream_stop: the submissions of `stream` up to number `until` end without
 * running, and what of them is under way ends as soon as it can: a collective, with
 * its communicator, at once. `who`: the call that asks for it. Does not wait; the
 * device is to be poked. Baton.
 */
void rp_stream_stop(struct rp_stream *stream, uint64_t until, const char *who);

/** rp_stream_has_ended: whether the submissions up to number `until` have. Any thread. */
bool rp_stream_has_ended(const struct rp_stream *stream, uint64_t until);

#endif
