#ifndef REPRISE_CAPTURE_COMM_DESTROY_H
#define REPRISE_CAPTURE_COMM_DESTROY_H

#include <stdint.h>

#include "base/status.h"

struct rp_comm;

/** rp_comm_close: end this rank's handle, whose user has no work queued: publish `left`, leave the
 *  registry, let go of the device. Local; needs no peer. */
void rp_comm_close(struct rp_comm *comm);

/** rp_comm_destroy_find: the communicator that HcclCommDestroy is to end, referenced; RP_EPARAM. */
RP_MUST_USE rp_status rp_comm_destroy_find(const void *handle, struct rp_comm **out);

/**
 * rp_comm_destroy_begin: from now on no call finds `comm`, a live handle.
 *
 *   RP_EPARAM  it is being destroyed, or has been
 *   RP_EBUSY   another thread is in a call that uses it
 *
 * rp_comm_destroy_finish: end the handles of `count` communicators that it said
 * RP_OK of. Their queued calls drain side by side; never fails.
 */
RP_MUST_USE rp_status rp_comm_destroy_begin(struct rp_comm *comm);
void rp_comm_destroy_finish(struct rp_comm *const *comms, uint32_t count);

#endif
