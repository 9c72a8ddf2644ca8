#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "support/child.h"
#include "transport/memory.h"
#include "transport/segment.h"

#define MIB (UINT64_C(1) << 20)
#define BASE (5 * RP_SEQ_BASE_UNIT)

static struct rp_segment *leader(uint32_t ranks, uint64_t window_bytes)
{
    struct rp_segment *segment = NULL;
    cr_assert(eq(int, rp_segment_create(ranks, window_bytes, BASE, &segment), RP_OK));
    return segment;
}

static uint64_t pages_bytes(int fd)
{
    struct stat file;
    cr_assert(eq(int, fstat(fd, &file), 0));
    return (uint64_t)file.st_blocks * 512;
}

static void assert_sentence(const char *part)
{
    const char *sentence = rp_error_take();
    cr_assert(ne(ptr, (void *)(uintptr_t)sentence, NULL));
    cr_assert(ne(ptr, strstr(sentence, part), NULL), "\"%s\" in \"%s\"", part, sentence);
}

// One part of the segment that belongs to one purpose.
struct part {
    uint8_t *start;
    uint64_t bytes;
};

static int by_start(const void *a, const void *b)
{
    const struct part *x = a;
    const struct part *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

Test(segment, parts_of_all_ranks_are_apart_and_aligned)
{
    static const uint32_t ranks[] = { 1, 2, 3, 16, 100 };
    static const uint64_t windows[] = { 1, 65536, 1000000 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks); i++) {
        for (size_t w = 0; w < RP_ARRAY_LENGTH(windows); w++) {
            struct rp_segment *segment = leader(ranks[i], windows[w]);
            struct part *part = calloc(ranks[i] * 6, sizeof(*part));
            size_t count = 0;
            for (uint32_t q = 0; q < ranks[i]; q++) {
                struct rp_peer peer = { 0 };
                rp_segment_peer(segment, q, &peer);
                part[count++] = (struct part){ (uint8_t *)peer.block, sizeof(*peer.block) };
                part[count++] = (struct part){ peer.slot[0], RP_SLOT_BYTES };
                part[count++] = (struct part){ peer.slot[1], RP_SLOT_BYTES };
                part[count++] = (struct part){ (uint8_t *)peer.signal, ranks[i] * RP_CACHELINE };
                part[count++] = (struct part){ peer.window_in, windows[w] };
                part[count++] = (struct part){ peer.window_out, windows[w] };
            }
            qsort(part, count, sizeof(*part), by_start);
            for (size_t k = 0; k < count; k++) {
                cr_assert(eq(u64, (uintptr_t)part[k].start % RP_CACHELINE, 0));
                cr_assert(k == 0 || part[k - 1].start + part[k - 1].bytes <= part[k].start);
                part[k].start[0] = 1; // all of it is mapped
                part[k].start[part[k].bytes - 1] = 1;
            }
            free(part);
            rp_segment_unref(segment);
        }
    }
}

Test(segment, counters_begin_at_the_base)
{
    struct rp_segment *segment = leader(3, 65536);
    cr_assert(eq(u64, rp_segment_base(segment), BASE));
    for (uint32_t q = 0; q < 3; q++) {
        struct rp_peer peer = { 0 };
        rp_segment_peer(segment, q, &peer);
        for (int i = 0; i < 2; i++) {
            cr_assert(eq(u64, peer.block->line[i].arrived, BASE));
            cr_assert(eq(u64, peer.block->line[i].done, BASE));
        }
        cr_assert(eq(u64, peer.block->stage.arrived, 0));
        cr_assert(eq(u64, peer.block->status.revoked_from, 0));
        cr_assert(eq(u64, peer.signal[8], 0));
    }
    rp_segment_unref(segment);
}

Test(segment, all_but_the_windows_is_reserved)
{
    struct rp_segment *segment = leader(2, 8 * MIB);
    int fd = rp_segment_fd(segment);
    uint64_t control = pages_bytes(fd);
    struct rp_peer peer = { 0 };
    rp_segment_peer(segment, 1, &peer);
    cr_assert(ge(u64, control, 2 * (sizeof(struct rp_rank_block) + 2 * RP_SLOT_BYTES)));
    cr_assert(lt(u64, control, MIB));
    memset(peer.block, 0, sizeof(*peer.block));
    memset(peer.slot[0], 1, 2 * RP_SLOT_BYTES);
    cr_assert(eq(u64, pages_bytes(fd), control));
    cr_assert(eq(int, rp_segment_reserve_window(segment, 1, 8 * MIB), RP_OK));
    cr_assert(eq(u64, pages_bytes(fd), control + 16 * MIB));
    memset(peer.window_in, 1, 8 * MIB);
    memset(peer.window_out, 1, 8 * MIB);
    cr_assert(eq(u64, pages_bytes(fd), control + 16 * MIB));
    cr_assert(
            eq(int, rp_segment_reserve_window(segment, 1, 8 * MIB), RP_OK)); // again: nothing more
    cr_assert(eq(u64, pages_bytes(fd), control + 16 * MIB));
    rp_segment_unref(segment);
}

Test(segment, windows_are_reserved_as_far_as_they_are_used)
{
    struct rp_segment *segment = leader(2, 8 * MIB);
    const int fd = rp_segment_fd(segment);
    const uint64_t control = pages_bytes(fd);
    static const struct {
        uint64_t asked, there; // bytes of each window
    } rows[] = { { 0, 0 }, { 1, 65536 }, { 65536, 65536 }, { 65537, 131072 }, { 4096, 131072 },
        { 8 * MIB - 1, 8 * MIB }, { UINT64_MAX, 8 * MIB } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_assert(eq(int, rp_segment_reserve_window(segment, 1, rows[i].asked), RP_OK));
        cr_assert(eq(u64, pages_bytes(fd), control + 2 * rows[i].there), "row %zu", i);
    }
    rp_segment_unref(segment);
}

Test(segment, ranks_of_one_process_share_the_mapping)
{
    struct rp_segment *segment = leader(2, 65536);
    struct rp_segment *other = NULL;
    unsigned fds = fds_open();
    int fd = dup(rp_segment_fd(segment));
    cr_assert(eq(int, rp_segment_open(fd, rp_segment_token(segment), 2, &other), RP_OK));
    cr_assert(eq(ptr, other, segment));
    cr_assert(eq(int, rp_segment_open(-1, rp_segment_token(segment), 2, &other), RP_OK));
    cr_assert(eq(ptr, other, segment));
    cr_assert(eq(int, rp_segment_open(-1, rp_segment_token(segment), 3, &other), RP_EPARAM));
    assert_sentence("is for 2 ranks, the communicator has 3");
    cr_assert(eq(uint, fds_open(), fds));
    rp_segment_unref(segment);
    rp_segment_unref(segment);
    cr_assert(eq(uint, fds_open(), fds));
    rp_segment_unref(other);
    cr_assert(eq(uint, fds_open(), fds - 1));
}

Test(segment, unknown_token_without_descriptor_is_refused)
{
    const uint8_t token[RP_SEGMENT_TOKEN_BYTES] = { 1 };
    struct rp_segment *segment = NULL;
    cr_assert(eq(int, rp_segment_open(-1, token, 2, &segment), RP_EPARAM));
    cr_assert(eq(ptr, segment, NULL));
}

// ---- another process ----

struct member {
    int socket;
    uint32_t ranks;
    int spoil; // what is wrong with what the child passes to the parent, see pass_segment
};

struct told {
    uint8_t token[RP_SEGMENT_TOKEN_BYTES];
};

// The child leads; the parent is the member that must not trust it.
static int lead(void *arg)
{
    const struct member *member = arg;
    struct rp_segment *segment;
    struct told told;
    char done;
    if (rp_segment_create(member->ranks, 100000, BASE, &segment) != RP_OK) {
        return 1;
    }
    memcpy(told.token, rp_segment_token(segment), sizeof(told.token));
    struct rp_peer peer = { 0 };
    rp_segment_peer(segment, 1, &peer);
    memcpy(peer.slot[1], "from the leader", 16);
    int fd = rp_segment_fd(segment);
    uint8_t *header = peer.slot[1];
    header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    switch (member->spoil) {
    case 1:
        header[0] ^= 1; // magic
        break;
    case 2:
        header[8] ^= 1; // layout
        break;
    case 3:
        header[16 + 7] = 0x40; // windows that no file can hold
        break;
    case 4:
        header[16 + 3] = 1; // windows larger than the file
        break;
    case 5:
        told.token[5] ^= 1;
        break;
    case 6: // sealed against growing only: could be cut under its mapping
        fd = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (ftruncate(fd, 1 << 24) != 0 || write(fd, header, 64) != 64) {
            return 2;
        }
        break;
    case 7:
        fd = member->socket;
        break;
    default:
        break;
    }
    if (!fds_send(member->socket, &fd, 1, &told, sizeof(told)) ||
            read(member->socket, &done, 1) != 1) {
        return 3;
    }
    return memcmp(peer.slot[0], "from the member", 16) == 0 || member->spoil != 0 ? 0 : 4;
}

static rp_status open_of_child(int spoil, struct rp_segment **segment)
{
    int sockets[2];
    int fd;
    struct told told;
    cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0));
    struct member member = { sockets[1], 3, spoil };
    pid_t child = child_start(lead, &member);
    cr_assert(fds_receive(sockets[0], &fd, 1, &told, sizeof(told)));
    unsigned fds = fds_open();
    rp_status st = rp_segment_open(fd, told.token, 3, segment);
    if (st == RP_OK) {
        struct rp_peer peer = { 0 };
        cr_assert(eq(int, rp_segment_fd(*segment), -1));
        rp_segment_peer(*segment, 1, &peer);
        cr_assert(eq(str, (char *)peer.slot[1], "from the leader"));
        memcpy(peer.slot[0], "from the member", 16);
        cr_assert(eq(u64, rp_segment_window_bytes(*segment), 100000));
        cr_assert(eq(int, rp_segment_reserve_window(*segment, 1, 100000), RP_OK));
        memset(peer.window_out, 3, 100000);
    } else {
        cr_assert(eq(uint, fds_open(), fds - 1)); // consumed
    }
    cr_assert(eq(sz, (size_t)write(sockets[0], "x", 1), 1));
    cr_assert(eq(int, child_wait(child, 20), 0));
    close(sockets[0]);
    close(sockets[1]);
    return st;
}

Test(segment, member_in_another_process_sees_the_same_memory)
{
    struct rp_segment *segment = NULL;
    cr_assert(eq(int, open_of_child(0, &segment), RP_OK));
    rp_segment_unref(segment);
}

Test(segment, segments_that_are_not_the_leaders_are_refused)
{
    static const char *const sentence[] = { NULL, "is not a control segment", "layout", "absurd",
        "has", "token", "no sealed memory file", "no sealed memory file" };
    for (int spoil = 1; spoil <= 7; spoil++) {
        struct rp_segment *segment = NULL;
        cr_assert(eq(int, open_of_child(spoil, &segment), RP_EPARAM), "%d", spoil);
        cr_assert(eq(ptr, segment, NULL));
        assert_sentence(sentence[spoil]);
    }
}

// ---- failure ----

Test(segment, absurd_sizes_are_refused)
{
    struct rp_segment *segment = NULL;
    cr_assert(eq(int, rp_segment_create(0, MIB, BASE, &segment), RP_EPARAM));
    cr_assert(eq(int, rp_segment_create(2, UINT64_MAX, BASE, &segment), RP_EPARAM));
    cr_assert(eq(int, rp_segment_create(2, INT64_MAX, BASE, &segment), RP_EPARAM));
    cr_assert(eq(int, rp_segment_create(UINT32_MAX, UINT64_C(1) << 40, BASE, &segment), RP_EPARAM));
    cr_assert(eq(int, rp_segment_create(4, UINT64_C(1) << 60, BASE, &segment), RP_EPARAM));
    cr_assert(eq(ptr, segment, NULL));
}

Test(segment, address_space_that_is_not_there_is_an_error_that_says_how_much)
{
    struct rp_segment *segment = NULL;
    unsigned fds = fds_open();
    // 128 TiB are all that a process has
    cr_assert(eq(int, rp_segment_create(16, UINT64_C(1) << 43, BASE, &segment), RP_ENOMEM));
    assert_sentence("HCCL_BUFFSIZE");
    cr_assert(eq(uint, fds_open(), fds));
}

static int create_past_fsize(void *arg)
{
    (void)arg;
    const struct rlimit limit = { MIB, MIB };
    struct rp_segment *segment = NULL;
    child_no_core();
    setrlimit(RLIMIT_FSIZE, &limit);
    rp_status st = rp_segment_create(2, 8 * MIB, BASE, &segment);
    return st == RP_ENOMEM && strstr(rp_error_take(), "RLIMIT_FSIZE") != NULL ? 0 : 1;
}

Test(segment, file_limit_is_an_error_and_no_signal)
{
    cr_assert(eq(int, child_run(create_past_fsize, NULL, 20), 0));
}

Test(segment, every_allocation_may_fail)
{
    unsigned fds = fds_open();
    struct rp_segment *segment = NULL;
    bool failed = true;
    for (int64_t n = 0; failed; n++) {
        rp_alloc_fail_after(n);
        rp_status st = rp_segment_create(2, 65536, BASE, &segment);
        failed = !rp_alloc_fail_pending();
        rp_alloc_fail_after(-1);
        cr_assert(eq(int, st, failed ? RP_ENOMEM : RP_OK));
        cr_assert(eq(uint, fds_open(), failed ? fds : fds + 1));
    }
    rp_segment_unref(segment);
    cr_assert(eq(uint, fds_open(), fds));
}

Test(segment, windows_that_do_not_fit_memory_are_an_error_and_cost_none)
{
    struct rp_memory_room room;
    rp_memory_room_read("", &room);
    struct rp_segment *segment = leader(1, room.limit_bytes);
    uint64_t control = pages_bytes(rp_segment_fd(segment));
    cr_assert(eq(int, rp_segment_reserve_window(segment, 0, UINT64_MAX), RP_ENOMEM));
    assert_sentence("HCCL_BUFFSIZE");
    cr_assert(eq(u64, pages_bytes(rp_segment_fd(segment)), control));
    rp_segment_unref(segment);
}
