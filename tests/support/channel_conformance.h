#ifndef TESTS_SUPPORT_CHANNEL_CONFORMANCE_H
#define TESTS_SUPPORT_CHANNEL_CONFORMANCE_H

/*
 * What every wire's channels must do, as one suite that is run over each of
 * them. A wire is told by how to open a pair of channels between ranks 0 and 1
 * whose both ends are in this process. A test file of a wire is
 *
 *     static const struct channel_wire wire = { ... };
 *     CHANNEL_CONFORMANCE(channel_shm, &wire)
 *
 * Each check answers NULL, or what went wrong.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "transport/channel.h"

struct channel_pair {
    struct rp_channel *end[2];       /* end[0]: of rank 0, to rank 1 */
    uint8_t *window[2][2];           /* [rank][enum rp_window]: what the rank offers */
    struct rp_doorbell_end *bell[2]; /* what a signal to the rank rings; NULL: nothing */
    uint64_t window_bytes;           /* at least 64 KiB */
    void *wire;                      /* the wire's own */
};

struct channel_wire {
    bool (*open)(struct channel_pair *pair);
    void (*close)(struct channel_pair *pair);
};

typedef const char *channel_check_fn(const struct channel_pair *pair);

channel_check_fn channel_put_arrives_before_its_signal;
channel_check_fn channel_counts_signals;
channel_check_fn channel_keeps_puts_inside_the_window;
channel_check_fn channel_source_is_free_after_put;
channel_check_fn channel_publishes_pair_words;
channel_check_fn channel_both_directions_at_once;
channel_check_fn channel_whole_window_at_any_alignment;
channel_check_fn channel_signal_wakes_a_sleeper;

/** channel_run: open a pair, check, close. */
const char *channel_run(const struct channel_wire *wire, channel_check_fn *check);

#define CHANNEL_CHECK(suite, wire, name)                       \
    Test(suite, name, .timeout = 60)                           \
    {                                                          \
        const char *wrong = channel_run(wire, channel_##name); \
        cr_assert(wrong == NULL, "%s", wrong);                 \
    }

#define CHANNEL_CONFORMANCE(suite, wire)                      \
    CHANNEL_CHECK(suite, wire, put_arrives_before_its_signal) \
    CHANNEL_CHECK(suite, wire, counts_signals)                \
    CHANNEL_CHECK(suite, wire, keeps_puts_inside_the_window)  \
    CHANNEL_CHECK(suite, wire, source_is_free_after_put)      \
    CHANNEL_CHECK(suite, wire, publishes_pair_words)          \
    CHANNEL_CHECK(suite, wire, both_directions_at_once)       \
    CHANNEL_CHECK(suite, wire, whole_window_at_any_alignment) \
    CHANNEL_CHECK(suite, wire, signal_wakes_a_sleeper)

#endif
