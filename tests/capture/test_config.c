// HcclCommConfig in every size and version, what goes before what, and HcclSetConfig.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/env_table.h"
#include "capture/comm_config.h"

#define MIB (UINT64_C(1) << 20)
#define TORCH_BYTES 2232  // version 10 without its last field
#define MIRROR_BYTES 2240 // version 10
#define NEWEST_BYTES 2248 // version 11

static void clear_all(void)
{
    for (size_t i = 0; i < RP_ENV_COUNT; i++) {
        unsetenv(rp_env_rows[i].name);
    }
    rp_env_reset();
}

TestSuite(config, .init = clear_all);

static void set(const char *name, const char *value)
{
    setenv(name, value, 1);
    rp_env_reset();
}

static struct rp_algo_config algo;

static rp_status load(const HcclCommConfig *config, struct rp_comm_settings *settings)
{
    return rp_comm_settings_load("test", config, settings, &algo);
}

static struct rp_comm_settings loaded(const HcclCommConfig *config)
{
    struct rp_comm_settings settings;
    cr_assert(eq(int, load(config, &settings), RP_OK));
    return settings;
}

static HcclCommConfig fresh(void)
{
    HcclCommConfig config;
    memset(&config, 0x77, sizeof(config)); // what Init leaves alone is no zero
    HcclCommConfigInit(&config);
    return config;
}

static void set_header(HcclCommConfig *config, uint64_t bytes, uint32_t version)
{
    memcpy(config->reserved, &bytes, sizeof(bytes));
    memcpy(config->reserved + 12, &version, sizeof(version));
}

// Loads a copy that has exactly the bytes that its header states: reading on is found by ASan.
static rp_status load_exactly(
        const HcclCommConfig *config, uint64_t bytes, struct rp_comm_settings *settings)
{
    HcclCommConfig *copy = malloc(bytes);
    cr_assert(ne(ptr, copy, NULL));
    memcpy(copy, config, bytes);
    const rp_status st = load(copy, settings);
    free(copy);
    return st;
}

Test(config, nothing_set_gives_the_defaults)
{
    const HcclCommConfig config = fresh();
    const HcclCommConfig *given[] = { NULL, &config };
    for (int i = 0; i < 2; i++) {
        const struct rp_comm_settings settings = loaded(given[i]);
        cr_assert(eq(u64, settings.buffer_bytes, 200 * MIB));
        cr_assert(eq(u32, settings.deterministic, 0));
        cr_assert(not(settings.deterministic_set));
        cr_assert(eq(u32, settings.expansion_config, 0));
        cr_assert(eq(i32, settings.expansion_env, -1));
        cr_assert(eq(u64, settings.exec_timeout_ns, 1836 * RP_NS_PER_S));
        cr_assert(eq(u64, settings.aiv_timeout_ns, 1091 * RP_NS_PER_S));
        cr_assert(eq(u32, settings.connect_timeout_s, 120));
        cr_assert(eq(str, (char *)settings.algo, ""));
        cr_assert(eq(str, (char *)settings.name, ""));
        cr_assert(eq(str, (char *)settings.udi, "Unspecified"));
        cr_assert(eq(u32, settings.tuning.tiny_bytes, RP_LINE_PAYLOAD_BYTES));
        cr_assert(le(u32, settings.tuning.small_bytes, RP_SLOT_BYTES));
    }
}

Test(config, field_goes_before_environment_before_default)
{
    set("HCCL_BUFFSIZE", "7");
    set("HCCL_DETERMINISTIC", "true");
    set("HCCL_OP_EXPANSION_MODE", "HOST");
    set("HCCL_EXEC_TIMEOUT", "9");
    set("HCCL_ALGO", "level0:NA;level1:NHR");
    set("HCCL_CONNECT_TIMEOUT", "5");
    HcclCommConfig config = fresh();
    struct rp_comm_settings settings = loaded(&config);
    cr_assert(eq(u64, settings.buffer_bytes, 7 * MIB));
    cr_assert(eq(u32, settings.deterministic, 1));
    cr_assert(eq(i32, settings.expansion_env, RP_EXPANSION_MODE_HOST));
    cr_assert(eq(u64, settings.exec_timeout_ns, 9 * RP_NS_PER_S));
    cr_assert(eq(u64, settings.aiv_timeout_ns, 9 * RP_NS_PER_S));
    cr_assert(eq(u32, settings.connect_timeout_s, 5));
    cr_assert(eq(str, (char *)settings.algo, "level0:NA;level1:NHR"));

    config.hcclBufferSize = 3;
    config.hcclDeterministic = 2;
    config.hcclOpExpansionMode = 3;
    config.hcclExecTimeOut = 0;
    strcpy(config.hcclAlgo, "allreduce=level0:ring");
    strcpy(config.hcclCommName, "mine");
    strcpy(config.hcclUdi, "a user");
    settings = loaded(&config);
    cr_assert(eq(u64, settings.buffer_bytes, 3 * MIB));
    cr_assert(eq(u32, settings.deterministic, 2));
    cr_assert(settings.deterministic_set);
    cr_assert(eq(u32, settings.expansion_config, 3));
    cr_assert(eq(u64, settings.exec_timeout_ns, 0));
    cr_assert(eq(u64, settings.aiv_timeout_ns, 1091 * RP_NS_PER_S));
    cr_assert(eq(str, (char *)settings.algo, "allreduce=level0:ring"));
    cr_assert(eq(int, algo.level[RP_ALGO_OP_ALLREDUCE][0], RP_ALGO_RING));
    cr_assert(eq(int, algo.level[RP_ALGO_OP_ALLGATHER][0], RP_ALGO_ADAPTIVE));
    cr_assert(eq(str, (char *)settings.name, "mine"));
    cr_assert(eq(str, (char *)settings.udi, "a user"));
}

Test(config, every_size_in_circulation_is_taken)
{
    static const struct {
        uint64_t bytes;
        uint32_t version;
        bool has_name, has_mode;
    } rows[] = {
        { 24, 1, false, false },
        { 32, 1, false, false }, // early torch_npu
        { 160, 2, true, false },
        { 292, 4, true, true },
        { TORCH_BYTES, 10, true, true },
        { MIRROR_BYTES, 10, true, true },
        { NEWEST_BYTES, 11, true, true },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        HcclCommConfig config = fresh();
        config.hcclBufferSize = 11;
        strcpy(config.hcclCommName, "named");
        config.hcclOpExpansionMode = 1;
        set_header(&config, rows[i].bytes, rows[i].version);
        struct rp_comm_settings settings;
        cr_assert(eq(int, load_exactly(&config, rows[i].bytes, &settings), RP_OK));
        cr_assert(eq(u64, settings.buffer_bytes, (rows[i].bytes >= 28 ? 11 : 200) * MIB));
        cr_assert(eq(str, (char *)settings.name, rows[i].has_name ? "named" : ""));
        cr_assert(eq(u32, settings.expansion_config, rows[i].has_mode ? 1 : 0));
    }
}

Test(config, fields_newer_than_the_version_are_ignored)
{
    HcclCommConfig config = fresh();
    strcpy(config.hcclCommName, "named");
    config.hcclOpExpansionMode = 1;
    config.aclGraphZeroCopyEnable = 9; // would be an error
    set_header(&config, sizeof(config), 3);
    const struct rp_comm_settings settings = loaded(&config);
    cr_assert(eq(str, (char *)settings.name, "named"));
    cr_assert(eq(u32, settings.expansion_config, 0));
}

Test(config, a_newer_version_is_taken_as_far_as_it_is_known)
{
    HcclCommConfig *config = calloc(1, 4096);
    *config = fresh();
    config->hcclBufferSize = 5;
    set_header(config, 4096, 99);
    cr_assert(eq(u64, loaded(config).buffer_bytes, 5 * MIB));
    free(config);
}

Test(config, a_struct_that_was_not_initialised_is_refused)
{
    struct rp_comm_settings settings;
    HcclCommConfig config = { .hcclBufferSize = 5 };
    cr_assert(eq(int, load(&config, &settings), RP_EPARAM));
    config = fresh();
    set_header(&config, 23, 1);
    cr_assert(eq(int, load(&config, &settings), RP_EPARAM));
    config = fresh();
    config.reserved[8] ^= 1; // the magic word
    cr_assert(eq(int, load(&config, &settings), RP_EPARAM));
}

static void no_buffer(HcclCommConfig *config)
{
    config->hcclBufferSize = 0;
}

static void wrong_determinism(HcclCommConfig *config)
{
    config->hcclDeterministic = 3;
}

static void wrong_zero_copy(HcclCommConfig *config)
{
    config->aclGraphZeroCopyEnable = 2;
}

static void odd_traffic_class(HcclCommConfig *config)
{
    config->hcclRdmaTrafficClass = 6;
}

static void large_traffic_class(HcclCommConfig *config)
{
    config->hcclRdmaTrafficClass = 256;
}

static void large_service_level(HcclCommConfig *config)
{
    config->hcclRdmaServiceLevel = 8;
}

static void wrong_algo(HcclCommConfig *config)
{
    strcpy(config->hcclAlgo, "level1:ring;");
}

static void wrong_retry_params(HcclCommConfig *config)
{
    strcpy(config->hcclRetryParams, "MaxCnt:99");
}

static void wrong_retry_enable(HcclCommConfig *config)
{
    strcpy(config->hcclRetryEnable, "L9:1");
}

static void endless_name(HcclCommConfig *config)
{
    memset(config->hcclCommName, 'x', sizeof(config->hcclCommName));
}

static void endless_algo(HcclCommConfig *config)
{
    memset(config->hcclAlgo, 'x', sizeof(config->hcclAlgo));
}

Test(config, wrong_values_are_refused)
{
    static void (*const spoil[])(HcclCommConfig *) = { no_buffer, wrong_determinism,
        wrong_zero_copy, odd_traffic_class, large_traffic_class, large_service_level, wrong_algo,
        wrong_retry_params, wrong_retry_enable, endless_name, endless_algo };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(spoil); i++) {
        HcclCommConfig config = fresh();
        struct rp_comm_settings settings = { .buffer_bytes = 42 };
        spoil[i](&config);
        cr_assert(eq(int, load(&config, &settings), RP_EPARAM), "row %zu", i);
        cr_assert(eq(u64, settings.buffer_bytes, 42), "row %zu", i);
    }
}

Test(config, values_at_the_edge_are_taken)
{
    HcclCommConfig config = fresh();
    config.hcclBufferSize = 1;
    config.hcclDeterministic = 2;
    config.aclGraphZeroCopyEnable = 1;
    config.hcclRdmaTrafficClass = 252;
    config.hcclRdmaServiceLevel = 7;
    config.hcclExecTimeOut = INT32_MAX;
    strcpy(config.hcclRetryEnable, "L1:1, L2:0");
    strcpy(config.hcclRetryParams, "MaxCnt:2, HoldTime:5000, IntervalTime:100");
    memset(config.hcclCommName, 'n', sizeof(config.hcclCommName) - 1);
    config.hcclCommName[sizeof(config.hcclCommName) - 1] = '\0';
    const struct rp_comm_settings settings = loaded(&config);
    cr_assert(eq(u64, settings.buffer_bytes, MIB));
    cr_assert(eq(u64, settings.exec_timeout_ns, INT32_MAX * RP_NS_PER_S));
    cr_assert(eq(u64, settings.aiv_timeout_ns, 1091 * RP_NS_PER_S));
    cr_assert(eq(sz, strlen(settings.name), sizeof(config.hcclCommName) - 1));
}

Test(config, unknown_modes_and_timeouts_leave_the_environment_in_charge)
{
    set("HCCL_EXEC_TIMEOUT", "9");
    static const struct {
        uint32_t given;
        uint32_t taken;
    } modes[] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 0 }, { 6, 0 }, { 7, 7 },
        { 8, 0 }, { UINT32_MAX, 0 } };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(modes); i++) {
        HcclCommConfig config = fresh();
        config.hcclOpExpansionMode = modes[i].given;
        config.hcclExecTimeOut = -2;
        const struct rp_comm_settings settings = loaded(&config);
        cr_assert(eq(u32, settings.expansion_config, modes[i].taken));
        cr_assert(eq(u64, settings.exec_timeout_ns, 9 * RP_NS_PER_S));
    }
}

// The settings keep a text to compare and to show; one that is cut still differs.
Test(config, long_algorithm_texts_stay_different)
{
    HcclCommConfig config = fresh();
    strcpy(config.hcclAlgo, "allgather=level0:NA;level1:pipeline;level2:pipeline/"
                            "reducescatter=level0:NA;level1:pipeline;level2:pipeline/"
                            "allreduce=level0:NA;level1:pipeline;level2:pipeline/"
                            "broadcast=level0:NA;level1:pipeline;level2:pipeline/"
                            "scatter=level0:NA;level1:NHR;level2:NHR/"
                            "reduce=level0:NA;level1:H-D_R");
    const struct rp_comm_settings one = loaded(&config);
    const size_t length = strlen(config.hcclAlgo);
    cr_assert(gt(sz, length, sizeof(one.algo)));
    strcpy(config.hcclAlgo + length - strlen("H-D_R"), "ring");
    const struct rp_comm_settings other = loaded(&config);
    cr_assert(ne(str, (char *)one.algo, (char *)other.algo));
    cr_assert(eq(sz, strlen(one.algo), sizeof(one.algo) - 1));
    cr_assert(eq(int, algo.level[RP_ALGO_OP_REDUCE][1], RP_ALGO_RING));
}

Test(config, a_wrong_variable_is_an_error_with_every_config)
{
    set("HCCL_BUFFSIZE", "none");
    const HcclCommConfig config = fresh();
    struct rp_comm_settings settings;
    cr_assert(eq(int, load(&config, &settings), RP_EPARAM));
    cr_assert(eq(int, load(NULL, &settings), RP_EPARAM));
}

static int32_t get(void)
{
    HcclConfigValue value = { .value = -7 };
    cr_assert(eq(int, HcclGetConfig(HCCL_DETERMINISTIC, &value), HCCL_SUCCESS));
    return value.value;
}

Test(config, set_config_is_the_default_of_new_communicators)
{
    cr_assert(eq(i32, get(), 0));
    cr_assert(eq(int, HcclSetConfig(HCCL_DETERMINISTIC, (HcclConfigValue){ 2 }), HCCL_SUCCESS));
    cr_assert(eq(i32, get(), 2));
    cr_assert(eq(u32, loaded(NULL).deterministic, 2));
    cr_assert(not(loaded(NULL).deterministic_set));
    HcclCommConfig config = fresh();
    config.hcclDeterministic = 1;
    cr_assert(eq(u32, loaded(&config).deterministic, 1));
}

Test(config, set_config_checks_its_value_and_ignores_other_keys)
{
    static const int32_t wrong[] = { -1, 3, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(wrong); i++) {
        cr_assert(eq(int, HcclSetConfig(HCCL_DETERMINISTIC, (HcclConfigValue){ wrong[i] }),
                HCCL_E_PARA));
    }
    cr_assert(eq(int, HcclSetConfig(HCCL_CONFIG_RESERVED, (HcclConfigValue){ 99 }), HCCL_SUCCESS));
    cr_assert(eq(i32, get(), 0));
    cr_assert(eq(int, HcclGetConfig(HCCL_DETERMINISTIC, NULL), HCCL_E_PTR));
}

Test(config, the_environment_goes_before_set_config)
{
    set("HCCL_DETERMINISTIC", "strict");
    cr_assert(eq(int, HcclSetConfig(HCCL_DETERMINISTIC, (HcclConfigValue){ 1 }), HCCL_SUCCESS));
    cr_assert(eq(i32, get(), 2));
    cr_assert(eq(u32, loaded(NULL).deterministic, 2));
}

// The variables are read with the first communicator, not with the first setting.
Test(config, set_config_does_not_read_the_other_variables)
{
    cr_assert(eq(int, HcclSetConfig(HCCL_DETERMINISTIC, (HcclConfigValue){ 1 }), HCCL_SUCCESS));
    cr_assert(eq(i32, get(), 1));
    setenv("HCCL_BUFFSIZE", "13", 1); // without a reset
    cr_assert(eq(u64, loaded(NULL).buffer_bytes, 13 * MIB));
}

Test(config, capability_is_the_number_of_features)
{
    cr_assert(eq(u32, HcclGetCommConfigCapability(), 12));
}
