// reprise: look at graphs, and at what the library can do.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <reprise/reprise.h>

#include "tools/reprise/command.h"

static const char usage[] =
        "Usage: reprise COMMAND [ARGUMENT...]\n"
        "\n"
        "Commands:\n"
        "  graph FILE [-o OUT]  draw a graph that aclmdlRIDebugJsonPrint wrote to FILE\n"
        "  matrix [--json | --markdown]\n"
        "                       print which operators run how\n"
        "  help                 print this text\n"
        "  version              print the version\n"
        "\n"
        "reprise graph reads standard input when FILE is -. The ending of OUT says what it\n"
        "makes: .svg or .png (which takes the program dot, of the package graphviz) or .dot,\n"
        "the text that dot reads. Without -o that text goes to standard output.\n";

void complain(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("reprise: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

static int command_help(int count, char **argument)
{
    (void)count;
    (void)argument;
    fputs(usage, stdout);
    return REPRISE_DONE;
}

static int command_version(int count, char **argument)
{
    (void)count;
    (void)argument;
    printf("reprise %s\n", reprise_version());
    return REPRISE_DONE;
}

static const struct {
    const char *name;
    int (*run)(int count, char **argument);
} commands[] = {
    { "graph", command_graph },
    { "matrix", command_matrix },
    { "help", command_help },
    { "--help", command_help },
    { "-h", command_help },
    { "version", command_version },
    { "--version", command_version },
};

/* What was printed has arrived; or it is said that it has not. */
static int flushed(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("standard output cannot be written");
        return REPRISE_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs(usage, stderr);
        return REPRISE_USAGE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return flushed(commands[i].run(argc - 2, argv + 2));
        }
    }
    complain("there is no command '%s'; reprise --help lists them", argv[1]);
    return REPRISE_USAGE;
}
