/* Dumps of tensors and of what a failing task worked on. */
#ifndef REPRISE_ACL_ACL_DUMP_H
#define REPRISE_ACL_ACL_DUMP_H

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_DUMP_MAX_FILE_PATH_LENGTH 4096
#define ACL_DUMP_MAX_SHAPE_NUM 25

/** Kind of aclopStartDumpArgs(): the arguments of kernels. */
#define ACL_OP_DUMP_OP_AICORE_ARGS 0x00000001U

/** Kinds of dump. */
typedef enum acldumpType {
    AIC_ERR_BRIEF_DUMP = 1,
    AIC_ERR_NORM_DUMP = 2,
    AIC_ERR_DETAIL_DUMP = 3,
    DATA_DUMP = 4,
    OVERFLOW_DUMP = 5,
} acldumpType;

/** What a tensor is to its operator. */
typedef enum acldumpTensorType {
    ACL_DUMP_TENSOR_INPUT = 0,
    ACL_DUMP_TENSOR_OUTPUT = 1,
    ACL_DUMP_TENSOR_WORKSPACE = 2,
} acldumpTensorType;

/** How an address leads to the data: through one pointer, through two, or at once. */
typedef enum acldumpTensorAddressType {
    ACL_DUMP_ADDR_PTR = 0,
    ACL_DUMP_ADDR_PTR_PTR = 1,
    ACL_DUMP_ADDR_RAW = 2,
} acldumpTensorAddressType;

/** Where the data lies. */
typedef enum acldumpTensorPlacement {
    ACL_DUMP_PLACEMENT_DEVICE = 0,
    ACL_DUMP_PLACEMENT_HOST = 1,
    ACL_DUMP_PLACEMENT_END = 2,
} acldumpTensorPlacement;

/** A tensor; `tensorSize` in bytes, at most ACL_DUMP_MAX_SHAPE_NUM dimensions. */
typedef struct acldumpTensorInfo {
    acldumpTensorType type;
    size_t tensorSize;
    int32_t format;
    int32_t dataType;
    int64_t *tensorAddr;
    acldumpTensorAddressType addrType;
    acldumpTensorPlacement placement;
    uint32_t argsOffset;
    uint32_t shapeNum;
    uint32_t originShapeNum;
    uint64_t shape[ACL_DUMP_MAX_SHAPE_NUM];
    uint64_t originShape[ACL_DUMP_MAX_SHAPE_NUM];
} acldumpTensorInfo;

/** A piece of a dump file: `bufLen` bytes that belong at `offset` (-1: at its end). The bytes
 * follow the struct. */
typedef struct acldumpChunk {
    char fileName[ACL_DUMP_MAX_FILE_PATH_LENGTH];
    uint32_t bufLen;
    uint32_t isLastChunk;
    int64_t offset;
    int32_t flag;
    __extension__ uint8_t dataBuf[0];
} acldumpChunk;

/** Hands dumps to a function, with the bytes of each piece, instead of writing
 * files. `flag` is 0. */
ACL_FUNC_VISIBILITY aclError acldumpRegCallback(
        int32_t (*const messageCallback)(const acldumpChunk *, int32_t), int32_t flag);

/** Ends it. */
ACL_FUNC_VISIBILITY void acldumpUnregCallback(void);

/** Dumps of one kind, to the folder `path`. */
ACL_FUNC_VISIBILITY aclError aclopStartDumpArgs(uint32_t dumpType, const char *path);
ACL_FUNC_VISIBILITY aclError aclopStopDumpArgs(uint32_t dumpType);

/** The folder for a kind of dump; NULL when there is none. Never to be freed. */
ACL_FUNC_VISIBILITY const char *acldumpGetPath(acldumpType dumpType);

/** Writes tensors to a file below the exception folder; `fileName` is relative,
 * `userTag` may be NULL. */
ACL_FUNC_VISIBILITY aclError acldumpSaveExceptionInfo(const char *fileName, const char *userTag,
        const acldumpTensorInfo *tensors, size_t tensorCount);

/** Copies the exception folder to `maxLen` bytes at `path`, NUL-terminated. */
ACL_FUNC_VISIBILITY aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen);

#ifdef __cplusplus
}
#endif

#endif
