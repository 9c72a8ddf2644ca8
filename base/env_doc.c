// docs/environment.md, from the table. tools/print_environment.c writes it,
// tests/base/test_env_doc.c compares it.

#include <string.h>

#include "base/env_table.h"

static const struct {
    const char *title;
    const char *about;
} groups[RP_ENV_GROUP_COUNT] = {
    [RP_ENV_GROUP_OPERATORS] = { "Timeouts, buffers, algorithms, form of operators",
            "The matching field of HcclCommConfig goes before the variable." },
    [RP_ENV_GROUP_SERVER] = { "Links inside a server", NULL },
    [RP_ENV_GROUP_RDMA] = { "RDMA", NULL },
    [RP_ENV_GROUP_NETWORK] = { "Host network", NULL },
    [RP_ENV_GROUP_SECURITY] = { "Security", NULL },
    [RP_ENV_GROUP_RELIABILITY] = { "Reliability", NULL },
    [RP_ENV_GROUP_DEBUG] = { "Debugging", NULL },
    [RP_ENV_GROUP_ASCEND] = { "Devices and log",
            "An invalid value is never an error; a log variable's is ignored, with a warning." },
    [RP_ENV_GROUP_REPRISE] = { "Reprise's own",
            "An invalid value is reported by aclInit and aclrtSetDevice (107000)." },
};

static void list_words(const struct rp_env_row *row, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (const struct rp_env_word *word = row->words; word->text != NULL; word++) {
        const char *joint = word[1].text == NULL ? " or " : ", ";
        int more = snprintf(text + used, bytes - used, "%s%s", used == 0 ? "" : joint, word->text);
        used = more < 0 || used + (size_t)more >= bytes ? used : used + (size_t)more;
    }
    snprintf(text + used, bytes - used, "%s", row->ignore_case ? " (any case)" : "");
}

void rp_env_row_values(const struct rp_env_row *row, char *text, size_t bytes)
{
    if (row->values != NULL) {
        snprintf(text, bytes, "%s", row->values);
        return;
    }
    if (row->words != NULL) {
        list_words(row, text, bytes);
        return;
    }
    int used = snprintf(text, bytes, "an integer from %llu to %llu", (unsigned long long)row->min,
            (unsigned long long)row->max);
    if (used < 0 || (size_t)used >= bytes) {
        return;
    }
    text += used;
    bytes -= (size_t)used;
    if (row->unit != NULL) {
        snprintf(text, bytes, " (%s)", row->unit);
    } else if (row->scale > 1) {
        snprintf(text, bytes, ", a multiple of %llu", (unsigned long long)row->scale);
    }
}

static void write_row(FILE *out, const struct rp_env_row *row)
{
    char values[1024];
    rp_env_row_values(row, values, sizeof(values));
    bool words = row->fallback == NULL;
    fprintf(out, "| `%s` | %s | %s | %s%s%s | %s |\n", row->name, row->meaning, values,
            words ? "" : "`", words ? row->fallback_words : row->fallback, words ? "" : "`",
            row->no_effect ? "no" : "yes");
}

static void write_group(FILE *out, enum rp_env_group group)
{
    fprintf(out, "\n## %s\n\n", groups[group].title);
    if (groups[group].about != NULL) {
        fprintf(out, "%s\n\n", groups[group].about);
    }
    fprintf(out, "| Variable | Meaning | Values | Default | Effect |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < RP_ENV_COUNT; i++) {
        if (rp_env_rows[i].group == group) {
            write_row(out, &rp_env_rows[i]);
        }
    }
}

void rp_env_doc_write(FILE *out)
{
    fprintf(out,
            "# Environment variables\n\n"
            "Made from the table in `base/env_table.c` by `make docs`; edit the table, not this "
            "page.\n\n"
            "- `HCCL_*` and `HCOMM_*` are read once per process, at the first HcclGetRootInfo or "
            "communicator init; the others at the first acl or Hccl call. Nothing is read when the "
            "library is loaded, and later changes have no effect.\n"
            "- Blanks around a value are ignored, in lists blanks anywhere. An empty value is "
            "unset.\n"
            "- An invalid `HCCL_*` or `HCOMM_*` value makes the initialising call, and every later "
            "one, answer HCCL_E_PARA; aclGetRecentErrMsg names the variable. Numbers are decimal "
            "digits, at most ten, where nothing else is said.\n"
            "- *Effect: no* means that the value is checked, and that nothing on a host depends on "
            "it.\n"
            "- Values in effect are written to the log at level info, after `[HCCL_ENV]` or "
            "`[REPRISE_ENV]`.\n");
    for (int group = 0; group < RP_ENV_GROUP_COUNT; group++) {
        write_group(out, (enum rp_env_group)group);
    }
    fprintf(out, "\n## Read by others\n\nPrograms around the library read these; the library does "
                 "not.\n\n| Variables | Reader | Meaning |\n|---|---|---|\n");
    for (const struct rp_env_other *other = rp_env_others; other->name != NULL; other++) {
        fprintf(out, "| %s | %s | %s |\n", other->name, other->reader, other->meaning);
    }
}
