#ifndef REPRISE_CAPTURE_COMM_REGISTERED_H
#define REPRISE_CAPTURE_COMM_REGISTERED_H

/*
 * HcclCommRegister, HcclCommDeregister, HcclCommExchangeMem.
 *
 * All device memory is within the peers' reach, so nothing is exchanged. The calls
 * keep the books, and hold the caller to what CANN wants.
 */

struct rp_comm_extra;

/** rp_comm_registered_forget: drop all registrations. */
void rp_comm_registered_forget(struct rp_comm_extra *extra);

#endif
