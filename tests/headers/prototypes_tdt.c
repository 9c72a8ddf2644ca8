/* Prototypes of channels and queues: a second declaration of every function, which the compiler
 * compares with the header's. */
#include <acl/acl_tdt.h>
#include <acl/acl_tdt_queue.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem *dataItem);
aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem *dataItem);
void *acltdtGetDataAddrFromItem(const acltdtDataItem *dataItem);
size_t acltdtGetDataSizeFromItem(const acltdtDataItem *dataItem);
size_t acltdtGetDimNumFromItem(const acltdtDataItem *dataItem);
aclError acltdtGetSliceInfoFromItem(
        const acltdtDataItem *dataItem, size_t *sliceNum, size_t *sliceId);
aclError acltdtGetDimsFromItem(const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum);
acltdtDataItem *acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t *dims, size_t dimNum,
        aclDataType dataType, void *data, size_t size);
aclError acltdtDestroyDataItem(acltdtDataItem *dataItem);
acltdtDataset *acltdtCreateDataset(void);
aclError acltdtDestroyDataset(acltdtDataset *dataset);
acltdtDataItem *acltdtGetDataItem(const acltdtDataset *dataset, size_t index);
aclError acltdtAddDataItem(acltdtDataset *dataset, acltdtDataItem *dataItem);
size_t acltdtGetDatasetSize(const acltdtDataset *dataset);
const char *acltdtGetDatasetName(const acltdtDataset *dataset);
aclError acltdtStopChannel(acltdtChannelHandle *handle);
acltdtChannelHandle *acltdtCreateChannel(uint32_t deviceId, const char *name);
acltdtChannelHandle *acltdtCreateChannelWithCapacity(
        uint32_t deviceId, const char *name, size_t capacity);
aclError acltdtDestroyChannel(acltdtChannelHandle *handle);
aclError acltdtCleanChannel(acltdtChannelHandle *handle);
aclError acltdtSendTensor(
        const acltdtChannelHandle *handle, const acltdtDataset *dataset, int32_t timeout);
aclError acltdtReceiveTensor(
        const acltdtChannelHandle *handle, acltdtDataset *dataset, int32_t timeout);
aclError acltdtQueryChannelSize(const acltdtChannelHandle *handle, size_t *size);
aclError acltdtCreateQueue(const acltdtQueueAttr *attr, uint32_t *qid);
aclError acltdtDestroyQueue(uint32_t qid);
aclError acltdtEnqueue(uint32_t qid, acltdtBuf buf, int32_t timeout);
aclError acltdtDequeue(uint32_t qid, acltdtBuf *buf, int32_t timeout);
aclError acltdtEnqueueData(uint32_t qid, const void *data, size_t dataSize, const void *userData,
        size_t userDataSize, int32_t timeout, uint32_t rsv);
aclError acltdtDequeueData(uint32_t qid, void *data, size_t dataSize, size_t *retDataSize,
        void *userData, size_t userDataSize, int32_t timeout);
aclError acltdtGrantQueue(uint32_t qid, int32_t pid, uint32_t permission, int32_t timeout);
aclError acltdtAttachQueue(uint32_t qid, int32_t timeout, uint32_t *permission);
aclError acltdtBindQueueRoutes(acltdtQueueRouteList *qRouteList);
aclError acltdtUnbindQueueRoutes(acltdtQueueRouteList *qRouteList);
aclError acltdtQueryQueueRoutes(
        const acltdtQueueRouteQueryInfo *queryInfo, acltdtQueueRouteList *qRouteList);
aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf *buf);
aclError acltdtFreeBuf(acltdtBuf buf);
aclError acltdtGetBufData(const acltdtBuf buf, void **dataPtr, size_t *size);
aclError acltdtSetBufDataLen(acltdtBuf buf, size_t len);
aclError acltdtGetBufDataLen(acltdtBuf buf, size_t *len);
aclError acltdtAppendBufChain(acltdtBuf headBuf, acltdtBuf buf);
aclError acltdtGetBufChainNum(acltdtBuf headBuf, uint32_t *num);
aclError acltdtGetBufFromChain(acltdtBuf headBuf, uint32_t index, acltdtBuf *buf);
aclError acltdtGetBufUserData(const acltdtBuf buf, void *dataPtr, size_t size, size_t offset);
aclError acltdtSetBufUserData(acltdtBuf buf, const void *dataPtr, size_t size, size_t offset);
aclError acltdtCopyBufRef(const acltdtBuf buf, acltdtBuf *newBuf);
acltdtQueueAttr *acltdtCreateQueueAttr(void);
aclError acltdtDestroyQueueAttr(const acltdtQueueAttr *attr);
aclError acltdtSetQueueAttr(
        acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, const void *param);
aclError acltdtGetQueueAttr(const acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len,
        size_t *paramRetSize, void *param);
acltdtQueueRoute *acltdtCreateQueueRoute(uint32_t srcId, uint32_t dstId);
aclError acltdtDestroyQueueRoute(const acltdtQueueRoute *route);
aclError acltdtGetQueueRouteParam(const acltdtQueueRoute *route, acltdtQueueRouteParamType type,
        size_t len, size_t *paramRetSize, void *param);
acltdtQueueRouteList *acltdtCreateQueueRouteList(void);
aclError acltdtDestroyQueueRouteList(const acltdtQueueRouteList *routeList);
aclError acltdtAddQueueRoute(acltdtQueueRouteList *routeList, const acltdtQueueRoute *route);
aclError acltdtGetQueueRoute(
        const acltdtQueueRouteList *routeList, size_t index, acltdtQueueRoute *route);
size_t acltdtGetQueueRouteNum(const acltdtQueueRouteList *routeList);
acltdtQueueRouteQueryInfo *acltdtCreateQueueRouteQueryInfo(void);
aclError acltdtDestroyQueueRouteQueryInfo(const acltdtQueueRouteQueryInfo *info);
aclError acltdtSetQueueRouteQueryInfo(acltdtQueueRouteQueryInfo *param,
        acltdtQueueRouteQueryInfoParamType type, size_t len, const void *value);

#ifdef __cplusplus
}
#endif
