/* Snapshots of a process: lock, back up, restore, unlock. */
#ifndef REPRISE_RT_SNAPSHOT_H
#define REPRISE_RT_SNAPSHOT_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/** When a snapshot callback runs. */
typedef enum aclrtSnapShotStage {
    ACL_RT_SNAPSHOT_LOCK_PRE = 0,
    ACL_RT_SNAPSHOT_BACKUP_PRE = 1,
    ACL_RT_SNAPSHOT_BACKUP_POST = 2,
    ACL_RT_SNAPSHOT_RESTORE_PRE = 3,
    ACL_RT_SNAPSHOT_RESTORE_POST = 4,
    ACL_RT_SNAPSHOT_UNLOCK_POST = 5,
} aclrtSnapShotStage;

/** Whether a process is locked. */
typedef enum aclrtProcessState {
    ACL_RT_PROCESS_STATE_RUNNING = 0,
    ACL_RT_PROCESS_STATE_LOCKED = 1,
} aclrtProcessState;

typedef struct aclrtSnapShotBackupArgs {
    uint32_t backupFlags;
    char reserved[60];
} aclrtSnapShotBackupArgs;

typedef struct aclrtSnapShotRestoreArgs {
    uint32_t restoreFlags;
    char reserved[60];
} aclrtSnapShotRestoreArgs;

/** 0 is success; anything else ends the snapshot. */
typedef uint32_t (*aclrtSnapShotCallBack)(int32_t deviceId, void *args);

/** Holds back, and lets go, the calls of process `pid` (this one). `reserve` is
 * NULL. */
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessLock(int pid, void *reserve);
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessUnlock(int pid, void *reserve);

/** Saves what the process holds on its devices; the latest backup counts. */
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessBackup(int pid, aclrtSnapShotBackupArgs *args);

/** Puts it back. */
ACL_FUNC_VISIBILITY aclError aclrtSnapShotProcessRestore(int pid, aclrtSnapShotRestoreArgs *args);

/** A callback for one stage. */
ACL_FUNC_VISIBILITY aclError aclrtSnapShotCallbackRegister(
        aclrtSnapShotStage stage, aclrtSnapShotCallBack callback, void *args);
ACL_FUNC_VISIBILITY aclError aclrtSnapShotCallbackUnregister(
        aclrtSnapShotStage stage, aclrtSnapShotCallBack callback);

#ifdef __cplusplus
}
#endif

#endif
