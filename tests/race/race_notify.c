// Notifies, counters and values from many threads on two devices. What they order is plain memory,
// written and read by tasks of both devices, which have nothing else in common, so ThreadSanitizer
// sees whether they do; batches are reset, notifies are made and destroyed, and waits are dropped
// meanwhile.

#include <acl/acl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 1000

static _Atomic int faults;

static void check(int answer, int expected, const char *call)
{
    if (answer != expected) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d, not %d: %s\n", call, answer, expected, why == NULL ? "-" : why);
        atomic_fetch_add(&faults, 1);
    }
}

#define WORKS(call) check((call), 0, #call)

// As in race_acl.c: libuv closes descriptors behind ThreadSanitizer's back.
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:epoll_create1\nrace:eventfd\nrace:pipe2\n";
}

static aclrtStream new_stream(int32_t device)
{
    aclrtStream stream = NULL;
    WORKS(aclrtSetDevice(device));
    WORKS(aclrtCreateStream(&stream));
    return stream;
}

// One cell that a stream fills, another that a stream of the other device copies it to, in turns.
struct game {
    aclrtNotify ping, pong;
    aclrtCntNotify serve, reply;
    uint64_t *word; // [2], in device memory
    uint32_t *cell; // [2], in device memory; plain
    int way;        // 0: notifies, 1: counters, 2: values
};

static void give(struct game *game, bool there, uint64_t round, aclrtStream stream)
{
    aclrtCntNotifyRecordInfo info = {
        .mode = ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE,
        .value = 1,
    };
    if (game->way == 0) {
        WORKS(aclrtRecordNotify(there ? game->ping : game->pong, stream));
    } else if (game->way == 1) {
        WORKS(aclrtCntNotifyRecord(there ? game->serve : game->reply, stream, &info));
    } else {
        WORKS(aclrtValueWrite(&game->word[there], round, 0, stream));
    }
}

static void take(struct game *game, bool there, uint64_t round, aclrtStream stream)
{
    aclrtCntNotifyWaitInfo info = {
        .mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE,
        .value = 1,
        .isClear = 1,
    };
    if (game->way == 0) {
        WORKS(aclrtWaitAndResetNotify(there ? game->ping : game->pong, stream, 0));
    } else if (game->way == 1) {
        WORKS(aclrtCntNotifyWaitWithTimeout(there ? game->serve : game->reply, stream, &info));
    } else {
        WORKS(aclrtValueWait(&game->word[there], round, ACL_STREAM_WAIT_VALUE_GEQ, stream));
    }
}

static void *play_back(void *arg)
{
    struct game *game = arg;
    aclrtStream stream = new_stream(1);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        take(game, true, round, stream);
        WORKS(aclrtMemcpyAsync(&game->cell[1], sizeof(uint32_t), &game->cell[0], sizeof(uint32_t),
                ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        give(game, false, round, stream);
        if (round % 16 == 0) {
            WORKS(aclrtSynchronizeStream(stream));
        }
    }
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclrtDestroyStream(stream));
    return NULL;
}

static void *play(void *arg)
{
    struct game *game = arg;
    aclrtStream stream = new_stream(0);
    pthread_t other;
    WORKS(aclrtCreateNotify(&game->ping, 0));
    WORKS(aclrtCreateNotify(&game->pong, 0));
    WORKS(aclrtCntNotifyCreate(&game->serve, 0));
    WORKS(aclrtCntNotifyCreate(&game->reply, 0));
    WORKS(aclrtMallocAlign32((void **)&game->word, 32, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMemset(game->word, 32, 0, 32));
    WORKS(aclrtMalloc((void **)&game->cell, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    pthread_create(&other, NULL, play_back, game);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        WORKS(aclrtMemsetD32Async(&game->cell[0], sizeof(uint32_t), (uint32_t)round, 1, stream));
        give(game, true, round, stream);
        take(game, false, round, stream);
        if (game->way == 0 && round == ROUNDS / 2) { // moves while both streams use it
            char key[65];
            WORKS(aclrtNotifyGetExportKey(game->ping, key, sizeof(key), 0));
        }
        if (round % 7 == 0) {
            WORKS(aclrtSynchronizeStream(stream));
            check((int)game->cell[1], (int)round, "the copy of this round");
        }
    }
    WORKS(aclrtSynchronizeStream(stream));
    pthread_join(other, NULL);
    check((int)game->cell[1], ROUNDS, "the copy at the end");
    WORKS(aclrtDestroyNotify(game->ping));
    WORKS(aclrtDestroyNotify(game->pong));
    WORKS(aclrtCntNotifyDestroy(game->serve));
    WORKS(aclrtCntNotifyDestroy(game->reply));
    WORKS(aclrtFree(game->word));
    WORKS(aclrtFree(game->cell));
    WORKS(aclrtDestroyStream(stream));
    return NULL;
}

// Notifies that are destroyed while tasks name them, waits that are dropped, batches.
static void *make_and_destroy(void *arg)
{
    (void)arg;
    for (int round = 0; round < ROUNDS / 4; round++) {
        aclrtNotify batch[2];
        uint32_t id;
        aclrtStream stream = new_stream(round % 2);
        WORKS(aclrtCreateNotify(&batch[0], 0));
        WORKS(aclrtCreateNotify(&batch[1], 0));
        WORKS(aclrtGetNotifyId(batch[1], &id));
        WORKS(aclrtRecordNotify(batch[0], stream));
        WORKS(aclrtNotifyBatchReset(batch, 2));
        WORKS(aclrtWaitAndResetNotify(batch[1], stream, 0));
        WORKS(aclrtDestroyNotify(batch[1]));
        WORKS(aclrtDestroyNotify(batch[0]));
        WORKS(aclrtDestroyStreamForce(stream));
    }
    return NULL;
}

int main(void)
{
    enum { GAMES = 3 };
    static struct game games[GAMES];
    pthread_t thread[GAMES + 1];
    setenv("REPRISE_DEVICE_MEMORY", "64M", 0);
    WORKS(aclrtSetDevice(1));
    WORKS(aclrtSetDevice(0));
    for (int i = 0; i < GAMES; i++) {
        games[i].way = i;
        pthread_create(&thread[i], NULL, play, &games[i]);
    }
    pthread_create(&thread[GAMES], NULL, make_and_destroy, NULL);
    for (int i = 0; i <= GAMES; i++) {
        pthread_join(thread[i], NULL);
    }
    printf("%d faults\n", atomic_load(&faults));
    return atomic_load(&faults) == 0 ? 0 : 1;
}
