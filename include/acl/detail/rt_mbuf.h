/* Buffers of the data queues, and chains of them. */
#ifndef REPRISE_RT_MBUF_H
#define REPRISE_RT_MBUF_H

#include "rt_handles.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A buffer of `size` bytes. */
ACL_FUNC_VISIBILITY aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtFreeBuf(aclrtMbuf buf);

/** Where its data lies and how much room there is, in bytes. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size);

/** How much of it is used, in bytes. */
ACL_FUNC_VISIBILITY aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len);
ACL_FUNC_VISIBILITY aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len);

/** A second handle to the same data. */
ACL_FUNC_VISIBILITY aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf);

/** Buffers one behind the other. */
ACL_FUNC_VISIBILITY aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf);
ACL_FUNC_VISIBILITY aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num);
ACL_FUNC_VISIBILITY aclError aclrtGetBufFromChain(
        aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf);

/** Private bytes of a buffer, at `offset`. */
ACL_FUNC_VISIBILITY aclError aclrtGetBufUserData(
        const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset);
ACL_FUNC_VISIBILITY aclError aclrtSetBufUserData(
        aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset);

#ifdef __cplusplus
}
#endif

#endif
