#include "capture/comm_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "replay/context.h"

// The largest payloads of the tiny and the small form of AIV kernels, unless the environment says
// otherwise. Measured (bench/kernels_lines): with two ranks on a core each, zero copy overtakes
// slots between 1 and 2 KiB; with eight ranks on two cores, where its second exchange costs a
// change of threads, only at 8 KiB, but there both take a hundred times as long.
#define TINY_BYTES RP_LINE_PAYLOAD_BYTES
#define SMALL_BYTES 1024u

#define MIB (UINT64_C(1) << 20)

// ---- the struct, by size and version ----

struct field {
    uint16_t off;
    uint16_t bytes;
    uint8_t since; // version of the struct
};

#define FIELD(name, version)                                                              \
    {                                                                                     \
        offsetof(HcclCommConfig, name), sizeof(((HcclCommConfig *)NULL)->name), (version) \
    }

static const struct field fields[] = {
    FIELD(hcclBufferSize, 1),
    FIELD(hcclDeterministic, 1),
    FIELD(hcclCommName, 2),
    FIELD(hcclUdi, 3),
    FIELD(hcclOpExpansionMode, 4),
    FIELD(hcclRdmaTrafficClass, 5),
    FIELD(hcclRdmaServiceLevel, 5),
    FIELD(hcclWorldRankID, 6),
    FIELD(hcclJobID, 6),
    FIELD(aclGraphZeroCopyEnable, 7),
    FIELD(hcclExecTimeOut, 8),
    FIELD(hcclAlgo, 8),
    FIELD(hcclRetryEnable, 8),
    FIELD(hcclRetryParams, 8),
    FIELD(hcclBufferName, 9),
    FIELD(hcclQos, 10),
    FIELD(hcclSymWinMaxMemSizePerRank, 10),
    FIELD(hcclChannelSqDepth, 11),
};

struct header {
    uint64_t bytes;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
};
static_assert(sizeof(struct header) == HCCL_COMM_CONFIG_INFO_BYTES, "the layout is given");

// A config of our own version: what `given` has, the rest not set. Nothing beyond the size that it
// states is read.
static rp_status read_fields(const char *api, const HcclCommConfig *given, HcclCommConfig *out)
{
    struct header header;
    memcpy(&header, given, sizeof(header));
    if (header.magic != HCCL_COMM_CONFIG_MAGIC_WORD) {
        return rp_fail(RP_EPARAM,
                "%s: config has the magic word 0x%" PRIx32
                " instead of 0x%x; HcclCommConfigInit was not called for it",
                api, header.magic, HCCL_COMM_CONFIG_MAGIC_WORD);
    }
    if (header.bytes < sizeof(header)) {
        return rp_fail(RP_EPARAM, "%s: config says that it has %" PRIu64 " bytes, at least %zu",
                api, header.bytes, sizeof(header));
    }
    if (header.version > HCCL_COMM_CONFIG_VERSION) {
        rp_log_warn("%s: config is of version %" PRIu32 ", known is up to %u: what is newer is "
                    "ignored",
                api, header.version, HCCL_COMM_CONFIG_VERSION);
    }
    HcclCommConfigInit(out);
    for (size_t i = 0; i < RP_ARRAY_LENGTH(fields); i++) {
        const struct field *field = &fields[i];
        if (field->since <= header.version && field->off + field->bytes <= header.bytes) {
            memcpy((char *)out + field->off, (const char *)given + field->off, field->bytes);
        }
    }
    return RP_OK;
}

// ---- single fields ----

static rp_status bad_field(const char *api, const char *name, uint64_t value, const char *range)
{
    return rp_fail(
            RP_EPARAM, "%s: config's %s is %" PRIu64 "; it must be %s", api, name, value, range);
}

// A text that fills its array has no end.
static rp_status check_text(const char *api, const char *name, const char *text, size_t room)
{
    if (memchr(text, '\0', room) == NULL) {
        return rp_fail(
                RP_EPARAM, "%s: config's %s does not end within its %zu bytes", api, name, room);
    }
    return RP_OK;
}

static rp_status check_numbers(const char *api, const HcclCommConfig *config)
{
    if (config->hcclBufferSize == 0) {
        return bad_field(api, "hcclBufferSize", 0, "1 MiB or more");
    }
    if (config->hcclDeterministic > RP_DETERMINISM_STRICT &&
            config->hcclDeterministic != HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET) {
        return bad_field(api, "hcclDeterministic", config->hcclDeterministic, "0, 1 or 2");
    }
    if (config->aclGraphZeroCopyEnable > 1) {
        return bad_field(api, "aclGraphZeroCopyEnable", config->aclGraphZeroCopyEnable, "0 or 1");
    }
    if (config->hcclRdmaTrafficClass != HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET &&
            (config->hcclRdmaTrafficClass > 255 || config->hcclRdmaTrafficClass % 4 != 0)) {
        return bad_field(api, "hcclRdmaTrafficClass", config->hcclRdmaTrafficClass,
                "a multiple of 4 up to 255");
    }
    if (config->hcclRdmaServiceLevel != HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET &&
            config->hcclRdmaServiceLevel > 7) {
        return bad_field(api, "hcclRdmaServiceLevel", config->hcclRdmaServiceLevel, "at most 7");
    }
    return RP_OK;
}

static rp_status check_texts(const char *api, const HcclCommConfig *config)
{
    const struct {
        const char *name;
        const char *text;
        size_t room;
    } texts[] = {
        { "hcclCommName", config->hcclCommName, sizeof(config->hcclCommName) },
        { "hcclUdi", config->hcclUdi, sizeof(config->hcclUdi) },
        { "hcclAlgo", config->hcclAlgo, sizeof(config->hcclAlgo) },
        { "hcclRetryEnable", config->hcclRetryEnable, sizeof(config->hcclRetryEnable) },
        { "hcclRetryParams", config->hcclRetryParams, sizeof(config->hcclRetryParams) },
        { "hcclBufferName", config->hcclBufferName, sizeof(config->hcclBufferName) },
    };
    rp_status st = RP_OK;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(texts) && st == RP_OK; i++) {
        st = check_text(api, texts[i].name, texts[i].text, texts[i].room);
    }
    return st;
}

// 5 and 6 (CCU) are forms of other chips.
static uint32_t known_expansion(const char *api, uint32_t mode)
{
    if (mode == 5 || mode == 6 || mode > 7) {
        rp_log_warn("%s: config's hcclOpExpansionMode %" PRIu32 " is none of this device; the "
                    "environment or the default holds",
                api, mode);
        return 0;
    }
    return mode;
}

static void set_exec_timeout(const char *api, int32_t seconds, struct rp_comm_settings *settings)
{
    if (seconds == HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
        return;
    }
    if (seconds < 0) {
        rp_log_warn("%s: config's hcclExecTimeOut %" PRId32 " is negative; the environment or the "
                    "default holds",
                api, seconds);
        return;
    }
    settings->exec_timeout_ns = (uint64_t)seconds * RP_NS_PER_S;
    settings->aiv_timeout_ns = rp_env_exec_timeout_aiv_ns(settings->exec_timeout_ns);
}

// ---- the process' determinism ----

// HcclSetConfig's; a variable HCCL_DETERMINISTIC goes before it, a communicator's field before
// both.
static _Atomic uint32_t process_determinism = RP_DETERMINISM_OFF;
// The HCCL_* variables have been read: they are what they are from then on.
static _Atomic bool environment_read;

rp_status rp_comm_environment(const struct rp_hccl_env **out)
{
    const rp_status st = rp_env_hccl(out);
    // relaxed: once it is true, rp_env_hccl() answers at once and always the same.
    atomic_store_explicit(&environment_read, true, memory_order_relaxed);
    return st;
}

// Reading the variables for this alone would fix all of them before the first communicator.
static bool environment_decides(const struct rp_hccl_env **env)
{
    // relaxed: as in rp_comm_environment.
    if (!atomic_load_explicit(&environment_read, memory_order_relaxed)) {
        const char *text = getenv("HCCL_DETERMINISTIC");
        if (text == NULL || text[strspn(text, " \t")] == '\0') {
            return false;
        }
    }
    if (rp_env_hccl(env) != RP_OK) {
        *env = NULL; // it is invalid, and has been described
        return true;
    }
    return rp_env_is_set((*env)->set, RP_ENV_DETERMINISTIC);
}

static void set_determinism(struct rp_comm *comm, void *arg)
{
    if (!comm->settings.deterministic_set) {
        // relaxed: a setting; operators of other threads may see it a moment later.
        atomic_store_explicit(&comm->deterministic, *(uint32_t *)arg, memory_order_relaxed);
    }
}

static rp_status set_config(HcclConfig key, HcclConfigValue value)
{
    const struct rp_hccl_env *env = NULL;
    rp_status st = rp_enter();
    if (st != RP_OK || key != HCCL_DETERMINISTIC) {
        return st; // other keys have no effect
    }
    if (value.value < RP_DETERMINISM_OFF || value.value > RP_DETERMINISM_STRICT) {
        return rp_fail(RP_EPARAM,
                "HcclSetConfig: value %" PRId32 " of HCCL_DETERMINISTIC; it must be 0, 1 or 2",
                value.value);
    }
    if (environment_decides(&env)) {
        rp_log_warn("HcclSetConfig: the environment has HCCL_DETERMINISTIC, the call is ignored");
        return env == NULL ? RP_EPARAM : RP_OK;
    }
    uint32_t level = (uint32_t)value.value;
    // relaxed: as for a communicator.
    atomic_store_explicit(&process_determinism, level, memory_order_relaxed);
    rp_comm_each(set_determinism, &level);
    return RP_OK;
}

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue)
{
    return (HcclResult)rp_hccl(set_config(config, configValue));
}

static rp_status get_config(HcclConfig key, HcclConfigValue *value)
{
    const struct rp_hccl_env *env = NULL;
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (value == NULL) {
        return rp_fail(RP_ENULL, "HcclGetConfig: configValue is NULL");
    }
    if (key != HCCL_DETERMINISTIC) {
        return RP_OK;
    }
    const bool by_environment = environment_decides(&env);
    if (by_environment && env == NULL) {
        return RP_EPARAM;
    }
    // relaxed: a setting.
    value->value = by_environment ? (int32_t)env->determinism
                                  : (int32_t)atomic_load_explicit(
                                            &process_determinism, memory_order_relaxed);
    return RP_OK;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue)
{
    return (HcclResult)rp_hccl(get_config(config, configValue));
}

uint32_t HcclGetCommConfigCapability(void)
{
    return HCCL_COMM_CONFIG_RESERVED;
}

// ---- all together ----

// A long text is told apart by its hash: this copy is for comparing and for reports.
static void copy_algo_text(const char *text, char *out, size_t bytes)
{
    if (rp_text_copy(out, bytes, text)) {
        return;
    }
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    }
    char tail[24];
    const int length = snprintf(tail, sizeof(tail), "...#%016" PRIx64, hash);
    memcpy(out + bytes - 1 - (size_t)length, tail, (size_t)length);
}

static void set_from_environment(const struct rp_hccl_env *env, struct rp_comm_settings *settings)
{
    const struct rp_device_env *device = rp_env_device();
    *settings = (struct rp_comm_settings){
        .buffer_bytes = env->buffer_bytes,
        .expansion_env =
                rp_env_is_set(env->set, RP_ENV_OP_EXPANSION_MODE) ? (int32_t)env->expansion : -1,
        .exec_timeout_ns = env->exec_timeout_host_ns,
        .aiv_timeout_ns = env->exec_timeout_aiv_ns,
        .connect_timeout_s = (uint32_t)(env->connect_timeout_ns / RP_NS_PER_S),
        .tuning = { .tiny_bytes = (uint32_t)rp_min_u64(device->tiny_bytes, TINY_BYTES),
                .small_bytes = SMALL_BYTES },
    };
    if (device->small_bytes != UINT64_MAX) {
        settings->tuning.small_bytes = (uint32_t)rp_min_u64(device->small_bytes, RP_SLOT_BYTES);
    }
    // relaxed: a setting.
    settings->deterministic =
            rp_env_is_set(env->set, RP_ENV_DETERMINISTIC)
                    ? (uint32_t)env->determinism
                    : atomic_load_explicit(&process_determinism, memory_order_relaxed);
}

static rp_status set_from_config(const char *api, const HcclCommConfig *config,
        struct rp_comm_settings *settings, struct rp_algo_config *algo)
{
    struct rp_retry_levels levels; // checked, and without effect between ranks of one node
    struct rp_retry_params params;
    rp_status st = check_numbers(api, config);
    st = st != RP_OK ? st : check_texts(api, config);
    st = st != RP_OK ? st : rp_env_parse_algo("hcclAlgo", config->hcclAlgo, algo);
    st = st != RP_OK
                 ? st
                 : rp_env_parse_retry_enable("hcclRetryEnable", config->hcclRetryEnable, &levels);
    st = st != RP_OK
                 ? st
                 : rp_env_parse_retry_params("hcclRetryParams", config->hcclRetryParams, &params);
    if (st != RP_OK) {
        return st;
    }
    if (config->hcclBufferSize != HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET) {
        settings->buffer_bytes = config->hcclBufferSize * MIB;
    }
    if (config->hcclDeterministic != HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET) {
        settings->deterministic = config->hcclDeterministic;
        settings->deterministic_set = true;
    }
    settings->expansion_config = known_expansion(api, config->hcclOpExpansionMode);
    set_exec_timeout(api, config->hcclExecTimeOut, settings);
    memcpy(settings->name, config->hcclCommName, sizeof(settings->name));
    memcpy(settings->udi, config->hcclUdi, sizeof(settings->udi));
    return RP_OK;
}

rp_status rp_comm_settings_load(const char *api, const HcclCommConfig *config,
        struct rp_comm_settings *settings, struct rp_algo_config *algo)
{
    const struct rp_hccl_env *env = NULL;
    rp_status st = rp_comm_environment(&env);
    if (st != RP_OK) {
        return st;
    }
    HcclCommConfig own;
    struct rp_comm_settings loaded;
    set_from_environment(env, &loaded);
    struct rp_algo_config algorithms = env->algo;
    if (config != NULL) {
        st = read_fields(api, config, &own);
        st = st != RP_OK ? st : set_from_config(api, &own, &loaded, &algorithms);
        if (st != RP_OK) {
            return st;
        }
    }
    if (loaded.udi[0] == '\0') {
        rp_text_copy(loaded.udi, sizeof(loaded.udi), "Unspecified");
    }
    copy_algo_text(algorithms.text, loaded.algo, sizeof(loaded.algo));
    *settings = loaded;
    *algo = algorithms;
    return RP_OK;
}
