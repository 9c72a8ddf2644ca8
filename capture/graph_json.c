// A graph as a JSON array of complete events, one a line, written as they are made: a graph of a
// million tasks needs no more memory than one task.
//
// Begin and length of an event are for the viewer alone; nothing was measured. Tasks of one stream
// follow each other, and those of a sub-graph begin where their conditional does.

#include "capture/graph_json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "capture/graph_json_task.h"

struct printer {
    FILE *file; // NULL: the log
    bool verbose;
    bool begun; // one event is out
};

/* What a task takes of its row: all of it, and how much of that it fills. */
struct extent {
    double whole, filled;
};

static struct extent extent_of(const struct rp_node *node)
{
    switch (node->insn.kind) {
    case RP_INSN_NOP:
        return (struct extent){ 1, 0.5 };
    case RP_INSN_EVENT_RECORD:
    case RP_INSN_EDGE_SIGNAL:
    case RP_INSN_NOTIFY_RECORD:
        return (struct extent){ 5, 4.5 };
    case RP_INSN_EVENT_WAIT:
    case RP_INSN_EDGE_WAIT:
    case RP_INSN_NOTIFY_WAIT:
    case RP_INSN_VALUE_WAIT:
        return (struct extent){ 15, 14.5 };
    default:
        return (struct extent){ 10, 9.5 };
    }
}

static rp_status emit(struct printer *printer, const json_t *event)
{
    if (printer->file != NULL) {
        fputs(printer->begun ? ",\n" : "[\n", printer->file);
        printer->begun = true;
        // A failed write shows in the file's error flag, which is asked at the end.
        (void)json_dumpf(event, printer->file, JSON_COMPACT);
        return RP_OK;
    }
    char *text = json_dumps(event, JSON_COMPACT);
    if (text == NULL) {
        return RP_ENOMEM;
    }
    rp_log_info("%s", text);
    free(text); // jansson's, from malloc
    return RP_OK;
}

static rp_status print_graph(struct printer *printer, struct rp_graph *graph, double begin);

static rp_status print_subs(struct printer *printer, const struct rp_graph_cond *cond, double begin)
{
    rp_status st = RP_OK;
    for (uint32_t i = 0; i < cond->count && st == RP_OK; i++) {
        st = print_graph(printer, cond->sub[i], begin);
    }
    return st;
}

static rp_status print_node(
        struct printer *printer, struct rp_graph *graph, uint32_t node, double *clock)
{
    const struct rp_insn *insn = &graph->node[node].insn;
    const struct extent extent = extent_of(&graph->node[node]);
    const double begin = *clock;
    *clock += extent.whole;
    json_t *event = rp_graph_json_task(graph, node, printer->verbose, begin, extent.filled);
    rp_status st = event == NULL ? RP_ENOMEM : emit(printer, event);
    json_decref(event);
    if (st == RP_OK && insn->kind == RP_INSN_COND) {
        st = print_subs(printer, &graph->cond[insn->index], begin);
    }
    return st;
}

/* The tasks of a graph in the order of their submission, each followed by its sub-graphs'. */
static rp_status print_graph(struct printer *printer, struct rp_graph *graph, double begin)
{
    double *clock = rp_calloc(graph->lane_count + 1, sizeof *clock); // where each lane has got to
    rp_status st = clock == NULL ? RP_ENOMEM : RP_OK;
    for (uint32_t lane = 0; st == RP_OK && lane < graph->lane_count; lane++) {
        clock[lane] = begin;
    }
    for (uint32_t node = 0; st == RP_OK && node < graph->node_count; node++) {
        st = print_node(printer, graph, node, &clock[graph->node[node].lane]);
    }
    rp_free(clock);
    return st;
}

/* Only files and terminals: opening a pipe waits for its reader, and one that has left ends the
 * process. */
static rp_status open_file(const char *path, FILE **out)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0) {
        return rp_fail_sys(RP_EPARAM, "open", path);
    }
    struct stat about;
    if (fstat(fd, &about) != 0 || !(S_ISREG(about.st_mode) || S_ISCHR(about.st_mode))) {
        close(fd);
        return rp_fail(RP_EPARAM, "%s is neither a file nor a character device", path);
    }
    FILE *file = NULL;
    // From here on a terminal may be waited for.
    const bool ready = S_ISREG(about.st_mode) ? ftruncate(fd, 0) == 0 : fcntl(fd, F_SETFL, 0) == 0;
    if (ready) {
        file = fdopen(fd, "w");
    }
    if (file == NULL) {
        const rp_status st = rp_fail_sys(RP_EPARAM, "emptying", path);
        close(fd);
        return st;
    }
    *out = file;
    return RP_OK;
}

static rp_status close_file(FILE *file, const char *path, rp_status st)
{
    const bool failed = ferror(file) != 0; // of a write whose errno is long gone
    const bool closed = fclose(file) == 0;
    if (st != RP_OK) {
        return st;
    }
    if (failed) {
        return rp_fail(RP_EWRITEFILE, "not all of a graph could be written to %s", path);
    }
    return closed ? RP_OK : rp_fail_sys(RP_EWRITEFILE, "write", path);
}

rp_status rp_graph_json_write(struct rp_graph *graph, const char *path, bool verbose)
{
    struct printer printer = { .verbose = verbose };
    rp_status st = open_file(path, &printer.file);
    if (st != RP_OK) {
        return st;
    }
    st = print_graph(&printer, graph, 0);
    if (st == RP_ENOMEM) {
        rp_fail(st, "no memory to print graph %u to %s", graph->id, path);
    }
    fputs(printer.begun ? "\n]\n" : "[\n]\n", printer.file);
    return close_file(printer.file, path, st);
}

rp_status rp_graph_json_log(struct rp_graph *graph)
{
    if (!rp_log_enabled(RP_LOG_INFO)) {
        return RP_OK;
    }
    struct printer printer = { .verbose = false };
    rp_log_info(
            "graph %u: %u tasks on %u streams", graph->id, graph->node_count, graph->lane_count);
    const rp_status st = print_graph(&printer, graph, 0);
    return st == RP_OK ? st : rp_fail(st, "no memory to print graph %u", graph->id);
}
