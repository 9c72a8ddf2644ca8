#ifndef REPRISE_TRANSPORT_RANK_TABLE_MEET_H
#define REPRISE_TRANSPORT_RANK_TABLE_MEET_H

/*
 * Where the ranks of a rank table meet. Those of rank 0's server: at an abstract
 * socket, whatever device_ip says. The others come to rank 0's device_ip and
 * device_port (default RP_TABLE_PORT, or the first of
 * HCCL_NPU_SOCKET_PORT_RANGE), or to its server_id if that is an address: rank 0
 * listens on those of the two that are its machine's.
 *
 * A rank table is no secret: it holds no random bits. Where its servers are
 * several, REPRISE_SECRET_FILE makes it one.
 */

#include "base/env.h"
#include "base/status.h"
#include "transport/rank_table.h"
#include "transport/rendezvous.h"

#define RP_TABLE_PORT 16666
#define RP_SECRET_FILE_BYTES_MAX (64u << 10)

/**
 * rp_rank_table_meet: for rank `rank` of the table that `path` was read from.
 *
 *   RP_EINTERNAL  rank 0's addresses are none of this machine (rank 0 only); REPRISE_SECRET_FILE
 *                 cannot be read
 *   RP_ENOMEM, RP_ESYS
 */
RP_MUST_USE rp_status rp_rank_table_meet(const struct rp_rank_table *table, const char *path,
        uint32_t rank, const struct rp_hccl_env *env, struct rp_rendezvous *out);

#endif
