// Reading a dump. Nothing in the file is believed: every field that is used is looked at first, and
// what is missing is said together with the event that misses it.

#include "tools/reprise/dump.h"

#include <stdlib.h>
#include <string.h>

#include "tools/reprise/command.h"

// More conditionals inside each other than any program has.
#define DEPTH_MAX 64

struct reader {
    struct dump *dump;
    const char *path;
};

static bool refuse_event(const struct reader *reader, size_t event, const char *what)
{
    complain("%s: event %zu %s", reader->path, event + 1, what);
    return false;
}

static bool no_memory(void)
{
    complain("out of memory");
    return false;
}

/* Room for one element more in an array that doubles. */
static bool reserve(void **array, size_t count, size_t *room, size_t bytes)
{
    if (count < *room) {
        return true;
    }
    const size_t wanted = *room == 0 ? 16 : 2 * *room;
    void *larger = realloc(*array, wanted * bytes);
    if (larger == NULL) {
        return no_memory();
    }
    *array = larger;
    *room = wanted;
    return true;
}

// ---- models and lanes ----

size_t dump_find_model(const struct dump *dump, json_int_t id)
{
    for (size_t m = 0; m < dump->model_count; m++) {
        if (dump->model[m].id == id) {
            return m;
        }
    }
    return DUMP_NONE;
}

static bool need_model(struct dump *dump, json_int_t id, size_t *model)
{
    *model = dump_find_model(dump, id);
    if (*model != DUMP_NONE) {
        return true;
    }
    if (!reserve(
                (void **)&dump->model, dump->model_count, &dump->model_room, sizeof *dump->model)) {
        return false;
    }
    *model = dump->model_count++;
    dump->model[*model] = (struct dump_model){ .id = id, .parent = DUMP_NONE };
    return true;
}

static bool need_lane(struct dump *dump, size_t model, json_int_t stream, size_t *lane)
{
    for (size_t l = 0; l < dump->lane_count; l++) {
        if (dump->lane[l].model == model && dump->lane[l].stream == stream) {
            *lane = l;
            return true;
        }
    }
    if (!reserve((void **)&dump->lane, dump->lane_count, &dump->lane_room, sizeof *dump->lane)) {
        return false;
    }
    *lane = dump->lane_count++;
    dump->lane[*lane] = (struct dump_lane){
        .stream = stream, .model = model, .first = DUMP_NONE, .last = DUMP_NONE
    };
    return true;
}

// ---- tasks ----

/* The number behind the name's last underscore. */
static bool id_at_end(const char *name, json_int_t *id)
{
    const char *at = strrchr(name, '_');
    if (at == NULL || at[1] < '0' || at[1] > '9') {
        return false;
    }
    char *end = NULL;
    *id = (json_int_t)strtoull(at + 1, &end, 10);
    return *end == '\0';
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_external(const char *type)
{
    const size_t chars = strlen(type);
    return chars > 9 && strcmp(type + chars - 9, "_EXTERNAL") == 0;
}

/* What the task does, by its type. */
static void find_verb(struct dump_task *task)
{
    task->verb = strstr(task->type, "RECORD") != NULL  ? DUMP_RECORD
                 : strstr(task->type, "WAIT") != NULL  ? DUMP_WAIT
                 : strstr(task->type, "RESET") != NULL ? DUMP_RESET
                                                       : DUMP_OTHER;
    if (task->verb == DUMP_OTHER) {
        return;
    }
    if (begins(task->type, "NOTIFY_")) {
        task->sync = DUMP_SYNC_NOTIFY;
    } else if (strstr(task->type, "EVENT") != NULL || begins(task->type, "CAPTURE_")) {
        task->sync = DUMP_SYNC_EVENT;
    }
}

/* Which record a wait belongs to, or the other way round. */
static void find_link(struct dump_task *task)
{
    const json_t *edge = json_object_get(task->args, "Edge");
    const bool bound = is_external(task->type); // the other end is never in the graph
    task->external = bound || json_is_true(json_object_get(task->args, "External"));
    if (task->sync == DUMP_SYNC_NONE || task->verb == DUMP_RESET || bound) {
        return;
    }
    if (json_is_integer(edge)) {
        task->link = DUMP_LINK_EDGE;
        task->link_id = json_integer_value(edge);
    } else if (id_at_end(task->name, &task->link_id)) {
        task->link = task->sync == DUMP_SYNC_NOTIFY ? DUMP_LINK_NOTIFY : DUMP_LINK_EVENT;
    }
}

static bool read_task(const struct reader *reader, size_t index, const json_t *event)
{
    struct dump *dump = reader->dump;
    const json_t *args = json_object_get(event, "args");
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *type = json_string_value(json_object_get(args, "Task Type"));
    const json_t *model = json_object_get(args, "Model Id");
    const json_t *stream = json_object_get(args, "Stream Id");
    if (name == NULL) {
        return refuse_event(reader, index, "has no text \"name\"");
    }
    if (!json_is_object(args)) {
        return refuse_event(reader, index, "has no object \"args\"");
    }
    if (type == NULL) {
        return refuse_event(reader, index, "has no text \"Task Type\" in \"args\"");
    }
    if (!json_is_integer(model)) {
        return refuse_event(reader, index, "has no whole number \"Model Id\" in \"args\"");
    }
    if (!json_is_integer(stream)) {
        return refuse_event(reader, index, "has no whole number \"Stream Id\" in \"args\"");
    }
    struct dump_task task = {
        .event = index, .next = DUMP_NONE, .name = name, .type = type, .args = args
    };
    if (!need_model(dump, json_integer_value(model), &task.model) ||
            !need_lane(dump, task.model, json_integer_value(stream), &task.lane)) {
        return false;
    }
    const json_t *title = json_object_get(args, "Model Name");
    if (json_is_string(title)) {
        dump->model[task.model].name = json_string_value(title);
    }
    find_verb(&task);
    find_link(&task);
    struct dump_lane *lane = &dump->lane[task.lane];
    if (lane->last == DUMP_NONE) {
        lane->first = dump->task_count;
    } else {
        dump->task[lane->last].next = dump->task_count;
    }
    lane->last = dump->task_count;
    dump->task[dump->task_count++] = task;
    return true;
}

static bool read_events(const struct reader *reader, const json_t *events)
{
    struct dump *dump = reader->dump;
    const size_t count = json_array_size(events);
    dump->task = calloc(count + 1, sizeof *dump->task);
    if (dump->task == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *event = json_array_get(events, i);
        if (!json_is_object(event)) {
            return refuse_event(reader, i, "is no object");
        }
        const char *phase = json_string_value(json_object_get(event, "ph"));
        if (phase == NULL) {
            return refuse_event(reader, i, "has no text \"ph\"");
        }
        // Trace viewers know other phases; only complete events are tasks.
        if (strcmp(phase, "X") == 0 && !read_task(reader, i, event)) {
            return false;
        }
    }
    return true;
}

// ---- conditionals ----

static bool read_arm(const struct reader *reader, size_t task, size_t arm, const json_t *id)
{
    struct dump *dump = reader->dump;
    size_t model;
    if (!json_is_integer(id)) {
        return refuse_event(reader, dump->task[task].event,
                "has something in \"Sub Models\" that is no whole number");
    }
    if (!need_model(dump, json_integer_value(id), &model)) {
        return false;
    }
    if (dump->model[model].parent != DUMP_NONE) {
        return refuse_event(reader, dump->task[task].event,
                "names a sub-graph that belongs to another conditional already");
    }
    dump->model[model].parent = task;
    dump->model[model].arm = arm;
    return true;
}

static bool read_conditionals(const struct reader *reader)
{
    const struct dump *dump = reader->dump;
    for (size_t t = 0; t < dump->task_count; t++) {
        const json_t *subs = json_object_get(dump->task[t].args, "Sub Models");
        if (subs != NULL && !json_is_array(subs)) {
            return refuse_event(
                    reader, dump->task[t].event, "has \"Sub Models\" that are no array");
        }
        for (size_t i = 0; i < json_array_size(subs); i++) {
            if (!read_arm(reader, t, i, json_array_get(subs, i))) {
                return false;
            }
        }
    }
    return true;
}

/* Sub-graphs lie inside each other, and not too many. */
static bool check_nesting(const struct reader *reader)
{
    const struct dump *dump = reader->dump;
    for (size_t m = 0; m < dump->model_count; m++) {
        size_t depth = 0;
        for (size_t up = m; dump->model[up].parent != DUMP_NONE;
                up = dump->task[dump->model[up].parent].model) {
            if (++depth > DEPTH_MAX) {
                complain("%s: graph %lld lies in more than %d conditionals, or in itself",
                        reader->path, (long long)dump->model[m].id, DEPTH_MAX);
                return false;
            }
        }
    }
    return true;
}

// ---- the file ----

static bool load(struct dump *dump, const char *path)
{
    json_error_t error;
    const bool standard = strcmp(path, "-") == 0;
    dump->root = standard ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &error)
                          : json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (dump->root != NULL) {
        return true;
    }
    if (error.line < 0) {
        complain("%s: %s", path, error.text);
    } else {
        complain("%s:%d:%d: %s", path, error.line, error.column, error.text);
    }
    return false;
}

bool dump_read(struct dump *dump, const char *path)
{
    *dump = (struct dump){ .root = NULL };
    const struct reader reader = { .dump = dump, .path = path };
    if (!load(dump, path)) {
        return false;
    }
    const json_t *events =
            json_is_object(dump->root) ? json_object_get(dump->root, "traceEvents") : dump->root;
    if (!json_is_array(events)) {
        complain("%s: neither an array of events nor an object with \"traceEvents\"", path);
        return false;
    }
    return read_events(&reader, events) && read_conditionals(&reader) && check_nesting(&reader);
}

void dump_free(struct dump *dump)
{
    json_decref(dump->root);
    free(dump->task);
    free(dump->lane);
    free(dump->model);
}
