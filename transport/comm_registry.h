#ifndef REPRISE_TRANSPORT_COMM_REGISTRY_H
#define REPRISE_TRANSPORT_COMM_REGISTRY_H

/* Which communicators are alive in this process; the look-ups themselves are in comm.h. */

#include <stdbool.h>

#include "base/status.h"

struct rp_comm;

/** rp_comm_registry_add: RP_EPARAM when its name is in use on its device. */
RP_MUST_USE rp_status rp_comm_registry_add(struct rp_comm *comm);

/** rp_comm_registry_remove: false when it was not there any more. */
bool rp_comm_registry_remove(struct rp_comm *comm);

#endif
