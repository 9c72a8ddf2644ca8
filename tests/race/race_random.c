// Random programs of support/random_program.h by the threads of one process, for ThreadSanitizer:
// eager work, captures and replays of several ranks at once. What it finds ends the process with a
// report; a wrong result is a failure, too.

#include <stdio.h>

#include "support/random_program_shrink.h"
#include "support/soak.h"

#define FIRST_SEED UINT64_C(7000)
#define PROGRAMS 60 // of 2, of 3 and of 4 ranks each, in CI

int main(void)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        const char *wrong = random_run(FIRST_SEED + kind, soak_rounds(PROGRAMS, 3000),
                random_features(), RANK_THREADS, soaking() ? 3600 : 240);
        if (wrong != NULL) {
            fprintf(stderr, "%s\n", wrong);
            return 1;
        }
    }
    return 0;
}
