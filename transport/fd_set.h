#ifndef REPRISE_TRANSPORT_FD_SET_H
#define REPRISE_TRANSPORT_FD_SET_H

#include <stdint.h>

#include "base/status.h"
#include "transport/wire.h"

/* Descriptors to send, shared by the frames that carry them; closed with the last reference. */
struct rp_fd_set {
    uint32_t refs;
    uint32_t count;
    int fd[RP_WIRE_FDS_MAX];
};

/** rp_fd_set_create: with duplicates of the `count` descriptors. RP_ENORES, RP_ENOMEM. */
RP_MUST_USE rp_status rp_fd_set_create(const int *fd, uint32_t count, struct rp_fd_set **out);
void rp_fd_set_unref(struct rp_fd_set *set);

/** rp_descriptor_limit_text: "; RLIMIT_NOFILE is 1024" when `error` is EMFILE, "" otherwise. */
#define RP_LIMIT_TEXT_BYTES 96
const char *rp_descriptor_limit_text(int error, char text[RP_LIMIT_TEXT_BYTES]);

#endif
