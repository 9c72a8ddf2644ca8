#ifndef REPRISE_CAPTURE_SYM_WINDOW_H
#define REPRISE_CAPTURE_SYM_WINDOW_H

/*
 * Symmetric windows: HcclCommSymWin*.
 *
 * A window is a piece of device memory of every rank, the n-th that each has
 * registered with the communicator. Peers reach it in any case; what registering
 * adds is the table in the control segment that tells the others where it begins
 * (transport/segment.h).
 */

struct rp_comm_extra;

/** rp_sym_windows_forget: drop all windows; their handles are stale from then on. */
void rp_sym_windows_forget(struct rp_comm_extra *extra);

#endif
