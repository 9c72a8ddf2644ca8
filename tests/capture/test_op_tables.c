// What HcclAllGatherV and HcclReduceScatterV answer to tables that are wrong, and what becomes of
// tables that are right. One process, a communicator of one rank.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#include "base/alloc.h"

#define BYTES 4096
#define FP32 HCCL_DATA_TYPE_FP32
#define SUM HCCL_REDUCE_SUM

static HcclComm comm;
static aclrtStream stream;
static void *send, *recv;

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

TestSuite(op_tables, .init = setup, .fini = teardown, .timeout = 60);

static int gather(void *in, uint64_t own, void *out, const uint64_t *count, const uint64_t *place)
{
    (void)aclGetRecentErrMsg();
    return (int)HcclAllGatherV(in, own, out, count, place, FP32, comm, stream);
}

static int scatter(void *in, const uint64_t *count, const uint64_t *place, void *out, uint64_t own)
{
    (void)aclGetRecentErrMsg();
    return (int)HcclReduceScatterV(in, count, place, out, own, FP32, SUM, comm, stream);
}

// Arrays first, then whether anything moves, then buffers, then what the numbers say.
Test(op_tables, tables_are_looked_at)
{
    const uint64_t eight = 8, two = 2, none = 0, huge = UINT64_MAX;
    float *in = send, *out = recv;
    memset(out, 0, BYTES);
    for (int i = 0; i < 16; i++) {
        in[i] = (float)i;
    }
    cr_assert(eq(int, gather(in, 8, out, &eight, &two), HCCL_SUCCESS));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(out[1] == 0 && out[3] == 1 && out[9] == 7 && out[10] == 0);
    cr_assert(eq(int, scatter(in, &eight, &two, out + 32, 8), HCCL_SUCCESS));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(out[31] == 0 && out[32] == 2 && out[39] == 9 && out[40] == 0);

    cr_assert(eq(int, gather(in, 8, out, NULL, &two), HCCL_E_PTR));
    cr_assert(strstr(error_text(), "recvCounts") != NULL);
    cr_assert(eq(int, gather(in, 8, out, &eight, NULL), HCCL_E_PTR));
    cr_assert(strstr(error_text(), "recvDispls") != NULL);
    cr_assert(eq(int, scatter(in, NULL, &two, out, 8), HCCL_E_PTR));
    cr_assert(strstr(error_text(), "sendCounts") != NULL);
    cr_assert(eq(int, scatter(in, &eight, NULL, out, 8), HCCL_E_PTR));
    cr_assert(strstr(error_text(), "sendDispls") != NULL);

    cr_assert(eq(int, gather(NULL, 0, NULL, &none, &two), HCCL_SUCCESS));
    cr_assert(eq(int, scatter(NULL, &none, &huge, NULL, 0), HCCL_SUCCESS));

    cr_assert(eq(int, gather(NULL, 8, out, &eight, &two), HCCL_E_PTR));
    cr_assert(eq(int, gather(in, 8, NULL, &eight, &two), HCCL_E_PTR));
    cr_assert(eq(int, scatter(NULL, &eight, &two, out, 8), HCCL_E_PTR));
    cr_assert(eq(int, scatter(in, &eight, &two, NULL, 8), HCCL_E_PTR));

    cr_assert(eq(int, gather(in, 7, out, &eight, &two), HCCL_E_PARA));
    cr_assert(strstr(error_text(), "sendCount 7") != NULL);
    cr_assert(eq(int, scatter(in, &eight, &two, out, 9), HCCL_E_PARA));
    cr_assert(strstr(error_text(), "recvCount 9") != NULL);
    cr_assert(eq(int, gather(in, 8, out, &eight, &huge), HCCL_E_PARA));
    cr_assert(strstr(error_text(), "recvCounts[0]") != NULL);
    cr_assert(eq(int, scatter(in, &huge, &two, out, huge), HCCL_E_PARA));

    cr_assert(eq(int, gather(in, 8, in, &eight, &two), HCCL_E_PARA)); // not in place
    cr_assert(eq(int, scatter(in, &eight, &two, in, 8), HCCL_E_PARA));
    cr_assert(eq(int, scatter(in, &eight, &two, in + 2, 8), HCCL_E_PARA)); // the own block
    cr_assert(strstr(error_text(), "overlap") != NULL);
    cr_assert(eq(int, scatter(in, &eight, &two, in + 10, 8), HCCL_SUCCESS)); // behind it
    code(HcclReduceScatterV(in, &eight, &two, out, 8, HCCL_DATA_TYPE_INT128, SUM, comm, stream),
            HCCL_E_NOT_SUPPORT);
    code(HcclAllGatherV(in, 8, out, &eight, &two, HCCL_DATA_TYPE_INT128, comm, stream),
            HCCL_SUCCESS);
    ok(aclrtSynchronizeStream(stream));
}

// A table of its own for every call, so that each is copied.
Test(op_tables, tables_survive_every_failed_allocation)
{
    const uint64_t eight = 8;
    uint64_t place = 0;
    int failures = 0;
    for (bool pending = false; !pending; place++) {
        rp_alloc_fail_after((int64_t)place);
        const int result = gather(send, 8, recv, &eight, &place);
        pending = rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, result, pending ? HCCL_SUCCESS : HCCL_E_MEMORY));
        failures += result != HCCL_SUCCESS;
        cr_assert(eq(int, gather(send, 8, recv, &eight, &place), HCCL_SUCCESS));
        ok(aclrtSynchronizeStream(stream));
    }
    cr_assert(ge(int, failures, 3));
}

// More tables than the cache keeps when nobody uses them.
Test(op_tables, tables_come_and_go)
{
    const uint64_t eight = 8;
    float *in = send, *out = recv;
    for (int i = 0; i < 8; i++) {
        in[i] = (float)(i + 1);
    }
    for (uint64_t place = 0; place < 900; place++) {
        cr_assert(eq(int, gather(in, 8, out, &eight, &place), HCCL_SUCCESS));
        ok(aclrtSynchronizeStream(stream));
        cr_assert(out[place] == 1 && out[place + 7] == 8);
    }
}
