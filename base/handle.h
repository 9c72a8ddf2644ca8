#ifndef RP_BASE_HANDLE_H
#define RP_BASE_HANDLE_H

/*
 * Live handles: which pointers that a user may hand us are objects of ours.
 *
 * A handle of the public API is the object's address. Before we follow one we
 * ask the set of its kind, so that a stale, destroyed or foreign handle is an
 * error and never a crash. Reading is lock-free (a few loads), since every
 * public call does it; adding and removing take the set's mutex.
 *
 * The set does not keep the object alive: a program that destroys an object in
 * one thread while it uses it in another has a race of its own. Objects that
 * may end while queued work uses them carry a reference count besides.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum rp_handle_kind {
    RP_HANDLE_CONTEXT = 0,
    RP_HANDLE_STREAM,
    RP_HANDLE_EVENT,
    RP_HANDLE_GRAPH,
    RP_HANDLE_COMM,
    RP_HANDLE_PHYSICAL, /* aclrtDrvMemHandle */
    RP_HANDLE_NOTIFY,   /* aclrtNotify, aclrtCntNotify */
    RP_HANDLE_LABEL,
    RP_HANDLE_LABEL_LIST,
    RP_HANDLE_COND,       /* aclmdlRICondHandle */
    RP_HANDLE_TASK_GROUP, /* aclrtTaskGrp */
    RP_HANDLE_BINARY,     /* aclrtBinary, aclrtBinHandle */
    RP_HANDLE_FUNCTION,   /* aclrtFuncHandle */
    RP_HANDLE_ARGS,       /* aclrtArgsHandle */
    RP_HANDLE_OTHER,      /* config objects and the like */
    RP_HANDLE_KINDS
};

/** rp_handle_add: `object` (not NULL, at least 2-aligned) is live from now on. RP_ENOMEM. */
RP_MUST_USE rp_status rp_handle_add(enum rp_handle_kind kind, const void *object);

/** rp_handle_remove: true if it was live; exactly one of two racing callers gets true. */
bool rp_handle_remove(enum rp_handle_kind kind, const void *object);

/** rp_handle_live: whether `object` is a live handle of this kind; any pointer may be asked. */
bool rp_handle_live(enum rp_handle_kind kind, const void *object);

/**
 * rp_handle_ref: if `object` is a live handle, call ref(object) before anyone can remove it, and
 * return true. For calls that may outlast a destroy by another thread: the handle's own reference
 * is dropped only after the handle was removed, so there is one to add to.
 */
bool rp_handle_ref(enum rp_handle_kind kind, void *object, void (*ref)(void *object));

/** rp_handle_each: call fn for every live handle of a kind, in no order, under the set's mutex. */
void rp_handle_each(enum rp_handle_kind kind, void (*fn)(void *object, void *arg), void *arg);

#endif /* RP_BASE_HANDLE_H */
