// A rank whose process is stopped in the middle of replays, as by a debugger, for longer than
// HCCL_EXEC_TIMEOUT. Peers of a HOST_TS call reach no memory of the program's, so the others are
// told when their time is up, and which rank it was, although that one says nothing; it is told
// itself when it goes on, and all make a new communicator.

#include <signal.h>
#include <string.h>

#include "support/rank_test.h"

#define STOPPED 1
#define TOLD_MS 4000 // the timeout is 1 s; the machine of a CI is shared

static void stopped_rank(struct rank *rank)
{
    const struct oracle_call what = { .op = ORACLE_ALL_REDUCE,
        .dtype = RP_DTYPE_FP32,
        .count = *(const size_t *)rank->arg,
        .ranks = rank->count };
    struct rank_call call;
    HcclComm comm = NULL;
    rank_open(rank);
    rank_call_open(&call, rank, &what, &(struct rank_call_options){ .seed = 3, .versions = 2 });
    capture_begin(rank->stream);
    for (unsigned i = 0; i < 4; i++) {
        must(rank_call_issue(&call, rank->comm, rank->stream));
    }
    aclmdlRI graph = capture_end(rank->stream);
    rank_barrier(rank);
    rank_step(rank, 1);
    uint64_t start_ms = 0;
    aclError error = ACL_SUCCESS;
    while (error == ACL_SUCCESS) {
        start_ms = rank_now_ms();
        must(aclmdlRIExecuteAsync(graph, rank->stream));
        error = aclrtSynchronizeStream(rank->stream);
    }
    const uint64_t took_ms = rank_now_ms() - start_ms;
    must_hold(error == ACL_ERROR_RT_TASK_TIMEOUT, "the replay answers %d", error);
    if (rank->id != STOPPED) {
        char name[16];
        const char *text = rank_error_text();
        snprintf(name, sizeof(name), "rank %d", STOPPED);
        must_hold(strstr(text, name) != NULL, "%s is not named: \"%s\"", name, text);
        must_hold(took_ms < TOLD_MS, "told after %d ms", (int)took_ms);
    }
    must(aclmdlRIDestroy(graph));
    must(HcclCommDestroy(rank->comm));
    rank_step(rank, 2);
    must(rank_join(rank, 1, rank->count, rank->id, NULL, &comm));
    rank->comm = comm;
    rank_call_load(&call, 1);
    must(rank_call_issue(&call, comm, rank->stream));
    must(aclrtSynchronizeStream(rank->stream));
    rank_call_check(&call, 1, "on the new communicator");
    rank_call_close(&call);
    rank_close(rank);
}

Test(stopped, rank_is_named_when_the_time_is_up)
{
    static const size_t counts[] = { 7, 4900, 300000 };
    for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        const struct rank_job job = { .ranks = 3,
            .mode = RANK_PROCESSES,
            .timeout_s = 60,
            .fn = stopped_rank,
            .arg = &counts[c],
            .env = ENV(
                    "HCCL_OP_EXPANSION_MODE=HOST_TS", "HCCL_BUFFSIZE=4", "HCCL_EXEC_TIMEOUT=1") };
        struct rank_crew *crew = rank_start(&job);
        const bool began = rank_await(crew, STOPPED, 1, 30000);
        const pid_t pid = rank_pid(crew, STOPPED);
        rank_sleep_us(20000);
        kill(pid, SIGSTOP);
        const bool told = rank_await(crew, 0, 2, 10000) && rank_await(crew, 2, 2, 10000);
        kill(pid, SIGCONT);
        assert_crew(crew, "%zu elements", counts[c]);
        cr_assert(began && told, "the others did not come on while a rank was stopped");
    }
}
