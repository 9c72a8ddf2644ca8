// Symmetric windows, the communicator's buffer and registered memory, between threads and between
// processes.

#include <stdlib.h>
#include <string.h>

#include <hccl/hccl_ex.h>
#include <hccl/hccl_res.h>
#include <hccl/hccl_sym_win.h>

#include "support/rank_test.h"

enum { BYTES = 1 << 16, WINDOWS = 127 };

static const char *const env[] = { "HCCL_BUFFSIZE=2", "HCCL_CONNECT_TIMEOUT=1",
    "REPRISE_DEVICE_MEMORY=64M", NULL };

static void expect_text(const char *part)
{
    const char *text = rank_error_text();
    must_hold(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

static void run_all(struct rank_job *job, const char *what)
{
    static const enum rank_mode modes[] = { RANK_PROCESSES, RANK_THREADS, RANK_MIXED };
    job->env = env;
    for (int m = 0; m < 3; m++) {
        job->mode = modes[m];
        assert_job(job, "%s, mode %d", what, m);
    }
}

// ---- windows ----

/* Each rank's window begins elsewhere in its memory; each writes its number into its peers'. */
static void write_rank(struct rank *rank)
{
    HcclCommSymWindow window = NULL;
    HcclCommSymWindow found = NULL;
    size_t offset = 0;
    uint8_t *memory = NULL;
    void *pad = NULL;
    rank_open(rank);
    must(aclrtMalloc(&pad, (rank->id + 1) * 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&memory, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(memory, 0xee, BYTES);
    rank_barrier(rank);
    if (rank->id == 1) {
        rank_sleep_us(100000); // registering is nobody's to wait for, and yet the peers do
    }
    must(HcclCommSymWinRegister(rank->comm, memory + 64, BYTES - 64, &window, 1));
    for (uint32_t q = 0; q < rank->count; q++) {
        uint8_t *theirs = NULL;
        must(HcclSymWinGetPeerPointer(window, rank->id * 8, q, (void **)&theirs));
        must_hold(q != rank->id || theirs == memory + 64 + rank->id * 8, "not my own");
        theirs[0] = (uint8_t)rank->id;
        must(aclrtMemcpy(theirs + 1, 1, theirs, 1, ACL_MEMCPY_DEVICE_TO_DEVICE));
    }
    rank_barrier(rank);
    for (uint32_t q = 0; q < rank->count; q++) {
        must_hold(memory[64 + q * 8] == q && memory[65 + q * 8] == q, "rank %u's is %u", q,
                memory[64 + q * 8]);
    }
    must(HcclCommSymWinGet(rank->comm, memory + 100, 10, &found, &offset));
    must_hold(found == window && offset == 36, "offset %zu", offset);
    must_be(HcclCommSymWinGet(rank->comm, memory + 63, 2, &found, &offset), HCCL_E_NOT_FOUND);
    must_be(HcclCommSymWinGet(rank->comm, memory + BYTES - 1, 2, &found, &offset),
            HCCL_E_NOT_FOUND);
    must(HcclCommSymWinDeregister(window));
    must_be(HcclCommSymWinGet(rank->comm, memory + 100, 10, &found, &offset), HCCL_E_NOT_FOUND);
    rank_barrier(rank);
    must(aclrtFree(memory));
    must(aclrtFree(pad));
    rank_close(rank);
}

Test(sym_window, reaches_every_rank_at_the_same_offset, .timeout = 120)
{
    struct rank_job job = { .ranks = 4, .fn = write_rank };
    run_all(&job, "windows");
}

static void refuse_rank(struct rank *rank)
{
    HcclCommSymWindow window[3] = { NULL };
    uint8_t *memory = NULL;
    void *out = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&memory, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    must(HcclCommSymWinRegister(rank->comm, memory, rank->id == 0 ? 64 : 128, &window[0], 1));
    must_be(HcclSymWinGetPeerPointer(window[0], 0, !rank->id, &out), HCCL_E_PARA);
    expect_text(rank->id == 0 ? "rank 1 has registered 128 bytes as its window #1, rank 0 has "
                                "registered 64"
                              : "rank 0 has registered 64 bytes");
    must(HcclSymWinGetPeerPointer(window[0], 63, rank->id, &out));
    must_be(HcclSymWinGetPeerPointer(window[0], 128, rank->id, &out), HCCL_E_PARA);
    must_be(HcclSymWinGetPeerPointer(window[0], 0, rank->count, &out), HCCL_E_PARA);
    must_be(HcclSymWinGetPeerPointer(NULL, 0, 0, &out), HCCL_E_PTR);
    must_be(HcclSymWinGetPeerPointer(window[0], 0, 0, NULL), HCCL_E_PTR);
    must_be(HcclSymWinGetPeerPointer(memory, 0, 0, &out), HCCL_E_PARA);
    rank_barrier(rank);
    if (rank->id == 0) { // a second window, which the other one has not
        must(HcclCommSymWinRegister(rank->comm, memory, 64, &window[1], 1));
        must_be(HcclSymWinGetPeerPointer(window[1], 0, 1, &out), HCCL_E_TIMEOUT);
        expect_text("rank 1 of");
    }
    rank_barrier(rank);
    if (rank->id == 1) { // or has no more
        must(HcclCommSymWinRegister(rank->comm, memory, 64, &window[1], 1));
        must(HcclCommSymWinDeregister(window[1]));
        must_be(HcclSymWinGetPeerPointer(window[1], 0, 0, &out), HCCL_E_PARA);
    }
    rank_barrier(rank);
    if (rank->id == 0) {
        must_be(HcclSymWinGetPeerPointer(window[1], 0, 1, &out), HCCL_E_NOT_FOUND);
        expect_text("has ended its window #2");
    }
    must(HcclCommSymWinRegister(rank->comm, memory, 64, &window[2], 1));
    must(HcclSymWinGetPeerPointer(window[2], 0, !rank->id, &out));
    rank_barrier(rank);
    if (rank->id == 1) {
        must(HcclCommDestroy(rank->comm));
        must_be(HcclSymWinGetPeerPointer(window[2], 0, 0, &out), HCCL_E_PARA); // it went along
    }
    rank_barrier(rank);
    if (rank->id == 0) {
        must(HcclCommSymWinRegister(rank->comm, memory, 64, &window[2], 1));
        must_be(HcclSymWinGetPeerPointer(window[2], 0, 1, &out), HCCL_E_REMOTE);
        must(HcclCommDestroy(rank->comm));
    }
    must(aclrtFree(memory));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(sym_window, says_what_a_peer_has_registered_instead, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = refuse_rank };
    run_all(&job, "refusals");
}

/* As many as fit at once; and any number one after the other, beside one that stays. */
static void many_rank(struct rank *rank)
{
    HcclCommSymWindow window[WINDOWS + 1] = { NULL };
    uint8_t *memory = NULL;
    void *out = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&memory, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < WINDOWS; i++) {
        must(HcclCommSymWinRegister(rank->comm, memory + i, 64, &window[i], 1));
    }
    must_be(HcclCommSymWinRegister(rank->comm, memory, 64, &window[WINDOWS], 1), HCCL_E_UNAVAIL);
    for (int i = 0; i < WINDOWS; i++) {
        must(HcclSymWinGetPeerPointer(window[i], 1, rank->id, &out));
        must_hold(out == memory + i + 1, "window %d", i);
    }
    rank_barrier(rank);
    for (int i = 1; i < WINDOWS; i++) {
        must(HcclCommSymWinDeregister(window[i]));
    }
    for (int i = 1; i < 1000; i++) {
        must(HcclCommSymWinRegister(rank->comm, memory + i, 64, &window[1], 1));
        must(HcclSymWinGetPeerPointer(window[1], 1, !rank->id, &out));
        rank_barrier(rank);
        must(HcclCommSymWinDeregister(window[1]));
    }
    must(HcclSymWinGetPeerPointer(window[0], 1, !rank->id, &out));
    rank_barrier(rank);
    must(aclrtFree(memory));
    rank_close(rank);
}

Test(sym_window, many_fit_at_once_and_any_number_in_turn, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = many_rank };
    run_all(&job, "many");
}

// ---- the buffer ----

/* It is device memory: copies, fills and operators take it, while others run through windows. */
static void buffer_rank(struct rank *rank)
{
    enum { COUNT = 50000 };
    uint32_t *buffer = NULL;
    uint32_t *again = NULL;
    uint64_t bytes = 0;
    uint32_t *staged = malloc(2 * COUNT * 4); // outside device memory, so it goes through windows
    must_hold(staged != NULL, "no memory");
    rank_open(rank);
    must_be(HcclGetHcclBuffer(NULL, (void **)&buffer, &bytes), HCCL_E_PTR);
    must_be(HcclGetHcclBuffer(rank->comm, NULL, &bytes), HCCL_E_PTR);
    must_be(HcclGetHcclBuffer(rank->comm, (void **)&buffer, NULL), HCCL_E_PTR);
    must_be(HcclGetHcclBuffer(&bytes, (void **)&buffer, &bytes), HCCL_E_PARA);
    must(HcclGetHcclBuffer(rank->comm, (void **)&buffer, &bytes));
    must(HcclGetHcclBuffer(rank->comm, (void **)&again, &bytes));
    must_hold(buffer == again && bytes == 2 << 20, "%llu bytes", (unsigned long long)bytes);
    must(aclrtMemset(buffer, bytes, 0x5a, bytes));
    for (uint32_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            staged[i] = word(rank->id, round, i);
        }
        must(HcclAllReduce(staged, staged + COUNT, COUNT, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
                rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
    }
    for (size_t i = 0; i < bytes / 4; i++) {
        must_hold(buffer[i] == 0x5a5a5a5a, "word %zu is %x", i, buffer[i]);
    }
    must(aclrtMemcpy(buffer, bytes, staged, COUNT * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    must(HcclAllReduce(buffer, buffer + COUNT, COUNT, HCCL_DATA_TYPE_UINT32, HCCL_REDUCE_SUM,
            rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    for (size_t i = 0; i < COUNT; i++) {
        must_hold(buffer[COUNT + i] == sum_of_words(rank->count, 4, i), "word %zu", i);
    }
    free(staged);
    must_be(aclrtFree(buffer), ACL_ERROR_RT_PARAM_INVALID); // it is the communicator's
    must_hold(strstr(rank_error_text(), "not the start") != NULL, "%s", rank_error_text());
    buffer[0] = 1;
    rank_close(rank);
}

Test(sym_window, the_communicators_buffer_is_device_memory_of_the_programs_own, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = buffer_rank };
    run_all(&job, "buffer");
}

// ---- registered memory ----

static void register_rank(struct rank *rank)
{
    static char elsewhere[64];
    uint32_t peers[2] = { 0, 1 };
    uint32_t strange = 2;
    uint8_t *memory = NULL;
    void *handle = NULL;
    void *second = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&memory, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    must_be(HcclCommRegister(NULL, memory, BYTES, &handle, 0), HCCL_E_PTR);
    must_be(HcclCommRegister(rank->comm, NULL, BYTES, &handle, 0), HCCL_E_PTR);
    must_be(HcclCommRegister(rank->comm, memory, BYTES, NULL, 0), HCCL_E_PTR);
    must_be(HcclCommRegister(rank->comm, memory, 0, &handle, 0), HCCL_E_PARA);
    must_be(HcclCommRegister(rank->comm, elsewhere, 64, &handle, 0), HCCL_E_PARA);
    must_be(HcclCommRegister(elsewhere, memory, BYTES, &handle, 0), HCCL_E_PARA);
    must(HcclCommRegister(rank->comm, memory, BYTES, &handle, 0));
    must(HcclCommRegister(rank->comm, memory, BYTES / 2, &second, 1));
    must_hold(handle != second, "one handle for two");
    must_be(HcclCommExchangeMem(rank->comm, NULL, peers, 2), HCCL_E_PTR);
    must_be(HcclCommExchangeMem(rank->comm, handle, NULL, 2), HCCL_E_PTR);
    must_be(HcclCommExchangeMem(NULL, handle, peers, 2), HCCL_E_PTR);
    must_be(HcclCommExchangeMem(rank->comm, handle, peers, 0), HCCL_E_PARA);
    must_be(HcclCommExchangeMem(rank->comm, handle, peers, 769), HCCL_E_PARA);
    must_be(HcclCommExchangeMem(rank->comm, handle, &strange, 1), HCCL_E_PARA);
    must_be(HcclCommExchangeMem(rank->comm, elsewhere, peers, 2), HCCL_E_PARA);
    must(HcclCommExchangeMem(rank->comm, handle, peers, 2));
    must_be(HcclCommDeregister(rank->comm, NULL), HCCL_E_PTR);
    must_be(HcclCommDeregister(NULL, handle), HCCL_E_PTR);
    must_be(HcclCommDeregister(rank->comm, elsewhere), HCCL_E_PARA);
    must(HcclCommDeregister(rank->comm, handle));
    must_be(HcclCommDeregister(rank->comm, handle), HCCL_E_PARA);
    must_be(HcclCommExchangeMem(rank->comm, handle, peers, 2), HCCL_E_PARA);
    must(HcclCommExchangeMem(rank->comm, second, peers, 1)); // left behind: goes with the rest
    must(aclrtFree(memory));
    rank_close(rank);
}

Test(sym_window, registered_memory_has_a_handle, .timeout = 120)
{
    struct rank_job job = { .ranks = 2, .fn = register_rank };
    run_all(&job, "registered");
}
