#ifndef REPRISE_TRANSPORT_CHANNEL_TCP_FRAMES_H
#define REPRISE_TRANSPORT_CHANNEL_TCP_FRAMES_H

/*
 * What the two ends of a tcp channel say, as pure functions over bytes.
 *
 *     frame   u32 body bytes, u8 type, u8 detail, u16 zero, body
 *
 *     LINE    record, u64 word, u64 done           the op of the record is announced
 *     DONE    u64 done
 *     STATUS  u64 revoked_from, error_seq, u32 error, culprit, left, uneven, sender, expects,
 *             u64 sent, expected                   as in struct rp_rank_status
 *     PUT     u64 offset, payload                  detail: enum rp_window
 *     SIGNAL  u32 count
 *     PAIR    u64 sends, recvs, put, taken, then the records that are new
 *                                                  detail: which, RP_TCP_PAIR_SEND and _RECV
 *
 * All numbers are little-endian. A length follows from type and detail, or has a maximum, so a
 * reader knows after eight bytes that a frame is none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/pair.h"
#include "kernels/record.h"

enum rp_tcp_type {
    RP_TCP_LINE = 1,
    RP_TCP_DONE = 2,
    RP_TCP_STATUS = 3,
    RP_TCP_PUT = 4,
    RP_TCP_SIGNAL = 5,
    RP_TCP_PAIR = 6,
};

#define RP_TCP_HEADER_BYTES 8
#define RP_TCP_RECORD_BYTES 64
#define RP_TCP_LINE_BYTES (RP_TCP_RECORD_BYTES + 16)
#define RP_TCP_DONE_BYTES 8
#define RP_TCP_STATUS_BYTES 56
#define RP_TCP_PUT_BYTES 8 /* without the payload */
#define RP_TCP_SIGNAL_BYTES 4
#define RP_TCP_PAIR_BYTES 32 /* without records */

/* Bits of a PAIR's detail: record i of the sends, of the receives. */
#define RP_TCP_PAIR_SEND(i) (1u << (i))
#define RP_TCP_PAIR_RECV(i) (4u << (i))
#define RP_TCP_PAIR_RECORDS 4

/* The payload of one put. Others that share a wire get their turn after it. */
#define RP_TCP_PAYLOAD_MAX (256u * 1024u)

/* The longest frame, without a put's payload. */
#define RP_TCP_FRAME_MAX \
    (RP_TCP_HEADER_BYTES + RP_TCP_PAIR_BYTES + RP_TCP_PAIR_RECORDS * RP_TCP_RECORD_BYTES)

struct rp_tcp_header {
    uint32_t body_bytes;
    uint8_t type;
    uint8_t detail;
};

/** rp_tcp_header_read: NULL, or the phrase that says why this is no frame. */
const char *rp_tcp_header_read(
        const uint8_t bytes[RP_TCP_HEADER_BYTES], struct rp_tcp_header *header);

/** rp_tcp_fixed_bytes: of a frame's body, what comes before the payload of a put. */
static inline uint32_t rp_tcp_fixed_bytes(const struct rp_tcp_header *header)
{
    return header->type == RP_TCP_PUT ? RP_TCP_PUT_BYTES : header->body_bytes;
}

struct rp_tcp_line {
    struct rp_record record; /* its `seq` is what the rank has arrived at */
    uint64_t word;
    uint64_t done;
};

struct rp_tcp_status {
    uint64_t revoked_from;
    uint64_t error_seq;
    uint32_t error;
    uint32_t culprit;
    uint32_t left;
    uint32_t uneven; /* 1: the rest tells of two counts that differ */
    uint32_t sender, expects;
    uint64_t sent, expected;
};

struct rp_tcp_pair {
    uint64_t sends;
    uint64_t recvs;
    uint64_t put;
    uint64_t taken;
    struct rp_record record[RP_TCP_PAIR_RECORDS]; /* those that the detail names, packed */
};

/* Each writes a whole frame (of a put all but the payload) to `out`, which has RP_TCP_FRAME_MAX of
 * room, and returns its length. */
size_t rp_tcp_line_write(uint8_t *out, const struct rp_tcp_line *line);
size_t rp_tcp_done_write(uint8_t *out, uint64_t done);
size_t rp_tcp_status_write(uint8_t *out, const struct rp_tcp_status *status);
size_t rp_tcp_put_write(uint8_t *out, uint8_t window, uint64_t off, uint32_t payload_bytes);
size_t rp_tcp_signal_write(uint8_t *out, uint32_t count);
size_t rp_tcp_pair_write(uint8_t *out, const struct rp_tcp_pair *pair, uint8_t detail);

/* Each reads a body whose header rp_tcp_header_read() has accepted. */
void rp_tcp_line_read(const uint8_t *body, struct rp_tcp_line *line);
uint64_t rp_tcp_u64_read(const uint8_t *body);
uint32_t rp_tcp_u32_read(const uint8_t *body);
void rp_tcp_status_read(const uint8_t *body, struct rp_tcp_status *status);
void rp_tcp_pair_read(const uint8_t *body, uint8_t detail, struct rp_tcp_pair *pair);

#endif
