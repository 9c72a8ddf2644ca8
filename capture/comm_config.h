#ifndef REPRISE_CAPTURE_COMM_CONFIG_H
#define REPRISE_CAPTURE_COMM_CONFIG_H

/*
 * A communicator's settings: HcclCommConfig's field over the environment over
 * the default; and what HcclSetConfig sets for the process.
 */

#include <hccl/hccl_comm.h>

#include "base/env.h"
#include "base/status.h"
#include "transport/comm.h"

/** rp_comm_environment: the HCCL_* variables; read now if they have not been. As rp_env_hccl(). */
RP_MUST_USE rp_status rp_comm_environment(const struct rp_hccl_env **out);

/**
 * rp_comm_settings_load: the settings of a communicator that `api` is about to
 * make. `config` NULL: none was given. Every size and version of the struct is
 * taken: its first member says how much of it there is.
 *
 *   RP_EPARAM  a field, or an HCCL_* variable, has an invalid value
 */
RP_MUST_USE rp_status rp_comm_settings_load(const char *api, const HcclCommConfig *config,
        struct rp_comm_settings *settings, struct rp_algo_config *algo);

#endif
