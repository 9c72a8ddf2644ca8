/* Error codes of the runtime, as macros so that #if can use them. */
#ifndef REPRISE_ACL_ERROR_CODES_RT_ERROR_CODES_H
#define REPRISE_ACL_ERROR_CODES_RT_ERROR_CODES_H

#include "../acl_base_rt.h"

/** Success (runtime name). */
#define ACL_RT_SUCCESS 0

/* 107xxx: the call is wrong, or comes at the wrong time. */

/** Argument check in the runtime failed. */
#define ACL_ERROR_RT_PARAM_INVALID 107000
/** Device id out of range. */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001
/** Thread has no current context. */
#define ACL_ERROR_RT_CONTEXT_NULL 107002
/** Stream belongs to another context. */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003
/** Model belongs to another context. */
#define ACL_ERROR_RT_MODEL_CONTEXT 107004
/** Stream/model binding wrong (not bound, or bound where it must not be). */
#define ACL_ERROR_RT_STREAM_MODEL 107005
/** Event has no valid time stamp. */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006
/** End stamp earlier than start stamp. */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007
/** Address not aligned. */
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008
/** File open failed. */
#define ACL_ERROR_RT_FILE_OPEN 107009
/** File write failed. */
#define ACL_ERROR_RT_FILE_WRITE 107010
/** Stream not subscribed, subscribed twice, or callback schemes mixed. */
#define ACL_ERROR_RT_STREAM_SUBSCRIBE 107011
/** Thread not subscribed or conflicting subscription. */
#define ACL_ERROR_RT_THREAD_SUBSCRIBE 107012
/** Core group not selected. */
#define ACL_ERROR_RT_GROUP_NOT_SET 107013
/** Core group id invalid. */
#define ACL_ERROR_RT_GROUP_NOT_CREATE 107014
/** Callback launched on a stream with no registered thread. */
#define ACL_ERROR_RT_STREAM_NO_CB_REG 107015
/** Memory type invalid. */
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE 107016
/** Stale or wrong resource handle. */
#define ACL_ERROR_RT_INVALID_HANDLE 107017
/** Allocation type invalid for the operation. */
#define ACL_ERROR_RT_INVALID_MALLOC_TYPE 107018
/** Wait timed out. */
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019
/** Task timed out. */
#define ACL_ERROR_RT_TASK_TIMEOUT 107020
/** Context system parameter never set. */
#define ACL_ERROR_RT_SYSPARAMOPT_NOT_SET 107021
/** Conflicts with a running device task abort. */
#define ACL_ERROR_RT_DEVICE_TASK_ABORT 107022
/** Stream is being aborted. */
#define ACL_ERROR_RT_STREAM_ABORT 107023
/** Capture: wait has no matching captured record. */
#define ACL_ERROR_RT_CAPTURE_DEPENDENCY 107024
/** Capture: side stream not joined back to the origin. */
#define ACL_ERROR_RT_STREAM_UNJOINED 107025
/** Capture: model instance still capturing. */
#define ACL_ERROR_RT_MODEL_CAPTURED 107026
/** Capture: operation not allowed on a capturing stream. */
#define ACL_ERROR_RT_STREAM_CAPTURED 107027
/** Capture: operation not allowed on a captured event. */
#define ACL_ERROR_RT_EVENT_CAPTURED 107028
/** Capture: stream is not capturing. */
#define ACL_ERROR_RT_STREAM_NOT_CAPTURED 107029
/** Capture: unsafe call under the active capture mode. */
#define ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT 107030
/** Capture: default stream involved. */
#define ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT 107031
/** Capture: event and stream belong to different captures. */
#define ACL_ERROR_STREAM_CAPTURE_CONFLICT 107032
/** Task group: begin/end/update state wrong. */
#define ACL_ERROR_STREAM_TASK_GROUP_STATUS 107033
/** Task group: task submitted on another captured stream meanwhile. */
#define ACL_ERROR_STREAM_TASK_GROUP_INTR 107034
/** Task abort stopped before post processing. */
#define ACL_ERROR_RT_TASK_ABORT_STOP 107035
/** Capture: End called on a stream that did not start it. */
#define ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED 107036
/** Model instance still executing. */
#define ACL_ERROR_RT_MODEL_RUNNING 107037
/** Capture: End in another thread than Begin (mode not RELAXED). */
#define ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD 107038
/** Caller's array too small. */
#define ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY 107039
/** Model not ready for update, running, or update failed. */
#define ACL_ERROR_RT_MODEL_UPDATE_FAILED 107040
/** Capture: async call would fall back to sync, forbidden by mode. */
#define ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC 107041
/** Global variable name not in binary. */
#define ACL_ERROR_RT_SYMBOL_NOT_FOUND 107042
/** Invalid device variable symbol. */
#define ACL_ERROR_RT_INVALID_SYMBOL 107043
/** Invalid kernel symbol. */
#define ACL_ERROR_RT_INVALID_DEVICE_FUNCTION 107044
/** Capture: a conditional sub-graph is still capturing. */
#define ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING 107045

/* 207xxx: out of a resource, or not supported. */

/** Feature/combination not supported. */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000
/** Device memory allocation failed. */
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001
/** Device memory free failed. */
#define ACL_ERROR_RT_MEMORY_FREE 207002
/** AI-core arithmetic overflow detected. */
#define ACL_ERROR_RT_AICORE_OVER_FLOW 207003
/** No usable device. */
#define ACL_ERROR_RT_NO_DEVICE 207004
/** Generic resource allocation failure. */
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005
/** Operation not permitted. */
#define ACL_ERROR_RT_NO_PERMISSION 207006
/** Events exhausted. */
#define ACL_ERROR_RT_NO_EVENT_RESOURCE 207007
/** Streams exhausted. */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008
/** Notifies exhausted. */
#define ACL_ERROR_RT_NO_NOTIFY_RESOURCE 207009
/** Models exhausted. */
#define ACL_ERROR_RT_NO_MODEL_RESOURCE 207010
/** Internal queue resource exhausted. */
#define ACL_ERROR_RT_NO_CDQ_RESOURCE 207011
/** Count limit exceeded. */
#define ACL_ERROR_RT_OVER_LIMIT 207012
/** Queue empty. */
#define ACL_ERROR_RT_QUEUE_EMPTY 207013
/** Queue full. */
#define ACL_ERROR_RT_QUEUE_FULL 207014
/** Queue initialised twice. */
#define ACL_ERROR_RT_REPEATED_INIT 207015
/** Vector-core overflow. */
#define ACL_ERROR_RT_AIVEC_OVER_FLOW 207016
/** Other overflow. */
#define ACL_ERROR_RT_OVER_FLOW 207017
/** Device out of memory. */
#define ACL_ERROR_RT_DEVICE_OOM 207018
/** Driver too old to update this operator. */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP 207019
/** Driver timeout. */
#define ACL_ERROR_RT_TIMEOUT 207020
/** Requested link type not supported. */
#define ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED 207021

/* 507xxx: a failure while working. */

/** Runtime internal error. */
#define ACL_ERROR_RT_INTERNAL_ERROR 507000
/** Task-scheduler internal error. */
#define ACL_ERROR_RT_TS_ERROR 507001
/** Stream queue full. */
#define ACL_ERROR_RT_STREAM_TASK_FULL 507002
/** Stream queue empty. */
#define ACL_ERROR_RT_STREAM_TASK_EMPTY 507003
/** Stream still busy. */
#define ACL_ERROR_RT_STREAM_NOT_COMPLETE 507004
/** AI-CPU sequence ended. */
#define ACL_ERROR_RT_END_OF_SEQUENCE 507005
/** Event not complete. */
#define ACL_ERROR_RT_EVENT_NOT_COMPLETE 507006
/** Context release failed. */
#define ACL_ERROR_RT_CONTEXT_RELEASE_ERROR 507007
/** SoC version query failed. */
#define ACL_ERROR_RT_SOC_VERSION 507008
/** Task type not allowed (e.g. non-kernel task in a task group). */
#define ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT 507009
/** Scheduler heartbeat lost. */
#define ACL_ERROR_RT_LOST_HEARTBEAT 507010
/** Model execution failed / model not ready. */
#define ACL_ERROR_RT_MODEL_EXECUTE 507011
/** No report within the timeout. */
#define ACL_ERROR_RT_REPORT_TIMEOUT 507012
/** System DMA error. */
#define ACL_ERROR_RT_SYS_DMA 507013
/** AI-core timeout. */
#define ACL_ERROR_RT_AICORE_TIMEOUT 507014
/** AI-core exception. */
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015
/** AI-core trap. */
#define ACL_ERROR_RT_AICORE_TRAP_EXCEPTION 507016
/** AI-CPU timeout. */
#define ACL_ERROR_RT_AICPU_TIMEOUT 507017
/** AI-CPU exception. */
#define ACL_ERROR_RT_AICPU_EXCEPTION 507018
/** AI-CPU gave no dump response. */
#define ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR 507019
/** AI-CPU gave no model response. */
#define ACL_ERROR_RT_AICPU_MODEL_RSP_ERR 507020
/** Profiling execution error. */
#define ACL_ERROR_RT_PROFILING_ERROR 507021
/** Inter-process communication error. */
#define ACL_ERROR_RT_IPC_ERROR 507022
/** Model aborted on request. */
#define ACL_ERROR_RT_MODEL_ABORT_NORMAL 507023
/** Kernel being unregistered. */
#define ACL_ERROR_RT_KERNEL_UNREGISTERING 507024
/** Ring buffer not initialised. */
#define ACL_ERROR_RT_RINGBUFFER_NOT_INIT 507025
/** Ring buffer empty. */
#define ACL_ERROR_RT_RINGBUFFER_NO_DATA 507026
/** Kernel not registered. */
#define ACL_ERROR_RT_KERNEL_LOOKUP 507027
/** Kernel registered twice. */
#define ACL_ERROR_RT_KERNEL_DUPLICATE 507028
/** Debug registration failed. */
#define ACL_ERROR_RT_DEBUG_REGISTER_FAIL 507029
/** Debug unregistration failed. */
#define ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL 507030
/** Label of another context. */
#define ACL_ERROR_RT_LABEL_CONTEXT 507031
/** Program registrations exhausted. */
#define ACL_ERROR_RT_PROGRAM_USE_OUT 507032
/** Device start failed. */
#define ACL_ERROR_RT_DEV_SETUP_ERROR 507033
/** Vector-core timeout. */
#define ACL_ERROR_RT_VECTOR_CORE_TIMEOUT 507034
/** Vector-core exception. */
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035
/** Vector-core trap. */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION 507036
/** Internal batch resource error. */
#define ACL_ERROR_RT_CDQ_BATCH_ABNORMAL 507037
/** Die mode cannot change. */
#define ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR 507038
/** Die cannot be chosen in single-die mode. */
#define ACL_ERROR_RT_DIE_SET_ERROR 507039
/** Die id invalid. */
#define ACL_ERROR_RT_INVALID_DIEID 507040
/** Die mode not set. */
#define ACL_ERROR_RT_DIE_MODE_NOT_SET 507041
/** AI-core out-of-bounds read. */
#define ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW 507042
/** AI-core out-of-bounds write. */
#define ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW 507043
/** Vector-core out-of-bounds read. */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW 507044
/** Vector-core out-of-bounds write. */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW 507045
/** Stream/device synchronise timed out. */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046
/** Event synchronise timed out. */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT 507047
/** Fused task timed out. */
#define ACL_ERROR_RT_FFTS_PLUS_TIMEOUT 507048
/** Fused task exception. */
#define ACL_ERROR_RT_FFTS_PLUS_EXCEPTION 507049
/** Fused task trap. */
#define ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION 507050
/** Message send failed while enqueuing. */
#define ACL_ERROR_RT_SEND_MSG 507051
/** Copy failed while enqueuing. */
#define ACL_ERROR_RT_COPY_DATA 507052
/** Uncorrectable device memory error (UCE). */
#define ACL_ERROR_RT_DEVICE_MEM_ERROR 507053
/** HBM multi-bit ECC error. */
#define ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR 507054
/** Suspected memory error on a peer device. */
#define ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR 507055
/** Device-to-device link broken. */
#define ACL_ERROR_RT_LINK_ERROR 507056
/** Suspected remote fault or out-of-bounds access. */
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR 507057
/** Driver internal error. */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899
/** AI-CPU internal error. */
#define ACL_ERROR_RT_AICPU_INTERNAL_ERROR 507900
/** Host-device session closed. */
#define ACL_ERROR_RT_SOCKET_CLOSE 507901
/** AI-CPU scheduling response error. */
#define ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR 507902
/** Capture: the capture was invalidated by an earlier failure. */
#define ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED 507903
/** Collective re-execution failed. */
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL 507904
/** Process snapshot: lock timed out. */
#define ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT 507905
/** Process snapshot: lock failed. */
#define ACL_ERROR_SNAPSHOT_LOCK_FAILED 507906
/** Process snapshot: unlock failed. */
#define ACL_ERROR_SNAPSHOT_UNLOCK_FAILED 507907
/** Process snapshot: backup failed. */
#define ACL_ERROR_SNAPSHOT_BACKUP_FAILED 507908
/** Process snapshot: restore failed. */
#define ACL_ERROR_SNAPSHOT_RESTORE_FAILED 507909
/** Host range already registered. */
#define ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED 507910
/** Host range not registered. */
#define ACL_ERROR_HOST_MEMORY_NOT_REGISTERED 507911
/** Process snapshot: a stage callback failed. */
#define ACL_ERROR_SNAPSHOT_CALLBACK_FAILED 507912
/** Process snapshot: callback registration failed. */
#define ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED 507913
/** L3 port error. */
#define ACL_ERROR_RT_L3_PORT_ERROR 507914
/** Collective unit timeout. */
#define ACL_ERROR_RT_CCU_TIMEOUT 507915
/** Collective unit exception. */
#define ACL_ERROR_RT_CCU_EXCEPTION 507916

#endif
