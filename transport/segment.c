// Control segments. What peers can write is read once, into this process's own struct, and checked
// there; afterwards only the counters themselves are shared.

#include "transport/segment.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/memory.h"

#define MAGIC UINT64_C(0x4745535f50520001)
// A rank's part begins on a small page, a window on a page of any machine that we run on: its pages
// are reserved and taken back apart from its neighbours'.
#define PART_ALIGN 4096u
#define WINDOW_ALIGN 65536u
#define HEADER_BYTES PART_ALIGN

struct header {
    uint64_t magic;
    uint32_t layout;
    uint32_t ranks;
    uint64_t window_bytes;
    uint64_t base;
    uint8_t token[RP_SEGMENT_TOKEN_BYTES];
};
static_assert(sizeof(struct header) == 64, "the layout is shared");

// Where everything lies. Follows from ranks and window bytes alone.
struct layout {
    uint64_t rank_stride;   // from one rank's block to the next one's
    uint64_t slot_off;      // of slot 0 within a rank's part
    uint64_t signal_off;    // of the signals within a rank's part
    uint64_t pair_off;      // of the pairs within a rank's part
    uint64_t table_off;     // of the table of windows within a rank's part
    uint64_t windows_off;   // of rank 0's window in
    uint64_t window_stride; // from a window to the next one
    uint64_t total_bytes;
};

struct rp_segment {
    struct rp_list link; // in the registry
    uint64_t refs;       // under the registry's lock
    bool leader;
    int fd;
    uint8_t *map;
    struct header header; // as checked
    struct layout layout;
    pthread_mutex_t reserve_lock; // one reservation at a time: a failed one takes pages back
    uint64_t *reserved;           // [ranks], bytes of each window, under reserve_lock
};

// Every mapping of this process. Lock order: nothing is taken under it.
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_list registry = RP_LIST_INIT(registry);

// ---- layout ----

static bool compute_layout(uint32_t ranks, uint64_t window_bytes, struct layout *out)
{
    struct layout lay = { .slot_off = sizeof(struct rp_rank_block) };
    uint64_t ranks_bytes;
    uint64_t windows_bytes;
    if (ranks == 0 || window_bytes > INT64_MAX - WINDOW_ALIGN) {
        return false;
    }
    lay.signal_off = lay.slot_off + 2 * (uint64_t)RP_SLOT_BYTES;
    // 32 bits of ranks times some lines: the sums fit.
    lay.pair_off = lay.signal_off + (uint64_t)ranks * RP_CACHELINE;
    lay.table_off = lay.pair_off + (uint64_t)ranks * sizeof(struct rp_pair);
    lay.rank_stride = rp_align_up(lay.table_off + sizeof(struct rp_window_table), PART_ALIGN);
    lay.window_stride = rp_align_up(window_bytes, WINDOW_ALIGN);
    if (__builtin_mul_overflow(lay.rank_stride, ranks, &ranks_bytes) ||
            ranks_bytes > INT64_MAX - HEADER_BYTES - WINDOW_ALIGN) {
        return false;
    }
    lay.windows_off = rp_align_up(HEADER_BYTES + ranks_bytes, WINDOW_ALIGN);
    if (__builtin_mul_overflow(lay.window_stride, 2 * (uint64_t)ranks, &windows_bytes) ||
            __builtin_add_overflow(lay.windows_off, windows_bytes, &lay.total_bytes) ||
            lay.total_bytes > INT64_MAX) {
        return false;
    }
    *out = lay;
    return true;
}
static_assert(sizeof(struct rp_rank_block) % RP_CACHELINE == 0, "slots begin on a line");
static_assert(RP_SLOT_BYTES % RP_CACHELINE == 0, "signals begin on a line");

static uint8_t *rank_part(const struct rp_segment *segment, uint32_t rank)
{
    return segment->map + HEADER_BYTES + rank * segment->layout.rank_stride;
}

void rp_segment_peer(const struct rp_segment *segment, uint32_t rank, struct rp_peer *peer)
{
    const struct layout *lay = &segment->layout;
    uint8_t *part = rank_part(segment, rank);
    uint8_t *windows = segment->map + lay->windows_off + rank * 2 * lay->window_stride;
    assert(rank < segment->header.ranks);
    peer->block = (struct rp_rank_block *)(void *)part;
    peer->slot[0] = part + lay->slot_off;
    peer->slot[1] = part + lay->slot_off + RP_SLOT_BYTES;
    peer->signal = (_Atomic uint64_t *)(void *)(part + lay->signal_off);
    peer->pair = (struct rp_pair *)(void *)(part + lay->pair_off);
    peer->windows = (struct rp_window_table *)(void *)(part + lay->table_off);
    peer->window_in = windows;
    peer->window_out = windows + lay->window_stride;
}

// ---- mapping ----

static struct rp_segment *segment_alloc(uint32_t ranks)
{
    struct rp_segment *segment = rp_calloc(1, sizeof(*segment));
    uint64_t *reserved = rp_calloc(ranks, sizeof(*reserved));
    if (segment == NULL || reserved == NULL) {
        rp_free(segment);
        rp_free(reserved);
        return NULL;
    }
    segment->refs = 1;
    segment->fd = -1;
    segment->reserved = reserved;
    rp_list_init(&segment->link);
    pthread_mutex_init(&segment->reserve_lock, NULL);
    return segment;
}

static void segment_free(struct rp_segment *segment)
{
    if (segment->map != NULL) {
        munmap(segment->map, segment->layout.total_bytes);
    }
    if (segment->fd >= 0) {
        close(segment->fd);
    }
    pthread_mutex_destroy(&segment->reserve_lock);
    rp_free(segment->reserved);
    rp_free(segment);
}

static rp_status map_file(struct rp_segment *segment)
{
    uint64_t bytes = segment->layout.total_bytes;
    void *map =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment->fd, 0);
    if (map == MAP_FAILED) {
        return rp_fail(RP_ENOMEM,
                "the control segment needs %" PRIu64 " bytes of address space for %" PRIu32
                " ranks (errno %d); lower HCCL_BUFFSIZE or raise RLIMIT_AS (ulimit -v)",
                bytes, segment->header.ranks, errno);
    }
    if (madvise(map, bytes, MADV_DONTDUMP) != 0) { // a core dump would make every page of it
        rp_log_debug("madvise(MADV_DONTDUMP): errno %d", errno);
    }
    segment->map = map;
    return RP_OK;
}

// Under the registry's lock.
static struct rp_segment *find(const uint8_t token[RP_SEGMENT_TOKEN_BYTES])
{
    rp_list_each(link, &registry)
    {
        struct rp_segment *segment = rp_container_of(link, struct rp_segment, link);
        if (memcmp(segment->header.token, token, RP_SEGMENT_TOKEN_BYTES) == 0) {
            return segment;
        }
    }
    return NULL;
}

// ---- the leader ----

static rp_status make_token(uint8_t token[RP_SEGMENT_TOKEN_BYTES])
{
    ssize_t got;
    do {
        got = getrandom(token, RP_SEGMENT_TOKEN_BYTES, 0);
    } while (got < 0 && errno == EINTR);
    return got == RP_SEGMENT_TOKEN_BYTES ? RP_OK : rp_fail_sys(RP_ESYS, "getrandom", NULL);
}

static void init_blocks(const struct rp_segment *segment)
{
    for (uint32_t rank = 0; rank < segment->header.ranks; rank++) {
        struct rp_peer peer = { 0 };
        rp_segment_peer(segment, rank, &peer);
        rp_rank_block_init(peer.block, segment->header.base);
    }
}

static rp_status fill_file(struct rp_segment *segment)
{
    static const char what[] = "the control segment";
    rp_status st =
            rp_memory_file_create("reprise-control", segment->layout.total_bytes, &segment->fd);
    if (st != RP_OK) {
        return st;
    }
    st = rp_memory_reserve(segment->fd, 0, segment->layout.windows_off, what);
    if (st != RP_OK) {
        return st;
    }
    st = map_file(segment);
    if (st != RP_OK) {
        return st;
    }
    memcpy(segment->map, &segment->header, sizeof(segment->header));
    init_blocks(segment);
    return RP_OK;
}

rp_status rp_segment_create(
        uint32_t ranks, uint64_t window_bytes, uint64_t base, struct rp_segment **out)
{
    struct layout lay;
    if (!compute_layout(ranks, window_bytes, &lay)) {
        return rp_fail(RP_EPARAM,
                "no control segment can hold %" PRIu32 " ranks with windows of %" PRIu64 " bytes",
                ranks, window_bytes);
    }
    struct rp_segment *segment = segment_alloc(ranks);
    if (segment == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of a control segment");
    }
    segment->leader = true;
    segment->layout = lay;
    segment->header = (struct header){
        .magic = MAGIC,
        .layout = RP_SEGMENT_LAYOUT,
        .ranks = ranks,
        .window_bytes = window_bytes,
        .base = base,
    };
    rp_status st = make_token(segment->header.token);
    if (st == RP_OK) {
        st = fill_file(segment);
    }
    if (st != RP_OK) {
        segment_free(segment);
        return st;
    }
    pthread_mutex_lock(&registry_lock);
    rp_list_push_back(&registry, &segment->link);
    pthread_mutex_unlock(&registry_lock);
    *out = segment;
    return RP_OK;
}

// ---- a member ----

static rp_status check_header(
        const struct header *header, const uint8_t token[RP_SEGMENT_TOKEN_BYTES], uint32_t ranks)
{
    if (header->magic != MAGIC) {
        return rp_fail(RP_EPARAM, "the descriptor is not a control segment");
    }
    if (header->layout != RP_SEGMENT_LAYOUT) {
        return rp_fail(RP_EPARAM,
                "the control segment has layout %" PRIu32 ", this library's is %u", header->layout,
                RP_SEGMENT_LAYOUT);
    }
    if (memcmp(header->token, token, RP_SEGMENT_TOKEN_BYTES) != 0) {
        return rp_fail(RP_EPARAM,
                "the control segment does not carry the token of this communicator's leader");
    }
    if (header->ranks != ranks) {
        return rp_fail(RP_EPARAM,
                "the control segment is for %" PRIu32 " ranks, the communicator has %" PRIu32,
                header->ranks, ranks);
    }
    return RP_OK;
}

// The file's header, read with a call, not through a mapping of a length that nobody checked yet.
static rp_status read_header(int fd, struct header *header)
{
    rp_status st = rp_memory_file_check(fd, HEADER_BYTES, "the control segment");
    if (st != RP_OK) {
        return st;
    }
    ssize_t got = pread(fd, header, sizeof(*header), 0);
    return got == (ssize_t)sizeof(*header) ? RP_OK
                                           : rp_fail_sys(RP_ESYS, "pread", "the control segment");
}

// Maps the file into a new entry, which owns `fd` on success.
static rp_status open_file(int fd, const uint8_t token[RP_SEGMENT_TOKEN_BYTES], uint32_t ranks,
        struct rp_segment **out)
{
    struct header header;
    struct layout lay;
    rp_status st = read_header(fd, &header);
    if (st == RP_OK) {
        st = check_header(&header, token, ranks);
    }
    if (st != RP_OK) {
        return st;
    }
    if (!compute_layout(header.ranks, header.window_bytes, &lay)) {
        return rp_fail(RP_EPARAM, "the control segment's windows of %" PRIu64 " bytes are absurd",
                header.window_bytes);
    }
    st = rp_memory_file_check(fd, lay.total_bytes, "the control segment");
    if (st != RP_OK) {
        return st;
    }
    struct rp_segment *segment = segment_alloc(ranks);
    if (segment == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the books of a control segment");
    }
    segment->header = header;
    segment->layout = lay;
    segment->fd = fd;
    st = map_file(segment);
    if (st != RP_OK) {
        segment->fd = -1; // still the caller's
        segment_free(segment);
        return st;
    }
    *out = segment;
    return RP_OK;
}

rp_status rp_segment_open(int fd, const uint8_t token[RP_SEGMENT_TOKEN_BYTES], uint32_t ranks,
        struct rp_segment **out)
{
    struct rp_segment *segment;
    rp_status st;
    bool taken = false;
    pthread_mutex_lock(&registry_lock);
    segment = find(token);
    if (segment != NULL) {
        st = check_header(&segment->header, token, ranks);
        segment->refs += st == RP_OK;
    } else if (fd < 0) {
        st = rp_fail(RP_EPARAM, "the control segment was not passed, and is not open here");
    } else {
        st = open_file(fd, token, ranks, &segment);
        taken = st == RP_OK;
        if (taken) {
            rp_list_push_back(&registry, &segment->link);
        }
    }
    pthread_mutex_unlock(&registry_lock);
    if (!taken && fd >= 0) {
        close(fd);
    }
    if (st == RP_OK) {
        *out = segment;
    }
    return st;
}

// ---- both ----

struct rp_segment *rp_segment_ref(struct rp_segment *segment)
{
    pthread_mutex_lock(&registry_lock);
    segment->refs++;
    pthread_mutex_unlock(&registry_lock);
    return segment;
}

void rp_segment_unref(struct rp_segment *segment)
{
    pthread_mutex_lock(&registry_lock);
    bool last = --segment->refs == 0;
    if (last) {
        rp_list_remove(&segment->link);
    }
    pthread_mutex_unlock(&registry_lock);
    if (last) {
        segment_free(segment);
    }
}

int rp_segment_fd(const struct rp_segment *segment)
{
    return segment->leader ? segment->fd : -1;
}

const uint8_t *rp_segment_token(const struct rp_segment *segment)
{
    return segment->header.token;
}

uint64_t rp_segment_window_bytes(const struct rp_segment *segment)
{
    return segment->header.window_bytes;
}

uint64_t rp_segment_base(const struct rp_segment *segment)
{
    return segment->header.base;
}

// Bytes [from, to) of both windows of rank `rank`; all of them or none.
static rp_status reserve_part(
        const struct rp_segment *segment, uint32_t rank, uint64_t from, uint64_t to)
{
    static const char what[] = "the communicator's buffers (HCCL_BUFFSIZE)";
    const struct layout *lay = &segment->layout;
    const uint64_t window_in = lay->windows_off + rank * 2 * lay->window_stride;
    const uint64_t window_out = window_in + lay->window_stride;
    rp_status st = rp_memory_reserve(segment->fd, window_in + from, to - from, what);
    if (st != RP_OK) {
        return st;
    }
    st = rp_memory_reserve(segment->fd, window_out + from, to - from, what);
    if (st != RP_OK) {
        rp_memory_punch(segment->fd, window_in + from, to - from);
    }
    return st;
}

rp_status rp_segment_reserve_window(struct rp_segment *segment, uint32_t rank, uint64_t bytes)
{
    const uint64_t stride = segment->layout.window_stride;
    const uint64_t wanted = bytes < stride ? rp_align_up(bytes, WINDOW_ALIGN) : stride;
    rp_status st = RP_OK;
    assert(rank < segment->header.ranks);
    pthread_mutex_lock(&segment->reserve_lock);
    if (wanted > segment->reserved[rank]) {
        st = reserve_part(segment, rank, segment->reserved[rank], wanted);
        if (st == RP_OK) {
            segment->reserved[rank] = wanted;
        }
    }
    pthread_mutex_unlock(&segment->reserve_lock);
    return st;
}
