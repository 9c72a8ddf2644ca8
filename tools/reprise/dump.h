#ifndef TOOLS_REPRISE_DUMP_H
#define TOOLS_REPRISE_DUMP_H

/*
 * A graph as aclmdlRIDebugJsonPrint wrote it: models (the graph and its sub-graphs), each of lanes
 * (streams), each of tasks. Dumps of a device's own runtime can be read too: they lack the fields
 * that only this library writes.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define DUMP_NONE ((size_t)-1)

/* What records, waits and resets are about, and which of them a task is. */
enum dump_sync { DUMP_SYNC_NONE = 0, DUMP_SYNC_EVENT, DUMP_SYNC_NOTIFY };
enum dump_verb { DUMP_OTHER = 0, DUMP_RECORD, DUMP_WAIT, DUMP_RESET };

/* What a record and its wait have in common. */
enum dump_link {
    DUMP_LINK_NONE = 0,
    DUMP_LINK_EDGE,   /* "Edge" */
    DUMP_LINK_EVENT,  /* the id at the name's end */
    DUMP_LINK_NOTIFY, /* the same */
};

struct dump_task {
    size_t event; /* index in the file */
    size_t model, lane;
    size_t next; /* of its lane; DUMP_NONE: the last */
    const char *name, *type;
    const json_t *args;
    enum dump_sync sync;
    enum dump_verb verb;
    bool external; /* it is, or may be, about what is outside of the graph */
    enum dump_link link;
    json_int_t link_id;
};

struct dump_lane {
    json_int_t stream;
    size_t model;
    size_t first, last; /* tasks */
};

struct dump_model {
    json_int_t id;
    const char *name; /* of the file's; NULL: none */
    size_t parent;    /* the conditional whose sub-graph it is; DUMP_NONE: none */
    size_t arm;       /* which of its sub-graphs */
};

struct dump {
    json_t *root;
    struct dump_task *task;
    size_t task_count;
    struct dump_lane *lane;
    size_t lane_count, lane_room;
    struct dump_model *model;
    size_t model_count, model_room;
};

/** dump_read: the dump in `path` ("-": standard input). false: what is wrong, and where, was said.
 * dump_free() frees what it filled, also after a failure. */
bool dump_read(struct dump *dump, const char *path);
void dump_free(struct dump *dump);

/** dump_find_model: index of the model with that id, DUMP_NONE. */
size_t dump_find_model(const struct dump *dump, json_int_t id);

#endif
