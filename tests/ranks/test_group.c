// Groups: what is recorded between HcclGroupStart and HcclGroupEnd, eager and captured; from one
// thread a rank, and from one thread that is all ranks.

#include <pthread.h>

#include "base/alloc.h"
#include "support/messages.h"

static const char *const names[] = { "processes", "threads", "mixed" };

#define U8 HCCL_DATA_TYPE_UINT8
#define I32 HCCL_DATA_TYPE_INT32
#define SUM HCCL_REDUCE_SUM

static void sends(const struct rank *rank, void *buffer, size_t bytes, unsigned to)
{
    must(HcclSend(buffer, bytes, U8, to, rank->comm, rank->stream));
}

static void receives(const struct rank *rank, void *buffer, size_t bytes, unsigned from)
{
    must(HcclRecv(buffer, bytes, U8, from, rank->comm, rank->stream));
}

// ---- sends and receives ----

// Everyone sends to everyone, itself too, on one stream: alone each of these calls would wait for
// one that is behind its peer's. The ranks record in different orders.
static void exchange(const struct rank *rank, uint8_t *out, uint8_t *in, size_t bytes)
{
    must(HcclGroupStart());
    for (unsigned i = 0; i < rank->count; i++) {
        const unsigned to = (rank->id + i) % rank->count;
        if (rank->id % 2 == 0) {
            sends(rank, out + to * bytes, bytes, to);
        }
        receives(rank, in + to * bytes, bytes, to);
        if (rank->id % 2 != 0) {
            sends(rank, out + to * bytes, bytes, to);
        }
    }
    must(HcclGroupEnd());
}

static void exchange_load(
        const struct rank *rank, uint8_t *out, uint8_t *in, size_t bytes, uint64_t round)
{
    for (unsigned q = 0; q < rank->count; q++) {
        message_write(out + q * bytes, rank->id, q, round, bytes);
    }
    memset(in, 0x5a, rank->count * bytes);
}

static void exchange_check(
        const struct rank *rank, const uint8_t *in, size_t bytes, uint64_t round, const char *when)
{
    for (unsigned q = 0; q < rank->count; q++) {
        message_check(in + q * bytes, q, rank->id, round, bytes, when);
    }
}

static void exchange_rank(struct rank *rank)
{
    static const size_t sizes[] = { 1, 4097, 300001 };
    rank_open(rank);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const size_t bytes = sizes[s];
        uint8_t *out = message_room(rank->count * bytes, s);
        uint8_t *in = message_room(rank->count * bytes, 1);
        for (uint64_t round = 0; round < 4; round++) {
            exchange_load(rank, out, in, bytes, round);
            exchange(rank, out, in, bytes);
            exchange_check(rank, in, bytes, round, "eager"); // the end has waited
        }
        exchange_load(rank, out, in, bytes, 4);
        capture_begin(rank->stream);
        exchange(rank, out, in, bytes);
        aclmdlRI graph = capture_end(rank->stream);
        must_hold(in[0] == 0x5a, "a recorded group ran");
        for (uint64_t round = 5; round < 15; round++) {
            exchange_load(rank, out, in, bytes, round);
            replay(graph, rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
            exchange_check(rank, in, bytes, round, "replayed");
        }
        must(aclmdlRIDestroy(graph));
    }
    rank_close(rank);
}

Test(group, exchanges_between_all_ranks)
{
    for (unsigned ranks = 1; ranks <= 5; ranks++) {
        for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
            const struct rank_job job = { .ranks = ranks,
                .mode = (enum rank_mode)mode,
                .fn = exchange_rank,
                .env = mode == RANK_THREADS ? AIV : HOST_TS };
            assert_job(&job, "%u ranks, %s", ranks, names[mode]);
        }
    }
}

Test(group, exchanges_between_nodes)
{
    const struct rank_job job = {
        .ranks = 4, .mode = RANK_PROCESSES, .fn = exchange_rank, .env = HOST_TS, .node = "aabb"
    };
    assert_job(&job, "two nodes");
}

// ---- with collectives, nested, arrays copied ----

#define COUNT 1000

struct mixed {
    int32_t *sum, *reduced, *gathered, *swapped, *outs;
    uint8_t *out, *in;
};

static void mixed_open(const struct rank *rank, struct mixed *data)
{
    const size_t bytes = COUNT * sizeof(int32_t);
    data->sum = (int32_t *)(void *)message_room(bytes, 0);
    data->reduced = (int32_t *)(void *)message_room(bytes, 0);
    data->gathered = (int32_t *)(void *)message_room(rank->count * bytes, 0);
    data->swapped = (int32_t *)(void *)message_room(rank->count * bytes, 0);
    data->outs = (int32_t *)(void *)message_room(rank->count * bytes, 0);
    data->out = message_room(COUNT, 3);
    data->in = message_room(COUNT, 1);
}

static void mixed_load(const struct rank *rank, const struct mixed *data, uint64_t round)
{
    const unsigned next = (rank->id + 1) % rank->count;
    for (size_t i = 0; i < COUNT; i++) {
        data->sum[i] = (int32_t)(rank->id + i + round);
        data->reduced[i] = -1;
    }
    for (size_t i = 0; i < rank->count * (size_t)COUNT; i++) {
        data->outs[i] = (int32_t)(rank->id * 1000000 + i + round);
        data->gathered[i] = data->swapped[i] = -1;
    }
    message_write(data->out, rank->id, next, round, COUNT);
    memset(data->in, 0, COUNT);
}

static void mixed_issue(const struct rank *rank, const struct mixed *data)
{
    const unsigned next = (rank->id + 1) % rank->count;
    const unsigned previous = (rank->id + rank->count - 1) % rank->count;
    const uint32_t last = rank->count - 1;
    uint64_t counts[RANKS_MAX], places[RANKS_MAX], matrix[RANKS_MAX * RANKS_MAX];
    HcclSendRecvItem items[2] = {
        { HCCL_SEND, data->out, COUNT, U8, next },
        { HCCL_RECV, data->in, COUNT, U8, previous },
    };
    bool inside = false;
    must(HcclGroupStart());
    must(HcclBatchSendRecv(items, 2, rank->comm, rank->stream));
    memset(items, 0xff, sizeof(items));
    must(HcclReduce(
            data->sum, data->reduced, COUNT, I32, HCCL_REDUCE_MAX, last, rank->comm, rank->stream));
    must(HcclGroupStart());
    for (unsigned q = 0; q < rank->count; q++) {
        counts[q] = COUNT - q;
        places[q] = (uint64_t)q * COUNT;
    }
    must(HcclAllGatherV(data->outs, counts[rank->id], data->gathered, counts, places, I32,
            rank->comm, rank->stream));
    memset(counts, 0xff, sizeof(counts));
    memset(places, 0xff, sizeof(places));
    for (unsigned q = 0; q < rank->count * rank->count; q++) {
        matrix[q] = 10;
    }
    must(HcclAlltoAllVC(data->outs, matrix, I32, data->swapped, I32, rank->comm, rank->stream));
    memset(matrix, 0, sizeof(matrix));
    must(HcclGroupEnd());
    must(HcclGroupStatusGet(&inside));
    must_hold(inside, "the inner end closed the outer group");
    must(HcclAllReduce(data->sum, data->sum, COUNT, I32, SUM, rank->comm, rank->stream));
    must(HcclAllReduce(data->sum, data->sum, 0, I32, SUM, rank->comm, rank->stream));
    must_hold(data->reduced[0] == -1 && data->gathered[0] == -1, "the inner end issued");
    must(HcclGroupEnd());
    must(HcclGroupStatusGet(&inside));
    must_hold(!inside, "the end left a group open");
}

static void mixed_check(const struct rank *rank, const struct mixed *data, uint64_t round)
{
    const unsigned n = rank->count;
    const unsigned previous = (rank->id + n - 1) % n;
    for (size_t i = 0; i < COUNT; i++) {
        const int32_t sum = (int32_t)(n * (n - 1) / 2 + n * (i + round));
        const int32_t most = rank->id == n - 1 ? (int32_t)(n - 1 + i + round) : -1;
        must_hold(data->sum[i] == sum, "sum %zu is %d, not %d", i, data->sum[i], sum);
        must_hold(data->reduced[i] == most, "max %zu is %d, not %d", i, data->reduced[i], most);
    }
    for (unsigned q = 0; q < n; q++) {
        for (size_t i = 0; i < COUNT; i++) {
            const int32_t got = data->gathered[q * (size_t)COUNT + i];
            const int32_t value = (int32_t)(q * 1000000 + i + round);
            must_hold(got == (i < COUNT - q ? value : -1), "element %zu of %u is %d", i, q, got);
        }
        for (size_t i = 0; i < 10; i++) {
            const int32_t got = data->swapped[q * 10 + i];
            const int32_t value = (int32_t)(q * 1000000 + rank->id * 10 + i + round);
            must_hold(got == value, "swapped %zu of %u is %d, not %d", i, q, got, value);
        }
    }
    message_check(data->in, previous, rank->id, round, COUNT, "beside collectives");
}

static void mixed_rank(struct rank *rank)
{
    struct mixed data;
    rank_open(rank);
    mixed_open(rank, &data);
    for (uint64_t round = 0; round < 5; round++) {
        mixed_load(rank, &data, round);
        mixed_issue(rank, &data);
        mixed_check(rank, &data, round);
    }
    mixed_load(rank, &data, 0);
    capture_begin(rank->stream);
    mixed_issue(rank, &data);
    aclmdlRI graph = capture_end(rank->stream);
    for (uint64_t round = 5; round < 15; round++) {
        mixed_load(rank, &data, round);
        replay(graph, rank->stream);
        must(aclrtSynchronizeStream(rank->stream));
        mixed_check(rank, &data, round);
    }
    must(aclmdlRIDestroy(graph));
    rank_close(rank);
}

Test(group, mixes_collectives_and_messages)
{
    for (unsigned ranks = 1; ranks <= 4; ranks++) {
        const enum rank_mode mode = ranks % 2 == 0 ? RANK_PROCESSES : RANK_THREADS;
        struct rank_job job = { .ranks = ranks, .mode = mode, .fn = mixed_rank, .env = AIV };
        assert_job(&job, "AIV, %u ranks", ranks);
        job.env = HOST_TS;
        assert_job(&job, "HOST_TS, %u ranks", ranks);
    }
}

// ---- several communicators ----

// Ranks that record the communicators in opposite orders, all on one stream.
static void communicators_rank(struct rank *rank)
{
    enum { COMMS = 3, BYTES = 20000 };
    HcclComm comm[COMMS];
    uint8_t *out[COMMS], *in[COMMS];
    const unsigned next = (rank->id + 1) % rank->count;
    const unsigned previous = (rank->id + rank->count - 1) % rank->count;
    rank_open(rank);
    comm[0] = rank->comm;
    for (unsigned c = 1; c < COMMS; c++) {
        must(rank_join(rank, c, rank->count, rank->id, NULL, &comm[c]));
    }
    for (unsigned c = 0; c < COMMS; c++) {
        out[c] = message_room(BYTES, c);
        in[c] = message_room(BYTES, 0);
    }
    for (uint64_t round = 0; round < 10; round++) {
        must(HcclGroupStart());
        for (unsigned i = 0; i < COMMS; i++) {
            const unsigned c = rank->id % 2 == 0 ? i : COMMS - 1 - i;
            message_write(out[c], rank->id, next, round * COMMS + c, BYTES);
            must(HcclSend(out[c], BYTES, U8, next, comm[c], rank->stream));
            must(HcclRecv(in[c], BYTES, U8, previous, comm[c], rank->stream));
        }
        must(HcclGroupEnd());
        for (unsigned c = 0; c < COMMS; c++) {
            message_check(in[c], previous, rank->id, round * COMMS + c, BYTES, "of three");
        }
    }
    must(HcclGroupStart());
    for (unsigned c = 1; c < COMMS; c++) {
        must(HcclCommDestroy(comm[c]));
    }
    must(HcclGroupEnd());
    rank_close(rank);
}

Test(group, orders_communicators_alike_on_all_ranks)
{
    for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
        const struct rank_job job = {
            .ranks = 3, .mode = (enum rank_mode)mode, .fn = communicators_rank, .env = HOST_TS
        };
        assert_job(&job, "%s", names[mode]);
    }
}

// ---- one thread is all ranks ----

#define ALL 4

struct all {
    HcclComm comm[ALL];
    aclrtStream stream[ALL];
    uint8_t *out[ALL], *in[ALL];
    int32_t *sum[ALL];
};

static void all_join(const struct rank *rank, struct all *all)
{
    HcclRootInfo info;
    must(aclrtSetDevice(rank->device));
    must(HcclGetRootInfo(&info));
    must(HcclGroupStart());
    for (unsigned r = 0; r < ALL; r++) {
        all->comm[r] = NULL;
        must(aclrtSetDevice(rank->device + (int32_t)r));
        must(HcclCommInitRootInfo(ALL, &info, r, &all->comm[r]));
        must_hold(all->comm[r] == NULL, "a recorded init made a communicator");
    }
    memset(&info, 0, sizeof(info));
    must(HcclGroupEnd());
    for (unsigned r = 0; r < ALL; r++) {
        uint32_t id = ALL;
        must(HcclGetRankId(all->comm[r], &id));
        must_hold(id == r, "rank %u is rank %u", r, id);
    }
}

static void all_exchange(struct all *all, uint64_t round)
{
    enum { BYTES = 50000 };
    for (unsigned r = 0; r < ALL; r++) {
        const unsigned next = (r + 1) % ALL;
        message_write(all->out[r], r, next, round, BYTES);
        for (int i = 0; i < COUNT; i++) {
            all->sum[r][i] = (int32_t)r + i;
        }
    }
    must(HcclGroupStart());
    for (unsigned r = 0; r < ALL; r++) {
        must(HcclAllReduce(
                all->sum[r], all->sum[r], COUNT, I32, SUM, all->comm[r], all->stream[r]));
        must(HcclSend(all->out[r], BYTES, U8, (r + 1) % ALL, all->comm[r], all->stream[r]));
        must(HcclRecv(all->in[r], BYTES, U8, (r + ALL - 1) % ALL, all->comm[r], all->stream[r]));
    }
    must(HcclGroupEnd());
    for (unsigned r = 0; r < ALL; r++) {
        message_check(all->in[r], (r + ALL - 1) % ALL, r, round, BYTES, "one thread");
        for (int i = 0; i < COUNT; i++) {
            must_hold(all->sum[r][i] == ALL * (ALL - 1) / 2 + ALL * i, "sum %d of %u", i, r);
        }
    }
}

static void all_rank(struct rank *rank)
{
    struct all all;
    for (unsigned r = 0; r < ALL; r++) {
        must(aclrtSetDevice(rank->device + (int32_t)r));
        must(aclrtCreateStream(&all.stream[r]));
        all.out[r] = message_room(50000, r);
        all.in[r] = message_room(50000, 0);
        all.sum[r] = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    }
    for (uint64_t round = 0; round < 3; round++) {
        all_join(rank, &all);
        for (uint64_t i = 0; i < 5; i++) {
            all_exchange(&all, round * 5 + i);
        }
        must(HcclGroupStart());
        for (unsigned r = 0; r < ALL; r++) {
            must(HcclCommDestroy(all.comm[r]));
        }
        must_be(HcclCommDestroy(all.comm[0]), HCCL_E_PARA);
        must_be(HcclGroupEnd(), HCCL_E_PARA); // and nothing was destroyed
        must(HcclGroupStart());
        for (unsigned r = 0; r < ALL; r++) {
            must(HcclCommDestroy(all.comm[r]));
        }
        must(HcclGroupEnd());
        uint32_t id = 0;
        must_be(HcclGetRankId(all.comm[0], &id), HCCL_E_PARA);
    }
}

Test(group, lets_one_thread_be_all_ranks)
{
    struct rank_job job = { .ranks = 1, .mode = RANK_PROCESSES, .fn = all_rank, .env = HOST_TS };
    assert_job(&job, "HOST_TS");
    job.env = AIV;
    assert_job(&job, "AIV");
}

// The ranks of two communicators, made in turn.
static void pairs_rank(struct rank *rank)
{
    HcclRootInfo info[2];
    HcclComm comm[4];
    char name[4][COMM_NAME_MAX_LENGTH];
    must(aclrtSetDevice(rank->device));
    must(HcclGetRootInfo(&info[0]));
    must(HcclGetRootInfo(&info[1]));
    must(HcclGroupStart());
    for (unsigned i = 0; i < 4; i++) {
        must(aclrtSetDevice(rank->device + (int32_t)i / 2));
        must(HcclCommInitRootInfo(2, &info[i % 2], i / 2, &comm[i]));
    }
    must(HcclGroupEnd());
    for (unsigned i = 0; i < 4; i++) {
        uint32_t id = 2;
        must(HcclGetRankId(comm[i], &id));
        must_hold(id == i / 2, "call %u made rank %u", i, id);
        must(HcclGetCommName(comm[i], name[i]));
    }
    must_hold(strcmp(name[0], name[2]) == 0 && strcmp(name[1], name[3]) == 0 &&
                      strcmp(name[0], name[1]) != 0,
            "%s %s %s %s", name[0], name[1], name[2], name[3]);
    must(HcclGroupStart());
    for (unsigned i = 0; i < 4; i++) {
        must(HcclCommDestroy(comm[i]));
    }
    must(HcclGroupEnd());
}

Test(group, makes_several_communicators)
{
    const struct rank_job job = {
        .ranks = 1, .mode = RANK_PROCESSES, .fn = pairs_rank, .env = HOST_TS
    };
    assert_job(&job, "two of two");
}

// A rank that cannot join leaves none of the group's communicators.
static void half_rank(struct rank *rank)
{
    HcclRootInfo info;
    HcclComm comm[3] = { NULL, NULL, NULL };
    char text[2048];
    must(aclrtSetDevice(rank->device));
    must(HcclGetRootInfo(&info));
    must(HcclGroupStart());
    for (unsigned r = 0; r < 3; r++) {
        must(aclrtSetDevice(rank->device + (int32_t)r));
        must(HcclCommInitRootInfo(3, &info, r == 2 ? 1 : r, &comm[r])); // rank 1 twice
    }
    const HcclResult got = HcclGroupEnd();
    snprintf(text, sizeof(text), "%s", rank_error_text());
    must_be(got, HCCL_E_PARA);
    must_hold(strstr(text, "HcclGroupEnd: call ") != NULL, "%s", text);
    for (unsigned r = 0; r < 3; r++) {
        must_hold(comm[r] == NULL, "communicator %u is left", r);
    }
    must(HcclCommInitAll(2, (int32_t[]){ rank->device, rank->device + 1 }, comm));
    must(HcclCommDestroy(comm[0]));
    must(HcclCommDestroy(comm[1]));
}

Test(group, makes_all_communicators_or_none)
{
    const struct rank_job job = {
        .ranks = 1, .mode = RANK_PROCESSES, .fn = half_rank, .env = HOST_TS
    };
    assert_job(&job, "rank 1 twice");
}

// ---- what goes wrong ----

static void must_say(HcclResult got, HcclResult expected, const char *words)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s", rank_error_text());
    must_hold(got == expected, "answers %d, not %d: %s", (int)got, (int)expected, text);
    must_hold(strstr(text, words) != NULL, "\"%s\" is not in: %s", words, text);
}

static void errors_rank(struct rank *rank)
{
    bool inside = true;
    rank_open(rank);
    const unsigned other = 1 - rank->id;
    int32_t *data = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    int32_t *more = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    data[0] = 5;
    must_say(HcclGroupEnd(), HCCL_E_NOT_SUPPORT, "HcclGroupStart");
    must_say(HcclGroupStatusGet(NULL), HCCL_E_PTR, "isGroupEnabled");
    must(HcclGroupStatusGet(&inside));
    must_hold(!inside, "a group is open");
    must(HcclGroupStart());
    must(HcclGroupEnd()); // of nothing

    // Found at the end: nothing is issued, which the other rank relies on too.
    must(HcclGroupStart());
    must(HcclAllReduce(data, data, COUNT, I32, SUM, rank->comm, rank->stream));
    must(HcclSend(more, COUNT, I32, other, rank->comm, rank->stream));
    must(HcclReduce(data, more, COUNT, I32, SUM, 7, rank->comm, rank->stream));
    must(HcclRecv(more, COUNT, I32, 9, rank->comm, rank->stream));
    must_say(HcclGroupEnd(), HCCL_E_PARA, "HcclGroupEnd: call 3, HcclReduce: root 7");
    must_hold(data[0] == 5, "something was issued");
    must(HcclGroupStart());
    must(HcclSend(more, COUNT, I32, other, rank->comm, rank->stream));
    must(HcclRecv(more, COUNT, I32, 9, rank->comm, rank->stream));
    must_say(HcclGroupEnd(), HCCL_E_PARA, "HcclGroupEnd: call 2, HcclRecv: srcRank 9");
    must(HcclGroupStart());
    must(HcclAllReduce(data, NULL, COUNT, I32, SUM, rank->comm, rank->stream));
    must_say(HcclGroupEnd(), HCCL_E_PTR, "HcclGroupEnd: call 1, HcclAllReduce: recvBuf");

    // Found at the call: the group is void too.
    must(HcclGroupStart());
    must(HcclAllReduce(data, data, COUNT, I32, SUM, rank->comm, rank->stream));
    must_say(HcclAllReduce(data, data, COUNT, I32, SUM, &inside, rank->stream), HCCL_E_PARA,
            "HcclAllReduce");
    must_say(HcclGroupEnd(), HCCL_E_PARA, "HcclGroupEnd: call 2, HcclAllReduce");
    must_hold(data[0] == 5, "something was issued");

    // And everything works afterwards.
    must(HcclGroupStart());
    must(HcclAllReduce(data, data, COUNT, I32, SUM, rank->comm, rank->stream));
    must(HcclGroupEnd());
    must_hold(data[0] == 10, "the sum is %d", data[0]);
    rank_close(rank);
}

Test(group, issues_nothing_when_a_call_is_wrong)
{
    for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
        const struct rank_job job = {
            .ranks = 2, .mode = (enum rank_mode)mode, .fn = errors_rank, .env = HOST_TS
        };
        assert_job(&job, "%s", names[mode]);
    }
}

// What fails while it runs is told by the end too, on every rank.
static void mismatch_rank(struct rank *rank)
{
    rank_open(rank);
    int32_t *data = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    must(HcclGroupStart());
    must(HcclAllReduce(data, data, COUNT - rank->id, I32, SUM, rank->comm, rank->stream));
    must(HcclBarrier(rank->comm, rank->stream));
    must_say(HcclGroupEnd(), HCCL_E_PARA, "HcclGroupEnd: ");
    must(HcclGroupStart());
    must(HcclBarrier(rank->comm, rank->stream)); // it has failed for good
    must_say(HcclGroupEnd(), HCCL_E_PARA, "HcclGroupEnd: call 1, HcclBarrier: ");
    must(HcclCommDestroy(rank->comm));
}

Test(group, tells_what_failed_as_it_ran)
{
    for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
        const struct rank_job job = {
            .ranks = 2, .mode = (enum rank_mode)mode, .fn = mismatch_rank, .env = HOST_TS
        };
        assert_job(&job, "%s", names[mode]);
    }
}

// Sends of one communicator on a stream that captures and on one that does not cannot be one batch.
static void streams_rank(struct rank *rank)
{
    aclrtStream second = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&second));
    uint8_t *out = message_room(COUNT, 0), *in = message_room(COUNT, 0);
    capture_begin(rank->stream);
    must(HcclGroupStart());
    must(HcclSend(out, COUNT, U8, rank->id, rank->comm, rank->stream));
    must(HcclRecv(in, COUNT, U8, rank->id, rank->comm, second));
    must_say(HcclGroupEnd(), HCCL_E_PARA, "call 2, HcclRecv: stream ");
    must(aclmdlRIDestroy(capture_end(rank->stream)));

    // On two that run they are one batch on the first.
    for (int i = 0; i < COUNT; i++) {
        out[i] = (uint8_t)(i * 7);
    }
    must(HcclGroupStart());
    must(HcclSend(out, COUNT, U8, rank->id, rank->comm, rank->stream));
    must(HcclRecv(in, COUNT, U8, rank->id, rank->comm, second));
    must(HcclGroupEnd());
    must_hold(memcmp(in, out, COUNT) == 0, "a message to oneself over two streams is wrong");
    rank_close(rank);
}

Test(group, of_streams_that_differ)
{
    const struct rank_job job = {
        .ranks = 2, .mode = RANK_THREADS, .fn = streams_rank, .env = HOST_TS
    };
    assert_job(&job, "two streams");
}

// Each allocation in turn fails: at its call, or at the end, which tells of either.
static void scarce_rank(struct rank *rank)
{
    const uint64_t counts[] = { COUNT }, places[] = { 0 };
    rank_open(rank);
    int32_t *sum = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    int32_t *all = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    uint8_t *out = message_room(COUNT, 0), *in = message_room(COUNT, 0);
    memset(out, 7, COUNT);
    must(HcclGroupStart());
    must(HcclGroupEnd());
    bool failed = true;
    unsigned failures = 0;
    for (int64_t n = 0; failed; n++) {
        memset(in, 0, COUNT);
        must(HcclGroupStart());
        rp_alloc_fail_after(n);
        int first =
                (int)HcclAllGatherV(sum, COUNT, all, counts, places, I32, rank->comm, rank->stream);
        const int sent = (int)HcclSend(out, COUNT, U8, 0, rank->comm, rank->stream);
        const int received = (int)HcclRecv(in, COUNT, U8, 0, rank->comm, rank->stream);
        const int end = (int)HcclGroupEnd();
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        first = first != 0 ? first : sent != 0 ? sent : received;
        must_hold(first == 0 || end == first, "a call answers %d, the end %d", first, end);
        must_hold(end == 0 || end == HCCL_E_MEMORY, "allocation %d: %d: %s", (int)n, end,
                rank_error_text());
        must_hold(end != 0 || in[COUNT - 1] == 7, "the end did not wait for the message");
        failures += end != 0;
    }
    must_hold(failures >= 6, "%u allocations could fail", failures);
    rank_close(rank);
}

Test(group, says_when_memory_is_short)
{
    const struct rank_job job = {
        .ranks = 1, .mode = RANK_PROCESSES, .fn = scarce_rank, .env = HOST_TS
    };
    assert_job(&job, "no memory");
}

// ---- a thread that ends inside a group ----

static void *leave_open(void *arg)
{
    const struct rank *rank = arg;
    static int32_t data[COUNT];
    const uint64_t counts[] = { 1, 1 }, places[] = { 0, 1 };
    must(aclrtSetDevice(rank->device));
    must(HcclGroupStart());
    must(HcclAllReduce(data, data, COUNT, I32, SUM, rank->comm, rank->stream));
    must(HcclAllGatherV(data, 1, data + 10, counts, places, I32, rank->comm, rank->stream));
    must(HcclSend(data, COUNT, I32, 1 - rank->id, rank->comm, rank->stream));
    must(HcclCommDestroy(rank->comm));
    return NULL;
}

static void left_rank(struct rank *rank)
{
    pthread_t thread;
    bool inside = true;
    rank_open(rank);
    must_hold(pthread_create(&thread, NULL, leave_open, rank) == 0, "no thread");
    pthread_join(thread, NULL);
    must(HcclGroupStatusGet(&inside));
    must_hold(!inside, "another thread's group is this one's");
    must(HcclBarrier(rank->comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    rank_close(rank);
}

Test(group, left_open_by_a_thread_is_dropped)
{
    const struct rank_job job = {
        .ranks = 2, .mode = RANK_PROCESSES, .fn = left_rank, .env = HOST_TS
    };
    assert_job(&job, "left open");
}
