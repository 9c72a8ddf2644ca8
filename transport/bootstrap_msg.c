#include "transport/bootstrap_msg.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"

static_assert(RP_SENTENCE_BYTES <= RP_ERROR_SENTENCE_MAX, "a sentence from elsewhere fits");
static_assert(sizeof(((struct rp_member *)NULL)->host) == 64, "RP_ROSTER_ENTRY_BYTES counts it");

static void write_member(const struct rp_member *member, struct rp_writer *writer)
{
    rp_write_bytes(writer, member->process.bytes, sizeof(member->process.bytes));
    rp_write_u64(writer, (uint64_t)member->pid);
    rp_write_u32(writer, (uint32_t)member->device_id);
    rp_write_u64(writer, member->arena_bytes);
    rp_write_text(writer, member->host);
}

static void read_member(struct rp_reader *reader, struct rp_member *out)
{
    rp_read_bytes(reader, out->process.bytes, sizeof(out->process.bytes));
    out->pid = (int64_t)rp_read_u64(reader);
    out->device_id = (int32_t)rp_read_u32(reader);
    out->arena_bytes = rp_read_u64(reader);
    rp_read_text(reader, out->host, sizeof(out->host));
}

void rp_hello_write(const struct rp_hello *hello, struct rp_writer *writer)
{
    rp_write_u32(writer, hello->rank);
    rp_write_u32(writer, hello->size);
    write_member(&hello->member, writer);
    rp_write_u32(writer, hello->timeout_s);
    rp_write_u32(writer, hello->remaining_ms);
    rp_write_text(writer, hello->node_id);
    rp_write_bytes(writer, hello->machine, sizeof(hello->machine));
    rp_write_text(writer, hello->node_socket);
    rp_agreement_write(&hello->agreement, writer);
}

rp_status rp_hello_read(struct rp_reader *reader, struct rp_hello *out)
{
    memset(out, 0, sizeof(*out));
    out->rank = rp_read_u32(reader);
    out->size = rp_read_u32(reader);
    read_member(reader, &out->member);
    out->timeout_s = rp_read_u32(reader);
    out->remaining_ms = rp_read_u32(reader);
    rp_read_text(reader, out->node_id, sizeof(out->node_id));
    rp_read_bytes(reader, out->machine, sizeof(out->machine));
    rp_read_text(reader, out->node_socket, sizeof(out->node_socket));
    rp_agreement_read(reader, &out->agreement);
    bool valid = rp_reader_finished(reader) && out->size > 0 &&
                 out->size <= RP_BOOTSTRAP_RANKS_MAX && out->rank < out->size;
    return valid ? RP_OK : RP_EPARAM;
}

uint32_t rp_roster_write(const struct rp_roster_entry *roster, uint32_t size, uint32_t first,
        struct rp_writer *writer)
{
    size_t fit = (writer->room - writer->used - 8) / RP_ROSTER_ENTRY_BYTES;
    uint32_t count = (uint32_t)rp_min_u64(fit, size - first);
    rp_write_u32(writer, first);
    rp_write_u32(writer, count);
    for (uint32_t i = first; i < first + count; i++) {
        write_member(&roster[i].member, writer);
        rp_write_u32(writer, roster[i].member.node);
        rp_write_text(writer, roster[i].node_socket);
    }
    assert(writer->ok);
    return count;
}

rp_status rp_roster_read(
        struct rp_reader *reader, struct rp_roster_entry *roster, uint32_t size, uint32_t *count)
{
    uint32_t first = rp_read_u32(reader);
    uint32_t added = rp_read_u32(reader);
    if (!reader->ok || first != *count || added == 0 || added > size - *count) {
        return RP_EPARAM;
    }
    for (uint32_t i = first; i < first + added; i++) {
        read_member(reader, &roster[i].member);
        roster[i].member.node = rp_read_u32(reader);
        rp_read_text(reader, roster[i].node_socket, sizeof(roster[i].node_socket));
    }
    if (!rp_reader_finished(reader)) {
        return RP_EPARAM;
    }
    *count += added;
    return RP_OK;
}

void rp_abort_write(rp_status status, const char *sentence, struct rp_writer *writer)
{
    char cut[RP_SENTENCE_BYTES];
    rp_text_copy(cut, sizeof(cut), sentence);
    rp_write_u32(writer, (uint32_t)status);
    rp_write_text(writer, cut);
}

static bool is_known_failure(int32_t status)
{
    switch (status) {
#define KNOWN(name, value, acl, hccl, text) case (value):
        RP_STATUS_MAP(KNOWN)
#undef KNOWN
        return status < 0;
    default:
        return false;
    }
}

// What a stranger's machine wrote goes to logs and terminals.
static void blank_controls(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ') {
            *text = ' ';
        }
    }
}

rp_status rp_abort_read(
        struct rp_reader *reader, rp_status *status, char sentence[RP_SENTENCE_BYTES])
{
    int32_t value = (int32_t)rp_read_u32(reader);
    rp_read_text(reader, sentence, RP_SENTENCE_BYTES);
    if (!rp_reader_finished(reader)) {
        return RP_EPARAM;
    }
    blank_controls(sentence);
    *status = is_known_failure(value) ? (rp_status)value : RP_EREMOTE;
    return RP_OK;
}

void rp_later_write(const char *sentence, struct rp_writer *writer)
{
    char cut[RP_SENTENCE_BYTES];
    rp_text_copy(cut, sizeof(cut), sentence);
    rp_write_text(writer, cut);
}

rp_status rp_later_read(struct rp_reader *reader, char sentence[RP_SENTENCE_BYTES])
{
    rp_read_text(reader, sentence, RP_SENTENCE_BYTES);
    if (!rp_reader_finished(reader)) {
        return RP_EPARAM;
    }
    blank_controls(sentence);
    return RP_OK;
}

rp_status rp_flag_read(struct rp_reader *reader, bool *flag)
{
    uint8_t value = rp_read_u8(reader);
    if (!rp_reader_finished(reader) || value > 1) {
        return RP_EPARAM;
    }
    *flag = value == 1;
    return RP_OK;
}

void rp_door_write(const struct rp_door *door, struct rp_writer *writer)
{
    rp_write_u16(writer, door->port);
    rp_write_u8(writer, door->address.family == AF_INET6 ? 6 : 4);
    rp_write_bytes(writer, door->address.address, sizeof(door->address.address));
    rp_write_text(writer, door->address.scope_id != 0 ? door->address.name : "");
}

static void read_door(struct rp_reader *reader, struct rp_door *out)
{
    memset(out, 0, sizeof(*out));
    out->port = rp_read_u16(reader);
    uint8_t family = rp_read_u8(reader);
    out->address.family = family == 6 ? AF_INET6 : AF_INET;
    rp_read_bytes(reader, out->address.address, sizeof(out->address.address));
    rp_read_text(reader, out->address.name, sizeof(out->address.name));
    reader->ok = reader->ok && (family == 4 || family == 6);
    if (out->address.name[0] != '\0') {
        out->address.scope_id = if_nametoindex(out->address.name);
    }
}

rp_status rp_door_read(struct rp_reader *reader, struct rp_door *out)
{
    read_door(reader, out);
    return rp_reader_finished(reader) ? RP_OK : RP_EPARAM;
}

uint32_t rp_doors_write(
        const struct rp_door *door, uint32_t size, uint32_t first, struct rp_writer *writer)
{
    size_t fit = (writer->room - writer->used - 8) / RP_DOOR_BYTES;
    uint32_t count = (uint32_t)rp_min_u64(fit, size - first);
    rp_write_u32(writer, first);
    rp_write_u32(writer, count);
    for (uint32_t i = first; i < first + count; i++) {
        rp_door_write(&door[i], writer);
    }
    assert(writer->ok);
    return count;
}

rp_status rp_doors_read(
        struct rp_reader *reader, struct rp_door *door, uint32_t size, uint32_t *count)
{
    uint32_t first = rp_read_u32(reader);
    uint32_t added = rp_read_u32(reader);
    if (!reader->ok || first != *count || added == 0 || added > size - *count) {
        return RP_EPARAM;
    }
    for (uint32_t i = first; i < first + added; i++) {
        read_door(reader, &door[i]);
    }
    if (!rp_reader_finished(reader)) {
        return RP_EPARAM;
    }
    *count += added;
    return RP_OK;
}

rp_status rp_rank_set_read(struct rp_reader *reader, uint32_t size, uint8_t set[RP_RANK_SET_BYTES])
{
    memset(set, 0, RP_RANK_SET_BYTES);
    rp_read_bytes(reader, set, (size + 7) / 8);
    return rp_reader_finished(reader) ? RP_OK : RP_EPARAM;
}

uint32_t rp_rank_list_text(bool (*in)(const void *arg, uint32_t rank), const void *arg,
        uint32_t size, char *text, size_t bytes)
{
    char list[512] = "";
    size_t used = 0;
    uint32_t count = 0;
    uint32_t rank = 0;
    bool cut = false;
    while (rank < size) {
        if (!in(arg, rank)) {
            rank++;
            continue;
        }
        uint32_t first = rank;
        while (rank < size && in(arg, rank)) {
            rank++;
            count++;
        }
        cut = used + 32 >= sizeof(list);
        if (cut) {
            continue; // counted, and shown by the dots
        }
        const char *comma = used == 0 ? "" : ", ";
        int length = rank - first == 1
                             ? snprintf(list + used, sizeof(list) - used, "%s%u", comma, first)
                             : snprintf(list + used, sizeof(list) - used, "%s%u%s%u", comma, first,
                                       rank - first == 2 ? ", " : "-", rank - 1);
        used += (size_t)length;
    }
    snprintf(text, bytes, "%s %s%s", count == 1 ? "rank" : "ranks", list, cut ? ", ..." : "");
    return count;
}
