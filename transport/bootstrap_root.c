// The root's side of the bootstrap. It owns no rank: the rank of the same device dials it like all
// others. A root lives on its loop and frees itself.
//
// What any rank says counts for the whole attempt: the first failure is told to everyone, once, and
// after it only latecomers are listened to, who get to hear the same.

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/bootstrap.h"
#include "transport/bootstrap_msg.h"
#include "transport/conn.h"
#include "transport/listener.h"
#include "transport/netif.h"
#include "transport/root_info.h"

#define CLOSING_MS 1000  // for the last words to be read
#define UNREACHED_MS 100 // a leader that died looks unreachable at first
// Ranks that disagree are told together with those who have yet to come, as long as these take no
// longer than this: a process that has been told may end, and the root's takes the listener along.
#define DISAGREED_MS 5000

enum phase {
    ROOT_GATHER,    // until every rank has said hello
    ROOT_DISAGREED, // has failed; until every rank has said hello, or the rest takes too long
    ROOT_EXCHANGE,  // until every rank has mapped the others
    ROOT_PREPARE,   // until every rank has its communicator
    ROOT_ENDED,     // told everyone; waiting for them to hang up
};

// How far a rank has come.
enum progress {
    RANK_CONNECTED,
    RANK_HELLO,
    RANK_REACHED,
    RANK_MAPPED,
    RANK_READY,
};

// A connection that has proved itself.
struct caller {
    struct rp_list link;
    struct rp_root *root;
    struct rp_conn *conn;
    enum progress progress;
    bool reached; // it can speak with its node's leader
    bool seated;  // it is root->rank[rank]
    uint32_t rank;
    char node_id[RP_ENV_NAME_MAX];
};

struct rp_root {
    struct rp_loop_object object;
    struct rp_loop *loop;
    struct rp_root_info info;
    struct rp_listener *listener;
    uv_timer_t timer;
    enum phase phase;
    struct rp_list callers; // struct caller
    uint32_t timeout_s;     // of the rank whose patience ends first
    uint64_t deadline_ns;
    bool zero_copy;
    bool unreached; // some rank cannot speak with its leader
    // From the first hello on.
    uint32_t size; // 0: none yet
    uint32_t met;  // hellos, of ranks that do not fit, too
    uint32_t arrived;
    uint32_t first_rank;
    struct caller **rank; // [size]
    struct rp_roster_entry *roster;
    struct rp_agreement agreement; // the first one's
    uint8_t digest[RP_AGREEMENT_DIGEST_BYTES];
    // From a failure on.
    uint32_t told; // ranks that know of it, or are dead
    rp_status status;
    char sentence[RP_SENTENCE_BYTES];
};

static void on_timer(uv_timer_t *timer);

static void set_timer(struct rp_root *root, uint64_t ms)
{
    uv_timer_start(&root->timer, on_timer, ms, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct rp_root *root = rp_container_of(handle, struct rp_root, timer);
    rp_loop_count_end(root->loop);
    sodium_memzero(root->info.secret, sizeof(root->info.secret));
    rp_free(root->rank);
    rp_free(root->roster);
    rp_free(root);
}

static void caller_free(struct caller *caller)
{
    struct rp_root *root = caller->root;
    rp_list_remove(&caller->link);
    if (caller->seated) {
        root->rank[caller->rank] = NULL;
    }
    rp_conn_close(caller->conn);
    rp_free(caller);
}

static void root_free(struct rp_root *root)
{
    rp_loop_detach(&root->object);
    rp_listener_close(root->listener);
    root->listener = NULL;
    rp_list_each(link, &root->callers)
    {
        caller_free(rp_container_of(link, struct caller, link));
    }
    uv_close((uv_handle_t *)&root->timer, on_timer_closed);
}

static void on_loop_destroyed(struct rp_loop_object *object)
{
    root_free(rp_container_of(object, struct rp_root, object));
}

// The end.

// Nobody is left to talk to, and nobody else is awaited.
static void free_if_idle(struct rp_root *root)
{
    if (root->phase == ROOT_ENDED && root->listener == NULL && rp_list_empty(&root->callers)) {
        root_free(root);
    }
}

static void tell_failure(struct rp_root *root, struct caller *caller)
{
    uint8_t payload[RP_ABORT_BYTES];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_abort_write(root->status, root->sentence, &writer);
    assert(writer.ok);
    rp_status st = rp_conn_send(caller->conn, RP_MSG_ABORT, payload, writer.used, NULL);
    assert(st == RP_OK); // reserved
    (void)st;
    rp_conn_finish(caller->conn);
    root->told++;
}

// After a failure: stays for those who have yet to come and ask.
static void linger(struct rp_root *root)
{
    if (root->size != 0 && root->told >= root->size) {
        rp_listener_close(root->listener);
        root->listener = NULL;
        set_timer(root, CLOSING_MS);
    } else {
        set_timer(root, RP_BOOTSTRAP_LINGER_MS);
    }
}

static void keep_failure(struct rp_root *root, rp_status status, const char *format, va_list args)
{
    vsnprintf(root->sentence, sizeof(root->sentence), format, args);
    rp_log_info("the init of communicator %s failed: %s", root->info.identifier, root->sentence);
    root->status = status;
}

static void tell_everyone(struct rp_root *root)
{
    root->phase = ROOT_ENDED;
    rp_list_each(link, &root->callers)
    {
        struct caller *caller = rp_container_of(link, struct caller, link);
        if (caller->progress != RANK_CONNECTED && caller->conn != NULL) {
            tell_failure(root, caller);
        }
    }
    linger(root);
}

// Fails the attempt for everyone. Later failures are consequences of the first.
static void fail(struct rp_root *root, rp_status status, const char *format, ...) RP_PRINTF(3, 4);

static void fail(struct rp_root *root, rp_status status, const char *format, ...)
{
    if (root->phase == ROOT_ENDED) {
        return;
    }
    if (root->phase != ROOT_DISAGREED) {
        va_list args;
        va_start(args, format);
        keep_failure(root, status, format, args);
        va_end(args);
    }
    tell_everyone(root);
}

// Those who have come disagree. The rest is waited for a little.
static void disagree(struct rp_root *root, rp_status status, const char *format, ...)
        RP_PRINTF(3, 4);

static void disagree(struct rp_root *root, rp_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_failure(root, status, format, args);
    va_end(args);
    root->phase = ROOT_DISAGREED;
    const uint64_t now_ns = rp_now_ns();
    const uint64_t left_ms =
            root->deadline_ns > now_ns ? (root->deadline_ns - now_ns) / RP_NS_PER_MS : 0;
    set_timer(root, rp_min_u64(left_ms, DISAGREED_MS));
}

static void fail_no_memory(struct rp_root *root)
{
    fail(root, RP_ENOMEM, "the root of the communicator is out of memory");
}

static void broadcast(
        struct rp_root *root, enum rp_bootstrap_message type, const void *payload, size_t bytes)
{
    for (uint32_t i = 0; i < root->size; i++) {
        rp_status st = rp_conn_send(root->rank[i]->conn, (uint16_t)type, payload, bytes, NULL);
        if (st != RP_OK) {
            fail_no_memory(root);
            return;
        }
    }
}

static void commit(struct rp_root *root)
{
    broadcast(root, RP_MSG_COMMIT, NULL, 0); // reserved: all get it, or the network fails
    assert(root->phase == ROOT_PREPARE);
    root->phase = ROOT_ENDED;
    rp_listener_close(root->listener);
    root->listener = NULL;
    for (uint32_t i = 0; i < root->size; i++) {
        rp_conn_finish(root->rank[i]->conn);
    }
    set_timer(root, CLOSING_MS);
}

// Who is missing, and who is elsewhere.

static bool is_missing(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->rank[rank] == NULL;
}

// The step that everyone should have reached in this phase.
static enum progress awaited(const struct rp_root *root)
{
    return root->phase == ROOT_EXCHANGE ? RANK_MAPPED : RANK_READY;
}

static bool is_behind(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->rank[rank] == NULL || root->rank[rank]->progress < awaited(root);
}

static bool is_unreached(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->rank[rank] != NULL && root->rank[rank]->progress >= RANK_REACHED &&
           !root->rank[rank]->reached;
}

static bool is_other_node(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->roster[rank].node != root->roster[0].node;
}

static void fail_elsewhere(struct rp_root *root, bool (*elsewhere)(const void *, uint32_t))
{
    char ranks[640];
    uint32_t count = rp_rank_list_text(elsewhere, root, root->size, ranks, sizeof(ranks));
    fail(root, RP_ENOTSUP,
            "%s %s not share a node with rank 0 (%s): transport between nodes is not part of this "
            "build",
            ranks, count == 1 ? "does" : "do", root->roster[0].member.host);
}

static void fail_timeout(struct rp_root *root)
{
    char ranks[640];
    if (root->phase == ROOT_GATHER) {
        rp_rank_list_text(is_missing, root, root->size, ranks, sizeof(ranks));
        fail(root, RP_ECONNTIMEOUT,
                "%s never arrived within %u s (HCCL_CONNECT_TIMEOUT); %u of %u ranks are there",
                ranks, root->timeout_s, root->arrived, root->size);
        return;
    }
    rp_rank_list_text(is_behind, root, root->size, ranks, sizeof(ranks));
    fail(root, RP_ECONNTIMEOUT,
            "all %u ranks arrived, but %s did not finish the init of the communicator within %u s "
            "(HCCL_CONNECT_TIMEOUT)",
            root->size, ranks, root->timeout_s);
}

static void on_timer(uv_timer_t *timer)
{
    struct rp_root *root = rp_container_of(timer, struct rp_root, timer);
    rp_loop_ran(root->loop);
    if (root->phase == ROOT_ENDED) {
        root_free(root);
    } else if (root->phase == ROOT_DISAGREED) {
        tell_everyone(root);
    } else if (root->size == 0) {
        rp_log_info("no rank came to %s in time", root->info.identifier);
        root_free(root);
    } else if (root->unreached) {
        fail_elsewhere(root, is_unreached);
    } else {
        fail_timeout(root);
    }
}

// The deadline of the attempt is that of the rank whose patience ends first.
static void shorten_deadline(struct rp_root *root, const struct rp_hello *hello)
{
    uint64_t now_ns = rp_now_ns();
    uint64_t deadline_ns = now_ns + (uint64_t)hello->remaining_ms * RP_NS_PER_MS;
    if (root->arrived == 0 || deadline_ns < root->deadline_ns) {
        root->deadline_ns = deadline_ns;
        root->timeout_s = hello->timeout_s;
        set_timer(root, hello->remaining_ms);
    }
}

// Hello.

static rp_status make_table(struct rp_root *root, const struct rp_hello *hello)
{
    root->rank = rp_calloc(hello->size, sizeof(*root->rank));
    root->roster = rp_calloc(hello->size, sizeof(*root->roster));
    if (root->rank == NULL || root->roster == NULL) {
        rp_free(root->rank);
        rp_free(root->roster);
        root->rank = NULL;
        root->roster = NULL;
        return RP_ENOMEM;
    }
    root->size = hello->size;
    root->first_rank = hello->rank;
    root->agreement = hello->agreement;
    rp_agreement_digest(&hello->agreement, root->digest);
    return RP_OK;
}

// Whether the newcomer fits those who are there; otherwise the attempt has failed.
static bool fits(struct rp_root *root, const struct rp_hello *hello)
{
    const struct rp_member *mine = &hello->member;
    if (hello->size != root->size) {
        disagree(root, RP_EPARAM, "the ranks differ in nRanks: rank %u says %u, rank %u says %u",
                root->first_rank, root->size, hello->rank, hello->size);
        return false;
    }
    if (root->rank[hello->rank] != NULL) {
        const struct rp_member *other = &root->roster[hello->rank].member;
        disagree(root, RP_EPARAM,
                "rank %u came twice: device %d of pid %lld on %s, and device %d of pid %lld on %s",
                hello->rank, other->device_id, (long long)other->pid, other->host, mine->device_id,
                (long long)mine->pid, mine->host);
        return false;
    }
    for (uint32_t i = 0; i < root->size; i++) {
        const struct rp_member *other = &root->roster[i].member;
        if (root->rank[i] != NULL && other->device_id == mine->device_id &&
                memcmp(&other->process, &mine->process, sizeof(mine->process)) == 0) {
            disagree(root, RP_EPARAM,
                    "ranks %u and %u of the communicator are both on device %d of pid %lld", i,
                    hello->rank, mine->device_id, (long long)mine->pid);
            return false;
        }
    }
    uint8_t digest[RP_AGREEMENT_DIGEST_BYTES];
    rp_agreement_digest(&hello->agreement, digest);
    if (memcmp(digest, root->digest, sizeof(digest)) != 0) {
        char sentence[RP_SENTENCE_BYTES];
        if (rp_agreement_difference(&root->agreement, root->first_rank, &hello->agreement,
                    hello->rank, sentence, sizeof(sentence))) {
            disagree(root, RP_EMISMATCH, "%s", sentence);
            return false;
        }
    }
    return true;
}

// Which ranks can be of one node at all: those with the same REPRISE_NODE_ID. Whether they are is
// then seen by who can speak with the leader.
static void number_nodes(struct rp_root *root)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < root->size; i++) {
        root->roster[i].node = nodes;
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(root->rank[i]->node_id, root->rank[j]->node_id) == 0) {
                root->roster[i].node = root->roster[j].node;
                break;
            }
        }
        nodes += root->roster[i].node == nodes ? 1 : 0;
    }
}

static void all_arrived(struct rp_root *root)
{
    number_nodes(root);
    for (uint32_t i = 1; i < root->size; i++) {
        if (is_other_node(root, i)) {
            fail_elsewhere(root, is_other_node);
            return;
        }
    }
    root->phase = ROOT_EXCHANGE;
    for (uint32_t first = 0; first < root->size && root->phase == ROOT_EXCHANGE;) {
        uint8_t payload[RP_WIRE_PAYLOAD_MAX];
        struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
        first += rp_roster_write(root->roster, root->size, first, &writer);
        broadcast(root, RP_MSG_MEMBERS, payload, writer.used);
    }
}

static void hello_arrived(struct rp_root *root, struct caller *caller, struct rp_frame *frame)
{
    struct rp_hello hello;
    if (caller->progress != RANK_CONNECTED || rp_hello_read(&frame->payload, &hello) != RP_OK) {
        rp_log_warn("a rank of %s sent a malformed hello", root->info.identifier);
        caller_free(caller);
        return;
    }
    caller->progress = RANK_HELLO;
    caller->rank = hello.rank;
    if (root->phase == ROOT_ENDED) { // too late, and the only question left is why
        tell_failure(root, caller);
        linger(root);
        return;
    }
    if (root->size == 0 && make_table(root, &hello) != RP_OK) {
        fail_no_memory(root);
        return;
    }
    root->met++;
    if (root->phase == ROOT_DISAGREED || !fits(root, &hello)) {
        if (root->met >= root->size) {
            tell_everyone(root);
        }
        return;
    }
    shorten_deadline(root, &hello);
    rp_text_copy(caller->node_id, sizeof(caller->node_id), hello.node_id);
    caller->seated = true;
    root->rank[hello.rank] = caller;
    root->roster[hello.rank].member = hello.member;
    rp_text_copy(root->roster[hello.rank].node_socket, sizeof(root->roster[hello.rank].node_socket),
            hello.node_socket);
    root->arrived++;
    if (root->arrived == root->size) {
        all_arrived(root);
    }
}

// Later steps.

static bool all_at(const struct rp_root *root, enum progress progress)
{
    for (uint32_t i = 0; i < root->size; i++) {
        if (root->rank[i] == NULL || root->rank[i]->progress < progress) {
            return false;
        }
    }
    return true;
}

static void reached_arrived(struct rp_root *root, struct caller *caller, bool reached)
{
    caller->progress = RANK_REACHED;
    caller->reached = reached;
    root->unreached = root->unreached || !reached;
    if (root->unreached && all_at(root, RANK_REACHED)) {
        set_timer(root, UNREACHED_MS);
    }
}

static void mapped_arrived(struct rp_root *root, struct caller *caller, bool zero_copy)
{
    caller->progress = RANK_MAPPED;
    root->zero_copy = root->zero_copy && zero_copy;
    if (all_at(root, RANK_MAPPED)) {
        uint8_t flag = root->zero_copy ? 1 : 0;
        root->phase = ROOT_PREPARE;
        broadcast(root, RP_MSG_PREPARE, &flag, sizeof(flag));
    }
}

static void abort_arrived(struct rp_root *root, struct caller *caller, struct rp_frame *frame)
{
    rp_status status;
    char sentence[RP_SENTENCE_BYTES];
    if (rp_abort_read(&frame->payload, &status, sentence) != RP_OK) {
        rp_text_copy(sentence, sizeof(sentence), "it could not say why");
    }
    fail(root, RP_EREMOTE, "rank %u failed: %s", caller->rank, sentence);
}

static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct caller *caller = owner;
    struct rp_root *root = caller->root;
    bool flag;
    (void)conn;
    if (frame->type == RP_MSG_HELLO) {
        hello_arrived(root, caller, frame);
    } else if (root->phase == ROOT_ENDED || caller->progress == RANK_CONNECTED) {
        caller_free(caller); // nothing else is expected of it
        free_if_idle(root);
    } else if (frame->type == RP_MSG_ABORT) {
        abort_arrived(root, caller, frame);
    } else if (frame->type == RP_MSG_REACHED && root->phase == ROOT_EXCHANGE &&
               caller->progress == RANK_HELLO && rp_flag_read(&frame->payload, &flag) == RP_OK) {
        reached_arrived(root, caller, flag);
    } else if (frame->type == RP_MSG_MAPPED && root->phase == ROOT_EXCHANGE &&
               caller->progress == RANK_REACHED && rp_flag_read(&frame->payload, &flag) == RP_OK) {
        mapped_arrived(root, caller, flag);
    } else if (frame->type == RP_MSG_READY && root->phase == ROOT_PREPARE &&
               caller->progress == RANK_MAPPED) {
        caller->progress = RANK_READY;
        if (all_at(root, RANK_READY)) {
            commit(root);
        }
    } else {
        fail(root, RP_EINTERNAL, "rank %u said something unexpected to the root", caller->rank);
    }
}

static void on_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct caller *caller = owner;
    struct rp_root *root = caller->root;
    (void)conn;
    (void)by_peer;
    caller->conn = NULL;
    if (caller->seated && root->phase != ROOT_ENDED) {
        root->told++; // it cannot be told any more
        const struct rp_member *member = &root->roster[caller->rank].member;
        fail(root, RP_EREMOTE,
                "rank %u (pid %lld on %s) died or gave up during the init of the communicator: %s",
                caller->rank, (long long)member->pid, member->host, why);
    }
    caller_free(caller);
    free_if_idle(root);
}

static const struct rp_conn_events caller_events = {
    .frame = on_frame,
    .lost = on_lost,
};

static void on_accepted(struct rp_listener *listener, void *owner, struct rp_conn *conn)
{
    struct rp_root *root = owner;
    (void)listener;
    // The last word to it must not fail for want of memory: half of the ranks would have committed.
    struct caller *caller = rp_calloc(1, sizeof(*caller));
    if (caller == NULL || rp_conn_reserve(conn, RP_ABORT_BYTES) != RP_OK) {
        rp_free(caller);
        rp_conn_close(conn);
        return;
    }
    caller->root = root;
    caller->conn = conn;
    rp_list_push_back(&root->callers, &caller->link);
    rp_conn_adopt(conn, &caller_events, caller);
}

// The beginning.

// A root that has failed and waits for latecomers makes room: the new one may need its port.
static void retire_ended(struct rp_loop *loop)
{
    rp_list_each(link, rp_loop_objects(loop))
    {
        struct rp_loop_object *object = rp_container_of(link, struct rp_loop_object, link);
        struct rp_root *root = rp_container_of(object, struct rp_root, object);
        if (object->close == on_loop_destroyed && root->phase == ROOT_ENDED) {
            rp_listener_close(root->listener);
            root->listener = NULL;
            free_if_idle(root);
        }
    }
}

static rp_status listen_at(struct rp_root *root, const struct rp_hccl_env *env, int32_t device_id)
{
    struct rp_netif address;
    int fd;
    uint16_t port;
    rp_status st = rp_netif_choose(env, &address);
    if (st != RP_OK) {
        return st;
    }
    st = rp_netif_listen(&address, &env->host_ports, &fd, &port);
    if (st != RP_OK) {
        return st;
    }
    rp_root_info_init(&root->info, &address, port, device_id);
    struct rp_listener_setup setup = {
        .loop = root->loop,
        .fd = fd,
        .scope = RP_WIRE_ROOT,
        .secret = root->info.secret,
        .accepted = on_accepted,
        .owner = root,
    };
    return rp_listener_create(&setup, &root->listener);
}

rp_status rp_bootstrap_root(struct rp_loop *loop, int32_t device_id, void *info)
{
    const struct rp_hccl_env *env;
    rp_status st = rp_env_hccl(&env);
    if (st != RP_OK) {
        return st;
    }
    if (sodium_init() < 0) {
        return rp_fail(RP_ESYS, "libsodium cannot be initialised");
    }
    struct rp_root *root = rp_calloc(1, sizeof(*root));
    if (root == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the root of a communicator");
    }
    retire_ended(loop);
    root->loop = loop;
    root->zero_copy = true;
    root->object.close = on_loop_destroyed;
    rp_list_init(&root->callers);
    st = listen_at(root, env, device_id);
    if (st != RP_OK) {
        rp_free(root);
        return st;
    }
    uv_timer_init(rp_loop_uv(loop), &root->timer); // cannot fail
    uv_update_time(rp_loop_uv(loop));              // the loop may not have been stepped for long
    set_timer(root, env->connect_timeout_ns / RP_NS_PER_MS);
    rp_loop_count_begin(loop);
    rp_loop_attach(loop, &root->object);
    rp_root_info_write(&root->info, info);
    return RP_OK;
}
