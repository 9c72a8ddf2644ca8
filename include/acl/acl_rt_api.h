/* acl_rt.h with overloads for C++: the timeout, flag or configuration as a
 * further argument, and typed pointers where C has void. In C this header adds
 * nothing. */
#ifndef REPRISE_ACL_ACL_RT_API_H
#define REPRISE_ACL_ACL_RT_API_H

#include "acl_rt.h"

#ifdef __cplusplus

/* Waiting, streams, events. */

inline aclError aclrtSynchronizeDevice(int32_t timeout)
{
    return aclrtSynchronizeDeviceWithTimeout(timeout);
}

inline aclError aclrtSynchronizeStream(aclrtStream stream, int32_t timeout)
{
    return aclrtSynchronizeStreamWithTimeout(stream, timeout);
}

inline aclError aclrtSynchronizeEvent(aclrtEvent event, int32_t timeout)
{
    return aclrtSynchronizeEventWithTimeout(event, timeout);
}

inline aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    return aclrtStreamWaitEventWithTimeout(stream, event, timeout);
}

inline aclError aclrtCreateStream(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    return aclrtCreateStreamWithConfig(stream, priority, flag);
}

inline aclError aclrtCreateEvent(aclrtEvent *event, uint32_t flag)
{
    return aclrtCreateEventExWithFlag(event, flag);
}

inline aclError aclrtSetOpExecuteTimeOut(uint64_t timeout, uint64_t *actualTimeout)
{
    return aclrtSetOpExecuteTimeOutV2(timeout, actualTimeout);
}

/* Memory. Each call fills a void pointer of its own and converts it, so that no pointer is read
 * as one of another type. */

template <typename T>
inline aclError aclrtMalloc(
        T **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg = nullptr)
{
    void *memory = nullptr;
    aclError err = aclrtMallocWithCfg(devPtr == nullptr ? nullptr : &memory, size, policy, cfg);
    if (err == ACL_SUCCESS) {
        *devPtr = static_cast<T *>(memory);
    }
    return err;
}

template <typename T>
inline aclError aclrtMalloc(T **devPtr, size_t size, aclrtMallocConfig *cfg = nullptr)
{
    return aclrtMalloc(devPtr, size, ACL_MEM_MALLOC_HUGE_FIRST, cfg);
}

template <typename T>
inline aclError aclrtMallocHost(T **hostPtr, size_t size, aclrtMallocConfig *cfg = nullptr)
{
    void *memory = nullptr;
    aclError err = aclrtMallocHostWithCfg(hostPtr == nullptr ? nullptr : &memory, size, cfg);
    if (err == ACL_SUCCESS) {
        *hostPtr = static_cast<T *>(memory);
    }
    return err;
}

template <typename T>
inline aclError aclrtMemAllocManaged(
        T **ptr, size_t size, uint32_t flags = ACL_RT_MEM_ATTACH_GLOBAL)
{
    void *memory = nullptr;
    aclError err = aclrtMemAllocManaged(
            ptr == nullptr ? nullptr : &memory, static_cast<uint64_t>(size), flags);
    if (err == ACL_SUCCESS) {
        *ptr = static_cast<T *>(memory);
    }
    return err;
}

template <typename T>
inline aclError aclrtHostRegister(T *ptr, uint64_t size, aclrtHostRegisterType type, T **devPtr)
{
    void *mapped = nullptr;
    aclError err = aclrtHostRegister(
            static_cast<void *>(ptr), size, type, devPtr == nullptr ? nullptr : &mapped);
    if (err == ACL_SUCCESS && devPtr != nullptr) {
        *devPtr = static_cast<T *>(mapped);
    }
    return err;
}

template <typename T> inline aclError aclrtHostRegister(T *ptr, uint64_t size, uint32_t flag)
{
    return aclrtHostRegisterV2(static_cast<void *>(ptr), size, flag);
}

template <typename T>
inline aclError aclrtHostGetDevicePointer(T *pHost, T **pDevice, uint32_t flag)
{
    void *mapped = nullptr;
    aclError err = aclrtHostGetDevicePointer(
            static_cast<void *>(pHost), pDevice == nullptr ? nullptr : &mapped, flag);
    if (err == ACL_SUCCESS) {
        *pDevice = static_cast<T *>(mapped);
    }
    return err;
}

/* Copies. */

inline aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr attr)
{
    size_t first = 0;
    return aclrtMemcpyBatchV2(dsts, destMaxs, srcs, sizes, numBatches, &attr, &first, 1);
}

inline aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs)
{
    return aclrtMemcpyBatchV2(
            dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs);
}

inline aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr attr, aclrtStream stream)
{
    size_t first = 0;
    return aclrtMemcpyBatchAsyncV2(
            dsts, destMaxs, srcs, sizes, numBatches, &attr, &first, 1, stream);
}

inline aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
        size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
        aclrtStream stream)
{
    return aclrtMemcpyBatchAsyncV2(
            dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, stream);
}

inline aclError aclrtMemManagedPrefetchBatchAsync(const void **ptrs, size_t *sizes, size_t count,
        aclrtMemManagedLocation prefetchLoc, uint64_t flags, aclrtStream stream)
{
    size_t first = 0;
    return aclrtMemManagedPrefetchBatchAsync(
            ptrs, sizes, count, &prefetchLoc, &first, 1, flags, stream);
}

/* Variables of kernels, by name instead of by address. Without the exclusion of pointers a call
 * with an address would mean the variable that holds it. */

namespace reprise
{
template <typename T> struct not_pointer {
    typedef aclError type;
};
template <typename T> struct not_pointer<T *> {
};
} // namespace reprise

template <typename T>
inline typename reprise::not_pointer<T>::type aclrtGetSymbolAddress(const T &symbol, void **devPtr)
{
    return aclrtGetSymbolAddress(static_cast<const void *>(&symbol), devPtr);
}

template <typename T>
inline typename reprise::not_pointer<T>::type aclrtGetSymbolSize(const T &symbol, size_t *size)
{
    return aclrtGetSymbolSize(static_cast<const void *>(&symbol), size);
}

template <typename T>
inline typename reprise::not_pointer<T>::type aclrtMemcpyFromSymbol(void *dst, size_t dstMax,
        const T &symbol, size_t count, size_t offset, aclrtMemcpyKind kind)
{
    return aclrtMemcpyFromSymbol(
            dst, dstMax, static_cast<const void *>(&symbol), count, offset, kind);
}

template <typename T>
inline typename reprise::not_pointer<T>::type aclrtMemcpyFromSymbolAsync(void *dst, size_t dstMax,
        const T &symbol, size_t count, size_t offset, aclrtMemcpyKind kind, aclrtStream stream)
{
    return aclrtMemcpyFromSymbolAsync(
            dst, dstMax, static_cast<const void *>(&symbol), count, offset, kind, stream);
}

template <typename T>
inline typename reprise::not_pointer<T>::type aclrtMemcpyToSymbol(
        const T &symbol, const void *src, size_t count, size_t offset, aclrtMemcpyKind kind)
{
    return aclrtMemcpyToSymbol(static_cast<const void *>(&symbol), src, count, offset, kind);
}

template <typename T>
inline typename reprise::not_pointer<T>::type aclrtMemcpyToSymbolAsync(const T &symbol,
        const void *src, size_t count, size_t offset, aclrtMemcpyKind kind, aclrtStream stream)
{
    return aclrtMemcpyToSymbolAsync(
            static_cast<const void *>(&symbol), src, count, offset, kind, stream);
}

#endif

#endif
