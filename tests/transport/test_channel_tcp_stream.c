// A tcp channel against a peer that is slow, or wrong, or goes: rank 1 is a raw socket here, or a
// channel behind small buffers. Frames are put together by hand, from the layout in
// transport/channel_tcp_frames.h.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "support/tcp_case.h"
#include "transport/channel_tcp.h"

static struct tcp_case tcp;

static void teardown(void)
{
    tcp_case_close(&tcp);
}

static struct rp_lines *lines_of(uint32_t rank)
{
    return &tcp.end[rank].comm->lines;
}

// ---- a slow peer ----

TestSuite(tcp_slow, .fini = teardown, .timeout = 60);

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 2654435761u >> 13);
}

static uint8_t *patterned(uint64_t bytes)
{
    uint8_t *memory = malloc(bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        memory[i] = pattern(i);
    }
    return memory;
}

static uint64_t wrong_at(const uint8_t *memory, uint64_t bytes)
{
    uint64_t i = 0;
    while (i < bytes && memory[i] == pattern(i)) {
        i++;
    }
    return i;
}

#define BIG_BYTES (12u << 20)

// The peer does not read: a put says so, and goes on where it stopped once it does.
Test(tcp_slow, a_put_waits_for_a_peer_that_does_not_read)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .window_bytes = BIG_BYTES, .send_bytes = 4096 });
    struct rp_channel *from = tcp.end[0].channel;
    uint8_t *src = patterned(BIG_BYTES);
    rp_status st = RP_AGAIN;
    for (int i = 0; i < 500; i++) {
        st = rp_channel_put(from, RP_WINDOW_OUT, 0, src, BIG_BYTES);
        cr_assert(eq(int, st, RP_AGAIN));
        rp_channel_progress(from, 4);
        (void)rp_loop_step(tcp.end[0].loop);
    }
    const uint64_t deadline_ns = rp_deadline_ns(40 * RP_NS_PER_S);
    while (st == RP_AGAIN && rp_now_ns() < deadline_ns) {
        rp_channel_progress(tcp.end[1].channel, 16);
        rp_channel_progress(from, 1);
        st = rp_channel_put(from, RP_WINDOW_OUT, 0, src, BIG_BYTES);
    }
    cr_assert(eq(int, st, RP_OK));
    memset(src, 0, BIG_BYTES); // the source is free
    cr_assert(eq(int, rp_channel_signal(from), RP_OK));
    while (!rp_channel_test(tcp.end[1].channel) && rp_now_ns() < deadline_ns) {
        rp_channel_progress(tcp.end[1].channel, 16);
        rp_channel_progress(from, 1);
    }
    cr_assert(eq(u64, wrong_at(lines_of(1)->peer[1].window_out, BIG_BYTES), BIG_BYTES));
    free(src);
}

// A frame that has begun is completed even when its put is not called again.
Test(tcp_slow, an_abandoned_put_does_not_spoil_what_follows)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .window_bytes = BIG_BYTES, .send_bytes = 4096 });
    struct rp_channel *from = tcp.end[0].channel;
    uint8_t *src = patterned(BIG_BYTES);
    cr_assert(eq(int, rp_channel_put(from, RP_WINDOW_IN, 0, src, BIG_BYTES), RP_AGAIN));
    free(src);
    rp_status st = rp_channel_put(from, RP_WINDOW_OUT, 7, "after", 5);
    cr_assert(eq(int, st, RP_OK), "there is room for small ones");
    cr_assert(eq(int, rp_channel_signal(from), RP_OK));
    const uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    while (!rp_channel_test(tcp.end[1].channel) && rp_now_ns() < deadline_ns) {
        tcp_case_turn(&tcp);
    }
    cr_assert(eq(int, memcmp(lines_of(1)->peer[1].window_out + 7, "after", 5), 0));
    cr_assert(gt(u64, wrong_at(lines_of(1)->peer[1].window_in, BIG_BYTES), 4095),
            "the beginning came");
    cr_assert(eq(int, rp_comm_status(tcp.end[1].comm), RP_OK));
}

// Everything that one frame can be cut in two at, both ways at once.
Test(tcp_slow, frames_in_small_pieces)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .send_bytes = 1 }); // the kernel's minimum
    uint8_t *src = patterned(TCP_WINDOW_BYTES);
    for (unsigned round = 1; round <= 60; round++) {
        const uint64_t bytes = 1 + round * 1663u % TCP_WINDOW_BYTES;
        bool put[2] = { false, false };
        bool came[2] = { false, false };
        const uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
        for (uint32_t r = 0; r < 2; r++) {
            memset(lines_of(r)->peer[r].window_in, 0, bytes);
        }
        while (!(came[0] && came[1]) && rp_now_ns() < deadline_ns) {
            for (uint32_t r = 0; r < 2; r++) {
                struct rp_channel *ch = tcp.end[r].channel;
                if (!put[r]) {
                    put[r] = rp_channel_put(ch, RP_WINDOW_IN, 0, src, bytes) == RP_OK &&
                             rp_channel_signal(ch) == RP_OK;
                }
                came[r] |= rp_channel_test(ch);
                rp_channel_progress(ch, 2);
            }
        }
        for (uint32_t r = 0; r < 2; r++) {
            cr_assert(came[r], "round %u", round);
            cr_assert(eq(u64, wrong_at(lines_of(r)->peer[r].window_in, bytes), bytes));
        }
    }
    free(src);
}

static bool left_at_1(struct tcp_case *at)
{
    return rp_lines_arrived(&at->end[1].comm->lines, 0, TCP_BASE + 1) != RP_AGAIN;
}

// HcclCommDestroy while much is unsent: all of it arrives, and that the rank has left.
Test(tcp_slow, closing_loses_nothing)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .window_bytes = 200000, .send_bytes = 4096 });
    uint8_t *src = patterned(200000);
    cr_assert(eq(int, rp_channel_put(tcp.end[0].channel, RP_WINDOW_IN, 0, src, 200000), RP_OK));
    cr_assert(eq(int, rp_channel_signal(tcp.end[0].channel), RP_OK));
    free(src);
    tcp_end_leave(&tcp.end[0]);
    cr_assert(rp_loop_active(tcp.end[0].loop));
    cr_assert(tcp_case_until(&tcp, left_at_1));
    cr_assert(eq(int, rp_comm_status(tcp.end[1].comm), RP_OK), "it left, it was not lost");
    cr_assert(rp_channel_test(tcp.end[1].channel));
    cr_assert(eq(u64, wrong_at(lines_of(1)->peer[1].window_in, 200000), 200000));
    tcp_end_leave(&tcp.end[1]);
    const uint64_t deadline_ns = rp_deadline_ns(3 * RP_NS_PER_S);
    while ((rp_loop_active(tcp.end[0].loop) || rp_loop_active(tcp.end[1].loop)) &&
            rp_now_ns() < deadline_ns) {
        tcp_case_turn(&tcp);
    }
    cr_assert(not(rp_loop_active(tcp.end[0].loop)), "nothing is left of it");
    cr_assert(not(rp_loop_active(tcp.end[1].loop)));
}

// A peer that neither reads nor closes holds nobody up for long.
Test(tcp_slow, a_peer_that_does_not_close_is_given_up)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .raw = true, .send_bytes = 4096 });
    uint8_t *src = patterned(TCP_WINDOW_BYTES);
    cr_assert(eq(int, rp_channel_put(tcp.end[0].channel, RP_WINDOW_IN, 0, src, TCP_WINDOW_BYTES),
            RP_OK));
    free(src);
    tcp_end_leave(&tcp.end[0]);
    const uint64_t start_ns = rp_now_ns();
    while (rp_loop_active(tcp.end[0].loop) &&
            rp_now_ns() - start_ns < 3 * RP_TCP_LINGER_MS * RP_NS_PER_MS) {
        tcp_case_turn(&tcp);
        usleep(1000);
    }
    const uint64_t took_ms = (rp_now_ns() - start_ns) / RP_NS_PER_MS;
    cr_assert(ge(u64, took_ms, RP_TCP_LINGER_MS - 100));
    cr_assert(lt(u64, took_ms, 2 * RP_TCP_LINGER_MS));
}

// ---- a peer that is wrong ----

static void open_raw(void)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .raw = true });
}

TestSuite(tcp_wrong, .init = open_raw, .fini = teardown, .timeout = 30);

struct bytes {
    uint8_t at[512];
    size_t used;
};

static void number(struct bytes *frame, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        frame->at[frame->used++] = (uint8_t)(value >> 8 * i);
    }
}

static struct bytes head(uint32_t body_bytes, uint8_t type, uint8_t detail)
{
    struct bytes frame = { 0 };
    number(&frame, body_bytes, 4);
    number(&frame, type, 1);
    number(&frame, detail, 1);
    number(&frame, 0, 2);
    return frame;
}

static struct bytes with(struct bytes frame, unsigned width, unsigned count, const uint64_t *values)
{
    for (unsigned i = 0; i < count; i++) {
        number(&frame, values[i], width);
    }
    return frame;
}

// A record's second field is its seq; the digest stands before it and again behind the record.
static struct bytes line(uint64_t seq, uint64_t done)
{
    struct bytes frame = head(80, 1, 0);
    number(&frame, 42, 8);
    number(&frame, seq, 8);
    frame.used += 48;
    number(&frame, 42, 8);
    number(&frame, done, 8);
    return frame;
}

static struct bytes done_frame(uint64_t done)
{
    return with(head(8, 2, 0), 8, 1, &done);
}

static struct bytes status_frame(
        uint64_t revoked_from, uint32_t error, uint32_t culprit, uint32_t left)
{
    struct bytes frame = head(56, 3, 0);
    number(&frame, revoked_from, 8);
    number(&frame, revoked_from, 8);
    number(&frame, error, 4);
    number(&frame, culprit, 4);
    number(&frame, left, 4);
    frame.used += 28; // no counts that differ
    return frame;
}

static struct bytes put_frame(uint8_t window, uint64_t off, uint32_t payload_bytes)
{
    return with(head(8 + payload_bytes, 4, window), 8, 1, &off);
}

static struct bytes signal_frame(uint32_t count)
{
    struct bytes frame = head(4, 5, 0);
    number(&frame, count, 4);
    return frame;
}

static struct bytes pair_frame(
        uint8_t detail, uint64_t sends, uint64_t recvs, uint64_t put, uint64_t taken)
{
    const unsigned records = (unsigned)__builtin_popcount(detail);
    struct bytes frame = with(
            head(32 + 64 * records, 6, detail), 8, 4, (uint64_t[]){ sends, recvs, put, taken });
    frame.used += (size_t)64 * records;
    return frame;
}

static void say(const struct bytes *frame)
{
    cr_assert(
            eq(sz, (size_t)send(tcp.end[1].fd, frame->at, frame->used, MSG_NOSIGNAL), frame->used));
}

static void say_payload(uint8_t byte, size_t count)
{
    uint8_t *bytes = malloc(count);
    memset(bytes, byte, count);
    size_t sent = 0;
    while (sent < count) {
        const ssize_t now = send(tcp.end[1].fd, bytes + sent, count - sent, MSG_NOSIGNAL);
        if (now > 0) {
            sent += (size_t)now;
        } else if (errno != EAGAIN) {
            break;
        }
        tcp_case_turn(&tcp);
    }
    free(bytes);
}

static bool lost(struct tcp_case *at)
{
    return rp_comm_status(at->end[0].comm) != RP_OK;
}

static void expect_lost(const char *why)
{
    cr_assert(tcp_case_until(&tcp, lost), "%s", why);
    const char *text = rp_error_take();
    cr_assert(ne(ptr, strstr(text, why), NULL), "\"%s\" is not in \"%s\"", why, text);
    cr_assert(eq(int, rp_comm_status(tcp.end[0].comm), RP_EREMOTE));
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 60), RP_EREMOTE));
    cr_assert(eq(int, rp_channel_signal(tcp.end[0].channel), RP_EREMOTE));
}

// Signals count up; each is one that came through.
static void expect_fine(void)
{
    const struct bytes frame = signal_frame(1);
    say(&frame);
    const uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    bool came = false;
    while (!came && rp_now_ns() < deadline_ns && rp_comm_status(tcp.end[0].comm) == RP_OK) {
        tcp_case_turn(&tcp);
        came = rp_channel_test(tcp.end[0].channel);
    }
    cr_assert(came, "%s", tcp.end[0].comm->remote_cause);
}

struct wrong {
    const char *name;
    struct bytes before; /* is fine; none with length 0 */
    struct bytes frame;
    const char *why;
};

#define B TCP_BASE
#define W TCP_WINDOW_BYTES

// The cases of which this suite is made, by number; NULL behind the last.
static bool wrong_case(unsigned i, struct wrong *out)
{
    const struct bytes none = { 0 };
    struct bytes dirty = signal_frame(1);
    dirty.at[7] = 1;
    struct bytes uneven = status_frame(B + 1, 114, 1, 0);
    uneven.at[8 + 28] = 2;
    const struct wrong cases[] = {
        { "type 0", none, head(0, 0, 0), "unknown type" },
        { "type 7", none, head(0, 7, 0), "unknown type" },
        { "type 255", none, head(8, 255, 0), "unknown type" },
        { "reserved bytes", none, dirty, "no frame" },
        { "a line too long", none, head(88, 1, 0), "wrong length" },
        { "a line too short", none, head(0, 1, 0), "wrong length" },
        { "a line with details", none, head(80, 1, 1), "unknown details" },
        { "a done too long", none, head(UINT32_MAX, 2, 0), "wrong length" },
        { "a status too short", none, head(55, 3, 0), "wrong length" },
        { "a signal too long", none, head(5, 5, 0), "wrong length" },
        { "a pair's length", none, head(32, 6, 1), "wrong length" },
        { "a pair's details", none, head(32, 6, 16), "unknown details" },
        { "a put of nothing", none, head(8, 4, 0), "no or too many" },
        { "a put without offset", none, head(7, 4, 0), "no or too many" },
        { "a put too long", none, head(8 + 256 * 1024 + 1, 4, 0), "no or too many" },
        { "a put of 4 GiB", none, head(UINT32_MAX, 4, 0), "no or too many" },
        { "a third window", none, head(9, 4, 2), "unknown details" },
        { "op 0", none, line(B, B), "announced op 0 after 0" },
        { "another base", none, line(1, 1), "announced op 1 after 0" },
        { "op 2 first", none, line(B + 2, B), "announced op 2 after 0" },
        { "op 3 unasked", line(B + 1, B), line(B + 3, B), "announced op 3 after 1" },
        { "op 1 twice", line(B + 1, B), line(B + 1, B), "announced op 1 after 1" },
        { "a line's done ahead", none, line(B + 1, B + 2), "as done with another" },
        { "a line's done behind", none, line(B + 1, B - 1), "as done with another" },
        { "an op at the end of numbers", none, line(UINT64_MAX, B), "announced op" },
        { "done with nothing", none, done_frame(B + 1), "done with op 1 after 0 of 0" },
        { "done twice", line(B + 1, B + 1), done_frame(B + 1), "done with op 1 after 1 of 1" },
        { "left twice over", none, status_frame(0, 0, RP_NO_RANK, 2), "no sense" },
        { "an error and no op", none, status_frame(0, 12, 1, 0), "no sense" },
        { "an op and no error", none, status_frame(B + 1, 0, 1, 0), "no sense" },
        { "an error out of range", none, status_frame(B + 1, 0x80000000u, 1, 0), "no sense" },
        { "a rank out of range", none, status_frame(B + 1, 114, 2, 0), "does not exist" },
        { "an op before the first", none, status_frame(B, 114, 1, 0), "does not exist" },
        { "an op not announced", none, status_frame(B + 2, 114, 1, 0), "does not exist" },
        { "counts that differ twice over", none, uneven, "no sense" },
        { "another error", status_frame(B + 1, 114, 1, 0), status_frame(B + 1, 113, 1, 0),
                "no sense" },
        { "a put past the window", none, put_frame(0, W, 1), "put 1 bytes at 100000 into" },
        { "a put over the end", none, put_frame(1, W - 1, 2), "put 2 bytes at 99999 into" },
        { "a put at the end of numbers", none, put_frame(1, UINT64_MAX, 1), "into a window of" },
        { "a put that wraps", none, put_frame(0, UINT64_MAX - 7, 16), "into a window of" },
        { "a put larger than all", none, put_frame(0, 0, 256 * 1024), "put 262144 bytes at 0" },
        { "no signals", none, signal_frame(0), "no signals" },
        { "a send without record", none, pair_frame(0, 1, 0, 0, 0), "backwards" },
        { "a record without send", none, pair_frame(1, 0, 0, 0, 0), "backwards" },
        { "the other record", none, pair_frame(1, 1, 0, 0, 0), "backwards" },
        { "sends go backwards", pair_frame(3, 2, 0, 0, 0), pair_frame(2, 1, 0, 0, 0), "backwards" },
        { "puts go backwards", pair_frame(0, 0, 0, 2, 0), pair_frame(0, 0, 0, 1, 0), "backwards" },
        { "a third piece", none, pair_frame(0, 0, 0, 3, 0), "more pieces" },
        { "taken, not put", none, pair_frame(0, 0, 0, 0, 1), "more pieces" },
    };
    if (i >= sizeof(cases) / sizeof(cases[0])) {
        return false;
    }
    *out = cases[i];
    return true;
}

static void expect_untouched_windows(const char *name)
{
    const struct rp_peer *own = &lines_of(0)->peer[0];
    for (uint64_t i = 0; i < W; i++) {
        cr_assert(eq(u8, own->window_in[i] | own->window_out[i], 0), "%s", name);
    }
}

Test(tcp_wrong, every_frame_that_is_not_allowed_ends_the_connection)
{
    struct wrong wrong;
    for (unsigned i = 0; wrong_case(i, &wrong); i++) {
        if (i != 0) {
            open_raw();
        }
        if (wrong.before.used != 0) {
            say(&wrong.before);
            // A failure that the peer tells is known of it from then on.
            if (wrong.before.at[4] != 3) {
                expect_fine();
            }
        }
        say(&wrong.frame);
        if (wrong.before.used != 0 && wrong.before.at[4] == 3) {
            cr_assert(tcp_case_until(&tcp, lost));
            cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, B + 1), RP_EREMOTE));
        } else {
            expect_lost(wrong.why);
        }
        say_payload(0xff, 4096); // nobody takes it
        expect_untouched_windows(wrong.name);
        teardown();
    }
    open_raw();
}

// The borders of what is allowed, from the same makers of frames.
Test(tcp_wrong, what_is_allowed_is_taken)
{
    const struct bytes frames[] = {
        line(B + 1, B),
        line(B + 2, B + 1),
        done_frame(B + 2),
        pair_frame(0, 0, 0, 2, 0),
        pair_frame(2, 1, 0, 2, 0),
        pair_frame(1 | 8, 2, 1, 2, 0),
        pair_frame(3 | 12, 4, 9, 2, 0),
    };
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        say(&frames[i]);
        expect_fine();
    }
    for (uint8_t window = 0; window < 2; window++) {
        const struct bytes put = put_frame(window, W - 3, 3);
        say(&put);
        say_payload((uint8_t)(0xa0 + window), 3);
        expect_fine();
    }
    const struct rp_peer *own = &lines_of(0)->peer[0];
    cr_assert(eq(int, memcmp(own->window_in + W - 4, "\0\xa0\xa0\xa0", 4), 0));
    cr_assert(eq(int, memcmp(own->window_out + W - 4, "\0\xa1\xa1\xa1", 4), 0));
    cr_assert(eq(int, rp_lines_done(lines_of(0), 1, B + 2), RP_OK));
    const struct rp_pair *peers = tcp.end[0].channel->peers;
    cr_assert(eq(u64, atomic_load_explicit(&peers->sends, memory_order_acquire), 4));
    cr_assert(eq(u64, atomic_load_explicit(&peers->recvs, memory_order_acquire), 9));
    cr_assert(eq(u64, atomic_load_explicit(&peers->put, memory_order_acquire), 2));
}

Test(tcp_wrong, random_bytes_end_the_connection)
{
    srand(20260);
    for (int round = 0; round < 30; round++) {
        struct bytes noise = { .used = sizeof(noise.at) };
        for (size_t i = 0; i < noise.used; i++) {
            noise.at[i] = (uint8_t)rand();
        }
        noise.at[7] |= 1; // what a frame's header never has
        if (round != 0) {
            open_raw();
        }
        say(&noise);
        expect_lost("no frame");
        expect_untouched_windows("noise");
        teardown();
    }
    open_raw();
}

Test(tcp_wrong, a_frame_comes_byte_by_byte)
{
    const struct bytes frame = line(B + 1, B);
    for (size_t i = 0; i < frame.used; i++) {
        const struct bytes one = { .at = { frame.at[i] }, .used = 1 };
        cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, B + 1), RP_AGAIN), "byte %zu", i);
        say(&one);
        rp_channel_progress(tcp.end[0].channel, 2);
    }
    expect_fine();
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, B + 1), RP_OK));
    cr_assert(eq(int, rp_lines_match(lines_of(0), 1, B + 1, 42), RP_OK));
}

// ---- a peer that goes ----

Test(tcp_wrong, the_end_in_the_middle_of_a_frame_is_a_loss)
{
    const struct bytes put = put_frame(0, 0, 1000);
    say(&put);
    say_payload(1, 10);
    shutdown(tcp.end[1].fd, SHUT_WR);
    expect_lost("it was closed");
}

Test(tcp_wrong, a_reset_is_a_loss)
{
    const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(tcp.end[1].fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(tcp.end[1].fd);
    tcp.end[1].fd = -1;
    expect_lost("Connection reset");
}

// The write fails first: what the peer still said is heard all the same.
Test(tcp_wrong, a_write_that_fails_does_not_hide_that_the_peer_left)
{
    const struct bytes left = status_frame(0, 0, RP_NO_RANK, 1);
    const struct bytes last = signal_frame(3);
    say(&last);
    say(&left);
    close(tcp.end[1].fd);
    tcp.end[1].fd = -1;
    usleep(20000);
    for (int i = 0; i < 10; i++) { // the first is answered by a reset, the next ones fail
        (void)rp_channel_put(tcp.end[0].channel, RP_WINDOW_IN, 0, "x", 1);
        (void)rp_channel_signal(tcp.end[0].channel);
        usleep(1000);
    }
    for (int i = 0; i < 50; i++) {
        tcp_case_turn(&tcp);
    }
    cr_assert(eq(int, rp_comm_status(tcp.end[0].comm), RP_OK));
    for (int i = 0; i < 3; i++) {
        cr_assert(rp_channel_test(tcp.end[0].channel));
    }
    cr_assert(eq(int, rp_channel_signal(tcp.end[0].channel), RP_OK));
}
