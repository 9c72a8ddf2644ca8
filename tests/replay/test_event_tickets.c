// A wait belongs to one record of its event. Another stream may record the event again meanwhile,
// and get there first.

#include "support/acl_test.h"
#include "support/gate.h"

static void set_flag(void *arg)
{
    atomic_store((_Atomic int *)arg, 1);
}

static aclrtStream stream(void)
{
    aclrtStream made = NULL;
    WORKS(aclrtCreateStream(&made));
    return made;
}

static aclrtEvent event_of(unsigned kind)
{
    aclrtEvent made = NULL;
    WORKS(kind == 0 ? aclrtCreateEvent(&made) : aclrtCreateEventExWithFlag(&made, ACL_EVENT_SYNC));
    return made;
}

Test(event_tickets, a_later_record_of_another_stream_lets_no_earlier_wait_go_on, .timeout = 20)
{
    on_device();
    for (unsigned kind = 0; kind < 2; kind++) {
        struct gate gate;
        _Atomic int first_went_on = 0, second_went_on = 0;
        aclrtStream slow = stream(), quick = stream(), first = stream(), second = stream();
        aclrtEvent event = event_of(kind);
        gate_init(&gate);

        WORKS(gate_put(&gate, slow));
        WORKS(aclrtRecordEvent(event, slow));
        WORKS(aclrtStreamWaitEvent(first, event));
        WORKS(aclrtLaunchHostFunc(first, set_flag, &first_went_on));
        WORKS(aclrtRecordEvent(event, quick));
        WORKS(aclrtStreamWaitEvent(second, event));
        WORKS(aclrtLaunchHostFunc(second, set_flag, &second_went_on));

        // The latest record is reached, for streams and for the host; the one before is not.
        WORKS(aclrtSynchronizeStream(second));
        WORKS(aclrtSynchronizeEvent(event));
        cr_assert(eq(int, atomic_load(&second_went_on), 1));
        ANSWERS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(first, 100));
        cr_assert(eq(int, atomic_load(&first_went_on), 0));

        gate_open(&gate);
        WORKS(aclrtSynchronizeStream(first));
        cr_assert(eq(int, atomic_load(&first_went_on), 1));
        WORKS(aclrtDestroyEvent(event));
    }
}

// As many runs of records as streams, ended in any order.
Test(event_tickets, any_number_of_streams_may_record_one_event, .timeout = 20)
{
    enum { STREAMS = 5 };
    struct gate gate[STREAMS];
    _Atomic int went_on[STREAMS] = { 0 };
    aclrtStream slow[STREAMS], waiting[STREAMS];
    on_device();
    aclrtEvent event = event_of(1);
    for (unsigned i = 0; i < STREAMS; i++) {
        gate_init(&gate[i]);
        slow[i] = stream();
        waiting[i] = stream();
        WORKS(gate_put(&gate[i], slow[i]));
        WORKS(aclrtRecordEvent(event, slow[i]));
        WORKS(aclrtRecordEvent(event, slow[i]));
        WORKS(aclrtStreamWaitEvent(waiting[i], event));
        WORKS(aclrtLaunchHostFunc(waiting[i], set_flag, &went_on[i]));
    }
    static const unsigned order[STREAMS] = { 2, 4, 0, 3, 1 };
    for (unsigned n = 0; n < STREAMS; n++) {
        gate_open(&gate[order[n]]);
        WORKS(aclrtSynchronizeStream(waiting[order[n]]));
        for (unsigned i = 0; i < STREAMS; i++) {
            bool opened = false;
            for (unsigned k = 0; k <= n; k++) {
                opened = opened || order[k] == i;
            }
            cr_assert(eq(int, atomic_load(&went_on[i]), opened), "stream %u after %u gates", i, n);
        }
    }
    WORKS(aclrtDestroyEvent(event));
}
