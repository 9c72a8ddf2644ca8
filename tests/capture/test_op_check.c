// What the Hccl calls answer to arguments that are wrong, and in which order they look. One
// process: a communicator of one rank, and for what needs more one over two of its devices.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "base/alloc.h"
#include "base/util.h"

#define BYTES 4096
#define FP32 HCCL_DATA_TYPE_FP32
#define SUM HCCL_REDUCE_SUM

static HcclComm comm;
static aclrtStream stream;
static void *send, *recv;
static int somewhere; // an address that is no handle

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s: %s", #call, error_text())
#define code(call, expected) \
    cr_assert(eq(int, (int)(call), (expected)), "%s: %s", #call, error_text())

static const char *error_text(void)
{
    const char *text = aclGetRecentErrMsg();
    return text == NULL ? "" : text;
}

static void setup(void)
{
    int32_t device = 0;
    setenv("REPRISE_DEVICE_MEMORY", "256M", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&stream));
    ok(aclrtMalloc(&send, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc(&recv, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(HcclCommInitAll(1, &device, &comm));
}

static void teardown(void)
{
    ok(HcclCommDestroy(comm));
    ok(aclrtFree(send));
    ok(aclrtFree(recv));
    ok(aclrtDestroyStream(stream));
    ok(aclrtResetDevice(0));
}

TestSuite(op_check, .init = setup, .fini = teardown, .timeout = 60);

// One call with all that an operator can take.
struct call {
    int op;
    void *send, *recv;
    uint64_t count;
    int dtype, reduce;
    uint32_t root;
    HcclComm comm;
    aclrtStream stream;
};

enum {
    ALL_REDUCE,
    REDUCE_SCATTER,
    REDUCE,
    ALL_GATHER, // from here on nothing is reduced
    BROADCAST,
    SCATTER,
    ALLTOALL,
    OPS,
};

static struct call good(int op)
{
    return (struct call){ .op = op,
        .send = send,
        .recv = recv,
        .count = 8,
        .dtype = FP32,
        .reduce = SUM,
        .comm = comm,
        .stream = stream };
}

static int run(const struct call *c)
{
    const HcclDataType dtype = (HcclDataType)c->dtype;
    const HcclReduceOp reduce = (HcclReduceOp)c->reduce;
    switch (c->op) {
    case ALL_REDUCE:
        return HcclAllReduce(c->send, c->recv, c->count, dtype, reduce, c->comm, c->stream);
    case REDUCE_SCATTER:
        return HcclReduceScatter(c->send, c->recv, c->count, dtype, reduce, c->comm, c->stream);
    case ALL_GATHER:
        return HcclAllGather(c->send, c->recv, c->count, dtype, c->comm, c->stream);
    case REDUCE:
        return HcclReduce(c->send, c->recv, c->count, dtype, reduce, c->root, c->comm, c->stream);
    case SCATTER:
        return HcclScatter(c->send, c->recv, c->count, dtype, c->root, c->comm, c->stream);
    case ALLTOALL:
        return HcclAlltoAll(c->send, c->count, dtype, c->recv, c->count, dtype, c->comm, c->stream);
    default:
        return HcclBroadcast(c->send, c->count, dtype, c->root, c->comm, c->stream);
    }
}

// The call is refused, and the sentence has the word.
static void refused(const struct call *c, int expected, const char *word)
{
    (void)aclGetRecentErrMsg();
    cr_assert(eq(int, run(c), expected), "op %d", c->op);
    const char *text = error_text();
    cr_assert(strstr(text, word) != NULL, "op %d: \"%s\" does not name %s", c->op, text, word);
}

Test(op_check, a_good_call_is_taken)
{
    for (int op = 0; op < OPS; op++) {
        const struct call c = good(op);
        cr_assert(eq(int, run(&c), HCCL_SUCCESS));
    }
    ok(HcclBarrier(comm, stream));
    ok(aclrtSynchronizeStream(stream));
}

Test(op_check, a_count_of_0_is_success_whatever_else_is_wrong)
{
    for (int op = 0; op < OPS; op++) {
        const struct call c = { .op = op, .dtype = 99, .reduce = 99, .root = 99 };
        cr_assert(eq(int, run(&c), HCCL_SUCCESS));
    }
}

Test(op_check, null_pointers_come_first)
{
    for (int op = 0; op < OPS; op++) {
        struct call c = good(op);
        c.count = UINT64_MAX;
        c.dtype = 99;
        c.root = op == SCATTER ? 0 : 99; // its input is the root's alone
        c.send = NULL;
        refused(&c, HCCL_E_PTR, op == BROADCAST ? "buf" : "sendBuf");
        c.send = send;
        c.recv = op == BROADCAST ? recv : NULL;
        if (op != BROADCAST) {
            refused(&c, HCCL_E_PTR, "recvBuf");
        }
        c.comm = NULL;
        refused(&c, HCCL_E_PTR, "comm");
        c.comm = comm;
        c.stream = NULL;
        refused(&c, HCCL_E_PTR, "stream");
    }
    code(HcclBarrier(NULL, stream), HCCL_E_PTR);
    code(HcclBarrier(comm, NULL), HCCL_E_PTR);
}

Test(op_check, handles_that_are_none_are_refused)
{
    aclrtStream gone = NULL;
    ok(aclrtCreateStream(&gone));
    ok(aclrtDestroyStream(gone));
    for (int op = 0; op < OPS; op++) {
        struct call c = good(op);
        c.comm = &somewhere;
        refused(&c, HCCL_E_PARA, "comm");
        c = good(op);
        c.stream = &somewhere;
        refused(&c, HCCL_E_PARA, "stream");
        c.stream = gone;
        refused(&c, HCCL_E_PARA, "stream");
    }
    code(HcclBarrier(&somewhere, stream), HCCL_E_PARA);
    code(HcclBarrier(comm, &somewhere), HCCL_E_PARA);
}

Test(op_check, counts_are_limited_by_their_bytes)
{
    static const struct {
        int dtype;
        uint64_t most;
    } rows[] = {
        { HCCL_DATA_TYPE_INT8, UINT64_C(1) << 62 },
        { FP32, UINT64_C(1) << 60 },
        { HCCL_DATA_TYPE_FP64, UINT64_C(1) << 59 },
    };
    for (int op = 0; op < OPS; op++) {
        for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
            struct call c = good(op);
            c.dtype = rows[i].dtype;
            c.count = rows[i].most + 1;
            refused(&c, HCCL_E_PARA, "count");
            c.count = UINT64_MAX;
            refused(&c, HCCL_E_PARA, "count");
        }
        struct call c = good(op);
        c.count = UINT64_MAX;
        c.dtype = 99; // the count is looked at first
        refused(&c, HCCL_E_PARA, "count");
    }
}

Test(op_check, types_are_those_that_can_be_moved_or_reduced)
{
    static const int opaque[] = { HCCL_DATA_TYPE_INT128, HCCL_DATA_TYPE_HIF8,
        HCCL_DATA_TYPE_FP8E4M3, HCCL_DATA_TYPE_FP8E5M2, HCCL_DATA_TYPE_FP8E8M0 };
    static const int unknown[] = { -1, 13, 18, 19, 254, 255, 256, 1 << 20 };
    for (int op = 0; op < OPS; op++) {
        struct call c = good(op);
        for (c.dtype = 0; c.dtype < 12; c.dtype++) {
            cr_assert(eq(int, run(&c), HCCL_SUCCESS), "op %d, type %d", op, c.dtype);
        }
        for (size_t i = 0; i < RP_ARRAY_LENGTH(opaque); i++) {
            c.dtype = opaque[i];
            if (op >= ALL_GATHER) {
                cr_assert(eq(int, run(&c), HCCL_SUCCESS), "op %d, type %d", op, c.dtype);
            } else {
                refused(&c, HCCL_E_NOT_SUPPORT, "dataType");
            }
        }
        for (size_t i = 0; i < RP_ARRAY_LENGTH(unknown); i++) {
            c.dtype = unknown[i];
            refused(&c, HCCL_E_NOT_SUPPORT, "dataType");
        }
    }
    ok(aclrtSynchronizeStream(stream));
}

Test(op_check, reductions_are_four)
{
    for (int op = ALL_REDUCE; op <= REDUCE; op++) {
        struct call c = good(op);
        for (c.reduce = 0; c.reduce < 4; c.reduce++) {
            cr_assert(eq(int, run(&c), HCCL_SUCCESS));
        }
        for (c.reduce = -2; c.reduce < 0; c.reduce++) {
            refused(&c, HCCL_E_NOT_SUPPORT, "op");
        }
        for (c.reduce = 4; c.reduce < 300; c.reduce += 37) {
            refused(&c, HCCL_E_NOT_SUPPORT, "op");
        }
        c.dtype = 13; // the type is looked at first
        refused(&c, HCCL_E_NOT_SUPPORT, "dataType");
    }
    ok(aclrtSynchronizeStream(stream));
}

Test(op_check, a_root_is_a_rank)
{
    static const int rooted[] = { BROADCAST, REDUCE, SCATTER };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rooted); i++) {
        struct call c = good(rooted[i]);
        c.root = 1;
        refused(&c, HCCL_E_PARA, "root");
        c.root = UINT32_MAX;
        refused(&c, HCCL_E_PARA, "root");
        c.dtype = 13; // the type is looked at first
        refused(&c, HCCL_E_NOT_SUPPORT, "dataType");
    }
}

Test(op_check, an_all_to_all_says_everything_twice)
{
    (void)aclGetRecentErrMsg();
    code(HcclAlltoAll(send, 8, FP32, recv, 7, FP32, comm, stream), HCCL_E_PARA);
    cr_assert(strstr(error_text(), "sendCount 8") != NULL);
    code(HcclAlltoAll(send, 0, FP32, recv, 7, FP32, comm, stream), HCCL_E_PARA);
    code(HcclAlltoAll(send, 7, FP32, recv, 0, FP32, comm, stream), HCCL_E_PARA);
    (void)aclGetRecentErrMsg();
    code(HcclAlltoAll(send, 8, FP32, recv, 8, HCCL_DATA_TYPE_INT32, comm, stream), HCCL_E_PARA);
    cr_assert(strstr(error_text(), "recvType 2") != NULL);
    code(HcclAlltoAll(send, 0, FP32, NULL, 7, FP32, comm, stream), HCCL_E_PTR); // NULL comes first
    code(HcclAlltoAll(NULL, 0, FP32, NULL, 0, HCCL_DATA_TYPE_INT32, NULL, NULL), HCCL_SUCCESS);
    // 11 of one type are as many bytes as 11 of another: nothing but the arguments tells.
    code(HcclAlltoAll(send, 8, HCCL_DATA_TYPE_INT32, recv, 8, FP32, comm, stream), HCCL_E_PARA);
}

Test(op_check, an_all_to_all_has_two_buffers)
{
    struct call c = good(ALLTOALL);
    c.recv = c.send;
    refused(&c, HCCL_E_PARA, "the same buffer");
    c.recv = (char *)c.send + 4;
    refused(&c, HCCL_E_PARA, "overlap");
    for (int op = 0; op < ALLTOALL; op++) { // of one rank, the block is the whole
        c = good(op);
        c.recv = c.send;
        cr_assert(eq(int, run(&c), HCCL_SUCCESS), "op %d", op);
    }
    ok(aclrtSynchronizeStream(stream));
}

Test(op_check, a_stream_is_on_the_communicators_device)
{
    aclrtStream other = NULL;
    ok(aclrtSetDevice(1));
    ok(aclrtCreateStream(&other));
    for (int op = 0; op < OPS; op++) {
        struct call c = good(op);
        c.stream = other;
        refused(&c, HCCL_E_PARA, "device 1");
    }
    ok(aclrtDestroyStream(other));
    ok(aclrtResetDevice(1));
    ok(aclrtSetDevice(0));
}

// A refused call leaves nothing behind: the next one works.
Test(op_check, a_refused_call_is_followed_by_a_good_one)
{
    float *in = send, *out = recv;
    for (int i = 0; i < 8; i++) {
        in[i] = (float)i;
    }
    struct call c = good(ALL_REDUCE);
    c.dtype = 13;
    refused(&c, HCCL_E_NOT_SUPPORT, "dataType");
    c = good(ALL_REDUCE);
    cr_assert(eq(int, run(&c), HCCL_SUCCESS));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, memcmp(in, out, 8 * sizeof(float)), 0));
}

// ---- init ----

Test(op_check, init_looks_at_its_arguments)
{
    HcclRootInfo info;
    HcclCommConfig config;
    HcclComm made = &somewhere;
    memset(&info, 0, sizeof(info));
    HcclCommConfigInit(&config);
    code(HcclGetRootInfo(NULL), HCCL_E_PTR);
    code(HcclCommInitRootInfo(0, &info, 0, &made), HCCL_E_PARA);
    code(HcclCommInitRootInfo(2, &info, 2, &made), HCCL_E_PARA);
    code(HcclCommInitRootInfo(2, NULL, 0, &made), HCCL_E_PTR);
    code(HcclCommInitRootInfo(2, &info, 0, NULL), HCCL_E_PTR);
    code(HcclCommInitRootInfo(2, &info, 0, &made), HCCL_E_PARA); // no root info at all
    code(HcclCommInitRootInfoConfig(2, &info, 0, NULL, &made), HCCL_E_PARA);
    config.hcclBufferSize = 0;
    code(HcclCommInitRootInfoConfig(1, &info, 0, &config, &made), HCCL_E_PARA);
    cr_assert(eq(ptr, made, (void *)&somewhere));
}

Test(op_check, init_all_looks_at_its_devices)
{
    int32_t devices[] = { 1, 2, 1 };
    HcclComm comms[3] = { &somewhere, &somewhere, &somewhere };
    code(HcclCommInitAll(0, devices, comms), HCCL_E_PARA);
    code(HcclCommInitAll(2, NULL, comms), HCCL_E_PTR);
    code(HcclCommInitAll(2, devices, NULL), HCCL_E_PTR);
    code(HcclCommInitAll(3, devices, comms), HCCL_E_PARA);
    devices[2] = 99;
    code(HcclCommInitAll(3, devices, comms), HCCL_E_PARA);
    devices[2] = -1;
    code(HcclCommInitAll(3, devices, comms), HCCL_E_PARA);
}

Test(op_check, init_needs_a_device)
{
    HcclRootInfo info;
    HcclComm made = NULL;
    ok(HcclGetRootInfo(&info));
    ok(aclrtResetDevice(0));
    code(HcclGetRootInfo(&info), HCCL_E_RUNTIME);
    code(HcclCommInitRootInfo(1, &info, 0, &made), HCCL_E_RUNTIME);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&stream));
    ok(aclrtMalloc(&send, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc(&recv, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
}

Test(op_check, one_rank_by_root_info_with_a_name)
{
    HcclRootInfo info;
    HcclCommConfig config;
    HcclComm made = NULL, found = NULL, twice = NULL;
    char name[COMM_NAME_MAX_LENGTH];
    HcclCommConfigInit(&config);
    strcpy(config.hcclCommName, "alone");
    ok(HcclGetRootInfo(&info));
    cr_assert(info.internal[0] != '\0');
    ok(HcclCommInitRootInfoConfig(1, &info, 0, &config, &made));
    ok(HcclGetCommName(made, name));
    cr_assert(eq(str, name, "alone"));
    ok(HcclCommGetHandleWithName("alone", &found));
    cr_assert(eq(ptr, found, made));
    ok(HcclGetRootInfo(&info));
    code(HcclCommInitRootInfoConfig(1, &info, 0, &config, &twice),
            HCCL_E_PARA); // the name is taken
    ok(HcclCommDestroy(made));
    code(HcclCommGetHandleWithName("alone", &found), HCCL_E_PARA);
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfoConfig(1, &info, 0, &config, &made)); // and free again
    ok(HcclCommDestroy(made));
}

// Each allocation of an init fails in turn: an error, nothing left behind, and the next one works.
Test(op_check, init_survives_every_failed_allocation)
{
    int32_t devices[] = { 2, 1 };
    HcclComm comms[2] = { NULL, NULL };
    int64_t n = 0;
    for (bool pending = false; !pending; n++) {
        rp_alloc_fail_process_after(n);
        const int result = HcclCommInitAll(2, devices, comms);
        pending = rp_alloc_fail_pending();
        rp_alloc_fail_process_after(-1);
        cr_assert(result == HCCL_SUCCESS || !pending, "allocation %d: %d", (int)n, result);
        cr_assert(eq(int, comms[0] != NULL, result == HCCL_SUCCESS));
        cr_assert(eq(int, comms[1] != NULL, result == HCCL_SUCCESS));
        for (int r = 0; r < 2 && result == HCCL_SUCCESS; r++) {
            ok(HcclCommDestroy(comms[r]));
        }
    }
    cr_assert(gt(int, (int)n, 10));
}

// ---- questions ----

Test(op_check, questions_are_answered)
{
    uint32_t size = 0, rank = 9;
    char name[COMM_NAME_MAX_LENGTH];
    HcclResult error = HCCL_E_INTERNAL;
    HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
    HcclComm found = NULL;
    ok(HcclGetRankSize(comm, &size));
    ok(HcclGetRankId(comm, &rank));
    cr_assert(eq(u32, size, 1));
    cr_assert(eq(u32, rank, 0));
    ok(HcclGetCommName(comm, name));
    cr_assert(gt(sz, strlen(name), 0));
    ok(HcclCommGetHandleWithName(name, &found));
    cr_assert(eq(ptr, found, comm));
    ok(HcclGetCommAsyncError(comm, &error));
    cr_assert(eq(int, (int)error, HCCL_SUCCESS));
    ok(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode));
    cr_assert(eq(int, (int)mode, HCCL_OP_EXPANSION_MODE_AIV));
}

Test(op_check, questions_look_at_their_arguments)
{
    uint32_t number;
    char name[COMM_NAME_MAX_LENGTH];
    HcclResult error;
    HcclOpExpansionMode mode;
    HcclComm found;
    HcclComm wrong[] = { NULL, &somewhere };
    static const int codes[] = { HCCL_E_PTR, HCCL_E_PARA };
    for (int i = 0; i < 2; i++) {
        code(HcclGetRankSize(wrong[i], &number), codes[i]);
        code(HcclGetRankId(wrong[i], &number), codes[i]);
        code(HcclGetCommName(wrong[i], name), codes[i]);
        code(HcclGetCommAsyncError(wrong[i], &error), codes[i]);
        code(HcclConfigGetInfo(wrong[i], HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, &mode), codes[i]);
    }
    code(HcclGetRankSize(comm, NULL), HCCL_E_PTR);
    code(HcclGetRankId(comm, NULL), HCCL_E_PTR);
    code(HcclGetCommName(comm, NULL), HCCL_E_PTR);
    code(HcclGetCommAsyncError(comm, NULL), HCCL_E_PTR);
    code(HcclCommGetHandleWithName(NULL, &found), HCCL_E_PTR);
    code(HcclCommGetHandleWithName("no such name", NULL), HCCL_E_PTR);
    code(HcclCommGetHandleWithName("no such name", &found), HCCL_E_PARA);
    code(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 4, NULL), HCCL_E_PTR);
    code(HcclConfigGetInfo(comm, (HcclConfigType)1, 4, &mode), HCCL_E_NOT_SUPPORT);
    code(HcclConfigGetInfo(comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 8, &mode), HCCL_E_PARA);
}

Test(op_check, error_strings)
{
    cr_assert(eq(str, (char *)(uintptr_t)HcclGetErrorString(HCCL_SUCCESS), "no error"));
    cr_assert(eq(str, (char *)(uintptr_t)HcclGetErrorString(HCCL_E_OOM), "out of memory"));
    cr_assert(eq(str, (char *)(uintptr_t)HcclGetErrorString((HcclResult)25), "unknown err"));
    cr_assert(eq(str, (char *)(uintptr_t)HcclGetErrorString(HCCL_E_IN_STATUS), "unknown err"));
    cr_assert(eq(str, (char *)(uintptr_t)HcclGetErrorString(HCCL_E_RESERVED), "unknown error"));
    cr_assert(eq(str, (char *)(uintptr_t)HcclGetErrorString((HcclResult)-1), "unknown error"));
    for (int i = 0; i <= HCCL_E_RESERVED + 1; i++) {
        cr_assert(HcclGetErrorString((HcclResult)i) != NULL);
    }
}

// ---- the end ----

Test(op_check, destroy_takes_null_and_refuses_what_is_gone)
{
    int32_t device = 0;
    HcclComm made = NULL;
    uint32_t size;
    ok(HcclCommInitAll(1, &device, &made));
    ok(HcclCommDestroy(NULL));
    code(HcclCommDestroy(&somewhere), HCCL_E_PARA);
    ok(HcclCommDestroy(made));
    code(HcclCommDestroy(made), HCCL_E_PARA);
    code(HcclGetRankSize(made, &size), HCCL_E_PARA);
    struct call c = good(ALL_REDUCE);
    c.comm = made;
    refused(&c, HCCL_E_PARA, "comm");
}

// Ranks that wait for each other: destroying one aborts its call, and the other hears of it.
Test(op_check, destroy_aborts_what_still_waits_for_a_peer)
{
    int32_t devices[] = { 0, 1 };
    HcclComm comms[2] = { NULL, NULL };
    aclrtStream other = NULL;
    void *buffer = NULL;
    ok(HcclCommInitAll(2, devices, comms));
    ok(HcclAllReduce(send, recv, 8, FP32, SUM, comms[0], stream));
    ok(HcclCommDestroy(comms[0]));
    cr_assert(ne(int, (int)aclrtSynchronizeStream(stream), 0));
    ok(aclrtSetDevice(1));
    ok(aclrtCreateStream(&other));
    ok(aclrtMalloc(&buffer, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    const int taken = HcclAllReduce(buffer, buffer, 8, FP32, SUM, comms[1], other);
    cr_assert(taken == HCCL_SUCCESS || taken == HCCL_E_REMOTE, "%d: %s", taken, error_text());
    if (taken == 0) {
        cr_assert(ne(int, (int)aclrtSynchronizeStream(other), 0));
    }
    HcclResult error = HCCL_SUCCESS;
    ok(HcclGetCommAsyncError(comms[1], &error));
    cr_assert(eq(int, (int)error, HCCL_E_REMOTE));
    ok(HcclCommDestroy(comms[1]));
    ok(aclrtFree(buffer));
    ok(aclrtDestroyStream(other));
    ok(aclrtResetDevice(1));
    ok(aclrtSetDevice(0));
}

// ---- announced memory ----

Test(op_check, windows_are_kept_and_checked)
{
    HcclCommSymWindow window = NULL;
    code(HcclCommSymWinRegister(NULL, send, BYTES, &window, 1), HCCL_E_PTR);
    code(HcclCommSymWinRegister(comm, NULL, BYTES, &window, 1), HCCL_E_PTR);
    code(HcclCommSymWinRegister(comm, send, BYTES, NULL, 1), HCCL_E_PTR);
    code(HcclCommSymWinRegister(comm, send, 0, &window, 1), HCCL_E_PARA);
    code(HcclCommSymWinRegister(comm, send, BYTES, &window, 2), HCCL_E_PARA);
    code(HcclCommSymWinRegister(comm, &somewhere, sizeof(somewhere), &window, 1), HCCL_E_PARA);
    cr_assert(zero(ptr, window));
    ok(HcclCommSymWinRegister(comm, send, BYTES, &window, 1));
    cr_assert(ne(ptr, window, NULL));
    ok(HcclCommSymWinDeregister(window));
    code(HcclCommSymWinDeregister(window), HCCL_E_PARA);
    code(HcclCommSymWinDeregister(&somewhere), HCCL_E_PARA);
    code(HcclCommSymWinDeregister(NULL), HCCL_E_PTR);
}

Test(op_check, windows_end_with_their_communicator)
{
    int32_t device = 0;
    HcclComm made = NULL;
    HcclCommSymWindow window = NULL;
    ok(HcclCommInitAll(1, &device, &made));
    ok(HcclCommSymWinRegister(made, send, BYTES, &window, 1));
    ok(HcclCommDestroy(made));
    code(HcclCommSymWinDeregister(window), HCCL_E_PARA);
}
