#include "support/aiv_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "support/aiv_case.h"

#define ARENA_BYTES (4u << 20)

bool aiv_is_sentence(const char *part)
{
    const char *text = rp_error_take();
    if (text != NULL && strstr(text, part) != NULL) {
        return true;
    }
    fprintf(stderr, "\"%s\" is not in \"%s\"\n", part, text == NULL ? "" : text);
    return false;
}

bool aiv_give_up(struct fake_comm *comm, uint32_t rank, rp_status st)
{
    struct rp_lines *lines = &comm->lines[rank];
    const uint64_t until_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    rp_lines_fail(lines, st, lines->culprit, lines->announced);
    while (!rp_lines_released(lines)) {
        if (rp_now_ns() > until_ns) {
            fprintf(stderr, "rank %u is not released\n", rank);
            return false;
        }
        fake_pause();
    }
    return true;
}

struct end_plan {
    struct aiv_case *item;
    size_t count;
    size_t last; // op during which rank `victim` ends
    uint32_t victim;
    unsigned steps; // that it makes of this op
    bool dies;      // or gives up
};

// The victim's own part: some steps of the op, then death, or a failure after which its user
// overwrites all it has as soon as that is allowed.
static bool end_early(struct fake_comm *comm, uint32_t rank, const struct end_plan *plan)
{
    struct aiv_run run;
    unsigned moves = 0; // a step that only waits is none: the others must get into the op
    const uint64_t until_ns = rp_deadline_ns(20 * RP_NS_PER_MS);
    aiv_run_begin(&run, comm, rank, &plan->item[plan->last]);
    while (moves < plan->steps && rp_now_ns() < until_ns) {
        bool progress = false;
        if (rp_aiv_step(&run.op, 1, &progress) != RP_AGAIN) {
            break;
        }
        moves += progress;
        fake_pause();
    }
    aiv_run_end(&run);
    if (plan->dies) {
        for (uint32_t q = 0; q < comm->ranks; q++) {
            atomic_store_explicit(&comm->lines[q].peer[rank].gone, 1, memory_order_release);
        }
        return true;
    }
    comm->lines[rank].culprit = RP_NO_RANK;
    if (!aiv_give_up(comm, rank, RP_EDEVABORT)) {
        return false;
    }
    memset(fake_comm_arena(comm, rank), 0x99, comm->arena_bytes);
    return true;
}

static bool run_until_the_end(struct fake_comm *comm, uint32_t rank, void *arg)
{
    const struct end_plan *plan = arg;
    for (size_t i = 0; i < plan->count; i++) {
        if (rank == plan->victim && i == plan->last) {
            return end_early(comm, rank, plan);
        }
        struct aiv_run run;
        aiv_run_begin(&run, comm, rank, &plan->item[i]);
        const rp_status st = fake_comm_finish(&run.op, 4096, 20);
        rp_lines_flush(&comm->lines[rank]);
        if (st == RP_OK) {
            if (!aiv_run_check(&run)) {
                return false; // a success must be right, whatever happens around it
            }
            continue;
        }
        aiv_run_end(&run);
        char victim[32];
        snprintf(victim, sizeof(victim), "rank %u", plan->victim);
        return st == RP_EREMOTE && aiv_is_sentence(victim) && i + 2 >= plan->last &&
               comm->lines[rank].culprit == plan->victim && aiv_give_up(comm, rank, st);
    }
    // The last op may have needed nothing of the victim.
    return plan->item[plan->count - 1].call.op == ORACLE_BROADCAST;
}

static void add_ops(struct end_plan *plan, uint32_t ranks, unsigned seed)
{
    static const size_t counts[] = { 3, 3, 900, 20000, 3, 9000 };
    plan->count = plan->last + 4;
    plan->item = calloc(plan->count, sizeof(*plan->item));
    for (size_t i = 0; i < plan->count; i++) {
        plan->item[i] = (struct aiv_case){
            .call = {
                .op = (enum oracle_op)((unsigned)rand_r(&seed) % ORACLE_OPS),
                .dtype = RP_DTYPE_INT32,
                .count = counts[(unsigned)rand_r(&seed) % RP_ARRAY_LENGTH(counts)],
                .root = (unsigned)rand_r(&seed) % ranks,
                .ranks = ranks,
            },
            .seed = i,
        };
        aiv_case_expect(&plan->item[i]);
    }
    // What comes after the victim's op needs every rank.
    plan->item[plan->count - 1].call.op = ORACLE_ALL_REDUCE;
    plan->item[plan->count - 1].call.count = 1;
    aiv_case_free(&plan->item[plan->count - 1]);
    aiv_case_expect(&plan->item[plan->count - 1]);
}

bool aiv_end_a_rank(unsigned seed, bool dies)
{
    const uint32_t ranks = 2 + seed % 3;
    struct end_plan plan = {
        .last = seed % 7,
        .victim = seed % ranks,
        .steps = seed % 5,
        .dies = dies,
    };
    struct fake_comm *comm = fake_comm_create(ranks, ARENA_BYTES, 4096);
    add_ops(&plan, ranks, seed);
    const bool ok = fake_comm_run(comm, FAKE_THREADS, 40, run_until_the_end, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        aiv_case_free(&plan.item[i]);
    }
    free(plan.item);
    fake_comm_destroy(comm);
    return ok;
}
