#ifndef REPRISE_TRANSPORT_WIRE_H
#define REPRISE_TRANSPORT_WIRE_H

/*
 * What the bootstrap says on a socket, as pure functions over bytes.
 *
 * A listener is open to strangers, so nothing is believed before the other side
 * has shown that it knows the root info's secret, and each side shows it about
 * a nonce of the other, so nothing that was recorded helps:
 *
 *     dialer                              listener
 *     greeting{nonce d}           ->      <-  greeting{nonce l}
 *     proof(dialer, d, l)         ->
 *                                         <-  proof(listener, d, l)
 *
 * The proofs name their roles (a proof cannot be sent back to its maker) and
 * the scope (one made for a TCP port says nothing to a node socket). A key for
 * the connection comes out of the same nonces, and every frame after that ends
 * with a tag over its direction, its number and all its bytes.
 *
 *     frame   u32 payload bytes, u16 type, u16 descriptors, payload, tag
 *
 * All numbers are little-endian. Every length is checked against
 * RP_WIRE_PAYLOAD_MAX, a few KiB, before anything else is done with it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define RP_WIRE_VERSION 2u
#define RP_WIRE_SECRET_BYTES 32
#define RP_WIRE_NONCE_BYTES 32
#define RP_WIRE_PROOF_BYTES 32
#define RP_WIRE_KEY_BYTES 32
#define RP_WIRE_TAG_BYTES 16
#define RP_WIRE_GREETING_BYTES (8 + 4 + 4 + RP_WIRE_NONCE_BYTES)
#define RP_WIRE_HEADER_BYTES 8
#define RP_WIRE_PAYLOAD_MAX 4096
#define RP_WIRE_FRAME_MAX (RP_WIRE_HEADER_BYTES + RP_WIRE_PAYLOAD_MAX + RP_WIRE_TAG_BYTES)
#define RP_WIRE_FDS_MAX 4 /* descriptors that one frame brings, on Unix sockets */

/* What a secret is used for. A proof or key of one scope is worthless in another. */
enum rp_wire_scope {
    RP_WIRE_ROOT = 1, /* the root's TCP port */
    RP_WIRE_NODE = 2, /* the node leader's abstract Unix socket */
    RP_WIRE_LINK = 3, /* a rank's TCP port for those of other nodes */
};

enum rp_wire_role {
    RP_WIRE_DIALER = 1,
    RP_WIRE_LISTENER = 2,
};

/* A cursor that stops at the end of its bytes. After the first read that did not fit, `ok` is
 * false and every further read gives zeros. */
struct rp_reader {
    const uint8_t *at;
    size_t left;
    bool ok;
};

struct rp_reader rp_reader_view(const void *bytes, size_t length);
uint8_t rp_read_u8(struct rp_reader *reader);
uint16_t rp_read_u16(struct rp_reader *reader);
uint32_t rp_read_u32(struct rp_reader *reader);
uint64_t rp_read_u64(struct rp_reader *reader);
void rp_read_bytes(struct rp_reader *reader, void *out, size_t length);

/** rp_read_text: u16 length and bytes into `out`, terminated. Not ok when it does not fit
 * `out_bytes` with the zero, or has a zero inside; `out` is "" then. */
void rp_read_text(struct rp_reader *reader, char *out, size_t out_bytes);

/** rp_reader_finished: everything was read and nothing was missing. */
bool rp_reader_finished(const struct rp_reader *reader);

/* The same for writing: what does not fit makes `ok` false and is not written. */
struct rp_writer {
    uint8_t *start;
    size_t used;
    size_t room;
    bool ok;
};

struct rp_writer rp_writer_view(void *bytes, size_t room);
void rp_write_u8(struct rp_writer *writer, uint8_t value);
void rp_write_u16(struct rp_writer *writer, uint16_t value);
void rp_write_u32(struct rp_writer *writer, uint32_t value);
void rp_write_u64(struct rp_writer *writer, uint64_t value);
void rp_write_bytes(struct rp_writer *writer, const void *bytes, size_t length);
void rp_write_text(struct rp_writer *writer, const char *text);

/** rp_greeting_write, rp_greeting_read: RP_EPARAM without a sentence when it is not one. */
void rp_greeting_write(
        uint8_t out[RP_WIRE_GREETING_BYTES], const uint8_t nonce[RP_WIRE_NONCE_BYTES]);
RP_MUST_USE rp_status rp_greeting_read(
        const uint8_t bytes[RP_WIRE_GREETING_BYTES], uint8_t nonce[RP_WIRE_NONCE_BYTES]);

/* Both ends of a handshake agree on this much. */
struct rp_wire_session {
    enum rp_wire_scope scope;
    const uint8_t *secret; /* RP_WIRE_SECRET_BYTES */
    uint8_t dialer_nonce[RP_WIRE_NONCE_BYTES];
    uint8_t listener_nonce[RP_WIRE_NONCE_BYTES];
};

/** rp_wire_proof: that `role` knows the secret, for these two nonces. */
void rp_wire_proof(const struct rp_wire_session *session, enum rp_wire_role role,
        uint8_t out[RP_WIRE_PROOF_BYTES]);

/** rp_wire_proof_check: whether `proof` is `role`'s. Constant time. */
bool rp_wire_proof_check(const struct rp_wire_session *session, enum rp_wire_role role,
        const uint8_t proof[RP_WIRE_PROOF_BYTES]);

/** rp_wire_key: the connection's key. */
void rp_wire_key(const struct rp_wire_session *session, uint8_t out[RP_WIRE_KEY_BYTES]);

struct rp_frame_header {
    uint32_t payload_bytes;
    uint16_t type;
    uint16_t fd_count;
};

/** rp_frame_header_read: RP_EPARAM, without a sentence, when a length is above its maximum. */
RP_MUST_USE rp_status rp_frame_header_read(
        const uint8_t bytes[RP_WIRE_HEADER_BYTES], struct rp_frame_header *out);

/** rp_frame_bytes: the length of the whole frame. */
static inline size_t rp_frame_bytes(const struct rp_frame_header *header)
{
    return RP_WIRE_HEADER_BYTES + (size_t)header->payload_bytes + RP_WIRE_TAG_BYTES;
}

/**
 * rp_frame_seal: a whole frame from `header` and `payload` into `out` (rp_frame_bytes() of it).
 * `sender` and `number` are who sends it and how many frames it has sent before.
 */
void rp_frame_seal(uint8_t *out, const uint8_t key[RP_WIRE_KEY_BYTES], enum rp_wire_role sender,
        uint64_t number, const struct rp_frame_header *header, const void *payload);

/** rp_frame_check: whether the whole frame at `frame` carries its tag. Constant time. */
bool rp_frame_check(const uint8_t *frame, size_t bytes, const uint8_t key[RP_WIRE_KEY_BYTES],
        enum rp_wire_role sender, uint64_t number);

#endif
