// How the root tells its ranks the end. What any rank says counts for the whole attempt: the first
// failure is told to everyone, once, and after it only latecomers are listened to, who get to hear
// the same.

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/util.h"
#include "transport/bootstrap_root.h"

#define CLOSING_MS 1000 // for the last words to be read
// Ranks that disagree are told together with those who have yet to come, as long as these take no
// longer than this: a process that has been told may end, and the root's takes the listener along.
#define DISAGREED_MS 5000

void rp_root_count_told(struct rp_root *root, uint32_t rank)
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
    rp_root_count_told(root, caller->rank);
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

void rp_root_tell_late(struct rp_root *root, struct rp_root_caller *caller)
{
    tell_failure(root, caller);
    linger(root);
}

static void keep_failure(struct rp_root *root, rp_status status, const char *format, va_list args)
{
    vsnprintf(root->sentence, sizeof(root->sentence), format, args);
    rp_log_info("the init of communicator %s failed: %s", root->meet.identifier, root->sentence);
    root->status = status;
}

void rp_root_tell_everyone(struct rp_root *root)
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

void rp_root_fail(struct rp_root *root, rp_status status, const char *format, ...)
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
    rp_root_tell_everyone(root);
}

void rp_root_disagree(struct rp_root *root, rp_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep_failure(root, status, format, args);
    va_end(args);
    root->phase = ROOT_DISAGREED;
    rp_root_set_timer(root, rp_min_u64(rp_root_left_ms(root), DISAGREED_MS));
}

void rp_root_fail_no_memory(struct rp_root *root)
{
    rp_root_fail(root, RP_ENOMEM, "the root of the communicator is out of memory");
}

void rp_root_broadcast(
        struct rp_root *root, enum rp_bootstrap_message type, const void *payload, size_t bytes)
{
    for (uint32_t i = 0; i < root->size; i++) {
        rp_status st = rp_conn_send(root->rank[i]->conn, (uint16_t)type, payload, bytes, NULL);
        if (st != RP_OK) {
            rp_root_fail_no_memory(root);
            return;
        }
    }
}

void rp_root_commit(struct rp_root *root)
{
    rp_root_broadcast(root, RP_MSG_COMMIT, NULL, 0); // reserved: all get it, or the network fails
    assert(root->phase == ROOT_PREPARE);
    root->phase = ROOT_ENDED;
    rp_root_close_listeners(root);
    for (uint32_t i = 0; i < root->size; i++) {
        rp_conn_finish(root->rank[i]->conn);
    }
    rp_root_set_timer(root, CLOSING_MS);
}

// Who is missing.

static bool is_missing(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->rank[rank] == NULL;
}

// The step that everyone should have reached in this phase.
static enum rp_root_progress awaited(const struct rp_root *root)
{
    switch (root->phase) {
    case ROOT_EXCHANGE:
        return RANK_MAPPED;
    case ROOT_LISTEN:
        return RANK_LISTENING;
    case ROOT_LINK:
        return RANK_LINKED;
    default:
        return RANK_READY;
    }
}

static bool is_behind(const void *arg, uint32_t rank)
{
    const struct rp_root *root = arg;
    return root->rank[rank] == NULL || root->rank[rank]->progress < awaited(root);
}

// What else there is to say about ranks that did not come.
static void missing_remarks(const struct rp_root *root, char *text, size_t bytes)
{
    const bool hint = root->meet.hint != NULL;
    snprintf(text, bytes, "%s%s%s%s%s%s", root->unbound[0] == '\0' ? "" : "; ", root->unbound,
            root->doubled[0] == '\0' ? "" : "; ", root->doubled, hint ? "; " : "",
            hint ? root->meet.hint : "");
}

void rp_root_fail_timeout(struct rp_root *root)
{
    char ranks[640];
    char parents[720];
    char remarks[800];
    if (root->phase == ROOT_GATHER) {
        rp_rank_list_text(is_missing, root, root->size, ranks, sizeof(ranks));
        rp_rendezvous_ranks(&root->meet, is_missing, root, root->size, parents, sizeof(parents));
        missing_remarks(root, remarks, sizeof(remarks));
        rp_root_fail(root, RP_ECONNTIMEOUT,
                "%s%s never arrived within %u s (HCCL_CONNECT_TIMEOUT); %u of %u ranks are there%s",
                ranks, parents, root->timeout_s, root->arrived, root->size, remarks);
        return;
    }
    rp_rank_list_text(is_behind, root, root->size, ranks, sizeof(ranks));
    rp_rendezvous_ranks(&root->meet, is_behind, root, root->size, parents, sizeof(parents));
    rp_root_fail(root, RP_ECONNTIMEOUT,
            "all %u ranks arrived, but %s%s did not finish the init of the communicator within %u "
            "s (HCCL_CONNECT_TIMEOUT)",
            root->size, ranks, parents, root->timeout_s);
}
