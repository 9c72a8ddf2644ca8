#include "support/node_case.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "support/child.h"
#include "transport/segment.h"

static void need(bool well, const char *what)
{
    if (!well) {
        const char *why = rp_error_take();
        fprintf(stderr, "node_case: %s: %s\n", what, why == NULL ? "" : why);
        _exit(97);
    }
}

// ---- one process ----

struct rp_comm_parts node_local_parts(struct rp_arena *const *arena, uint32_t rank, uint32_t ranks,
        const char *name, struct rp_segment *segment)
{
    struct rp_comm_parts parts = {
        .rank = rank,
        .size = ranks,
        .device_id = rp_arena_device(arena[rank]),
        .name = name,
        .member = calloc(ranks, sizeof(struct rp_member)),
        .process = calloc(ranks, sizeof(struct rp_process *)),
        .arena = arena[rank],
        .segment = rp_segment_ref(segment),
        .zero_copy = true,
    };
    need(parts.member != NULL && parts.process != NULL, "calloc");
    for (uint32_t q = 0; q < ranks; q++) {
        parts.process[q] = rp_process_ref(rp_process_self());
        parts.member[q] = (struct rp_member){
            .process = rp_process_self_id(),
            .pid = getpid(),
            .device_id = rp_arena_device(arena[q]),
            .arena_bytes = rp_arena_bytes(arena[q]),
            .host = "here",
        };
    }
    return parts;
}

void node_parts_free(const struct rp_comm_parts *parts)
{
    for (uint32_t q = 0; q < parts->size; q++) {
        rp_process_unref(parts->process[q]);
    }
    rp_segment_unref(parts->segment);
    free(parts->process);
    free(parts->member);
}

void node_local_open(struct node_local *local, uint32_t ranks, uint64_t window_bytes)
{
    struct rp_segment *segment;
    *local = (struct node_local){ .ranks = ranks };
    setenv("REPRISE_DEVICE_MEMORY", "16M", 1);
    for (uint32_t r = 0; r < ranks; r++) {
        need(rp_arena_create((int32_t)r, &local->arena[r]) == RP_OK, "rp_arena_create");
    }
    need(rp_segment_create(ranks, window_bytes, NODE_BASE, &segment) == RP_OK, "rp_segment_create");
    for (uint32_t r = 0; r < ranks; r++) {
        struct rp_comm_parts parts = node_local_parts(local->arena, r, ranks, "local", segment);
        need(rp_comm_create(&parts, &local->comm[r]) == RP_OK, "rp_comm_create");
    }
    rp_segment_unref(segment);
}

void node_local_close(struct node_local *local)
{
    for (uint32_t r = 0; r < local->ranks; r++) {
        if (local->comm[r] != NULL) {
            rp_comm_retire(local->comm[r]);
        }
    }
    for (uint32_t r = 0; r < local->ranks; r++) {
        rp_arena_destroy(local->arena[r]);
    }
}

// ---- several processes ----

// What a process tells the others.
struct hello {
    struct rp_process_id id;
    int64_t pid;
    uint64_t arena_bytes[NODE_RANKS_MAX];
    uint8_t token[RP_SEGMENT_TOKEN_BYTES]; // process 0 only
};

#define FIXED_FDS 4 // page, event, pid, segment; then the arenas
#define FDS_MAX 12

struct child_arg {
    const struct node_shape *shape;
    node_fn *fn;
    void *arg;
    uint32_t process;
    int socket;
};

// All that a process knows of the others.
struct table {
    struct hello hello[NODE_PROCESSES_MAX];
    struct rp_process *process[NODE_PROCESSES_MAX]; // one reference each
};

static void tell(const struct child_arg *child, struct rp_arena *const *arena,
        struct rp_segment *segment, struct hello *hello)
{
    struct rp_process_fds own;
    int fds[FDS_MAX];
    need(rp_process_self_fds(&own) == RP_OK, "rp_process_self_fds");
    fds[0] = own.page_fd;
    fds[1] = own.event_fd;
    fds[2] = child->shape->no_pidfd ? -1 : own.pid_fd;
    fds[3] = segment == NULL ? -1 : rp_segment_fd(segment);
    hello->id = rp_process_self_id();
    hello->pid = getpid();
    for (uint32_t t = 0; t < child->shape->per_process; t++) {
        hello->arena_bytes[t] = rp_arena_bytes(arena[t]);
        fds[FIXED_FDS + t] = rp_arena_fd(arena[t]);
    }
    if (segment != NULL) {
        memcpy(hello->token, rp_segment_token(segment), RP_SEGMENT_TOKEN_BYTES);
    }
    need(fds_send(child->socket, fds, FIXED_FDS + child->shape->per_process, hello, sizeof(*hello)),
            "tell");
}

// Takes what another process told.
static void hear(
        const struct child_arg *child, struct table *table, uint32_t p, struct rp_segment **segment)
{
    int fds[FDS_MAX];
    struct hello *hello = &table->hello[p];
    const struct node_shape *shape = child->shape;
    need(fds_receive(child->socket, fds, FIXED_FDS + shape->per_process, hello, sizeof(*hello)),
            "hear");
    const struct rp_process_fds peer = { fds[0], fds[1], fds[2] };
    need(rp_process_ref_peer(&hello->id, hello->pid, peer, &table->process[p]) == RP_OK, "meet");
    for (uint32_t t = 0; t < shape->per_process; t++) {
        uint8_t *base;
        need(rp_process_map_arena(table->process[p], (int32_t)t, fds[FIXED_FDS + t],
                     hello->arena_bytes[t], &base) == RP_OK,
                "map");
    }
    if (fds[3] >= 0) {
        need(rp_segment_open(
                     fds[3], hello->token, shape->processes * shape->per_process, segment) == RP_OK,
                "rp_segment_open");
    }
}

static struct rp_comm *make_comm(const struct child_arg *child, const struct table *table,
        struct rp_arena *const *arena, struct rp_segment *segment, uint32_t t)
{
    const struct node_shape *shape = child->shape;
    const uint32_t size = shape->processes * shape->per_process;
    struct rp_comm *comm;
    struct rp_comm_parts parts = {
        .rank = child->process * shape->per_process + t,
        .size = size,
        .device_id = (int32_t)t,
        .name = "node",
        .member = calloc(size, sizeof(struct rp_member)),
        .process = calloc(size, sizeof(struct rp_process *)),
        .arena = arena[t],
        .segment = rp_segment_ref(segment),
        .zero_copy = true,
    };
    need(parts.member != NULL && parts.process != NULL, "calloc");
    for (uint32_t q = 0; q < size; q++) {
        const uint32_t p = q / shape->per_process;
        parts.process[q] = rp_process_ref(table->process[p]);
        parts.member[q] = (struct rp_member){
            .process = table->hello[p].id,
            .pid = table->hello[p].pid,
            .device_id = (int32_t)(q % shape->per_process),
            .arena_bytes = table->hello[p].arena_bytes[q % shape->per_process],
            .host = "here",
        };
    }
    need(rp_comm_create(&parts, &comm) == RP_OK, "rp_comm_create");
    return comm;
}

struct rank_thread {
    const struct child_arg *child;
    struct rp_comm *comm;
    pthread_t thread;
    int result;
};

static void *rank_main(void *arg)
{
    struct rank_thread *rank = arg;
    rank->result = rank->child->fn(rank->comm, rank->child->arg);
    return NULL;
}

static int run_ranks(const struct child_arg *child, struct rp_comm *const *comm)
{
    struct rank_thread rank[NODE_RANKS_MAX];
    int result = 0;
    for (uint32_t t = 0; t < child->shape->per_process; t++) {
        rank[t] = (struct rank_thread){ .child = child, .comm = comm[t] };
        need(pthread_create(&rank[t].thread, NULL, rank_main, &rank[t]) == 0, "pthread_create");
    }
    for (uint32_t t = 0; t < child->shape->per_process; t++) {
        pthread_join(rank[t].thread, NULL);
        result = result == 0 ? rank[t].result : result;
    }
    return result;
}

static int process_main(void *arg)
{
    const struct child_arg *child = arg;
    const struct node_shape *shape = child->shape;
    const uint32_t size = shape->processes * shape->per_process;
    static struct table table;
    struct rp_arena *arena[NODE_RANKS_MAX];
    struct rp_comm *comm[NODE_RANKS_MAX];
    struct rp_segment *segment = NULL;
    setenv("REPRISE_DEVICE_MEMORY", "16M", 1);
    for (uint32_t t = 0; t < shape->per_process; t++) {
        need(rp_arena_create((int32_t)t, &arena[t]) == RP_OK, "rp_arena_create");
    }
    if (child->process == 0) {
        need(rp_segment_create(size, shape->window_bytes, NODE_BASE, &segment) == RP_OK, "create");
    }
    table.process[child->process] = rp_process_ref(rp_process_self());
    tell(child, arena, segment, &table.hello[child->process]);
    for (uint32_t p = 0; p < shape->processes; p++) {
        if (p != child->process) {
            hear(child, &table, p, &segment);
        }
    }
    for (uint32_t t = 0; t < shape->per_process; t++) {
        comm[t] = make_comm(child, &table, arena, segment, t);
    }
    rp_segment_unref(segment);
    for (uint32_t p = 0; p < shape->processes; p++) {
        rp_process_unref(table.process[p]);
    }
    const int result = run_ranks(child, comm);
    for (uint32_t t = 0; t < shape->per_process; t++) {
        rp_comm_retire(comm[t]);
    }
    for (uint32_t t = 0; t < shape->per_process; t++) {
        rp_arena_destroy(arena[t]);
    }
    return result;
}

// Passes on what process `from` tells to all others, each of which hears them in rank order.
static bool relay(const struct node_shape *shape, const int *socket)
{
    int fds[NODE_PROCESSES_MAX][FDS_MAX];
    struct hello hello[NODE_PROCESSES_MAX];
    const size_t count = FIXED_FDS + shape->per_process;
    bool well = true;
    for (uint32_t p = 0; p < shape->processes; p++) {
        well &= fds_receive(socket[p], fds[p], count, &hello[p], sizeof(hello[p]));
    }
    for (uint32_t p = 0; well && p < shape->processes; p++) {
        for (uint32_t to = 0; to < shape->processes; to++) {
            well &= to == p || fds_send(socket[to], fds[p], count, &hello[p], sizeof(hello[p]));
        }
        for (size_t i = 0; i < count; i++) {
            close(fds[p][i]); // -1 where there is none
        }
    }
    return well;
}

bool node_run(const struct node_shape *shape, node_fn *fn, void *arg, unsigned timeout_s,
        int result[NODE_PROCESSES_MAX])
{
    int socket[NODE_PROCESSES_MAX];
    pid_t pid[NODE_PROCESSES_MAX];
    for (uint32_t p = 0; p < shape->processes; p++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
            return false;
        }
        struct child_arg child = { shape, fn, arg, p, pair[1] };
        pid[p] = child_start(process_main, &child);
        close(pair[1]);
        socket[p] = pair[0];
    }
    bool well = relay(shape, socket);
    for (uint32_t p = 0; p < shape->processes; p++) {
        result[p] = child_wait(pid[p], timeout_s);
        well &= result[p] == 0;
        close(socket[p]);
    }
    return well;
}
