// The door at which a rank awaits those of other nodes: who is no rank, or another one than is
// awaited, is sent away and is in nobody's way.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/util.h"
#include "support/boot.h"
#include "support/stranger.h"
#include "transport/links.h"

#define SIZE 4
#define HELLO 1 // the dialer's only word
#define WELCOME 2
#define STILL_MS 300 // in which a door that will not open would have opened

// Rank 1 of four: 0 and 1 are one node, 2 and 3 two others.
static struct {
    struct rp_loop *loop;
    struct rp_links *links;
    struct rp_roster_entry roster[SIZE];
    struct rp_door door[SIZE];
    struct rp_root_info where; // its door, as strangers take it
    pthread_t driver;
    _Atomic bool stop;
    _Atomic int linked, failed;
} rank;

static void on_linked(void *owner)
{
    (void)owner;
    atomic_fetch_add(&rank.linked, 1);
}

static void on_failed(void *owner, rp_status status, const char *sentence)
{
    (void)owner;
    (void)status;
    fprintf(stderr, "the links failed: %s\n", sentence);
    atomic_fetch_add(&rank.failed, 1);
}

static void *drive(void *unused)
{
    (void)unused;
    while (!atomic_load(&rank.stop)) {
        boot_drive(rank.loop);
    }
    return NULL;
}

static void open_door(void)
{
    static const struct rp_links_events events = { .linked = on_linked, .failed = on_failed };
    static const uint32_t node[SIZE] = { 0, 0, 1, 2 };
    const struct rp_hccl_env *env;
    struct rp_links_setup setup = {
        .rank = 1,
        .size = SIZE,
        .roster = rank.roster,
        .door = rank.door,
        .secret = rank.where.secret,
        .deadline_ns = rp_deadline_ns(30 * RP_NS_PER_S),
        .events = &events,
    };
    setenv("HCCL_SOCKET_IFNAME", "=lo", 1);
    cr_assert(eq(int, rp_process_check(), RP_OK));
    cr_assert(eq(int, rp_loop_create(&rank.loop), RP_OK));
    cr_assert(eq(int, rp_env_hccl(&env), RP_OK));
    cr_assert(eq(int, rp_netif_choose(env, &rank.where.address), RP_OK));
    cr_assert(eq(int,
            rp_netif_listen(
                    &rank.where.address, &env->host_ports, &setup.listen_fd, &rank.where.port),
            RP_OK));
    randombytes_buf(rank.where.secret, sizeof(rank.where.secret));
    for (uint32_t i = 0; i < SIZE; i++) {
        rank.roster[i].member.node = node[i];
    }
    setup.loop = rank.loop;
    setup.env = env;
    cr_assert(eq(int, rp_links_create(&setup, &rank.links), RP_OK));
    cr_assert(zero(int, pthread_create(&rank.driver, NULL, drive, NULL)));
}

static void close_door(void)
{
    atomic_store(&rank.stop, true);
    pthread_join(rank.driver, NULL);
    rp_links_destroy(rank.links);
    rp_loop_destroy(rank.loop);
}

TestSuite(links, .init = open_door, .fini = close_door, .timeout = 60);

static bool says_hello(struct stranger *stranger, uint32_t from, uint32_t to)
{
    uint8_t payload[8];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_write_u32(&writer, from);
    rp_write_u32(&writer, to);
    return stranger_frame(stranger, HELLO, payload, sizeof(payload));
}

static bool comes_in(struct stranger *stranger)
{
    return stranger_connect_to(stranger, &rank.where, RP_WIRE_LINK) && stranger_greet(stranger) &&
           stranger_prove(stranger);
}

static bool is_welcome(struct stranger *stranger)
{
    const struct rp_frame_header header = { .type = WELCOME };
    uint8_t expected[RP_WIRE_FRAME_MAX], frame[RP_WIRE_FRAME_MAX];
    const size_t bytes = rp_frame_bytes(&header);
    rp_frame_seal(expected, stranger->key, RP_WIRE_LISTENER, 0, &header, NULL);
    return stranger_receive(stranger, frame, bytes) && memcmp(frame, expected, bytes) == 0;
}

// The ranks that are awaited come, after whatever a test has done.
static void expect_links(void)
{
    struct stranger peer[2];
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(eq(int, atomic_load(&rank.linked), 0));
        cr_assert(comes_in(&peer[i]) && says_hello(&peer[i], 2 + i, 1));
        cr_assert(is_welcome(&peer[i]));
    }
    for (int tries = 0; atomic_load(&rank.linked) == 0 && tries < 5000; tries++) {
        usleep(1000);
    }
    cr_assert(eq(int, atomic_load(&rank.linked), 1));
    cr_assert(eq(int, atomic_load(&rank.failed), 0));
    stranger_close(&peer[0]);
    stranger_close(&peer[1]);
}

Test(links, ranks_that_are_awaited_come_in)
{
    expect_links();
}

Test(links, garbage_is_sent_away)
{
    static const char text[] =
            "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: a scanner, long enough\r\n\r\n";
    struct stranger stranger;
    uint8_t greeting[RP_WIRE_GREETING_BYTES];
    cr_assert(stranger_connect_to(&stranger, &rank.where, RP_WIRE_LINK));
    cr_assert(stranger_send(&stranger, text, sizeof(text)));
    if (stranger_receive(&stranger, greeting, sizeof(greeting))) { // which is no secret
        cr_assert(stranger_is_dropped(&stranger, 2000));
    }
    stranger_close(&stranger);
    expect_links();
}

// Neither a wrong secret nor a proof for another purpose.
Test(links, who_does_not_know_the_secret_is_sent_away)
{
    struct stranger stranger;
    cr_assert(stranger_connect_to(&stranger, &rank.where, RP_WIRE_LINK));
    stranger.info.secret[7] ^= 0x40;
    stranger.session.secret = stranger.info.secret;
    cr_assert(stranger_greet(&stranger));
    cr_assert(not(stranger_prove(&stranger)));
    stranger_close(&stranger);
    cr_assert(stranger_connect_to(&stranger, &rank.where, RP_WIRE_ROOT));
    cr_assert(stranger_greet(&stranger));
    cr_assert(not(stranger_prove(&stranger)));
    stranger_close(&stranger);
    expect_links();
}

// Who knows the secret and names a rank that is not awaited, or another's door.
Test(links, who_is_not_awaited_is_sent_away)
{
    static const uint32_t names[][2] = {
        { 0, 1 }, // of this node
        { 1, 1 }, // itself
        { 2, 0 },
        { 2, 3 }, // somebody else's door
        { 4, 1 },
        { UINT32_MAX, 1 },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(names); i++) {
        struct stranger stranger;
        cr_assert(comes_in(&stranger) && says_hello(&stranger, names[i][0], names[i][1]));
        cr_assert(stranger_is_dropped(&stranger, 2000), "row %zu", i);
        stranger_close(&stranger);
    }
    expect_links();
}

Test(links, a_malformed_hello_is_sent_away)
{
    static const uint8_t bytes[12] = { 2, 0, 0, 0, 1 };
    static const struct {
        uint16_t type;
        uint32_t bytes;
    } rows[] = { { HELLO, 7 }, { HELLO, 9 }, { HELLO, 0 }, { HELLO + 1, 8 }, { 77, 8 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct stranger stranger;
        cr_assert(comes_in(&stranger));
        cr_assert(stranger_frame(&stranger, rows[i].type, bytes, rows[i].bytes));
        cr_assert(stranger_is_dropped(&stranger, 2000), "row %zu", i);
        stranger_close(&stranger);
    }
    expect_links();
}

// A rank is linked once; the second of its name is not it.
Test(links, the_second_of_a_name_is_sent_away)
{
    struct stranger first, second, third;
    cr_assert(comes_in(&first) && says_hello(&first, 3, 1) && is_welcome(&first));
    cr_assert(comes_in(&second) && says_hello(&second, 3, 1));
    cr_assert(stranger_is_dropped(&second, 2000));
    cr_assert(not(stranger_is_dropped(&first, STILL_MS)));
    cr_assert(comes_in(&third) && says_hello(&third, 2, 1) && is_welcome(&third));
    for (int tries = 0; atomic_load(&rank.linked) == 0 && tries < 5000; tries++) {
        usleep(1000);
    }
    cr_assert(eq(int, atomic_load(&rank.linked), 1));
    stranger_close(&first);
    stranger_close(&second);
    stranger_close(&third);
}

// More at the door than there is room for.
Test(links, a_crowd_is_in_nobodys_way)
{
    struct stranger crowd[80];
    for (size_t i = 0; i < RP_ARRAY_LENGTH(crowd); i++) {
        cr_assert(stranger_connect_to(&crowd[i], &rank.where, RP_WIRE_LINK));
    }
    expect_links();
    for (size_t i = 0; i < RP_ARRAY_LENGTH(crowd); i++) {
        stranger_close(&crowd[i]);
    }
}
