#ifndef REPRISE_KERNELS_LINE_FAILURE_H
#define REPRISE_KERNELS_LINE_FAILURE_H

/* Between line.c and line_failure.c: what is known about a peer that will not come. */

#include "kernels/line.h"

/** rp_peer_look: read the counters of both lines: where one stands depends on who stored it last.
 */
void rp_peer_look(struct rp_peer *peer);

/** rp_peer_failed: the rank has given up, left or died. Its counters must then be read once more.
 */
bool rp_peer_failed(const struct rp_peer *peer);

/**
 * rp_peer_explain: why rank `q`, for which rp_peer_failed() holds, will never
 * come to op `seq`: sets `lines->culprit`, describes it and returns the status.
 */
RP_MUST_USE rp_status rp_peer_explain(struct rp_lines *lines, uint32_t q, uint64_t seq);

#endif
