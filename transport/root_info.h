#ifndef REPRISE_TRANSPORT_ROOT_INFO_H
#define REPRISE_TRANSPORT_ROOT_INFO_H

/*
 * The root info: what HcclGetRootInfo gives out and every rank brings back. To
 * the user it is 4,108 opaque bytes that begin with a printable address.
 *
 *     0     address text, zero-terminated      64    magic, version
 *     76    port, family                       80    address, 16 bytes
 *     96    scope (interface name), 16 bytes   112   secret, 32 bytes
 *     144   base                               152   identifier, 128 bytes
 *     280   zeros                              4076  checksum, 32 bytes
 *
 * Numbers are little-endian. The checksum finds a copy that lost its tail or
 * went through a text channel; it is no protection, the secret is.
 */

#include <stdint.h>

#include "base/status.h"
#include "transport/netif.h"
#include "transport/wire.h"

#define RP_ROOT_INFO_BYTES 4108
#define RP_ROOT_INFO_VERSION 1u
#define RP_ROOT_IDENTIFIER_BYTES 128

struct rp_root_info {
    struct rp_netif address; /* name: the root's interface, only for the scope */
    uint16_t port;
    uint8_t secret[RP_WIRE_SECRET_BYTES];
    uint64_t base; /* sequence number before the communicator's first op */
    char identifier[RP_ROOT_IDENTIFIER_BYTES]; /* the communicator's default name */
};

/** rp_root_info_base: a random base. */
uint64_t rp_root_info_base(void);

/** rp_root_info_init: a fresh secret and base, and the identifier, for a listener at `port`. */
void rp_root_info_init(struct rp_root_info *info, const struct rp_netif *address, uint16_t port,
        int32_t device_id);

/** rp_root_info_write: the RP_ROOT_INFO_BYTES at `out`. */
void rp_root_info_write(const struct rp_root_info *info, void *out);

/** rp_root_info_read: RP_EPARAM when the bytes at `bytes` are no (whole, intact) root info. */
RP_MUST_USE rp_status rp_root_info_read(const void *bytes, struct rp_root_info *out);

/** rp_root_info_text: "10.0.0.1:4711", "[fd00::1]:4711". */
#define RP_ROOT_INFO_TEXT_BYTES (RP_NETIF_TEXT_BYTES + 16)
void rp_root_info_text(const struct rp_root_info *info, char text[RP_ROOT_INFO_TEXT_BYTES]);

#endif
