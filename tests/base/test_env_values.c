// What the variables turn into, the rules that join two of them, and the parsers that
// HcclCommConfig shares.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/env_table.h"
#include "base/error.h"

#define MIB (UINT64_C(1) << 20)

static void clear_all(void)
{
    for (size_t i = 0; i < RP_ENV_COUNT; i++) {
        unsetenv(rp_env_rows[i].name);
    }
    rp_env_reset();
}

TestSuite(env_values, .init = clear_all);

static const struct rp_hccl_env *hccl(void)
{
    const struct rp_hccl_env *env = NULL;
    cr_assert(eq(int, rp_env_hccl(&env), RP_OK));
    return env;
}

static const struct rp_hccl_env *hccl_with(const char *name, const char *value)
{
    clear_all();
    setenv(name, value, 1);
    return hccl();
}

static const struct rp_device_env *device_with(const char *name, const char *value)
{
    clear_all();
    setenv(name, value, 1);
    cr_assert(eq(int, rp_env_device_status(), RP_OK));
    return rp_env_device();
}

static rp_status hccl_status(void)
{
    const struct rp_hccl_env *env;
    rp_env_reset();
    return rp_env_hccl(&env);
}

Test(env_values, hccl_defaults)
{
    const struct rp_hccl_env *env = hccl();
    cr_assert(eq(u64, env->set, 0));
    cr_assert(eq(u64, env->connect_timeout_ns, 120 * RP_NS_PER_S));
    cr_assert(eq(u64, env->exec_timeout_host_ns, 1836 * RP_NS_PER_S));
    cr_assert(eq(u64, env->exec_timeout_aiv_ns, 1091 * RP_NS_PER_S));
    cr_assert(eq(u64, env->buffer_bytes, 200 * MIB));
    cr_assert(eq(str, (char *)env->algo.text, ""));
    cr_assert(eq(int, env->algo.level[RP_ALGO_OP_ALLREDUCE][1], RP_ALGO_ADAPTIVE));
    cr_assert(eq(int, env->expansion, RP_EXPANSION_MODE_UNSET));
    cr_assert(eq(int, env->determinism, RP_DETERMINISM_OFF));
    cr_assert(not(env->retry_enable.enabled[1]));
    cr_assert(eq(u32, env->retry_params.count_max, 1));
    cr_assert(eq(u64, env->retry_params.hold_ns, 5 * RP_NS_PER_S));
    cr_assert(eq(u64, env->retry_params.interval_ns, RP_NS_PER_S));
    cr_assert(eq(u64, env->dfs.connection_fault_ns, 20 * RP_NS_PER_S));
    cr_assert(env->dfs.heartbeat);
    cr_assert(env->dfs.stuck_detection);
    cr_assert(env->dfs.task_exception);
    cr_assert(eq(int, env->dfs.inconsistent_check, RP_INCONSISTENT_FIRST));
    cr_assert(eq(u64, env->dfs.task_monitor_ns, 0));
    cr_assert(eq(int, env->if_ip.family, 0));
    cr_assert(eq(u32, env->ifnames.count, 0));
    cr_assert(eq(int, env->socket_family, AF_INET));
    cr_assert(eq(u32, env->host_ports.count, 0));
    cr_assert(eq(u32, env->npu_ports.count, 1));
    cr_assert(not(env->whitelist_enabled));
    cr_assert(eq(u32, env->rdma_tc, 132));
    cr_assert(eq(u32, env->rdma_sl, 4));
    cr_assert(eq(u32, env->rdma_timeout, 20));
    cr_assert(eq(u32, env->rdma_retry_count, 7));
    cr_assert(eq(u32, env->rdma_qps, 1));
    cr_assert(eq(u64, env->multi_qp_threshold_bytes, 512 * 1024));
    cr_assert(not(env->rdma_nostrict));
    cr_assert(not(env->entry_log));
    cr_assert(not(env->diagnose));
    cr_assert(eq(u32, env->debug_modules, 0));
    cr_assert(eq(dbl, env->split_ratio, 0.5));
    cr_assert(eq(u32, env->hcomm_ctp_timeout, 8));
    cr_assert(eq(u32, env->hcomm_rtp_timeout, 16));
    cr_assert(eq(u32, env->hcomm_rtp_uboe_timeout, 16));
}

Test(env_values, device_defaults)
{
    const struct rp_device_env *env = rp_env_device();
    cr_assert(eq(u32, env->device_count, 8));
    cr_assert(eq(u32, env->visible.count, 8));
    cr_assert(eq(u16, env->visible.id[7], 7));
    cr_assert(eq(str, (char *)env->soc_name, "Ascend910B1"));
    cr_assert(eq(u64, env->device_memory_bytes, 0));
    cr_assert(eq(int, env->progress, RP_PROGRESS_AUTO));
    cr_assert(eq(int, env->isa, RP_ISA_AUTO));
    cr_assert(eq(u32, env->aiv_cores, 1));
    cr_assert(eq(str, (char *)env->node_id, ""));
    cr_assert(eq(u64, env->tiny_bytes, UINT64_MAX));
    cr_assert(eq(u64, env->small_bytes, UINT64_MAX));
    cr_assert(eq(int, env->log_level, RP_LOG_ERROR));
    cr_assert(not(env->log_stdout));
    cr_assert(eq(str, (char *)env->log_path, ""));
}

Test(env_values, numbers_carry_their_unit)
{
    cr_assert(eq(u64, hccl_with("HCCL_CONNECT_TIMEOUT", "7")->connect_timeout_ns, 7 * RP_NS_PER_S));
    cr_assert(eq(u64, hccl_with("HCCL_BUFFSIZE", "3")->buffer_bytes, 3 * MIB));
    cr_assert(eq(u64, hccl_with("HCCL_MULTI_QP_THRESHOLD", "2")->multi_qp_threshold_bytes, 2048));
    cr_assert(eq(u64, device_with("REPRISE_DEVICE_MEMORY", "5g")->device_memory_bytes,
            UINT64_C(5) << 30));
    cr_assert(eq(u64, device_with("REPRISE_DEVICE_MEMORY", "2048K")->device_memory_bytes, 2 * MIB));
    cr_assert(eq(u64, device_with("REPRISE_SMALL_BYTES", "8K")->small_bytes, 8192));
    cr_assert(eq(u64, device_with("REPRISE_TINY_BYTES", "0")->tiny_bytes, 0));
    cr_assert(eq(
            dbl, hccl_with("HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", "0.25")->split_ratio, 0.25));
    cr_assert(eq(dbl, hccl_with("HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", "7")->split_ratio, 0.5),
            "out of range: the default");
}

Test(env_values, exec_timeout_means_other_things_to_host_and_aiv)
{
    static const struct {
        const char *value;
        uint64_t host_ns;
        uint64_t aiv_ns;
    } rows[] = {
        { "0", 0, 1091 * RP_NS_PER_S },
        { "0.01", RP_NS_PER_S / 100, RP_NS_PER_S / 100 },
        { "2.5", 2500 * RP_NS_PER_MS, 2500 * RP_NS_PER_MS },
        { "2.05", 2050 * RP_NS_PER_MS, 2050 * RP_NS_PER_MS },
        { "1091", 1091 * RP_NS_PER_S, 1091 * RP_NS_PER_S },
        { "1091.01", 1091010 * RP_NS_PER_MS, 1091 * RP_NS_PER_S },
        { "2147483647", 2147483647 * RP_NS_PER_S, 1091 * RP_NS_PER_S },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        const struct rp_hccl_env *env = hccl_with("HCCL_EXEC_TIMEOUT", rows[i].value);
        cr_assert(eq(u64, env->exec_timeout_host_ns, rows[i].host_ns), "%s", rows[i].value);
        cr_assert(eq(u64, env->exec_timeout_aiv_ns, rows[i].aiv_ns), "%s", rows[i].value);
    }
}

Test(env_values, algorithms_for_every_operator)
{
    const struct rp_algo_config *algo = &hccl_with("HCCL_ALGO", " level0:NA ; level1:H-D_R ")->algo;
    cr_assert(eq(str, (char *)algo->text, "level0:NA;level1:H-D_R"));
    for (int op = 0; op < RP_ALGO_OP_COUNT; op++) {
        cr_assert(eq(int, algo->level[op][0], RP_ALGO_NA));
        cr_assert(eq(int, algo->level[op][1], RP_ALGO_HDR));
        cr_assert(eq(int, algo->level[op][2], RP_ALGO_ADAPTIVE));
    }
}

Test(env_values, algorithms_by_operator)
{
    const struct rp_algo_config *algo = &hccl_with(
            "HCCL_ALGO", "allreduce=level0:NA;level1:ring/broadcast=level1:NHR;level2:pipeline")
                                                 ->algo;
    cr_assert(eq(int, algo->level[RP_ALGO_OP_ALLREDUCE][1], RP_ALGO_RING));
    cr_assert(eq(int, algo->level[RP_ALGO_OP_BROADCAST][1], RP_ALGO_NHR));
    cr_assert(eq(int, algo->level[RP_ALGO_OP_BROADCAST][2], RP_ALGO_PIPELINE));
    cr_assert(eq(int, algo->level[RP_ALGO_OP_ALLGATHER][1], RP_ALGO_ADAPTIVE));
    cr_assert(eq(str, (char *)rp_algo_name_text(RP_ALGO_HDR), "H-D_R"));
    cr_assert(eq(str, (char *)rp_algo_name_text(RP_ALGO_ADAPTIVE), ""));
}

Test(env_values, words)
{
    cr_assert(
            eq(int, hccl_with("HCCL_OP_EXPANSION_MODE", "AIV")->expansion, RP_EXPANSION_MODE_AIV));
    cr_assert(eq(int, hccl_with("HCCL_OP_EXPANSION_MODE", "AI_CPU")->expansion,
            RP_EXPANSION_MODE_AI_CPU));
    cr_assert(
            eq(int, hccl_with("HCCL_DETERMINISTIC", "STRICT")->determinism, RP_DETERMINISM_STRICT));
    cr_assert(eq(int, hccl_with("HCCL_SOCKET_FAMILY", "AF_INET6")->socket_family, AF_INET6));
    cr_assert(eq(int, device_with("REPRISE_PROGRESS", "caller")->progress, RP_PROGRESS_CALLER));
    cr_assert(eq(int, device_with("REPRISE_ISA", "avx2")->isa, RP_ISA_AVX2));
    cr_assert(eq(int, device_with("ASCEND_GLOBAL_LOG_LEVEL", "1")->log_level, RP_LOG_INFO));
    cr_assert(hccl_with("HCCL_ENTRY_LOG_ENABLE", "1")->entry_log);
}

Test(env_values, debug_modules)
{
    cr_assert(eq(u32, hccl_with("HCCL_DEBUG_CONFIG", "alg, task")->debug_modules,
            RP_DEBUG_ALG | RP_DEBUG_TASK));
    cr_assert(eq(u32, hccl_with("HCCL_DEBUG_CONFIG", "^RESOURCE,ALG")->debug_modules,
            RP_DEBUG_TASK | RP_DEBUG_AIV_OPS_EXC));
    cr_assert(eq(
            u32, hccl_with("HCOMM_DEBUG_CONFIG", "^TASK")->hcomm_debug_modules, RP_DEBUG_DATA_OP));
}

Test(env_values, retry_settings)
{
    const struct rp_hccl_env *env = hccl_with("HCCL_OP_RETRY_ENABLE", "L0:1, L2:1");
    cr_assert(not(env->retry_enable.enabled[1]));
    cr_assert(env->retry_enable.enabled[2]);
    env = hccl_with("HCCL_OP_RETRY_PARAMS", "IntervalTime:7, MaxCnt:3");
    cr_assert(eq(u32, env->retry_params.count_max, 3));
    cr_assert(eq(u64, env->retry_params.interval_ns, 7 * RP_NS_PER_MS));
    cr_assert(eq(u64, env->retry_params.hold_ns, 5000 * RP_NS_PER_MS), "not named: the default");
}

Test(env_values, fault_detection)
{
    const struct rp_dfs_config *dfs = &hccl_with("HCCL_DFS_CONFIG",
            "connection_fault_detection_time:0, cluster_heartbeat:off, inconsistent_check:on,"
            "stuck_detection:perhaps, task_monitor_interval:5, task_exception:off")
                                               ->dfs;
    cr_assert(eq(u64, dfs->connection_fault_ns, 0));
    cr_assert(not(dfs->heartbeat));
    cr_assert(dfs->stuck_detection, "neither on nor off: the default");
    cr_assert(eq(int, dfs->inconsistent_check, RP_INCONSISTENT_ON));
    cr_assert(eq(u64, dfs->task_monitor_ns, 5 * RP_NS_PER_MS));
    cr_assert(not(dfs->task_exception));
}

Test(env_values, addresses)
{
    const struct rp_ip *ip = &hccl_with("HCCL_IF_IP", "192.0.2.7")->if_ip;
    uint8_t v4[4] = { 192, 0, 2, 7 };
    cr_assert(eq(int, ip->family, AF_INET));
    cr_assert(eq(int, memcmp(ip->address, v4, 4), 0));
    ip = &hccl_with("HCCL_IF_IP", "fe80::2%eth1")->if_ip;
    cr_assert(eq(int, ip->family, AF_INET6));
    cr_assert(eq(int, ip->address[0], 0xfe));
    cr_assert(eq(int, ip->address[15], 2));
    cr_assert(eq(str, (char *)ip->scope, "eth1"));
}

Test(env_values, interface_filter_has_four_forms)
{
    static const struct {
        const char *filter;
        const char *ifname;
        int match;
    } rows[] = {
        { "eth,enp", "eth0", 0 },
        { "eth,enp", "enp3s0", 1 },
        { "eth,enp", "lo", -1 },
        { "eth,enp", "et", -1 },
        { "=eth0,eth1", "eth0", 0 },
        { "= eth0 , eth1", "eth1", 1 },
        { "=eth0,eth1", "eth01", -1 },
        { "^eth,lo", "eth0", -1 },
        { "^eth,lo", "lo", -1 },
        { "^eth,lo", "enp3s0", 0 },
        { "^=eth0", "eth0", -1 },
        { "^=eth0", "eth01", 0 },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        const struct rp_hccl_env *env = hccl_with("HCCL_SOCKET_IFNAME", rows[i].filter);
        cr_assert(eq(int, rp_ifname_match(&env->ifnames, rows[i].ifname), rows[i].match), "%s %s",
                rows[i].filter, rows[i].ifname);
    }
    clear_all();
    cr_assert(eq(int, rp_ifname_match(&hccl()->ifnames, "any"), 0));
}

Test(env_values, as_many_interfaces_and_ports_as_there_is_room_for)
{
    char names[RP_ENV_IFNAMES_MAX * 4 + 8] = "";
    char ports[RP_ENV_PORTS_MAX * 7 + 8] = "";
    for (int i = 0; i < RP_ENV_IFNAMES_MAX; i++) {
        sprintf(names + strlen(names), "%se%d", i == 0 ? "" : ",", i);
    }
    for (int i = 0; i < RP_ENV_PORTS_MAX; i++) {
        sprintf(ports + strlen(ports), "%s%d", i == 0 ? "" : ",", 50000 + i);
    }
    setenv("HCCL_SOCKET_IFNAME", names, 1);
    setenv("HCCL_HOST_SOCKET_PORT_RANGE", ports, 1);
    const struct rp_hccl_env *env = hccl();
    cr_assert(eq(u32, env->ifnames.count, RP_ENV_IFNAMES_MAX));
    cr_assert(eq(u32, env->host_ports.count, RP_ENV_PORTS_MAX));
    strcat(names, ",more");
    setenv("HCCL_SOCKET_IFNAME", names, 1);
    cr_assert(eq(int, hccl_status(), RP_EPARAM));
    unsetenv("HCCL_SOCKET_IFNAME");
    strcat(ports, ",1");
    setenv("HCCL_HOST_SOCKET_PORT_RANGE", ports, 1);
    cr_assert(eq(int, hccl_status(), RP_EPARAM));
}

Test(env_values, host_ports_from_both_variables)
{
    const struct rp_port_list *ports = &hccl_with("HCCL_IF_BASE_PORT", "40000")->host_ports;
    cr_assert(eq(u32, ports->count, 1));
    cr_assert(eq(u16, ports->range[0].first, 40000));
    cr_assert(eq(u16, ports->range[0].last, 40031));
    ports = &hccl_with("HCCL_IF_BASE_PORT", "65520")->host_ports;
    cr_assert(eq(u16, ports->range[0].last, 65535));
    setenv("HCCL_HOST_SOCKET_PORT_RANGE", "5 , 7 - 9", 1);
    rp_env_reset();
    ports = &hccl()->host_ports;
    cr_assert(eq(u32, ports->count, 2));
    cr_assert(eq(u16, ports->range[0].last, 5));
    cr_assert(eq(u16, ports->range[1].first, 7));
    cr_assert(eq(u16, ports->range[1].last, 9));
    setenv("HCCL_HOST_SOCKET_PORT_RANGE", "auto", 1);
    rp_env_reset();
    cr_assert(eq(u32, hccl()->host_ports.count, 0));
}

Test(env_values, pcie_and_roce_combine_as_documented)
{
    static const struct {
        const char *pcie;
        const char *roce;
        rp_status st;
    } rows[] = {
        { "1", NULL, RP_OK },
        { "1", "0", RP_OK },
        { "0", "0", RP_OK },
        { NULL, NULL, RP_OK },
        { "0", "1", RP_OK },
        { NULL, "1", RP_OK },
        { "1", "1", RP_EPARAM },
        { "0", NULL, RP_EPARAM },
        { NULL, "0", RP_EPARAM },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        clear_all();
        if (rows[i].pcie != NULL) {
            setenv("HCCL_INTRA_PCIE_ENABLE", rows[i].pcie, 1);
        }
        if (rows[i].roce != NULL) {
            setenv("HCCL_INTRA_ROCE_ENABLE", rows[i].roce, 1);
        }
        cr_assert(eq(int, hccl_status(), rows[i].st), "row %zu", i);
    }
}

Test(env_values, white_list_needs_a_readable_file_when_enabled)
{
    setenv("HCCL_WHITELIST_DISABLE", "0", 1);
    cr_assert(eq(int, hccl_status(), RP_EPARAM));
    setenv("HCCL_WHITELIST_FILE", "/no/such/file", 1);
    cr_assert(eq(int, hccl_status(), RP_EPARAM));
    setenv("HCCL_WHITELIST_FILE", "/proc/self/status", 1);
    cr_assert(eq(int, hccl_status(), RP_OK));
    cr_assert(hccl()->whitelist_enabled);
    cr_assert(eq(str, (char *)hccl()->whitelist_file, "/proc/self/status"));
}

Test(env_values, queue_pair_ports_need_their_file)
{
    char directory[] = "/tmp/reprise_env_XXXXXX";
    char path[64];
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    setenv("HCCL_RDMA_QP_PORT_CONFIG_PATH", directory, 1);
    cr_assert(eq(int, hccl_status(), RP_EPARAM));
    snprintf(path, sizeof(path), "%s/MultiQpSrcPort.cfg", directory);
    fclose(fopen(path, "w"));
    cr_assert(eq(int, hccl_status(), RP_OK));
    cr_assert(eq(str, (char *)hccl()->qp_port_path, directory));
    unlink(path);
    rmdir(directory);
}

Test(env_values, visible_devices_end_at_the_first_bad_item)
{
    static const struct {
        const char *value;
        uint32_t count;
        uint16_t last;
    } rows[] = {
        { "0", 1, 0 },
        { "7", 1, 7 },
        { "1,3,5", 3, 5 },
        { " 1 , 3 ", 2, 3 },
        { "1,3,2,5", 2, 3 }, // not ascending
        { "1,1", 1, 1 },     // twice
        { "1,x,5", 1, 1 },   // no number
        { "1,,5", 1, 1 },    // nothing
        { "6,7,8,9", 2, 7 }, // beyond the device count
        { "8", 0, 0 },
        { "-1", 0, 0 },
        { "none", 0, 0 },
    };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        const struct rp_device_env *env = device_with("ASCEND_RT_VISIBLE_DEVICES", rows[i].value);
        cr_assert(eq(u32, env->visible.count, rows[i].count), "%s", rows[i].value);
        cr_assert(eq(u32, env->device_count, 8));
        if (rows[i].count > 0) {
            cr_assert(
                    eq(u16, env->visible.id[rows[i].count - 1], rows[i].last), "%s", rows[i].value);
        }
    }
}

Test(env_values, all_of_many_devices_are_visible)
{
    const struct rp_device_env *env = device_with("REPRISE_DEVICE_COUNT", "1024");
    cr_assert(eq(u32, env->visible.count, 1024));
    cr_assert(eq(u16, env->visible.id[1023], 1023));
}

Test(env_values, config_texts_use_the_same_parsers)
{
    struct rp_algo_config algo = { .text = "kept" };
    struct rp_retry_levels levels = { { false, true, false } };
    struct rp_retry_params params = { .count_max = 4, .hold_ns = 1, .interval_ns = 2 };
    uint64_t timeout_ns = 5;

    cr_assert(eq(int, rp_env_parse_algo("hcclAlgo", "level1:sorted", &algo), RP_EPARAM));
    cr_assert(eq(str, (char *)rp_error_take(),
            "E107000: hcclAlgo is \"level1:sorted\": \"sorted\" is no algorithm of level1\n"));
    cr_assert(eq(str, algo.text, "kept"), "untouched on failure");
    cr_assert(eq(int, rp_env_parse_retry_enable("hcclRetryEnable", "L9:1", &levels), RP_EPARAM));
    cr_assert(levels.enabled[1]);
    cr_assert(
            eq(int, rp_env_parse_retry_params("hcclRetryParams", "MaxCnt:99", &params), RP_EPARAM));
    cr_assert(eq(u32, params.count_max, 4));
    cr_assert(
            eq(int, rp_env_parse_exec_timeout("hcclExecTimeOut", "never", &timeout_ns), RP_EPARAM));
    cr_assert(eq(u64, timeout_ns, 5));

    cr_assert(eq(int, rp_env_parse_algo("hcclAlgo", "", &algo), RP_OK));
    cr_assert(eq(str, algo.text, "kept"), "empty is unset");
    cr_assert(eq(int, rp_env_parse_retry_params("hcclRetryParams", " ", &params), RP_OK));
    cr_assert(eq(u32, params.count_max, 4));

    cr_assert(eq(int, rp_env_parse_algo("hcclAlgo", "level1:NB", &algo), RP_OK));
    cr_assert(eq(int, algo.level[RP_ALGO_OP_REDUCE][1], RP_ALGO_NB));
    cr_assert(eq(int, rp_env_parse_retry_enable("hcclRetryEnable", "L1:0,L2:1", &levels), RP_OK));
    cr_assert(levels.enabled[2]);
    cr_assert(eq(int,
            rp_env_parse_retry_params(
                    "hcclRetryParams", "MaxCnt:3, HoldTime:5000, IntervalTime:1000", &params),
            RP_OK));
    cr_assert(eq(u32, params.count_max, 3));
    cr_assert(eq(int, rp_env_parse_exec_timeout("hcclExecTimeOut", "12.34", &timeout_ns), RP_OK));
    cr_assert(eq(u64, timeout_ns, 12340 * RP_NS_PER_MS));
}

Test(env_values, algorithm_text_of_the_longest_length)
{
    char text[RP_ENV_ALGO_MAX + 1];
    struct rp_algo_config algo;
    // Blanks do not count: a long text of them around a short one is short.
    memset(text, ' ', sizeof(text) - 1);
    memcpy(text + 100, "level1:ring", 11);
    text[sizeof(text) - 1] = '\0';
    cr_assert(eq(int, rp_env_parse_algo("hcclAlgo", text, &algo), RP_OK));
    memset(text, 'x', sizeof(text) - 1);
    cr_assert(eq(int, rp_env_parse_algo("hcclAlgo", text, &algo), RP_EPARAM));
}
