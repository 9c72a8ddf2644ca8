/* Extensions: memory that is registered with a communicator once and used by
 * many operators. */
#ifndef REPRISE_HCCL_EX_H
#define REPRISE_HCCL_EX_H

#include <stdint.h>

#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Registers `size` bytes at `addr`; `*handle` is for the two calls below. size 0: HCCL_E_PARA. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommRegister(
        HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag);

/** Takes a registration back. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommDeregister(HcclComm comm, void *handle);

/** Exchanges a registration with `peerRankNum` ranks, 1 to 768; else HCCL_E_PARA. */
HCCL_FUNC_VISIBILITY HcclResult HcclCommExchangeMem(
        HcclComm comm, void *windowHandle, uint32_t *peerRanks, uint32_t peerRankNum);

#ifdef __cplusplus
}
#endif

#endif
