// What a stream promises, and who makes it come true: eager tasks of one device, waits, drivers.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "replay/callback.h"
#include "support/local_ranks.h"

static struct local_ranks ranks;
static struct local_rank *const rank = &ranks.rank[0];

static void open_auto(void)
{
    local_env("auto");
    local_ranks_open(&ranks, 0);
}

static void open_caller(void)
{
    local_env("caller");
    local_ranks_open(&ranks, 0);
}

static void open_thread(void)
{
    local_env("thread");
    local_ranks_open(&ranks, 0);
}

static void close_all(void)
{
    local_ranks_close(&ranks);
}

static bool ended(void *stream)
{
    return local_ended(stream);
}

// Bytes that tell where they are.
static void pattern(uint8_t *at, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)((i * 131 + seed) >> 3);
    }
}

Test(scheduler, tasks_of_a_stream_run_in_order, .init = open_auto, .fini = close_all, .timeout = 20)
{
    enum { BYTES = 4096, ROUNDS = 200 };
    uint8_t *a = local_alloc(rank, BYTES);
    uint8_t *b = local_alloc(rank, BYTES);
    uint8_t *log = local_alloc(rank, ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        local_fill(rank->stream, a, (int)i, BYTES);
        local_copy(rank->stream, b, a, BYTES);
        local_copy(rank->stream, log + i, b + BYTES - 1, 1);
    }
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    for (unsigned i = 0; i < ROUNDS; i++) {
        cr_assert(eq(int, log[i], (uint8_t)i), "round %u", i);
    }
}

Test(scheduler, long_copies_go_on_where_a_step_ended, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    // Around a chunk, a step, and the size from which stores are streamed.
    static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 131072, 131073, 1000003, 17 << 20 };
    uint8_t *a = local_alloc(rank, 17 << 20);
    uint8_t *b = local_alloc(rank, (17 << 20) + 1);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const size_t bytes = sizes[i];
        pattern(a, bytes, (unsigned)i);
        b[bytes] = 0x5a;
        local_copy(rank->stream, b, a, bytes);
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
        cr_assert(eq(int, memcmp(a, b, bytes), 0), "%zu bytes", bytes);
        cr_assert(eq(int, b[bytes], 0x5a), "%zu bytes", bytes);
    }
}

Test(scheduler, pitched_copies_move_rows_only, .init = open_auto, .fini = close_all, .timeout = 20)
{
    enum { WIDTH = 1000, HEIGHT = 200, DST = 1024, SRC = 1111 };
    uint8_t *src = local_alloc(rank, SRC * HEIGHT);
    uint8_t *dst = local_alloc(rank, DST * HEIGHT);
    pattern(src, SRC * HEIGHT, 3);
    struct rp_task task = { .insn = { .kind = RP_INSN_COPY_2D } };
    task.insn.u.copy_2d.dst = dst;
    task.insn.u.copy_2d.src = src;
    task.insn.u.copy_2d.dst_pitch = DST;
    task.insn.u.copy_2d.src_pitch = SRC;
    task.insn.u.copy_2d.width = WIDTH;
    task.insn.u.copy_2d.height = HEIGHT;
    cr_assert(eq(int, rp_stream_submit(rank->stream, &task), RP_OK));
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    for (size_t y = 0; y < HEIGHT; y++) {
        cr_assert(eq(int, memcmp(dst + y * DST, src + y * SRC, WIDTH), 0), "row %zu", y);
        for (size_t x = WIDTH; x < DST; x++) {
            cr_assert(eq(int, dst[y * DST + x], 0), "row %zu column %zu", y, x);
        }
    }
}

Test(scheduler, words_are_filled, .init = open_auto, .fini = close_all, .timeout = 20)
{
    enum { WORDS = 100000 };
    uint32_t *at = local_alloc(rank, (WORDS + 1) * sizeof(*at));
    struct rp_task task = { .insn = { .kind = RP_INSN_FILL_32 } };
    task.insn.u.fill.dst = at;
    task.insn.u.fill.value = 0x12345678;
    task.insn.u.fill.count = WORDS;
    cr_assert(eq(int, rp_stream_submit(rank->stream, &task), RP_OK));
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    for (size_t i = 0; i < WORDS; i++) {
        cr_assert(eq(u32, at[i], 0x12345678), "word %zu", i);
    }
    cr_assert(eq(u32, at[WORDS], 0));
}

Test(scheduler, values_are_written_and_awaited, .init = open_auto, .fini = close_all, .timeout = 20)
{
    static const struct {
        uint8_t flag;
        uint64_t before;
        uint64_t value;
        uint64_t after;
    } rows[] = {
        { 0, 4, 5, 5 },              // GEQ
        { 0, UINT64_MAX - 1, 1, 1 }, // GEQ, cyclic
        { 1, 4, 5, 5 },              // EQ
        { 2, 0xf0, 0x0f, 0xf1 },     // AND
        { 3, 1, UINT64_MAX - 1, 0 }, // NOR
    };
    struct rp_stream *other = local_stream(rank);
    uint64_t *word = local_alloc(rank, sizeof(*word));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        *word = rows[i].before;
        struct rp_task wait = { .insn = { .kind = RP_INSN_VALUE_WAIT, .flag = rows[i].flag } };
        wait.insn.u.value.addr = (_Atomic uint64_t *)word;
        wait.insn.u.value.value = rows[i].value;
        cr_assert(eq(int, rp_stream_submit(rank->stream, &wait), RP_OK));
        cr_assert(eq(int, rp_stream_drain(rank->stream, 5 * RP_NS_PER_MS), RP_ESYNCTIMEOUT),
                "row %zu did not wait", i);
        struct rp_task write = { .insn = { .kind = RP_INSN_VALUE_WRITE } };
        write.insn.u.value.addr = (_Atomic uint64_t *)word;
        write.insn.u.value.value = rows[i].after;
        cr_assert(eq(int, rp_stream_submit(other, &write), RP_OK));
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK), "row %zu", i);
    }
    local_stream_end(other);
}

Test(scheduler, a_small_eager_task_ends_in_the_call, .init = open_caller, .fini = close_all,
        .timeout = 20)
{
    uint8_t *a = local_alloc(rank, 64);
    local_fill(rank->stream, a, 9, 64);
    cr_assert(local_ended(rank->stream));
    cr_assert(eq(int, a[63], 9));
}

Test(scheduler, undriven_work_is_taken_over, .init = open_auto, .fini = close_all, .timeout = 60)
{
    // Longer than a launch steps, so that the caller leaves it behind.
    uint8_t *a = local_alloc(rank, 1 << 20);
    uint64_t best_ns[2] = { UINT64_MAX, UINT64_MAX };
    for (int round = 0; round < 40; round++) {
        const bool asleep = round >= 20;
        if (asleep) {
            usleep(15000); // longer than the device's thread stays awake for nothing
        }
        const uint64_t begin_ns = rp_now_ns();
        local_fill(rank->stream, a, round + 1, 1 << 20);
        cr_assert(local_until(ended, rank->stream, 5), "nobody came");
        const uint64_t took_ns = rp_now_ns() - begin_ns;
        best_ns[asleep] = took_ns < best_ns[asleep] ? took_ns : best_ns[asleep];
        cr_assert(eq(int, a[(1 << 20) - 1], round + 1));
    }
    // The promise is 200 us. The rest is the fill itself and a busy machine, which may also delay
    // any single round for long.
    cr_assert(lt(u64, best_ns[0], 5 * RP_NS_PER_MS));
    cr_assert(lt(u64, best_ns[1], 5 * RP_NS_PER_MS));
}

Test(scheduler, the_device_s_thread_can_be_the_only_driver, .init = open_thread, .fini = close_all,
        .timeout = 20)
{
    uint8_t *a = local_alloc(rank, 1 << 20);
    for (int i = 0; i < 50; i++) {
        local_fill(rank->stream, a, i, 1 << 20);
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
        cr_assert(eq(int, a[77], i));
        if (i % 10 == 0) {
            usleep(15000);
        }
    }
}

Test(scheduler, a_wait_times_out_and_can_be_repeated, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_stream *other = local_stream(rank);
    local_wait(rank->stream, event, 0);
    const uint64_t begin_ns = rp_now_ns();
    cr_assert(eq(int, rp_stream_drain(rank->stream, 30 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    cr_assert(ge(u64, rp_now_ns() - begin_ns, 30 * RP_NS_PER_MS));
    local_record(other, event);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    local_stream_end(other);
}

Test(scheduler, an_event_orders_two_streams, .init = open_auto, .fini = close_all, .timeout = 20)
{
    static const enum rp_event_kind kinds[] = { RP_EVENT_PLAIN, RP_EVENT_FLAG, RP_EVENT_EX };
    uint8_t *a = local_alloc(rank, 4 << 20);
    uint8_t *b = local_alloc(rank, 4 << 20);
    struct rp_stream *other = local_stream(rank);
    for (int round = 0; round < 30; round++) {
        struct rp_event *event = local_event(rank, kinds[round % 3]);
        local_fill(rank->stream, a, round + 1, 4 << 20);
        local_record(rank->stream, event);
        local_wait(other, event, 0);
        local_copy(other, b, a, 4 << 20);
        cr_assert(eq(int, local_drained(other, 10), RP_OK));
        cr_assert(eq(int, b[0], round + 1));
        cr_assert(eq(int, b[(4 << 20) - 1], round + 1));
        cr_assert(eq(u32, atomic_load(&event->waits_pending), 0));
        cr_assert(ne(u64, atomic_load(&event->stamp_ns), 0));
    }
    local_stream_end(other);
}

Test(scheduler, a_flag_stays_set_until_it_is_reset, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_stream *other = local_stream(rank);
    local_wait(rank->stream, event, 0);
    cr_assert(eq(int, rp_stream_submit_event(rank->stream, event, RP_EVENT_RESET, 0, 0), RP_OK));
    local_wait(rank->stream, event, 0); // not satisfied by the first record
    local_record(other, event);
    cr_assert(eq(int, rp_stream_drain(rank->stream, 30 * RP_NS_PER_MS), RP_ESYNCTIMEOUT));
    local_record(other, event);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    local_wait(other, event, 0); // and still set
    cr_assert(eq(int, local_drained(other, 10), RP_OK));
    local_stream_end(other);
}

Test(scheduler, a_wait_binds_to_the_latest_record, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *plain = local_event(rank, RP_EVENT_PLAIN);
    struct rp_event *ex = local_event(rank, RP_EVENT_EX);
    cr_assert(eq(int, rp_stream_submit_event(rank->stream, plain, RP_EVENT_WAIT, 0, 0), RP_EPARAM));
    (void)rp_error_take();
    local_wait(rank->stream, ex, 0); // never recorded: nothing to wait for
    cr_assert(eq(u64, atomic_load(&rank->stream->submitted), 0));
    local_record(rank->stream, ex);
    local_wait(rank->stream, ex, 0); // its own stream's
    cr_assert(eq(u64, atomic_load(&rank->stream->submitted), 1));
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
}

Test(scheduler, an_event_wait_has_a_timeout_of_its_own, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    uint8_t *a = local_alloc(rank, 64);
    local_wait(rank->stream, event, 20 * RP_NS_PER_MS);
    local_fill(rank->stream, a, 1, 64); // goes on: ACL_CONTINUE_ON_FAILURE
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_EWAITTIMEOUT));
    cr_assert(ne(ptr, strstr(rp_error_take(), "event"), NULL));
    cr_assert(eq(int, a[5], 1));
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK), "told once");
}

Test(scheduler, stop_on_failure_stops_the_context, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    struct rp_stream *other = local_stream(rank);
    uint8_t *a = local_alloc(rank, 64);
    atomic_store(&rank->stream->failure_mode, 1);
    local_wait(rank->stream, event, 10 * RP_NS_PER_MS);
    local_fill(rank->stream, a, 1, 64);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_EWAITTIMEOUT));
    local_fill(other, a, 2, 64);
    cr_assert(eq(int, local_drained(other, 10), RP_EWAITTIMEOUT));
    cr_assert(eq(int, a[0], 0), "nothing has run");
    local_stream_end(other);
}

Test(scheduler, a_dropped_stream_ends_without_running, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    uint8_t *a = local_alloc(rank, 64);
    local_wait(rank->stream, event, 0);
    local_fill(rank->stream, a, 1, 64);
    usleep(1000);
    atomic_store(&rank->stream->dropped, atomic_load(&rank->stream->submitted));
    rp_device_poke(rank->device);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_ESTREAMABORT));
    cr_assert(eq(int, a[0], 0));
    local_fill(rank->stream, a, 2, 64);
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    cr_assert(eq(int, a[0], 2), "what comes later runs");
}

Test(scheduler, a_callback_may_not_wait, .init = open_auto, .fini = close_all, .timeout = 20)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    local_wait(rank->stream, event, 0);
    rp_callback_enter();
    cr_assert(eq(int, local_drained(rank->stream, 10), RP_ECALLBACK));
    rp_callback_leave();
    atomic_store(&rank->stream->dropped, UINT64_MAX);
}

// Many threads wait for the same stream; one of them drives.
static void *drain_it(void *status)
{
    *(rp_status *)status = local_drained(rank->stream, 10);
    return NULL;
}

Test(scheduler, many_threads_wait_for_one_stream, .init = open_auto, .fini = close_all,
        .timeout = 30)
{
    enum { THREADS = 6 };
    struct rp_stream *other = local_stream(rank);
    for (int round = 0; round < 20; round++) {
        struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
        pthread_t thread[THREADS];
        rp_status status[THREADS];
        local_wait(rank->stream, event, 0);
        for (int i = 0; i < THREADS; i++) {
            cr_assert(eq(int, pthread_create(&thread[i], NULL, drain_it, &status[i]), 0));
        }
        usleep(round * 500);
        local_record(other, event);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(thread[i], NULL);
            cr_assert(eq(int, status[i], RP_OK), "round %d thread %d", round, i);
        }
    }
    local_stream_end(other);
}

static _Atomic bool stop;

static void *wait_on_and_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        if (rp_stream_drain(rank->stream, 50 * RP_NS_PER_MS) != RP_OK) {
            (void)rp_error_take();
        }
    }
    return NULL;
}

Test(scheduler, the_baton_can_be_had_while_somebody_drives, .init = open_auto, .fini = close_all,
        .timeout = 30)
{
    struct rp_event *event = local_event(rank, RP_EVENT_FLAG);
    pthread_t thread;
    local_wait(rank->stream, event, 0);
    cr_assert(eq(int, pthread_create(&thread, NULL, wait_on_and_on, NULL), 0));
    const uint64_t begin_ns = rp_now_ns();
    for (int i = 0; i < 1000; i++) {
        rp_device_enter(rank->device);
        rp_device_leave(rank->device);
        rp_device_step_once(rank->device);
    }
    cr_expect(lt(u64, rp_now_ns() - begin_ns, 5 * RP_NS_PER_S));
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    atomic_store(&rank->stream->dropped, UINT64_MAX);
}

Test(scheduler, a_device_comes_up_and_goes_down, .init = open_auto, .timeout = 30)
{
    struct rp_device *device;
    struct rp_device *again;
    cr_assert(eq(int, rp_device_ref(-1, &device), RP_EDEVICE));
    cr_assert(eq(int, rp_device_ref(16, &device), RP_EDEVICE));
    (void)rp_error_take();
    for (int round = 0; round < 5; round++) {
        cr_assert(eq(ptr, rp_device_peek(3), NULL));
        cr_assert(eq(int, rp_device_ref(3, &device), RP_OK));
        cr_assert(eq(int, rp_device_ref(3, &again), RP_OK));
        cr_assert(eq(ptr, device, again));
        cr_assert(eq(ptr, rp_device_peek(3), device));
        rp_device_unref(again);
        cr_assert(eq(ptr, rp_device_peek(3), device));
        rp_device_unref(device);
    }
    close_all();
    cr_assert(eq(ptr, rp_device_peek(0), NULL));
}

Test(scheduler, coming_up_leaves_nothing_behind_when_memory_is_short, .init = open_auto,
        .timeout = 60)
{
    bool failed = true;
    int64_t n = 0;
    for (; failed && n < 1000; n++) {
        struct rp_device *device;
        rp_alloc_fail_after(n);
        const rp_status st = rp_device_ref(5, &device);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        if (st == RP_OK) {
            rp_device_unref(device);
        } else {
            cr_assert(failed, "allocation %d", (int)n);
            (void)rp_error_take();
        }
        cr_assert(eq(ptr, rp_device_peek(5), NULL));
    }
    cr_assert(lt(int, (int)n, 1000));
    cr_assert(gt(int, (int)n, 1), "the device allocates something");
    close_all();
}

// Submissions are kept: after the first round of a pattern nothing is allocated.
Test(scheduler, submitting_does_not_allocate_for_ever, .init = open_auto, .fini = close_all,
        .timeout = 20)
{
    uint8_t *a = local_alloc(rank, 64);
    for (int round = 0; round < 3; round++) {
        if (round == 1) {
            rp_alloc_fail_process_after(0);
        }
        for (int i = 0; i < 100; i++) {
            local_fill(rank->stream, a, i, 64);
        }
        cr_assert(eq(int, local_drained(rank->stream, 10), RP_OK));
    }
    const bool untouched = rp_alloc_fail_pending();
    rp_alloc_fail_process_after(-1);
    cr_assert(untouched);
}
