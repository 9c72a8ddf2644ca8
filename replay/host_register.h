#ifndef REPRISE_REPLAY_HOST_REGISTER_H
#define REPRISE_REPLAY_HOST_REGISTER_H

/*
 * Host memory that the program registered (aclrtHostRegister).
 */

#include <stdbool.h>
#include <stdint.h>

/** rp_host_range_find: the registered range that holds `ptr`. One load when there is none at all.
 */
bool rp_host_range_find(const void *ptr, void **start, uint64_t *bytes);

#endif
