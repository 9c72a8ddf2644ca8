#ifndef RP_BASE_ENV_H
#define RP_BASE_ENV_H

/*
 * The environment: every variable that the library reads stands in one table (base/env_table.c),
 * with its range, its default and its meaning. Checking, logging and docs/environment.md are made
 * from it.
 *
 * HCCL_* is read once per process, at the first HcclGetRootInfo or communicator init; REPRISE_*
 * and ASCEND_* at the first acl or Hccl call; nothing at load. Later changes of the environment
 * have no effect. Blanks around a value, and in lists around their separators, are ignored; an
 * empty value is unset.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"

#define RP_ENV_PATH_MAX 4096  /* longest path, without the zero */
#define RP_ENV_ALGO_MAX 1600  /* HCCL_COMM_ALGO_MAX_LENGTH, with the zero */
#define RP_ENV_IFNAMES_MAX 32 /* names in HCCL_SOCKET_IFNAME */
#define RP_ENV_IFNAME_MAX 16  /* IFNAMSIZ, with the zero */
#define RP_ENV_PORTS_MAX 64   /* ranges in a port list */
#define RP_ENV_DEVICES_MAX 1024
#define RP_ENV_NAME_MAX 128 /* REPRISE_NODE_ID, HCCL_LOGIC_SUPERPOD_ID, SoC name; with the zero */

/* The variables, in the order of the table. HCCL ones first. */
enum rp_env_id {
    RP_ENV_CONNECT_TIMEOUT,
    RP_ENV_EXEC_TIMEOUT,
    RP_ENV_BUFFSIZE,
    RP_ENV_ALGO,
    RP_ENV_OP_EXPANSION_MODE,
    RP_ENV_DETERMINISTIC,
    RP_ENV_SPLIT_RATIO,
    RP_ENV_INTRA_PCIE,
    RP_ENV_INTRA_ROCE,
    RP_ENV_INTER_HCCS_DISABLE,
    RP_ENV_LOGIC_SUPERPOD_ID,
    RP_ENV_RDMA_TC,
    RP_ENV_RDMA_SL,
    RP_ENV_RDMA_TIMEOUT,
    RP_ENV_RDMA_RETRY_CNT,
    RP_ENV_RDMA_QPS,
    RP_ENV_RDMA_QP_PORT_PATH,
    RP_ENV_MULTI_QP_THRESHOLD,
    RP_ENV_RDMA_NOSTRICT,
    RP_ENV_IF_IP,
    RP_ENV_SOCKET_IFNAME,
    RP_ENV_SOCKET_FAMILY,
    RP_ENV_IF_BASE_PORT,
    RP_ENV_HOST_PORTS,
    RP_ENV_NPU_PORTS,
    RP_ENV_WHITELIST_DISABLE,
    RP_ENV_WHITELIST_FILE,
    RP_ENV_OP_RETRY_ENABLE,
    RP_ENV_OP_RETRY_PARAMS,
    RP_ENV_DFS_CONFIG,
    RP_ENV_ENTRY_LOG,
    RP_ENV_DIAGNOSE,
    RP_ENV_DEBUG_CONFIG,
    RP_ENV_HCOMM_DEBUG_CONFIG,
    RP_ENV_HCOMM_CTP_TIMEOUT,
    RP_ENV_HCOMM_RTP_TIMEOUT,
    RP_ENV_HCOMM_RTP_UBOE_TIMEOUT,
    RP_ENV_HCCL_COUNT, /* from here on: read at the first acl or Hccl call */
    RP_ENV_VISIBLE_DEVICES = RP_ENV_HCCL_COUNT,
    RP_ENV_LOG_LEVEL,
    RP_ENV_LOG_STDOUT,
    RP_ENV_LOG_PATH,
    RP_ENV_DEVICE_COUNT,
    RP_ENV_STREAM_LIMIT,
    RP_ENV_EVENT_LIMIT,
    RP_ENV_SOC_NAME,
    RP_ENV_DEVICE_MEMORY,
    RP_ENV_PROGRESS,
    RP_ENV_ISA,
    RP_ENV_AIV_CORES,
    RP_ENV_NODE_ID,
    RP_ENV_SECRET_FILE,
    RP_ENV_TINY_BYTES,
    RP_ENV_SMALL_BYTES,
    RP_ENV_COUNT,
};

/* Where an operator is expanded (HCCL_OP_EXPANSION_MODE). AI_CPU and AICPU_TS act as HOST_TS. */
enum rp_expansion_mode {
    RP_EXPANSION_MODE_UNSET,
    RP_EXPANSION_MODE_HOST,
    RP_EXPANSION_MODE_HOST_TS,
    RP_EXPANSION_MODE_AIV,
    RP_EXPANSION_MODE_AI_CPU,
    RP_EXPANSION_MODE_AICPU_TS,
};

enum rp_determinism {
    RP_DETERMINISM_OFF,
    RP_DETERMINISM_ON,
    RP_DETERMINISM_STRICT,
};

/* Algorithm names of HCCL_ALGO. */
enum rp_algo_name {
    RP_ALGO_ADAPTIVE, /* not named: chosen by size */
    RP_ALGO_NA,
    RP_ALGO_NULL,
    RP_ALGO_RING,
    RP_ALGO_HDR, /* "H-D_R" */
    RP_ALGO_NHR,
    RP_ALGO_NHR_V1,
    RP_ALGO_NB,
    RP_ALGO_AHC,
    RP_ALGO_AHC_BROKE,
    RP_ALGO_PIPELINE,
    RP_ALGO_PAIRWISE,
    RP_ALGO_FULLMESH,
    RP_ALGO_STAR,
};

/* Operators of HCCL_ALGO's second form. */
enum rp_algo_op {
    RP_ALGO_OP_ALLGATHER,     /* and AllGatherV */
    RP_ALGO_OP_REDUCESCATTER, /* and ReduceScatterV */
    RP_ALGO_OP_ALLREDUCE,
    RP_ALGO_OP_BROADCAST,
    RP_ALGO_OP_REDUCE,
    RP_ALGO_OP_SCATTER,
    RP_ALGO_OP_ALLTOALL, /* and AlltoAllV, AlltoAllVC */
    RP_ALGO_OP_SEND,
    RP_ALGO_OP_RECEIVE,
    RP_ALGO_OP_GATHER,
    RP_ALGO_OP_SENDRECV,
    RP_ALGO_OP_COUNT,
};

#define RP_ALGO_LEVELS 4 /* within a server, between servers, superpods, and beyond */

struct rp_algo_config {
    char text[RP_ENV_ALGO_MAX];                      /* as given, without blanks; "" unset */
    uint8_t level[RP_ALGO_OP_COUNT][RP_ALGO_LEVELS]; /* enum rp_algo_name */
};

struct rp_retry_levels {
    bool enabled[3]; /* L0, L1 (between servers), L2 (between superpods) */
};

struct rp_retry_params {
    uint32_t count_max;
    uint64_t hold_ns;
    uint64_t interval_ns;
};

struct rp_ip {
    int family;                    /* AF_INET, AF_INET6; 0: unset */
    uint8_t address[16];           /* network order; 4 bytes for AF_INET */
    char scope[RP_ENV_IFNAME_MAX]; /* "eth0" of "fe80::1%eth0"; "" when none */
};

/* HCCL_SOCKET_IFNAME: "eth,enp", "^eth" (exclude), "=eth0" (exact), "^=eth0" (exclude exact). */
struct rp_ifname_filter {
    bool exclude;
    bool exact;
    uint32_t count; /* 0: unset */
    char name[RP_ENV_IFNAMES_MAX][RP_ENV_IFNAME_MAX];
};

/* Physical device ids, ascending. */
struct rp_device_list {
    uint32_t count;
    uint16_t id[RP_ENV_DEVICES_MAX];
};

struct rp_port_range {
    uint16_t first;
    uint16_t last;
};

/* count 0: the kernel chooses. */
struct rp_port_list {
    uint32_t count;
    struct rp_port_range range[RP_ENV_PORTS_MAX];
};

enum rp_inconsistent_check {
    RP_INCONSISTENT_OFF,
    RP_INCONSISTENT_FIRST,
    RP_INCONSISTENT_ON,
};

/* HCCL_DFS_CONFIG: fault detection. */
struct rp_dfs_config {
    uint64_t connection_fault_ns; /* 0: off */
    bool heartbeat;
    bool stuck_detection;
    enum rp_inconsistent_check inconsistent_check;
    uint64_t task_monitor_ns; /* 0: off */
    bool task_exception;
};

/* Modules of HCCL_DEBUG_CONFIG and HCOMM_DEBUG_CONFIG. */
enum rp_debug_module {
    RP_DEBUG_ALG = 1,
    RP_DEBUG_TASK = 2,
    RP_DEBUG_RESOURCE = 4,
    RP_DEBUG_AIV_OPS_EXC = 8,
    RP_DEBUG_DATA_OP = 16,
};

/* HCCL_*. `set` has bit enum rp_env_id where the variable had a value; see rp_env_is_set(). */
struct rp_hccl_env {
    uint64_t set;
    uint64_t connect_timeout_ns;
    uint64_t exec_timeout_host_ns; /* 0: never */
    uint64_t exec_timeout_aiv_ns;
    uint64_t buffer_bytes; /* one CCL buffer */
    struct rp_algo_config algo;
    enum rp_expansion_mode expansion;
    enum rp_determinism determinism;
    struct rp_retry_levels retry_enable;
    struct rp_retry_params retry_params;
    struct rp_dfs_config dfs;
    struct rp_ip if_ip;
    struct rp_ifname_filter ifnames;
    int socket_family;              /* AF_INET or AF_INET6 */
    struct rp_port_list host_ports; /* from both port variables; count 0: the kernel chooses */
    struct rp_port_list npu_ports;
    uint32_t if_base_port;
    bool whitelist_enabled;
    char whitelist_file[RP_ENV_PATH_MAX + 1];
    uint32_t rdma_tc;
    uint32_t rdma_sl;
    uint32_t rdma_timeout; /* exponent: 4.096 us * 2^t */
    uint32_t rdma_retry_count;
    uint32_t rdma_qps;
    uint64_t multi_qp_threshold_bytes;
    char qp_port_path[RP_ENV_PATH_MAX + 1];
    bool rdma_nostrict;
    bool entry_log;
    bool diagnose;
    uint32_t debug_modules;       /* enum rp_debug_module, or'ed */
    uint32_t hcomm_debug_modules; /* the same */
    /* Checked, and without effect on a host (docs/environment.md says so). */
    double split_ratio;
    bool intra_pcie;
    bool intra_roce;
    bool inter_hccs_disable;
    char logic_superpod_id[RP_ENV_NAME_MAX];
    uint32_t hcomm_ctp_timeout;
    uint32_t hcomm_rtp_timeout;
    uint32_t hcomm_rtp_uboe_timeout;
};

enum rp_progress {
    RP_PROGRESS_AUTO,
    RP_PROGRESS_CALLER,
    RP_PROGRESS_THREAD,
};

enum rp_isa {
    RP_ISA_AUTO,
    RP_ISA_SCALAR,
    RP_ISA_AVX2,
    RP_ISA_AVX512,
    RP_ISA_NEON,
};

/* REPRISE_* and ASCEND_*. */
struct rp_device_env {
    uint64_t set;
    uint32_t device_count;         /* devices of the machine: 0 .. device_count - 1 */
    struct rp_device_list visible; /* what the program sees: logical id -> physical id; its count
                                      is what aclrtGetDeviceCount answers, and may be 0 */
    uint32_t stream_limit;         /* streams of one device at a time */
    uint32_t event_limit;          /* the same of events */
    char soc_name[RP_ENV_NAME_MAX];
    uint64_t device_memory_bytes; /* 0: the machine's RAM */
    enum rp_progress progress;
    enum rp_isa isa;
    uint32_t aiv_cores;
    char node_id[RP_ENV_NAME_MAX]; /* "" unset */
    char secret_file[RP_ENV_PATH_MAX + 1];
    uint64_t tiny_bytes;  /* largest tiny payload; UINT64_MAX: measured default */
    uint64_t small_bytes; /* largest small payload; UINT64_MAX: measured default */
    enum rp_log_level log_level;
    bool log_stdout;
    char log_path[RP_ENV_PATH_MAX + 1];
};

/**
 * rp_env_hccl: the HCCL_* settings, read at the first call.
 *
 *   RP_EPARAM  a variable has an invalid value; the sentence names it. Every call answers so, with
 *              the same sentence; `*out` is untouched
 */
RP_MUST_USE rp_status rp_env_hccl(const struct rp_hccl_env **out);

/**
 * rp_env_device: the REPRISE_* and ASCEND_* settings, read at the first call.
 *
 * Never fails: an invalid value counts as unset, see rp_env_device_status().
 */
const struct rp_device_env *rp_env_device(void);

/**
 * rp_env_device_status: RP_OK, or RP_EPARAM with its sentence when a REPRISE_* variable is invalid.
 * For the calls that set a device up. An invalid ASCEND_* log variable is a warning only.
 */
RP_MUST_USE rp_status rp_env_device_status(void);

/** rp_env_is_set: variable `id` had a value in `set`, of either struct. */
static inline bool rp_env_is_set(uint64_t set, enum rp_env_id id)
{
    return (set >> (unsigned)id & 1) != 0;
}
static_assert(RP_ENV_COUNT <= 64, "one bit each in `set`");

/*
 * Parsers of the texts that HcclCommConfig carries too. An empty text is unset: RP_OK, and `*out`
 * is untouched, so a caller fills it with the environment's value before. `*out` is untouched on
 * failure too, which is described with rp_fail(); `name` is what the sentence calls the text:
 * "hcclAlgo".
 *
 *   RP_EPARAM  the text breaks the syntax or a range
 */
RP_MUST_USE rp_status rp_env_parse_algo(
        const char *name, const char *text, struct rp_algo_config *out);
RP_MUST_USE rp_status rp_env_parse_retry_enable(
        const char *name, const char *text, struct rp_retry_levels *out);
RP_MUST_USE rp_status rp_env_parse_retry_params(
        const char *name, const char *text, struct rp_retry_params *out);

/* Seconds with up to two decimals, 0 to 2147483647; see rp_env_exec_timeout_aiv_ns(). */
RP_MUST_USE rp_status rp_env_parse_exec_timeout(
        const char *name, const char *text, uint64_t *timeout_ns);

/** rp_env_exec_timeout_aiv_ns: the bound of an AIV operator when `set_ns` was asked for: 1091 s
 * for 0 and for anything above. (For HOST_TS the value holds as it is, 0 meaning never.) */
uint64_t rp_env_exec_timeout_aiv_ns(uint64_t set_ns);

/** rp_algo_name_text: "NHR"; the spelling of HCCL_ALGO, "" for RP_ALGO_ADAPTIVE. Static. */
const char *rp_algo_name_text(enum rp_algo_name name);

/**
 * rp_ifname_match: whether HCCL_SOCKET_IFNAME lets `ifname` be used.
 *
 * Returns how early in the list it matched, 0 first (0 for every accepted one when the list
 * excludes or is unset), or -1 when it is not to be used.
 */
int rp_ifname_match(const struct rp_ifname_filter *filter, const char *ifname);

/** rp_env_reset: forget everything read, so that the next call reads anew. For tests only, while
 * no other thread is in the library. */
void rp_env_reset(void);

#endif /* RP_BASE_ENV_H */
