#ifndef REPRISE_CAPTURE_COMM_DESTROY_H
#define REPRISE_CAPTURE_COMM_DESTROY_H

struct rp_comm;

/** rp_comm_close: end this rank's handle, whose user has no work queued: publish `left`, leave the
 *  registry, let go of the device. Local; needs no peer. */
void rp_comm_close(struct rp_comm *comm);

#endif
