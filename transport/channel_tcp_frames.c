// The frames of a tcp channel as bytes. What a frame means, and whether it may come now, is decided
// where it is applied (channel_tcp_receive.c).

#include "transport/channel_tcp_frames.h"

#include <assert.h>

#include "transport/channel.h"
#include "transport/wire.h"

#define PAIR_DETAILS \
    (RP_TCP_PAIR_SEND(0) | RP_TCP_PAIR_SEND(1) | RP_TCP_PAIR_RECV(0) | RP_TCP_PAIR_RECV(1))

static uint32_t pair_bytes(uint8_t detail)
{
    return RP_TCP_PAIR_BYTES + RP_TCP_RECORD_BYTES * (uint32_t)__builtin_popcount(detail);
}

// What a header with this type must say about the rest; NULL: it does.
static const char *check(const struct rp_tcp_header *header)
{
    const uint32_t bytes = header->body_bytes;
    uint32_t expected = 0;
    uint8_t details = 0;
    switch (header->type) {
    case RP_TCP_LINE:
        expected = RP_TCP_LINE_BYTES;
        break;
    case RP_TCP_DONE:
        expected = RP_TCP_DONE_BYTES;
        break;
    case RP_TCP_STATUS:
        expected = RP_TCP_STATUS_BYTES;
        break;
    case RP_TCP_PUT:
        details = RP_WINDOW_OUT;
        if (bytes <= RP_TCP_PUT_BYTES || bytes > RP_TCP_PUT_BYTES + RP_TCP_PAYLOAD_MAX) {
            return "it sent a put of no or too many bytes";
        }
        expected = bytes;
        break;
    case RP_TCP_SIGNAL:
        expected = RP_TCP_SIGNAL_BYTES;
        break;
    case RP_TCP_PAIR:
        details = PAIR_DETAILS;
        expected = pair_bytes(header->detail);
        break;
    default:
        return "it sent a frame of an unknown type";
    }
    if ((header->detail & ~details) != 0) {
        return "it sent a frame with unknown details";
    }
    return bytes == expected ? NULL : "it sent a frame of the wrong length";
}
static_assert(RP_WINDOW_IN == 0 && RP_WINDOW_OUT == 1, "a put's detail is one bit");

const char *rp_tcp_header_read(
        const uint8_t bytes[RP_TCP_HEADER_BYTES], struct rp_tcp_header *header)
{
    struct rp_reader reader = rp_reader_view(bytes, RP_TCP_HEADER_BYTES);
    header->body_bytes = rp_read_u32(&reader);
    header->type = rp_read_u8(&reader);
    header->detail = rp_read_u8(&reader);
    return rp_read_u16(&reader) == 0 ? check(header) : "it sent what is no frame";
}

static struct rp_writer begin(uint8_t *out, enum rp_tcp_type type, uint8_t detail, uint32_t bytes)
{
    struct rp_writer writer = rp_writer_view(out, RP_TCP_FRAME_MAX);
    rp_write_u32(&writer, bytes);
    rp_write_u8(&writer, (uint8_t)type);
    rp_write_u8(&writer, detail);
    rp_write_u16(&writer, 0);
    return writer;
}

static void write_record(struct rp_writer *writer, const struct rp_record *record)
{
    rp_write_u64(writer, record->digest);
    rp_write_u64(writer, record->seq);
    rp_write_u64(writer, record->count);
    rp_write_u64(writer, record->send_off);
    rp_write_u64(writer, record->recv_off);
    rp_write_u64(writer, record->graph);
    rp_write_u32(writer, record->root);
    rp_write_u16(writer, record->op);
    rp_write_u8(writer, record->dtype);
    rp_write_u8(writer, record->reduce);
    rp_write_u8(writer, record->expansion);
    rp_write_u8(writer, record->algorithm);
    rp_write_u8(writer, record->determinism);
    rp_write_u8(writer, record->buffer_class);
    rp_write_u32(writer, record->task);
}

static struct rp_record read_record(struct rp_reader *reader)
{
    struct rp_record record;
    record.digest = rp_read_u64(reader);
    record.seq = rp_read_u64(reader);
    record.count = rp_read_u64(reader);
    record.send_off = rp_read_u64(reader);
    record.recv_off = rp_read_u64(reader);
    record.graph = rp_read_u64(reader);
    record.root = rp_read_u32(reader);
    record.op = rp_read_u16(reader);
    record.dtype = rp_read_u8(reader);
    record.reduce = rp_read_u8(reader);
    record.expansion = rp_read_u8(reader);
    record.algorithm = rp_read_u8(reader);
    record.determinism = rp_read_u8(reader);
    record.buffer_class = rp_read_u8(reader);
    record.task = rp_read_u32(reader);
    return record;
}

size_t rp_tcp_line_write(uint8_t *out, const struct rp_tcp_line *line)
{
    struct rp_writer writer = begin(out, RP_TCP_LINE, 0, RP_TCP_LINE_BYTES);
    write_record(&writer, &line->record);
    rp_write_u64(&writer, line->word);
    rp_write_u64(&writer, line->done);
    return writer.used;
}

void rp_tcp_line_read(const uint8_t *body, struct rp_tcp_line *line)
{
    struct rp_reader reader = rp_reader_view(body, RP_TCP_LINE_BYTES);
    line->record = read_record(&reader);
    line->word = rp_read_u64(&reader);
    line->done = rp_read_u64(&reader);
}

size_t rp_tcp_done_write(uint8_t *out, uint64_t done)
{
    struct rp_writer writer = begin(out, RP_TCP_DONE, 0, RP_TCP_DONE_BYTES);
    rp_write_u64(&writer, done);
    return writer.used;
}

uint64_t rp_tcp_u64_read(const uint8_t *body)
{
    struct rp_reader reader = rp_reader_view(body, sizeof(uint64_t));
    return rp_read_u64(&reader);
}

uint32_t rp_tcp_u32_read(const uint8_t *body)
{
    struct rp_reader reader = rp_reader_view(body, sizeof(uint32_t));
    return rp_read_u32(&reader);
}

size_t rp_tcp_status_write(uint8_t *out, const struct rp_tcp_status *status)
{
    struct rp_writer writer = begin(out, RP_TCP_STATUS, 0, RP_TCP_STATUS_BYTES);
    rp_write_u64(&writer, status->revoked_from);
    rp_write_u64(&writer, status->error_seq);
    rp_write_u32(&writer, status->error);
    rp_write_u32(&writer, status->culprit);
    rp_write_u32(&writer, status->left);
    rp_write_u32(&writer, status->uneven);
    rp_write_u32(&writer, status->sender);
    rp_write_u32(&writer, status->expects);
    rp_write_u64(&writer, status->sent);
    rp_write_u64(&writer, status->expected);
    return writer.used;
}

void rp_tcp_status_read(const uint8_t *body, struct rp_tcp_status *status)
{
    struct rp_reader reader = rp_reader_view(body, RP_TCP_STATUS_BYTES);
    status->revoked_from = rp_read_u64(&reader);
    status->error_seq = rp_read_u64(&reader);
    status->error = rp_read_u32(&reader);
    status->culprit = rp_read_u32(&reader);
    status->left = rp_read_u32(&reader);
    status->uneven = rp_read_u32(&reader);
    status->sender = rp_read_u32(&reader);
    status->expects = rp_read_u32(&reader);
    status->sent = rp_read_u64(&reader);
    status->expected = rp_read_u64(&reader);
}

size_t rp_tcp_put_write(uint8_t *out, uint8_t window, uint64_t off, uint32_t payload_bytes)
{
    struct rp_writer writer = begin(out, RP_TCP_PUT, window, RP_TCP_PUT_BYTES + payload_bytes);
    rp_write_u64(&writer, off);
    return writer.used;
}

size_t rp_tcp_signal_write(uint8_t *out, uint32_t count)
{
    struct rp_writer writer = begin(out, RP_TCP_SIGNAL, 0, RP_TCP_SIGNAL_BYTES);
    rp_write_u32(&writer, count);
    return writer.used;
}

size_t rp_tcp_pair_write(uint8_t *out, const struct rp_tcp_pair *pair, uint8_t detail)
{
    struct rp_writer writer = begin(out, RP_TCP_PAIR, detail, pair_bytes(detail));
    rp_write_u64(&writer, pair->sends);
    rp_write_u64(&writer, pair->recvs);
    rp_write_u64(&writer, pair->put);
    rp_write_u64(&writer, pair->taken);
    for (int i = 0; i < __builtin_popcount(detail); i++) {
        write_record(&writer, &pair->record[i]);
    }
    return writer.used;
}

void rp_tcp_pair_read(const uint8_t *body, uint8_t detail, struct rp_tcp_pair *pair)
{
    struct rp_reader reader = rp_reader_view(body, pair_bytes(detail));
    pair->sends = rp_read_u64(&reader);
    pair->recvs = rp_read_u64(&reader);
    pair->put = rp_read_u64(&reader);
    pair->taken = rp_read_u64(&reader);
    for (int i = 0; i < __builtin_popcount(detail); i++) {
        pair->record[i] = read_record(&reader);
    }
}
