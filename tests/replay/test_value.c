// aclrtValueWrite and aclrtValueWait: what each condition means, who may write, and what a wait
// costs.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "support/acl_test.h"
#include "support/child.h"
#include "support/guard.h"

#define ROUNDS 10000

static aclrtStream new_stream(void)
{
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    return stream;
}

// The 32 bytes that a framework allocates for a signal, all 0.
static _Atomic uint64_t *new_word(void)
{
    void *word;
    WORKS(aclrtMallocAlign32(&word, 32, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMemset(word, 32, 0, 32));
    return word;
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t load(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void nap_ms(unsigned ms)
{
    const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
    nanosleep(&time, NULL);
}

static bool is_idle(aclrtStream stream)
{
    aclrtStreamStatus status;
    WORKS(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
}

// ---- conditions ----

#define TOP UINT64_C(0x8000000000000000)

// What is in memory, what is asked for, how, whether the wait ends, and what ends it if not.
static const struct {
    uint64_t now, value;
    uint32_t flag;
    bool over;
    uint64_t then;
} conditions[] = {
    { 5, 5, ACL_STREAM_WAIT_VALUE_GEQ, true, 0 },
    { 6, 5, ACL_STREAM_WAIT_VALUE_GEQ, true, 0 },
    { 4, 5, ACL_STREAM_WAIT_VALUE_GEQ, false, 5 },
    { 0, UINT64_MAX, ACL_STREAM_WAIT_VALUE_GEQ, true, 0 }, // one past the largest
    { UINT64_MAX, 0, ACL_STREAM_WAIT_VALUE_GEQ, false, TOP - 1 },
    { TOP - 1, 0, ACL_STREAM_WAIT_VALUE_GEQ, true, 0 },
    { TOP, 0, ACL_STREAM_WAIT_VALUE_GEQ, false, 0 },
    { 5, 5, ACL_STREAM_WAIT_VALUE_EQ, true, 0 },
    { 6, 5, ACL_STREAM_WAIT_VALUE_EQ, false, 5 },
    { UINT64_C(1) << 32, 0, ACL_STREAM_WAIT_VALUE_EQ, false, 0 }, // all 64 bits count
    { TOP | 1, TOP, ACL_STREAM_WAIT_VALUE_AND, true, 0 },
    { 1, TOP, ACL_STREAM_WAIT_VALUE_AND, false, TOP | 2 },
    { 0, 0, ACL_STREAM_WAIT_VALUE_NOR, true, 0 },
    { 1, UINT64_MAX - 1, ACL_STREAM_WAIT_VALUE_NOR, false, 0 },
    { 1, UINT64_MAX - 3, ACL_STREAM_WAIT_VALUE_NOR, true, 0 },
};

Test(value, each_condition, .init = on_device)
{
    aclrtStream stream = new_stream();
    _Atomic uint64_t *word = new_word();
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        store(word, conditions[i].now);
        WORKS(aclrtValueWait((void *)word, conditions[i].value, conditions[i].flag, stream));
        if (!conditions[i].over) {
            nap_ms(3);
            cr_assert(not(is_idle(stream)), "condition %zu", i);
            store(word, conditions[i].then);
        }
        WORKS(aclrtSynchronizeStreamWithTimeout(stream, 5000));
    }
    // Nothing has a bit in common with 0.
    store(word, UINT64_MAX);
    WORKS(aclrtValueWait((void *)word, 0, ACL_STREAM_WAIT_VALUE_AND, stream));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    WORKS(aclrtDestroyStreamForce(stream));
}

Test(value, a_write_is_eight_bytes_in_order, .init = on_device)
{
    struct guard guard;
    WORKS(guard_create(&guard, 24, 0));
    aclrtStream stream = new_stream();
    uint64_t seen[2];
    WORKS(aclrtValueWrite(guard.data + 8, UINT64_C(0x1122334455667788), 0, stream));
    WORKS(aclrtMemcpyAsync(guard.data, 8, guard.data + 8, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    WORKS(aclrtValueWrite(guard.data + 8, UINT64_MAX, 0, stream));
    WORKS(aclrtSynchronizeStream(stream));
    memcpy(seen, guard.data, sizeof(seen));
    cr_assert(eq(u64, seen[0], UINT64_C(0x1122334455667788)));
    cr_assert(eq(u64, seen[1], UINT64_MAX));
    cr_assert(eq(u8, guard.data[16], GUARD_POISON));
    cr_assert(guard_intact(&guard));
    WORKS(guard_destroy(&guard));
}

// ---- arguments ----

Test(value, arguments, .init = on_device)
{
    _Atomic uint64_t *word = new_word();
    void *block;
    uint64_t local = 0;
    aclrtStream stream = new_stream();
    WORKS(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    ANSWERS(100000, aclrtValueWrite(NULL, 1, 0, stream));
    ANSWERS(100000, aclrtValueWait(NULL, 1, 0, stream));
    for (uintptr_t skew = 1; skew < 8; skew++) {
        ANSWERS(107000, aclrtValueWrite((char *)block + skew, 1, 0, stream));
        ANSWERS(107000, aclrtValueWait((char *)block + skew, 1, 0, stream));
    }
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "multiple of 8"), NULL));
    ANSWERS(107000, aclrtValueWrite((void *)word, 1, 1, stream));
    ANSWERS(107000, aclrtValueWrite((void *)word, 1, UINT32_MAX, stream));
    ANSWERS(107000, aclrtValueWait((void *)word, 1, 4, stream));
    ANSWERS(107000, aclrtValueWait((void *)word, 1, 256, stream)); // not cut to a byte
    ANSWERS(107000, aclrtValueWrite(&local, 1, 0, stream));
    ANSWERS(107000, aclrtValueWait(&local, 1, 0, stream));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "neither device memory nor"), NULL));
    ANSWERS(107017, aclrtValueWrite((void *)word, 1, 0, &local));
    ANSWERS(107017, aclrtValueWait((void *)word, 1, 0, &local));
    WORKS(aclrtFree(block));
    ANSWERS(107000, aclrtValueWrite(block, 1, 0, stream)); // freed
    WORKS(aclrtSynchronizeStream(stream));
    cr_assert(eq(u64, load(word), 0));
    // The last word of an allocation, and the default stream.
    WORKS(aclrtValueWrite((char *)word + 24, 7, 0, NULL));
    WORKS(aclrtValueWait((char *)word + 24, 7, ACL_STREAM_WAIT_VALUE_EQ, NULL));
    WORKS(aclrtSynchronizeStream(NULL));
    cr_assert(eq(u64, load(word + 3), 7));
}

static void *call_without_context(void *word)
{
    ANSWERS(107002, aclrtValueWrite(word, 1, 0, NULL));
    ANSWERS(107002, aclrtValueWait(word, 1, 0, NULL));
    return NULL;
}

Test(value, needs_a_context, .init = on_device)
{
    pthread_t thread;
    cr_assert(eq(int, pthread_create(&thread, NULL, call_without_context, (void *)new_word()), 0));
    pthread_join(thread, NULL);
}

// ---- any writer ----

// A stream that waits for 1, and a copy behind it.
struct waiter {
    aclrtStream stream;
    _Atomic uint64_t *word;
    _Atomic uint64_t *after; // 1 once the stream has gone on
};

static struct waiter new_waiter(_Atomic uint64_t *word)
{
    const struct waiter waiter = { .stream = new_stream(), .word = word, .after = new_word() };
    WORKS(aclrtValueWait((void *)word, 1, ACL_STREAM_WAIT_VALUE_EQ, waiter.stream));
    WORKS(aclrtValueWrite((void *)waiter.after, 1, 0, waiter.stream));
    nap_ms(20); // whoever drives has fallen asleep
    cr_assert(eq(u64, load(waiter.after), 0));
    return waiter;
}

// Nobody waits for the stream: the device's own thread has to find out.
static void goes_on(const struct waiter *waiter)
{
    const uint64_t begin_ns = rp_now_ns();
    while (load(waiter->after) == 0) {
        cr_assert(lt(u64, rp_now_ns() - begin_ns, 2 * RP_NS_PER_S), "the writer was not seen");
        nap_ms(1);
    }
    WORKS(aclrtSynchronizeStream(waiter->stream));
    WORKS(aclrtDestroyStream(waiter->stream));
}

Test(value, the_host_stores_through_its_pointer, .init = on_device)
{
    const struct waiter waiter = new_waiter(new_word());
    store(waiter.word, 1);
    goes_on(&waiter);
}

Test(value, a_copy_writes, .init = on_device)
{
    const uint64_t one = 1;
    struct waiter waiter = new_waiter(new_word());
    WORKS(aclrtMemcpy((void *)waiter.word, 8, &one, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    goes_on(&waiter);

    _Atomic uint64_t *source = new_word();
    store(source, 1);
    waiter = new_waiter(new_word());
    WORKS(aclrtMemcpy((void *)waiter.word, 8, (void *)source, 8, ACL_MEMCPY_DEVICE_TO_DEVICE));
    goes_on(&waiter);

    aclrtStream copies = new_stream();
    waiter = new_waiter(new_word());
    WORKS(aclrtMemcpyAsync(
            (void *)waiter.word, 8, (void *)source, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, copies));
    goes_on(&waiter);

    waiter = new_waiter(new_word());
    WORKS(aclrtMemsetAsync((void *)waiter.word, 8, 1, 1, copies)); // its lowest byte
    goes_on(&waiter);
}

// An eager call steps its own stream only, and must not make the device's thread believe that
// nothing else can move. The thread looks a moment after it was woken: the call comes first.
Test(value, an_eager_call_elsewhere_leaves_it_driven, .init = on_device, .timeout = 30)
{
    aclrtStream elsewhere = new_stream();
    _Atomic uint64_t *other = new_word();
    for (int i = 0; i < 10; i++) {
        const struct waiter waiter = {
            .stream = new_stream(),
            .word = new_word(),
            .after = new_word(),
        };
        nap_ms(15); // the device's thread sleeps until it is woken
        WORKS(aclrtValueWait((void *)waiter.word, 1, ACL_STREAM_WAIT_VALUE_EQ, waiter.stream));
        WORKS(aclrtValueWrite((void *)waiter.after, 1, 0, waiter.stream));
        WORKS(aclrtValueWrite((void *)other, 1, 0, elsewhere));
        nap_ms(15);
        store(waiter.word, 1);
        goes_on(&waiter);
    }
}

static void host_store(void *word)
{
    store(word, 1);
}

Test(value, a_host_function_writes, .init = on_device)
{
    const struct waiter waiter = new_waiter(new_word());
    WORKS(aclrtLaunchHostFunc(new_stream(), host_store, (void *)waiter.word));
    goes_on(&waiter);
}

static int store_in_child(void *word)
{
    store(word, 1);
    return 0;
}

Test(value, another_process_writes, .init = on_device)
{
    const struct waiter waiter = new_waiter(new_word());
    cr_assert(eq(int, child_run(store_in_child, (void *)waiter.word, 10), 0));
    goes_on(&waiter);
}

Test(value, a_stream_of_another_device_writes, .init = on_device)
{
    const struct waiter waiter = new_waiter(new_word());
    WORKS(aclrtSetDevice(1));
    WORKS(aclrtValueWrite((void *)waiter.word, 1, 0, NULL));
    WORKS(aclrtSetDevice(0));
    goes_on(&waiter);
}

Test(value, pinned_and_registered_memory, .init = on_device)
{
    void *pinned;
    void *mapped;
    static _Alignas(4096) _Atomic uint64_t page[512];
    WORKS(aclrtMallocHost(&pinned, 64));
    memset(pinned, 0, 64);
    struct waiter waiter = new_waiter(pinned);
    store(pinned, 1);
    goes_on(&waiter);

    WORKS(aclrtHostRegister(page, sizeof(page), ACL_HOST_REGISTER_MAPPED, &mapped));
    waiter = new_waiter(mapped);
    store(page, 1);
    goes_on(&waiter);
    WORKS(aclrtHostUnregister(page));
}

// ---- what a wait costs ----

static uint64_t cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * RP_NS_PER_S +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * RP_NS_PER_US;
}

#define COST_MS 1000
// A sleeper looks a hundred times a second, at some 30 us each; twenty times that for a busy
// machine or a sanitizer. Spinning would be a whole core.
#define COST_PERCENT 6

static void *synchronize(void *stream)
{
    aclrtSetDevice(0);
    return (void *)(intptr_t)aclrtSynchronizeStream(stream);
}

Test(value, a_wait_that_nobody_drives_burns_no_core, .init = on_device, .timeout = 30)
{
    aclrtStream streams[4];
    _Atomic uint64_t *word = new_word();
    for (int i = 0; i < 4; i++) {
        streams[i] = new_stream();
        WORKS(aclrtValueWait((void *)word, 1, ACL_STREAM_WAIT_VALUE_EQ, streams[i]));
    }
    nap_ms(50);
    const uint64_t begin_ns = cpu_ns();
    nap_ms(COST_MS);
    const uint64_t used_ns = cpu_ns() - begin_ns;
    printf("four undriven waits: %.2f%% of a core\n", (double)used_ns / (COST_MS * 1e4));
    cr_assert(lt(u64, used_ns, COST_PERCENT * COST_MS * RP_NS_PER_MS / 100));
    store(word, 1);
    for (int i = 0; i < 4; i++) {
        WORKS(aclrtSynchronizeStream(streams[i]));
    }
}

Test(value, a_wait_that_a_caller_drives_burns_no_core, .init = on_device, .timeout = 30)
{
    pthread_t thread[2];
    aclrtStream streams[2] = { new_stream(), new_stream() };
    _Atomic uint64_t *word = new_word();
    WORKS(aclrtSetDevice(1)); // a neighbour that is up
    WORKS(aclrtSetDevice(0));
    for (int i = 0; i < 2; i++) {
        WORKS(aclrtValueWait((void *)word, 1, ACL_STREAM_WAIT_VALUE_EQ, streams[i]));
        cr_assert(eq(int, pthread_create(&thread[i], NULL, synchronize, streams[i]), 0));
    }
    nap_ms(50);
    const uint64_t begin_ns = cpu_ns();
    nap_ms(COST_MS);
    const uint64_t used_ns = cpu_ns() - begin_ns;
    printf("two driven waits: %.2f%% of a core\n", (double)used_ns / (COST_MS * 1e4));
    cr_assert(lt(u64, used_ns, COST_PERCENT * COST_MS * RP_NS_PER_MS / 100));
    store(word, 1);
    for (int i = 0; i < 2; i++) {
        void *answer;
        pthread_join(thread[i], &answer);
        cr_assert(eq(int, (int)(intptr_t)answer, 0));
    }
}

// A write of our own wakes a sleeper at once; its backstop would take 8 ms.
Test(value, a_write_wakes_a_sleeping_waiter, .init = on_device, .timeout = 60)
{
    enum { TIMES = 100 };
    aclrtStream writes = new_stream();
    aclrtStream waits = new_stream();
    _Atomic uint64_t *word = new_word();
    _Atomic uint64_t *after = new_word();
    uint64_t total_ns = 0;
    for (uint64_t i = 1; i <= TIMES; i++) {
        WORKS(aclrtValueWait((void *)word, i, ACL_STREAM_WAIT_VALUE_EQ, waits));
        WORKS(aclrtValueWrite((void *)after, i, 0, waits));
        nap_ms(2);
        const uint64_t begin_ns = rp_now_ns();
        WORKS(aclrtValueWrite((void *)word, i, 0, writes));
        while (load(after) != i) {
            nap_ms(0);
        }
        total_ns += rp_now_ns() - begin_ns;
    }
    printf("a write wakes a waiter in %.0f us\n", (double)total_ns / TIMES / 1e3);
    cr_assert(lt(u64, total_ns / TIMES, 4 * RP_NS_PER_MS));
}

// ---- two streams ----

static void *answer_pings(void *arg)
{
    _Atomic uint64_t *words = arg;
    aclrtStream stream;
    int failed = aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        failed |= aclrtValueWait((void *)&words[0], i, ACL_STREAM_WAIT_VALUE_GEQ, stream);
        failed |= aclrtValueWrite((void *)&words[1], i, 0, stream);
    }
    failed |= aclrtSynchronizeStream(stream);
    return (void *)(intptr_t)failed;
}

Test(value, two_threads_play_ping_pong, .init = on_device, .timeout = 120)
{
    pthread_t thread;
    void *failed;
    _Atomic uint64_t *words = new_word();
    aclrtStream stream = new_stream();
    cr_assert(eq(int, pthread_create(&thread, NULL, answer_pings, (void *)words), 0));
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        WORKS(aclrtValueWrite((void *)&words[0], i, 0, stream));
        WORKS(aclrtValueWait((void *)&words[1], i, ACL_STREAM_WAIT_VALUE_GEQ, stream));
    }
    WORKS(aclrtSynchronizeStream(stream));
    pthread_join(thread, &failed);
    cr_assert(eq(ptr, failed, NULL));
    cr_assert(eq(u64, load(&words[0]), ROUNDS));
    cr_assert(eq(u64, load(&words[1]), ROUNDS));
}

// ---- waits that nobody will end ----

Test(value, a_waiting_stream_can_be_destroyed_by_force, .init = on_device, .timeout = 10)
{
    _Atomic uint64_t *word = new_word();
    aclrtStream stream = new_stream();
    WORKS(aclrtValueWait((void *)word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
    WORKS(aclrtValueWrite((void *)word, 9, 0, stream));
    ANSWERS(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
    WORKS(aclrtDestroyStreamForce(stream));
    WORKS(aclrtSynchronizeDevice());
    cr_assert(eq(u64, load(word), 0));
}

Test(value, a_forced_reset_ends_a_wait, .init = on_device, .timeout = 10)
{
    _Atomic uint64_t *word = new_word();
    WORKS(aclrtValueWait((void *)word, 1, ACL_STREAM_WAIT_VALUE_EQ, new_stream()));
    WORKS(aclrtResetDeviceForce(0));
}

Test(value, a_context_that_stops_ends_a_wait, .init = on_device, .timeout = 10)
{
    _Atomic uint64_t *word = new_word();
    aclrtStream fails = new_stream();
    aclrtStream waits = new_stream();
    aclrtEvent event;
    WORKS(aclrtSetStreamFailureMode(fails, ACL_STOP_ON_FAILURE));
    WORKS(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    WORKS(aclrtValueWait((void *)word, 1, ACL_STREAM_WAIT_VALUE_EQ, waits));
    WORKS(aclrtStreamWaitEventWithTimeout(fails, event, 1)); // nobody records it
    ANSWERS(107019, aclrtSynchronizeStream(fails));
    ANSWERS(107019, aclrtSynchronizeStream(waits));
}
