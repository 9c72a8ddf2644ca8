#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "kernels/dtype.h"
#include "kernels/reduce.h"
#include "support/channel_conformance.h"
#include "support/tcp_case.h"
#include "transport/channel_tcp.h"

static bool open_pair(struct channel_pair *pair)
{
    struct tcp_case *tcp = calloc(1, sizeof(*tcp));
    tcp_case_open(tcp, &(struct tcp_shape){ 0 });
    pair->wire = tcp;
    pair->window_bytes = TCP_WINDOW_BYTES;
    for (uint32_t r = 0; r < 2; r++) {
        const struct rp_peer *own = &tcp->end[r].comm->lines.peer[r];
        pair->end[r] = tcp->end[r].channel;
        pair->window[r][RP_WINDOW_IN] = own->window_in;
        pair->window[r][RP_WINDOW_OUT] = own->window_out;
    }
    return true;
}

static void close_pair(struct channel_pair *pair)
{
    tcp_case_close(pair->wire);
    free(pair->wire);
}

static const struct channel_wire wire = { .open = open_pair, .close = close_pair };

CHANNEL_CONFORMANCE(channel_tcp, &wire)

// ---- the copy of the peer's block ----

static struct tcp_case tcp;

static void setup(void)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ 0 });
}

static void teardown(void)
{
    tcp_case_close(&tcp);
}

TestSuite(tcp_lines, .init = setup, .fini = teardown, .timeout = 30);

static struct rp_lines *lines_of(uint32_t rank)
{
    return &tcp.end[rank].comm->lines;
}

static struct rp_record op_record(uint32_t rank, uint64_t count)
{
    return (struct rp_record){
        .op = RP_OP_ALL_REDUCE,
        .count = count,
        .dtype = RP_DTYPE_FP32,
        .reduce = RP_REDUCE_SUM,
        .expansion = RP_EXPANSION_HOST_TS,
        .algorithm = RP_ALGORITHM_MESH,
        .send_off = 4096 + rank,
        .recv_off = UINT64_MAX - rank,
        .graph = 77,
        .task = 3,
    };
}

static void announce(uint32_t rank, uint64_t count)
{
    const struct rp_record record = op_record(rank, count);
    cr_assert(eq(int, rp_lines_announce(lines_of(rank), &record, NULL, 0), RP_OK));
}

static void finish(uint32_t rank, unsigned n)
{
    rp_lines_finish(lines_of(rank), TCP_BASE + n);
    rp_lines_flush(lines_of(rank));
}

// What the waits of a test are for.
static unsigned awaited;

static bool arrived_at_0(struct tcp_case *at)
{
    (void)at;
    return rp_lines_arrived(lines_of(0), 1, TCP_BASE + awaited) != RP_AGAIN;
}

static bool done_at_0(struct tcp_case *at)
{
    (void)at;
    return rp_lines_done(lines_of(0), 1, TCP_BASE + awaited) != RP_AGAIN;
}

static bool done_at_1(struct tcp_case *at)
{
    (void)at;
    return rp_lines_done(lines_of(1), 0, TCP_BASE + awaited) != RP_AGAIN;
}

static void expect_sentence(const char *part)
{
    const char *text = rp_error_take();
    cr_assert(ne(ptr, (void *)(uintptr_t)text, NULL));
    cr_assert(ne(ptr, strstr(text, part), NULL), "\"%s\" is not in \"%s\"", part, text);
}

Test(tcp_lines, an_announcement_brings_its_record_and_digest)
{
    struct rp_record expected = op_record(1, 5);
    expected.seq = TCP_BASE + 1;
    expected.digest = rp_record_digest(&expected);
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 1), RP_AGAIN));
    announce(1, 5);
    awaited = 1;
    cr_assert(tcp_case_until(&tcp, arrived_at_0));
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 1), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 2), RP_AGAIN));
    cr_assert(eq(int, rp_lines_done(lines_of(0), 1, TCP_BASE + 1), RP_AGAIN));
    const struct rp_record seen = rp_lines_record(lines_of(0), 1, TCP_BASE + 1);
    cr_assert(eq(int, memcmp(&seen, &expected, sizeof(seen)), 0));
    cr_assert(eq(int, rp_lines_match(lines_of(0), 1, TCP_BASE + 1, expected.digest), RP_OK));
    announce(0, 6);
    const struct rp_record own = rp_lines_record(lines_of(0), 0, TCP_BASE + 1);
    cr_assert(eq(int, rp_lines_match(lines_of(0), 1, TCP_BASE + 1, own.digest), RP_EMISMATCH));
    expect_sentence("count 5");
}

// The line is used again for the op after the next, the record's place 64 ops later.
Test(tcp_lines, many_ops_go_by)
{
    for (unsigned n = 1; n <= 200; n++) {
        announce(0, n);
        announce(1, n);
        awaited = n;
        cr_assert(tcp_case_until(&tcp, arrived_at_0));
        cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + n), RP_OK));
        cr_assert(eq(u64, rp_lines_record(lines_of(0), 1, TCP_BASE + n).count, n));
        finish(0, n);
        finish(1, n);
        cr_assert(tcp_case_until(&tcp, done_at_0));
        cr_assert(tcp_case_until(&tcp, done_at_1));
        cr_assert(eq(int, rp_lines_done(lines_of(0), 1, TCP_BASE + n), RP_OK));
        cr_assert(eq(int, rp_lines_done(lines_of(1), 0, TCP_BASE + n), RP_OK));
    }
}

Test(tcp_lines, a_line_is_written_again_only_when_the_peer_is_done)
{
    const struct rp_record record = op_record(0, 1);
    announce(0, 1);
    announce(0, 2);
    for (int i = 0; i < 100; i++) {
        tcp_case_turn(&tcp);
    }
    cr_assert(eq(int, rp_lines_announce(lines_of(0), &record, NULL, 0), RP_AGAIN));
    announce(1, 1);
    finish(1, 1);
    awaited = 1;
    cr_assert(tcp_case_until(&tcp, done_at_0));
    cr_assert(eq(int, rp_lines_announce(lines_of(0), &record, NULL, 0), RP_OK));
    cr_assert(eq(int, rp_lines_announce(lines_of(0), &record, NULL, 0), RP_AGAIN));
}

Test(tcp_lines, a_failure_is_heard_with_its_cause)
{
    announce(0, 1);
    announce(1, 1);
    rp_lines_fail(lines_of(1), RP_ETASKTIMEOUT, 1, TCP_BASE + 1);
    awaited = 1;
    cr_assert(tcp_case_until(&tcp, done_at_0));
    cr_assert(eq(int, rp_lines_done(lines_of(0), 1, TCP_BASE + 1), RP_ETASKTIMEOUT));
    expect_sentence("rank 1 gave up at op #1");
    cr_assert(eq(int, rp_lines_check(lines_of(0), TCP_BASE + 1), RP_ETASKTIMEOUT));
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 1), RP_OK));
    cr_assert(eq(u32, lines_of(0)->culprit, 1));
}

Test(tcp_lines, leaving_is_heard_and_is_no_loss)
{
    announce(0, 1);
    announce(1, 1);
    finish(1, 1);
    tcp_end_leave(&tcp.end[1]);
    awaited = 2;
    cr_assert(tcp_case_until(&tcp, arrived_at_0));
    cr_assert(eq(int, rp_lines_done(lines_of(0), 1, TCP_BASE + 1), RP_OK));
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 2), RP_EREMOTE));
    expect_sentence("rank 1 has destroyed the communicator; its last op was #1");
    for (int i = 0; i < 100; i++) {
        tcp_case_turn(&tcp);
    }
    cr_assert(eq(int, rp_comm_status(tcp.end[0].comm), RP_OK));
    // What this rank still says to one that has left is for nobody.
    finish(0, 1);
    cr_assert(eq(int, rp_channel_signal(tcp.end[0].channel), RP_OK));
    cr_assert(eq(int, rp_channel_put(tcp.end[0].channel, RP_WINDOW_IN, 0, "x", 1), RP_OK));
    cr_assert(eq(int, rp_channel_publish(tcp.end[0].channel), RP_OK));
    cr_assert(not(rp_channel_test(tcp.end[0].channel)));
}

static bool lost_at_0(struct tcp_case *at)
{
    return rp_comm_status(at->end[0].comm) != RP_OK;
}

Test(tcp_lines, an_end_without_a_word_is_a_loss)
{
    announce(0, 1);
    announce(1, 1);
    tcp_end_drop(&tcp.end[1]);
    cr_assert(tcp_case_until(&tcp, lost_at_0));
    expect_sentence("rank 1 (process 1001 on host1) has died or its connection was lost");
    cr_assert(eq(int, rp_comm_status(tcp.end[0].comm), RP_EREMOTE));
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 1), RP_OK),
            "what came before counts");
    cr_assert(eq(int, rp_lines_done(lines_of(0), 1, TCP_BASE + 1), RP_EREMOTE));
    expect_sentence("rank 1 has died or its connection was lost; its last op was #1");
    cr_assert(eq(int, rp_channel_signal(tcp.end[0].channel), RP_EREMOTE));
    cr_assert(eq(int, rp_channel_publish(tcp.end[0].channel), RP_EREMOTE));
    cr_assert(eq(int, rp_channel_put(tcp.end[0].channel, RP_WINDOW_IN, 0, "x", 1), RP_EREMOTE));
    cr_assert(not(rp_channel_test(tcp.end[0].channel)));
    cr_assert(eq(uint, rp_channel_progress(tcp.end[0].channel, 9), 0));
}

Test(tcp_lines, a_loop_that_ends_takes_its_channels_with_it)
{
    rp_loop_destroy(tcp.end[0].loop);
    cr_assert(eq(int, rp_loop_create(&tcp.end[0].loop), RP_OK));
    cr_assert(eq(int, rp_channel_signal(tcp.end[0].channel), RP_EREMOTE));
    cr_assert(eq(int, rp_comm_status(tcp.end[0].comm), RP_EREMOTE));
    announce(1, 1);
    awaited = 1;
    cr_assert(tcp_case_until(&tcp, done_at_1));
    cr_assert(eq(int, rp_lines_done(lines_of(1), 0, TCP_BASE + 1), RP_EREMOTE));
}

Test(tcp_lines, sleepers_on_the_loop_wake_for_what_comes)
{
    tcp_case_turn(&tcp);
    tcp_case_turn(&tcp);
    struct pollfd poll_fd = { .fd = rp_loop_fd(tcp.end[0].loop), .events = POLLIN };
    cr_assert(ne(int, rp_loop_timeout_ms(tcp.end[0].loop), 0), "nothing to do");
    cr_assert(eq(int, poll(&poll_fd, 1, 0), 0));
    cr_assert(eq(int, rp_channel_signal(tcp.end[1].channel), RP_OK));
    cr_assert(eq(int, poll(&poll_fd, 1, 10000), 1));
    cr_assert(rp_loop_step(tcp.end[0].loop), "the driver's lanes are looked at again");
    cr_assert(eq(int, poll(&poll_fd, 1, 0), 0), "the loop has read it");
    cr_assert(rp_channel_test(tcp.end[0].channel));
}

// A lane's own look may take what another lane waits for.
Test(tcp_lines, what_a_look_reads_keeps_the_driver_awake)
{
    tcp_case_turn(&tcp);
    tcp_case_turn(&tcp);
    announce(1, 1);
    cr_assert(eq(int, rp_channel_signal(tcp.end[1].channel), RP_OK));
    const uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    while (!rp_channel_test(tcp.end[0].channel) && rp_now_ns() < deadline_ns) {
    }
    cr_assert(eq(int, rp_lines_arrived(lines_of(0), 1, TCP_BASE + 1), RP_OK));
    cr_assert(eq(int, rp_loop_timeout_ms(tcp.end[0].loop), 0));
    cr_assert(rp_loop_step(tcp.end[0].loop));
    cr_assert(ne(int, rp_loop_timeout_ms(tcp.end[0].loop), 0));
}

// An announcement alone is sent when its rank waits, or by the loop.
Test(tcp_lines, nothing_stays_unsent_when_nobody_waits)
{
    tcp_case_turn(&tcp);
    tcp_case_turn(&tcp);
    announce(0, 1);
    cr_assert(eq(int, rp_channel_put(tcp.end[0].channel, RP_WINDOW_IN, 0, "x", 1), RP_OK));
    cr_assert(eq(int, rp_loop_timeout_ms(tcp.end[0].loop), 0), "no sleep before it is sent");
    const uint8_t *there = lines_of(1)->peer[1].window_in;
    const uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    while (*there != 'x' && rp_now_ns() < deadline_ns) {
        tcp_case_turn(&tcp);
    }
    cr_assert(eq(u8, *there, 'x'));
    cr_assert(eq(int, rp_lines_arrived(lines_of(1), 0, TCP_BASE + 1), RP_OK));
}

// ---- the socket ----

TestSuite(tcp_socket, .fini = teardown, .timeout = 30);

// What a process has behind a descriptor: "socket:[4711]".
static void look_at_fd(pid_t process, int fd, char text[64])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)process, fd);
    const ssize_t length = readlink(path, text, 63);
    text[length < 0 ? 0 : length] = '\0';
}

Test(tcp_socket, a_forked_child_holds_no_copy)
{
    char own[64];
    char copy[64];
    tcp_case_open(&tcp, &(struct tcp_shape){ .raw = true });
    look_at_fd(getpid(), tcp.end[0].fd, own);
    const pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    const uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    do {
        usleep(1000);
        look_at_fd(child, tcp.end[0].fd, copy);
    } while (strcmp(copy, own) == 0 && rp_now_ns() < deadline_ns);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_assert(eq(int, strncmp(own, "socket:", 7), 0));
    cr_assert(ne(str, copy, own));
}

Test(tcp_socket, heap_failure_is_an_error_and_the_socket_stays)
{
    tcp_case_open(&tcp, &(struct tcp_shape){ .raw = true });
    for (int64_t n = 0; n < 3; n++) {
        int fd[2];
        struct rp_channel *channel = NULL;
        tcp_socket_pair(fd, 0);
        rp_alloc_fail_after(n);
        cr_assert(eq(int, rp_channel_tcp_open(tcp.end[0].comm, tcp.end[0].loop, 1, fd[0], &channel),
                RP_ENOMEM));
        cr_assert(eq(ptr, channel, NULL));
        cr_assert(eq(int, (int)send(fd[0], "x", 1, MSG_NOSIGNAL), 1));
        close(fd[0]);
        close(fd[1]);
    }
}
