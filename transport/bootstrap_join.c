// A rank's side of the bootstrap: dials the root and says hello, and in the end has a communicator
// or a failure. What comes in between is in join_steps.c.
//
// The outcome is the one thing that other threads see: it is written once, after everything that
// belongs to it.

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/join_internal.h"
#include "transport/machine.h"

#define GRACE_MS 500    // after the deadline, for the root to say who is missing
#define CLOSING_MS 1000 // for the root to take notice of our failure

static_assert(RP_ROOT_IDENTIFIER_BYTES <= RP_COMM_NAME_BYTES, "the default name fits");

static void on_timer(uv_timer_t *timer);

// The end.

static void free_memory(struct rp_join *join)
{
    rp_rendezvous_clear(&join->meet);
    sodium_memzero(join->secret, sizeof(join->secret));
    rp_free(join->roster);
    rp_free(join->door);
    rp_free(join);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct rp_join *join = rp_container_of(handle, struct rp_join, timer);
    rp_loop_count_end(join->loop);
    join->timer_closed = true;
    if (join->freed) {
        free_memory(join);
    }
}

void rp_join_close_fd(int *fd)
{
    if (*fd >= 0) {
        rp_fork_unguard_fd(*fd);
        close(*fd);
        *fd = -1;
    }
}

// Lets go of everything but the outcome.
static void release(struct rp_join *join)
{
    rp_dialer_destroy(join->dialer);
    join->dialer = NULL;
    rp_conn_close(join->conn);
    join->conn = NULL;
    rp_node_destroy(join->node);
    join->node = NULL;
    rp_node_result_release(&join->memory, join->size);
    rp_links_destroy(join->links);
    join->links = NULL;
    rp_links_release(join->link, join->size);
    join->link = NULL;
    rp_join_close_fd(&join->node_fd);
    rp_join_close_fd(&join->link_fd);
    uv_timer_stop(&join->timer);
}

static void drop_comm(struct rp_join *join)
{
    if (join->comm != NULL) {
        rp_comm_retire(join->comm);
        join->comm = NULL;
    }
}

void rp_join_conclude(struct rp_join *join, enum rp_join_outcome outcome)
{
    join->state = JOIN_ENDED;
    release(join);
    if (outcome == OUTCOME_FAILED) {
        drop_comm(join);
        rp_log_error("rank %u of %u: %s: %s", join->rank, join->size, rp_status_name(join->status),
                join->sentence);
    }
    // release [J1]: pairs with the load in rp_join_poll; publishes communicator or failure.
    atomic_store_explicit(&join->outcome, (int)outcome, memory_order_release);
}

static void set_failure(struct rp_join *join, rp_status status, const char *sentence)
{
    if (join->sentence[0] == '\0') {
        join->status = status;
        rp_text_copy(join->sentence, sizeof(join->sentence),
                sentence[0] == '\0' ? rp_status_text(status) : sentence);
    }
}

// A failure that the root told us, or that leaves nobody to be told.
void rp_join_fail_quietly(struct rp_join *join, rp_status status, const char *sentence)
{
    if (join->state != JOIN_ENDED) {
        set_failure(join, status, sentence);
        rp_join_conclude(join, OUTCOME_FAILED);
    }
}

// A failure of our own: the root tells the others, and hangs up.
void rp_join_fail(struct rp_join *join, rp_status status, const char *sentence)
{
    if (join->state == JOIN_ENDED || join->state == JOIN_FAILING) {
        return;
    }
    set_failure(join, status, sentence);
    uint8_t payload[RP_ABORT_BYTES];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_abort_write(join->status, join->sentence, &writer);
    assert(writer.ok);
    if (join->conn == NULL ||
            rp_conn_send(join->conn, RP_MSG_ABORT, payload, writer.used, NULL) != RP_OK) {
        rp_join_conclude(join, OUTCOME_FAILED);
        return;
    }
    join->state = JOIN_FAILING;
    uv_timer_start(&join->timer, on_timer, CLOSING_MS, 0);
}

void rp_join_fail_described(struct rp_join *join, rp_status status)
{
    rp_join_fail(join, status, rp_error_captured());
}

static bool is_root(const void *arg, uint32_t rank)
{
    const struct rp_join *join = arg;
    return rank == join->meet.root;
}

// What came in the way of meeting the root, as far as is known; "" nothing.
static const char *why_unreached(const struct rp_join *join)
{
    const char *unbound = rp_bootstrap_unbound(join->loop, &join->meet);
    if (unbound[0] != '\0') {
        return unbound;
    }
    return join->later[0] != '\0' || join->dialer == NULL ? join->later
                                                          : rp_dialer_why(join->dialer);
}

static void describe_unreached(const struct rp_join *join, char *text, size_t bytes)
{
    char root[RP_RENDEZVOUS_TEXT_BYTES];
    char who[32] = "the root";
    char parent[RP_COMM_NAME_BYTES + 32] = "";
    const char *why = why_unreached(join);
    rp_rendezvous_text(&join->meet, root, sizeof(root));
    if (join->meet.standing) {
        snprintf(who, sizeof(who), "rank %u", join->meet.root);
        rp_rendezvous_ranks(&join->meet, is_root, join, join->size, parent, sizeof(parent));
    }
    snprintf(text, bytes,
            "%s%s at %s could not be reached within %u s (HCCL_CONNECT_TIMEOUT): %s%s%s", who,
            parent, root, join->settings.connect_timeout_s,
            why[0] == '\0' ? "it does not answer" : why, join->meet.hint == NULL ? "" : "; ",
            join->meet.hint == NULL ? "" : join->meet.hint);
}

static void on_timer(uv_timer_t *timer)
{
    struct rp_join *join = rp_container_of(timer, struct rp_join, timer);
    char root[RP_RENDEZVOUS_TEXT_BYTES];
    char sentence[RP_SENTENCE_BYTES];
    rp_loop_ran(join->loop);
    if (join->state == JOIN_FAILING) {
        rp_join_conclude(join, OUTCOME_FAILED);
        return;
    }
    if (join->state == JOIN_DIAL) {
        describe_unreached(join, sentence, sizeof(sentence));
    } else {
        rp_rendezvous_text(&join->meet, root, sizeof(root));
        snprintf(sentence, sizeof(sentence),
                "the root at %s has not completed the communicator within %u s "
                "(HCCL_CONNECT_TIMEOUT) and does not say why",
                root, join->settings.connect_timeout_s);
    }
    rp_join_fail_quietly(join, RP_ECONNTIMEOUT, sentence);
}

// Messages to the root.

bool rp_join_send(
        struct rp_join *join, enum rp_bootstrap_message type, const void *payload, size_t bytes)
{
    rp_status st = rp_conn_send(join->conn, (uint16_t)type, payload, bytes, NULL);
    if (st != RP_OK) {
        rp_join_fail_described(join, st);
    }
    return st == RP_OK;
}

static uint32_t remaining_ms(const struct rp_join *join)
{
    uint64_t now_ns = rp_now_ns();
    return now_ns >= join->deadline_ns ? 0
                                       : (uint32_t)((join->deadline_ns - now_ns) / RP_NS_PER_MS);
}

static void fill_member(const struct rp_join *join, struct rp_member *member)
{
    *member = (struct rp_member){
        .process = rp_process_self_id(),
        .pid = getpid(),
        .device_id = join->device_id,
        .arena_bytes = rp_arena_bytes(join->arena),
    };
    if (gethostname(member->host, sizeof(member->host)) != 0) {
        rp_text_copy(member->host, sizeof(member->host), "?");
    }
    member->host[sizeof(member->host) - 1] = '\0'; // a long name is cut without one
}

// Ranks are of one node if both are equal, the variable and the rank table's server.
static void write_node_id(const struct rp_join *join, char out[RP_NODE_ID_BYTES])
{
    const char *variable = rp_env_device()->node_id;
    int length = snprintf(out, RP_NODE_ID_BYTES, "%s%s%s", variable,
            join->server[0] == '\0' ? "" : "\n", join->server);
    assert(length >= 0 && length < RP_NODE_ID_BYTES);
    (void)length;
}

static void say_hello(struct rp_join *join)
{
    struct rp_hello hello = {
        .rank = join->rank,
        .size = join->size,
        .timeout_s = join->settings.connect_timeout_s,
        .remaining_ms = remaining_ms(join),
    };
    fill_member(join, &hello.member);
    write_node_id(join, hello.node_id);
    rp_machine_self(hello.machine);
    rp_text_copy(hello.node_socket, sizeof(hello.node_socket), join->node_socket);
    rp_agreement_from(&join->settings, &hello.agreement);
    if (join->ranks[0] != '\0') {
        rp_agreement_add_ranks(&hello.agreement, join->ranks);
    }
    uint8_t payload[RP_WIRE_PAYLOAD_MAX];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_hello_write(&hello, &writer);
    assert(writer.ok);
    join->state = JOIN_GATHER;
    rp_join_send(join, RP_MSG_HELLO, payload, writer.used);
}

static void on_dialed(void *owner, struct rp_conn *conn)
{
    struct rp_join *join = owner;
    join->conn = conn;
    rp_conn_adopt(conn, &rp_join_root_events, join);
    rp_dialer_destroy(join->dialer);
    join->dialer = NULL;
    say_hello(join);
}

rp_status rp_join_dial(struct rp_join *join, uint64_t delay_ms)
{
    const struct rp_hccl_env *env;
    rp_status st = rp_env_hccl(&env);
    if (st != RP_OK) {
        return st;
    }
    struct rp_dialer_setup setup = {
        .loop = join->loop,
        .env = env,
        .meet = &join->meet,
        .scope = RP_WIRE_ROOT,
        .delay_ms = delay_ms,
        .ready = on_dialed,
        .owner = join,
    };
    return rp_dialer_create(&setup, &join->dialer);
}

// The beginning.

static void on_loop_destroyed(struct rp_loop_object *object)
{
    struct rp_join *join = rp_container_of(object, struct rp_join, object);
    rp_join_fail_quietly(
            join, RP_EDEVABORT, "the device was reset during the init of the communicator");
    uv_close((uv_handle_t *)&join->timer, on_timer_closed);
}

static rp_status check_request(const struct rp_join_request *request)
{
    if (request->size == 0) {
        return rp_fail(RP_EPARAM, "nRanks is 0; a communicator has at least one rank");
    }
    if (request->size > RP_BOOTSTRAP_RANKS_MAX) {
        return rp_fail(RP_EPARAM, "nRanks is %u; at most %u ranks are possible", request->size,
                RP_BOOTSTRAP_RANKS_MAX);
    }
    if (request->rank >= request->size) {
        return rp_fail(RP_EPARAM, "rank is %u, but nRanks is %u: ranks go from 0 to %u",
                request->rank, request->size, request->size - 1);
    }
    return RP_OK;
}

static rp_status open_parts(struct rp_join *join)
{
    rp_status st = rp_node_socket_open(&join->node_fd, join->node_socket);
    if (st != RP_OK) {
        return st;
    }
    st = rp_fork_guard_fd(join->node_fd);
    if (st != RP_OK) {
        rp_fail(st, "no memory to join a communicator");
        goto undo_socket;
    }
    uv_update_time(rp_loop_uv(join->loop)); // the loop may not have been stepped for long
    st = rp_join_dial(join, 0);
    if (st == RP_OK) {
        return RP_OK;
    }
    rp_fork_unguard_fd(join->node_fd);

undo_socket:
    close(join->node_fd);
    join->node_fd = -1;
    return st;
}

static rp_status find_root(struct rp_join *join, const struct rp_join_request *request)
{
    if (request->meet != NULL) {
        return rp_rendezvous_copy(request->meet, request->size, &join->meet);
    }
    struct rp_root_info info;
    rp_status st = rp_root_info_read(request->root_info, &info);
    if (st == RP_OK) {
        rp_rendezvous_from_info(&info, &join->meet);
        sodium_memzero(&info, sizeof(info));
    }
    return st;
}

static void copy_request(struct rp_join *join, const struct rp_join_request *request)
{
    join->settings = request->settings;
    join->settings.connect_timeout_s = (uint32_t)rp_max_u64(join->settings.connect_timeout_s, 1);
    join->rank = request->rank;
    join->size = request->size;
    join->device_id = request->device_id;
    join->arena = request->arena;
    join->world = request->world;
    rp_text_copy(
            join->server, sizeof(join->server), request->server == NULL ? "" : request->server);
    rp_text_copy(join->ranks, sizeof(join->ranks), request->ranks == NULL ? "" : request->ranks);
}

// Whoever is the root's rank brings it along.
static rp_status open_root(struct rp_join *join, uint64_t timeout_ms)
{
    if (!join->meet.standing || join->rank != join->meet.root) {
        return RP_OK;
    }
    return rp_bootstrap_root_at(join->loop, &join->meet, join->size, join->device_id, timeout_ms);
}

rp_status rp_join_start(
        struct rp_loop *loop, const struct rp_join_request *request, struct rp_join **out)
{
    rp_status st = check_request(request);
    if (st != RP_OK) {
        return st;
    }
    if (sodium_init() < 0) {
        return rp_fail(RP_ESYS, "libsodium cannot be initialised");
    }
    struct rp_join *join = rp_calloc(1, sizeof(*join));
    if (join == NULL) {
        return rp_fail(RP_ENOMEM, "no memory to join a communicator");
    }
    join->loop = loop;
    copy_request(join, request);
    join->node_fd = -1;
    join->link_fd = -1;
    join->object.close = on_loop_destroyed;
    uint64_t timeout_ms = UINT64_C(1000) * join->settings.connect_timeout_s;
    join->deadline_ns = rp_deadline_ns(timeout_ms * RP_NS_PER_MS);
    st = find_root(join, request);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    join->roster = rp_calloc(join->size, sizeof(*join->roster));
    if (join->roster == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for the table of %u ranks", join->size);
        goto undo_alloc;
    }
    st = open_parts(join);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    uv_timer_init(rp_loop_uv(loop), &join->timer); // cannot fail
    uv_timer_start(&join->timer, on_timer, timeout_ms + GRACE_MS, 0);
    rp_loop_count_begin(loop);
    rp_loop_attach(loop, &join->object);
    st = open_root(join, timeout_ms);
    if (st != RP_OK) {
        rp_join_free(join);
        return st;
    }
    *out = join;
    return RP_OK;

undo_alloc:
    free_memory(join);
    return st;
}

bool rp_join_finished(const struct rp_join *join)
{
    // acquire [J1]: pairs with the store in conclude.
    return atomic_load_explicit(&join->outcome, memory_order_acquire) != OUTCOME_NONE;
}

rp_status rp_join_poll(struct rp_join *join, struct rp_comm **comm)
{
    // acquire [J1]: pairs with the store in conclude.
    switch (atomic_load_explicit(&join->outcome, memory_order_acquire)) {
    case OUTCOME_NONE:
        return RP_AGAIN;
    case OUTCOME_DONE:
        *comm = join->comm;
        join->comm = NULL;
        return RP_OK;
    default:
        rp_error_post(join->status, join->sentence);
        return join->status;
    }
}

void rp_join_free(struct rp_join *join)
{
    if (join == NULL) {
        return;
    }
    join->freed = true;
    if (join->timer_closed) { // the loop went first
        drop_comm(join);
        free_memory(join);
        return;
    }
    release(join);
    drop_comm(join);
    rp_loop_detach(&join->object);
    uv_close((uv_handle_t *)&join->timer, on_timer_closed);
}
