// Rank tables: what a good one says, and the sentence for everything that can be wrong with one.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/error.h"
#include "base/util.h"
#include "transport/rank_table_meet.h"

static const char good[] =
        "{ \"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"2\",\n"
        "  \"server_list\": [\n"
        "    { \"server_id\": \"host-a\", \"device\": [\n"
        "      { \"device_id\": \"3\", \"device_ip\": \"10.1.0.13\", \"rank_id\": \"1\" },\n"
        "      { \"device_id\": \"0\", \"device_ip\": \"10.1.0.10\", \"device_port\": \"17001\",\n"
        "        \"rank_id\": \"0\" } ] },\n"
        "    { \"server_id\": \"host-b\", \"host_nic_ip\": \"reserve\", \"device\": [\n"
        "      { \"device_id\": \"0\", \"device_ip\": \"fd00::1\", \"rank_id\": \"2\" } ] } ] }\n";

Test(rank_table, says_who_is_where)
{
    struct rp_rank_table *table = NULL;
    cr_assert(eq(int, rp_rank_table_parse("t", good, strlen(good), &table), RP_OK));
    cr_assert(eq(u32, table->size, 3));
    cr_assert(eq(u32, table->servers, 2));
    cr_assert(eq(str, table->server[0].id, "host-a"));
    cr_assert(eq(u32, table->server[0].count, 2));
    cr_assert(eq(u32, table->server[1].first, 2));
    cr_assert(eq(u32, table->entry[1].device_id, 3));
    cr_assert(eq(u32, table->entry[0].port, 17001));
    cr_assert(eq(u32, table->entry[1].port, 0));
    cr_assert(eq(int, table->entry[2].ip.family, AF_INET6));
    rp_rank_table_free(table);
}

// A table with one part replaced.
struct change {
    const char *from;
    const char *to;
    const char *sentence;
};

static const struct change changes[] = {
    { "\"completed\"", "\"initializing\"", "status: is \"initializing\"" },
    { "\"completed\"", "\"done\"", "status: is \"done\"; it must be \"completed\"" },
    { "\"status\": \"completed\", ", "", "status: is missing" },
    { "\"1.0\"", "\"1.2\"", "version: is \"1.2\"; it must be \"1.0\"" },
    { "\"1.0\"", "1.0", "version: is a number; it must be a string" },
    { "\"server_count\": \"2\"", "\"server_count\": 2",
            "server_count: is the number 2; all values are strings: \"2\"" },
    { "\"server_count\": \"2\"", "\"server_count\": \"3\"",
            "server_count: is 3, but server_list has 2 servers" },
    { "\"server_count\": \"2\"", "\"server_count\": \"two\"", "server_count: is \"two\"" },
    { "\"server_list\": [", "\"server_list\": [ \"x\",", "server_count: is 2" },
    { "\"server_list\"", "\"servers\"", "server_list: is missing" },
    { "\"host-b\"", "\"host-a\"",
            "server_list[1].server_id: \"host-a\" stands at server_list[0] as well" },
    { "\"host-b\"", "\"\"", "server_list[1].server_id: is \"\"" },
    { "\"host-b\"", "\"0123456789012345678901234567890123456789012345678901234567890123456\"",
            "it must be a text of 1 to 64 characters" },
    { "\"host-b\"", "[]", "server_list[1].server_id: is an array; it must be a string" },
    { "\"rank_id\": \"2\"", "\"rank_id\": 2", "server_list[1].device[0].rank_id: is the number 2" },
    { "\"rank_id\": \"2\"", "\"rank_id\": \"3\"",
            "server_list[1].device[0].rank_id: is 3, but the table has 3 ranks" },
    { "\"rank_id\": \"2\"", "\"rank_id\": \"1\"",
            "server_list[1].device[0].rank_id: 1 stands at server_list[0].device[0] as well" },
    { "\"rank_id\": \"2\"", "\"rank_id\": \"-2\"", "server_list[1].device[0].rank_id: is \"-2\"" },
    { "\"rank_id\": \"2\"", "\"rank_id\": \"\"", "server_list[1].device[0].rank_id: is \"\"" },
    { "\"rank_id\": \"2\"", "\"rank_id\": \"99999999999\"",
            "server_list[1].device[0].rank_id: is \"99999999999\"" },
    { ", \"rank_id\": \"2\"", "", "server_list[1].device[0].rank_id: is missing" },
    { "\"device_id\": \"3\"", "\"device_id\": \"0\"",
            "server_list[0].device[1].device_id: 0 stands at server_list[0].device[0] as well" },
    { "\"device_id\": \"3\"", "\"device_id\": \"1024\"",
            "server_list[0].device[0].device_id: is \"1024\"" },
    { "\"device_id\": \"3\"", "\"device_id\": null",
            "server_list[0].device[0].device_id: is null; it must be a string" },
    { "\"10.1.0.13\"", "\"10.1.0\"",
            "server_list[0].device[0].device_ip: is \"10.1.0\"; it must be an IPv4 or IPv6" },
    { "\"10.1.0.13\"", "\"10.1.0.10\"",
            "server_list[0].device[1].device_ip: 10.1.0.10 stands at server_list[0].device[0]" },
    { "\"device_ip\": \"fd00::1\", ", "", "server_list[1].device[0].device_ip: is missing" },
    { "\"17001\"", "\"0\"", "server_list[0].device[1].device_port: is \"0\"" },
    { "\"17001\"", "\"65536\"", "server_list[0].device[1].device_port: is \"65536\"" },
    { "\"device\": [\n      { \"device_id\": \"0\", \"device_ip\": \"fd00::1\", "
      "\"rank_id\": \"2\" } ]",
            "\"device\": []", "server_list[1].device: has 0 elements" },
    { "] } ] }\n", "] } ] } x\n", "line 8, column" },
    { "\"version\": ", "\"status\": ", "line 1, column" },
    { "{ \"status\"", "// no comments\n{ \"status\"", "line 1, column" },
};

static char *replaced(const struct change *change)
{
    const char *at = strstr(good, change->from);
    cr_assert(ne(ptr, (void *)at, NULL), "%s", change->from);
    char *text = malloc(sizeof(good) + strlen(change->to));
    sprintf(text, "%.*s%s%s", (int)(at - good), good, change->to, at + strlen(change->from));
    return text;
}

Test(rank_table, names_the_field_that_is_wrong)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(changes); i++) {
        struct rp_rank_table *table = NULL;
        char *text = replaced(&changes[i]);
        rp_status st = rp_rank_table_parse("table.json", text, strlen(text), &table);
        const char *sentence = rp_error_take();
        cr_assert(eq(int, st, RP_EINTERNAL), "%s", changes[i].to);
        cr_assert(ne(ptr, (void *)strstr(sentence, changes[i].sentence), NULL),
                "row %zu: %s\nwanted: %s", i, sentence, changes[i].sentence);
        cr_assert(ne(ptr, (void *)strstr(sentence, "rank table \"table.json\""), NULL));
        free(text);
    }
}

Test(rank_table, servers_do_not_interleave)
{
    static const char text[] =
            "{\"status\":\"completed\",\"version\":\"1.0\",\"server_count\":\"2\",\"server_list\":["
            "{\"server_id\":\"a\",\"device\":["
            "{\"device_id\":\"0\",\"device_ip\":\"10.0.0.1\",\"rank_id\":\"0\"},"
            "{\"device_id\":\"1\",\"device_ip\":\"10.0.0.2\",\"rank_id\":\"2\"}]},"
            "{\"server_id\":\"b\",\"device\":["
            "{\"device_id\":\"0\",\"device_ip\":\"10.0.0.3\",\"rank_id\":\"1\"}]}]}";
    struct rp_rank_table *table = NULL;
    cr_assert(eq(int, rp_rank_table_parse("t", text, strlen(text), &table), RP_EINTERNAL));
    cr_assert(ne(ptr,
            (void *)strstr(rp_error_take(), "server_list[0].device[1].rank_id: is 2, but rank 1 is "
                                            "on server \"b\""),
            NULL));
}

Test(rank_table, processes_share_a_card_with_ports_of_their_own)
{
    static const char format[] =
            "{\"status\":\"completed\",\"version\":\"1.0\",\"server_count\":\"1\",\"server_list\":["
            "{\"server_id\":\"a\",\"device\":["
            "{\"device_id\":\"0\",\"device_ip\":\"10.0.0.1\",\"device_port\":\"1\","
            "\"rank_id\":\"0\"},"
            "{\"device_id\":\"0\",\"device_ip\":\"10.0.0.1\",\"device_port\":\"%d\","
            "\"rank_id\":\"1\"}]}]}";
    for (int port = 1; port <= 2; port++) {
        char text[1024];
        struct rp_rank_table *table = NULL;
        snprintf(text, sizeof(text), format, port);
        cr_assert(eq(int, rp_rank_table_parse("t", text, strlen(text), &table),
                port == 1 ? RP_EINTERNAL : RP_OK));
        rp_rank_table_free(table);
    }
}

static void must_not_load(const char *path, const char *text)
{
    struct rp_rank_table *table = NULL;
    cr_assert(eq(int, rp_rank_table_load(path, &table), RP_EINTERNAL));
    const char *sentence = rp_error_take();
    cr_assert(ne(ptr, (void *)strstr(sentence, text), NULL), "%s", sentence);
}

Test(rank_table, files_that_are_none)
{
    char path[] = "/tmp/rank_table_XXXXXX";
    int fd = mkstemp(path);
    cr_assert(ge(int, fd, 0));
    must_not_load("/tmp/no such table", "No such file or directory");
    must_not_load("/tmp", "no regular file");
    must_not_load(path, "it has 0 bytes");
    cr_assert(eq(int, ftruncate(fd, RP_RANK_TABLE_BYTES_MAX + 1), 0));
    must_not_load(path, "it has 16777217 bytes; 1 to 16777216 are possible");
    cr_assert(eq(int, ftruncate(fd, 16), 0));
    must_not_load(path, "line 1, column");
    close(fd);
    unlink(path);
}

Test(rank_table, damage_never_crashes)
{
    uint64_t random = 20261130;
    char text[sizeof(good)];
    for (int round = 0; round < 20000; round++) {
        struct rp_rank_table *table = NULL;
        size_t bytes = strlen(good);
        memcpy(text, good, sizeof(good));
        for (int i = 0; i < 1 + round % 4; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[(random >> 33) % bytes] = (char)(random >> 20);
        }
        if (round % 5 == 0) {
            bytes = (random >> 40) % bytes;
        }
        if (rp_rank_table_parse("t", text, bytes, &table) == RP_OK) {
            cr_assert(eq(u32, table->size, 3));
        }
        rp_rank_table_free(table);
        rp_error_take();
    }
}

// ---- where they meet ----

static void meet(const char *text, uint32_t rank, rp_status expected, struct rp_rendezvous *out)
{
    const struct rp_hccl_env *env;
    struct rp_rank_table *table = NULL;
    cr_assert(eq(int, rp_env_hccl(&env), RP_OK));
    cr_assert(eq(int, rp_rank_table_parse("t", text, strlen(text), &table), RP_OK));
    cr_assert(eq(int, rp_rank_table_meet(table, "t", rank, env, out), expected));
    rp_rank_table_free(table);
}

Test(rank_table, one_server_meets_at_a_socket_and_others_at_its_address)
{
    struct rp_rendezvous first;
    struct rp_rendezvous second;
    meet(good, 1, RP_OK, &first);
    meet(good, 2, RP_OK, &second);
    cr_assert(eq(u32, first.count, 1));
    cr_assert(eq(u32, second.count, 1));
    cr_assert(ne(int, first.endpoint[0].socket[0], 0));
    cr_assert(eq(int, second.endpoint[0].socket[0], 0));
    cr_assert(eq(u32, second.endpoint[0].port, 17001));
    cr_assert(eq(int, memcmp(first.secret, second.secret, sizeof(first.secret)), 0));
    meet(good, 0, RP_EINTERNAL, &first);
    const char *sentence = rp_error_take();
    cr_assert(
            ne(ptr, (void *)strstr(sentence, "server_list[0].device[1].device_ip: 10.1.0.10 is no"),
                    NULL),
            "%s", sentence);
}

Test(rank_table, a_secret_file_makes_another_place)
{
    char path[] = "/tmp/rank_secret_XXXXXX";
    struct rp_rendezvous without;
    struct rp_rendezvous with;
    int fd = mkstemp(path);
    cr_assert(eq(int, (int)write(fd, "secret", 6), 6));
    meet(good, 1, RP_OK, &without);
    setenv("REPRISE_SECRET_FILE", path, 1);
    rp_env_reset();
    meet(good, 1, RP_OK, &with);
    cr_assert(ne(int, memcmp(with.secret, without.secret, sizeof(with.secret)), 0));
    cr_assert(ne(str, with.endpoint[0].socket, without.endpoint[0].socket));
    unlink(path);
    close(fd);
    meet(good, 1, RP_EINTERNAL, &with);
    cr_assert(ne(ptr, (void *)strstr(rp_error_take(), "REPRISE_SECRET_FILE"), NULL));
}
