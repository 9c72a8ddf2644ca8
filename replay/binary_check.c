// Whether a binary is as long as its program headers say.

#include "replay/binary_check.h"

#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

static bool read_at(int fd, uint64_t at, void *into, size_t bytes)
{
    return at <= INT64_MAX && pread(fd, into, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool is_within(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

static rp_status fail_short(const char *what, uint64_t bytes)
{
    return rp_fail(RP_EPARAM,
            "%s cannot be loaded: it has %" PRIu64 " bytes and its headers say more; is it cut "
            "off?",
            what, bytes);
}

static rp_status check_headers(int fd, const char *what, const ElfW(Ehdr) * head, uint64_t bytes)
{
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        ElfW(Phdr) segment;
        const uint64_t at = head->e_phoff + (uint64_t)i * sizeof(segment);
        if (!is_within(at, sizeof(segment), bytes) || !read_at(fd, at, &segment, sizeof(segment)) ||
                (segment.p_type == PT_LOAD &&
                        !is_within(segment.p_offset, segment.p_filesz, bytes))) {
            return fail_short(what, bytes);
        }
    }
    return RP_OK;
}

rp_status rp_binary_check(int fd, const char *what)
{
    struct stat file;
    ElfW(Ehdr) head;
    if (fstat(fd, &file) != 0) {
        return rp_fail_sys(RP_EFILE, "fstat", what);
    }
    if (!S_ISREG(file.st_mode)) {
        return rp_fail(RP_EPARAM, "%s cannot be loaded: it is no regular file", what);
    }
    if (!read_at(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
            head.e_ident[EI_CLASS] != OWN_CLASS || head.e_phentsize != sizeof(ElfW(Phdr))) {
        return RP_OK; // the loader refuses it
    }
    return check_headers(fd, what, &head, (uint64_t)file.st_size);
}
