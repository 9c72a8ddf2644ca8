// What the fields of a rank table have to do with each other.

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "transport/rank_table_internal.h"

static bool is_same_address(const struct rp_netif *a, const struct rp_netif *b)
{
    return a->family != 0 && a->family == b->family &&
           memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static rp_status stands_twice(const char *path, const char *field, const char *value,
        const struct rp_rank_entry *second, const struct rp_rank_entry *first)
{
    return rp_fail(RP_EINTERNAL,
            "rank table \"%s\": server_list[%u].device[%u].%s: %s stands at "
            "server_list[%u].device[%u] as well",
            path, second->server, second->index, field, value, first->server, first->index);
}

static rp_status check_server_ids(const char *path, const struct rp_rank_table *table)
{
    for (uint32_t i = 0; i < table->servers; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(table->server[i].id, table->server[k].id) == 0) {
                return rp_fail(RP_EINTERNAL,
                        "rank table \"%s\": server_list[%u].server_id: \"%s\" stands at "
                        "server_list[%u] as well",
                        path, i, table->server[i].id, k);
            }
        }
    }
    return RP_OK;
}

// Two processes may share a card where each has a port of its own there.
static bool may_share(const struct rp_rank_entry *a, const struct rp_rank_entry *b)
{
    return a->server == b->server && a->device_id == b->device_id && a->port != 0 && b->port != 0 &&
           a->port != b->port;
}

static rp_status check_pair(
        const char *path, const struct rp_rank_entry *second, const struct rp_rank_entry *first)
{
    char value[RP_NETIF_TEXT_BYTES];
    if (may_share(second, first)) {
        return RP_OK;
    }
    if (second->server == first->server && second->device_id == first->device_id) {
        snprintf(value, sizeof(value), "%u", second->device_id);
        return stands_twice(path, "device_id", value, second, first);
    }
    if (is_same_address(&second->ip, &first->ip)) {
        rp_netif_text(&second->ip, value);
        return stands_twice(path, "device_ip", value, second, first);
    }
    return RP_OK;
}

static rp_status check_devices(const char *path, const struct rp_table_draft *draft)
{
    rp_status st = RP_OK;
    for (uint32_t i = 0; i < draft->devices && st == RP_OK; i++) {
        for (uint32_t k = 0; k < i && st == RP_OK; k++) {
            st = check_pair(path, &draft->device[i].entry, &draft->device[k].entry);
        }
    }
    return st;
}

// As many ranks as devices, each once: then there is no gap either.
static rp_status place_ranks(const char *path, struct rp_table_draft *draft, bool *taken)
{
    struct rp_rank_entry *entry = draft->table->entry;
    for (uint32_t i = 0; i < draft->devices; i++) {
        const struct rp_table_device *device = &draft->device[i];
        const struct rp_rank_entry *own = &device->entry;
        if (device->rank >= draft->devices) {
            return rp_fail(RP_EINTERNAL,
                    "rank table \"%s\": server_list[%u].device[%u].rank_id: is %u, but the table "
                    "has %u ranks: they go from 0 to %u without gaps",
                    path, own->server, own->index, device->rank, draft->devices,
                    draft->devices - 1);
        }
        if (taken[device->rank]) {
            char value[16];
            snprintf(value, sizeof(value), "%u", device->rank);
            return stands_twice(path, "rank_id", value, own, &entry[device->rank]);
        }
        taken[device->rank] = true;
        entry[device->rank] = *own;
    }
    draft->table->size = draft->devices;
    return RP_OK;
}

static rp_status check_interleaving(const char *path, struct rp_rank_table *table)
{
    for (uint32_t rank = 0; rank < table->size; rank++) {
        const struct rp_rank_entry *entry = &table->entry[rank];
        struct rp_rank_server *server = &table->server[entry->server];
        if (server->count == 0) {
            server->first = rank;
        } else if (server->first + server->count != rank) {
            return rp_fail(RP_EINTERNAL,
                    "rank table \"%s\": server_list[%u].device[%u].rank_id: is %u, but rank %u is "
                    "on server \"%s\": the ranks of server \"%s\" must follow each other",
                    path, entry->server, entry->index, rank, rank - 1,
                    table->server[table->entry[rank - 1].server].id, server->id);
        }
        server->count++;
    }
    return RP_OK;
}

rp_status rp_rank_table_check(const char *path, struct rp_table_draft *draft)
{
    struct rp_rank_table *table = draft->table;
    bool *taken = rp_calloc(draft->devices, sizeof(*taken));
    table->entry = rp_calloc(draft->devices, sizeof(*table->entry));
    rp_status st =
            taken != NULL && table->entry != NULL
                    ? RP_OK
                    : rp_fail(RP_ENOMEM, "no memory for a table of %u ranks", draft->devices);
    st = st != RP_OK ? st : check_server_ids(path, table);
    st = st != RP_OK ? st : place_ranks(path, draft, taken);
    st = st != RP_OK ? st : check_interleaving(path, table);
    st = st != RP_OK ? st : check_devices(path, draft);
    rp_free(taken);
    return st;
}
