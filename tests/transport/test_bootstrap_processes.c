// Ranks as processes: memory that is really passed, processes that die, limits and users.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/boot_crew.h"
#include "support/child.h"

static void start(void)
{
    setenv("HCCL_SOCKET_IFNAME", "=lo", 1);
    child_no_core();
}

TestSuite(bootstrap_processes, .init = start, .timeout = 180);

Test(bootstrap_processes, processes_get_one_communicator)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 8 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct boot_crew crew = { .size = sizes[i], .timeout_s = 20 };
        boot_crew_run(&crew);
        cr_assert(boot_crew_all(&crew, RP_OK, ""), "with %u ranks", sizes[i]);
        for (uint32_t r = 0; r < sizes[i]; r++) {
            cr_assert(crew.shared->outcome[r].zero_copy);
        }
        boot_crew_free(&crew);
    }
}

Test(bootstrap_processes, processes_and_threads_mix)
{
    struct boot_crew crew = { .size = 6, .timeout_s = 20, .threads = 2 };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    boot_crew_free(&crew);
}

// Rank 2 dies after its first, second, ... step: the others end soon and name it.
Test(bootstrap_processes, a_rank_that_is_killed_is_named)
{
    int died = 0;
    for (uint32_t steps = 1; steps <= 14; steps++) {
        struct boot_crew crew = { .size = 4, .timeout_s = 2, .steps_max = { 0, 0, steps, 0 } };
        boot_crew_run(&crew);
        for (uint32_t i = 0; i < 4; i++) {
            const struct boot_outcome *outcome = &crew.shared->outcome[i];
            if (i == 2) {
                continue;
            }
            cr_assert(eq(int, crew.exit_code[i], 0), "no signal, no crash");
            // Killed before it said hello: it never arrived. After it was told to commit: so were
            // the others, whose next operation meets a dead peer.
            bool never = outcome->status == RP_ECONNTIMEOUT &&
                         strstr(outcome->sentence, "rank 2 never arrived within 2 s") != NULL;
            bool dead = outcome->status == RP_EREMOTE &&
                        strstr(outcome->sentence, "rank 2 (pid ") != NULL;
            bool done = outcome->status == RP_OK;
            died += dead ? 1 : 0;
            cr_assert(never || dead || done, "%u steps, rank %u: %s %s", steps, i,
                    rp_status_name(outcome->status), outcome->sentence);
            cr_assert(lt(u64, outcome->elapsed_ns, 3500 * RP_NS_PER_MS));
        }
        boot_crew_free(&crew);
    }
    cr_assert(gt(int, died, 6));
}

// The same with the rank whose process has the root and leads the node.
static bool named_node(struct boot_crew *crew, uint32_t rank)
{
    const char name[2] = { ((const char *)crew->arg)[rank], '\0' };
    return setenv("REPRISE_NODE_ID", name, 1) == 0;
}

// The same between nodes, while the connections are made, too.
Test(bootstrap_processes, a_rank_killed_on_another_node_is_named)
{
    int died = 0;
    for (uint32_t steps = 3; steps <= 40; steps++) {
        struct boot_crew crew = { .size = 4,
            .timeout_s = 2,
            .prepare = named_node,
            .arg = (void *)(uintptr_t) "aabb",
            .steps_max = { 0, 0, steps, 0 } };
        boot_crew_run(&crew);
        for (uint32_t i = 0; i < 4; i++) {
            if (i == 2) {
                continue;
            }
            const struct boot_outcome *outcome = &crew.shared->outcome[i];
            cr_assert(eq(int, crew.exit_code[i], 0), "no signal, no crash");
            const bool named = strstr(outcome->sentence, "rank 2") != NULL;
            died += outcome->status == RP_EREMOTE && named ? 1 : 0;
            cr_assert(outcome->status == RP_OK || ((outcome->status == RP_EREMOTE ||
                                                           outcome->status == RP_ECONNTIMEOUT) &&
                                                          named),
                    "%u steps, rank %u: %s %s", steps, i, rp_status_name(outcome->status),
                    outcome->sentence);
            cr_assert(lt(u64, outcome->elapsed_ns, 3500 * RP_NS_PER_MS));
        }
        boot_crew_free(&crew);
    }
    cr_assert(gt(int, died, 12));
}

Test(bootstrap_processes, a_killed_root_is_named)
{
    int died = 0;
    for (uint32_t steps = 3; steps <= 24; steps += 3) {
        struct boot_crew crew = { .size = 3, .timeout_s = 2, .steps_max = { steps, 0, 0 } };
        boot_crew_run(&crew);
        for (uint32_t i = 1; i < 3; i++) {
            const struct boot_outcome *outcome = &crew.shared->outcome[i];
            cr_assert(eq(int, crew.exit_code[i], 0), "no signal, no crash");
            bool away = outcome->status == RP_ECONNTIMEOUT &&
                        strstr(outcome->sentence, "the root at 127.0.0.1:") != NULL;
            bool dead = outcome->status == RP_EREMOTE &&
                        strstr(outcome->sentence, "the root at 127.0.0.1:") != NULL;
            bool done = outcome->status == RP_OK;
            died += dead ? 1 : 0;
            cr_assert(away || dead || done, "%u steps, rank %u: %s %s", steps, i,
                    rp_status_name(outcome->status), outcome->sentence);
            cr_assert(lt(u64, outcome->elapsed_ns, 3500 * RP_NS_PER_MS));
        }
        boot_crew_free(&crew);
    }
    cr_assert(gt(int, died, 0));
}

Test(bootstrap_processes, node_ids_are_nodes)
{
    static const char *const ids[][2] = { { "xxyy", "aabb" }, { "xyxy", "abab" },
        { "yxxx", "abbb" }, { "qwer", "abcd" } };
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct boot_crew crew = {
            .size = 4, .timeout_s = 20, .prepare = named_node, .arg = (void *)(uintptr_t)ids[i][0]
        };
        boot_crew_run(&crew);
        cr_assert(boot_crew_partition(&crew, ids[i][1]), "%s", ids[i][0]);
        cr_assert(lt(u64, crew.shared->outcome[0].elapsed_ns, 3 * RP_NS_PER_S));
        boot_crew_free(&crew);
    }
}

static bool same_node(struct boot_crew *crew, uint32_t rank)
{
    (void)crew;
    (void)rank;
    return setenv("REPRISE_NODE_ID", "here", 1) == 0;
}

Test(bootstrap_processes, one_node_id_is_one_node)
{
    struct boot_crew crew = { .size = 3, .timeout_s = 20, .prepare = same_node };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    boot_crew_free(&crew);
}

static bool become(struct boot_crew *crew, uint32_t rank)
{
    const uid_t *uid = crew->arg;
    return setuid(uid[rank]) == 0;
}

Test(bootstrap_processes, memory_is_shared_with_ones_own_user)
{
    if (geteuid() != 0) {
        cr_skip("needs root, to become other users");
    }
    static const uid_t same[] = { 4321, 4321, 4321 };
    static const uid_t other[] = { 4321, 4321, 4322 };
    struct boot_crew crew = {
        .size = 3, .timeout_s = 10, .prepare = become, .arg = (void *)(uintptr_t)same
    };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    crew.arg = (void *)(uintptr_t)other;
    boot_crew_run(&crew);
    const struct boot_outcome *outcome = crew.shared->outcome;
    static const char sentence[] = "rank 2 runs as user 4322 and rank 0 as user 4321";
    cr_assert(eq(int, outcome[2].status, RP_ENOTSUP));
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(ne(ptr, strstr(outcome[i].sentence, sentence), NULL), "%s", outcome[i].sentence);
        cr_assert(lt(u64, outcome[i].elapsed_ns, 3 * RP_NS_PER_S));
    }
    boot_crew_free(&crew);
}

// Rank 1 may open only so many descriptors more.
static bool few_descriptors(struct boot_crew *crew, struct boot_rank *rank)
{
    const unsigned *spare = crew->arg;
    if (rank->request.rank != 1) {
        return true;
    }
    struct rlimit limit = { .rlim_cur = fds_open() + *spare, .rlim_max = 1024 };
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

Test(bootstrap_processes, a_descriptor_limit_is_named)
{
    int named = 0;
    for (unsigned spare = 0; spare < 16; spare++) {
        struct boot_crew crew = {
            .size = 4, .timeout_s = 2, .before_join = few_descriptors, .arg = &spare
        };
        boot_crew_run(&crew);
        const struct boot_outcome *outcome = crew.shared->outcome;
        if (outcome[1].status == RP_OK) {
            cr_assert(boot_crew_all(&crew, RP_OK, ""));
        } else {
            for (uint32_t i = 0; i < 4; i++) {
                cr_assert(lt(int, outcome[i].status, 0));
                cr_assert(lt(u64, outcome[i].elapsed_ns, 4 * RP_NS_PER_S));
            }
            bool said = strstr(outcome[1].sentence, "RLIMIT_NOFILE") != NULL;
            bool known = strstr(outcome[1].sentence, "Too many open files") != NULL;
            cr_assert(said || known, "%u spare: %s", spare, outcome[1].sentence);
            named += said ? 1 : 0;
        }
        boot_crew_free(&crew);
    }
    cr_assert(gt(int, named, 2));
}

// Rank 1 has no room in its address space for a peer's arena.
static bool little_room(struct boot_crew *crew, struct boot_rank *rank)
{
    (void)crew;
    if (rank->request.rank != 1) {
        return true;
    }
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    bool read = fscanf(file, "%lu", &pages) == 1;
    fclose(file);
    rlim_t used = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit = { .rlim_cur = used + (48u << 20), .rlim_max = RLIM_INFINITY };
    return read && setrlimit(RLIMIT_AS, &limit) == 0;
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

Test(bootstrap_processes, without_room_for_arenas_they_go_without_zero_copy)
{
    if (SANITIZED) {
        cr_skip("the address sanitizer's own mappings are above any such limit");
    }
    struct boot_crew crew = { .size = 3, .timeout_s = 10, .before_join = little_room };
    boot_crew_run(&crew);
    cr_assert(boot_crew_all(&crew, RP_OK, ""));
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(not(crew.shared->outcome[i].zero_copy), "rank %u", i);
    }
    boot_crew_free(&crew);
}

static bool no_wait(struct boot_crew *crew, uint32_t rank)
{
    (void)crew;
    return rank != 0 || setenv("HCCL_SOCKET_IFNAME", "=nothing7", 1) == 0;
}

Test(bootstrap_processes, a_root_without_an_address_says_what_there_is)
{
    struct boot_crew crew = { .size = 2, .timeout_s = 2, .prepare = no_wait };
    boot_crew_run(&crew);
    cr_assert(ne(ptr, strstr(crew.shared->root_sentence, "HCCL_SOCKET_IFNAME"), NULL));
    cr_assert(ne(ptr, strstr(crew.shared->root_sentence, "lo (127.0.0.1)"), NULL), "%s",
            crew.shared->root_sentence);
    boot_crew_free(&crew);
}
