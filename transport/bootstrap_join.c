// A rank's side of the bootstrap: dials the root, says hello, exchanges memory with its node, makes
// its communicator and waits until everyone has one.
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
#include "transport/bootstrap.h"
#include "transport/bootstrap_msg.h"
#include "transport/conn.h"
#include "transport/dialer.h"
#include "transport/node_exchange.h"
#include "transport/rendezvous.h"

#define GRACE_MS 500    // after the deadline, for the root to say who is missing
#define CLOSING_MS 1000 // for the root to take notice of our failure
#define LATER_MS 50     // until a root of another attempt may be gone

static_assert(RP_ROOT_IDENTIFIER_BYTES <= RP_COMM_NAME_BYTES, "the default name fits");

enum state {
    JOIN_DIAL,
    JOIN_GATHER,   // said hello; the members come
    JOIN_EXCHANGE, // with the node
    JOIN_MAPPED,   // told the root so
    JOIN_READY,    // the communicator stands; told the root so
    JOIN_FAILING,  // told the root why; waiting for it to hang up
    JOIN_ENDED,
};

enum outcome {
    OUTCOME_NONE,
    OUTCOME_DONE,
    OUTCOME_FAILED,
};

struct rp_join {
    struct rp_loop_object object;
    struct rp_loop *loop; // NULL once it is gone
    struct rp_rendezvous meet;
    struct rp_terms terms;
    uint8_t secret[RP_WIRE_SECRET_BYTES]; // the communicator's, by the terms
    struct rp_comm_settings settings;
    char server[RP_SERVER_ID_BYTES];
    char ranks[RP_SETTING_VALUE_BYTES];
    bool world;
    uint32_t rank;
    uint32_t size;
    int32_t device_id;
    struct rp_arena *arena;
    enum state state;
    uint64_t deadline_ns;
    uv_timer_t timer;
    bool timer_closed;
    bool freed; // by the caller; the memory goes with the timer
    struct rp_dialer *dialer;
    struct rp_conn *conn;
    int node_fd; // our node socket, until the node exchange takes or closes it
    char node_socket[RP_NODE_SOCKET_BYTES];
    struct rp_roster_entry *roster; // [size]
    uint32_t known;                 // entries filled in
    char later[256];                // what a root said that we do not belong to
    struct rp_node *node;
    struct rp_node_result memory;
    struct rp_comm *comm; // until the caller takes it
    rp_status status;
    char sentence[RP_SENTENCE_BYTES]; // "" while there is no failure
    _Atomic int outcome;              // enum outcome
};

static void on_timer(uv_timer_t *timer);
static rp_status dial(struct rp_join *join, uint64_t delay_ms);

// The end.

static void free_memory(struct rp_join *join)
{
    rp_rendezvous_clear(&join->meet);
    sodium_memzero(join->secret, sizeof(join->secret));
    rp_free(join->roster);
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
    if (join->node_fd >= 0) {
        rp_fork_unguard_fd(join->node_fd);
        close(join->node_fd);
        join->node_fd = -1;
    }
    uv_timer_stop(&join->timer);
}

static void drop_comm(struct rp_join *join)
{
    if (join->comm != NULL) {
        rp_comm_retire(join->comm);
        join->comm = NULL;
    }
}

static void conclude(struct rp_join *join, enum outcome outcome)
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
static void fail_quietly(struct rp_join *join, rp_status status, const char *sentence)
{
    if (join->state != JOIN_ENDED) {
        set_failure(join, status, sentence);
        conclude(join, OUTCOME_FAILED);
    }
}

// A failure of our own: the root tells the others, and hangs up.
static void fail(struct rp_join *join, rp_status status, const char *sentence)
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
        conclude(join, OUTCOME_FAILED);
        return;
    }
    join->state = JOIN_FAILING;
    uv_timer_start(&join->timer, on_timer, CLOSING_MS, 0);
}

static void fail_described(struct rp_join *join, rp_status status)
{
    fail(join, status, rp_error_captured());
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
        conclude(join, OUTCOME_FAILED);
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
    fail_quietly(join, RP_ECONNTIMEOUT, sentence);
}

// Messages to the root.

static bool send_message(
        struct rp_join *join, enum rp_bootstrap_message type, const void *payload, size_t bytes)
{
    rp_status st = rp_conn_send(join->conn, (uint16_t)type, payload, bytes, NULL);
    if (st != RP_OK) {
        fail_described(join, st);
    }
    return st == RP_OK;
}

static bool send_flag(struct rp_join *join, enum rp_bootstrap_message type, bool flag)
{
    uint8_t payload = flag ? 1 : 0;
    return send_message(join, type, &payload, sizeof(payload));
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
    send_message(join, RP_MSG_HELLO, payload, writer.used);
}

// The node exchange.

static void on_reached(void *owner, bool reached, const char *why)
{
    struct rp_join *join = owner;
    if (!reached) {
        rp_log_info("rank %u does not reach its node's leader: %s", join->rank, why);
    }
    send_flag(join, RP_MSG_REACHED, reached);
}

static void on_mapped(void *owner)
{
    struct rp_join *join = owner;
    join->memory = rp_node_take(join->node);
    join->state = JOIN_MAPPED;
    send_flag(join, RP_MSG_MAPPED, join->memory.zero_copy);
}

static void on_node_failed(void *owner, rp_status status, const char *sentence)
{
    fail(owner, status, sentence);
}

static const struct rp_node_events node_events = {
    .reached = on_reached,
    .mapped = on_mapped,
    .failed = on_node_failed,
};

static uint32_t leader_of(const struct rp_join *join)
{
    uint32_t leader = 0;
    while (join->roster[leader].node != join->roster[join->rank].node) {
        leader++;
    }
    return leader;
}

// All members are known: exchange memory with those of this node, which are all of them.
static void start_exchange(struct rp_join *join)
{
    struct rp_node_setup setup = {
        .loop = join->loop,
        .rank = join->rank,
        .leader = leader_of(join),
        .size = join->size,
        .roster = join->roster,
        .secret = join->secret,
        .arena = join->arena,
        .window_bytes = join->settings.buffer_bytes,
        .base = join->terms.base,
        .listen_fd = -1,
        .events = &node_events,
        .owner = join,
    };
    rp_fork_unguard_fd(join->node_fd);
    if (setup.leader == join->rank) {
        setup.listen_fd = join->node_fd;
    } else {
        close(join->node_fd);
    }
    join->node_fd = -1;
    join->state = JOIN_EXCHANGE;
    rp_status st = rp_node_create(&setup, &join->node);
    if (st != RP_OK) {
        fail_described(join, st);
    }
}

// Messages from the root.

static void terms_arrived(struct rp_join *join, struct rp_frame *frame)
{
    if (rp_terms_read(&frame->payload, &join->terms) != RP_OK) {
        fail(join, RP_EINTERNAL, "the root sent malformed terms");
        return;
    }
    rp_terms_secret(&join->terms, join->meet.secret, join->secret);
}

// The root that answered belongs to another attempt, which will be over soon.
static void later_arrived(struct rp_join *join, struct rp_frame *frame)
{
    char sentence[RP_SENTENCE_BYTES];
    if (rp_later_read(&frame->payload, sentence) != RP_OK) {
        fail(join, RP_EINTERNAL, "the root sent a malformed message");
        return;
    }
    rp_text_copy(join->later, sizeof(join->later), sentence);
    rp_conn_close(join->conn);
    join->conn = NULL;
    join->state = JOIN_DIAL;
    rp_status st = dial(join, LATER_MS);
    if (st != RP_OK) {
        fail_described(join, st);
    }
}

static void members_arrived(struct rp_join *join, struct rp_frame *frame)
{
    if (rp_roster_read(&frame->payload, join->roster, join->size, &join->known) != RP_OK) {
        fail(join, RP_EINTERNAL, "the root sent a malformed table of ranks");
    } else if (join->known == join->size) {
        start_exchange(join);
    }
}

// Everyone has mapped everyone: make the communicator. Nobody has it before all have theirs.
static void prepare_arrived(struct rp_join *join, bool zero_copy)
{
    rp_node_destroy(join->node);
    join->node = NULL;
    struct rp_member *member = rp_calloc(join->size, sizeof(*member));
    if (member == NULL) {
        fail(join, RP_ENOMEM, "no memory for the table of ranks");
        return;
    }
    for (uint32_t i = 0; i < join->size; i++) {
        member[i] = join->roster[i].member;
    }
    struct rp_comm_parts parts = {
        .rank = join->rank,
        .size = join->size,
        .device_id = join->device_id,
        .name = join->settings.name[0] == '\0' ? join->meet.identifier : join->settings.name,
        .settings = join->settings,
        .member = member,
        .process = join->memory.process,
        .arena = join->arena,
        .segment = join->memory.segment,
        .zero_copy = zero_copy,
        .secret = join->secret,
        .world = join->world,
    };
    rp_status st = rp_comm_create(&parts, &join->comm);
    if (st != RP_OK) {
        rp_free(member);
        fail_described(join, st);
        return;
    }
    join->memory = (struct rp_node_result){ 0 };
    join->state = JOIN_READY;
    send_message(join, RP_MSG_READY, NULL, 0);
}

static void abort_arrived(struct rp_join *join, struct rp_frame *frame)
{
    rp_status status;
    char sentence[RP_SENTENCE_BYTES];
    if (rp_abort_read(&frame->payload, &status, sentence) != RP_OK) {
        status = RP_EREMOTE;
        rp_text_copy(sentence, sizeof(sentence), "the root gave up and could not say why");
    }
    fail_quietly(join, status, sentence);
}

static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct rp_join *join = owner;
    bool flag;
    (void)conn;
    if (frame->type == RP_MSG_ABORT) {
        abort_arrived(join, frame);
    } else if (join->state == JOIN_FAILING) {
        return; // it crossed our own abort
    } else if (frame->type == RP_MSG_LATER && join->state == JOIN_GATHER && join->terms.base == 0) {
        later_arrived(join, frame);
    } else if (frame->type == RP_MSG_TERMS && join->state == JOIN_GATHER && join->terms.base == 0) {
        terms_arrived(join, frame);
    } else if (frame->type == RP_MSG_MEMBERS && join->state == JOIN_GATHER &&
               join->terms.base != 0) {
        members_arrived(join, frame);
    } else if (frame->type == RP_MSG_PREPARE && join->state == JOIN_MAPPED &&
               rp_flag_read(&frame->payload, &flag) == RP_OK) {
        prepare_arrived(join, flag);
    } else if (frame->type == RP_MSG_COMMIT && join->state == JOIN_READY) {
        conclude(join, OUTCOME_DONE);
    } else {
        fail(join, RP_EINTERNAL, "the root said something unexpected");
    }
}

static void on_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct rp_join *join = owner;
    char root[RP_RENDEZVOUS_TEXT_BYTES];
    char sentence[RP_SENTENCE_BYTES];
    (void)conn;
    (void)by_peer;
    join->conn = NULL;
    rp_rendezvous_text(&join->meet, root, sizeof(root));
    snprintf(sentence, sizeof(sentence),
            "the root at %s died or gave up during the init of the communicator: %s", root, why);
    fail_quietly(join, RP_EREMOTE, sentence);
}

static const struct rp_conn_events root_events = {
    .frame = on_frame,
    .lost = on_lost,
};

static void on_dialed(void *owner, struct rp_conn *conn)
{
    struct rp_join *join = owner;
    join->conn = conn;
    rp_conn_adopt(conn, &root_events, join);
    rp_dialer_destroy(join->dialer);
    join->dialer = NULL;
    say_hello(join);
}

static rp_status dial(struct rp_join *join, uint64_t delay_ms)
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
    fail_quietly(join, RP_EDEVABORT, "the device was reset during the init of the communicator");
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
    st = dial(join, 0);
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
