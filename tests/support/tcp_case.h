#ifndef TESTS_SUPPORT_TCP_CASE_H
#define TESTS_SUPPORT_TCP_CASE_H

/*
 * Two ranks on two nodes, both in this process and without a bootstrap: each has a communicator
 * with nothing but its lines, its windows and a tcp channel to the other, on a loop of its own.
 * Either end may be left a raw socket, which the test speaks on itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include "support/channel_conformance.h"
#include "transport/comm.h"
#include "transport/loop.h"

#define TCP_WINDOW_BYTES 100000u /* no multiple of anything */
#define TCP_BASE (5 * RP_SEQ_BASE_UNIT)

struct tcp_end {
    struct rp_comm *comm; /* NULL: a raw socket, or closed */
    struct rp_loop *loop;
    struct rp_channel *channel;
    int fd; /* a raw socket's, else the channel's, to look at only */
};

struct tcp_shape {
    uint64_t window_bytes; /* 0: TCP_WINDOW_BYTES */
    int send_bytes;        /* the sockets' send buffers, with small receive buffers; 0: the system's
                              choice of both */
    bool raw;              /* rank 1 is a raw socket */
};

struct tcp_case {
    struct tcp_end end[2];
};

/** tcp_case_open: ends the test program on failure. */
void tcp_case_open(struct tcp_case *tcp, const struct tcp_shape *shape);

/** tcp_case_close: closes what is open and destroys the loops. */
void tcp_case_close(struct tcp_case *tcp);

/** tcp_end_leave: what HcclCommDestroy and the last reference do: the communicator has gone, the
 *  loop has the rest. */
void tcp_end_leave(struct tcp_end *end);

/** tcp_end_drop: the same without a word, as a bootstrap does that has failed. */
void tcp_end_drop(struct tcp_end *end);

/** tcp_case_turn: a turn of both loops; the own test or progress calls are the test's. */
void tcp_case_turn(struct tcp_case *tcp);

/** tcp_case_until: turns both loops until `true_now(tcp)`; false after ten seconds. */
bool tcp_case_until(struct tcp_case *tcp, bool (*true_now)(struct tcp_case *tcp));

/** tcp_socket_pair: a connected pair over 127.0.0.1, non-blocking. */
void tcp_socket_pair(int fd[2], int send_bytes);

#endif
