#include "transport/rank_table_meet.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"

static const char hint[] = "all ranks must have the same rank table, byte for byte, and the same "
                           "REPRISE_SECRET_FILE";

static rp_status hash_secret_file(uint8_t out[RP_RANK_TABLE_HASH_BYTES])
{
    const char *path = rp_env_device()->secret_file;
    char *text;
    size_t bytes;
    memset(out, 0, RP_RANK_TABLE_HASH_BYTES);
    if (path[0] == '\0') {
        return RP_OK;
    }
    rp_status st =
            rp_file_read("REPRISE_SECRET_FILE", path, RP_SECRET_FILE_BYTES_MAX, &text, &bytes);
    if (st != RP_OK) {
        return st;
    }
    crypto_generichash(out, RP_RANK_TABLE_HASH_BYTES, (const uint8_t *)text, bytes, NULL, 0);
    sodium_memzero(text, bytes);
    rp_free(text);
    return RP_OK;
}

static rp_status make_secret(
        const struct rp_rank_table *table, uint8_t secret[RP_WIRE_SECRET_BYTES])
{
    static const char label[] = "reprise rank table";
    uint8_t text[sizeof(label) + 2 * RP_RANK_TABLE_HASH_BYTES];
    memcpy(text, label, sizeof(label));
    memcpy(text + sizeof(label), table->hash, RP_RANK_TABLE_HASH_BYTES);
    rp_status st = hash_secret_file(text + sizeof(label) + RP_RANK_TABLE_HASH_BYTES);
    if (st == RP_OK) {
        crypto_generichash(secret, RP_WIRE_SECRET_BYTES, text, sizeof(text), NULL, 0);
    }
    sodium_memzero(text, sizeof(text));
    return st;
}

static void warn_without_secret(void)
{
    static _Atomic bool warned;
    // relaxed: only for saying it once.
    if (rp_env_device()->secret_file[0] == '\0' &&
            !atomic_exchange_explicit(&warned, true, memory_order_relaxed)) {
        rp_log_warn("the rank table has several servers and REPRISE_SECRET_FILE is not set: who "
                    "knows the table can join");
    }
}

// Loopback is more than the one address that an interface shows, so the kernel is asked by trying.
static bool is_local(const struct rp_netif *address)
{
    int fd = rp_netif_listen_port(address, 0);
    if (fd < 0) {
        return errno != EADDRNOTAVAIL;
    }
    close(fd);
    return true;
}

// Where rank 0 can be reached from other servers, as the table says it; for rank 0 itself only what
// is its own.
static uint32_t add_addresses(const struct rp_rank_table *table, const struct rp_hccl_env *env,
        bool own, struct rp_rendezvous *out)
{
    const struct rp_rank_entry *root = &table->entry[0];
    const uint16_t fallback =
            env->npu_ports.count == 0 ? RP_TABLE_PORT : env->npu_ports.range[0].first;
    const uint16_t port = root->port != 0 ? root->port : fallback;
    const uint32_t before = out->count;
    struct rp_netif server;
    if (root->ip.family != 0 && (!own || is_local(&root->ip))) {
        rp_rendezvous_add_address(out, &root->ip, port);
    }
    if (rp_ip_parse(table->server[root->server].id, &server) &&
            !(server.family == root->ip.family &&
                    memcmp(server.address, root->ip.address, sizeof(server.address)) == 0) &&
            (!own || is_local(&server))) {
        rp_rendezvous_add_address(out, &server, port);
    }
    return out->count - before;
}

static rp_status nowhere_to_listen(const struct rp_rank_table *table, const char *path)
{
    const struct rp_rank_entry *root = &table->entry[0];
    const char *id = table->server[root->server].id;
    char ip[RP_NETIF_TEXT_BYTES];
    struct rp_netif address;
    rp_netif_text(&root->ip, ip);
    return rp_fail(RP_EINTERNAL,
            "rank table \"%s\": server_list[%u].device[%u].device_ip: %s is no address of this "
            "machine, and server_list[%u].server_id (\"%s\") is %s: rank 0 has nowhere to listen "
            "for the other servers",
            path, root->server, root->index, ip, root->server, id,
            rp_ip_parse(id, &address) ? "none either" : "no address at all");
}

rp_status rp_rank_table_meet(const struct rp_rank_table *table, const char *path, uint32_t rank,
        const struct rp_hccl_env *env, struct rp_rendezvous *out)
{
    assert(rank < table->size);
    struct rp_rendezvous meet = { .standing = true, .root = 0, .hint = hint };
    if (sodium_init() < 0) {
        return rp_fail(RP_ESYS, "libsodium cannot be initialised");
    }
    rp_status st = make_secret(table, meet.secret);
    if (st != RP_OK) {
        return st;
    }
    const bool at_home = table->entry[rank].server == table->entry[0].server;
    if (at_home) {
        rp_rendezvous_add_socket(&meet);
    }
    if (table->servers > 1) {
        warn_without_secret();
        if ((rank == 0 || !at_home) && add_addresses(table, env, rank == 0, &meet) == 0) {
            rp_rendezvous_clear(&meet);
            return nowhere_to_listen(table, path);
        }
    }
    *out = meet;
    return RP_OK;
}
