#ifndef REPRISE_TRANSPORT_MEMORY_H
#define REPRISE_TRANSPORT_MEMORY_H

/*
 * Memory files: the sealed memfds that ranks share, and the pages in them.
 *
 * A page of a memfd that was never reserved is made at its first touch, and
 * when memory is short then, the process gets a bus error or the kernel kills
 * somebody. So every page is reserved (fallocate) before anybody may touch it,
 * and before that the room that is left is read from the kernel: a control
 * group at its limit answers fallocate with a kill, not with an error.
 */

#include <stdint.h>

#include "base/status.h"

/* How much memory this process may still take. */
struct rp_memory_room {
    uint64_t bytes;       /* least of MemAvailable and every control group's headroom */
    uint64_t limit_bytes; /* least of the machine's RAM and every control group's limit */
    const char *source;   /* what `bytes` follows from, for sentences; static */
};

/**
 * rp_memory_room_read: read the room from the kernel; UINT64_MAX where it says nothing.
 *
 * A small share is taken off for what the kernel itself needs. A group's page cache counts as
 * room, because it is given up under pressure. `root` is put before "/proc" and "/sys" paths; "" in
 * the product, a directory of prepared files in the tests.
 */
void rp_memory_room_read(const char *root, struct rp_memory_room *room);

/**
 * rp_memory_file_create: a memfd of `bytes` bytes without pages, sealed against any change of its
 * size. `name` is what /proc/PID/maps shows.
 *
 *   RP_ENOMEM  RLIMIT_FSIZE does not allow the size (ftruncate would end the process)
 *   RP_ESYS    a system call failed
 *
 * Owner: the caller closes *fd.
 */
RP_MUST_USE rp_status rp_memory_file_create(const char *name, uint64_t bytes, int *fd);

/**
 * rp_memory_file_check: whether a file that a peer passed can be mapped without harm: sealed
 * against shrinking and at least `bytes` long. `what` names it in the sentence.
 *
 *   RP_EPARAM  it is not
 */
RP_MUST_USE rp_status rp_memory_file_check(int fd, uint64_t bytes, const char *what);

/**
 * rp_memory_reserve: reserve the pages of [off, off + bytes) of `fd`; those that exist keep their
 * content. `what` names the memory in the sentence: "device memory", "the control segment".
 *
 *   RP_ENOMEM  there is no room; pages of the range may have been taken back, none is reserved
 *   RP_ESYS    the kernel refused for another reason
 *
 * Threads: any. All signals of the thread wait meanwhile, since each would undo fallocate's work.
 */
RP_MUST_USE rp_status rp_memory_reserve(int fd, uint64_t off, uint64_t bytes, const char *what);

/** rp_memory_punch: give the pages of [off, off + bytes) back; they read as zero afterwards. */
void rp_memory_punch(int fd, uint64_t off, uint64_t bytes);

/** rp_memory_page_bytes: the machine's page. */
uint64_t rp_memory_page_bytes(void);

#endif
