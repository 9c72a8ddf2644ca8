#ifndef REPRISE_REPLAY_SETTINGS_H
#define REPRISE_REPLAY_SETTINGS_H

/*
 * Settings that a program makes by calls and other rooms obey: timeouts, the
 * options of aclSysParamOpt, cores.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct rp_context;

/** rp_op_wait_timeout_ns: how long a wait for an event may last on a stream; 0: no limit. */
uint64_t rp_op_wait_timeout_ns(void);

/** rp_op_execute_timeout_ns: how long a user's kernel may run. */
uint64_t rp_op_execute_timeout_ns(void);

/** rp_sys_param: value of aclSysParamOpt `opt` (0 .. 3) that counts in `context`: the context's
 *  own, else the process's. */
int64_t rp_sys_param(struct rp_context *context, uint32_t opt);

#endif
