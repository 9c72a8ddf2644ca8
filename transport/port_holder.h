#ifndef REPRISE_TRANSPORT_PORT_HOLDER_H
#define REPRISE_TRANSPORT_PORT_HOLDER_H

#include <stddef.h>

#include "base/env.h"

/**
 * rp_port_holders: who listens on the ports of `ports`, as far as /proc shows it to this user:
 * "60000 by python3 (pid 4711), 60001". "" when nothing can be seen. For error sentences.
 */
void rp_port_holders(const struct rp_port_list *ports, char *text, size_t bytes);

#endif
