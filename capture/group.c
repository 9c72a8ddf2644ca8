// Groups: what a thread records, and the calls that begin and end one.

#include "capture/group.h"

#include <hccl/hccl_comm.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_destroy.h"
#include "capture/comm_extra.h"
#include "capture/group_run.h"

// A thread's groups. On the heap, and freed when the thread ends.
struct group {
    uint32_t depth; // starts without their ends; recording while it is not 0
    struct rp_group_record record;
    rp_status refused;     // the first call that failed, or RP_OK
    uint32_t refused_call; // its number
    char sentence[RP_ERROR_SENTENCE_MAX];
};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_made;

static _Thread_local struct group *self;

// ---- the record ----

static void record_init(struct rp_group_record *record)
{
    rp_list_init(&record->calls);
    rp_list_init(&record->inits);
    rp_list_init(&record->destroys);
    record->count = 0;
}

static void record_clear(struct rp_group_record *record)
{
    rp_list_each(link, &record->calls)
    {
        struct rp_group_call *call = rp_container_of(link, struct rp_group_call, link);
        rp_comm_unref(call->comm);
        rp_free(call);
    }
    rp_list_each(link, &record->inits)
    {
        rp_free(rp_container_of(link, struct rp_group_init, link));
    }
    rp_list_each(link, &record->destroys)
    {
        struct rp_group_destroy *destroy = rp_container_of(link, struct rp_group_destroy, link);
        rp_comm_unref(destroy->comm);
        rp_free(destroy);
    }
    record_init(record);
}

// ---- the thread ----

static void thread_ends(void *arg)
{
    struct group *group = arg;
    self = NULL;
    record_clear(&group->record);
    rp_free(group);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, thread_ends) == 0;
}

static struct group *group_of_thread(void)
{
    if (self != NULL) {
        return self;
    }
    pthread_once(&key_once, make_key);
    struct group *group = key_made ? rp_calloc(1, sizeof(*group)) : NULL;
    if (group == NULL) {
        return NULL;
    }
    if (pthread_setspecific(key, group) != 0) {
        rp_free(group);
        return NULL;
    }
    record_init(&group->record);
    self = group;
    return group;
}

bool rp_group_is_open(void)
{
    return self != NULL && self->depth != 0;
}

rp_status rp_group_note(rp_status st)
{
    if (st != RP_OK && rp_group_is_open()) {
        self->record.count++;
        if (self->refused == RP_OK) {
            self->refused = st;
            self->refused_call = self->record.count;
            rp_error_newest(self->sentence, sizeof(self->sentence));
        }
    }
    return st;
}

// ---- recording ----

// The arrays of a call, of `length` elements each.
struct arrays {
    const uint64_t **at[4];
    uint32_t count;
    size_t length;
};

static void find_arrays(struct rp_op_call *call, uint32_t ranks, struct arrays *arrays)
{
    *arrays = (struct arrays){ .length = ranks };
    if (call->op == RP_OP_ALLTOALL_VC) {
        arrays->length = (size_t)ranks * ranks;
        arrays->at[arrays->count++] = &call->matrix;
        return;
    }
    if (!rp_op_is_uneven(call->op)) {
        return;
    }
    arrays->at[arrays->count++] = &call->blocks.count;
    arrays->at[arrays->count++] = &call->blocks.displacement;
    if (call->op == RP_OP_ALLTOALL_V) {
        arrays->at[arrays->count++] = &call->recv_blocks.count;
        arrays->at[arrays->count++] = &call->recv_blocks.displacement;
    }
}

// A NULL stays one: what it means is checked with everything else.
static void copy_arrays(const struct arrays *arrays, uint64_t *room)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        const uint64_t *from = *arrays->at[i];
        if (from != NULL) {
            memcpy(room, from, arrays->length * sizeof(*room));
            *arrays->at[i] = room;
            room += arrays->length;
        }
    }
}

static rp_status check_handles(const struct rp_op_call *call)
{
    const char *name = call->stream == NULL ? "stream" : call->comm == NULL ? "comm" : NULL;
    return name == NULL ? RP_OK : rp_fail(RP_ENULL, "%s: %s is NULL", call->api, name);
}

// `comm` is the communicator of the call.
static rp_status add_call(const struct rp_op_call *call, struct rp_comm *comm)
{
    struct rp_op_call copy = *call;
    struct arrays arrays;
    find_arrays(&copy, comm->size, &arrays);
    struct rp_group_call *item =
            rp_calloc(1, sizeof(*item) + arrays.count * arrays.length * sizeof(item->array[0]));
    if (item == NULL) {
        struct rp_stream *stream = rp_stream_from_handle(call->stream);
        const rp_status st =
                rp_fail(RP_ENOMEM, "%s: no memory to record the call in a group", call->api);
        return stream == NULL ? st : rp_op_lose_capture(stream, st);
    }
    copy_arrays(&arrays, item->array);
    rp_text_copy(item->api, sizeof(item->api), call->api);
    copy.api = item->api;
    if (copy.receive != NULL) {
        item->receive = *copy.receive;
        copy.receive = &item->receive;
    }
    item->call = copy;
    item->number = self->record.count + 1;
    item->comm = comm;
    rp_comm_ref(comm);
    rp_list_push_back(&self->record.calls, &item->link);
    return RP_OK;
}

rp_status rp_group_add(const struct rp_op_call *call)
{
    struct rp_comm *comm = NULL;
    rp_status st = check_handles(call);
    st = st != RP_OK ? st : rp_comm_call_begin(call->api, call->comm, &comm);
    if (st != RP_OK) {
        return st;
    }
    st = add_call(call, comm);
    rp_comm_call_end(comm);
    self->record.count += st == RP_OK;
    return st;
}

static bool moves_something(const struct rp_op_call *call)
{
    return call->count != 0 && (call->op == RP_OP_SEND ? call->send : call->recv) != NULL;
}

rp_status rp_group_add_batch(const struct rp_op_call *calls, uint32_t count)
{
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_begin("HcclBatchSendRecv", calls[0].comm, &comm);
    if (st != RP_OK) {
        return st;
    }
    for (uint32_t i = 0; st == RP_OK && i < count; i++) {
        st = moves_something(&calls[i]) ? add_call(&calls[i], comm) : RP_OK;
    }
    rp_comm_call_end(comm);
    self->record.count += st == RP_OK;
    return st;
}

rp_status rp_group_add_init(const char *api, const struct rp_join_request *request,
        const struct rp_algo_config *algo, HcclComm *comm)
{
    struct rp_group_init *item = rp_calloc(1, sizeof(*item));
    if (item == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory to record the call in a group", api);
    }
    item->api = api;
    item->request = *request;
    item->algo = *algo;
    item->comm = comm;
    memcpy(item->root_info, request->root_info, sizeof(item->root_info));
    item->request.root_info = item->root_info;
    item->number = ++self->record.count;
    rp_list_push_back(&self->record.inits, &item->link);
    return RP_OK;
}

rp_status rp_group_add_destroy(HcclComm handle)
{
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_destroy_find(handle, &comm);
    if (st != RP_OK) {
        return st;
    }
    rp_list_each(link, &self->record.destroys)
    {
        const struct rp_group_destroy *other = rp_container_of(link, struct rp_group_destroy, link);
        if (other->comm == comm) {
            st = rp_fail(RP_EPARAM,
                    "HcclCommDestroy: call %" PRIu32 " of the group destroys communicator %s "
                    "already",
                    other->number, comm->name);
            rp_comm_unref(comm);
            return st;
        }
    }
    struct rp_group_destroy *item = rp_calloc(1, sizeof(*item));
    if (item == NULL) {
        rp_comm_unref(comm);
        return rp_fail(RP_ENOMEM, "HcclCommDestroy: no memory to record the call in a group");
    }
    item->comm = comm;
    item->number = ++self->record.count;
    rp_list_push_back(&self->record.destroys, &item->link);
    return RP_OK;
}

// ---- the calls ----

static rp_status start(void)
{
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    struct group *group = group_of_thread();
    if (group == NULL) {
        return rp_fail(RP_ENOMEM, "HcclGroupStart: no memory for the thread's group");
    }
    if (group->depth == UINT32_MAX) {
        return rp_fail(RP_ENORES, "HcclGroupStart: %" PRIu32 " groups are open", group->depth);
    }
    group->depth++;
    return RP_OK;
}

// What waits runs callbacks on this thread, which may have groups of their own: the record is taken
// out first.
static rp_status issue(struct group *group)
{
    struct rp_group_record record;
    rp_status st = group->refused;
    record_init(&record);
    rp_list_splice_back(&record.calls, &group->record.calls);
    rp_list_splice_back(&record.inits, &group->record.inits);
    rp_list_splice_back(&record.destroys, &group->record.destroys);
    record.count = group->record.count;
    group->record.count = 0;
    group->refused = RP_OK;
    st = st == RP_OK ? rp_group_run(&record)
                     : rp_group_fail(st, group->refused_call, NULL, group->sentence);
    record_clear(&record);
    return st;
}

static rp_status end(void)
{
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (!rp_group_is_open()) {
        return rp_fail(RP_ENOTSUP, "HcclGroupEnd: this thread has not called HcclGroupStart");
    }
    return --self->depth == 0 ? issue(self) : RP_OK;
}

static rp_status status_get(bool *out)
{
    const rp_status st = rp_enter();
    if (st == RP_OK && out == NULL) {
        return rp_fail(RP_ENULL, "HcclGroupStatusGet: isGroupEnabled is NULL");
    }
    if (st == RP_OK) {
        *out = rp_group_is_open();
    }
    return st;
}

HcclResult HcclGroupStart(void)
{
    return (HcclResult)rp_hccl(start());
}

HcclResult HcclGroupEnd(void)
{
    return (HcclResult)rp_hccl(end());
}

HcclResult HcclGroupStatusGet(bool *isGroupEnabled)
{
    return (HcclResult)rp_hccl(status_get(isGroupEnabled));
}
