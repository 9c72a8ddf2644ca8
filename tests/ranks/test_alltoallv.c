// AlltoAllV and AlltoAllVC: what comes out, against an oracle that knows a matrix and nothing else,
// for random matrices on 1 to 8 ranks, in every expansion, eager, captured and replayed, from any
// memory; and counts of two ranks that differ, which are an error on every rank that names both.

#include "support/rank_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define KERNELS ENV("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_BUFFSIZE=1", "REPRISE_DEVICE_MEMORY=256M")
#define MESH ENV("HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=1", "REPRISE_DEVICE_MEMORY=256M")
#define PAIRWISE                                                                        \
    ENV("HCCL_OP_EXPANSION_MODE=HOST", "HCCL_BUFFSIZE=1", "REPRISE_DEVICE_MEMORY=256M", \
            "HCCL_ALGO=level0:pairwise")

static const char *const *const forms[] = { KERNELS, MESH, PAIRWISE };
static const char *const form_names[] = { "AIV", "mesh", "pairwise" };
static const unsigned rank_counts[] = { 1, 2, 3, 5, 8 };

// The same numbers on all ranks.
static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * UINT64_C(2685821657736338717) >> 20) % below;
}

static uint64_t seeded(uint64_t seed, uint64_t more)
{
    return (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (more + 1) * UINT64_C(0xbf58476d1ce4e5b9);
}

// Byte `i` of what `from` has for `to`.
static uint8_t byte_of(uint64_t version, unsigned from, unsigned to, uint64_t i)
{
    return (uint8_t)(i * 131 + (i >> 8) * 7 + from * 37 + to * 101 + version * 59);
}

// How much pairs of a call have for each other.
enum shape {
    NOTHING,
    SPARSE, // and one rank that has nothing at all
    SMALL,
    MEDIUM,
    LOPSIDED, // one pair has much more than the others, and needs many rounds
    EQUAL,
    SHAPES,
};

enum memory {
    DEVICE,
    PINNED,
    FOREIGN,
    MEMORIES,
};

struct call {
    bool by_matrix;
    HcclDataType dtype;
    uint64_t element; // bytes
    unsigned ranks, rank;
    uint64_t matrix[RANKS_MAX * RANKS_MAX];
    uint64_t send_count[RANKS_MAX], send_place[RANKS_MAX];
    uint64_t recv_count[RANKS_MAX], recv_place[RANKS_MAX];
    uint64_t send_bytes, recv_bytes;
    enum memory memory;
    unsigned skew;
    uint8_t *block[2]; // what was allocated
    uint8_t *send, *recv;
};

static uint64_t draw_count(uint64_t *state, enum shape shape, unsigned from, unsigned to)
{
    switch (shape) {
    case NOTHING:
        return 0;
    case SPARSE:
        return from == 1 || to == 1 || draw(state, 3) != 0 ? 0 : draw(state, 40);
    case SMALL:
        return draw(state, 10);
    case MEDIUM:
        return draw(state, 4) == 0 ? 0 : draw(state, 5000);
    case LOPSIDED:
        return from == 0 && to == 1 ? 100003 : draw(state, 300);
    case EQUAL:
    case SHAPES:
        break;
    }
    return 257;
}

// Blocks in another order than the ranks', with gaps; what is empty lies anywhere.
static uint64_t place_blocks(
        uint64_t *state, unsigned ranks, const uint64_t *count, uint64_t *place, bool packed)
{
    uint64_t extent = 0;
    const unsigned first = packed ? 0 : (unsigned)draw(state, ranks);
    for (unsigned i = 0; i < ranks; i++) {
        const unsigned q = (first + i) % ranks;
        extent += packed ? 0 : draw(state, 4);
        place[q] = count[q] == 0 && !packed ? draw(state, UINT64_C(1) << 40) : extent;
        extent += count[q];
    }
    uint64_t end = 0; // of the last block, without the gap behind it
    for (unsigned q = 0; q < ranks; q++) {
        end = count[q] != 0 ? rp_max_u64(end, place[q] + count[q]) : end;
    }
    return end;
}

static uint8_t *allocate(const struct call *call, uint64_t bytes, uint8_t **block)
{
    void *memory = NULL;
    const uint64_t whole = bytes + call->skew;
    *block = NULL;
    if (bytes == 0) {
        return NULL; // a rank with nothing has no buffer
    }
    switch (call->memory) {
    case DEVICE:
        must(aclrtMalloc(&memory, whole, ACL_MEM_MALLOC_HUGE_FIRST));
        break;
    case PINNED:
        must(aclrtMallocHost(&memory, whole));
        break;
    default:
        memory = malloc(whole);
        must_hold(memory != NULL, "malloc");
        break;
    }
    *block = memory;
    return *block + call->skew;
}

static void free_block(const struct call *call, uint8_t *block)
{
    if (block == NULL) {
        return;
    }
    if (call->memory == DEVICE) {
        must(aclrtFree(block));
    } else if (call->memory == PINNED) {
        must(aclrtFreeHost(block));
    } else {
        free(block);
    }
}

static void open_call(struct call *call, const struct rank *rank, uint64_t seed, enum shape shape)
{
    static const uint64_t bytes[] = { 1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 1, 1, 1, 1, 1 };
    uint64_t common = seeded(seed, 0), own = seeded(seed, rank->id + 7);
    *call = (struct call){ .ranks = rank->count, .rank = rank->id };
    call->by_matrix = draw(&common, 3) == 0;
    do {
        call->dtype = (HcclDataType)draw(&common, HCCL_DATA_TYPE_BFP16 + 2);
    } while ((size_t)call->dtype >= RP_ARRAY_LENGTH(bytes));
    call->element = bytes[call->dtype];
    for (unsigned i = 0; i < rank->count; i++) {
        for (unsigned j = 0; j < rank->count; j++) {
            call->matrix[i * rank->count + j] = draw_count(&common, shape, i, j);
        }
    }
    for (unsigned q = 0; q < rank->count; q++) {
        call->send_count[q] = call->matrix[rank->id * rank->count + q];
        call->recv_count[q] = call->matrix[q * rank->count + rank->id];
    }
    const bool packed = call->by_matrix;
    call->send_bytes = call->element *
                       place_blocks(&own, rank->count, call->send_count, call->send_place, packed);
    call->recv_bytes = call->element *
                       place_blocks(&own, rank->count, call->recv_count, call->recv_place, packed);
    call->memory = (enum memory)(draw(&common, 2) == 0 ? DEVICE : draw(&own, MEMORIES));
    call->skew = (unsigned)draw(&own, 64);
    call->send = allocate(call, call->send_bytes, &call->block[0]);
    call->recv = allocate(call, call->recv_bytes, &call->block[1]);
}

static void close_call(struct call *call)
{
    free_block(call, call->block[0]);
    free_block(call, call->block[1]);
}

static void fill_block(uint8_t *buffer, const struct call *call, uint64_t place, uint64_t count,
        uint64_t version, unsigned from, unsigned to)
{
    for (uint64_t i = 0; i < count * call->element; i++) {
        buffer[place * call->element + i] = byte_of(version, from, to, i);
    }
}

static void load(struct call *call, uint64_t version)
{
    if (call->send != NULL) {
        memset(call->send, 0x11, call->send_bytes);
    }
    if (call->recv != NULL) {
        memset(call->recv, GUARD_POISON, call->recv_bytes);
    }
    for (unsigned q = 0; q < call->ranks; q++) {
        fill_block(
                call->send, call, call->send_place[q], call->send_count[q], version, call->rank, q);
    }
}

static HcclResult issue(const struct call *call, HcclComm comm, aclrtStream stream)
{
    // The arrays are the caller's again once the call returns.
    struct call copy = *call;
    HcclResult result;
    if (call->by_matrix) {
        result = HcclAlltoAllVC(
                copy.send, copy.matrix, copy.dtype, copy.recv, copy.dtype, comm, stream);
    } else {
        result = HcclAlltoAllV(copy.send, copy.send_count, copy.send_place, copy.dtype, copy.recv,
                copy.recv_count, copy.recv_place, copy.dtype, comm, stream);
    }
    memset(&copy, 0xff, sizeof(copy));
    return result;
}

static void check_call(const struct call *call, uint64_t version, const char *when)
{
    uint8_t *expected = malloc(call->recv_bytes + 1);
    must_hold(expected != NULL, "malloc");
    memset(expected, GUARD_POISON, call->recv_bytes);
    for (unsigned q = 0; q < call->ranks; q++) {
        fill_block(
                expected, call, call->recv_place[q], call->recv_count[q], version, q, call->rank);
    }
    for (uint64_t i = 0; i < call->recv_bytes; i++) {
        must_hold(call->recv[i] == expected[i],
                "%s, %s, type %d, memory %d: byte %llu of %llu is 0x%02x, not 0x%02x", when,
                call->by_matrix ? "VC" : "V", (int)call->dtype, (int)call->memory,
                (unsigned long long)i, (unsigned long long)call->recv_bytes, call->recv[i],
                expected[i]);
    }
    free(expected);
}

// ---- eager ----

struct settings {
    uint64_t seed;
    unsigned calls;
};

static void eager_rank(struct rank *rank)
{
    const struct settings *settings = rank->arg;
    rank_open(rank);
    for (unsigned i = 0; i < settings->calls; i++) {
        struct call call;
        const uint64_t seed = settings->seed * 1000 + i;
        open_call(&call, rank, seed, (enum shape)(i % SHAPES));
        for (uint64_t version = 0; version < 2; version++) {
            load(&call, version);
            must(issue(&call, rank->comm, rank->stream));
            must(aclrtSynchronizeStream(rank->stream));
            check_call(&call, version, "eager");
        }
        close_call(&call);
    }
    rank_close(rank);
}

static void run(rank_fn *fn, const struct settings *settings, unsigned ranks, size_t form, int mode)
{
    const struct rank_job job = {
        .ranks = ranks,
        .mode = (enum rank_mode)mode,
        .fn = fn,
        .arg = settings,
        .env = forms[form],
    };
    assert_job(&job, "%s, %u ranks, mode %d, seed %llu", form_names[form], ranks, mode,
            (unsigned long long)settings->seed);
}

static void run_everywhere(rank_fn *fn, unsigned calls)
{
    uint64_t seed = 1;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rank_counts); i++) {
        for (int mode = RANK_PROCESSES; mode <= RANK_MIXED; mode++) {
            for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
                const struct settings settings = { .seed = seed++, .calls = calls };
                run(fn, &settings, rank_counts[i], form, mode);
            }
        }
    }
}

Test(alltoallv, random_matrices_eager, .timeout = 280)
{
    run_everywhere(eager_rank, soaking() ? 120 : 24);
}

// ---- captured ----

#define IN_GRAPH 7

// A graph of several operators, with the arrays gone and eager calls between the replays.
static void replay_rank(struct rank *rank)
{
    const struct settings *settings = rank->arg;
    struct call calls[IN_GRAPH], between;
    rank_open(rank);
    open_call(&between, rank, settings->seed * 77, SMALL);
    for (unsigned i = 0; i < IN_GRAPH; i++) {
        open_call(&calls[i], rank, settings->seed * 100 + i, (enum shape)(i % SHAPES));
    }
    capture_begin(rank->stream);
    for (unsigned i = 0; i < IN_GRAPH; i++) {
        must(issue(&calls[i], rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned version = 0; version < settings->calls; version++) {
        for (unsigned i = 0; i < IN_GRAPH; i++) {
            load(&calls[i], version + i);
        }
        load(&between, version);
        replay(graph, rank->stream);
        must(issue(&between, rank->comm, rank->stream));
        must(aclrtSynchronizeStream(rank->stream));
        for (unsigned i = 0; i < IN_GRAPH; i++) {
            check_call(&calls[i], version + i, "replayed");
        }
        check_call(&between, version, "between replays");
    }
    must(aclmdlRIDestroy(graph));
    for (unsigned i = 0; i < IN_GRAPH; i++) {
        close_call(&calls[i]);
    }
    close_call(&between);
    rank_close(rank);
}

Test(alltoallv, random_matrices_replayed, .timeout = 280)
{
    run_everywhere(replay_rank, 3);
}

// ---- counts that differ ----

struct uneven {
    bool captured;
    uint64_t big; // of the other blocks
};

// Rank 2 sends 5 elements to rank 0, which expects 7.
static void uneven_rank(struct rank *rank)
{
    const struct uneven *how = rank->arg;
    uint64_t count[2][RANKS_MAX], place[RANKS_MAX];
    uint8_t *send = NULL, *recv = NULL;
    HcclResult error = HCCL_SUCCESS;
    aclmdlRI graph = NULL;
    rank_open(rank);
    for (unsigned q = 0; q < rank->count; q++) {
        count[0][q] = count[1][q] = how->big;
        place[q] = q * (how->big + 7);
    }
    if (rank->id == 2) {
        count[0][0] = 5;
    } else if (rank->id == 0) {
        count[1][2] = 7;
    }
    const uint64_t bytes = rank->count * (how->big + 7) * sizeof(float);
    must(aclrtMalloc((void **)&send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&recv, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(recv, GUARD_POISON, bytes);
    if (how->captured) {
        capture_begin(rank->stream);
    }
    must(HcclAlltoAllV(send, count[0], place, HCCL_DATA_TYPE_FP32, recv, count[1], place,
            HCCL_DATA_TYPE_FP32, rank->comm, rank->stream));
    if (how->captured) {
        graph = capture_end(rank->stream);
        replay(graph, rank->stream);
    }
    rank_barrier(rank);
    const uint64_t began = rank_now_ms();
    (void)rank_error_text();
    const int got = (int)aclrtSynchronizeStream(rank->stream);
    must_hold(got == 507000, "synchronising answers %d", got);
    must_hold(rank_now_ms() - began < 1000, "it took %llu ms",
            (unsigned long long)(rank_now_ms() - began));
    const char *text = rank_error_text();
    must_hold(strstr(text, "rank 2 sends 5 elements to rank 0, which expects 7") != NULL,
            "\"%s\" does not say it", text);
    must(HcclGetCommAsyncError(rank->comm, &error));
    must_hold(error == HCCL_E_PARA, "the asynchronous error is %d", (int)error);
    for (uint64_t i = 0; rank->id == 0 && i < 7 * sizeof(float); i++) {
        must_hold(
                recv[place[2] * sizeof(float) + i] == GUARD_POISON, "byte %d was written", (int)i);
    }
    rank_barrier(rank); // nobody leaves before all have looked
    if (graph != NULL) {
        must(aclmdlRIDestroy(graph));
    }
    must(aclrtFree(send));
    must(aclrtFree(recv));
    rank_close(rank);
}

Test(alltoallv, counts_that_differ_are_named_on_every_rank, .timeout = 280)
{
    static const struct uneven rows[] = { { false, 3 }, { true, 3 }, { false, 40000 },
        { true, 40000 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
            for (unsigned ranks = 3; ranks <= 5; ranks += 2) {
                const struct rank_job job = {
                    .ranks = ranks, .fn = uneven_rank, .arg = &rows[i], .env = forms[form]
                };
                assert_job(&job, "row %zu, %s, %u ranks", i, form_names[form], ranks);
            }
        }
    }
}

// A matrix that is not the same everywhere, and one operator for the other.
static void differs_rank(struct rank *rank)
{
    const bool other_operator = *(const bool *)rank->arg;
    uint64_t matrix[RANKS_MAX * RANKS_MAX], place[RANKS_MAX] = { 0 };
    uint8_t *send = NULL, *recv = NULL;
    rank_open(rank);
    must(aclrtMalloc((void **)&send, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    must(aclrtMalloc((void **)&recv, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    for (unsigned i = 0; i < rank->count * rank->count; i++) {
        matrix[i] = 2;
    }
    if (rank->id == 1 && other_operator) {
        must(HcclAlltoAllV(send, matrix, place, HCCL_DATA_TYPE_INT8, recv, matrix, place,
                HCCL_DATA_TYPE_INT8, rank->comm, rank->stream));
    } else {
        matrix[rank->count * 2] += rank->id == 1; // what rank 2 sends to rank 0
        must(HcclAlltoAllVC(send, matrix, HCCL_DATA_TYPE_INT8, recv, HCCL_DATA_TYPE_INT8,
                rank->comm, rank->stream));
    }
    (void)rank_error_text();
    must_be(aclrtSynchronizeStream(rank->stream), 507000);
    const char *text = rank_error_text();
    must_hold(strstr(text, "AlltoAllVC") != NULL &&
                      strstr(text, other_operator ? "AlltoAllV " : "largest count 3") != NULL,
            "\"%s\" does not name both calls", text);
    rank_barrier(rank);
    must(aclrtFree(send));
    must(aclrtFree(recv));
    rank_close(rank);
}

Test(alltoallv, matrices_and_operators_that_differ, .timeout = 100)
{
    static const bool rows[] = { false, true };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        for (size_t form = 0; form < RP_ARRAY_LENGTH(forms); form++) {
            const struct rank_job job = {
                .ranks = 3, .fn = differs_rank, .arg = &rows[i], .env = forms[form]
            };
            assert_job(&job, "row %zu, %s", i, form_names[form]);
        }
    }
}
