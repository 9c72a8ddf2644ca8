// A dump in the language of Graphviz: a cluster a graph, in it one a stream with its tasks from top
// to bottom, in that the sub-graphs of its conditionals. Solid grey lines are a stream's own order,
// blue ones lead from a record to its waits, dashed ones into a sub-graph and out of it or to a
// stream that is started, violet ones back to a condition or to a label.

#include "tools/reprise/dot.h"

#include <stdlib.h>
#include <string.h>

#include "tools/reprise/command.h"

struct writer {
    const struct dump *dump;
    FILE *out;
    int depth; // of clusters, for the indent
};

// ---- text ----

static void indent(const struct writer *writer)
{
    fprintf(writer->out, "%*s", 2 * writer->depth, "");
}

/* `text` inside a quoted string of dot. */
static void put_quoted(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fputc('\\', out);
            fputc(c, out);
        } else if (c == '\n') {
            fputs("\\n", out);
        } else {
            fputc(c < 0x20 || c == 0x7f ? ' ' : c, out);
        }
    }
}

static const char *text_arg(const struct dump_task *task, const char *key)
{
    return json_string_value(json_object_get(task->args, key));
}

/* A whole number among the arguments; false: there is none. */
static bool number_arg(const struct dump_task *task, const char *key, json_int_t *value)
{
    const json_t *found = json_object_get(task->args, key);
    *value = json_integer_value(found);
    return json_is_integer(found);
}

// ---- what a task looks like ----

enum look {
    LOOK_AIV,
    LOOK_HOST_TS,
    LOOK_KERNEL,
    LOOK_MEMORY,
    LOOK_HOST,
    LOOK_SYNC,
    LOOK_COND,
    LOOK_OTHER
};

static const char *const look_attributes[] = {
    [LOOK_AIV] = "fillcolor=\"#ffd8a8\"",
    [LOOK_HOST_TS] = "fillcolor=\"#a5d8ff\"",
    [LOOK_KERNEL] = "fillcolor=\"#b2f2bb\"",
    [LOOK_MEMORY] = "fillcolor=\"#e9ecef\"",
    [LOOK_HOST] = "fillcolor=\"#fff3bf\"",
    [LOOK_SYNC] = "shape=ellipse, fontsize=8, height=0.2, fillcolor=\"#ffffff\"",
    [LOOK_COND] = "shape=diamond, fillcolor=\"#e5dbff\"",
    [LOOK_OTHER] = "fillcolor=\"#ffffff\"",
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static enum look look_of(const struct dump_task *task)
{
    const char *expansion = text_arg(task, "Expansion");
    if (expansion != NULL) {
        return strcmp(expansion, "AIV") == 0 ? LOOK_AIV : LOOK_HOST_TS;
    }
    if (begins(task->type, "COND")) {
        return LOOK_COND;
    }
    if (begins(task->type, "KERNEL")) {
        return LOOK_KERNEL;
    }
    if (begins(task->type, "MEMCPY") || begins(task->type, "MEMSET")) {
        return LOOK_MEMORY;
    }
    if (begins(task->type, "HOSTFUNC")) {
        return LOOK_HOST;
    }
    if (json_is_array(json_object_get(task->args, "Label Ids"))) {
        return LOOK_COND;
    }
    return task->verb != DUMP_OTHER ? LOOK_SYNC : LOOK_OTHER;
}

// ---- labels ----

/* The operator's name, what it moves, how it runs, and between whom. */
static void label_collective(FILE *out, const struct dump_task *task)
{
    const char *dtype = text_arg(task, "Data Type");
    const char *reduce = text_arg(task, "Reduce Op");
    const char *algorithm = text_arg(task, "Algorithm");
    const char *comm = text_arg(task, "Communicator");
    json_int_t count, root, size;
    put_quoted(out, task->name);
    if (dtype != NULL && number_arg(task, "Count", &count)) {
        fprintf(out, "\\n%lld ", (long long)count);
        put_quoted(out, dtype);
    }
    if (reduce != NULL) {
        fputs(", ", out);
        put_quoted(out, reduce);
    }
    if (number_arg(task, "Root", &root)) {
        fprintf(out, ", root %lld", (long long)root);
    }
    fputs("\\n", out);
    put_quoted(out, text_arg(task, "Expansion"));
    if (algorithm != NULL) {
        fputs(", ", out);
        put_quoted(out, algorithm);
    }
    if (comm != NULL) {
        fputs("\\n", out);
        put_quoted(out, comm);
    }
    if (number_arg(task, "Rank Size", &size)) {
        fprintf(out, ", %lld rank%s", (long long)size, size == 1 ? "" : "s");
    }
}

/* "record event 3", "wait for notify 4": what a task does, and the id that the name ends with. */
static void label_sync(FILE *out, const struct dump_task *task)
{
    static const char *const verbs[] = {
        [DUMP_RECORD] = "record",
        [DUMP_WAIT] = "wait for",
        [DUMP_RESET] = "reset",
    };
    const char *id = strrchr(task->name, '_');
    fprintf(out, "%s%s %s ", verbs[task->verb], task->external ? " external" : "",
            task->sync == DUMP_SYNC_EVENT ? "event" : "notify");
    put_quoted(out, id == NULL ? task->name : id + 1);
}

/* IF, WHILE or SWITCH, and the word that it looks at. */
static void label_condition(FILE *out, const struct dump_task *task)
{
    const char *address = text_arg(task, "Condition Addr");
    json_int_t value;
    put_quoted(out, text_arg(task, "Condition"));
    if (address != NULL) {
        fputs("\\n", out);
        put_quoted(out, address);
    }
    if (number_arg(task, "Default Value", &value)) {
        fprintf(out, "\\n%lld at first", (long long)value);
    }
}

/* A task that starts another stream, and what has to hold for it. */
static void label_start(FILE *out, const struct dump_task *task, json_int_t stream)
{
    const char *compare = text_arg(task, "Compare");
    const char *left = text_arg(task, "Left Addr"), *right = text_arg(task, "Right Addr");
    const bool ends = begins(task->type, "STREAM_SWITCH");
    fprintf(out, "%s stream %lld", ends ? "switch to" : "start", (long long)stream);
    if (compare != NULL && left != NULL && right != NULL) {
        fputs("\\nif *", out);
        put_quoted(out, left);
        fprintf(out, " ");
        put_quoted(out, compare);
        fputs(" *", out);
        put_quoted(out, right);
    }
}

static void label_plain(FILE *out, const struct dump_task *task)
{
    static const struct {
        const char *type, *words;
    } known[] = {
        { "MEMCPY_ASYNC", "copy" },
        { "MEMSET_ASYNC", "fill" },
        { "HOSTFUNC_CALLBACK", "host function" },
        { "STREAM_LABEL_SWITCH_BY_INDEX", "go to label" },
        { "MODEL_END_GRAPH", "end of the graph" },
    };
    const char *index = text_arg(task, "Index Addr");
    json_int_t label;
    if (number_arg(task, "Label Id", &label)) {
        fprintf(out, "label %lld", (long long)label);
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(task->name, known[i].type) == 0) {
            fputs(known[i].words, out);
            if (index != NULL) {
                fputs("\\n*", out);
                put_quoted(out, index);
            }
            return;
        }
    }
    put_quoted(out, task->name);
}

static void label_what(FILE *out, const struct dump_task *task)
{
    json_int_t stream;
    if (text_arg(task, "Expansion") != NULL) {
        label_collective(out, task);
    } else if (text_arg(task, "Condition") != NULL) {
        label_condition(out, task);
    } else if (task->sync != DUMP_SYNC_NONE) {
        label_sync(out, task);
    } else if (number_arg(task, "Active Stream Id", &stream)) {
        label_start(out, task, stream);
    } else {
        label_plain(out, task);
    }
}

static void label_task(FILE *out, const struct dump_task *task)
{
    json_int_t number;
    label_what(out, task);
    if (look_of(task) == LOOK_KERNEL && number_arg(task, "Numblocks", &number)) {
        fprintf(out, "\\n%lld block%s", (long long)number, number == 1 ? "" : "s");
    }
    if (number_arg(task, "Bytes", &number)) {
        fprintf(out, "\\n%lld bytes", (long long)number);
    }
    if (json_is_true(json_object_get(task->args, "Disabled"))) {
        fputs("\\n(disabled)", out);
    }
}

static void write_node(const struct writer *writer, size_t index)
{
    const struct dump_task *task = &writer->dump->task[index];
    const char *extend = text_arg(task, "ExtendInfo");
    const bool disabled = json_is_true(json_object_get(task->args, "Disabled"));
    json_int_t id = 0;
    indent(writer);
    fprintf(writer->out, "t%zu [label=\"", index);
    label_task(writer->out, task);
    fprintf(writer->out, "\", %s%s%s, tooltip=\"", look_attributes[look_of(task)],
            task->external ? ", peripheries=2" : "",
            disabled ? ", style=\"rounded,filled,dashed\"" : "");
    number_arg(task, "Task Id", &id);
    fprintf(writer->out, "task %lld, ", (long long)id);
    put_quoted(writer->out, task->type);
    if (extend != NULL) {
        fputs("\\n", writer->out);
        put_quoted(writer->out, extend);
    }
    fputs("\"];\n", writer->out);
}

// ---- clusters ----

static void open_cluster(struct writer *writer, const char *kind, size_t index)
{
    indent(writer);
    fprintf(writer->out, "subgraph cluster_%s%zu {\n", kind, index);
    writer->depth++;
}

static void close_cluster(struct writer *writer)
{
    writer->depth--;
    indent(writer);
    fputs("}\n", writer->out);
}

/* "graph 7", and the name that the program gave it. */
static void label_graph(FILE *out, const struct dump_model *of)
{
    fprintf(out, "graph %lld", (long long)of->id);
    if (of->name != NULL) {
        fputs(": ", out);
        put_quoted(out, of->name);
    }
}

/* What its conditional says of the sub-graph. */
static void label_arm(FILE *out, const char *condition, size_t arm)
{
    if (condition != NULL && strcmp(condition, "IF") == 0) {
        fputs(arm == 0 ? "then" : "else", out);
    } else if (condition != NULL && strcmp(condition, "WHILE") == 0) {
        fputs("repeated", out);
    } else {
        fprintf(out, "case %zu", arm);
    }
}

static void label_model(const struct writer *writer, size_t model)
{
    const struct dump_model *of = &writer->dump->model[model];
    indent(writer);
    fputs("label=\"", writer->out);
    if (of->parent == DUMP_NONE) {
        label_graph(writer->out, of);
        fputs("\"; style=rounded; color=\"#868e96\";\n", writer->out);
        return;
    }
    label_arm(writer->out, text_arg(&writer->dump->task[of->parent], "Condition"), of->arm);
    fputs(" (", writer->out);
    label_graph(writer->out, of);
    fputs(")\"; style=\"rounded,filled\"; color=\"#845ef7\"; fillcolor=\"#f8f5ff\";\n",
            writer->out);
}

static void write_model(struct writer *writer, size_t model);

/* The sub-graphs of the conditional `task`. */
static void write_arms(struct writer *writer, size_t task)
{
    const struct dump *dump = writer->dump;
    const json_t *subs = json_object_get(dump->task[task].args, "Sub Models");
    for (size_t i = 0; i < json_array_size(subs); i++) {
        const json_int_t id = json_integer_value(json_array_get(subs, i));
        write_model(writer, dump_find_model(dump, id));
    }
}

static void write_lane(struct writer *writer, size_t lane)
{
    const struct dump *dump = writer->dump;
    open_cluster(writer, "lane", lane);
    indent(writer);
    fprintf(writer->out,
            "label=\"stream %lld\"; style=\"rounded,filled\"; color=\"#ced4da\"; "
            "fillcolor=\"#fcfcfd\";\n",
            (long long)dump->lane[lane].stream);
    for (size_t t = dump->lane[lane].first; t != DUMP_NONE; t = dump->task[t].next) {
        write_node(writer, t);
        write_arms(writer, t);
    }
    close_cluster(writer);
}

static void write_model(struct writer *writer, size_t model)
{
    const struct dump *dump = writer->dump;
    bool empty = true;
    open_cluster(writer, "graph", model);
    label_model(writer, model);
    for (size_t l = 0; l < dump->lane_count; l++) {
        if (dump->lane[l].model == model) {
            write_lane(writer, l);
            empty = false;
        }
    }
    if (empty) {
        indent(writer);
        fprintf(writer->out, "empty%zu [label=\"empty\", shape=plaintext, style=\"\"];\n", model);
    }
    close_cluster(writer);
}

// ---- lines ----

/* Against the order of a stream, or across it: they do not count for the layout. */
#define BACK_LINE "style=dashed, constraint=false, color=\"#7048e8\", fontsize=8"

/* What a sub-graph's picture begins and ends with, by their names in the drawing. */
static void arm_ends(const struct dump *dump, size_t model, char begin[32], char end[32])
{
    size_t lane = 0;
    while (lane < dump->lane_count && dump->lane[lane].model != model) {
        lane++;
    }
    if (lane == dump->lane_count) {
        snprintf(begin, 32, "empty%zu", model);
        snprintf(end, 32, "empty%zu", model);
        return;
    }
    snprintf(begin, 32, "t%zu", dump->lane[lane].first);
    snprintf(end, 32, "t%zu", dump->lane[lane].last);
}

/* From the conditional into a sub-graph's first stream, and from its end to what follows: the next
 * task, or the condition of a loop, behind which the next task is drawn nevertheless. */
static void write_arm_lines(const struct writer *writer, size_t task)
{
    const struct dump *dump = writer->dump;
    const json_t *subs = json_object_get(dump->task[task].args, "Sub Models");
    const char *condition = text_arg(&dump->task[task], "Condition");
    const bool loop = condition != NULL && strcmp(condition, "WHILE") == 0;
    const size_t next = dump->task[task].next;
    for (size_t i = 0; i < json_array_size(subs); i++) {
        char begin[32], end[32];
        arm_ends(dump, dump_find_model(dump, json_integer_value(json_array_get(subs, i))), begin,
                end);
        fprintf(writer->out, "  t%zu -> %s [style=dashed];\n", task, begin);
        if (loop) {
            fprintf(writer->out, "  %s -> t%zu [" BACK_LINE "];\n", end, task);
        }
        if (next != DUMP_NONE) {
            fprintf(writer->out, "  %s -> t%zu [style=%s];\n", end, next,
                    loop ? "invis" : "dashed");
        }
    }
}

/* To the labels that a task can go on at, each with its index. */
static void write_jump_lines(const struct writer *writer, size_t task)
{
    const struct dump *dump = writer->dump;
    const json_t *labels = json_object_get(dump->task[task].args, "Label Ids");
    for (size_t t = 0; t < dump->task_count && json_is_array(labels); t++) {
        json_int_t id;
        if (dump->task[t].model != dump->task[task].model ||
                !number_arg(&dump->task[t], "Label Id", &id)) {
            continue;
        }
        for (size_t i = 0; i < json_array_size(labels); i++) {
            if (json_integer_value(json_array_get(labels, i)) == id) {
                fprintf(writer->out, "  t%zu -> t%zu [" BACK_LINE ", label=\"%zu\"];\n", task, t,
                        i);
            }
        }
    }
}

/* A task that starts another stream of its graph. */
static void write_start_line(const struct writer *writer, size_t task)
{
    const struct dump *dump = writer->dump;
    json_int_t stream;
    if (!number_arg(&dump->task[task], "Active Stream Id", &stream)) {
        return;
    }
    for (size_t l = 0; l < dump->lane_count; l++) {
        const struct dump_lane *lane = &dump->lane[l];
        if (lane->model == dump->task[task].model && lane->stream == stream) {
            fprintf(writer->out, "  t%zu -> t%zu [style=dashed];\n", task, lane->first);
        }
    }
}

static void write_order_lines(const struct writer *writer)
{
    const struct dump *dump = writer->dump;
    for (size_t t = 0; t < dump->task_count; t++) {
        if (dump->task[t].next != DUMP_NONE) {
            // Behind a jump a stream goes on only where a label is.
            const bool jumps = json_is_array(json_object_get(dump->task[t].args, "Label Ids"));
            fprintf(writer->out, "  t%zu -> t%zu [weight=50%s];\n", t, dump->task[t].next,
                    jumps ? ", style=invis" : "");
        }
        write_arm_lines(writer, t);
        write_jump_lines(writer, t);
        write_start_line(writer, t);
    }
}

/* Records before waits of other links; of one link the records in the order of the file. */
static int compare_links(const void *left, const void *right)
{
    const struct dump_task *a = *(const struct dump_task *const *)left;
    const struct dump_task *b = *(const struct dump_task *const *)right;
    if (a->model != b->model) {
        return a->model < b->model ? -1 : 1;
    }
    if (a->link != b->link) {
        return a->link < b->link ? -1 : 1;
    }
    if (a->link_id != b->link_id) {
        return a->link_id < b->link_id ? -1 : 1;
    }
    return a->event < b->event ? -1 : a->event > b->event;
}

static bool same_link(const struct dump_task *a, const struct dump_task *b)
{
    return a->model == b->model && a->link == b->link && a->link_id == b->link_id;
}

/* Of one link, each wait belongs to the last record before it, or to the first if none is: streams
 * follow each other in some dumps, so that a wait may stand before its record. */
static void write_link(const struct writer *writer, struct dump_task **linked, size_t count)
{
    const struct dump_task *record = NULL;
    for (size_t i = 0; i < count && record == NULL; i++) {
        record = linked[i]->verb == DUMP_RECORD ? linked[i] : NULL;
    }
    for (size_t i = 0; i < count && record != NULL; i++) {
        if (linked[i]->verb == DUMP_RECORD) {
            record = linked[i];
        } else {
            fprintf(writer->out, "  t%zu -> t%zu [color=\"#1c7ed6\", penwidth=1.5];\n",
                    (size_t)(record - writer->dump->task),
                    (size_t)(linked[i] - writer->dump->task));
        }
    }
}

static bool write_link_lines(const struct writer *writer)
{
    const struct dump *dump = writer->dump;
    struct dump_task **linked = calloc(dump->task_count + 1, sizeof *linked);
    size_t count = 0;
    if (linked == NULL) {
        complain("out of memory");
        return false;
    }
    for (size_t t = 0; t < dump->task_count; t++) {
        if (dump->task[t].link != DUMP_LINK_NONE) {
            linked[count++] = &dump->task[t];
        }
    }
    qsort(linked, count, sizeof *linked, compare_links);
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && same_link(linked[from], linked[to])) {
            to++;
        }
        write_link(writer, linked + from, to - from);
    }
    free(linked);
    return true;
}

bool dot_write(const struct dump *dump, FILE *out)
{
    struct writer writer = { .dump = dump, .out = out, .depth = 1 };
    fputs("digraph reprise {\n"
          "  graph [fontname=\"Helvetica\", fontsize=10, nodesep=0.3, ranksep=0.3, "
          "newrank=true];\n"
          "  node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"rounded,filled\", "
          "color=\"#495057\", margin=\"0.12,0.06\"];\n"
          "  edge [fontname=\"Helvetica\", color=\"#adb5bd\", arrowsize=0.6];\n",
            out);
    for (size_t m = 0; m < dump->model_count; m++) {
        if (dump->model[m].parent == DUMP_NONE) {
            write_model(&writer, m);
        }
    }
    write_order_lines(&writer);
    const bool done = write_link_lines(&writer);
    fputs("}\n", out);
    return done;
}
