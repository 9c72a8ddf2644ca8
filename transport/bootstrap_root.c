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
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/bootstrap.h"
#include "transport/bootstrap_msg.h"
#include "transport/bootstrap_root.h"
#include "transport/conn.h"
#include "transport/listener.h"
#include "transport/netif.h"
#include "transport/node_internal.h"
#include "transport/rendezvous.h"

#define CLOSING_MS 1000  // for the last words to be read
#define UNREACHED_MS 100 // a leader that died looks unreachable at first
// Ranks that disagree are told together with those who have yet to come, as long as these take no
// longer than this: a process that has been told may end, and the root's takes the listener along.
#define DISAGREED_MS 5000

static void on_timer(uv_timer_t *timer);

void rp_root_set_timer(struct rp_root *root, uint64_t ms)
{
    uv_timer_start(&root->timer, on_timer, ms, 0);
}

void rp_root_destroy(struct rp_root *root)
{
    rp_rendezvous_clear(&root->meet);
    rp_free(root->rank);
    rp_free(root->roster);
    rp_free(root->heard);
    rp_free(root);
}

static void on_handle_closed(struct rp_root *root)
{
    rp_loop_count_end(root->loop);
    root->handles--;
    if (root->handles == 0) {
        rp_root_destroy(root);
    }
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_handle_closed(rp_container_of(handle, struct rp_root, timer));
}

static void on_retry_closed(uv_handle_t *handle)
{
    on_handle_closed(rp_container_of(handle, struct rp_root, retry));
}

static void caller_free(struct rp_root_caller *caller)
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
    rp_root_close_listeners(root);
    rp_list_each(link, &root->callers)
    {
        caller_free(rp_container_of(link, struct rp_root_caller, link));
    }
    uv_close((uv_handle_t *)&root->timer, on_timer_closed);
    uv_close((uv_handle_t *)&root->retry, on_retry_closed);
}

void rp_root_on_loop_destroyed(struct rp_loop_object *object)
{
    root_free(rp_container_of(object, struct rp_root, object));
}

// The end.

// Nobody is left to talk to, and nobody else is awaited.
void rp_root_free_if_idle(struct rp_root *root)
{
    if (root->phase == ROOT_ENDED && !root->open && rp_list_empty(&root->callers)) {
        root_free(root);
    }
}

static void count_told(struct rp_root *root, uint32_t rank)
{
    root->told++;
    if (rank < root->size) {
        root->heard[rank] = true;
    }
}

static void tell_failure(struct rp_root *root, struct rp_root_caller *caller)
{
    uint8_t payload[RP_ABORT_BYTES];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_abort_write(root->status, root->sentence, &writer);
    assert(writer.ok);
    rp_status st = rp_conn_send(caller->conn, RP_MSG_ABORT, payload, writer.used, NULL);
    assert(st == RP_OK); // reserved
    (void)st;
    rp_conn_finish(caller->conn);
    count_told(root, caller->rank);
}

// After a failure: stays for those who have yet to come and ask. Whoever comes to a standing
// rendezvous after the end of its time belongs to another attempt.
static void linger(struct rp_root *root)
{
    const bool late = root->meet.standing && root->status == RP_ECONNTIMEOUT;
    if (late || (root->size != 0 && root->told >= root->size)) {
        rp_root_close_listeners(root);
        rp_root_set_timer(root, CLOSING_MS);
    } else {
        rp_root_set_timer(root, RP_BOOTSTRAP_LINGER_MS);
    }
}

static void keep_failure(struct rp_root *root, rp_status status, const char *format, va_list args)
{
    vsnprintf(root->sentence, sizeof(root->sentence), format, args);
    rp_log_info("the init of communicator %s failed: %s", root->meet.identifier, root->sentence);
    root->status = status;
}

static void tell_everyone(struct rp_root *root)
{
    root->phase = ROOT_ENDED;
    rp_list_each(link, &root->callers)
    {
        struct rp_root_caller *caller = rp_container_of(link, struct rp_root_caller, link);
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
    rp_root_set_timer(root, rp_min_u64(left_ms, DISAGREED_MS));
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
    rp_root_close_listeners(root);
    for (uint32_t i = 0; i < root->size; i++) {
        rp_conn_finish(root->rank[i]->conn);
    }
    rp_root_set_timer(root, CLOSING_MS);
}

// Who is missing, and who is elsewhere.

static bool is_missing(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->rank[rank] == NULL;
}

// The step that everyone should have reached in this phase.
static enum rp_root_progress awaited(const struct rp_root *root)
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

// What else there is to say about ranks that did not come.
static void missing_remarks(const struct rp_root *root, char *text, size_t bytes)
{
    const bool hint = root->meet.hint != NULL;
    snprintf(text, bytes, "%s%s%s%s%s%s", root->unbound[0] == '\0' ? "" : "; ", root->unbound,
            root->doubled[0] == '\0' ? "" : "; ", root->doubled, hint ? "; " : "",
            hint ? root->meet.hint : "");
}

static void fail_timeout(struct rp_root *root)
{
    char ranks[640];
    char parents[720];
    char remarks[800];
    if (root->phase == ROOT_GATHER) {
        rp_rank_list_text(is_missing, root, root->size, ranks, sizeof(ranks));
        rp_rendezvous_ranks(&root->meet, is_missing, root, root->size, parents, sizeof(parents));
        missing_remarks(root, remarks, sizeof(remarks));
        fail(root, RP_ECONNTIMEOUT,
                "%s%s never arrived within %u s (HCCL_CONNECT_TIMEOUT); %u of %u ranks are there%s",
                ranks, parents, root->timeout_s, root->arrived, root->size, remarks);
        return;
    }
    rp_rank_list_text(is_behind, root, root->size, ranks, sizeof(ranks));
    rp_rendezvous_ranks(&root->meet, is_behind, root, root->size, parents, sizeof(parents));
    fail(root, RP_ECONNTIMEOUT,
            "all %u ranks arrived, but %s%s did not finish the init of the communicator within %u "
            "s (HCCL_CONNECT_TIMEOUT)",
            root->size, ranks, parents, root->timeout_s);
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
        rp_log_info("no rank came to %s in time", root->meet.identifier);
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
        rp_root_set_timer(root, hello->remaining_ms);
    }
}

// Hello.

static rp_status make_table(struct rp_root *root, const struct rp_hello *hello)
{
    root->rank = rp_calloc(hello->size, sizeof(*root->rank));
    root->roster = rp_calloc(hello->size, sizeof(*root->roster));
    root->heard = rp_calloc(hello->size, sizeof(*root->heard));
    if (root->rank == NULL || root->roster == NULL || root->heard == NULL) {
        rp_free(root->rank);
        rp_free(root->roster);
        rp_free(root->heard);
        root->rank = NULL;
        root->roster = NULL;
        root->heard = NULL;
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
    uint8_t terms[8 + RP_WIRE_NONCE_BYTES];
    struct rp_writer terms_writer = rp_writer_view(terms, sizeof(terms));
    rp_terms_write(&root->terms, &terms_writer);
    broadcast(root, RP_MSG_TERMS, terms, terms_writer.used);
    for (uint32_t first = 0; first < root->size && root->phase == ROOT_EXCHANGE;) {
        uint8_t payload[RP_WIRE_PAYLOAD_MAX];
        struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
        first += rp_roster_write(root->roster, root->size, first, &writer);
        broadcast(root, RP_MSG_MEMBERS, payload, writer.used);
    }
}

static void tell_later(struct rp_root *root, struct rp_root_caller *caller, const char *why)
{
    uint8_t payload[RP_ABORT_BYTES];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    rp_later_write(why, &writer);
    assert(writer.ok);
    rp_log_info("%s: a rank of another attempt was sent away: %s", root->meet.identifier, why);
    rp_status st = rp_conn_send(caller->conn, RP_MSG_LATER, payload, writer.used, NULL);
    assert(st == RP_OK); // reserved
    (void)st;
    rp_conn_finish(caller->conn);
}

static void hello_arrived(
        struct rp_root *root, struct rp_root_caller *caller, struct rp_frame *frame)
{
    char why[256];
    struct rp_hello hello;
    if (caller->progress != RANK_CONNECTED || rp_hello_read(&frame->payload, &hello) != RP_OK) {
        rp_log_warn("a rank of %s sent a malformed hello", root->meet.identifier);
        caller_free(caller);
        return;
    }
    if (rp_root_is_foreign(root, &hello, why, sizeof(why))) {
        tell_later(root, caller, why);
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

static bool all_at(const struct rp_root *root, enum rp_root_progress progress)
{
    for (uint32_t i = 0; i < root->size; i++) {
        if (root->rank[i] == NULL || root->rank[i]->progress < progress) {
            return false;
        }
    }
    return true;
}

static void reached_arrived(struct rp_root *root, struct rp_root_caller *caller, bool reached)
{
    caller->progress = RANK_REACHED;
    caller->reached = reached;
    root->unreached = root->unreached || !reached;
    if (root->unreached && all_at(root, RANK_REACHED)) {
        rp_root_set_timer(root, UNREACHED_MS);
    }
}

static void mapped_arrived(struct rp_root *root, struct rp_root_caller *caller, bool zero_copy)
{
    caller->progress = RANK_MAPPED;
    root->zero_copy = root->zero_copy && zero_copy;
    if (all_at(root, RANK_MAPPED)) {
        uint8_t flag = root->zero_copy ? 1 : 0;
        root->phase = ROOT_PREPARE;
        broadcast(root, RP_MSG_PREPARE, &flag, sizeof(flag));
    }
}

static void abort_arrived(
        struct rp_root *root, struct rp_root_caller *caller, struct rp_frame *frame)
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
    struct rp_root_caller *caller = owner;
    struct rp_root *root = caller->root;
    bool flag;
    (void)conn;
    if (frame->type == RP_MSG_HELLO) {
        hello_arrived(root, caller, frame);
    } else if (root->phase == ROOT_ENDED || caller->progress == RANK_CONNECTED) {
        caller_free(caller); // nothing else is expected of it
        rp_root_free_if_idle(root);
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
    struct rp_root_caller *caller = owner;
    struct rp_root *root = caller->root;
    (void)conn;
    (void)by_peer;
    caller->conn = NULL;
    if (caller->seated && root->phase != ROOT_ENDED) {
        count_told(root, caller->rank); // it cannot be told any more
        const struct rp_member *member = &root->roster[caller->rank].member;
        fail(root, RP_EREMOTE,
                "rank %u (pid %lld on %s) died or gave up during the init of the communicator: %s",
                caller->rank, (long long)member->pid, member->host, why);
    }
    caller_free(caller);
    rp_root_free_if_idle(root);
}

static const struct rp_conn_events caller_events = {
    .frame = on_frame,
    .lost = on_lost,
};

void rp_root_accepted(struct rp_listener *listener, void *owner, struct rp_conn *conn)
{
    struct rp_root *root = owner;
    (void)listener;
    // The last word to it must not fail for want of memory: half of the ranks would have committed.
    struct rp_root_caller *caller = rp_calloc(1, sizeof(*caller));
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
