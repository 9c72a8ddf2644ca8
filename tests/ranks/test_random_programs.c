// Random programs (support/random_program.h), each run eagerly and captured: the same bits, and for
// many of them those of an oracle. REPRISE_SEED=<seed> runs one alone and prints it;
// REPRISE_FEATURES=<bits of enum random_feature> leaves the rest out, which makes other programs.

#include "support/rank_test.h"

#include "support/random_program_shrink.h"

#define FIRST_SEED UINT64_C(1000) // CI runs the same programs every time

static bool one_seed(uint64_t *seed)
{
    const char *text = getenv("REPRISE_SEED");
    if (text != NULL) {
        *seed = strtoull(text, NULL, 10);
    }
    return text != NULL;
}

static void assert_programs(uint64_t first, unsigned count, enum rank_mode mode)
{
    uint64_t seed;
    if (one_seed(&seed)) {
        cr_skip("REPRISE_SEED asks for one program alone");
    }
    for (unsigned kind = 0; kind < 3; kind++) { // 2, 3 and 4 ranks
        assert_well(random_run(first + kind, count / 3, random_features(), mode,
                            soaking() ? 3600 : 120),
                "programs %llu, %llu, ...", (unsigned long long)(first + kind),
                (unsigned long long)(first + kind + 3));
    }
}

Test(random_programs, give_the_same_bits_eager_and_captured_by_threads)
{
    assert_programs(FIRST_SEED, soak_rounds(900, 9000), RANK_THREADS);
}

Test(random_programs, give_the_same_bits_eager_and_captured_by_processes)
{
    assert_programs(FIRST_SEED * 1000, soak_rounds(240, 1200), RANK_PROCESSES);
}

// Processes of two threads each.
Test(random_programs, give_the_same_bits_eager_and_captured_by_both)
{
    assert_programs(FIRST_SEED * 2000, soak_rounds(120, 1200), RANK_MIXED);
}

Test(random_programs, run_alone_by_their_seed)
{
    static struct random_program program;
    uint64_t seed;
    if (!one_seed(&seed)) {
        cr_skip("REPRISE_SEED names no program");
    }
    random_program_make(&program, seed, random_features());
    random_program_print(&program, stderr);
    assert_well(random_run(seed, 1, random_features(), RANK_THREADS, 60), "as threads");
    assert_well(random_run(seed, 1, random_features(), RANK_PROCESSES, 60), "as processes");
}

// The generator itself: its programs are free of races, and not all alike.
Test(random_programs, are_sound)
{
    static struct random_program program;
    unsigned most = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        random_program_make(&program, seed, random_features());
        cr_assert(random_program_sound(&program), "program %llu", (unsigned long long)seed);
        most = program.tasks > most ? program.tasks : most;
    }
    cr_assert(gt(uint, most, 100));
}
