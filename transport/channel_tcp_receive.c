// The receiving side of a tcp channel.
//
// A peer has proved itself before, and is believed nothing all the same: a frame that the rules of
// lines, pairs and windows do not allow ends the connection with a sentence, before anything of it
// is stored.
//
// Payloads are read straight into this rank's window. What has come before them in one read lies in
// the buffer, and is copied.

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/channel_tcp_internal.h"

#define TESTS_A_LOOK 6 // polling a counter costs nothing, asking the socket does

static_assert(RP_TCP_BUFFER_BYTES >= 2 * RP_TCP_FRAME_MAX, "a frame fits behind another's rest");

// The frame is not allowed; the phrase follows "the connection to rank N was lost: ".
RP_PRINTF(2, 3) static bool violates(struct rp_tcp_channel *tcp, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(tcp->in.why, sizeof(tcp->in.why), fmt, args);
    va_end(args);
    return false;
}

// ---- frames ----

static bool apply_line(struct rp_tcp_channel *tcp, const uint8_t *body)
{
    const uint64_t own_done = tcp->comm->lines.published;
    struct rp_tcp_in *in = &tcp->in;
    struct rp_tcp_line line;
    rp_tcp_line_read(body, &line);
    const uint64_t seq = line.record.seq;
    // A line is written again once we are done with its last op, and nothing may be left out but
    // what we are done with.
    if (seq <= in->arrived || seq > own_done + 2 || seq - 1 > rp_max_u64(in->arrived, own_done)) {
        return violates(tcp, "it announced op %" PRIu64 " after %" PRIu64, seq % RP_SEQ_BASE_UNIT,
                in->arrived % RP_SEQ_BASE_UNIT);
    }
    if (line.done < in->done || line.done > seq) {
        return violates(tcp, "it announced op %" PRIu64 " as done with another, %" PRIu64,
                seq % RP_SEQ_BASE_UNIT, line.done % RP_SEQ_BASE_UNIT);
    }
    struct rp_line *copy = &tcp->block.line[seq % 2];
    tcp->block.record[seq % RP_RECORD_RING] = line.record;
    // relaxed: published by the store of `arrived`.
    atomic_store_explicit(&copy->word, line.word, memory_order_relaxed);
    // release [L2] [L1]: pair with the loads in kernels/line.h, as the peer's own stores do.
    atomic_store_explicit(&copy->done, line.done, memory_order_release);
    atomic_store_explicit(&copy->arrived, seq, memory_order_release);
    in->arrived = seq;
    in->done = line.done;
    return true;
}

static bool apply_done(struct rp_tcp_channel *tcp, const uint8_t *body)
{
    struct rp_tcp_in *in = &tcp->in;
    const uint64_t done = rp_tcp_u64_read(body);
    if (done <= in->done || done > in->arrived) {
        return violates(tcp, "it was done with op %" PRIu64 " after %" PRIu64 " of %" PRIu64,
                done % RP_SEQ_BASE_UNIT, in->done % RP_SEQ_BASE_UNIT,
                in->arrived % RP_SEQ_BASE_UNIT);
    }
    // release [L2]: pairs with the loads in kernels/line.h; the line that rp_lines_flush takes.
    atomic_store_explicit(&tcp->block.line[(in->arrived + 1) % 2].done, done, memory_order_release);
    in->done = done;
    return true;
}

static void copy_uneven(struct rp_rank_status *copy, const struct rp_tcp_status *status)
{
    // relaxed, all: published by the store of `error`; for sentences only.
    atomic_store_explicit(&copy->uneven, status->uneven, memory_order_relaxed);
    atomic_store_explicit(&copy->sender, status->sender, memory_order_relaxed);
    atomic_store_explicit(&copy->expects, status->expects, memory_order_relaxed);
    atomic_store_explicit(&copy->sent, status->sent, memory_order_relaxed);
    atomic_store_explicit(&copy->expected, status->expected, memory_order_relaxed);
}

// `error_seq` is for sentences only: a number of the communicator's, or of a pair's.
static bool apply_status(struct rp_tcp_channel *tcp, const uint8_t *body)
{
    const struct rp_lines *lines = &tcp->comm->lines;
    struct rp_rank_status *copy = &tcp->block.status;
    struct rp_tcp_in *in = &tcp->in;
    struct rp_tcp_status status;
    rp_tcp_status_read(body, &status);
    // relaxed: stored below only.
    const uint32_t known = atomic_load_explicit(&copy->error, memory_order_relaxed);
    const bool fails = status.error != 0;
    if (status.left > 1 || status.uneven > 1 || (in->left && status.left == 0) ||
            status.error > INT32_MAX || (known != 0 && status.error != known) ||
            fails != (status.revoked_from != 0)) {
        return violates(tcp, "it sent a status that makes no sense");
    }
    if (fails && (status.revoked_from <= lines->base || status.revoked_from > in->arrived + 1 ||
                         (status.culprit >= lines->size && status.culprit != RP_NO_RANK))) {
        return violates(tcp, "it gave up at an op, or because of a rank, that does not exist");
    }
    if (fails && known == 0) {
        // relaxed: published by the store of `error`.
        atomic_store_explicit(&copy->culprit, status.culprit, memory_order_relaxed);
        atomic_store_explicit(&copy->error_seq, status.error_seq, memory_order_relaxed);
        copy_uneven(copy, &status);
        // seq_cst [L4] [L3]: as in rp_lines_fail.
        atomic_store_explicit(&copy->error, status.error, memory_order_seq_cst);
        atomic_store_explicit(&copy->revoked_from, status.revoked_from, memory_order_seq_cst);
    }
    if (status.left != 0) {
        in->left = true;
        // seq_cst [L5]: as in rp_lines_leave.
        atomic_store_explicit(&copy->left, 1, memory_order_seq_cst);
    }
    return true;
}

// Pages that cannot be had are this rank's failure, not the peer's: its payload goes nowhere.
static void fail_for_pages(struct rp_tcp_channel *tcp, rp_status st, const char *sentence)
{
    struct rp_comm *comm = tcp->comm;
    rp_comm_fail(comm, st, comm->rank, comm->lines.announced, sentence);
    tcp->in.payload = NULL;
}

static bool apply_put(
        struct rp_tcp_channel *tcp, const struct rp_tcp_header *header, const uint8_t *body)
{
    struct rp_comm *comm = tcp->comm;
    const struct rp_peer *own = &comm->lines.peer[comm->lines.rank];
    const uint64_t limit = comm->lines.window_bytes;
    const uint64_t off = rp_tcp_u64_read(body);
    const uint64_t bytes = header->body_bytes - RP_TCP_PUT_BYTES;
    if (off > limit || bytes > limit - off) {
        return violates(tcp, "it put %" PRIu64 " bytes at %" PRIu64 " into a window of %" PRIu64,
                bytes, off, limit);
    }
    tcp->in.payload_left = bytes;
    tcp->in.payload = (header->detail == RP_WINDOW_IN ? own->window_in : own->window_out) + off;
    struct rp_error_capture capture;
    rp_error_capture_begin(&capture);
    const rp_status st = rp_comm_reserve_window(comm, off + bytes);
    rp_error_capture_end(&capture);
    if (st != RP_OK) {
        fail_for_pages(tcp, st, capture.sentence);
    }
    return true;
}

static bool apply_signal(struct rp_tcp_channel *tcp, const uint8_t *body)
{
    const uint32_t count = rp_tcp_u32_read(body);
    if (count == 0) {
        return violates(tcp, "it sent no signals");
    }
    tcp->in.signals += count;
    return true;
}

static bool apply_pair(struct rp_tcp_channel *tcp, uint8_t detail, const uint8_t *body)
{
    struct rp_pair *copy = &tcp->peers;
    struct rp_tcp_pair pair;
    rp_tcp_pair_read(body, detail, &pair);
    // relaxed, all: the copy is stored below only, `own` by this rank alone.
    const uint64_t sends = atomic_load_explicit(&copy->sends, memory_order_relaxed);
    const uint64_t recvs = atomic_load_explicit(&copy->recvs, memory_order_relaxed);
    const uint64_t put = atomic_load_explicit(&copy->put, memory_order_relaxed);
    const uint64_t taken = atomic_load_explicit(&copy->taken, memory_order_relaxed);
    const uint64_t own_put = atomic_load_explicit(&tcp->own.put, memory_order_relaxed);
    const uint64_t own_taken = atomic_load_explicit(&tcp->own.taken, memory_order_relaxed);
    if (pair.sends < sends || pair.recvs < recvs || pair.put < put || pair.taken < taken ||
            detail != (rp_tcp_pair_news(sends, pair.sends) | rp_tcp_pair_news(recvs, pair.recvs)
                                                                     << 2)) {
        return violates(tcp, "its sends and receives went backwards");
    }
    // A piece is put when the one before the last was taken; what was not put cannot be taken.
    if (pair.put > own_taken + 2 || pair.taken > own_put) {
        return violates(tcp, "it put or took more pieces than there are");
    }
    unsigned records = 0;
    for (unsigned i = 0; i < 2; i++) {
        if ((detail & RP_TCP_PAIR_SEND(i)) != 0) {
            copy->send[i] = pair.record[records++];
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if ((detail & RP_TCP_PAIR_RECV(i)) != 0) {
            copy->recv[i] = pair.record[records++];
        }
    }
    // release [P1] [P2] [P3]: pair with whoever reads the words, as the peer's own stores do. Every
    // piece that `put` counts came before this frame.
    atomic_store_explicit(&copy->sends, pair.sends, memory_order_release);
    atomic_store_explicit(&copy->recvs, pair.recvs, memory_order_release);
    atomic_store_explicit(&copy->put, pair.put, memory_order_release);
    atomic_store_explicit(&copy->taken, pair.taken, memory_order_release);
    return true;
}

static bool apply(
        struct rp_tcp_channel *tcp, const struct rp_tcp_header *header, const uint8_t *body)
{
    switch ((enum rp_tcp_type)header->type) {
    case RP_TCP_LINE:
        return apply_line(tcp, body);
    case RP_TCP_DONE:
        return apply_done(tcp, body);
    case RP_TCP_STATUS:
        return apply_status(tcp, body);
    case RP_TCP_PUT:
        return apply_put(tcp, header, body);
    case RP_TCP_SIGNAL:
        return apply_signal(tcp, body);
    case RP_TCP_PAIR:
        return apply_pair(tcp, header->detail, body);
    }
    return violates(tcp, "it sent a frame of an unknown type"); // rp_tcp_header_read has refused it
}

// ---- the stream ----

static void payload_came(struct rp_tcp_in *in, uint64_t bytes)
{
    in->payload_left -= bytes;
    if (in->payload != NULL) {
        in->payload += bytes;
    }
}

// Takes what the buffer has of a payload.
static void take_payload(struct rp_tcp_in *in)
{
    const uint64_t bytes = rp_min_u64(in->payload_left, in->end - in->begin);
    if (in->payload != NULL) {
        memcpy(in->payload, in->buffer + in->begin, bytes);
    }
    in->begin += bytes;
    payload_came(in, bytes);
}

// Whether there was a whole frame at the buffer's beginning; of a put, all but the payload.
static bool next_frame(struct rp_tcp_channel *tcp)
{
    struct rp_tcp_in *in = &tcp->in;
    struct rp_tcp_header header;
    if (in->end - in->begin < RP_TCP_HEADER_BYTES) {
        return false;
    }
    const uint8_t *bytes = in->buffer + in->begin;
    const char *wrong = rp_tcp_header_read(bytes, &header);
    if (wrong != NULL) {
        return violates(tcp, "%s", wrong);
    }
    const size_t frame_bytes = RP_TCP_HEADER_BYTES + rp_tcp_fixed_bytes(&header);
    if (in->end - in->begin < frame_bytes) {
        return false;
    }
    in->begin += frame_bytes;
    return apply(tcp, &header, bytes + RP_TCP_HEADER_BYTES);
}

static void parse(struct rp_tcp_channel *tcp)
{
    struct rp_tcp_in *in = &tcp->in;
    do {
        take_payload(in);
    } while (next_frame(tcp));
    take_payload(in);
    if (in->begin == in->end) {
        in->begin = 0;
        in->end = 0;
    } else if (in->begin != 0) { // the beginning of a frame
        memmove(in->buffer, in->buffer + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
}

// Reads to where the next bytes belong: first the rest of a payload, then the buffer.
static ssize_t receive(struct rp_tcp_channel *tcp)
{
    struct rp_tcp_in *in = &tcp->in;
    struct iovec part[2];
    struct msghdr message = { .msg_iov = part };
    uint64_t direct = 0;
    if (in->payload_left != 0 && in->payload != NULL) {
        direct = in->payload_left;
        part[message.msg_iovlen++] = (struct iovec){ in->payload, direct };
    }
    part[message.msg_iovlen++] =
            (struct iovec){ in->buffer + in->end, RP_TCP_BUFFER_BYTES - in->end };
    ssize_t got;
    do {
        got = recvmsg(tcp->fd, &message, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        const uint64_t placed = rp_min_u64(direct, (uint64_t)got);
        payload_came(in, placed);
        in->end += (uint64_t)got - placed;
    }
    return got;
}

bool rp_tcp_read(struct rp_tcp_channel *tcp)
{
    if (tcp->state != RP_TCP_OPEN) {
        return false;
    }
    const ssize_t got = receive(tcp);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOMEM)) {
        return false;
    }
    if (got <= 0) {
        rp_tcp_lose(tcp, got == 0 ? "it was closed" : strerrordesc_np(errno));
        return true;
    }
    parse(tcp);
    if (RP_UNLIKELY(tcp->in.why[0] != '\0')) {
        rp_tcp_lose(tcp, tcp->in.why);
    }
    return true;
}

// What was read here may be what another lane waits for, or a thread that sleeps on the loop: they
// look again when the loop has turned.
unsigned rp_tcp_progress(struct rp_channel *ch, unsigned budget)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    const bool sent = rp_tcp_flush(tcp);
    unsigned reads = 0;
    while (reads < budget && rp_tcp_read(tcp)) {
        reads++;
    }
    if (reads != 0 || rp_tcp_unsent(tcp)) {
        rp_tcp_stir(tcp);
    }
    return reads + sent;
}

static bool take_signal(struct rp_tcp_in *in)
{
    if (in->signals == in->taken) {
        return false;
    }
    in->taken++;
    return true;
}

// This rank begins to wait: the peers that it has no data for shall not wait for its announcement.
static void send_announcements(struct rp_tcp_channel *tcp)
{
    const struct rp_comm *comm = tcp->comm;
    if (!tcp->out.lines_due) {
        return;
    }
    tcp->out.lines_due = false;
    for (uint32_t q = 0; q < comm->size; q++) {
        if (comm->channel[q] != NULL) {
            (void)rp_channel_progress(comm->channel[q], 0);
        }
    }
}

bool rp_tcp_test(struct rp_channel *ch)
{
    struct rp_tcp_channel *tcp = rp_tcp_of(ch);
    struct rp_tcp_in *in = &tcp->in;
    if (take_signal(in)) {
        return true;
    }
    if (in->calls_to_skip != 0) {
        in->calls_to_skip--;
        return false;
    }
    if (rp_tcp_progress(ch, 2) == 0) {
        in->calls_to_skip = TESTS_A_LOOK - 1;
        send_announcements(tcp);
    }
    return take_signal(in);
}

bool rp_tcp_drain(struct rp_tcp_channel *tcp)
{
    for (unsigned i = 0; i < RP_TCP_READS_A_TURN; i++) {
        const ssize_t got = recv(tcp->fd, tcp->in.buffer, RP_TCP_BUFFER_BYTES, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        }
    }
    return true;
}
