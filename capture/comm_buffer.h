#ifndef REPRISE_CAPTURE_COMM_BUFFER_H
#define REPRISE_CAPTURE_COMM_BUFFER_H

/*
 * The buffer that HcclGetHcclBuffer gave out.
 */

struct rp_comm;

/** rp_comm_buffer_free: at the end of the handle, while the device is still there. */
void rp_comm_buffer_free(struct rp_comm *comm);

#endif
