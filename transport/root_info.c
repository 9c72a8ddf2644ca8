#include "transport/root_info.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/error.h"
#include "kernels/record.h"

#define CHECKSUM_BYTES 32
#define ADDRESS_TEXT_BYTES 64
#define FIELDS_BYTES (RP_ROOT_INFO_BYTES - CHECKSUM_BYTES)

static_assert(ADDRESS_TEXT_BYTES == RP_NETIF_TEXT_BYTES, "the address text fits");

static const uint8_t info_magic[8] = { 'r', 'p', '-', 'r', 'o', 'o', 't', '\n' };

// Never 0, and far enough from the largest number for any run.
uint64_t rp_root_info_base(void)
{
    return (1 + (uint64_t)(randombytes_random() >> 2)) * RP_SEQ_BASE_UNIT;
}

void rp_root_info_init(
        struct rp_root_info *info, const struct rp_netif *address, uint16_t port, int32_t device_id)
{
    *info = (struct rp_root_info){ .address = *address, .port = port };
    randombytes_buf(info->secret, sizeof(info->secret));
    info->base = rp_root_info_base();
    struct timeval now;
    gettimeofday(&now, NULL);
    struct rp_netif plain = *address;
    plain.scope_id = 0; // the interface is named anyway
    char text[RP_NETIF_TEXT_BYTES];
    rp_netif_text(&plain, text);
    snprintf(info->identifier, sizeof(info->identifier), "%s%%%s_%u_%d_%lld", text, address->name,
            (unsigned)port, device_id, (long long)now.tv_sec * 1000000 + now.tv_usec);
}

static void checksum(const uint8_t *bytes, uint8_t out[CHECKSUM_BYTES])
{
    crypto_generichash(out, CHECKSUM_BYTES, bytes, FIELDS_BYTES, NULL, 0);
}

void rp_root_info_write(const struct rp_root_info *info, void *out)
{
    uint8_t *bytes = out;
    char text[ADDRESS_TEXT_BYTES] = "";
    char identifier[RP_ROOT_IDENTIFIER_BYTES] = "";
    char scope[IFNAMSIZ] = "";
    rp_netif_text(&info->address, text);
    snprintf(identifier, sizeof(identifier), "%s", info->identifier);
    if (info->address.scope_id != 0) {
        snprintf(scope, sizeof(scope), "%s", info->address.name);
    }
    memset(bytes, 0, RP_ROOT_INFO_BYTES);
    struct rp_writer writer = rp_writer_view(bytes, FIELDS_BYTES);
    rp_write_bytes(&writer, text, sizeof(text));
    rp_write_bytes(&writer, info_magic, sizeof(info_magic));
    rp_write_u32(&writer, RP_ROOT_INFO_VERSION);
    rp_write_u16(&writer, info->port);
    rp_write_u16(&writer, info->address.family == AF_INET ? 4 : 6);
    rp_write_bytes(&writer, info->address.address, sizeof(info->address.address));
    rp_write_bytes(&writer, scope, sizeof(scope));
    rp_write_bytes(&writer, info->secret, sizeof(info->secret));
    rp_write_u64(&writer, info->base);
    rp_write_bytes(&writer, identifier, sizeof(identifier));
    assert(writer.ok);
    checksum(bytes, bytes + FIELDS_BYTES);
}

static rp_status bad_info(const char *why)
{
    return rp_fail(RP_EPARAM,
            "the root info is %s; it must be the %d bytes that HcclGetRootInfo filled in", why,
            RP_ROOT_INFO_BYTES);
}

rp_status rp_root_info_read(const void *bytes, struct rp_root_info *out)
{
    struct rp_reader reader = rp_reader_view(bytes, FIELDS_BYTES);
    char text[ADDRESS_TEXT_BYTES];
    uint8_t magic[sizeof(info_magic)];
    uint8_t expected[CHECKSUM_BYTES];
    rp_read_bytes(&reader, text, sizeof(text));
    rp_read_bytes(&reader, magic, sizeof(magic));
    if (memcmp(magic, info_magic, sizeof(magic)) != 0) {
        bool zero = sodium_is_zero(bytes, RP_ROOT_INFO_BYTES) == 1;
        return bad_info(zero ? "all zeros" : "not one of ours");
    }
    checksum(bytes, expected);
    if (memcmp(expected, (const uint8_t *)bytes + FIELDS_BYTES, sizeof(expected)) != 0) {
        return bad_info("damaged (its checksum does not fit)");
    }
    uint32_t version = rp_read_u32(&reader);
    if (version != RP_ROOT_INFO_VERSION) {
        return rp_fail(RP_EPARAM,
                "the root info has version %u, this library's is %u: the ranks run different "
                "versions of Reprise",
                version, RP_ROOT_INFO_VERSION);
    }
    struct rp_root_info info = { .port = rp_read_u16(&reader) };
    uint16_t family = rp_read_u16(&reader);
    info.address.family = family == 4 ? AF_INET : AF_INET6;
    rp_read_bytes(&reader, info.address.address, sizeof(info.address.address));
    rp_read_bytes(&reader, info.address.name, sizeof(info.address.name));
    rp_read_bytes(&reader, info.secret, sizeof(info.secret));
    info.base = rp_read_u64(&reader);
    rp_read_bytes(&reader, info.identifier, sizeof(info.identifier));
    if (!reader.ok || (family != 4 && family != 6) || info.port == 0 || info.base == 0 ||
            info.base % RP_SEQ_BASE_UNIT != 0 ||
            memchr(info.address.name, '\0', sizeof(info.address.name)) == NULL ||
            memchr(info.identifier, '\0', sizeof(info.identifier)) == NULL ||
            info.identifier[0] == '\0') {
        return bad_info("inconsistent");
    }
    if (info.address.name[0] != '\0') {
        text[sizeof(text) - 1] = '\0';
        info.address.scope_id = if_nametoindex(info.address.name);
        if (info.address.scope_id == 0) {
            return rp_fail(RP_EPARAM,
                    "the root listens on the link-local address %s, and this machine has no "
                    "interface %s; let HCCL_SOCKET_IFNAME or HCCL_IF_IP choose another address",
                    text, info.address.name);
        }
    }
    *out = info;
    return RP_OK;
}

void rp_root_info_text(const struct rp_root_info *info, char text[RP_ROOT_INFO_TEXT_BYTES])
{
    char address[RP_NETIF_TEXT_BYTES];
    rp_netif_text(&info->address, address);
    snprintf(text, RP_ROOT_INFO_TEXT_BYTES, info->address.family == AF_INET ? "%s:%u" : "[%s]:%u",
            address, (unsigned)info->port);
}
