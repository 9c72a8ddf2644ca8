#include "capture/sym_window.h"

#include <inttypes.h>
#include <string.h>

#include <hccl/hccl_comm.h>
#include <hccl/hccl_sym_win.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/comm_extra.h"
#include "replay/context.h"
#include "transport/segment.h"

#define WINDOW_MAGIC UINT64_C(0x52505f57494e444f)

// So often a wait for a peer's window looks whether the peer lives.
#define SLICE_NS (5 * RP_NS_PER_MS)

struct window {
    uint64_t magic;        // the kind of handle is shared with other objects
    _Atomic uint64_t refs; // the handle, and calls that use it
    struct rp_list in_extra;
    struct rp_comm *comm; // not referenced: the window ends with it at the latest
    uint64_t number;      // the n-th of this rank
    uint32_t entry;       // of the rank's table
    uint8_t *start;
    uint64_t bytes;
};

static struct window *window_of(struct rp_list *link)
{
    return rp_container_of(link, struct window, in_extra);
}

static void unref(struct window *window)
{
    // acq_rel: what others did with it is before its end.
    if (atomic_fetch_sub_explicit(&window->refs, 1, memory_order_acq_rel) == 1) {
        window->magic = 0;
        rp_free(window);
    }
}

static void ref(void *object)
{
    struct window *window = object;
    if (window->magic == WINDOW_MAGIC) {
        // relaxed: the handle has a reference.
        atomic_fetch_add_explicit(&window->refs, 1, memory_order_relaxed);
    }
}

// The window behind a user's handle, referenced; NULL if it is none.
static struct window *find(void *handle)
{
    struct window *window = handle;
    return rp_handle_ref(RP_HANDLE_OTHER, handle, ref) && window->magic == WINDOW_MAGIC ? window
                                                                                        : NULL;
}

void rp_sym_windows_forget(struct rp_comm_extra *extra)
{
    struct rp_list *link;
    while ((link = rp_list_pop_front(&extra->windows)) != NULL) {
        if (rp_handle_remove(RP_HANDLE_OTHER, window_of(link))) {
            unref(window_of(link));
        }
    }
}

// ---- registering ----

static struct rp_window_table *own_table(struct rp_comm *comm)
{
    return comm->lines.peer[comm->rank].windows;
}

// Tells the peers. Under the communicator's lock, which orders the windows of this rank.
static rp_status announce(struct window *window)
{
    struct rp_comm *comm = window->comm;
    struct rp_window_table *table = own_table(comm);
    uint64_t off = 0;
    uint32_t i = 0;
    (void)rp_arena_offset(comm->arena, window->start, window->bytes, &off); // checked before
    // relaxed, this one and the stores up to `number`: only this rank writes its table.
    while (i < RP_WINDOWS_MAX &&
            atomic_load_explicit(&table->entry[i].number, memory_order_relaxed) != 0) {
        i++;
    }
    if (i == RP_WINDOWS_MAX) {
        return rp_fail(RP_ENORES, "HcclCommSymWinRegister: communicator %s has %u windows already",
                comm->name, RP_WINDOWS_MAX);
    }
    struct rp_window_entry *entry = &table->entry[i];
    window->entry = i;
    window->number = atomic_load_explicit(&table->registered, memory_order_relaxed) + 1;
    atomic_store_explicit(&entry->off, off, memory_order_relaxed);
    atomic_store_explicit(&entry->bytes, window->bytes, memory_order_relaxed);
    // release, both [W1]: pair with the loads in look_up.
    atomic_store_explicit(&entry->number, window->number, memory_order_release);
    atomic_store_explicit(&table->registered, window->number, memory_order_release);
    return RP_OK;
}

static rp_status add(struct rp_comm *comm, void *start, uint64_t bytes, HcclCommSymWindow *out)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    struct window *window = rp_calloc(1, sizeof(*window));
    if (window == NULL) {
        return rp_fail(RP_ENOMEM, "HcclCommSymWinRegister: no memory");
    }
    window->magic = WINDOW_MAGIC;
    window->refs = 1;
    window->comm = comm;
    window->start = start;
    window->bytes = bytes;
    rp_status st = rp_handle_add(RP_HANDLE_OTHER, window);
    if (st == RP_OK) {
        pthread_mutex_lock(&extra->lock);
        st = announce(window);
        if (st == RP_OK) {
            rp_list_push_back(&extra->windows, &window->in_extra);
        }
        pthread_mutex_unlock(&extra->lock);
        if (st != RP_OK) {
            rp_handle_remove(RP_HANDLE_OTHER, window);
        }
    }
    if (st != RP_OK) {
        unref(window);
        return st;
    }
    *out = window;
    return RP_OK;
}

static rp_status register_window(
        HcclComm handle, void *start, uint64_t bytes, HcclCommSymWindow *out, uint32_t flag)
{
    static const char api[] = "HcclCommSymWinRegister";
    struct rp_comm *comm = NULL;
    uint64_t off = 0;
    rp_status st = rp_comm_call_enter(
            api, handle, start == NULL ? "addr" : "winHandle", start == NULL ? start : out, &comm);
    if (st != RP_OK) {
        return st;
    }
    if (bytes == 0) {
        st = rp_fail(RP_EPARAM, "%s: size is 0", api);
    } else if (flag != 1) {
        st = rp_fail(RP_EPARAM, "%s: flag is %" PRIu32 "; it must be 1", api, flag);
    } else if (!rp_arena_offset(comm->arena, start, bytes, &off)) {
        st = rp_fail(RP_EPARAM, "%s: [%p, + %" PRIu64 ") is not memory of device %" PRId32, api,
                start, bytes, comm->device_id);
    } else {
        st = add(comm, start, bytes, out);
    }
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommSymWinRegister(
        HcclComm comm, void *addr, uint64_t size, HcclCommSymWindow *winHandle, uint32_t flag)
{
    return (HcclResult)rp_hccl(register_window(comm, addr, size, winHandle, flag));
}

static rp_status deregister_window(HcclCommSymWindow handle)
{
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "HcclCommSymWinDeregister: winHandle is NULL");
    }
    struct window *window = find(handle);
    if (window == NULL || !rp_handle_remove(RP_HANDLE_OTHER, window)) {
        if (window != NULL) {
            unref(window);
        }
        return rp_fail(RP_EPARAM,
                "HcclCommSymWinDeregister: winHandle %p is no window, or one that has ended",
                handle);
    }
    struct rp_comm_extra *extra = rp_comm_extra_of(window->comm);
    pthread_mutex_lock(&extra->lock);
    // release [W1]: free again; a reader that is in it sees that the number has changed.
    atomic_store_explicit(
            &own_table(window->comm)->entry[window->entry].number, 0, memory_order_release);
    rp_list_remove(&window->in_extra);
    pthread_mutex_unlock(&extra->lock);
    unref(window); // ours
    unref(window); // the handle's
    return RP_OK;
}

HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle)
{
    return (HcclResult)rp_hccl(deregister_window(winHandle));
}

// ---- asking ----

static rp_status find_window(struct rp_comm *comm, const void *start, size_t bytes,
        HcclCommSymWindow *out, size_t *offset)
{
    struct rp_comm_extra *extra = rp_comm_extra_of(comm);
    const uintptr_t wanted = (uintptr_t)start;
    rp_status st = RP_ENOTFOUND;
    pthread_mutex_lock(&extra->lock);
    rp_list_each(link, &extra->windows)
    {
        const struct window *window = window_of(link);
        const uintptr_t off = wanted - (uintptr_t)window->start;
        if (st != RP_OK && wanted >= (uintptr_t)window->start && off <= window->bytes &&
                bytes <= window->bytes - off) {
            *out = window_of(link);
            *offset = off;
            st = RP_OK;
        }
    }
    pthread_mutex_unlock(&extra->lock);
    return st == RP_OK
                   ? RP_OK
                   : rp_fail(st,
                             "HcclCommSymWinGet: no window of communicator %s holds [%p, + %zu)",
                             comm->name, start, bytes);
}

static rp_status get_window(
        HcclComm handle, const void *start, size_t bytes, HcclCommSymWindow *out, size_t *offset)
{
    static const char api[] = "HcclCommSymWinGet";
    struct rp_comm *comm = NULL;
    const bool answers = out != NULL && offset != NULL;
    rp_status st = rp_comm_call_enter(api, handle,
            start == NULL ? "ptr"
            : out == NULL ? "winHandle"
                          : "offset",
            answers ? start : NULL, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = bytes == 0 ? rp_fail(RP_EPARAM, "%s: size is 0", api)
                    : find_window(comm, start, bytes, out, offset);
    rp_comm_call_end(comm);
    return st;
}

HcclResult HcclCommSymWinGet(
        HcclComm comm, void *ptr, size_t size, HcclCommSymWindow *winHandle, size_t *offset)
{
    return (HcclResult)rp_hccl(get_window(comm, ptr, size, winHandle, offset));
}

// What a rank's table says of a window.
struct place {
    const struct rp_window_table *table;
    uint64_t number;
    uint64_t off;
    uint64_t bytes;
};

// RP_OK; RP_AGAIN: not registered yet; RP_ENOTFOUND: it was, and has ended.
static rp_status look_up(struct place *place)
{
    // acquire [W1]: pairs with the store in announce; before the entries, which it follows.
    const uint64_t registered =
            atomic_load_explicit(&place->table->registered, memory_order_acquire);
    for (uint32_t i = 0; i < RP_WINDOWS_MAX; i++) {
        const struct rp_window_entry *entry = &place->table->entry[i];
        // acquire, all [W1]: pair with the stores of `number`; the second look at it comes last.
        if (atomic_load_explicit(&entry->number, memory_order_acquire) == place->number) {
            place->off = atomic_load_explicit(&entry->off, memory_order_acquire);
            place->bytes = atomic_load_explicit(&entry->bytes, memory_order_acquire);
            if (atomic_load_explicit(&entry->number, memory_order_acquire) == place->number) {
                return RP_OK;
            }
        }
    }
    return registered >= place->number ? RP_ENOTFOUND : RP_AGAIN;
}

static bool has_registered(void *arg)
{
    const struct place *place = arg;
    // acquire [W1]: as above.
    return atomic_load_explicit(&place->table->registered, memory_order_acquire) >= place->number;
}

static bool is_gone(struct rp_comm *comm, uint32_t q)
{
    struct rp_device *device = rp_comm_extra_of(comm)->device;
    const struct rp_peer *peer = &comm->lines.peer[q];
    rp_device_enter(device);
    rp_comm_check(comm, rp_now_ns());
    rp_device_leave(device);
    // acquire, both [L5]: pair with rp_lines_leave and the liveness check.
    return atomic_load_explicit(&peer->gone, memory_order_acquire) != 0 ||
           atomic_load_explicit(&peer->block->status.left, memory_order_acquire) != 0;
}

// Registering is local, so a peer may be a moment behind.
static rp_status await_peer(struct rp_comm *comm, uint32_t q, struct place *place)
{
    struct rp_device *device = rp_comm_extra_of(comm)->device;
    const uint64_t end_ns =
            rp_deadline_ns((uint64_t)comm->settings.connect_timeout_s * RP_NS_PER_S);
    rp_status st = look_up(place);
    while (st == RP_AGAIN) {
        if (is_gone(comm, q)) {
            return rp_fail(RP_EREMOTE,
                    "HcclSymWinGetPeerPointer: rank %" PRIu32
                    " of communicator %s has died or left, and had no window #%" PRIu64,
                    q, comm->name, place->number);
        }
        if (rp_now_ns() >= end_ns) {
            return rp_fail(RP_ECONNTIMEOUT,
                    "HcclSymWinGetPeerPointer: rank %" PRIu32
                    " of communicator %s has not registered window #%" PRIu64 " within %" PRIu32
                    " s (HCCL_CONNECT_TIMEOUT)",
                    q, comm->name, place->number, comm->settings.connect_timeout_s);
        }
        st = rp_device_wait(device, has_registered, place, SLICE_NS, RP_ESYNCTIMEOUT);
        st = st == RP_OK || st == RP_ESYNCTIMEOUT ? look_up(place) : st;
    }
    return st != RP_ENOTFOUND ? st
                              : rp_fail(st,
                                        "HcclSymWinGetPeerPointer: rank %" PRIu32
                                        " of communicator %s has ended its window #%" PRIu64,
                                        q, comm->name, place->number);
}

static rp_status peer_pointer(struct window *window, size_t offset, uint32_t q, void **out)
{
    static const char api[] = "HcclSymWinGetPeerPointer";
    struct rp_comm *comm = window->comm;
    if (q >= comm->size) {
        return rp_fail(RP_EPARAM, "%s: peerRank %" PRIu32 " is none of the %" PRIu32 " ranks of %s",
                api, q, comm->size, comm->name);
    }
    if (offset >= window->bytes) {
        return rp_fail(RP_EPARAM, "%s: offset %zu is beyond the window's %" PRIu64 " bytes", api,
                offset, window->bytes);
    }
    const struct rp_peer *peer = &comm->lines.peer[q];
    if (peer->windows == NULL || peer->arena == NULL) {
        return rp_fail(RP_ENOTSUP, "%s: the memory of rank %" PRIu32 " (%s) cannot be mapped here",
                api, q, peer->windows == NULL ? "of another node" : "of this node");
    }
    struct place place = { .table = peer->windows, .number = window->number };
    const rp_status st = await_peer(comm, q, &place);
    if (st != RP_OK) {
        return st;
    }
    if (place.bytes != window->bytes) {
        return rp_fail(RP_EPARAM,
                "%s: rank %" PRIu32 " has registered %" PRIu64 " bytes as its window #%" PRIu64
                ", rank %" PRIu32 " has registered %" PRIu64,
                api, q, place.bytes, window->number, comm->rank, window->bytes);
    }
    if (place.off > peer->arena_bytes || place.bytes > peer->arena_bytes - place.off) {
        return rp_fail(
                RP_EPARAM, "%s: the window of rank %" PRIu32 " is not in its memory", api, q);
    }
    *out = peer->arena + place.off + offset;
    return RP_OK;
}

static rp_status get_pointer(HcclCommSymWindow handle, size_t offset, uint32_t q, void **out)
{
    static const char api[] = "HcclSymWinGetPeerPointer";
    struct rp_comm *comm = NULL;
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (handle == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is NULL", api, handle == NULL ? "winHandle" : "ptr");
    }
    struct window *window = find(handle);
    if (window == NULL) {
        return rp_fail(
                RP_EPARAM, "%s: winHandle %p is no window, or one that has ended", api, handle);
    }
    st = rp_comm_call_begin(api, window->comm, &comm);
    if (st == RP_OK) {
        st = peer_pointer(window, offset, q, out);
        rp_comm_call_end(comm);
    }
    unref(window);
    return st;
}

HcclResult HcclSymWinGetPeerPointer(
        HcclCommSymWindow winHandle, size_t offset, uint32_t peerRank, void **ptr)
{
    return (HcclResult)rp_hccl(get_pointer(winHandle, offset, peerRank, ptr));
}
