#include "support/tcp_case.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "transport/channel_tcp.h"
#include "transport/segment.h"

static void need(bool well, const char *what)
{
    if (!well) {
        const char *why = rp_error_take();
        fprintf(stderr, "tcp_case: %s: %s\n", what, why == NULL ? "" : why);
        _exit(97);
    }
}

// A receive buffer below a segment of the loopback's makes the kernel wait for its timers.
static void set_buffers(int fd, int bytes)
{
    const int receive_bytes = 256 * 1024;
    if (bytes != 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
}

void tcp_socket_pair(int fd[2], int send_bytes)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t length = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set_buffers(listener, send_bytes); // what is accepted inherits them
    need(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                    listen(listener, 1) == 0 &&
                    getsockname(listener, (struct sockaddr *)&address, &length) == 0,
            "listen");
    fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set_buffers(fd[0], send_bytes);
    need(connect(fd[0], (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    fd[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    need(fd[1] >= 0, "accept");
    int on = 1;
    need(ioctl(fd[0], FIONBIO, &on) == 0, "ioctl");
    close(listener);
}

// What rp_comm_create would make of it, as far as a channel looks.
static struct rp_comm *make_comm(uint32_t rank, uint64_t window_bytes)
{
    struct rp_comm *comm = rp_calloc(1, sizeof(*comm));
    need(comm != NULL, "calloc");
    comm->rank = rank;
    comm->size = 2;
    comm->nodes = 2;
    snprintf(comm->name, sizeof(comm->name), "two nodes");
    comm->member = rp_calloc(2, sizeof(*comm->member));
    comm->process = rp_calloc(2, sizeof(struct rp_process *));
    comm->channel = rp_calloc(2, sizeof(struct rp_channel *));
    need(comm->member != NULL && comm->process != NULL && comm->channel != NULL, "calloc");
    for (uint32_t q = 0; q < 2; q++) {
        comm->member[q].pid = 1000 + q;
        comm->member[q].node = q;
        snprintf(comm->member[q].host, sizeof(comm->member[q].host), "host%u", q);
    }
    need(rp_segment_create(2, window_bytes, TCP_BASE, &comm->segment) == RP_OK, "segment");
    need(rp_lines_init(&comm->lines, rank, 2, TCP_BASE) == RP_OK, "rp_lines_init");
    comm->lines.window_bytes = window_bytes;
    rp_segment_peer(comm->segment, rank, &comm->lines.peer[rank]);
    return comm;
}

static void free_comm(struct rp_comm *comm)
{
    rp_lines_fini(&comm->lines);
    rp_segment_unref(comm->segment);
    rp_free(comm->channel);
    rp_free(comm->process);
    rp_free(comm->member);
    rp_free(comm);
}

static void open_end(struct tcp_end *end, uint32_t rank, uint64_t window_bytes)
{
    end->comm = make_comm(rank, window_bytes);
    need(rp_loop_create(&end->loop) == RP_OK, "rp_loop_create");
    need(rp_channel_tcp_open(end->comm, end->loop, 1 - rank, end->fd, &end->channel) == RP_OK,
            "rp_channel_tcp_open");
    end->comm->channel[1 - rank] = end->channel;
}

void tcp_case_open(struct tcp_case *tcp, const struct tcp_shape *shape)
{
    const uint64_t window_bytes = shape->window_bytes == 0 ? TCP_WINDOW_BYTES : shape->window_bytes;
    int fd[2];
    *tcp = (struct tcp_case){ 0 };
    need(rp_process_check() == RP_OK, "rp_process_check");
    tcp_socket_pair(fd, shape->send_bytes);
    for (uint32_t r = 0; r < 2; r++) {
        tcp->end[r].fd = fd[r];
        if (r == 0 || !shape->raw) {
            open_end(&tcp->end[r], r, window_bytes);
        }
    }
}

void tcp_end_drop(struct tcp_end *end)
{
    rp_channel_close(end->channel);
    free_comm(end->comm);
    end->channel = NULL;
    end->comm = NULL;
}

void tcp_end_leave(struct tcp_end *end)
{
    rp_lines_leave(&end->comm->lines);
    tcp_end_drop(end);
}

void tcp_case_close(struct tcp_case *tcp)
{
    for (uint32_t r = 0; r < 2; r++) {
        struct tcp_end *end = &tcp->end[r];
        if (end->loop == NULL) {
            close(end->fd); // raw
            continue;
        }
        if (end->comm != NULL) {
            tcp_end_leave(end);
        }
    }
    for (uint32_t r = 0; r < 2; r++) {
        rp_loop_destroy(tcp->end[r].loop);
    }
}

void tcp_case_turn(struct tcp_case *tcp)
{
    for (uint32_t r = 0; r < 2; r++) {
        if (tcp->end[r].loop != NULL) {
            (void)rp_loop_step(tcp->end[r].loop);
        }
    }
}

bool tcp_case_until(struct tcp_case *tcp, bool (*true_now)(struct tcp_case *tcp))
{
    const uint64_t deadline_ns = rp_deadline_ns(10 * RP_NS_PER_S);
    while (!true_now(tcp)) {
        tcp_case_turn(tcp);
        sched_yield();
        if (rp_now_ns() > deadline_ns) {
            return false;
        }
    }
    return true;
}
