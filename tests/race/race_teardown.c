// R25 of the user reports where ThreadSanitizer can look: two ranks that are threads replay twenty
// graphs, destroy and capture them anew in random order while others run, do eager work, and the
// process ends in every way: after giving all back, by returning from main, by exit() in a second
// thread, and with replays queued. Each way has a process of its own.

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 2
#define GRAPHS 20
#define STREAMS 4
#define STEPS 300
#define WORDS 1000
#define LIMIT_S 120 // for a way to end

enum way { GIVE_ALL_BACK, RETURN_FROM_MAIN, EXIT_IN_SECOND_THREAD, EXIT_WITH_WORK_QUEUED, WAYS };

static HcclComm comms[RANKS];
static pthread_barrier_t together;
static enum way way;

#define check(call) check_code((int)(call), #call, __LINE__)

static void check_code(int code, const char *call, int line)
{
    if (code != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "line %d: %s answers %d: %s\n", line, call, code, text == NULL ? "" : text);
        _exit(1);
    }
}

struct item {
    uint32_t *data; // WORDS
    aclrtStream stream;
    aclmdlRI graph;
    uint32_t start;
    bool pending;
};

static uint32_t next_random(uint64_t *state, uint32_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % bound);
}

static void all_reduce(const struct item *item, HcclComm comm)
{
    check(HcclAllReduce(item->data, item->data, WORDS, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM, comm,
            item->stream));
}

static void capture(struct item *item, HcclComm comm)
{
    check(aclmdlRICaptureBegin(item->stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    all_reduce(item, comm);
    check(HcclBarrier(comm, item->stream));
    check(aclmdlRICaptureEnd(item->stream, &item->graph));
}

static void fill(struct item *item, uint32_t start)
{
    item->start = start;
    for (uint32_t i = 0; i < WORDS; i++) {
        item->data[i] = start + i;
    }
}

static void start(struct item *item, uint32_t value)
{
    fill(item, value);
    item->pending = true;
    check(aclmdlRIExecuteAsync(item->graph, item->stream));
}

static void expect_sum(const struct item *item)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        check(item->data[i] != RANKS * (item->start + i));
    }
}

static void finish(struct item *item, bool by_destroying)
{
    if (by_destroying) {
        check(aclmdlRIDestroy(item->graph));
        item->graph = NULL;
    } else {
        check(aclrtSynchronizeStream(item->stream));
    }
    if (item->pending) {
        expect_sum(item);
    }
    item->pending = false;
}

static void use_graphs(struct item *item, HcclComm comm)
{
    uint64_t agreed = 12345; // the same choices on both ranks
    for (uint32_t step = 0; step < STEPS; step++) {
        struct item *it = &item[next_random(&agreed, GRAPHS)];
        if (!it->pending) {
            start(it, step);
        } else {
            finish(it, next_random(&agreed, 2) == 0);
        }
        if (it->graph == NULL) {
            capture(it, comm);
        }
    }
    for (uint32_t g = 0; g < GRAPHS; g++) {
        finish(&item[(g * 7 + 3) % GRAPHS], true);
    }
}

static void *rank_main(void *arg)
{
    static struct item items[RANKS][GRAPHS];
    const uint32_t rank = *(const uint32_t *)arg;
    struct item *item = items[rank];
    aclrtStream stream[STREAMS];
    check(aclrtSetDevice((int32_t)rank));
    for (uint32_t k = 0; k < STREAMS; k++) {
        check(aclrtCreateStream(&stream[k]));
    }
    for (uint32_t g = 0; g < GRAPHS; g++) {
        item[g].stream = stream[g % STREAMS];
        check(aclrtMalloc((void **)&item[g].data, WORDS * 4, ACL_MEM_MALLOC_HUGE_FIRST));
        capture(&item[g], comms[rank]);
    }
    use_graphs(item, comms[rank]);
    for (uint32_t g = 0; g < GRAPHS; g++) {
        fill(&item[g], g);
        all_reduce(&item[g], comms[rank]);
    }
    check(aclrtSynchronizeDevice());
    for (uint32_t g = 0; g < GRAPHS; g++) {
        expect_sum(&item[g]);
        if (way == EXIT_WITH_WORK_QUEUED) {
            capture(&item[g], comms[rank]);
            start(&item[g], g);
        } else if (way == GIVE_ALL_BACK) {
            check(aclrtFree(item[g].data));
        }
    }
    for (uint32_t k = 0; way == GIVE_ALL_BACK && k < STREAMS; k++) {
        check(aclrtDestroyStream(stream[k]));
    }
    pthread_barrier_wait(&together);
    return NULL;
}

static void *exit_here(void *arg)
{
    (void)arg;
    exit(0);
}

static int run_one(void)
{
    static const uint32_t id[RANKS] = { 0, 1 };
    int32_t devices[RANKS] = { 0, 1 };
    pthread_t thread[RANKS];
    alarm(LIMIT_S);
    pthread_barrier_init(&together, NULL, RANKS + 1);
    check(HcclCommInitAll(RANKS, devices, comms));
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_create(&thread[r], NULL, rank_main, (void *)(uintptr_t)&id[r]);
    }
    pthread_barrier_wait(&together);
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(thread[r], NULL);
    }
    if (way == GIVE_ALL_BACK) {
        for (uint32_t r = 0; r < RANKS; r++) {
            check(HcclCommDestroy(comms[r]));
            check(aclrtResetDevice((int32_t)r));
        }
    }
    if (way == EXIT_IN_SECOND_THREAD) {
        pthread_t other;
        pthread_create(&other, NULL, exit_here, NULL);
        pthread_join(other, NULL);
    }
    return 0;
}

int main(void)
{
    bool ok = true;
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    for (int w = GIVE_ALL_BACK; w < WAYS; w++) {
        int status = -1;
        const pid_t pid = fork();
        if (pid == 0) {
            way = (enum way)w;
            exit(run_one());
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
            fprintf(stderr, "way %d to end: status 0x%x\n", w, (unsigned)status);
            ok = false;
        }
    }
    return ok ? 0 : 1;
}
