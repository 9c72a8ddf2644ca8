// Functions of other libraries that aclInit and aclFinalize call: two lists, which are copied
// before they are walked, since a callback may register or remove others.

#include "replay/init_callbacks.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "replay/context.h"

struct entry {
    aclRegisterCallbackType type;
    aclInitCallbackFunc init; // one of the two
    aclFinalizeCallbackFunc finalize;
    void *arg;
};

struct entries {
    struct entry *entry; // [count]
    size_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entries init_entries;
static struct entries finalize_entries;

static rp_status check_type(aclRegisterCallbackType type, bool has_fn)
{
    if (!has_fn) {
        return rp_fail(RP_ENULL, "cbFunc is a null pointer");
    }
    if ((int)type < ACL_REG_TYPE_ACL_MODEL ||
            (type > ACL_REG_TYPE_ACL_RETR && type != ACL_REG_TYPE_OTHER)) {
        return rp_fail(RP_EINVAL, "type is %d; there is no such module", (int)type);
    }
    return RP_OK;
}

static rp_status add(struct entries *entries, const struct entry *entry)
{
    pthread_mutex_lock(&lock);
    struct entry *grown =
            rp_realloc(entries->entry, (entries->count + 1) * sizeof(entries->entry[0]));
    if (grown != NULL) {
        entries->entry = grown;
        grown[entries->count++] = *entry;
    }
    pthread_mutex_unlock(&lock);
    return grown != NULL ? RP_OK : rp_fail(RP_ENOMEM, "no memory to register a callback");
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return a->type == b->type && a->init == b->init && a->finalize == b->finalize;
}

static rp_status take_out(struct entries *entries, const struct entry *entry)
{
    size_t kept = 0;
    pthread_mutex_lock(&lock);
    const size_t before = entries->count;
    for (size_t i = 0; i < before; i++) {
        if (!is_same(&entries->entry[i], entry)) {
            entries->entry[kept++] = entries->entry[i];
        }
    }
    entries->count = kept;
    pthread_mutex_unlock(&lock);
    return kept < before
                   ? RP_OK
                   : rp_fail(RP_EINVAL, "cbFunc was not registered with type %d", (int)entry->type);
}

static aclError run(const struct entries *entries, const char *config, size_t bytes)
{
    aclError answer = ACL_SUCCESS;
    for (size_t i = 0; i < entries->count && answer == ACL_SUCCESS; i++) {
        const struct entry *entry = &entries->entry[i];
        answer = entry->init != NULL ? entry->init(config, bytes, entry->arg)
                                     : entry->finalize(entry->arg);
    }
    return answer;
}

static aclError run_copy(const struct entries *entries, const char *config, size_t bytes)
{
    struct entries copy;
    pthread_mutex_lock(&lock);
    copy.count = entries->count;
    copy.entry = rp_calloc(copy.count == 0 ? 1 : copy.count, sizeof(copy.entry[0]));
    for (size_t i = 0; copy.entry != NULL && i < copy.count; i++) {
        copy.entry[i] = entries->entry[i];
    }
    pthread_mutex_unlock(&lock);
    if (copy.entry == NULL) {
        return rp_acl(rp_fail(RP_ENOMEM, "no memory to call %zu callbacks", copy.count));
    }
    const aclError answer = run(&copy, config, bytes);
    rp_free(copy.entry);
    return answer;
}

rp_status rp_init_callback_add(aclRegisterCallbackType type, aclInitCallbackFunc fn, void *arg)
{
    const struct entry entry = { .type = type, .init = fn, .arg = arg };
    const rp_status st = check_type(type, fn != NULL);
    return st == RP_OK ? add(&init_entries, &entry) : st;
}

aclError rp_init_callbacks_run(const char *config, size_t bytes)
{
    return run_copy(&init_entries, config, bytes);
}

aclError rp_finalize_callbacks_run(void)
{
    return run_copy(&finalize_entries, NULL, 0);
}

// ---- public functions; aclInitCallbackRegister is in init.c ----

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc)
{
    const struct entry entry = { .type = type, .init = cbFunc };
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = check_type(type, cbFunc != NULL);
    }
    return rp_acl(st == RP_OK ? take_out(&init_entries, &entry) : st);
}

aclError aclFinalizeCallbackRegister(
        aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData)
{
    const struct entry entry = { .type = type, .finalize = cbFunc, .arg = userData };
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = check_type(type, cbFunc != NULL);
    }
    return rp_acl(st == RP_OK ? add(&finalize_entries, &entry) : st);
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc)
{
    const struct entry entry = { .type = type, .finalize = cbFunc };
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = check_type(type, cbFunc != NULL);
    }
    return rp_acl(st == RP_OK ? take_out(&finalize_entries, &entry) : st);
}
