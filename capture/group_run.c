// What HcclGroupEnd does: everything checked, everything issued, then waited for.

#include "capture/group_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/comm_attempt.h"
#include "capture/comm_destroy.h"
#include "capture/comm_extra.h"
#include "capture/p2p.h"
#include "replay/batch.h"
#include "replay/device.h"
#include "replay/stream.h"

// The sends and receives of one communicator.
struct merged {
    struct rp_comm *comm;
    const struct rp_group_call *first; // on whose stream they run
    uint32_t filled;
    struct rp_batch *batch;
    struct rp_op op;
};

// The first failure, in words.
struct failure {
    rp_status st;
    uint32_t number; // of the call; 0: none of one call
    const char *api;
    char sentence[RP_ERROR_SENTENCE_MAX];
};

struct run {
    struct rp_group_record *record;
    struct merged *merged;
    uint32_t merges;
    struct rp_group_init **init; // those of one root info side by side
    struct rp_attempt *attempt;  // [inits], in that order
    HcclComm *made;              // [inits]
    uint32_t inits;
    struct rp_comm **destroy;
    uint32_t destroys;
    struct failure failure;
};

static struct rp_group_call *call_of(struct rp_list *link)
{
    return rp_container_of(link, struct rp_group_call, link);
}

// ---- what went wrong ----

rp_status rp_group_fail(rp_status st, uint32_t number, const char *api, const char *sentence)
{
    const size_t length = api == NULL ? 0 : strlen(api);
    const char *text = sentence[0] == '\0' ? rp_status_text(st) : sentence;
    if (number == 0) {
        return rp_fail(st, "HcclGroupEnd: %s", text);
    }
    if (strncmp(text, length == 0 ? "" : api, length) == 0) {
        return rp_fail(st, "HcclGroupEnd: call %" PRIu32 ", %s", number, text);
    }
    return rp_fail(st, "HcclGroupEnd: call %" PRIu32 ", %s: %s", number, api, text);
}

static void keep(
        struct run *run, rp_status st, uint32_t number, const char *api, const char *sentence)
{
    struct failure *failure = &run->failure;
    if (st != RP_OK && failure->st == RP_OK) {
        failure->st = st;
        failure->number = number;
        failure->api = api;
        rp_text_copy(failure->sentence, sizeof(failure->sentence), sentence);
    }
}

// ---- checking ----

static bool runs_at_once(const struct rp_stream *stream)
{
    // acquire: pairs with capture's stores at the begin and end of an update.
    return !rp_stream_records(stream) &&
           atomic_load_explicit(&stream->update, memory_order_acquire) == NULL;
}

static struct merged *merged_of(struct run *run, const struct rp_comm *comm)
{
    for (uint32_t i = 0; i < run->merges; i++) {
        if (run->merged[i].comm == comm) {
            return &run->merged[i];
        }
    }
    return NULL;
}

static rp_status make_room(struct run *run)
{
    uint32_t pairs = 0;
    rp_list_each(link, &run->record->calls)
    {
        pairs += rp_op_is_pairs(call_of(link)->call.op);
    }
    rp_list_each(link, &run->record->inits)
    {
        run->inits++;
    }
    rp_list_each(link, &run->record->destroys)
    {
        run->destroys++;
    }
    // One more: none of them is NULL for want of calls.
    run->merged = rp_calloc(pairs + 1, sizeof(*run->merged));
    run->init = rp_calloc(run->inits + 1, sizeof(struct rp_group_init *));
    run->attempt = rp_calloc(run->inits + 1, sizeof(*run->attempt));
    run->made = rp_calloc(run->inits + 1, sizeof(*run->made));
    run->destroy = rp_calloc(run->destroys + 1, sizeof(struct rp_comm *));
    if (run->merged == NULL || run->init == NULL || run->attempt == NULL || run->made == NULL ||
            run->destroy == NULL) {
        return rp_fail(
                RP_ENOMEM, "no memory for the %" PRIu32 " calls of the group", run->record->count);
    }
    return RP_OK;
}

// The batch that the call's communicator has in this group, with room for all its items.
static rp_status find_merged(struct run *run, const struct rp_group_call *call, struct merged **out)
{
    struct merged *merged = merged_of(run, call->comm);
    uint32_t items = 0;
    *out = merged;
    if (merged != NULL) {
        return RP_OK;
    }
    rp_list_each(link, &run->record->calls)
    {
        const struct rp_group_call *other = call_of(link);
        items += other->comm == call->comm && rp_op_is_pairs(other->call.op);
    }
    merged = &run->merged[run->merges];
    *merged = (struct merged){ .comm = call->comm, .first = call };
    const rp_status st = rp_batch_create(items, &merged->batch);
    run->merges += st == RP_OK;
    *out = merged;
    return st;
}

// Of a communicator's sends and receives either all are recorded or none is.
static rp_status check_merge(const struct rp_group_call *first, const struct rp_group_call *call)
{
    const bool records = !runs_at_once(call->stream);
    if (records == !runs_at_once(first->stream)) {
        return RP_OK;
    }
    return rp_fail(RP_EPARAM,
            "stream %" PRId32 " %s, and stream %" PRId32 ", on which the group's sends and "
            "receives on communicator %s run, %s",
            call->stream->id, records ? "records" : "does not record", first->stream->id,
            call->comm->name, records ? "does not" : "does");
}

static rp_status merge(struct run *run, struct rp_group_call *call)
{
    struct merged *merged = NULL;
    struct rp_pair_item item;
    rp_status st = rp_comm_status(call->comm);
    st = st != RP_OK ? st : rp_batch_item(&call->call, call->comm, &item);
    st = st != RP_OK ? st : find_merged(run, call, &merged);
    st = st != RP_OK ? st : check_merge(merged->first, call);
    if (st != RP_OK) {
        return st;
    }
    merged->batch->item[merged->filled++] = item;
    return merged->filled == merged->batch->count
                   ? rp_batch_op(call->comm, merged->batch, &merged->op)
                   : RP_OK;
}

static rp_status prepare_call(struct run *run, struct rp_group_call *call)
{
    struct rp_comm *comm = NULL;
    rp_status st = rp_comm_call_begin(call->api, call->call.comm, &comm);
    if (st != RP_OK) {
        return st;
    }
    call->begun = true;
    call->nothing = rp_op_is_empty(&call->call, comm);
    if (call->nothing) {
        return RP_OK;
    }
    st = rp_op_stream(&call->call, comm, &call->stream);
    if (st == RP_OK && rp_thread_in_callback() && runs_at_once(call->stream)) {
        st = rp_fail(
                RP_ECALLBACK, "a callback may not end a group whose streams it would wait for");
    }
    if (st != RP_OK) {
        return st;
    }
    return rp_op_is_pairs(call->call.op) ? merge(run, call)
                                         : rp_op_make(&call->call, comm, &call->op);
}

// A capture that went on without the group's tasks would end as a graph that lacks them.
static void lose_captures(struct run *run)
{
    rp_list_each(link, &run->record->calls)
    {
        struct rp_stream *stream = rp_stream_from_handle(call_of(link)->call.stream);
        if (stream != NULL) {
            run->failure.st = rp_op_lose_capture(stream, run->failure.st);
        }
    }
}

static void prepare_calls(struct run *run)
{
    struct rp_error_capture capture;
    rp_list_each(link, &run->record->calls)
    {
        struct rp_group_call *call = call_of(link);
        rp_error_capture_begin(&capture);
        const rp_status st = prepare_call(run, call);
        rp_error_capture_end(&capture);
        if (st != RP_OK) {
            keep(run, st, call->number, call->api, capture.sentence);
            return;
        }
    }
}

// By root info: the ranks of one communicator are waited for together.
static void sort_inits(struct run *run)
{
    uint32_t count = 0;
    rp_list_each(link, &run->record->inits)
    {
        struct rp_group_init *init = rp_container_of(link, struct rp_group_init, link);
        uint32_t place = count;
        for (uint32_t i = 0; i < count; i++) {
            if (memcmp(run->init[i]->root_info, init->root_info, sizeof(init->root_info)) == 0) {
                place = i + 1;
            }
        }
        memmove(&run->init[place + 1], &run->init[place], (count - place) * sizeof(run->init[0]));
        run->init[place] = init;
        count++;
    }
}

static void check_inits(struct run *run)
{
    struct rp_error_capture capture;
    rp_error_capture_begin(&capture);
    const rp_status st = run->inits == 0 ? RP_OK : rp_attempt_check_thread(run->init[0]->api);
    rp_error_capture_end(&capture);
    if (st != RP_OK) {
        keep(run, st, run->init[0]->number, run->init[0]->api, capture.sentence);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct merged *one = a;
    const struct merged *other = b;
    return strcmp(one->comm->name, other->comm->name);
}

static rp_status prepare(struct run *run)
{
    struct rp_error_capture capture;
    rp_error_capture_begin(&capture);
    const rp_status st = make_room(run);
    rp_error_capture_end(&capture);
    keep(run, st, 0, NULL, capture.sentence);
    if (st == RP_OK) {
        prepare_calls(run);
        qsort(run->merged, run->merges, sizeof(run->merged[0]), by_name);
        sort_inits(run);
        check_inits(run);
    }
    if (run->failure.st == RP_ENOMEM) {
        lose_captures(run);
    }
    return run->failure.st;
}

// ---- issuing ----

static void submit(struct run *run, const struct rp_group_call *call, const struct rp_op *op)
{
    struct rp_error_capture capture;
    const struct rp_task task = { .insn = { .kind = RP_INSN_COLLECTIVE }, .op = op };
    rp_error_capture_begin(&capture);
    const rp_status st = rp_stream_submit(call->stream, &task);
    rp_error_capture_end(&capture);
    keep(run, st, call->number, call->api, capture.sentence);
}

static void submit_calls(struct run *run)
{
    rp_list_each(link, &run->record->calls)
    {
        const struct rp_group_call *call = call_of(link);
        if (!call->nothing && !rp_op_is_pairs(call->call.op)) {
            rp_op_log(&call->call, call->comm, call->stream);
            submit(run, call, &call->op);
        }
    }
    for (uint32_t i = 0; i < run->merges; i++) {
        submit(run, run->merged[i].first, &run->merged[i].op);
    }
}

// What was made ready, or its half: calls find the communicators free again.
static void let_go(struct run *run)
{
    for (uint32_t i = 0; i < run->merges; i++) {
        rp_batch_unref(run->merged[i].batch);
    }
    rp_list_each(link, &run->record->calls)
    {
        struct rp_group_call *call = call_of(link);
        if (call->begun) {
            rp_comm_call_end(call->comm);
            call->begun = false;
        }
    }
}

static void await_streams(struct run *run)
{
    rp_list_each(link, &run->record->calls)
    {
        const struct rp_group_call *call = call_of(link);
        if (call->nothing || !runs_at_once(call->stream)) {
            continue;
        }
        struct rp_error_capture capture;
        rp_error_capture_begin(&capture);
        const rp_status st = rp_stream_await(call->stream, UINT64_MAX);
        rp_error_capture_end(&capture);
        keep(run, st, 0, NULL, capture.sentence);
    }
}

// ---- communicators ----

static void begin_inits(struct run *run, uint32_t *begun)
{
    struct rp_error_capture capture;
    *begun = 0;
    for (uint32_t i = 0; i < run->inits; i++) {
        struct rp_group_init *init = run->init[i];
        rp_error_capture_begin(&capture);
        const rp_status st = rp_attempt_begin(&run->attempt[i], &init->request, &init->algo);
        rp_error_capture_end(&capture);
        if (st != RP_OK) {
            keep(run, st, init->number, init->api, capture.sentence);
            return;
        }
        *begun = i + 1;
    }
}

static uint32_t same_root(const struct run *run, uint32_t first)
{
    uint32_t count = 1;
    while (first + count < run->inits &&
            memcmp(run->init[first]->root_info, run->init[first + count]->root_info,
                    RP_ROOT_INFO_BYTES) == 0) {
        count++;
    }
    return count;
}

// Of the ranks of one communicator the one that is the cause is named.
static rp_status end_inits(struct run *run, uint32_t first, uint32_t count, rp_status unfinished)
{
    struct rp_error_capture capture;
    struct failure worst = { .st = RP_OK };
    for (uint32_t i = first; i < first + count; i++) {
        rp_error_capture_begin(&capture);
        const rp_status st = rp_attempt_end(&run->attempt[i], unfinished, &run->made[i]);
        rp_error_capture_end(&capture);
        if (rp_attempt_cause(worst.st, st) != worst.st) {
            worst.st = st;
            worst.number = run->init[i]->number;
            worst.api = run->init[i]->api;
            rp_text_copy(worst.sentence, sizeof(worst.sentence), capture.sentence);
        }
    }
    keep(run, worst.st, worst.number, worst.api, worst.sentence);
    return worst.st;
}

static bool join_all(struct run *run)
{
    uint32_t begun = 0;
    bool good = true;
    begin_inits(run, &begun);
    if (begun < run->inits) {
        (void)end_inits(run, 0, begun, RP_EREMOTE);
        return false;
    }
    for (uint32_t i = 0; i < run->inits;) {
        struct rp_error_capture capture;
        const uint32_t count = same_root(run, i);
        struct rp_attempts attempts = { .item = &run->attempt[i], .count = count };
        rp_error_capture_begin(&capture);
        const rp_status st = rp_attempts_await(&attempts, &run->init[i]->request.settings);
        rp_error_capture_end(&capture);
        good &= end_inits(run, i, count, st == RP_OK ? RP_EINTERNAL : st) == RP_OK;
        i += count;
    }
    return good;
}

// All or none, as by HcclCommInitAll.
static void run_inits(struct run *run)
{
    const bool good = run->inits == 0 || join_all(run);
    for (uint32_t i = 0; i < run->inits; i++) {
        if (!good && run->made[i] != NULL) {
            rp_comm_close(run->made[i]);
            run->made[i] = NULL;
        }
        *run->init[i]->comm = run->made[i];
    }
}

static void run_destroys(struct run *run)
{
    struct rp_error_capture capture;
    uint32_t count = 0;
    rp_list_each(link, &run->record->destroys)
    {
        const struct rp_group_destroy *destroy =
                rp_container_of(link, struct rp_group_destroy, link);
        rp_error_capture_begin(&capture);
        const rp_status st = rp_comm_destroy_begin(destroy->comm);
        rp_error_capture_end(&capture);
        keep(run, st, destroy->number, "HcclCommDestroy", capture.sentence);
        if (st == RP_OK) {
            run->destroy[count++] = destroy->comm;
        }
    }
    rp_comm_destroy_finish(run->destroy, count);
}

// ---- all of it ----

rp_status rp_group_run(struct rp_group_record *record)
{
    struct run run = { .record = record };
    const bool good = prepare(&run) == RP_OK;
    if (good) {
        submit_calls(&run);
    }
    let_go(&run);
    if (good) {
        run_inits(&run);
        await_streams(&run);
        run_destroys(&run);
    }
    rp_free(run.merged);
    rp_free(run.init);
    rp_free(run.attempt);
    rp_free(run.made);
    rp_free(run.destroy);
    const struct failure *failure = &run.failure;
    return failure->st == RP_OK
                   ? RP_OK
                   : rp_group_fail(failure->st, failure->number, failure->api, failure->sentence);
}
