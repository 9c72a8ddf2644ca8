// reprise graph FILE [-o OUT]: a dump becomes a drawing.

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/reprise/command.h"
#include "tools/reprise/dot.h"
#include "tools/reprise/dump.h"

extern char **environ;

struct request {
    const char *file;
    const char *out;    // NULL: standard output
    const char *format; // what dot makes; NULL: its own language
};

static bool has_ending(const char *path, const char *ending)
{
    const size_t chars = strlen(path), wanted = strlen(ending);
    return chars > wanted && strcmp(path + chars - wanted, ending) == 0;
}

/* The format that the ending of `out` asks for. */
static bool choose_format(struct request *request)
{
    if (request->out == NULL || has_ending(request->out, ".dot") ||
            has_ending(request->out, ".gv")) {
        return true;
    }
    if (has_ending(request->out, ".svg")) {
        request->format = "-Tsvg";
    } else if (has_ending(request->out, ".png")) {
        request->format = "-Tpng";
    } else {
        complain("%s ends neither in .svg, .png, .dot nor .gv", request->out);
        return false;
    }
    return true;
}

static bool parse(int count, char **argument, struct request *request)
{
    *request = (struct request){ .file = NULL };
    for (int i = 0; i < count; i++) {
        if (strcmp(argument[i], "-o") == 0) {
            if (i + 1 == count) {
                complain("a file name must follow -o");
                return false;
            }
            request->out = argument[++i];
        } else if (argument[i][0] == '-' && argument[i][1] != '\0') {
            complain("graph has no option '%s'; reprise --help tells what it has", argument[i]);
            return false;
        } else if (request->file != NULL) {
            complain("graph draws one file, and '%s' is a second one", argument[i]);
            return false;
        } else {
            request->file = argument[i];
        }
    }
    if (request->file == NULL) {
        complain("graph needs a file that aclmdlRIDebugJsonPrint has written; reprise --help "
                 "tells more");
        return false;
    }
    return choose_format(request);
}

/* Text to standard output or to a .dot file. */
static int write_text(const struct dump *dump, const char *path)
{
    if (path == NULL) {
        return dot_write(dump, stdout) ? REPRISE_DONE : REPRISE_FAILED;
    }
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        complain("%s cannot be written: %s", path, strerror(errno));
        return REPRISE_FAILED;
    }
    const bool drawn = dot_write(dump, out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        complain("%s cannot be written", path);
        return REPRISE_FAILED;
    }
    return drawn ? REPRISE_DONE : REPRISE_FAILED;
}

/* Run dot with `text` as its input, and wait for it. */
static int run_dot(FILE *text, const char *format, const char *path)
{
    char *const arguments[] = { (char *)"dot", (char *)format, (char *)"-o", (char *)path, NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        complain("out of memory");
        return REPRISE_FAILED;
    }
    int failed = posix_spawn_file_actions_adddup2(&actions, fileno(text), STDIN_FILENO);
    if (failed == 0) {
        failed = posix_spawnp(&child, "dot", &actions, NULL, arguments, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT) {
        complain("%s is drawn by the program dot, which is not installed; install the package "
                 "graphviz, or ask for a .dot file",
                path);
        return REPRISE_FAILED;
    }
    if (failed != 0) {
        complain("the program dot cannot be run: %s", strerror(failed));
        return REPRISE_FAILED;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        complain("the program dot failed; %s was not drawn", path);
        return REPRISE_FAILED;
    }
    return REPRISE_DONE;
}

/* dot reads from a file, not a pipe: should it end early, there is no broken pipe. */
static int draw(const struct dump *dump, const struct request *request)
{
    FILE *text = tmpfile();
    if (text == NULL) {
        complain("there is no room for a temporary file: %s", strerror(errno));
        return REPRISE_FAILED;
    }
    int status = REPRISE_FAILED;
    if (dot_write(dump, text)) {
        if (fflush(text) != 0 || ferror(text) || lseek(fileno(text), 0, SEEK_SET) != 0) {
            complain("the temporary file cannot be written: %s", strerror(errno));
        } else {
            status = run_dot(text, request->format, request->out);
        }
    }
    fclose(text);
    return status;
}

int command_graph(int count, char **argument)
{
    struct request request;
    struct dump dump;
    if (!parse(count, argument, &request)) {
        return REPRISE_USAGE;
    }
    int status = REPRISE_FAILED;
    if (dump_read(&dump, request.file)) {
        status = request.format == NULL ? write_text(&dump, request.out) : draw(&dump, &request);
    }
    dump_free(&dump);
    return status;
}
