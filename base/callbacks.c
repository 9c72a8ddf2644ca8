// Callbacks by name: a list in the order of registration.

#include "base/callbacks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"

struct entry {
    struct rp_list link;
    struct rp_callback callback;
    char name[];
};

static struct entry *entry_of(struct rp_list *link)
{
    return rp_container_of(link, struct entry, link);
}

// Takes the one of that name off the list, if there is one. Under the lock.
static struct entry *take_off(struct rp_callbacks *callbacks, const char *name)
{
    rp_list_each(link, &callbacks->list)
    {
        if (strcmp(entry_of(link)->name, name) == 0) {
            rp_list_remove(link);
            return entry_of(link);
        }
    }
    return NULL;
}

static rp_status put(struct rp_callbacks *callbacks, const char *api, const char *name,
        rp_callback_fn fn, void *args)
{
    const size_t bytes = strlen(name) + 1;
    struct entry *made = rp_calloc(1, sizeof(*made) + bytes);
    if (made == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory for \"%s\"", api, name);
    }
    memcpy(made->name, name, bytes);
    pthread_mutex_lock(&callbacks->lock);
    struct entry *old = take_off(callbacks, name);
    made->callback = (struct rp_callback){ ++callbacks->numbers, fn, args };
    rp_list_push_back(&callbacks->list, &made->link);
    pthread_mutex_unlock(&callbacks->lock);
    rp_free(old);
    return RP_OK;
}

static rp_status take_back(struct rp_callbacks *callbacks, const char *api, const char *name)
{
    pthread_mutex_lock(&callbacks->lock);
    struct entry *old = take_off(callbacks, name);
    pthread_mutex_unlock(&callbacks->lock);
    rp_free(old);
    return old != NULL
                   ? RP_OK
                   : rp_fail(RP_EPARAM, "%s: callback is NULL, and none is registered as \"%s\"",
                             api, name);
}

rp_status rp_callbacks_set(struct rp_callbacks *callbacks, const char *api, const char *name,
        rp_callback_fn fn, void *args)
{
    if (name == NULL) {
        return rp_fail(RP_ENULL, "%s: regName is NULL", api);
    }
    const size_t length = strnlen(name, RP_CALLBACK_NAME_BYTES);
    if (length == 0 || length == RP_CALLBACK_NAME_BYTES) {
        return rp_fail(RP_EPARAM, "%s: regName has %s characters; 1 to %d are taken", api,
                length == 0 ? "no" : "too many", RP_CALLBACK_NAME_BYTES - 1);
    }
    return fn != NULL ? put(callbacks, api, name, fn, args) : take_back(callbacks, api, name);
}

bool rp_callbacks_next(struct rp_callbacks *callbacks, struct rp_callback *callback)
{
    bool found = false;
    pthread_mutex_lock(&callbacks->lock);
    rp_list_each(link, &callbacks->list)
    {
        if (!found && entry_of(link)->callback.number > callback->number) {
            *callback = entry_of(link)->callback;
            found = true;
        }
    }
    pthread_mutex_unlock(&callbacks->lock);
    return found;
}
