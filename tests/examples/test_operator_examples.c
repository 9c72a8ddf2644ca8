// The examples of single operators as their reader runs them: each ends with 0 only when it has
// computed what it says.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static char output[4096];

// Runs a program of the examples; its exit status, -1 when it did not exit.
static int run_example(const char *name)
{
    char command[512];
    snprintf(command, sizeof(command), "timeout 60 %s/examples/%s 2>&1", RP_TEST_BINARY_DIR, name);
    FILE *pipe = popen(command, "re");
    cr_assert(ne(ptr, pipe, NULL));
    output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(operator_examples, compute_what_they_say)
{
    static const struct {
        const char *name;
        const char *line;
    } rows[] = {
        { "reduce_to_root", "rank 2: 60 64 68\n" },
        { "scatter", "rank 2: 106 107 108\n" },
        { "alltoall", "rank 2: 2 12 22 32\n" },
        { "allgatherv", "rank 2: 0 1 2 3 10 11 12 20 30 31\n" },
        { "reducescatterv", "rank 1: 76 80 84\n" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_assert(eq(int, run_example(rows[i].name), 0), "%s: %s", rows[i].name, output);
        cr_assert(ne(ptr, strstr(output, rows[i].line), NULL), "%s: %s", rows[i].name, output);
    }
}
