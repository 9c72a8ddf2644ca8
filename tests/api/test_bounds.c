// Buffers that are not what the call says: past the end of an allocation, freed,
// past the end of the device's memory, overlapping. An error, and no byte moved.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define COUNT 1024
#define BYTES (COUNT * sizeof(float))

static HcclComm comm;
static aclrtStream stream;
static float *data, *other;

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s", #call)

static void setup(void)
{
    HcclRootInfo info;
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&stream));
    ok(HcclGetRootInfo(&info));
    ok(HcclCommInitRootInfo(1, &info, 0, &comm));
    ok(aclrtMalloc((void **)&data, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtMalloc((void **)&other, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(other, 0, BYTES);
}

static HcclResult reduce(void *send, void *recv, uint64_t count)
{
    return HcclAllReduce(send, recv, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream);
}

static void expect_refused(void *send, void *recv, uint64_t count, const char *word)
{
    aclGetRecentErrMsg();
    cr_assert(eq(int, (int)reduce(send, recv, count), (int)HCCL_E_PARA));
    const char *why = aclGetRecentErrMsg();
    cr_assert(why != NULL && strstr(why, word) != NULL, "%s", why != NULL ? why : "no message");
    ok(aclrtSynchronizeStream(stream));
}

TestSuite(bounds, .init = setup, .timeout = 60);

Test(bounds, an_operator_stays_within_its_allocations)
{
    static float host[4 * COUNT];
    expect_refused(data, other, 4 * COUNT, "sendBuf");
    expect_refused(data + COUNT / 2, host, 4 * COUNT, "sendBuf");
    expect_refused(host, other, 4 * COUNT, "recvBuf");
    ok(reduce(data + COUNT / 2, other + COUNT / 2, COUNT / 2)); // up to the end is fine
    ok(aclrtSynchronizeStream(stream));
}

Test(bounds, an_operator_does_not_leave_the_devices_memory)
{
    expect_refused(data, data, UINT64_C(32) << 20, "the buffer"); // 128 MiB of 64
    expect_refused(data, data, UINT64_C(1) << 40, "the buffer");
}

Test(bounds, a_freed_buffer_is_refused)
{
    float *gone;
    ok(aclrtMalloc((void **)&gone, 4u << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    ok(aclrtFree(gone));
    expect_refused(gone, other, COUNT, "sendBuf");
    expect_refused(data, gone, COUNT, "recvBuf");
}

Test(bounds, overlapping_buffers_are_refused_unless_exactly_in_place)
{
    expect_refused(data, data + 1, COUNT / 2, "overlap");
    expect_refused(data + 1, data, COUNT / 2, "overlap");
    static float host[COUNT]; // memory that is none of ours overlaps all the same
    expect_refused(host, host + 7, COUNT / 2, "overlap");
    ok(reduce(data, data, COUNT));
    ok(reduce(data, data + COUNT / 2, COUNT / 2)); // side by side is no overlap
    ok(aclrtSynchronizeStream(stream));
}

Test(bounds, a_call_that_is_refused_while_capturing_leaves_the_capture_valid)
{
    aclmdlRI graph = NULL;
    ok(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    cr_assert(eq(int, (int)reduce(data, other, 4 * COUNT), (int)HCCL_E_PARA));
    data[3] = 2.5f;
    ok(reduce(data, other, COUNT));
    ok(aclmdlRICaptureEnd(stream, &graph));
    ok(aclmdlRIExecuteAsync(graph, stream));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(eq(flt, other[3], 2.5f));
    ok(aclmdlRIDestroy(graph));
}

Test(bounds, only_memory_can_be_registered)
{
    void *mapped;
    const size_t page = 4096;
    char *pages = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(pages != MAP_FAILED);
    munmap(pages + 2 * page, page); // a hole
    cr_assert(eq(int, aclrtHostRegister(pages, 4 * page, ACL_HOST_REGISTER_MAPPED, &mapped),
            ACL_ERROR_RT_PARAM_INVALID));
    cr_assert(eq(int, aclrtHostRegister((void *)page, page, ACL_HOST_REGISTER_MAPPED, &mapped),
            ACL_ERROR_RT_PARAM_INVALID));
    ok(aclrtHostRegister(pages, 2 * page, ACL_HOST_REGISTER_MAPPED, &mapped));
    ok(aclrtHostUnregister(pages));
}
