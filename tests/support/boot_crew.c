#include "support/boot_crew.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/util.h"
#include "support/child.h"

#define PATIENCE_NS (30 * RP_NS_PER_S)

struct seat {
    struct boot_crew *crew;
    uint32_t first; // rank of the process's first thread
};

static uint32_t threads_of(const struct boot_crew *crew)
{
    return crew->threads == 0 ? 1 : crew->threads;
}

// How many ranks are waited for.
static uint32_t lasting(const struct boot_crew *crew)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < crew->size; i++) {
        count += crew->steps_max[i] == 0 ? 1 : 0;
    }
    return count;
}

static void drive_until_all(
        struct boot_crew *crew, struct boot_rank *rank, _Atomic uint32_t *counter)
{
    uint64_t deadline_ns = rp_deadline_ns(PATIENCE_NS);
    atomic_fetch_add_explicit(counter, 1, memory_order_acq_rel);
    while (atomic_load_explicit(counter, memory_order_acquire) < lasting(crew) &&
            rp_now_ns() < deadline_ns) {
        boot_drive(rank->loop);
    }
}

static void open_root(struct boot_crew *crew, struct boot_rank *rank)
{
    struct boot_shared *shared = crew->shared;
    rp_status st = rp_bootstrap_root(rank->loop, 0, shared->info);
    if (st != RP_OK) {
        const char *text = rp_error_take();
        rp_text_copy(shared->root_sentence, sizeof(shared->root_sentence), text);
    }
    atomic_store_explicit(&shared->info_ready, st == RP_OK ? 1 : -1, memory_order_release);
}

// Waits for the root info. False when there is none.
static bool await_root(struct boot_crew *crew)
{
    int ready = 0;
    while (ready == 0) {
        usleep(500);
        ready = atomic_load_explicit(&crew->shared->info_ready, memory_order_acquire);
    }
    return ready > 0;
}

static void *run_rank(void *arg)
{
    struct seat *seat = arg;
    struct boot_crew *crew = seat->crew;
    struct boot_shared *shared = crew->shared;
    uint32_t index = seat->first;
    struct boot_rank rank = {
        .outcome = &shared->outcome[index],
        .steps_max = crew->steps_max[index],
        .request = { .size = crew->size, .rank = index, .root_info = shared->info },
    };
    rank.request.settings = boot_settings(crew->timeout_s);
    rp_text_copy(shared->check[index], sizeof(shared->check[index]), "it did not look");
    if (!boot_rank_open(&rank, (int32_t)(index % threads_of(crew)))) {
        return "opening a rank failed";
    }
    if (index == 0) {
        open_root(crew, &rank);
    }
    if (!await_root(crew)) {
        boot_rank_close(&rank);
        return NULL;
    }
    if (crew->before_join != NULL && !crew->before_join(crew, &rank)) {
        return "preparing to join failed";
    }
    boot_rank_join(&rank);
    drive_until_all(crew, &rank, &shared->ended);
    bool good = true;
    for (uint32_t i = 0; i < crew->size; i++) {
        good = good && shared->outcome[i].status == RP_OK;
    }
    if (good) {
        rp_text_copy(shared->check[index], sizeof(shared->check[index]),
                boot_rank_check(&rank, shared->outcome));
    }
    drive_until_all(crew, &rank, &shared->checked);
    boot_rank_close(&rank);
    return NULL;
}

static int run_process(void *arg)
{
    struct seat *first = arg;
    struct boot_crew *crew = first->crew;
    struct seat seat[BOOT_RANKS_MAX];
    pthread_t thread[BOOT_RANKS_MAX];
    if (crew->prepare != NULL && !crew->prepare(crew, first->first)) {
        return 3;
    }
    if (rp_process_check() != RP_OK) {
        return 4;
    }
    uint32_t count = threads_of(crew);
    for (uint32_t i = 0; i < count; i++) {
        seat[i] = (struct seat){ .crew = crew, .first = first->first + i };
        if (pthread_create(&thread[i], NULL, run_rank, &seat[i]) != 0) {
            return 5;
        }
    }
    int code = 0;
    for (uint32_t i = 0; i < count; i++) {
        void *broken;
        pthread_join(thread[i], &broken);
        if (broken != NULL) {
            const char *text = rp_error_take();
            fprintf(stderr, "rank %u: %s: %s\n", seat[i].first, (const char *)broken,
                    text == NULL ? "" : text);
            code = 6;
        }
    }
    return code;
}

void boot_crew_run(struct boot_crew *crew)
{
    pid_t child[BOOT_RANKS_MAX];
    uint32_t count = crew->size / threads_of(crew);
    if (crew->shared == NULL) {
        crew->shared = mmap(NULL, sizeof(*crew->shared), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (crew->shared == MAP_FAILED) {
            abort();
        }
    }
    memset(crew->shared, 0, sizeof(*crew->shared));
    for (uint32_t i = 0; i < crew->size; i++) {
        crew->shared->outcome[i].status = RP_AGAIN;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct seat seat = { .crew = crew, .first = i * threads_of(crew) };
        child[i] = child_start(run_process, &seat);
    }
    for (uint32_t i = 0; i < count; i++) {
        crew->exit_code[i] = child_wait(child[i], 60);
    }
}

void boot_crew_free(struct boot_crew *crew)
{
    munmap(crew->shared, sizeof(*crew->shared));
    crew->shared = NULL;
}

bool boot_crew_all(const struct boot_crew *crew, rp_status status, const char *text)
{
    bool good = true;
    for (uint32_t i = 0; i < crew->size; i++) {
        const struct boot_outcome *outcome = &crew->shared->outcome[i];
        const char *check = status == RP_OK ? crew->shared->check[i] : "";
        int code = crew->exit_code[i / threads_of(crew)];
        if (crew->steps_max[i] != 0 ||
                (outcome->status == status && code == 0 &&
                        strstr(outcome->sentence, text) != NULL && check[0] == '\0')) {
            continue;
        }
        good = false;
        fprintf(stderr, "rank %u (exit %d): %s after %.3f s: %s%s%s\n", i, code,
                rp_status_name(outcome->status), (double)outcome->elapsed_ns / 1e9,
                outcome->sentence, check, crew->shared->root_sentence);
    }
    return good;
}

bool boot_crew_partition(const struct boot_crew *crew, const char *letters)
{
    bool same = boot_crew_all(crew, RP_OK, "");
    for (uint32_t i = 0; same && i < crew->size; i++) {
        for (uint32_t q = 0; q < crew->size; q++) {
            const uint32_t node = crew->shared->outcome[i].node[q];
            if (node != (uint32_t)(letters[q] - 'a')) {
                fprintf(stderr, "rank %u takes rank %u to be on node %u\n", i, q, node);
                same = false;
            }
        }
    }
    return same;
}
