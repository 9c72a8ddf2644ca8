// The table of processes: who is known, by what descriptors, and which of their arenas are mapped.
// How a process's end is noticed is in process_watch.c.

#include "transport/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "transport/arena.h"
#include "transport/memory.h"
#include "transport/process_watch.h"

#define BUCKETS 64 // ids are random; a few hundred processes make short lists

// One arena of a peer as mapped here. Entries are only added, the newest first.
struct mapping {
    struct mapping *next;
    int32_t device_id;
    dev_t file_dev; // which file: a device that was reset has a new one
    ino_t file_ino;
    uint64_t bytes;
    uint8_t *base;
};

struct rp_process {
    struct rp_list link; // in its bucket
    struct rp_process_id id;
    int64_t pid;
    uint64_t refs; // under the lock
    bool self;
    struct rp_doorbell_end bell;
    struct rp_watch watch;
    struct mapping *mappings; // under the lock
};

static struct {
    pthread_mutex_t lock;
    struct rp_list bucket[BUCKETS];
    bool ready; // buckets are initialised
    struct rp_process *self;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct rp_process_id self_id;
static pthread_once_t self_id_once = PTHREAD_ONCE_INIT;

static void make_self_id(void)
{
    size_t done = 0;
    while (done < sizeof(self_id.bytes)) {
        ssize_t got = getrandom(self_id.bytes + done, sizeof(self_id.bytes) - done, 0);
        done += got > 0 ? (size_t)got : 0; // EINTR; else so few bytes never fail
    }
}

struct rp_process_id rp_process_self_id(void)
{
    pthread_once(&self_id_once, make_self_id);
    return self_id;
}

static bool same_id(const struct rp_process_id *a, const struct rp_process_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

// ---- the table, under its lock ----

static struct rp_list *bucket_of(const struct rp_process_id *id)
{
    if (!table.ready) {
        for (int i = 0; i < BUCKETS; i++) {
            rp_list_init(&table.bucket[i]);
        }
        table.ready = true;
    }
    return &table.bucket[id->bytes[0] % BUCKETS];
}

static struct rp_process *find(const struct rp_process_id *id)
{
    struct rp_list *bucket = bucket_of(id);
    rp_list_each(link, bucket)
    {
        struct rp_process *process = rp_container_of(link, struct rp_process, link);
        if (same_id(&process->id, id)) {
            return process;
        }
    }
    return NULL;
}

// The own entry, made if it is not there yet. Under the lock.
static rp_status make_self(void)
{
    struct rp_doorbell_end *bell;
    if (table.self != NULL) {
        return RP_OK;
    }
    rp_status st = rp_doorbell_self(&bell);
    if (st != RP_OK) {
        return st;
    }
    struct rp_process *self = rp_calloc(1, sizeof(*self));
    if (self == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the entry of this process");
    }
    self->id = rp_process_self_id();
    self->pid = getpid();
    self->refs = 1; // for ever
    self->self = true;
    self->bell = *bell;
    rp_watch_self(&self->watch);
    rp_list_push_back(bucket_of(&self->id), &self->link);
    table.self = self;
    return RP_OK;
}

struct rp_process *rp_process_self(void)
{
    pthread_mutex_lock(&table.lock);
    struct rp_process *self = make_self() == RP_OK ? table.self : NULL;
    pthread_mutex_unlock(&table.lock);
    return self;
}

rp_status rp_process_self_fds(struct rp_process_fds *fds)
{
    pthread_mutex_lock(&table.lock);
    rp_status st = make_self();
    if (st == RP_OK) {
        *fds = (struct rp_process_fds){
            .page_fd = rp_process_page_fd(),
            .event_fd = table.self->bell.eventfd,
            .pid_fd = rp_watch_fd(&table.self->watch),
        };
    }
    pthread_mutex_unlock(&table.lock);
    return st;
}

// ---- peers ----

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

// An eventfd that blocks could stop whoever rings it.
static rp_status check_event_fd(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) == 0) {
        return rp_fail(RP_EPARAM, "the peer's eventfd is no descriptor, or blocks");
    }
    return RP_OK;
}

// A new entry with one reference. Takes the event and pid descriptors on success. Under the lock.
static rp_status add_peer(const struct rp_process_id *id, int64_t pid,
        const struct rp_process_fds *fds, struct rp_process **out)
{
    rp_status st = check_event_fd(fds->event_fd);
    if (st != RP_OK) {
        return st;
    }
    struct rp_process *process = rp_calloc(1, sizeof(*process));
    if (process == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the entry of process %lld", (long long)pid);
    }
    process->id = *id;
    process->pid = pid;
    process->refs = 1;
    st = rp_watch_open(&process->watch, fds->pid_fd, pid, fds->page_fd);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    st = rp_doorbell_attach(&process->bell, fds->page_fd, fds->event_fd);
    if (st != RP_OK) {
        goto undo_watch;
    }
    rp_list_push_back(bucket_of(id), &process->link);
    *out = process;
    return RP_OK;

undo_watch:
    rp_watch_abandon(&process->watch);
undo_alloc:
    rp_free(process);
    return st;
}

rp_status rp_process_ref_peer(const struct rp_process_id *id, int64_t pid,
        struct rp_process_fds fds, struct rp_process **out)
{
    rp_status st = RP_OK;
    bool added = false;
    pthread_mutex_lock(&table.lock);
    struct rp_process *process = find(id);
    if (process == NULL) {
        struct rp_process_id own = rp_process_self_id();
        if (same_id(id, &own)) {
            st = make_self();
            process = table.self;
        }
    }
    if (process != NULL) {
        process->refs++;
    } else if (st == RP_OK) {
        st = add_peer(id, pid, &fds, &process);
        added = st == RP_OK;
    }
    pthread_mutex_unlock(&table.lock);
    close_fd(fds.page_fd); // only mapped
    if (!added) {
        close_fd(fds.event_fd);
        close_fd(fds.pid_fd);
    }
    if (st == RP_OK) {
        *out = process;
    }
    return st;
}

struct rp_process *rp_process_ref(struct rp_process *process)
{
    pthread_mutex_lock(&table.lock);
    process->refs++;
    pthread_mutex_unlock(&table.lock);
    return process;
}

static void destroy(struct rp_process *process)
{
    while (process->mappings != NULL) {
        struct mapping *mapping = process->mappings;
        process->mappings = mapping->next;
        munmap(mapping->base, mapping->bytes);
        rp_free(mapping);
    }
    rp_doorbell_detach(&process->bell);
    rp_free(process);
}

void rp_process_unref(struct rp_process *process)
{
    pthread_mutex_lock(&table.lock);
    bool last = --process->refs == 0;
    if (last) {
        rp_list_remove(&process->link);
        rp_watch_close(&process->watch);
    }
    pthread_mutex_unlock(&table.lock);
    if (last) {
        destroy(process);
    }
}

struct rp_doorbell_end *rp_process_bell(struct rp_process *process)
{
    return &process->bell;
}

int64_t rp_process_pid(const struct rp_process *process)
{
    return process->pid;
}

bool rp_process_is_self(const struct rp_process *process)
{
    return process->self;
}

// ---- arenas ----

// The own arena: the mapping that everybody in this process uses.
static rp_status own_arena(int32_t device_id, uint64_t bytes, uint8_t **base)
{
    struct rp_arena *arena = rp_arena_of_device(device_id);
    if (arena == NULL) {
        return rp_fail(RP_ENOTFOUND, "device %d of this process is not in use", device_id);
    }
    if (rp_arena_bytes(arena) < bytes) {
        return rp_fail(RP_EPARAM, "the memory of device %d has %llu bytes, not %llu", device_id,
                (unsigned long long)rp_arena_bytes(arena), (unsigned long long)bytes);
    }
    *base = rp_arena_base(arena);
    return RP_OK;
}

// Under the lock. `file` NULL: the one met last.
static struct mapping *find_mapping(
        const struct rp_process *process, int32_t device_id, const struct stat *file)
{
    for (struct mapping *at = process->mappings; at != NULL; at = at->next) {
        bool same_file =
                file == NULL || (at->file_dev == file->st_dev && at->file_ino == file->st_ino);
        if (at->device_id == device_id && same_file) {
            return at;
        }
    }
    return NULL;
}

// Under the lock.
static rp_status add_mapping(struct rp_process *process, int32_t device_id, int fd,
        const struct stat *file, uint64_t bytes, struct mapping **out)
{
    rp_status st = rp_memory_file_check(fd, bytes, "a peer's device memory");
    if (st != RP_OK) {
        return st;
    }
    struct mapping *mapping = rp_calloc(1, sizeof(*mapping));
    if (mapping == NULL) {
        return RP_ENOMEM;
    }
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        rp_log_warn("%llu bytes of device %d of process %lld cannot be mapped (errno %d); "
                    "RLIMIT_AS? (ulimit -v)",
                (unsigned long long)bytes, device_id, (long long)process->pid, errno);
        rp_free(mapping);
        return RP_ENOMEM;
    }
    (void)madvise(base, bytes, MADV_DONTDUMP); // as in the owner; see arena.c
    *mapping = (struct mapping){
        .next = process->mappings,
        .device_id = device_id,
        .file_dev = file->st_dev,
        .file_ino = file->st_ino,
        .bytes = bytes,
        .base = base,
    };
    process->mappings = mapping;
    *out = mapping;
    return RP_OK;
}

// Under the lock.
static rp_status peer_arena(
        struct rp_process *process, int32_t device_id, int fd, uint64_t bytes, uint8_t **base)
{
    struct stat file;
    if (fd >= 0 && fstat(fd, &file) != 0) {
        return rp_fail_sys(RP_EPARAM, "fstat", "a peer's device memory");
    }
    struct mapping *mapping = find_mapping(process, device_id, fd >= 0 ? &file : NULL);
    if (mapping == NULL) {
        if (fd < 0) {
            return rp_fail(RP_ENOTFOUND,
                    "the memory of device %d of process %lld is not known here", device_id,
                    (long long)process->pid);
        }
        rp_status st = add_mapping(process, device_id, fd, &file, bytes, &mapping);
        if (st != RP_OK) {
            return st;
        }
    }
    if (mapping->bytes < bytes) {
        return rp_fail(RP_EPARAM,
                "the memory of device %d of process %lld has %llu bytes, not %llu", device_id,
                (long long)process->pid, (unsigned long long)mapping->bytes,
                (unsigned long long)bytes);
    }
    *base = mapping->base;
    return RP_OK;
}

rp_status rp_process_map_arena(
        struct rp_process *process, int32_t device_id, int arena_fd, uint64_t bytes, uint8_t **base)
{
    rp_status st;
    if (process->self) {
        st = own_arena(device_id, bytes, base);
    } else if (bytes == 0) {
        st = rp_fail(RP_EPARAM, "device %d of process %lld has no memory", device_id,
                (long long)process->pid);
    } else {
        pthread_mutex_lock(&table.lock);
        st = peer_arena(process, device_id, arena_fd, bytes, base);
        pthread_mutex_unlock(&table.lock);
    }
    close_fd(arena_fd);
    return st;
}

// ---- their end ----

void rp_process_sweep(void)
{
    pthread_mutex_lock(&table.lock); // the watches must not go away meanwhile
    rp_watch_sweep();
    pthread_mutex_unlock(&table.lock);
}

bool rp_process_died(const struct rp_process *process)
{
    return rp_watch_ended(&process->watch);
}
