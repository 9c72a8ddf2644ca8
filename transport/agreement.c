#include "transport/agreement.h"

#include <assert.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/util.h"
#include "transport/segment.h"

#define NOT_SET "not set"

static void add(struct rp_agreement *list, const char *name, const char *format, ...)
        RP_PRINTF(3, 4);

static void add(struct rp_agreement *list, const char *name, const char *format, ...)
{
    assert(list->count < RP_SETTINGS_MAX);
    struct rp_setting *setting = &list->setting[list->count++];
    rp_text_copy(setting->name, sizeof(setting->name), name);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(setting->value, sizeof(setting->value), format, args);
    va_end(args);
    assert(length >= 0 && (size_t)length < sizeof(setting->value));
    (void)length;
}

static void add_buffer(struct rp_agreement *list, uint64_t bytes)
{
    uint64_t mib = UINT64_C(1) << 20;
    if (bytes % mib == 0) {
        add(list, "HCCL_BUFFSIZE", "%llu MiB", (unsigned long long)(bytes / mib));
    } else {
        add(list, "HCCL_BUFFSIZE", "%llu bytes", (unsigned long long)bytes);
    }
}

// The config's field is above the environment: what is hidden by it may differ.
static void add_expansion(struct rp_agreement *list, uint32_t config, int32_t env)
{
    static const char *const mode[] = {
        [RP_EXPANSION_MODE_UNSET] = NOT_SET,
        [RP_EXPANSION_MODE_HOST] = "HOST",
        [RP_EXPANSION_MODE_HOST_TS] = "HOST_TS",
        [RP_EXPANSION_MODE_AIV] = "AIV",
        [RP_EXPANSION_MODE_AI_CPU] = "AI_CPU",
        [RP_EXPANSION_MODE_AICPU_TS] = "AICPU_TS",
    };
    if (config != 0) {
        add(list, "HCCL_OP_EXPANSION_MODE", "%u by the communicator's config", config);
    } else if (env >= 0 && (size_t)env < RP_ARRAY_LENGTH(mode)) {
        add(list, "HCCL_OP_EXPANSION_MODE", "%s", mode[env]);
    } else {
        add(list, "HCCL_OP_EXPANSION_MODE", NOT_SET);
    }
}

static void add_determinism(struct rp_agreement *list, uint32_t level)
{
    static const char *const name[] = {
        [RP_DETERMINISM_OFF] = "false",
        [RP_DETERMINISM_ON] = "true",
        [RP_DETERMINISM_STRICT] = "strict",
    };
    add(list, "HCCL_DETERMINISTIC", "%s", level < RP_ARRAY_LENGTH(name) ? name[level] : "?");
}

void rp_agreement_from(const struct rp_comm_settings *settings, struct rp_agreement *out)
{
    memset(out, 0, sizeof(*out));
    add(out, "the layout of shared memory", "version %u (%zu, %u, %u)", RP_SEGMENT_LAYOUT,
            sizeof(struct rp_rank_block), RP_RECORD_RING, RP_SLOT_BYTES);
    add(out, "the communicator's name", "%s", settings->name[0] == '\0' ? NOT_SET : settings->name);
    add_buffer(out, settings->buffer_bytes);
    add_determinism(out, settings->deterministic);
    add_expansion(out, settings->expansion_config, settings->expansion_env);
    add(out, "HCCL_ALGO", "%s", settings->algo[0] == '\0' ? NOT_SET : settings->algo);
    add(out, "REPRISE_TINY_BYTES", "%u", settings->tuning.tiny_bytes);
    add(out, "REPRISE_SMALL_BYTES", "%u", settings->tuning.small_bytes);
}

void rp_agreement_add_ranks(struct rp_agreement *agreement, const char *ranks)
{
    add(agreement, "rankIds", "%s", ranks);
}

void rp_agreement_digest(
        const struct rp_agreement *agreement, uint8_t out[RP_AGREEMENT_DIGEST_BYTES])
{
    uint8_t text[RP_WIRE_PAYLOAD_MAX];
    struct rp_writer writer = rp_writer_view(text, sizeof(text));
    rp_agreement_write(agreement, &writer);
    assert(writer.ok);
    crypto_generichash(out, RP_AGREEMENT_DIGEST_BYTES, text, writer.used, NULL, 0);
}

void rp_agreement_write(const struct rp_agreement *agreement, struct rp_writer *writer)
{
    rp_write_u16(writer, (uint16_t)agreement->count);
    for (uint32_t i = 0; i < agreement->count; i++) {
        rp_write_text(writer, agreement->setting[i].name);
        rp_write_text(writer, agreement->setting[i].value);
    }
}

void rp_agreement_read(struct rp_reader *reader, struct rp_agreement *out)
{
    memset(out, 0, sizeof(*out));
    uint32_t count = rp_read_u16(reader);
    if (count > RP_SETTINGS_MAX) {
        reader->ok = false;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        rp_read_text(reader, out->setting[i].name, sizeof(out->setting[i].name));
        rp_read_text(reader, out->setting[i].value, sizeof(out->setting[i].value));
    }
    out->count = reader->ok ? count : 0;
}

bool rp_agreement_difference(const struct rp_agreement *a, uint32_t rank_a,
        const struct rp_agreement *b, uint32_t rank_b, char *sentence, size_t bytes)
{
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        const struct rp_setting *x = &a->setting[i];
        const struct rp_setting *y = &b->setting[i];
        if (strcmp(x->name, y->name) != 0) {
            snprintf(sentence, bytes,
                    "the ranks run different versions of Reprise: rank %u knows a setting \"%s\" "
                    "where rank %u has \"%s\"",
                    rank_a, x->name, rank_b, y->name);
            return true;
        }
        if (strcmp(x->value, y->value) != 0) {
            snprintf(sentence, bytes,
                    "%s differs: \"%s\" on rank %u, \"%s\" on rank %u; it must be equal on all "
                    "ranks of a communicator",
                    x->name, x->value, rank_a, y->value, rank_b);
            return true;
        }
    }
    if (a->count != b->count) {
        snprintf(sentence, bytes,
                "the ranks run different versions of Reprise: %u settings on rank %u, %u on rank "
                "%u",
                a->count, rank_a, b->count, rank_b);
        return true;
    }
    return false;
}
