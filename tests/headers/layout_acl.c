/* Sizes and offsets of the structs of the acl runtime interface, on a 64-bit machine. */
#include <acl/acl.h>
#include <acl/acl_rt_memory_soma.h>

#include "check.h"

CHECK_SIZE(aclrtMemManagedLocation, 8);
CHECK_OFFSET(aclrtMemManagedLocation, type, 0);
CHECK_OFFSET(aclrtMemManagedLocation, id, 4);

CHECK_SIZE(aclrtMallocAttrValue, 8);
CHECK_OFFSET(aclrtMallocAttrValue, moduleId, 0);
CHECK_OFFSET(aclrtMallocAttrValue, deviceId, 0);
CHECK_OFFSET(aclrtMallocAttrValue, vaFlag, 0);
CHECK_OFFSET(aclrtMallocAttrValue, rsv, 0);

CHECK_SIZE(aclrtMallocAttribute, 12);
CHECK_OFFSET(aclrtMallocAttribute, attr, 0);
CHECK_OFFSET(aclrtMallocAttribute, value, 4);

CHECK_SIZE(aclrtMallocConfig, 16);
CHECK_OFFSET(aclrtMallocConfig, attrs, 0);
CHECK_OFFSET(aclrtMallocConfig, numAttrs, 8);

CHECK_SIZE(aclrtServerPid, 24);
CHECK_OFFSET(aclrtServerPid, sdid, 0);
CHECK_OFFSET(aclrtServerPid, pid, 8);
CHECK_OFFSET(aclrtServerPid, num, 16);

CHECK_SIZE(aclrtStreamConfigHandle, 32);
CHECK_OFFSET(aclrtStreamConfigHandle, workptr, 0);
CHECK_OFFSET(aclrtStreamConfigHandle, workSize, 8);
CHECK_OFFSET(aclrtStreamConfigHandle, flag, 16);
CHECK_OFFSET(aclrtStreamConfigHandle, priority, 24);

CHECK_SIZE(aclrtUtilizationInfo, 24);
CHECK_OFFSET(aclrtUtilizationInfo, cubeUtilization, 0);
CHECK_OFFSET(aclrtUtilizationInfo, vectorUtilization, 4);
CHECK_OFFSET(aclrtUtilizationInfo, aicpuUtilization, 8);
CHECK_OFFSET(aclrtUtilizationInfo, memoryUtilization, 12);
CHECK_OFFSET(aclrtUtilizationInfo, utilizationExtend, 16);

CHECK_SIZE(aclrtMemLocation, 8);
CHECK_OFFSET(aclrtMemLocation, id, 0);
CHECK_OFFSET(aclrtMemLocation, type, 4);

CHECK_SIZE(aclrtPtrAttributes, 28);
CHECK_OFFSET(aclrtPtrAttributes, location, 0);
CHECK_OFFSET(aclrtPtrAttributes, pageSize, 8);
CHECK_OFFSET(aclrtPtrAttributes, rsv, 12);

CHECK_SIZE(aclrtMemUsageInfo, 112);
CHECK_OFFSET(aclrtMemUsageInfo, name, 0);
CHECK_OFFSET(aclrtMemUsageInfo, curMemSize, 32);
CHECK_OFFSET(aclrtMemUsageInfo, memPeakSize, 40);
CHECK_OFFSET(aclrtMemUsageInfo, reserved, 48);

CHECK_SIZE(aclrtMemFabricHandle, 128);
CHECK_OFFSET(aclrtMemFabricHandle, data, 0);

CHECK_SIZE(aclrtPhysicalMemProp, 32);
CHECK_OFFSET(aclrtPhysicalMemProp, handleType, 0);
CHECK_OFFSET(aclrtPhysicalMemProp, allocationType, 4);
CHECK_OFFSET(aclrtPhysicalMemProp, memAttr, 8);
CHECK_OFFSET(aclrtPhysicalMemProp, location, 12);
CHECK_OFFSET(aclrtPhysicalMemProp, reserve, 24);

CHECK_SIZE(aclrtMemUceInfo, 128);
CHECK_OFFSET(aclrtMemUceInfo, addr, 0);
CHECK_OFFSET(aclrtMemUceInfo, len, 8);
CHECK_OFFSET(aclrtMemUceInfo, reserved, 16);

CHECK_SIZE(aclrtMemUceInfoArray, 2568);
CHECK_OFFSET(aclrtMemUceInfoArray, arraySize, 0);
CHECK_OFFSET(aclrtMemUceInfoArray, memUceInfoArray, 8);

CHECK_SIZE(aclrtErrorInfoDetail, 2568);
CHECK_OFFSET(aclrtErrorInfoDetail, uceInfo, 0);
CHECK_OFFSET(aclrtErrorInfoDetail, aicoreErrType, 0);

CHECK_SIZE(aclrtErrorInfo, 2576);
CHECK_OFFSET(aclrtErrorInfo, tryRepair, 0);
CHECK_OFFSET(aclrtErrorInfo, hasDetail, 1);
CHECK_OFFSET(aclrtErrorInfo, reserved, 2);
CHECK_OFFSET(aclrtErrorInfo, errorType, 4);
CHECK_OFFSET(aclrtErrorInfo, detail, 8);

CHECK_SIZE(aclrtBinaryLoadOptionValue, 16);
CHECK_OFFSET(aclrtBinaryLoadOptionValue, isLazyLoad, 0);
CHECK_OFFSET(aclrtBinaryLoadOptionValue, magic, 0);
CHECK_OFFSET(aclrtBinaryLoadOptionValue, cpuKernelMode, 0);
CHECK_OFFSET(aclrtBinaryLoadOptionValue, rsv, 0);

CHECK_SIZE(aclrtBinaryLoadOption, 20);
CHECK_OFFSET(aclrtBinaryLoadOption, type, 0);
CHECK_OFFSET(aclrtBinaryLoadOption, value, 4);

CHECK_SIZE(aclrtBinaryLoadOptions, 16);
CHECK_OFFSET(aclrtBinaryLoadOptions, options, 0);
CHECK_OFFSET(aclrtBinaryLoadOptions, numOpt, 8);

CHECK_SIZE(dim3, 12);
CHECK_OFFSET(dim3, x, 0);
CHECK_OFFSET(dim3, y, 4);
CHECK_OFFSET(dim3, z, 8);

CHECK_SIZE(aclrtTimeoutUs, 8);
CHECK_OFFSET(aclrtTimeoutUs, timeoutLow, 0);
CHECK_OFFSET(aclrtTimeoutUs, timeoutHigh, 4);

CHECK_SIZE(aclrtLaunchKernelAttrValue, 16);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, schemMode, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, localMemorySize, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, dynUBufSize, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, engineType, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, blockDimOffset, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, isBlockTaskPrefetch, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, isDataDump, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, timeout, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, timeoutUs, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, enableProfiling, 0);
CHECK_OFFSET(aclrtLaunchKernelAttrValue, rsv, 0);

CHECK_SIZE(aclrtLaunchKernelAttr, 20);
CHECK_OFFSET(aclrtLaunchKernelAttr, id, 0);
CHECK_OFFSET(aclrtLaunchKernelAttr, value, 4);

CHECK_SIZE(aclrtLaunchKernelCfg, 16);
CHECK_OFFSET(aclrtLaunchKernelCfg, attrs, 0);
CHECK_OFFSET(aclrtLaunchKernelCfg, numAttrs, 8);

CHECK_SIZE(aclrtStreamAttrValue, 16);
CHECK_OFFSET(aclrtStreamAttrValue, failureMode, 0);
CHECK_OFFSET(aclrtStreamAttrValue, overflowSwitch, 0);
CHECK_OFFSET(aclrtStreamAttrValue, userCustomTag, 0);
CHECK_OFFSET(aclrtStreamAttrValue, cacheOpInfoSwitch, 0);
CHECK_OFFSET(aclrtStreamAttrValue, streamPriority, 0);
CHECK_OFFSET(aclrtStreamAttrValue, reserve, 0);

CHECK_SIZE(aclmdlRIKernelTaskParams, 88);
CHECK_OFFSET(aclmdlRIKernelTaskParams, funcHandle, 0);
CHECK_OFFSET(aclmdlRIKernelTaskParams, cfg, 8);
CHECK_OFFSET(aclmdlRIKernelTaskParams, args, 16);
CHECK_OFFSET(aclmdlRIKernelTaskParams, isHostArgs, 24);
CHECK_OFFSET(aclmdlRIKernelTaskParams, argsSize, 32);
CHECK_OFFSET(aclmdlRIKernelTaskParams, numBlocks, 40);
CHECK_OFFSET(aclmdlRIKernelTaskParams, rsv, 44);

CHECK_SIZE(aclmdlRIEventRecordTaskParams, 16);
CHECK_OFFSET(aclmdlRIEventRecordTaskParams, event, 0);
CHECK_OFFSET(aclmdlRIEventRecordTaskParams, eventFlag, 8);
CHECK_OFFSET(aclmdlRIEventRecordTaskParams, recordFlag, 12);

CHECK_SIZE(aclmdlRIEventWaitTaskParams, 16);
CHECK_OFFSET(aclmdlRIEventWaitTaskParams, event, 0);
CHECK_OFFSET(aclmdlRIEventWaitTaskParams, eventFlag, 8);
CHECK_OFFSET(aclmdlRIEventWaitTaskParams, waitFlag, 12);

CHECK_SIZE(aclmdlRIEventResetTaskParams, 16);
CHECK_OFFSET(aclmdlRIEventResetTaskParams, event, 0);
CHECK_OFFSET(aclmdlRIEventResetTaskParams, eventFlag, 8);
CHECK_OFFSET(aclmdlRIEventResetTaskParams, resetFlag, 12);

CHECK_SIZE(aclmdlRIValueWriteTaskParams, 16);
CHECK_OFFSET(aclmdlRIValueWriteTaskParams, devAddr, 0);
CHECK_OFFSET(aclmdlRIValueWriteTaskParams, value, 8);

CHECK_SIZE(aclmdlRIValueWaitTaskParams, 24);
CHECK_OFFSET(aclmdlRIValueWaitTaskParams, devAddr, 0);
CHECK_OFFSET(aclmdlRIValueWaitTaskParams, value, 8);
CHECK_OFFSET(aclmdlRIValueWaitTaskParams, flag, 16);

CHECK_SIZE(aclmdlRITaskParams, 200);
CHECK_OFFSET(aclmdlRITaskParams, type, 0);
CHECK_OFFSET(aclmdlRITaskParams, rsv0, 4);
CHECK_OFFSET(aclmdlRITaskParams, taskGrp, 16);
CHECK_OFFSET(aclmdlRITaskParams, opInfoPtr, 24);
CHECK_OFFSET(aclmdlRITaskParams, opInfoSize, 32);
CHECK_OFFSET(aclmdlRITaskParams, rsv1, 40);
CHECK_OFFSET(aclmdlRITaskParams, rsv2, 72);
CHECK_OFFSET(aclmdlRITaskParams, kernelTaskParams, 72);
CHECK_OFFSET(aclmdlRITaskParams, eventRecordTaskParams, 72);
CHECK_OFFSET(aclmdlRITaskParams, eventWaitTaskParams, 72);
CHECK_OFFSET(aclmdlRITaskParams, eventResetTaskParams, 72);
CHECK_OFFSET(aclmdlRITaskParams, valueWriteTaskParams, 72);
CHECK_OFFSET(aclmdlRITaskParams, valueWaitTaskParams, 72);

CHECK_SIZE(aclrtBarrierCmoInfo, 8);
CHECK_OFFSET(aclrtBarrierCmoInfo, cmoType, 0);
CHECK_OFFSET(aclrtBarrierCmoInfo, barrierId, 4);

CHECK_SIZE(aclrtBarrierTaskInfo, 56);
CHECK_OFFSET(aclrtBarrierTaskInfo, barrierNum, 0);
CHECK_OFFSET(aclrtBarrierTaskInfo, cmoInfo, 8);

CHECK_SIZE(aclrtMemcpyBatchAttr, 32);
CHECK_OFFSET(aclrtMemcpyBatchAttr, dstLoc, 0);
CHECK_OFFSET(aclrtMemcpyBatchAttr, srcLoc, 8);
CHECK_OFFSET(aclrtMemcpyBatchAttr, rsv, 16);

CHECK_SIZE(aclrtPlaceHolderInfo, 8);
CHECK_OFFSET(aclrtPlaceHolderInfo, addrOffset, 0);
CHECK_OFFSET(aclrtPlaceHolderInfo, dataOffset, 4);

CHECK_SIZE(aclrtUuid, 16);
CHECK_OFFSET(aclrtUuid, bytes, 0);

CHECK_SIZE(aclrtCntNotifyRecordInfo, 8);
CHECK_OFFSET(aclrtCntNotifyRecordInfo, mode, 0);
CHECK_OFFSET(aclrtCntNotifyRecordInfo, value, 4);

CHECK_SIZE(aclrtCntNotifyWaitInfo, 16);
CHECK_OFFSET(aclrtCntNotifyWaitInfo, mode, 0);
CHECK_OFFSET(aclrtCntNotifyWaitInfo, value, 4);
CHECK_OFFSET(aclrtCntNotifyWaitInfo, timeout, 8);
CHECK_OFFSET(aclrtCntNotifyWaitInfo, isClear, 12);
CHECK_OFFSET(aclrtCntNotifyWaitInfo, rsv, 13);

CHECK_SIZE(aclrtMemAccessDesc, 24);
CHECK_OFFSET(aclrtMemAccessDesc, flags, 0);
CHECK_OFFSET(aclrtMemAccessDesc, location, 4);
CHECK_OFFSET(aclrtMemAccessDesc, rsv, 12);

CHECK_SIZE(aclCANNPackageVersion, 512);
CHECK_OFFSET(aclCANNPackageVersion, version, 0);
CHECK_OFFSET(aclCANNPackageVersion, majorVersion, 128);
CHECK_OFFSET(aclCANNPackageVersion, minorVersion, 192);
CHECK_OFFSET(aclCANNPackageVersion, releaseVersion, 256);
CHECK_OFFSET(aclCANNPackageVersion, patchVersion, 320);
CHECK_OFFSET(aclCANNPackageVersion, reserved, 384);

CHECK_SIZE(aclrtIpcEventHandle, 64);
CHECK_OFFSET(aclrtIpcEventHandle, reserved, 0);

CHECK_SIZE(aclmdlRICondTaskParams, 24);
CHECK_OFFSET(aclmdlRICondTaskParams, handle, 0);
CHECK_OFFSET(aclmdlRICondTaskParams, type, 8);
CHECK_OFFSET(aclmdlRICondTaskParams, size, 12);
CHECK_OFFSET(aclmdlRICondTaskParams, modelRIArray, 16);

CHECK_SIZE(aclrtMemPoolProps, 56);
CHECK_OFFSET(aclrtMemPoolProps, allocType, 0);
CHECK_OFFSET(aclrtMemPoolProps, handleType, 4);
CHECK_OFFSET(aclrtMemPoolProps, location, 8);
CHECK_OFFSET(aclrtMemPoolProps, maxSize, 16);
CHECK_OFFSET(aclrtMemPoolProps, reserved, 24);

CHECK_SIZE(aclrtRandomParaInfo, 16);
CHECK_OFFSET(aclrtRandomParaInfo, valueOrAddr, 1);
CHECK_OFFSET(aclrtRandomParaInfo, size, 9);
CHECK_SIZE(aclrtRandomNumFuncParaInfo, 36);
CHECK_OFFSET(aclrtRandomNumFuncParaInfo, paramInfo, 4);
CHECK_SIZE(aclrtRandomNumTaskInfo, 104);
CHECK_OFFSET(aclrtRandomNumTaskInfo, randomParaAddr, 40);
CHECK_OFFSET(aclrtRandomNumTaskInfo, randomSeed, 64);
CHECK_OFFSET(aclrtRandomNumTaskInfo, rsv, 96);
CHECK_SIZE(aclrtTaskUpdateInfo, 48);
CHECK_OFFSET(aclrtTaskUpdateInfo, val, 8);
CHECK_SIZE(aclrtSnapShotBackupArgs, 64);
CHECK_SIZE(aclrtSnapShotRestoreArgs, 64);

CHECK_SIZE(aclError, 4);
CHECK_SIZE(aclFloat16, 2);
CHECK_SIZE(aclrtStream, 8);
CHECK_SIZE(aclmdlRI, 8);
