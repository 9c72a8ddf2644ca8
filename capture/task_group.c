// Task groups while they are recorded.

#include "capture/task_group.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "capture/capture.h"

rp_status rp_task_group_admit(
        struct rp_capture *capture, const struct rp_stream *stream, enum rp_insn_kind kind)
{
    if (capture->group == NULL) {
        return RP_OK;
    }
    if (capture->group_stream != stream) {
        return rp_capture_invalidate(capture,
                rp_fail(RP_ETASKGROUPINTR,
                        "a task was submitted to stream %d while a task group is open on stream %d "
                        "of the same capture",
                        stream->id, capture->group_stream->id));
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

void rp_task_group_free_all(struct rp_graph *root)
{
    struct rp_task_group *group;
    while ((group = root->groups) != NULL) {
        root->groups = group->next;
        rp_handle_remove(RP_HANDLE_TASK_GROUP, group);
        rp_free(group);
    }
}
