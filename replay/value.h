#ifndef REPRISE_REPLAY_VALUE_H
#define REPRISE_REPLAY_VALUE_H

/*
 * Values in memory as signals: what aclrtValueWrite and aclrtValueWait ask of
 * their arguments.
 */

#include <stdint.h>

#include "base/status.h"

/** rp_value_check_address: 8 aligned bytes of device memory or pinned host memory. RP_ENULL,
 * RP_EPARAM. */
RP_MUST_USE rp_status rp_value_check_address(const void *address);

/** rp_value_check_wait: `flag` is one of ACL_STREAM_WAIT_VALUE_*. RP_EPARAM. */
RP_MUST_USE rp_status rp_value_check_wait(uint32_t flag);

#endif
