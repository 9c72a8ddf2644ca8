#include "support/oracle_collective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/oracle_reduce.h"

static size_t element_bytes(enum rp_dtype dtype)
{
    switch (dtype) {
    case RP_DTYPE_INT128:
        return 16;
    case RP_DTYPE_INT64:
    case RP_DTYPE_UINT64:
    case RP_DTYPE_FP64:
        return 8;
    case RP_DTYPE_INT32:
    case RP_DTYPE_UINT32:
    case RP_DTYPE_FP32:
        return 4;
    case RP_DTYPE_INT16:
    case RP_DTYPE_UINT16:
    case RP_DTYPE_FP16:
    case RP_DTYPE_BFP16:
        return 2;
    case RP_DTYPE_INT8:
    case RP_DTYPE_UINT8:
    case RP_DTYPE_HIF8:
    case RP_DTYPE_FP8E4M3:
    case RP_DTYPE_FP8E5M2:
    case RP_DTYPE_FP8E8M0:
        return 1;
    }
    abort();
}

bool oracle_reduces(enum oracle_op op)
{
    return op == ORACLE_ALL_REDUCE || op == ORACLE_REDUCE_SCATTER || op == ORACLE_REDUCE ||
           op == ORACLE_REDUCE_SCATTER_V;
}

bool oracle_has_table(enum oracle_op op)
{
    return op == ORACLE_ALL_GATHER_V || op == ORACLE_REDUCE_SCATTER_V;
}

struct oracle_table oracle_table(const struct oracle_call *call)
{
    struct oracle_table table = { .extent = call->count % 3 };
    if (call->ranks > ORACLE_RANKS_MAX) {
        abort();
    }
    const unsigned largest = (unsigned)(call->count % call->ranks);
    for (unsigned i = 0; i < call->ranks; i++) {
        const unsigned r = call->ranks - 1 - i; // the last rank's block comes first
        const size_t shares[] = { call->count / 2, 0, call->count - call->count / 3 };
        table.count[r] = r == largest ? call->count : shares[(r + call->count) % 3];
        table.place[r] = table.extent;
        table.extent += table.count[r] + r % 3;
    }
    table.extent -= call->count == 0 ? table.extent : 0; // 0 is the end of rank 0's block
    return table;
}

bool oracle_rooted(enum oracle_op op)
{
    return op == ORACLE_BROADCAST || op == ORACLE_REDUCE || op == ORACLE_SCATTER;
}

bool oracle_sends(const struct oracle_call *call, unsigned rank)
{
    const bool one_source = call->op == ORACLE_BROADCAST || call->op == ORACLE_SCATTER;
    return !one_source || call->root == rank;
}

bool oracle_receives(const struct oracle_call *call, unsigned rank)
{
    return call->op != ORACLE_REDUCE || call->root == rank;
}

size_t oracle_send_bytes(const struct oracle_call *call)
{
    const size_t one = call->count * element_bytes(call->dtype);
    const bool blocks = call->op == ORACLE_REDUCE_SCATTER || call->op == ORACLE_SCATTER ||
                        call->op == ORACLE_ALLTOALL;
    if (call->op == ORACLE_REDUCE_SCATTER_V) {
        return oracle_table(call).extent * element_bytes(call->dtype);
    }
    return blocks ? one * call->ranks : one;
}

size_t oracle_recv_bytes(const struct oracle_call *call)
{
    const size_t one = call->count * element_bytes(call->dtype);
    const bool blocks = call->op == ORACLE_ALL_GATHER || call->op == ORACLE_ALLTOALL;
    if (call->op == ORACLE_ALL_GATHER_V) {
        return oracle_table(call).extent * element_bytes(call->dtype);
    }
    return blocks ? one * call->ranks : one;
}

void oracle_collective(
        const struct oracle_call *call, const void *const *sends, unsigned rank, void *dst)
{
    const size_t element = element_bytes(call->dtype);
    const size_t one = call->count * element;
    if (call->count == 0) {
        return;
    }
    switch (call->op) {
    case ORACLE_ALL_REDUCE:
        oracle_reduce(call->dtype, call->reduce, sends, call->ranks, dst, call->count);
        break;
    case ORACLE_REDUCE_SCATTER: {
        const void **blocks = calloc(call->ranks, sizeof(*blocks));
        for (unsigned r = 0; r < call->ranks; r++) {
            blocks[r] = (const char *)sends[r] + rank * one;
        }
        oracle_reduce(call->dtype, call->reduce, blocks, call->ranks, dst, call->count);
        free(blocks);
        break;
    }
    case ORACLE_ALL_GATHER:
        for (unsigned r = 0; r < call->ranks; r++) {
            memcpy((char *)dst + r * one, sends[r], one);
        }
        break;
    case ORACLE_BROADCAST:
        memcpy(dst, sends[call->root], one);
        break;
    case ORACLE_REDUCE:
        if (rank == call->root) {
            oracle_reduce(call->dtype, call->reduce, sends, call->ranks, dst, call->count);
        }
        break;
    case ORACLE_SCATTER:
        memcpy(dst, (const char *)sends[call->root] + rank * one, one);
        break;
    case ORACLE_ALLTOALL:
        for (unsigned r = 0; r < call->ranks; r++) {
            memcpy((char *)dst + r * one, (const char *)sends[r] + rank * one, one);
        }
        break;
    case ORACLE_ALL_GATHER_V: {
        const struct oracle_table table = oracle_table(call);
        for (unsigned r = 0; r < call->ranks; r++) {
            memcpy((char *)dst + table.place[r] * element, sends[r], table.count[r] * element);
        }
        break;
    }
    case ORACLE_REDUCE_SCATTER_V: {
        const struct oracle_table table = oracle_table(call);
        const void *blocks[ORACLE_RANKS_MAX];
        for (unsigned r = 0; r < call->ranks; r++) {
            blocks[r] = (const char *)sends[r] + table.place[rank] * element;
        }
        if (table.count[rank] != 0) {
            oracle_reduce(call->dtype, call->reduce, blocks, call->ranks, dst, table.count[rank]);
        }
        break;
    }
    case ORACLE_OPS:
        break;
    }
}

static uint64_t next_random(uint64_t *state)
{
    // xorshift64*
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

// Eight significant bits, an exponent from -6 to 5: sums of such numbers round, products of a few
// do not overflow.
static double random_value(uint64_t *state)
{
    const uint64_t bits = next_random(state) >> 16;
    const double magnitude = ldexp(128.0 + (double)(bits % 128), (int)(bits / 128 % 12) - 13);
    return (bits / 4096) % 2 != 0 ? -magnitude : magnitude;
}

void oracle_fill(enum rp_dtype dtype, void *buffer, size_t count, uint64_t seed)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    const size_t bytes = element_bytes(dtype);
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)buffer + i * bytes;
        if (dtype == RP_DTYPE_FP64) {
            const double value = random_value(&state) * (1.0 + 0x1p-50);
            memcpy(at, &value, bytes);
        } else if (dtype == RP_DTYPE_FP32) {
            const float value = (float)(random_value(&state) * (1.0 + 0x1p-21));
            memcpy(at, &value, bytes);
        } else if (dtype == RP_DTYPE_FP16 || dtype == RP_DTYPE_BFP16) {
            const uint16_t value = oracle_half_round(dtype, random_value(&state));
            memcpy(at, &value, bytes);
        } else {
            for (size_t b = 0; b < bytes; b += 8) {
                const uint64_t value = next_random(&state);
                memcpy(at + b, &value, bytes - b < 8 ? bytes - b : 8);
            }
        }
    }
}
