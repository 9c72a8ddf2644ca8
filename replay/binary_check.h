#ifndef REPRISE_REPLAY_BINARY_CHECK_H
#define REPRISE_REPLAY_BINARY_CHECK_H

/*
 * A look into a binary before the loader sees it. The loader maps what the program headers say and
 * dies by SIGBUS where the file is shorter than that: a download that broke off, an image of the
 * wrong length.
 */

#include "base/status.h"

/** rp_binary_check: the open file `fd`, called `what` in messages, has all that it says. RP_EPARAM:
 * it has not, or is no regular file. A file that is no ELF file of this machine is left to the
 * loader, which says so. */
RP_MUST_USE rp_status rp_binary_check(int fd, const char *what);

#endif
