// Parsers of variables that hold one value, and the helpers that all parsers share. No strtol and
// no strtod: they skip blanks, take signs, and follow the host program's locale.

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env_table.h"
#include "base/error.h"

#define DIGITS_MAX 10       // CANN's limit for numbers
#define BYTES_DIGITS_MAX 18 // sizes in bytes need more: 64 TiB have 14
#define SHOWN_MAX 96        // of a value, in a sentence
#define BLANKS " \t\r\n"
#define QP_PORT_FILE "MultiQpSrcPort.cfg"
#define EXEC_TIMEOUT_MAX_S INT32_MAX
#define AIV_EXEC_TIMEOUT_MAX_NS (1091 * RP_NS_PER_S)

static bool is_blank(char c)
{
    return c != '\0' && strchr(BLANKS, c) != NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum rp_env_outcome rp_env_complain(
        const struct rp_env_input *input, enum rp_env_outcome outcome, const char *fmt, ...)
{
    bool cut = strlen(input->text) > SHOWN_MAX;
    int used = snprintf(input->why, RP_ENV_WHY_BYTES, "%s is \"%.*s%s\": ", input->name, SHOWN_MAX,
            input->text, cut ? "..." : "");
    if (used >= 0 && used < RP_ENV_WHY_BYTES) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(input->why + used, (size_t)(RP_ENV_WHY_BYTES - used), fmt, args);
        va_end(args);
    }
    return outcome;
}

enum rp_env_outcome rp_env_reject(const struct rp_env_input *input)
{
    char values[RP_ENV_WHY_BYTES / 2];
    rp_env_row_values(input->row, values, sizeof(values));
    if (input->row->lenient) {
        return rp_env_complain(input, RP_ENV_IGNORED, "ignored, since it is not %s", values);
    }
    return rp_env_complain(input, RP_ENV_BAD, "not %s", values);
}

bool rp_env_trim(const char *text, char *out, size_t bytes)
{
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) {
        length--;
    }
    if (length >= bytes) {
        return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

bool rp_env_squeeze(const char *text, char *out, size_t bytes)
{
    size_t length = 0;
    for (; *text != '\0'; text++) {
        if (is_blank(*text)) {
            continue;
        }
        if (length + 1 >= bytes) {
            return false;
        }
        out[length++] = *text;
    }
    out[length] = '\0';
    return true;
}

// `bytes` decimal digits, few enough that 64 bits hold them.
static bool read_digits(const char *digits, size_t bytes, uint64_t *value)
{
    uint64_t number = 0;
    if (bytes == 0 || bytes > BYTES_DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (!is_digit(digits[i])) {
            return false;
        }
        number = 10 * number + (uint64_t)(digits[i] - '0');
    }
    *value = number;
    return true;
}

bool rp_env_number(const char *digits, size_t bytes, uint64_t min, uint64_t max, uint64_t *value)
{
    uint64_t number;
    if (bytes > DIGITS_MAX || !read_digits(digits, bytes, &number) || number < min ||
            number > max) {
        return false;
    }
    *value = number;
    return true;
}

char *rp_env_cut(char **rest, char separator)
{
    char *part = *rest;
    if (part == NULL) {
        return NULL;
    }
    char *end = strchr(part, separator);
    if (end == NULL) {
        *rest = NULL;
    } else {
        *end = '\0';
        *rest = end + 1;
    }
    return part;
}

enum rp_env_outcome rp_env_parse_u32(const struct rp_env_input *input, void *field)
{
    const struct rp_env_row *row = input->row;
    uint64_t number;
    if (!rp_env_number(input->text, strlen(input->text), row->min, row->max, &number) ||
            (row->scale != 0 && number % row->scale != 0)) {
        return rp_env_reject(input);
    }
    *(uint32_t *)field = (uint32_t)number;
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_scaled(const struct rp_env_input *input, void *field)
{
    const struct rp_env_row *row = input->row;
    uint64_t number;
    if (!rp_env_number(input->text, strlen(input->text), row->min, row->max, &number)) {
        return rp_env_reject(input);
    }
    *(uint64_t *)field = number * row->scale;
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_word(const struct rp_env_input *input, void *field)
{
    for (const struct rp_env_word *word = input->row->words; word->text != NULL; word++) {
        int differs = input->row->ignore_case ? strcasecmp(word->text, input->text)
                                              : strcmp(word->text, input->text);
        if (differs == 0) {
            static_assert(
                    sizeof(enum rp_isa) == sizeof(word->value), "the fields are enums or int");
            memcpy(field, &word->value, sizeof(word->value));
            return RP_ENV_TAKEN;
        }
    }
    return rp_env_reject(input);
}

static enum rp_env_outcome parse_two(const struct rp_env_input *input, const char *yes,
        const char *no, bool when_yes, bool *field)
{
    bool is_yes = strcasecmp(input->text, yes) == 0;
    if (!is_yes && strcasecmp(input->text, no) != 0) {
        return rp_env_reject(input);
    }
    *field = is_yes == when_yes;
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_bit(const struct rp_env_input *input, void *field)
{
    return parse_two(input, "1", "0", true, field);
}

enum rp_env_outcome rp_env_parse_bit_inverted(const struct rp_env_input *input, void *field)
{
    return parse_two(input, "1", "0", false, field);
}

enum rp_env_outcome rp_env_parse_truth(const struct rp_env_input *input, void *field)
{
    return parse_two(input, "TRUE", "FALSE", true, field);
}

// A decimal number outside [0, 1] is ignored, anything else is an error: so the documentation of
// the one variable that holds a ratio wants it.
enum rp_env_outcome rp_env_parse_ratio(const struct rp_env_input *input, void *field)
{
    const char *at = input->text + (*input->text == '-' || *input->text == '+');
    double number = 0;
    double step = 1;
    size_t digits = 0;
    bool fraction = false;
    for (; *at != '\0'; at++) {
        if (*at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(*at)) {
            return rp_env_reject(input);
        }
        digits++;
        step = fraction ? step / 10 : step;
        number = fraction ? number + step * (*at - '0') : 10 * number + (*at - '0');
    }
    if (digits == 0) {
        return rp_env_reject(input);
    }
    if (number > 1 || (*input->text == '-' && number > 0)) {
        return rp_env_complain(input, RP_ENV_IGNORED, "ignored, since it is outside 0 to 1");
    }
    *(double *)field = number;
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_seconds(const struct rp_env_input *input, void *field)
{
    const char *text = input->text;
    size_t whole_bytes = strspn(text, "0123456789");
    const char *decimals = text + whole_bytes + (text[whole_bytes] == '.');
    size_t decimal_bytes = strlen(decimals);
    uint64_t whole;
    uint64_t hundredths = 0;
    bool good = rp_env_number(text, whole_bytes, 0, EXEC_TIMEOUT_MAX_S, &whole);
    if (text[whole_bytes] == '.') {
        good = good && decimal_bytes <= 2 &&
               rp_env_number(decimals, decimal_bytes, 0, 99, &hundredths);
        hundredths *= decimal_bytes == 1 ? 10 : 1;
        good = good && (whole < EXEC_TIMEOUT_MAX_S || hundredths == 0);
    } else {
        good = good && decimal_bytes == 0;
    }
    if (!good) {
        return rp_env_complain(input, RP_ENV_BAD,
                "not a number of seconds from 0 to %d with at most two decimals",
                EXEC_TIMEOUT_MAX_S);
    }
    *(uint64_t *)field = whole * RP_NS_PER_S + hundredths * (RP_NS_PER_S / 100);
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_bytes(const struct rp_env_input *input, void *field)
{
    static const char suffixes[] = "KMGT";
    size_t digits = strspn(input->text, "0123456789");
    unsigned shift = 0;
    const char *suffix = input->text + digits;
    if (*suffix != '\0') {
        const char *found = strchr(suffixes, toupper((unsigned char)*suffix));
        if (found == NULL || suffix[1] != '\0') {
            return rp_env_reject(input);
        }
        shift = 10 * (unsigned)(found - suffixes + 1);
    }
    uint64_t number;
    if (!read_digits(input->text, digits, &number) || number > input->row->max >> shift ||
            number << shift < input->row->min) {
        return rp_env_reject(input);
    }
    *(uint64_t *)field = number << shift;
    return RP_ENV_TAKEN;
}

static enum rp_env_outcome parse_any_text(
        const struct rp_env_input *input, char *field, size_t bytes)
{
    if (strlen(input->text) >= bytes) {
        return rp_env_reject(input);
    }
    rp_text_copy(field, bytes, input->text);
    return RP_ENV_TAKEN;
}

enum rp_env_outcome rp_env_parse_name(const struct rp_env_input *input, void *field)
{
    return parse_any_text(input, field, RP_ENV_NAME_MAX);
}

enum rp_env_outcome rp_env_parse_path(const struct rp_env_input *input, void *field)
{
    return parse_any_text(input, field, RP_ENV_PATH_MAX + 1);
}

enum rp_env_outcome rp_env_parse_qp_directory(const struct rp_env_input *input, void *field)
{
    char file[RP_ENV_PATH_MAX + sizeof("/" QP_PORT_FILE)];
    snprintf(file, sizeof(file), "%s/%s", input->text, QP_PORT_FILE);
    if (access(file, R_OK) != 0) {
        return rp_env_complain(
                input, RP_ENV_BAD, "no readable file %s in this directory", QP_PORT_FILE);
    }
    return rp_env_parse_path(input, field);
}

rp_status rp_env_parse_text(const char *name, const char *text, rp_env_parse_fn *parse, void *field)
{
    char value[RP_ENV_PATH_MAX + 1];
    char why[RP_ENV_WHY_BYTES];
    struct rp_env_input input = { .name = name, .text = value, .why = why };
    if (!rp_env_trim(text, value, sizeof(value))) {
        return rp_fail(RP_EPARAM, "%s is longer than %d characters", name, RP_ENV_PATH_MAX);
    }
    if (value[0] == '\0') {
        return RP_OK;
    }
    enum rp_env_outcome outcome = parse(&input, field);
    if (outcome == RP_ENV_BAD) {
        return rp_fail(RP_EPARAM, "%s", why);
    }
    if (outcome != RP_ENV_TAKEN) {
        rp_log_warn("%s", why);
    }
    return RP_OK;
}

rp_status rp_env_parse_exec_timeout(const char *name, const char *text, uint64_t *timeout_ns)
{
    return rp_env_parse_text(name, text, rp_env_parse_seconds, timeout_ns);
}

uint64_t rp_env_exec_timeout_aiv_ns(uint64_t set_ns)
{
    return set_ns == 0 || set_ns > AIV_EXEC_TIMEOUT_MAX_NS ? AIV_EXEC_TIMEOUT_MAX_NS : set_ns;
}
