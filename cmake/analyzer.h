/*
 * Included before every file by scripts/tidy. The analyzer looks at one file at a time, so it has to
 * be told that rp_fail() returns the status it is given; else it follows paths on which a failure
 * turned into RP_OK.
 */
#include "base/error.h"

#define rp_fail(st, ...) (rp_fail((st), __VA_ARGS__), (st))
#define rp_fail_sys(st, ...) (rp_fail_sys((st), __VA_ARGS__), (st))
