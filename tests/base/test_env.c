// Every variable with values that must be taken and values that must not, at and around each bound;
// then the rules that hold for all of them. What the values turn into is in test_env_values.c.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/env_table.h"
#include "base/error.h"

enum verdict {
    TAKEN,   // good, and counts as set
    IGNORED, // good, but counts as unset
    BAD,     // RP_EPARAM, and the sentence names the variable
};

struct row {
    enum rp_env_id id;
    const char *value;
    enum verdict verdict;
};

#define LONG_16 "abcdefghijklmnop"
#define LONG_64 LONG_16 LONG_16 LONG_16 LONG_16
#define LONG_128 LONG_64 LONG_64
#define LONG_127 "bcdefghijklmnop" LONG_16 LONG_16 LONG_16 LONG_64

static const struct row rows[] = {
    { RP_ENV_CONNECT_TIMEOUT, "0", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "1", TAKEN },
    { RP_ENV_CONNECT_TIMEOUT, "120", TAKEN },
    { RP_ENV_CONNECT_TIMEOUT, "7200", TAKEN },
    { RP_ENV_CONNECT_TIMEOUT, "7201", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "-1", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "+1", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "1.5", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "0x10", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "12a", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "1 2", BAD },
    { RP_ENV_CONNECT_TIMEOUT, "0000000120", TAKEN },
    { RP_ENV_CONNECT_TIMEOUT, "00000000120", BAD }, // eleven digits
    { RP_ENV_EXEC_TIMEOUT, "0", TAKEN },
    { RP_ENV_EXEC_TIMEOUT, "1.5", TAKEN },
    { RP_ENV_EXEC_TIMEOUT, "0.01", TAKEN },
    { RP_ENV_EXEC_TIMEOUT, "2147483647", TAKEN },
    { RP_ENV_EXEC_TIMEOUT, "2147483647.00", TAKEN },
    { RP_ENV_EXEC_TIMEOUT, "2147483647.01", BAD },
    { RP_ENV_EXEC_TIMEOUT, "2147483648", BAD },
    { RP_ENV_EXEC_TIMEOUT, "1.", BAD },
    { RP_ENV_EXEC_TIMEOUT, ".5", BAD },
    { RP_ENV_EXEC_TIMEOUT, "1.234", BAD },
    { RP_ENV_EXEC_TIMEOUT, "1,5", BAD },
    { RP_ENV_EXEC_TIMEOUT, "1.5s", BAD },
    { RP_ENV_EXEC_TIMEOUT, "1.2.3", BAD },
    { RP_ENV_EXEC_TIMEOUT, "-1", BAD },
    { RP_ENV_BUFFSIZE, "0", BAD },
    { RP_ENV_BUFFSIZE, "1", TAKEN },
    { RP_ENV_BUFFSIZE, "200", TAKEN },
    { RP_ENV_BUFFSIZE, "4294967294", TAKEN },
    { RP_ENV_BUFFSIZE, "4294967295", BAD },
    { RP_ENV_BUFFSIZE, "200M", BAD },
    { RP_ENV_ALGO, "level0:NA;level1:ring", TAKEN },
    { RP_ENV_ALGO, "level0:NA;level1:H-D_R;level2:NHR", TAKEN },
    { RP_ENV_ALGO, "level0:NA", TAKEN },
    { RP_ENV_ALGO, "level1:pairwise", TAKEN },
    { RP_ENV_ALGO, "level1:null;level2:fullmesh;level3:NB", TAKEN },
    { RP_ENV_ALGO, "allreduce=level0:NA;level1:NHR_V1/alltoall=level0:NA;level1:pairwise", TAKEN },
    { RP_ENV_ALGO, "allgather=level1:NB", TAKEN },
    { RP_ENV_ALGO, "sendrecv=level1:pipeline/gather=level1:AHC_BROKE", TAKEN },
    { RP_ENV_ALGO, "level0:ring;level1:NHR", TAKEN },
    { RP_ENV_ALGO, "allgather=level0:fullmesh", TAKEN },
    { RP_ENV_ALGO, "level0:NHR", TAKEN },
    { RP_ENV_ALGO, "allreduce=level0:H-D_R/broadcast=level0:star", TAKEN },
    { RP_ENV_ALGO, "level0:pairwise;level1:ring", TAKEN },
    { RP_ENV_ALGO, "level0:null", BAD },
    { RP_ENV_ALGO, "level0:AHC", BAD },
    { RP_ENV_ALGO, "level0:NHR_V1", BAD },
    { RP_ENV_ALGO, "level0:mesh", BAD },
    { RP_ENV_ALGO, "level1:star", BAD },
    { RP_ENV_ALGO, "level1:NA", BAD },
    { RP_ENV_ALGO, "level2:pairwise", BAD },
    { RP_ENV_ALGO, "level2:NHR_V1", BAD },
    { RP_ENV_ALGO, "level1:Ring", BAD },
    { RP_ENV_ALGO, "level1:", BAD },
    { RP_ENV_ALGO, "level1", BAD },
    { RP_ENV_ALGO, "level4:ring", BAD },
    { RP_ENV_ALGO, "level10:ring", BAD },
    { RP_ENV_ALGO, "Level1:ring", BAD },
    { RP_ENV_ALGO, "ring", BAD },
    { RP_ENV_ALGO, "level1:ring;level1:NHR", BAD },
    { RP_ENV_ALGO, "level1:ring;", BAD },
    { RP_ENV_ALGO, ";level1:ring", BAD },
    { RP_ENV_ALGO, "level0:NA;;level1:ring", BAD },
    { RP_ENV_ALGO, "AllReduce=level1:ring", BAD },
    { RP_ENV_ALGO, "sum=level1:ring", BAD },
    { RP_ENV_ALGO, "allreduce=", BAD },
    { RP_ENV_ALGO, "=level1:ring", BAD },
    { RP_ENV_ALGO, "allreduce=level1:ring/", BAD },
    { RP_ENV_ALGO, "/allreduce=level1:ring", BAD },
    { RP_ENV_ALGO, "allreduce=level1:ring/level1:NHR", BAD },
    { RP_ENV_ALGO, "allreduce=level1:ring/allreduce=level1:NHR", BAD },
    { RP_ENV_ALGO, "level1:ring/allreduce=level1:NHR", BAD },
    { RP_ENV_OP_EXPANSION_MODE, "HOST", TAKEN },
    { RP_ENV_OP_EXPANSION_MODE, "HOST_TS", TAKEN },
    { RP_ENV_OP_EXPANSION_MODE, "AIV", TAKEN },
    { RP_ENV_OP_EXPANSION_MODE, "AI_CPU", TAKEN },
    { RP_ENV_OP_EXPANSION_MODE, "AICPU_TS", TAKEN },
    { RP_ENV_OP_EXPANSION_MODE, "aiv", BAD },
    { RP_ENV_OP_EXPANSION_MODE, "CCU_MS", BAD },
    { RP_ENV_OP_EXPANSION_MODE, "HOST_", BAD },
    { RP_ENV_DETERMINISTIC, "false", TAKEN },
    { RP_ENV_DETERMINISTIC, "TRUE", TAKEN },
    { RP_ENV_DETERMINISTIC, "Strict", TAKEN },
    { RP_ENV_DETERMINISTIC, "1", BAD },
    { RP_ENV_DETERMINISTIC, "stric", BAD },
    { RP_ENV_SPLIT_RATIO, "0", TAKEN },
    { RP_ENV_SPLIT_RATIO, "0.25", TAKEN },
    { RP_ENV_SPLIT_RATIO, "1", TAKEN },
    { RP_ENV_SPLIT_RATIO, "1.0", TAKEN },
    { RP_ENV_SPLIT_RATIO, "1.01", IGNORED },
    { RP_ENV_SPLIT_RATIO, "-0.5", IGNORED },
    { RP_ENV_SPLIT_RATIO, "half", BAD },
    { RP_ENV_SPLIT_RATIO, "0.5.5", BAD },
    { RP_ENV_SPLIT_RATIO, ".", BAD },
    { RP_ENV_SPLIT_RATIO, "-", BAD },
    { RP_ENV_INTRA_PCIE, "1", TAKEN },
    { RP_ENV_INTRA_PCIE, "2", BAD },
    { RP_ENV_INTRA_PCIE, "true", BAD },
    { RP_ENV_INTRA_ROCE, "1", TAKEN },
    { RP_ENV_INTRA_ROCE, "01", BAD },
    { RP_ENV_INTER_HCCS_DISABLE, "TRUE", TAKEN },
    { RP_ENV_INTER_HCCS_DISABLE, "false", TAKEN },
    { RP_ENV_INTER_HCCS_DISABLE, "1", BAD },
    { RP_ENV_LOGIC_SUPERPOD_ID, "pod", TAKEN },
    { RP_ENV_LOGIC_SUPERPOD_ID, LONG_127, TAKEN },
    { RP_ENV_LOGIC_SUPERPOD_ID, LONG_128, BAD },
    { RP_ENV_RDMA_TC, "0", TAKEN },
    { RP_ENV_RDMA_TC, "252", TAKEN },
    { RP_ENV_RDMA_TC, "133", BAD },
    { RP_ENV_RDMA_TC, "256", BAD },
    { RP_ENV_RDMA_SL, "0", TAKEN },
    { RP_ENV_RDMA_SL, "7", TAKEN },
    { RP_ENV_RDMA_SL, "8", BAD },
    { RP_ENV_RDMA_TIMEOUT, "4", BAD },
    { RP_ENV_RDMA_TIMEOUT, "5", TAKEN },
    { RP_ENV_RDMA_TIMEOUT, "20", TAKEN },
    { RP_ENV_RDMA_TIMEOUT, "21", BAD },
    { RP_ENV_RDMA_RETRY_CNT, "0", BAD },
    { RP_ENV_RDMA_RETRY_CNT, "1", TAKEN },
    { RP_ENV_RDMA_RETRY_CNT, "7", TAKEN },
    { RP_ENV_RDMA_RETRY_CNT, "8", BAD },
    { RP_ENV_RDMA_QPS, "0", BAD },
    { RP_ENV_RDMA_QPS, "1", TAKEN },
    { RP_ENV_RDMA_QPS, "32", TAKEN },
    { RP_ENV_RDMA_QPS, "33", BAD },
    { RP_ENV_RDMA_QP_PORT_PATH, "/no/such/directory", BAD },
    { RP_ENV_MULTI_QP_THRESHOLD, "0", BAD },
    { RP_ENV_MULTI_QP_THRESHOLD, "1", TAKEN },
    { RP_ENV_MULTI_QP_THRESHOLD, "8192", TAKEN },
    { RP_ENV_MULTI_QP_THRESHOLD, "8193", BAD },
    { RP_ENV_RDMA_NOSTRICT, "True", TAKEN },
    { RP_ENV_RDMA_NOSTRICT, "yes", BAD },
    { RP_ENV_IF_IP, "192.0.2.1", TAKEN },
    { RP_ENV_IF_IP, "2001:db8::1", TAKEN },
    { RP_ENV_IF_IP, "fe80::1%eth0", TAKEN },
    { RP_ENV_IF_IP, "::1", TAKEN },
    { RP_ENV_IF_IP, "192.0.2.256", BAD },
    { RP_ENV_IF_IP, "192.0.2", BAD },
    { RP_ENV_IF_IP, "192.0.2.1%eth0", BAD },
    { RP_ENV_IF_IP, "fe80::1%", BAD },
    { RP_ENV_IF_IP, "fe80::1%abcdefghijklmnop", BAD },
    { RP_ENV_IF_IP, "localhost", BAD },
    { RP_ENV_IF_IP, LONG_128, BAD },
    { RP_ENV_SOCKET_IFNAME, "eth", TAKEN },
    { RP_ENV_SOCKET_IFNAME, "eth,enp", TAKEN },
    { RP_ENV_SOCKET_IFNAME, "=eth0,eth1", TAKEN },
    { RP_ENV_SOCKET_IFNAME, "^docker,lo", TAKEN },
    { RP_ENV_SOCKET_IFNAME, "^=eth0", TAKEN },
    { RP_ENV_SOCKET_IFNAME, "abcdefghijklmno", TAKEN },
    { RP_ENV_SOCKET_IFNAME, "abcdefghijklmnop", BAD },
    { RP_ENV_SOCKET_IFNAME, ",eth", BAD },
    { RP_ENV_SOCKET_IFNAME, "eth,", BAD },
    { RP_ENV_SOCKET_IFNAME, "eth,,enp", BAD },
    { RP_ENV_SOCKET_IFNAME, "^", BAD },
    { RP_ENV_SOCKET_IFNAME, "=", BAD },
    { RP_ENV_SOCKET_IFNAME, "^=", BAD },
    { RP_ENV_SOCKET_FAMILY, "AF_INET", TAKEN },
    { RP_ENV_SOCKET_FAMILY, "AF_INET6", TAKEN },
    { RP_ENV_SOCKET_FAMILY, "inet", BAD },
    { RP_ENV_SOCKET_FAMILY, "af_inet", BAD },
    { RP_ENV_IF_BASE_PORT, "1023", BAD },
    { RP_ENV_IF_BASE_PORT, "1024", TAKEN },
    { RP_ENV_IF_BASE_PORT, "65520", TAKEN },
    { RP_ENV_IF_BASE_PORT, "65521", BAD },
    { RP_ENV_HOST_PORTS, "auto", TAKEN },
    { RP_ENV_HOST_PORTS, "60000", TAKEN },
    { RP_ENV_HOST_PORTS, "60000,60050-60100", TAKEN },
    { RP_ENV_HOST_PORTS, "1-65535", TAKEN },
    { RP_ENV_HOST_PORTS, "5-5", TAKEN },
    { RP_ENV_HOST_PORTS, "0", BAD },
    { RP_ENV_HOST_PORTS, "65536", BAD },
    { RP_ENV_HOST_PORTS, "6-5", BAD },
    { RP_ENV_HOST_PORTS, "5-", BAD },
    { RP_ENV_HOST_PORTS, "-5", BAD },
    { RP_ENV_HOST_PORTS, "5-6-7", BAD },
    { RP_ENV_HOST_PORTS, "5,5", BAD },
    { RP_ENV_HOST_PORTS, "1-10,10-20", BAD },
    { RP_ENV_HOST_PORTS, "10-20,1-30", BAD },
    { RP_ENV_HOST_PORTS, "5,", BAD },
    { RP_ENV_HOST_PORTS, ",5", BAD },
    { RP_ENV_HOST_PORTS, "auto,5", BAD },
    { RP_ENV_HOST_PORTS, "AUTO", BAD },
    { RP_ENV_NPU_PORTS, "16666-16700", TAKEN },
    { RP_ENV_NPU_PORTS, "auto", TAKEN },
    { RP_ENV_NPU_PORTS, "x", BAD },
    { RP_ENV_WHITELIST_DISABLE, "1", TAKEN },
    { RP_ENV_WHITELIST_DISABLE, "2", BAD },
    { RP_ENV_WHITELIST_FILE, "/no/such/file", TAKEN }, // not read while the list is off
    { RP_ENV_OP_RETRY_ENABLE, "L1:0,L2:0", TAKEN },
    { RP_ENV_OP_RETRY_ENABLE, "L0:0,L1:1,L2:1", TAKEN },
    { RP_ENV_OP_RETRY_ENABLE, "L2:1", TAKEN },
    { RP_ENV_OP_RETRY_ENABLE, "L3:1", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "L1:2", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "L1:", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "L1", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "l1:1", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "L1:1,L1:0", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "L1:1,", BAD },
    { RP_ENV_OP_RETRY_ENABLE, "1", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "MaxCnt:1,HoldTime:5000,IntervalTime:1000", TAKEN },
    { RP_ENV_OP_RETRY_PARAMS, "MaxCnt:10,HoldTime:0,IntervalTime:60000", TAKEN },
    { RP_ENV_OP_RETRY_PARAMS, "HoldTime:60000", TAKEN },
    { RP_ENV_OP_RETRY_PARAMS, "MaxCnt:0", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "MaxCnt:11", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "HoldTime:60001", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "IntervalTime:60001", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "MaxCnt:1,MaxCnt:2", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "maxcnt:1", BAD },
    { RP_ENV_OP_RETRY_PARAMS, "3", BAD },
    { RP_ENV_DFS_CONFIG, "connection_fault_detection_time:0", TAKEN },
    { RP_ENV_DFS_CONFIG, "connection_fault_detection_time:20", TAKEN },
    { RP_ENV_DFS_CONFIG, "connection_fault_detection_time:7200,stuck_detection:off", TAKEN },
    { RP_ENV_DFS_CONFIG, "cluster_heartbeat:ON", TAKEN },
    { RP_ENV_DFS_CONFIG, "cluster_heartbeat:maybe", TAKEN }, // a warning, the default stays
    { RP_ENV_DFS_CONFIG, "inconsistent_check:first,task_exception:off", TAKEN },
    { RP_ENV_DFS_CONFIG, "task_monitor_interval:7200000", TAKEN },
    { RP_ENV_DFS_CONFIG, "task_monitor_interval:7200001", BAD },
    { RP_ENV_DFS_CONFIG, "connection_fault_detection_time:19", BAD },
    { RP_ENV_DFS_CONFIG, "connection_fault_detection_time:7201", BAD },
    { RP_ENV_DFS_CONFIG, "connection_fault_detection_time:on", BAD },
    { RP_ENV_DFS_CONFIG, "heartbeat:on", BAD },
    { RP_ENV_DFS_CONFIG, "cluster_heartbeat", BAD },
    { RP_ENV_DFS_CONFIG, "cluster_heartbeat:on,cluster_heartbeat:off", BAD },
    { RP_ENV_DFS_CONFIG, "cluster_heartbeat:on,", BAD },
    { RP_ENV_ENTRY_LOG, "1", TAKEN },
    { RP_ENV_ENTRY_LOG, "on", BAD },
    { RP_ENV_DIAGNOSE, "0", TAKEN },
    { RP_ENV_DIAGNOSE, "9", BAD },
    { RP_ENV_DEBUG_CONFIG, "ALG", TAKEN },
    { RP_ENV_DEBUG_CONFIG, "alg,task,Resource,aiv_ops_exc", TAKEN },
    { RP_ENV_DEBUG_CONFIG, "^TASK", TAKEN },
    { RP_ENV_DEBUG_CONFIG, "DATA_OP", BAD },
    { RP_ENV_DEBUG_CONFIG, "ALG,", BAD },
    { RP_ENV_DEBUG_CONFIG, "^", BAD },
    { RP_ENV_DEBUG_CONFIG, "ALG,^TASK", BAD },
    { RP_ENV_HCOMM_DEBUG_CONFIG, "TASK,DATA_OP", TAKEN },
    { RP_ENV_HCOMM_DEBUG_CONFIG, "ALG", BAD },
    { RP_ENV_HCOMM_CTP_TIMEOUT, "0", TAKEN },
    { RP_ENV_HCOMM_CTP_TIMEOUT, "31", TAKEN },
    { RP_ENV_HCOMM_CTP_TIMEOUT, "32", BAD },
    { RP_ENV_HCOMM_RTP_TIMEOUT, "31", TAKEN },
    { RP_ENV_HCOMM_RTP_TIMEOUT, "32", BAD },
    { RP_ENV_HCOMM_RTP_UBOE_TIMEOUT, "31", TAKEN },
    { RP_ENV_HCOMM_RTP_UBOE_TIMEOUT, "32", BAD },
    { RP_ENV_VISIBLE_DEVICES, "0,2", TAKEN },
    { RP_ENV_VISIBLE_DEVICES, "none", TAKEN },
    { RP_ENV_LOG_LEVEL, "0", TAKEN },
    { RP_ENV_LOG_LEVEL, "4", TAKEN },
    { RP_ENV_LOG_LEVEL, "5", IGNORED },
    { RP_ENV_LOG_LEVEL, "debug", IGNORED },
    { RP_ENV_LOG_STDOUT, "0", TAKEN },
    { RP_ENV_LOG_STDOUT, "2", IGNORED },
    { RP_ENV_LOG_PATH, "/no/such/directory", TAKEN },
    { RP_ENV_DEVICE_COUNT, "0", BAD },
    { RP_ENV_DEVICE_COUNT, "1", TAKEN },
    { RP_ENV_DEVICE_COUNT, "1024", TAKEN },
    { RP_ENV_DEVICE_COUNT, "1025", BAD },
    { RP_ENV_STREAM_LIMIT, "0", BAD },
    { RP_ENV_STREAM_LIMIT, "1984", TAKEN },
    { RP_ENV_EVENT_LIMIT, "1073741824", TAKEN },
    { RP_ENV_EVENT_LIMIT, "1073741825", BAD },
    { RP_ENV_SOC_NAME, "Ascend910B4", TAKEN },
    { RP_ENV_SOC_NAME, LONG_128, BAD },
    { RP_ENV_DEVICE_MEMORY, "1048575", BAD },
    { RP_ENV_DEVICE_MEMORY, "1048576", TAKEN },
    { RP_ENV_DEVICE_MEMORY, "1m", TAKEN },
    { RP_ENV_DEVICE_MEMORY, "64T", TAKEN },
    { RP_ENV_DEVICE_MEMORY, "65T", BAD },
    { RP_ENV_DEVICE_MEMORY, "70368744177664", TAKEN },
    { RP_ENV_DEVICE_MEMORY, "70368744177665", BAD },
    { RP_ENV_DEVICE_MEMORY, "18446744073709551617", BAD }, // 2^64 + 1
    { RP_ENV_DEVICE_MEMORY, "2GB", BAD },
    { RP_ENV_DEVICE_MEMORY, "G", BAD },
    { RP_ENV_DEVICE_MEMORY, "1.5G", BAD },
    { RP_ENV_PROGRESS, "auto", TAKEN },
    { RP_ENV_PROGRESS, "caller", TAKEN },
    { RP_ENV_PROGRESS, "thread", TAKEN },
    { RP_ENV_PROGRESS, "Thread", BAD },
    { RP_ENV_ISA, "auto", TAKEN },
    { RP_ENV_ISA, "scalar", TAKEN },
    { RP_ENV_ISA, "avx2", TAKEN },
    { RP_ENV_ISA, "avx512", TAKEN },
    { RP_ENV_ISA, "neon", TAKEN },
    { RP_ENV_ISA, "sse", BAD },
    { RP_ENV_AIV_CORES, "0", BAD },
    { RP_ENV_AIV_CORES, "1", TAKEN },
    { RP_ENV_AIV_CORES, "256", TAKEN },
    { RP_ENV_AIV_CORES, "257", BAD },
    { RP_ENV_NODE_ID, "node 1", TAKEN },
    { RP_ENV_NODE_ID, LONG_128, BAD },
    { RP_ENV_SECRET_FILE, "/run/secret", TAKEN },
    { RP_ENV_TINY_BYTES, "0", TAKEN },
    { RP_ENV_TINY_BYTES, "40", TAKEN },
    { RP_ENV_TINY_BYTES, "41", BAD },
    { RP_ENV_SMALL_BYTES, "0", TAKEN },
    { RP_ENV_SMALL_BYTES, "32K", TAKEN },
    { RP_ENV_SMALL_BYTES, "32769", BAD },
};

static void clear_all(void)
{
    for (size_t i = 0; i < RP_ENV_COUNT; i++) {
        unsetenv(rp_env_rows[i].name);
    }
    rp_env_reset();
    (void)rp_error_take();
}

TestSuite(env, .init = clear_all);

// What the library says with only variable `id` set; *set is whether it counts as set.
static rp_status read_with(enum rp_env_id id, const char *value, bool *set)
{
    clear_all();
    setenv(rp_env_rows[id].name, value, 1);
    if (id >= RP_ENV_HCCL_COUNT) {
        *set = rp_env_is_set(rp_env_device()->set, id);
        return rp_env_device_status();
    }
    const struct rp_hccl_env *env = NULL;
    rp_status st = rp_env_hccl(&env);
    cr_assert(eq(int, env == NULL, st != RP_OK));
    *set = env != NULL && rp_env_is_set(env->set, id);
    return st;
}

Test(env, values_are_taken_or_refused)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        const char *name = rp_env_rows[row->id].name;
        bool set;
        rp_status st = read_with(row->id, row->value, &set);
        cr_assert(eq(int, st, row->verdict == BAD ? RP_EPARAM : RP_OK), "%s=%s", name, row->value);
        cr_assert(eq(int, set, row->verdict == TAKEN), "%s=%s", name, row->value);
        const char *text = rp_error_take();
        cr_assert(eq(int, text != NULL, row->verdict == BAD), "%s=%s", name, row->value);
        if (text != NULL) {
            cr_assert(ne(ptr, (void *)strstr(text, name), NULL), "%s: %s", name, text);
        }
    }
}

Test(env, every_variable_has_good_and_refused_values_above)
{
    for (int id = 0; id < RP_ENV_COUNT; id++) {
        // These take any text, or need files: test_env_values.c.
        bool any_text = id == RP_ENV_WHITELIST_FILE || id == RP_ENV_LOG_PATH ||
                        id == RP_ENV_VISIBLE_DEVICES || id == RP_ENV_RDMA_QP_PORT_PATH ||
                        id == RP_ENV_SECRET_FILE;
        int taken = 0;
        int refused = 0;
        for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
            taken += (int)rows[i].id == id && rows[i].verdict == TAKEN;
            refused += (int)rows[i].id == id && rows[i].verdict != TAKEN;
        }
        cr_assert(any_text || (taken > 0 && refused > 0), "%s", rp_env_rows[id].name);
    }
}

Test(env, blanks_around_are_ignored_and_empty_is_unset)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        char padded[256];
        bool set;
        if (rows[i].verdict != TAKEN || strlen(rows[i].value) > 200) {
            continue;
        }
        snprintf(padded, sizeof(padded), " \t%s\t ", rows[i].value);
        cr_assert(eq(int, read_with(rows[i].id, padded, &set), RP_OK), "%s", padded);
        cr_assert(set, "%s", padded);
    }
    for (int id = 0; id < RP_ENV_COUNT; id++) {
        bool set;
        cr_assert(eq(int, read_with((enum rp_env_id)id, "", &set), RP_OK));
        cr_assert(not(set));
        cr_assert(eq(int, read_with((enum rp_env_id)id, " \t ", &set), RP_OK));
        cr_assert(not(set));
    }
}

Test(env, value_longer_than_any_limit_is_refused)
{
    char value[RP_ENV_PATH_MAX + 2];
    memset(value, '1', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int id = 0; id < RP_ENV_COUNT; id++) {
        bool set;
        rp_status st = read_with((enum rp_env_id)id, value, &set);
        bool lenient = rp_env_rows[id].lenient;
        cr_assert(eq(int, st, lenient ? RP_OK : RP_EPARAM), "%s", rp_env_rows[id].name);
        cr_assert(not(set));
    }
}

Test(env, defaults_can_be_parsed_by_their_own_rows)
{
    for (int id = 0; id < RP_ENV_COUNT; id++) {
        const struct rp_env_row *row = &rp_env_rows[id];
        static _Alignas(max_align_t) char field[sizeof(struct rp_hccl_env)];
        char why[RP_ENV_WHY_BYTES] = "";
        struct rp_env_input input = {
            .name = row->name, .text = row->fallback, .row = row, .why = why
        };
        cr_assert(ne(ptr, (void *)row->meaning, NULL), "row %d", id);
        cr_assert(ne(int, row->fallback != NULL, row->fallback_words != NULL), "%s", row->name);
        if (row->fallback != NULL) {
            cr_assert(eq(int, row->parse(&input, field), RP_ENV_TAKEN), "%s", why);
        }
    }
}

Test(env, refusal_is_remembered_with_its_sentence)
{
    const struct rp_hccl_env *env;
    setenv("HCCL_BUFFSIZE", "0", 1);
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, rp_env_hccl(&env), RP_EPARAM));
        cr_assert(eq(str, (char *)rp_error_take(),
                "E107000: HCCL_BUFFSIZE is \"0\": not an integer from 1 to 4294967294 (MiB)\n"));
        setenv("HCCL_BUFFSIZE", "100", 1); // too late
    }
}

Test(env, every_refused_variable_is_named)
{
    const struct rp_hccl_env *env;
    setenv("HCCL_BUFFSIZE", "0", 1);
    setenv("HCCL_RDMA_SL", "8", 1);
    setenv("HCCL_IF_IP", "nowhere", 1);
    cr_assert(eq(int, rp_env_hccl(&env), RP_EPARAM));
    const char *text = rp_error_take();
    cr_assert(ne(ptr, (void *)strstr(text, "HCCL_BUFFSIZE"), NULL));
    cr_assert(ne(ptr, (void *)strstr(text, "HCCL_RDMA_SL"), NULL));
    cr_assert(ne(ptr, (void *)strstr(text, "HCCL_IF_IP"), NULL));
}

Test(env, many_long_refusals_fit)
{
    const struct rp_hccl_env *env;
    char value[2000];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int id = 0; id < RP_ENV_HCCL_COUNT; id++) {
        setenv(rp_env_rows[id].name, value, 1);
    }
    cr_assert(eq(int, rp_env_hccl(&env), RP_EPARAM));
    cr_assert(lt(sz, strlen(rp_error_take()), RP_ERROR_TEXT_MAX));
}

Test(env, hccl_and_device_halves_are_independent)
{
    const struct rp_hccl_env *env;
    setenv("REPRISE_AIV_CORES", "0", 1);
    cr_assert(eq(int, rp_env_hccl(&env), RP_OK));
    cr_assert(eq(int, rp_env_device_status(), RP_EPARAM));
    cr_assert(eq(u32, rp_env_device()->aiv_cores, 1), "an invalid value counts as unset");
}

Test(env, later_changes_have_no_effect)
{
    const struct rp_hccl_env *env;
    cr_assert(eq(int, rp_env_hccl(&env), RP_OK));
    setenv("HCCL_BUFFSIZE", "300", 1);
    setenv("REPRISE_DEVICE_COUNT", "3", 1);
    cr_assert(eq(int, rp_env_hccl(&env), RP_OK));
    cr_assert(eq(u64, env->buffer_bytes, UINT64_C(200) << 20));
    cr_assert(eq(u32, rp_env_device()->device_count, 8));
}
