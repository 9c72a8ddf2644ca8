#ifndef REPRISE_TRANSPORT_CHANNEL_TCP_INTERNAL_H
#define REPRISE_TRANSPORT_CHANNEL_TCP_INTERNAL_H

/* Between the files of the tcp channel: channel_tcp.c, _send.c and _receive.c. */

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "transport/channel.h"
#include "transport/channel_tcp_frames.h"
#include "transport/comm.h"
#include "transport/loop.h"

enum rp_tcp_state {
    RP_TCP_OPEN,
    RP_TCP_LINGERING, /* closed at this end; the rest is being sent */
    RP_TCP_OVER,      /* the socket is closed */
};

/* A put that took more than one call: how far it is. */
struct rp_tcp_unfinished {
    const void *src; /* NULL: none */
    uint64_t off;
    uint64_t done;
    enum rp_window window;
};

/* What goes out: a ring of whole frames. `tail - head` bytes of it have not been sent. */
struct rp_tcp_out {
    uint8_t *ring;
    uint64_t head;
    uint64_t tail;
    bool failed;      /* nothing can be sent any more; reading tells why */
    bool status_due;  /* `status` of the own block has changed and was not queued */
    bool lines_due;   /* an announcement was queued for every peer, and not sent */
    uint64_t arrived; /* what the peer has been told, or stands in the ring: own counters */
    uint64_t done;
    struct rp_tcp_status status;
    uint64_t sends; /* of the pair's words */
    uint64_t recvs;
    struct rp_tcp_unfinished put;
};

/* What comes in: bytes [begin, end) of `buffer` are not parsed; a payload is read to its place. */
struct rp_tcp_in {
    uint8_t *buffer;
    size_t begin;
    size_t end;
    uint8_t *payload; /* where the next of `payload_left` bytes go; NULL: nowhere */
    uint64_t payload_left;
    uint64_t arrived; /* the peer's counters, as its copy has them */
    uint64_t done;
    bool left;
    uint64_t signals; /* received, and of these what rp_channel_test() has answered for */
    uint64_t taken;
    unsigned calls_to_skip; /* tests that do not ask the socket again */
    char why[128];          /* what the peer did wrong; "": nothing */
};

/*
 * Two own a channel: the communicator until rp_channel_close(), and the loop until its handles are
 * closed. `lock` stands between them, because the communicator may go on any thread while a
 * callback of the loop uses it. What a thread does with the baton and a reference to the
 * communicator needs no lock.
 */
struct rp_tcp_channel {
    struct rp_channel base;
    struct rp_comm *comm; /* under `lock`, but for who has a reference: NULL once closed */
    struct rp_loop *loop;
    pthread_mutex_t lock;
    bool wakeable;         /* under `lock`: uv_async_send is allowed */
    bool handles_over;     /* under `lock`: the loop has nothing of it any more */
    unsigned handles;      /* that are not closed yet */
    bool closed_direction; /* shutdown(SHUT_WR) was called */
    enum rp_tcp_state state;
    int fd;
    int interest; /* what `poll` watches for */
    uv_poll_t poll;
    uv_idle_t idle; /* runs in the loop's next turn, and keeps its driver awake until then */
    uv_async_t handed_over;
    uv_timer_t patience;
    struct rp_loop_object object;
    struct rp_tcp_out out;
    struct rp_tcp_in in;
    struct rp_rank_block block; /* the copy of the peer's */
    struct rp_pair own;
    struct rp_pair peers;
};

static inline struct rp_tcp_channel *rp_tcp_of(struct rp_channel *ch)
{
    return rp_container_of(ch, struct rp_tcp_channel, base);
}

/* ---- channel_tcp.c ---- */

/** rp_tcp_stir: let the loop look at the channel in its next turn: something is to be sent, or
 * something that others wait for has come. */
void rp_tcp_stir(struct rp_tcp_channel *tcp);

/** rp_tcp_lose: the connection is over. Unless the peer has left before, it counts as gone. `why`
 * is a phrase. Holder of a reference to the communicator, or of `lock`. */
void rp_tcp_lose(struct rp_tcp_channel *tcp, const char *why);

/* ---- channel_tcp_send.c ---- */

#define RP_TCP_RING_BYTES (512u * 1024u)

rp_status rp_tcp_put(struct rp_channel *ch, enum rp_window window, uint64_t dst_off,
        const void *src, uint64_t bytes);
rp_status rp_tcp_signal(struct rp_channel *ch);
rp_status rp_tcp_publish(struct rp_channel *ch);
void rp_tcp_update(struct rp_channel *ch);

/** rp_tcp_flush: send what the socket takes; whether it took anything. */
bool rp_tcp_flush(struct rp_tcp_channel *tcp);

/** rp_tcp_unsent: something waits to be sent. */
static inline bool rp_tcp_unsent(const struct rp_tcp_channel *tcp)
{
    return tcp->out.head != tcp->out.tail;
}

/** rp_tcp_pair_news: which records of a pair are new when a counter went from `old` to `now`:
 *  bits 0 and 1. */
static inline uint8_t rp_tcp_pair_news(uint64_t old, uint64_t now)
{
    if (now == old) {
        return 0;
    }
    const unsigned last = now % 2 == 0 ? 1 : 2;
    return (uint8_t)(now - old == 1 ? last : 3u);
}

/* ---- channel_tcp_receive.c ---- */

#define RP_TCP_BUFFER_BYTES (64u * 1024u)
#define RP_TCP_READS_A_TURN 4 /* a talkative peer leaves the loop to the others after so many */

/** rp_tcp_read: one read from the socket, and what follows from it; whether anything came. */
bool rp_tcp_read(struct rp_tcp_channel *tcp);

bool rp_tcp_test(struct rp_channel *ch);
unsigned rp_tcp_progress(struct rp_channel *ch, unsigned budget);

/** rp_tcp_drain: read and forget; false when the other side has closed its end. */
bool rp_tcp_drain(struct rp_tcp_channel *tcp);

#endif
