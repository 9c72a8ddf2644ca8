// Shares: pages, keys, and who may open them. Bells are in share_bells.c.

#include "replay/share.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "replay/share_bells.h"
#include "transport/memory.h"

#define MAGIC UINT64_C(0x6572616873207072)
#define VERSION 2u
#define FILE_NAME "reprise-share"

struct rp_share {
    struct rp_share_page *page;
    int fd; // -1 in an importer
    struct rp_share_bells bells;
};

struct rp_share_page *rp_share_page(const struct rp_share *share)
{
    return share->page;
}

bool rp_share_is_ours(const struct rp_share *share)
{
    return share->fd >= 0;
}

// ---- both ends ----

// Takes the descriptor over only on success.
static rp_status attach(int fd, struct rp_share **out)
{
    struct rp_share *share = rp_calloc(1, sizeof(*share));
    if (share == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for what is shared with other processes");
    }
    void *page = mmap(NULL, RP_SHARE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        rp_free(share);
        return rp_fail_sys(RP_ESYS, "mmap", FILE_NAME);
    }
    share->page = page;
    share->fd = -1;
    *out = share;
    return RP_OK;
}

static void detach(struct rp_share *share)
{
    munmap(share->page, RP_SHARE_BYTES);
    if (share->fd >= 0) {
        close(share->fd);
    }
    rp_free(share);
}

void rp_share_close(struct rp_share *share)
{
    rp_share_bells_fini(&share->bells, share->page);
    detach(share);
}

// ---- the exporter ----

static rp_status fill(
        struct rp_share_page *page, enum rp_share_kind kind, uint32_t id, int32_t device_id)
{
    if (getrandom(page->nonce, sizeof(page->nonce), 0) != (ssize_t)sizeof(page->nonce)) {
        return rp_fail_sys(RP_ESYS, "getrandom", NULL); // so few bytes are never fewer
    }
    page->magic = MAGIC;
    page->version = VERSION;
    page->kind = kind;
    page->id = id;
    page->device_id = device_id;
    page->exporter = (uint32_t)getpid();
    return RP_OK;
}

rp_status rp_share_create(
        enum rp_share_kind kind, uint32_t id, int32_t device_id, struct rp_share **out)
{
    struct rp_share *share;
    int fd;
    rp_status st = rp_memory_file_create(FILE_NAME, RP_SHARE_BYTES, &fd);
    if (st != RP_OK) {
        return st;
    }
    st = rp_memory_reserve(fd, 0, RP_SHARE_BYTES, "memory shared with other processes");
    if (st == RP_OK) {
        st = attach(fd, &share);
    }
    if (st != RP_OK) {
        close(fd);
        return st;
    }
    share->fd = fd;
    st = fill(share->page, kind, id, device_id);
    if (st == RP_OK) {
        st = rp_share_bells_init(&share->bells, share->page);
    }
    if (st != RP_OK) {
        detach(share);
        return st;
    }
    *out = share;
    return RP_OK;
}

void rp_share_key(const struct rp_share *share, char key[RP_SHARE_KEY_BYTES])
{
    const uint8_t *nonce = share->page->nonce;
    int used = snprintf(key, RP_SHARE_KEY_BYTES, "reprise-%08" PRIx32 "-%08" PRIx32 "-",
            (uint32_t)getpid(), (uint32_t)share->fd);
    for (size_t i = 0; i < sizeof(share->page->nonce); i++) {
        used += snprintf(key + used, RP_SHARE_KEY_BYTES - (size_t)used, "%02x", nonce[i]);
    }
}

void rp_share_allow_all(struct rp_share *share)
{
    // release [H1]: pairs with the loads in may_open.
    atomic_store_explicit(&share->page->open_to_all, 1, memory_order_release);
}

static bool is_listed(struct rp_share_page *page, int32_t pid)
{
    // acquire [H1]: pairs with the store in rp_share_allow. Another process may have written it.
    const uint64_t count =
            rp_min_u64(atomic_load_explicit(&page->pid_count, memory_order_acquire), RP_SHARE_PIDS);
    for (uint64_t i = 0; i < count; i++) {
        // relaxed: published by the count.
        if (atomic_load_explicit(&page->who.pid[i], memory_order_relaxed) == pid) {
            return true;
        }
    }
    return false;
}

rp_status rp_share_allow(struct rp_share *share, const int32_t *pids, size_t count)
{
    struct rp_share_page *page = share->page;
    // relaxed: only this process lists.
    uint32_t listed = atomic_load_explicit(&page->pid_count, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) {
        if (is_listed(page, pids[i])) {
            continue;
        }
        if (listed >= RP_SHARE_PIDS) {
            return rp_fail(RP_ENORES, "%u processes are listed already, which is the most",
                    (unsigned)RP_SHARE_PIDS);
        }
        // relaxed, release [H1]: the count publishes it.
        atomic_store_explicit(&page->who.pid[listed], pids[i], memory_order_relaxed);
        atomic_store_explicit(&page->pid_count, ++listed, memory_order_release);
    }
    return RP_OK;
}

// ---- the importer ----

struct name {
    uint32_t pid;
    uint32_t fd;
    uint8_t nonce[16];
};

// `digits` hexadecimal digits, lower case, as rp_share_key writes them.
static bool read_hex(const char **at, unsigned digits, uint32_t *out)
{
    uint32_t number = 0;
    for (unsigned i = 0; i < digits; i++) {
        static const char alphabet[] = "0123456789abcdef";
        const char *found = **at == '\0' ? NULL : strchr(alphabet, **at);
        if (found == NULL) {
            return false;
        }
        number = number * 16 + (uint32_t)(found - alphabet);
        ++*at;
    }
    *out = number;
    return true;
}

static bool read_text(const char **at, const char *text)
{
    const size_t bytes = strlen(text);
    if (strncmp(*at, text, bytes) != 0) {
        return false;
    }
    *at += bytes;
    return true;
}

static bool read_key(const char *key, struct name *name)
{
    const char *at = key;
    bool good = read_text(&at, "reprise-") && read_hex(&at, 8, &name->pid) && read_text(&at, "-") &&
                read_hex(&at, 8, &name->fd) && read_text(&at, "-");
    for (size_t i = 0; good && i < sizeof(name->nonce); i++) {
        uint32_t byte = 0;
        good = read_hex(&at, 2, &byte);
        name->nonce[i] = (uint8_t)byte;
    }
    return good && *at == '\0' && name->pid <= INT32_MAX && name->fd <= INT32_MAX;
}

// The page is what the key says: a descriptor's number may belong to something else by now.
static rp_status check_page(
        const struct rp_share_page *page, enum rp_share_kind kind, const struct name *name)
{
    if (page->magic != MAGIC || page->version != VERSION || page->exporter != name->pid ||
            memcmp(page->nonce, name->nonce, sizeof(name->nonce)) != 0) {
        return rp_fail(
                RP_EPARAM, "process %" PRIu32 " does not export this key any more", name->pid);
    }
    if (page->kind != kind) {
        return rp_fail(RP_EPARAM, "the key is that of %s",
                page->kind == RP_SHARE_EVENT ? "an event" : "a notify");
    }
    return RP_OK;
}

static rp_status may_open(struct rp_share_page *page, const struct name *name)
{
    // acquire [H1]: pairs with the store in rp_share_allow_all.
    if (atomic_load_explicit(&page->open_to_all, memory_order_acquire) == 0 &&
            !is_listed(page, (int32_t)getpid())) {
        return rp_fail(RP_EPARAM,
                "process %" PRIu32 " has not listed process %" PRId32
                " among those that may import the key",
                name->pid, (int32_t)getpid());
    }
    return RP_OK;
}

rp_status rp_share_open(enum rp_share_kind kind, const char *key, struct rp_share **out)
{
    struct name name;
    struct rp_share *share;
    if (!read_key(key, &name)) {
        return rp_fail(RP_EPARAM, "the key is none of ours");
    }
    const int fd = rp_share_fd_open(name.pid, name.fd, FILE_NAME);
    if (fd < 0) {
        return rp_fail(RP_EPARAM,
                "process %" PRIu32 " does not export this key: it has ended or destroyed what it "
                "exported, or is another user's",
                name.pid);
    }
    rp_status st = rp_memory_file_check(fd, RP_SHARE_BYTES, "what another process exports");
    if (st == RP_OK) {
        st = attach(fd, &share);
    }
    close(fd);
    if (st != RP_OK) {
        return st;
    }
    st = check_page(share->page, kind, &name);
    if (st == RP_OK) {
        st = may_open(share->page, &name);
    }
    if (st == RP_OK) {
        st = rp_share_bells_init(&share->bells, share->page);
    }
    if (st != RP_OK) {
        detach(share);
        return st;
    }
    *out = share;
    return RP_OK;
}

// ---- records of an event ----

void rp_share_note_record(struct rp_share *share, uint64_t ticket)
{
    // relaxed: read long after, by processes that have waited in vain.
    atomic_store_explicit(&share->page->who.recorder[ticket % RP_SHARE_RECORDERS],
            ticket << 32 | (uint32_t)getpid(), memory_order_relaxed);
}

// Who has drawn `ticket`; 0: not known, or it is too long ago.
static int32_t recorder_of(const struct rp_share_page *page, uint64_t ticket)
{
    // relaxed: as in rp_share_note_record.
    const uint64_t noted = atomic_load_explicit(
            &page->who.recorder[ticket % RP_SHARE_RECORDERS], memory_order_relaxed);
    return noted >> 32 == (uint32_t)ticket ? (int32_t)(uint32_t)noted : 0;
}

int32_t rp_share_abandoned(const struct rp_share *share, uint64_t ticket)
{
    const struct rp_share_page *page = share->page;
    // relaxed: a record that comes meanwhile is seen by the next look.
    const uint64_t last = atomic_load_explicit(&page->u.mark.recorded, memory_order_relaxed);
    if (last < ticket || last - ticket >= RP_SHARE_RECORDERS) {
        return 0;
    }
    for (uint64_t t = ticket; t <= last; t++) {
        const int32_t pid = recorder_of(page, t);
        if (pid <= 0 || !rp_share_is_gone(pid)) {
            return 0;
        }
    }
    return recorder_of(page, ticket);
}

void rp_share_ring(struct rp_share *share)
{
    rp_share_bells_ring(&share->bells, share->page);
}
