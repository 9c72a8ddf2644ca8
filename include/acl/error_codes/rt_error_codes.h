/* Error codes of the runtime, as macros so that #if can use them. */
#ifndef REPRISE_ACL_ERROR_CODES_RT_ERROR_CODES_H
#define REPRISE_ACL_ERROR_CODES_RT_ERROR_CODES_H

#include "../acl_base_rt.h"

#define ACL_RT_SUCCESS 0 /* success (runtime name) */

/* Codes 107xxx: the call is wrong, or comes at the wrong time. */
#define ACL_ERROR_RT_PARAM_INVALID 107000    /* argument check in the runtime failed */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001 /* device id out of range */
#define ACL_ERROR_RT_CONTEXT_NULL 107002     /* thread has no current context */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003   /* stream belongs to another context */
#define ACL_ERROR_RT_MODEL_CONTEXT 107004    /* model belongs to another context */
#define ACL_ERROR_RT_STREAM_MODEL \
    107005 /* stream/model binding wrong (not bound, or bound where it must not be) */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006  /* event has no valid time stamp */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007 /* end stamp earlier than start stamp */
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008           /* address not aligned */
#define ACL_ERROR_RT_FILE_OPEN 107009                /* file open failed */
#define ACL_ERROR_RT_FILE_WRITE 107010               /* file write failed */
#define ACL_ERROR_RT_STREAM_SUBSCRIBE \
    107011 /* stream not subscribed, subscribed twice, or callback schemes mixed */
#define ACL_ERROR_RT_THREAD_SUBSCRIBE 107012 /* thread not subscribed or conflicting subscription \
                                              */
#define ACL_ERROR_RT_GROUP_NOT_SET 107013    /* core group not selected */
#define ACL_ERROR_RT_GROUP_NOT_CREATE 107014 /* core group id invalid */
#define ACL_ERROR_RT_STREAM_NO_CB_REG \
    107015 /* callback launched on a stream with no registered thread */
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE 107016 /* memory type invalid */
#define ACL_ERROR_RT_INVALID_HANDLE 107017      /* stale or wrong resource handle */
#define ACL_ERROR_RT_INVALID_MALLOC_TYPE 107018 /* allocation type invalid for the operation */
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019        /* wait timed out */
#define ACL_ERROR_RT_TASK_TIMEOUT 107020        /* task timed out */
#define ACL_ERROR_RT_SYSPARAMOPT_NOT_SET 107021 /* context system parameter never set */
#define ACL_ERROR_RT_DEVICE_TASK_ABORT 107022   /* conflicts with a running device task abort */
#define ACL_ERROR_RT_STREAM_ABORT 107023        /* stream is being aborted */
#define ACL_ERROR_RT_CAPTURE_DEPENDENCY 107024  /* capture: wait has no matching captured record */
#define ACL_ERROR_RT_STREAM_UNJOINED 107025 /* capture: side stream not joined back to the origin \
                                             */
#define ACL_ERROR_RT_MODEL_CAPTURED 107026  /* capture: model instance still capturing */
#define ACL_ERROR_RT_STREAM_CAPTURED \
    107027 /* capture: operation not allowed on a capturing stream */
#define ACL_ERROR_RT_EVENT_CAPTURED 107028 /* capture: operation not allowed on a captured event \
                                            */
#define ACL_ERROR_RT_STREAM_NOT_CAPTURED 107029 /* capture: stream is not capturing */
#define ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT \
    107030 /* capture: unsafe call under the active capture mode */
#define ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT 107031 /* capture: default stream involved */
#define ACL_ERROR_STREAM_CAPTURE_CONFLICT \
    107032 /* capture: event and stream belong to different captures */
#define ACL_ERROR_STREAM_TASK_GROUP_STATUS 107033 /* task group: begin/end/update state wrong */
#define ACL_ERROR_STREAM_TASK_GROUP_INTR \
    107034 /* task group: task submitted on another captured stream meanwhile */
#define ACL_ERROR_RT_TASK_ABORT_STOP \
    107035 /* task abort stopped before post processing (header only) */
#define ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED \
    107036 /* capture: End called on a stream that did not start it */
#define ACL_ERROR_RT_MODEL_RUNNING 107037 /* model instance still executing */
#define ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD \
    107038 /* capture: End in another thread than Begin (mode not RELAXED) */
#define ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY 107039 /* caller's array too small */
#define ACL_ERROR_RT_MODEL_UPDATE_FAILED \
    107040 /* model not ready for update, running, or update failed */
#define ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC \
    107041 /* capture: async call would fall back to sync, forbidden by mode */
#define ACL_ERROR_RT_SYMBOL_NOT_FOUND 107042        /* global variable name not in binary */
#define ACL_ERROR_RT_INVALID_SYMBOL 107043          /* invalid device variable symbol */
#define ACL_ERROR_RT_INVALID_DEVICE_FUNCTION 107044 /* invalid kernel symbol */
#define ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING \
    107045 /* capture: a conditional sub-graph is still capturing (header only) */

/* Codes 207xxx: out of a resource, or not supported. */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000 /* feature/combination not supported */
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001   /* device memory allocation failed */
#define ACL_ERROR_RT_MEMORY_FREE 207002         /* device memory free failed */
#define ACL_ERROR_RT_AICORE_OVER_FLOW 207003    /* AI-core arithmetic overflow detected */
#define ACL_ERROR_RT_NO_DEVICE 207004           /* no usable device */
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005 /* generic resource allocation failure */
#define ACL_ERROR_RT_NO_PERMISSION 207006       /* operation not permitted */
#define ACL_ERROR_RT_NO_EVENT_RESOURCE 207007   /* events exhausted */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008  /* streams exhausted */
#define ACL_ERROR_RT_NO_NOTIFY_RESOURCE 207009  /* notifies exhausted */
#define ACL_ERROR_RT_NO_MODEL_RESOURCE 207010   /* models exhausted */
#define ACL_ERROR_RT_NO_CDQ_RESOURCE 207011     /* internal queue resource exhausted */
#define ACL_ERROR_RT_OVER_LIMIT 207012          /* count limit exceeded */
#define ACL_ERROR_RT_QUEUE_EMPTY 207013         /* queue empty */
#define ACL_ERROR_RT_QUEUE_FULL 207014          /* queue full */
#define ACL_ERROR_RT_REPEATED_INIT 207015       /* queue initialised twice */
#define ACL_ERROR_RT_AIVEC_OVER_FLOW 207016     /* vector-core overflow (header only) */
#define ACL_ERROR_RT_OVER_FLOW 207017           /* other overflow (header only) */
#define ACL_ERROR_RT_DEVICE_OOM 207018          /* device out of memory */
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP \
    207019                                          /* driver too old to update this operator */
#define ACL_ERROR_RT_TIMEOUT 207020                 /* driver timeout (header only) */
#define ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED 207021 /* requested link type not supported */

/* Codes 507xxx: a failure while working. */
#define ACL_ERROR_RT_INTERNAL_ERROR 507000        /* runtime internal error */
#define ACL_ERROR_RT_TS_ERROR 507001              /* task-scheduler internal error */
#define ACL_ERROR_RT_STREAM_TASK_FULL 507002      /* stream queue full */
#define ACL_ERROR_RT_STREAM_TASK_EMPTY 507003     /* stream queue empty */
#define ACL_ERROR_RT_STREAM_NOT_COMPLETE 507004   /* stream still busy */
#define ACL_ERROR_RT_END_OF_SEQUENCE 507005       /* AI-CPU sequence ended */
#define ACL_ERROR_RT_EVENT_NOT_COMPLETE 507006    /* event not complete */
#define ACL_ERROR_RT_CONTEXT_RELEASE_ERROR 507007 /* context release failed */
#define ACL_ERROR_RT_SOC_VERSION 507008           /* SoC version query failed */
#define ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT \
    507009 /* task type not allowed (e.g. non-kernel task in a task group) */
#define ACL_ERROR_RT_LOST_HEARTBEAT 507010         /* scheduler heartbeat lost */
#define ACL_ERROR_RT_MODEL_EXECUTE 507011          /* model execution failed / model not ready */
#define ACL_ERROR_RT_REPORT_TIMEOUT 507012         /* no report within the timeout */
#define ACL_ERROR_RT_SYS_DMA 507013                /* system DMA error */
#define ACL_ERROR_RT_AICORE_TIMEOUT 507014         /* AI-core timeout */
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015       /* AI-core exception */
#define ACL_ERROR_RT_AICORE_TRAP_EXCEPTION 507016  /* AI-core trap */
#define ACL_ERROR_RT_AICPU_TIMEOUT 507017          /* AI-CPU timeout */
#define ACL_ERROR_RT_AICPU_EXCEPTION 507018        /* AI-CPU exception */
#define ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR 507019 /* AI-CPU gave no dump response */
#define ACL_ERROR_RT_AICPU_MODEL_RSP_ERR 507020    /* AI-CPU gave no model response */
#define ACL_ERROR_RT_PROFILING_ERROR 507021        /* profiling execution error */
#define ACL_ERROR_RT_IPC_ERROR 507022              /* inter-process communication error */
#define ACL_ERROR_RT_MODEL_ABORT_NORMAL 507023     /* model aborted on request */
#define ACL_ERROR_RT_KERNEL_UNREGISTERING 507024   /* kernel being unregistered */
#define ACL_ERROR_RT_RINGBUFFER_NOT_INIT 507025    /* ring buffer not initialised */
#define ACL_ERROR_RT_RINGBUFFER_NO_DATA 507026     /* ring buffer empty */
#define ACL_ERROR_RT_KERNEL_LOOKUP 507027          /* kernel not registered */
#define ACL_ERROR_RT_KERNEL_DUPLICATE 507028       /* kernel registered twice */
#define ACL_ERROR_RT_DEBUG_REGISTER_FAIL 507029    /* debug registration failed */
#define ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL 507030  /* debug unregistration failed */
#define ACL_ERROR_RT_LABEL_CONTEXT 507031          /* label of another context */
#define ACL_ERROR_RT_PROGRAM_USE_OUT 507032        /* program registrations exhausted */
#define ACL_ERROR_RT_DEV_SETUP_ERROR 507033        /* device start failed */
#define ACL_ERROR_RT_VECTOR_CORE_TIMEOUT 507034    /* vector-core timeout */
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035  /* vector-core exception */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION 507036 /* vector-core trap */
#define ACL_ERROR_RT_CDQ_BATCH_ABNORMAL 507037         /* internal batch resource error */
#define ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR 507038      /* die mode cannot change */
#define ACL_ERROR_RT_DIE_SET_ERROR 507039              /* die cannot be chosen in single-die mode */
#define ACL_ERROR_RT_INVALID_DIEID 507040              /* die id invalid */
#define ACL_ERROR_RT_DIE_MODE_NOT_SET 507041           /* die mode not set */
#define ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW 507042  /* AI-core out-of-bounds read */
#define ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW 507043 /* AI-core out-of-bounds write */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW 507044  /* vector-core out-of-bounds read */
#define ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW 507045 /* vector-core out-of-bounds write */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046      /* stream/device synchronise timed out */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT 507047       /* event synchronise timed out */
#define ACL_ERROR_RT_FFTS_PLUS_TIMEOUT 507048        /* fused task timed out */
#define ACL_ERROR_RT_FFTS_PLUS_EXCEPTION 507049      /* fused task exception */
#define ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION 507050 /* fused task trap */
#define ACL_ERROR_RT_SEND_MSG 507051                 /* message send failed while enqueuing */
#define ACL_ERROR_RT_COPY_DATA 507052                /* copy failed while enqueuing */
#define ACL_ERROR_RT_DEVICE_MEM_ERROR 507053         /* uncorrectable device memory error (UCE) */
#define ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR 507054  /* HBM multi-bit ECC error */
#define ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR 507055 /* suspected memory error on a peer device */
#define ACL_ERROR_RT_LINK_ERROR 507056               /* device-to-device link broken */
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR \
    507057                                     /* suspected remote fault or out-of-bounds access */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899 /* driver internal error */
#define ACL_ERROR_RT_AICPU_INTERNAL_ERROR 507900    /* AI-CPU internal error */
#define ACL_ERROR_RT_SOCKET_CLOSE 507901            /* host-device session closed */
#define ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR 507902 /* AI-CPU scheduling response error */
#define ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED \
    507903 /* capture: the capture was invalidated by an earlier failure */
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL 507904          /* collective re-execution failed */
#define ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT 507905          /* process snapshot: lock timed out */
#define ACL_ERROR_SNAPSHOT_LOCK_FAILED 507906           /* process snapshot: lock failed */
#define ACL_ERROR_SNAPSHOT_UNLOCK_FAILED 507907         /* process snapshot: unlock failed */
#define ACL_ERROR_SNAPSHOT_BACKUP_FAILED 507908         /* process snapshot: backup failed */
#define ACL_ERROR_SNAPSHOT_RESTORE_FAILED 507909        /* process snapshot: restore failed */
#define ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED 507910 /* host range already registered */
#define ACL_ERROR_HOST_MEMORY_NOT_REGISTERED 507911     /* host range not registered */
#define ACL_ERROR_SNAPSHOT_CALLBACK_FAILED 507912 /* process snapshot: a stage callback failed */
#define ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED \
    507913                                /* process snapshot: callback registration failed */
#define ACL_ERROR_RT_L3_PORT_ERROR 507914 /* L3 port error */
#define ACL_ERROR_RT_CCU_TIMEOUT 507915   /* collective unit timeout */
#define ACL_ERROR_RT_CCU_EXCEPTION 507916 /* collective unit exception */

#endif
