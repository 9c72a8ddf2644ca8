#include "transport/port_holder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define HOLDERS_MAX 8   // more are not worth a sentence
#define STATE_LISTEN 10 // TCP_LISTEN as /proc/net/tcp prints it

struct holder {
    unsigned port;
    unsigned long inode;
    long pid; // 0: not ours to see
    char program[32];
};

static bool in_list(const struct rp_port_list *ports, unsigned port)
{
    for (uint32_t i = 0; i < ports->count; i++) {
        if (port >= ports->range[i].first && port <= ports->range[i].last) {
            return true;
        }
    }
    return false;
}

// Adds the listeners of one of the kernel's tables.
static size_t read_table(
        const char *path, const struct rp_port_list *ports, struct holder *holder, size_t count)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return count;
    }
    char line[512];
    while (count < HOLDERS_MAX && fgets(line, sizeof(line), file) != NULL) {
        unsigned port;
        unsigned state;
        unsigned long inode;
        int fields = sscanf(line,
                " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*d %lu",
                &port, &state, &inode);
        if (fields == 3 && state == STATE_LISTEN && in_list(ports, port)) {
            holder[count++] = (struct holder){ .port = port, .inode = inode };
        }
    }
    fclose(file);
    return count;
}

// Fills in the program's name, from /proc/<pid>/comm.
static void name_program(struct holder *holder, long pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    holder->pid = pid;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    if (fgets(holder->program, sizeof(holder->program), file) != NULL) {
        holder->program[strcspn(holder->program, "\n")] = '\0';
    }
    fclose(file);
}

// Looks through the descriptors of process `pid` for the holders' sockets.
static void look_at_process(long pid, struct holder *holder, size_t count)
{
    char path[320];
    snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        char target[64];
        unsigned long inode;
        snprintf(path, sizeof(path), "/proc/%ld/fd/%s", pid, entry->d_name);
        ssize_t length = readlink(path, target, sizeof(target) - 1);
        target[length < 0 ? 0 : length] = '\0';
        if (sscanf(target, "socket:[%lu]", &inode) != 1) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            if (holder[i].inode == inode && holder[i].pid == 0) {
                name_program(&holder[i], pid);
            }
        }
    }
    closedir(directory);
}

static void look_at_processes(struct holder *holder, size_t count)
{
    DIR *directory = opendir("/proc");
    if (directory == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            look_at_process(strtol(entry->d_name, NULL, 10), holder, count);
        }
    }
    closedir(directory);
}

void rp_port_holders(const struct rp_port_list *ports, char *text, size_t bytes)
{
    struct holder holder[HOLDERS_MAX];
    size_t count = read_table("/proc/self/net/tcp", ports, holder, 0);
    count = read_table("/proc/self/net/tcp6", ports, holder, count);
    if (count > 0) {
        look_at_processes(holder, count);
    }
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < bytes; i++) {
        used += (size_t)snprintf(
                text + used, bytes - used, "%s%u", i == 0 ? "" : ", ", holder[i].port);
        if (holder[i].pid != 0 && used < bytes) {
            used += (size_t)snprintf(text + used, bytes - used, " by %s (pid %ld)",
                    holder[i].program[0] == '\0' ? "a process" : holder[i].program, holder[i].pid);
        }
    }
}
