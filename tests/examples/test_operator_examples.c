// The examples of single operators as their reader runs them: each ends with 0 only when it has
// computed what it says.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/util.h"
#include "capture/select.h"

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
        { "broadcast", "rank 2: 100 101 102\n" },
        { "allgather", "rank 2: 0 1 2 10 11 12 20 21 22 30 31 32\n" },
        { "reducescatter", "rank 1: 72 76 80\n" },
        { "barrier", "rank 2: 4 ranks were ready\n" },
        { "reduce_to_root", "rank 2: 60 64 68\n" },
        { "scatter", "rank 2: 106 107 108\n" },
        { "alltoall", "rank 2: 2 12 22 32\n" },
        { "alltoallv", "rank 2: 322 22 122\n" },
        { "alltoallvc", "rank 1: 0 101 102 202 203 204 303 304 305 306\n" },
        { "allgatherv", "rank 2: 0 1 2 3 10 11 12 20 30 31\n" },
        { "reducescatterv", "rank 1: 76 80 84\n" },
        { "send_recv", "rank 1: 10 11 12 13\n" },
        { "batch_send_recv", "rank 1: 100\n" },
        { "group_calls", "got 11 and 10\n" },
        { "world_of_table", "rank 1: 3\n" },
        { "sub_communicators", "rank 3: row 5, column 4\n" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_assert(eq(int, run_example(rows[i].name), 0), "%s: %s", rows[i].name, output);
        cr_assert(ne(ptr, strstr(output, rows[i].line), NULL), "%s: %s", rows[i].name, output);
    }
}

// ---- all of them ----

#define LINES_MAX 60

// Programs that show more than an operator.
static bool is_larger(const char *name)
{
    static const char *const larger[] = { "aclnn_graph.c", "conditional.c" };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(larger); i++) {
        if (strcmp(name, larger[i]) == 0) {
            return true;
        }
    }
    return false;
}

static char text[1 << 16];

static void read_example(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), RP_TEST_SOURCE_DIR "/examples/%s", name);
    FILE *file = fopen(path, "re");
    cr_assert(ne(ptr, file, NULL), "%s", path);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
}

static unsigned lines(void)
{
    unsigned count = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        count++;
    }
    return count;
}

Test(operator_examples, there_is_a_short_one_for_each_row_of_the_matrix)
{
    bool shown[64] = { false };
    DIR *folder = opendir(RP_TEST_SOURCE_DIR "/examples");
    cr_assert(ne(ptr, folder, NULL));
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        const size_t length = strlen(name);
        if (length < 3 || strcmp(name + length - 2, ".c") != 0 || is_larger(name)) {
            continue;
        }
        read_example(name);
        cr_assert(le(uint, lines(), LINES_MAX), "%s", name);
        for (unsigned i = 0; i < rp_matrix_rows; i++) {
            char call[64];
            snprintf(call, sizeof(call), "Hccl%s(", rp_op_kind_name(rp_matrix[i].op));
            shown[i] = shown[i] || strstr(text, call) != NULL;
        }
    }
    closedir(folder);
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        cr_assert(shown[i], "no example calls Hccl%s", rp_op_kind_name(rp_matrix[i].op));
    }
}
