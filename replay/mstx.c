// mstx: marks and ranges for the profiler, in domains. Nothing is kept while no session collects.

#include <mstx/ms_tools_ext.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/prof.h"
#include "replay/stream.h"

#define TEXT_BYTES 256

struct mstxDomainRegistration_st {
    struct rp_list link;
    char name[TEXT_BYTES];
};

struct range {
    struct rp_list link;
    mstxRangeId id;
    uint64_t began_ns;
    struct rp_stream *stream; // referenced; NULL: of the host alone
    char domain[TEXT_BYTES];
    char text[TEXT_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all below
static struct rp_list domains = RP_LIST_INIT(domains);
static struct rp_list ranges = RP_LIST_INIT(ranges); // open; few
static mstxRangeId last_id = MSTX_INVALID_RANGE_ID;

static bool collects(void)
{
    // relaxed: a call at the edge of a session counts or does not.
    return atomic_load_explicit(&rp_prof_collects, memory_order_relaxed);
}

// These functions answer nothing, so what fails is in the log alone.
static void put(
        const char *domain, const char *text, struct rp_stream *stream, uint64_t duration_ns)
{
    if (rp_prof_mark(domain, text, strlen(text), stream, duration_ns) != RP_OK) {
        rp_log_debug("mstx: \"%s\" was not recorded", text);
    }
}

// ---- domains ----

mstxDomainHandle_t mstxDomainCreateA(const char *name)
{
    if (name == NULL || rp_enter() != RP_OK) {
        return NULL;
    }
    mstxDomainHandle_t fresh = rp_calloc(1, sizeof(*fresh));
    if (fresh == NULL) {
        return NULL;
    }
    rp_text_copy(fresh->name, sizeof(fresh->name), name);
    mstxDomainHandle_t found = NULL;
    pthread_mutex_lock(&lock);
    rp_list_each(link, &domains)
    {
        mstxDomainHandle_t domain = rp_container_of(link, struct mstxDomainRegistration_st, link);
        found = strcmp(domain->name, fresh->name) == 0 ? domain : found;
    }
    if (found == NULL) {
        rp_list_push_back(&domains, &fresh->link);
    }
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        return fresh;
    }
    rp_free(fresh);
    return found;
}

void mstxDomainDestroy(mstxDomainHandle_t domain)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    rp_list_each(link, &domains)
    {
        found = found || link == (domain == NULL ? NULL : &domain->link);
    }
    if (found) {
        rp_list_remove(&domain->link);
    }
    pthread_mutex_unlock(&lock);
    if (found) {
        rp_free(domain);
    }
}

// ---- marks and ranges ----

void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
    if (message == NULL || rp_enter() != RP_OK || !collects()) {
        return;
    }
    put(domain == NULL ? NULL : domain->name, message,
            stream == NULL ? NULL : rp_stream_from_handle(stream), 0);
}

void mstxMarkA(const char *message, aclrtStream stream)
{
    mstxDomainMarkA(NULL, message, stream);
}

mstxRangeId mstxDomainRangeStartA(
        mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
    if (message == NULL || rp_enter() != RP_OK || !collects()) {
        return MSTX_INVALID_RANGE_ID;
    }
    struct range *range = rp_calloc(1, sizeof(*range));
    if (range == NULL) {
        return MSTX_INVALID_RANGE_ID;
    }
    rp_text_copy(range->text, sizeof(range->text), message);
    rp_text_copy(range->domain, sizeof(range->domain), domain == NULL ? "" : domain->name);
    range->stream = stream == NULL ? NULL : rp_stream_from_handle(stream);
    if (range->stream != NULL) {
        rp_stream_ref(range->stream);
        put(range->domain, range->text, range->stream, 0);
    }
    range->began_ns = rp_now_ns();
    pthread_mutex_lock(&lock);
    range->id = ++last_id;
    const mstxRangeId id = range->id;
    rp_list_push_back(&ranges, &range->link);
    pthread_mutex_unlock(&lock);
    return id;
}

mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream)
{
    return mstxDomainRangeStartA(NULL, message, stream);
}

static struct range *take_range(mstxRangeId id)
{
    struct range *taken = NULL;
    pthread_mutex_lock(&lock);
    rp_list_each(link, &ranges)
    {
        struct range *range = rp_container_of(link, struct range, link);
        taken = range->id == id ? range : taken;
    }
    if (taken != NULL) {
        rp_list_remove(&taken->link);
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

void mstxRangeEnd(mstxRangeId id)
{
    struct range *range = id == MSTX_INVALID_RANGE_ID ? NULL : take_range(id);
    if (range == NULL) {
        return;
    }
    const uint64_t duration_ns = rp_now_ns() - range->began_ns;
    const bool live = range->stream != NULL && rp_stream_from_handle(range->stream) != NULL;
    put(range->domain, range->text, live ? range->stream : NULL,
            duration_ns == 0 ? 1 : duration_ns);
    if (range->stream != NULL) {
        rp_stream_unref(range->stream);
    }
    rp_free(range);
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id)
{
    (void)domain; // the range knows its own
    mstxRangeEnd(id);
}
