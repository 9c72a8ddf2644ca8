#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sodium.h>
#include <string.h>

#include "transport/agreement.h"
#include "transport/bootstrap_msg.h"
#include "transport/root_info.h"
#include "transport/wire.h"

static uint8_t secret[RP_WIRE_SECRET_BYTES];

static void start(void)
{
    cr_assert(ge(int, sodium_init(), 0));
    randombytes_buf(secret, sizeof(secret));
}

TestSuite(wire, .init = start, .timeout = 20);

static struct rp_wire_session session_of(enum rp_wire_scope scope)
{
    struct rp_wire_session session = { .scope = scope, .secret = secret };
    memset(session.dialer_nonce, 1, sizeof(session.dialer_nonce));
    memset(session.listener_nonce, 2, sizeof(session.listener_nonce));
    return session;
}

Test(wire, numbers_are_little_endian_and_come_back)
{
    uint8_t bytes[15];
    struct rp_writer writer = rp_writer_view(bytes, sizeof(bytes));
    rp_write_u8(&writer, 0x01);
    rp_write_u16(&writer, 0x0302);
    rp_write_u32(&writer, 0x07060504);
    rp_write_u64(&writer, UINT64_C(0x0f0e0d0c0b0a0908));
    cr_assert(writer.ok);
    for (uint8_t i = 0; i < sizeof(bytes); i++) {
        cr_assert(eq(u8, bytes[i], (uint8_t)(i + 1)));
    }
    struct rp_reader reader = rp_reader_view(bytes, sizeof(bytes));
    cr_assert(eq(u8, rp_read_u8(&reader), 0x01));
    cr_assert(eq(u16, rp_read_u16(&reader), 0x0302));
    cr_assert(eq(u32, rp_read_u32(&reader), 0x07060504));
    cr_assert(eq(u64, rp_read_u64(&reader), UINT64_C(0x0f0e0d0c0b0a0908)));
    cr_assert(rp_reader_finished(&reader));
}

Test(wire, a_reader_stops_at_the_end)
{
    uint8_t bytes[3] = { 1, 2, 3 };
    struct rp_reader reader = rp_reader_view(bytes, sizeof(bytes));
    cr_assert(eq(u32, rp_read_u32(&reader), 0));
    cr_assert(not(reader.ok));
    cr_assert(eq(u8, rp_read_u8(&reader), 0), "nothing is read after a failure");
    cr_assert(not(rp_reader_finished(&reader)));
    uint8_t out[4] = { 9, 9, 9, 9 };
    rp_read_bytes(&reader, out, sizeof(out));
    cr_assert(eq(u8, out[3], 0), "what could not be read is zero");
}

Test(wire, a_writer_stops_at_the_end)
{
    uint8_t bytes[4] = { 0 };
    struct rp_writer writer = rp_writer_view(bytes, 3);
    rp_write_u16(&writer, 0x0201);
    rp_write_u16(&writer, 0x0403);
    cr_assert(not(writer.ok));
    rp_write_u8(&writer, 5);
    cr_assert(eq(sz, writer.used, 2));
    cr_assert(eq(u8, bytes[2], 0));
}

Test(wire, texts_must_fit_and_hold_no_zero)
{
    uint8_t bytes[16];
    char out[4];
    static const struct {
        const char *text;
        size_t length;
        bool good;
    } rows[] = { { "", 0, true }, { "abc", 3, true }, { "abcd", 4, false }, { "a\0b", 3, false } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rp_writer writer = rp_writer_view(bytes, sizeof(bytes));
        rp_write_u16(&writer, (uint16_t)rows[i].length);
        rp_write_bytes(&writer, rows[i].text, rows[i].length);
        struct rp_reader reader = rp_reader_view(bytes, writer.used);
        rp_read_text(&reader, out, sizeof(out));
        cr_assert(eq(int, reader.ok, rows[i].good), "row %zu", i);
        cr_assert(eq(str, out, (char *)(rows[i].good ? rows[i].text : "")), "row %zu", i);
    }
    // A length beyond the message.
    struct rp_reader reader = rp_reader_view("\xff\xff"
                                             "ab",
            4);
    rp_read_text(&reader, out, sizeof(out));
    cr_assert(not(reader.ok));
}

Test(wire, a_greeting_is_recognised_and_nothing_else_is)
{
    uint8_t greeting[RP_WIRE_GREETING_BYTES];
    uint8_t nonce[RP_WIRE_NONCE_BYTES];
    uint8_t read[RP_WIRE_NONCE_BYTES];
    randombytes_buf(nonce, sizeof(nonce));
    rp_greeting_write(greeting, nonce);
    cr_assert(eq(int, rp_greeting_read(greeting, read), RP_OK));
    cr_assert(zero(int, memcmp(nonce, read, sizeof(nonce))));
    for (size_t i = 0; i < RP_WIRE_GREETING_BYTES - RP_WIRE_NONCE_BYTES; i++) {
        greeting[i] ^= 1;
        cr_assert(eq(int, rp_greeting_read(greeting, read), RP_EPARAM), "byte %zu", i);
        greeting[i] ^= 1;
    }
    memcpy(greeting, "GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\nabcdefgh", sizeof(greeting));
    cr_assert(eq(int, rp_greeting_read(greeting, read), RP_EPARAM));
}

// A proof is good for one role, one scope, one pair of nonces and one secret.
Test(wire, a_proof_proves_one_thing)
{
    uint8_t proof[RP_WIRE_PROOF_BYTES];
    struct rp_wire_session session = session_of(RP_WIRE_ROOT);
    rp_wire_proof(&session, RP_WIRE_DIALER, proof);
    cr_assert(rp_wire_proof_check(&session, RP_WIRE_DIALER, proof));
    cr_assert(not(rp_wire_proof_check(&session, RP_WIRE_LISTENER, proof)));
    struct rp_wire_session other = session_of(RP_WIRE_NODE);
    cr_assert(not(rp_wire_proof_check(&other, RP_WIRE_DIALER, proof)));
    other = session;
    other.dialer_nonce[31] ^= 1;
    cr_assert(not(rp_wire_proof_check(&other, RP_WIRE_DIALER, proof)));
    other = session;
    other.listener_nonce[0] ^= 1;
    cr_assert(not(rp_wire_proof_check(&other, RP_WIRE_DIALER, proof)));
    secret[7] ^= 1;
    cr_assert(not(rp_wire_proof_check(&session, RP_WIRE_DIALER, proof)));
    secret[7] ^= 1;
    for (size_t i = 0; i < sizeof(proof); i++) {
        proof[i] ^= 0x80;
        cr_assert(not(rp_wire_proof_check(&session, RP_WIRE_DIALER, proof)), "byte %zu", i);
        proof[i] ^= 0x80;
    }
}

Test(wire, a_frame_is_good_once_and_whole)
{
    static const char payload[] = "payload";
    uint8_t key[RP_WIRE_KEY_BYTES];
    uint8_t frame[RP_WIRE_FRAME_MAX];
    struct rp_wire_session session = session_of(RP_WIRE_ROOT);
    rp_wire_key(&session, key);
    struct rp_frame_header header = { .payload_bytes = sizeof(payload), .type = 3, .fd_count = 2 };
    size_t bytes = rp_frame_bytes(&header);
    rp_frame_seal(frame, key, RP_WIRE_DIALER, 5, &header, payload);

    struct rp_frame_header read;
    cr_assert(eq(int, rp_frame_header_read(frame, &read), RP_OK));
    cr_assert(eq(u32, read.payload_bytes, sizeof(payload)));
    cr_assert(eq(u16, read.type, 3));
    cr_assert(eq(u16, read.fd_count, 2));
    cr_assert(rp_frame_check(frame, bytes, key, RP_WIRE_DIALER, 5));
    cr_assert(not(rp_frame_check(frame, bytes, key, RP_WIRE_DIALER, 6)), "replayed");
    cr_assert(not(rp_frame_check(frame, bytes, key, RP_WIRE_LISTENER, 5)), "sent back");
    cr_assert(not(rp_frame_check(frame, bytes - 1, key, RP_WIRE_DIALER, 5)), "cut");
    cr_assert(not(rp_frame_check(frame, 10, key, RP_WIRE_DIALER, 5)), "cut short");
    for (size_t i = 0; i < bytes; i++) {
        frame[i] ^= 4;
        cr_assert(not(rp_frame_check(frame, bytes, key, RP_WIRE_DIALER, 5)), "byte %zu", i);
        frame[i] ^= 4;
    }
    key[0] ^= 1;
    cr_assert(not(rp_frame_check(frame, bytes, key, RP_WIRE_DIALER, 5)), "another key");
}

Test(wire, lengths_above_the_maximum_are_refused)
{
    static const struct {
        uint32_t payload_bytes;
        uint16_t fd_count;
        rp_status status;
    } rows[] = {
        { 0, 0, RP_OK },
        { RP_WIRE_PAYLOAD_MAX, RP_WIRE_FDS_MAX, RP_OK },
        { RP_WIRE_PAYLOAD_MAX + 1, 0, RP_EPARAM },
        { UINT32_MAX, 0, RP_EPARAM },
        { 0, RP_WIRE_FDS_MAX + 1, RP_EPARAM },
        { 0, UINT16_MAX, RP_EPARAM },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[RP_WIRE_HEADER_BYTES];
        struct rp_writer writer = rp_writer_view(bytes, sizeof(bytes));
        struct rp_frame_header header;
        rp_write_u32(&writer, rows[i].payload_bytes);
        rp_write_u16(&writer, 1);
        rp_write_u16(&writer, rows[i].fd_count);
        cr_assert(eq(int, rp_frame_header_read(bytes, &header), rows[i].status), "row %zu", i);
    }
}

// ---- messages of the bootstrap ----

static struct rp_hello sample_hello(void)
{
    struct rp_comm_settings settings = { .buffer_bytes = 3 << 20, .expansion_env = -1 };
    memset(settings.name, 'n', sizeof(settings.name) - 1);
    memset(settings.algo, 'a', sizeof(settings.algo) - 1);
    struct rp_hello hello = {
        .rank = 1,
        .size = 3,
        .member = { .pid = 4711, .device_id = 7, .arena_bytes = 1 << 30, .host = "somewhere" },
        .timeout_s = 120,
        .remaining_ms = 119000,
        .node_id = "left",
        .node_socket = "reprise-0123",
    };
    rp_agreement_from(&settings, &hello.agreement);
    return hello;
}

static size_t write_hello(const struct rp_hello *hello, uint8_t *bytes)
{
    struct rp_writer writer = rp_writer_view(bytes, RP_WIRE_PAYLOAD_MAX);
    rp_hello_write(hello, &writer);
    cr_assert(writer.ok, "the longest hello fits a frame");
    return writer.used;
}

Test(wire, a_hello_comes_back)
{
    uint8_t bytes[RP_WIRE_PAYLOAD_MAX];
    struct rp_hello hello = sample_hello();
    struct rp_hello read;
    size_t length = write_hello(&hello, bytes);
    struct rp_reader reader = rp_reader_view(bytes, length);
    cr_assert(eq(int, rp_hello_read(&reader, &read), RP_OK));
    cr_assert(eq(u32, read.rank, 1));
    cr_assert(eq(u32, read.size, 3));
    cr_assert(eq(i64, read.member.pid, 4711));
    cr_assert(eq(i32, read.member.device_id, 7));
    cr_assert(eq(u64, read.member.arena_bytes, UINT64_C(1) << 30));
    cr_assert(eq(str, read.member.host, "somewhere"));
    cr_assert(eq(u32, read.timeout_s, 120));
    cr_assert(eq(u32, read.remaining_ms, 119000));
    cr_assert(eq(str, read.node_id, "left"));
    cr_assert(eq(str, read.node_socket, "reprise-0123"));
    char sentence[RP_SENTENCE_BYTES];
    cr_assert(not(rp_agreement_difference(
            &hello.agreement, 0, &read.agreement, 1, sentence, sizeof(sentence))));
}

Test(wire, a_hello_that_is_cut_or_too_long_is_refused)
{
    uint8_t bytes[RP_WIRE_PAYLOAD_MAX + 1] = { 0 };
    struct rp_hello hello = sample_hello();
    struct rp_hello read;
    size_t length = write_hello(&hello, bytes);
    for (size_t cut = 0; cut < length; cut++) {
        struct rp_reader reader = rp_reader_view(bytes, cut);
        cr_assert(eq(int, rp_hello_read(&reader, &read), RP_EPARAM), "%zu bytes", cut);
    }
    struct rp_reader reader = rp_reader_view(bytes, length + 1);
    cr_assert(eq(int, rp_hello_read(&reader, &read), RP_EPARAM));
}

Test(wire, a_hello_names_a_rank_that_can_be)
{
    static const struct {
        uint32_t rank;
        uint32_t size;
        rp_status status;
    } rows[] = {
        { 0, 1, RP_OK },
        { 0, 0, RP_EPARAM },
        { 1, 1, RP_EPARAM },
        { UINT32_MAX, UINT32_MAX, RP_EPARAM },
        { RP_BOOTSTRAP_RANKS_MAX - 1, RP_BOOTSTRAP_RANKS_MAX, RP_OK },
        { 0, RP_BOOTSTRAP_RANKS_MAX + 1, RP_EPARAM },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[RP_WIRE_PAYLOAD_MAX];
        struct rp_hello hello = sample_hello();
        struct rp_hello read;
        hello.rank = rows[i].rank;
        hello.size = rows[i].size;
        struct rp_reader reader = rp_reader_view(bytes, write_hello(&hello, bytes));
        cr_assert(eq(int, rp_hello_read(&reader, &read), rows[i].status), "row %zu", i);
    }
}

// Whatever the bytes are, a parser ends, and reads none beyond them (the address sanitizer looks).
Test(wire, random_bytes_do_no_harm)
{
    uint8_t seed[randombytes_SEEDBYTES] = { 42 };
    struct rp_hello hello = sample_hello();
    uint8_t bytes[RP_WIRE_PAYLOAD_MAX];
    size_t length = write_hello(&hello, bytes);
    for (int i = 0; i < 20000; i++) {
        uint8_t noise[RP_WIRE_PAYLOAD_MAX];
        struct rp_roster_entry roster[4];
        struct rp_hello read;
        uint32_t count = 0;
        rp_status status;
        char sentence[RP_SENTENCE_BYTES];
        seed[1] = (uint8_t)i;
        seed[2] = (uint8_t)(i >> 8);
        randombytes_buf_deterministic(noise, 64, seed);
        size_t place = noise[0] % length;
        uint8_t kept = bytes[place];
        bytes[place] = noise[1];
        struct rp_reader reader = rp_reader_view(bytes, length - noise[2] % 8);
        if (rp_hello_read(&reader, &read) == RP_OK) {
            cr_assert(lt(u32, read.rank, read.size));
        }
        bytes[place] = kept;
        reader = rp_reader_view(noise, 64);
        if (rp_roster_read(&reader, roster, 4, &count) != RP_OK) {
            cr_assert(eq(u32, count, 0));
        }
        reader = rp_reader_view(noise, 64);
        if (rp_abort_read(&reader, &status, sentence) == RP_OK) {
            cr_assert(lt(int, status, 0));
        }
    }
}

Test(wire, a_roster_comes_back_over_several_messages)
{
    enum { SIZE = 100 };
    static struct rp_roster_entry roster[SIZE];
    static struct rp_roster_entry read[SIZE];
    for (uint32_t i = 0; i < SIZE; i++) {
        roster[i].member = (struct rp_member){ .pid = i, .device_id = (int32_t)i % 8 };
        memset(roster[i].member.host, 'h', sizeof(roster[i].member.host) - 1);
        memset(roster[i].node_socket, 's', sizeof(roster[i].node_socket) - 1);
        roster[i].member.node = i / 8;
    }
    uint32_t first = 0;
    uint32_t count = 0;
    int messages = 0;
    while (first < SIZE) {
        uint8_t bytes[RP_WIRE_PAYLOAD_MAX];
        struct rp_writer writer = rp_writer_view(bytes, sizeof(bytes));
        first += rp_roster_write(roster, SIZE, first, &writer);
        struct rp_reader reader = rp_reader_view(bytes, writer.used);
        cr_assert(eq(int, rp_roster_read(&reader, read, SIZE, &count), RP_OK));
        cr_assert(eq(u32, count, first));
        messages++;
        // The same once more does not continue the table.
        reader = rp_reader_view(bytes, writer.used);
        cr_assert(eq(int, rp_roster_read(&reader, read, SIZE, &count), RP_EPARAM));
    }
    cr_assert(gt(int, messages, 1));
    cr_assert(zero(int, memcmp(roster, read, sizeof(roster))));
}

Test(wire, an_abort_carries_a_known_failure_and_one_line)
{
    static const struct {
        uint32_t status;
        rp_status read;
    } rows[] = {
        { (uint32_t)RP_ENOTSUP, RP_ENOTSUP },
        { (uint32_t)RP_OK, RP_EREMOTE },
        { (uint32_t)RP_AGAIN, RP_EREMOTE },
        { 12345, RP_EREMOTE },
        { (uint32_t)-12345, RP_EREMOTE },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[RP_WIRE_PAYLOAD_MAX];
        struct rp_writer writer = rp_writer_view(bytes, sizeof(bytes));
        rp_status status = RP_OK;
        char sentence[RP_SENTENCE_BYTES];
        rp_abort_write((rp_status)rows[i].status, "first\nsecond", &writer);
        struct rp_reader reader = rp_reader_view(bytes, writer.used);
        cr_assert(eq(int, rp_abort_read(&reader, &status, sentence), RP_OK));
        cr_assert(eq(int, status, rows[i].read), "row %zu", i);
        cr_assert(eq(str, sentence, "first second"));
    }
}

static bool in_mask(const void *arg, uint32_t rank)
{
    return (*(const uint64_t *)arg >> rank & 1) != 0;
}

Test(wire, lists_of_ranks_are_short)
{
    static const struct {
        uint64_t mask;
        const char *text;
        uint32_t count;
    } rows[] = {
        { 0x8, "rank 3", 1 },
        { 0x28, "ranks 3, 5", 2 },
        { 0x6, "ranks 1, 2", 2 },
        { 0x1fe, "ranks 1-8", 8 },
        { 0x87, "ranks 0-2, 7", 4 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64];
        cr_assert(eq(u32, rp_rank_list_text(in_mask, &rows[i].mask, 16, text, sizeof(text)),
                rows[i].count));
        cr_assert(eq(str, text, (char *)rows[i].text));
    }
}

static bool in_even(const void *arg, uint32_t rank)
{
    (void)arg;
    return rank % 2 == 0;
}

Test(wire, long_lists_of_ranks_are_cut)
{
    char text[640];
    cr_assert(eq(u32, rp_rank_list_text(in_even, NULL, 2000, text, sizeof(text)), 1000));
    cr_assert(eq(str, text + strlen(text) - 5, ", ..."));
    cr_assert(zero(int, strncmp(text, "ranks 0, 2, 4, ", 15)));
}

// ---- what must be equal ----

static void other_name(struct rp_comm_settings *settings)
{
    strcpy(settings->name, "b");
}
static void other_buffer(struct rp_comm_settings *settings)
{
    settings->buffer_bytes = 100 << 20;
}
static void odd_buffer(struct rp_comm_settings *settings)
{
    settings->buffer_bytes = 12345;
}
static void other_determinism(struct rp_comm_settings *settings)
{
    settings->deterministic = 2;
}
static void other_config(struct rp_comm_settings *settings)
{
    settings->expansion_config = 3;
}
static void other_env(struct rp_comm_settings *settings)
{
    settings->expansion_env = RP_EXPANSION_MODE_AIV;
}
static void other_algo(struct rp_comm_settings *settings)
{
    strcpy(settings->algo, "level0:NA;level1:ring");
}
static void other_tiny(struct rp_comm_settings *settings)
{
    settings->tuning.tiny_bytes = 0;
}
static void other_small(struct rp_comm_settings *settings)
{
    settings->tuning.small_bytes = 0;
}

Test(wire, a_difference_names_the_setting_both_values_and_both_ranks)
{
    static const struct {
        void (*change)(struct rp_comm_settings *);
        const char *sentence;
    } rows[] = {
        { other_name, "the communicator's name differs: \"not set\" on rank 2, \"b\" on rank 5" },
        { other_buffer, "HCCL_BUFFSIZE differs: \"200 MiB\" on rank 2, \"100 MiB\" on rank 5" },
        { odd_buffer, "HCCL_BUFFSIZE differs: \"200 MiB\" on rank 2, \"12345 bytes\" on rank 5" },
        { other_determinism,
                "HCCL_DETERMINISTIC differs: \"false\" on rank 2, \"strict\" on rank 5" },
        { other_config, "HCCL_OP_EXPANSION_MODE differs: \"not set\" on rank 2, \"3 by the "
                        "communicator's config\" on rank 5" },
        { other_env, "HCCL_OP_EXPANSION_MODE differs: \"not set\" on rank 2, \"AIV\" on rank 5" },
        { other_algo,
                "HCCL_ALGO differs: \"not set\" on rank 2, \"level0:NA;level1:ring\" on rank 5" },
        { other_tiny, "REPRISE_TINY_BYTES differs: \"40\" on rank 2, \"0\" on rank 5" },
        { other_small, "REPRISE_SMALL_BYTES differs: \"8192\" on rank 2, \"0\" on rank 5" },
    };
    struct rp_comm_settings settings = {
        .buffer_bytes = 200 << 20,
        .expansion_env = -1,
        .tuning = { .tiny_bytes = 40, .small_bytes = 8192 },
    };
    struct rp_agreement usual;
    uint8_t usual_digest[RP_AGREEMENT_DIGEST_BYTES];
    rp_agreement_from(&settings, &usual);
    rp_agreement_digest(&usual, usual_digest);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rp_comm_settings changed = settings;
        struct rp_agreement other;
        uint8_t digest[RP_AGREEMENT_DIGEST_BYTES];
        char sentence[RP_SENTENCE_BYTES];
        rows[i].change(&changed);
        rp_agreement_from(&changed, &other);
        rp_agreement_digest(&other, digest);
        cr_assert(ne(int, memcmp(digest, usual_digest, sizeof(digest)), 0), "row %zu", i);
        cr_assert(rp_agreement_difference(&usual, 2, &other, 5, sentence, sizeof(sentence)));
        cr_assert(zero(int, strncmp(sentence, rows[i].sentence, strlen(rows[i].sentence))), "%s",
                sentence);
    }
}

// What this rank alone is concerned with may differ.
Test(wire, timeouts_and_hidden_settings_may_differ)
{
    struct rp_comm_settings a = { .expansion_config = 3, .expansion_env = -1 };
    struct rp_comm_settings b = a;
    struct rp_agreement x;
    struct rp_agreement y;
    char sentence[RP_SENTENCE_BYTES];
    b.exec_timeout_ns = 5;
    b.aiv_timeout_ns = 6;
    b.connect_timeout_s = 7;
    b.expansion_env = RP_EXPANSION_MODE_HOST; // below the config
    strcpy(b.udi, "another description");
    rp_agreement_from(&a, &x);
    rp_agreement_from(&b, &y);
    cr_assert(not(rp_agreement_difference(&x, 0, &y, 1, sentence, sizeof(sentence))));
}

// ---- root info ----

static void make_info(struct rp_root_info *info, uint8_t bytes[RP_ROOT_INFO_BYTES])
{
    struct rp_netif address = { .name = "eth7", .family = AF_INET, .address = { 10, 1, 2, 3 } };
    rp_root_info_init(info, &address, 4711, 5);
    rp_root_info_write(info, bytes);
}

Test(wire, a_root_info_comes_back_and_shows_its_address)
{
    uint8_t bytes[RP_ROOT_INFO_BYTES];
    char text[RP_ROOT_INFO_TEXT_BYTES];
    struct rp_root_info info;
    struct rp_root_info read;
    make_info(&info, bytes);
    cr_assert(eq(str, (char *)bytes, "10.1.2.3"), "programs print its beginning");
    cr_assert(eq(int, rp_root_info_read(bytes, &read), RP_OK));
    cr_assert(eq(u16, read.port, 4711));
    cr_assert(eq(u64, read.base, info.base));
    cr_assert(eq(str, read.identifier, info.identifier));
    cr_assert(zero(int, memcmp(read.secret, info.secret, sizeof(info.secret))));
    cr_assert(zero(int, strncmp(info.identifier, "10.1.2.3%eth7_4711_5_", 21)), "%s",
            info.identifier);
    rp_root_info_text(&read, text);
    cr_assert(eq(str, text, "10.1.2.3:4711"));
}

Test(wire, a_damaged_root_info_is_refused)
{
    static const size_t cuts[] = { 0, 1, 64, 150, 300, 4076, 4107 };
    uint8_t bytes[RP_ROOT_INFO_BYTES];
    uint8_t copy[RP_ROOT_INFO_BYTES];
    struct rp_root_info info;
    struct rp_root_info read;
    make_info(&info, bytes);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        memset(copy, 0, sizeof(copy));
        memcpy(copy, bytes, cuts[i]);
        if (cuts[i] == 4107) {
            copy[4107] = (uint8_t)(bytes[4107] + 1);
        }
        cr_assert(eq(int, rp_root_info_read(copy, &read), RP_EPARAM), "cut at %zu", cuts[i]);
    }
    for (size_t i = 0; i < sizeof(bytes); i += 7) {
        memcpy(copy, bytes, sizeof(copy));
        copy[i] ^= 0x20;
        cr_assert(eq(int, rp_root_info_read(copy, &read), RP_EPARAM), "byte %zu", i);
    }
}
