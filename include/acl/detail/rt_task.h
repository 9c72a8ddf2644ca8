/* Other tasks of a stream: value write and wait, random numbers, labels,
 * updates, and notes attached to a task. */
#ifndef REPRISE_RT_TASK_H
#define REPRISE_RT_TASK_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/** When a value wait ends, with v the word in memory: (int64_t)(v - value) >= 0;
 * v == value; (v & value) != 0; ~(v | value) != 0. */
#define ACL_STREAM_WAIT_VALUE_GEQ 0x00000000U
#define ACL_STREAM_WAIT_VALUE_EQ 0x00000001U
#define ACL_STREAM_WAIT_VALUE_AND 0x00000002U
#define ACL_STREAM_WAIT_VALUE_NOR 0x00000003U

/** Distributions. */
typedef enum aclrtRandomNumFuncType {
    ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK = 0,
    ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS = 1,
    ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS = 2,
    ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS = 3,
} aclrtRandomNumFuncType;

/** A number of `size` bytes, or the device address of one where `isAddr` is 1. */
typedef struct aclrtRandomParaInfo {
    uint8_t isAddr;
    uint8_t valueOrAddr[8];
    uint8_t size;
    uint8_t rsv[6];
} aclrtRandomParaInfo;

/** Parameters of the distributions. */
typedef struct aclrtDropoutBitmaskInfo {
    aclrtRandomParaInfo dropoutRation;
} aclrtDropoutBitmaskInfo;

typedef struct aclrtUniformDisInfo {
    aclrtRandomParaInfo min;
    aclrtRandomParaInfo max;
} aclrtUniformDisInfo;

typedef struct aclrtNormalDisInfo {
    aclrtRandomParaInfo mean;
    aclrtRandomParaInfo stddev;
} aclrtNormalDisInfo;

/** A distribution; both normal ones use `normalDisInfo`. */
typedef struct aclrtRandomNumFuncParaInfo {
    aclrtRandomNumFuncType funcType;
    union {
        aclrtDropoutBitmaskInfo dropoutBitmaskInfo;
        aclrtUniformDisInfo uniformDisInfo;
        aclrtNormalDisInfo normalDisInfo;
    } paramInfo;
} aclrtRandomNumFuncParaInfo;

/** What to draw, and where: `randomNum` numbers of `dataType` to `randomResultAddr`.
 * `randomParaAddr` may be NULL. */
typedef struct aclrtRandomNumTaskInfo {
    aclDataType dataType;
    aclrtRandomNumFuncParaInfo randomNumFuncParaInfo;
    void *randomParaAddr;
    void *randomResultAddr;
    void *randomCounterAddr;
    aclrtRandomParaInfo randomSeed;
    aclrtRandomParaInfo randomNum;
    uint8_t rsv[8];
} aclrtRandomNumTaskInfo;

/** Kinds of task that aclrtTaskUpdateAsync() rewrites. */
typedef enum aclrtUpdateTaskAttrId {
    ACL_RT_UPDATE_RANDOM_TASK = 1,
    ACL_RT_UPDATE_AIC_AIV_TASK = 2,
} aclrtUpdateTaskAttrId;

typedef struct aclrtRandomTaskUpdateAttr {
    void *srcAddr;
    size_t size;
    uint32_t rsv[4];
} aclrtRandomTaskUpdateAttr;

typedef struct aclrtAicAivTaskUpdateAttr {
    void *binHandle;
    void *funcEntryAddr;
    void *numBlocksAddr;
    uint32_t rsv[4];
} aclrtAicAivTaskUpdateAttr;

typedef union aclrtUpdateTaskAttrVal {
    aclrtRandomTaskUpdateAttr randomTaskAttr;
    aclrtAicAivTaskUpdateAttr aicAivTaskAttr;
} aclrtUpdateTaskAttrVal;

/** A rewrite; the member that `id` names is used. */
typedef struct aclrtTaskUpdateInfo {
    aclrtUpdateTaskAttrId id;
    aclrtUpdateTaskAttrVal val;
} aclrtTaskUpdateInfo;

/** Queues a store of 8 bytes to an 8-byte aligned device address. `flag` is 0. */
ACL_FUNC_VISIBILITY aclError aclrtValueWrite(
        void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/** Queues a wait until the 8 bytes there satisfy `flag`, one of
 * ACL_STREAM_WAIT_VALUE_*. */
ACL_FUNC_VISIBILITY aclError aclrtValueWait(
        void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/** Queues drawing random numbers. `reserve` is NULL. */
ACL_FUNC_VISIBILITY aclError aclrtRandomNumAsync(
        const aclrtRandomNumTaskInfo *taskInfo, const aclrtStream stream, void *reserve);

/** Queues on `execStream` a rewrite of task `taskId` of a stream that is bound
 * to a graph. */
ACL_FUNC_VISIBILITY aclError aclrtTaskUpdateAsync(
        aclrtStream taskStream, uint32_t taskId, aclrtTaskUpdateInfo *info, aclrtStream execStream);

/** A place that control can jump to within a graph of aclmdlRIBuildBegin(). A label can be
 * destroyed once it has been set and is in the lists that shall have it, a list once it has
 * been switched by: lists and graphs keep what they need. */
ACL_FUNC_VISIBILITY aclError aclrtCreateLabel(aclrtLabel *label);
ACL_FUNC_VISIBILITY aclError aclrtDestroyLabel(aclrtLabel label);

/** Puts the label at this place of a stream that is bound to a graph; a label has one place. */
ACL_FUNC_VISIBILITY aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream);

/** `num` labels to choose from. */
ACL_FUNC_VISIBILITY aclError aclrtCreateLabelList(
        aclrtLabel *labels, size_t num, aclrtLabelList *labelList);
ACL_FUNC_VISIBILITY aclError aclrtDestroyLabelList(aclrtLabelList labelList);

/** A task that jumps to one of the first `maxValue` labels of the list: the one whose index
 * the word at `ptr` is when the task runs, or label `maxValue` - 1 if the word is larger. The
 * word is a uint32_t in device memory, 4-byte aligned. */
ACL_FUNC_VISIBILITY aclError aclrtSwitchLabelByIndex(
        void *ptr, uint32_t maxValue, aclrtLabelList labelList, aclrtStream stream);

/** Attaches up to 64 KiB to the task that this thread submitted last, while
 * ACL_STREAM_ATTR_CACHE_OP_INFO is on in a capture. Freed with the graph. */
ACL_FUNC_VISIBILITY aclError aclrtCacheLastTaskOpInfo(
        const void *const infoPtr, const size_t infoSize);

/** Attaches a JSON text, cut at 4 KiB, which aclmdlRIDebugJsonPrint() shows. */
ACL_FUNC_VISIBILITY aclError aclrtCacheLastTaskExtendInfo(
        const char *const extendInfoPtr, const size_t infoSize);

/** Queues a mark of `length` bytes for the profiler. */
ACL_FUNC_VISIBILITY aclError aclrtProfTrace(void *userdata, int32_t length, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
