// Reads the environment by the table of env_table.c, each of its two halves once.

#include "base/env.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env_table.h"
#include "base/error.h"
#include "base/fork.h"

#define BASE_PORT_COUNT 32 // ports from HCCL_IF_BASE_PORT on
#define PORT_MAX 65535

// What was wrong, sentences separated by "; ". Warnings of the device's half wait here until the
// log has been set up by it.
struct report {
    char errors[RP_ERROR_SENTENCE_MAX];
    char warnings[RP_ERROR_SENTENCE_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Written under `lock` before `ready` says so, only read afterwards.
static struct rp_hccl_env hccl;
static struct report hccl_report;
static _Atomic bool hccl_ready;

static struct rp_device_env device;
static struct report device_report;
static _Atomic bool device_ready;

static void add_sentence(char *text, const char *fmt, ...) RP_PRINTF(2, 3);

static void add_sentence(char *text, const char *fmt, ...)
{
    size_t used = strlen(text);
    if (used > 0) {
        used += (size_t)snprintf(text + used, RP_ERROR_SENTENCE_MAX - used, "; ");
    }
    if (used < RP_ERROR_SENTENCE_MAX) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(text + used, RP_ERROR_SENTENCE_MAX - used, fmt, args);
        va_end(args);
    }
}

// Reads one variable into its field; answers whether it counts as set.
static bool read_row(const struct rp_env_row *row, void *field, struct report *report)
{
    char value[RP_ENV_PATH_MAX + 1];
    char why[RP_ENV_WHY_BYTES];
    const char *text = getenv(row->name);
    struct rp_env_input input = { .name = row->name, .text = value, .row = row, .why = why };
    if (text == NULL) {
        return false;
    }
    if (!rp_env_trim(text, value, sizeof(value))) {
        char *list = row->lenient ? report->warnings : report->errors;
        add_sentence(list, "%s is longer than %d characters", row->name, RP_ENV_PATH_MAX);
        return false;
    }
    if (value[0] == '\0') {
        return false;
    }
    enum rp_env_outcome outcome = row->parse(&input, field);
    if (outcome != RP_ENV_TAKEN) {
        add_sentence(outcome == RP_ENV_BAD ? report->errors : report->warnings, "%s", why);
    }
    return outcome == RP_ENV_TAKEN || outcome == RP_ENV_PARTLY;
}

static void set_default(const struct rp_env_row *row, void *field)
{
    char why[RP_ENV_WHY_BYTES];
    struct rp_env_input input = {
        .name = row->name, .text = row->fallback, .row = row, .why = why
    };
    if (row->fallback != NULL) {
        row->parse(&input, field); // cannot fail: tests/base/test_env.c
    }
}

// Fills the struct at `settings` from the rows [first, end).
static uint64_t read_rows(int first, int end, void *settings, struct report *report)
{
    uint64_t set = 0;
    *report = (struct report){ .errors = "" };
    for (int id = first; id < end; id++) {
        const struct rp_env_row *row = &rp_env_rows[id];
        void *field = (char *)settings + row->field_off;
        set_default(row, field);
        set |= (uint64_t)read_row(row, field, report) << id;
    }
    return set;
}

static void log_rows(int first, int end, uint64_t set, const struct report *report, const char *tag)
{
    if (report->warnings[0] != '\0') {
        rp_log_warn("[%s] %s", tag, report->warnings);
    }
    if (!rp_log_enabled(RP_LOG_INFO)) {
        return;
    }
    for (int id = first; id < end; id++) {
        const struct rp_env_row *row = &rp_env_rows[id];
        const char *text = rp_env_is_set(set, (enum rp_env_id)id) ? getenv(row->name) : NULL;
        const char *fallback = row->fallback != NULL ? row->fallback : row->fallback_words;
        rp_log_info("[%s] %s: %s%s", tag, row->name, text == NULL ? fallback : text,
                text == NULL ? " (default)" : "");
    }
}

// Rules that join several devices' variables.
static void finish_device(void)
{
    if (!rp_env_is_set(device.set, RP_ENV_TINY_BYTES)) {
        device.tiny_bytes = UINT64_MAX;
    }
    if (!rp_env_is_set(device.set, RP_ENV_SMALL_BYTES)) {
        device.small_bytes = UINT64_MAX;
    }
    struct rp_device_list *visible = &device.visible;
    if (!rp_env_is_set(device.set, RP_ENV_VISIBLE_DEVICES)) {
        visible->count = device.device_count;
        for (uint32_t i = 0; i < device.device_count; i++) {
            visible->id[i] = (uint16_t)i;
        }
    }
    while (visible->count > 0 && visible->id[visible->count - 1] >= device.device_count) {
        visible->count--;
    }
}

static void read_device(void)
{
    memset(&device, 0, sizeof(device));
    device.set = read_rows(RP_ENV_HCCL_COUNT, RP_ENV_COUNT, &device, &device_report);
    finish_device();
    rp_log_setup(device.log_level, device.log_stdout,
            device.log_path[0] == '\0' ? NULL : device.log_path);
    log_rows(RP_ENV_HCCL_COUNT, RP_ENV_COUNT, device.set, &device_report, "REPRISE_ENV");
}

// (PCIe, RoCE) may be (1,-) (1,0) (0,0) (-,-) for PCIe and (0,1) (-,1) for RoCE.
static void check_intra_links(void)
{
    bool pcie_set = rp_env_is_set(hccl.set, RP_ENV_INTRA_PCIE);
    bool roce_set = rp_env_is_set(hccl.set, RP_ENV_INTRA_ROCE);
    bool both = pcie_set && roce_set && hccl.intra_pcie && hccl.intra_roce;
    bool only_off = (pcie_set && !roce_set && !hccl.intra_pcie) ||
                    (roce_set && !pcie_set && !hccl.intra_roce);
    if (both || only_off) {
        add_sentence(hccl_report.errors, "HCCL_INTRA_PCIE_ENABLE and HCCL_INTRA_ROCE_ENABLE %s",
                both ? "are both 1" : "name one link only, as 0, and leave none to use");
    }
}

static void check_whitelist(void)
{
    if (!hccl.whitelist_enabled) {
        return;
    }
    if (hccl.whitelist_file[0] == '\0') {
        add_sentence(hccl_report.errors,
                "HCCL_WHITELIST_FILE is not set, although HCCL_WHITELIST_DISABLE is 0");
    } else if (access(hccl.whitelist_file, R_OK) != 0) {
        add_sentence(hccl_report.errors, "HCCL_WHITELIST_FILE is \"%s\": not a readable file",
                hccl.whitelist_file);
    }
}

// HCCL_IF_BASE_PORT is one more way to say a range, used when the other one is not set.
static void join_ports(void)
{
    if (!rp_env_is_set(hccl.set, RP_ENV_IF_BASE_PORT) ||
            rp_env_is_set(hccl.set, RP_ENV_HOST_PORTS)) {
        return;
    }
    uint32_t last = hccl.if_base_port + BASE_PORT_COUNT - 1;
    hccl.host_ports.count = 1;
    hccl.host_ports.range[0] = (struct rp_port_range){
        .first = (uint16_t)hccl.if_base_port,
        .last = (uint16_t)(last > PORT_MAX ? PORT_MAX : last),
    };
}

static void read_hccl(void)
{
    memset(&hccl, 0, sizeof(hccl));
    hccl.set = read_rows(0, RP_ENV_HCCL_COUNT, &hccl, &hccl_report);
    hccl.exec_timeout_aiv_ns = rp_env_exec_timeout_aiv_ns(
            rp_env_is_set(hccl.set, RP_ENV_EXEC_TIMEOUT) ? hccl.exec_timeout_host_ns : 0);
    if (hccl.expansion == RP_EXPANSION_MODE_AI_CPU ||
            hccl.expansion == RP_EXPANSION_MODE_AICPU_TS) {
        add_sentence(hccl_report.warnings, "HCCL_OP_EXPANSION_MODE: AI CPUs do not exist here; "
                                           "operators run in HOST_TS form");
    }
    check_intra_links();
    check_whitelist();
    join_ports();
    log_rows(0, RP_ENV_HCCL_COUNT, hccl.set, &hccl_report, "HCCL_ENV");
}

// Runs `read` unless it has run. A forked child, which may have inherited the lock taken, reads
// nothing any more: its calls end in rp_process_check.
static void read_once(_Atomic bool *ready, void (*read)(void))
{
    // acquire [E1]: pairs with the store below; shows what `read` has written.
    if (atomic_load_explicit(ready, memory_order_acquire) || rp_process_forked()) {
        return;
    }
    pthread_mutex_lock(&lock);
    // relaxed: the lock orders it.
    if (!atomic_load_explicit(ready, memory_order_relaxed)) {
        read();
        // release [E1]: pairs with the load above.
        atomic_store_explicit(ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

const struct rp_device_env *rp_env_device(void)
{
    read_once(&device_ready, read_device);
    return &device;
}

rp_status rp_env_device_status(void)
{
    rp_env_device();
    if (device_report.errors[0] != '\0') {
        return rp_fail(RP_EPARAM, "%s", device_report.errors);
    }
    return RP_OK;
}

rp_status rp_env_hccl(const struct rp_hccl_env **out)
{
    rp_env_device(); // the log first
    read_once(&hccl_ready, read_hccl);
    if (hccl_report.errors[0] != '\0') {
        return rp_fail(RP_EPARAM, "%s", hccl_report.errors);
    }
    *out = &hccl;
    return RP_OK;
}

void rp_env_reset(void)
{
    // relaxed: no other thread is in the library.
    atomic_store_explicit(&hccl_ready, false, memory_order_relaxed);
    atomic_store_explicit(&device_ready, false, memory_order_relaxed);
    rp_log_reset();
}
