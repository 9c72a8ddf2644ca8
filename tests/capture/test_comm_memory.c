// Announced memory: the order that CANN wants is kept to, and what does not fit it is refused.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define GRANULE ((size_t)2 << 20)

static HcclComm comm;
static char *range; // 4 granules of addresses, the first two with memory
static aclrtDrvMemHandle memory[2];

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s", #call)
#define code(call, expected) cr_assert(eq(int, (int)(call), (expected)), "%s", #call)

static void setup(void)
{
    int32_t device = 0;
    const aclrtPhysicalMemProp prop = {
        .handleType = ACL_MEM_HANDLE_TYPE_NONE,
        .allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED,
        .memAttr = ACL_HBM_MEM_HUGE,
        .location = { .id = 0, .type = ACL_MEM_LOCATION_TYPE_DEVICE },
    };
    setenv("REPRISE_DEVICE_MEMORY", "256M", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    ok(aclrtSetDevice(0));
    ok(HcclCommInitAll(1, &device, &comm));
    ok(aclrtReserveMemAddress((void **)&range, 4 * GRANULE, 0, NULL, 1));
    for (int i = 0; i < 2; i++) {
        ok(aclrtMallocPhysical(&memory[i], GRANULE, &prop, 0));
        ok(aclrtMapMem(range + i * (ptrdiff_t)GRANULE, GRANULE, 0, memory[i], 0));
    }
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++) {
        ok(aclrtUnmapMem(range + i * (ptrdiff_t)GRANULE));
        ok(aclrtFreePhysical(memory[i]));
    }
    ok(aclrtReleaseMemAddress(range));
    ok(HcclCommDestroy(comm));
    ok(aclrtResetDevice(0));
}

TestSuite(comm_memory, .init = setup, .fini = teardown, .timeout = 60);

Test(comm_memory, the_whole_order_works)
{
    ok(HcclCommSetMemoryRange(comm, range, 4 * GRANULE, 0, 0));
    ok(HcclCommActivateCommMemory(comm, range, GRANULE, 0, memory[0], 0));
    ok(HcclCommActivateCommMemory(comm, range + GRANULE, GRANULE, 0, memory[1], 0));
    ok(HcclCommDeactivateCommMemory(comm, range));
    ok(HcclCommDeactivateCommMemory(comm, range + GRANULE));
    ok(HcclCommUnsetMemoryRange(comm, range));
    ok(HcclCommSetMemoryRange(comm, range, 4 * GRANULE, 0, 0)); // and again
    ok(HcclCommUnsetMemoryRange(comm, range));
}

Test(comm_memory, an_operator_uses_active_memory)
{
    aclrtStream stream = NULL;
    float *data = (float *)(void *)range;
    ok(HcclCommSetMemoryRange(comm, range, 4 * GRANULE, 0, 0));
    ok(HcclCommActivateCommMemory(comm, range, GRANULE, 0, memory[0], 0));
    ok(aclrtCreateStream(&stream));
    data[0] = 3.0f;
    data[1000] = 0.0f;
    ok(HcclAllReduce(data, data + 1000, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(eq(flt, data[1000], 3.0f));
    ok(aclrtDestroyStream(stream));
}

Test(comm_memory, ranges_are_reserved_addresses_that_do_not_overlap)
{
    static char elsewhere[64];
    void *block = NULL;
    ok(aclrtMalloc(&block, GRANULE, ACL_MEM_MALLOC_HUGE_FIRST));
    code(HcclCommSetMemoryRange(NULL, range, GRANULE, 0, 0), HCCL_E_PTR);
    code(HcclCommSetMemoryRange(comm, NULL, GRANULE, 0, 0), HCCL_E_PTR);
    code(HcclCommSetMemoryRange(elsewhere, range, GRANULE, 0, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, range, 0, 0, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, range, GRANULE, 4096, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, range, GRANULE, 0, 1), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, elsewhere, sizeof(elsewhere), 0, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, block, GRANULE, 0, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, range, 4 * GRANULE + 1, 0, 0), HCCL_E_PARA);
    ok(HcclCommSetMemoryRange(comm, range + GRANULE, GRANULE, 0, 0));
    code(HcclCommSetMemoryRange(comm, range, 4 * GRANULE, 0, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, range, GRANULE + 1, 0, 0), HCCL_E_PARA);
    code(HcclCommSetMemoryRange(comm, range + 2 * GRANULE - 1, 2, 0, 0), HCCL_E_PARA);
    ok(HcclCommSetMemoryRange(comm, range, GRANULE, 0, 0));
    ok(HcclCommSetMemoryRange(comm, range + 2 * GRANULE, 2 * GRANULE, 0, 0));
    ok(aclrtFree(block));
}

Test(comm_memory, active_memory_lies_in_a_range)
{
    static char elsewhere;
    ok(HcclCommSetMemoryRange(comm, range, 2 * GRANULE, 0, 0));
    code(HcclCommActivateCommMemory(NULL, range, GRANULE, 0, memory[0], 0), HCCL_E_PTR);
    code(HcclCommActivateCommMemory(comm, NULL, GRANULE, 0, memory[0], 0), HCCL_E_PTR);
    code(HcclCommActivateCommMemory(comm, range, GRANULE, 0, NULL, 0), HCCL_E_PTR);
    code(HcclCommActivateCommMemory(comm, range, 0, 0, memory[0], 0), HCCL_E_PARA);
    code(HcclCommActivateCommMemory(comm, range, GRANULE, 64, memory[0], 0), HCCL_E_PARA);
    code(HcclCommActivateCommMemory(comm, range, GRANULE, 0, memory[0], 1), HCCL_E_PARA);
    code(HcclCommActivateCommMemory(comm, range, GRANULE, 0, &elsewhere, 0), HCCL_E_PARA);
    code(HcclCommActivateCommMemory(comm, range, 2 * GRANULE + 1, 0, memory[0], 0), HCCL_E_PARA);
    code(HcclCommActivateCommMemory(comm, range + 2 * GRANULE, GRANULE, 0, memory[0], 0),
            HCCL_E_PARA);
    ok(HcclCommActivateCommMemory(comm, range, GRANULE, 0, memory[0], 0));
    code(HcclCommActivateCommMemory(comm, range, GRANULE, 0, memory[0], 0), HCCL_E_PARA);
    code(HcclCommActivateCommMemory(comm, range + GRANULE - 1, 2, 0, memory[0], 0), HCCL_E_PARA);
}

Test(comm_memory, what_is_taken_back_was_given)
{
    code(HcclCommUnsetMemoryRange(comm, range), HCCL_E_PARA);
    code(HcclCommDeactivateCommMemory(comm, range), HCCL_E_PARA);
    ok(HcclCommSetMemoryRange(comm, range, 4 * GRANULE, 0, 0));
    ok(HcclCommActivateCommMemory(comm, range, GRANULE, 0, memory[0], 0));
    code(HcclCommUnsetMemoryRange(comm, range), HCCL_E_PARA); // it is still active
    code(HcclCommUnsetMemoryRange(comm, range + GRANULE), HCCL_E_PARA);
    code(HcclCommDeactivateCommMemory(comm, range + 1), HCCL_E_PARA);
    code(HcclCommUnsetMemoryRange(comm, NULL), HCCL_E_PTR);
    code(HcclCommUnsetMemoryRange(NULL, range), HCCL_E_PTR);
    code(HcclCommDeactivateCommMemory(comm, NULL), HCCL_E_PTR);
    code(HcclCommDeactivateCommMemory(NULL, range), HCCL_E_PTR);
    ok(HcclCommDeactivateCommMemory(comm, range));
    code(HcclCommDeactivateCommMemory(comm, range), HCCL_E_PARA);
    ok(HcclCommUnsetMemoryRange(comm, range));
    code(HcclCommUnsetMemoryRange(comm, range), HCCL_E_PARA);
}

// Ranges left behind go with the communicator, like everything else of it (ASan looks for leaks).
Test(comm_memory, ranges_end_with_their_communicator)
{
    int32_t device = 0;
    HcclComm other = NULL;
    ok(HcclCommInitAll(1, &device, &other));
    ok(HcclCommSetMemoryRange(other, range, GRANULE, 0, 0));
    ok(HcclCommActivateCommMemory(other, range, GRANULE, 0, memory[0], 0));
    ok(HcclCommSetMemoryRange(comm, range, GRANULE, 0, 0)); // ranges are a communicator's own
    ok(HcclCommDestroy(other));
    ok(HcclCommUnsetMemoryRange(comm, range));
}
