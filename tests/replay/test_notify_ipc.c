// Notifies of several processes.

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "support/process_pair.h"

#define KEY_BYTES 65
#define OPEN ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION

static bool hear_import(int fd, aclrtNotify *notify)
{
    char key[KEY_BYTES];
    return hear(fd, key, sizeof(key)) && aclrtNotifyImportByKey(notify, key, 0) == 0;
}

static aclrtNotify tell_export(int fd, uint64_t flags)
{
    aclrtNotify notify;
    char key[KEY_BYTES] = { 0 };
    WORKS(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    WORKS(aclrtNotifyGetExportKey(notify, key, sizeof(key), flags));
    cr_assert(lt(sz, strlen(key), sizeof(key)));
    cr_assert(tell(fd, key, sizeof(key)));
    return notify;
}

// ---- two processes ----

#define ROUNDS 300

static int answer_pings(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtNotify ping;
    aclrtNotify pong;
    const int failed = pair_child(&stream);
    if (failed != 0 || !hear_import(pair->end[1], &ping) || !hear_import(pair->end[1], &pong)) {
        return 10;
    }
    for (int i = 0; i < ROUNDS; i++) {
        MUST(0, 3, aclrtWaitAndResetNotify(ping, stream, 0));
        MUST(0, 4, aclrtLaunchHostFunc(stream, pair_count, (void *)pair->count));
        MUST(0, 5, aclrtRecordNotify(pong, stream));
    }
    MUST(0, 6, aclrtSynchronizeStream(stream));
    MUST(0, 7, aclrtDestroyNotify(ping));
    MUST(0, 8, aclrtDestroyNotify(pong));
    return 0;
}

Test(notify_ipc, two_processes_play_ping_pong, .timeout = 90)
{
    struct pair pair;
    aclrtStream stream;
    pair_begin(&pair, answer_pings);
    aclrtNotify ping = tell_export(pair.end[0], OPEN);
    aclrtNotify pong = tell_export(pair.end[0], OPEN);
    WORKS(aclrtCreateStream(&stream));
    for (int i = 1; i <= ROUNDS; i++) {
        WORKS(aclrtRecordNotify(ping, stream));
        WORKS(aclrtWaitAndResetNotify(pong, stream, 20));
        WORKS(aclrtSynchronizeStream(stream));
        cr_assert(eq(int, atomic_load(pair.count), i));
    }
    pair_end(&pair);
    WORKS(aclrtDestroyNotify(ping));
    WORKS(aclrtDestroyNotify(pong));
}

// The other process sleeps, and is rung: its backstop alone takes 7 ms.
Test(notify_ipc, a_record_wakes_another_process, .timeout = 90)
{
    struct pair pair;
    const struct timespec nap = { .tv_nsec = 3000000 };
    const struct timespec moment = { .tv_nsec = 20000 };
    uint64_t total_ns = 0;
    pair_begin(&pair, answer_pings);
    aclrtNotify ping = tell_export(pair.end[0], OPEN);
    aclrtNotify pong = tell_export(pair.end[0], OPEN);
    for (int i = 1; i <= ROUNDS; i++) {
        nanosleep(&nap, NULL);
        const uint64_t begin_ns = rp_now_ns();
        WORKS(aclrtRecordNotify(ping, NULL));
        while (atomic_load(pair.count) != i) {
            nanosleep(&moment, NULL);
        }
        total_ns += rp_now_ns() - begin_ns;
        WORKS(aclrtWaitAndResetNotify(pong, NULL, 20));
        WORKS(aclrtSynchronizeStream(NULL));
    }
    printf("a record wakes another process in %.0f us\n", (double)total_ns / ROUNDS / 1e3);
    cr_assert(lt(u64, total_ns / ROUNDS, 4 * RP_NS_PER_MS));
    pair_end(&pair);
}

// ---- who may import ----

static int import_when_listed(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtNotify notify;
    char key[KEY_BYTES];
    int32_t pid;
    char go;
    const int failed = pair_child(&stream);
    if (failed != 0 || !hear(pair->end[1], key, sizeof(key))) {
        return 10;
    }
    MUST(107000, 3, aclrtNotifyImportByKey(&notify, key, 0));
    const char *why = aclGetRecentErrMsg();
    if (why == NULL || strstr(why, "has not listed") == NULL) {
        return 4;
    }
    MUST(0, 5, aclrtDeviceGetBareTgid(&pid));
    if (!tell(pair->end[1], &pid, sizeof(pid)) || !hear(pair->end[1], &go, 1)) {
        return 11;
    }
    MUST(0, 6, aclrtNotifyImportByKey(&notify, key, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    MUST(0, 7, aclrtRecordNotify(notify, stream));
    MUST(0, 8, aclrtSynchronizeStream(stream));
    char again[KEY_BYTES]; // what was imported is not passed on
    MUST(107000, 9, aclrtNotifyGetExportKey(notify, again, sizeof(again), 0));
    return 0;
}

Test(notify_ipc, only_listed_processes_import, .timeout = 60)
{
    struct pair pair;
    int32_t pid[2] = { 1, 0 };
    pair_begin(&pair, import_when_listed);
    aclrtNotify notify = tell_export(pair.end[0], 0);
    WORKS(aclrtNotifySetImportPid(notify, pid, 1));
    cr_assert(hear(pair.end[0], &pid[1], sizeof(pid[1])));
    cr_assert(eq(int, pid[1], pair.child));
    WORKS(aclrtNotifySetImportPid(notify, pid, 2));
    cr_assert(tell(pair.end[0], "", 1));
    WORKS(aclrtWaitAndResetNotify(notify, NULL, 20));
    WORKS(aclrtSynchronizeStream(NULL));
    pair_end(&pair);
}

// ---- what outlives what ----

static int die_with_it_set(void *arg)
{
    struct pair *pair = arg;
    aclrtStream stream;
    aclrtNotify notify;
    char go;
    const int failed = pair_child(&stream);
    char key[KEY_BYTES] = { 0 };
    MUST(0, 3, failed);
    MUST(0, 4, aclrtCreateNotify(&notify, 0));
    MUST(0, 5, aclrtNotifyGetExportKey(notify, key, sizeof(key), OPEN));
    MUST(0, 6, aclrtRecordNotify(notify, stream));
    MUST(0, 7, aclrtSynchronizeStream(stream));
    return tell(pair->end[1], key, sizeof(key)) && hear(pair->end[1], &go, 1) ? 0 : 8;
}

Test(notify_ipc, an_importer_outlives_the_exporter, .timeout = 60)
{
    struct pair pair;
    aclrtNotify notify;
    aclrtNotify late;
    char key[KEY_BYTES];
    pair_begin(&pair, die_with_it_set);
    cr_assert(hear(pair.end[0], key, sizeof(key)));
    WORKS(aclrtNotifyImportByKey(&notify, key, 0));
    cr_assert(tell(pair.end[0], "", 1));
    pair_end(&pair);
    WORKS(aclrtWaitAndResetNotify(notify, NULL, 5));
    WORKS(aclrtRecordNotify(notify, NULL)); // whose bell there is none any more
    WORKS(aclrtWaitAndResetNotify(notify, NULL, 5));
    WORKS(aclrtSynchronizeStream(NULL));
    ANSWERS(107000, aclrtNotifyImportByKey(&late, key, 0));
    WORKS(aclrtDestroyNotify(notify));
}

Test(notify_ipc, nothing_is_left_open, .init = on_device, .timeout = 60)
{
    unsigned before = 0;
    for (int i = 0; i < 500; i++) {
        aclrtNotify notify;
        aclrtNotify again;
        aclrtNotify stale;
        char key[KEY_BYTES];
        WORKS(aclrtCreateNotify(&notify, 0));
        WORKS(aclrtNotifyGetExportKey(notify, key, sizeof(key), OPEN));
        WORKS(aclrtNotifyImportByKey(&again, key, 0));
        WORKS(aclrtRecordNotify(again, NULL));
        WORKS(aclrtWaitAndResetNotify(notify, NULL, 5));
        WORKS(aclrtSynchronizeStream(NULL));
        WORKS(aclrtDestroyNotify(notify));
        ANSWERS(107000, aclrtNotifyImportByKey(&stale, key, 0));
        WORKS(aclrtDestroyNotify(again));
        if (i == 10) {
            before = fds_open();
        }
    }
    cr_assert(eq(uint, fds_open(), before));
}

// ---- exported while in use ----

static void *record_it(void *notify)
{
    WORKS(aclrtSetDevice(1));
    WORKS(aclrtRecordNotify(notify, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    return NULL;
}

// Its word moves when it is exported: what was recorded, what waits, and what is recorded at that
// very moment must not be lost.
Test(notify_ipc, moves_while_it_is_used, .init = on_device, .timeout = 60)
{
    for (int i = 0; i < 300; i++) {
        aclrtNotify notify;
        pthread_t thread;
        char key[2][KEY_BYTES];
        WORKS(aclrtCreateNotify(&notify, 0));
        if (i % 3 == 0) { // set before, taken after
            WORKS(aclrtRecordNotify(notify, NULL));
            WORKS(aclrtSynchronizeStream(NULL));
            WORKS(aclrtNotifyGetExportKey(notify, key[0], KEY_BYTES, 0));
            WORKS(aclrtWaitAndResetNotify(notify, NULL, 5));
        } else {
            WORKS(aclrtWaitAndResetNotify(notify, NULL, 5));
            cr_assert(eq(int, pthread_create(&thread, NULL, record_it, notify), 0));
            WORKS(aclrtNotifyGetExportKey(notify, key[0], KEY_BYTES, 0));
            pthread_join(thread, NULL);
        }
        WORKS(aclrtNotifyGetExportKey(notify, key[1], KEY_BYTES, 0));
        cr_assert(eq(str, key[0], key[1]));
        WORKS(aclrtSynchronizeStream(NULL));
        WORKS(aclrtRecordNotify(notify, NULL));
        WORKS(aclrtSynchronizeStream(NULL));
        WORKS(aclrtNotifyBatchReset(&notify, 1));
        WORKS(aclrtDestroyNotify(notify));
    }
}

// ---- arguments ----

Test(notify_ipc, arguments, .init = on_device)
{
    aclrtNotify notify;
    aclrtNotify out;
    aclrtCntNotify counter;
    char key[KEY_BYTES];
    int32_t pids[1000];
    aclrtServerPid server = { .pid = pids, .num = 1 };
    WORKS(aclrtCreateNotify(&notify, 0));
    WORKS(aclrtCntNotifyCreate(&counter, 0));
    ANSWERS(107000, aclrtNotifySetImportPid(notify, pids, 1)); // not exported
    ANSWERS(100000, aclrtNotifyGetExportKey(NULL, key, KEY_BYTES, 0));
    ANSWERS(100000, aclrtNotifyGetExportKey(notify, NULL, KEY_BYTES, 0));
    ANSWERS(107000, aclrtNotifyGetExportKey(notify, key, KEY_BYTES - 1, 0));
    ANSWERS(107000, aclrtNotifyGetExportKey(notify, key, KEY_BYTES, 1));
    ANSWERS(107017, aclrtNotifyGetExportKey(counter, key, KEY_BYTES, 0));
    ANSWERS(107017, aclrtNotifyGetExportKey(key, key, KEY_BYTES, 0));
    WORKS(aclrtNotifyGetExportKey(notify, key, KEY_BYTES, 0));
    ANSWERS(100000, aclrtNotifySetImportPid(NULL, pids, 1));
    ANSWERS(100000, aclrtNotifySetImportPid(notify, NULL, 1));
    ANSWERS(107000, aclrtNotifySetImportPid(notify, pids, 0));
    for (int i = 0; i < 1000; i++) {
        pids[i] = 100000000 + i;
    }
    WORKS(aclrtNotifySetImportPid(notify, pids, 900));
    WORKS(aclrtNotifySetImportPid(notify, pids, 900)); // listed already
    ANSWERS(207005, aclrtNotifySetImportPid(notify, pids, 1000));
    ANSWERS(100000, aclrtNotifySetImportPidInterServer(notify, NULL, 1));
    ANSWERS(107000, aclrtNotifySetImportPidInterServer(notify, &server, 0));
    ANSWERS(207000, aclrtNotifySetImportPidInterServer(notify, &server, 1));

    ANSWERS(100000, aclrtNotifyImportByKey(NULL, key, 0));
    ANSWERS(100000, aclrtNotifyImportByKey(&out, NULL, 0));
    ANSWERS(107000, aclrtNotifyImportByKey(&out, key, 1));
    ANSWERS(107000, aclrtNotifyImportByKey(&out, key, 0)); // this process is not listed
    WORKS(aclrtNotifyGetExportKey(notify, key, KEY_BYTES, OPEN));
    WORKS(aclrtNotifyImportByKey(&out, key, 0));
    ANSWERS(107000, aclrtNotifySetImportPid(out, pids, 1));
    WORKS(aclrtDestroyNotify(out));
}

Test(notify_ipc, keys_that_are_none, .init = on_device)
{
    aclrtNotify notify;
    aclrtNotify out;
    char key[KEY_BYTES];
    char bad[KEY_BYTES + 8];
    WORKS(aclrtCreateNotify(&notify, 0));
    WORKS(aclrtNotifyGetExportKey(notify, key, KEY_BYTES, OPEN));
    const size_t length = strlen(key);
    for (size_t i = 0; i < length; i++) { // one character is another one
        memcpy(bad, key, sizeof(key));
        bad[i] = bad[i] == '1' ? '2' : '1';
        ANSWERS(107000, aclrtNotifyImportByKey(&out, bad, 0));
        bad[i] = '\0'; // or the end
        ANSWERS(107000, aclrtNotifyImportByKey(&out, bad, 0));
    }
    snprintf(bad, sizeof(bad), "%s0", key);
    ANSWERS(107000, aclrtNotifyImportByKey(&out, bad, 0));
    // The numbers of a process and a descriptor that is no share.
    snprintf(bad, sizeof(bad), "reprise-%08x-%08x%s", (unsigned)getpid(), 2u, key + 25);
    ANSWERS(107000, aclrtNotifyImportByKey(&out, bad, 0));
    WORKS(aclrtNotifyImportByKey(&out, key, 0));
}
