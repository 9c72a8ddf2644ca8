#ifndef REPRISE_TRANSPORT_RANK_TABLE_INTERNAL_H
#define REPRISE_TRANSPORT_RANK_TABLE_INTERNAL_H

/* A rank table while it is read (rank_table.c) and checked (rank_table_check.c). */

#include "transport/rank_table.h"

struct rp_table_device {
    uint32_t rank;
    struct rp_rank_entry entry;
};

struct rp_table_draft {
    struct rp_rank_table *table; /* its entries come last */
    uint32_t devices;
    struct rp_table_device *device; /* in the file's order */
};

/** rp_rank_table_check: what the fields have to do with each other; then fills the entries in. */
RP_MUST_USE rp_status rp_rank_table_check(const char *path, struct rp_table_draft *draft);

#endif
