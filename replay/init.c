// aclInit and aclFinalize: the configuration file, the count, and callbacks of other libraries.
//
// No other call depends on aclInit: devices, streams and the rest come up when they are first used,
// and aclFinalize ends nothing that the program still holds. What is left is the configuration. The
// first one that a process reads is its only one.

#include <acl/acl_rt.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "replay/context.h"
#include "replay/init_callbacks.h"
#include "replay/primary.h"

#define CONFIG_BYTES_MAX (1 << 20)
#define NESTING_MAX 10 // of { and of [, each

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t count;     // aclInit calls; under lock
static char *first_config; // text of the first configuration; kept over aclFinalize; under lock

// ---- the file ----

static rp_status read_open_file(int fd, const char *path, char **out)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        return rp_fail(RP_EFILE, "configuration %s is not a file", path);
    }
    if (stat.st_size > CONFIG_BYTES_MAX) {
        return rp_fail(RP_EFILE, "configuration %s has more than %d bytes", path, CONFIG_BYTES_MAX);
    }
    const size_t bytes = (size_t)stat.st_size;
    char *text = rp_calloc(1, bytes + 1);
    if (text == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the configuration %s", path);
    }
    size_t got = 0;
    while (got < bytes) {
        const ssize_t part = read(fd, text + got, bytes - got);
        if (part == 0 || (part < 0 && errno != EINTR)) {
            break;
        }
        got += part > 0 ? (size_t)part : 0;
    }
    if (got < bytes) {
        rp_free(text);
        return rp_fail(RP_EFILE, "configuration %s could not be read", path);
    }
    *out = text;
    return RP_OK;
}

// NULL and "" stand for an empty file.
static rp_status read_config(const char *path, char **out)
{
    if (path == NULL || path[0] == '\0') {
        *out = rp_calloc(1, 1);
        return *out == NULL ? rp_fail(RP_ENOMEM, "no memory for the configuration") : RP_OK;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return rp_fail_sys(RP_EFILE, "open", path);
    }
    const rp_status st = read_open_file(fd, path, out);
    close(fd);
    return st;
}

// The deepest nesting of `open` and `close` in a JSON text, quoted ones left out.
static unsigned deepest(const char *text, char open, char close)
{
    unsigned depth = 0;
    unsigned max = 0;
    bool quoted = false;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"') {
            quoted = !quoted;
        } else if (quoted) {
            at += *at == '\\' && at[1] != '\0' ? 1 : 0;
        } else if (*at == open) {
            depth++;
            max = depth > max ? depth : max;
        } else if (*at == close && depth > 0) {
            depth--;
        }
    }
    return max;
}

static rp_status check_nesting(const char *text)
{
    if (deepest(text, '{', '}') > NESTING_MAX || deepest(text, '[', ']') > NESTING_MAX) {
        return rp_fail(RP_EPARSE, "the configuration nests deeper than %d", NESTING_MAX);
    }
    return RP_OK;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

// ---- its keys ----

struct config {
    int32_t default_device; // -1: none
    bool process_errors;
};

// A whole number, which these files write as a text.
static bool read_number(const json_t *value, long min, long max, long *out)
{
    if (json_is_integer(value)) {
        const json_int_t number = json_integer_value(value);
        *out = (long)number;
        return number >= min && number <= max;
    }
    const char *text = json_string_value(value);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && *out >= min && *out <= max;
}

static rp_status read_default_device(const json_t *root, struct config *config)
{
    const json_t *group = json_object_get(root, "defaultDevice");
    long id;
    if (group == NULL) {
        return RP_OK;
    }
    const json_t *value = json_object_get(group, "default_device");
    if (value == NULL || !read_number(value, 0, INT32_MAX, &id)) {
        return rp_fail(RP_EINVAL,
                "configuration: defaultDevice.default_device is missing, or not a device id");
    }
    config->default_device = (int32_t)id;
    return rp_device_check_id(config->default_device);
}

static rp_status read_error_mode(const json_t *root, struct config *config)
{
    const json_t *value = json_object_get(root, "err_msg_mode");
    long mode = 0;
    if (value != NULL && !read_number(value, 0, 1, &mode)) {
        return rp_fail(RP_EINVAL, "configuration: err_msg_mode can be \"0\" or \"1\"");
    }
    config->process_errors = mode == 1;
    return RP_OK;
}

static rp_status check_opqueue(const json_t *root)
{
    const json_t *value = json_object_get(root, "max_opqueue_num");
    long number;
    if (value != NULL && !read_number(value, 1, INT32_MAX, &number)) {
        return rp_fail(RP_EOPQUEUE, "configuration: max_opqueue_num is not a number above 0");
    }
    return RP_OK;
}

// Keys of parts that a host does not have.
static void mention_unused(const json_t *root)
{
    static const char *const names[] = { "dump", "profiler", "StackSize" };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(names); i++) {
        if (json_object_get(root, names[i]) != NULL) {
            rp_log_warn("aclInit: \"%s\" of the configuration has no effect here", names[i]);
        }
    }
}

static rp_status read_keys(const json_t *root, struct config *config)
{
    rp_status st = read_default_device(root, config);
    if (st == RP_OK) {
        st = read_error_mode(root, config);
    }
    if (st == RP_OK) {
        st = check_opqueue(root);
    }
    if (st == RP_OK) {
        mention_unused(root);
    }
    return st;
}

static rp_status parse_config(const char *text, struct config *config)
{
    json_error_t error;
    *config = (struct config){ .default_device = -1 };
    if (is_blank(text)) {
        return RP_OK;
    }
    const rp_status st = check_nesting(text);
    if (st != RP_OK) {
        return st;
    }
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(root)) {
        json_decref(root);
        return rp_fail(RP_EPARSE, "the configuration is not a JSON object (line %d: %s)",
                error.line, error.text);
    }
    const rp_status read = read_keys(root, config);
    json_decref(root);
    return read;
}

// ---- init ----

static rp_status check_first(const char *text)
{
    if (first_config != NULL && strcmp(first_config, text) != 0) {
        return rp_fail(RP_EINVAL, "the configuration differs from the one that this process was "
                                  "initialised with first");
    }
    return RP_OK;
}

// Under the lock. Takes `text` over when it is the first.
static rp_status init_first(char *text, bool *kept)
{
    struct config config;
    rp_status st = check_first(text);
    if (st == RP_OK) {
        st = parse_config(text, &config);
    }
    if (st != RP_OK) {
        return st;
    }
    rp_error_set_process_mode(config.process_errors);
    rp_primary_set_default(config.default_device);
    count = 1;
    *kept = first_config == NULL;
    first_config = *kept ? text : first_config;
    return RP_OK;
}

// An answer that programs ignore: it has its sentence, but is neither logged nor the last error.
static aclError answer_harmless(rp_status st, const char *sentence)
{
    rp_error_post(st, sentence);
    return rp_status_acl(st);
}

// The answer of a callback, which is an aclError of its own, comes before ours.
static aclError init(const char *path)
{
    char *text;
    bool kept = false;
    pthread_mutex_lock(&lock);
    if (count > 0) {
        count++;
        pthread_mutex_unlock(&lock);
        return answer_harmless(RP_EINIT, "aclInit: this process is initialised already; the call "
                                         "counts, and its configuration is not looked at");
    }
    rp_status st = read_config(path, &text);
    if (st != RP_OK) {
        pthread_mutex_unlock(&lock);
        return rp_acl(st);
    }
    st = init_first(text, &kept);
    pthread_mutex_unlock(&lock);
    // Without the lock, since callbacks may ask or register.
    const aclError answer = st == RP_OK ? rp_init_callbacks_run(text, strlen(text)) : rp_acl(st);
    if (!kept) {
        rp_free(text);
    }
    return answer;
}

aclError aclInit(const char *configPath)
{
    const rp_status st = rp_enter();
    return st == RP_OK ? init(configPath) : rp_acl(st);
}

// Takes one, or all, off the count. Whether that was the last.
static rp_status take_off(bool all, uint64_t *left, bool *last)
{
    pthread_mutex_lock(&lock);
    const bool initialised = count > 0;
    if (initialised) {
        count = all ? 0 : count - 1;
    }
    *left = count;
    *last = initialised && count == 0;
    pthread_mutex_unlock(&lock);
    return initialised ? RP_OK : RP_EREFINAL;
}

static aclError finalize(const char *call, bool all, uint64_t *left_out)
{
    uint64_t left;
    bool last;
    const rp_status st = take_off(all, &left, &last);
    if (left_out != NULL) {
        *left_out = left;
    }
    if (st != RP_OK) {
        char sentence[128];
        snprintf(sentence, sizeof(sentence),
                "%s: there is no call of aclInit that has not been finalised already", call);
        return answer_harmless(st, sentence);
    }
    return last ? rp_finalize_callbacks_run() : ACL_SUCCESS;
}

aclError aclFinalize(void)
{
    const rp_status st = rp_enter();
    return st == RP_OK ? finalize("aclFinalize", true, NULL) : rp_acl(st);
}

aclError aclFinalizeReference(uint64_t *refCount)
{
    const rp_status st = rp_enter();
    return st == RP_OK ? finalize("aclFinalizeReference", false, refCount) : rp_acl(st);
}

static rp_status register_init(
        aclRegisterCallbackType type, aclInitCallbackFunc fn, void *arg, aclError *answer)
{
    const rp_status st = rp_init_callback_add(type, fn, arg);
    if (st != RP_OK) {
        return st;
    }
    pthread_mutex_lock(&lock);
    const char *config = count > 0 ? first_config : NULL; // it stays as it is from then on
    pthread_mutex_unlock(&lock);
    *answer = config == NULL ? ACL_SUCCESS : fn(config, strlen(config), arg);
    return RP_OK;
}

aclError aclInitCallbackRegister(
        aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData)
{
    aclError answer = ACL_SUCCESS;
    rp_status st = rp_enter();
    if (st == RP_OK) {
        st = register_init(type, cbFunc, userData, &answer);
    }
    return st == RP_OK ? answer : rp_acl(st);
}
