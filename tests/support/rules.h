#ifndef TESTS_SUPPORT_RULES_H
#define TESTS_SUPPORT_RULES_H

/*
 * For suites of the rules of capture: streams, buffers and a communicator of one
 * rank to break them with, a call that must be refused with a sentence, and the
 * proof that afterwards everything is usable.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <acl/acl.h>
#include <hccl/hccl.h>

#define RULE_WORDS 64
#define RULE_BYTES (RULE_WORDS * sizeof(uint32_t))

#define GLOBAL ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
#define THREAD_LOCAL ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED ACL_MODEL_RI_CAPTURE_MODE_RELAXED

/* One test's things. Streams: `a` begins captures, `b` and `c` join them or do not. */
struct rules {
    aclrtStream a, b, c;
    uint32_t *device, *other; /* device memory, RULE_BYTES each */
    uint32_t *pinned;
    uint32_t pageable[RULE_WORDS];
    HcclComm comm; /* NULL until rules_comm() */
};
extern struct rules rules;

void rules_setup(void);
void rules_teardown(void);
/** rules_comm: a communicator of one rank; made at the first call. */
HcclComm rules_comm(void);

/* A call that must answer 0, or a code; the message has the call and the sentence. */
#define ok(call) rules_answer((aclGetRecentErrMsg(), (int)(call)), 0, #call, __LINE__)
#define code(call, expected) \
    rules_answer((aclGetRecentErrMsg(), (int)(call)), (int)(expected), #call, __LINE__)
void rules_answer(int got, int expected, const char *call, int line);

/**
 * refused: the call answers `expected`, and its sentence names the call and each of
 * the things that follow: stream_name(), event_name(), graph_name() or any text.
 */
#define refused(call, expected, ...)                                                     \
    rules_refused((aclGetRecentErrMsg(), (int)(call)), (int)(expected), #call, __LINE__, \
            (const char *const[]){ __VA_ARGS__, NULL })
void rules_refused(int got, int expected, const char *call, int line, const char *const *names);

/** "stream 7", "event 3", "graph 12" as sentences have it; one of a few buffers in turn. */
const char *stream_name(aclrtStream stream);
const char *event_name(aclrtEvent event);
const char *graph_name(aclmdlRI graph);

/** ex_event: of aclrtCreateEventExWithFlag with ACL_EVENT_SYNC. */
aclrtEvent ex_event(void);
aclmdlRICaptureStatus capture_status(aclrtStream stream);
/** the graph that `stream` captures into; NULL: none. */
aclmdlRI capture_graph(aclrtStream stream);

/* Host functions: counting calls, of all tests. */
extern _Atomic int rules_calls;
void count_call(void *arg);
/** put_call: a host function that counts. */
void put_call(aclrtStream stream);

/** begin, end: a capture that must work; the graph is the one that GetInfo gave. */
void begin(aclrtStream stream, aclmdlRICaptureMode mode);
aclmdlRI end(aclrtStream stream);
/** end_refused: End answers `expected` and gives no graph, and the stream has left. */
void end_refused(aclrtStream stream, int expected);
/** run_calls: replay on `stream`: so many calls are made. */
void run_calls(aclmdlRI graph, aclrtStream stream, int calls);

/** join: `side` takes part in the capture of `from`; join_back: `from` waits for it. */
void join(aclrtStream side, aclrtStream from);
void join_back(aclrtStream side, aclrtStream from);

/**
 * assert_usable: nothing is captured; streams a, b and c, `event` (NULL: none) and
 * the communicator work eagerly, and in a new capture that all of them take part
 * in. In this thread, and then in another one.
 */
void assert_usable(aclrtEvent event);

/** in_thread: run `fn` in a thread of its own that has device 0 set, and wait for it. */
void in_thread(void (*fn)(void *arg), void *arg);

/** A thread that does one thing after another. */
struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*fn)(void *arg); /* NULL: nothing to do */
    void *arg;
    bool stop;
};
void worker_start(struct worker *worker);
void worker_do(struct worker *worker, void (*fn)(void *arg), void *arg);
void worker_stop(struct worker *worker);

#endif
