#ifndef RP_BASE_ENV_TABLE_H
#define RP_BASE_ENV_TABLE_H

/*
 * The table of environment variables, as the parsers, the reader and the documentation see it.
 * Internal to base/; other rooms include base/env.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/env.h"

#define RP_ENV_WHY_BYTES 512 /* a parser's sentence */

enum rp_env_outcome {
    RP_ENV_TAKEN,   /* the field holds the value */
    RP_ENV_PARTLY,  /* the same, but a part of the text was ignored: a warning */
    RP_ENV_IGNORED, /* the field is untouched and the variable counts as unset: a warning */
    RP_ENV_BAD,     /* the field is untouched: an error */
};

struct rp_env_row;

/* What a parser works on. All outcomes but TAKEN leave a sentence in `why`. */
struct rp_env_input {
    const char *name;             /* what the sentence calls the text */
    const char *text;             /* no blanks at its ends, not empty */
    const struct rp_env_row *row; /* NULL for a text that came from HcclCommConfig */
    char *why;                    /* RP_ENV_WHY_BYTES */
};

typedef enum rp_env_outcome rp_env_parse_fn(const struct rp_env_input *input, void *field);

/* A word that a variable may have as its value. */
struct rp_env_word {
    const char *text;
    unsigned value;
};

enum rp_env_group {
    RP_ENV_GROUP_OPERATORS,
    RP_ENV_GROUP_SERVER,
    RP_ENV_GROUP_RDMA,
    RP_ENV_GROUP_NETWORK,
    RP_ENV_GROUP_SECURITY,
    RP_ENV_GROUP_RELIABILITY,
    RP_ENV_GROUP_DEBUG,
    RP_ENV_GROUP_ASCEND,
    RP_ENV_GROUP_REPRISE,
    RP_ENV_GROUP_COUNT,
};

struct rp_env_row {
    const char *name;
    enum rp_env_group group;
    bool no_effect; /* checked, but nothing on a host depends on it */
    bool ignore_case;
    bool lenient; /* an invalid value is a warning */
    rp_env_parse_fn *parse;
    size_t field_off;                /* in struct rp_hccl_env or rp_device_env */
    const struct rp_env_word *words; /* ends with text NULL; or NULL */
    uint64_t min;
    uint64_t max;
    uint64_t scale;       /* what one unit is in the field's unit; 0 as 1 */
    const char *unit;     /* of min and max; NULL: none */
    const char *values;   /* in words, where neither words nor min and max say it */
    const char *fallback; /* the default, in the variable's own syntax: parsed like a value; NULL */
    const char *fallback_words; /* where a default cannot be said so: "chosen by size" */
    const char *meaning;
};

extern const struct rp_env_row rp_env_rows[RP_ENV_COUNT];

/* Variables that programs around the library read, and the library does not. */
struct rp_env_other {
    const char *name;
    const char *reader;
    const char *meaning;
};
extern const struct rp_env_other rp_env_others[]; /* name NULL last */

/** rp_env_row_values: what `row` accepts, as text: "integer from 1 to 7200 (s)". */
void rp_env_row_values(const struct rp_env_row *row, char *text, size_t bytes);

/** rp_env_doc_write: docs/environment.md. */
void rp_env_doc_write(FILE *out);

/** rp_env_complain: put `<name> is "<text>": <sentence>` into `why` and return `outcome`. */
enum rp_env_outcome rp_env_complain(const struct rp_env_input *input, enum rp_env_outcome outcome,
        const char *fmt, ...) RP_PRINTF(3, 4);

/** rp_env_reject: the complaint that names what the row accepts. */
enum rp_env_outcome rp_env_reject(const struct rp_env_input *input);

/** rp_env_trim: copy `text` without blanks at its ends; false when it has `bytes` or more left. */
bool rp_env_trim(const char *text, char *out, size_t bytes);

/** rp_env_squeeze: copy `text` without any blanks; false when it has `bytes` or more left. */
bool rp_env_squeeze(const char *text, char *out, size_t bytes);

/** rp_env_number: `bytes` decimal digits, at most 10 of them, within [min, max]. */
bool rp_env_number(const char *digits, size_t bytes, uint64_t min, uint64_t max, uint64_t *value);

/** rp_env_cut: the part of *rest before the next `separator`, which is overwritten; NULL at the
 * end. An empty part is "". */
char *rp_env_cut(char **rest, char separator);

/** rp_env_parse_text: `parse` on a text from HcclCommConfig; RP_EPARAM with its sentence. */
RP_MUST_USE rp_status rp_env_parse_text(
        const char *name, const char *text, rp_env_parse_fn *parse, void *field);

/* Parsers of one value: base/env_value.c. The field's type is in the comment. */
rp_env_parse_fn rp_env_parse_u32;          /* uint32_t */
rp_env_parse_fn rp_env_parse_scaled;       /* uint64_t, times row->scale */
rp_env_parse_fn rp_env_parse_word;         /* an enum or int, from row->words */
rp_env_parse_fn rp_env_parse_bit;          /* bool: 0, 1 */
rp_env_parse_fn rp_env_parse_bit_inverted; /* bool: the opposite */
rp_env_parse_fn rp_env_parse_truth;        /* bool: TRUE, FALSE */
rp_env_parse_fn rp_env_parse_ratio;        /* double */
rp_env_parse_fn rp_env_parse_seconds;      /* uint64_t in ns, two decimals */
rp_env_parse_fn rp_env_parse_bytes;        /* uint64_t, suffix K, M, G, T */
rp_env_parse_fn rp_env_parse_name;         /* char[RP_ENV_NAME_MAX] */
rp_env_parse_fn rp_env_parse_path;         /* char[RP_ENV_PATH_MAX + 1] */
rp_env_parse_fn rp_env_parse_qp_directory; /* the same, holding MultiQpSrcPort.cfg */

/* Parsers of structured values: base/env_list.c. */
rp_env_parse_fn rp_env_parse_levels;  /* struct rp_retry_levels */
rp_env_parse_fn rp_env_parse_retry;   /* struct rp_retry_params */
rp_env_parse_fn rp_env_parse_dfs;     /* struct rp_dfs_config */
rp_env_parse_fn rp_env_parse_modules; /* uint32_t, from row->words */
rp_env_parse_fn rp_env_parse_visible; /* struct rp_device_list */

/* base/env_net.c */
rp_env_parse_fn rp_env_parse_ip;      /* struct rp_ip */
rp_env_parse_fn rp_env_parse_ifnames; /* struct rp_ifname_filter */
rp_env_parse_fn rp_env_parse_ports;   /* struct rp_port_list */

/* base/env_algo.c */
rp_env_parse_fn rp_env_parse_algorithms; /* struct rp_algo_config */

#endif /* RP_BASE_ENV_TABLE_H */
