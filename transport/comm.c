// Communicators: built from what the bootstrap agreed on; references; the first failure.

#include "transport/comm.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/channel_tcp.h"
#include "transport/comm_registry.h"
#include "transport/segment.h"

#define CHECK_NS RP_NS_PER_MS

// ---- creation ----

static bool is_local(const struct rp_comm *comm, uint32_t q)
{
    return comm->member[q].node == comm->member[comm->rank].node;
}

// What this rank needs to know of rank `q` of its node, which is number `index` there, to reach it
// through shared memory.
static rp_status init_peer(struct rp_comm *comm, uint32_t q, uint32_t index, bool zero_copy)
{
    struct rp_peer *peer = &comm->lines.peer[q];
    peer->index = index;
    rp_segment_peer(comm->segment, index, peer);
    peer->bell = rp_process_bell(comm->process[q]);
    if (q != comm->rank) {
        rp_lines_add_bell(&comm->lines, peer->bell);
    }
    if (q == comm->rank) {
        peer->arena = rp_arena_base(comm->arena);
        peer->arena_bytes = rp_arena_bytes(comm->arena);
    } else if (zero_copy) {
        rp_status st = rp_process_map_arena(comm->process[q], comm->member[q].device_id, -1,
                comm->member[q].arena_bytes, &peer->arena);
        if (st != RP_OK) {
            return st;
        }
        peer->arena_bytes = comm->member[q].arena_bytes;
    }
    return RP_OK;
}

static rp_status init_lines(struct rp_comm *comm, bool zero_copy)
{
    rp_status st =
            rp_lines_init(&comm->lines, comm->rank, comm->size, rp_segment_base(comm->segment));
    if (st != RP_OK) {
        return st;
    }
    comm->lines.zero_copy = zero_copy && comm->nodes == 1;
    comm->lines.window_bytes = rp_segment_window_bytes(comm->segment);
    uint32_t index = 0;
    for (uint32_t q = 0; st == RP_OK && q < comm->size; q++) {
        if (is_local(comm, q)) {
            st = init_peer(comm, q, index++, zero_copy);
        }
    }
    if (st != RP_OK) {
        rp_lines_fini(&comm->lines);
    }
    return st;
}

static void close_channels(struct rp_comm *comm)
{
    for (uint32_t q = 0; q < comm->size; q++) {
        if (comm->channel[q] != NULL) {
            rp_channel_close(comm->channel[q]);
        }
    }
    rp_free(comm->channel);
}

// To a rank of another node through the connection that the bootstrap has made.
static rp_status open_tcp(struct rp_comm *comm, const struct rp_comm_parts *parts, uint32_t q)
{
    // The channel guards it from here on.
    rp_fork_unguard_fd(parts->link_fd[q]);
    rp_status st = rp_channel_tcp_open(comm, parts->loop, q, parts->link_fd[q], &comm->channel[q]);
    if (st == RP_OK) {
        parts->link_fd[q] = -1;
    }
    return st;
}

static rp_status open_channels(struct rp_comm *comm, const struct rp_comm_parts *parts)
{
    comm->channel = rp_calloc(comm->size, sizeof(struct rp_channel *));
    if (comm->channel == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the channels of communicator \"%s\"", comm->name);
    }
    for (uint32_t q = 0; q < comm->size; q++) {
        rp_status st = RP_OK;
        if (!is_local(comm, q)) {
            st = open_tcp(comm, parts, q);
        } else if (q != comm->rank) {
            st = rp_channel_shm_open(&comm->lines, q, &comm->channel[q]);
        }
        if (st != RP_OK) {
            close_channels(comm);
            return st;
        }
    }
    return RP_OK;
}

static void copy_parts(struct rp_comm *comm, const struct rp_comm_parts *parts)
{
    comm->rank = parts->rank;
    comm->size = parts->size;
    comm->device_id = parts->device_id;
    comm->settings = parts->settings;
    memcpy(comm->name, parts->name, strlen(parts->name) + 1);
    memcpy(comm->udi, parts->settings.udi, sizeof(comm->udi));
    comm->member = parts->member;
    comm->process = parts->process;
    comm->nodes = parts->nodes == 0 ? 1 : parts->nodes;
    comm->world = parts->world;
    if (parts->secret != NULL) {
        memcpy(comm->secret, parts->secret, sizeof(comm->secret));
    }
    comm->turn = (struct rp_turn){ .next_ticket = 1, .serving = 1 };
    comm->arena = parts->arena;
    comm->segment = parts->segment;
    rp_list_init(&comm->by_handle);
    rp_list_init(&comm->by_name);
    // relaxed, both: the registry publishes the communicator.
    atomic_store_explicit(&comm->refs, 1, memory_order_relaxed);
    atomic_store_explicit(
            &comm->deterministic, parts->settings.deterministic, memory_order_relaxed);
}

rp_status rp_comm_create(const struct rp_comm_parts *parts, struct rp_comm **out)
{
    assert(parts->rank < parts->size);
    if (strlen(parts->name) >= RP_COMM_NAME_BYTES) {
        return rp_fail(RP_EPARAM, "the communicator's name has %zu characters, at most %d fit",
                strlen(parts->name), RP_COMM_NAME_BYTES - 1);
    }
    struct rp_comm *comm = rp_calloc(1, sizeof(*comm));
    if (comm == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for communicator \"%s\"", parts->name);
    }
    copy_parts(comm, parts);
    rp_status st = init_lines(comm, parts->zero_copy);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    comm->pairs = rp_calloc(comm->size, sizeof(*comm->pairs));
    if (comm->pairs == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory for the pairs of communicator \"%s\"", comm->name);
        goto undo_lines;
    }
    st = open_channels(comm, parts);
    if (st != RP_OK) {
        goto undo_pairs;
    }
    pthread_mutex_init(&comm->cause_lock, NULL);
    comm->magic = RP_COMM_MAGIC;
    st = rp_comm_registry_add(comm);
    if (st != RP_OK) {
        goto undo_channels;
    }
    *out = comm;
    return RP_OK;

undo_channels:
    pthread_mutex_destroy(&comm->cause_lock);
    close_channels(comm);
undo_pairs:
    rp_free(comm->pairs);
undo_lines:
    rp_lines_fini(&comm->lines);
undo_alloc:
    rp_free(comm);
    return st;
}

// ---- references ----

void rp_comm_ref(struct rp_comm *comm)
{
    // relaxed: whoever refs has a reference, or the registry's lock.
    atomic_fetch_add_explicit(&comm->refs, 1, memory_order_relaxed);
}

static void destroy(struct rp_comm *comm)
{
    comm->magic = 0;
    explicit_bzero(comm->secret, sizeof(comm->secret));
    // relaxed: the last reference is ours.
    struct rp_comm_attachment *attachment =
            atomic_load_explicit(&comm->attachment, memory_order_relaxed);
    if (attachment != NULL) {
        attachment->release(attachment);
    }
    close_channels(comm);
    rp_lines_fini(&comm->lines);
    pthread_mutex_destroy(&comm->cause_lock);
    for (uint32_t q = 0; q < comm->size; q++) {
        if (comm->process[q] != NULL) {
            rp_process_unref(comm->process[q]);
        }
    }
    rp_free(comm->pairs);
    rp_free(comm->process);
    rp_free(comm->member);
    rp_segment_unref(comm->segment);
    rp_free(comm);
}

void rp_comm_unref(struct rp_comm *comm)
{
    // acq_rel [C1]: pairs with itself; what others did with the communicator is before its end.
    if (atomic_fetch_sub_explicit(&comm->refs, 1, memory_order_acq_rel) == 1) {
        destroy(comm);
    }
}

bool rp_comm_retire(struct rp_comm *comm)
{
    if (!rp_comm_registry_remove(comm)) {
        return false;
    }
    // release [C2]: pairs with whoever reads it before new work.
    atomic_store_explicit(&comm->destroyed, true, memory_order_release);
    // Whoever leaves because of a peer's failure says so, or the others would take its leaving for
    // the cause. relaxed: under the baton, as the store.
    int32_t remote = atomic_load_explicit(&comm->remote, memory_order_relaxed);
    if (remote != 0) {
        rp_comm_fail(comm, (rp_status)remote, comm->remote_culprit, comm->lines.announced,
                comm->remote_cause);
    }
    rp_lines_leave(&comm->lines);
    rp_comm_unref(comm);
    return true;
}

// ---- ranks of other nodes ----

void rp_comm_publish(struct rp_lines *lines)
{
    struct rp_comm *comm = rp_container_of(lines, struct rp_comm, lines);
    for (uint32_t q = 0; q < comm->size; q++) {
        if (comm->channel[q] != NULL) {
            rp_channel_update(comm->channel[q]);
        }
    }
}

// ---- failure ----

// What a peer published, as this rank's own status: kernels/line_failure.c says the same to whoever
// waits for that peer.
static rp_status adopt_cause(uint32_t error)
{
    switch (-(int64_t)error) {
    case RP_ETASKTIMEOUT:
    case RP_EMISMATCH:
    case RP_ECYCLE:
    case RP_ESUSPEND:
    case RP_ELINK:
    case RP_ERETRY:
        return (rp_status)(-(int64_t)error);
    default:
        return RP_EREMOTE;
    }
}

// A communicator that has resumed can fail again while somebody still reads the sentence of the
// last time, so it is written and read under the lock.
static void write_cause(struct rp_comm *comm, char *cause, const char *sentence)
{
    pthread_mutex_lock(&comm->cause_lock);
    rp_text_copy(cause, RP_COMM_CAUSE_BYTES, sentence);
    pthread_mutex_unlock(&comm->cause_lock);
}

static rp_status post_cause(struct rp_comm *comm, rp_status st, const char *cause)
{
    char sentence[RP_COMM_CAUSE_BYTES];
    pthread_mutex_lock(&comm->cause_lock);
    memcpy(sentence, cause, sizeof(sentence));
    pthread_mutex_unlock(&comm->cause_lock);
    rp_error_post(st, sentence);
    return st;
}

// Keeps the first thing known of a peer's failure.
static void publish_remote(struct rp_comm *comm, rp_status st, const char *sentence)
{
    write_cause(comm, comm->remote_cause, sentence);
    rp_log_warn("communicator \"%s\", rank %" PRIu32 ": %s", comm->name, comm->rank,
            comm->remote_cause);
    // release [C4]: pairs with the load in rp_comm_status; publishes the sentence.
    atomic_store_explicit(&comm->remote, st, memory_order_release);
}

static void keep_error(struct rp_comm *comm, uint32_t q, uint32_t error)
{
    const struct rp_rank_status *status = &comm->lines.peer[q].block->status;
    // relaxed, both: published by `error` [L4].
    uint32_t culprit = atomic_load_explicit(&status->culprit, memory_order_relaxed);
    uint64_t seq = atomic_load_explicit(&status->error_seq, memory_order_relaxed);
    char because[48] = "";
    comm->remote_culprit = culprit < comm->size ? culprit : q;
    if (culprit < comm->size && culprit != q) {
        snprintf(because, sizeof(because), ", because of rank %" PRIu32, culprit);
    }
    char calls[RP_DIFFERENCE_TEXT_BYTES] = "";
    if (error == (uint32_t)-RP_EMISMATCH) {
        rp_lines_describe_difference(
                &comm->lines, q, comm->remote_culprit, seq, calls, sizeof(calls));
    }
    char place[RP_PLACE_TEXT_BYTES];
    rp_lines_describe_place(seq, place, sizeof(place));
    char sentence[RP_COMM_CAUSE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "rank %" PRIu32 " (process %" PRId64 " on %s) gave up at %s: %s%s%s", q,
            comm->member[q].pid, comm->member[q].host, place,
            rp_status_text((rp_status)(-(int64_t)error)), because, calls);
    publish_remote(comm, adopt_cause(error), sentence);
}

// A rank that destroyed its communicator first has not died on it.
static void keep_death(struct rp_comm *comm, uint32_t q)
{
    const struct rp_rank_status *status = &comm->lines.peer[q].block->status;
    // acquire [L5]: pairs with the store in rp_lines_leave.
    if (atomic_load_explicit(&status->left, memory_order_acquire) != 0) {
        return;
    }
    comm->remote_culprit = q;
    char sentence[RP_COMM_CAUSE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "rank %" PRIu32 " has died: process %" PRId64
            " on %s ended without destroying its communicator",
            q, comm->member[q].pid, comm->member[q].host);
    publish_remote(comm, RP_EREMOTE, sentence);
}

static bool knows_remote(const struct rp_comm *comm)
{
    // relaxed: stored under the baton, which the caller has.
    return atomic_load_explicit(&comm->remote, memory_order_relaxed) != 0;
}

// Deaths come first: they are at the bottom of what the other peers report.
static void look_for_deaths(struct rp_comm *comm)
{
    rp_process_sweep();
    for (uint32_t q = 0; q < comm->size; q++) {
        // Ranks of other nodes have no process here; their channels tell.
        if (q == comm->rank || comm->process[q] == NULL || !rp_process_died(comm->process[q])) {
            continue;
        }
        // release [L5]: pairs with the loads of `gone` in kernels/line_failure.c.
        atomic_store_explicit(&comm->lines.peer[q].gone, 1, memory_order_release);
        if (!knows_remote(comm)) {
            keep_death(comm, q);
        }
    }
}

void rp_comm_lose(struct rp_comm *comm, uint32_t q, const char *why)
{
    // release [L5]: pairs with the loads of `gone` in kernels/line_failure.c.
    atomic_store_explicit(&comm->lines.peer[q].gone, 1, memory_order_release);
    if (knows_remote(comm)) {
        rp_log_warn("communicator \"%s\", rank %" PRIu32 ": the connection to rank %" PRIu32
                    " was lost: %s",
                comm->name, comm->rank, q, why);
        return;
    }
    comm->remote_culprit = q;
    char sentence[RP_COMM_CAUSE_BYTES];
    snprintf(sentence, sizeof(sentence),
            "rank %" PRIu32 " (process %" PRId64 " on %s) has died or its connection was lost: %s",
            q, comm->member[q].pid, comm->member[q].host, why);
    publish_remote(comm, RP_EREMOTE, sentence);
}

static void look_for_errors(struct rp_comm *comm)
{
    for (uint32_t q = 0; q < comm->size && !knows_remote(comm); q++) {
        // acquire [L4]: pairs with the store in rp_lines_fail.
        uint32_t error = atomic_load_explicit(
                &comm->lines.peer[q].block->status.error, memory_order_acquire);
        if (q != comm->rank && error != 0) {
            keep_error(comm, q, error);
        }
    }
}

void rp_comm_check(struct rp_comm *comm, uint64_t now_ns)
{
    if (now_ns - comm->checked_ns < CHECK_NS) {
        return;
    }
    comm->checked_ns = now_ns;
    look_for_deaths(comm);
    if (!comm->quiet) { // a quiet rank reads no peer's records
        look_for_errors(comm);
    }
}

void rp_comm_fail(struct rp_comm *comm, rp_status status, uint32_t culprit, uint64_t seq,
        const char *sentence)
{
    assert(status < 0);
    // relaxed: only this function stores it, and it has the baton.
    if (atomic_load_explicit(&comm->error, memory_order_relaxed) != 0) {
        return;
    }
    write_cause(comm, comm->cause,
            sentence != NULL && *sentence != '\0' ? sentence : rp_status_text(status));
    // release [C3]: pairs with the load in rp_comm_status; publishes the sentence.
    atomic_store_explicit(&comm->error, status, memory_order_release);
    rp_lines_fail(&comm->lines, status, culprit, seq);
}

rp_status rp_comm_status(struct rp_comm *comm)
{
    // acquire [C3]: pairs with the store in rp_comm_fail.
    int32_t own = atomic_load_explicit(&comm->error, memory_order_acquire);
    if (RP_UNLIKELY(own != 0)) {
        // relaxed: which of two failures is told to a call that meets HcclCommSuspend is open.
        const bool suspended = atomic_load_explicit(&comm->suspended, memory_order_relaxed);
        return post_cause(comm, suspended ? RP_ESUSPEND : (rp_status)own, comm->cause);
    }
    // acquire [C4]: pairs with the store in publish_remote.
    int32_t remote = atomic_load_explicit(&comm->remote, memory_order_acquire);
    return RP_LIKELY(remote == 0) ? RP_OK : post_cause(comm, (rp_status)remote, comm->remote_cause);
}

// ---- windows ----

rp_status rp_comm_reserve_window(struct rp_comm *comm, uint64_t bytes)
{
    const uint64_t wanted = rp_min_u64(bytes, comm->lines.window_bytes);
    // acquire [C5]: pairs with the store below; the pages are there.
    uint64_t reserved = atomic_load_explicit(&comm->window_reserved, memory_order_acquire);
    if (RP_LIKELY(reserved >= wanted)) {
        return RP_OK;
    }
    rp_status st =
            rp_segment_reserve_window(comm->segment, comm->lines.peer[comm->rank].index, wanted);
    // Another thread may have reserved more meanwhile.
    while (st == RP_OK && reserved < wanted &&
            // release [C5]: pairs with the load above.
            !atomic_compare_exchange_weak_explicit(&comm->window_reserved, &reserved, wanted,
                    memory_order_release, memory_order_relaxed)) {
    }
    return st;
}
