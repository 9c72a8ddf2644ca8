// Parsers of variables that hold lists: "key:value,key:value", modules, device ids. Blanks anywhere
// in them are ignored.

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/env_table.h"

#define LIST_BYTES 1024
#define DEVICE_LIST_BYTES (RP_ENV_DEVICES_MAX * 6)
#define HOLD_MAX_MS 60000
#define RETRY_COUNT_MAX 10
#define FAULT_MIN_S 20
#define FAULT_MAX_S 7200
#define MONITOR_MAX_MS 7200000

// Cuts the next "key:value" off *rest. False when it has no colon or either side is empty.
static bool cut_pair(char **rest, char **key, char **value)
{
    *value = rp_env_cut(rest, ',');
    *key = rp_env_cut(value, ':');
    return *value != NULL && **key != '\0' && **value != '\0';
}

// Marks bit `index` in *seen; false when it was there.
static bool first_time(unsigned *seen, unsigned index)
{
    bool first = (*seen >> index & 1) == 0;
    *seen |= 1u << index;
    return first;
}

enum rp_env_outcome rp_env_parse_levels(const struct rp_env_input *input, void *field)
{
    struct rp_retry_levels levels = { { false, false, false } };
    char text[LIST_BYTES];
    char *rest = text;
    char *key;
    char *value;
    unsigned seen = 0;
    bool good = rp_env_squeeze(input->text, text, sizeof(text));
    while (good && rest != NULL) {
        good = cut_pair(&rest, &key, &value) && key[0] == 'L' && key[1] >= '0' && key[1] <= '2' &&
               key[2] == '\0' && (value[0] == '0' || value[0] == '1') && value[1] == '\0' &&
               first_time(&seen, (unsigned)(key[1] - '0'));
        if (good) {
            levels.enabled[key[1] - '0'] = value[0] == '1';
        }
    }
    if (!good) {
        return rp_env_complain(
                input, RP_ENV_BAD, "not of the form L1:0,L2:0 with 0 or 1, each level once");
    }
    *(struct rp_retry_levels *)field = levels;
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_retry(const struct rp_env_input *input, void *field)
{
    static const struct {
        const char *key;
        uint64_t min;
        uint64_t max;
    } params[] = {
        { "MaxCnt", 1, RETRY_COUNT_MAX },
        { "HoldTime", 0, HOLD_MAX_MS },
        { "IntervalTime", 0, HOLD_MAX_MS },
    };
    struct rp_retry_params retry = *(struct rp_retry_params *)field;
    uint64_t number[RP_ARRAY_LENGTH(params)] = { retry.count_max, retry.hold_ns / RP_NS_PER_MS,
        retry.interval_ns / RP_NS_PER_MS };
    char text[LIST_BYTES];
    char *rest = text;
    char *key;
    char *value;
    unsigned seen = 0;
    bool good = rp_env_squeeze(input->text, text, sizeof(text));
    while (good && rest != NULL) {
        good = cut_pair(&rest, &key, &value);
        unsigned i = 0;
        while (good && i < RP_ARRAY_LENGTH(params) && strcmp(params[i].key, key) != 0) {
            i++;
        }
        good = good && i < RP_ARRAY_LENGTH(params) && first_time(&seen, i) &&
               rp_env_number(value, strlen(value), params[i].min, params[i].max, &number[i]);
    }
    if (!good) {
        return rp_env_complain(input, RP_ENV_BAD,
                "not of the form MaxCnt:1,HoldTime:5000,IntervalTime:1000 with MaxCnt from 1 to %d "
                "and times from 0 to %d ms",
                RETRY_COUNT_MAX, HOLD_MAX_MS);
    }
    *(struct rp_retry_params *)field = (struct rp_retry_params){ .count_max = (uint32_t)number[0],
        .hold_ns = number[1] * RP_NS_PER_MS,
        .interval_ns = number[2] * RP_NS_PER_MS };
    return RP_ENV_TAKEN;
}

// One key of HCCL_DFS_CONFIG. A switch that is neither on nor off keeps its default (PARTLY), a
// number outside its range is an error: so CANN does it.
static enum rp_env_outcome dfs_number(
        const char *value, uint64_t min, uint64_t max, uint64_t unit_ns, uint64_t *ns)
{
    uint64_t number;
    if (!rp_env_number(value, strlen(value), 0, max, &number) || (number != 0 && number < min)) {
        return RP_ENV_BAD;
    }
    *ns = number * unit_ns;
    return RP_ENV_TAKEN;
}

static enum rp_env_outcome dfs_switch(const char *value, bool *on)
{
    bool is_on = strcasecmp(value, "on") == 0;
    if (!is_on && strcasecmp(value, "off") != 0) {
        return RP_ENV_PARTLY;
    }
    *on = is_on;
    return RP_ENV_TAKEN;
}

static enum rp_env_outcome dfs_check(const char *value, enum rp_inconsistent_check *check)
{
    bool on = false;
    if (strcasecmp(value, "first") == 0) {
        *check = RP_INCONSISTENT_FIRST;
        return RP_ENV_TAKEN;
    }
    enum rp_env_outcome outcome = dfs_switch(value, &on);
    if (outcome == RP_ENV_TAKEN) {
        *check = on ? RP_INCONSISTENT_ON : RP_INCONSISTENT_OFF;
    }
    return outcome;
}

static enum rp_env_outcome dfs_pair(
        const char *key, const char *value, struct rp_dfs_config *dfs, unsigned *seen)
{
    static const char *const keys[] = { "connection_fault_detection_time", "cluster_heartbeat",
        "stuck_detection", "inconsistent_check", "task_monitor_interval", "task_exception" };
    unsigned i = 0;
    while (i < RP_ARRAY_LENGTH(keys) && strcmp(keys[i], key) != 0) {
        i++;
    }
    if (i == RP_ARRAY_LENGTH(keys) || !first_time(seen, i)) {
        return RP_ENV_BAD;
    }
    switch (i) {
    case 0:
        return dfs_number(value, FAULT_MIN_S, FAULT_MAX_S, RP_NS_PER_S, &dfs->connection_fault_ns);
    case 1:
        return dfs_switch(value, &dfs->heartbeat);
    case 2:
        return dfs_switch(value, &dfs->stuck_detection);
    case 3:
        return dfs_check(value, &dfs->inconsistent_check);
    case 4:
        return dfs_number(value, 0, MONITOR_MAX_MS, RP_NS_PER_MS, &dfs->task_monitor_ns);
    default:
        return dfs_switch(value, &dfs->task_exception);
    }
}

enum rp_env_outcome rp_env_parse_dfs(const struct rp_env_input *input, void *field)
{
    struct rp_dfs_config dfs = *(struct rp_dfs_config *)field;
    char text[LIST_BYTES];
    char *rest = text;
    unsigned seen = 0;
    enum rp_env_outcome worst =
            rp_env_squeeze(input->text, text, sizeof(text)) ? RP_ENV_TAKEN : RP_ENV_BAD;
    while (worst != RP_ENV_BAD && rest != NULL) {
        char *key;
        char *value;
        enum rp_env_outcome outcome =
                cut_pair(&rest, &key, &value) ? dfs_pair(key, value, &dfs, &seen) : RP_ENV_BAD;
        if (outcome == RP_ENV_PARTLY) {
            rp_env_complain(input, outcome, "%s:%s is ignored; it can be on or off", key, value);
        }
        if (outcome == RP_ENV_BAD) {
            char values[RP_ENV_WHY_BYTES / 2] = "known";
            if (input->row != NULL) {
                rp_env_row_values(input->row, values, sizeof(values));
            }
            rp_env_complain(input, outcome, "%s is not understood; expected %s", key, values);
        }
        worst = outcome > worst ? outcome : worst;
    }
    if (worst != RP_ENV_BAD) {
        *(struct rp_dfs_config *)field = dfs;
    }
    return worst;
}

enum rp_env_outcome rp_env_parse_modules(const struct rp_env_input *input, void *field)
{
    char text[LIST_BYTES];
    if (!rp_env_squeeze(input->text, text, sizeof(text))) {
        return rp_env_reject(input);
    }
    bool all_but = text[0] == '^';
    char *rest = text + all_but;
    uint32_t named = 0;
    uint32_t all = 0;
    for (char *part = rp_env_cut(&rest, ','); part != NULL; part = rp_env_cut(&rest, ',')) {
        uint32_t module = 0;
        all = 0;
        for (const struct rp_env_word *word = input->row->words; word->text != NULL; word++) {
            module |= strcasecmp(word->text, part) == 0 ? word->value : 0;
            all |= word->value;
        }
        if (module == 0) {
            return rp_env_reject(input);
        }
        named |= module;
    }
    *(uint32_t *)field = all_but ? all & ~named : named;
    return RP_ENV_TAKEN;
}

// CANN stops reading at the first item that is no id or not larger than the one before; what stood
// before it holds. Ids beyond the device count are dropped by the reader, which knows the count.
enum rp_env_outcome rp_env_parse_visible(const struct rp_env_input *input, void *field)
{
    struct rp_device_list *list = field;
    char text[DEVICE_LIST_BYTES];
    char *rest = text;
    list->count = 0;
    if (!rp_env_squeeze(input->text, text, sizeof(text))) {
        return rp_env_complain(input, RP_ENV_PARTLY, "too long; no device is visible");
    }
    for (char *part = rp_env_cut(&rest, ','); part != NULL; part = rp_env_cut(&rest, ',')) {
        uint64_t id;
        if (!rp_env_number(part, strlen(part), 0, RP_ENV_DEVICES_MAX - 1, &id) ||
                (list->count > 0 && id <= list->id[list->count - 1])) {
            return rp_env_complain(
                    input, RP_ENV_PARTLY, "ignored from \"%s\" on; ids ascend", part);
        }
        list->id[list->count++] = (uint16_t)id;
    }
    return RP_ENV_TAKEN;
}

rp_status rp_env_parse_retry_enable(const char *name, const char *text, struct rp_retry_levels *out)
{
    return rp_env_parse_text(name, text, rp_env_parse_levels, out);
}

rp_status rp_env_parse_retry_params(const char *name, const char *text, struct rp_retry_params *out)
{
    return rp_env_parse_text(name, text, rp_env_parse_retry, out);
}
