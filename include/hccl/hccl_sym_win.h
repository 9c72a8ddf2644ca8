/* Symmetric memory windows: reaching a peer's part. Windows are made by
 * HcclCommSymWinRegister() of hccl_comm.h. */
#ifndef REPRISE_HCCL_SYM_WIN_H
#define REPRISE_HCCL_SYM_WIN_H

#include <stddef.h>
#include <stdint.h>

#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Stores the address, usable here, of byte `offset` of what `peerRank` registered in the window.
 * Valid until the window is deregistered. */
HCCL_FUNC_VISIBILITY HcclResult HcclSymWinGetPeerPointer(
        HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank, void **ptr);

#ifdef __cplusplus
}
#endif

#endif
