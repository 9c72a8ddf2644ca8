// Task groups while they are recorded.

#include "capture/task_group.h"

#include <acl/acl_rt.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/capture.h"
#include "capture/task_update.h"

rp_status rp_task_group_admit(
        struct rp_capture *capture, const struct rp_stream *stream, enum rp_insn_kind kind)
{
    if (capture->group == NULL) {
        return RP_OK;
    }
    if (capture->group_stream != stream) {
        capture->group_failure = rp_fail(RP_ETASKGROUPINTR,
                "a task was submitted to stream %d while a task group is open on stream %d of the "
                "same capture",
                stream->id, capture->group_stream->id);
        return rp_capture_invalidate(capture, capture->group_failure);
    }
    if (kind == RP_INSN_KERNEL || kind == RP_INSN_COLLECTIVE) {
        return RP_OK;
    }
    capture->group_failure = rp_fail(RP_ETASKTYPE,
            "stream %d has an open task group, which takes kernels and collectives only; copies, "
            "events, host functions and the like do not belong in it",
            stream->id);
    return capture->group_failure;
}

struct rp_task_group *rp_task_group_of(const struct rp_graph *graph, uint32_t node)
{
    struct rp_task_group *group = graph->root->groups;
    while (group != NULL &&
            (group->graph != graph || node < group->first || node - group->first >= group->count)) {
        group = group->next;
    }
    return group;
}

void rp_task_group_free_all(struct rp_graph *root)
{
    struct rp_task_group *group = root->groups;
    if (group == NULL) {
        return;
    }
    pthread_mutex_lock(&root->context->capture_lock);
    root->groups = NULL;
    while (group != NULL) {
        struct rp_task_group *next = group->next;
        rp_handle_remove(RP_HANDLE_TASK_GROUP, group);
        if (group->update != NULL) {
            rp_update_lose_group(group->update);
        }
        rp_free(group);
        group = next;
    }
    pthread_mutex_unlock(&root->context->capture_lock);
}

/* The capture of `stream` in which a group begins or ends. capture_lock held. */
static rp_status find_capture(
        const char *api, const struct rp_stream *stream, struct rp_capture **out)
{
    // relaxed: changed under the capture_lock.
    if (atomic_load_explicit(&stream->update, memory_order_relaxed) != NULL) {
        return rp_fail(RP_ETASKGROUP,
                "%s: stream %d collects an update of a task group; aclmdlRICaptureTaskUpdateEnd "
                "comes first",
                api, stream->id);
    }
    if (stream->capture == NULL) {
        return rp_fail(RP_ENOTCAPTURED, "%s: stream %d is not capturing", api, stream->id);
    }
    *out = stream->capture;
    return RP_OK;
}

/* capture_lock held. */
static rp_status begin(struct rp_stream *stream)
{
    static const char *const api = "aclmdlRICaptureTaskGrpBegin";
    struct rp_capture *capture = NULL;
    rp_status st = find_capture(api, stream, &capture);
    if (st == RP_OK) {
        st = rp_capture_check_valid(capture, stream);
    }
    if (st != RP_OK) {
        return st;
    }
    if (capture->group != NULL) {
        return rp_fail(RP_ETASKGROUP,
                "%s: a task group is open on stream %d already, and groups do not nest (stream %d)",
                api, capture->group_stream->id, stream->id);
    }
    struct rp_task_group *group = rp_calloc(1, sizeof *group);
    if (group == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory for a task group on stream %d", api, stream->id);
    }
    group->graph = capture->graph;
    group->first = capture->graph->node_count;
    group->lane = stream->capture_lane;
    capture->group = group;
    capture->group_stream = stream;
    capture->group_failure = RP_OK;
    return RP_OK;
}

static rp_status group_begin(aclrtStream handle)
{
    struct rp_stream *stream = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK && handle == NULL) {
        st = rp_fail(RP_EINVAL, "aclmdlRICaptureTaskGrpBegin: stream is NULL");
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&stream->context->capture_lock);
    st = begin(stream);
    pthread_mutex_unlock(&stream->context->capture_lock);
    return st;
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream)
{
    return rp_acl(group_begin(stream));
}

/* What makes an open group bad: a task that was refused, or the end of its capture. */
static rp_status check_group(
        const char *api, const struct rp_capture *capture, const struct rp_stream *stream)
{
    if (capture->group_failure != RP_OK) {
        return rp_fail(capture->group_failure,
                "%s: the task group of stream %d is lost, since a call was refused while it was "
                "open: %s",
                api, stream->id, rp_status_text(capture->group_failure));
    }
    return rp_capture_check_valid(capture, stream);
}

/* The open group leaves the capture, whatever the result. capture_lock held. */
static rp_status close_group(
        const char *api, struct rp_capture *capture, const struct rp_stream *stream, void **out)
{
    struct rp_task_group *group = capture->group;
    rp_status st = check_group(api, capture, stream);
    if (st == RP_OK) {
        st = rp_handle_add(RP_HANDLE_TASK_GROUP, group);
    }
    capture->group = NULL;
    capture->group_stream = NULL;
    capture->group_failure = RP_OK;
    if (st != RP_OK) {
        rp_free(group);
        return st;
    }
    struct rp_graph *graph = capture->graph;
    group->count = graph->node_count - group->first;
    group->next = graph->root->groups;
    graph->root->groups = group;
    *out = group;
    return RP_OK;
}

/* capture_lock held. */
static rp_status end(struct rp_stream *stream, void **out)
{
    static const char *const api = "aclmdlRICaptureTaskGrpEnd";
    struct rp_capture *capture = NULL;
    const rp_status st = find_capture(api, stream, &capture);
    if (st != RP_OK) {
        return st;
    }
    if (capture->group == NULL || capture->group_stream != stream) {
        return rp_fail(RP_ETASKGROUP, "%s: no task group is open on stream %d", api, stream->id);
    }
    return close_group(api, capture, stream, out);
}

static rp_status group_end(aclrtStream handle, aclrtTaskGrp *group)
{
    struct rp_stream *stream = NULL;
    rp_status st = rp_enter();
    if (st == RP_OK && (handle == NULL || group == NULL)) {
        st = rp_fail(RP_EINVAL, "aclmdlRICaptureTaskGrpEnd: %s is NULL",
                handle == NULL ? "stream" : "handle");
    }
    if (group != NULL) {
        *group = NULL;
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, &stream);
    }
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&stream->context->capture_lock);
    st = end(stream, group);
    pthread_mutex_unlock(&stream->context->capture_lock);
    return st;
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle)
{
    return rp_acl(group_end(stream, handle));
}
