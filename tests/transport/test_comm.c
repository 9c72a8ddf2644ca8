#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "support/child.h"
#include "support/node_case.h"
#include "transport/segment.h"

#define WINDOW_BYTES (UINT64_C(256) << 10)

static void assert_sentence(const char *part)
{
    const char *sentence = rp_error_take();
    cr_assert(ne(ptr, (void *)(uintptr_t)sentence, NULL));
    cr_assert(ne(ptr, strstr(sentence, part), NULL), "\"%s\" in \"%s\"", part, sentence);
}

// ---- registry ----

Test(comm, is_found_by_handle_and_by_name_until_it_is_retired)
{
    struct node_local local;
    node_local_open(&local, 2, WINDOW_BYTES);
    struct rp_comm *comm = local.comm[1];
    cr_assert(eq(ptr, rp_comm_from_handle(comm), comm));
    cr_assert(eq(ptr, rp_comm_from_name(1, "local"), comm));
    cr_assert(eq(ptr, rp_comm_from_name(0, "local"), local.comm[0]));
    cr_assert(eq(uint, comm->refs, 3));
    cr_assert(eq(ptr, rp_comm_from_name(2, "local"), NULL));
    cr_assert(eq(ptr, rp_comm_from_name(1, "loca"), NULL));
    cr_assert(rp_comm_retire(comm));
    cr_assert(comm->destroyed);
    cr_assert(eq(ptr, rp_comm_from_handle(comm), NULL));
    cr_assert(eq(ptr, rp_comm_from_name(1, "local"), NULL));
    cr_assert(not(rp_comm_retire(comm))); // a second destroy, as of a racing thread
    cr_assert(eq(uint, comm->refs, 2));
    rp_comm_unref(comm);
    rp_comm_unref(comm);
    local.comm[1] = NULL;
    rp_comm_unref(local.comm[0]);
    node_local_close(&local);
}

Test(comm, any_pointer_may_be_asked_for)
{
    struct node_local local;
    int on_stack = 0;
    void *on_heap = calloc(1, sizeof(struct rp_comm));
    void *no_access = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    node_local_open(&local, 1, WINDOW_BYTES);
    const void *foreign[] = { NULL, &on_stack, on_heap, no_access, (void *)(uintptr_t)1,
        (void *)UINTPTR_MAX, (uint8_t *)local.comm[0] + 8 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(foreign); i++) {
        cr_assert(eq(ptr, rp_comm_from_handle(foreign[i]), NULL), "%zu", i);
    }
    free(on_heap);
    node_local_close(&local);
}

Test(comm, name_is_used_once_on_a_device)
{
    struct node_local local;
    struct rp_segment *segment;
    struct rp_comm *comm = NULL;
    node_local_open(&local, 2, WINDOW_BYTES);
    cr_assert(eq(int, rp_segment_create(2, WINDOW_BYTES, NODE_BASE, &segment), RP_OK));
    struct rp_comm_parts parts = node_local_parts(local.arena, 0, 2, "local", segment);
    unsigned fds = fds_open();
    cr_assert(eq(int, rp_comm_create(&parts, &comm), RP_EPARAM));
    assert_sentence("named \"local\" exists on device 0 already");
    cr_assert(eq(ptr, comm, NULL));
    cr_assert(eq(uint, fds_open(), fds)); // the parts are still ours
    parts.name = "another";
    cr_assert(eq(int, rp_comm_create(&parts, &comm), RP_OK));
    cr_assert(rp_comm_retire(comm));
    char name[RP_COMM_NAME_BYTES + 1];
    memset(name, 'n', sizeof(name));
    name[RP_COMM_NAME_BYTES] = '\0';
    parts = node_local_parts(local.arena, 0, 2, name, segment);
    cr_assert(eq(int, rp_comm_create(&parts, &comm), RP_EPARAM));
    assert_sentence("128 characters");
    parts.name = name + 1;
    cr_assert(eq(int, rp_comm_create(&parts, &comm), RP_OK));
    cr_assert(rp_comm_retire(comm));
    rp_segment_unref(segment);
    node_local_close(&local);
}

static void count_ranks(struct rp_comm *comm, void *arg)
{
    *(uint32_t *)arg |= UINT32_C(1) << comm->rank;
}

Test(comm, each_visits_all_that_are_alive)
{
    struct node_local local;
    uint32_t seen = 0;
    node_local_open(&local, 5, WINDOW_BYTES);
    rp_comm_retire(local.comm[3]);
    local.comm[3] = NULL;
    rp_comm_each(count_ranks, &seen);
    cr_assert(eq(uint, seen, 0x17));
    node_local_close(&local);
}

// ---- what it is made of ----

Test(comm, ranks_of_one_process_share_memory_and_bell)
{
    struct node_local local;
    node_local_open(&local, 3, WINDOW_BYTES);
    for (uint32_t r = 0; r < 3; r++) {
        const struct rp_lines *lines = &local.comm[r]->lines;
        cr_assert(eq(uint, lines->rank, r));
        cr_assert(eq(uint, lines->size, 3));
        cr_assert(eq(u64, lines->announced, NODE_BASE));
        cr_assert(eq(u64, lines->window_bytes, WINDOW_BYTES));
        cr_assert(lines->zero_copy);
        cr_assert(eq(uint, lines->bell_count, 1)); // three ranks, one process
        cr_assert(eq(ptr, lines->bells[0], rp_process_bell(rp_process_self())));
        for (uint32_t q = 0; q < 3; q++) {
            cr_assert(eq(ptr, lines->peer[q].arena, rp_arena_base(local.arena[q])));
            cr_assert(eq(u64, lines->peer[q].arena_bytes, rp_arena_bytes(local.arena[q])));
            cr_assert(eq(ptr, lines->peer[q].block, local.comm[0]->lines.peer[q].block));
        }
        cr_assert(eq(ptr, local.comm[r]->channel[r], NULL));
    }
    node_local_close(&local);
}

Test(comm, lone_rank_has_nobody_to_ring)
{
    struct node_local local;
    node_local_open(&local, 1, WINDOW_BYTES);
    cr_assert(eq(uint, local.comm[0]->lines.bell_count, 0));
    rp_comm_check(local.comm[0], rp_now_ns());
    cr_assert(eq(int, rp_comm_status(local.comm[0]), RP_OK));
    node_local_close(&local);
}

Test(comm, without_zero_copy_no_arena_is_mapped)
{
    struct node_local local;
    struct rp_segment *segment;
    struct rp_comm *comm = NULL;
    node_local_open(&local, 2, WINDOW_BYTES);
    cr_assert(eq(int, rp_segment_create(2, WINDOW_BYTES, NODE_BASE, &segment), RP_OK));
    struct rp_comm_parts parts = node_local_parts(local.arena, 0, 2, "staged", segment);
    parts.zero_copy = false;
    cr_assert(eq(int, rp_comm_create(&parts, &comm), RP_OK));
    cr_assert(not(comm->lines.zero_copy));
    cr_assert(eq(ptr, comm->lines.peer[1].arena, NULL));
    cr_assert(eq(u64, comm->lines.peer[1].arena_bytes, 0));
    cr_assert(eq(ptr, comm->lines.peer[0].arena, rp_arena_base(local.arena[0])));
    rp_comm_retire(comm);
    rp_segment_unref(segment);
    node_local_close(&local);
}

Test(comm, every_allocation_of_a_creation_may_fail)
{
    struct node_local local;
    struct rp_segment *segment;
    struct rp_comm *comm = NULL;
    bool failed = true;
    node_local_open(&local, 3, WINDOW_BYTES);
    cr_assert(eq(int, rp_segment_create(3, WINDOW_BYTES, NODE_BASE, &segment), RP_OK));
    struct rp_comm_parts parts = node_local_parts(local.arena, 1, 3, "swept", segment);
    int64_t n = 0;
    for (; failed; n++) {
        rp_alloc_fail_after(n);
        rp_status st = rp_comm_create(&parts, &comm);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK));
        cr_assert(failed == (rp_comm_from_name(1, "swept") == NULL));
    }
    cr_assert(ge(int, (int)n, 6)); // itself, four tables of the lines, channels
    rp_comm_unref(comm);
    rp_comm_retire(comm);
    rp_segment_unref(segment);
    node_local_close(&local);
}

Test(comm, graph_keeps_it_after_it_is_destroyed)
{
    struct node_local local;
    unsigned fds;
    rp_process_self();
    fds = fds_open();
    node_local_open(&local, 2, WINDOW_BYTES);
    struct rp_comm *comm = local.comm[0];
    rp_comm_ref(comm);
    node_local_close(&local);
    cr_assert(eq(uint, fds_open(), fds + 1)); // the segment
    cr_assert(eq(uint, comm->lines.peer[0].block->status.left, 1));
    cr_assert(eq(uint, comm->lines.peer[1].block->status.left, 1)); // its block is still mapped
    cr_assert(eq(int, rp_comm_status(comm), RP_OK));
    rp_comm_unref(comm);
    cr_assert(eq(uint, fds_open(), fds));
}

// ---- failure ----

Test(comm, first_failure_stays_and_is_published)
{
    struct node_local local;
    node_local_open(&local, 2, WINDOW_BYTES);
    struct rp_comm *comm = local.comm[0];
    cr_assert(eq(int, rp_comm_status(comm), RP_OK));
    rp_comm_fail(comm, RP_ETASKTIMEOUT, 1, NODE_BASE + 4, "rank 1 never came");
    rp_comm_fail(comm, RP_EREMOTE, 0, NODE_BASE + 5, "something else");
    cr_assert(eq(int, rp_comm_status(comm), RP_ETASKTIMEOUT));
    assert_sentence("rank 1 never came");
    const struct rp_rank_status *seen = &local.comm[1]->lines.peer[0].block->status;
    cr_assert(eq(uint, seen->error, (unsigned)-RP_ETASKTIMEOUT));
    cr_assert(eq(uint, seen->culprit, 1));
    cr_assert(eq(u64, seen->error_seq, NODE_BASE + 4));
    cr_assert(eq(u64, seen->revoked_from, NODE_BASE + 1));
    node_local_close(&local);
}

Test(comm, failure_without_sentence_has_the_text_of_its_status)
{
    struct node_local local;
    node_local_open(&local, 1, WINDOW_BYTES);
    rp_comm_fail(local.comm[0], RP_ECYCLE, RP_NO_RANK, NODE_BASE + 1, "");
    cr_assert(eq(int, rp_comm_status(local.comm[0]), RP_ECYCLE));
    assert_sentence(rp_status_text(RP_ECYCLE));
    node_local_close(&local);
}

Test(comm, failure_of_a_peer_is_kept_for_whoever_asks)
{
    static const struct {
        rp_status cause;
        rp_status here; // what the ranks have in common stays what it is
    } rows[] = {
        { RP_ETASKTIMEOUT, RP_ETASKTIMEOUT },
        { RP_EMISMATCH, RP_EMISMATCH },
        { RP_ENOMEM, RP_EREMOTE },
        { RP_ESTREAMABORT, RP_EREMOTE },
        { RP_EREMOTE, RP_EREMOTE },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        struct node_local local;
        node_local_open(&local, 3, WINDOW_BYTES);
        uint64_t now_ns = rp_now_ns();
        rp_comm_check(local.comm[0], now_ns);
        rp_comm_fail(local.comm[2], rows[i].cause, 1, NODE_BASE + 7, "it failed");
        rp_comm_check(local.comm[0], now_ns + RP_NS_PER_MS - 1); // too early to look again
        cr_assert(eq(int, rp_comm_status(local.comm[0]), RP_OK));
        rp_comm_check(local.comm[0], now_ns + RP_NS_PER_MS);
        cr_assert(eq(int, rp_comm_status(local.comm[0]), rows[i].here), "%zu", i);
        const char *sentence = rp_error_take();
        cr_assert(ne(ptr, strstr(sentence, "rank 2"), NULL), "%s", sentence);
        cr_assert(ne(ptr, strstr(sentence, "op #7"), NULL), "%s", sentence);
        cr_assert(ne(ptr, strstr(sentence, "because of rank 1"), NULL), "%s", sentence);
        cr_assert(eq(int, local.comm[0]->error, 0)); // this rank has not given up itself
        rp_comm_fail(local.comm[0], RP_ECYCLE, RP_NO_RANK, NODE_BASE + 1, "its own");
        cr_assert(eq(int, rp_comm_status(local.comm[0]), RP_ECYCLE)); // which comes first now
        node_local_close(&local);
    }
}

// A peer can write anything there.
Test(comm, nonsense_in_a_peers_status_is_an_error_and_no_more)
{
    struct node_local local;
    node_local_open(&local, 2, WINDOW_BYTES);
    struct rp_rank_status *status = &local.comm[1]->lines.peer[1].block->status;
    status->culprit = 77;
    status->error_seq = UINT64_MAX;
    status->error = UINT32_MAX;
    rp_comm_check(local.comm[0], rp_now_ns());
    cr_assert(eq(int, rp_comm_status(local.comm[0]), RP_EREMOTE));
    assert_sentence("rank 1");
    node_local_close(&local);
}

// ---- windows ----

Test(comm, window_is_reserved_once_and_for_this_rank_only)
{
    struct node_local local;
    struct stat before;
    struct stat after;
    node_local_open(&local, 2, WINDOW_BYTES);
    int fd = rp_segment_fd(local.comm[0]->segment);
    fstat(fd, &before);
    cr_assert(eq(int, rp_comm_reserve_window(local.comm[0], WINDOW_BYTES), RP_OK));
    cr_assert(eq(int, rp_comm_reserve_window(local.comm[0], WINDOW_BYTES), RP_OK));
    fstat(fd, &after);
    cr_assert(eq(u64, (uint64_t)(after.st_blocks - before.st_blocks) * 512, 2 * WINDOW_BYTES));
    cr_assert(eq(u64, local.comm[0]->window_reserved, WINDOW_BYTES));
    cr_assert(eq(u64, local.comm[1]->window_reserved, 0));
    node_local_close(&local);
}

// ---- several processes ----

static void *shared_of(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert(ne(ptr, memory, MAP_FAILED));
    return memory;
}

static void pause_ms(unsigned ms)
{
    const struct timespec pause = { .tv_nsec = ms * 1000000L };
    nanosleep(&pause, NULL);
}

static rp_status wait_arrived(struct rp_comm *comm, uint64_t seq)
{
    const uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    rp_status st;
    while ((st = rp_lines_all_arrived(&comm->lines, seq)) == RP_AGAIN) {
        if (rp_now_ns() > deadline_ns) {
            return RP_EWAITTIMEOUT;
        }
        rp_comm_check(comm, rp_now_ns());
        pause_ms(1);
    }
    return st;
}

static rp_status wait_done(struct rp_comm *comm, uint64_t seq)
{
    rp_status st;
    rp_lines_flush(&comm->lines);
    while ((st = rp_lines_all_done(&comm->lines, seq)) == RP_AGAIN) {
        rp_comm_check(comm, rp_now_ns());
        pause_ms(1);
    }
    return st;
}

static rp_status announce(struct rp_comm *comm, uint64_t off, uint64_t *seq)
{
    const struct rp_record record = { .op = RP_OP_BARRIER, .send_off = off };
    const rp_status st = rp_lines_announce(&comm->lines, &record, NULL, 0);
    *seq = comm->lines.announced;
    return st;
}

// Every rank leaves a text in memory allocated only now, and reads that of all others in place.
static int read_all(struct rp_comm *comm, void *arg)
{
    void *text;
    uint64_t off;
    uint64_t seq;
    (void)arg;
    if (rp_arena_alloc(comm->arena, 100, 64, RP_ARENA_DEVICE, &text) != RP_OK ||
            !rp_arena_offset(comm->arena, text, 100, &off)) {
        return 1;
    }
    snprintf(text, 100, "rank %u of process %d", comm->rank, (int)getpid());
    if (announce(comm, off, &seq) != RP_OK || wait_arrived(comm, seq) != RP_OK) {
        return 2;
    }
    for (uint32_t q = 0; q < comm->size; q++) {
        char expected[100];
        const struct rp_record record = rp_lines_record(&comm->lines, q, seq);
        snprintf(expected, 100, "rank %u of process %d", q, (int)comm->member[q].pid);
        if (strcmp((char *)comm->lines.peer[q].arena + record.send_off, expected) != 0) {
            fprintf(stderr, "rank %u reads \"%s\" of rank %u\n", comm->rank,
                    (char *)comm->lines.peer[q].arena + record.send_off, q);
            return 3;
        }
    }
    rp_lines_finish(&comm->lines, seq);
    return wait_done(comm, seq) == RP_OK ? 0 : 4;
}

Test(comm, ranks_reach_each_others_memory, .timeout = 60)
{
    static const struct node_shape shapes[] = {
        { 1, 3, WINDOW_BYTES, false },
        { 2, 1, WINDOW_BYTES, false },
        { 3, 1, WINDOW_BYTES, false },
        { 2, 3, WINDOW_BYTES, false },
        { 8, 1, WINDOW_BYTES, false },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(shapes); i++) {
        int result[NODE_PROCESSES_MAX];
        bool well = node_run(&shapes[i], read_all, NULL, 30, result);
        cr_assert(well, "shape %zu: %d %d", i, result[0], result[1]);
    }
}

// One bell a process, however many of its ranks are members.
static int count_bells(struct rp_comm *comm, void *arg)
{
    return comm->lines.bell_count == *(uint32_t *)arg ? 0 : 1;
}

Test(comm, rings_one_bell_a_process)
{
    static const struct {
        struct node_shape shape;
        uint32_t bells;
    } rows[] = {
        { { 3, 1, WINDOW_BYTES, false }, 2 },
        { { 2, 3, WINDOW_BYTES, false }, 2 }, // its own too: other ranks sleep there
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        int result[NODE_PROCESSES_MAX];
        uint32_t bells = rows[i].bells;
        cr_assert(node_run(&rows[i].shape, count_bells, &bells, 30, result));
    }
}

struct death {
    uint32_t victim;
    _Atomic uint32_t arrived;
    _Atomic int64_t victim_pid;
    bool leaves; // it ends as it should
};

// All meet; then one dies, and the others wait for its next op.
static int lose_one(struct rp_comm *comm, void *arg)
{
    struct death *death = arg;
    uint64_t seq;
    char expected[64];
    atomic_fetch_add(&death->arrived, 1);
    while (atomic_load(&death->arrived) < comm->size) {
        pause_ms(1);
    }
    if (comm->rank == death->victim) {
        return death->leaves ? 0 : raise(SIGKILL);
    }
    const uint64_t start_ns = rp_now_ns();
    if (announce(comm, 0, &seq) != RP_OK || wait_arrived(comm, seq) != RP_EREMOTE) {
        return 1;
    }
    if (rp_now_ns() - start_ns > 2 * RP_NS_PER_S || comm->lines.culprit != death->victim) {
        return 2;
    }
    while (atomic_load(&comm->lines.peer[death->victim].gone) == 0) { // one that left ends, too
        rp_comm_check(comm, rp_now_ns());
        pause_ms(1);
    }
    const rp_status st = rp_comm_status(comm);
    if (death->leaves) {
        return st == RP_OK ? 0 : 3;
    }
    // It has seen the death, or heard of it from one that had and has left already.
    const char *sentence = rp_error_take();
    char because[64];
    snprintf(expected, sizeof(expected), "rank %u has died: process %lld on here", death->victim,
            (long long)comm->member[death->victim].pid);
    snprintf(because, sizeof(because), "because of rank %u", death->victim);
    if (st != RP_EREMOTE ||
            (strstr(sentence, expected) == NULL && strstr(sentence, because) == NULL)) {
        fprintf(stderr, "rank %u: %s, \"%s\"\n", comm->rank, rp_status_name(st), sentence);
        return 4;
    }
    return 0;
}

static void assert_death(bool leaves, bool no_pidfd)
{
    const struct node_shape shape = { 4, 1, WINDOW_BYTES, no_pidfd };
    int result[NODE_PROCESSES_MAX];
    struct death *death = shared_of(sizeof(*death));
    death->victim = 2;
    death->leaves = leaves;
    node_run(&shape, lose_one, death, 30, result);
    for (int p = 0; p < 4; p++) {
        cr_assert(eq(int, result[p], p == 2 && !leaves ? -SIGKILL : 0), "process %d", p);
    }
}

Test(comm, dead_rank_is_named_within_seconds, .timeout = 60)
{
    assert_death(false, false);
}

Test(comm, dead_rank_is_named_without_pidfd, .timeout = 60)
{
    assert_death(false, true);
}

Test(comm, rank_that_left_has_not_died, .timeout = 60)
{
    assert_death(true, false);
}

// ---- threads ----

struct racer {
    struct node_local *local;
    struct rp_segment *segment;
    uint32_t index;
    bool well;
};

static void *race(void *arg)
{
    struct racer *racer = arg;
    char name[32];
    snprintf(name, sizeof(name), "racer %u", racer->index % 2); // two of them want each name
    for (int i = 0; i < 400; i++) {
        struct rp_comm *comm = NULL;
        struct rp_comm_parts parts =
                node_local_parts(racer->local->arena, racer->index % 4, 4, name, racer->segment);
        if (rp_comm_create(&parts, &comm) != RP_OK) {
            node_parts_free(&parts);
            racer->well = false; // each has a device of its own
            continue;
        }
        struct rp_comm *found = rp_comm_from_handle(comm);
        struct rp_comm *other = rp_comm_from_name((int32_t)((racer->index + 1) % 4), name);
        racer->well &= found == comm;
        racer->well &= other == NULL || other->magic == RP_COMM_MAGIC;
        if (other != NULL) {
            rp_comm_unref(other);
        }
        racer->well &= rp_comm_retire(comm);
        racer->well &= rp_comm_from_handle(comm) == NULL;
        rp_comm_unref(found);
    }
    return NULL;
}

Test(comm, registry_holds_out_against_threads, .timeout = 60)
{
    struct node_local local;
    struct racer racer[4];
    pthread_t thread[4];
    struct rp_segment *segment;
    node_local_open(&local, 4, WINDOW_BYTES);
    cr_assert(eq(int, rp_segment_create(4, WINDOW_BYTES, NODE_BASE, &segment), RP_OK));
    for (uint32_t i = 0; i < 4; i++) {
        racer[i] = (struct racer){ &local, segment, i, true };
        pthread_create(&thread[i], NULL, race, &racer[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        cr_assert(racer[i].well, "%u", i);
    }
    rp_segment_unref(segment);
    node_local_close(&local);
}
