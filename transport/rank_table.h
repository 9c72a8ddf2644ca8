#ifndef REPRISE_TRANSPORT_RANK_TABLE_H
#define REPRISE_TRANSPORT_RANK_TABLE_H

/*
 * Rank tables: the JSON file that names every server of a job, its devices and
 * their ranks (template "1.0", Atlas A2). Whatever is wrong with one is told with
 * the path of the field: server_list[1].device[0].rank_id.
 *
 * Keys that are not known are ignored; all values are strings.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "transport/bootstrap_msg.h"
#include "transport/netif.h"

#define RP_RANK_TABLE_BYTES_MAX (16u << 20)
#define RP_RANK_TABLE_HASH_BYTES 32

struct rp_rank_server {
    char id[RP_SERVER_ID_BYTES];
    uint32_t first; /* its lowest rank; the others follow */
    uint32_t count;
};

struct rp_rank_entry {
    uint32_t server; /* index of its server, and of itself in there: for reports */
    uint32_t index;
    uint32_t device_id;
    struct rp_netif ip; /* family 0: not given */
    uint16_t port;      /* 0: not given */
};

struct rp_rank_table {
    uint32_t servers;
    struct rp_rank_server *server; /* [servers], in the file's order */
    uint32_t size;
    struct rp_rank_entry *entry; /* [size], by rank */
    uint8_t hash[RP_RANK_TABLE_HASH_BYTES];
};

/**
 * rp_rank_table_load: read the file `path`.
 *
 *   RP_EINTERNAL  it is missing, unreadable, too big or malformed; the sentence names the field
 *   RP_ENOMEM
 *
 * Owner: the caller, with rp_rank_table_free().
 */
RP_MUST_USE rp_status rp_rank_table_load(const char *path, struct rp_rank_table **out);

/** rp_rank_table_parse: the same of a text of `bytes`; `path` is what sentences call it. */
RP_MUST_USE rp_status rp_rank_table_parse(
        const char *path, const char *text, size_t bytes, struct rp_rank_table **out);

/** rp_rank_table_free: NULL: nothing. */
void rp_rank_table_free(struct rp_rank_table *table);

/** rp_ip_parse: an IPv4 or IPv6 address in digits; false when `text` is none. */
bool rp_ip_parse(const char *text, struct rp_netif *out);

/** rp_file_read: a regular file of 1 to `bytes_max` bytes. `what` names it in sentences, which
 * begin with it. Free with rp_free(). RP_EINTERNAL, RP_ENOMEM. */
RP_MUST_USE rp_status rp_file_read(
        const char *what, const char *path, size_t bytes_max, char **text, size_t *bytes);

#endif
