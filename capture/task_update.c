// Updates of task groups.
//
//     Begin          run, run ...            End                  in stream order
//     stream->update copies of the tasks     checked against      RP_INSN_APPLY: swapped with what
//                    are collected           the group            the program has, all at once
//
// The program is the truth about what a graph runs: updates change nothing else, and the recording
// catches up before the next freeze (rp_update_adopt). So a queued update needs the program alone,
// and not the graph.

#include "capture/task_update.h"

#include <acl/acl_rt.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/collective_args.h"
#include "capture/expand_cache.h"
#include "capture/task_group.h"
#include "replay/launch.h"

/* One task of the group, and what it becomes. */
struct change {
    uint8_t kind; /* RP_INSN_KERNEL or RP_INSN_COLLECTIVE */
    union {
        struct rp_launch *launch; /* referenced; after the change: the one before */
        struct rp_op op; /* its communicator and lists are held; after the change: the lists of
                            the one before */
    } now;
    union {
        struct rp_insn *insn; /* KERNEL; NULL: the task was disabled */
        struct rp_op *op;     /* COLLECTIVE */
    } at;                     /* in the program */
};

struct rp_update {
    struct rp_stream_update base;
    struct rp_stream *stream;    /* that collects; it drops the update when it ends */
    struct rp_task_group *group; /* NULL: destroyed meanwhile */
    struct change *change;
    uint32_t change_count, change_cap;
    uint64_t submitted; /* tasks in all; of more than the group has only the number is kept */

    /* Once it is queued. */
    struct rp_program *program; /* referenced */
    uint32_t lane;              /* the group's */
    uint32_t begin, end;        /* its instructions, and edges between them */
};

static void free_update(struct rp_update *update)
{
    for (uint32_t i = 0; i < update->change_count; i++) {
        const struct change *change = &update->change[i];
        if (change->kind == RP_INSN_KERNEL) {
            rp_launch_unref(change->now.launch);
        } else {
            const struct rp_op *op = &change->now.op;
            rp_expand_release(op);
            rp_comm_unref(op->comm);
        }
    }
    if (update->program != NULL) {
        rp_program_unref(update->program);
    }
    rp_free(update->change);
    rp_free(update);
}

void rp_update_lose_group(struct rp_update *update)
{
    update->group = NULL;
}

/* The stream runs what it is given again. capture_lock held. */
static void stop_collecting(struct rp_update *update)
{
    if (update->group != NULL) {
        update->group->update = NULL;
    }
    // release [C2]: pairs with the load in rp_stream_submit.
    atomic_store_explicit(&update->stream->submit, &rp_submit_eager, memory_order_release);
    // relaxed: changed under the capture_lock.
    atomic_store_explicit(&update->stream->update, NULL, memory_order_relaxed);
}

static void drop_collecting(struct rp_stream_update *base)
{
    struct rp_update *update = rp_container_of(base, struct rp_update, base);
    stop_collecting(update);
    free_update(update);
}

/* What `stream` collects, NULL: nothing. capture_lock held. */
static struct rp_update *update_of(const struct rp_stream *stream)
{
    // relaxed: changed under the capture_lock.
    struct rp_stream_update *base = atomic_load_explicit(&stream->update, memory_order_relaxed);
    return base == NULL ? NULL : rp_container_of(base, struct rp_update, base);
}

rp_status rp_update_check(const struct rp_stream *stream, const char *what)
{
    // relaxed: only the updating program's own calls look at it.
    if (atomic_load_explicit(&stream->update, memory_order_relaxed) == NULL) {
        return RP_OK;
    }
    return rp_fail(RP_ETASKTYPE,
            "%s cannot go to stream %d between aclmdlRICaptureTaskUpdateBegin and its end; an "
            "update of a task group takes kernels and collectives only",
            what, stream->id);
}

// ---- collecting ----

static rp_status reserve(struct rp_update *update)
{
    struct change *changes = rp_array_room(
            update->change, update->change_count, &update->change_cap, sizeof *changes);
    if (changes == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for an update of more than %u tasks on stream %d",
                update->change_count, update->stream->id);
    }
    update->change = changes;
    return RP_OK;
}

/* capture_lock held. */
static rp_status collect(struct rp_update *update, const struct rp_task *task)
{
    const uint8_t kind = task->insn.kind;
    if (kind != RP_INSN_KERNEL && kind != RP_INSN_COLLECTIVE) {
        return rp_update_check(update->stream, "a task of this kind");
    }
    if (update->group == NULL || update->submitted >= update->group->count) {
        update->submitted++;
        return RP_OK; // told at the end
    }
    const rp_status st = reserve(update);
    if (st != RP_OK) {
        return st;
    }
    struct change *change = &update->change[update->change_count];
    *change = (struct change){ .kind = kind };
    if (kind == RP_INSN_KERNEL) {
        change->now.launch = task->insn.u.kernel.launch;
        rp_launch_ref(change->now.launch);
    } else {
        change->now.op = *task->op;
        rp_comm_ref(task->op->comm);
        rp_expand_hold(task->op);
    }
    update->change_count++;
    update->submitted++;
    return RP_OK;
}

static rp_status update_run(struct rp_stream *stream, const struct rp_task *task)
{
    pthread_mutex_lock(&stream->context->capture_lock);
    struct rp_update *update = update_of(stream);
    if (update != NULL) {
        const rp_status st = collect(update, task);
        pthread_mutex_unlock(&stream->context->capture_lock);
        return st;
    }
    // It ended between the caller's look at the table and here.
    pthread_mutex_unlock(&stream->context->capture_lock);
    return rp_stream_submit(stream, task);
}

static rp_status update_event(struct rp_stream *stream, struct rp_event *event,
        enum rp_event_verb verb, uint32_t flag, uint64_t timeout_ns)
{
    static const char *const verbs[] = { "a record of an event", "a wait for an event",
        "a reset of an event" };
    const rp_status st = rp_update_check(stream, verbs[verb]);
    return st != RP_OK ? st : rp_stream_submit_event(stream, event, verb, flag, timeout_ns);
}

static const struct rp_submit_ops submit_update = {
    .run = update_run,
    .record = update_event,
};

// ---- begin ----

/* capture_lock held. */
static rp_status check_stream(const char *api, const struct rp_stream *stream)
{
    if (stream->capture != NULL) {
        return rp_fail(RP_ESTREAMCAPTURED, "%s: stream %d is capturing", api, stream->id);
    }
    // relaxed: changed under the capture_lock.
    if (atomic_load_explicit(&stream->model, memory_order_relaxed) != NULL) {
        return rp_fail(RP_EBOUND, "%s: stream %d is bound to a graph", api, stream->id);
    }
    return RP_OK;
}

/* capture_lock of the stream's context held, which is the group's too if this succeeds. */
static rp_status check_group(
        const char *api, const struct rp_stream *stream, const struct rp_task_group *group)
{
    if (!rp_handle_live(RP_HANDLE_TASK_GROUP, group)) {
        return rp_fail(RP_EHANDLE, "%s: %p is no task group, or one of a destroyed graph", api,
                (const void *)group);
    }
    const struct rp_graph *root = group->graph->root;
    if (root->context != stream->context) {
        return rp_fail(RP_EGRAPHCTX,
                "%s: the task group is of graph %u, which is of another context than stream %d",
                api, root->id, stream->id);
    }
    if (root->program == NULL) {
        return rp_fail(RP_EMODELCAPTURED,
                "%s: the task group is of graph %u, which is still being captured", api, root->id);
    }
    if (group->update != NULL) {
        return rp_fail(RP_ETASKGROUP,
                "%s: the task group of graph %u is being updated on stream %d already", api,
                root->id, group->update->stream->id);
    }
    return RP_OK;
}

/* capture_lock held. */
static rp_status begin(struct rp_stream *stream, struct rp_task_group *group)
{
    static const char *const api = "aclmdlRICaptureTaskUpdateBegin";
    rp_status st = check_stream(api, stream);
    if (st == RP_OK && update_of(stream) != NULL) {
        st = rp_fail(RP_ETASKGROUP, "%s: stream %d collects an update already", api, stream->id);
    }
    if (st == RP_OK) {
        st = check_group(api, stream, group);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_update *update = rp_calloc(1, sizeof *update);
    if (update == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory for an update on stream %d", api, stream->id);
    }
    update->base.drop = drop_collecting;
    update->stream = stream;
    update->group = group;
    group->update = update;
    // relaxed: looked at under the capture_lock, or by the program's own calls.
    atomic_store_explicit(&stream->update, &update->base, memory_order_relaxed);
    // release [C2]: pairs with the load in rp_stream_submit; `update` is set.
    atomic_store_explicit(&stream->submit, &submit_update, memory_order_release);
    return RP_OK;
}

static rp_status update_begin(aclrtStream handle, aclrtTaskGrp group)
{
    struct rp_stream *stream = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK && (handle == NULL || group == NULL)) {
        st = rp_fail(RP_EINVAL, "aclmdlRICaptureTaskUpdateBegin: %s is NULL",
                handle == NULL ? "stream" : "handle");
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&stream->context->capture_lock);
    st = begin(stream, group);
    pthread_mutex_unlock(&stream->context->capture_lock);
    return st;
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle)
{
    return rp_acl(update_begin(stream, handle));
}

// ---- the change itself, under the baton ----

/* Whether a replay is in the middle of the group: it would see half of the change. */
static bool is_inside(const struct rp_update *update)
{
    const struct rp_run *run = update->program->run;
    if (run->owner == NULL || update->begin == update->end) {
        return false;
    }
    struct rp_lane *lane = &run->lane[update->lane];
    // relaxed: a lane that is parked has `progress`, too.
    const uint32_t state = atomic_load_explicit(&lane->state, memory_order_relaxed);
    if (state == RP_LANE_ENDED || lane->pc < update->begin || lane->pc >= update->end) {
        return false;
    }
    return lane->pc != update->begin || lane->progress != 0 || lane->coll.phase != RP_COLL_TURN;
}

/* What cannot change is not written either: others look at it without the baton. The lists (or the
 * batch, which lies in the place of one) and the table change places, and whoever drops the update
 * releases those before. */
static void change_op(struct rp_op *op, struct rp_op *now)
{
    const struct rp_task_list *const list = op->list;
    const struct rp_task_list *const tail = op->tail;
    const struct rp_counts *const counts = op->counts;
    op->list = now->list;
    now->list = list;
    if (!rp_op_is_pairs(op->record.op)) { // those keep their place
        op->tail = now->tail;
        now->tail = tail;
    }
    if (counts != NULL) {
        op->counts = now->counts;
        now->counts = counts;
        op->record.root = now->record.root; // the table's hash
    }
    op->send = now->send;
    op->recv = now->recv;
    op->record.digest = now->record.digest;
    op->record.count = now->record.count;
    op->record.send_off = now->record.send_off;
    op->record.recv_off = now->record.recv_off;
    op->record.expansion = now->record.expansion;
    op->record.algorithm = now->record.algorithm;
    op->record.determinism = now->record.determinism;
    op->record.buffer_class = now->record.buffer_class;
}

static rp_status apply(void *arg)
{
    struct rp_update *update = arg;
    if (is_inside(update)) {
        return RP_AGAIN;
    }
    for (uint32_t i = 0; i < update->change_count; i++) {
        struct change *change = &update->change[i];
        if (change->kind == RP_INSN_COLLECTIVE) {
            change_op(change->at.op, &change->now.op);
        } else if (change->at.insn != NULL) {
            struct rp_launch *before = change->at.insn->u.kernel.launch;
            change->at.insn->u.kernel.launch = change->now.launch;
            change->now.launch = before;
        }
    }
    return RP_OK;
}

static void drop_queued(void *arg)
{
    free_update(arg);
}

// ---- end ----

static const char *kind_name(uint8_t kind)
{
    return kind == RP_INSN_KERNEL ? "a kernel" : "a collective";
}

/* Whether task `i` may become what was submitted for it, and where it is. */
static rp_status place(const char *api, struct rp_update *update, uint32_t i)
{
    struct change *change = &update->change[i];
    const struct rp_task_group *group = update->group;
    const uint32_t node = group->first + i;
    const uint8_t kind = group->graph->node[node].insn.kind;
    if (kind != change->kind) {
        return rp_fail(RP_ETASKTYPE,
                "%s: task %u of the group of graph %u is %s, and %s was submitted for it on stream "
                "%d",
                api, i, group->graph->root->id, kind_name(kind), kind_name(change->kind),
                update->stream->id);
    }
    if (kind == RP_INSN_KERNEL) {
        change->at.insn = rp_graph_node_insn(group->graph, node);
        return RP_OK;
    }
    change->at.op = rp_graph_node_op(group->graph, node);
    return rp_collective_check_same(api, change->at.op, &change->now.op);
}

/* Where the work of the node at `at` begins: sends and receives may be numbered before. */
static uint32_t begin_of(const struct rp_program *program, uint32_t at)
{
    const struct rp_insn *insn = &program->insn[at];
    uint32_t i = at;
    while (i > 0 && program->insn[i - 1].kind == RP_INSN_EDGE_SIGNAL) {
        i--;
    }
    const bool numbered = insn->kind == RP_INSN_COLLECTIVE && i > 0 &&
                          program->insn[i - 1].kind == RP_INSN_NUMBER &&
                          program->insn[i - 1].index == insn->index;
    return numbered ? i - 1 : at;
}

/* Where the group's instructions are; none if all were disabled. */
static void find_range(struct rp_update *update)
{
    const struct rp_task_group *group = update->group;
    const struct rp_program *program = group->graph->root->program;
    for (uint32_t i = 0; i < group->count; i++) {
        const uint32_t at = group->graph->node[group->first + i].at;
        if (at == RP_NODE_NOWHERE) {
            continue;
        }
        if (update->begin == update->end) {
            update->begin = begin_of(program, at);
        }
        update->end = at + 1;
    }
    while (update->begin != update->end && program->lane_first[update->lane + 1] <= update->begin) {
        update->lane++;
    }
}

/* The collected tasks fit the group; then the program is held. capture_lock held. */
static rp_status prepare(const char *api, struct rp_update *update)
{
    if (update->group == NULL) {
        return rp_fail(RP_EHANDLE,
                "%s: the graph of the task group that stream %d updates was destroyed meanwhile",
                api, update->stream->id);
    }
    const struct rp_graph *root = update->group->graph->root;
    if (update->submitted != update->group->count) {
        return rp_fail(RP_EINTERNAL,
                "%s: the task group of graph %u has %u tasks, stream %d was given %llu", api,
                root->id, update->group->count, update->stream->id,
                (unsigned long long)update->submitted);
    }
    for (uint32_t i = 0; i < update->change_count; i++) {
        const rp_status st = place(api, update, i);
        if (st != RP_OK) {
            return st;
        }
    }
    find_range(update);
    update->program = root->program;
    rp_program_ref(update->program);
    return RP_OK;
}

/* capture_lock held. `*out`: what is to be queued, or freed after a failure; NULL: nothing. */
static rp_status end(struct rp_stream *stream, struct rp_update **out)
{
    static const char *const api = "aclmdlRICaptureTaskUpdateEnd";
    struct rp_update *update = update_of(stream);
    const rp_status st = check_stream(api, stream);
    if (st != RP_OK) {
        return st;
    }
    if (update == NULL) {
        return rp_fail(RP_ETASKGROUP, "%s: stream %d collects no update", api, stream->id);
    }
    *out = update;
    const rp_status prepared = prepare(api, update);
    stop_collecting(update);
    return prepared;
}

/* Without the capture_lock: queueing may step the device. */
static rp_status queue(struct rp_stream *stream, struct rp_update *update)
{
    const struct rp_task task = {
        .insn = { .kind = RP_INSN_APPLY,
                .u.apply = { .apply = apply, .drop = drop_queued, .arg = update } }
    };
    return rp_submit_eager.run(stream, &task);
}

static rp_status update_end(aclrtStream handle)
{
    struct rp_stream *stream = NULL;
    struct rp_update *update = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK && handle == NULL) {
        st = rp_fail(RP_EINVAL, "aclmdlRICaptureTaskUpdateEnd: stream is NULL");
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&stream->context->capture_lock);
    st = end(stream, &update);
    pthread_mutex_unlock(&stream->context->capture_lock);
    if (st == RP_OK) {
        st = queue(stream, update);
    }
    if (st != RP_OK && update != NULL) {
        free_update(update);
    }
    return st;
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream)
{
    return rp_acl(update_end(stream));
}

// ---- the recording ----

void rp_update_adopt(struct rp_graph *graph)
{
    for (const struct rp_task_group *group = graph->groups; group != NULL; group = group->next) {
        for (uint32_t i = 0; i < group->count; i++) {
            struct rp_node *node = &group->graph->node[group->first + i];
            const struct rp_insn *insn = rp_graph_node_insn(group->graph, group->first + i);
            if (node->insn.kind == RP_INSN_KERNEL && insn != NULL) {
                rp_launch_ref(insn->u.kernel.launch);
                rp_launch_unref(node->insn.u.kernel.launch);
                node->insn.u.kernel.launch = insn->u.kernel.launch;
            }
        }
    }
}
