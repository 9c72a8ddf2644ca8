// Where aclmdlRIDebugJsonPrint and aclmdlRIDebugPrint write to: files of every kind and the log,
// and graphs that have nothing to print yet.

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "support/acl_test.h"
#include "support/graph_json_case.h"

TestSuite(graph_json, .init = json_setup, .fini = json_teardown, .timeout = 60);

Test(graph_json, a_graph_that_is_still_captured_or_empty_prints_what_there_is)
{
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    WORKS(aclmdlRICaptureGetInfo(a, NULL, &graph));
    json_t *events = dump(graph, SUMMARY);
    cr_assert(eq(sz, json_array_size(events), 0));
    json_decref(events);
    copy_on(a);
    events = dump(graph, SUMMARY);
    cr_assert(eq(sz, json_array_size(events), 1));
    json_decref(events);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRIDebugPrint(graph));
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_json, a_longer_file_is_emptied_first)
{
    aclmdlRI graph = NULL;
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 10000; i++) {
        fputs("old text ", file);
    }
    fclose(file);
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    json_decref(dump(graph, SUMMARY));
    WORKS(aclmdlRIDestroy(graph));
}

Test(graph_json, what_cannot_be_opened_or_written_is_said)
{
    char fifo[] = "/tmp/reprise_fifo_XXXXXX";
    aclmdlRI graph = NULL;
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    ANSWERS(100000, aclmdlRIDebugJsonPrint(NULL, path, SUMMARY));
    ANSWERS(100000, aclmdlRIDebugJsonPrint(graph, NULL, SUMMARY));
    ANSWERS(107000, aclmdlRIDebugJsonPrint(graph, path, 2));
    ANSWERS(107000, aclmdlRIDebugJsonPrint(graph, "/nowhere/at/all.json", SUMMARY));
    cr_assert(ne(ptr, strstr(aclGetRecentErrMsg(), "/nowhere/at/all.json"), NULL));
    ANSWERS(107000, aclmdlRIDebugJsonPrint(graph, "/tmp", SUMMARY));
    ANSWERS(107000, aclmdlRIDebugJsonPrint(graph, "", SUMMARY));
    cr_assert(ne(ptr, mkdtemp(fifo), NULL));
    cr_assert(eq(int, rmdir(fifo), 0));
    cr_assert(eq(int, mkfifo(fifo, 0600), 0));
    ANSWERS(107000, aclmdlRIDebugJsonPrint(graph, fifo, SUMMARY)); // nobody reads: no waiting
    const int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ANSWERS(107000, aclmdlRIDebugJsonPrint(graph, fifo, SUMMARY));
    close(reader);
    unlink(fifo);
    WORKS(aclmdlRIDebugJsonPrint(graph, "/dev/null", SUMMARY));
    ANSWERS(100004, aclmdlRIDebugJsonPrint(graph, "/dev/full", SUMMARY));
    WORKS(aclmdlRIDestroy(graph));
    ANSWERS(107017, aclmdlRIDebugJsonPrint(graph, path, SUMMARY));
    ANSWERS(107017, aclmdlRIDebugPrint(graph));
    ANSWERS(100000, aclmdlRIDebugPrint(NULL));
}

Test(graph_json, debug_print_writes_to_the_log_alone)
{
    char log[64], line[4096];
    char directory[] = "/tmp/reprise_log_XXXXXX";
    aclmdlRI graph = NULL;
    bool found = false;
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    rp_log_setup(RP_LOG_INFO, false, directory);
    WORKS(aclmdlRICaptureBegin(a, RELAXED));
    copy_on(a);
    WORKS(aclmdlRICaptureEnd(a, &graph));
    WORKS(aclmdlRIDebugPrint(graph));
    snprintf(log, sizeof log, "%s/reprise-%d.log", directory, (int)getpid());
    FILE *file = fopen(log, "r");
    cr_assert(ne(ptr, file, NULL));
    while (fgets(line, sizeof line, file) != NULL) {
        found = found || strstr(line, "\"Task Type\":\"MEMCPY_ASYNC\"") != NULL;
    }
    fclose(file);
    cr_assert(found);
    WORKS(aclmdlRIDestroy(graph));
    unlink(log);
    rmdir(directory);
}
