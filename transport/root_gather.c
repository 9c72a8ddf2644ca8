// The root hears the hellos: who is there, and whether they fit each other.

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/bootstrap_root.h"

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
        rp_root_disagree(root, RP_EPARAM,
                "the ranks differ in nRanks: rank %u says %u, rank %u says %u", root->first_rank,
                root->size, hello->rank, hello->size);
        return false;
    }
    if (root->rank[hello->rank] != NULL) {
        const struct rp_member *other = &root->roster[hello->rank].member;
        rp_root_disagree(root, RP_EPARAM,
                "rank %u came twice: device %d of pid %lld on %s, and device %d of pid %lld on %s",
                hello->rank, other->device_id, (long long)other->pid, other->host, mine->device_id,
                (long long)mine->pid, mine->host);
        return false;
    }
    for (uint32_t i = 0; i < root->size; i++) {
        const struct rp_member *other = &root->roster[i].member;
        if (root->rank[i] != NULL && other->device_id == mine->device_id &&
                memcmp(&other->process, &mine->process, sizeof(mine->process)) == 0) {
            rp_root_disagree(root, RP_EPARAM,
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
            rp_root_disagree(root, RP_EMISMATCH, "%s", sentence);
            return false;
        }
    }
    return true;
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

void rp_root_hello(struct rp_root *root, struct rp_root_caller *caller, struct rp_frame *frame)
{
    char why[256];
    struct rp_hello hello;
    if (caller->progress != RANK_CONNECTED || rp_hello_read(&frame->payload, &hello) != RP_OK) {
        rp_log_warn("a rank of %s sent a malformed hello", root->meet.identifier);
        rp_root_caller_free(caller);
        return;
    }
    if (rp_root_is_foreign(root, &hello, why, sizeof(why))) {
        tell_later(root, caller, why);
        return;
    }
    caller->progress = RANK_HELLO;
    caller->rank = hello.rank;
    if (root->phase == ROOT_ENDED) { // too late, and the only question left is why
        rp_root_tell_late(root, caller);
        return;
    }
    if (root->size == 0 && make_table(root, &hello) != RP_OK) {
        rp_root_fail_no_memory(root);
        return;
    }
    root->met++;
    if (root->phase == ROOT_DISAGREED || !fits(root, &hello)) {
        if (root->met >= root->size) {
            rp_root_tell_everyone(root);
        }
        return;
    }
    shorten_deadline(root, &hello);
    rp_text_copy(caller->node_id, sizeof(caller->node_id), hello.node_id);
    memcpy(caller->machine, hello.machine, sizeof(caller->machine));
    caller->seated = true;
    root->rank[hello.rank] = caller;
    root->roster[hello.rank].member = hello.member;
    rp_text_copy(root->roster[hello.rank].node_socket, sizeof(root->roster[hello.rank].node_socket),
            hello.node_socket);
    root->arrived++;
    if (root->arrived == root->size) {
        rp_root_all_arrived(root);
    }
}
