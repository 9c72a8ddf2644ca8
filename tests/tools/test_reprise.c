// The command `reprise`: a real dump becomes a drawing, and nothing that a file holds makes it
// crash or hang: bad input is said, with the place.

#include "support/acl_test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/select.h"

#define COMMAND RP_TEST_BINARY_DIR "/tools/reprise"
#define TEXT_MAX (1 << 20)
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

static char directory[] = "/tmp/reprise_tool_XXXXXX";
static char input[64], output[64], errors[64];
static char out[TEXT_MAX], err[TEXT_MAX]; // what the last run wrote

static void setup(void)
{
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    snprintf(input, sizeof input, "%s/input.json", directory);
    snprintf(output, sizeof output, "%s/output", directory);
    snprintf(errors, sizeof errors, "%s/errors", directory);
}

static void teardown(void)
{
    unlink(input);
    unlink(output);
    unlink(errors);
    rmdir(directory);
}

TestSuite(reprise, .init = setup, .fini = teardown, .timeout = 120);

static void read_back(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    cr_assert(ne(ptr, file, NULL), "%s", path);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    fclose(file);
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    cr_assert(eq(sz, fwrite(text, 1, bytes, file), bytes));
    cr_assert(eq(int, fclose(file), 0));
}

/* Run the command; its exit status. `environment` NULL: the test's own. */
static int run_in(char **environment, const char *const *arguments)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    char *argv[8] = { (char *)COMMAND };
    pid_t child;
    int status = 0;
    for (size_t i = 0; arguments[i] != NULL; i++) {
        argv[i + 1] = (char *)arguments[i];
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int failed = posix_spawn(
            &child, COMMAND, &actions, NULL, argv, environment == NULL ? environ : environment);
    posix_spawn_file_actions_destroy(&actions);
    cr_assert(eq(int, failed, 0), "%s: %s", COMMAND, strerror(failed));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    read_back(output, out);
    read_back(errors, err);
    const bool exited = WIFEXITED(status);
    cr_assert(exited, "signal %d: %s", WTERMSIG(status), err);
    return WEXITSTATUS(status);
}

#define RUN(...) run_in(NULL, (const char *const[]){ __VA_ARGS__, NULL })

static void has(const char *text, const char *part)
{
    cr_assert(ne(ptr, (void *)strstr(text, part), NULL), "'%s' is not in:\n%s", part, text);
}

/* Write `text` as the dump and draw it as dot text; the exit status. */
static int draw(const char *text)
{
    write_file(input, text, strlen(text));
    return RUN("graph", input);
}

Test(reprise, help_is_printed_when_asked_for_and_when_nothing_is)
{
    cr_assert(eq(int, RUN("--help"), 0));
    has(out, "reprise COMMAND");
    has(out, "graph FILE");
    cr_assert(eq(str, err, ""));
    cr_assert(eq(int, RUN("version"), 0));
    has(out, "reprise 0.");
    const char *const nothing[] = { NULL };
    cr_assert(eq(int, run_in(NULL, nothing), 2));
    has(err, "reprise COMMAND");
    cr_assert(eq(int, RUN("paint"), 2));
    has(err, "'paint'");
}

Test(reprise, wrong_arguments_are_explained)
{
    cr_assert(eq(int, RUN("graph"), 2));
    cr_assert(eq(int, RUN("graph", "a", "b"), 2));
    cr_assert(eq(int, RUN("graph", "a", "-o"), 2));
    cr_assert(eq(int, RUN("graph", "a", "-x"), 2));
    has(err, "'-x'");
    cr_assert(eq(int, RUN("graph", "a", "-o", "a.jpeg"), 2));
    has(err, ".svg");
    cr_assert(eq(int, RUN("graph", "/nowhere/a.json"), 1));
    has(err, "/nowhere/a.json");
    cr_assert(eq(int, RUN("matrix", "all"), 2));
    has(err, "'all'");
    has(err, "--markdown");
    cr_assert(eq(int, RUN("matrix", "--json", "--markdown"), 2));
    has(err, "'--markdown'");
}

Test(reprise, matrix_has_a_row_for_each_operator)
{
    cr_assert(eq(int, RUN("matrix"), 0));
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        has(out, rp_op_kind_name(rp_matrix[i].op));
    }
    has(out, "HOST_TS");
}

// Every member of the table, as a program reads it.
Test(reprise, matrix_as_json_says_what_the_table_says)
{
    cr_assert(eq(int, RUN("matrix", "--json"), 0));
    json_t *rows = json_loads(out, 0, NULL);
    cr_assert(ne(ptr, rows, NULL));
    cr_assert(eq(sz, json_array_size(rows), rp_matrix_rows));
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        const struct rp_matrix_row *row = &rp_matrix[i];
        const json_t *said = json_array_get(rows, i);
        const struct {
            const char *key;
            bool value;
        } members[] = {
            { "single_op", row->modes & RP_MODE_SINGLE_OP },
            { "captured", row->modes & RP_MODE_CAPTURED },
            { "host_ts_one_node", row->host_ts },
            { "host_ts_nodes", row->between_nodes },
            { "aiv_one_node", row->aiv },
            { "aiv_nodes", false },
            { "deterministic", row->reduces },
            { "strict", row->strict },
            { "in_place", row->in_place },
            { "rooted", row->rooted },
        };
        const char *name = json_string_value(json_object_get(said, "operator"));
        cr_assert(eq(str, (char *)(uintptr_t)name, (char *)(uintptr_t)rp_op_kind_name(row->op)));
        for (size_t m = 0; m < RP_ARRAY_LENGTH(members); m++) {
            cr_assert(eq(int, json_boolean_value(json_object_get(said, members[m].key)),
                              members[m].value),
                    "%s: %s", name, members[m].key);
        }
        const struct {
            const char *key;
            unsigned set;
        } sets[] = { { "types", row->types }, { "reductions", row->reductions },
            { "algorithms", row->algorithms } };
        for (size_t m = 0; m < RP_ARRAY_LENGTH(sets); m++) {
            cr_assert(eq(sz, json_array_size(json_object_get(said, sets[m].key)),
                              (size_t)__builtin_popcount(sets[m].set)),
                    "%s: %s", name, sets[m].key);
        }
    }
    json_decref(rows);
}

// What is in the README between the two marks; scripts/docs writes it.
Test(reprise, matrix_in_the_readme_is_what_the_code_says)
{
    static char readme[TEXT_MAX];
    read_back(RP_TEST_SOURCE_DIR "/README.md", readme);
    char *begin = strstr(readme, "<!-- matrix:");
    cr_assert(ne(ptr, begin, NULL));
    begin = strchr(begin, '\n') + 1;
    char *end = strstr(begin, "<!-- end of matrix -->");
    cr_assert(ne(ptr, end, NULL));
    *end = '\0';
    cr_assert(eq(int, RUN("matrix", "--markdown"), 0));
    cr_assert(eq(str, out, begin), "run 'make docs'");
}

#define EVENT(name, model, stream, type, more)                                        \
    "{\"name\":\"" name "\",\"ph\":\"X\",\"ts\":0,\"dur\":1,\"tid\":\"t\",\"args\":{" \
    "\"Model Id\":" model ",\"Stream Id\":" stream ",\"Task Type\":\"" type "\"" more "}}"

Test(reprise, lanes_are_clusters_and_edges_lead_from_record_to_wait)
{
    cr_assert(eq(int,
            draw("[" EVENT("EVENT_RECORD_9", "7", "3", "EVENT_RECORD", ",\"Edge\":0") ",\n" EVENT(
                    "EVENT_RECORD_9", "7", "3", "EVENT_RECORD",
                    ",\"Edge\":1") ",\n" EVENT("EVENT_WAIT_9", "7", "4", "EVENT_WAIT",
                    ",\"Edge\":0") ",\n" EVENT("EVENT_WAIT_9", "7", "5", "EVENT_WAIT",
                    ",\"Edge\":1") "]"),
            0));
    has(out, "label=\"graph 7\"");
    has(out, "label=\"stream 3\"");
    has(out, "label=\"stream 5\"");
    has(out, "t0 -> t1 [weight");
    has(out, "t0 -> t2 [color");
    has(out, "t1 -> t3 [color");
    cr_assert(eq(ptr, strstr(out, "t1 -> t2"), NULL));
}

Test(reprise, dumps_without_edges_are_joined_by_event_id_whatever_their_order)
{
    cr_assert(eq(int,
            draw("{\"traceEvents\":[" EVENT("EVENT_WAIT_1", "7", "3", "EVENT_WAIT", "") "," EVENT(
                    "EVENT_RECORD_2", "7", "4", "EVENT_RECORD", "") "," EVENT("EVENT_RECORD_1", "7",
                    "4", "EVENT_RECORD", "") "," EVENT("CAPTURE_WAIT_EXTERNAL_2", "7", "3",
                    "CAPTURE_WAIT_EXTERNAL", "") ","
                                                 "{\"name\":\"thread_name\",\"ph\":\"M\"}]}"),
            0));
    has(out, "t2 -> t0 [color");
    cr_assert(eq(ptr, strstr(out, "-> t3 [color"), NULL), "its record is outside of the graph");
}

Test(reprise, conditionals_hold_their_sub_graphs)
{
    cr_assert(eq(int,
            draw("[" EVENT("CONDITION_OP", "1", "3", "CONDITION_OP",
                    ",\"Condition\":\"IF\",\"Sub Models\":[2,4]") "," EVENT("inner", "2", "9",
                    "KERNEL_AIVEC", ",\"Numblocks\":1") "," EVENT("MEMCPY_ASYNC", "1", "3",
                    "MEMCPY_ASYNC", ",\"Bytes\":12") "]"),
            0));
    has(out, "label=\"then (graph 2)\"");
    has(out, "label=\"else (graph 4)\"");
    has(out, "inner\\n1 block\"");
    has(out, "copy\\n12 bytes");
    has(out, "t0 -> t1 [style=dashed]");
    has(out, "t1 -> t2 [style=dashed]");
    has(out, "t0 -> empty");
}

Test(reprise, a_loop_leads_back_to_its_condition)
{
    cr_assert(eq(int,
            draw("[" EVENT("CONDITION_OP", "1", "3", "CONDITION_OP",
                    ",\"Condition\":\"WHILE\",\"Condition Addr\":\"0x40\",\"Default "
                    "Value\":7,\"Sub Models\":[2]") "," EVENT("inner", "2", "9", "NOP",
                    "") "," EVENT("inner", "2", "9", "NOP", "") "," EVENT("a", "1", "3", "NOP",
                    "") "]"),
            0));
    has(out, "label=\"WHILE\\n0x40\\n7 at first\"");
    has(out, "t0 -> t1 [style=dashed]");
    has(out, "t2 -> t0 [style=dashed, constraint=false");
    has(out, "t2 -> t3 [style=invis]");
}

Test(reprise, a_jump_leads_to_its_labels)
{
#define LABEL(id) EVENT("LABEL_SET_" id, "1", "3", "LABEL_SET", ",\"Label Id\":" id)
#define JUMP                                                                        \
    EVENT("STREAM_LABEL_SWITCH_BY_INDEX", "1", "3", "STREAM_LABEL_SWITCH_BY_INDEX", \
            ",\"Label Ids\":[5,4],\"Index Addr\":\"0x40\"")
    cr_assert(eq(int, draw("[" LABEL("4") "," JUMP "," LABEL("5") "," LABEL("6") "]"), 0));
    has(out, "label=\"label 4\"");
    has(out, "label=\"go to label\\n*0x40\"");
    has(out, "t1 -> t2 [style=dashed, constraint=false, color=\"#7048e8\", fontsize=8, "
             "label=\"0\"]");
    has(out, "t1 -> t0 [style=dashed, constraint=false, color=\"#7048e8\", fontsize=8, "
             "label=\"1\"]");
    has(out, "t1 -> t2 [weight=50, style=invis]"); // nothing goes on behind a jump
    has(out, "t2 -> t3 [weight=50]");
    cr_assert(eq(ptr, strstr(out, "t1 -> t3"), NULL));
}

Test(reprise, tasks_that_start_a_stream_lead_to_it)
{
    cr_assert(eq(int,
            draw("[" EVENT("STREAM_ACTIVE", "1", "3", "STREAM_ACTIVE",
                    ",\"Active Stream Id\":9") "," EVENT("STREAM_SWITCH", "1", "3", "STREAM_SWITCH",
                    ",\"Active Stream Id\":9,\"Compare\":\"<\",\"Left "
                    "Addr\":\"0x4\",\"Right Addr\":\"0x8\"") "," EVENT("a", "1", "9", "NOP",
                    "") "]"),
            0));
    has(out, "label=\"start stream 9\"");
    has(out, "label=\"switch to stream 9\\nif *0x4 < *0x8\"");
    has(out, "t0 -> t2 [style=dashed]");
    has(out, "t1 -> t2 [style=dashed]");
}

Test(reprise, resets_and_external_events_look_like_events)
{
    cr_assert(eq(int,
            draw("[" EVENT("EVENT_WAIT_4", "1", "3", "EVENT_WAIT", ",\"External\":true") "," EVENT(
                    "EVENT_RESET_4", "1", "3", "EVENT_RESET",
                    ",\"External\":true") "," EVENT("CAPTURE_RECORD_EXTERNAL_7", "1", "3",
                    "CAPTURE_RECORD_EXTERNAL",
                    "") "," EVENT("EVENT_RESET_8", "1", "3", "EVENT_RESET", "") "]"),
            0));
    has(out, "label=\"wait for external event 4\", shape=ellipse");
    has(out, "label=\"reset external event 4\", shape=ellipse");
    has(out, "label=\"record external event 7\", shape=ellipse");
    has(out, "label=\"reset event 8\", shape=ellipse");
    has(out, "peripheries=2");
}

Test(reprise, the_name_of_a_graph_is_its_title)
{
    cr_assert(eq(
            int, draw("[" EVENT("a", "7", "3", "NOP", ",\"Model Name\":\"my \\\"step\"") "]"), 0));
    has(out, "label=\"graph 7: my \\\"step\"");
}

Test(reprise, text_of_the_program_cannot_break_out_of_a_label)
{
    cr_assert(eq(int,
            draw("[" EVENT("a\\\"]; b [label=\\\"\\\\", "1", "3", "KERNEL_AIVEC", "") "]"), 0));
    has(out, "label=\"a\\\"]; b [label=\\\"\\\\\"");
}

Test(reprise, malformed_json_is_told_with_its_place)
{
    cr_assert(eq(int, draw("[\n{\"name\": \"a\",,}]"), 1));
    has(err, "input.json:2:14: ");
    cr_assert(eq(int, draw(""), 1));
    cr_assert(eq(int, draw("[{\"name\":\"a\""), 1));
    has(err, "input.json:1:");
    cr_assert(eq(int, draw("7"), 1));
    cr_assert(eq(int, draw("{\"a\":1}"), 1));
    has(err, "traceEvents");
}

Test(reprise, an_event_that_lacks_a_field_is_told_by_its_number)
{
#define GOOD EVENT("a", "1", "3", "NOP", "")
    static const struct {
        const char *event, *complaint;
    } rows[] = {
        { "5", "event 2 is no object" },
        { "{\"name\":\"a\"}", "event 2 has no text \"ph\"" },
        { "{\"ph\":\"X\"}", "event 2 has no text \"name\"" },
        { "{\"ph\":\"X\",\"name\":\"a\"}", "event 2 has no object \"args\"" },
        { "{\"ph\":\"X\",\"name\":\"a\",\"args\":[]}", "event 2 has no object \"args\"" },
        { "{\"ph\":\"X\",\"name\":\"a\",\"args\":{}}", "\"Task Type\"" },
        { "{\"ph\":\"X\",\"name\":\"a\",\"args\":{\"Task Type\":\"b\"}}", "\"Model Id\"" },
        { EVENT("a", "1.5", "3", "NOP", ""), "\"Model Id\"" },
        { EVENT("a", "1", "\"3\"", "NOP", ""), "\"Stream Id\"" },
        { EVENT("a", "1", "3", "COND", ",\"Sub Models\":3"), "that are no array" },
        { EVENT("a", "1", "3", "COND", ",\"Sub Models\":[{}]"), "no whole number" },
        { EVENT("a", "1", "3", "COND", ",\"Sub Models\":[2,2]"), "another conditional" },
        { EVENT("a", "1", "3", "COND", ",\"Sub Models\":[1]"), "in itself" },
        { EVENT("a", "2", "3", "COND", ",\"Sub Models\":[3]") "," EVENT(
                  "a", "3", "3", "COND", ",\"Sub Models\":[2]"),
                "in itself" },
    };
    char text[2048];
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        snprintf(text, sizeof text, "[" GOOD ",%s]", rows[i].event);
        cr_assert(eq(int, draw(text), 1), "%s", text);
        has(err, rows[i].complaint);
        cr_assert(eq(str, out, ""), "%s", text);
    }
}

Test(reprise, without_graphviz_it_says_what_to_install)
{
    char *environment[] = { (char *)"PATH=/nowhere", NULL };
    char picture[80];
    write_file(input, "[" GOOD "]", strlen("[" GOOD "]"));
    snprintf(picture, sizeof picture, "%s/a.svg", directory);
    const char *const arguments[] = { "graph", input, "-o", picture, NULL };
    cr_assert(eq(int, run_in(environment, arguments), 1));
    has(err, "graphviz");
    cr_assert(eq(int, access(picture, F_OK), -1));
}

/* Capture two streams with copies and a conditional, and dump them to the input. */
static void dump_a_capture(void)
{
    aclrtStream a = NULL, b = NULL;
    aclrtEvent events[2];
    char *memory = NULL;
    aclmdlRI graph = NULL, subs[2];
    aclmdlRICondHandle handle = NULL;
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    WORKS(aclrtMalloc((void **)&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtCreateEventExWithFlag(&events[0], ACL_EVENT_SYNC));
    WORKS(aclrtCreateEventExWithFlag(&events[1], ACL_EVENT_SYNC));
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
    WORKS(aclrtRecordEvent(events[0], a));
    WORKS(aclrtStreamWaitEvent(b, events[0]));
    WORKS(aclrtMemsetAsync(memory, 64, 1, 64, b));
    WORKS(aclrtRecordEvent(events[1], b));
    WORKS(aclrtStreamWaitEvent(a, events[1]));
    WORKS(aclmdlRICondHandleCreate(graph, 0, 0, &handle));
    const aclmdlRICondTaskParams params = {
        .handle = handle, .type = ACL_MODEL_RI_COND_TYPE_SWITCH, .size = 2, .modelRIArray = subs
    };
    WORKS(aclmdlRIAddCondTask(params, a, 0));
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRIDebugJsonPrint(graph, input, 1));
    WORKS(aclmdlRIDestroy(graph));
    WORKS(aclrtResetDevice(0));
}

static bool graphviz_is_there(void)
{
    return system("dot -V >/dev/null 2>&1") == 0;
}

Test(reprise, a_captured_graph_becomes_text_and_picture)
{
    char picture[80];
    dump_a_capture();
    cr_assert(eq(int, RUN("graph", input), 0), "%s", err);
    has(out, "label=\"fill\\n64 bytes\"");
    has(out, "label=\"case 1 (graph ");
    has(out, "[color=");
    snprintf(picture, sizeof picture, "%s/a.dot", directory);
    char *const standard = strdup(out);
    cr_assert(eq(int, RUN("graph", input, "-o", picture), 0));
    cr_assert(eq(str, out, ""));
    read_back(picture, out);
    cr_assert(eq(str, out, standard));
    free(standard);
    unlink(picture);
    if (!graphviz_is_there()) {
        cr_skip("graphviz is not installed");
    }
    snprintf(picture, sizeof picture, "%s/a.svg", directory);
    cr_assert(eq(int, RUN("graph", input, "-o", picture), 0), "%s", err);
    read_back(picture, out);
    has(out, "<svg");
    unlink(picture);
    snprintf(picture, sizeof picture, "%s/a.png", directory);
    cr_assert(eq(int, RUN("graph", "-o", picture, input), 0), "%s", err);
    read_back(picture, out);
    cr_assert(eq(int, memcmp(out, "\x89PNG", 4), 0));
    unlink(picture);
}

/* A dump with bytes changed, lost and doubled at places that a fixed seed chooses: it ends with 0
 * or 1, never by a signal, and with a sentence when it fails. */
Test(reprise, damaged_dumps_never_crash_it)
{
    static char whole[TEXT_MAX], damaged[TEXT_MAX];
    static const char alphabet[] = "\"{}[]:,\\0123456789-.eE tfn\n\xff\x01";
    uint64_t seed = 20240901;
    int refused = 0;
    dump_a_capture();
    read_back(input, whole);
    for (int round = 0; round < 300; round++) {
        size_t bytes = strlen(whole);
        memcpy(damaged, whole, bytes);
        for (int change = 0; change <= round % 4; change++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const size_t at = (size_t)(seed >> 33) % bytes;
            if (round % 3 == 0 && change == 0) {
                bytes = at + 1;
            }
            damaged[at] = alphabet[(seed >> 20) % (sizeof alphabet - 1)];
        }
        write_file(input, damaged, bytes);
        const int status = RUN("graph", input);
        cr_assert(eq(int, status, err[0] == '\0' ? 0 : 1), "seed round %d: %s", round, err);
        refused += status;
    }
    cr_assert(gt(int, refused, 100));
}
