#include "support/rank_runner.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/child.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#define TIMEOUT_DEFAULT_S 120
#define GRACE_MS 3000  // that others have to end by themselves after one has failed
#define ROOT_INFO_S 10 // that a rank waits for one: who provides it may have been killed
#define MESSAGE_BYTES 2048
#define THREADS_A_PROCESS 2 // RANK_MIXED

// Shared by the parent and all ranks. Counters only grow, except `alive`.
struct rank_board {
    struct {
        _Atomic uint64_t arrived; // barriers entered
        _Atomic uint64_t step;
        _Atomic bool alive;
        _Atomic bool returned;
        _Atomic int failed; // place in the order of failures, 0: none
        char message[MESSAGE_BYTES];
    } rank[RANKS_MAX];
    struct {
        _Atomic uint64_t state; // which use of the slot it is: 2 * use, and 1 more if all is well
        HcclRootInfo info;
    } root[RANK_SLOTS];
    _Atomic int failures;
};

struct rank_crew {
    struct rank_job job;
    struct rank_board *board;
    unsigned processes;
    unsigned a_process; // ranks in each
    pid_t pid[RANKS_MAX];
    bool ended[RANKS_MAX];
    int status[RANKS_MAX];          // of waitpid
    int expected_signal[RANKS_MAX]; // that the parent sent
};

static struct rank_crew crew;
static char report[RANKS_MAX * (MESSAGE_BYTES + 128)];
static _Thread_local struct rank *current;

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "rank runner: %s: %s\n", what, strerror(errno));
    _exit(99);
}

void *rank_shared_create(size_t bytes)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        give_up("mmap");
    }
    return shared;
}

void rank_shared_destroy(void *shared, size_t bytes)
{
    munmap(shared, bytes);
}

// ---- The parent ----

static void become_rank(struct rank *rank, unsigned id)
{
    *rank = (struct rank){
        .id = id,
        .count = crew.job.ranks,
        .device = (int32_t)(id % 8),
        .arg = crew.job.arg,
        .shared = crew.job.shared,
        .board = crew.board,
        .random = (crew.job.seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + id,
    };
    current = rank;
}

// A rank ends without exit(), and so without LeakSanitizer's own look.
static void expect_no_leak(void)
{
#ifdef __SANITIZE_ADDRESS__
    must_hold(__lsan_do_recoverable_leak_check() == 0, "memory is leaked; see standard error");
#endif
}

static void *run_rank(void *arg)
{
    struct rank rank;
    become_rank(&rank, *(const unsigned *)arg);
    crew.job.fn(&rank);
    rank_done(&rank);
    return NULL;
}

// Never returns. A rank that failed makes itself heard through the board, not through the status.
static _Noreturn void run_process(unsigned process)
{
    unsigned id[RANKS_MAX];
    pthread_t thread[RANKS_MAX];
    const unsigned first = process * crew.a_process;
    const unsigned end =
            first + crew.a_process < crew.job.ranks ? first + crew.a_process : crew.job.ranks;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    child_no_core();
    for (const char *const *item = crew.job.env; item != NULL && *item != NULL; item++) {
        putenv((char *)(uintptr_t)*item);
    }
    if (crew.job.node != NULL) {
        const char node[2] = { crew.job.node[first], '\0' };
        setenv("REPRISE_NODE_ID", node, 1);
    }
    for (unsigned r = first; r < end; r++) {
        id[r] = r;
    }
    if (end - first == 1) {
        struct rank rank;
        become_rank(&rank, first);
        crew.job.fn(&rank);
        expect_no_leak();
        rank_done(&rank);
        _exit(0);
    }
    for (unsigned r = first; r < end; r++) {
        if (pthread_create(&thread[r], NULL, run_rank, &id[r]) != 0) {
            give_up("pthread_create");
        }
    }
    for (unsigned r = first; r < end; r++) {
        pthread_join(thread[r], NULL);
    }
    _exit(0);
}

struct rank_crew *rank_start(const struct rank_job *job)
{
    crew = (struct rank_crew){
        .job = *job,
        .board = rank_shared_create(sizeof(struct rank_board)),
        .a_process = job->mode == RANK_PROCESSES ? 1
                     : job->mode == RANK_THREADS ? job->ranks
                                                 : THREADS_A_PROCESS,
    };
    crew.processes = (job->ranks + crew.a_process - 1) / crew.a_process;
    for (unsigned r = 0; r < job->ranks; r++) {
        atomic_store_explicit(&crew.board->rank[r].alive, true, memory_order_relaxed);
    }
    fflush(NULL);
    for (unsigned p = 0; p < crew.processes; p++) {
        crew.pid[p] = fork();
        if (crew.pid[p] < 0) {
            give_up("fork");
        }
        if (crew.pid[p] == 0) {
            run_process(p);
        }
    }
    return &crew;
}

pid_t rank_pid(const struct rank_crew *c, unsigned rank)
{
    return c->pid[rank / c->a_process];
}

bool rank_await(struct rank_crew *c, unsigned rank, uint64_t step, unsigned timeout_ms)
{
    const uint64_t until_ns = rp_deadline_ns(timeout_ms * RP_NS_PER_MS);
    // acquire [T1]: pairs with rank_step().
    while (atomic_load_explicit(&c->board->rank[rank].step, memory_order_acquire) < step) {
        if (rp_now_ns() > until_ns ||
                atomic_load_explicit(&c->board->failures, memory_order_relaxed) > 0) {
            return false;
        }
        rank_sleep_us(200);
    }
    return true;
}

static void declare_dead(struct rank_board *board, unsigned rank)
{
    // release [T2]: pairs with rank_barrier().
    atomic_store_explicit(&board->rank[rank].alive, false, memory_order_release);
}

void rank_kill(struct rank_crew *c, unsigned rank, int signal)
{
    const unsigned process = rank / c->a_process;
    if (c->ended[process]) {
        return;
    }
    c->expected_signal[process] = signal;
    kill(c->pid[process], signal);
    for (unsigned r = process * c->a_process; r < (process + 1) * c->a_process; r++) {
        if (r < c->job.ranks) {
            declare_dead(c->board, r);
        }
    }
}

static unsigned reap(struct rank_crew *c)
{
    unsigned running = 0;
    for (unsigned p = 0; p < c->processes; p++) {
        if (!c->ended[p]) {
            c->ended[p] = waitpid(c->pid[p], &c->status[p], WNOHANG) == c->pid[p];
            running += !c->ended[p];
        }
    }
    return running;
}

static bool any_failure(const struct rank_crew *c)
{
    if (atomic_load_explicit(&c->board->failures, memory_order_relaxed) > 0) {
        return true;
    }
    for (unsigned p = 0; p < c->processes; p++) {
        if (c->ended[p] && WIFEXITED(c->status[p]) && WEXITSTATUS(c->status[p]) != 0) {
            return true;
        }
    }
    return false;
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...)
{
    const size_t used = strlen(report);
    va_list args;
    va_start(args, format);
    vsnprintf(report + used, sizeof(report) - used, format, args);
    va_end(args);
}

static void report_rank(const struct rank_crew *c, unsigned rank, bool late)
{
    const unsigned process = rank / c->a_process;
    const int status = c->status[process];
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool returned =
            atomic_load_explicit(&c->board->rank[rank].returned, memory_order_relaxed);
    if (atomic_load_explicit(&c->board->rank[rank].failed, memory_order_relaxed) != 0 ||
            (returned && WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        return; // told already, or well
    }
    if (signal != 0 && signal == c->expected_signal[process]) {
        return;
    }
    const bool meant = !atomic_load_explicit(&c->board->rank[rank].alive, memory_order_relaxed);
    if (signal == SIGKILL && meant) {
        return; // rank_die()
    }
    if (late) {
        add("rank %u did not end in time; its last step was %llu\n", rank,
                (unsigned long long)atomic_load_explicit(
                        &c->board->rank[rank].step, memory_order_relaxed));
    } else if (signal != 0) {
        add("rank %u was ended by signal %d (%s)\n", rank, signal, strsignal(signal));
    } else {
        add("rank %u ended by itself with status %d\n", rank, WEXITSTATUS(status));
    }
}

static void report_all(const struct rank_crew *c, bool late)
{
    report[0] = '\0';
    for (int place = 1; place <= (int)c->job.ranks; place++) {
        for (unsigned r = 0; r < c->job.ranks; r++) {
            if (atomic_load_explicit(&c->board->rank[r].failed, memory_order_acquire) == place) {
                add("%s\n", c->board->rank[r].message);
            }
        }
    }
    const bool told = report[0] != '\0';
    for (unsigned r = 0; r < c->job.ranks; r++) {
        if (!told || late) {
            report_rank(c, r, late);
        }
    }
}

const char *rank_finish(struct rank_crew *c)
{
    const unsigned timeout_s = c->job.timeout_s != 0 ? c->job.timeout_s : TIMEOUT_DEFAULT_S;
    uint64_t until_ns = rp_deadline_ns(timeout_s * RP_NS_PER_S);
    bool hurried = false, late = false;
    while (reap(c) > 0) {
        if (!hurried && any_failure(c)) {
            hurried = true;
            until_ns = rp_deadline_ns(GRACE_MS * RP_NS_PER_MS);
        }
        if (rp_now_ns() > until_ns) {
            late = late || !hurried;
            for (unsigned p = 0; p < c->processes; p++) {
                if (!c->ended[p]) {
                    kill(c->pid[p], SIGKILL);
                }
            }
        }
        rank_sleep_us(500);
    }
    report_all(c, late);
    rank_shared_destroy(c->board, sizeof(*c->board));
    return report[0] != '\0' ? report : NULL;
}

const char *rank_run(const struct rank_job *job)
{
    return rank_finish(rank_start(job));
}

// ---- A rank ----

// In a process of several ranks only this one's thread ends: the others see what a rank sees whose
// partner stays away, and the parent ends them.
static _Noreturn void end_rank(void)
{
    if (crew.a_process == 1) {
        _exit(1);
    }
    pthread_exit(NULL);
}

_Noreturn void rank_fail(const char *file, int line, const char *format, ...)
{
    struct rank_board *board = crew.board;
    const unsigned id = current->id;
    const char *name = strrchr(file, '/');
    char *message = board->rank[id].message;
    va_list args;
    int length = snprintf(message, MESSAGE_BYTES, "rank %u of %u (%s:%d): ", id, current->count,
            name != NULL ? name + 1 : file, line);
    va_start(args, format);
    vsnprintf(message + length, MESSAGE_BYTES - (size_t)length, format, args);
    va_end(args);
    // release [T3]: pairs with report_all(); publishes the message.
    const int place = atomic_fetch_add_explicit(&board->failures, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&board->rank[id].failed, place, memory_order_release);
    end_rank();
}

void rank_check(int got, int expected, const char *call, const char *file, int line)
{
    if (got != expected) {
        rank_fail(file, line, "%s answers %d instead of %d: %s", call, got, expected,
                rank_error_text());
    }
}

const char *rank_error_text(void)
{
    const char *text = aclGetRecentErrMsg();
    return text != NULL ? text : "";
}

// The root info of the `use`th communicator of `slot`, from 1.
static void root_info(
        struct rank *rank, unsigned slot, uint64_t use, bool provide, HcclRootInfo *info)
{
    struct rank_board *board = rank->board;
    if (provide) {
        const HcclResult result = HcclGetRootInfo(&board->root[slot].info);
        // release [T4]: publishes the root info to the other ranks.
        atomic_store_explicit(
                &board->root[slot].state, 2 * use + (result == 0), memory_order_release);
        must(result);
    }
    const uint64_t until_ns = rp_deadline_ns(ROOT_INFO_S * RP_NS_PER_S);
    uint64_t state;
    // acquire [T4].
    while ((state = atomic_load_explicit(&board->root[slot].state, memory_order_acquire)) / 2 !=
            use) {
        if (atomic_load_explicit(&board->failures, memory_order_relaxed) > 0) {
            end_rank();
        }
        must_hold(rp_now_ns() < until_ns, "nobody provides a root info in slot %u", slot);
        rank_sleep_us(100);
    }
    must_hold(state % 2 == 1, "there is no root info in slot %u", slot);
    *info = board->root[slot].info;
}

void rank_root_info(struct rank *rank, unsigned slot, bool provide, HcclRootInfo *info)
{
    root_info(rank, slot, 1, provide, info);
}

HcclResult rank_join(struct rank *rank, unsigned slot, uint32_t size, uint32_t as,
        const HcclCommConfig *config, HcclComm *comm)
{
    HcclRootInfo info;
    root_info(rank, slot, 1, as == 0, &info);
    if (config != NULL) {
        return HcclCommInitRootInfoConfig(size, &info, as, config, comm);
    }
    return HcclCommInitRootInfo(size, &info, as, comm);
}

HcclResult rank_join_again(struct rank *rank, uint64_t round, HcclComm *comm)
{
    HcclRootInfo info;
    root_info(rank, (unsigned)(round % RANK_SLOTS), round / RANK_SLOTS + 1, rank->id == 0, &info);
    return HcclCommInitRootInfo(rank->count, &info, rank->id, comm);
}

void rank_open(struct rank *rank)
{
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    must(rank_join(rank, 0, rank->count, rank->id, NULL, &rank->comm));
}

void rank_close(struct rank *rank)
{
    must(aclrtDestroyStream(rank->stream));
    must(HcclCommDestroy(rank->comm));
    must(aclrtResetDevice(rank->device));
}

void rank_barrier(struct rank *rank)
{
    struct rank_board *board = rank->board;
    const uint64_t turn = ++rank->barrier;
    // release [T5]: pairs with the loads below, in the other ranks.
    atomic_store_explicit(&board->rank[rank->id].arrived, turn, memory_order_release);
    for (unsigned r = 0; r < rank->count; r++) {
        unsigned spins = 0;
        // acquire [T5].
        while (atomic_load_explicit(&board->rank[r].arrived, memory_order_acquire) < turn &&
                atomic_load_explicit(&board->rank[r].alive, memory_order_acquire)) { // [T2]
            if (atomic_load_explicit(&board->failures, memory_order_relaxed) > 0) {
                end_rank();
            }
            if (spins++ < 100) {
                sched_yield();
            } else {
                rank_sleep_us(100);
            }
        }
    }
}

void rank_step(struct rank *rank, uint64_t step)
{
    // release [T1]: pairs with rank_await().
    atomic_store_explicit(&rank->board->rank[rank->id].step, step, memory_order_release);
}

void rank_done(struct rank *rank)
{
    // relaxed: read after waitpid.
    atomic_store_explicit(&rank->board->rank[rank->id].returned, true, memory_order_relaxed);
}

_Noreturn void rank_die(struct rank *rank)
{
    declare_dead(rank->board, rank->id);
    kill(getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

uint64_t rank_random(struct rank *rank, uint64_t bound)
{
    // splitmix64
    uint64_t bits = rank->random += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return (bits ^ bits >> 31) % bound;
}

void rank_sleep_us(uint64_t us)
{
    const struct timespec time = {
        .tv_sec = (time_t)(us / 1000000),
        .tv_nsec = (long)(us % 1000000 * 1000),
    };
    nanosleep(&time, NULL);
}

uint64_t rank_now_ms(void)
{
    return rp_now_ns() / RP_NS_PER_MS;
}
