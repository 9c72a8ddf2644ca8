/*
 * train_digits: data-parallel training of a small network on real handwritten
 * digits, one process a rank, first eager and then captured once and replayed,
 * from the same start. It shows that both give the same bits and what a step
 * costs either way.
 *
 * The two runs take turns, epoch by epoch, so that a machine that changes its
 * speed meanwhile does so for both.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trainer.h"

#define MAX_RANKS 8

enum mode { MODE_EAGER = 1, MODE_GRAPH = 2, MODE_BOTH = 3 };

struct options {
    int ranks;
    int epochs;
    int mode;
    const char *data;
};

/* What the rank processes share: the root info, then a flag that it is there. */
struct shared {
    HcclRootInfo root_info;
    volatile int ready; /* 1: written; -1: the root failed */
};

static const char help[] =
        "usage: train_digits [--ranks N] [--mode eager|graph|both] [--epochs N] [--data FILE]\n"
        "\n"
        "Trains a 64-32-10 network on handwritten digits with N rank processes (default 2).\n"
        "  --ranks N    rank processes, 1 to 8\n"
        "  --mode M     eager: every call launched each step; graph: one step captured, then\n"
        "               replayed; both (default): the two in turn, and a comparison\n"
        "  --epochs N   passes over the 1,437 training images, 1 to 40 (default 20)\n"
        "  --data FILE  the gzipped digits table\n";

static int parse_number(const char *text, int low, int high, int *value)
{
    char *end;
    const long number = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number < low || number > high) {
        return -1;
    }
    *value = (int)number;
    return 0;
}

static int parse_mode(const char *text, int *mode)
{
    static const char *const name[] = { "", "eager", "graph", "both" };
    for (int m = MODE_EAGER; m <= MODE_BOTH; m++) {
        if (strcmp(text, name[m]) == 0) {
            *mode = m;
            return 0;
        }
    }
    return -1;
}

static int parse_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        int bad;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            exit(0);
        } else if (strcmp(argv[i], "--ranks") == 0) {
            bad = parse_number(value, 1, MAX_RANKS, &options->ranks);
        } else if (strcmp(argv[i], "--epochs") == 0) {
            bad = parse_number(value, 1, 40, &options->epochs);
        } else if (strcmp(argv[i], "--mode") == 0) {
            bad = parse_mode(value, &options->mode);
        } else if (strcmp(argv[i], "--data") == 0) {
            options->data = value;
            bad = *value == '\0';
        } else {
            fprintf(stderr, "train_digits: unknown option '%s'\n\n%s", argv[i], help);
            return -1;
        }
        if (bad) {
            fprintf(stderr, "train_digits: %s does not take '%s'\n\n%s", argv[i], value, help);
            return -1;
        }
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, int count)
{
    static double sorted[MAX_STEPS];
    memcpy(sorted, values, sizeof(double) * (size_t)count);
    qsort(sorted, (size_t)count, sizeof(double), by_value);
    return sorted[count / 2];
}

static int train_epoch(struct trainer *trainer, int epoch, int steps, const char *name)
{
    trainer->model.loss = 0.0;
    for (int s = 0; s < steps; s++) {
        if (trainer_step(trainer) != 0) {
            return -1;
        }
    }
    if (trainer->model.rank == 0) {
        printf("epoch %2d  %-6s  loss %.4f  test accuracy %5.1f %%\n", epoch + 1, name,
                trainer->model.loss / (steps * BATCH), 100.0 * model_accuracy(&trainer->model));
    }
    return 0;
}

static int same_weights(const struct model *a, const struct model *b)
{
    for (int t = 0; t < TENSORS; t++) {
        if (memcmp(a->param[t], b->param[t], sizeof(float) * (size_t)tensor_count[t]) != 0) {
            return 0;
        }
    }
    return 1;
}

static void print_row(const char *name, const struct trainer *trainer)
{
    const double step = median(trainer->step_us, trainer->steps);
    const double comm = median(trainer->comm_us, trainer->steps);
    const double launch = median(trainer->launch_us, trainer->steps);
    printf("%-8s %12.1f %20.1f %22.2f %18d\n", name, step, comm, launch, TENSORS);
}

static int report(const struct trainer *eager, const struct trainer *graph, int mode)
{
    printf("\n%-8s %12s %20s %22s %18s\n", "", "step (us)", "of it comm (us)", "launch, host (us)",
            "collectives/step");
    if (mode & MODE_EAGER) {
        print_row("eager", eager);
    }
    if (mode & MODE_GRAPH) {
        print_row("replay", graph);
    }
    if (mode != MODE_BOTH) {
        return 0;
    }
    const int same = same_weights(&eager->model, &graph->model);
    printf("\nreplayed step: %.2f x the eager step's speed\n",
            median(eager->step_us, eager->steps) / median(graph->step_us, graph->steps));
    printf("weights after eager and after replay: %s\n", same ? "identical" : "DIFFERENT");
    return same ? 0 : -1;
}

static int train(const struct options *options, const struct digits *digits, int rank,
        HcclComm comm, aclrtStream stream)
{
    static struct trainer eager, graph;
    const int steps = model_steps_per_epoch(options->ranks);
    int bad = 0;
    if (options->mode & MODE_EAGER) {
        bad = trainer_open(&eager, digits, rank, options->ranks, comm, stream, 0);
    }
    if (!bad && (options->mode & MODE_GRAPH)) {
        bad = trainer_open(&graph, digits, rank, options->ranks, comm, stream, 1);
    }
    for (int epoch = 0; !bad && epoch < options->epochs; epoch++) {
        if (options->mode & MODE_EAGER) {
            bad = train_epoch(&eager, epoch, steps, "eager");
        }
        if (!bad && (options->mode & MODE_GRAPH)) {
            bad = train_epoch(&graph, epoch, steps, "replay");
        }
    }
    if (!bad && rank == 0) {
        bad = report(&eager, &graph, options->mode);
    }
    trainer_close(&eager);
    trainer_close(&graph);
    return bad;
}

static int get_root_info(struct shared *shared, int rank)
{
    if (rank == 0) {
        const HcclResult res = HcclGetRootInfo(&shared->root_info);
        __atomic_store_n(&shared->ready, res == HCCL_SUCCESS ? 1 : -1, __ATOMIC_RELEASE);
        return res == HCCL_SUCCESS ? 0 : failed("HcclGetRootInfo", (int)res);
    }
    while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) == 0) {
        usleep(200);
    }
    return shared->ready == 1 ? 0 : -1;
}

static int run_rank(
        const struct options *options, const struct digits *digits, struct shared *shared, int rank)
{
    aclError err = aclInit(NULL);
    if (err == ACL_SUCCESS) {
        err = aclrtSetDevice(rank);
    }
    if (err != ACL_SUCCESS) {
        return failed("aclrtSetDevice", err);
    }
    HcclComm comm = NULL;
    aclrtStream stream = NULL;
    int bad = get_root_info(shared, rank);
    if (!bad) {
        const HcclResult res = HcclCommInitRootInfo(
                (uint32_t)options->ranks, &shared->root_info, (uint32_t)rank, &comm);
        bad = res == HCCL_SUCCESS ? 0 : failed("HcclCommInitRootInfo", (int)res);
    }
    if (!bad) {
        err = aclrtCreateStream(&stream);
        bad = err == ACL_SUCCESS ? 0 : failed("aclrtCreateStream", err);
    }
    if (!bad) {
        bad = train(options, digits, rank, comm, stream);
    }
    if (stream != NULL) {
        aclrtDestroyStream(stream);
    }
    if (comm != NULL) {
        HcclCommDestroy(comm);
    }
    aclrtResetDevice(rank);
    aclFinalize();
    return bad;
}

/* Waits for every rank. When one fails the others would wait for it: they are ended. */
static int wait_for_ranks(const pid_t *pid, int ranks)
{
    int result = 0;
    for (int r = 0; r < ranks; r++) {
        int status = 0;
        const pid_t ended = wait(&status);
        if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            continue;
        }
        for (int other = 0; result == 0 && other < ranks; other++) {
            if (pid[other] != ended) {
                kill(pid[other], SIGTERM);
            }
        }
        result = 1;
    }
    return result;
}

int main(int argc, char **argv)
{
    struct options options = {
        .ranks = 2, .epochs = 20, .mode = MODE_BOTH, .data = EXAMPLE_DIR "/data/digits.csv.gz"
    };
    static struct digits digits;
    if (parse_options(argc, argv, &options) != 0) {
        return 2;
    }
    if (digits_load(options.data, &digits) != 0) {
        return 1;
    }
    struct shared *shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("train_digits: mmap");
        return 1;
    }
    printf("train_digits: %d rank processes, %d epochs of %d steps, batch %d a rank\n",
            options.ranks, options.epochs, model_steps_per_epoch(options.ranks), BATCH);
    if (options.ranks > sysconf(_SC_NPROCESSORS_ONLN)) {
        printf("(more ranks than cores: the times below are mostly waiting for a core)\n");
    }
    printf("\n");
    fflush(stdout);
    // Ranks are forked before the first acl or Hccl call, as the runtime asks.
    pid_t pid[MAX_RANKS];
    for (int rank = 0; rank < options.ranks; rank++) {
        pid[rank] = fork();
        if (pid[rank] == 0) {
            const int bad = run_rank(&options, &digits, shared, rank);
            fflush(stdout);
            _exit(bad ? 1 : 0);
        }
        if (pid[rank] < 0) {
            perror("train_digits: fork");
            return 1;
        }
    }
    return wait_for_ranks(pid, options.ranks);
}
