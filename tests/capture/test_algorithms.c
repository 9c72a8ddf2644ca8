// Every algorithm and operator, by the proof of support/list_proof.h: which bytes end where, each
// input counted once, no deadlock, no race on any byte, for 1 to 33 ranks with counts of all kinds,
// and for samples up to 1,024 ranks. Lists that were broken on purpose must be caught.
//
// CI runs a slice; REPRISE_SOAK=1 runs all of it.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "capture/select.h"
#include "kernels/dtype.h"
#include "kernels/record.h"
#include "support/list_proof.h"
#include "support/soak.h"

static const uint16_t ops[] = { RP_OP_ALL_REDUCE, RP_OP_REDUCE_SCATTER, RP_OP_ALL_GATHER,
    RP_OP_BROADCAST, RP_OP_REDUCE, RP_OP_SCATTER, RP_OP_ALLTOALL, RP_OP_ALL_GATHER_V,
    RP_OP_REDUCE_SCATTER_V, RP_OP_BARRIER };

static bool in_place(uint16_t op)
{
    return rp_matrix_row(op)->in_place;
}

static bool knows(uint8_t algorithm, uint16_t op)
{
    return (rp_matrix_row(op)->algorithms & RP_ALGORITHM_BIT(algorithm)) != 0;
}

// Those that fold in rank order and round once, as strict determinism asks.
static bool strict(uint8_t algorithm)
{
    return (RP_ALGORITHMS_STRICT & RP_ALGORITHM_BIT(algorithm)) != 0;
}

static void prove(struct list_proof *proof, const struct list_proof_op *op, uint32_t ranks)
{
    const struct rp_record record = { .op = op->op, .algorithm = op->algorithm };
    cr_assert(list_proof_run(proof, op),
            "%s, %s, %u ranks, %" PRIu64 " elements of type %u, root %u, in place %d: %s",
            rp_op_kind_name(op->op), rp_record_words(&record).algorithm, ranks, op->count,
            op->dtype, op->root, op->in_place, list_proof_fault(proof));
}

// Room for a few elements a slice in every region, so that a few thousand are several rounds.
static uint64_t window_of(uint32_t ranks)
{
    return 8192 + UINT64_C(1400) * ranks;
}

// No element for some slices, one each, one too many; a full round, and a tail of one.
static void prove_counts(struct list_proof *proof, struct list_proof_op op, uint32_t ranks)
{
    const uint64_t most = list_proof_round_count(proof, &op);
    const uint64_t counts[] = { 1, 2, ranks - 1, ranks, ranks + 1, 3 * (uint64_t)ranks + 1, most,
        most + 1, 2 * most + 3 };
    const size_t small = op.op == RP_OP_BARRIER ? 1 : soaking() || ranks < 10 ? 9 : 7;
    cr_assert(gt(u64, most, 0));
    for (size_t i = 0; i < small; i++) {
        op.count = counts[i];
        op.root = (uint32_t)(7 * i + ranks) % ranks;
        op.in_place = in_place(op.op) && i % 2 != 0;
        if (op.count == 0 || (ranks == 1 && op.count > 10)) {
            continue; // a single rank's round is a megabyte whatever the window
        }
        prove(proof, &op, ranks);
        if (soaking()) {
            op.in_place = in_place(op.op) && !op.in_place;
            op.root = (op.root + 1) % ranks;
            prove(proof, &op, ranks);
        }
    }
}

static void prove_all(struct list_proof *proof, uint32_t ranks)
{
    for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
            const struct list_proof_op op = {
                .op = ops[o],
                .algorithm = a,
                .dtype = RP_DTYPE_INT8,
                .strict = strict(a),
            };
            if (knows(a, op.op)) {
                prove_counts(proof, op, ranks);
            }
        }
    }
}

Test(algorithms, all_are_right_for_1_to_33_ranks, .timeout = 900)
{
    uint64_t tasks = 0;
    for (uint32_t ranks = 1; ranks <= 33; ranks++) {
        const bool slice = ranks < 10 || ranks == 12 || ranks == 16 || ranks == 17 || ranks == 31 ||
                           ranks == 33;
        if (!slice && !soaking()) {
            continue;
        }
        struct list_proof *proof = list_proof_create(ranks, window_of(ranks), ranks);
        prove_all(proof, ranks);
        tasks += list_proof_tasks(proof);
        list_proof_destroy(proof);
    }
    fprintf(stderr, "%" PRIu64 " tasks\n", tasks);
}

#define ENOUGH_BYTES 33000u // seven slices of more than a page

// Elements of several bytes, and slices of pages, which are cut between cache lines.
Test(algorithms, large_slices_and_elements, .timeout = 300)
{
    static const uint8_t types[] = { RP_DTYPE_BFP16, RP_DTYPE_FP64 };
    static const uint32_t ranks_of[] = { 2, 3, 4, 7 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of) * RP_ARRAY_LENGTH(types); i++) {
        const uint32_t ranks = ranks_of[i / RP_ARRAY_LENGTH(types)];
        struct list_proof *proof = list_proof_create(ranks, ranks * UINT64_C(120000), i);
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            for (size_t o = 0; o < RP_ARRAY_LENGTH(ops) - 1; o++) {
                struct list_proof_op op = { .op = ops[o],
                    .algorithm = a,
                    .dtype = types[i % RP_ARRAY_LENGTH(types)],
                    .strict = strict(a),
                    .in_place = in_place(ops[o]) && i % 2 == 0 };
                if (!knows(a, op.op)) {
                    continue;
                }
                const uint64_t most = list_proof_round_count(proof, &op);
                const uint64_t enough = ENOUGH_BYTES / (i % 2 == 0 ? 2 : 8);
                op.count = (most < enough ? most : enough) + 5;
                prove(proof, &op, ranks);
            }
        }
        list_proof_destroy(proof);
    }
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

static void shuffle(uint32_t *rank_of, uint32_t ranks, uint64_t seed)
{
    for (uint32_t i = 0; i < ranks; i++) {
        const uint32_t k = draw(&seed, i + 1);
        rank_of[i] = rank_of[k];
        rank_of[k] = i;
    }
}

static void prove_layout(uint32_t nodes, uint32_t cards, const uint32_t *rank_of)
{
    const uint32_t ranks = nodes * cards;
    const struct rp_layout layout = { .nodes = nodes, .cards = cards, .rank_of = rank_of };
    struct list_proof *proof = list_proof_create(ranks, 2 * window_of(ranks), cards);
    for (size_t o = 0; o < 3; o++) {
        const struct list_proof_op op = {
            .op = ops[o],
            .algorithm = RP_ALGORITHM_PIPELINE,
            .dtype = RP_DTYPE_INT8,
            .layout = &layout,
        };
        prove_counts(proof, op, ranks);
    }
    list_proof_destroy(proof);
}

// Nodes of 1 to 33 cards, the ranks in order, dealt out one a node in turn, and in disorder.
Test(algorithms, pipelines_over_every_layout_of_up_to_33_ranks, .timeout = 300)
{
    uint32_t rank_of[33];
    for (uint32_t nodes = 1; nodes <= 33; nodes++) {
        for (uint32_t cards = 1; nodes * cards <= 33; cards++) {
            const uint32_t ranks = nodes * cards;
            if (ranks < 2 || (!soaking() && ranks > 12 && ranks != 24)) {
                continue;
            }
            prove_layout(nodes, cards, NULL);
            for (uint32_t i = 0; i < ranks; i++) {
                rank_of[i] = i % cards * nodes + i / cards;
            }
            prove_layout(nodes, cards, rank_of);
            shuffle(rank_of, ranks, ranks);
            prove_layout(nodes, cards, rank_of);
        }
    }
}

// ---- two levels ----

#define MOST_RANKS 33

// Ranks on nodes, and the arrays of it.
struct nodes {
    struct rp_layout layout;
    uint32_t ranks;
    uint32_t first[MOST_RANKS + 1];
    uint32_t rank_of[MOST_RANKS];
};

// How ranks are numbered: node by node, dealt out one a node in turn, in disorder.
enum numbering { IN_ORDER, DEALT, SHUFFLED, NUMBERINGS };

static void deal(struct nodes *nodes, const uint32_t *cards)
{
    uint32_t rank = 0;
    for (uint32_t card = 0; rank < nodes->ranks; card++) {
        for (uint32_t node = 0; node < nodes->layout.nodes; node++) {
            if (card < cards[node]) {
                nodes->rank_of[nodes->first[node] + card] = rank++;
            }
        }
    }
}

static void make_nodes(
        struct nodes *nodes, const uint32_t *cards, uint32_t count, enum numbering numbering)
{
    bool even = true;
    *nodes = (struct nodes){ .layout = { .nodes = count, .rank_of = nodes->rank_of } };
    for (uint32_t node = 0; node < count; node++) {
        nodes->first[node + 1] = nodes->first[node] + cards[node];
        even = even && cards[node] == cards[0];
        nodes->layout.cards = cards[node] > nodes->layout.cards ? cards[node] : nodes->layout.cards;
    }
    nodes->ranks = nodes->first[count];
    nodes->layout.first = even ? NULL : nodes->first;
    if (numbering == IN_ORDER) {
        nodes->layout.rank_of = NULL;
    } else if (numbering == DEALT) {
        deal(nodes, cards);
    } else {
        shuffle(nodes->rank_of, nodes->ranks, nodes->ranks);
    }
}

// Nodes of different sizes have blocks that only some algorithms can move.
static bool levels_know(uint8_t algorithm, uint16_t op, const struct rp_layout *layout)
{
    return rp_matrix_between(op, algorithm, layout);
}

static void prove_levels(const struct nodes *nodes)
{
    const uint32_t ranks = nodes->ranks;
    struct list_proof *proof = list_proof_create(ranks, 12 * window_of(2 * ranks), ranks);
    for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
            const struct list_proof_op op = {
                .op = ops[o],
                .algorithm = (uint8_t)(a | RP_TWO_LEVELS),
                .dtype = RP_DTYPE_INT8,
                .layout = &nodes->layout,
            };
            if (levels_know(a, op.op, op.layout)) {
                prove_counts(proof, op, ranks);
            }
        }
    }
    list_proof_destroy(proof);
}

static const struct {
    uint32_t nodes;
    uint32_t cards[12];
} layouts[] = {
    { 2, { 2, 2 } },
    { 2, { 4, 4 } },
    { 4, { 2, 2, 2, 2 } },
    { 3, { 3, 3, 3 } },
    { 5, { 2, 2, 2, 2, 2 } },
    { 2, { 3, 1 } },
    { 2, { 1, 4 } },
    { 3, { 2, 1, 1 } },
    { 3, { 5, 3, 1 } },
    { 3, { 5, 2, 4 } },
    { 4, { 2, 3, 2, 5 } },
    { 6, { 1, 2, 1, 1, 2, 1 } },
    { 2, { 8, 8 } }, // soak from here on
    { 11, { 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 } },
    { 4, { 8, 8, 8, 8 } },
    { 5, { 7, 3, 8, 4, 11 } },
    { 3, { 16, 16, 1 } },
};
#define LAYOUTS_OF_CI 12

Test(algorithms, two_levels_over_layouts_of_all_kinds, .timeout = 900)
{
    struct nodes nodes;
    for (size_t i = 0; i < (soaking() ? RP_ARRAY_LENGTH(layouts) : LAYOUTS_OF_CI); i++) {
        for (unsigned numbering = 0; numbering < NUMBERINGS; numbering++) {
            make_nodes(&nodes, layouts[i].cards, layouts[i].nodes, (enum numbering)numbering);
            prove_levels(&nodes);
        }
    }
}

// Signals of the form "everyone to everyone" and lists as long as the ranks are many cost the
// square of the ranks; those algorithms stop earlier.
static bool squares(uint8_t algorithm)
{
    return algorithm == RP_ALGORITHM_MESH || algorithm == RP_ALGORITHM_PAIRWISE ||
           algorithm == RP_ALGORITHM_RING || algorithm == RP_ALGORITHM_PIPELINE;
}

// Whose buffers grow with the ranks.
static bool has_blocks(uint16_t op)
{
    return op != RP_OP_ALL_REDUCE && op != RP_OP_BROADCAST && op != RP_OP_REDUCE;
}

static void prove_sample(uint32_t ranks, bool large)
{
    struct list_proof *proof = list_proof_create(ranks, window_of(ranks), ranks);
    for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
        for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
            struct list_proof_op op = {
                .op = ops[o],
                .algorithm = a,
                .dtype = RP_DTYPE_INT8,
                .strict = strict(a),
                .root = ranks - 2,
                .in_place = in_place(ops[o]) && o % 2 == 0,
            };
            if (!knows(a, op.op) || (large && squares(a))) {
                continue;
            }
            op.count = has_blocks(op.op) || op.op == RP_OP_BARRIER ? 1 : ranks + 1;
            prove(proof, &op, ranks);
        }
    }
    list_proof_destroy(proof);
}

Test(algorithms, samples_of_up_to_1024_ranks, .timeout = 900)
{
    static const uint32_t slice[] = { 48, 65 };
    static const uint32_t large_slice[] = { 100, 256, 1000 };
    static const uint32_t soak[] = { 96, 127, 129, 200, 256 };
    static const uint32_t large_soak[] = { 511, 512, 513, 768, 1023, 1024 };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(slice); i++) {
        prove_sample(slice[i], false);
    }
    for (size_t i = 0; i < RP_ARRAY_LENGTH(large_slice); i++) {
        prove_sample(large_slice[i], true);
    }
    for (size_t i = 0; soaking() && i < RP_ARRAY_LENGTH(soak); i++) {
        prove_sample(soak[i], false);
    }
    for (size_t i = 0; soaking() && i < RP_ARRAY_LENGTH(large_soak); i++) {
        prove_sample(large_soak[i], true);
    }
}

// One operator after the other, of every kind and type: the ranks drift, and no byte has two
// writers whatever the types.
static void prove_sequence(
        const struct nodes *nodes, uint64_t window_bytes, unsigned length, uint64_t seed)
{
    static const uint8_t types[] = { RP_DTYPE_INT8, RP_DTYPE_INT16, RP_DTYPE_FP32, RP_DTYPE_FP64,
        RP_DTYPE_INT128 };
    const struct rp_layout *layout = &nodes->layout;
    struct list_proof *proof = list_proof_create(nodes->ranks, window_bytes, seed);
    for (unsigned n = 0; n < length; n++) {
        const uint16_t op = ops[draw(&seed, RP_ARRAY_LENGTH(ops))];
        const uint8_t a = (uint8_t)(1 + draw(&seed, RP_ALGORITHMS - 1));
        const bool levels = layout->nodes > 1 && draw(&seed, 2) != 0;
        struct list_proof_op what = {
            .op = op,
            .algorithm = levels ? (uint8_t)(a | RP_TWO_LEVELS) : a,
            .dtype = types[draw(&seed, 5)],
            .root = draw(&seed, nodes->ranks),
            .in_place = draw(&seed, 2) != 0 && in_place(op),
            .strict = !levels && strict(a),
            .count = 1 + draw(&seed, draw(&seed, 2) ? 40 : 20000 / nodes->ranks),
            .layout = layout->nodes > 1 ? layout : NULL,
        };
        const bool opaque = what.dtype == RP_DTYPE_INT128 && rp_matrix_row(op)->reduces;
        what.count = op == RP_OP_BARRIER ? 1 : what.count;
        if (!opaque && (levels ? rp_matrix_between(op, a, layout) : knows(a, op))) {
            prove(proof, &what, nodes->ranks);
        }
    }
    list_proof_destroy(proof);
}

// As communicators have them: the regions and slots have their full size, or the smallest that
// HCCL_BUFFSIZE allows.
Test(algorithms, operators_follow_each_other_in_windows_of_any_size, .timeout = 900)
{
    static const uint32_t ranks_of[] = { 2, 3, 6, 8, 12 };
    static const uint64_t windows[] = { UINT64_C(1) << 20, UINT64_C(200) << 20 };
    struct nodes nodes;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(ranks_of) * 2; i++) {
        const uint32_t all = ranks_of[i / 2];
        make_nodes(&nodes, &all, 1, IN_ORDER);
        prove_sequence(&nodes, windows[i % 2], soak_rounds(120, 1500), i);
    }
    for (size_t i = 0; i < LAYOUTS_OF_CI * 2; i++) {
        const unsigned at = (unsigned)(i / 2);
        make_nodes(&nodes, layouts[at].cards, layouts[at].nodes, (enum numbering)(i % NUMBERINGS));
        prove_sequence(&nodes, windows[i % 2], soak_rounds(60, 1500), i);
    }
}

// ---- the checker checked ----

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
    const uint64_t window = op.layout == NULL ? window_of(ranks) : 12 * window_of(2 * ranks);
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

Test(algorithms, every_single_damage_to_a_list_is_noticed, .timeout = 900)
{
    static const uint32_t ranks_of[] = { 2, 3, 4, 5, 6, 8 };
    uint32_t caught = 0;
    for (size_t i = 0; i < (soaking() ? RP_ARRAY_LENGTH(ranks_of) : 4); i++) {
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
                const uint32_t ranks = ranks_of[i];
                const struct list_proof_op op = {
                    .op = ops[o],
                    .algorithm = a,
                    .dtype = RP_DTYPE_INT8,
                    .root = ranks - 1,
                    .count = ops[o] == RP_OP_BARRIER ? 1 : 2 * ranks + 1,
                };
                caught += knows(a, op.op) ? damage_all(op, ranks, i) : 0;
            }
        }
    }
    fprintf(stderr, "%u damaged lists\n", caught);
    cr_assert(gt(u32, caught, 1000));
}

// The same of two levels, in even and uneven layouts.
Test(algorithms, every_single_damage_to_two_levels_is_noticed, .timeout = 900)
{
    static const unsigned picked[] = { 0, 5, 7, 9 };
    struct nodes nodes;
    uint32_t caught = 0;
    for (size_t i = 0; i < (soaking() ? RP_ARRAY_LENGTH(picked) : 3); i++) {
        const unsigned at = picked[i];
        make_nodes(&nodes, layouts[at].cards, layouts[at].nodes, DEALT);
        for (uint8_t a = RP_ALGORITHM_MESH; a < RP_ALGORITHMS; a++) {
            for (size_t o = 0; o < RP_ARRAY_LENGTH(ops); o++) {
                const struct list_proof_op op = {
                    .op = ops[o],
                    .algorithm = (uint8_t)(a | RP_TWO_LEVELS),
                    .dtype = RP_DTYPE_INT8,
                    .root = nodes.ranks - 1,
                    .count = ops[o] == RP_OP_BARRIER ? 1 : nodes.ranks + 3,
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
