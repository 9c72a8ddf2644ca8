// Every function that the headers declare and the library has is called with nothing but zeros, in
// a process of its own, before a device is set and after. It may work or not; it neither crashes
// nor hangs, and an error comes with a sentence that names the call.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 60
#define NAME_BYTES 80

// As many as the longest call has, and then enough that a struct by value is all zeros, too.
typedef int any_call(long, long, long, long, long, long, long, long, long, long, long, long, long,
        long, long, long, long, long, long, long, long, long, long, long);
typedef const char *message_call(void);
typedef int set_device_call(int32_t device);

static void *library;
static int called;
static char faults[8192];

static void add_fault(const char *name, bool on_device, const char *what)
{
    const size_t used = strlen(faults);
    snprintf(faults + used, sizeof(faults) - used, "%s%s: %s\n", name,
            on_device ? ", device set" : "", what);
}

// In the child. 0: fine; 1: the sentence is missing; 2: it does not name the call.
static int judge(const char *name, bool has_code, bool on_device)
{
    any_call *call = NULL;
    message_call *message = NULL;
    set_device_call *set_device = NULL;
    *(void **)&call = dlsym(library, name);
    *(void **)&message = dlsym(library, "aclGetRecentErrMsg");
    *(void **)&set_device = dlsym(library, "aclrtSetDevice");
    if (on_device && set_device(0) != 0) {
        return 3;
    }
    const int code = call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    if (!has_code || code == 0) {
        return 0;
    }
    const char *why = message();
    char operator_name[NAME_BYTES]; // aclnn's two calls of an operator both name the operator
    const char *half = strstr(name, "GetWorkspaceSize");
    snprintf(operator_name, sizeof(operator_name), "%.*s",
            (int)(half == NULL ? strlen(name) : (size_t)(half - name)), name);
    return why == NULL ? 1 : strstr(why, operator_name) == NULL ? 2 : 0;
}

static void try_call(const char *name, bool has_code, bool on_device)
{
    static const char *const wrong[] = { NULL, "an error without a sentence",
        "a sentence that does not name the call", "the device could not be set" };
    int status = 0;
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        alarm(LIMIT_S);
        _exit(judge(name, has_code, on_device));
    }
    cr_assert(eq(int, waitpid(child, &status, 0) == child, 1));
    called++;
    if (!WIFEXITED(status)) {
        add_fault(name, on_device, WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashes");
    } else if (WEXITSTATUS(status) != 0) {
        const int exit_code = WEXITSTATUS(status);
        add_fault(name, on_device, exit_code < 4 ? wrong[exit_code] : "it ends the process");
    }
}

// What is declared by the line, if it begins a declaration: after the mark and the type, the name.
static void try_declared(const char *line)
{
    static const char *const types[] = { "aclError ", "HcclResult ", "aclnnStatus " };
    static const char *const marks[] = {
        "ACL_FUNC_VISIBILITY ",
        "HCCL_FUNC_VISIBILITY ",
        "ACLNN_API ",
    };
    const char *type = NULL;
    for (size_t m = 0; type == NULL && m < sizeof(marks) / sizeof(marks[0]); m++) {
        type = strncmp(line, marks[m], strlen(marks[m])) == 0 ? line + strlen(marks[m]) : NULL;
    }
    const char *open = type == NULL ? NULL : strchr(type, '(');
    if (open == NULL) {
        return;
    }
    const char *begin = open;
    while (begin > type && begin[-1] != ' ' && begin[-1] != '*') {
        begin--;
    }
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "%.*s", (int)(open - begin), begin);
    bool has_code = false;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        has_code |= strncmp(type, types[t], strlen(types[t])) == 0;
    }
    if (dlsym(library, name) != NULL) { // else it is not built
        try_call(name, has_code, false);
        try_call(name, has_code, true);
    }
}

static void try_header(const char *path)
{
    char line[512];
    FILE *file = fopen(path, "re");
    cr_assert(file != NULL, "%s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
        try_declared(line);
    }
    fclose(file);
}

static void try_folder(const char *folder)
{
    char path[4096];
    DIR *directory = opendir(folder);
    cr_assert(directory != NULL, "%s", folder);
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        const size_t length = strlen(entry->d_name);
        if (length > 2 && strcmp(entry->d_name + length - 2, ".h") == 0) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            try_header(path);
        }
    }
    closedir(directory);
}

Test(sentences, of_every_function_that_is_given_nothing, .timeout = 280)
{
    setenv("REPRISE_DEVICE_MEMORY", "64M", 1);
    library = dlopen(RP_TEST_BINARY_DIR "/lib64/libopapi.so", RTLD_NOW | RTLD_LOCAL);
    cr_assert(library != NULL, "%s", dlerror());
    try_folder(RP_TEST_SOURCE_DIR "/include/acl");
    try_folder(RP_TEST_SOURCE_DIR "/include/acl/detail");
    try_folder(RP_TEST_SOURCE_DIR "/include/hccl");
    try_folder(RP_TEST_SOURCE_DIR "/include/aclnn");
    try_folder(RP_TEST_SOURCE_DIR "/include/aclnnop");
    cr_assert(called > 500, "only %d calls were made", called);
    cr_assert(eq(int, faults[0] == '\0', 1), "\n%s", faults);
}
