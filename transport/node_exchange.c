#include "transport/node_exchange.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/node_groups.h"
#include "transport/node_internal.h"

#define BACKLOG 1024
#define GRACE_MS 500

static_assert(RP_NODE_SOCKET_BYTES < sizeof(((struct sockaddr_un *)NULL)->sun_path), "a name fits");

static bool leads(const struct rp_node *node)
{
    return node->setup.rank == node->setup.leader;
}

// Sockets.

uint32_t rp_node_address(const char *name, struct sockaddr_un *out)
{
    size_t length = strnlen(name, RP_NODE_SOCKET_BYTES);
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path + 1, name, length); // abstract: the first byte stays 0
    return (uint32_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static rp_status socket_failed(const char *call)
{
    char limit[RP_LIMIT_TEXT_BYTES];
    int error = errno;
    rp_status st = error == EMFILE || error == ENFILE ? RP_ENORES : RP_ESYS;
    return rp_fail(st, "%s for the node socket failed: %s%s", call, strerrordesc_np(error),
            rp_descriptor_limit_text(error, limit));
}

rp_status rp_node_socket_open(int *fd, char name[RP_NODE_SOCKET_BYTES])
{
    uint8_t random[16];
    char hex[2 * sizeof(random) + 1];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(hex, sizeof(hex), random, sizeof(random));
    snprintf(name, RP_NODE_SOCKET_BYTES, "reprise-%s", hex);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) {
        return socket_failed("socket");
    }
    struct sockaddr_un address;
    socklen_t bytes = rp_node_address(name, &address);
    if (bind(listener, (struct sockaddr *)&address, bytes) != 0 || listen(listener, BACKLOG) != 0) {
        rp_status st = socket_failed("bind");
        close(listener);
        return st;
    }
    *fd = listener;
    return RP_OK;
}

bool rp_node_admits(int fd, uid_t *uid)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
        return false;
    }
    if (uid != NULL) {
        *uid = peer.uid;
    }
    uid_t own = geteuid();
    return peer.uid == own || peer.uid == 0 || own == 0;
}

// Beginning and end.

static void on_start(uv_timer_t *timer)
{
    struct rp_node *node = rp_container_of(timer, struct rp_node, timer);
    rp_loop_ran(node->setup.loop);
    if (leads(node)) {
        rp_node_leader_begin(node);
    } else {
        rp_node_member_begin(node);
    }
}

static rp_status make_tables(struct rp_node *node)
{
    uint32_t size = node->setup.size;
    node->result.zero_copy = true;
    node->result.process = rp_calloc(size, sizeof(*node->result.process));
    node->leader.seat = leads(node) ? rp_calloc(size, sizeof(*node->leader.seat)) : NULL;
    if (node->result.process == NULL || (leads(node) && node->leader.seat == NULL)) {
        return rp_fail(RP_ENOMEM, "no memory for the exchange between %u ranks", size);
    }
    struct rp_process *self = rp_process_self();
    if (self == NULL) {
        return RP_ENOMEM; // described
    }
    node->result.process[node->setup.rank] = rp_process_ref(self);
    return RP_OK;
}

rp_status rp_node_create(const struct rp_node_setup *setup, struct rp_node **out)
{
    rp_status st;
    int listen_fd = setup->listen_fd;
    struct rp_node *node = rp_calloc(1, sizeof(*node));
    if (node == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for the exchange between %u ranks", setup->size);
        goto undo_fd;
    }
    node->setup = *setup;
    node->members = rp_groups_members(setup->roster, setup->size, setup->rank);
    rp_list_init(&node->leader.lobby);
    st = make_tables(node);
    if (st != RP_OK) {
        goto undo_tables;
    }
    if (leads(node) && node->members > 1) {
        st = rp_node_leader_listen(node, listen_fd);
        listen_fd = -1;
        if (st != RP_OK) {
            goto undo_tables;
        }
    }
    if (listen_fd >= 0) {
        close(listen_fd); // nobody is awaited
    }
    uv_timer_init(rp_loop_uv(setup->loop), &node->timer); // cannot fail
    rp_loop_count_begin(setup->loop);
    uv_timer_start(&node->timer, on_start, 0, 0);
    *out = node;
    return RP_OK;

undo_tables:
    rp_node_result_release(&node->result, setup->size);
    rp_free(node->leader.seat);
    rp_free(node);
undo_fd:
    if (listen_fd >= 0) {
        close(listen_fd);
    }
    return st;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct rp_node *node = rp_container_of(handle, struct rp_node, timer);
    rp_loop_count_end(node->setup.loop);
    rp_free(node->leader.seat);
    rp_free(node);
}

static void stop(struct rp_node *node)
{
    node->ended = true;
    uv_timer_stop(&node->timer);
    rp_node_leader_stop(node);
    rp_node_member_stop(node);
}

void rp_node_destroy(struct rp_node *node)
{
    if (node == NULL) {
        return;
    }
    stop(node);
    rp_node_result_release(&node->result, node->setup.size);
    uv_close((uv_handle_t *)&node->timer, on_timer_closed);
}

void rp_node_regroup(struct rp_node *node)
{
    node->members = rp_groups_members(node->setup.roster, node->setup.size, node->setup.rank);
    if (leads(node) && !node->ended && !node->finished && node->result.segment == NULL) {
        rp_node_leader_regroup(node);
    }
}

void rp_node_finish(struct rp_node *node)
{
    node->finished = true;
    uv_timer_stop(&node->timer);
    node->setup.events->mapped(node->setup.owner);
}

struct rp_node_result rp_node_take(struct rp_node *node)
{
    assert(node->finished);
    struct rp_node_result result = node->result;
    node->result = (struct rp_node_result){ 0 };
    return result;
}

void rp_node_result_release(struct rp_node_result *result, uint32_t size)
{
    for (uint32_t i = 0; result->process != NULL && i < size; i++) {
        if (result->process[i] != NULL) {
            rp_process_unref(result->process[i]);
        }
    }
    rp_free(result->process);
    if (result->segment != NULL) {
        rp_segment_unref(result->segment);
    }
    *result = (struct rp_node_result){ 0 };
}

void rp_node_fail(struct rp_node *node, rp_status status, const char *sentence)
{
    if (node->ended || node->finished) {
        return;
    }
    stop(node);
    node->setup.events->failed(node->setup.owner, status, sentence);
}

void rp_node_fail_described(struct rp_node *node, rp_status status)
{
    const char *sentence = rp_error_captured();
    rp_node_fail(node, status, sentence[0] == '\0' ? rp_status_text(status) : sentence);
}

void rp_node_fail_protocol(struct rp_node *node, uint32_t rank)
{
    char sentence[128];
    snprintf(sentence, sizeof(sentence),
            "rank %u said something unexpected while the ranks exchanged their memory", rank);
    rp_node_fail(node, RP_EINTERNAL, sentence);
}

static void on_grace_over(uv_timer_t *timer)
{
    struct rp_node *node = rp_container_of(timer, struct rp_node, timer);
    rp_loop_ran(node->setup.loop);
    rp_node_fail(node, RP_EREMOTE, node->lost);
}

void rp_node_lost(struct rp_node *node, uint32_t rank, bool by_peer, const char *why)
{
    if (node->ended || node->finished || node->lost[0] != '\0') {
        return;
    }
    snprintf(node->lost, sizeof(node->lost),
            "rank %u and rank %u could not exchange their memory: %s", node->setup.rank, rank, why);
    if (by_peer) {
        uv_timer_start(&node->timer, on_grace_over, GRACE_MS, 0);
    } else {
        rp_node_fail(node, RP_ENORES, node->lost);
    }
}

// Messages.

bool rp_node_send(struct rp_node *node, struct rp_conn *conn, enum rp_node_message type,
        uint32_t rank, struct rp_fd_set *fds)
{
    uint8_t payload[4];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_write_u32(&writer, rank);
    rp_status st = rp_conn_send(conn, (uint16_t)type, payload, sizeof(payload), fds);
    if (st != RP_OK) {
        rp_node_fail_described(node, st);
    }
    return st == RP_OK;
}

rp_status rp_node_own_fds(struct rp_node *node, struct rp_fd_set **out)
{
    struct rp_process_fds fds;
    rp_status st = rp_process_self_fds(&fds);
    if (st != RP_OK) {
        return st;
    }
    int fd[RP_WIRE_FDS_MAX] = {
        [RP_NODE_FD_PAGE] = fds.page_fd,
        [RP_NODE_FD_EVENT] = fds.event_fd,
        [RP_NODE_FD_ARENA] = rp_arena_fd(node->setup.arena),
        [RP_NODE_FD_PID] = fds.pid_fd,
    };
    return rp_fd_set_create(fd, fds.pid_fd < 0 ? RP_NODE_FDS_LEAST : RP_WIRE_FDS_MAX, out);
}

// A frame's descriptor, which the frame then no longer has; -1 when it brought none there.
static int take_fd(struct rp_frame *frame, enum rp_node_fd which)
{
    if ((uint32_t)which >= frame->fd_count) {
        return -1;
    }
    int fd = frame->fd[which];
    frame->fd[which] = -1;
    return fd;
}

rp_status rp_node_adopt(struct rp_node *node, uint32_t rank, struct rp_frame *frame)
{
    const struct rp_member *member = &node->setup.roster[rank].member;
    struct rp_process_fds fds = {
        .page_fd = take_fd(frame, RP_NODE_FD_PAGE),
        .event_fd = take_fd(frame, RP_NODE_FD_EVENT),
        .pid_fd = take_fd(frame, RP_NODE_FD_PID),
    };
    rp_status st =
            rp_process_ref_peer(&member->process, member->pid, fds, &node->result.process[rank]);
    if (st != RP_OK) {
        return st;
    }
    uint8_t *base;
    st = rp_process_map_arena(node->result.process[rank], member->device_id,
            take_fd(frame, RP_NODE_FD_ARENA), member->arena_bytes, &base);
    if (st == RP_ENOMEM) {
        rp_log_info("the memory of rank %u cannot be mapped: the ranks go without zero copy", rank);
        node->result.zero_copy = false;
        return RP_OK;
    }
    return st;
}

void rp_node_proof(const struct rp_node *node, uint32_t rank, uint8_t out[RP_NODE_PROOF_BYTES])
{
    uint8_t text[4 + RP_SEGMENT_TOKEN_BYTES];
    struct rp_writer writer = rp_writer_view(text, sizeof(text));
    rp_write_u32(&writer, rank);
    rp_write_bytes(&writer, rp_segment_token(node->result.segment), RP_SEGMENT_TOKEN_BYTES);
    crypto_generichash(
            out, RP_NODE_PROOF_BYTES, text, sizeof(text), node->setup.secret, RP_WIRE_SECRET_BYTES);
}
