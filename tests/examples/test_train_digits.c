// The example as its reader runs it: every mode with one to three ranks ends well,
// learns the digits, and leaves equal weights after eager and after replay.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define OUTPUT_BYTES 65536

static char output[OUTPUT_BYTES];

// Runs the program; its exit status, -1 when it did not exit. What it says is in `output`.
static int run_example(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof(command), "timeout 120 %s/examples/train_digits %s 2>&1",
            RP_TEST_BINARY_DIR, arguments);
    FILE *pipe = popen(command, "re");
    cr_assert(pipe != NULL);
    const size_t bytes = fread(output, 1, sizeof(output) - 1, pipe);
    output[bytes] = '\0';
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *text)
{
    return strstr(output, text) != NULL;
}

// The accuracy that is printed last.
static double last_accuracy(void)
{
    static const char label[] = "test accuracy";
    double accuracy = 0.0;
    for (const char *at = output; (at = strstr(at, label)) != NULL; at++) {
        accuracy = strtod(at + sizeof(label) - 1, NULL);
    }
    return accuracy;
}

// How well the network does depends on how the batches are made, and so on the ranks: the promise
// is for the default of two.
static void assert_accuracy(int ranks, const char *arguments)
{
    cr_assert(gt(dbl, last_accuracy(), ranks == 2 ? 90.0 : 85.0), "%s:\n%s", arguments, output);
}

Test(train_digits, gives_identical_weights_and_over_90_percent)
{
    for (int ranks = 1; ranks <= 3; ranks++) {
        char arguments[64];
        snprintf(arguments, sizeof(arguments), "--ranks %d --mode both", ranks);
        cr_assert(eq(int, run_example(arguments), 0), "%s:\n%s", arguments, output);
        cr_assert(says("weights after eager and after replay: identical"), "%s", output);
        assert_accuracy(ranks, arguments);
        cr_assert(says("launch, host (us)") && says("collectives/step"), "%s", output);
    }
}

Test(train_digits, runs_either_mode_alone)
{
    static const char *const modes[] = { "eager", "graph" };
    for (int ranks = 1; ranks <= 3; ranks++) {
        for (int m = 0; m < 2; m++) {
            char arguments[64];
            snprintf(arguments, sizeof(arguments), "--ranks %d --mode %s --epochs 12", ranks,
                    modes[m]);
            cr_assert(eq(int, run_example(arguments), 0), "%s:\n%s", arguments, output);
            assert_accuracy(ranks, arguments);
            cr_assert(says(m == 0 ? "eager" : "replay"), "%s", output);
            cr_assert(not(says(m == 0 ? "\nreplay " : "\neager ")), "%s", output);
        }
    }
}

// Where collectives run as task lists the same program gives the same promise.
Test(train_digits, gives_identical_weights_in_host_ts_form)
{
    setenv("HCCL_OP_EXPANSION_MODE", "HOST_TS", 1);
    setenv("HCCL_BUFFSIZE", "4", 1);
    cr_assert(eq(int, run_example("--ranks 2 --epochs 12"), 0), "%s", output);
    cr_assert(says("weights after eager and after replay: identical"), "%s", output);
    assert_accuracy(2, "HOST_TS");
}

Test(train_digits, explains_itself_and_refuses_what_it_does_not_know)
{
    cr_assert(eq(int, run_example("--help"), 0));
    cr_assert(says("--ranks") && says("--mode") && says("eager|graph|both"), "%s", output);
    static const char *const bad[] = { "--ranks 0", "--ranks two", "--mode fast", "--epochs", "-x",
        "--data /nonexistent" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert(ne(int, run_example(bad[i]), 0), "%s", bad[i]);
        cr_assert(says("train_digits: "), "%s: %s", bad[i], output);
    }
}
