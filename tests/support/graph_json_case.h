#ifndef TESTS_SUPPORT_GRAPH_JSON_CASE_H
#define TESTS_SUPPORT_GRAPH_JSON_CASE_H

/*
 * For suites of aclmdlRIDebugJsonPrint: a file to write to, and its events.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/acl_test.h"

#define BYTES 256
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED
#define SUMMARY ((uint32_t)ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY)
#define VERBOSE ((uint32_t)ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE)

static aclrtStream a, b;
static char *device, *other;
static char path[] = "/tmp/reprise_json_XXXXXX";

static inline void json_setup(void)
{
    on_device();
    WORKS(aclrtCreateStream(&a));
    WORKS(aclrtCreateStream(&b));
    WORKS(aclrtMalloc((void **)&device, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    WORKS(aclrtMalloc((void **)&other, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    const int fd = mkstemp(path);
    cr_assert(ge(int, fd, 0));
    close(fd);
}

static inline void json_teardown(void)
{
    unlink(path);
    WORKS(aclrtFree(device));
    WORKS(aclrtFree(other));
    WORKS(aclrtDestroyStream(a));
    WORKS(aclrtDestroyStream(b));
    WORKS(aclrtResetDevice(0));
}

static inline void copy_on(aclrtStream stream)
{
    WORKS(aclrtMemcpyAsync(other, BYTES, device, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

/** dump: the events of the graph, which the caller releases. */
static inline json_t *dump(aclmdlRI graph, uint32_t flags)
{
    json_error_t error;
    WORKS(aclmdlRIDebugJsonPrint(graph, path, flags));
    json_t *events = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    cr_assert(ne(ptr, events, NULL), "line %d: %s", error.line, error.text);
    cr_assert(eq(int, (int)json_typeof(events), (int)JSON_ARRAY));
    return events;
}

/* Of the event at `index`: a field, or one of its "args". */
static inline json_t *field(const json_t *events, size_t index, const char *key)
{
    json_t *value = json_object_get(json_array_get(events, index), key);
    cr_assert(ne(ptr, value, NULL), "event %zu has no %s", index, key);
    return value;
}

static inline const char *text(const json_t *events, size_t index, const char *key)
{
    return json_string_value(field(events, index, key));
}

static inline json_t *arg(const json_t *events, size_t index, const char *key)
{
    return json_object_get(field(events, index, "args"), key);
}

static inline void arg_is(const json_t *events, size_t index, const char *key, const char *expected)
{
    const char *found = json_string_value(arg(events, index, key));
    cr_assert(ne(ptr, (void *)found, NULL), "event %zu has no %s", index, key);
    cr_assert(eq(str, (char *)found, (char *)expected), "event %zu, %s", index, key);
}

static inline void arg_number(const json_t *events, size_t index, const char *key, int64_t expected)
{
    const bool whole = json_is_integer(arg(events, index, key));
    cr_assert(whole, "event %zu, %s", index, key);
    cr_assert(eq(i64, json_integer_value(arg(events, index, key)), expected), "event %zu, %s",
            index, key);
}

static inline void no_arg(const json_t *events, size_t index, const char *key)
{
    cr_assert(eq(ptr, arg(events, index, key), NULL), "event %zu has %s", index, key);
}

#endif
