// The table. Defaults are written in the variable's own syntax and parsed like a value, so the
// documentation and the program cannot differ.

#include "base/env_table.h"

#include <sys/socket.h>

#include "base/clock.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define TIB (MIB * MIB)

#define IN_HCCL(field) offsetof(struct rp_hccl_env, field)
#define IN_DEVICE(field) offsetof(struct rp_device_env, field)
#define END_OF_WORDS \
    {                \
        NULL, 0      \
    }

static const struct rp_env_word expansions[] = {
    { "HOST", RP_EXPANSION_MODE_HOST },
    { "HOST_TS", RP_EXPANSION_MODE_HOST_TS },
    { "AIV", RP_EXPANSION_MODE_AIV },
    { "AI_CPU", RP_EXPANSION_MODE_AI_CPU },
    { "AICPU_TS", RP_EXPANSION_MODE_AICPU_TS },
    END_OF_WORDS,
};

static const struct rp_env_word determinisms[] = {
    { "false", RP_DETERMINISM_OFF },
    { "true", RP_DETERMINISM_ON },
    { "strict", RP_DETERMINISM_STRICT },
    END_OF_WORDS,
};

static const struct rp_env_word families[] = {
    { "AF_INET", AF_INET },
    { "AF_INET6", AF_INET6 },
    END_OF_WORDS,
};

static const struct rp_env_word hccl_modules[] = {
    { "ALG", RP_DEBUG_ALG },
    { "TASK", RP_DEBUG_TASK },
    { "RESOURCE", RP_DEBUG_RESOURCE },
    { "AIV_OPS_EXC", RP_DEBUG_AIV_OPS_EXC },
    END_OF_WORDS,
};

static const struct rp_env_word hcomm_modules[] = {
    { "TASK", RP_DEBUG_TASK },
    { "DATA_OP", RP_DEBUG_DATA_OP },
    END_OF_WORDS,
};

static const struct rp_env_word log_levels[] = {
    { "0", RP_LOG_DEBUG },
    { "1", RP_LOG_INFO },
    { "2", RP_LOG_WARN },
    { "3", RP_LOG_ERROR },
    { "4", RP_LOG_NONE },
    END_OF_WORDS,
};

static const struct rp_env_word progresses[] = {
    { "auto", RP_PROGRESS_AUTO },
    { "caller", RP_PROGRESS_CALLER },
    { "thread", RP_PROGRESS_THREAD },
    END_OF_WORDS,
};

static const struct rp_env_word isas[] = {
    { "auto", RP_ISA_AUTO },
    { "scalar", RP_ISA_SCALAR },
    { "avx2", RP_ISA_AVX2 },
    { "avx512", RP_ISA_AVX512 },
    { "neon", RP_ISA_NEON },
    END_OF_WORDS,
};

// clang-format off: one variable, one block.
const struct rp_env_row rp_env_rows[RP_ENV_COUNT] = {
[RP_ENV_CONNECT_TIMEOUT] = {
    .name = "HCCL_CONNECT_TIMEOUT", .group = RP_ENV_GROUP_OPERATORS,
    .parse = rp_env_parse_scaled, .field_off = IN_HCCL(connect_timeout_ns),
    .min = 1, .max = 7200, .unit = "s", .scale = RP_NS_PER_S, .fallback = "120",
    .meaning = "How long connecting the ranks of a communicator may take. CANN accepts 120 and "
        "more and adds 20 s; here nothing is added.",
},
[RP_ENV_EXEC_TIMEOUT] = {
    .name = "HCCL_EXEC_TIMEOUT", .group = RP_ENV_GROUP_OPERATORS,
    .parse = rp_env_parse_seconds, .field_off = IN_HCCL(exec_timeout_host_ns),
    .values = "seconds from 0 to 2147483647 with at most two decimals", .fallback = "1836",
    .meaning = "How long an operator waits for ranks that arrive late. In HOST_TS form 0 means "
        "for ever; in AIV form 0 and more than 1091 mean 1091, which is also its default.",
},
[RP_ENV_BUFFSIZE] = {
    .name = "HCCL_BUFFSIZE", .group = RP_ENV_GROUP_OPERATORS,
    .parse = rp_env_parse_scaled, .field_off = IN_HCCL(buffer_bytes),
    .min = 1, .max = UINT32_MAX - 1, .unit = "MiB", .scale = MIB, .fallback = "200",
    .meaning = "Size of a communicator's buffer; it has two. An operator that goes through them "
        "and is larger takes several rounds.",
},
[RP_ENV_ALGO] = {
    .name = "HCCL_ALGO", .group = RP_ENV_GROUP_OPERATORS,
    .parse = rp_env_parse_algorithms, .field_off = IN_HCCL(algo),
    .values = "`level0:NA;level1:<algorithm>`, or `<operator>=level0:NA;level1:<algorithm>/...`; "
        "algorithms `ring`, `H-D_R`, `NHR`, `NHR_V1`, `NB`, `AHC`, `pipeline`, `pairwise`; "
        "operators `allgather`, `reducescatter`, `allreduce`, `broadcast`, `reduce`, `scatter`, "
        "`alltoall`; case matters",
    .fallback_words = "chosen by operator, size and ranks",
    .meaning = "Algorithm of operators in HOST_TS form: level1 between nodes, where each node has a "
        "mesh within. CANN takes only NA for level0; here it may also be `fullmesh`, `ring`, "
        "`H-D_R`, `NHR`, `NB`, `pairwise`, `star` or `pipeline`, for communicators on one node, "
        "where level1 means nothing. AHC leaves the choice. An operator that does not have the "
        "algorithm takes another.",
},
[RP_ENV_OP_EXPANSION_MODE] = {
    .name = "HCCL_OP_EXPANSION_MODE", .group = RP_ENV_GROUP_OPERATORS,
    .parse = rp_env_parse_word, .words = expansions, .field_off = IN_HCCL(expansion),
    .fallback_words = "AIV where all ranks share a node and the operator has an AIV kernel, "
        "HOST_TS elsewhere",
    .meaning = "Form in which operators run. HOST, AI_CPU and AICPU_TS act as HOST_TS; AIV means "
        "HOST_TS where there is no AIV kernel. Case matters.",
},
[RP_ENV_DETERMINISTIC] = {
    .name = "HCCL_DETERMINISTIC", .group = RP_ENV_GROUP_OPERATORS,
    .parse = rp_env_parse_word, .words = determinisms, .ignore_case = true,
    .field_off = IN_HCCL(determinism), .fallback = "false",
    .meaning = "A repeat gives the same bits in any case here; `strict` gives the same bits also "
        "whatever the algorithm, form and node layout. When set, HcclSetConfig does not change it.",
},
[RP_ENV_SPLIT_RATIO] = {
    .name = "HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO", .group = RP_ENV_GROUP_OPERATORS,
    .no_effect = true, .parse = rp_env_parse_ratio, .field_off = IN_HCCL(split_ratio),
    .values = "a decimal number from 0 to 1; one outside is ignored", .fallback = "0.5",
    .meaning = "Data split between two network dimensions.",
},
[RP_ENV_INTRA_PCIE] = {
    .name = "HCCL_INTRA_PCIE_ENABLE", .group = RP_ENV_GROUP_SERVER,
    .no_effect = true, .parse = rp_env_parse_bit, .field_off = IN_HCCL(intra_pcie),
    .values = "0 or 1", .fallback = "1",
    .meaning = "PCIe between the card groups of a server. Together with HCCL_INTRA_ROCE_ENABLE: "
        "both 1, or one of them 0 and the other unset, is an error.",
},
[RP_ENV_INTRA_ROCE] = {
    .name = "HCCL_INTRA_ROCE_ENABLE", .group = RP_ENV_GROUP_SERVER,
    .no_effect = true, .parse = rp_env_parse_bit, .field_off = IN_HCCL(intra_roce),
    .values = "0 or 1", .fallback = "0",
    .meaning = "RoCE between the card groups of a server.",
},
[RP_ENV_INTER_HCCS_DISABLE] = {
    .name = "HCCL_INTER_HCCS_DISABLE", .group = RP_ENV_GROUP_SERVER,
    .no_effect = true, .parse = rp_env_parse_truth, .field_off = IN_HCCL(inter_hccs_disable),
    .values = "TRUE or FALSE (any case)", .fallback = "FALSE",
    .meaning = "RDMA instead of HCCS within a superpod.",
},
[RP_ENV_LOGIC_SUPERPOD_ID] = {
    .name = "HCCL_LOGIC_SUPERPOD_ID", .group = RP_ENV_GROUP_SERVER,
    .no_effect = true, .parse = rp_env_parse_name, .field_off = IN_HCCL(logic_superpod_id),
    .values = "a text of at most 127 characters", .fallback_words = "none",
    .meaning = "Divides a superpod.",
},
[RP_ENV_RDMA_TC] = {
    .name = "HCCL_RDMA_TC", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(rdma_tc),
    .min = 0, .max = 255, .scale = 4, .fallback = "132",
    .meaning = "Traffic class.",
},
[RP_ENV_RDMA_SL] = {
    .name = "HCCL_RDMA_SL", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(rdma_sl),
    .min = 0, .max = 7, .fallback = "4",
    .meaning = "Service level.",
},
[RP_ENV_RDMA_TIMEOUT] = {
    .name = "HCCL_RDMA_TIMEOUT", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(rdma_timeout),
    .min = 5, .max = 20, .fallback = "20",
    .meaning = "Retransmission timeout t, as 4.096 us * 2^t.",
},
[RP_ENV_RDMA_RETRY_CNT] = {
    .name = "HCCL_RDMA_RETRY_CNT", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(rdma_retry_count),
    .min = 1, .max = 7, .fallback = "7",
    .meaning = "Retransmissions.",
},
[RP_ENV_RDMA_QPS] = {
    .name = "HCCL_RDMA_QPS_PER_CONNECTION", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(rdma_qps),
    .min = 1, .max = 32, .fallback = "1",
    .meaning = "Queue pairs of a connection.",
},
[RP_ENV_RDMA_QP_PORT_PATH] = {
    .name = "HCCL_RDMA_QP_PORT_CONFIG_PATH", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_qp_directory, .field_off = IN_HCCL(qp_port_path),
    .values = "a directory with a readable file `MultiQpSrcPort.cfg`, at most 4096 characters",
    .fallback_words = "none",
    .meaning = "Source ports of queue pairs.",
},
[RP_ENV_MULTI_QP_THRESHOLD] = {
    .name = "HCCL_MULTI_QP_THRESHOLD", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_scaled,
    .field_off = IN_HCCL(multi_qp_threshold_bytes),
    .min = 1, .max = 8192, .unit = "KiB", .scale = KIB, .fallback = "512",
    .meaning = "Bytes for one queue pair before another one is used.",
},
[RP_ENV_RDMA_NOSTRICT] = {
    .name = "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", .group = RP_ENV_GROUP_RDMA,
    .no_effect = true, .parse = rp_env_parse_truth, .field_off = IN_HCCL(rdma_nostrict),
    .values = "TRUE or FALSE (any case)", .fallback = "FALSE",
    .meaning = "Posting of work requests over PCIe on hosts with large pages.",
},
[RP_ENV_IF_IP] = {
    .name = "HCCL_IF_IP", .group = RP_ENV_GROUP_NETWORK,
    .parse = rp_env_parse_ip, .field_off = IN_HCCL(if_ip),
    .values = "an IPv4 address, or an IPv6 address, with `%interface` where it is link-local",
    .fallback_words = "from HCCL_SOCKET_IFNAME, else from the route",
    .meaning = "This host's address between ranks.",
},
[RP_ENV_SOCKET_IFNAME] = {
    .name = "HCCL_SOCKET_IFNAME", .group = RP_ENV_GROUP_NETWORK,
    .parse = rp_env_parse_ifnames, .field_off = IN_HCCL(ifnames),
    .values = "a list of names: `eth,enp` any interface that begins so, the first match wins; "
        "`=eth0` exactly these; `^eth` none that begins so; `^=eth0` none of these",
    .fallback_words = "any",
    .meaning = "Which interface's address is used when HCCL_IF_IP is not set.",
},
[RP_ENV_SOCKET_FAMILY] = {
    .name = "HCCL_SOCKET_FAMILY", .group = RP_ENV_GROUP_NETWORK,
    .parse = rp_env_parse_word, .words = families, .field_off = IN_HCCL(socket_family),
    .fallback = "AF_INET",
    .meaning = "Which family is preferred when an interface has addresses of both.",
},
[RP_ENV_IF_BASE_PORT] = {
    .name = "HCCL_IF_BASE_PORT", .group = RP_ENV_GROUP_NETWORK,
    .parse = rp_env_parse_u32, .field_off = IN_HCCL(if_base_port),
    .min = 1024, .max = 65520, .fallback_words = "none: the kernel chooses a port",
    .meaning = "First of 32 host ports that may be listened on.",
},
[RP_ENV_HOST_PORTS] = {
    .name = "HCCL_HOST_SOCKET_PORT_RANGE", .group = RP_ENV_GROUP_NETWORK,
    .parse = rp_env_parse_ports, .field_off = IN_HCCL(host_ports),
    .values = "ports and ranges from 1 to 65535, `60000,60050-60100`, none twice; or `auto`",
    .fallback = "auto",
    .meaning = "Host ports that may be listened on; before HCCL_IF_BASE_PORT. `auto`: the kernel "
        "chooses.",
},
[RP_ENV_NPU_PORTS] = {
    .name = "HCCL_NPU_SOCKET_PORT_RANGE", .group = RP_ENV_GROUP_NETWORK,
    .no_effect = true, .parse = rp_env_parse_ports, .field_off = IN_HCCL(npu_ports),
    .values = "as HCCL_HOST_SOCKET_PORT_RANGE", .fallback = "16666",
    .meaning = "Ports of the devices' own network; devices here use the host's.",
},
[RP_ENV_WHITELIST_DISABLE] = {
    .name = "HCCL_WHITELIST_DISABLE", .group = RP_ENV_GROUP_SECURITY,
    .no_effect = true, .parse = rp_env_parse_bit_inverted, .field_off = IN_HCCL(whitelist_enabled),
    .values = "0 or 1", .fallback = "1",
    .meaning = "0: only hosts of HCCL_WHITELIST_FILE, which then must be readable. Every "
        "connection proves the root info's secret here in any case.",
},
[RP_ENV_WHITELIST_FILE] = {
    .name = "HCCL_WHITELIST_FILE", .group = RP_ENV_GROUP_SECURITY,
    .no_effect = true, .parse = rp_env_parse_path, .field_off = IN_HCCL(whitelist_file),
    .values = "a path of at most 4096 characters", .fallback_words = "none",
    .meaning = "JSON file with the addresses of hosts, `{\"host_ip\": [\"192.0.2.1\"]}`.",
},
[RP_ENV_OP_RETRY_ENABLE] = {
    .name = "HCCL_OP_RETRY_ENABLE", .group = RP_ENV_GROUP_RELIABILITY,
    .no_effect = true, .parse = rp_env_parse_levels, .field_off = IN_HCCL(retry_enable),
    .values = "`L1:0,L2:0` with 0 or 1, each level once; L0 has no effect", .fallback = "L1:0,L2:0",
    .meaning = "Whether operators go on after a lost connection, between servers (L1) and between "
        "superpods (L2).",
},
[RP_ENV_OP_RETRY_PARAMS] = {
    .name = "HCCL_OP_RETRY_PARAMS", .group = RP_ENV_GROUP_RELIABILITY,
    .no_effect = true, .parse = rp_env_parse_retry, .field_off = IN_HCCL(retry_params),
    .values = "`MaxCnt:1,HoldTime:5000,IntervalTime:1000`, each key at most once; MaxCnt 1 to 10, "
        "times 0 to 60000 ms",
    .fallback = "MaxCnt:1,HoldTime:5000,IntervalTime:1000",
    .meaning = "How often, from when on and how far apart that is tried.",
},
[RP_ENV_DFS_CONFIG] = {
    .name = "HCCL_DFS_CONFIG", .group = RP_ENV_GROUP_RELIABILITY,
    .no_effect = true, .parse = rp_env_parse_dfs, .field_off = IN_HCCL(dfs),
    .values = "list of `key:value`: connection_fault_detection_time 0 or 20 to 7200 (s), "
        "cluster_heartbeat on/off, stuck_detection on/off, inconsistent_check on/first/off, "
        "task_monitor_interval 0 to 7200000 (ms), task_exception on/off",
    .fallback = "connection_fault_detection_time:20,cluster_heartbeat:on,stuck_detection:on,"
        "inconsistent_check:first,task_monitor_interval:0,task_exception:on",
    .meaning = "Fault detection. A value that should be on or off and is not keeps its default.",
},
[RP_ENV_ENTRY_LOG] = {
    .name = "HCCL_ENTRY_LOG_ENABLE", .group = RP_ENV_GROUP_DEBUG,
    .parse = rp_env_parse_bit, .field_off = IN_HCCL(entry_log),
    .values = "0 or 1", .fallback = "0",
    .meaning = "1: one line in the log for each call of an operator.",
},
[RP_ENV_DIAGNOSE] = {
    .name = "HCCL_DIAGNOSE_ENABLE", .group = RP_ENV_GROUP_DEBUG,
    .no_effect = true, .parse = rp_env_parse_bit, .field_off = IN_HCCL(diagnose),
    .values = "0 or 1", .fallback = "0",
    .meaning = "Keeps details of the last operators for error reports.",
},
[RP_ENV_DEBUG_CONFIG] = {
    .name = "HCCL_DEBUG_CONFIG", .group = RP_ENV_GROUP_DEBUG,
    .no_effect = true, .parse = rp_env_parse_modules, .words = hccl_modules,
    .field_off = IN_HCCL(debug_modules),
    .values = "list of ALG, TASK, RESOURCE, AIV_OPS_EXC (any case); `^` before it: all but these",
    .fallback_words = "none",
    .meaning = "Modules that log more.",
},
[RP_ENV_HCOMM_DEBUG_CONFIG] = {
    .name = "HCOMM_DEBUG_CONFIG", .group = RP_ENV_GROUP_DEBUG,
    .no_effect = true, .parse = rp_env_parse_modules, .words = hcomm_modules,
    .field_off = IN_HCCL(hcomm_debug_modules),
    .values = "list of TASK, DATA_OP (any case); `^` before it: all but these",
    .fallback_words = "none",
    .meaning = "The same for the base library.",
},
[RP_ENV_HCOMM_CTP_TIMEOUT] = {
    .name = "HCOMM_TA_CTP_UB_TIMEOUT", .group = RP_ENV_GROUP_DEBUG,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(hcomm_ctp_timeout),
    .min = 0, .max = 31, .fallback = "8",
    .meaning = "Timeout of the UB fabric.",
},
[RP_ENV_HCOMM_RTP_TIMEOUT] = {
    .name = "HCOMM_TA_RTP_UB_TIMEOUT", .group = RP_ENV_GROUP_DEBUG,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(hcomm_rtp_timeout),
    .min = 0, .max = 31, .fallback = "16",
    .meaning = "Timeout of the UB fabric.",
},
[RP_ENV_HCOMM_RTP_UBOE_TIMEOUT] = {
    .name = "HCOMM_TA_RTP_UBOE_TIMEOUT", .group = RP_ENV_GROUP_DEBUG,
    .no_effect = true, .parse = rp_env_parse_u32, .field_off = IN_HCCL(hcomm_rtp_uboe_timeout),
    .min = 0, .max = 31, .fallback = "16",
    .meaning = "Timeout of the UB fabric.",
},
[RP_ENV_VISIBLE_DEVICES] = {
    .name = "ASCEND_RT_VISIBLE_DEVICES", .group = RP_ENV_GROUP_ASCEND,
    .parse = rp_env_parse_visible, .field_off = IN_DEVICE(visible),
    .values = "ascending device ids, `0,2,3`; reading stops at the first item that is none",
    .fallback_words = "all devices",
    .meaning = "Which devices the program sees; they are numbered anew from 0.",
},
[RP_ENV_LOG_LEVEL] = {
    .name = "ASCEND_GLOBAL_LOG_LEVEL", .group = RP_ENV_GROUP_ASCEND, .lenient = true,
    .parse = rp_env_parse_word, .words = log_levels, .field_off = IN_DEVICE(log_level),
    .fallback = "3",
    .meaning = "0 debug, 1 info, 2 warning, 3 error, 4 none. Without one of the next two nothing "
        "is written.",
},
[RP_ENV_LOG_STDOUT] = {
    .name = "ASCEND_SLOG_PRINT_TO_STDOUT", .group = RP_ENV_GROUP_ASCEND, .lenient = true,
    .parse = rp_env_parse_bit, .field_off = IN_DEVICE(log_stdout),
    .values = "0 or 1", .fallback = "0",
    .meaning = "1: the log goes to standard output, and not to a file.",
},
[RP_ENV_LOG_PATH] = {
    .name = "ASCEND_PROCESS_LOG_PATH", .group = RP_ENV_GROUP_ASCEND, .lenient = true,
    .parse = rp_env_parse_path, .field_off = IN_DEVICE(log_path),
    .values = "a path of at most 4096 characters", .fallback_words = "none: no file is written",
    .meaning = "Directory of log files, one a process: `reprise-<pid>.log`. It is made if missing.",
},
[RP_ENV_DEVICE_COUNT] = {
    .name = "REPRISE_DEVICE_COUNT", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_u32, .field_off = IN_DEVICE(device_count),
    .min = 1, .max = RP_ENV_DEVICES_MAX, .fallback = "8",
    .meaning = "Virtual devices of the machine; their ids end at this number less one.",
},
[RP_ENV_STREAM_LIMIT] = {
    .name = "REPRISE_STREAM_LIMIT", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_u32, .field_off = IN_DEVICE(stream_limit),
    .min = 1, .max = 1u << 30, .fallback = "1048576",
    .meaning = "Streams that a device can have at a time. The chips have 1984; set that to find out "
        "whether a program would fit.",
},
[RP_ENV_EVENT_LIMIT] = {
    .name = "REPRISE_EVENT_LIMIT", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_u32, .field_off = IN_DEVICE(event_limit),
    .min = 1, .max = 1u << 30, .fallback = "16777216",
    .meaning = "Events that a device can have at a time. The chips have 65536.",
},
[RP_ENV_SOC_NAME] = {
    .name = "REPRISE_SOC_NAME", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_name, .field_off = IN_DEVICE(soc_name),
    .values = "a text of at most 127 characters", .fallback = "Ascend910B1",
    .meaning = "What aclrtGetSocName answers.",
},
[RP_ENV_DEVICE_MEMORY] = {
    .name = "REPRISE_DEVICE_MEMORY", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_bytes, .field_off = IN_DEVICE(device_memory_bytes),
    .min = MIB, .max = 64 * TIB,
    .values = "bytes from 1M to 64T, also with K, M, G or T behind (powers of 1024)",
    .fallback_words = "the machine's memory",
    .meaning = "Size of a device's memory, fixed at the device's first use; memory that is not "
        "allocated costs nothing.",
},
[RP_ENV_PROGRESS] = {
    .name = "REPRISE_PROGRESS", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_word, .words = progresses, .field_off = IN_DEVICE(progress),
    .fallback = "auto",
    .meaning = "Who runs a device's tasks: `caller` threads that wait for them, the device's own "
        "`thread`, or `auto`: the thread takes over what no caller drives.",
},
[RP_ENV_ISA] = {
    .name = "REPRISE_ISA", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_word, .words = isas, .field_off = IN_DEVICE(isa), .fallback = "auto",
    .meaning = "Instruction set of the kernels; one that the processor lacks counts as `auto`.",
},
[RP_ENV_AIV_CORES] = {
    .name = "REPRISE_AIV_CORES", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_u32, .field_off = IN_DEVICE(aiv_cores),
    .min = 1, .max = 256, .fallback = "1",
    .meaning = "Threads that share one AIV kernel of a device.",
},
[RP_ENV_NODE_ID] = {
    .name = "REPRISE_NODE_ID", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_name, .field_off = IN_DEVICE(node_id),
    .values = "a text of at most 127 characters", .fallback_words = "none",
    .meaning = "Ranks with different ids are on different nodes, also on one machine: TCP is between "
        "them. Ranks of one id share a node as far as they can share memory.",
},
[RP_ENV_SECRET_FILE] = {
    .name = "REPRISE_SECRET_FILE", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_path, .field_off = IN_DEVICE(secret_file),
    .values = "a path of at most 4096 characters", .fallback_words = "none",
    .meaning = "A file with the same secret bytes on all machines. Ranks that meet by a rank table "
        "let in only who has both; jobs with different ones keep apart.",
},
[RP_ENV_TINY_BYTES] = {
    .name = "REPRISE_TINY_BYTES", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_bytes, .field_off = IN_DEVICE(tiny_bytes),
    .min = 0, .max = 40, .values = "bytes from 0 to 40",
    .fallback_words = "measured",
    .meaning = "Largest operator whose data travels in the announcement itself. The same on all "
        "ranks.",
},
[RP_ENV_SMALL_BYTES] = {
    .name = "REPRISE_SMALL_BYTES", .group = RP_ENV_GROUP_REPRISE,
    .parse = rp_env_parse_bytes, .field_off = IN_DEVICE(small_bytes),
    .min = 0, .max = 32 * KIB, .values = "bytes from 0 to 32K",
    .fallback_words = "measured",
    .meaning = "Largest operator whose data is copied to a slot; larger ones are read in place. "
        "The same on all ranks.",
},
};
// clang-format on

const struct rp_env_other rp_env_others[] = {
    { "RANK_TABLE_FILE, RANK_ID, RANK_SIZE, ASCEND_DEVICE_ID", "frameworks, samples",
            "rank table, own rank, number of ranks, device" },
    { "CM_CHIEF_IP, CM_CHIEF_PORT, CM_CHIEF_DEVICE, CM_WORKER_SIZE, CM_WORKER_IP", "TensorFlow",
            "negotiation of ranks without a rank table" },
    { "HCCL_TEST_USE_DEVS, HCCL_TEST_PROFILING, HCCL_TEST_PROFILING_PATH", "hccl_test",
            "devices and profiling of the benchmark programs" },
    { "P2P_HCCL_BUFFSIZE, HCCL_ASYNC_ERROR_HANDLING, HCCL_ZERO_COPY", "torch_npu",
            "settings of the framework" },
    { NULL, NULL, NULL },
};
