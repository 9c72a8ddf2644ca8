/* Prototypes of profiling and dumps: a second declaration of every function, which the compiler
 * compares with the header's. */
#include <acl/acl_dump.h>
#include <acl/acl_prof.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

aclError aclprofInit(const char *profilerResultPath, size_t length);
aclError aclprofFinalize(void);
aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
        aclprofAicoreMetrics aicoreMetrics, const aclprofAicoreEvents *aicoreEvents,
        uint64_t dataTypeConfig);
aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);
aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength);
aclError aclprofStart(const aclprofConfig *profilerConfig);
aclError aclprofStop(const aclprofConfig *profilerConfig);
aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);
aclprofStepInfo *aclprofCreateStepInfo(void);
void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);
aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream);
aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig);
aclError aclprofModelUnSubscribe(uint32_t modelId);
aclprofSubscribeConfig *aclprofCreateSubscribeConfig(
        int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics, void *fd);
aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig);
aclError aclprofGetOpDescSize(size_t *opDescSize);
aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen, uint32_t *opNumber);
aclError aclprofGetOpTypeLen(
        const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opTypeLen);
aclError aclprofGetOpType(
        const void *opInfo, size_t opInfoLen, uint32_t index, char *opType, size_t opTypeLen);
aclError aclprofGetOpNameLen(
        const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opNameLen);
aclError aclprofGetOpName(
        const void *opInfo, size_t opInfoLen, uint32_t index, char *opName, size_t opNameLen);
uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen, uint32_t index);
uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index);
uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen, uint32_t index);
size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index);
aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen, uint32_t index);
const char *aclprofGetOpAttriValue(
        const void *opInfo, size_t opInfoLen, uint32_t index, aclprofSubscribeOpAttri attri);
void *aclprofCreateStamp(void);
void aclprofDestroyStamp(void *stamp);
aclError aclprofPush(void *stamp);
aclError aclprofPop(void);
aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);
aclError aclprofRangeStop(uint32_t rangeId);
aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen);
aclError aclprofMark(void *stamp);
uint64_t aclprofStr2Id(const char *message);
aclError aclprofRangePushEx(aclprofEventAttributes *attr);
aclError aclprofRangePop(void);
aclError aclopStartDumpArgs(uint32_t dumpType, const char *path);
aclError aclopStopDumpArgs(uint32_t dumpType);
const char *acldumpGetPath(acldumpType dumpType);
aclError acldumpSaveExceptionInfo(const char *fileName, const char *userTag,
        const acldumpTensorInfo *tensors, size_t tensorCount);
aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen);

#ifdef __cplusplus
}
#endif
