// The root's side of the bootstrap. It owns no rank: the rank of the same device dials it like all
// others. A root lives on its loop and frees itself.

#include "transport/bootstrap_root.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

static void on_timer(uv_timer_t *timer);

void rp_root_set_timer(struct rp_root *root, uint64_t ms)
{
    uv_timer_start(&root->timer, on_timer, ms, 0);
}

uint64_t rp_root_left_ms(const struct rp_root *root)
{
    uint64_t now_ns = rp_now_ns();
    return root->deadline_ns > now_ns ? (root->deadline_ns - now_ns) / RP_NS_PER_MS : 0;
}

void rp_root_destroy(struct rp_root *root)
{
    rp_rendezvous_clear(&root->meet);
    rp_free(root->rank);
    rp_free(root->roster);
    rp_free(root->heard);
    rp_free(root->door);
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

void rp_root_caller_free(struct rp_root_caller *caller)
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
        rp_root_caller_free(rp_container_of(link, struct rp_root_caller, link));
    }
    uv_close((uv_handle_t *)&root->timer, on_timer_closed);
    uv_close((uv_handle_t *)&root->retry, on_retry_closed);
}

void rp_root_on_loop_destroyed(struct rp_loop_object *object)
{
    root_free(rp_container_of(object, struct rp_root, object));
}

// Nobody is left to talk to, and nobody else is awaited.
void rp_root_free_if_idle(struct rp_root *root)
{
    if (root->phase == ROOT_ENDED && !root->open && rp_list_empty(&root->callers)) {
        root_free(root);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct rp_root *root = rp_container_of(timer, struct rp_root, timer);
    rp_loop_ran(root->loop);
    if (root->phase == ROOT_ENDED) {
        root_free(root);
    } else if (root->phase == ROOT_DISAGREED) {
        rp_root_tell_everyone(root);
    } else if (root->size == 0) {
        rp_log_info("no rank came to %s in time", root->meet.identifier);
        root_free(root);
    } else if (root->unreached && rp_root_left_ms(root) > 0) {
        rp_root_regroup(root);
    } else {
        rp_root_fail_timeout(root);
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
    rp_root_fail(root, RP_EREMOTE, "rank %u failed: %s", caller->rank, sentence);
}

static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct rp_root_caller *caller = owner;
    struct rp_root *root = caller->root;
    (void)conn;
    if (frame->type == RP_MSG_HELLO) {
        rp_root_hello(root, caller, frame);
    } else if (root->phase == ROOT_ENDED || caller->progress == RANK_CONNECTED) {
        rp_root_caller_free(caller); // nothing else is expected of it
        rp_root_free_if_idle(root);
    } else if (frame->type == RP_MSG_ABORT) {
        abort_arrived(root, caller, frame);
    } else if (!rp_root_step(root, caller, frame)) {
        rp_root_fail(
                root, RP_EINTERNAL, "rank %u said something unexpected to the root", caller->rank);
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
        rp_root_count_told(root, caller->rank); // it cannot be told any more
        const struct rp_member *member = &root->roster[caller->rank].member;
        rp_root_fail(root, RP_EREMOTE,
                "rank %u (pid %lld on %s) died or gave up during the init of the communicator: %s",
                caller->rank, (long long)member->pid, member->host, why);
    }
    rp_root_caller_free(caller);
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
