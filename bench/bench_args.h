#ifndef REPRISE_BENCH_ARGS_H
#define REPRISE_BENCH_ARGS_H

/*
 * Arguments of the benches: a few numbers, all optional, and --help.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** bench_args: --help prints `help` and ends the program well; more than `count_max`
 * arguments, or an option, end it with status 2. */
static inline void bench_args(int argc, char **argv, int count_max, const char *help)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            exit(0);
        }
    }
    for (int i = 1; i < argc; i++) {
        if (i > count_max || argv[i][0] == '-') {
            fprintf(stderr, "%s: unknown argument '%s'\n%s", argv[0], argv[i], help);
            exit(2);
        }
    }
}

/** bench_number: argument `index`, `fallback` if it is not given; ends the program with status 2
 * unless it is a number from `low` to `high`. */
static inline unsigned long long bench_number(int argc, char **argv, int index,
        unsigned long long fallback, unsigned long long low, unsigned long long high)
{
    if (index >= argc) {
        return fallback;
    }
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(argv[index], &end, 10);
    if (errno != 0 || end == argv[index] || *end != '\0' || number < low || number > high) {
        fprintf(stderr, "%s: '%s' is no number from %llu to %llu; see --help\n", argv[0],
                argv[index], low, high);
        exit(2);
    }
    return number;
}

#endif
