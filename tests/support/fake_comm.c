#include "support/fake_comm.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define SIGNAL_STRIDE RP_CACHELINE

static void give_up(const char *what)
{
    fprintf(stderr, "fake_comm: %s: %s\n", what, strerror(errno));
    _exit(99);
}

void fake_pause(void)
{
    sched_yield();
}

// What one rank owns, in this order: block, bell, slots, signals, pairs, windows, arena.
static uint64_t rank_bytes(const struct fake_comm *comm)
{
    return rp_align_up(sizeof(struct rp_rank_block) + sizeof(struct rp_doorbell) +
                               2 * RP_SLOT_BYTES +
                               comm->ranks * (SIGNAL_STRIDE + sizeof(struct rp_pair)) +
                               2 * comm->window_bytes + comm->arena_bytes,
            4096);
}

static void fill_peer(const struct fake_comm *comm, uint32_t rank, struct rp_peer *peer)
{
    uint8_t *at = comm->shared + rank * rank_bytes(comm);
    peer->block = (struct rp_rank_block *)(void *)at;
    at += sizeof(struct rp_rank_block) + sizeof(struct rp_doorbell);
    for (unsigned i = 0; i < 2; i++) {
        peer->slot[i] = at;
        at += RP_SLOT_BYTES;
    }
    peer->signal = (_Atomic uint64_t *)(void *)at;
    at += comm->ranks * SIGNAL_STRIDE;
    peer->pair = (struct rp_pair *)(void *)at;
    at += comm->ranks * sizeof(struct rp_pair);
    peer->window_in = at;
    at += comm->window_bytes;
    peer->window_out = at;
    at += comm->window_bytes;
    peer->arena = at;
    peer->arena_bytes = comm->arena_bytes;
}

static void open_rank(struct fake_comm *comm, uint32_t rank)
{
    struct rp_lines *lines = &comm->lines[rank];
    if (rp_lines_init(lines, rank, comm->ranks, FAKE_BASE) != RP_OK) {
        give_up("rp_lines_init");
    }
    lines->zero_copy = true;
    lines->window_bytes = comm->window_bytes;
    for (uint32_t q = 0; q < comm->ranks; q++) {
        fill_peer(comm, q, &lines->peer[q]);
        lines->peer[q].bell = &comm->bell[q];
        if (q != rank) {
            rp_lines_add_bell(lines, &comm->bell[q]);
        }
    }
}

struct fake_comm *fake_comm_create(uint32_t ranks, uint64_t arena_bytes, uint64_t window_bytes)
{
    struct fake_comm *comm = calloc(1, sizeof(*comm));
    if (comm == NULL || ranks == 0 || ranks > FAKE_RANKS_MAX) {
        give_up("create");
    }
    comm->ranks = ranks;
    comm->arena_bytes = rp_align_up(arena_bytes, RP_CACHELINE);
    comm->window_bytes = rp_align_up(window_bytes, RP_CACHELINE);
    comm->budget_bytes = 256u * 1024u;
    comm->reduce = rp_reduce_select("auto");
    comm->tuning = (struct rp_aiv_tuning){ .tiny_bytes = RP_LINE_PAYLOAD_BYTES,
        .small_bytes = RP_SLOT_BYTES };
    comm->shared_bytes = ranks * rank_bytes(comm);
    comm->shared = mmap(NULL, comm->shared_bytes, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (comm->shared == MAP_FAILED) {
        give_up("mmap");
    }
    for (uint32_t r = 0; r < ranks; r++) {
        uint8_t *block = comm->shared + r * rank_bytes(comm);
        rp_rank_block_init((struct rp_rank_block *)(void *)block, FAKE_BASE);
        comm->bell[r].bell = (struct rp_doorbell *)(void *)(block + sizeof(struct rp_rank_block));
        comm->bell[r].eventfd = -1;
        rp_doorbell_init(comm->bell[r].bell);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        open_rank(comm, r);
    }
    return comm;
}

void fake_comm_destroy(struct fake_comm *comm)
{
    for (uint32_t r = 0; r < comm->ranks; r++) {
        rp_lines_fini(&comm->lines[r]);
    }
    munmap(comm->shared, comm->shared_bytes);
    free(comm);
}

struct rank_main {
    struct fake_comm *comm;
    fake_rank_fn *fn;
    void *arg;
    uint32_t rank;
    bool ok;
};

static void *thread_main(void *arg)
{
    struct rank_main *self = arg;
    self->ok = self->fn(self->comm, self->rank, self->arg);
    return NULL;
}

static bool run_threads(struct fake_comm *comm, unsigned timeout_s, fake_rank_fn *fn, void *arg)
{
    struct rank_main rank[FAKE_RANKS_MAX];
    pthread_t thread[FAKE_RANKS_MAX];
    bool ok = true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_s;
    for (uint32_t r = 0; r < comm->ranks; r++) {
        rank[r] = (struct rank_main){ .comm = comm, .fn = fn, .arg = arg, .rank = r };
        if (pthread_create(&thread[r], NULL, thread_main, &rank[r]) != 0) {
            give_up("pthread_create");
        }
    }
    for (uint32_t r = 0; r < comm->ranks; r++) {
        errno = pthread_timedjoin_np(thread[r], NULL, &until);
        if (errno != 0) {
            fprintf(stderr, "rank %u did not come back\n", r);
            give_up("timed join"); // its thread still uses our stack
        }
        if (!rank[r].ok) {
            fprintf(stderr, "rank %u of %u failed\n", r, comm->ranks);
            ok = false;
        }
    }
    return ok;
}

static bool reap(pid_t pid, uint32_t rank, uint64_t until_ns)
{
    int status = 0;
    pid_t got = 0;
    while ((got = waitpid(pid, &status, WNOHANG)) == 0 && rp_now_ns() < until_ns) {
        const struct timespec nap = { .tv_nsec = 1000000 };
        nanosleep(&nap, NULL);
    }
    if (got == 0) {
        fprintf(stderr, "rank %u is killed: it takes too long\n", rank);
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "rank %u ended with status 0x%x\n", rank, (unsigned)status);
        return false;
    }
    return true;
}

static bool run_processes(struct fake_comm *comm, unsigned timeout_s, fake_rank_fn *fn, void *arg)
{
    pid_t pid[FAKE_RANKS_MAX];
    bool ok = true;
    for (uint32_t r = 0; r < comm->ranks; r++) {
        pid[r] = fork();
        if (pid[r] < 0) {
            give_up("fork");
        }
        if (pid[r] == 0) {
            _exit(fn(comm, r, arg) ? 0 : 1);
        }
    }
    const uint64_t until_ns = rp_deadline_ns(timeout_s * RP_NS_PER_S);
    for (uint32_t r = 0; r < comm->ranks; r++) {
        ok = reap(pid[r], r, until_ns) && ok;
    }
    return ok;
}

bool fake_comm_run(struct fake_comm *comm, enum fake_mode mode, unsigned timeout_s,
        fake_rank_fn *fn, void *arg)
{
    return mode == FAKE_THREADS ? run_threads(comm, timeout_s, fn, arg)
                                : run_processes(comm, timeout_s, fn, arg);
}

struct rp_record fake_call_record(
        const struct fake_comm *comm, uint32_t rank, const struct fake_call *call)
{
    struct rp_record record = call->record;
    record.expansion = RP_EXPANSION_AIV;
    record.buffer_class = call->staged ? RP_CLASS_STAGED : RP_CLASS_CONTIGUOUS;
    if (!call->staged && call->send != NULL) {
        record.send_off = (uint64_t)((const uint8_t *)call->send - fake_comm_arena(comm, rank));
    }
    if (!call->staged && call->recv != NULL) {
        record.recv_off = (uint64_t)((const uint8_t *)call->recv - fake_comm_arena(comm, rank));
    }
    record.digest = 0;
    return record;
}

rp_status fake_comm_finish(struct rp_aiv_op *op, uint64_t budget_bytes, unsigned timeout_s)
{
    const uint64_t until_ns = rp_deadline_ns(timeout_s * RP_NS_PER_S);
    bool progress = false;
    rp_status st = RP_AGAIN;
    while ((st = rp_aiv_step(op, budget_bytes, &progress)) == RP_AGAIN) {
        if (!progress) {
            fake_pause();
        }
        if (rp_now_ns() > until_ns) {
            char text[256];
            rp_lines_waiting_for(op->lines, op->seq, text, sizeof(text));
            return rp_fail(RP_ETASKTIMEOUT, "%s", text);
        }
    }
    while (st == RP_OK && (st = rp_aiv_complete(op)) == RP_AGAIN) {
        if (rp_now_ns() > until_ns) {
            return rp_fail(RP_ETASKTIMEOUT, "no rank's done covers the op");
        }
        fake_pause();
        st = RP_OK;
    }
    return st;
}

rp_status fake_comm_call(struct fake_comm *comm, uint32_t rank, const struct fake_call *call)
{
    struct rp_aiv_op op;
    const struct rp_record record = fake_call_record(comm, rank, call);
    rp_aiv_begin(
            &op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call->send, call->recv);
    const rp_status st = fake_comm_finish(&op, comm->budget_bytes, 60);
    rp_lines_flush(&comm->lines[rank]);
    return st;
}
