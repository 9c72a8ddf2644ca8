// The checker of lists checked: lists that were broken on purpose must be caught.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "capture/select.h"
#include "kernels/dtype.h"
#include "support/proof_case.h"
#include "support/soak.h"

// What is done to one task of one rank's list.
enum damage {
    DROP,      // the task is missing
    SWAP,      // a wait comes after the task that needs it
    SHIFT_DST, // it writes one element further on
    SHIFT_SRC, // it reads one element further on
    REDIRECT,  // it goes to the next peer
    UNPAIR,    // a signal is missing, and the wait for it
    DAMAGES,
};

struct mutation {
    enum damage damage;
    uint32_t rank;
    uint32_t task;
    bool applied; // out
    bool over;    // out: no such task
};

static void drop(struct rp_task_list *list, uint32_t task)
{
    list->task_count--;
    memmove(&list->task[task], &list->task[task + 1],
            (list->task_count - task) * sizeof(list->task[0]));
}

// Index of the wait of `list` that takes signal number `nth` of `peer`.
static uint32_t wait_of(const struct rp_task_list *list, uint32_t peer, uint32_t nth)
{
    uint32_t task = 0;
    for (; task < list->task_count; task++) {
        if (list->task[task].kind == RP_HT_WAIT && list->task[task].peer == peer && nth-- == 0) {
            break;
        }
    }
    return task;
}

static void unpair(struct rp_task_list **lists, const struct mutation *mutation)
{
    struct rp_task_list *list = lists[mutation->rank];
    const uint32_t peer = list->task[mutation->task].peer;
    uint32_t nth = 0;
    for (uint32_t i = 0; i < mutation->task; i++) {
        nth += list->task[i].kind == RP_HT_SIGNAL && list->task[i].peer == peer;
    }
    drop(list, mutation->task);
    drop(lists[peer], wait_of(lists[peer], mutation->rank, nth));
}

static bool moves(const struct rp_ht_task *task)
{
    return task->kind == RP_HT_COPY || task->kind == RP_HT_PUT || task->kind == RP_HT_REDUCE;
}

static void damage(struct rp_task_list **lists, uint32_t ranks, void *arg)
{
    struct mutation *mutation = arg;
    struct rp_task_list *list = lists[mutation->rank];
    mutation->over = mutation->task >= list->task_count;
    mutation->applied = false;
    if (mutation->over) {
        return;
    }
    struct rp_ht_task *task = &list->task[mutation->task];
    const bool last = mutation->task + 1 == list->task_count;
    switch (mutation->damage) {
    case DROP:
        drop(list, mutation->task);
        mutation->applied = true;
        break;
    case SWAP:
        // A wait before a put or another wait may only set the pace.
        if (task->kind == RP_HT_WAIT && !last &&
                (task[1].kind == RP_HT_COPY || task[1].kind == RP_HT_REDUCE)) {
            const struct rp_ht_task wait = task[0];
            task[0] = task[1];
            task[1] = wait;
            mutation->applied = true;
        }
        break;
    case SHIFT_DST:
        task->dst.off++;
        mutation->applied = moves(task);
        break;
    case SHIFT_SRC:
        task->src.off++;
        mutation->applied = moves(task);
        break;
    case REDIRECT:
        if (task->kind != RP_HT_COPY && task->kind != RP_HT_REDUCE) {
            task->peer = (task->peer + 1) % ranks;
            mutation->applied = true;
        }
        break;
    case UNPAIR:
        mutation->applied = task->kind == RP_HT_SIGNAL;
        if (mutation->applied) {
            unpair(lists, mutation);
        }
        break;
    default:
        break;
    }
}

// Where sums or blocks stay where they arrived, or move on through a root, there is a credit for
// each of them.
static bool keeps(uint16_t op)
{
    return op == RP_OP_REDUCE_SCATTER || op == RP_OP_REDUCE_SCATTER_V || op == RP_OP_REDUCE ||
           op == RP_OP_SCATTER;
}

// Some signals say what follows from others: those credits; those of pairwise, whose steps are in
// an order as it is; and those of one level that follow from the other's, whose waits may come
// before a copy that has nothing to do with them.
static bool spare(const struct list_proof_op *op, const struct mutation *mutation)
{
    const bool levels = (op->algorithm & RP_TWO_LEVELS) != 0;
    if (mutation->damage == SWAP) {
        return levels;
    }
    return mutation->damage == UNPAIR &&
           (op->algorithm == RP_ALGORITHM_PAIRWISE || levels || keeps(op->op));
}

// Each damage to each task of each rank, one at a time; how many lists were damaged.
static uint32_t damage_all(struct list_proof_op op, uint32_t ranks, uint64_t seed)
{
    const uint64_t window = op.layout == NULL ? proof_window(ranks) : proof_levels_window(ranks);
    uint32_t caught = 0;
    struct mutation mutation = { .damage = DROP };
    op.mutate = damage;
    op.arg = &mutation;
    for (; mutation.damage < DAMAGES; mutation.damage++) {
        for (mutation.rank = 0; mutation.rank < ranks; mutation.rank++) {
            mutation.over = false;
            for (mutation.task = 0; !mutation.over; mutation.task++) {
                struct list_proof *proof = list_proof_create(ranks, window, seed++);
                const bool ok = list_proof_run(proof, &op);
                const struct rp_record record = { .op = op.op, .algorithm = op.algorithm };
                cr_assert(ok == !mutation.applied || (ok && spare(&op, &mutation)),
                        "%s, %s, %u ranks, count %" PRIu64
                        ", root %u: damage %d to task %u of rank %u is not noticed, or %s",
                        rp_op_kind_name(op.op), rp_record_words(&record).algorithm, ranks, op.count,
                        op.root, (int)mutation.damage, mutation.task, mutation.rank,
                        list_proof_fault(proof));
                caught += mutation.applied;
                list_proof_destroy(proof);
            }
        }
    }
    return caught;
}

Test(algorithm_damage, every_single_damage_to_a_list_is_noticed, .timeout = 900)
{
    static const uint32_t ranks_of[] = { 2, 3, 4, 5, 6, 8 };
    uint32_t caught = 0;
    for (size_t i = 0; i < (soaking() ? RP_ARRAY_LENGTH(ranks_of) : 4); i++) {
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            for (size_t o = 0; o < PROOF_OPS; o++) {
                const uint32_t ranks = ranks_of[i];
                const struct list_proof_op op = {
                    .op = proof_ops[o],
                    .algorithm = a,
                    .dtype = RP_DTYPE_INT8,
                    .root = ranks - 1,
                    .count = proof_ops[o] == RP_OP_BARRIER ? 1 : 2 * ranks + 1,
                };
                caught += proof_knows_op(a, op.op) ? damage_all(op, ranks, i) : 0;
            }
        }
    }
    fprintf(stderr, "%u damaged lists\n", caught);
    cr_assert(gt(u32, caught, 1000));
}

// The same of two levels, in even and uneven proof_layouts.
Test(algorithm_damage, every_single_damage_to_two_levels_is_noticed, .timeout = 900)
{
    static const unsigned picked[] = { 0, 5, 7, 9 };
    struct proof_nodes nodes;
    uint32_t caught = 0;
    for (size_t i = 0; i < (soaking() ? RP_ARRAY_LENGTH(picked) : 3); i++) {
        const unsigned at = picked[i];
        proof_nodes(&nodes, proof_layouts[at].cards, proof_layouts[at].nodes, DEALT);
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            for (size_t o = 0; o < PROOF_OPS; o++) {
                const struct list_proof_op op = {
                    .op = proof_ops[o],
                    .algorithm = (uint8_t)(a | RP_TWO_LEVELS),
                    .dtype = RP_DTYPE_INT8,
                    .root = nodes.ranks - 1,
                    .count = proof_ops[o] == RP_OP_BARRIER ? 1 : nodes.ranks + 3,
                    .layout = &nodes.layout,
                };
                caught += rp_matrix_between(op.op, a, op.layout) ? damage_all(op, nodes.ranks, at)
                                                                 : 0;
            }
        }
    }
    fprintf(stderr, "%u damaged lists of two levels\n", caught);
    cr_assert(gt(u32, caught, 1000));
}
