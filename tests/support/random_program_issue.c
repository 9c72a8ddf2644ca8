// Submits the tasks of a random program: the same calls whether the streams capture or not, but for
// conditionals and for events of the outside.

#include "support/random_program_run.h"

#include <pthread.h>
#include <reprise/kernel.h>
#include <string.h>

aclrtStream random_stream(const struct random_runner *r, unsigned lane)
{
    const unsigned stream = r->program->lane[lane].stream;
    return r->building != NULL ? r->building[stream] : r->stream[stream];
}

void random_hop(struct random_runner *r, unsigned from, unsigned to)
{
    aclrtEvent event = r->hop[r->hops++ % RANDOM_HOPS];
    if (from != to) {
        must(aclrtRecordEvent(event, r->stream[from]));
        must(aclrtStreamWaitEvent(r->stream[to], event));
    }
}

// ---- data ----

static void run_call(void *arg)
{
    const struct random_call *call = arg;
    if (call->slow) {
        rank_sleep_us(60);
    }
    random_apply(call->function, call->to, call->from, call->with, call->bytes, 0, 1);
}

// Before anything runs: a function of an earlier run may still be at it when the next is submitted.
void random_prepare_calls(struct random_runner *r)
{
    for (unsigned i = 0; i < r->program->tasks; i++) {
        const struct random_task *task = &r->program->task[i];
        const struct random_args *args = &task->args[0];
        r->call[i] = (struct random_call){
            .function = (enum random_function)task->function,
            .to = random_address(r, &args->to, false),
            .from = random_address(r, &args->from, false),
            .with = random_address(r, &args->with, false),
            .bytes = args->to.bytes,
            .slow = task->value == 0,
        };
    }
}

static void run_kernel(void *args, uint32_t block, uint32_t blocks)
{
    const struct random_call *call = args;
    random_apply(call->function, call->to, call->from, call->with, call->bytes, block, blocks);
}

// All ranks of a process share it.
static aclrtFuncHandle kernel;
static aclError kernel_answer;

static void register_kernel(void)
{
    kernel_answer = reprise_kernel_register("random_apply", run_kernel, &kernel);
}

aclrtFuncHandle random_kernel(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_kernel);
    must(kernel_answer);
    return kernel;
}

struct random_call random_kernel_call(const struct random_runner *r, const struct random_task *task,
        const struct random_args *args, bool graph)
{
    return (struct random_call){
        .function = (enum random_function)task->function,
        .to = random_address(r, &args->to, graph),
        .from = random_address(r, &args->from, graph),
        .with = random_address(r, &args->with, graph),
        .bytes = args->to.bytes,
    };
}

static void issue_kernel(struct random_runner *r, const struct random_task *task,
        const struct random_args *args, bool graph, aclrtStream stream)
{
    struct random_call call = random_kernel_call(r, task, args, graph);
    must(aclrtLaunchKernelWithHostArgs(
            r->kernel, args->count, stream, NULL, &call, sizeof(call), NULL, 0));
    memset(&call, 0xee, sizeof(call)); // it has been copied
}

static void issue_copy(struct random_runner *r, const struct random_task *task,
        const struct random_args *args, bool graph, aclrtStream stream)
{
    const struct random_buffer *buffer = r->program->buffer;
    const aclrtMemcpyKind kind =
            buffer[args->from.buffer].memory == RANDOM_PINNED ? ACL_MEMCPY_HOST_TO_DEVICE
            : buffer[args->to.buffer].memory == RANDOM_PINNED ? ACL_MEMCPY_DEVICE_TO_HOST
                                                              : ACL_MEMCPY_DEVICE_TO_DEVICE;
    uint8_t *to = random_address(r, &args->to, graph);
    const uint8_t *from = random_address(r, &args->from, graph);
    if (task->kind == RANDOM_COPY) {
        must(aclrtMemcpyAsync(to, args->to.bytes, from, args->to.bytes, kind, stream));
    } else {
        must(aclrtMemcpy2dAsync(to, args->to.bytes / task->height, from,
                args->from.bytes / task->height, args->count, task->height, kind, stream));
    }
}

static void issue_collective(struct random_runner *r, const struct random_task *task,
        const struct random_args *args, aclrtStream stream)
{
    const struct random_range from = random_send(r->program, task, args, r->rank->id);
    const struct random_range to = random_recv(r->program, task, args, r->rank->id);
    const HcclDataType dtype = (HcclDataType)task->dtype;
    const HcclReduceOp reduce = (HcclReduceOp)task->reduce;
    HcclComm comm = r->comm[task->comm];
    if (comm == NULL) {
        return; // not a member
    }
    const struct oracle_call call = random_oracle_call(r->program, task, args);
    const struct oracle_table table = oracle_table(&call); // of no use to the others
    const unsigned own = random_comm_rank(task->comm, r->program->ranks, r->rank->id);
    void *send = random_address(r, &from, false);
    void *recv = random_address(r, &to, false);
    switch ((enum random_op)task->op) {
    case RANDOM_ALL_REDUCE:
        must(HcclAllReduce(send, recv, args->count, dtype, reduce, comm, stream));
        break;
    case RANDOM_REDUCE_SCATTER:
        must(HcclReduceScatter(send, recv, args->count, dtype, reduce, comm, stream));
        break;
    case RANDOM_ALL_GATHER:
        must(HcclAllGather(send, recv, args->count, dtype, comm, stream));
        break;
    case RANDOM_BROADCAST:
        must(HcclBroadcast(recv, args->count, dtype, task->root, comm, stream));
        break;
    case RANDOM_REDUCE:
        must(HcclReduce(send, recv, args->count, dtype, reduce, task->root, comm, stream));
        break;
    case RANDOM_SCATTER:
        must(HcclScatter(send, recv, args->count, dtype, task->root, comm, stream));
        break;
    case RANDOM_ALLTOALL:
        must(HcclAlltoAll(send, args->count, dtype, recv, args->count, dtype, comm, stream));
        break;
    case RANDOM_ALL_GATHER_V:
        must(HcclAllGatherV(
                send, table.count[own], recv, table.count, table.place, dtype, comm, stream));
        break;
    case RANDOM_REDUCE_SCATTER_V:
        must(HcclReduceScatterV(send, table.count, table.place, recv, table.count[own], dtype,
                reduce, comm, stream));
        break;
    case RANDOM_BARRIER:
        must(HcclBarrier(comm, stream));
        break;
    }
}

void random_issue_data(
        struct random_runner *r, unsigned index, unsigned variant, bool graph, aclrtStream stream)
{
    const struct random_task *task = &r->program->task[index];
    const struct random_args *args = &task->args[variant];
    void *to = random_address(r, &args->to, graph);
    switch (task->kind) {
    case RANDOM_COLLECTIVE:
        issue_collective(r, task, args, stream);
        break;
    case RANDOM_COPY:
    case RANDOM_COPY_2D:
        issue_copy(r, task, args, graph, stream);
        break;
    case RANDOM_FILL:
        must(aclrtMemsetAsync(to, args->to.bytes, (int32_t)task->value, args->to.bytes, stream));
        break;
    case RANDOM_FILL_32:
        must(aclrtMemsetD32Async(to, args->to.bytes, task->value, args->to.bytes / 4, stream));
        break;
    case RANDOM_KERNEL:
        issue_kernel(r, task, args, graph, stream);
        break;
    default:
        must(r->program->served && r->building == NULL
                        ? aclrtLaunchCallback(run_call, &r->call[index], ACL_CALLBACK_BLOCK, stream)
                        : aclrtLaunchHostFunc(stream, run_call, &r->call[index]));
        break;
    }
}

// ---- order ----

static void issue_outside_record(struct random_runner *r, const struct random_task *task)
{
    // Each run of a segment, eager or replayed, looks at an event of its own.
    for (unsigned kind = 0; kind < 2; kind++) {
        must(aclrtRecordEvent(
                r->outside[kind][task->event - RANDOM_EVENTS], random_stream(r, task->lane)));
    }
}

static void issue_outside_wait(struct random_runner *r, const struct random_task *task)
{
    unsigned i = task->partner;
    while (r->program->task[i].kind != RANDOM_SEGMENT) {
        i--;
    }
    const unsigned segment = r->program->task[i].value;
    must(aclrtStreamWaitEvent(random_stream(r, task->lane),
            r->outside[r->replayed[segment]][task->event - RANDOM_EVENTS]));
}

static void issue_external(struct random_runner *r, const struct random_task *task, bool graph)
{
    aclrtEvent event = r->outside[graph][task->event - RANDOM_EVENTS];
    aclrtStream stream = random_stream(r, task->lane);
    if (task->kind == RANDOM_EXTERNAL_RECORD) {
        must(aclrtRecordEventWithFlag(
                event, stream, graph ? ACL_EVENT_RECORD_EXTERNAL : ACL_EVENT_RECORD_DEFAULT));
    } else {
        must(aclrtStreamWaitEventWithFlag(
                stream, event, 0, graph ? ACL_EVENT_WAIT_EXTERNAL : ACL_EVENT_WAIT_DEFAULT));
    }
}

static void issue_order(struct random_runner *r, unsigned index, bool graph)
{
    const struct random_task *task = &r->program->task[index];
    const bool outside = task->event >= RANDOM_EVENTS;
    aclrtStream stream = random_stream(r, task->lane);
    switch (task->kind) {
    case RANDOM_RECORD:
        if (outside) {
            issue_outside_record(r, task);
        } else {
            must(aclrtRecordEvent(
                    r->building != NULL ? random_flag(r, index) : r->event[task->event], stream));
        }
        break;
    case RANDOM_WAIT:
        if (outside) {
            issue_outside_wait(r, task);
        } else {
            must(aclrtStreamWaitEvent(stream,
                    r->building != NULL ? random_flag(r, task->partner) : r->event[task->event]));
        }
        break;
    case RANDOM_EXTERNAL_RECORD:
    case RANDOM_EXTERNAL_WAIT:
        issue_external(r, task, graph);
        break;
    case RANDOM_VALUE_WRITE:
        must(aclrtValueWrite(r->address[task->word], task->value, 0, stream));
        break;
    case RANDOM_VALUE_WAIT:
        must(aclrtValueWait(r->address[task->word], task->value, task->flag, stream));
        break;
    case RANDOM_NOTIFY_RECORD:
        must(aclrtRecordNotify(r->notify[task->event], stream));
        break;
    case RANDOM_NOTIFY_WAIT:
        must(aclrtWaitAndResetNotify(r->notify[task->event], stream, 0));
        break;
    case RANDOM_GROUP:
    case RANDOM_GROUP_END:
        if (graph) {
            random_issue_group(r, task);
        }
        break;
    default:
        break;
    }
}

// ---- all ----

void random_issue(struct random_runner *r, unsigned first, unsigned end, unsigned round, bool graph)
{
    const struct random_program *p = r->program;
    for (unsigned i = first; i < end && (!graph || i < r->cut); i++) {
        const struct random_task *task = &p->task[i];
        if ((task->ranks >> r->rank->id & 1) == 0 || (task->disabled && !graph)) {
            continue;
        }
        if (task->kind >= RANDOM_COLLECTIVE && task->kind <= RANDOM_KERNEL) {
            random_issue_data(
                    r, i, random_variant(p, task, round), graph, random_stream(r, task->lane));
        } else if (task->kind == RANDOM_COND) {
            random_issue_cond(r, i, round, graph);
            i = task->partner;
        } else {
            issue_order(r, i, graph);
        }
    }
}

aclError random_capture_part(struct random_runner *r, unsigned first, aclmdlRI *graph)
{
    aclrtStream stream = random_stream(r, r->program->task[first].lane);
    const unsigned end = random_block_end(r->program, first);
    must(aclmdlRICaptureBegin(stream, (aclmdlRICaptureMode)r->program->mode));
    random_cond_handles(r, first + 1, end);
    random_issue(r, first + 1, end, 0, true);
    return aclmdlRICaptureEnd(stream, graph);
}

aclmdlRI random_capture(struct random_runner *r, unsigned first)
{
    aclmdlRI graph = NULL;
    must(random_capture_part(r, first, &graph));
    random_disable(r, first, graph);
    return graph;
}
