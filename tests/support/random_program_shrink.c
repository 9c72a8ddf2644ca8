// Jobs of random programs, run from the parent. When one fails, its program is run alone with fewer
// and fewer tasks for as long as it still fails.

#include "support/random_program_shrink.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SHRINK_S 45     // all in all
#define PROBE_S 20      // one job
#define PROBE_REPEATS 8 // of a program in it: what fails rarely should still do

struct shrink {
    struct rank_job job;
    struct random_control *control;
    struct random_program whole;
    uint64_t until_ns;
    unsigned probes;
};

static const char *const settings[] = { "REPRISE_DEVICE_MEMORY=96M", "HCCL_EXEC_TIMEOUT=15", NULL };

// ---- smaller programs ----

// A word without its conditional is nowhere.
static void drop_writes(const struct random_program *p, bool *dropped, unsigned word)
{
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        dropped[i] = dropped[i] || (task->kind == RANDOM_COPY && task->args[0].to.buffer == word);
    }
}

// What cannot stay without a dropped task goes too.
static void drop_dependents(const struct random_program *p, bool *dropped)
{
    for (unsigned i = 0; i < p->tasks; i++) {
        const struct random_task *task = &p->task[i];
        switch (task->kind) {
        case RANDOM_SEGMENT:
            for (unsigned k = i; dropped[i] && k <= random_block_end(p, i); k++) {
                dropped[k] = true;
            }
            break;
        case RANDOM_COND:
            for (unsigned k = i; dropped[i] && k <= task->partner; k++) {
                dropped[k] = true;
            }
            if (dropped[i]) {
                drop_writes(p, dropped, task->word);
            }
            break;
        case RANDOM_WAIT:
        case RANDOM_EXTERNAL_WAIT:
        case RANDOM_GROUP_END:
            dropped[i] = dropped[i] || dropped[task->partner];
            break;
        case RANDOM_GROUP:
        case RANDOM_VALUE_WRITE:
        case RANDOM_VALUE_WAIT:
        case RANDOM_NOTIFY_RECORD:
        case RANDOM_NOTIFY_WAIT:
            dropped[i] = dropped[i] || dropped[task->partner];
            dropped[task->partner] = dropped[i];
            break;
        default:
            break;
        }
    }
}

static bool can_go(const struct random_task *task)
{
    return task->kind != RANDOM_GRAPH_END && task->kind != RANDOM_BODY &&
           task->kind != RANDOM_BODY_END && task->kind != RANDOM_COND_END &&
           task->kind != RANDOM_GROUP_END;
}

static bool still_fails(struct shrink *s, const bool *dropped)
{
    struct random_program smaller = s->whole;
    random_program_drop(&smaller, dropped);
    if (!random_program_sound(&smaller) || rp_now_ns() > s->until_ns) {
        return false;
    }
    memcpy(s->control->dropped, dropped, sizeof(s->control->dropped));
    atomic_store_explicit(&s->control->differences, 0, memory_order_relaxed);
    s->probes++;
    return rank_run(&s->job) != NULL ||
           atomic_load_explicit(&s->control->differences, memory_order_relaxed) > 0;
}

// Drops what `more` marks, if the rest still fails.
static void try_without(struct shrink *s, bool *dropped, const bool *more)
{
    bool candidate[RANDOM_TASKS];
    bool changes = false;
    for (unsigned i = 0; i < s->whole.tasks; i++) {
        candidate[i] = dropped[i] || (more[i] && can_go(&s->whole.task[i]));
    }
    drop_dependents(&s->whole, candidate);
    for (unsigned i = 0; i < s->whole.tasks; i++) {
        changes = changes || candidate[i] != dropped[i];
    }
    for (unsigned i = s->whole.tasks; i < RANDOM_TASKS; i++) {
        candidate[i] = false;
    }
    if (changes && still_fails(s, candidate)) {
        memcpy(dropped, candidate, sizeof(candidate));
    }
}

static void shrink_program(struct shrink *s, bool *dropped)
{
    bool more[RANDOM_TASKS];
    for (unsigned one = 0; one < s->whole.tasks; one++) {
        const uint8_t kind = s->whole.task[one].kind;
        for (unsigned i = 0; i < s->whole.tasks; i++) {
            more[i] = i == one;
        }
        if (kind == RANDOM_SEGMENT || kind == RANDOM_COND || kind == RANDOM_GROUP) {
            try_without(s, dropped, more);
        }
    }
    for (unsigned lane = 0; lane < s->whole.lanes; lane++) {
        for (unsigned i = 0; i < s->whole.tasks; i++) {
            more[i] = s->whole.task[i].lane == lane;
        }
        try_without(s, dropped, more);
    }
    for (unsigned size = (s->whole.tasks + 1) / 2; size > 0; size /= 2) {
        for (unsigned first = 0; first < s->whole.tasks; first += size) {
            for (unsigned i = 0; i < s->whole.tasks; i++) {
                more[i] = i >= first && i < first + size;
            }
            try_without(s, dropped, more);
        }
    }
}

// ---- jobs ----

unsigned random_features(void)
{
    const char *text = getenv("REPRISE_FEATURES");
    return text != NULL ? (unsigned)strtoul(text, NULL, 0) : RANDOM_WITH_ALL;
}

static void report(const struct rank_job *job, uint64_t seed)
{
    static struct shrink s; // a program is large
    bool dropped[RANDOM_TASKS] = { false };
    s = (struct shrink){ .job = *job, .control = job->shared };
    s.until_ns = rp_deadline_ns(SHRINK_S * RP_NS_PER_S);
    s.job.timeout_s = PROBE_S;
    s.control->first = seed;
    s.control->count = 1;
    s.control->repeat = PROBE_REPEATS;
    s.control->keep_going = true;
    random_program_make(&s.whole, seed, s.control->features);
    fprintf(stderr, "a random program fails; REPRISE_SEED=%llu runs it alone\n",
            (unsigned long long)seed);
    if (!still_fails(&s, dropped)) {
        fprintf(stderr, "run %u times alone it does not fail:\n", PROBE_REPEATS);
    } else {
        shrink_program(&s, dropped);
        fprintf(stderr, "the smallest part that still fails (%u tried):\n", s.probes);
    }
    random_program_drop(&s.whole, dropped);
    random_program_print(&s.whole, stderr);
}

// The program that was under way: a rank that has failed stays at it.
static uint64_t failed_seed(const struct random_control *control, unsigned ranks)
{
    uint64_t seed = UINT64_MAX;
    for (unsigned r = 0; r < ranks; r++) {
        const uint64_t at = atomic_load_explicit(&control->seed[r], memory_order_relaxed);
        seed = at < seed ? at : seed;
    }
    return seed;
}

const char *random_run(
        uint64_t first, uint64_t count, unsigned features, enum rank_mode mode, unsigned timeout_s)
{
    static char text[8192];
    struct random_control *control = rank_shared_create(sizeof(*control));
    const struct rank_job job = {
        .ranks = random_seed_ranks(first),
        .mode = mode,
        .timeout_s = timeout_s,
        .fn = random_rank,
        .shared = control,
        .env = settings,
    };
    *control = (struct random_control){
        .first = first, .stride = 3, .count = count, .features = features, .repeat = 1
    };
    for (unsigned r = 0; r < RANKS_MAX; r++) {
        atomic_init(&control->seed[r], first);
    }
    const char *wrong = rank_run(&job);
    if (wrong != NULL) {
        snprintf(text, sizeof(text), "%s", wrong);
        report(&job, failed_seed(control, job.ranks));
    }
    rank_shared_destroy(control, sizeof(*control));
    return wrong != NULL ? text : NULL;
}
