// docs/environment.md is made from the table of variables; it must be the one that is in the tree.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env_table.h"

static char *read_page(void)
{
    static char text[1 << 17];
    FILE *file = fopen(RP_TEST_SOURCE_DIR "/docs/environment.md", "r");
    cr_assert(ne(ptr, file, NULL), "docs/environment.md is missing; run make docs");
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static char *write_page(void)
{
    static char *text; // static: gcc takes the stream's memory for the local that points to it
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    rp_env_doc_write(file);
    fclose(file);
    return text;
}

Test(env_doc, page_in_the_tree_is_current)
{
    char *made = write_page();
    cr_assert(eq(int, strcmp(read_page(), made), 0), "docs/environment.md is old; run make docs");
    free(made);
}

Test(env_doc, names_every_variable_in_a_row_of_five_columns)
{
    char *made = write_page();
    for (size_t i = 0; i < RP_ENV_COUNT; i++) {
        char start[128];
        snprintf(start, sizeof(start), "\n| `%s` | ", rp_env_rows[i].name);
        const char *row = strstr(made, start);
        cr_assert(row != NULL, "%s", rp_env_rows[i].name);
        int bars = 0;
        for (const char *at = row + 1; *at != '\n'; at++) {
            bars += *at == '|';
        }
        cr_assert(eq(int, bars, 6), "%s", rp_env_rows[i].name);
    }
    free(made);
}
