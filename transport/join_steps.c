// What a rank does after its hello: it exchanges memory with its node, connects to the ranks of
// other nodes, makes its communicator and waits until everyone has one.

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/join_internal.h"
#include "transport/netif.h"
#include "transport/node_groups.h"

#define LATER_MS 50 // until a root of another attempt may be gone

static void send_flag(struct rp_join *join, enum rp_bootstrap_message type, bool flag)
{
    uint8_t payload = flag ? 1 : 0;
    rp_join_send(join, type, &payload, sizeof(payload));
}

// The node exchange.

static void on_reached(void *owner, bool reached, const char *why)
{
    struct rp_join *join = owner;
    if (!reached) {
        rp_log_info("rank %u does not reach its node's leader: %s", join->rank, why);
    }
    if (!join->alone) { // the root knows that it reaches itself
        send_flag(join, RP_MSG_REACHED, reached);
    }
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
    rp_join_fail(owner, status, sentence);
}

static const struct rp_node_events node_events = {
    .reached = on_reached,
    .mapped = on_mapped,
    .failed = on_node_failed,
};

// The node is known: exchange memory with its ranks.
static void start_exchange(struct rp_join *join)
{
    struct rp_node_setup setup = {
        .loop = join->loop,
        .rank = join->rank,
        .leader = rp_groups_leader(join->roster, join->rank),
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
    if (setup.leader == join->rank && join->node_fd >= 0) {
        rp_fork_unguard_fd(join->node_fd);
        setup.listen_fd = join->node_fd;
        join->node_fd = -1;
    }
    rp_join_close_fd(&join->node_fd);
    join->state = JOIN_EXCHANGE;
    rp_status st = rp_node_create(&setup, &join->node);
    if (st != RP_OK) {
        rp_join_fail_described(join, st);
    }
}

// Some ranks do not reach the leaders of their nodes, and get nodes of their own.
static void alone_arrived(struct rp_join *join, struct rp_frame *frame)
{
    uint8_t alone[RP_RANK_SET_BYTES];
    if (rp_rank_set_read(&frame->payload, join->size, alone) != RP_OK ||
            (rp_rank_set_has(alone, join->rank) && join->state != JOIN_EXCHANGE)) {
        rp_join_fail(join, RP_EINTERNAL, "the root sent a malformed set of ranks");
        return;
    }
    rp_groups_split(join->roster, join->size, alone);
    if (!rp_rank_set_has(alone, join->rank)) {
        if (join->node != NULL) {
            rp_node_regroup(join->node);
        }
        return;
    }
    join->alone = true;
    rp_node_destroy(join->node);
    join->node = NULL;
    start_exchange(join);
}

// Connections to other nodes.

static rp_status open_door(struct rp_join *join, struct rp_door *door)
{
    const struct rp_hccl_env *env;
    rp_status st = rp_env_hccl(&env);
    if (st == RP_OK && !rp_conn_local(join->conn, &door->address)) {
        st = rp_netif_choose(env, &door->address);
    }
    if (st == RP_OK) {
        st = rp_netif_listen(&door->address, &env->host_ports, &join->link_fd, &door->port);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_fork_guard_fd(join->link_fd);
    if (st != RP_OK) {
        close(join->link_fd);
        join->link_fd = -1;
    }
    return st;
}

static void listen_arrived(struct rp_join *join)
{
    struct rp_door own = { 0 };
    uint8_t payload[RP_DOOR_BYTES];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    join->door = rp_calloc(join->size, sizeof(*join->door));
    if (join->door == NULL) {
        rp_join_fail(join, RP_ENOMEM, "no memory for the addresses of the ranks");
        return;
    }
    rp_status st = open_door(join, &own);
    if (st != RP_OK) {
        rp_join_fail_described(join, st);
        return;
    }
    join->state = JOIN_LISTEN;
    rp_door_write(&own, &writer);
    assert(writer.ok);
    rp_join_send(join, RP_MSG_LISTENING, payload, writer.used);
}

static void on_linked(void *owner)
{
    struct rp_join *join = owner;
    join->link = rp_links_take(join->links);
    join->state = JOIN_LINKED;
    rp_join_send(join, RP_MSG_LINKED, NULL, 0);
}

static void on_links_failed(void *owner, rp_status status, const char *sentence)
{
    rp_join_fail(owner, status, sentence);
}

static const struct rp_links_events links_events = {
    .linked = on_linked,
    .failed = on_links_failed,
};

static rp_status start_links(struct rp_join *join)
{
    const struct rp_hccl_env *env;
    rp_status st = rp_env_hccl(&env);
    if (st != RP_OK) {
        return st;
    }
    struct rp_links_setup setup = {
        .loop = join->loop,
        .env = env,
        .rank = join->rank,
        .size = join->size,
        .roster = join->roster,
        .door = join->door,
        .secret = join->secret,
        .deadline_ns = join->deadline_ns,
        .listen_fd = join->link_fd,
        .events = &links_events,
        .owner = join,
    };
    rp_fork_unguard_fd(join->link_fd);
    join->link_fd = -1;
    join->state = JOIN_LINK;
    return rp_links_create(&setup, &join->links);
}

static void doors_arrived(struct rp_join *join, struct rp_frame *frame)
{
    if (rp_doors_read(&frame->payload, join->door, join->size, &join->doors) != RP_OK) {
        rp_join_fail(join, RP_EINTERNAL, "the root sent a malformed table of addresses");
    } else if (join->doors == join->size) {
        rp_status st = start_links(join);
        if (st != RP_OK) {
            rp_join_fail_described(join, st);
        }
    }
}

// Messages from the root.

static void terms_arrived(struct rp_join *join, struct rp_frame *frame)
{
    if (rp_terms_read(&frame->payload, &join->terms) != RP_OK) {
        rp_join_fail(join, RP_EINTERNAL, "the root sent malformed terms");
        return;
    }
    rp_terms_secret(&join->terms, join->meet.secret, join->secret);
}

// The root that answered belongs to another attempt, which will be over soon.
static void later_arrived(struct rp_join *join, struct rp_frame *frame)
{
    char sentence[RP_SENTENCE_BYTES];
    if (rp_later_read(&frame->payload, sentence) != RP_OK) {
        rp_join_fail(join, RP_EINTERNAL, "the root sent a malformed message");
        return;
    }
    rp_text_copy(join->later, sizeof(join->later), sentence);
    rp_conn_close(join->conn);
    join->conn = NULL;
    join->state = JOIN_DIAL;
    rp_status st = rp_join_dial(join, LATER_MS);
    if (st != RP_OK) {
        rp_join_fail_described(join, st);
    }
}

static void members_arrived(struct rp_join *join, struct rp_frame *frame)
{
    if (rp_roster_read(&frame->payload, join->roster, join->size, &join->known) != RP_OK) {
        rp_join_fail(join, RP_EINTERNAL, "the root sent a malformed table of ranks");
    } else if (join->known == join->size) {
        start_exchange(join);
    }
}

// Everyone reaches everyone: make the communicator. Nobody has it before all have theirs.
static void prepare_arrived(struct rp_join *join, bool zero_copy)
{
    rp_node_destroy(join->node);
    join->node = NULL;
    rp_links_destroy(join->links);
    join->links = NULL;
    struct rp_member *member = rp_calloc(join->size, sizeof(*member));
    if (member == NULL) {
        rp_join_fail(join, RP_ENOMEM, "no memory for the table of ranks");
        return;
    }
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < join->size; i++) {
        member[i] = join->roster[i].member;
        nodes = (uint32_t)rp_max_u64(nodes, member[i].node + 1);
    }
    struct rp_comm_parts parts = {
        .rank = join->rank,
        .size = join->size,
        .device_id = join->device_id,
        .name = join->settings.name[0] == '\0' ? join->meet.identifier : join->settings.name,
        .settings = join->settings,
        .member = member,
        .process = join->memory.process,
        .nodes = nodes,
        .loop = join->loop,
        .link_fd = join->link,
        .arena = join->arena,
        .segment = join->memory.segment,
        .zero_copy = zero_copy,
        .secret = join->secret,
        .world = join->world,
    };
    rp_status st = rp_comm_create(&parts, &join->comm);
    rp_links_release(join->link, join->size); // what it has not taken
    join->link = NULL;
    if (st != RP_OK) {
        rp_free(member);
        rp_join_fail_described(join, st);
        return;
    }
    join->memory = (struct rp_node_result){ 0 };
    join->state = JOIN_READY;
    rp_join_send(join, RP_MSG_READY, NULL, 0);
}

static void abort_arrived(struct rp_join *join, struct rp_frame *frame)
{
    rp_status status;
    char sentence[RP_SENTENCE_BYTES];
    if (rp_abort_read(&frame->payload, &status, sentence) != RP_OK) {
        status = RP_EREMOTE;
        rp_text_copy(sentence, sizeof(sentence), "the root gave up and could not say why");
    }
    rp_join_fail_quietly(join, status, sentence);
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
    } else if (frame->type == RP_MSG_ALONE &&
               (join->state == JOIN_EXCHANGE || join->state == JOIN_MAPPED)) {
        alone_arrived(join, frame);
    } else if (frame->type == RP_MSG_LISTEN && join->state == JOIN_MAPPED) {
        listen_arrived(join);
    } else if (frame->type == RP_MSG_DOORS && join->state == JOIN_LISTEN) {
        doors_arrived(join, frame);
    } else if (frame->type == RP_MSG_PREPARE &&
               (join->state == JOIN_MAPPED || join->state == JOIN_LINKED) &&
               rp_flag_read(&frame->payload, &flag) == RP_OK) {
        prepare_arrived(join, flag);
    } else if (frame->type == RP_MSG_COMMIT && join->state == JOIN_READY) {
        rp_join_conclude(join, OUTCOME_DONE);
    } else {
        rp_join_fail(join, RP_EINTERNAL, "the root said something unexpected");
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
    rp_join_fail_quietly(join, RP_EREMOTE, sentence);
}

const struct rp_conn_events rp_join_root_events = {
    .frame = on_frame,
    .lost = on_lost,
};
