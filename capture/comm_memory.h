#ifndef REPRISE_CAPTURE_COMM_MEMORY_H
#define REPRISE_CAPTURE_COMM_MEMORY_H

/*
 * Memory that a program announces to a communicator: ranges of addresses with
 * active parts. (Symmetric windows: sym_window.h.)
 *
 * Nothing here needs an announcement: every buffer in device memory is within
 * the peers' reach anyway. So the calls keep the books, and hold the caller to
 * the order that CANN wants: what works here does not fail there.
 */

struct rp_comm_extra;

/** rp_comm_memory_forget: drop all ranges. */
void rp_comm_memory_forget(struct rp_comm_extra *extra);

#endif
