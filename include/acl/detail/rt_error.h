/* Last errors, task exceptions, overflow, and recovery from faults of the
 * device. */
#ifndef REPRISE_RT_ERROR_H
#define REPRISE_RT_ERROR_H

#include "rt_handles.h"
#include "rt_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Whose last error is meant. */
typedef enum aclrtLastErrLevel {
    ACL_RT_THREAD_LEVEL = 0,
} aclrtLastErrLevel;

/** Kinds of fault. */
typedef enum aclrtErrorType {
    ACL_RT_NO_ERROR = 0,
    ACL_RT_ERROR_MEMORY = 1,
    ACL_RT_ERROR_L2 = 2,
    ACL_RT_ERROR_AICORE = 3,
    ACL_RT_ERROR_LINK = 4,
    ACL_RT_ERROR_L3_PORT = 5,
    ACL_RT_ERROR_OTHERS = 65535,
} aclrtErrorType;

/** Kinds of fault of a core. */
typedef enum aclrtAicoreErrorType {
    ACL_RT_AICORE_ERROR_UNKNOWN = 0,
    ACL_RT_AICORE_ERROR_SW = 1,
    ACL_RT_AICORE_ERROR_HW_LOCAL = 2,
} aclrtAicoreErrorType;

/** Bounds of the records below. */
#define MAX_MEM_UCE_INFO_ARRAY_SIZE 128
#define UCE_INFO_RESERVED_SIZE 14
#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20
#define ACL_RT_MAX_RECORD_PA_NUM_PER_DEV 20U

/** Memory with an error that cannot be corrected. */
typedef struct aclrtMemUceInfo {
    void *addr;
    size_t len;
    size_t reserved[UCE_INFO_RESERVED_SIZE];
} aclrtMemUceInfo;

/** `arraySize` of them. */
typedef struct aclrtMemUceInfoArray {
    size_t arraySize;
    aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

/** A fault, whether a repair can be tried, and what is known about it. */
typedef union aclrtErrorInfoDetail {
    aclrtMemUceInfoArray uceInfo;
    aclrtAicoreErrorType aicoreErrType;
} aclrtErrorInfoDetail;

typedef struct aclrtErrorInfo {
    uint8_t tryRepair;
    uint8_t hasDetail;
    uint8_t reserved[2];
    aclrtErrorType errorType;
    aclrtErrorInfoDetail detail;
} aclrtErrorInfo;

/** When an abort callback runs. */
typedef enum aclrtDeviceTaskAbortStage {
    ACL_RT_DEVICE_TASK_ABORT_PRE = 0,
    ACL_RT_DEVICE_TASK_ABORT_POST = 1,
} aclrtDeviceTaskAbortStage;

typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *exceptionInfo);
typedef int32_t (*aclrtDeviceTaskAbortCallback)(
        int32_t deviceId, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args);

/** The thread's last error, kept. */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/** The same, and sets it back to ACL_SUCCESS. */
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/** One callback for failing tasks of this process. Deprecated: use
 * aclrtExceptionInfoCallbackRegister(). */
ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/** Callbacks for failing tasks; any number of different ones. */
ACL_FUNC_VISIBILITY aclError aclrtExceptionInfoCallbackRegister(
        aclrtExceptionInfoCallback callback);
ACL_FUNC_VISIBILITY aclError aclrtExceptionInfoCallbackUnregister(
        aclrtExceptionInfoCallback callback);

/** Parts of the report; 0xFFFFFFFF for NULL. */
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

/** Arguments and kernel of the failing task. */
ACL_FUNC_VISIBILITY aclError aclrtGetArgsFromExceptionInfo(
        const aclrtExceptionInfo *info, void **devArgsPtr, uint32_t *devArgsLen);
ACL_FUNC_VISIBILITY aclError aclrtGetFuncHandleFromExceptionInfo(
        const aclrtExceptionInfo *info, aclrtFuncHandle *func);

/** Number of the task that this thread submitted last to a stream of its own making. */
ACL_FUNC_VISIBILITY aclError aclrtGetThreadLastTaskId(uint32_t *taskId);

/** What is known about a device's fault; before any abort of its tasks. */
ACL_FUNC_VISIBILITY aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo);

/** Tries to repair it; after that abort. */
ACL_FUNC_VISIBILITY aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo);

/** Stops what runs and drops what is queued on a device; calls at the same time
 * get ACL_ERROR_RT_DEVICE_TASK_ABORT. `timeout` in ms. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/** Registers `callback` under a name of its own, or removes it when `callback`
 * is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceTaskAbortCallback(
        const char *regName, aclrtDeviceTaskAbortCallback callback, void *args);

/** Memory with errors that cannot be corrected, and its repair. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUceInfo(
        int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize, size_t *retSize);
ACL_FUNC_VISIBILITY aclError aclrtMemUceRepair(
        int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize);

/** Queues a copy of the overflow state, 64 bytes, to device memory. */
ACL_FUNC_VISIBILITY aclError aclrtGetOverflowStatus(
        void *outputAddr, size_t outputSize, aclrtStream stream);

/** Queues clearing it. */
ACL_FUNC_VISIBILITY aclError aclrtResetOverflowStatus(aclrtStream stream);

/** Older forms of the two. */
ACL_FUNC_VISIBILITY aclError aclrtGetFloatOverflowStatus(
        void *outputAddr, uint64_t outputSize, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtResetFloatOverflowStatus(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtNpuGetFloatOverFlowStatus(
        void *outputAddr, uint64_t outputSize, uint32_t checkMode, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtNpuClearFloatOverFlowStatus(
        uint32_t checkMode, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
