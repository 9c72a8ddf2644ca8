#ifndef REPRISE_REPLAY_LABEL_H
#define REPRISE_REPLAY_LABEL_H

/*
 * Labels: places in the streams of a built graph that aclrtSwitchLabelByIndex can go to, and lists
 * of them.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

struct rp_label {
    _Atomic uint32_t refs; /* handle + lists + tasks that name it */
    uint32_t id;
    _Atomic uint32_t placed; /* 1: aclrtSetLabel has put it into a graph; it cannot be put twice */
};

struct rp_label_list {
    _Atomic uint32_t refs; /* handle + tasks that name it */
    uint32_t count;
    struct rp_label *label[]; /* [count], each referenced */
};

/** The last unref frees it. Any thread, never blocks. */
void rp_label_ref(struct rp_label *label);
void rp_label_unref(struct rp_label *label);
void rp_label_list_ref(struct rp_label_list *list);
void rp_label_list_unref(struct rp_label_list *list);

#endif
