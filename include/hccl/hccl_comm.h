/* Communicators: creating, asking, configuring, faults, groups, and memory that
 * peers reach without a copy.
 *
 * A NULL pointer is HCCL_E_PTR, a bad value HCCL_E_PARA, unless a function says
 * otherwise; aclGetRecentErrMsg() has the sentence. */
#ifndef REPRISE_HCCL_COMM_H
#define REPRISE_HCCL_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <acl/acl.h>

#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Creating and destroying. All but HcclGetRootInfo() and HcclCommDestroy() are
 * collective: they return when every rank has called, or after HCCL_CONNECT_TIMEOUT with an error
 * that names the missing ranks. Each rank needs a current device. */

/** Opens an endpoint on this rank and describes it, for one communicator. The caller brings the
 * bytes to all ranks. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

/** Joins `nRanks` ranks; `rank` is unique among them. One thread per device when a process has
 * several. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(
        uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm);

/** The same with settings, which are HCCL_E_PARA when NULL. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks,
        const HcclRootInfo *rootInfo, uint32_t rank, const HcclCommConfig *config, HcclComm *comm);

/** One communicator over `ndev` devices of this process: `comms[i]` is rank i, on `devices[i]`. On
 * failure every entry is NULL. Operators are then called from one thread per device. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/** The world communicator as a rank table, the JSON file `clusterInfo`, describes it; one per
 * process. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfo(
        const char *clusterInfo, uint32_t rank, HcclComm *comm);

/** The same with settings. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoConfig(
        const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm);

/** A communicator of some ranks of `*comm`: `rankIds[i]` becomes rank i. All members pass the same
 * list and `subCommId`. Who is no member passes rankIds NULL and subCommId 0xFFFFFFFF and gets
 * HCCL_SUCCESS and no communicator. */
HCCL_FUNC_VISIBILITY HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum,
        uint32_t *rankIds, uint64_t subCommId, uint32_t subCommRankId, HcclCommConfig *config,
        HcclComm *subComm);

/** Destroys this rank's handle and does not wait for the others; synchronise its streams before.
 * NULL is HCCL_SUCCESS, a handle that is no communicator HCCL_E_PARA, one that another thread is
 * using HCCL_E_AGAIN. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);

/* ---- Configuring and asking. */

/** What an expansion of operators into tasks is called when asked for; the numbers of
 * HcclCommConfig.hcclOpExpansionMode are others. */
typedef enum HcclOpExpansionMode {
    HCCL_OP_EXPANSION_MODE_INVALID = -1,
    HCCL_OP_EXPANSION_MODE_AI_CPU = 0,
    HCCL_OP_EXPANSION_MODE_AIV = 1,
    HCCL_OP_EXPANSION_MODE_HOST = 2,
    HCCL_OP_EXPANSION_MODE_HOST_TS = 3,
    HCCL_OP_EXPANSION_CCU_MS = 4,
    HCCL_OP_EXPANSION_MODE_CCU_MS = 4,
    HCCL_OP_EXPANSION_CCU_SCHED = 5,
    HCCL_OP_EXPANSION_MODE_CCU_SCHED = 5,
    HCCL_OP_EXPANSION_AIV_ONLY = 6,
} HcclOpExpansionMode;

/** What HcclConfigGetInfo() can be asked. */
typedef enum HcclConfigType {
    HCCL_CONFIG_TYPE_INVALID = -1,
    HCCL_CONFIG_TYPE_OP_EXPANSION_MODE = 0,
} HcclConfigType;

typedef HcclOpExpansionMode HcclConfigTypeOpExpansionMode;

/** HcclCommConfigInit: says in every field of `config` that it is not set. NULL has no effect. */
static inline void HcclCommConfigInit(HcclCommConfig *config)
{
    const uint64_t size = sizeof(HcclCommConfig);
    const uint32_t mark[2] = { HCCL_COMM_CONFIG_MAGIC_WORD, HCCL_COMM_CONFIG_VERSION };

    if (config == NULL) {
        return;
    }
    memset(config->reserved, 0, sizeof(config->reserved));
    memcpy(config->reserved, &size, sizeof(size));
    memcpy(config->reserved + sizeof(size), mark, sizeof(mark));
    config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
    config->hcclCommName[0] = '\0';
    config->hcclUdi[0] = '\0';
    config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
    config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
    config->hcclWorldRankID = 0;
    config->hcclJobID = 0;
    config->aclGraphZeroCopyEnable = 0;
    config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
    config->hcclAlgo[0] = '\0';
    config->hcclRetryEnable[0] = '\0';
    config->hcclRetryParams[0] = '\0';
    config->hcclBufferName[0] = '\0';
    config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
    config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
    config->hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
}

/** A setting of the process, for existing communicators too; never for a captured graph. Ignored
 * when the environment has HCCL_DETERMINISTIC. */
HCCL_FUNC_VISIBILITY HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);

/** Reads it. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

/** Which features of HcclCommConfig there are: those of a smaller number. */
HCCL_FUNC_VISIBILITY uint32_t HcclGetCommConfigCapability(void);

/** Copies the communicator's name, NUL-terminated, to COMM_NAME_MAX_LENGTH bytes at `commName`. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char *commName);

/** The communicator of that name on the current device; unknown: HCCL_E_PARA. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);

/** How many ranks the communicator has. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);

/** This rank's number in it. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

/** Writes an HcclOpExpansionMode to `info`; `infoLen` is its size. Another `cfgType`:
 * HCCL_E_NOT_SUPPORT. */
HCCL_FUNC_VISIBILITY HcclResult HcclConfigGetInfo(
        HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void *info);

/** A text that is never NULL and never to be freed. */
HCCL_FUNC_VISIBILITY const char *HcclGetErrorString(HcclResult code);

/** Queues a barrier: later work of `stream` starts when every rank has reached it. */
HCCL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/* ---- Faults. */

/** Stores HCCL_SUCCESS, or what has gone wrong on the communicator since. Meant to be polled, from
 * any thread. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

/** Stops the communicator; operators then return HCCL_E_SUSPENDING. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommSuspend(HcclComm comm);

/** Makes it usable again, after aclrtDeviceTaskAbort() and when all ranks are there. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommResume(HcclComm comm);

/** State of a communicator. `comm` is its handle or its name: releases differ, and both are
 * pointers. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommGetStatus(const void *comm, HcclCommStatus *status);

/** Switches ranks to their backup network card, or back. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommWorkingDevNicSet(
        HcclComm comm, uint32_t *ranks, bool *useBackup, uint32_t nRanks);

/** When a communicator callback runs. */
typedef enum HcclCommStatePhase {
    HCCL_COMM_STATE_PHASE_INVALID = -1,
    HCCL_COMM_STATE_PHASE_DESTROY_PRE = 0,
    HCCL_COMM_STATE_PHASE_DESTROY_POST = 1,
    HCCL_COMM_STATE_PHASE_RESUME_PRE = 2,
    HCCL_COMM_STATE_PHASE_RESUME_POST = 3,
} HcclCommStatePhase;

typedef HcclResult (*HcclCommStateCallback)(HcclComm comm, HcclCommStatePhase phase, void *args);

/** Registers `callback` under a name of its own. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommRegCommStateCallback(
        const char *regName, HcclCommStateCallback callback, void *args);

/* ---- Groups: calls between Start and the outermost End are recorded, and End issues them. */

HCCL_FUNC_VISIBILITY HcclResult HcclGroupStart(void);

/** Without a start: HCCL_E_NOT_SUPPORT. */
HCCL_FUNC_VISIBILITY HcclResult HcclGroupEnd(void);

/** Whether this thread is inside a group. */
HCCL_FUNC_VISIBILITY HcclResult HcclGroupStatusGet(bool *isGroupEnabled);

/* ---- Memory that peers reach without a copy. Sizes and offsets in bytes. */

/** Announces a reserved address range, on all ranks. `alignment` and `flags` are 0; ranges do not
 * overlap. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommSetMemoryRange(
        HcclComm comm, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags);

/** Withdraws it; nothing in it may be active any more. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);

/** Declares memory mapped in such a range ready for operators. `offset` and `flags` are 0. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size,
        size_t offset, aclrtDrvMemHandle handle, uint64_t flags);

/** Takes it back, before the memory is unmapped. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);

/** Makes a window of memory that every rank registers with the same `size`. `flag` is 1. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommSymWinRegister(
        HcclComm comm, void *addr, uint64_t size, HcclCommSymWindow *winHandle, uint32_t flag);

/** Ends it; an unknown handle is HCCL_E_PARA. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);

/** The window that holds `size` bytes at `ptr`, and where in it they begin. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommSymWinGet(
        HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *winHandle, size_t *offset);

#ifdef __cplusplus
}
#endif

#endif
