/* Error codes of the graph engine. */
#ifndef REPRISE_ACL_ERROR_CODES_GE_ERROR_CODES_H
#define REPRISE_ACL_ERROR_CODES_GE_ERROR_CODES_H

#include "../acl_base_rt.h"

ACL_CONST_UINT32(ACL_ERROR_GE_PARAM_INVALID, 145000);                /* argument check failed */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_NOT_INIT, 145001);                /* executor not initialised */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID, 145002);      /* model path invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, 145003);        /* model id invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID, 145006); /* model size invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID, 145007); /* model memory address invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID, 145008); /* queue id invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED, 145009);    /* loaded / initialised twice */
ACL_CONST_UINT32(
        ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID, 145011); /* dynamic-gear input address invalid */
ACL_CONST_UINT32(
        ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID, 145012); /* dynamic-gear input length invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID, 145013); /* dynamic batch size invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_AIPP_BATCH_EMPTY, 145014);           /* AIPP batch size invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_AIPP_NOT_EXIST, 145015);             /* AIPP configuration absent */
ACL_CONST_UINT32(ACL_ERROR_GE_AIPP_MODE_INVALID, 145016);          /* AIPP mode invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_OP_TASK_TYPE_INVALID, 145017);       /* task type invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_OP_KERNEL_TYPE_INVALID, 145018); /* operator kernel type invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_PLGMGR_PATH_INVALID, 145019);    /* plug-in library path invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_FORMAT_INVALID, 145020);         /* tensor format invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_SHAPE_INVALID, 145021);          /* tensor shape invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_DATATYPE_INVALID, 145022);       /* tensor data type invalid */
ACL_CONST_UINT32(ACL_ERROR_GE_MEMORY_ALLOCATION, 245000);      /* memory allocation failed */
ACL_CONST_UINT32(ACL_ERROR_GE_MEMORY_OPERATE_FAILED, 245001);  /* memory init/copy failed */
ACL_CONST_UINT32(
        ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED, 245002); /* device memory operation failed */
ACL_CONST_UINT32(ACL_ERROR_GE_SUBHEALTHY, 345102);          /* redeployed after a fault, degraded */
ACL_CONST_UINT32(ACL_ERROR_GE_USER_RAISE_EXCEPTION, 345103); /* user-defined function raised */
ACL_CONST_UINT32(ACL_ERROR_GE_DATA_NOT_ALIGNED, 345104);     /* data-flow outputs not aligned */
ACL_CONST_UINT32(ACL_ERROR_GE_INTERNAL_ERROR, 545000);       /* internal error */
ACL_CONST_UINT32(ACL_ERROR_GE_LOAD_MODEL, 545001);           /* model load failed */
ACL_CONST_UINT32(
        ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED, 545002); /* model partition load failed */
ACL_CONST_UINT32(
        ACL_ERROR_GE_EXEC_LOAD_WEIGHT_PARTITION_FAILED, 545003); /* weight partition load failed */
ACL_CONST_UINT32(
        ACL_ERROR_GE_EXEC_LOAD_TASK_PARTITION_FAILED, 545004); /* task partition load failed */
ACL_CONST_UINT32(
        ACL_ERROR_GE_EXEC_LOAD_KERNEL_PARTITION_FAILED, 545005); /* kernel partition load failed */
ACL_CONST_UINT32(ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA, 545006);  /* model release failed */
ACL_CONST_UINT32(ACL_ERROR_GE_COMMAND_HANDLE, 545007);           /* command handling failed */
ACL_CONST_UINT32(ACL_ERROR_GE_GET_TENSOR_INFO, 545008);          /* tensor data query failed */
ACL_CONST_UINT32(ACL_ERROR_GE_UNLOAD_MODEL, 545009);             /* model unload failed */
ACL_CONST_UINT32(ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT, 545601);    /* model execution timed out */
ACL_CONST_UINT32(ACL_ERROR_GE_REDEPLOYING, 545602);              /* redeployment in progress */

#endif
