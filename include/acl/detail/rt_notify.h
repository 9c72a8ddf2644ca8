/* Notifies: signals between streams of any device and process of the node. */
#ifndef REPRISE_RT_NOTIFY_H
#define REPRISE_RT_NOTIFY_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of a notify. */
#define ACL_NOTIFY_DEFAULT 0x00000000U
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x00000001U

/** Flags of export and import of a notify. */
#define ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x02UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x02UL

/** Processes of one server: `num` ids at `pid`. */
typedef struct aclrtServerPid {
    uint32_t sdid;
    int32_t *pid;
    size_t num;
} aclrtServerPid;

/** How a record changes the value. */
typedef enum aclrtCntNotifyRecordMode {
    ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE = 0,
    ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE = 1,
    ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE = 2,
    ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE = 4,
} aclrtCntNotifyRecordMode;

/** One record. */
typedef struct aclrtCntNotifyRecordInfo {
    aclrtCntNotifyRecordMode mode;
    uint32_t value;
} aclrtCntNotifyRecordInfo;

/** When a wait ends: the value compared with the one given. */
typedef enum aclrtCntNotifyWaitMode {
    ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE = 0,
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE = 1,
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE = 2,
    ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE = 3,
    ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE = 4,
} aclrtCntNotifyWaitMode;

/** One wait. `timeout` in seconds, 0: no limit; `isClear` 1: the value is 0
 * afterwards. */
typedef struct aclrtCntNotifyWaitInfo {
    aclrtCntNotifyWaitMode mode;
    uint32_t value;
    uint32_t timeout;
    uint8_t isClear;
    uint8_t rsv[3];
} aclrtCntNotifyWaitInfo;

/** A one-bit signal of the current device; `flag` is ACL_NOTIFY_DEFAULT or
 * _DEVICE_USE_ONLY. */
ACL_FUNC_VISIBILITY aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag);

/** Destroys this process's handle; exporter and importers each have one. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyNotify(aclrtNotify notify);

/** Queues a set. */
ACL_FUNC_VISIBILITY aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/** Queues a wait and the clearing of the signal. `timeout` in seconds; 0 or
 * UINT32_MAX: no limit. */
ACL_FUNC_VISIBILITY aclError aclrtWaitAndResetNotify(
        aclrtNotify notify, aclrtStream stream, uint32_t timeout);

/** The notify's number. */
ACL_FUNC_VISIBILITY aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId);

/** Clears `num` notifies from the host. */
ACL_FUNC_VISIBILITY aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num);

/** Exports a notify under a NUL-terminated name; `len` is at least 65. */
ACL_FUNC_VISIBILITY aclError aclrtNotifyGetExportKey(
        aclrtNotify notify, char *key, size_t len, uint64_t flags);

/** The processes that may import it, as aclrtDeviceGetBareTgid() numbers them. */
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num);

/** The same with server ids. */
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPidInterServer(
        aclrtNotify notify, aclrtServerPid *serverPids, size_t num);

/** Imports a notify by its name. */
ACL_FUNC_VISIBILITY aclError aclrtNotifyImportByKey(
        aclrtNotify *notify, const char *key, uint64_t flags);

/** A 32-bit counter, 0 at first. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify, uint64_t flag);

/** Destroys it. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify);

/** Queues a change of the value. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyRecord(
        aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info);

/** Queues a wait for a value. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyWaitWithTimeout(
        aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info);

/** Queues value := 0. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream);

/** The counter's number. */
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t *notifyId);

#ifdef __cplusplus
}
#endif

#endif
