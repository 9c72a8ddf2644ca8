// Profiling sessions and their file; mstx marks and ranges.

#include <acl/acl_prof.h>
#include <dirent.h>
#include <jansson.h>
#include <mstx/ms_tools_ext.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/stream.h"
#include "support/acl_test.h"

static char directory[64];
static uint32_t device;

static void with_directory(void)
{
    on_device();
    snprintf(directory, sizeof(directory), "/tmp/reprise-test-prof-%d/a/b", (int)getpid());
}

static void remove_directory(void)
{
    char command[96];
    snprintf(command, sizeof(command), "rm -rf /tmp/reprise-test-prof-%d", (int)getpid());
    cr_assert(eq(int, system(command), 0));
}

// The files of the directory.
static int count_files(void)
{
    int count = 0;
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return -1;
    }
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        count += entry->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

static json_t *load(int number)
{
    char path[128];
    json_error_t error;
    snprintf(path, sizeof(path), "%s/reprise-%d-%d.json", directory, (int)getpid(), number);
    json_t *root = json_load_file(path, 0, &error);
    cr_assert(ne(ptr, root, NULL), "%s: %s", path, error.text);
    return root;
}

// The object of a list whose `name` is so.
static json_t *named(const json_t *root, const char *list, const char *name)
{
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(root, list), index, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "name")), name) == 0) {
            return entry;
        }
    }
    return NULL;
}

static double number_of(const json_t *entry, const char *key)
{
    return json_number_value(json_object_get(entry, key));
}

static aclprofConfig *new_config(void)
{
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, NULL,
            ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_HCCL_TRACE);
    cr_assert(ne(ptr, config, NULL));
    return config;
}

Test(prof, a_session_leaves_a_file, .init = with_directory, .fini = remove_directory)
{
    aclrtStream stream;
    void *memory;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < 3; i++) {
        WORKS(aclrtMemsetAsync(memory, 4096, 0, 4096, stream)); // before the session
    }
    WORKS(aclprofInit(directory, strlen(directory)));
    aclprofConfig *config = new_config();
    WORKS(aclprofStart(config));
    for (int i = 0; i < 7; i++) {
        WORKS(aclrtMemsetAsync(memory, 4096, 0, 4096, stream));
    }
    WORKS(aclprofMarkEx("here", 4, stream));
    WORKS(aclrtSynchronizeStream(stream));
    WORKS(aclprofStop(config));
    WORKS(aclrtMemsetAsync(memory, 4096, 0, 4096, stream)); // after it
    WORKS(aclprofDestroyConfig(config));
    WORKS(aclprofFinalize());
    cr_assert(eq(int, count_files(), 1));

    json_t *root = load(0);
    cr_assert(eq(dbl, number_of(root, "pid"), getpid()));
    const json_t *api = named(root, "apis", "aclrtMemsetAsync");
    cr_assert(ne(ptr, (void *)api, NULL));
    cr_assert(eq(dbl, number_of(api, "calls"), 7));
    cr_assert(gt(dbl, number_of(api, "total_us"), 0));
    cr_assert(ge(dbl, number_of(api, "total_us"), number_of(api, "max_us")));
    cr_assert(eq(ptr, named(root, "apis", "aclrtMemcpy"), NULL)); // never called
    int32_t id;
    WORKS(aclrtStreamGetId(stream, &id));
    size_t index;
    json_t *entry;
    int found = 0;
    json_array_foreach(json_object_get(root, "streams"), index, entry)
    {
        if (number_of(entry, "stream") == id) {
            found++;
            cr_assert(eq(dbl, number_of(entry, "eager_tasks"), 8)); // the mark is one
            cr_assert(eq(dbl, number_of(entry, "replays"), 0));
            cr_assert(eq(dbl, number_of(entry, "pending"), 0));
        }
    }
    cr_assert(eq(int, found, 1));
    const json_t *mark = named(root, "marks", "here");
    cr_assert(ne(ptr, (void *)mark, NULL));
    cr_assert(ge(dbl, number_of(mark, "stream_us"), number_of(mark, "host_us")));
    json_decref(root);
}

Test(prof, each_session_has_its_file, .init = with_directory, .fini = remove_directory)
{
    WORKS(aclprofInit(directory, strlen(directory)));
    aclprofConfig *config = new_config();
    for (int i = 0; i < 2; i++) {
        WORKS(aclprofStart(config));
        WORKS(aclrtSynchronizeDevice());
        WORKS(aclprofStop(config));
        json_t *root = load(i);
        cr_assert(eq(dbl, number_of(named(root, "apis", "aclrtSynchronizeDevice"), "calls"), 1));
        json_decref(root);
    }
    WORKS(aclprofStart(config));
    WORKS(aclprofFinalize()); // ends what runs
    cr_assert(eq(int, count_files(), 3));
}

Test(prof, codes, .init = with_directory, .fini = remove_directory)
{
    aclprofConfig *config = new_config();
    aclprofConfig *other = new_config();
    char *const long_path = calloc(1, 5000);
    memset(long_path, 'x', 4999);
    ANSWERS(100043, aclprofFinalize());
    ANSWERS(100043, aclprofStart(config));
    ANSWERS(100043, aclprofStop(config));
    ANSWERS(100000, aclprofInit(NULL, 5));
    ANSWERS(100000, aclprofInit(directory, 0));
    ANSWERS(100000, aclprofInit(directory, strlen(directory) - 1));
    ANSWERS(100000, aclprofInit(directory, strlen(directory) + 1));
    ANSWERS(100000, aclprofInit(long_path, 4999));
    ANSWERS(100003, aclprofInit("/proc/nothing/here", strlen("/proc/nothing/here")));
    WORKS(aclprofInit(directory, strlen(directory)));
    ANSWERS(100042, aclprofInit(directory, strlen(directory)));
    ANSWERS(100000, aclprofStart(NULL));
    ANSWERS(100000, aclprofStop(NULL));
    WORKS(aclprofStart(config));
    ANSWERS(100042, aclprofStart(config));
    ANSWERS(100042, aclprofStart(other));
    ANSWERS(100000, aclprofStop(other));
    WORKS(aclprofStop(config));
    ANSWERS(100043, aclprofStop(config));
    WORKS(aclprofDestroyConfig(config));
    ANSWERS(100000, aclprofDestroyConfig(config));
    ANSWERS(100000, aclprofStart(config));
    ANSWERS(100000, aclprofDestroyConfig(NULL));
    WORKS(aclprofSetConfig(ACL_PROF_SYS_CPU_FREQ, "50", 2));
    ANSWERS(100000, aclprofSetConfig(ACL_PROF_ARGS_MIN, "50", 2));
    ANSWERS(100000, aclprofSetConfig(ACL_PROF_ARGS_MAX, "50", 2));
    ANSWERS(100000, aclprofSetConfig(ACL_PROF_SYS_CPU_FREQ, NULL, 2));
    ANSWERS(100000, aclprofSetConfig(ACL_PROF_SYS_CPU_FREQ, "50", 3));
    ANSWERS(100000, aclprofSetConfig(ACL_PROF_SYS_CPU_FREQ, long_path, 257));
    free(long_path);
    WORKS(aclprofFinalize());
}

Test(prof, configurations_that_make_no_sense, .init = on_device)
{
    uint32_t bad = 8;
    int events;
    cr_assert(eq(ptr, aclprofCreateConfig(&bad, 1, ACL_AICORE_NONE, NULL, 0), NULL));
    cr_assert(eq(ptr, aclprofCreateConfig(NULL, 1, ACL_AICORE_NONE, NULL, 0), NULL));
    cr_assert(eq(ptr, aclprofCreateConfig(&device, 65, ACL_AICORE_NONE, NULL, 0), NULL));
    cr_assert(eq(ptr, aclprofCreateConfig(&device, 1, (aclprofAicoreMetrics)77, NULL, 0), NULL));
    cr_assert(eq(ptr,
            aclprofCreateConfig(
                    &device, 1, ACL_AICORE_NONE, (const aclprofAicoreEvents *)(void *)&events, 0),
            NULL));
}

Test(prof, steps, .init = with_directory, .fini = remove_directory)
{
    WORKS(aclprofInit(directory, strlen(directory)));
    aclprofConfig *config = new_config();
    WORKS(aclprofStart(config));
    aclprofStepInfo *step = aclprofCreateStepInfo();
    cr_assert(ne(ptr, step, NULL));
    ANSWERS(100000, aclprofGetStepTimestamp(step, ACL_STEP_END, NULL));
    WORKS(aclprofGetStepTimestamp(step, ACL_STEP_START, NULL));
    ANSWERS(100000, aclprofGetStepTimestamp(step, ACL_STEP_START, NULL));
    WORKS(aclprofGetStepTimestamp(step, ACL_STEP_END, NULL));
    ANSWERS(100000, aclprofGetStepTimestamp(step, (aclprofStepTag)2, NULL));
    ANSWERS(100000, aclprofGetStepTimestamp(NULL, ACL_STEP_START, NULL));
    aclprofDestroyStepInfo(step);
    aclprofDestroyStepInfo(step); // harmless
    aclprofDestroyStepInfo(NULL);
    ANSWERS(100000, aclprofGetStepTimestamp(step, ACL_STEP_START, NULL));
    ANSWERS(100000, aclprofMarkEx(NULL, 4, NULL));
    ANSWERS(100000, aclprofMarkEx("here", 0, NULL));
    ANSWERS(107017, aclprofMarkEx("here", 4, (aclrtStream)1));
    WORKS(aclrtSynchronizeDevice());
    WORKS(aclprofStop(config));
    json_t *root = load(0);
    const json_t *start = named(root, "marks", "step 0 start");
    const json_t *end = named(root, "marks", "step 0 end");
    cr_assert(all(ne(ptr, (void *)start, NULL), ne(ptr, (void *)end, NULL)));
    cr_assert(le(dbl, number_of(start, "stream_us"), number_of(end, "stream_us")));
    json_decref(root);
}

Test(prof, mstx, .init = with_directory, .fini = remove_directory)
{
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    cr_assert(eq(u64, mstxRangeStartA("too early", NULL), MSTX_INVALID_RANGE_ID));
    mstxDomainHandle_t domain = mstxDomainCreateA("net");
    cr_assert(eq(ptr, mstxDomainCreateA("net"), domain)); // one name is one domain
    WORKS(aclprofInit(directory, strlen(directory)));
    aclprofConfig *config = new_config();
    WORKS(aclprofStart(config));
    mstxMarkA("point", NULL);
    mstxDomainMarkA(domain, "point of net", stream);
    const mstxRangeId outer = mstxRangeStartA("outer", stream);
    const mstxRangeId inner = mstxDomainRangeStartA(domain, "inner", NULL);
    cr_assert(all(ne(u64, outer, MSTX_INVALID_RANGE_ID), ne(u64, inner, outer)));
    usleep(2000);
    mstxDomainRangeEnd(domain, inner);
    mstxRangeEnd(outer);
    mstxRangeEnd(outer); // has no effect
    mstxRangeEnd(MSTX_INVALID_RANGE_ID);
    const mstxRangeId orphan = mstxRangeStartA("orphan", stream);
    WORKS(aclrtDestroyStream(stream));
    mstxRangeEnd(orphan); // its stream is gone
    WORKS(aclrtSynchronizeDevice());
    WORKS(aclprofStop(config));
    mstxDomainDestroy(domain);
    mstxDomainDestroy(domain);
    mstxDomainDestroy(NULL);

    json_t *root = load(0);
    cr_assert(ne(ptr, named(root, "marks", "point"), NULL));
    const json_t *mark = named(root, "marks", "point of net");
    cr_assert(eq(str, (char *)json_string_value(json_object_get(mark, "domain")), "net"));
    cr_assert(ne(ptr, json_object_get(mark, "stream_us"), NULL));
    cr_assert(ge(dbl, number_of(named(root, "marks", "inner"), "duration_us"), 2000));
    json_decref(root);
}

Test(prof, a_mark_is_no_part_of_a_capture, .init = with_directory, .fini = remove_directory)
{
    aclrtStream stream;
    WORKS(aclrtCreateStream(&stream));
    WORKS(aclprofInit(directory, strlen(directory)));
    aclprofConfig *config = new_config();
    WORKS(aclprofStart(config));
    struct rp_stream *captured = rp_stream_from_handle(stream);
    atomic_store(&captured->capture_status, RP_CAPTURE_ACTIVE);
    WORKS(aclprofMarkEx("inside", 6, stream));
    atomic_store(&captured->capture_status, RP_CAPTURE_NONE);
    cr_assert(eq(u64, captured->submitted, 0));
    WORKS(aclprofStop(config));
    json_t *root = load(0);
    cr_assert(eq(ptr, json_object_get(named(root, "marks", "inside"), "stream_us"), NULL));
    json_decref(root);
}
