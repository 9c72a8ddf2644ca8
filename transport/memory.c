// Memory files: creation, the check of a peer's, reservation in pieces.

#include "transport/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"

#ifndef MFD_NOEXEC_SEAL // glibc 2.36 has no name for it
#define MFD_NOEXEC_SEAL 0x0008u
#endif

// Signals of the thread wait for one piece at most, and the room is read again before each: other
// processes take memory at the same time.
#define PIECE_BYTES (UINT64_C(32) << 20)

// Reading the room costs tens of microseconds, as much as reserving a hundred pages. So small
// reservations draw on a credit that the last reading left: a sixteenth of the room for 20 ms.
#define CREDIT_SHARE 16
#define CREDIT_NS (20 * RP_NS_PER_MS)
#define CREDIT_BYTES_MAX (UINT64_C(1) << 20)

// relaxed throughout: the numbers guard nothing. Two threads that race for the same credit overdraw
// it by one small reservation each, which the share allows for.
static _Atomic uint64_t credit_bytes;
static _Atomic uint64_t credit_until_ns;

uint64_t rp_memory_page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

rp_status rp_memory_file_create(const char *name, uint64_t bytes, int *fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
            limit.rlim_cur < bytes) {
        // Going on would raise SIGXFSZ, which ends the process.
        return rp_fail(RP_ENOMEM,
                "%s needs a file of %llu bytes, RLIMIT_FSIZE allows %llu; raise it (ulimit -f)",
                name, (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    }
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (file < 0) { // before Linux 6.3 the last flag is an error
        file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if (file < 0) {
        return rp_fail_sys(RP_ESYS, "memfd_create", name);
    }
    rp_status st = RP_OK;
    if (ftruncate(file, (off_t)bytes) != 0) {
        st = rp_fail_sys(RP_ESYS, "ftruncate", name);
    } else if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        st = rp_fail_sys(RP_ESYS, "sealing", name);
    }
    if (st != RP_OK) {
        close(file);
        return st;
    }
    *fd = file;
    return RP_OK;
}

rp_status rp_memory_file_check(int fd, uint64_t bytes, const char *what)
{
    struct stat file;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        // A file that shrinks under its mapping turns the next access into a bus error.
        return rp_fail(RP_EPARAM,
                "%s: the descriptor that the peer passed is no sealed memory file", what);
    }
    if (fstat(fd, &file) != 0) {
        return rp_fail_sys(RP_ESYS, "fstat", what);
    }
    if (file.st_size < 0 || (uint64_t)file.st_size < bytes) {
        return rp_fail(RP_EPARAM, "%s: the file that the peer passed has %lld bytes, not %llu",
                what, (long long)file.st_size, (unsigned long long)bytes);
    }
    return RP_OK;
}

// Takes `bytes` from the credit, if there is any.
static bool credit_take(uint64_t bytes)
{
    if (bytes > CREDIT_BYTES_MAX ||
            rp_now_ns() >= atomic_load_explicit(&credit_until_ns, memory_order_relaxed)) {
        return false;
    }
    uint64_t left = atomic_load_explicit(&credit_bytes, memory_order_relaxed);
    while (left >= bytes) {
        if (atomic_compare_exchange_weak_explicit(&credit_bytes, &left, left - bytes,
                    memory_order_relaxed, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static rp_status room_check(uint64_t bytes, const char *what)
{
    struct rp_memory_room room;
    if (credit_take(bytes)) {
        return RP_OK;
    }
    rp_memory_room_read("", &room);
    if (bytes > room.bytes) {
        return rp_fail(RP_ENOMEM, "%s: %llu bytes are needed, the %s leaves %llu", what,
                (unsigned long long)bytes, room.source, (unsigned long long)room.bytes);
    }
    atomic_store_explicit(&credit_bytes, (room.bytes - bytes) / CREDIT_SHARE, memory_order_relaxed);
    atomic_store_explicit(&credit_until_ns, rp_now_ns() + CREDIT_NS, memory_order_relaxed);
    return RP_OK;
}

// shmem's fallocate ends with EINTR, and undoes its work, whenever a signal waits: with a
// profiler's timer it would never get to the end of a large piece. Without signals only a kill ends
// it.
static int allocate(int fd, uint64_t off, uint64_t bytes)
{
    sigset_t all;
    sigset_t before;
    int error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    do {
        error = fallocate(fd, 0, (off_t)off, (off_t)bytes) == 0 ? 0 : errno;
    } while (error == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

rp_status rp_memory_reserve(int fd, uint64_t off, uint64_t bytes, const char *what)
{
    rp_status st = RP_OK;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = rp_min_u64(bytes - done, PIECE_BYTES);
        st = room_check(bytes - done, what);
        int error = st == RP_OK ? allocate(fd, off + done, piece) : 0;
        if (error == ENOSPC || error == ENOMEM) {
            st = rp_fail(RP_ENOMEM, "%s: the kernel has no memory for %llu bytes (fallocate)", what,
                    (unsigned long long)bytes);
        } else if (error != 0) {
            errno = error;
            st = rp_fail_sys(RP_ESYS, "fallocate", what);
        }
        if (st != RP_OK) {
            if (done > 0) {
                rp_memory_punch(fd, off, done);
            }
            return st;
        }
        done += piece;
    }
    return st;
}

void rp_memory_punch(int fd, uint64_t off, uint64_t bytes)
{
    // Failure leaves the pages in the file: memory is lost to others, and nothing else goes wrong.
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)bytes) != 0) {
        rp_log_warn(
                "fallocate could not punch %llu bytes: errno %d", (unsigned long long)bytes, errno);
    }
}
