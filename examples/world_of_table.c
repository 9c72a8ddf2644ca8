/* Ranks that find each other by a rank table: a JSON file, here of one server with two devices. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RANKS 2

static void check(int code, const char *what)
{
    if (code != 0) {
        fprintf(stderr, "%s: %d: %s", what, code, aclGetRecentErrMsg());
        exit(1);
    }
}

static void run(const char *table, uint32_t rank)
{
    HcclComm comm;
    aclrtStream stream;
    float value = (float)(rank + 1);
    check(aclrtSetDevice((int32_t)rank), "aclrtSetDevice"); // its device_id in the table
    check(aclrtCreateStream(&stream), "aclrtCreateStream");
    check((int)HcclCommInitClusterInfo(table, rank, &comm), "HcclCommInitClusterInfo");
    check((int)HcclAllReduce(&value, &value, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream),
            "HcclAllReduce");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    printf("rank %u: %g\n", (unsigned)rank, (double)value);
    exit(value == 3.0f ? 0 : 1);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/rank_table_%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    fprintf(file,
            "{ \"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"1\",\n"
            "  \"server_list\": [ { \"server_id\": \"host-%d\", \"device\": [\n"
            "    { \"device_id\": \"0\", \"rank_id\": \"0\" },\n"
            "    { \"device_id\": \"1\", \"rank_id\": \"1\" } ] } ] }\n",
            (int)getpid());
    fclose(file);
    fflush(stdout);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (fork() == 0) { // before any acl call
            run(path, rank);
        }
    }
    int status, failed = 0;
    while (wait(&status) > 0) {
        failed |= status;
    }
    remove(path);
    return failed != 0;
}
