// Somebody else at the root's port, while ranks bootstrap: never in their way, never believed.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/boot.h"
#include "support/child.h"
#include "support/stranger.h"
#include "transport/bootstrap_msg.h"
#include "transport/listener.h"

static struct boot_group group;

static void start(void)
{
    setenv("HCCL_SOCKET_IFNAME", "=lo", 1);
}

TestSuite(strangers, .init = start, .timeout = 120);

// Two ranks, the second of which comes after `delay_ms`: so long strangers have the port.
static void open_group(uint32_t delay_ms)
{
    boot_group_open(&group, 2, 30);
    group.rank[1].delay_ms = delay_ms;
    boot_group_start(&group);
}

// The init ends well, and not late.
static void close_group(uint64_t limit_ms)
{
    boot_group_wait(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));
    cr_assert(lt(u64, group.outcome[1].elapsed_ns, limit_ms * RP_NS_PER_MS));
    boot_group_close(&group);
}

Test(strangers, garbage_is_dropped_at_once)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: scanner/1.0 and something more\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a greeting of another protocol, long enough",
    };
    open_group(500);
    for (size_t i = 0; i < 2; i++) {
        struct stranger stranger;
        char byte;
        cr_assert(stranger_connect(&stranger, group.info));
        cr_assert(stranger_send(&stranger, texts[i], strlen(texts[i])));
        while (recv(stranger.fd, &byte, 1, 0) > 0) {
        } // its greeting, which is no secret
        stranger_close(&stranger);
    }
    close_group(2000);
}

Test(strangers, silence_is_dropped_after_five_seconds)
{
    struct stranger silent;
    struct stranger half;
    uint8_t greeting[RP_WIRE_GREETING_BYTES];
    open_group(7000);
    cr_assert(stranger_connect(&silent, group.info));
    cr_assert(stranger_connect(&half, group.info));
    cr_assert(stranger_send(&half, "repris", 6));
    uint64_t begin_ns = rp_now_ns();
    cr_assert(stranger_receive(&silent, greeting, sizeof(greeting)));
    cr_assert(stranger_receive(&half, greeting, sizeof(greeting)));
    cr_assert(stranger_is_dropped(&silent, 10000));
    cr_assert(stranger_is_dropped(&half, 1000));
    uint64_t took_ns = rp_now_ns() - begin_ns;
    cr_assert(gt(u64, took_ns, 4500 * RP_NS_PER_MS));
    cr_assert(lt(u64, took_ns, 6500 * RP_NS_PER_MS));
    stranger_close(&silent);
    stranger_close(&half);
    close_group(2000);
}

Test(strangers, a_wrong_secret_is_not_believed)
{
    struct stranger stranger;
    open_group(300);
    cr_assert(stranger_connect(&stranger, group.info));
    stranger.info.secret[0] ^= 1;
    cr_assert(stranger_greet(&stranger));
    cr_assert(not(stranger_prove(&stranger)));
    stranger_close(&stranger);
    close_group(2000);
}

// What a rank said yesterday, to another nonce, says nothing today.
Test(strangers, a_replayed_proof_is_not_believed)
{
    struct stranger rank;
    struct stranger replay;
    uint8_t proof[RP_WIRE_PROOF_BYTES];
    open_group(300);
    cr_assert(stranger_connect(&rank, group.info));
    cr_assert(stranger_greet(&rank));
    rp_wire_proof(&rank.session, RP_WIRE_DIALER, proof);
    cr_assert(stranger_prove(&rank), "it was good once");

    cr_assert(stranger_connect(&replay, group.info));
    memcpy(replay.session.dialer_nonce, rank.session.dialer_nonce, RP_WIRE_NONCE_BYTES);
    cr_assert(stranger_greet(&replay));
    cr_assert(stranger_send(&replay, proof, sizeof(proof)));
    cr_assert(stranger_is_dropped(&replay, 2000));
    stranger_close(&replay);
    stranger_close(&rank);
    close_group(2000);
}

// The root's own proof sent back to it: it names the listener.
Test(strangers, a_reflected_proof_is_not_believed)
{
    struct stranger stranger;
    uint8_t proof[RP_WIRE_PROOF_BYTES];
    open_group(300);
    cr_assert(stranger_connect(&stranger, group.info));
    cr_assert(stranger_greet(&stranger));
    rp_wire_proof(&stranger.session, RP_WIRE_LISTENER, proof);
    cr_assert(stranger_send(&stranger, proof, sizeof(proof)));
    cr_assert(stranger_is_dropped(&stranger, 2000));
    stranger_close(&stranger);
    close_group(2000);
}

// Even with the secret nothing is believed that does not fit.
Test(strangers, oversized_and_altered_frames_end_their_connection)
{
    struct stranger stranger;
    uint8_t frame[RP_WIRE_FRAME_MAX];
    open_group(500);

    cr_assert(stranger_connect(&stranger, group.info));
    cr_assert(stranger_greet(&stranger) && stranger_prove(&stranger));
    memset(frame, 0xff, sizeof(frame)); // 4 GiB to come
    cr_assert(stranger_send(&stranger, frame, RP_WIRE_HEADER_BYTES));
    cr_assert(stranger_is_dropped(&stranger, 2000));
    stranger_close(&stranger);

    cr_assert(stranger_connect(&stranger, group.info));
    cr_assert(stranger_greet(&stranger) && stranger_prove(&stranger));
    struct rp_frame_header header = { .payload_bytes = 3, .type = RP_MSG_HELLO };
    rp_frame_seal(frame, stranger.key, RP_WIRE_DIALER, 0, &header, "abc");
    frame[RP_WIRE_HEADER_BYTES] ^= 1;
    cr_assert(stranger_send(&stranger, frame, rp_frame_bytes(&header)));
    cr_assert(stranger_is_dropped(&stranger, 2000));
    stranger_close(&stranger);

    // Well sealed, and no hello.
    cr_assert(stranger_connect(&stranger, group.info));
    cr_assert(stranger_greet(&stranger) && stranger_prove(&stranger));
    cr_assert(stranger_frame(&stranger, RP_MSG_HELLO, "abc", 3));
    cr_assert(stranger_is_dropped(&stranger, 2000));
    stranger_close(&stranger);

    // A message that is not the first one.
    cr_assert(stranger_connect(&stranger, group.info));
    cr_assert(stranger_greet(&stranger) && stranger_prove(&stranger));
    cr_assert(stranger_frame(&stranger, RP_MSG_READY, "", 0));
    cr_assert(stranger_is_dropped(&stranger, 2000));
    stranger_close(&stranger);
    close_group(2000);
}

// Far more of them than are let in: the ranks are not delayed, and the root's descriptors are few.
Test(strangers, a_crowd_delays_nobody)
{
    enum { CROWD = 300 };
    static struct stranger crowd[CROWD];
    unsigned before = fds_open();
    open_group(800);
    for (int i = 0; i < CROWD; i++) {
        cr_assert(stranger_connect(&crowd[i], group.info));
    }
    usleep(300000);
    // The crowd's own ends are descriptors of this process too; two loops and arenas come on top.
    cr_assert(lt(uint, fds_open() - before, CROWD + RP_LISTENER_STRANGERS_MAX + 60));
    for (int i = 0; i < CROWD; i++) {
        if (i % 3 == 0) {
            stranger_send(&crowd[i], "x", 1);
        }
    }
    close_group(2000);
    for (int i = 0; i < CROWD; i++) {
        stranger_close(&crowd[i]);
    }
}

// A rank as the other side knows it, but with a layout of shared memory that is not ours.
Test(strangers, another_layout_version_is_named)
{
    struct stranger stranger;
    struct rp_comm_settings settings = boot_settings(30);
    struct rp_hello hello = {
        .rank = 1,
        .size = 2,
        .member = { .pid = 1, .device_id = 1, .host = "elsewhere" },
        .timeout_s = 30,
        .remaining_ms = 30000,
    };
    uint8_t payload[RP_WIRE_PAYLOAD_MAX];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    boot_group_open(&group, 2, 30);
    group.absent[1] = true;
    boot_group_start(&group);
    rp_agreement_from(&settings, &hello.agreement);
    strcpy(hello.agreement.setting[0].value, "version 99");
    rp_hello_write(&hello, &writer);
    usleep(200000); // so that rank 0's is the layout to compare with
    cr_assert(stranger_connect(&stranger, group.info));
    cr_assert(stranger_greet(&stranger) && stranger_prove(&stranger));
    cr_assert(stranger_frame(&stranger, RP_MSG_HELLO, payload, (uint32_t)writer.used));
    boot_group_wait(&group);
    cr_assert(boot_group_all(
            &group, RP_EMISMATCH, "the layout of shared memory differs: \"version "));
    cr_assert(boot_group_all(&group, RP_EMISMATCH, "\"version 99\" on rank 1"));
    stranger_close(&stranger);
    boot_group_close(&group);
}

// Something else listens where the root was: the rank goes on dialing and says what it met.
Test(strangers, a_stranger_in_the_roots_place_is_not_believed)
{
    struct rp_root_info info;
    static const struct rp_port_list any = { 0 };
    int listener;
    boot_group_open(&group, 1, 1);
    cr_assert(eq(int, rp_root_info_read(group.info, &info), RP_OK));
    cr_assert(eq(int, rp_netif_listen(&info.address, &any, &listener, &info.port), RP_OK));
    rp_root_info_write(&info, group.info);
    boot_group_start(&group);
    for (int i = 0; i < 3; i++) {
        struct sockaddr_storage address;
        socklen_t bytes = sizeof(address);
        int fd = -1;
        while (fd < 0) {
            fd = accept(listener, (struct sockaddr *)&address, &bytes);
        }
        send(fd, "220 mail.example ESMTP, and a line that is longer than any greeting\r\n", 69,
                MSG_NOSIGNAL);
        usleep(50000);
        close(fd);
    }
    close(listener);
    boot_group_wait(&group);
    cr_assert(boot_group_all(&group, RP_ECONNTIMEOUT, "could not be reached within 1 s"));
    boot_group_close(&group);
}
