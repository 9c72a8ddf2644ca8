// aclrtSetDeviceTaskAbortCallback: who wants to know that a device's tasks are aborted.

#include "replay/abort_callback.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "replay/context.h"

#define NAME_MAX_BYTES 256 // with its end

struct callback {
    struct rp_list link;
    uint64_t number; // in the order of registration
    aclrtDeviceTaskAbortCallback fn;
    void *args;
    char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // nothing is taken under it
static struct rp_list callbacks = RP_LIST_INIT(callbacks);
static uint64_t numbers;

static struct callback *callback_of(struct rp_list *link)
{
    return rp_container_of(link, struct callback, link);
}

// The first one after number `after`, copied: it may be taken back while it runs.
static bool next_after(uint64_t after, struct callback *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    rp_list_each(link, &callbacks)
    {
        const struct callback *callback = callback_of(link);
        if (!found && callback->number > after) {
            out->number = callback->number;
            out->fn = callback->fn;
            out->args = callback->args;
            found = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void rp_abort_callbacks_run(int32_t device_id, aclrtDeviceTaskAbortStage stage, uint32_t timeout_ms)
{
    struct callback callback = { .number = 0 };
    while (next_after(callback.number, &callback)) {
        const int32_t answer = callback.fn(device_id, stage, timeout_ms, callback.args);
        if (answer != 0) {
            rp_log_warn("callback %" PRIu64 " of aclrtDeviceTaskAbort answered %" PRId32
                        " in stage %d of device %" PRId32,
                    callback.number, answer, (int)stage, device_id);
        }
    }
}

// Takes the one of that name off the list, if there is one. Under the lock.
static struct callback *take_off(const char *name)
{
    rp_list_each(link, &callbacks)
    {
        if (strcmp(callback_of(link)->name, name) == 0) {
            rp_list_remove(link);
            return callback_of(link);
        }
    }
    return NULL;
}

static rp_status put(const char *name, aclrtDeviceTaskAbortCallback fn, void *args)
{
    const size_t bytes = strlen(name) + 1;
    struct callback *made = rp_calloc(1, sizeof(*made) + bytes);
    if (made == NULL) {
        return rp_fail(RP_ENOMEM, "aclrtSetDeviceTaskAbortCallback: no memory for \"%s\"", name);
    }
    made->fn = fn;
    made->args = args;
    memcpy(made->name, name, bytes);
    pthread_mutex_lock(&lock);
    struct callback *old = take_off(name);
    made->number = ++numbers;
    rp_list_push_back(&callbacks, &made->link);
    pthread_mutex_unlock(&lock);
    rp_free(old);
    return RP_OK;
}

static rp_status take_back(const char *name)
{
    pthread_mutex_lock(&lock);
    struct callback *old = take_off(name);
    pthread_mutex_unlock(&lock);
    rp_free(old);
    return old != NULL ? RP_OK
                       : rp_fail(RP_EPARAM,
                                 "aclrtSetDeviceTaskAbortCallback: callback is NULL, and none is "
                                 "registered as \"%s\"",
                                 name);
}

static rp_status set(const char *name, aclrtDeviceTaskAbortCallback fn, void *args)
{
    static const char api[] = "aclrtSetDeviceTaskAbortCallback";
    if (name == NULL) {
        return rp_fail(RP_ENULL, "%s: regName is NULL", api);
    }
    const size_t length = strnlen(name, NAME_MAX_BYTES);
    if (length == 0 || length == NAME_MAX_BYTES) {
        return rp_fail(RP_EPARAM, "%s: regName has to have 1 to %d bytes", api, NAME_MAX_BYTES - 1);
    }
    return fn != NULL ? put(name, fn, args) : take_back(name);
}

aclError aclrtSetDeviceTaskAbortCallback(
        const char *regName, aclrtDeviceTaskAbortCallback callback, void *args)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set(regName, callback, args) : st);
}
