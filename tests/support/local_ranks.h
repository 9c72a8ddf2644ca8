#ifndef TESTS_SUPPORT_LOCAL_RANKS_H
#define TESTS_SUPPORT_LOCAL_RANKS_H

/*
 * The ranks of one communicator in this process, rank r on device r, made without a bootstrap: for
 * tests of the scheduler. With size 0 or 1 it is a plain device with a context and a stream.
 */

#include <stdbool.h>
#include <stdint.h>

#include "replay/context.h"
#include "replay/device.h"
#include "replay/event.h"
#include "replay/program.h"
#include "replay/stream.h"
#include "transport/comm.h"

#define LOCAL_RANKS_MAX 16
#define LOCAL_WINDOW_BYTES (256u * 1024u)

struct local_rank {
    struct rp_device *device;
    struct rp_context *context;
    struct rp_stream *stream; /* the context's default stream */
    struct rp_comm *comm;     /* NULL with size 0 */
};

struct local_ranks {
    uint32_t size;
    struct local_rank rank[LOCAL_RANKS_MAX];
};

/**
 * local_env: the settings under which the devices come up, before the first of them does: 64 MiB
 * each, 16 devices, `progress` "auto", "caller" or "thread".
 */
void local_env(const char *progress);

/** local_ranks_open: devices 0 .. max(size, 1) - 1, and with size > 0 a communicator. Ends the test
 *  program when that fails. */
void local_ranks_open(struct local_ranks *ranks, uint32_t size);
/** local_comm_open: one more communicator over the same devices: one handle a rank into `comm`. */
void local_comm_open(struct local_ranks *ranks, const char *name, struct rp_comm **comm);
void local_comm_close(struct local_ranks *ranks, struct rp_comm **comm);
/** local_ranks_close: everything is given back. Whatever is still queued is dropped. */
void local_ranks_close(struct local_ranks *ranks);

/** local_alloc: zeroed device memory of `rank`. */
void *local_alloc(struct local_rank *rank, size_t bytes);

/** local_stream: one more stream of `rank`; local_stream_end gives it back, dropping its work. */
struct rp_stream *local_stream(struct local_rank *rank);
void local_stream_end(struct rp_stream *stream);

/** local_event: an event of `rank`. Never freed before local_ranks_close. */
struct rp_event *local_event(struct local_rank *rank, enum rp_event_kind kind);

/** local_all_reduce: the sum of `count` floats as an AIV op; its buffers are device memory. */
struct rp_op local_all_reduce(
        const struct local_rank *rank, const float *send, float *recv, uint64_t count);

/* Tasks of a stream; each fails the test program when it is refused. */
void local_run_op(struct rp_stream *stream, const struct rp_op *op);
void local_copy(struct rp_stream *stream, void *dst, const void *src, uint64_t bytes);
void local_fill(struct rp_stream *stream, void *dst, int value, uint64_t bytes);
void local_host_fn(struct rp_stream *stream, void (*fn)(void *), void *arg);
void local_record(struct rp_stream *stream, struct rp_event *event);
void local_wait(struct rp_stream *stream, struct rp_event *event, uint64_t timeout_ns);

/** local_drained: rp_stream_drain within `timeout_s` seconds. */
rp_status local_drained(struct rp_stream *stream, unsigned timeout_s);

/** local_ended: whether all that the stream has been given has ended; steps nothing. */
bool local_ended(struct rp_stream *stream);

/** local_until: whether `ready(arg)` comes true within `timeout_s`; this thread only sleeps. */
bool local_until(bool (*ready)(void *arg), void *arg, unsigned timeout_s);

/** local_each_rank: `fn` once for every rank, each on its own thread, and wait for all. */
void local_each_rank(
        struct local_ranks *ranks, void (*fn)(struct local_rank *rank, void *arg), void *arg);

#endif
