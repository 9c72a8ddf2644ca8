// The process page: where a process' bell lies for all its peers. One page of a memfd that is
// sealed before anybody else sees it, so a peer's mapping of it can never fault.

#include "base/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fork.h"

#define PAGE_MAGIC UINT64_C(0x4c4c45425f505200) // "\0RP_BELL"
#define PAGE_VERSION 1u

struct process_page {
    uint64_t magic;
    uint32_t version;
    uint32_t pid; // for whoever looks at a core dump; pids do not cross namespaces
    struct rp_doorbell bell;
};
static_assert(sizeof(struct process_page) == 128, "the layout is shared");
static_assert(offsetof(struct process_page, bell) == 64, "the layout is shared");

static struct {
    pthread_mutex_t lock; // guards making it; who has seen `ready` needs no lock
    _Atomic bool ready;
    int page_fd;
    struct rp_doorbell_end end;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER, .page_fd = -1, .end = { .eventfd = -1 } };

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

// Reserves the page, so that its first touch cannot fail, and fixes its size.
static rp_status fill_page_file(int fd)
{
    struct rlimit limit;
    off_t bytes = (off_t)page_bytes();
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)bytes) {
        // Going on would raise SIGXFSZ, which ends the process.
        return rp_fail(RP_ENORES, "RLIMIT_FSIZE (%llu bytes) leaves no room for the process page",
                (unsigned long long)limit.rlim_cur);
    }
    if (fallocate(fd, 0, 0, bytes) != 0) {
        return rp_fail_sys(RP_ESYS, "fallocate", "the process page");
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return rp_fail_sys(RP_ESYS, "sealing", "the process page");
    }
    return RP_OK;
}

// The page of `fd`, NULL with a sentence when it cannot be mapped.
static struct process_page *map_page(int fd)
{
    void *memory = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        rp_fail_sys(RP_ESYS, "mmap", "a process page");
        return NULL;
    }
    return memory;
}

static rp_status make_self(void)
{
    int event = -1;
    struct process_page *page;
    int fd = memfd_create("reprise-process", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return rp_fail_sys(RP_ESYS, "memfd_create", "the process page");
    }
    rp_status st = fill_page_file(fd);
    if (st != RP_OK) {
        goto undo_memfd;
    }
    event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
        st = rp_fail_sys(RP_ESYS, "eventfd", "the doorbell");
        goto undo_memfd;
    }
    page = map_page(fd);
    if (page == NULL) {
        st = RP_ESYS;
        goto undo_eventfd;
    }
    page->magic = PAGE_MAGIC;
    page->version = PAGE_VERSION;
    page->pid = (uint32_t)getpid();
    rp_doorbell_init(&page->bell);
    self.page_fd = fd;
    self.end = (struct rp_doorbell_end){ .bell = &page->bell, .eventfd = event };
    // release [D3]: pairs with the loads of `ready`; publishes the fields above.
    atomic_store_explicit(&self.ready, true, memory_order_release);
    return RP_OK;

undo_eventfd:
    close(event);
undo_memfd:
    close(fd);
    return st;
}

rp_status rp_doorbell_self(struct rp_doorbell_end **end)
{
    rp_status st = rp_process_check(); // a child's lock below may be taken for ever
    if (st != RP_OK) {
        return st;
    }
    // acquire [D3]: pairs with the store in make_self.
    if (!atomic_load_explicit(&self.ready, memory_order_acquire)) {
        pthread_mutex_lock(&self.lock);
        // relaxed: the lock orders it.
        st = atomic_load_explicit(&self.ready, memory_order_relaxed) ? RP_OK : make_self();
        pthread_mutex_unlock(&self.lock);
        if (st != RP_OK) {
            return st;
        }
    }
    *end = &self.end;
    return RP_OK;
}

int rp_process_page_fd(void)
{
    // acquire [D3]: pairs with the store in make_self.
    return atomic_load_explicit(&self.ready, memory_order_acquire) ? self.page_fd : -1;
}

// A page that could shrink under us would turn a ring into a SIGBUS.
static bool page_file_is_sealed(int fd)
{
    struct stat file;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &file) == 0 &&
           (uint64_t)file.st_size >= page_bytes();
}

rp_status rp_doorbell_attach(struct rp_doorbell_end *end, int page_fd, int eventfd)
{
    if (!page_file_is_sealed(page_fd)) {
        return rp_fail(RP_EPARAM, "descriptor %d is not a sealed process page", page_fd);
    }
    struct process_page *page = map_page(page_fd);
    if (page == NULL) {
        return RP_ESYS;
    }
    if (page->magic != PAGE_MAGIC || page->version != PAGE_VERSION) {
        uint32_t version = page->magic == PAGE_MAGIC ? page->version : 0;
        munmap(page, page_bytes());
        return rp_fail(RP_EPARAM, "a process page of layout %u, this library's is %u", version,
                PAGE_VERSION);
    }
    *end = (struct rp_doorbell_end){ .bell = &page->bell, .eventfd = eventfd };
    return RP_OK;
}

void rp_doorbell_detach(struct rp_doorbell_end *end)
{
    munmap((char *)end->bell - offsetof(struct process_page, bell), page_bytes());
    if (end->eventfd >= 0) {
        close(end->eventfd);
    }
    *end = (struct rp_doorbell_end){ .eventfd = -1 };
}
