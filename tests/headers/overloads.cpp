// Calls of acl/acl_rt_api.h as C++ programs write them: each must find one function and no two.
#include <acl/acl_rt_api.h>

#include <type_traits>

static_assert(std::is_same<decltype(dim3().x), uint32_t>::value, "sizes of a grid");

aclError use_overloads(aclrtStream stream, aclrtEvent event);

aclError use_overloads(aclrtStream stream, aclrtEvent event)
{
    aclError err = ACL_SUCCESS;
    float *typed = nullptr;
    void *plain = nullptr;
    int variable[4] = { 0, 0, 0, 0 };
    const void *address = variable;
    size_t bytes = 0;
    uint64_t actual = 0;
    dim3 grid(2, 3);

    err |= aclrtMalloc(&typed, sizeof(float));
    err |= aclrtMalloc(&typed, sizeof(float), ACL_MEM_MALLOC_HUGE_ONLY);
    err |= aclrtMalloc(&typed, sizeof(float), ACL_MEM_MALLOC_HUGE_ONLY, nullptr);
    err |= aclrtMalloc(&plain, 1, ACL_MEM_MALLOC_HUGE_FIRST);
    err |= aclrtMallocHost(&typed, sizeof(float));
    err |= aclrtMallocHost(&plain, 1);
    err |= aclrtMemAllocManaged(&typed, sizeof(float));
    err |= aclrtMemcpy(typed, 4, variable, 4, ACL_MEMCPY_DEFAULT);
    err |= aclrtHostRegister(typed, 4096, ACL_HOST_REGISTER_MAPPED, &typed);
    err |= aclrtHostRegister(typed, 4096, static_cast<uint32_t>(ACL_HOST_REG_MAPPED));
    err |= aclrtHostGetDevicePointer(typed, &typed, 0);
    err |= aclrtGetSymbolSize(variable, &bytes);
    err |= aclrtGetSymbolSize(address, &bytes);
    err |= aclrtCreateStream(&stream);
    err |= aclrtCreateStream(&stream, 0, ACL_STREAM_FAST_SYNC);
    err |= aclrtCreateEvent(&event);
    err |= aclrtCreateEvent(&event, ACL_EVENT_SYNC);
    err |= aclrtStreamWaitEvent(stream, event);
    err |= aclrtStreamWaitEvent(stream, event, 1);
    err |= aclrtSynchronizeEvent(event, 1);
    err |= aclrtSynchronizeStream(stream);
    err |= aclrtSynchronizeStream(stream, 1);
    err |= aclrtSynchronizeDevice();
    err |= aclrtSynchronizeDevice(1);
    err |= aclrtSetOpExecuteTimeOut(1);
    err |= aclrtSetOpExecuteTimeOut(1, &actual);
    err |= aclrtLaunchSIMTKernelWithArgsArray(plain, grid, dim3(), 0, stream, nullptr, nullptr);
    return err;
}
