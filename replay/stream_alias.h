#ifndef REPRISE_REPLAY_STREAM_ALIAS_H
#define REPRISE_REPLAY_STREAM_ALIAS_H

/*
 * Streams of a graph: the handles that aclmdlRIGetStreams gives out stand for no stream of this
 * room, but programs ask them for their id.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The id that stands behind such a handle; false: it is none. */
typedef bool rp_stream_alias_fn(const void *handle, int32_t *id);

/** rp_stream_alias: how aclrtStreamGetId answers for them; NULL until the first was given out.
 * Capture sets it, always to the same function. */
extern _Atomic(rp_stream_alias_fn *) rp_stream_alias;

#endif
