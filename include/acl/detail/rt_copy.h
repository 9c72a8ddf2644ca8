/* Copies, fills and reductions of memory, and hints to the cache. */
#ifndef REPRISE_RT_COPY_H
#define REPRISE_RT_COPY_H

#include "rt_handles.h"
#include "rt_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `destMax` is the room at `dst` in bytes; a larger `count` is
 * ACL_ERROR_RT_PARAM_INVALID. A count of 0 succeeds before anything else is
 * checked. The direction follows from the addresses; `kind` is only checked
 * for its range. Synchronous forms do not wait for streams. During a capture
 * they are refused unless its mode allows them
 * (ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT), and captured copies need pinned
 * host memory. */

/** Directions. HOST_TO_BUF_TO_DEVICE stages the host data, so that the source
 * may be reused as soon as the call returns. */
typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7,
} aclrtMemcpyKind;

/** Where the two ends of a range of copies are. */
typedef struct aclrtMemcpyBatchAttr {
    aclrtMemLocation dstLoc;
    aclrtMemLocation srcLoc;
    uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

/** Operations of aclrtReduceAsync(). */
typedef enum aclrtReduceKind {
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM = 10,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13,
} aclrtReduceKind;

/** Hints to the cache. */
typedef enum aclrtCmoType {
    ACL_RT_CMO_TYPE_PREFETCH = 0,
    ACL_RT_CMO_TYPE_WRITEBACK = 1,
    ACL_RT_CMO_TYPE_INVALID = 2,
    ACL_RT_CMO_TYPE_FLUSH = 3,
} aclrtCmoType;

/** Most barriers of one aclrtCmoWaitBarrier(). */
#define ACL_RT_CMO_MAX_BARRIER_NUM 6U

/** The barriers that a task waits for. */
typedef struct aclrtBarrierCmoInfo {
    aclrtCmoType cmoType;
    uint32_t barrierId;
} aclrtBarrierCmoInfo;

typedef struct aclrtBarrierTaskInfo {
    size_t barrierNum;
    aclrtBarrierCmoInfo cmoInfo[ACL_RT_CMO_MAX_BARRIER_NUM];
} aclrtBarrierTaskInfo;

/** Copies and returns when done. Source and destination may be equal, and must
 * not overlap otherwise. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(
        void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);

/** Queues a copy. With pageable host memory it waits for the stream and copies
 * at once; host to host: ACL_ERROR_RT_FEATURE_NOT_SUPPORT. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src,
        size_t count, aclrtMemcpyKind kind, aclrtStream stream);

/** The same. Deprecated: use aclrtMemcpyAsync(). */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax,
        const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream);

/** `numBatches` copies in no order, all to or all from the device. Attribute k
 * counts from copy `attrsIndexes[k]` on, the first of which is 0. `*failIndex`:
 * the first copy that failed, or SIZE_MAX. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs,
        size_t *sizes, size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
        size_t numAttrs, size_t *failIndex);

/** The same without `failIndex`. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchV2(void **dsts, size_t *destMaxs, void **srcs,
        size_t *sizes, size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
        size_t numAttrs);

/** The same on a stream; host memory must be pinned. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs,
        size_t *sizes, size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
        size_t numAttrs, size_t *failIndex, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsyncV2(void **dsts, size_t *destMaxs, void **srcs,
        size_t *sizes, size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
        size_t numAttrs, aclrtStream stream);

/** `height` rows of `width` bytes; the pitches are the distances between rows,
 * in bytes, and at least `width`. Between host and device. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
        size_t width, size_t height, aclrtMemcpyKind kind);

/** The same on a stream, also within the device. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src,
        size_t spitch, size_t width, size_t height, aclrtMemcpyKind kind, aclrtStream stream);

/** Bytes of a copy descriptor. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t *descSize);

/** Fills a descriptor; `config` is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtSetMemcpyDesc(
        void *desc, aclrtMemcpyKind kind, void *srcAddr, void *dstAddr, size_t count, void *config);

/** Queues the copy that a descriptor in device memory holds when it runs. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithDesc(
        void *desc, aclrtMemcpyKind kind, aclrtStream stream);

/** Queues a copy whose base addresses are read from device memory when it runs;
 * offsets in bytes. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithOffset(void **dst, size_t destMax,
        size_t dstDataOffset, const void **src, size_t count, size_t srcDataOffset,
        aclrtMemcpyKind kind, aclrtStream stream);

/** Sets `count` bytes to the low byte of `value` and returns when done. Host or
 * device memory. */
ACL_FUNC_VISIBILITY aclError aclrtMemset(
        void *devPtr, size_t maxCount, int32_t value, size_t count);

/** The same on a stream. */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(
        void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream);

/** Sets `N` 32-bit words; 4 * N is at most `memSize`. */
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32(void *ptr, size_t memSize, uint32_t value, size_t N);

/** The same on a stream. */
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32Async(
        void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream);

/** Queues dst = dst OP src over `count` bytes of `type`. `reserve` is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count,
        aclrtReduceKind kind, aclDataType type, aclrtStream stream, void *reserve);

/** Queues a hint about `size` bytes. */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsync(
        void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream);

/** A hint that carries a barrier, and a wait for such barriers. */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithBarrier(
        void *src, size_t size, aclrtCmoType cmoType, uint32_t barrierId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtCmoWaitBarrier(
        aclrtBarrierTaskInfo *taskInfo, aclrtStream stream, uint32_t flag);

/** Hints whose range is read from a descriptor in device memory. */
ACL_FUNC_VISIBILITY aclError aclrtCmoGetDescSize(size_t *size);
ACL_FUNC_VISIBILITY aclError aclrtCmoSetDesc(void *cmoDesc, void *src, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithDesc(
        void *cmoDesc, aclrtCmoType cmoType, aclrtStream stream, const void *reserve);

#ifdef __cplusplus
}
#endif

#endif
