#ifndef REPRISE_TRANSPORT_MACHINE_H
#define REPRISE_TRANSPORT_MACHINE_H

/*
 * What tells the machines apart that ranks run on, as far as abstract sockets
 * reach: the kernel's boot and the network namespace. Equal where ranks may be
 * able to share memory; it proves nothing, which the node exchange does.
 */

#include <stdint.h>

#define RP_MACHINE_BYTES 32

/** rp_machine_self: of this process, a hash. What cannot be read counts as empty. */
void rp_machine_self(uint8_t out[RP_MACHINE_BYTES]);

#endif
