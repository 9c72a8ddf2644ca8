#include "transport/rendezvous.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "kernels/record.h"
#include "transport/node_internal.h"

#define BACKLOG 1024
#define NAME_HASH_BYTES 16

rp_status rp_rendezvous_copy(
        const struct rp_rendezvous *meet, uint32_t size, struct rp_rendezvous *out)
{
    uint32_t *ranks = NULL;
    if (meet->parent_rank != NULL) {
        ranks = rp_calloc(size, sizeof(*ranks));
        if (ranks == NULL) {
            return rp_fail(RP_ENOMEM, "no memory for a list of %u ranks", size);
        }
        memcpy(ranks, meet->parent_rank, size * sizeof(*ranks));
    }
    *out = *meet;
    out->parent_rank = ranks;
    return RP_OK;
}

void rp_rendezvous_clear(struct rp_rendezvous *meet)
{
    rp_free(meet->parent_rank);
    sodium_memzero(meet, sizeof(*meet));
}

void rp_rendezvous_from_info(const struct rp_root_info *info, struct rp_rendezvous *out)
{
    *out = (struct rp_rendezvous){ .standing = false };
    memcpy(out->secret, info->secret, sizeof(out->secret));
    rp_text_copy(out->identifier, sizeof(out->identifier), info->identifier);
    rp_rendezvous_add_address(out, &info->address, info->port);
}

// Abstract names are there for everyone on the machine to see, so the name tells nothing about the
// secret; the uid keeps two users' ranks with the same file apart.
void rp_rendezvous_add_socket(struct rp_rendezvous *meet)
{
    static const char label[] = "reprise rendezvous socket";
    uint8_t text[sizeof(label) + 8];
    uint8_t hash[NAME_HASH_BYTES];
    char hex[2 * NAME_HASH_BYTES + 1];
    struct rp_writer writer = rp_writer_view(text, sizeof(text));
    rp_write_bytes(&writer, label, sizeof(label));
    rp_write_u64(&writer, geteuid());
    assert(writer.ok && meet->count < RP_ENDPOINTS_MAX);
    crypto_generichash(hash, sizeof(hash), text, writer.used, meet->secret, sizeof(meet->secret));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    struct rp_endpoint *endpoint = &meet->endpoint[meet->count++];
    *endpoint = (struct rp_endpoint){ .port = 0 };
    snprintf(endpoint->socket, sizeof(endpoint->socket), "reprise-%s", hex);
}

void rp_rendezvous_add_address(
        struct rp_rendezvous *meet, const struct rp_netif *address, uint16_t port)
{
    assert(meet->count < RP_ENDPOINTS_MAX);
    meet->endpoint[meet->count++] = (struct rp_endpoint){ .address = *address, .port = port };
}

void rp_rendezvous_text(const struct rp_rendezvous *meet, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < meet->count && used < bytes; i++) {
        char place[RP_ENDPOINT_TEXT_BYTES];
        rp_endpoint_text(&meet->endpoint[i], place);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i == 0 ? "" : " or ", place);
    }
}

struct renumbered {
    const struct rp_rendezvous *meet;
    bool (*in)(const void *arg, uint32_t rank);
    const void *arg;
    uint32_t size;
};

static bool is_in_parent(const void *arg, uint32_t rank)
{
    const struct renumbered *list = arg;
    for (uint32_t i = 0; i < list->size; i++) {
        if (list->meet->parent_rank[i] == rank && list->in(list->arg, i)) {
            return true;
        }
    }
    return false;
}

void rp_rendezvous_ranks(const struct rp_rendezvous *meet,
        bool (*in)(const void *arg, uint32_t rank), const void *arg, uint32_t size, char *text,
        size_t bytes)
{
    text[0] = '\0';
    if (meet->parent_rank == NULL) {
        return;
    }
    const struct renumbered list = { .meet = meet, .in = in, .arg = arg, .size = size };
    uint32_t parent_size = 0;
    for (uint32_t i = 0; i < size; i++) {
        parent_size = (uint32_t)rp_max_u64(parent_size, meet->parent_rank[i] + UINT64_C(1));
    }
    char ranks[640];
    rp_rank_list_text(is_in_parent, &list, parent_size, ranks, sizeof(ranks));
    snprintf(text, bytes, " (%s of \"%s\")", ranks, meet->parent);
}

// Endpoints.

int rp_endpoint_listen(const struct rp_endpoint *endpoint)
{
    if (endpoint->socket[0] == '\0') {
        return rp_netif_listen_port(&endpoint->address, endpoint->port);
    }
    struct sockaddr_un address;
    socklen_t bytes = rp_node_address(endpoint->socket, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
            (bind(fd, (struct sockaddr *)&address, bytes) != 0 || listen(fd, BACKLOG) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int connect_socket(const struct rp_endpoint *endpoint)
{
    struct sockaddr_un address;
    socklen_t bytes = rp_node_address(endpoint->socket, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int error = connect(fd, (struct sockaddr *)&address, bytes) == 0 ? 0 : errno;
    if (error == 0 && !rp_node_admits(fd, NULL)) {
        error = EPERM; // somebody else sits on the name
    }
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int connect_address(const struct rp_endpoint *endpoint, const struct rp_netif *source)
{
    const int family = endpoint->address.family;
    struct sockaddr_storage address;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int error = 0;
    if (source != NULL && source->family == family) {
        socklen_t bytes = rp_netif_sockaddr(source, 0, &address);
        error = bind(fd, (struct sockaddr *)&address, bytes) == 0 ? 0 : errno;
    }
    if (error == 0) {
        socklen_t bytes = rp_netif_sockaddr(&endpoint->address, endpoint->port, &address);
        error = connect(fd, (struct sockaddr *)&address, bytes) == 0 ? 0 : errno;
    }
    if (error != 0 && error != EINPROGRESS) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int rp_endpoint_connect(const struct rp_endpoint *endpoint, const struct rp_netif *source)
{
    return endpoint->socket[0] != '\0' ? connect_socket(endpoint)
                                       : connect_address(endpoint, source);
}

void rp_endpoint_text(const struct rp_endpoint *endpoint, char text[RP_ENDPOINT_TEXT_BYTES])
{
    if (endpoint->socket[0] != '\0') {
        snprintf(text, RP_ENDPOINT_TEXT_BYTES, "the local socket @%s", endpoint->socket);
        return;
    }
    char address[RP_NETIF_TEXT_BYTES];
    rp_netif_text(&endpoint->address, address);
    snprintf(text, RP_ENDPOINT_TEXT_BYTES,
            endpoint->address.family == AF_INET ? "%s:%u" : "[%s]:%u", address,
            (unsigned)endpoint->port);
}

// Terms.

void rp_terms_write(const struct rp_terms *terms, struct rp_writer *writer)
{
    rp_write_u64(writer, terms->base);
    rp_write_bytes(writer, terms->nonce, sizeof(terms->nonce));
}

rp_status rp_terms_read(struct rp_reader *reader, struct rp_terms *out)
{
    struct rp_terms terms = { .base = rp_read_u64(reader) };
    rp_read_bytes(reader, terms.nonce, sizeof(terms.nonce));
    if (!rp_reader_finished(reader) || terms.base == 0 || terms.base % RP_SEQ_BASE_UNIT != 0) {
        return RP_EPARAM;
    }
    *out = terms;
    return RP_OK;
}

void rp_terms_secret(const struct rp_terms *terms, const uint8_t secret[RP_WIRE_SECRET_BYTES],
        uint8_t out[RP_WIRE_SECRET_BYTES])
{
    static const char label[] = "reprise communicator secret";
    uint8_t text[sizeof(label) + sizeof(terms->nonce)];
    memcpy(text, label, sizeof(label));
    memcpy(text + sizeof(label), terms->nonce, sizeof(terms->nonce));
    crypto_generichash(out, RP_WIRE_SECRET_BYTES, text, sizeof(text), secret, RP_WIRE_SECRET_BYTES);
}
