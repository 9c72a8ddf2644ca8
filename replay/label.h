#ifndef REPRISE_REPLAY_LABEL_H
#define REPRISE_REPLAY_LABEL_H

/*
 * Labels: places in the streams of a built graph that aclrtSwitchLabelByIndex can go to, and lists
 * of them.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

#define RP_LABELS_MAX 65535 /* of a process */

struct rp_context;

struct rp_label {
    _Atomic uint32_t refs; /* handle + lists + tasks that name it */
    uint32_t id;
    struct rp_context *context; /* referenced */
    /* The graph that aclrtSetLabel has put it into, capture's object; it stands in one place. Under
     * the context's capture_lock. NULL: none. */
    const void *placed;
    /* Where it stands in that graph's program; capture's, while it freezes the graph. */
    uint32_t lane, pc;
};

struct rp_label_list {
    _Atomic uint32_t refs; /* handle + tasks that name it */
    uint32_t count;
    struct rp_label *label[]; /* [count], each referenced */
};

/** rp_label_create: a label of `context`, without a handle. RP_ENORES: there are RP_LABELS_MAX,
 * RP_ENOMEM. The reference is the caller's. */
RP_MUST_USE rp_status rp_label_create(struct rp_context *context, struct rp_label **out);

/** rp_label_list_create: a list of `count` labels, which it references; RP_ENOMEM. */
RP_MUST_USE rp_status rp_label_list_create(
        struct rp_label *const *label, uint32_t count, struct rp_label_list **out);

/** The last unref frees it. Any thread, never blocks. */
void rp_label_ref(struct rp_label *label);
void rp_label_unref(struct rp_label *label);
void rp_label_list_ref(struct rp_label_list *list);
void rp_label_list_unref(struct rp_label_list *list);

#endif
