#ifndef REPRISE_TRANSPORT_SEGMENT_H
#define REPRISE_TRANSPORT_SEGMENT_H

/*
 * The control segment of one communicator on one node: a sealed memfd made by
 * the node's lowest rank and mapped once by every member process (ranks of one
 * process share the mapping, found by the token).
 *
 *     header   magic, layout, ranks, window bytes, base, token           one page
 *     ranks    each: block, 2 slots, a signal line and a pair per rank,
 *              a table of the symmetric windows that it has registered    whole pages
 *     windows  each rank's window in and window out, sparse              whole pages
 *
 * Threads: any function from any thread.
 */

#include <stdint.h>

#include "base/status.h"
#include "kernels/line.h"

#define RP_SEGMENT_TOKEN_BYTES 32

/* Counts up with every change of what lies in the segment: header, lines, slots, records. */
#define RP_SEGMENT_LAYOUT 3u

/*
 * Symmetric windows: the n-th window that a rank registers with a communicator belongs to the n-th
 * of every other rank. Only the owner writes.
 *
 * [W1] the store of `number` publishes off and bytes; a reader who finds the same number before
 * and after it has read them has that window's. The store of `registered` comes after.
 */
#define RP_WINDOWS_MAX 127u

struct rp_window_entry {
    _Atomic uint64_t number; /* from 1; 0: free */
    _Atomic uint64_t off;    /* in the owner's arena */
    _Atomic uint64_t bytes;
    uint64_t reserved;
};

struct rp_window_table {
    _Alignas(RP_CACHELINE) _Atomic uint64_t registered; /* windows so far, ended ones included */
    uint64_t reserved[3];
    struct rp_window_entry entry[RP_WINDOWS_MAX];
};
static_assert(sizeof(struct rp_window_table) == 4096, "the layout is shared");

struct rp_segment;

/**
 * rp_segment_create: the leader's side: memfd for `ranks` ranks with windows of
 * `window_bytes`; everything but the windows is reserved; the random token is
 * written into the header. All counters stand at `base`.
 *
 *   RP_ENOMEM  no memory, or a limit; says how many bytes were needed
 *   RP_EPARAM  `ranks` is 0, or the sizes do not fit any file
 *   RP_ESYS    a system call failed
 */
RP_MUST_USE rp_status rp_segment_create(
        uint32_t ranks, uint64_t window_bytes, uint64_t base, struct rp_segment **out);

/**
 * rp_segment_open: a member's side: map `fd` (consumed), check layout version,
 * sizes and token. Where this process has the segment already, leader or member,
 * that mapping is shared and `fd` may be -1.
 *
 *   RP_EPARAM  not such a segment; the sentence says what differs
 *   RP_ENOMEM  it cannot be mapped
 */
RP_MUST_USE rp_status rp_segment_open(int fd, const uint8_t token[RP_SEGMENT_TOKEN_BYTES],
        uint32_t ranks, struct rp_segment **out);

struct rp_segment *rp_segment_ref(struct rp_segment *segment);
void rp_segment_unref(struct rp_segment *segment);

/** rp_segment_fd: to pass on; -1 unless this process is the leader's. */
int rp_segment_fd(const struct rp_segment *segment);
const uint8_t *rp_segment_token(const struct rp_segment *segment);

/** rp_segment_peer: fill block, slots, windows and signals of `peer` for rank `rank`; nothing else.
 */
void rp_segment_peer(const struct rp_segment *segment, uint32_t rank, struct rp_peer *peer);
uint64_t rp_segment_window_bytes(const struct rp_segment *segment);
uint64_t rp_segment_base(const struct rp_segment *segment);

/**
 * rp_segment_reserve_window: reserve the pages of the first `bytes` (rounded up, at most all) of
 * rank `rank`'s window in and window out. Cheap when done before.
 *
 *   RP_ENOMEM  says how many bytes were needed; nothing more is reserved than before
 */
RP_MUST_USE rp_status rp_segment_reserve_window(
        struct rp_segment *segment, uint32_t rank, uint64_t bytes);

#endif
