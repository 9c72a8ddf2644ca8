#include "support/stranger.h"

#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

bool stranger_connect(struct stranger *stranger, const void *info)
{
    struct rp_root_info where;
    return rp_root_info_read(info, &where) == RP_OK &&
           stranger_connect_to(stranger, &where, RP_WIRE_ROOT);
}

bool stranger_connect_to(
        struct stranger *stranger, const struct rp_root_info *where, enum rp_wire_scope scope)
{
    memset(stranger, 0, sizeof(*stranger));
    stranger->info = *where;
    struct sockaddr_storage address;
    socklen_t bytes = rp_netif_sockaddr(&stranger->info.address, stranger->info.port, &address);
    stranger->session.scope = scope;
    stranger->session.secret = stranger->info.secret;
    randombytes_buf(stranger->session.dialer_nonce, RP_WIRE_NONCE_BYTES);
    stranger->fd = socket(stranger->info.address.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval limit = { .tv_sec = 10 };
    setsockopt(stranger->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return connect(stranger->fd, (struct sockaddr *)&address, bytes) == 0;
}

bool stranger_send(struct stranger *stranger, const void *bytes, size_t length)
{
    return send(stranger->fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool stranger_receive(struct stranger *stranger, void *bytes, size_t length)
{
    return recv(stranger->fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

bool stranger_greet(struct stranger *stranger)
{
    uint8_t greeting[RP_WIRE_GREETING_BYTES];
    rp_greeting_write(greeting, stranger->session.dialer_nonce);
    return stranger_send(stranger, greeting, sizeof(greeting)) &&
           stranger_receive(stranger, greeting, sizeof(greeting)) &&
           rp_greeting_read(greeting, stranger->session.listener_nonce) == RP_OK;
}

bool stranger_prove(struct stranger *stranger)
{
    uint8_t proof[RP_WIRE_PROOF_BYTES];
    rp_wire_proof(&stranger->session, RP_WIRE_DIALER, proof);
    rp_wire_key(&stranger->session, stranger->key);
    return stranger_send(stranger, proof, sizeof(proof)) &&
           stranger_receive(stranger, proof, sizeof(proof)) &&
           rp_wire_proof_check(&stranger->session, RP_WIRE_LISTENER, proof);
}

bool stranger_frame(
        struct stranger *stranger, uint16_t type, const void *payload, uint32_t payload_bytes)
{
    struct rp_frame_header header = { .payload_bytes = payload_bytes, .type = type };
    uint8_t frame[RP_WIRE_FRAME_MAX];
    rp_frame_seal(frame, stranger->key, RP_WIRE_DIALER, stranger->frames++, &header, payload);
    return stranger_send(stranger, frame, rp_frame_bytes(&header));
}

bool stranger_is_dropped(struct stranger *stranger, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = stranger->fd, .events = POLLIN };
    char byte;
    return poll(&poll_fd, 1, timeout_ms) == 1 && recv(stranger->fd, &byte, 1, 0) <= 0;
}

void stranger_close(struct stranger *stranger)
{
    close(stranger->fd);
    stranger->fd = -1;
}
