// Ranks as threads of one process: what they agree on, who is missing, what differs.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "support/boot.h"
#include "support/child.h"

static struct boot_group group;

static void start(void)
{
    setenv("HCCL_SOCKET_IFNAME", "=lo", 1);
}

TestSuite(bootstrap, .init = start, .timeout = 120);

static uint64_t slowest_ns(void)
{
    uint64_t slowest = 0;
    for (uint32_t i = 0; i < group.size; i++) {
        if (!group.absent[i] && group.outcome[i].elapsed_ns > slowest) {
            slowest = group.outcome[i].elapsed_ns;
        }
    }
    return slowest;
}

// Runs an attempt in which every rank shall fail alike.
static void fails(rp_status status, const char *text)
{
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, status, text));
    boot_group_close(&group);
}

static void succeeds(uint32_t size)
{
    boot_group_open(&group, size, 10);
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""), "with %u ranks", size);
    boot_group_close(&group);
}

Test(bootstrap, threads_get_one_communicator)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 8 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        boot_group_open(&group, sizes[i], 10);
        boot_group_run(&group);
        cr_assert(boot_group_all(&group, RP_OK, ""), "with %u ranks", sizes[i]);
        for (uint32_t r = 0; r < sizes[i]; r++) {
            const struct rp_comm *comm = group.rank[r].comm;
            cr_assert(eq(u32, comm->rank, r));
            cr_assert(eq(u32, comm->size, sizes[i]));
            cr_assert(eq(str, group.outcome[r].name, group.outcome[0].name));
            cr_assert(zero(int, strncmp(comm->name, "127.0.0.1%lo_", 13)), "%s", comm->name);
            cr_assert(group.outcome[r].zero_copy);
            cr_assert(eq(u64, comm->lines.window_bytes, 1 << 20));
        }
        boot_group_close(&group);
    }
}

// HcclCommInitAll: one thread starts all joins and drives all loops.
Test(bootstrap, one_thread_can_drive_all_ranks)
{
    boot_group_open(&group, 4, 10);
    for (uint32_t i = 0; i < 4; i++) {
        struct boot_rank *rank = &group.rank[i];
        cr_assert(eq(int, rp_join_start(rank->loop, &rank->request, &rank->join), RP_OK));
    }
    uint32_t done = 0;
    uint64_t deadline_ns = rp_deadline_ns(20 * RP_NS_PER_S);
    while (done < 4 && rp_now_ns() < deadline_ns) {
        for (uint32_t i = 0; i < 4; i++) {
            struct boot_rank *rank = &group.rank[i];
            rp_loop_step(rank->loop);
            bool finished = rp_join_finished(rank->join);
            rp_status st = rank->comm == NULL ? rp_join_poll(rank->join, &rank->comm) : RP_AGAIN;
            cr_assert(ge(int, st, 0), "%s", rp_error_take());
            cr_assert(eq(int, finished, rank->comm != NULL));
            done += st == RP_OK ? 1 : 0;
        }
    }
    cr_assert(eq(u32, done, 4));
    boot_group_close(&group);
}

Test(bootstrap, a_name_can_be_given)
{
    boot_group_open(&group, 3, 10);
    for (uint32_t i = 0; i < 3; i++) {
        strcpy(group.rank[i].request.settings.name, "tensor parallel 0");
    }
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));
    cr_assert(eq(str, group.rank[2].comm->name, "tensor parallel 0"));
    struct rp_comm *found = rp_comm_from_name(2, "tensor parallel 0");
    cr_assert(eq(ptr, found, group.rank[2].comm));
    rp_comm_unref(found);
    boot_group_close(&group);
}

Test(bootstrap, ranks_in_any_order_on_any_device)
{
    boot_group_open(&group, 4, 10);
    for (uint32_t i = 0; i < 4; i++) {
        group.rank[i].request.rank = 3 - i;
        group.rank[i].outcome = &group.outcome[3 - i];
    }
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(eq(i32, group.rank[0].comm->member[i].device_id, (int32_t)(3 - i)));
    }
    boot_group_close(&group);
}

// ---- ranks that come late, or never ----

Test(bootstrap, a_late_rank_is_waited_for)
{
    boot_group_open(&group, 4, 20);
    group.rank[3].delay_ms = 1500;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));
    cr_assert(ge(u64, group.outcome[0].elapsed_ns, RP_NS_PER_S));
    boot_group_close(&group);
}

Test(bootstrap, a_rank_that_never_arrives_is_named_in_time)
{
    boot_group_open(&group, 4, 1);
    group.absent[3] = true;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_ECONNTIMEOUT,
            "rank 3 never arrived within 1 s (HCCL_CONNECT_TIMEOUT); 3 of 4 ranks are there"));
    cr_assert(lt(u64, slowest_ns(), 2 * RP_NS_PER_S));
    cr_assert(ge(u64, slowest_ns(), 900 * RP_NS_PER_MS));
    boot_group_close(&group);
    succeeds(4);
}

Test(bootstrap, all_that_are_missing_are_named)
{
    boot_group_open(&group, 8, 1);
    group.absent[1] = true;
    group.absent[4] = true;
    group.absent[5] = true;
    group.absent[6] = true;
    fails(RP_ECONNTIMEOUT, "ranks 1, 4-6 never arrived within 1 s");
}

// The root can be missing among the ranks too: somebody drives its device.
Test(bootstrap, the_roots_own_rank_may_be_the_last)
{
    boot_group_open(&group, 3, 10);
    // The root lives on the loop of the thread that is rank 2.
    for (uint32_t i = 0; i < 3; i++) {
        group.rank[i].request.rank = (i + 2) % 3;
        group.rank[i].outcome = &group.outcome[(i + 2) % 3];
    }
    group.rank[0].delay_ms = 0;
    group.rank[1].delay_ms = 300; // rank 0, the leader
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));
    boot_group_close(&group);
}

// Who comes after the end hears at once why, instead of dialing until its own time is up.
Test(bootstrap, a_latecomer_is_told_why_it_failed)
{
    boot_group_open(&group, 3, 1);
    group.rank[2].delay_ms = 1700;
    group.rank[2].request.settings.connect_timeout_s = 30;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_ECONNTIMEOUT, "rank 2 never arrived within 1 s"));
    cr_assert(lt(u64, group.outcome[2].elapsed_ns, RP_NS_PER_S));
    boot_group_close(&group);
}

Test(bootstrap, the_shortest_patience_counts)
{
    boot_group_open(&group, 3, 60);
    group.rank[1].request.settings.connect_timeout_s = 1;
    group.absent[2] = true;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_ECONNTIMEOUT, "rank 2 never arrived within 1 s"));
    cr_assert(lt(u64, slowest_ns(), 3 * RP_NS_PER_S));
    boot_group_close(&group);
}

// The root info of a root that is gone: dialed until the time is up, and then named.
Test(bootstrap, an_unreachable_root_is_named)
{
    boot_group_open(&group, 1, 1);
    struct rp_root_info info;
    cr_assert(eq(int, rp_root_info_read(group.info, &info), RP_OK));
    info.port = 1; // nobody listens there
    rp_root_info_write(&info, group.info);
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_ECONNTIMEOUT,
            "the root at 127.0.0.1:1 could not be reached within 1 s (HCCL_CONNECT_TIMEOUT): "
            "Connection refused"));
    cr_assert(lt(u64, slowest_ns(), 2500 * RP_NS_PER_MS));
    boot_group_close(&group);
}

// A root whose device nobody drives takes connections (the kernel does) and says nothing.
Test(bootstrap, a_silent_root_is_named)
{
    boot_group_open(&group, 2, 1);
    group.absent[0] = true;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_ECONNTIMEOUT, "it does not answer"));
    boot_group_close(&group);
}

// ---- ranks that differ ----

static void other_buffer(struct rp_comm_settings *settings)
{
    settings->buffer_bytes = 2 << 20;
}
static void other_determinism(struct rp_comm_settings *settings)
{
    settings->deterministic = 1;
}
static void other_algo(struct rp_comm_settings *settings)
{
    strcpy(settings->algo, "level0:NA;level1:H-D_R");
}
static void other_tuning(struct rp_comm_settings *settings)
{
    settings->tuning.small_bytes = 1024;
}
static void other_name(struct rp_comm_settings *settings)
{
    strcpy(settings->name, "mine");
}

Test(bootstrap, a_setting_that_differs_is_named_to_everyone)
{
    static const struct {
        void (*change)(struct rp_comm_settings *);
        const char *name, *usual, *other;
    } rows[] = {
        { other_buffer, "HCCL_BUFFSIZE", "\"1 MiB\"", "\"2 MiB\" on rank 2" },
        { other_determinism, "HCCL_DETERMINISTIC", "\"false\"", "\"true\" on rank 2" },
        { other_algo, "HCCL_ALGO", "\"not set\"", "\"level0:NA;level1:H-D_R\" on rank 2" },
        { other_tuning, "REPRISE_SMALL_BYTES", "\"8192\"", "\"1024\" on rank 2" },
        { other_name, "the communicator's name", "\"not set\"", "\"mine\" on rank 2" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        boot_group_open(&group, 4, 30);
        rows[i].change(&group.rank[2].request.settings);
        group.rank[3].delay_ms = 200; // also who comes when it is over
        boot_group_run(&group);
        cr_assert(boot_group_all(&group, RP_EMISMATCH, rows[i].name));
        cr_assert(boot_group_all(&group, RP_EMISMATCH, rows[i].usual));
        cr_assert(boot_group_all(&group, RP_EMISMATCH, rows[i].other));
        cr_assert(lt(u64, slowest_ns(), 2 * RP_NS_PER_S));
        boot_group_close(&group);
    }
    succeeds(4);
}

Test(bootstrap, a_doubled_rank_is_named)
{
    boot_group_open(&group, 3, 30);
    group.rank[2].request.rank = 1;
    fails(RP_EPARAM, "rank 1 came twice: device ");
}

Test(bootstrap, sizes_that_differ_are_named)
{
    boot_group_open(&group, 3, 30);
    group.rank[1].request.size = 4;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_EPARAM, "the ranks differ in nRanks: rank "));
    cr_assert(boot_group_all(&group, RP_EPARAM, "rank 1 says 4"));
    cr_assert(boot_group_all(&group, RP_EPARAM, "says 3"));
    boot_group_close(&group);
}

Test(bootstrap, two_ranks_on_one_device_are_refused)
{
    boot_group_open(&group, 2, 30);
    group.rank[1].request.device_id = 0;
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_EPARAM, " are both on device 0 of pid "));
    boot_group_close(&group);
}

// The communicator is made before anybody gets it: a name that is taken on one rank fails all.
Test(bootstrap, one_ranks_failure_is_everyones)
{
    static struct boot_group second;
    boot_group_open(&group, 1, 10);
    strcpy(group.rank[0].request.settings.name, "taken");
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));

    boot_group_open(&second, 3, 10);
    for (uint32_t i = 0; i < 3; i++) {
        strcpy(second.rank[i].request.settings.name, "taken");
    }
    boot_group_run(&second);
    cr_assert(eq(int, second.outcome[0].status, RP_EPARAM), "its device 0 has such a name");
    for (uint32_t i = 1; i < 3; i++) {
        cr_assert(eq(int, second.outcome[i].status, RP_EREMOTE));
        cr_assert(ne(ptr, strstr(second.outcome[i].sentence, "rank 0 failed: "), NULL), "%s",
                second.outcome[i].sentence);
        cr_assert(ne(ptr, strstr(second.outcome[i].sentence, "taken"), NULL), "%s",
                second.outcome[i].sentence);
        cr_assert(eq(ptr, rp_comm_from_name((int32_t)i, "taken"), NULL), "it was given back");
    }
    boot_group_close(&second);
    boot_group_close(&group);
}

// ---- bad calls ----

Test(bootstrap, bad_requests_end_at_once)
{
    static const struct {
        uint32_t rank, size;
        const char *text;
    } rows[] = {
        { 0, 0, "nRanks is 0" },
        { 2, 2, "rank is 2, but nRanks is 2" },
        { UINT32_MAX, 2, "rank is 4294967295" },
        { 0, 4097, "at most 4096" },
        { 0, UINT32_MAX, "at most 4096" },
    };
    boot_group_open(&group, 1, 10);
    struct boot_rank *rank = &group.rank[0];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rank->request.rank = rows[i].rank;
        rank->request.size = rows[i].size;
        cr_assert(eq(int, rp_join_start(rank->loop, &rank->request, &rank->join), RP_EPARAM));
        const char *text = rp_error_take();
        cr_assert(ne(ptr, strstr(text, rows[i].text), NULL), "%s", text);
    }
    rank->request.rank = 0;
    rank->request.size = 1;
    memset(group.info, 0, sizeof(group.info));
    cr_assert(eq(int, rp_join_start(rank->loop, &rank->request, &rank->join), RP_EPARAM));
    const char *text = rp_error_take();
    cr_assert(ne(ptr, strstr(text, "the root info is all zeros"), NULL), "%s", text);
    boot_group_close(&group);
}

Test(bootstrap, a_wrong_interface_is_told_with_those_found)
{
    uint8_t info[RP_ROOT_INFO_BYTES];
    struct rp_loop *loop;
    setenv("HCCL_SOCKET_IFNAME", "127.0.0.1", 1);
    rp_env_reset();
    cr_assert(eq(int, rp_loop_create(&loop), RP_OK));
    cr_assert(eq(int, rp_bootstrap_root(loop, 0, info), RP_EPARAM));
    const char *text = rp_error_take();
    cr_assert(ne(ptr, strstr(text, "lo (127.0.0.1)"), NULL), "%s", text);
    cr_assert(not(rp_loop_active(loop)));
    rp_loop_destroy(loop);
}

// ---- leaving ----

// A join that is freed under way: its peers see it vanish.
Test(bootstrap, a_rank_that_gives_up_is_named)
{
    for (uint32_t steps = 1; steps <= 12; steps++) {
        boot_group_open(&group, 3, 2);
        group.rank[1].free_after = steps;
        boot_group_run(&group);
        for (uint32_t i = 0; i < 3; i++) {
            const struct boot_outcome *outcome = &group.outcome[i];
            if (i == 1) {
                continue;
            }
            bool never = outcome->status == RP_ECONNTIMEOUT &&
                         strstr(outcome->sentence, "rank 1 never arrived") != NULL;
            bool left = outcome->status == RP_EREMOTE &&
                        strstr(outcome->sentence, "rank 1 (pid ") != NULL;
            // It may have been told to commit before it went: then the others have theirs.
            bool done = outcome->status == RP_OK;
            cr_assert(never || left || done, "%u steps, rank %u: %s %s", steps, i,
                    rp_status_name(outcome->status), outcome->sentence);
            cr_assert(lt(u64, outcome->elapsed_ns, 3500 * RP_NS_PER_MS));
        }
        boot_group_close(&group);
    }
    succeeds(3);
}

// A device reset in the middle of an init: the loop goes first.
Test(bootstrap, a_loop_can_be_destroyed_under_a_join)
{
    boot_group_open(&group, 2, 10);
    struct boot_rank *rank = &group.rank[0];
    cr_assert(eq(int, rp_join_start(rank->loop, &rank->request, &rank->join), RP_OK));
    for (int i = 0; i < 20; i++) {
        boot_drive(rank->loop);
    }
    rp_loop_destroy(rank->loop);
    cr_assert(eq(int, rp_join_poll(rank->join, &rank->comm), RP_EDEVABORT));
    rp_join_free(rank->join);
    rank->join = NULL;
    cr_assert(eq(int, rp_loop_create(&rank->loop), RP_OK));
    boot_group_close(&group);
}

Test(bootstrap, the_root_closes_once_the_communicator_is_made)
{
    boot_group_open(&group, 2, 10);
    boot_group_run(&group);
    cr_assert(boot_group_all(&group, RP_OK, ""));
    for (uint32_t i = 0; i < 2; i++) {
        rp_join_free(group.rank[i].join);
        group.rank[i].join = NULL;
    }
    uint64_t deadline_ns = rp_deadline_ns(5 * RP_NS_PER_S);
    while ((rp_loop_active(group.rank[0].loop) || rp_loop_active(group.rank[1].loop)) &&
            rp_now_ns() < deadline_ns) {
        boot_drive(group.rank[0].loop);
        boot_drive(group.rank[1].loop);
    }
    cr_assert(not(rp_loop_active(group.rank[0].loop)));
    cr_assert(not(rp_loop_active(group.rank[1].loop)));
    boot_group_close(&group);
}

Test(bootstrap, a_root_that_nobody_asks_closes_after_the_timeout)
{
    uint8_t info[RP_ROOT_INFO_BYTES];
    struct rp_loop *loop;
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
    rp_env_reset();
    cr_assert(eq(int, rp_loop_create(&loop), RP_OK));
    cr_assert(eq(int, rp_bootstrap_root(loop, 0, info), RP_OK));
    cr_assert(rp_loop_active(loop));
    uint64_t begin_ns = rp_now_ns();
    while (rp_loop_active(loop) && rp_now_ns() - begin_ns < 5 * RP_NS_PER_S) {
        boot_drive(loop);
    }
    cr_assert(not(rp_loop_active(loop)));
    cr_assert(ge(u64, rp_now_ns() - begin_ns, 900 * RP_NS_PER_MS));
    rp_loop_destroy(loop);
}

// With one fixed port: a failed root stays for latecomers, but not in the way of the next.
Test(bootstrap, a_fixed_port_serves_attempt_after_attempt)
{
    setenv("HCCL_HOST_SOCKET_PORT_RANGE", "29473", 1);
    for (int i = 0; i < 5; i++) {
        boot_group_open(&group, 2, 10);
        group.rank[1].request.settings.deterministic = 1;
        boot_group_run(&group);
        cr_assert(boot_group_all(&group, RP_EMISMATCH, "HCCL_DETERMINISTIC"));
        // The same loop once more, without closing it.
        struct rp_loop *loop = group.rank[0].loop;
        cr_assert(eq(int, rp_bootstrap_root(loop, 0, group.info), RP_OK), "%s", rp_error_take());
        boot_group_close(&group);
    }
}

static unsigned threads_now(void)
{
    DIR *directory = opendir("/proc/self/task");
    unsigned count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

Test(bootstrap, nothing_is_left_behind)
{
    struct sigaction before;
    struct sigaction after;
    sigaction(SIGPIPE, NULL, &before);
    succeeds(3); // what a process makes once
    unsigned fds = fds_open();
    unsigned threads = threads_now();
    for (int i = 0; i < 3; i++) {
        succeeds(3);
        boot_group_open(&group, 3, 10);
        other_buffer(&group.rank[1].request.settings);
        fails(RP_EMISMATCH, "HCCL_BUFFSIZE");
        boot_group_open(&group, 3, 1);
        group.absent[2] = true;
        fails(RP_ECONNTIMEOUT, "rank 2 never arrived");
    }
    cr_assert(eq(uint, fds_open(), fds));
    cr_assert(eq(uint, threads_now(), threads));
    sigaction(SIGPIPE, NULL, &after);
    cr_assert(eq(ptr, (void *)before.sa_handler, (void *)after.sa_handler));
}

// Each allocation of an init fails in turn: all ranks end, and end alike unless it came too late.
Test(bootstrap, any_allocation_may_fail)
{
    int failures = 0;
    for (int64_t n = 0; n < 120; n++) {
        boot_group_open(&group, 2, 1);
        rp_alloc_fail_process_after(n);
        boot_group_run(&group);
        bool happened = !rp_alloc_fail_pending();
        rp_alloc_fail_process_after(-1);
        bool good[2];
        for (uint32_t i = 0; i < 2; i++) {
            good[i] = group.rank[i].comm != NULL;
            cr_assert(lt(u64, group.outcome[i].elapsed_ns, 3 * RP_NS_PER_S));
        }
        cr_assert(eq(int, good[0], good[1]), "allocation %d: %s and %s", (int)n,
                group.outcome[0].sentence, group.outcome[1].sentence);
        failures += good[0] ? 0 : 1;
        boot_group_close(&group);
        if (!happened) {
            break;
        }
    }
    cr_assert(gt(int, failures, 10));
    succeeds(2);
}
