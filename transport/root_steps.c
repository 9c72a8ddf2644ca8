// The root leads the ranks, once they are all there: into nodes, through the exchange of memory in
// each node and the connections between nodes, to their communicators.

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/bootstrap_root.h"
#include "transport/node_groups.h"

#define UNREACHED_MS 100 // a leader that died looks unreachable at first

static bool all_at(const struct rp_root *root, enum rp_root_progress progress)
{
    for (uint32_t i = 0; i < root->size; i++) {
        if (root->rank[i] == NULL || root->rank[i]->progress < progress) {
            return false;
        }
    }
    return true;
}

// Whether two ranks can be of one node at all. Whether they are is then seen by who can speak with
// the leader.
static bool may_share(const struct rp_root_caller *a, const struct rp_root_caller *b)
{
    return strcmp(a->node_id, b->node_id) == 0 &&
           memcmp(a->machine, b->machine, sizeof(a->machine)) == 0;
}

static void guess_nodes(struct rp_root *root)
{
    for (uint32_t i = 0; i < root->size; i++) {
        uint32_t first = 0;
        while (!may_share(root->rank[first], root->rank[i])) {
            first++;
        }
        root->roster[i].member.node = first;
    }
    root->nodes = rp_groups_number(root->roster, root->size);
}

void rp_root_all_arrived(struct rp_root *root)
{
    guess_nodes(root);
    root->phase = ROOT_EXCHANGE;
    uint8_t terms[8 + RP_WIRE_NONCE_BYTES];
    struct rp_writer terms_writer = rp_writer_view(terms, sizeof(terms));
    rp_terms_write(&root->terms, &terms_writer);
    rp_root_broadcast(root, RP_MSG_TERMS, terms, terms_writer.used);
    for (uint32_t first = 0; first < root->size && root->phase == ROOT_EXCHANGE;) {
        uint8_t payload[RP_WIRE_PAYLOAD_MAX];
        struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
        first += rp_roster_write(root->roster, root->size, first, &writer);
        rp_root_broadcast(root, RP_MSG_MEMBERS, payload, writer.used);
    }
}

void rp_root_regroup(struct rp_root *root)
{
    uint8_t alone[RP_RANK_SET_BYTES] = { 0 };
    for (uint32_t i = 0; i < root->size; i++) {
        if (!root->rank[i]->reached) {
            const struct rp_member *member = &root->roster[i].member;
            rp_log_info("rank %u (pid %lld on %s) is a node of its own: it does not reach rank %u",
                    i, (long long)member->pid, member->host, rp_groups_leader(root->roster, i));
            alone[i / 8] |= (uint8_t)(1u << (i % 8));
            root->rank[i]->reached = true; // itself
        }
    }
    root->unreached = false;
    root->nodes = rp_groups_split(root->roster, root->size, alone);
    rp_root_set_timer(root, rp_root_left_ms(root));
    rp_root_broadcast(root, RP_MSG_ALONE, alone, (root->size + 7) / 8);
}

static void reached(struct rp_root *root, struct rp_root_caller *caller, bool reached)
{
    caller->progress = RANK_REACHED;
    caller->reached = reached;
    root->unreached = root->unreached || !reached;
    if (root->unreached && all_at(root, RANK_REACHED)) {
        rp_root_set_timer(root, rp_min_u64(UNREACHED_MS, rp_root_left_ms(root)));
    }
}

static void prepare(struct rp_root *root)
{
    uint8_t flag = root->zero_copy ? 1 : 0;
    root->phase = ROOT_PREPARE;
    rp_root_broadcast(root, RP_MSG_PREPARE, &flag, sizeof(flag));
}

static void mapped(struct rp_root *root, struct rp_root_caller *caller, bool zero_copy)
{
    caller->progress = RANK_MAPPED;
    root->zero_copy = root->zero_copy && zero_copy;
    if (!all_at(root, RANK_MAPPED)) {
        return;
    }
    if (root->nodes == 1) {
        prepare(root);
        return;
    }
    root->door = rp_calloc(root->size, sizeof(*root->door));
    if (root->door == NULL) {
        rp_root_fail_no_memory(root);
        return;
    }
    root->phase = ROOT_LISTEN;
    rp_root_broadcast(root, RP_MSG_LISTEN, NULL, 0);
}

static void listening(
        struct rp_root *root, struct rp_root_caller *caller, const struct rp_door *door)
{
    caller->progress = RANK_LISTENING;
    root->door[caller->rank] = *door;
    if (!all_at(root, RANK_LISTENING)) {
        return;
    }
    root->phase = ROOT_LINK;
    for (uint32_t first = 0; first < root->size && root->phase == ROOT_LINK;) {
        uint8_t payload[RP_WIRE_PAYLOAD_MAX];
        struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
        first += rp_doors_write(root->door, root->size, first, &writer);
        rp_root_broadcast(root, RP_MSG_DOORS, payload, writer.used);
    }
}

static void linked(struct rp_root *root, struct rp_root_caller *caller)
{
    caller->progress = RANK_LINKED;
    if (all_at(root, RANK_LINKED)) {
        prepare(root);
    }
}

static void ready(struct rp_root *root, struct rp_root_caller *caller)
{
    caller->progress = RANK_READY;
    if (all_at(root, RANK_READY)) {
        rp_root_commit(root);
    }
}

// Where a rank stands when it may say `type`, and where the others do.
static bool is_due(const struct rp_root *root, const struct rp_root_caller *caller, uint16_t type)
{
    switch (type) {
    case RP_MSG_REACHED:
        return root->phase == ROOT_EXCHANGE && caller->progress == RANK_HELLO;
    case RP_MSG_MAPPED:
        return root->phase == ROOT_EXCHANGE && caller->progress == RANK_REACHED && caller->reached;
    case RP_MSG_LISTENING:
        return root->phase == ROOT_LISTEN && caller->progress == RANK_MAPPED;
    case RP_MSG_LINKED:
        return root->phase == ROOT_LINK && caller->progress == RANK_LISTENING;
    case RP_MSG_READY:
        return root->phase == ROOT_PREPARE &&
               caller->progress == (root->nodes == 1 ? RANK_MAPPED : RANK_LINKED);
    default:
        return false;
    }
}

bool rp_root_step(struct rp_root *root, struct rp_root_caller *caller, struct rp_frame *frame)
{
    bool flag;
    struct rp_door door;
    if (!is_due(root, caller, frame->type)) {
        return false;
    }
    switch (frame->type) {
    case RP_MSG_REACHED:
        if (rp_flag_read(&frame->payload, &flag) != RP_OK) {
            return false;
        }
        reached(root, caller, flag);
        return true;
    case RP_MSG_MAPPED:
        if (rp_flag_read(&frame->payload, &flag) != RP_OK) {
            return false;
        }
        mapped(root, caller, flag);
        return true;
    case RP_MSG_LISTENING:
        if (rp_door_read(&frame->payload, &door) != RP_OK) {
            return false;
        }
        listening(root, caller, &door);
        return true;
    case RP_MSG_LINKED:
        linked(root, caller);
        return true;
    default:
        ready(root, caller);
        return true;
    }
}
