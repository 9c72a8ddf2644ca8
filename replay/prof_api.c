// aclprof*: sessions, marks and steps. What is collected is in prof.c.

#include <acl/acl_prof.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/log.h"
#include "replay/context.h"
#include "replay/primary.h"
#include "replay/prof.h"
#include "replay/stream.h"

#define PATH_BYTES_MAX 4096
#define SETTING_BYTES_MAX 256
#define CONFIG_DEVICES_MAX 64

struct aclprofConfig {
    uint32_t devices[CONFIG_DEVICES_MAX];
    uint32_t device_count;
    aclprofAicoreMetrics metrics;
    uint64_t mask;
};

struct aclprofStepInfo {
    bool began;
    uint32_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the three below
static bool initialised;
static char directory[PATH_BYTES_MAX + 1];
static const aclprofConfig *running; // of the session; NULL: none

// ---- init, finalize ----

// Each part of the path that is not there yet. `path` is changed on the way and restored.
static rp_status make_directories(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0750); // what fails here fails below, too
            *at = '/';
        }
    }
    struct stat stat_of;
    if (mkdir(path, 0750) != 0 && errno != EEXIST) {
        return rp_fail_sys(RP_EFILE, "mkdir", path);
    }
    if (stat(path, &stat_of) != 0 || !S_ISDIR(stat_of.st_mode)) {
        return rp_fail(RP_EFILE, "profilerResultPath %s is not a directory", path);
    }
    return RP_OK;
}

// Under the lock.
static rp_status init(const char *path, size_t bytes)
{
    if (path == NULL) {
        return rp_fail(RP_ENULL, "profilerResultPath is a null pointer");
    }
    if (bytes == 0 || bytes > PATH_BYTES_MAX || strnlen(path, bytes + 1) != bytes) {
        return rp_fail(RP_EINVAL, "length is %zu; it is the length of the path, 1 to %d", bytes,
                PATH_BYTES_MAX);
    }
    if (initialised) {
        return rp_fail(RP_EPROFRUN, "profiling is initialised already");
    }
    memcpy(directory, path, bytes + 1);
    const rp_status st = make_directories(directory);
    initialised = st == RP_OK;
    return st;
}

aclError aclprofInit(const char *profilerResultPath, size_t length)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        pthread_mutex_lock(&lock);
        st = init(profilerResultPath, length);
        pthread_mutex_unlock(&lock);
    }
    return rp_acl(st);
}

// Under the lock.
static rp_status finalize(void)
{
    if (!initialised) {
        return rp_fail(RP_EPROFNOTRUN, "profiling was not initialised (aclprofInit)");
    }
    initialised = false;
    if (running == NULL) {
        return RP_OK;
    }
    running = NULL;
    return rp_prof_stop();
}

aclError aclprofFinalize(void)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        pthread_mutex_lock(&lock);
        st = finalize();
        pthread_mutex_unlock(&lock);
    }
    return rp_acl(st);
}

// ---- configurations ----

static rp_status check_config_args(const uint32_t *devices, uint32_t device_count,
        aclprofAicoreMetrics metrics, const aclprofAicoreEvents *events)
{
    if (events != NULL) {
        return rp_fail(RP_EINVAL, "aicoreEvents is reserved and must be NULL");
    }
    if (device_count > CONFIG_DEVICES_MAX || (device_count > 0 && devices == NULL)) {
        return rp_fail(RP_EINVAL, "deviceNums is %u at %p; it can be at most %d", device_count,
                (const void *)devices, CONFIG_DEVICES_MAX);
    }
    if (((int)metrics < ACL_AICORE_ARITHMETIC_UTILIZATION || metrics > ACL_AICORE_MEMORY_ACCESS) &&
            metrics != ACL_AICORE_NONE) {
        return rp_fail(RP_EINVAL, "aicoreMetrics is %d; there are no such counters", (int)metrics);
    }
    rp_status st = RP_OK;
    for (uint32_t i = 0; st == RP_OK && i < device_count; i++) {
        st = devices[i] > INT32_MAX ? rp_device_check_id(-1)
                                    : rp_device_check_id((int32_t)devices[i]);
    }
    return st;
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
        aclprofAicoreMetrics aicoreMetrics, const aclprofAicoreEvents *aicoreEvents,
        uint64_t dataTypeConfig)
{
    if (rp_enter() != RP_OK ||
            check_config_args(deviceIdList, deviceNums, aicoreMetrics, aicoreEvents) != RP_OK) {
        return NULL;
    }
    aclprofConfig *config = rp_calloc(1, sizeof(*config));
    if (config == NULL) {
        rp_fail(RP_ENOMEM, "no memory for a profiling configuration");
        return NULL;
    }
    for (uint32_t i = 0; i < deviceNums; i++) {
        config->devices[i] = deviceIdList[i];
    }
    config->device_count = deviceNums;
    config->metrics = aicoreMetrics;
    config->mask = dataTypeConfig;
    if (rp_handle_add(RP_HANDLE_OTHER, config) != RP_OK) {
        rp_free(config);
        return NULL;
    }
    return config;
}

static rp_status check_config(const aclprofConfig *config)
{
    if (config == NULL) {
        return rp_fail(RP_ENULL, "profilerConfig is a null pointer");
    }
    if (!rp_handle_live(RP_HANDLE_OTHER, config)) {
        return rp_fail(
                RP_EINVAL, "profilerConfig %p is none, or was destroyed", (const void *)config);
    }
    return RP_OK;
}

static rp_status destroy_config(const aclprofConfig *config)
{
    rp_status st = check_config(config);
    if (st == RP_OK && !rp_handle_remove(RP_HANDLE_OTHER, config)) {
        st = rp_fail(
                RP_EINVAL, "another thread is destroying profilerConfig %p", (const void *)config);
    }
    if (st == RP_OK) {
        rp_free((void *)config); // ours, and made without const
    }
    return st;
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy_config(profilerConfig) : st);
}

// All of them name counters of a chip or rates of sampling it.
static rp_status set_config(aclprofConfigType type, const char *text, size_t bytes)
{
    if (text == NULL) {
        return rp_fail(RP_ENULL, "config is a null pointer");
    }
    if (type <= ACL_PROF_ARGS_MIN || type >= ACL_PROF_ARGS_MAX) {
        return rp_fail(RP_EINVAL, "configType is %d; there is no such setting", (int)type);
    }
    if (bytes == 0 || bytes > SETTING_BYTES_MAX || strnlen(text, bytes + 1) != bytes) {
        return rp_fail(RP_EINVAL, "configLength is %zu; it is the length of the text, 1 to %d",
                bytes, SETTING_BYTES_MAX);
    }
    rp_log_info("aclprofSetConfig: setting %d, \"%s\", has no effect here", (int)type, text);
    return RP_OK;
}

aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_config(configType, config, configLength) : st);
}

// ---- start, stop ----

// Under the lock.
static rp_status start(const aclprofConfig *config)
{
    rp_status st = check_config(config);
    if (st == RP_OK && !initialised) {
        st = rp_fail(RP_EPROFNOTRUN, "profiling was not initialised (aclprofInit)");
    }
    if (st == RP_OK) {
        st = rp_prof_start(directory, config->devices, config->device_count, config->mask);
    }
    if (st == RP_OK) {
        running = config;
    }
    return st;
}

aclError aclprofStart(const aclprofConfig *profilerConfig)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        pthread_mutex_lock(&lock);
        st = start(profilerConfig);
        pthread_mutex_unlock(&lock);
    }
    return rp_acl(st);
}

// Under the lock.
static rp_status stop(const aclprofConfig *config)
{
    if (config == NULL) {
        return rp_fail(RP_ENULL, "profilerConfig is a null pointer");
    }
    if (running == NULL) {
        return rp_fail(RP_EPROFNOTRUN, "no profiling session is running");
    }
    if (config != running) {
        return rp_fail(
                RP_EINVAL, "profilerConfig is not the one that the session was started with");
    }
    running = NULL;
    return rp_prof_stop();
}

aclError aclprofStop(const aclprofConfig *profilerConfig)
{
    rp_status st = rp_enter();
    if (st == RP_OK) {
        pthread_mutex_lock(&lock);
        st = stop(profilerConfig);
        pthread_mutex_unlock(&lock);
    }
    return rp_acl(st);
}

// ---- marks and steps ----

static rp_status mark(const char *text, size_t bytes, aclrtStream handle)
{
    struct rp_stream *stream;
    if (text == NULL) {
        return rp_fail(RP_ENULL, "msg is a null pointer");
    }
    if (bytes == 0) {
        return rp_fail(RP_EINVAL, "msgLen is 0");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    return st == RP_OK ? rp_prof_mark(NULL, text, strnlen(text, bytes), stream, 0) : st;
}

aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? mark(msg, msgLen, stream) : st);
}

aclprofStepInfo *aclprofCreateStepInfo(void)
{
    static _Atomic uint32_t steps; // relaxed: numbers only
    if (rp_enter() != RP_OK) {
        return NULL;
    }
    aclprofStepInfo *step = rp_calloc(1, sizeof(*step));
    if (step == NULL) {
        rp_fail(RP_ENOMEM, "no memory for a step of the profiler");
        return NULL;
    }
    step->number = atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
    if (rp_handle_add(RP_HANDLE_OTHER, step) != RP_OK) {
        rp_free(step);
        return NULL;
    }
    return step;
}

void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo)
{
    if (rp_handle_remove(RP_HANDLE_OTHER, stepinfo)) {
        rp_free(stepinfo);
    }
}

static rp_status mark_step(aclprofStepInfo *step, aclprofStepTag tag, aclrtStream handle)
{
    struct rp_stream *stream;
    char text[64];
    if (step == NULL || !rp_handle_live(RP_HANDLE_OTHER, step)) {
        return rp_fail(RP_EINVAL, "stepInfo %p is none, or was destroyed", (void *)step);
    }
    if (tag != ACL_STEP_START && tag != ACL_STEP_END) {
        return rp_fail(RP_EINVAL, "tag is %d; it can be START (0) or END (1)", (int)tag);
    }
    if (step->began != (tag == ACL_STEP_END)) {
        return rp_fail(RP_EINVAL, "step %u has %s", step->number,
                step->began ? "begun already" : "not begun");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    step->began = tag == ACL_STEP_START;
    const int bytes =
            snprintf(text, sizeof(text), "step %u %s", step->number, step->began ? "start" : "end");
    return rp_prof_mark("step", text, (size_t)bytes, stream, 0);
}

aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? mark_step(stepInfo, tag, stream) : st);
}
