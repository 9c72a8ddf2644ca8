/* Kernels: loading, arguments, launch. */
#ifndef REPRISE_RT_KERNEL_H
#define REPRISE_RT_KERNEL_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A launch is asynchronous. `numBlocks` says how often the kernel's function is
 * called: once for each block, with that block's number; as many cores as there
 * are share the blocks. The arguments themselves are copied at the call. Memory
 * that they point to must live until the launch has run, and for a captured
 * launch as long as the graph. */

/** Values of ACL_RT_BINARY_LOAD_OPT_MAGIC. */
#define ACL_RT_BINARY_MAGIC_ELF_AICORE 0x43554245U
#define ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE 0x41415246U
#define ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE 0x41494343U

/** Options of a load. LAZY_MAGIC is the older name of MAGIC. */
typedef enum aclrtBinaryLoadOptionType {
    ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD = 1,
    ACL_RT_BINARY_LOAD_OPT_LAZY_MAGIC = 2,
    ACL_RT_BINARY_LOAD_OPT_MAGIC = 2,
    ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE = 3,
} aclrtBinaryLoadOptionType;

/** One option. */
typedef union aclrtBinaryLoadOptionValue {
    uint32_t isLazyLoad;
    uint32_t magic;
    int32_t cpuKernelMode;
    uint32_t rsv[4];
} aclrtBinaryLoadOptionValue;

typedef struct aclrtBinaryLoadOption {
    aclrtBinaryLoadOptionType type;
    aclrtBinaryLoadOptionValue value;
} aclrtBinaryLoadOption;

/** `numOpt` options. */
typedef struct aclrtBinaryLoadOptions {
    aclrtBinaryLoadOption *options;
    size_t numOpt;
} aclrtBinaryLoadOptions;

/** Which cores run a kernel. */
typedef enum aclrtEngineType {
    ACL_RT_ENGINE_TYPE_AIC = 0,
    ACL_RT_ENGINE_TYPE_AIV = 1,
} aclrtEngineType;

#ifdef __cplusplus
/** Sizes of a grid or of a block; 1 where nothing is said. */
struct dim3 {
    uint32_t x;
    uint32_t y;
    uint32_t z;
    dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
#else
/** Sizes of a grid or of a block. */
typedef struct dim3 {
    uint32_t x;
    uint32_t y;
    uint32_t z;
} dim3;
#endif

/** Microseconds, in two halves. */
typedef struct aclrtTimeoutUs {
    uint32_t timeoutLow;
    uint32_t timeoutHigh;
} aclrtTimeoutUs;

/** Attributes of a launch. LOCAL_MEMORY_SIZE is the older name of DYN_UBUF_SIZE. */
typedef enum aclrtLaunchKernelAttrId {
    ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE = 1,
    ACL_RT_LAUNCH_KERNEL_ATTR_LOCAL_MEMORY_SIZE = 2,
    ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE = 2,
    ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE = 3,
    ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET = 4,
    ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH = 5,
    ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP = 6,
    ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT = 7,
    ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US = 8,
    ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING = 9,
} aclrtLaunchKernelAttrId;

/** One attribute of a launch. */
typedef union aclrtLaunchKernelAttrValue {
    uint8_t schemMode;
    uint32_t localMemorySize;
    uint32_t dynUBufSize;
    aclrtEngineType engineType;
    uint32_t blockDimOffset;
    uint8_t isBlockTaskPrefetch;
    uint8_t isDataDump;
    uint16_t timeout;
    aclrtTimeoutUs timeoutUs;
    uint8_t enableProfiling;
    uint32_t rsv[4];
} aclrtLaunchKernelAttrValue;

typedef struct aclrtLaunchKernelAttr {
    aclrtLaunchKernelAttrId id;
    aclrtLaunchKernelAttrValue value;
} aclrtLaunchKernelAttr;

/** `numAttrs` attributes. */
typedef struct aclrtLaunchKernelCfg {
    aclrtLaunchKernelAttr *attrs;
    size_t numAttrs;
} aclrtLaunchKernelCfg;

/** The device address of hostArgs + dataOffset is stored at hostArgs +
 * addrOffset; both in bytes. */
typedef struct aclrtPlaceHolderInfo {
    uint32_t addrOffset;
    uint32_t dataOffset;
} aclrtPlaceHolderInfo;

/** What aclrtGetFunctionAttribute() tells. */
typedef enum aclrtFuncAttribute {
    ACL_FUNC_ATTR_KERNEL_TYPE = 1,
    ACL_FUNC_ATTR_KERNEL_RATIO = 2,
    ACL_FUNC_ATTR_KERNEL_SCHED_MODE = 3,
} aclrtFuncAttribute;

/** Values of ACL_FUNC_ATTR_KERNEL_TYPE. */
typedef enum aclrtKernelType {
    ACL_KERNEL_TYPE_AICORE = 0,
    ACL_KERNEL_TYPE_CUBE = 1,
    ACL_KERNEL_TYPE_VECTOR = 2,
    ACL_KERNEL_TYPE_MIX = 3,
    ACL_KERNEL_TYPE_AICPU = 100,
} aclrtKernelType;

typedef struct rtExceptionInfo aclrtExceptionInfo;
typedef void (*aclrtOpExceptionCallback)(aclrtExceptionInfo *exceptionInfo, void *userData);

/** Loads a binary; `options` may be NULL. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryLoadFromFile(
        const char *binPath, aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle);
ACL_FUNC_VISIBILITY aclError aclrtBinaryLoadFromData(const void *data, size_t length,
        const aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle);

/** Unloads it. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle);

/** A kernel by its name. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryGetFunction(
        const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle);

/** A kernel by its number. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryGetFunctionByEntry(
        aclrtBinHandle binHandle, uint64_t funcEntry, aclrtFuncHandle *funcHandle);

/** Where the binary lies on the device. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryGetDevAddress(
        const aclrtBinHandle binHandle, void **binAddr, size_t *binSize);

/** A variable of the binary; unknown: ACL_ERROR_RT_SYMBOL_NOT_FOUND. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryGetGlobal(
        aclrtBinHandle binHandle, const char *name, void **dptr, size_t *size);

/** Called when a kernel of the binary faults. */
ACL_FUNC_VISIBILITY aclError aclrtBinarySetExceptionCallback(
        aclrtBinHandle binHandle, aclrtOpExceptionCallback callback, void *userData);

/** A kernel for the device's own CPUs. */
ACL_FUNC_VISIBILITY aclError aclrtRegisterCpuFunc(const aclrtBinHandle handle, const char *funcName,
        const char *kernelName, aclrtFuncHandle *funcHandle);

/** Wraps bytes that stay the caller's until aclrtDestroyBinary(). NULL on failure. */
ACL_FUNC_VISIBILITY aclrtBinary aclrtCreateBinary(const void *data, size_t dataLen);

/** Frees the wrapper. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyBinary(aclrtBinary binary);

/** Loads such bytes. */
ACL_FUNC_VISIBILITY aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle *binHandle);

/** The kernel's name, NUL-terminated within `maxLen` bytes. */
ACL_FUNC_VISIBILITY aclError aclrtGetFunctionName(
        aclrtFuncHandle funcHandle, uint32_t maxLen, char *name);

/** Attribute, device addresses and sizes of a kernel. */
ACL_FUNC_VISIBILITY aclError aclrtGetFunctionAttribute(
        aclrtFuncHandle funcHandle, aclrtFuncAttribute attrType, int64_t *attrValue);
ACL_FUNC_VISIBILITY aclError aclrtGetFunctionAddr(
        aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr);
ACL_FUNC_VISIBILITY aclError aclrtGetFunctionSize(
        aclrtFuncHandle funcHandle, size_t *aicSize, size_t *aivSize);

/** The kernel behind a symbol of the program. */
ACL_FUNC_VISIBILITY aclError aclrtGetFuncBySymbol(const void *symbol, aclrtFuncHandle *funcHandle);

/** Where a kernel comes from, its parameters, and how much dynamic local memory
 * it may use. */
ACL_FUNC_VISIBILITY aclError aclrtFunctionGetBinary(
        const aclrtFuncHandle funcHandle, aclrtBinHandle *binHandle);
ACL_FUNC_VISIBILITY aclError aclrtFunctionGetParamCount(const void *func, size_t *paramCount);
ACL_FUNC_VISIBILITY aclError aclrtFunctionGetParamInfo(
        const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize);
ACL_FUNC_VISIBILITY aclError aclrtFunctionGetAvailDynUbufPerBlock(
        void *func, uint32_t flags, size_t *dynamicUbufSize);

/** Opens an argument list in memory of the runtime. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsInit(
        aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle);

/** Opens one in memory of the caller, of the sizes that the next two calls tell. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle,
        aclrtArgsHandle argsHandle, void *userHostMem, size_t actualArgsSize);

/** Bytes that a list and its arguments need. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetHandleMemSize(
        aclrtFuncHandle funcHandle, size_t *memSize);
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetMemSize(
        aclrtFuncHandle funcHandle, size_t userArgsSize, size_t *actualArgsSize);

/** Copies the next parameter, of `paramSize` bytes; at most 128 of them. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsAppend(
        aclrtArgsHandle argsHandle, void *param, size_t paramSize, aclrtParamHandle *paramHandle);

/** Reserves a pointer that will lead to data carried with the arguments. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsAppendPlaceHolder(
        aclrtArgsHandle argsHandle, aclrtParamHandle *paramHandle);

/** Host memory of `dataSize` bytes to fill with that data. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle,
        aclrtParamHandle paramHandle, size_t dataSize, void **bufferAddr);

/** Replaces a parameter by one of the same size; finalize again afterwards. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsParaUpdate(
        aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void *param, size_t paramSize);

/** Closes the list for launching. */
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle);

/** Launches with a block of arguments of `argsSize` bytes, in host or device memory. It is
 * copied at the call and free for other use afterwards. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks,
        const void *argsData, size_t argsSize, aclrtStream stream);

/** The same with attributes; `cfg` may be NULL. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks,
        const void *argsData, size_t argsSize, aclrtLaunchKernelCfg *cfg, aclrtStream stream);

/** Launches with an argument list. `reserve` is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle,
        uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
        aclrtArgsHandle argsHandle, void *reserve);

/** Launches with a block of arguments that is copied at the call. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle,
        uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs,
        size_t argsSize, aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum);

/** Launches with one pointer for each parameter; `func` is a kernel handle or a
 * symbol. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchKernelWithArgsArray(
        void *func, uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args);

/** The same for kernels with a grid of threads. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchSIMTKernelWithArgsArray(void *func, dim3 gridDim,
        dim3 blockDim, size_t dynUbufSize, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
        void **args);
ACL_FUNC_VISIBILITY aclError aclrtLaunchSIMTKernelWithHostArgs(void *func, dim3 gridDim,
        dim3 blockDim, size_t dynUbufSize, aclrtStream stream, aclrtLaunchKernelCfg *cfg,
        void *hostArgs, size_t argsSize, aclrtPlaceHolderInfo *placeHolderArray,
        size_t placeHolderNum);

#ifdef __cplusplus
}
#endif

#endif
