/* Basic types of the acl interface: visibility, the error type and the codes
 * of the acl layer, handles, data types, data buffers, half precision, the
 * application log. */
#ifndef REPRISE_ACL_ACL_BASE_RT_H
#define REPRISE_ACL_ACL_BASE_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every function of this interface has default visibility and C linkage. */
#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))
#define ACL_DEPRECATED __attribute__((deprecated))
#define ACL_DEPRECATED_MESSAGE(message) __attribute__((deprecated(message)))

/* An integer constant that C accepts wherever it wants a constant expression
 * (case labels, array sizes), and that is an object of a fixed type in C++. */
#ifdef __cplusplus
#define ACL_CONST_INT(name, value) static const int name = value
#define ACL_CONST_UINT32(name, value) static const uint32_t name = value
#else
#define ACL_CONST_INT(name, value) enum { name = value }
#define ACL_CONST_UINT32(name, value) enum { name = value }
#endif

/** 0 is success. First digit of a code: 1 the caller or its environment, 2 a resource or a
 * combination that is not supported, 3 a state of the business, 5 a fault inside. A code may be
 * a whole class of causes (507000); the sentence of aclGetRecentErrMsg() names the one. */
typedef int aclError;

/** IEEE 754 binary16, as raw bits. */
typedef uint16_t aclFloat16;

/* Handles. Each names an object of the runtime; a stale or foreign one is answered with
 * ACL_ERROR_RT_INVALID_HANDLE. */
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtContext;
typedef void *aclrtNotify;
typedef void *aclrtCntNotify;
typedef void *aclrtLabel;
typedef void *aclrtLabelList;
typedef void *aclrtMbuf;
typedef void *aclrtTaskGrp;
typedef void *aclrtAllocatorDesc;
typedef void *aclrtAllocator;
typedef void *aclrtAllocatorBlock;
typedef void *aclrtAllocatorAddr;
typedef void *aclmdlRITask;
typedef struct aclDataBuffer aclDataBuffer;

/* Codes of the acl layer. 100000 to 100045 and 148046 to 148053: the call or
 * its inputs; 2xxxxx: not available here; 5xxxxx: a failure below. Codes of
 * the runtime are in error_codes/rt_error_codes.h, those of the graph engine
 * in error_codes/ge_error_codes.h. */

/** Success. */
ACL_CONST_INT(ACL_SUCCESS, 0);
/** Old name of success. */
ACL_CONST_INT(ACL_ERROR_NONE, 0);
/** Argument check in the acl layer failed (NULL pointer, size 0, bad enum). */
ACL_CONST_INT(ACL_ERROR_INVALID_PARAM, 100000);
/** Neither aclInit() nor the init function of the feature was called. */
ACL_CONST_INT(ACL_ERROR_UNINITIALIZE, 100001);
/** Already initialised / loaded; after aclInit it may be ignored. */
ACL_CONST_INT(ACL_ERROR_REPEAT_INITIALIZE, 100002);
/** File missing or unreadable. */
ACL_CONST_INT(ACL_ERROR_INVALID_FILE, 100003);
/** File cannot be written. */
ACL_CONST_INT(ACL_ERROR_WRITE_FILE, 100004);
/** File size outside the accepted range. */
ACL_CONST_INT(ACL_ERROR_INVALID_FILE_SIZE, 100005);
/** File content not parseable (e.g. bad JSON). */
ACL_CONST_INT(ACL_ERROR_PARSE_FILE, 100006);
/** Required field absent in the file. */
ACL_CONST_INT(ACL_ERROR_FILE_MISSING_ATTR, 100007);
/** Field value in the file invalid. */
ACL_CONST_INT(ACL_ERROR_FILE_ATTR_INVALID, 100008);
/** Bad dump configuration. */
ACL_CONST_INT(ACL_ERROR_INVALID_DUMP_CONFIG, 100009);
/** Bad profiling configuration. */
ACL_CONST_INT(ACL_ERROR_INVALID_PROFILING_CONFIG, 100010);
/** Unknown model id. */
ACL_CONST_INT(ACL_ERROR_INVALID_MODEL_ID, 100011);
/** Model blob cannot be deserialised. */
ACL_CONST_INT(ACL_ERROR_DESERIALIZE_MODEL, 100012);
/** Model cannot be parsed. */
ACL_CONST_INT(ACL_ERROR_PARSE_MODEL, 100013);
/** Model file cannot be read. */
ACL_CONST_INT(ACL_ERROR_READ_MODEL_FAILURE, 100014);
/** Model size invalid. */
ACL_CONST_INT(ACL_ERROR_MODEL_SIZE_INVALID, 100015);
/** Attribute missing in model. */
ACL_CONST_INT(ACL_ERROR_MODEL_MISSING_ATTR, 100016);
/** Inputs do not fit the model. */
ACL_CONST_INT(ACL_ERROR_MODEL_INPUT_NOT_MATCH, 100017);
/** Outputs do not fit the model. */
ACL_CONST_INT(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, 100018);
/** Dynamic feature requested on a static model. */
ACL_CONST_INT(ACL_ERROR_MODEL_NOT_DYNAMIC, 100019);
/** Single-operator type mismatch. */
ACL_CONST_INT(ACL_ERROR_OP_TYPE_NOT_MATCH, 100020);
/** Single-operator inputs mismatch. */
ACL_CONST_INT(ACL_ERROR_OP_INPUT_NOT_MATCH, 100021);
/** Single-operator outputs mismatch. */
ACL_CONST_INT(ACL_ERROR_OP_OUTPUT_NOT_MATCH, 100022);
/** Single-operator attributes mismatch. */
ACL_CONST_INT(ACL_ERROR_OP_ATTR_NOT_MATCH, 100023);
/** No such operator. */
ACL_CONST_INT(ACL_ERROR_OP_NOT_FOUND, 100024);
/** Operator model failed to load. */
ACL_CONST_INT(ACL_ERROR_OP_LOAD_FAILED, 100025);
/** Data type not supported. */
ACL_CONST_INT(ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026);
/** Tensor format mismatch. */
ACL_CONST_INT(ACL_ERROR_FORMAT_NOT_MATCH, 100027);
/** Kernel selector missing. */
ACL_CONST_INT(ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED, 100028);
/** Kernel not registered. */
ACL_CONST_INT(ACL_ERROR_KERNEL_NOT_FOUND, 100029);
/** Selector registered twice. */
ACL_CONST_INT(ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED, 100030);
/** Kernel registered twice. */
ACL_CONST_INT(ACL_ERROR_KERNEL_ALREADY_REGISTERED, 100031);
/** Unknown queue id. */
ACL_CONST_INT(ACL_ERROR_INVALID_QUEUE_ID, 100032);
/** Stream subscribed twice. */
ACL_CONST_INT(ACL_ERROR_REPEAT_SUBSCRIBE, 100033);
/** Older code of 107015. */
ACL_CONST_INT(ACL_ERROR_STREAM_NOT_SUBSCRIBE, 100034);
/** Older code of 107012. */
ACL_CONST_INT(ACL_ERROR_THREAD_NOT_SUBSCRIBE, 100035);
/** Older code of 507012. */
ACL_CONST_INT(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, 100036);
/** Finalise called although not initialised. */
ACL_CONST_INT(ACL_ERROR_REPEAT_FINALIZE, 100037);
/** Older code of 145015. */
ACL_CONST_INT(ACL_ERROR_NOT_STATIC_AIPP, 100038);
/** Program runs against stub libraries. */
ACL_CONST_INT(ACL_ERROR_COMPILING_STUB_MODE, 100039);
/** Older code of 107013. */
ACL_CONST_INT(ACL_ERROR_GROUP_NOT_SET, 100040);
/** Older code of 107014. */
ACL_CONST_INT(ACL_ERROR_GROUP_NOT_CREATE, 100041);
/** Another profiling session is active. */
ACL_CONST_INT(ACL_ERROR_PROF_ALREADY_RUN, 100042);
/** Profiling not initialised. */
ACL_CONST_INT(ACL_ERROR_PROF_NOT_RUN, 100043);
/** Dump already configured elsewhere. */
ACL_CONST_INT(ACL_ERROR_DUMP_ALREADY_RUN, 100044);
/** Dump not initialised. */
ACL_CONST_INT(ACL_ERROR_DUMP_NOT_RUN, 100045);
/** Model subscribed twice for profiling. */
ACL_CONST_INT(ACL_ERROR_PROF_REPEAT_SUBSCRIBE, 148046);
/** Two incompatible profiling interfaces mixed. */
ACL_CONST_INT(ACL_ERROR_PROF_API_CONFLICT, 148047);
/** Bad max_opqueue_num in the aclInit file. */
ACL_CONST_INT(ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG, 148048);
/** ASCEND_OPP_PATH unset or wrong. */
ACL_CONST_INT(ACL_ERROR_INVALID_OPP_PATH, 148049);
/** Operator lacks dynamic-shape support. */
ACL_CONST_INT(ACL_ERROR_OP_UNSUPPORTED_DYNAMIC, 148050);
/** Dependent resource still alive. */
ACL_CONST_INT(ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED, 148051);
/** JPEG coding variant unsupported. */
ACL_CONST_INT(ACL_ERROR_UNSUPPORTED_JPEG, 148052);
/** Unknown bundle model id. */
ACL_CONST_INT(ACL_ERROR_INVALID_BUNDLE_MODEL_ID, 148053);
/** Host allocation failed. */
ACL_CONST_INT(ACL_ERROR_BAD_ALLOC, 200000);
/** Function not supported here. */
ACL_CONST_INT(ACL_ERROR_API_NOT_SUPPORT, 200001);
/** Older code of 107001. */
ACL_CONST_INT(ACL_ERROR_INVALID_DEVICE, 200002);
/** Address alignment violated. */
ACL_CONST_INT(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003);
/** Stream/context/… does not belong to the call. */
ACL_CONST_INT(ACL_ERROR_RESOURCE_NOT_MATCH, 200004);
/** Handle destroyed or in use. */
ACL_CONST_INT(ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005);
/** Feature not supported. */
ACL_CONST_INT(ACL_ERROR_FEATURE_UNSUPPORTED, 200006);
/** Requested profiling module not supported. */
ACL_CONST_INT(ACL_ERROR_PROF_MODULES_UNSUPPORTED, 200007);
/** Storage limit exceeded. */
ACL_CONST_INT(ACL_ERROR_STORAGE_OVER_LIMIT, 300000);
/** Unknown internal error (catch-all). */
ACL_CONST_INT(ACL_ERROR_INTERNAL_ERROR, 500000);
/** Internal error. */
ACL_CONST_INT(ACL_ERROR_FAILURE, 500001);
/** Graph-engine error. */
ACL_CONST_INT(ACL_ERROR_GE_FAILURE, 500002);
/** Runtime error. */
ACL_CONST_INT(ACL_ERROR_RT_FAILURE, 500003);
/** Driver error. */
ACL_CONST_INT(ACL_ERROR_DRV_FAILURE, 500004);
/** Profiling error. */
ACL_CONST_INT(ACL_ERROR_PROFILING_FAILURE, 500005);

/** Element types. Sizes: aclDataTypeSize(). */
typedef enum aclDataType {
    ACL_DT_UNDEFINED = -1,
    ACL_FLOAT = 0,
    ACL_FLOAT16 = 1,
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,
    ACL_BOOL = 12,
    ACL_STRING = 13,
    ACL_COMPLEX64 = 16,
    ACL_COMPLEX128 = 17,
    ACL_BF16 = 27,
    ACL_INT4 = 29,
    ACL_UINT1 = 30,
    ACL_COMPLEX32 = 33,
    ACL_HIFLOAT8 = 34,
    ACL_FLOAT8_E5M2 = 35,
    ACL_FLOAT8_E4M3FN = 36,
    ACL_FLOAT8_E8M0 = 37,
    ACL_FLOAT6_E3M2 = 38,
    ACL_FLOAT6_E2M3 = 39,
    ACL_FLOAT4_E2M1 = 40,
    ACL_FLOAT4_E1M2 = 41,
} aclDataType;

/** Tensor layouts. */
typedef enum aclFormat {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_NHWC = 1,
    ACL_FORMAT_ND = 2,
    ACL_FORMAT_NC1HWC0 = 3,
    ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_NC1HWC0_C04 = 12,
    ACL_FORMAT_HWCN = 16,
    ACL_FORMAT_NDHWC = 27,
    ACL_FORMAT_FRACTAL_NZ = 29,
    ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NDC1HWC0 = 32,
    ACL_FRACTAL_Z_3D = 33,
    ACL_FORMAT_NC = 35,
    ACL_FORMAT_NCL = 47,
    ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
    ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
    ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
    ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
    ACL_FORMAT_FRACTAL_NZ_C0_8 = 54,
} aclFormat;

/** Severity of a line of aclAppLog(). */
typedef enum aclLogLevel {
    ACL_DEBUG = 0,
    ACL_INFO = 1,
    ACL_WARNING = 2,
    ACL_ERROR = 3,
} aclLogLevel;

/** Where the memory behind a tensor lies. */
typedef enum aclMemType {
    ACL_MEMTYPE_DEVICE = 0,
    ACL_MEMTYPE_HOST = 1,
    ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2,
} aclMemType;

/** Keys of aclrtSetSysParamOpt() and aclrtCtxSetSysParamOpt(). For a strictly
 * reproducible order of reductions set ACL_OPT_DETERMINISTIC to 2;
 * ACL_OPT_STRONG_CONSISTENCY is the older spelling of it. */
typedef enum aclSysParamOpt {
    ACL_OPT_DETERMINISTIC = 0,
    ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
    ACL_OPT_STRONG_CONSISTENCY = 2,
    ACL_OPT_ENABLE_KERNEL_EARLY_START = 3,
} aclSysParamOpt;

/** Abilities that aclGetCannAttribute() answers for. */
typedef enum aclCannAttr {
    ACL_CANN_ATTR_UNDEFINED = -1,
    ACL_CANN_ATTR_INF_NAN = 0,
    ACL_CANN_ATTR_BF16 = 1,
    ACL_CANN_ATTR_JIT_COMPILE = 2,
} aclCannAttr;

/** Hardware numbers that aclGetDeviceCapability() answers. */
typedef enum aclDeviceInfo {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
    ACL_DEVICE_INFO_L2_SIZE = 2,
} aclDeviceInfo;

/** Bytes of one element of `dataType`; 0 for a type without a size of its own. */
ACL_FUNC_VISIBILITY size_t aclDataTypeSize(aclDataType dataType);

/** Widens without treating infinity or NaN specially: 0x7C00 becomes 65536,
 * 0x7E00 becomes 98304. */
ACL_FUNC_VISIBILITY float aclFloat16ToFloat(aclFloat16 value);

/** Narrows and saturates: NaN and +infinity become 65504, -infinity becomes -65504. */
ACL_FUNC_VISIBILITY aclFloat16 aclFloatToFloat16(float value);

/** Describes `size` bytes at `data`, which stay the caller's. NULL when no
 * memory is left. */
ACL_FUNC_VISIBILITY aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);

/** Frees the description, not the memory that it describes. */
ACL_FUNC_VISIBILITY aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);

/** Points an existing description at other memory. */
ACL_FUNC_VISIBILITY aclError aclUpdateDataBuffer(
        aclDataBuffer *dataBuffer, void *data, size_t size);

/** The address described; NULL when `dataBuffer` is NULL. */
ACL_FUNC_VISIBILITY void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer);

/** The size in bytes, cut to 32 bits. Deprecated: use aclGetDataBufferSizeV2(). */
ACL_FUNC_VISIBILITY uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer);

/** The size in bytes; 0 when `dataBuffer` is NULL. */
ACL_FUNC_VISIBILITY size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer);

/** Writes one line to the application log, as printf would format it; a line is cut at 1,024
 * bytes. ACL_APP_LOG() fills in the place. */
ACL_FUNC_VISIBILITY void aclAppLog(aclLogLevel logLevel, const char *func, const char *file,
        uint32_t line, const char *fmt, ...);

/* `fmt` is the first of the variadic arguments, so that a call with a format
 * alone is standard C. */
#define ACL_APP_LOG(level, ...) aclAppLog(level, __func__, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
