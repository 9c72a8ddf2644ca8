// The sending side of a tcp channel.
//
// Frames wait in a ring. What is small is copied there, so that a put and its signal leave with one
// call; a large payload goes out from where it lies, and what the socket does not take of its frame
// is copied into the ring after all: a frame that has begun is thus always completed, whatever
// becomes of the memory that it came from.
//
// What this rank tells all its peers (its line, `done`, status) is not queued as events but
// compared with what was queued last, so that a full ring loses nothing: what is due is made up for
// before the next frame of another kind, and by the loop.

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "kernels/line_failure.h"
#include "transport/channel_tcp_internal.h"

#define COPIED_MAX (16u * 1024u)  // a payload up to this is copied into the ring
#define FLUSH_BYTES (64u * 1024u) // so much waits at most for a reason to be sent
#define ROOM_KEPT 4096u           // of the ring, which puts leave to other frames
#define SENDS_A_FLUSH 8           // a step of the device is short

static_assert((RP_TCP_RING_BYTES & (RP_TCP_RING_BYTES - 1)) == 0, "offsets wrap");
static_assert(RP_TCP_RING_BYTES >= RP_TCP_FRAME_MAX + RP_TCP_PAYLOAD_MAX + ROOM_KEPT,
        "the rest of a frame has room in an empty ring");

// ---- the ring ----

static uint64_t room(const struct rp_tcp_out *out)
{
    return RP_TCP_RING_BYTES - (out->tail - out->head);
}

static void append(struct rp_tcp_out *out, const void *bytes, uint64_t length)
{
    assert(length <= room(out));
    const uint64_t at = out->tail % RP_TCP_RING_BYTES;
    const uint64_t first = rp_min_u64(length, RP_TCP_RING_BYTES - at);
    memcpy(out->ring + at, bytes, first);
    memcpy(out->ring, (const uint8_t *)bytes + first, length - first);
    out->tail += length;
}

static void sent(struct rp_tcp_out *out, uint64_t bytes)
{
    out->head += bytes;
    if (out->head == out->tail) { // the pages at the ring's start are the warm ones
        out->head = 0;
        out->tail = 0;
    }
}

// The unsent bytes as one or two parts; returns how many.
static int ring_parts(const struct rp_tcp_out *out, struct iovec part[2])
{
    const uint64_t bytes = out->tail - out->head;
    const uint64_t at = out->head % RP_TCP_RING_BYTES;
    const uint64_t first = rp_min_u64(bytes, RP_TCP_RING_BYTES - at);
    part[0] = (struct iovec){ .iov_base = out->ring + at, .iov_len = first };
    part[1] = (struct iovec){ .iov_base = out->ring, .iov_len = bytes - first };
    return bytes == 0 ? 0 : bytes == first ? 1 : 2;
}

// ---- the socket ----

// An error is left to the reading side, which first hears what the peer still had to say: that it
// has left, perhaps, or why it gave up.
static void fail(struct rp_tcp_channel *tcp, int error)
{
    rp_log_info("sending to rank %" PRIu32 " failed: %s", tcp->base.peer, strerrordesc_np(error));
    tcp->out.failed = true;
    tcp->out.head = 0;
    tcp->out.tail = 0;
    shutdown(tcp->fd, SHUT_RDWR);
    rp_tcp_stir(tcp);
}

// Bytes that the socket took of `parts`, 0 also when it is full or has failed.
static uint64_t send_parts(struct rp_tcp_channel *tcp, struct iovec *part, int parts)
{
    struct msghdr message = { .msg_iov = part, .msg_iovlen = (size_t)parts };
    ssize_t taken;
    do {
        taken = sendmsg(tcp->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (taken < 0 && errno == EINTR);
    if (taken >= 0) {
        return (uint64_t)taken;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS && errno != ENOMEM) {
        fail(tcp, errno);
    }
    return 0;
}

static bool send_ring(struct rp_tcp_channel *tcp)
{
    bool any = false;
    for (int i = 0; i < SENDS_A_FLUSH && rp_tcp_unsent(tcp); i++) {
        struct iovec part[2];
        const int parts = ring_parts(&tcp->out, part);
        const uint64_t bytes = send_parts(tcp, part, parts);
        if (bytes == 0) {
            break;
        }
        sent(&tcp->out, bytes);
        any = true;
    }
    return any;
}

// ---- what this rank tells everybody ----

static bool has_room_for_frame(const struct rp_tcp_out *out)
{
    return room(out) >= RP_TCP_FRAME_MAX;
}

static bool queue_line(struct rp_tcp_channel *tcp, const struct rp_lines *lines, uint64_t seq)
{
    struct rp_tcp_out *out = &tcp->out;
    if (!has_room_for_frame(out)) {
        return false;
    }
    const struct rp_rank_block *own = lines->peer[lines->rank].block;
    const struct rp_tcp_line line = {
        .record = own->record[seq % RP_RECORD_RING],
        // relaxed: this rank's own.
        .word = atomic_load_explicit(&own->line[seq % 2].word, memory_order_relaxed),
        .done = rp_min_u64(lines->published, seq),
    };
    uint8_t frame[RP_TCP_FRAME_MAX];
    append(out, frame, rp_tcp_line_write(frame, &line));
    out->arrived = seq;
    out->done = line.done;
    return true;
}

// An op that the peer is done with needs no line any more, but the last one tells where we are. By
// the rules of lines that leaves two at most.
static bool queue_lines(struct rp_tcp_channel *tcp, const struct rp_lines *lines)
{
    while (tcp->out.arrived < lines->announced) {
        const uint64_t needed = rp_min_u64(tcp->in.done + 1, lines->announced);
        if (!queue_line(tcp, lines, rp_max_u64(tcp->out.arrived + 1, needed))) {
            return false;
        }
    }
    return true;
}

static bool queue_done(struct rp_tcp_channel *tcp, const struct rp_lines *lines)
{
    struct rp_tcp_out *out = &tcp->out;
    if (out->done >= lines->published) {
        return true;
    }
    if (!has_room_for_frame(out)) {
        return false;
    }
    uint8_t frame[RP_TCP_FRAME_MAX];
    append(out, frame, rp_tcp_done_write(frame, lines->published));
    out->done = lines->published;
    return true;
}

static struct rp_tcp_status own_status(const struct rp_lines *lines)
{
    const struct rp_rank_status *own = &lines->peer[lines->rank].block->status;
    // relaxed, all: this rank's own.
    return (struct rp_tcp_status){
        .revoked_from = atomic_load_explicit(&own->revoked_from, memory_order_relaxed),
        .error_seq = atomic_load_explicit(&own->error_seq, memory_order_relaxed),
        .error = atomic_load_explicit(&own->error, memory_order_relaxed),
        .culprit = atomic_load_explicit(&own->culprit, memory_order_relaxed),
        .left = atomic_load_explicit(&own->left, memory_order_relaxed),
        .uneven = atomic_load_explicit(&own->uneven, memory_order_relaxed),
        .sender = atomic_load_explicit(&own->sender, memory_order_relaxed),
        .expects = atomic_load_explicit(&own->expects, memory_order_relaxed),
        .sent = atomic_load_explicit(&own->sent, memory_order_relaxed),
        .expected = atomic_load_explicit(&own->expected, memory_order_relaxed),
    };
}

static bool queue_status(struct rp_tcp_channel *tcp, const struct rp_lines *lines)
{
    struct rp_tcp_out *out = &tcp->out;
    if (!out->status_due) {
        return true;
    }
    if (!has_room_for_frame(out)) {
        return false;
    }
    out->status = own_status(lines);
    uint8_t frame[RP_TCP_FRAME_MAX];
    append(out, frame, rp_tcp_status_write(frame, &out->status));
    out->status_due = false;
    return true;
}

// Queues what the peer does not know yet; whether it then knows all.
static bool catch_up(struct rp_tcp_channel *tcp)
{
    const struct rp_lines *lines = &tcp->comm->lines;
    return queue_lines(tcp, lines) && queue_done(tcp, lines) && queue_status(tcp, lines);
}

void rp_tcp_update(struct rp_channel *ch)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    const struct rp_lines *lines = &tcp->comm->lines;
    struct rp_tcp_out *out = &tcp->out;
    if (tcp->state != RP_TCP_OPEN || out->failed || tcp->in.left) {
        return;
    }
    const struct rp_tcp_status status = own_status(lines);
    out->status_due |= status.error != out->status.error || status.left != out->status.left ||
                       status.revoked_from != out->status.revoked_from;
    // Somebody may sleep for `done` or a failure. An arrival is mostly followed by data, and can
    // leave with them; where it is not, it leaves when this rank begins to wait.
    const bool urgent = out->done < lines->published || out->status_due;
    out->lines_due = !urgent;
    (void)catch_up(tcp);
    if (urgent) {
        (void)rp_tcp_flush(tcp);
    }
    if (rp_tcp_unsent(tcp)) {
        rp_tcp_stir(tcp);
    }
}

bool rp_tcp_flush(struct rp_tcp_channel *tcp)
{
    if (tcp->state == RP_TCP_OVER || tcp->out.failed) {
        return false;
    }
    bool any = send_ring(tcp);
    if (tcp->state == RP_TCP_OPEN && !tcp->out.failed && !tcp->in.left) {
        (void)catch_up(tcp);
        any |= send_ring(tcp);
    }
    return any;
}

// ---- what this rank tells the peer alone ----

// Whether a frame may be queued now. RP_OK with *drop: the peer has left and needs nothing.
static rp_status admit(struct rp_tcp_channel *tcp, bool *drop)
{
    *drop = tcp->in.left;
    if (RP_UNLIKELY(*drop)) {
        return RP_OK;
    }
    if (RP_UNLIKELY(tcp->state != RP_TCP_OPEN)) {
        struct rp_lines *lines = &tcp->comm->lines;
        return rp_peer_explain(lines, tcp->base.peer, lines->announced);
    }
    if (RP_UNLIKELY(tcp->out.failed)) {
        return RP_AGAIN; // reading will say why
    }
    if (RP_LIKELY(catch_up(tcp))) {
        return RP_OK;
    }
    (void)rp_tcp_flush(tcp);
    return !tcp->out.failed && catch_up(tcp) ? RP_OK : RP_AGAIN;
}

static bool make_room(struct rp_tcp_channel *tcp, uint64_t bytes)
{
    if (RP_UNLIKELY(room(&tcp->out) < bytes)) {
        (void)rp_tcp_flush(tcp);
    }
    return !tcp->out.failed && room(&tcp->out) >= bytes;
}

static rp_status send_frame(struct rp_tcp_channel *tcp, const uint8_t *frame, uint64_t bytes)
{
    tcp->out.put.src = NULL;
    append(&tcp->out, frame, bytes);
    (void)rp_tcp_flush(tcp);
    if (rp_tcp_unsent(tcp)) {
        rp_tcp_stir(tcp);
    }
    return RP_OK;
}

// What comes after a signal is mostly a wait, and a peer that waits for it: it leaves at once, with
// the small puts before it.
rp_status rp_tcp_signal(struct rp_channel *ch)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    bool drop;
    const rp_status st = admit(tcp, &drop);
    if (st != RP_OK || drop) {
        return st;
    }
    if (!make_room(tcp, RP_TCP_FRAME_MAX)) {
        return RP_AGAIN;
    }
    uint8_t frame[RP_TCP_FRAME_MAX];
    return send_frame(tcp, frame, rp_tcp_signal_write(frame, 1));
}

rp_status rp_tcp_publish(struct rp_channel *ch)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    const struct rp_pair *own = ch->own;
    bool drop;
    const rp_status st = admit(tcp, &drop);
    if (st != RP_OK || drop) {
        return st;
    }
    if (!make_room(tcp, RP_TCP_FRAME_MAX)) {
        return RP_AGAIN;
    }
    // relaxed, all: this rank's own.
    struct rp_tcp_pair pair = {
        .sends = atomic_load_explicit(&own->sends, memory_order_relaxed),
        .recvs = atomic_load_explicit(&own->recvs, memory_order_relaxed),
        .put = atomic_load_explicit(&own->put, memory_order_relaxed),
        .taken = atomic_load_explicit(&own->taken, memory_order_relaxed),
    };
    const uint8_t sends = rp_tcp_pair_news(tcp->out.sends, pair.sends);
    const uint8_t recvs = rp_tcp_pair_news(tcp->out.recvs, pair.recvs);
    unsigned records = 0;
    for (unsigned i = 0; i < 2; i++) {
        if ((sends & 1u << i) != 0) {
            pair.record[records++] = own->send[i];
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if ((recvs & 1u << i) != 0) {
            pair.record[records++] = own->recv[i];
        }
    }
    tcp->out.sends = pair.sends;
    tcp->out.recvs = pair.recvs;
    uint8_t frame[RP_TCP_FRAME_MAX];
    return send_frame(tcp, frame, rp_tcp_pair_write(frame, &pair, (uint8_t)(sends | (recvs << 2))));
}
static_assert(RP_TCP_PAIR_SEND(0) == 1 && RP_TCP_PAIR_RECV(0) == 4, "two bits each");

// ---- puts ----

// A payload that is copied.
static bool put_small(struct rp_tcp_channel *tcp, const uint8_t *head, size_t head_bytes,
        const void *src, uint64_t bytes)
{
    if (!make_room(tcp, head_bytes + bytes + ROOM_KEPT)) {
        return false;
    }
    append(&tcp->out, head, head_bytes);
    append(&tcp->out, src, bytes);
    return true;
}

// A payload that leaves from where it lies, behind what waits in the ring. False when the socket
// did not even take that.
static bool put_large(struct rp_tcp_channel *tcp, uint8_t *head, size_t head_bytes, const void *src,
        uint64_t bytes)
{
    struct rp_tcp_out *out = &tcp->out;
    struct iovec part[4];
    int parts = ring_parts(out, part);
    part[parts++] = (struct iovec){ .iov_base = head, .iov_len = head_bytes };
    part[parts++] = (struct iovec){ .iov_base = (void *)(uintptr_t)src, .iov_len = bytes };
    const uint64_t waiting = out->tail - out->head;
    const uint64_t taken = send_parts(tcp, part, parts);
    if (out->failed) {
        return false;
    }
    sent(out, rp_min_u64(taken, waiting));
    if (taken <= waiting) {
        return false;
    }
    const uint64_t of_frame = taken - waiting;
    const uint64_t of_head = rp_min_u64(of_frame, head_bytes);
    append(out, head + of_head, head_bytes - of_head);
    append(out, (const uint8_t *)src + (of_frame - of_head), bytes - (of_frame - of_head));
    return true;
}

static bool put_frame(struct rp_tcp_channel *tcp, enum rp_window window, uint64_t off,
        const void *src, uint64_t bytes)
{
    uint8_t head[RP_TCP_FRAME_MAX];
    const size_t head_bytes = rp_tcp_put_write(head, (uint8_t)window, off, (uint32_t)bytes);
    return bytes <= COPIED_MAX ? put_small(tcp, head, head_bytes, src, bytes)
                               : put_large(tcp, head, head_bytes, src, bytes);
}

rp_status rp_tcp_put(struct rp_channel *ch, enum rp_window window, uint64_t dst_off,
        const void *src, uint64_t bytes)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    struct rp_tcp_unfinished *unfinished = &tcp->out.put;
    const uint64_t limit = tcp->comm->lines.window_bytes;
    if (dst_off > limit || bytes > limit - dst_off) {
        return rp_fail(RP_EPARAM,
                "a put of %" PRIu64 " bytes at %" PRIu64 " does not fit the %" PRIu64
                " bytes that rank %" PRIu32 " offers",
                bytes, dst_off, limit, ch->peer);
    }
    bool drop;
    const rp_status st = admit(tcp, &drop);
    if (st != RP_OK || drop) {
        return st;
    }
    // The same put again goes on where it stopped. It may have become a shorter one meanwhile.
    const bool again =
            unfinished->src == src && unfinished->off == dst_off && unfinished->window == window;
    uint64_t done = again ? unfinished->done : 0;
    unfinished->src = NULL;
    while (done < bytes) {
        const uint64_t frame = rp_min_u64(bytes - done, RP_TCP_PAYLOAD_MAX);
        if (!put_frame(tcp, window, dst_off + done, (const uint8_t *)src + done, frame)) {
            *unfinished = (struct rp_tcp_unfinished){ src, dst_off, done, window };
            break;
        }
        done += frame;
    }
    if (tcp->out.tail - tcp->out.head >= FLUSH_BYTES) {
        (void)rp_tcp_flush(tcp);
    }
    if (rp_tcp_unsent(tcp)) {
        rp_tcp_stir(tcp);
    }
    return done >= bytes ? RP_OK : RP_AGAIN;
}
