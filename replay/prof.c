// A profiling session: what is collected, and the file that is made of it.

#include "replay/prof.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/log.h"
#include "replay/context.h"
#include "replay/event.h"
#include "replay/stream.h"

#define MARKS_MAX 65536
#define TEXT_BYTES 256
#define DEVICES_MAX 64 // named in the file

_Atomic bool rp_prof_collects;

// relaxed throughout: plain counts.
static struct {
    _Atomic uint64_t calls;
    _Atomic uint64_t total_ns;
    _Atomic uint64_t max_ns;
} apis[RP_PROF_APIS];

static const char *const api_names[] = {
#define API_NAME(name, text) text,
    RP_PROF_MAP(API_NAME)
#undef API_NAME
};

struct mark {
    struct rp_list link;
    uint64_t host_ns;
    uint64_t duration_ns;
    struct rp_event *event; // on the stream; NULL: of the host alone
    int32_t stream_id;
    char domain[TEXT_BYTES];
    char text[TEXT_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the session
static struct {
    char *directory; // NULL: there is no session
    uint64_t began_ns;
    uint64_t mask;
    uint32_t devices[DEVICES_MAX];
    uint32_t device_count;
    struct rp_list marks;
    uint32_t mark_count;
    uint64_t marks_lost;
} session = { .marks = RP_LIST_INIT(session.marks) };
static uint32_t files; // written by this process; under lock

// ---- collecting ----

void rp_prof_account(enum rp_prof_api api, uint64_t began_ns)
{
    const uint64_t took_ns = rp_now_ns() - began_ns;
    atomic_fetch_add_explicit(&apis[api].calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&apis[api].total_ns, took_ns, memory_order_relaxed);
    uint64_t max_ns = atomic_load_explicit(&apis[api].max_ns, memory_order_relaxed);
    while (took_ns > max_ns && !atomic_compare_exchange_weak_explicit(&apis[api].max_ns, &max_ns,
                                       took_ns, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void mark_free(struct mark *mark)
{
    if (mark->event != NULL) {
        rp_event_unref(mark->event);
    }
    rp_free(mark);
}

static void text_put(char out[TEXT_BYTES], const char *text, size_t bytes)
{
    const size_t kept = bytes < TEXT_BYTES ? bytes : TEXT_BYTES - 1;
    memcpy(out, text, kept);
    out[kept] = '\0';
}

// The point of the stream: a record of an event that only the mark knows.
static rp_status put_on_stream(struct mark *mark, struct rp_stream *stream)
{
    if (rp_stream_records(stream)) {
        return RP_OK; // a mark is no part of a graph
    }
    rp_status st = rp_event_create(stream->context, RP_EVENT_PLAIN, 0, &mark->event);
    if (st != RP_OK) {
        return st;
    }
    mark->stream_id = stream->id;
    st = rp_stream_submit_event(stream, mark->event, RP_EVENT_RECORD, 0, 0);
    if (st != RP_OK) {
        rp_event_unref(mark->event);
        mark->event = NULL;
    }
    return st;
}

// Whether the session took it.
static bool keep(struct mark *mark)
{
    pthread_mutex_lock(&lock);
    const bool kept = session.directory != NULL && session.mark_count < MARKS_MAX;
    if (kept) {
        rp_list_push_back(&session.marks, &mark->link);
        session.mark_count++;
    } else if (session.directory != NULL) {
        session.marks_lost++;
    }
    pthread_mutex_unlock(&lock);
    return kept;
}

rp_status rp_prof_mark(const char *domain, const char *text, size_t bytes, struct rp_stream *stream,
        uint64_t duration_ns)
{
    if (!atomic_load_explicit(&rp_prof_collects, memory_order_relaxed)) {
        return RP_OK;
    }
    struct mark *mark = rp_calloc(1, sizeof(*mark));
    if (mark == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a mark of the profiler");
    }
    mark->host_ns = rp_now_ns() - duration_ns;
    mark->duration_ns = duration_ns;
    mark->stream_id = -1;
    text_put(mark->text, text, bytes);
    if (domain != NULL) {
        text_put(mark->domain, domain, strlen(domain));
    }
    const rp_status st = stream == NULL ? RP_OK : put_on_stream(mark, stream);
    if (st != RP_OK || !keep(mark)) {
        mark_free(mark);
    }
    return st;
}

// ---- the file ----

static json_t *us(uint64_t ns)
{
    return json_real((double)ns / 1e3);
}

static json_t *apis_to_json(void)
{
    json_t *list = json_array();
    for (int i = 0; i < RP_PROF_APIS; i++) {
        const uint64_t calls = atomic_load_explicit(&apis[i].calls, memory_order_relaxed);
        if (calls == 0) {
            continue;
        }
        json_array_append_new(list,
                json_pack("{s:s, s:I, s:o, s:o}", "name", api_names[i], "calls", (json_int_t)calls,
                        "total_us",
                        us(atomic_load_explicit(&apis[i].total_ns, memory_order_relaxed)), "max_us",
                        us(atomic_load_explicit(&apis[i].max_ns, memory_order_relaxed))));
    }
    return list;
}

static void stream_to_json(void *object, void *list)
{
    struct rp_stream *stream = object;
    // relaxed: plain counts.
    const uint64_t submitted = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    const uint64_t replays = atomic_load_explicit(&stream->replays, memory_order_relaxed);
    json_array_append_new(list,
            json_pack("{s:i, s:i, s:b, s:I, s:I, s:I}", "device", (int)stream->context->device_id,
                    "stream", (int)stream->id, "default", stream->is_default ? 1 : 0, "eager_tasks",
                    (json_int_t)(submitted - replays - stream->prof_eager), "replays",
                    (json_int_t)(replays - stream->prof_replays), "pending",
                    (json_int_t)(submitted -
                                 atomic_load_explicit(&stream->ended, memory_order_relaxed))));
}

static json_t *mark_to_json(const struct mark *mark, uint64_t began_ns)
{
    json_t *entry = json_pack("{s:s, s:s, s:o}", "name", mark->text, "domain", mark->domain,
            "host_us", us(mark->host_ns - began_ns));
    if (mark->duration_ns != 0) {
        json_object_set_new(entry, "duration_us", us(mark->duration_ns));
    }
    if (mark->event == NULL) {
        return entry;
    }
    json_object_set_new(entry, "stream", json_integer(mark->stream_id));
    // seq_cst [E1]: pairs with the scheduler's store; the stamp is there then.
    if (atomic_load_explicit(&mark->event->reached, memory_order_seq_cst) != 0) {
        const uint64_t stamp_ns =
                atomic_load_explicit(&mark->event->stamp_ns, memory_order_acquire);
        json_object_set_new(entry, "stream_us", us(stamp_ns - began_ns));
    }
    return entry;
}

// What has been collected, under the lock. NULL when memory is short.
static json_t *session_to_json(uint64_t now_ns)
{
    json_t *devices = json_array();
    for (uint32_t i = 0; i < session.device_count; i++) {
        json_array_append_new(devices, json_integer(session.devices[i]));
    }
    json_t *streams = json_array();
    rp_handle_each(RP_HANDLE_STREAM, stream_to_json, streams);
    json_t *marks = json_array();
    rp_list_each(link, &session.marks)
    {
        json_array_append_new(
                marks, mark_to_json(rp_container_of(link, struct mark, link), session.began_ns));
    }
    return json_pack("{s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "version", 1, "pid",
            (int)getpid(), "mask", (json_int_t)session.mask, "duration_us",
            us(now_ns - session.began_ns), "devices", devices, "apis", apis_to_json(), "streams",
            streams, "marks", marks, "marks_lost", (json_int_t)session.marks_lost);
}

static rp_status write_file(const json_t *root, const char *directory, uint32_t number)
{
    char path[4096 + 64];
    snprintf(
            path, sizeof(path), "%s/reprise-%d-%" PRIu32 ".json", directory, (int)getpid(), number);
    if (root == NULL || json_dump_file(root, path, JSON_INDENT(1)) != 0) {
        return rp_fail(RP_EWRITEFILE, "the profile could not be written to %s", path);
    }
    rp_log_info("profile written to %s", path);
    return RP_OK;
}

// ---- sessions ----

// Where the counts of a stream stand as a session begins.
static void remember_stream(void *object, void *arg)
{
    struct rp_stream *stream = object;
    (void)arg;
    stream->prof_replays = atomic_load_explicit(&stream->replays, memory_order_relaxed);
    stream->prof_eager =
            atomic_load_explicit(&stream->submitted, memory_order_relaxed) - stream->prof_replays;
}

static void clear_apis(void)
{
    for (int i = 0; i < RP_PROF_APIS; i++) {
        atomic_store_explicit(&apis[i].calls, 0, memory_order_relaxed);
        atomic_store_explicit(&apis[i].total_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&apis[i].max_ns, 0, memory_order_relaxed);
    }
}

rp_status rp_prof_start(
        const char *directory, const uint32_t *devices, uint32_t device_count, uint64_t mask)
{
    char *copy = rp_strdup(directory);
    if (copy == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a profiling session");
    }
    pthread_mutex_lock(&lock);
    const bool free = session.directory == NULL;
    if (free) {
        session.directory = copy;
        session.began_ns = rp_now_ns();
        session.mask = mask;
        session.device_count = device_count < DEVICES_MAX ? device_count : DEVICES_MAX;
        memcpy(session.devices, devices, session.device_count * sizeof(devices[0]));
        clear_apis();
        rp_handle_each(RP_HANDLE_STREAM, remember_stream, NULL);
        atomic_store_explicit(&rp_prof_collects, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    if (!free) {
        rp_free(copy);
        return rp_fail(RP_EPROFRUN, "a profiling session is running already");
    }
    return RP_OK;
}

// Under the lock.
static void forget_session(void)
{
    for (struct rp_list *link = rp_list_pop_front(&session.marks); link != NULL;
            link = rp_list_pop_front(&session.marks)) {
        mark_free(rp_container_of(link, struct mark, link));
    }
    session.mark_count = 0;
    session.marks_lost = 0;
    rp_free(session.directory);
    session.directory = NULL;
}

rp_status rp_prof_stop(void)
{
    rp_status st = RP_EPROFNOTRUN;
    pthread_mutex_lock(&lock);
    if (session.directory != NULL) {
        atomic_store_explicit(&rp_prof_collects, false, memory_order_relaxed);
        json_t *root = session_to_json(rp_now_ns());
        st = write_file(root, session.directory, files++);
        json_decref(root);
        forget_session();
    }
    pthread_mutex_unlock(&lock);
    return st == RP_EPROFNOTRUN ? rp_fail(st, "no profiling session is running") : st;
}
