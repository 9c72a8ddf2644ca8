// Host functions of a random program that a thread of the program serves: aclrtLaunchCallback on
// streams that subscribe to it. One stream cannot have both kinds, so there is a second set of
// streams.

#include "support/random_program_run.h"

static void *serve(void *arg)
{
    struct random_runner *r = arg;
    aclError answer = aclrtSetDevice(r->rank->device);
    sem_wait(&r->subscribed);
    // relaxed: it only ends the thread.
    while ((answer == ACL_SUCCESS || answer == ACL_ERROR_RT_REPORT_TIMEOUT) &&
            !atomic_load_explicit(&r->served_out, memory_order_relaxed)) {
        answer = aclrtProcessReport(100);
    }
    r->server_answer = answer;
    return NULL;
}

void random_serve_begin(struct random_runner *r)
{
    sem_init(&r->subscribed, 0, 0);
    must(pthread_create(&r->server, NULL, serve, r));
    for (unsigned s = 0; s < RANDOM_LANE_STREAMS; s++) {
        must(aclrtCreateStream(&r->served[s]));
        must(aclrtSubscribeReport((uint64_t)r->server, r->served[s]));
        r->plain[s] = r->stream[s];
    }
    sem_post(&r->subscribed);
}

void random_serve_end(struct random_runner *r)
{
    // relaxed: as above.
    atomic_store_explicit(&r->served_out, true, memory_order_relaxed);
    must(pthread_join(r->server, NULL));
    must_hold(r->server_answer == ACL_SUCCESS || r->server_answer == ACL_ERROR_RT_REPORT_TIMEOUT,
            "aclrtProcessReport answered %d", r->server_answer);
    for (unsigned s = 0; s < RANDOM_LANE_STREAMS; s++) {
        must(aclrtUnSubscribeReport((uint64_t)r->server, r->served[s]));
        must(aclrtDestroyStream(r->served[s]));
        r->stream[s] = r->plain[s];
    }
    sem_destroy(&r->subscribed);
}

void random_serve_choose(struct random_runner *r)
{
    for (unsigned s = 0; s < RANDOM_LANE_STREAMS; s++) {
        r->stream[s] = r->program->served ? r->served[s] : r->plain[s];
    }
}
