// The log is silent unless asked for, and then writes whole lines. Each test has a directory of its
// own, which is removed at the end.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"

static char directory[64];
static char file_path[256];

static void setup(void)
{
    strcpy(directory, "/tmp/reprise_log_XXXXXX");
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    snprintf(file_path, sizeof(file_path), "%s/reprise-%ld.log", directory, (long)getpid());
    unsetenv("ASCEND_GLOBAL_LOG_LEVEL");
    unsetenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    unsetenv("ASCEND_PROCESS_LOG_PATH");
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    cr_assert(eq(int, system(command), 0));
}

TestSuite(log, .init = setup, .fini = teardown);

// The file's text, "" when there is none. Static.
static char *read_text(const char *path)
{
    static char text[1 << 20];
    text[0] = '\0';
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        fclose(file);
    }
    return text;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

// Log files in the directory, of whatever process.
static int count_files(void)
{
    int files = 0;
    DIR *entries = opendir(directory);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        files += strncmp(entry->d_name, "reprise-", 8) == 0;
    }
    closedir(entries);
    return files;
}

static void say_all(void)
{
    rp_log_debug("a %s line", "debug");
    rp_log_info("an %s line", "info");
    rp_log_warn("a %s line", "warning");
    rp_log_error("an %s line", "error");
}

// Runs say_all in a child whose descriptors 1 and 2 are a file; returns what it wrote there.
static char *say_all_to_stdout(void)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/stdout", directory);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        say_all();
        _exit(0);
    }
    int status;
    cr_assert(eq(int, waitpid(child, &status, 0) == child && status == 0, 1));
    return read_text(path);
}

Test(log, is_silent_unless_asked)
{
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "0", 1);
    setenv("HOME", directory, 1);
    cr_assert(eq(str, say_all_to_stdout(), ""));
    say_all();
    cr_assert(eq(int, count_files(), 0));
    cr_assert(not(rp_log_enabled(RP_LOG_ERROR)));
}

Test(log, default_level_is_error)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    say_all();
    char *text = read_text(file_path);
    cr_assert(eq(int, count_lines(text), 1));
    cr_assert(ne(ptr, strstr(text, "[ERROR] "), NULL));
    cr_assert(ne(ptr, strstr(text, "Z an error line\n"), NULL));
}

static void check_level(const char *level, int lines)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", level, 1);
    rp_env_device(); // its own lines, of level info, come first
    int before = count_lines(read_text(file_path));
    say_all();
    cr_assert(eq(int, count_lines(read_text(file_path)) - before, lines), "level %s", level);
}

Test(log, level_0_writes_all)
{
    check_level("0", 4);
}

Test(log, level_1_leaves_debug_out)
{
    check_level("1", 3);
}

Test(log, level_2_leaves_info_out)
{
    check_level("2", 2);
}

Test(log, level_4_writes_nothing)
{
    check_level("4", 0);
    cr_assert(eq(int, count_files(), 0), "no line, no file");
}

Test(log, bad_level_is_ignored_with_one_warning)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "5", 1);
    say_all();
    cr_assert(eq(int, count_lines(read_text(file_path)), 1), "the default is error");
    cr_assert(eq(int, rp_env_device_status(), RP_OK));
}

Test(log, warnings_of_the_environment_reach_the_log)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "2", 1);
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "yes", 1);
    say_all();
    char *text = read_text(file_path);
    cr_assert(eq(int, count_lines(text), 3));
    cr_assert(ne(ptr, strstr(text, "ASCEND_SLOG_PRINT_TO_STDOUT is \"yes\": ignored"), NULL));
}

Test(log, stdout_replaces_the_file)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
    char *text = say_all_to_stdout();
    cr_assert(eq(int, count_lines(text), 1));
    cr_assert(ne(ptr, strstr(text, "an error line\n"), NULL));
    cr_assert(eq(int, count_files(), 0));
}

Test(log, missing_directories_are_made)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/a/b", directory);
    setenv("ASCEND_PROCESS_LOG_PATH", path, 1);
    rp_log_error("deep");
    snprintf(file_path, sizeof(file_path), "%s/reprise-%ld.log", path, (long)getpid());
    cr_assert(eq(int, count_lines(read_text(file_path)), 1));
}

Test(log, directory_that_cannot_be_made_costs_only_the_log)
{
    setenv("ASCEND_PROCESS_LOG_PATH", "/proc/no/such", 1);
    errno = EXDEV;
    say_all();
    cr_assert(eq(int, errno, EXDEV));
}

Test(log, long_line_is_cut_and_ends_in_a_newline)
{
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    rp_log_error("%s", text);
    rp_log_error("next");
    char *lines = read_text(file_path);
    cr_assert(eq(int, count_lines(lines), 2));
    cr_assert(le(sz, strcspn(lines, "\n"), 2047));
    cr_assert(ne(ptr, strstr(lines, "next\n"), NULL));
}

Test(log, failure_is_logged_once)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    cr_assert(eq(int, rp_acl(rp_fail(RP_EPARAM, "count is 0")), 107000));
    rp_error_post(RP_EREMOTE, "rank 3 died");
    char *text = read_text(file_path);
    cr_assert(eq(int, count_lines(text), 1));
    cr_assert(ne(ptr, strstr(text, " RP_EPARAM: count is 0\n"), NULL));
}

#define WRITERS 4
#define LINES 500

static void *write_lines(void *argument)
{
    for (int i = 0; i < LINES; i++) {
        rp_log_error("writer %d %s line %03d end", *(int *)argument, "with a rather long", i);
    }
    return NULL;
}

Test(log, lines_of_threads_do_not_mix)
{
    setenv("ASCEND_PROCESS_LOG_PATH", directory, 1);
    pthread_t thread[WRITERS];
    int number[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        number[i] = i;
        cr_assert(eq(int, pthread_create(&thread[i], NULL, write_lines, &number[i]), 0));
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(thread[i], NULL);
    }
    char *rest = read_text(file_path);
    int lines = 0;
    for (char *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        int writer;
        int index;
        char *text = strstr(line, "writer ");
        cr_assert(ne(ptr, text, NULL));
        cr_assert(eq(
                int, sscanf(text, "writer %d with a rather long line %d end", &writer, &index), 2));
        cr_assert(eq(int, strncmp(line, "[ERROR] REPRISE(", 16), 0));
        cr_assert(eq(str, text + strlen(text) - 3, "end"));
        lines++;
    }
    cr_assert(eq(int, lines, WRITERS *LINES));
}
