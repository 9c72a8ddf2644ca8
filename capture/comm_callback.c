// Callbacks of a communicator's end and of its resumption, by name.

#include "capture/comm_callback.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "replay/context.h"

struct callback {
    struct rp_list link;
    uint64_t number; // in the order of registration
    HcclCommStateCallback fn;
    void *args;
    char name[]; // at most NAME_MAX_BYTES with its end
};

#define NAME_MAX_BYTES 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // nothing is taken under it
static struct rp_list callbacks = RP_LIST_INIT(callbacks);
static uint64_t numbers;

static struct callback *callback_of(struct rp_list *link)
{
    return rp_container_of(link, struct callback, link);
}

// Under the lock.
static struct callback *find(const char *name)
{
    rp_list_each(link, &callbacks)
    {
        if (strcmp(callback_of(link)->name, name) == 0) {
            return callback_of(link);
        }
    }
    return NULL;
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

void rp_comm_tell(HcclComm comm, HcclCommStatePhase phase)
{
    struct callback callback = { .number = 0 };
    while (next_after(callback.number, &callback)) {
        const HcclResult answer = callback.fn(comm, phase, callback.args);
        if (answer != HCCL_SUCCESS) {
            rp_log_warn("callback %" PRIu64 " of communicators answered %d in phase %d",
                    callback.number, (int)answer, (int)phase);
        }
    }
}

static rp_status put(const char *name, HcclCommStateCallback fn, void *args)
{
    const size_t bytes = strlen(name) + 1;
    struct callback *made = rp_calloc(1, sizeof(*made) + bytes);
    if (made == NULL) {
        return rp_fail(RP_ENOMEM, "HcclCommRegCommStateCallback: no memory for \"%s\"", name);
    }
    made->fn = fn;
    made->args = args;
    memcpy(made->name, name, bytes);
    pthread_mutex_lock(&lock);
    struct callback *old = find(name);
    if (old != NULL) {
        rp_list_remove(&old->link);
    }
    made->number = ++numbers;
    rp_list_push_back(&callbacks, &made->link);
    pthread_mutex_unlock(&lock);
    rp_free(old);
    return RP_OK;
}

static rp_status take_back(const char *name)
{
    pthread_mutex_lock(&lock);
    struct callback *old = find(name);
    if (old != NULL) {
        rp_list_remove(&old->link);
    }
    pthread_mutex_unlock(&lock);
    rp_free(old);
    return old != NULL ? RP_OK
                       : rp_fail(RP_EPARAM,
                                 "HcclCommRegCommStateCallback: callback is NULL, and none is "
                                 "registered as \"%s\"",
                                 name);
}

static rp_status register_callback(const char *name, HcclCommStateCallback fn, void *args)
{
    static const char api[] = "HcclCommRegCommStateCallback";
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (name == NULL) {
        return rp_fail(RP_ENULL, "%s: regName is NULL", api);
    }
    const size_t length = strnlen(name, NAME_MAX_BYTES);
    if (length == 0 || length == NAME_MAX_BYTES) {
        return rp_fail(RP_EPARAM, "%s: regName has %s characters; 1 to %d are taken", api,
                length == 0 ? "no" : "too many", NAME_MAX_BYTES - 1);
    }
    return fn != NULL ? put(name, fn, args) : take_back(name);
}

HcclResult HcclCommRegCommStateCallback(
        const char *regName, HcclCommStateCallback callback, void *args)
{
    return (HcclResult)rp_hccl(register_callback(regName, callback, args));
}
