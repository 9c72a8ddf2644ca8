#include "support/aiv_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#define GUARD_BYTES 64
#define GUARD 0xa5

static enum rp_op_kind kind_of(enum oracle_op op)
{
    switch (op) {
    case ORACLE_ALL_REDUCE:
        return RP_OP_ALL_REDUCE;
    case ORACLE_REDUCE_SCATTER:
        return RP_OP_REDUCE_SCATTER;
    case ORACLE_ALL_GATHER:
        return RP_OP_ALL_GATHER;
    case ORACLE_BROADCAST:
        return RP_OP_BROADCAST;
    case ORACLE_REDUCE:
        return RP_OP_REDUCE;
    case ORACLE_SCATTER:
        return RP_OP_SCATTER;
    case ORACLE_ALLTOALL:
        return RP_OP_ALLTOALL;
    case ORACLE_ALL_GATHER_V:
        return RP_OP_ALL_GATHER_V;
    case ORACLE_REDUCE_SCATTER_V:
        return RP_OP_REDUCE_SCATTER_V;
    case ORACLE_OPS:
        break;
    }
    abort();
}

static size_t send_elements(const struct oracle_call *call)
{
    return oracle_send_bytes(call) / rp_dtype_bytes(call->dtype);
}

// Operators whose outputs are not the same bytes on every rank.
static bool differs_by_rank(const struct oracle_call *call)
{
    return call->op == ORACLE_REDUCE_SCATTER || call->op == ORACLE_SCATTER ||
           call->op == ORACLE_ALLTOALL || call->op == ORACLE_REDUCE_SCATTER_V;
}

// An all-to-all has no form in place, nor have operators with a table.
static bool has_one_buffer(const struct aiv_case *item)
{
    return item->call.op == ORACLE_BROADCAST ||
           (item->in_place && item->call.op != ORACLE_ALLTOALL && !oracle_has_table(item->call.op));
}

static struct rp_counts *make_counts(const struct oracle_call *call)
{
    const struct oracle_table table = oracle_table(call);
    struct rp_counts *counts = malloc(rp_counts_bytes(RP_COUNTS_TABLE, call->ranks));
    uint32_t wrong = 0;
    if (!rp_counts_fill(counts, call->ranks, table.count, table.place, UINT64_MAX, &wrong)) {
        abort();
    }
    return counts;
}

void aiv_case_print(const struct aiv_case *item)
{
    fprintf(stderr,
            "  %s, type %d, reduction %d, count %zu, root %u, %u ranks, %s, staged 0x%x, "
            "skew %u\n",
            rp_op_kind_name(kind_of(item->call.op)), (int)item->call.dtype, (int)item->call.reduce,
            item->call.count, item->call.root, item->call.ranks,
            item->in_place ? "in place" : "out of place", item->staged, item->skew);
}

// Every rank's input, one behind the other.
static uint8_t *all_inputs(const struct aiv_case *item, const void **sends)
{
    const size_t bytes = oracle_send_bytes(&item->call);
    uint8_t *inputs = malloc(item->call.ranks * bytes + 1);
    for (unsigned r = 0; r < item->call.ranks; r++) {
        uint8_t *input = inputs + r * bytes;
        oracle_fill(item->call.dtype, input, send_elements(&item->call),
                item->seed * FAKE_RANKS_MAX + r);
        sends[r] = input;
    }
    return inputs;
}

void aiv_case_expect(struct aiv_case *item)
{
    const void *sends[FAKE_RANKS_MAX];
    const size_t bytes = oracle_recv_bytes(&item->call);
    const unsigned outputs = differs_by_rank(&item->call) ? item->call.ranks : 1;
    uint8_t *inputs = all_inputs(item, sends);
    item->expected = malloc(outputs * bytes + 1);
    memset(item->expected, GUARD, outputs * bytes);
    for (unsigned r = 0; r < outputs; r++) {
        const unsigned rank = item->call.op == ORACLE_REDUCE ? item->call.root : r;
        oracle_collective(&item->call, sends, rank, item->expected + r * bytes);
    }
    free(inputs);
}

void aiv_case_free(struct aiv_case *item)
{
    free(item->expected);
    item->expected = NULL;
}

uint64_t aiv_case_arena_bytes(uint64_t bytes)
{
    return 2 * bytes + 3 * GUARD_BYTES + 2 * 64;
}

static bool is_staged(const struct aiv_run *run)
{
    return (run->item->staged >> run->rank & 1) != 0;
}

// Guard, send, guard, recv, guard; or guard, both, guard.
static void lay_out(struct aiv_run *run)
{
    const struct oracle_call *call = &run->item->call;
    const size_t send_bytes = oracle_send_bytes(call);
    const size_t recv_bytes = oracle_recv_bytes(call);
    const size_t larger = send_bytes > recv_bytes ? send_bytes : recv_bytes;
    const bool one_buffer = has_one_buffer(run->item);
    const size_t apart = one_buffer ? larger : send_bytes + GUARD_BYTES + recv_bytes;
    run->area_bytes = run->item->skew + 2 * GUARD_BYTES + apart;
    run->area = is_staged(run) ? malloc(run->area_bytes) : fake_comm_arena(run->comm, run->rank);
    uint8_t *first = run->area + run->item->skew + GUARD_BYTES;
    run->send = first;
    run->recv = one_buffer ? first : first + send_bytes + GUARD_BYTES;
    if (one_buffer && recv_bytes > send_bytes) {
        run->send = first + run->rank * send_bytes;
    }
    if (one_buffer && recv_bytes < send_bytes) {
        run->recv = first + run->rank * recv_bytes;
    }
}

static void fill_send(const struct aiv_run *run, uint8_t *send)
{
    const struct oracle_call *call = &run->item->call;
    if (oracle_sends(call, run->rank)) {
        oracle_fill(call->dtype, send, send_elements(call),
                run->item->seed * FAKE_RANKS_MAX + run->rank);
    }
}

void aiv_run_begin(
        struct aiv_run *run, struct fake_comm *comm, uint32_t rank, const struct aiv_case *item)
{
    *run = (struct aiv_run){ .item = item, .comm = comm, .rank = rank };
    run->offers = oracle_sends(&item->call, rank) || item->call.op == ORACLE_BROADCAST;
    run->takes = oracle_receives(&item->call, rank);
    lay_out(run);
    memset(run->area, GUARD, run->area_bytes);
    fill_send(run, run->send);
    const struct fake_call call = {
        .record = {
            .op = (uint16_t)kind_of(item->call.op),
            .dtype = (uint8_t)item->call.dtype,
            .reduce = oracle_reduces(item->call.op) ? (uint8_t)item->call.reduce : 0,
            .count = item->call.count,
            .root = oracle_rooted(item->call.op) ? item->call.root : 0,
        },
        .send = run->offers ? run->send : NULL,
        .recv = run->takes ? run->recv : NULL,
        .staged = is_staged(run),
    };
    const struct rp_record record = fake_call_record(comm, rank, &call);
    rp_aiv_begin(&run->op, &comm->lines[rank], comm->reduce, &comm->tuning, &record, call.send,
            call.recv);
    if (oracle_has_table(item->call.op)) {
        run->counts = make_counts(&item->call);
        rp_aiv_set_counts(&run->op, run->counts);
    }
}

// The whole area as it must be: everything that is not output as before.
static uint8_t *expected_area(const struct aiv_run *run)
{
    const struct oracle_call *call = &run->item->call;
    const size_t recv_bytes = oracle_recv_bytes(call);
    const size_t output = differs_by_rank(call) ? run->rank * recv_bytes : 0;
    uint8_t *area = malloc(run->area_bytes);
    memset(area, GUARD, run->area_bytes);
    fill_send(run, area + (run->send - run->area));
    if (run->takes) {
        memcpy(area + (run->recv - run->area), run->item->expected + output, recv_bytes);
    }
    return area;
}

void aiv_run_end(struct aiv_run *run)
{
    free(run->counts);
    if (is_staged(run)) {
        free(run->area);
    }
}

bool aiv_run_check(struct aiv_run *run)
{
    uint8_t *want = expected_area(run);
    bool ok = memcmp(want, run->area, run->area_bytes) == 0;
    if (!ok) {
        size_t at = 0;
        while (want[at] == run->area[at]) {
            at++;
        }
        const ptrdiff_t of_send = run->area + at - run->send;
        const ptrdiff_t of_recv = run->area + at - run->recv;
        fprintf(stderr,
                "rank %u: byte %td of the input, %td of the output, is 0x%02x, not 0x%02x\n",
                run->rank, of_send, of_recv, run->area[at], want[at]);
        aiv_case_print(run->item);
    }
    free(want);
    aiv_run_end(run);
    return ok;
}

bool aiv_case_run(struct fake_comm *comm, uint32_t rank, const struct aiv_case *item)
{
    struct aiv_run run;
    aiv_run_begin(&run, comm, rank, item);
    const rp_status st = fake_comm_finish(&run.op, comm->budget_bytes, 60);
    rp_lines_flush(&comm->lines[rank]);
    if (st != RP_OK) {
        fprintf(stderr, "rank %u: %s\n", rank, rp_status_name(st));
        aiv_case_print(item);
        return false;
    }
    return aiv_run_check(&run);
}
