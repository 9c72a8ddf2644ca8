// A communicator's state by handle and by name, what the calls of it refuse, and the callbacks.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

static HcclComm comm;
static aclrtStream stream;

#define ok(call) cr_assert(eq(int, (int)(call), 0), "%s", #call)
#define code(call, expected) cr_assert(eq(int, (int)(call), (expected)), "%s", #call)

static void setup(void)
{
    int32_t device = 0;
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    setenv("HCCL_BUFFSIZE", "1", 1);
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
    ok(aclrtSetDevice(0));
    ok(aclrtCreateStream(&stream));
    ok(HcclCommInitAll(1, &device, &comm));
}

static void teardown(void)
{
    if (comm != NULL) {
        ok(HcclCommDestroy(comm));
    }
    ok(aclrtDestroyStream(stream));
    ok(aclrtResetDevice(0));
}

TestSuite(comm_status, .init = setup, .fini = teardown, .timeout = 60);

Test(comm_status, is_told_by_handle_or_name)
{
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    char name[COMM_NAME_MAX_LENGTH];
    ok(HcclGetCommName(comm, name));
    ok(HcclCommGetStatus(comm, &status));
    cr_assert(eq(int, status, HCCL_COMM_STATUS_READY));
    ok(HcclCommSuspend(comm));
    ok(HcclCommGetStatus(name, &status));
    cr_assert(eq(int, status, HCCL_COMM_STATUS_SUSPENDING));
    ok(HcclCommResume(comm));
    ok(HcclCommGetStatus(name, &status));
    cr_assert(eq(int, status, HCCL_COMM_STATUS_READY));
    code(HcclCommGetStatus(NULL, &status), HCCL_E_PTR);
    code(HcclCommGetStatus(comm, NULL), HCCL_E_PTR);
    code(HcclCommGetStatus("nobody", &status), HCCL_E_PARA);
    cr_assert(eq(int, status, HCCL_COMM_STATUS_READY)); // untouched
}

// Whatever the pointer is: a handle that has ended, a page that is not there, a text without end.
Test(comm_status, any_pointer_may_be_asked)
{
    HcclCommStatus status = HCCL_COMM_STATUS_RESERVED;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char name[COMM_NAME_MAX_LENGTH];
    cr_assert(ne(ptr, (void *)pages, MAP_FAILED));
    ok(munmap(pages + page, page));
    memset(pages, 'x', page);
    code(HcclCommGetStatus(pages, &status), HCCL_E_PARA);
    code(HcclCommGetStatus(pages + page - 7, &status), HCCL_E_PARA);
    code(HcclCommGetStatus(pages + page, &status), HCCL_E_PARA);
    code(HcclCommGetStatus((void *)1, &status), HCCL_E_PARA);
    ok(HcclGetCommName(comm, name)); // right at the end of a page
    memcpy(pages + page - strlen(name) - 1, name, strlen(name) + 1);
    ok(HcclCommGetStatus(pages + page - strlen(name) - 1, &status));
    ok(HcclCommDestroy(comm));
    code(HcclCommGetStatus(comm, &status), HCCL_E_PARA);
    code(HcclCommGetStatus(name, &status), HCCL_E_PARA);
    comm = NULL;
    ok(munmap(pages, page));
}

Test(comm_status, calls_refuse_what_is_no_communicator)
{
    static char elsewhere[8192];
    uint32_t rank = 0;
    bool backup = false;
    code(HcclCommSuspend(NULL), HCCL_E_PTR);
    code(HcclCommSuspend(elsewhere), HCCL_E_PARA);
    code(HcclCommResume(NULL), HCCL_E_PTR);
    code(HcclCommResume(elsewhere), HCCL_E_PARA);
    code(HcclCommWorkingDevNicSet(NULL, &rank, &backup, 1), HCCL_E_PTR);
    code(HcclCommWorkingDevNicSet(comm, NULL, &backup, 1), HCCL_E_PTR);
    code(HcclCommWorkingDevNicSet(comm, &rank, NULL, 1), HCCL_E_PTR);
    code(HcclCommWorkingDevNicSet(elsewhere, &rank, &backup, 1), HCCL_E_PARA);
    code(HcclCommWorkingDevNicSet(comm, &rank, &backup, 1), HCCL_E_NOT_SUPPORT);
    const char *text = aclGetRecentErrMsg();
    cr_assert(ne(ptr, (void *)(uintptr_t)text, NULL));
    cr_assert(ne(ptr, strstr(text, "backup"), NULL), "%s", text);
}

static aclError resumed_in_callback;

static void resume_in_callback(void *arg)
{
    (void)arg;
    resumed_in_callback = (aclError)HcclCommResume(comm);
}

Test(comm_status, a_host_function_cannot_resume)
{
    ok(aclrtLaunchHostFunc(stream, resume_in_callback, NULL));
    ok(aclrtSynchronizeStream(stream));
    cr_assert(eq(int, resumed_in_callback, HCCL_E_RUNTIME));
}

static void wait_a_second(void *arg)
{
    (void)arg;
    sleep(2);
}

// What is queued behind something else is not the communicator's to end.
Test(comm_status, resume_waits_for_queued_calls)
{
    ok(aclrtLaunchHostFunc(stream, wait_a_second, NULL));
    ok(HcclBarrier(comm, stream));
    code(HcclCommResume(comm), HCCL_E_AGAIN);
    const char *text = aclGetRecentErrMsg();
    cr_assert(ne(ptr, strstr(text, "1 calls"), NULL), "%s", text);
    cr_assert(ne(int, (int)aclrtSynchronizeStream(stream), 0)); // the barrier was given up
    ok(HcclCommResume(comm));
    ok(HcclBarrier(comm, stream));
    ok(aclrtSynchronizeStream(stream));
}

// ---- callbacks ----

static char told[256];

// It may call anything, also what asks the communicator, and register more.
static HcclResult tell(HcclComm which, HcclCommStatePhase phase, void *args)
{
    uint32_t size = 0;
    char line[32];
    snprintf(line, sizeof(line), "%s%d%c ", (const char *)args, (int)phase,
            HcclGetRankSize(which, &size) == HCCL_SUCCESS ? '+' : '-');
    strcat(told, line);
    return HCCL_E_INTERNAL; // changes nothing
}

Test(comm_status, callbacks_are_called_by_name_in_order)
{
    static char a[] = "a";
    static char b[] = "b";
    static char c[] = "c";
    static char long_name[300];
    memset(long_name, 'n', sizeof(long_name) - 1);
    code(HcclCommRegCommStateCallback(NULL, tell, NULL), HCCL_E_PTR);
    code(HcclCommRegCommStateCallback("", tell, NULL), HCCL_E_PARA);
    code(HcclCommRegCommStateCallback(long_name, tell, NULL), HCCL_E_PARA);
    code(HcclCommRegCommStateCallback("first", NULL, NULL), HCCL_E_PARA);
    ok(HcclCommRegCommStateCallback("first", tell, a));
    ok(HcclCommRegCommStateCallback("second", tell, b));
    ok(HcclCommResume(comm));
    cr_assert(eq(str, told, (char *)"a2+ b2+ a3+ b3+ "));
    told[0] = '\0';
    ok(HcclCommRegCommStateCallback("first", tell, c)); // the last word on a name counts
    ok(HcclCommDestroy(comm));
    comm = NULL;
    cr_assert(eq(str, told, (char *)"b0+ c0+ b1- c1- "));
    told[0] = '\0';
    ok(HcclCommRegCommStateCallback("first", NULL, NULL));
    ok(HcclCommRegCommStateCallback("second", NULL, NULL));
    code(HcclCommRegCommStateCallback("second", NULL, NULL), HCCL_E_PARA);
    int32_t device = 0;
    ok(HcclCommInitAll(1, &device, &comm));
    ok(HcclCommResume(comm));
    cr_assert(eq(str, told, (char *)""));
}

// A failed resumption is begun, and never over.
Test(comm_status, a_call_that_fails_has_no_second_callback)
{
    static char a[] = "a";
    ok(HcclCommRegCommStateCallback("only", tell, a));
    code(HcclCommDestroy(told), HCCL_E_PARA);
    code(HcclCommResume(told), HCCL_E_PARA);
    cr_assert(eq(str, told, (char *)""));
    ok(aclrtLaunchHostFunc(stream, wait_a_second, NULL));
    ok(HcclBarrier(comm, stream));
    code(HcclCommResume(comm), HCCL_E_AGAIN);
    cr_assert(eq(str, told, (char *)"a2+ "));
    ok(HcclCommRegCommStateCallback("only", NULL, NULL));
    (void)aclrtSynchronizeStream(stream);
}
