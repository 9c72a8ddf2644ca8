#ifndef REPRISE_TRANSPORT_SEGMENT_H
#define REPRISE_TRANSPORT_SEGMENT_H

/*
 * The control segment of one communicator on one node: a sealed memfd made by
 * the node's lowest rank and mapped once by every member process (ranks of one
 * process share the mapping, found by the token). Layout: header, then for each
 * rank block, slots, signals; then, sparse, each rank's windows.
 */

#include <stdint.h>

#include "base/status.h"
#include "kernels/line.h"

#define RP_SEGMENT_TOKEN_BYTES 32

struct rp_segment;

/**
 * rp_segment_create: the leader's side: memfd for `ranks` ranks with windows of
 * `window_bytes`; everything but the windows is reserved; the random token is
 * written into the header. RP_ENOMEM says how many bytes were needed.
 */
RP_MUST_USE rp_status rp_segment_create(
        uint32_t ranks, uint64_t window_bytes, uint64_t base, struct rp_segment **out);

/** rp_segment_open: a member's side: map `fd` (consumed), check layout version, sizes and token. */
RP_MUST_USE rp_status rp_segment_open(int fd, const uint8_t token[RP_SEGMENT_TOKEN_BYTES],
        uint32_t ranks, struct rp_segment **out);

struct rp_segment *rp_segment_ref(struct rp_segment *segment);
void rp_segment_unref(struct rp_segment *segment);

int rp_segment_fd(const struct rp_segment *segment); /* leader only: to pass on; -1 otherwise */
const uint8_t *rp_segment_token(const struct rp_segment *segment);

/** rp_segment_peer: fill the shared-memory fields of `peer` for rank `rank`. */
void rp_segment_peer(const struct rp_segment *segment, uint32_t rank, struct rp_peer *peer);
uint64_t rp_segment_window_bytes(const struct rp_segment *segment);
uint64_t rp_segment_base(const struct rp_segment *segment);

/** rp_segment_reserve_window: reserve the pages of rank `rank`'s windows. */
RP_MUST_USE rp_status rp_segment_reserve_window(struct rp_segment *segment, uint32_t rank);

#endif
