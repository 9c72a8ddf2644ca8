// Whole files, as far as they are regular, not empty and of sensible size.

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "transport/rank_table.h"

static rp_status check_file(
        const char *what, const char *path, int fd, size_t bytes_max, size_t *bytes)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return rp_fail_sys(RP_EINTERNAL, "fstat", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rp_fail(RP_EINTERNAL, "%s \"%s\": it is no regular file", what, path);
    }
    if (info.st_size <= 0 || (uint64_t)info.st_size > bytes_max) {
        return rp_fail(RP_EINTERNAL, "%s \"%s\": it has %lld bytes; 1 to %zu are possible", what,
                path, (long long)info.st_size, bytes_max);
    }
    *bytes = (size_t)info.st_size;
    return RP_OK;
}

// Up to `room` bytes; -1 and errno.
static ssize_t read_all(int fd, char *text, size_t room)
{
    size_t used = 0;
    while (used < room) {
        ssize_t got = read(fd, text + used, room - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
    }
    return (ssize_t)used;
}

static rp_status read_open(
        const char *what, const char *path, int fd, size_t bytes_max, char **text, size_t *bytes)
{
    size_t room;
    rp_status st = check_file(what, path, fd, bytes_max, &room);
    if (st != RP_OK) {
        return st;
    }
    char *made = rp_malloc(room);
    if (made == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the %zu bytes of \"%s\"", room, path);
    }
    ssize_t got = read_all(fd, made, room);
    if (got <= 0) { // it may have been emptied meanwhile
        int error = got < 0 ? errno : ENODATA;
        rp_free(made);
        return rp_fail(
                RP_EINTERNAL, "%s \"%s\" cannot be read: %s", what, path, strerrordesc_np(error));
    }
    *text = made;
    *bytes = (size_t)got;
    return RP_OK;
}

rp_status rp_file_read(
        const char *what, const char *path, size_t bytes_max, char **text, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would keep us waiting
    if (fd < 0) {
        return rp_fail(
                RP_EINTERNAL, "%s \"%s\" cannot be opened: %s", what, path, strerrordesc_np(errno));
    }
    rp_status st = read_open(what, path, fd, bytes_max, text, bytes);
    close(fd);
    return st;
}
