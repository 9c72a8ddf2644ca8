#include "support/channel_conformance.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"

#define PATIENCE_NS (20 * RP_NS_PER_S)
#define BUDGET 16

const char *channel_run(const struct channel_wire *wire, channel_check_fn *check)
{
    struct channel_pair pair = { 0 };
    if (!wire->open(&pair)) {
        return "the pair could not be opened";
    }
    const char *wrong = pair.window_bytes < 65536 ? "the windows are too small" : check(&pair);
    wire->close(&pair);
    return wrong;
}

// Both ends are in this process: whoever waits moves its own end on, and the sender's, unless
// another thread does that.
static bool signal_comes(struct rp_channel *ch, struct rp_channel *sender)
{
    const uint64_t deadline_ns = rp_deadline_ns(PATIENCE_NS);
    while (!rp_channel_test(ch)) {
        if (rp_channel_progress(ch, BUDGET) == 0) {
            sched_yield();
        }
        if (sender != NULL) {
            rp_channel_progress(sender, BUDGET);
        }
        if (rp_now_ns() > deadline_ns) {
            return false;
        }
    }
    return true;
}

static bool signal_comes_from(const struct channel_pair *pair, int sender)
{
    return signal_comes(pair->end[1 - sender], pair->end[sender]);
}

static rp_status put(
        struct rp_channel *ch, enum rp_window window, uint64_t off, const void *src, uint64_t bytes)
{
    const uint64_t deadline_ns = rp_deadline_ns(PATIENCE_NS);
    rp_status st = rp_channel_put(ch, window, off, src, bytes);
    while (st == RP_AGAIN && rp_now_ns() < deadline_ns) {
        rp_channel_progress(ch, BUDGET);
        st = rp_channel_put(ch, window, off, src, bytes);
    }
    return st;
}

const char *channel_put_arrives_before_its_signal(const struct channel_pair *pair)
{
    static const enum rp_window windows[] = { RP_WINDOW_IN, RP_WINDOW_OUT };
    for (int from = 0; from < 2; from++) {
        for (size_t w = 0; w < RP_ARRAY_LENGTH(windows); w++) {
            const char text[] = { 'h', 'e', 'r', 'e', (char)('0' + from), (char)('0' + w), 0 };
            const char *there = (const char *)pair->window[1 - from][windows[w]] + 100;
            if (put(pair->end[from], windows[w], 100, text, sizeof(text)) != RP_OK ||
                    rp_channel_signal(pair->end[from]) != RP_OK) {
                return "put or signal failed";
            }
            if (!signal_comes_from(pair, from)) {
                return "the signal did not come";
            }
            if (memcmp(there, text, sizeof(text)) != 0) {
                return "the signal came before its put";
            }
        }
    }
    return NULL;
}

const char *channel_counts_signals(const struct channel_pair *pair)
{
    if (rp_channel_test(pair->end[0]) || rp_channel_test(pair->end[1])) {
        return "a signal that nobody sent";
    }
    for (int i = 0; i < 5; i++) {
        if (rp_channel_signal(pair->end[0]) != RP_OK) {
            return "signal failed";
        }
    }
    for (int i = 0; i < 5; i++) {
        if (!signal_comes_from(pair, 0)) {
            return "a signal was lost";
        }
    }
    if (rp_channel_test(pair->end[1])) {
        return "a signal was delivered twice";
    }
    return rp_channel_test(pair->end[0]) ? "the sender got its own signal" : NULL;
}

const char *channel_keeps_puts_inside_the_window(const struct channel_pair *pair)
{
    const uint64_t limit = pair->window_bytes;
    const struct {
        uint64_t off;
        uint64_t bytes;
        bool fits;
    } rows[] = {
        { 0, 0, true },
        { limit, 0, true },
        { limit - 1, 1, true },
        { 0, limit, true },
        { limit + 1, 0, false },
        { limit, 1, false },
        { limit - 1, 2, false },
        { 0, limit + 1, false },
        { 1, limit, false },
        { UINT64_MAX, 1, false },
        { 1, UINT64_MAX, false },
        { UINT64_MAX, UINT64_MAX, false },
    };
    uint8_t *src = calloc(1, limit);
    const char *wrong = NULL;
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows) && wrong == NULL; i++) {
        const rp_status st = put(pair->end[0], RP_WINDOW_OUT, rows[i].off, src, rows[i].bytes);
        if (st != (rows[i].fits ? RP_OK : RP_EPARAM)) {
            wrong = rows[i].fits ? "a put that fits was refused" : "a put outside was accepted";
        }
    }
    free(src);
    return wrong;
}

const char *channel_source_is_free_after_put(const struct channel_pair *pair)
{
    uint8_t *src = malloc(65536);
    memset(src, 1, 65536);
    rp_status st = put(pair->end[1], RP_WINDOW_IN, 0, src, 65536);
    memset(src, 2, 65536);
    if (st == RP_OK) {
        st = rp_channel_signal(pair->end[1]);
    }
    const bool came = st == RP_OK && signal_comes_from(pair, 1);
    const uint8_t *there = pair->window[0][RP_WINDOW_IN];
    const bool old = there[0] == 1 && memcmp(there, there + 1, 65535) == 0;
    free(src);
    return came && old ? NULL : "what arrived is not what was put";
}

// ---- point to point ----

static rp_status publish(struct rp_channel *ch)
{
    const uint64_t deadline_ns = rp_deadline_ns(PATIENCE_NS);
    rp_status st = rp_channel_publish(ch);
    while (st == RP_AGAIN && rp_now_ns() < deadline_ns) {
        rp_channel_progress(ch, BUDGET);
        st = rp_channel_publish(ch);
    }
    return st;
}

static bool word_comes(
        const struct channel_pair *pair, int reader, const _Atomic uint64_t *word, uint64_t value)
{
    const uint64_t deadline_ns = rp_deadline_ns(PATIENCE_NS);
    // acquire [P1] [P2] [P3]: as the readers of a pair's words do.
    while (atomic_load_explicit(word, memory_order_acquire) != value) {
        rp_channel_progress(pair->end[reader], BUDGET);
        rp_channel_progress(pair->end[1 - reader], BUDGET);
        if (rp_now_ns() > deadline_ns) {
            return false;
        }
    }
    return true;
}

static void say(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release); // [P1] [P2] [P3]
}

static struct rp_record some_record(int from, uint64_t number, uint16_t op)
{
    return (struct rp_record){
        .digest = 0x1122334455667788u + number,
        .seq = number,
        .count = 1000000007u * number,
        .send_off = 3,
        .recv_off = UINT64_MAX - number,
        .graph = 5,
        .root = (uint32_t)from,
        .op = op,
        .dtype = 1,
        .reduce = 2,
        .expansion = 3,
        .algorithm = 4,
        .determinism = 1,
        .buffer_class = 1,
        .task = (uint32_t)number << 20,
    };
}

// Number n is posted when the peer has taken all of number n - 1, as kernels/pair.h has it.
static const char *send_one(const struct channel_pair *pair, int from, uint64_t number)
{
    struct rp_channel *sender = pair->end[from];
    struct rp_channel *receiver = pair->end[1 - from];
    const struct rp_record send = some_record(from, number, RP_OP_SEND);
    const struct rp_record recv = some_record(from, number, RP_OP_RECEIVE);
    const uint8_t data[5] = { 's', 'e', 'n', 'd', (uint8_t)number };
    receiver->own->recv[number % 2] = recv;
    say(&receiver->own->recvs, number);
    sender->own->send[number % 2] = send;
    say(&sender->own->sends, number);
    if (publish(receiver) != RP_OK || publish(sender) != RP_OK) {
        return "publish failed";
    }
    if (!word_comes(pair, from, &sender->peers->recvs, number) ||
            memcmp(&sender->peers->recv[number % 2], &recv, sizeof(recv)) != 0) {
        return "a receive was not posted as it is";
    }
    const uint64_t off = number % 2 * 64;
    if (put(sender, RP_WINDOW_IN, off, data, sizeof(data)) != RP_OK) {
        return "put failed";
    }
    say(&sender->own->put, number);
    if (publish(sender) != RP_OK || !word_comes(pair, 1 - from, &receiver->peers->put, number)) {
        return "a piece was not published";
    }
    if (memcmp(pair->window[1 - from][RP_WINDOW_IN] + off, data, sizeof(data)) != 0) {
        return "a piece was published before it was there";
    }
    if (atomic_load_explicit(&receiver->peers->sends, memory_order_acquire) != number || // [P1]
            memcmp(&receiver->peers->send[number % 2], &send, sizeof(send)) != 0) {
        return "a send was not posted as it is";
    }
    say(&receiver->own->taken, number);
    return publish(receiver) == RP_OK && word_comes(pair, from, &sender->peers->taken, number)
                   ? NULL
                   : "a piece's end was not published";
}

const char *channel_publishes_pair_words(const struct channel_pair *pair)
{
    for (uint64_t number = 1; number <= 5; number++) {
        for (int from = 0; from < 2; from++) {
            const char *wrong = send_one(pair, from, number);
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return rp_channel_test(pair->end[0]) || rp_channel_test(pair->end[1])
                   ? "a word was taken for a signal"
                   : NULL;
}

// ---- a long exchange, one thread an end ----

#define ROUNDS 3000
#define PIECE_MAX 4096

struct side {
    const struct channel_pair *pair;
    int rank;
    const char *wrong;
};

static uint8_t expected(int from, uint32_t round, uint32_t at)
{
    return (uint8_t)((uint32_t)from * 31 + round * 7 + at);
}

// Rounds alternate between two places, so a round's data stand until the signal after the next one.
static void *exchange(void *arg)
{
    struct side *side = arg;
    struct rp_channel *ch = side->pair->end[side->rank];
    const uint8_t *own = side->pair->window[side->rank][RP_WINDOW_IN];
    uint8_t piece[PIECE_MAX];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t bytes = 1 + round * 97 % PIECE_MAX;
        const uint64_t off = round % 2 * PIECE_MAX;
        for (uint32_t i = 0; i < bytes; i++) {
            piece[i] = expected(side->rank, round, i);
        }
        if (put(ch, RP_WINDOW_IN, off, piece, bytes) != RP_OK || rp_channel_signal(ch) != RP_OK ||
                !signal_comes(ch, NULL)) {
            side->wrong = "an exchange did not come to its end";
            return NULL;
        }
        for (uint32_t i = 0; i < bytes; i++) {
            if (own[off + i] != expected(1 - side->rank, round, i)) {
                side->wrong = "data of another round";
                return NULL;
            }
        }
    }
    return NULL;
}

const char *channel_both_directions_at_once(const struct channel_pair *pair)
{
    struct side side[2] = { { pair, 0, NULL }, { pair, 1, NULL } };
    pthread_t thread;
    if (pthread_create(&thread, NULL, exchange, &side[1]) != 0) {
        return "no thread";
    }
    exchange(&side[0]);
    pthread_join(thread, NULL);
    return side[0].wrong != NULL ? side[0].wrong : side[1].wrong;
}

const char *channel_whole_window_at_any_alignment(const struct channel_pair *pair)
{
    const uint64_t bytes = pair->window_bytes;
    uint8_t *src = malloc(bytes + 8);
    const uint8_t *there = pair->window[1][RP_WINDOW_IN];
    const char *wrong = NULL;
    for (uint64_t shift = 0; shift < 8 && wrong == NULL; shift += 3) {
        for (uint64_t i = 0; i < bytes; i++) {
            src[shift + i] = (uint8_t)(i * 13 + shift);
        }
        if (put(pair->end[0], RP_WINDOW_IN, shift, src + shift, bytes - shift) != RP_OK ||
                rp_channel_signal(pair->end[0]) != RP_OK || !signal_comes_from(pair, 0)) {
            wrong = "put or signal failed";
        } else if (memcmp(there + shift, src + shift, bytes - shift) != 0) {
            wrong = "the window's content differs";
        }
    }
    free(src);
    return wrong;
}

// ---- waking ----

struct sleeper {
    struct rp_channel *ch;
    struct rp_doorbell_end *bell;
    bool came;
    uint64_t waited_ns;
};

// Sleeps without the usual backstop: only the bell ends it in time.
static void *sleep_for_signal(void *arg)
{
    struct sleeper *sleeper = arg;
    struct rp_sleep sleep;
    const uint64_t start_ns = rp_now_ns();
    rp_doorbell_prepare(sleeper->bell, &sleep);
    sleeper->came = rp_channel_test(sleeper->ch);
    if (sleeper->came) {
        rp_doorbell_cancel(sleeper->bell, &sleep);
    } else {
        (void)rp_doorbell_wait(sleeper->bell, &sleep, PATIENCE_NS);
        sleeper->came = rp_channel_test(sleeper->ch);
    }
    sleeper->waited_ns = rp_now_ns() - start_ns;
    return NULL;
}

const char *channel_signal_wakes_a_sleeper(const struct channel_pair *pair)
{
    if (pair->bell[1] == NULL) {
        return NULL; // this wire wakes by a descriptor
    }
    for (int i = 0; i < 200; i++) {
        struct sleeper sleeper = { .ch = pair->end[1], .bell = pair->bell[1] };
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_for_signal, &sleeper) != 0) {
            return "no thread";
        }
        // Sometimes before it sleeps, sometimes after, sometimes right in between.
        for (int k = 0; k < i * 20; k++) {
            sched_yield();
        }
        const rp_status st = rp_channel_signal(pair->end[0]);
        pthread_join(thread, NULL);
        if (st != RP_OK || !sleeper.came || sleeper.waited_ns > PATIENCE_NS / 2) {
            return "a sleeper was not woken";
        }
    }
    return NULL;
}
