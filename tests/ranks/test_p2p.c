// Sends and receives: around a ring, across two streams, beside collectives, to oneself; eager,
// captured and replayed; as threads and as processes.

#include "support/messages.h"

static const char *const names[] = { "processes", "threads", "mixed" };

static unsigned next_of(const struct rank *rank)
{
    return (rank->id + 1) % rank->count;
}

static unsigned previous_of(const struct rank *rank)
{
    return (rank->id + rank->count - 1) % rank->count;
}

static HcclResult send_to(
        const struct rank *rank, void *buffer, size_t bytes, unsigned to, aclrtStream stream)
{
    return HcclSend(buffer, bytes, HCCL_DATA_TYPE_UINT8, to, rank->comm, stream);
}

static HcclResult receive_from(
        const struct rank *rank, void *buffer, size_t bytes, unsigned from, aclrtStream stream)
{
    return HcclRecv(buffer, bytes, HCCL_DATA_TYPE_UINT8, from, rank->comm, stream);
}

// ---- a ring ----

// Each rank receives on one stream and sends on another: with one alone, a ring of synchronous
// sends would wait for itself.
struct ring {
    uint8_t *out, *in;
    size_t bytes;
    aclrtStream second;
    aclrtEvent fork, join;
};

static void ring_issue(const struct rank *rank, const struct ring *ring)
{
    must(aclrtRecordEvent(ring->fork, rank->stream));
    must(aclrtStreamWaitEvent(ring->second, ring->fork));
    must(receive_from(rank, ring->in, ring->bytes, previous_of(rank), rank->stream));
    must(send_to(rank, ring->out, ring->bytes, next_of(rank), ring->second));
    must(aclrtRecordEvent(ring->join, ring->second));
    must(aclrtStreamWaitEvent(rank->stream, ring->join));
}

static void ring_load(const struct rank *rank, const struct ring *ring, uint64_t round)
{
    message_write(ring->out, rank->id, next_of(rank), round, ring->bytes);
    memset(ring->in, 0xa5, ring->bytes);
    ring->in[ring->bytes] = 0x77; // a byte too many would be seen
}

static void ring_check(
        const struct rank *rank, const struct ring *ring, uint64_t round, const char *when)
{
    message_check(ring->in, previous_of(rank), rank->id, round, ring->bytes, when);
    must_hold(ring->in[ring->bytes] == 0x77, "%s: a byte behind the buffer was written", when);
}

static void ring_rank(struct rank *rank)
{
    static const size_t sizes[] = { 1, 63, 4096, 100003, 5000001 };
    struct ring ring;
    rank_open(rank);
    must(aclrtCreateStream(&ring.second));
    must(aclrtCreateEventExWithFlag(&ring.fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&ring.join, ACL_EVENT_SYNC));
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        ring.bytes = sizes[s];
        ring.out = message_room(ring.bytes, s);
        ring.in = message_room(ring.bytes + 1, 2 * s + 1);
        for (uint64_t round = 0; round < 3; round++) {
            ring_load(rank, &ring, round);
            ring_issue(rank, &ring);
            must(aclrtSynchronizeStream(rank->stream));
            ring_check(rank, &ring, round, "eager");
        }
        capture_begin(rank->stream);
        ring_issue(rank, &ring);
        aclmdlRI graph = capture_end(rank->stream);
        for (uint64_t round = 3; round < (s < 3 ? 40 : 8); round++) {
            ring_load(rank, &ring, round);
            replay(graph, rank->stream);
            must(aclrtSynchronizeStream(rank->stream));
            ring_check(rank, &ring, round, "replayed");
        }
        must(aclmdlRIDestroy(graph));
    }
    rank_close(rank);
}

static void run_rings(unsigned ranks, enum rank_mode mode, const char *const *env)
{
    const struct rank_job job = { .ranks = ranks, .mode = mode, .fn = ring_rank, .env = env };
    assert_job(&job, "%u ranks, %s, %s", ranks, names[mode], env[0]);
}

Test(p2p, goes_around_a_ring)
{
    for (unsigned ranks = 1; ranks <= 8; ranks++) {
        run_rings(ranks, ranks % 2 != 0 ? RANK_PROCESSES : RANK_THREADS, HOST_TS);
    }
    run_rings(4, RANK_MIXED, HOST_TS);
}

// The kernels reach everything else; sends and receives run as HOST_TS beside them.
Test(p2p, runs_where_kernels_were_asked_for)
{
    run_rings(3, RANK_PROCESSES, AIV);
}

// ---- streams that cross ----

// Both ranks receive first and send then, on different streams of their own: neither call may keep
// the other one back. In one graph they would be chained as two collectives are.
static void crossing_rank(struct rank *rank)
{
    enum { BYTES = 300000 };
    const unsigned peer = 1 - rank->id;
    aclrtStream second = NULL;
    aclrtEvent fork, join;
    rank_open(rank);
    must(aclrtCreateStream(&second));
    must(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    must(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    uint8_t *out = message_room(BYTES, 0), *in = message_room(BYTES, 0);
    aclmdlRI graph = NULL;
    for (uint64_t round = 0; round < 20; round++) {
        message_write(out, rank->id, peer, round, BYTES);
        if (round == 4) {
            capture_begin(rank->stream);
        }
        if (round <= 4) {
            must(aclrtRecordEvent(fork, rank->stream));
            must(aclrtStreamWaitEvent(second, fork));
            must(receive_from(rank, in, BYTES, peer, rank->stream));
            must(send_to(rank, out, BYTES, peer, second));
            must(aclrtRecordEvent(join, second));
            must(aclrtStreamWaitEvent(rank->stream, join));
        }
        if (round == 4) {
            graph = capture_end(rank->stream);
        }
        if (round >= 4) {
            replay(graph, rank->stream);
        }
        must(aclrtSynchronizeStream(rank->stream));
        message_check(in, peer, rank->id, round, BYTES, "crossing");
    }
    must(aclmdlRIDestroy(graph));
    rank_close(rank);
}

Test(p2p, of_two_streams_may_cross)
{
    for (int mode = RANK_PROCESSES; mode <= RANK_THREADS; mode++) {
        const struct rank_job job = {
            .ranks = 2, .mode = (enum rank_mode)mode, .fn = crossing_rank, .env = HOST_TS
        };
        assert_job(&job, "%s", names[mode]);
    }
}

// ---- beside collectives ----

// A receive waits on one stream while sums go on on another; its send comes after them.
static void beside_rank(struct rank *rank)
{
    enum { BYTES = 70000, SUMS = 20, COUNT = 1000 };
    aclrtStream second = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&second));
    uint8_t *out = message_room(BYTES, 0), *in = message_room(BYTES, 0);
    int32_t *sum = (int32_t *)(void *)message_room(COUNT * sizeof(int32_t), 0);
    message_write(out, rank->id, next_of(rank), 0, BYTES);
    must(receive_from(rank, in, BYTES, previous_of(rank), second));
    for (int i = 0; i < COUNT; i++) {
        sum[i] = 1;
    }
    for (int i = 0; i < SUMS; i++) {
        must(HcclAllReduce(
                sum, sum, COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_MAX, rank->comm, rank->stream));
    }
    must(HcclAllReduce(
            sum, sum, COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, rank->comm, rank->stream));
    must(send_to(rank, out, BYTES, next_of(rank), rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    must(aclrtSynchronizeStream(second));
    for (int i = 0; i < COUNT; i++) {
        must_hold(sum[i] == (int32_t)rank->count, "sum %d is %d", i, sum[i]);
    }
    message_check(in, previous_of(rank), rank->id, 0, BYTES, "beside");
    rank_close(rank);
}

Test(p2p, runs_beside_collectives)
{
    const char *const *const envs[] = { HOST_TS, AIV };
    for (int e = 0; e < 2; e++) {
        for (unsigned ranks = 2; ranks <= 5; ranks++) {
            const struct rank_job job = { .ranks = ranks,
                .mode = ranks % 2 != 0 ? RANK_THREADS : RANK_PROCESSES,
                .fn = beside_rank,
                .env = envs[e] };
            assert_job(&job, "%u ranks, %s", ranks, envs[e][0]);
        }
    }
}

// ---- to oneself ----

static void self_rank(struct rank *rank)
{
    enum { BYTES = 200001, MANY = 5 };
    aclrtStream second = NULL;
    rank_open(rank);
    must(aclrtCreateStream(&second));
    uint8_t *out[MANY], *in[MANY];
    for (unsigned m = 0; m < MANY; m++) {
        out[m] = message_room(BYTES, m);
        in[m] = message_room(BYTES, 0);
        message_write(out[m], rank->id, rank->id, m, BYTES);
        must(send_to(rank, out[m], BYTES - m, rank->id, rank->stream));
    }
    must_hold(aclrtSynchronizeStreamWithTimeout(rank->stream, 20) != ACL_SUCCESS,
            "a send to oneself was over before its receive");
    for (unsigned m = 0; m < MANY; m++) {
        must(receive_from(rank, in[m], BYTES - m, rank->id, second));
    }
    must(aclrtSynchronizeStream(second));
    must(aclrtSynchronizeStream(rank->stream));
    for (unsigned m = 0; m < MANY; m++) {
        message_check(in[m], rank->id, rank->id, m, BYTES - m, "to oneself");
    }
    rank_close(rank);
}

Test(p2p, reaches_the_own_rank)
{
    for (unsigned ranks = 1; ranks <= 2; ranks++) {
        const struct rank_job job = { .ranks = ranks, .fn = self_rank, .env = HOST_TS };
        assert_job(&job, "%u ranks", ranks);
    }
}

// ---- memory and types ----

// Every type, from and to memory of every kind; those that cannot be reduced, too.
static void kinds_rank(struct rank *rank)
{
    enum { COUNT = 5000, BYTES = COUNT * 16 };
    static const struct {
        HcclDataType type;
        size_t bytes;
    } types[] = {
        { HCCL_DATA_TYPE_INT8, 1 },
        { HCCL_DATA_TYPE_INT16, 2 },
        { HCCL_DATA_TYPE_INT32, 4 },
        { HCCL_DATA_TYPE_FP16, 2 },
        { HCCL_DATA_TYPE_FP32, 4 },
        { HCCL_DATA_TYPE_INT64, 8 },
        { HCCL_DATA_TYPE_UINT64, 8 },
        { HCCL_DATA_TYPE_UINT8, 1 },
        { HCCL_DATA_TYPE_UINT16, 2 },
        { HCCL_DATA_TYPE_UINT32, 4 },
        { HCCL_DATA_TYPE_FP64, 8 },
        { HCCL_DATA_TYPE_BFP16, 2 },
        { HCCL_DATA_TYPE_HIF8, 1 },
    };
    rank_open(rank);
    void *rooms[2][3] = { { malloc(BYTES), NULL, message_room(BYTES, 3) },
        { malloc(BYTES), NULL, message_room(BYTES, 1) } };
    must(aclrtMallocHost(&rooms[0][1], BYTES));
    must(aclrtMallocHost(&rooms[1][1], BYTES));
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        for (unsigned kinds = 0; kinds < 9; kinds++) {
            const size_t bytes = COUNT * types[t].bytes;
            uint8_t *out = rooms[0][kinds % 3], *in = rooms[1][kinds / 3];
            if (rank->id == 0) {
                message_write(out, 0, 1, t * 9 + kinds, bytes);
                must(HcclSend(out, COUNT, types[t].type, 1, rank->comm, rank->stream));
            } else {
                must(HcclRecv(in, COUNT, types[t].type, 0, rank->comm, rank->stream));
            }
            must(aclrtSynchronizeStream(rank->stream));
            if (rank->id == 1) {
                message_check(in, 0, 1, t * 9 + kinds, bytes, "kinds");
            }
        }
    }
    rank_close(rank);
    free(rooms[0][0]);
    free(rooms[1][0]);
}

Test(p2p, moves_every_type_between_all_kinds_of_memory)
{
    const struct rank_job job = { .ranks = 2, .fn = kinds_rank, .env = HOST_TS };
    assert_job(&job, "kinds");
}

// ---- over 2^31 bytes ----

// One mapped page of bytes again and again stands for the source: only the place of each byte in
// the receiver's memory matters.
static void large_rank(struct rank *rank)
{
    const uint64_t count = (UINT64_C(1) << 31) + 12345;
    rank_open(rank);
    uint8_t *room = malloc(count); // of the sender, never written: all of it is one page of zeros
    must_hold(room != NULL, "no memory");
    if (rank->id == 0) {
        room[0] = 1;
        room[UINT32_C(1) << 31] = 2;
        room[count - 1] = 3;
        must(send_to(rank, room, count, 1, rank->stream));
    } else {
        must(receive_from(rank, room, count, 0, rank->stream));
    }
    must(aclrtSynchronizeStream(rank->stream));
    must_hold(room[0] == 1 && room[UINT32_C(1) << 31] == 2 && room[count - 1] == 3 &&
                      room[UINT32_C(1) << 30] == 0,
            "rank %u: bytes are in the wrong place", rank->id);
    free(room);
    rank_close(rank);
}

Test(p2p, counts_beyond_32_bits)
{
    if (!soaking()) {
        cr_skip("2 GiB: only where tests soak");
    }
    const struct rank_job job = { .ranks = 2, .fn = large_rank, .env = HOST_TS, .timeout_s = 300 };
    assert_job(&job, "large");
}

// ---- arguments ----

static void arguments_rank(struct rank *rank)
{
    rank_open(rank);
    uint8_t *buffer = message_room(64, 0);
    const HcclDataType type = HCCL_DATA_TYPE_UINT8;
    const HcclComm comm = rank->comm;
    const aclrtStream stream = rank->stream;
    // Nothing is looked at, and nothing pairs, where nothing is to be moved.
    must(HcclSend(NULL, 0, (HcclDataType)99, 77, NULL, NULL));
    must(HcclRecv(NULL, 0, (HcclDataType)99, 77, NULL, NULL));
    must(HcclSend(buffer, 0, type, 1 - rank->id, comm, stream));
    must(aclrtSynchronizeStream(stream));
    must_be(HcclSend(buffer, 1, type, 9, comm, NULL), HCCL_E_PTR);
    must_be(HcclSend(buffer, 1, type, 9, NULL, stream), HCCL_E_PTR);
    must_be(HcclSend(NULL, 1, type, 9, comm, stream), HCCL_E_PTR);
    must_be(HcclRecv(NULL, 1, type, 9, comm, stream), HCCL_E_PTR);
    must_hold(strstr(rank_error_text(), "recvBuf") != NULL, "the buffer is not named");
    must_be(HcclSend(buffer, UINT64_MAX, (HcclDataType)99, 9, comm, stream), HCCL_E_PARA);
    must_be(HcclSend(buffer, 1, (HcclDataType)99, 9, comm, stream), HCCL_E_NOT_SUPPORT);
    must_be(HcclSend(buffer, 1, type, 2, comm, stream), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "destRank 2") != NULL, "the rank is not named");
    must_be(HcclRecv(buffer, 1, type, 2, comm, stream), HCCL_E_PARA);
    must_hold(strstr(rank_error_text(), "srcRank 2") != NULL, "the rank is not named");
    must_be(HcclRecv(buffer, 1 << 20, type, 0, comm, stream), HCCL_E_PARA);
    // Refused calls have taken no number.
    if (rank->id == 0) {
        buffer[0] = 42;
        must(send_to(rank, buffer, 1, 1, stream));
    } else {
        must(receive_from(rank, buffer, 1, 0, stream));
    }
    must(aclrtSynchronizeStream(stream));
    must_hold(buffer[0] == 42, "got %d", buffer[0]);
    rank_close(rank);
}

Test(p2p, checks_its_arguments_in_order)
{
    const struct rank_job job = { .ranks = 2, .fn = arguments_rank, .env = HOST_TS };
    assert_job(&job, "arguments");
}

static void aiv_only_rank(struct rank *rank)
{
    HcclCommConfig config;
    HcclComm comm = NULL;
    rank_open(rank);
    HcclCommConfigInit(&config);
    config.hcclOpExpansionMode = 4;
    must(rank_join(rank, 1, rank->count, rank->id, &config, &comm));
    uint8_t *buffer = message_room(64, 0);
    HcclSendRecvItem item = { HCCL_SEND, buffer, 1, HCCL_DATA_TYPE_INT8, 0 };
    must_be(HcclSend(buffer, 1, HCCL_DATA_TYPE_INT8, 0, comm, rank->stream), HCCL_E_NOT_SUPPORT);
    must_be(HcclRecv(buffer, 1, HCCL_DATA_TYPE_INT8, 0, comm, rank->stream), HCCL_E_NOT_SUPPORT);
    must_be(HcclBatchSendRecv(&item, 1, comm, rank->stream), HCCL_E_NOT_SUPPORT);
    must_hold(strstr(rank_error_text(), "BatchSendRecv") != NULL, "the operator is not named");
    must(HcclCommDestroy(comm));
    rank_close(rank);
}

Test(p2p, has_no_kernel)
{
    const struct rank_job job = { .ranks = 2, .fn = aiv_only_rank, .env = AIV };
    assert_job(&job, "AIV only");
}
