#ifndef TESTS_SUPPORT_STRANGER_H
#define TESTS_SUPPORT_STRANGER_H

/*
 * Somebody at the root's port, or a rank's, who is no rank: speaks as much of the protocol as
 * the test wants, with a plain blocking socket.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/root_info.h"
#include "transport/wire.h"

struct stranger {
    int fd;
    struct rp_root_info info;
    struct rp_wire_session session;
    uint8_t key[RP_WIRE_KEY_BYTES];
    uint64_t frames;
};

/** stranger_connect: to the port in `info`. False when nobody listens there. */
bool stranger_connect(struct stranger *stranger, const void *info);

/** stranger_connect_to: the same to address, port and secret of `where`, to speak as `scope` asks.
 */
bool stranger_connect_to(
        struct stranger *stranger, const struct rp_root_info *where, enum rp_wire_scope scope);

bool stranger_send(struct stranger *stranger, const void *bytes, size_t length);

/** stranger_receive: exactly `length` bytes; false when it was closed, or nothing came for 10 s. */
bool stranger_receive(struct stranger *stranger, void *bytes, size_t length);

/** stranger_greet: both greetings. The own nonce is what stands in the session. */
bool stranger_greet(struct stranger *stranger);

/** stranger_prove: both proofs; false when the other side does not accept ours. */
bool stranger_prove(struct stranger *stranger);

/** stranger_frame: send a sealed frame. */
bool stranger_frame(
        struct stranger *stranger, uint16_t type, const void *payload, uint32_t payload_bytes);

/** stranger_is_dropped: the other side closes within `timeout_ms` and says nothing more. */
bool stranger_is_dropped(struct stranger *stranger, int timeout_ms);

void stranger_close(struct stranger *stranger);

#endif
