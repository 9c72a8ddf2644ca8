#include "transport/wire.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static_assert(RP_WIRE_SECRET_BYTES >= crypto_generichash_KEYBYTES_MIN, "a key that BLAKE2b takes");
static_assert(RP_WIRE_PROOF_BYTES <= crypto_generichash_BYTES_MAX, "a length that BLAKE2b makes");
static_assert(RP_WIRE_TAG_BYTES >= crypto_generichash_BYTES_MIN, "a length that BLAKE2b makes");

static const uint8_t greeting_magic[8] = { 'r', 'e', 'p', 'r', 'i', 's', 'e', '\n' };

struct rp_reader rp_reader_view(const void *bytes, size_t length)
{
    return (struct rp_reader){ .at = bytes, .left = length, .ok = true };
}

// The next `length` bytes, NULL when there are not as many.
static const uint8_t *take(struct rp_reader *reader, size_t length)
{
    if (!reader->ok || length > reader->left) {
        reader->ok = false;
        return NULL;
    }
    const uint8_t *at = reader->at;
    reader->at += length;
    reader->left -= length;
    return at;
}

static uint64_t read_number(struct rp_reader *reader, size_t bytes)
{
    const uint8_t *at = take(reader, bytes);
    uint64_t value = 0;
    for (size_t i = bytes; at != NULL && i > 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return value;
}

uint8_t rp_read_u8(struct rp_reader *reader)
{
    return (uint8_t)read_number(reader, 1);
}

uint16_t rp_read_u16(struct rp_reader *reader)
{
    return (uint16_t)read_number(reader, 2);
}

uint32_t rp_read_u32(struct rp_reader *reader)
{
    return (uint32_t)read_number(reader, 4);
}

uint64_t rp_read_u64(struct rp_reader *reader)
{
    return read_number(reader, 8);
}

void rp_read_bytes(struct rp_reader *reader, void *out, size_t length)
{
    const uint8_t *at = take(reader, length);
    if (at != NULL) {
        memcpy(out, at, length);
    } else {
        memset(out, 0, length);
    }
}

void rp_read_text(struct rp_reader *reader, char *out, size_t out_bytes)
{
    size_t length = rp_read_u16(reader);
    const uint8_t *at = take(reader, length);
    out[0] = '\0';
    if (at == NULL) {
        return;
    }
    if (length >= out_bytes || memchr(at, '\0', length) != NULL) {
        reader->ok = false;
        return;
    }
    memcpy(out, at, length);
    out[length] = '\0';
}

bool rp_reader_finished(const struct rp_reader *reader)
{
    return reader->ok && reader->left == 0;
}

struct rp_writer rp_writer_view(void *bytes, size_t room)
{
    return (struct rp_writer){ .start = bytes, .room = room, .ok = true };
}

void rp_write_bytes(struct rp_writer *writer, const void *bytes, size_t length)
{
    if (!writer->ok || length > writer->room - writer->used) {
        writer->ok = false;
        return;
    }
    if (length > 0) {
        memcpy(writer->start + writer->used, bytes, length);
        writer->used += length;
    }
}

static void write_number(struct rp_writer *writer, uint64_t value, size_t bytes)
{
    uint8_t out[8];
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
    rp_write_bytes(writer, out, bytes);
}

void rp_write_u8(struct rp_writer *writer, uint8_t value)
{
    write_number(writer, value, 1);
}

void rp_write_u16(struct rp_writer *writer, uint16_t value)
{
    write_number(writer, value, 2);
}

void rp_write_u32(struct rp_writer *writer, uint32_t value)
{
    write_number(writer, value, 4);
}

void rp_write_u64(struct rp_writer *writer, uint64_t value)
{
    write_number(writer, value, 8);
}

void rp_write_text(struct rp_writer *writer, const char *text)
{
    size_t length = strlen(text);
    if (length > UINT16_MAX) {
        writer->ok = false;
        return;
    }
    rp_write_u16(writer, (uint16_t)length);
    rp_write_bytes(writer, text, length);
}

void rp_greeting_write(
        uint8_t out[RP_WIRE_GREETING_BYTES], const uint8_t nonce[RP_WIRE_NONCE_BYTES])
{
    struct rp_writer writer = rp_writer_view(out, RP_WIRE_GREETING_BYTES);
    rp_write_bytes(&writer, greeting_magic, sizeof(greeting_magic));
    rp_write_u32(&writer, RP_WIRE_VERSION);
    rp_write_u32(&writer, 0);
    rp_write_bytes(&writer, nonce, RP_WIRE_NONCE_BYTES);
    assert(writer.ok && writer.used == RP_WIRE_GREETING_BYTES);
}

rp_status rp_greeting_read(
        const uint8_t bytes[RP_WIRE_GREETING_BYTES], uint8_t nonce[RP_WIRE_NONCE_BYTES])
{
    struct rp_reader reader = rp_reader_view(bytes, RP_WIRE_GREETING_BYTES);
    uint8_t magic[sizeof(greeting_magic)];
    rp_read_bytes(&reader, magic, sizeof(magic));
    uint32_t version = rp_read_u32(&reader);
    uint32_t reserved = rp_read_u32(&reader);
    if (memcmp(magic, greeting_magic, sizeof(magic)) != 0 || version != RP_WIRE_VERSION ||
            reserved != 0) {
        return RP_EPARAM;
    }
    rp_read_bytes(&reader, nonce, RP_WIRE_NONCE_BYTES);
    return RP_OK;
}

// What both proofs and the key are made from: purpose 0 is the key, else the prover's role.
static void session_hash(
        const struct rp_wire_session *session, uint8_t purpose, uint8_t *out, size_t out_bytes)
{
    uint8_t text[8 + 4 + 1 + 1 + 2 * RP_WIRE_NONCE_BYTES];
    struct rp_writer writer = rp_writer_view(text, sizeof(text));
    rp_write_bytes(&writer, greeting_magic, sizeof(greeting_magic));
    rp_write_u32(&writer, RP_WIRE_VERSION);
    rp_write_u8(&writer, (uint8_t)session->scope);
    rp_write_u8(&writer, purpose);
    rp_write_bytes(&writer, session->dialer_nonce, RP_WIRE_NONCE_BYTES);
    rp_write_bytes(&writer, session->listener_nonce, RP_WIRE_NONCE_BYTES);
    assert(writer.ok && writer.used == sizeof(text));
    crypto_generichash(out, out_bytes, text, sizeof(text), session->secret, RP_WIRE_SECRET_BYTES);
}

void rp_wire_proof(const struct rp_wire_session *session, enum rp_wire_role role,
        uint8_t out[RP_WIRE_PROOF_BYTES])
{
    session_hash(session, (uint8_t)role, out, RP_WIRE_PROOF_BYTES);
}

bool rp_wire_proof_check(const struct rp_wire_session *session, enum rp_wire_role role,
        const uint8_t proof[RP_WIRE_PROOF_BYTES])
{
    uint8_t expected[RP_WIRE_PROOF_BYTES];
    rp_wire_proof(session, role, expected);
    return sodium_memcmp(expected, proof, sizeof(expected)) == 0;
}

void rp_wire_key(const struct rp_wire_session *session, uint8_t out[RP_WIRE_KEY_BYTES])
{
    session_hash(session, 0, out, RP_WIRE_KEY_BYTES);
}

rp_status rp_frame_header_read(
        const uint8_t bytes[RP_WIRE_HEADER_BYTES], struct rp_frame_header *out)
{
    struct rp_reader reader = rp_reader_view(bytes, RP_WIRE_HEADER_BYTES);
    struct rp_frame_header header = { .payload_bytes = rp_read_u32(&reader) };
    header.type = rp_read_u16(&reader);
    header.fd_count = rp_read_u16(&reader);
    if (header.payload_bytes > RP_WIRE_PAYLOAD_MAX || header.fd_count > RP_WIRE_FDS_MAX) {
        return RP_EPARAM;
    }
    *out = header;
    return RP_OK;
}

// The tag over direction, number and the frame without its tag.
static void frame_tag(const uint8_t *frame, size_t bytes, const uint8_t key[RP_WIRE_KEY_BYTES],
        enum rp_wire_role sender, uint64_t number, uint8_t out[RP_WIRE_TAG_BYTES])
{
    uint8_t prefix[1 + 8];
    struct rp_writer writer = rp_writer_view(prefix, sizeof(prefix));
    rp_write_u8(&writer, (uint8_t)sender);
    rp_write_u64(&writer, number);
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, RP_WIRE_KEY_BYTES, RP_WIRE_TAG_BYTES);
    crypto_generichash_update(&state, prefix, sizeof(prefix));
    crypto_generichash_update(&state, frame, bytes);
    crypto_generichash_final(&state, out, RP_WIRE_TAG_BYTES);
}

void rp_frame_seal(uint8_t *out, const uint8_t key[RP_WIRE_KEY_BYTES], enum rp_wire_role sender,
        uint64_t number, const struct rp_frame_header *header, const void *payload)
{
    size_t bytes = rp_frame_bytes(header) - RP_WIRE_TAG_BYTES;
    struct rp_writer writer = rp_writer_view(out, bytes);
    rp_write_u32(&writer, header->payload_bytes);
    rp_write_u16(&writer, header->type);
    rp_write_u16(&writer, header->fd_count);
    rp_write_bytes(&writer, payload, header->payload_bytes);
    assert(writer.ok && writer.used == bytes);
    frame_tag(out, bytes, key, sender, number, out + bytes);
}

bool rp_frame_check(const uint8_t *frame, size_t bytes, const uint8_t key[RP_WIRE_KEY_BYTES],
        enum rp_wire_role sender, uint64_t number)
{
    if (bytes < RP_WIRE_HEADER_BYTES + RP_WIRE_TAG_BYTES) {
        return false;
    }
    uint8_t expected[RP_WIRE_TAG_BYTES];
    bytes -= RP_WIRE_TAG_BYTES;
    frame_tag(frame, bytes, key, sender, number, expected);
    return sodium_memcmp(expected, frame + bytes, sizeof(expected)) == 0;
}
