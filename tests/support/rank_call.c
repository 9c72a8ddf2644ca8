#include "support/rank_call.h"

#include <stdlib.h>

#define VERSIONS_DEFAULT 13

const char *rank_call_name(enum oracle_op op)
{
    static const char *const names[] = {
        [ORACLE_ALL_REDUCE] = "HcclAllReduce",
        [ORACLE_REDUCE_SCATTER] = "HcclReduceScatter",
        [ORACLE_ALL_GATHER] = "HcclAllGather",
        [ORACLE_BROADCAST] = "HcclBroadcast",
        [ORACLE_REDUCE] = "HcclReduce",
        [ORACLE_SCATTER] = "HcclScatter",
        [ORACLE_ALLTOALL] = "HcclAlltoAll",
        [ORACLE_ALL_GATHER_V] = "HcclAllGatherV",
        [ORACLE_REDUCE_SCATTER_V] = "HcclReduceScatterV",
    };
    return names[op];
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    must_hold(memory != NULL, "no memory for %zu bytes of the test's own", bytes);
    return memory;
}

static uint64_t seed_of(uint64_t seed, unsigned version, unsigned rank)
{
    return seed * 1000003 + version * 131 + rank;
}

static void make_version(struct rank_call *c, unsigned version, uint64_t seed)
{
    void *sends[RANKS_MAX];
    const void *read[RANKS_MAX];
    const size_t count = c->send_bytes / rp_dtype_bytes(c->call.dtype);
    for (unsigned r = 0; r < c->call.ranks; r++) {
        sends[r] = allocate(c->send_bytes);
        read[r] = sends[r];
        oracle_fill(c->call.dtype, sends[r], count, seed_of(seed, version, r));
    }
    memcpy(c->inputs + version * c->send_bytes, sends[c->rank], c->send_bytes);
    uint8_t *expected = c->expected + version * c->recv_bytes;
    memset(expected, GUARD_POISON, c->recv_bytes);
    if (oracle_receives(&c->call, c->rank)) {
        oracle_collective(&c->call, read, c->rank, expected);
    } else if (c->in_place) {
        memcpy(expected, sends[c->rank], c->recv_bytes); // nothing is written
    }
    for (unsigned r = 0; r < c->call.ranks; r++) {
        free(sends[r]);
    }
}

static void place_buffers(struct rank_call *c, size_t skew)
{
    const size_t own = c->rank * (c->recv_bytes < c->send_bytes ? c->recv_bytes : c->send_bytes);
    const size_t first =
            c->recv_bytes > c->send_bytes && c->in_place ? c->recv_bytes : c->send_bytes;
    must(guard_create(&c->area[0], first, skew));
    if (!c->in_place) {
        must(guard_create(&c->area[1], c->recv_bytes, skew));
        c->send = c->area[0].data;
        c->recv = c->area[1].data;
        return;
    }
    c->send = c->area[0].data;
    c->recv = c->area[0].data;
    if (c->recv_bytes < c->send_bytes) {
        c->recv += own;
    } else if (c->recv_bytes > c->send_bytes) {
        c->send += own;
    }
}

void rank_call_open(struct rank_call *c, const struct rank *rank, const struct oracle_call *what,
        const struct rank_call_options *options)
{
    *c = (struct rank_call){
        .call = *what,
        .in_place =
                what->op == ORACLE_BROADCAST ||
                (options->in_place && what->op != ORACLE_ALLTOALL && !oracle_has_table(what->op)),
        .rank = rank->id,
        .versions = options->versions != 0 ? options->versions : VERSIONS_DEFAULT,
        .send_bytes = oracle_send_bytes(what),
        .recv_bytes = oracle_recv_bytes(what),
    };
    c->inputs = allocate(c->versions * c->send_bytes);
    c->expected = allocate(c->versions * c->recv_bytes);
    for (unsigned v = 0; v < c->versions; v++) {
        make_version(c, v, options->seed);
    }
    place_buffers(c, options->skew);
}

void rank_call_close(struct rank_call *c)
{
    must(guard_destroy(&c->area[0]));
    must(guard_destroy(&c->area[1]));
    free(c->inputs);
    free(c->expected);
}

void rank_call_load(struct rank_call *c, uint64_t version)
{
    guard_poison(&c->area[0]);
    if (!c->in_place) {
        guard_poison(&c->area[1]);
    }
    if (oracle_sends(&c->call, c->rank)) {
        memcpy(c->send, c->inputs + version % c->versions * c->send_bytes, c->send_bytes);
    }
}

HcclResult rank_call_issue(struct rank_call *c, HcclComm comm, aclrtStream stream)
{
    const HcclDataType dtype = (HcclDataType)c->call.dtype;
    const HcclReduceOp reduce = (HcclReduceOp)c->call.reduce;
    switch (c->call.op) {
    case ORACLE_ALL_REDUCE:
        return HcclAllReduce(c->send, c->recv, c->call.count, dtype, reduce, comm, stream);
    case ORACLE_REDUCE_SCATTER:
        return HcclReduceScatter(c->send, c->recv, c->call.count, dtype, reduce, comm, stream);
    case ORACLE_ALL_GATHER:
        return HcclAllGather(c->send, c->recv, c->call.count, dtype, comm, stream);
    case ORACLE_BROADCAST:
        return HcclBroadcast(c->recv, c->call.count, dtype, c->call.root, comm, stream);
    case ORACLE_REDUCE:
        return HcclReduce(
                c->send, c->recv, c->call.count, dtype, reduce, c->call.root, comm, stream);
    case ORACLE_SCATTER:
        return HcclScatter(oracle_sends(&c->call, c->rank) ? c->send : NULL, c->recv, c->call.count,
                dtype, c->call.root, comm, stream);
    case ORACLE_ALLTOALL:
        return HcclAlltoAll(
                c->send, c->call.count, dtype, c->recv, c->call.count, dtype, comm, stream);
    case ORACLE_ALL_GATHER_V: {
        const struct oracle_table table = oracle_table(&c->call);
        return HcclAllGatherV(c->send, table.count[c->rank], c->recv, table.count, table.place,
                dtype, comm, stream);
    }
    case ORACLE_REDUCE_SCATTER_V: {
        const struct oracle_table table = oracle_table(&c->call);
        return HcclReduceScatterV(c->send, table.count, table.place, c->recv, table.count[c->rank],
                dtype, reduce, comm, stream);
    }
    case ORACLE_OPS:
        break;
    }
    return HCCL_E_PARA;
}

static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && a[at] == b[at]) {
        at++;
    }
    return at;
}

// Whether the bytes are those of another version: then the collective read stale memory.
static int version_found(const struct rank_call *c)
{
    for (unsigned v = 0; v < c->versions; v++) {
        if (memcmp(c->recv, c->expected + v * c->recv_bytes, c->recv_bytes) == 0) {
            return (int)v;
        }
    }
    return -1;
}

void rank_call_check(const struct rank_call *c, uint64_t version, const char *when)
{
    const char *name = rank_call_name(c->call.op);
    const uint8_t *expected = c->expected + version % c->versions * c->recv_bytes;
    if (memcmp(c->recv, expected, c->recv_bytes) != 0) {
        const size_t at = first_difference(c->recv, expected, c->recv_bytes);
        must_hold(false,
                "%s, %s of %zu elements of type %d: output differs from byte %zu of %zu on "
                "(0x%02x instead of 0x%02x); version %d instead of %d",
                when, name, c->call.count, (int)c->call.dtype, at, c->recv_bytes, c->recv[at],
                expected[at], version_found(c), (int)(version % c->versions));
    }
    if (!c->in_place && oracle_sends(&c->call, c->rank)) {
        must_hold(memcmp(c->send, c->inputs + version % c->versions * c->send_bytes,
                          c->send_bytes) == 0,
                "%s, %s: the input was changed", when, name);
    }
    must_hold(guard_intact(&c->area[0]) && (c->in_place || guard_intact(&c->area[1])),
            "%s, %s: bytes beside a buffer were written", when, name);
}
