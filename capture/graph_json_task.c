// One task of a graph as JSON. The fields that the original writes come first, under its names;
// behind them stand those that only this library has: edges, collectives, conditionals.

#include "capture/graph_json_task.h"

#include <acl/acl_rt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/collective_args.h"
#include "capture/cond.h"
#include "capture/graph_info.h"
#include "capture/select.h"
#include "capture/task.h"
#include "replay/event.h"
#include "replay/kernel_function.h"
#include "replay/label.h"
#include "replay/launch.h"
#include "replay/notify.h"
#include "transport/comm.h"

// An object that is being filled; whether memory was short is asked once, at the end.
struct fields {
    json_t *object;
    bool short_of_memory;
};

static void put(struct fields *fields, const char *key, json_t *value)
{
    if (json_object_set_new(fields->object, key, value) != 0) {
        fields->short_of_memory = true;
    }
}

static void put_number(struct fields *fields, const char *key, uint64_t value)
{
    put(fields, key, json_integer((json_int_t)value));
}

static void put_format(struct fields *fields, const char *key, const char *fmt, ...)
        RP_PRINTF(3, 4);

static void put_format(struct fields *fields, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put(fields, key, json_vsprintf(fmt, args));
    va_end(args);
}

static void put_address(struct fields *fields, const char *key, const void *address)
{
    put_format(fields, key, "0x%" PRIxPTR, (uintptr_t)address);
}

/* The bytes of a UTF-8 character at `text`, 0 if there is none. Only its form is looked at; jansson
 * refuses what is left (overlong forms, surrogates). */
static size_t character_bytes(const char *text, size_t left)
{
    const unsigned char first = (unsigned char)text[0];
    const size_t bytes = first < 0x80   ? 1
                         : first < 0xc2 ? 0
                         : first < 0xe0 ? 2
                         : first < 0xf0 ? 3
                                        : 4;
    if (bytes > left) {
        return 0;
    }
    json_t *parsed = json_stringn(text, bytes);
    json_decref(parsed);
    return parsed == NULL ? 0 : bytes;
}

/* A program's own text: bytes that are no UTF-8 become question marks. */
static json_t *text_of(const char *text, size_t bytes)
{
    json_t *whole = json_stringn(text, bytes);
    if (whole != NULL) {
        return whole;
    }
    char *copy = rp_malloc(bytes + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, text, bytes);
    for (size_t at = 0; at < bytes;) {
        const size_t step = character_bytes(copy + at, bytes - at);
        if (step == 0) {
            copy[at] = '?';
        }
        at += step == 0 ? 1 : step;
    }
    whole = json_stringn(copy, bytes);
    rp_free(copy);
    return whole;
}

static void put_text(struct fields *fields, const char *key, const char *text)
{
    put(fields, key, text_of(text, strlen(text)));
}

// ---- types and names ----

/* An ACL_EVENT_RECORD_EXTERNAL or ACL_EVENT_WAIT_EXTERNAL: other events of this kind are edges. */
static bool is_bound(const struct rp_insn *insn)
{
    return rp_insn_names_event(insn) && insn->u.event.event->kind == RP_EVENT_EX;
}

/* Whether the other end of a record or wait lies outside of the graph. */
static bool is_external(const struct rp_insn *insn)
{
    return is_bound(insn) ||
           (rp_insn_names_event(insn) && (insn->u.event.event->flags & ACL_EVENT_EXTERNAL) != 0);
}

const char *rp_graph_json_type(const struct rp_node *node)
{
    static const char *const names[RP_INSN_KINDS] = {
        [RP_INSN_NOP] = "NOP",
        [RP_INSN_COPY] = "MEMCPY_ASYNC",
        [RP_INSN_COPY_2D] = "MEMCPY_ASYNC",
        [RP_INSN_FILL] = "MEMSET_ASYNC",
        [RP_INSN_FILL_32] = "MEMSET_ASYNC",
        [RP_INSN_HOST_FN] = "HOSTFUNC_CALLBACK",
        [RP_INSN_CALLBACK] = "HOSTFUNC_CALLBACK",
        [RP_INSN_EVENT_RECORD] = "EVENT_RECORD",
        [RP_INSN_EVENT_WAIT] = "EVENT_WAIT",
        [RP_INSN_EVENT_RESET] = "EVENT_RESET",
        [RP_INSN_EDGE_SIGNAL] = "EVENT_RECORD",
        [RP_INSN_EDGE_WAIT] = "EVENT_WAIT",
        [RP_INSN_COLLECTIVE] = "KERNEL_AIVEC",
        [RP_INSN_VALUE_WRITE] = "MEM_WRITE_VALUE",
        [RP_INSN_VALUE_WAIT] = "MEM_WAIT_VALUE",
        [RP_INSN_KERNEL] = "KERNEL_AIVEC",
        [RP_INSN_NOTIFY_RECORD] = "NOTIFY_RECORD",
        [RP_INSN_NOTIFY_WAIT] = "NOTIFY_WAIT",
        [RP_INSN_NOTIFY_RESET] = "NOTIFY_RESET",
        [RP_INSN_APPLY] = "MODEL_TASK_UPDATE",
        [RP_INSN_COND] = "CONDITION_OP",
        [RP_INSN_LABEL] = "LABEL_SET",
        [RP_INSN_LABEL_SWITCH] = "STREAM_LABEL_SWITCH_BY_INDEX",
        [RP_INSN_LANE_ACTIVATE] = "STREAM_ACTIVE",
        [RP_INSN_LANE_SWITCH] = "STREAM_SWITCH",
        [RP_INSN_END_GRAPH] = "MODEL_END_GRAPH",
    };
    const struct rp_insn *insn = &node->insn;
    if (is_bound(insn) && insn->kind == RP_INSN_EVENT_RECORD) {
        return "CAPTURE_RECORD_EXTERNAL";
    }
    if (is_bound(insn) && insn->kind == RP_INSN_EVENT_WAIT) {
        return "CAPTURE_WAIT_EXTERNAL";
    }
    return insn->kind < RP_INSN_KINDS && names[insn->kind] != NULL ? names[insn->kind] : "UNKNOWN";
}

/* The task's name: a kernel's own, else the type's with the id or address that it is about. */
static json_t *name_of(const struct rp_node *node, const struct rp_task_seen *seen)
{
    const struct rp_insn *insn = &seen->insn;
    const char *type = rp_graph_json_type(node);
    switch (insn->kind) {
    case RP_INSN_KERNEL: {
        const char *name = insn->u.kernel.launch->function->name;
        return name == NULL ? json_string(type) : text_of(name, strlen(name));
    }
    case RP_INSN_COLLECTIVE:
        return json_string(rp_op_kind_name(seen->op.record.op));
    case RP_INSN_EVENT_RECORD:
    case RP_INSN_EVENT_WAIT:
    case RP_INSN_EVENT_RESET:
    case RP_INSN_EDGE_SIGNAL:
    case RP_INSN_EDGE_WAIT:
        return insn->u.event.event == NULL
                       ? json_string(type)
                       : json_sprintf("%s_%" PRIu32, type, insn->u.event.event->id);
    case RP_INSN_NOTIFY_RECORD:
    case RP_INSN_NOTIFY_WAIT:
    case RP_INSN_NOTIFY_RESET:
        return json_sprintf("%s_%" PRIu32, type, insn->u.notify.notify->id);
    case RP_INSN_VALUE_WRITE:
    case RP_INSN_VALUE_WAIT:
        return json_sprintf("%s_%" PRIuPTR, type, (uintptr_t)insn->u.value.addr);
    case RP_INSN_LABEL:
        return json_sprintf("%s_%" PRIu32, type, insn->u.label.label->id);
    default:
        return json_string(type);
    }
}

// ---- arguments ----

/* Numblocks and what goes with it, as the original has them for kernels. */
static void put_blocks(struct fields *args, uint32_t blocks, unsigned schedule)
{
    put_number(args, "Numblocks", blocks);
    put_number(args, "Task Ration", 0); // of cube to vector cores: there are vector cores only
    put_number(args, "Schem Mode", schedule);
}

/* The argument block as words of 64 bits in hex; a last, shorter one is filled up with zeros. */
static json_t *hex_words(const unsigned char *bytes, size_t count)
{
    const size_t words = (count + 7) / 8;
    const size_t word_chars = sizeof "0x0123456789abcdef"; // a blank in place of the NUL
    char *text = rp_malloc(words * word_chars + 1);
    if (text == NULL) {
        return NULL;
    }
    size_t at = 0;
    text[0] = '\0';
    for (size_t w = 0; w < words; w++) {
        uint64_t word = 0;
        memcpy(&word, bytes + 8 * w, w + 1 < words ? 8 : count - 8 * w);
        at += (size_t)snprintf(
                text + at, word_chars + 1, "%s0x%016" PRIx64, w == 0 ? "" : " ", word);
    }
    json_t *value = json_stringn(text, at);
    rp_free(text);
    return value;
}

static void put_argument_block(struct fields *args, const void *block, size_t bytes)
{
    if (bytes > 0) {
        put(args, "Kernel Args", hex_words(block, bytes));
        put_number(args, "Kernel Args Size", bytes);
    }
}

static void put_kernel(struct fields *args, const struct rp_launch *launch, bool verbose)
{
    const bool has_extra = launch->extra != NULL;
    put_blocks(args, launch->blocks,
            has_extra ? launch->extra->attr[ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE].schemMode : 0);
    if (verbose) {
        put_argument_block(args, launch->args, launch->args_bytes);
    }
}

static void put_collective(struct fields *args, const struct rp_op *op, bool verbose)
{
    const struct rp_record_words words = rp_record_words(&op->record);
    put_blocks(args, 1, 0);
    if (verbose) {
        struct reprise_collective_args block;
        rp_collective_args_fill(op, &block);
        put_argument_block(args, &block, sizeof block);
    }
    put_text(args, "Operator", words.op);
    if (words.dtype != NULL) {
        put_text(args, "Data Type", words.dtype);
        put_number(args, "Count", op->record.count);
    }
    if (words.reduce != NULL) {
        put_text(args, "Reduce Op", words.reduce);
    }
    if (rp_matrix_row(op->record.op)->rooted) {
        put_number(args, "Root", op->record.root);
    }
    if (op->record.op == RP_OP_BATCH_SEND_RECV) {
        put_number(args, "Items", op->record.count);
    } else if (rp_op_is_pairs(op->record.op)) {
        put_number(args, "Peer", op->record.root);
    }
    put_text(args, "Expansion", words.expansion);
    put_text(args, "Algorithm", words.algorithm);
    put_text(args, "Communicator", op->comm->name);
    put_number(args, "Rank Id", op->comm->rank);
    put_number(args, "Rank Size", op->comm->size);
    if (verbose) {
        put_address(args, "Src", op->send);
        put_address(args, "Dst", op->recv);
    }
}

static void put_cond(struct fields *args, const struct rp_graph_cond *cond, bool verbose)
{
    static const char *const types[] = { "IF", "WHILE", "SWITCH" };
    put_text(args, "Condition", cond->type < RP_ARRAY_LENGTH(types) ? types[cond->type] : "?");
    json_t *ids = json_array();
    for (uint32_t i = 0; i < cond->count; i++) {
        if (json_array_append_new(ids, json_integer(cond->sub[i]->id)) != 0) {
            args->short_of_memory = true;
        }
    }
    put(args, "Sub Models", ids);
    if (verbose && cond->handle != NULL) {
        put_address(args, "Condition Addr", (const void *)cond->handle->word);
        if (cond->handle->has_default) {
            put_number(args, "Default Value", cond->handle->default_value);
        }
    }
}

/* Where a jump by a label can lead: the labels by their numbers, in the order of their index. */
static void put_label_switch(struct fields *args, const struct rp_insn *insn, bool verbose)
{
    const struct rp_label_list *list = insn->u.label_switch.list;
    json_t *ids = json_array();
    for (uint32_t i = 0; i <= insn->u.label_switch.max; i++) {
        if (json_array_append_new(ids, json_integer(list->label[i]->id)) != 0) {
            args->short_of_memory = true;
        }
    }
    put(args, "Label Ids", ids);
    if (verbose) {
        put_address(args, "Index Addr", insn->u.label_switch.which);
        put_number(args, "Max Value", (uint64_t)insn->u.label_switch.max + 1); // of the call
    }
}

/* What has to hold for another stream to be started. */
static void put_comparison(struct fields *args, const struct rp_insn *insn)
{
    static const char *const conditions[] = {
        [ACL_RT_EQUAL] = "==",
        [ACL_RT_NOT_EQUAL] = "!=",
        [ACL_RT_GREATER] = ">",
        [ACL_RT_GREATER_OR_EQUAL] = ">=",
        [ACL_RT_LESS] = "<",
        [ACL_RT_LESS_OR_EQUAL] = "<=",
    };
    const uint32_t cond = insn->u.lane_switch.cond;
    put_text(args, "Compare", cond < RP_ARRAY_LENGTH(conditions) ? conditions[cond] : "?");
    put_address(args, "Left Addr", insn->u.lane_switch.left);
    put_address(args, "Right Addr", insn->u.lane_switch.right);
}

static void put_lane(struct fields *args, const struct rp_graph *graph, uint32_t lane)
{
    if (lane < graph->lane_count) {
        put(args, "Active Stream Id", json_integer(graph->lane[lane].stream_id));
    }
}

/* What VERBOSE adds to the tasks that only move or set memory. */
static void put_memory(struct fields *args, const struct rp_insn *insn)
{
    switch (insn->kind) {
    case RP_INSN_COPY:
        put_address(args, "Dst", insn->u.copy.dst);
        put_address(args, "Src", insn->u.copy.src);
        put_number(args, "Bytes", insn->u.copy.bytes);
        break;
    case RP_INSN_COPY_2D:
        put_address(args, "Dst", insn->u.copy_2d.dst);
        put_number(args, "Dst Pitch", insn->u.copy_2d.dst_pitch);
        put_address(args, "Src", insn->u.copy_2d.src);
        put_number(args, "Src Pitch", insn->u.copy_2d.src_pitch);
        put_number(args, "Width", insn->u.copy_2d.width);
        put_number(args, "Height", insn->u.copy_2d.height);
        break;
    case RP_INSN_FILL:
    case RP_INSN_FILL_32:
        put_address(args, "Dst", insn->u.fill.dst);
        put_number(args, "Bytes", insn->u.fill.count * (insn->kind == RP_INSN_FILL_32 ? 4 : 1));
        put_number(args, "Value", insn->u.fill.value);
        break;
    default:
        break;
    }
}

/* What VERBOSE adds to the other tasks. */
static void put_parameters(struct fields *args, const struct rp_insn *insn)
{
    switch (insn->kind) {
    case RP_INSN_HOST_FN:
    case RP_INSN_CALLBACK:
        put_format(args, "Function", "0x%" PRIxPTR, (uintptr_t)insn->u.call.fn);
        put_address(args, "User Data", insn->u.call.arg);
        break;
    case RP_INSN_VALUE_WRITE:
    case RP_INSN_VALUE_WAIT:
        put_format(args, "Value", "0x%" PRIx64, insn->u.value.value);
        if (insn->kind == RP_INSN_VALUE_WAIT) {
            put_number(args, "Flag", insn->flag);
        }
        break;
    case RP_INSN_LANE_SWITCH:
        put_comparison(args, insn);
        break;
    default:
        put_memory(args, insn);
        break;
    }
}

/* What a task has beside the fields that all have. */
static void put_own(struct fields *args, const struct rp_graph *graph,
        const struct rp_task_seen *seen, bool verbose)
{
    const struct rp_insn *insn = &seen->insn;
    switch (insn->kind) {
    case RP_INSN_KERNEL:
        put_kernel(args, insn->u.kernel.launch, verbose);
        break;
    case RP_INSN_COLLECTIVE:
        put_collective(args, &seen->op, verbose);
        break;
    case RP_INSN_EDGE_SIGNAL:
    case RP_INSN_EDGE_WAIT:
        put_number(args, "Edge", insn->index);
        break;
    case RP_INSN_COND:
        put_cond(args, &graph->cond[insn->index], verbose);
        break;
    case RP_INSN_LABEL:
        put_number(args, "Label Id", insn->u.label.label->id);
        break;
    case RP_INSN_LABEL_SWITCH:
        put_label_switch(args, insn, verbose);
        break;
    case RP_INSN_LANE_ACTIVATE:
    case RP_INSN_LANE_SWITCH:
        put_lane(args, graph, insn->index);
        break;
    default:
        break;
    }
    if (is_external(insn)) {
        put(args, "External", json_true());
    }
    if (verbose) {
        put_parameters(args, insn);
    }
}

/* The name that the program has given the graph, if it has. */
static void put_graph_name(struct fields *args, struct rp_graph *graph)
{
    char name[RP_GRAPH_NAME_MAX + 1];
    if (rp_graph_get_name(graph, name, sizeof name) > 0) {
        put_text(args, "Model Name", name);
    }
}

static json_t *args_of(
        struct rp_graph *graph, uint32_t node, const struct rp_task_seen *seen, bool verbose)
{
    const struct rp_node *task = &graph->node[node];
    struct fields args = { .object = json_object() };
    size_t bytes;
    put_number(&args, "Model Id", graph->id);
    put_graph_name(&args, graph);
    put(&args, "Stream Id", json_integer(graph->lane[task->lane].stream_id));
    put_number(&args, "Task Id", task->seq);
    put_text(&args, "Task Type", rp_graph_json_type(task));
    const char *extend = rp_task_info(graph, node, RP_TASK_EXTEND_INFO, &bytes);
    if (extend != NULL) {
        put(&args, "ExtendInfo", text_of(extend, strnlen(extend, bytes)));
    }
    put_own(&args, graph, seen, verbose);
    if ((task->flags & RP_NODE_DISABLED) != 0) {
        put(&args, "Disabled", json_true());
    }
    if (args.short_of_memory) {
        json_decref(args.object);
        return NULL;
    }
    return args.object;
}

json_t *rp_graph_json_task(
        struct rp_graph *graph, uint32_t node, bool verbose, double begin, double length)
{
    struct fields event = { .object = json_object() };
    struct rp_task_seen seen;
    const int32_t stream = graph->lane[graph->node[node].lane].stream_id;
    rp_task_see(graph, node, &seen);
    put(&event, "name", name_of(&graph->node[node], &seen));
    put_format(&event, "pid", "%d aclGraph", (int)getpid());
    if (graph->root == graph) {
        put_format(&event, "tid", "stream%d", stream);
    } else {
        // One stream may be captured into several sub-graphs, which are rows of their own.
        put_format(&event, "tid", "stream%d of graph %" PRIu32, stream, graph->id);
    }
    put(&event, "ts", json_real(begin));
    put(&event, "dur", json_real(length));
    put(&event, "ph", json_string("X"));
    put(&event, "args", args_of(graph, node, &seen, verbose));
    rp_task_see_no_more(&seen);
    if (event.short_of_memory) {
        json_decref(event.object);
        return NULL;
    }
    return event.object;
}
