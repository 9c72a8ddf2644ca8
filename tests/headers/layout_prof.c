/* Sizes and offsets of the structs of profiling and dumps. */
#include <acl/acl_dump.h>
#include <acl/acl_prof.h>

#include "check.h"

CHECK_SIZE(aclprofTensor, 48);
CHECK_OFFSET(aclprofTensor, type, 0);
CHECK_OFFSET(aclprofTensor, format, 4);
CHECK_OFFSET(aclprofTensor, dataType, 8);
CHECK_OFFSET(aclprofTensor, shapeDim, 12);
CHECK_OFFSET(aclprofTensor, shape, 16);

CHECK_SIZE(aclprofTensorInfo, 48);
CHECK_OFFSET(aclprofTensorInfo, opNameId, 0);
CHECK_OFFSET(aclprofTensorInfo, opTypeId, 8);
CHECK_OFFSET(aclprofTensorInfo, resv, 16);
CHECK_OFFSET(aclprofTensorInfo, tensorNum, 20);
CHECK_OFFSET(aclprofTensorInfo, kernelType, 24);
CHECK_OFFSET(aclprofTensorInfo, blockNums, 28);
CHECK_OFFSET(aclprofTensorInfo, stream, 32);
CHECK_OFFSET(aclprofTensorInfo, tensors, 40);

CHECK_SIZE(aclprofEventAttributes, 16);
CHECK_OFFSET(aclprofEventAttributes, version, 0);
CHECK_OFFSET(aclprofEventAttributes, size, 2);
CHECK_OFFSET(aclprofEventAttributes, messageType, 4);
CHECK_OFFSET(aclprofEventAttributes, message, 8);
CHECK_OFFSET(aclprofEventAttributes, message.tensorInfo, 8);

CHECK_OFFSET(acldumpTensorInfo, tensorSize, 8);
CHECK_OFFSET(acldumpTensorInfo, tensorAddr, 24);
CHECK_OFFSET(acldumpTensorInfo, shapeNum, 44);
CHECK_OFFSET(acldumpTensorInfo, shape, 56);
CHECK_OFFSET(acldumpTensorInfo, originShape, 256);
CHECK_SIZE(acldumpTensorInfo, 456);
CHECK_OFFSET(acldumpChunk, bufLen, 4096);
CHECK_OFFSET(acldumpChunk, offset, 4104);
CHECK_OFFSET(acldumpChunk, dataBuf, 4116);
