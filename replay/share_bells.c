// Ringing the processes that have a page open. Each enters the number of its process page (a memfd
// like the share's own) among the parties; who stores maps the pages of the others at the first
// ring. That rings sleepers only: an eventfd, which wakes pollers, cannot be opened by name.

#include "replay/share_bells.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROCESS_PAGE "reprise-process"

int rp_share_fd_open(uint32_t pid, uint32_t fd, const char *name)
{
    char path[64];
    char target[64];
    char expected[64];
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%" PRIu32, pid, fd);
    snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
    const ssize_t bytes = readlink(path, target, sizeof(target));
    if (bytes < 0 || (size_t)bytes != strlen(expected) ||
            memcmp(target, expected, (size_t)bytes) != 0) {
        return -1;
    }
    // Whatever may have come in its place meanwhile: opening it neither waits nor takes a terminal.
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static uint64_t party_self(void)
{
    return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)rp_process_page_fd();
}

// The state in /proc/PID/stat, behind the name in parentheses; '?': it cannot be read.
static char state_of(int32_t pid)
{
    char path[32];
    char text[512];
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return '?';
    }
    const ssize_t bytes = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[bytes < 0 ? 0 : bytes] = '\0';
    const char *end = strrchr(text, ')');
    return end == NULL || end[1] != ' ' ? '?' : end[2];
}

bool rp_share_is_gone(int32_t pid)
{
    if (kill(pid, 0) != 0) {
        return errno == ESRCH;
    }
    const char state = state_of(pid);
    return state == 'Z' || state == 'X';
}

rp_status rp_share_bells_init(struct rp_share_bells *bells, struct rp_share_page *page)
{
    struct rp_doorbell_end *end;
    const rp_status st = rp_doorbell_self(&end);
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_init(&bells->lock, NULL);
    bells->own = -1;
    for (int32_t i = 0; i < RP_SHARE_PARTIES && bells->own < 0; i++) {
        // relaxed: decided by the exchange.
        uint64_t there = atomic_load_explicit(&page->party[i], memory_order_relaxed);
        // seq_cst [H2]: pairs with the load in rp_share_bells_ring: who stores later rings us, what
        // was stored before is seen when this process looks for the first time.
        if ((there == 0 || rp_share_is_gone((int32_t)(there >> 32))) &&
                atomic_compare_exchange_strong_explicit(&page->party[i], &there, party_self(),
                        memory_order_seq_cst, memory_order_relaxed)) {
            bells->own = i;
        }
    }
    return RP_OK;
}

static void forget(struct rp_share_bells *bells, uint32_t i)
{
    if (bells->end[i].bell != NULL) {
        rp_doorbell_detach(&bells->end[i]);
    }
    bells->end[i].bell = NULL;
    bells->party[i] = 0;
}

void rp_share_bells_fini(struct rp_share_bells *bells, struct rp_share_page *page)
{
    if (bells->own >= 0) {
        // relaxed: a ring too many at worst.
        atomic_store_explicit(&page->party[bells->own], 0, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < RP_SHARE_PARTIES; i++) {
        forget(bells, i);
    }
    pthread_mutex_destroy(&bells->lock);
}

// Under the lock. Tried once a party: whoever cannot be rung looks again after its backstop.
static void learn(struct rp_share_bells *bells, uint32_t i, uint64_t party)
{
    forget(bells, i);
    bells->party[i] = party;
    const int fd = rp_share_fd_open((uint32_t)(party >> 32), (uint32_t)party, PROCESS_PAGE);
    if (fd < 0) {
        return;
    }
    if (rp_doorbell_attach(&bells->end[i], fd, -1) != RP_OK) {
        bells->end[i].bell = NULL;
    }
    close(fd);
}

void rp_share_bells_ring(struct rp_share_bells *bells, struct rp_share_page *page)
{
    const uint64_t self = party_self();
    pthread_mutex_lock(&bells->lock);
    for (uint32_t i = 0; i < RP_SHARE_PARTIES; i++) {
        // seq_cst [H2]: stands after the caller's store.
        const uint64_t party = atomic_load_explicit(&page->party[i], memory_order_seq_cst);
        if (party == 0 || party == self) {
            continue;
        }
        if (party != bells->party[i]) {
            learn(bells, i, party);
        }
        if (bells->end[i].bell != NULL) {
            rp_doorbell_ring(&bells->end[i]);
        }
    }
    pthread_mutex_unlock(&bells->lock);
}
