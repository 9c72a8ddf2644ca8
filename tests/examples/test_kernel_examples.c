// The examples of kernels and operators as their reader runs them.

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

Test(kernel_examples, a_kernel_is_captured_and_updated)
{
    cr_assert(eq(int, run_example("kernel_graph"), 0), "%s", output);
    cr_expect(ne(ptr, strstr(output, "as captured:          y = 2\n"), NULL), "%s", output);
    cr_expect(ne(ptr, strstr(output, "updated between:      y = 12\n"), NULL), "%s", output);
    cr_expect(ne(ptr, strstr(output, "updated while queued: y = 112\n"), NULL), "%s", output);
}

Test(kernel_examples, a_missing_binary_is_named)
{
    cr_expect(eq(int, run_example("kernel_graph /nowhere/kernels.so"), 1));
    cr_expect(ne(ptr, strstr(output, "/nowhere/kernels.so"), NULL), "%s", output);
}

Test(kernel_examples, operators_are_captured_and_updated)
{
    cr_assert(eq(int, run_example("aclnn_graph"), 0), "%s", output);
    cr_expect(ne(ptr, strstr(output, "replay 2: y = 99\n"), NULL), "%s", output);
}

Test(kernel_examples, a_graph_decides_for_itself)
{
    cr_assert(eq(int, run_example("conditional"), 0), "%s", output);
    cr_expect(eq(str, output, (char *)"15 is odd\n"));
}
