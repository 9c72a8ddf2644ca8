/* Resources of a communicator: the descriptions of its engines, protocols and
 * endpoints, which the rank graph speaks of, and its buffer. */
#ifndef REPRISE_HCCL_RES_H
#define REPRISE_HCCL_RES_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <acl/acl_rt.h>

#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HCCL_RES_TAG_MAX_LEN 255U
#define HCCL_CHANNEL_MAGIC_WORD 0x0f0f0f0fU
#define HCCL_CHANNEL_VERSION 1U
#define COMM_ADDR_EID_LEN 16U

/** What runs the tasks of an operator. */
typedef enum CommEngine {
    COMM_ENGINE_RESERVED = -1,
    COMM_ENGINE_CPU = 0,
    COMM_ENGINE_CPU_TS = 1,
    COMM_ENGINE_AICPU = 2,
    COMM_ENGINE_AICPU_TS = 3,
    COMM_ENGINE_AIV = 4,
    COMM_ENGINE_CCU = 5,
} CommEngine;

/** What a link speaks. */
typedef enum CommProtocol {
    COMM_PROTOCOL_RESERVED = -1,
    COMM_PROTOCOL_HCCS = 0,
    COMM_PROTOCOL_ROCE = 1,
    COMM_PROTOCOL_PCIE = 2,
    COMM_PROTOCOL_SIO = 3,
    COMM_PROTOCOL_UBC_CTP = 4,
    COMM_PROTOCOL_UBC_TP = 5,
    COMM_PROTOCOL_UB_MEM = 6,
} CommProtocol;

/** Kinds of address. */
typedef enum CommAddrType {
    COMM_ADDR_TYPE_RESERVED = -1,
    COMM_ADDR_TYPE_IP_V4 = 0,
    COMM_ADDR_TYPE_IP_V6 = 1,
    COMM_ADDR_TYPE_ID = 2,
    COMM_ADDR_TYPE_EID = 3,
} CommAddrType;

/** Where an endpoint is. */
typedef enum EndpointLocType {
    ENDPOINT_LOC_TYPE_RESERVED = -1,
    ENDPOINT_LOC_TYPE_DEVICE = 0,
    ENDPOINT_LOC_TYPE_HOST = 1,
} EndpointLocType;

/** Where memory is. */
typedef enum CommMemType {
    COMM_MEM_TYPE_INVALID = -1,
    COMM_MEM_TYPE_DEVICE = 0,
    COMM_MEM_TYPE_HOST = 1,
} CommMemType;

/** Begins every struct that may grow. */
typedef struct CommAbiHeader {
    uint32_t version;
    uint32_t magicWord;
    uint32_t size;
    uint32_t reserved;
} CommAbiHeader;

/** The member that `type` names is used. */
typedef struct CommAddr {
    CommAddrType type;
    union {
        uint8_t raws[36];
        struct in_addr addr;
        struct in6_addr addr6;
        uint32_t id;
        uint8_t eid[COMM_ADDR_EID_LEN];
    };
} CommAddr;

/* The two are named because C++ has no types inside an unnamed union. */
typedef struct EndpointLocDevice {
    uint32_t devPhyId;
    uint32_t superDevId;
    uint32_t serverIdx;
    uint32_t superPodIdx;
} EndpointLocDevice;

typedef struct EndpointLocHost {
    uint32_t id;
} EndpointLocHost;

/** A device, or a network card of the host: the member that `locType` names is used. */
typedef struct EndpointLoc {
    EndpointLocType locType;
    union {
        uint8_t raws[60];
        EndpointLocDevice device;
        EndpointLocHost host;
    };
} EndpointLoc;

/** One end of a link. */
typedef struct EndpointDesc {
    CommProtocol protocol;
    CommAddr commAddr;
    EndpointLoc loc;
    union {
        uint8_t raws[52];
    };
} EndpointDesc;

/** EndpointDescInit: says in `num` descriptions that nothing is set. NULL with `num` above 0 is
 * HCCL_E_PTR. */
static inline int32_t EndpointDescInit(EndpointDesc *endpoint, uint32_t num)
{
    if (endpoint == NULL) {
        return num == 0 ? HCCL_SUCCESS : HCCL_E_PTR;
    }
    for (uint32_t i = 0; i < num; ++i) {
        memset(&endpoint[i], 0xff, sizeof(endpoint[i]));
        endpoint[i].protocol = COMM_PROTOCOL_RESERVED;
        endpoint[i].commAddr.type = COMM_ADDR_TYPE_RESERVED;
        endpoint[i].loc.locType = ENDPOINT_LOC_TYPE_RESERVED;
    }
    return HCCL_SUCCESS;
}

/** The buffer that staged operators of the communicator go through, and its bytes. It stays the
 * communicator's. */
HCCL_FUNC_VISIBILITY HcclResult HcclGetHcclBuffer(HcclComm comm, void **buffer, uint64_t *size);

#ifdef __cplusplus
}
#endif

#endif
