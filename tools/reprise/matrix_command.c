// reprise matrix: the support matrix that the selector reads, as a table for people, for the README
// or for programs.

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "capture/select.h"
#include "tools/reprise/command.h"

#define CELL_BYTES 128
#define ROWS_MAX 32
#define COLUMNS 13

static const char *const columns[COLUMNS] = { "Operator", "Single-op", "Captured",
    "HOST_TS, one node", "HOST_TS, nodes", "AIV, one node", "AIV, nodes", "Deterministic",
    "In place", "Root", "Types", "Reductions", "Algorithms of HOST_TS" };

struct cells {
    char text[COLUMNS][CELL_BYTES];
};

static const char *type_name(unsigned type)
{
    return rp_record_words(&(struct rp_record){ .op = RP_OP_ALL_REDUCE, .dtype = (uint8_t)type })
            .dtype;
}

static const char *reduction_name(unsigned reduce)
{
    return rp_record_words(&(struct rp_record){ .op = RP_OP_ALL_REDUCE, .reduce = (uint8_t)reduce })
            .reduce;
}

static const char *algorithm_name(unsigned algorithm)
{
    return rp_matrix_algorithm_name(algorithm);
}

// "int8, int16": the names of the members of a set; "-" for none.
static void list(char *cell, size_t bytes, uint32_t set, const char *(*name)(unsigned))
{
    size_t used = 0;
    snprintf(cell, bytes, "-");
    for (unsigned i = 0; i < 32 && used < bytes; i++) {
        if (set >> i & 1) {
            used += (size_t)snprintf(
                    cell + used, bytes - used, "%s%s", used == 0 ? "" : ", ", name(i));
        }
    }
}

static const char *types_name(uint32_t types)
{
    return types == RP_TYPES_ALL ? "all" : types == RP_TYPES_REDUCIBLE ? "numbers" : "-";
}

static uint32_t algorithms_of(const struct rp_matrix_row *row)
{
    return row->host_ts ? row->algorithms & ~RP_ALGORITHM_BIT(RP_ALGORITHM_FUSED) : 0;
}

static void fill(struct cells *cells, const struct rp_matrix_row *row)
{
    const struct {
        bool said;
        const char *yes, *no;
    } answers[] = {
        { row->modes & RP_MODE_SINGLE_OP, "yes", "no" },
        { row->modes & RP_MODE_CAPTURED, "yes", "no" },
        { row->host_ts, "yes", "no" },
        { row->host_ts && row->between_nodes, "yes", "no" },
        { row->aiv, "yes", "no" },
        { false, "yes", "no" },
        { row->reduces, row->strict ? "yes, strict" : "yes", "-" },
        { row->in_place, "yes", "-" },
        { row->rooted, "yes", "-" },
    };
    snprintf(cells->text[0], CELL_BYTES, "%s", rp_op_kind_name(row->op));
    for (unsigned i = 0; i < RP_ARRAY_LENGTH(answers); i++) {
        snprintf(cells->text[1 + i], CELL_BYTES, "%s",
                answers[i].said ? answers[i].yes : answers[i].no);
    }
    snprintf(cells->text[COLUMNS - 3], CELL_BYTES, "%s", types_name(row->types));
    list(cells->text[COLUMNS - 2], CELL_BYTES, row->reductions, reduction_name);
    list(cells->text[COLUMNS - 1], CELL_BYTES, algorithms_of(row), algorithm_name);
}

static void print_notes(const char *mark)
{
    char text[512];
    list(text, sizeof(text), RP_TYPES_REDUCIBLE, type_name);
    printf("%sNumbers: %s.", mark, text);
    list(text, sizeof(text), RP_TYPES_OPAQUE, type_name);
    printf("\n%sAll types: these, and as opaque bytes %s.", mark, text);
    printf("\n%sAIV: one fused kernel in shared memory, when all ranks share a node; between "
           "nodes\n"
           "  an operator falls back to HOST_TS, or is not supported where hcclOpExpansionMode is "
           "4.",
            mark);
    printf("\n%sHOST_TS: a list of tasks, by one of the algorithms, which HCCL_ALGO names.", mark);
    printf("\n%sDeterministic: a repeat gives the same bits with every setting; strict gives the "
           "left\n"
           "  fold in rank order, the same bits whatever runs it.\n",
            mark);
}

static void print_text(const struct cells *cells)
{
    int width[COLUMNS];
    for (unsigned c = 0; c < COLUMNS; c++) {
        width[c] = (int)strlen(columns[c]);
        for (unsigned r = 0; r < rp_matrix_rows; r++) {
            const int length = (int)strlen(cells[r].text[c]);
            width[c] = length > width[c] ? length : width[c];
        }
    }
    for (unsigned r = 0; r <= rp_matrix_rows; r++) {
        for (unsigned c = 0; c < COLUMNS; c++) {
            const char *text = r == 0 ? columns[c] : cells[r - 1].text[c];
            if (c + 1 < COLUMNS) {
                printf("%-*s  ", width[c], text);
            } else {
                printf("%s\n", text);
            }
        }
    }
    printf("\n");
    print_notes("");
}

static void print_markdown(const struct cells *cells)
{
    for (unsigned c = 0; c < COLUMNS; c++) {
        printf("| %s ", columns[c]);
    }
    printf("|\n");
    for (unsigned c = 0; c < COLUMNS; c++) {
        printf("|---");
    }
    printf("|\n");
    for (unsigned r = 0; r < rp_matrix_rows; r++) {
        for (unsigned c = 0; c < COLUMNS; c++) {
            printf("| %s ", cells[r].text[c]);
        }
        printf("|\n");
    }
    printf("\n");
    print_notes("- ");
}

// ["int8", "int16"]
static void json_list(const char *key, uint32_t set, const char *(*name)(unsigned))
{
    const char *comma = "";
    printf("    \"%s\": [", key);
    for (unsigned i = 0; i < 32; i++) {
        if (set >> i & 1) {
            printf("%s\"%s\"", comma, name(i));
            comma = ", ";
        }
    }
    printf("],\n");
}

static void json_bool(const char *key, bool value, const char *end)
{
    printf("    \"%s\": %s%s\n", key, value ? "true" : "false", end);
}

static void print_json(void)
{
    printf("[\n");
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        const struct rp_matrix_row *row = &rp_matrix[i];
        printf("  {\n    \"operator\": \"%s\",\n", rp_op_kind_name(row->op));
        json_bool("single_op", row->modes & RP_MODE_SINGLE_OP, ",");
        json_bool("captured", row->modes & RP_MODE_CAPTURED, ",");
        json_bool("host_ts_one_node", row->host_ts, ",");
        json_bool("host_ts_nodes", row->host_ts && row->between_nodes, ",");
        json_bool("aiv_one_node", row->aiv, ",");
        json_bool("aiv_nodes", false, ",");
        json_bool("deterministic", row->reduces, ",");
        json_bool("strict", row->strict, ",");
        json_bool("in_place", row->in_place, ",");
        json_bool("rooted", row->rooted, ",");
        json_list("types", row->types, type_name);
        json_list("reductions", row->reductions, reduction_name);
        json_list("algorithms", algorithms_of(row), algorithm_name);
        printf("    \"hccl_op\": %u\n  }%s\n", row->op, i + 1 < rp_matrix_rows ? "," : "");
    }
    printf("]\n");
}

int command_matrix(int count, char **argument)
{
    static struct cells cells[ROWS_MAX];
    const char *form = count > 0 ? argument[0] : "";
    if (count > 1) {
        complain("matrix takes one option, not also '%s'", argument[1]);
        return REPRISE_USAGE;
    }
    if (strcmp(form, "--json") == 0) {
        print_json();
        return REPRISE_DONE;
    }
    assert(rp_matrix_rows <= ROWS_MAX);
    for (unsigned r = 0; r < rp_matrix_rows; r++) {
        fill(&cells[r], &rp_matrix[r]);
    }
    if (strcmp(form, "--markdown") == 0) {
        print_markdown(cells);
    } else if (count == 0) {
        print_text(cells);
    } else {
        complain("matrix has no option '%s'; there are --json and --markdown", form);
        return REPRISE_USAGE;
    }
    return REPRISE_DONE;
}
