// Reading a rank table. Every step checks what it reads and says which field is wrong; what fields
// have to do with each other is checked at the end (rank_table_check.c).

#include "transport/rank_table.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"
#include "transport/rank_table_internal.h"

#define SHOWN_BYTES 80

// What is being read, and where in it.
struct place {
    const char *path;
    char field[96];
};

// A value for a sentence: not too long, and without what would spoil it.
static const char *shown(const char *value, char out[SHOWN_BYTES])
{
    if (!rp_text_copy(out, SHOWN_BYTES, value)) {
        memcpy(out + SHOWN_BYTES - 4, "...", 4);
    }
    for (char *at = out; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ') {
            *at = ' ';
        }
    }
    return out;
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "a truth value";
    }
}

static struct place inside(const struct place *outer, const char *key)
{
    struct place place = { .path = outer->path };
    snprintf(place.field, sizeof(place.field), "%.64s%s%s", outer->field,
            outer->field[0] == '\0' ? "" : ".", key);
    return place;
}

static struct place element(const struct place *array, size_t index)
{
    struct place place = { .path = array->path };
    snprintf(place.field, sizeof(place.field), "%.64s[%zu]", array->field, index);
    return place;
}

static rp_status missing(const struct place *place)
{
    return rp_fail(RP_EINTERNAL, "rank table \"%s\": %s: is missing", place->path, place->field);
}

static rp_status wrong_type(const struct place *place, const json_t *value, const char *wanted)
{
    return rp_fail(RP_EINTERNAL, "rank table \"%s\": %s: is %s; it must be %s", place->path,
            place->field[0] == '\0' ? "the whole" : place->field, type_name(value), wanted);
}

static rp_status wrong_value(const struct place *place, const char *value, const char *wanted)
{
    char text[SHOWN_BYTES];
    return rp_fail(RP_EINTERNAL, "rank table \"%s\": %s: is \"%s\"; it must be %s", place->path,
            place->field, shown(value, text), wanted);
}

// The text under `key`; NULL where it is not there and need not be.
static rp_status get_text(const struct place *object, const json_t *json, const char *key,
        bool needed, struct place *place, const char **out)
{
    const json_t *value = json_object_get(json, key);
    *place = inside(object, key);
    *out = NULL;
    if (value == NULL) {
        return needed ? missing(place) : RP_OK;
    }
    if (json_is_integer(value)) {
        return rp_fail(RP_EINTERNAL,
                "rank table \"%s\": %s: is the number %lld; all values are strings: \"%lld\"",
                place->path, place->field, (long long)json_integer_value(value),
                (long long)json_integer_value(value));
    }
    if (!json_is_string(value)) {
        return wrong_type(place, value, "a string");
    }
    *out = json_string_value(value);
    return RP_OK;
}

// Digits only: no sign, no blank.
static bool parse_number(const char *text, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > max) {
            return false;
        }
    }
    *out = (uint32_t)value;
    return text[0] != '\0';
}

struct range {
    uint32_t min;
    uint32_t max;
};

static rp_status get_number(const struct place *object, const json_t *json, const char *key,
        struct range range, uint32_t *out)
{
    struct place place;
    const char *text;
    rp_status st = get_text(object, json, key, true, &place, &text);
    if (st != RP_OK) {
        return st;
    }
    if (!parse_number(text, range.max, out) || *out < range.min) {
        char wanted[64];
        snprintf(wanted, sizeof(wanted), "an integer from %u to %u", range.min, range.max);
        return wrong_value(&place, text, wanted);
    }
    return RP_OK;
}

static rp_status get_array(const struct place *object, const json_t *json, const char *key,
        size_t max, struct place *place, const json_t **out)
{
    const json_t *array = json_object_get(json, key);
    *place = inside(object, key);
    if (array == NULL) {
        return missing(place);
    }
    if (!json_is_array(array)) {
        return wrong_type(place, array, "an array");
    }
    if (json_array_size(array) == 0 || json_array_size(array) > max) {
        return rp_fail(RP_EINTERNAL,
                "rank table \"%s\": %s: has %zu elements; it must have 1 to %zu", place->path,
                place->field, json_array_size(array), max);
    }
    *out = array;
    return RP_OK;
}

bool rp_ip_parse(const char *text, struct rp_netif *out)
{
    struct rp_netif ip = { .family = AF_INET };
    if (inet_pton(AF_INET, text, ip.address) != 1) {
        ip.family = AF_INET6;
        if (inet_pton(AF_INET6, text, ip.address) != 1) {
            return false;
        }
    }
    *out = ip;
    return true;
}

static rp_status read_address(
        const struct place *object, const json_t *json, bool needed, struct rp_netif *out)
{
    struct place place;
    const char *text;
    rp_status st = get_text(object, json, "device_ip", needed, &place, &text);
    if (st == RP_OK && text != NULL && !rp_ip_parse(text, out)) {
        st = wrong_value(&place, text, "an IPv4 or IPv6 address");
    }
    return st;
}

static rp_status read_device(
        const struct place *place, const json_t *json, bool several, struct rp_table_device *device)
{
    if (!json_is_object(json)) {
        return wrong_type(place, json, "an object");
    }
    const struct range ids = { 0, RP_ENV_DEVICES_MAX - 1 };
    const struct range ports = { 1, 65535 };
    const struct range ranks = { 0, RP_BOOTSTRAP_RANKS_MAX - 1 };
    rp_status st = get_number(place, json, "device_id", ids, &device->entry.device_id);
    if (st == RP_OK) {
        st = read_address(place, json, several, &device->entry.ip);
    }
    if (st == RP_OK && json_object_get(json, "device_port") != NULL) {
        uint32_t port = 0;
        st = get_number(place, json, "device_port", ports, &port);
        device->entry.port = (uint16_t)port;
    }
    return st != RP_OK ? st : get_number(place, json, "rank_id", ranks, &device->rank);
}

static rp_status read_devices(
        const struct place *place, const json_t *array, bool several, struct rp_table_draft *draft)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (draft->devices == RP_BOOTSTRAP_RANKS_MAX) {
            return rp_fail(RP_EINTERNAL,
                    "rank table \"%s\": %s: there are more than the %u ranks that are possible",
                    place->path, place->field, RP_BOOTSTRAP_RANKS_MAX);
        }
        struct rp_table_device *device = &draft->device[draft->devices++];
        device->entry.server = draft->table->servers;
        device->entry.index = (uint32_t)i;
        const struct place at = element(place, i);
        rp_status st = read_device(&at, json_array_get(array, i), several, device);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

static rp_status read_server(
        const struct place *place, const json_t *json, bool several, struct rp_table_draft *draft)
{
    struct rp_rank_server *server = &draft->table->server[draft->table->servers];
    struct place at;
    const char *id;
    if (!json_is_object(json)) {
        return wrong_type(place, json, "an object");
    }
    rp_status st = get_text(place, json, "server_id", true, &at, &id);
    if (st != RP_OK) {
        return st;
    }
    if (id[0] == '\0' || !rp_text_copy(server->id, sizeof(server->id), id)) {
        return wrong_value(&at, id, "a text of 1 to 64 characters");
    }
    const json_t *devices;
    st = get_array(place, json, "device", RP_BOOTSTRAP_RANKS_MAX, &at, &devices);
    return st != RP_OK ? st : read_devices(&at, devices, several, draft);
}

static rp_status read_servers(
        const struct place *place, const json_t *array, struct rp_table_draft *draft)
{
    const size_t count = json_array_size(array);
    draft->table->server = rp_calloc(count, sizeof(*draft->table->server));
    draft->device = rp_calloc(RP_BOOTSTRAP_RANKS_MAX, sizeof(*draft->device));
    if (draft->table->server == NULL || draft->device == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a rank table of %zu servers", count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct place at = element(place, i);
        rp_status st = read_server(&at, json_array_get(array, i), count > 1, draft);
        if (st != RP_OK) {
            return st;
        }
        draft->table->servers++;
    }
    return RP_OK;
}

static rp_status read_status(const struct place *root, const json_t *json)
{
    struct place place;
    const char *text;
    rp_status st = get_text(root, json, "version", true, &place, &text);
    if (st == RP_OK && strcmp(text, "1.0") != 0) {
        st = wrong_value(&place, text, "\"1.0\", the template of Atlas A2");
    }
    if (st != RP_OK) {
        return st;
    }
    st = get_text(root, json, "status", true, &place, &text);
    if (st == RP_OK && strcmp(text, "initializing") == 0) {
        return wrong_value(&place, text, "\"completed\": the table is still being made");
    }
    if (st == RP_OK && strcmp(text, "completed") != 0) {
        return wrong_value(&place, text, "\"completed\"");
    }
    return st;
}

static rp_status read_root(const char *path, const json_t *json, struct rp_table_draft *draft)
{
    const struct place root = { .path = path };
    const struct range counts = { 1, RP_BOOTSTRAP_RANKS_MAX };
    struct place place;
    const json_t *servers;
    uint32_t count;
    if (!json_is_object(json)) {
        return wrong_type(&root, json, "an object");
    }
    rp_status st = read_status(&root, json);
    st = st != RP_OK ? st : get_number(&root, json, "server_count", counts, &count);
    st = st != RP_OK
                 ? st
                 : get_array(&root, json, "server_list", RP_BOOTSTRAP_RANKS_MAX, &place, &servers);
    if (st != RP_OK) {
        return st;
    }
    if (json_array_size(servers) != count) {
        return rp_fail(RP_EINTERNAL,
                "rank table \"%s\": server_count: is %u, but server_list has %zu servers", path,
                count, json_array_size(servers));
    }
    st = read_servers(&place, servers, draft);
    return st != RP_OK ? st : rp_rank_table_check(path, draft);
}

static rp_status read_json(
        const char *path, const char *text, size_t bytes, struct rp_table_draft *draft)
{
    static const char mark[] = "\xef\xbb\xbf"; // editors of other systems put it first
    const size_t skipped = bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    json_error_t error = { .line = 0 };
    json_t *json = json_loadb(text + skipped, bytes - skipped, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        char why[SHOWN_BYTES];
        return rp_fail(RP_EINTERNAL, "rank table \"%s\": line %d, column %d: %s", path, error.line,
                error.column, shown(error.text, why));
    }
    rp_status st = read_root(path, json, draft);
    json_decref(json);
    return st;
}

rp_status rp_rank_table_parse(
        const char *path, const char *text, size_t bytes, struct rp_rank_table **out)
{
    struct rp_table_draft draft = { .table = rp_calloc(1, sizeof(*draft.table)) };
    if (draft.table == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for a rank table");
    }
    crypto_generichash(
            draft.table->hash, sizeof(draft.table->hash), (const uint8_t *)text, bytes, NULL, 0);
    rp_status st = read_json(path, text, bytes, &draft);
    rp_free(draft.device);
    if (st != RP_OK) {
        rp_rank_table_free(draft.table);
        return st;
    }
    *out = draft.table;
    return RP_OK;
}

rp_status rp_rank_table_load(const char *path, struct rp_rank_table **out)
{
    char *text;
    size_t bytes;
    rp_status st = rp_file_read("rank table", path, RP_RANK_TABLE_BYTES_MAX, &text, &bytes);
    if (st != RP_OK) {
        return st;
    }
    st = rp_rank_table_parse(path, text, bytes, out);
    rp_free(text);
    return st;
}

void rp_rank_table_free(struct rp_rank_table *table)
{
    if (table != NULL) {
        rp_free(table->server);
        rp_free(table->entry);
        rp_free(table);
    }
}
