// A discrete-event simulation of one round: the rank that is furthest behind runs its next task.

#include "capture/cost.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/util.h"

const struct rp_cost_model rp_cost_default = {
    .link = {
            [RP_LINK_NODE] = { .alpha_ns = 300, .beta_ns = 0.1 },
            [RP_LINK_NET] = { .alpha_ns = 10000, .beta_ns = 0.3, .call_ns = 1500, .wire = true },
    },
    .task_ns = 40,
    .copy_ns = 0.1,
    .gamma_ns = 0.1,
};

// A task as far as time goes: a thousand ranks have millions of them.
struct step {
    uint32_t bytes; // of a reduction: of all its inputs
    uint16_t peer;
    uint8_t kind;
};

#define NO_MESSAGE UINT32_MAX
#define NOBODY UINT32_MAX

// A signal that was not taken yet.
struct message {
    double arrival_ns;
    uint32_t next; // of the same pair, or of the free ones
};

struct queue {
    uint32_t first, last;
};

struct rank {
    struct step *step;
    uint32_t steps, at;
    double now_ns;
    double put_end_ns; // of the last put, to `put_peer`
    double out_ns;     // its port is free to send
    double in_ns;      // and to receive
    uint32_t put_peer;
    uint32_t waits_for; // NOBODY: it can run, or is through
    uint32_t node;
};

struct replay {
    const struct rp_cost_model *model;
    uint32_t size;
    struct rank *rank;
    struct queue *queue; // [receiver * size + sender]
    struct message *message;
    uint32_t messages_max, free_message;
    uint32_t *heap; // ranks that can run, the earliest first
    uint32_t heap_count;
};

// ---- ranks by time ----

static bool earlier(const struct replay *replay, uint32_t a, uint32_t b)
{
    return replay->rank[a].now_ns < replay->rank[b].now_ns;
}

static void heap_swap(struct replay *replay, uint32_t i, uint32_t k)
{
    const uint32_t rank = replay->heap[i];
    replay->heap[i] = replay->heap[k];
    replay->heap[k] = rank;
}

static void heap_push(struct replay *replay, uint32_t rank)
{
    uint32_t i = replay->heap_count++;
    replay->heap[i] = rank;
    while (i > 0 && earlier(replay, replay->heap[i], replay->heap[(i - 1) / 2])) {
        heap_swap(replay, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static uint32_t heap_pop(struct replay *replay)
{
    const uint32_t earliest = replay->heap[0];
    replay->heap[0] = replay->heap[--replay->heap_count];
    uint32_t i = 0;
    for (;;) {
        uint32_t first = i;
        for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < replay->heap_count;
                child++) {
            if (earlier(replay, replay->heap[child], replay->heap[first])) {
                first = child;
            }
        }
        if (first == i) {
            return earliest;
        }
        heap_swap(replay, i, first);
        i = first;
    }
}

// ---- tasks ----

static const struct rp_link_cost *link_of(const struct replay *replay, uint32_t a, uint32_t b)
{
    const bool near = replay->rank[a].node == replay->rank[b].node;
    return &replay->model->link[near ? RP_LINK_NODE : RP_LINK_NET];
}

static void run_put(struct replay *replay, uint32_t self, const struct step *step)
{
    struct rank *rank = &replay->rank[self];
    struct rank *peer = &replay->rank[step->peer];
    const struct rp_link_cost *link = link_of(replay, self, step->peer);
    const double bytes_ns = step->bytes * link->beta_ns;
    if (!link->wire) {
        rank->now_ns += bytes_ns;
        rank->put_end_ns = rank->now_ns;
    } else {
        const double start = rank->out_ns > rank->now_ns ? rank->out_ns : rank->now_ns;
        rank->out_ns = start + bytes_ns;
        peer->in_ns = (peer->in_ns > start ? peer->in_ns : start) + bytes_ns;
        rank->put_end_ns = peer->in_ns;
    }
    rank->put_peer = step->peer;
}

// Messages are as many as can be under way at a time; RP_ENOMEM.
static rp_status take_message(struct replay *replay, uint32_t *out)
{
    if (replay->free_message == NO_MESSAGE) {
        const uint32_t room = replay->messages_max == 0 ? 1024 : 2 * replay->messages_max;
        struct message *grown = rp_realloc(replay->message, room * sizeof(*grown));
        if (grown == NULL) {
            return rp_fail(RP_ENOMEM, "no memory to predict the time of a collective");
        }
        for (uint32_t i = replay->messages_max; i < room; i++) {
            grown[i].next = i + 1 == room ? NO_MESSAGE : i + 1;
        }
        replay->message = grown;
        replay->free_message = replay->messages_max;
        replay->messages_max = room;
    }
    *out = replay->free_message;
    replay->free_message = replay->message[*out].next;
    return RP_OK;
}

static rp_status run_signal(struct replay *replay, uint32_t self, uint32_t to)
{
    const struct rank *rank = &replay->rank[self];
    struct queue *queue = &replay->queue[(size_t)to * replay->size + self];
    uint32_t index = 0;
    const rp_status st = take_message(replay, &index);
    if (st != RP_OK) {
        return st;
    }
    const bool after_put = rank->put_peer == to && rank->put_end_ns > rank->now_ns;
    replay->rank[self].now_ns += link_of(replay, self, to)->call_ns;
    const double sent_ns = after_put ? rank->put_end_ns : rank->now_ns;
    replay->message[index] = (struct message){
        .arrival_ns = sent_ns + link_of(replay, self, to)->alpha_ns,
        .next = NO_MESSAGE,
    };
    if (queue->first == NO_MESSAGE) {
        queue->first = index;
    } else {
        replay->message[queue->last].next = index;
    }
    queue->last = index;
    if (replay->rank[to].waits_for == self) {
        replay->rank[to].waits_for = NOBODY;
        heap_push(replay, to);
    }
    return RP_OK;
}

// False: there is no signal yet.
static bool run_wait(struct replay *replay, uint32_t self, uint32_t from)
{
    struct queue *queue = &replay->queue[(size_t)self * replay->size + from];
    struct rank *rank = &replay->rank[self];
    if (queue->first == NO_MESSAGE) {
        return false;
    }
    const uint32_t index = queue->first;
    assert(index < replay->messages_max && replay->message != NULL);
    struct message *message = &replay->message[index];
    if (message->arrival_ns > rank->now_ns) {
        rank->now_ns = message->arrival_ns;
    }
    rank->now_ns += link_of(replay, self, from)->call_ns;
    queue->first = message->next;
    message->next = replay->free_message;
    replay->free_message = index;
    return true;
}

// The next task of the earliest rank.
static rp_status run_earliest(struct replay *replay)
{
    const uint32_t self = heap_pop(replay);
    struct rank *rank = &replay->rank[self];
    if (rank->at == rank->steps) {
        return RP_OK;
    }
    const struct step *step = &rank->step[rank->at];
    if (step->kind == RP_HT_WAIT && !run_wait(replay, self, step->peer)) {
        rank->waits_for = step->peer;
        return RP_OK;
    }
    rp_status st = RP_OK;
    rank->at++;
    rank->now_ns += replay->model->task_ns;
    switch ((enum rp_ht_kind)step->kind) {
    case RP_HT_COPY:
        rank->now_ns += step->bytes * replay->model->copy_ns;
        break;
    case RP_HT_REDUCE:
        rank->now_ns += step->bytes * replay->model->gamma_ns;
        break;
    case RP_HT_PUT:
        run_put(replay, self, step);
        break;
    case RP_HT_SIGNAL:
        st = run_signal(replay, self, step->peer);
        break;
    case RP_HT_WAIT:
    case RP_HT_CHECK:
        break;
    }
    heap_push(replay, self);
    return st;
}

// ---- a round ----

static rp_status load_rank(struct replay *replay, const struct rp_expand_request *round)
{
    struct rank *rank = &replay->rank[round->rank];
    struct rp_task_list *list = NULL;
    const rp_status st = rp_expand(round, &list);
    if (st != RP_OK) {
        return st;
    }
    rank->step = rp_calloc(list->task_count + 1, sizeof(*rank->step));
    if (rank->step == NULL) {
        rp_free(list);
        return rp_fail(RP_ENOMEM, "no memory to predict the time of a collective");
    }
    rank->steps = list->task_count;
    for (uint32_t i = 0; i < list->task_count; i++) {
        const struct rp_ht_task *task = &list->task[i];
        const uint64_t inputs = task->kind == RP_HT_REDUCE ? task->fold_count : 1;
        assert(task->bytes * inputs <= UINT32_MAX && task->peer <= UINT16_MAX);
        rank->step[i] = (struct step){
            .bytes = (uint32_t)(task->bytes * inputs),
            .peer = (uint16_t)task->peer,
            .kind = task->kind,
        };
    }
    rp_free(list);
    return RP_OK;
}

static void set_nodes(struct replay *replay, const struct rp_layout *layout)
{
    for (uint32_t node = 0; layout != NULL && node < layout->nodes; node++) {
        for (uint32_t card = 0; card < rp_layout_cards(layout, node); card++) {
            replay->rank[rp_layout_rank(layout, node, card)].node = node;
        }
    }
}

static rp_status run_round(struct replay *replay, struct rp_expand_request round, double *ns)
{
    rp_status st = RP_OK;
    for (round.rank = 0; round.rank < round.size && st == RP_OK; round.rank++) {
        replay->rank[round.rank].waits_for = NOBODY;
        replay->rank[round.rank].put_peer = NOBODY;
        st = load_rank(replay, &round);
    }
    set_nodes(replay, round.layout);
    for (uint32_t r = 0; r < round.size && st == RP_OK; r++) {
        heap_push(replay, r);
    }
    while (replay->heap_count > 0 && st == RP_OK) {
        st = run_earliest(replay);
    }
    *ns = 0;
    for (uint32_t r = 0; r < round.size; r++) {
        assert(st != RP_OK || replay->rank[r].at == replay->rank[r].steps);
        *ns = replay->rank[r].now_ns > *ns ? replay->rank[r].now_ns : *ns;
    }
    return st;
}

// One round of `round.count` elements of each block.
static rp_status predict_round(
        const struct rp_cost_model *model, const struct rp_expand_request *round, double *ns)
{
    const size_t pairs = (size_t)round->size * round->size;
    struct replay replay = {
        .model = model,
        .size = round->size,
        .free_message = NO_MESSAGE,
        .rank = rp_calloc(round->size, sizeof(*replay.rank)),
        .queue = rp_calloc(pairs, sizeof(*replay.queue)),
        .heap = rp_calloc(round->size, sizeof(*replay.heap)),
    };
    rp_status st = RP_OK;
    if (replay.rank == NULL || replay.queue == NULL || replay.heap == NULL) {
        st = rp_fail(RP_ENOMEM, "no memory to predict the time of a collective");
    } else {
        memset(replay.queue, 0xff, pairs * sizeof(*replay.queue)); // NO_MESSAGE
        st = run_round(&replay, *round, ns);
    }
    for (uint32_t r = 0; replay.rank != NULL && r < round->size; r++) {
        rp_free(replay.rank[r].step);
    }
    rp_free(replay.message);
    rp_free(replay.heap);
    rp_free(replay.queue);
    rp_free(replay.rank);
    return st;
}

rp_status rp_cost_predict(const struct rp_cost_model *model,
        const struct rp_expand_request *request, uint64_t count, double *ns)
{
    struct rp_expand_request round = *request;
    const uint64_t most = rp_expand_round_count(request);
    if (most == 0 || count == 0) {
        return rp_fail(RP_EPARAM, "there is no round whose time could be told");
    }
    round.count = rp_min_u64(count, most);
    double full_ns = 0;
    double tail_ns = 0;
    rp_status st = predict_round(model, &round, &full_ns);
    const uint64_t rounds = count / round.count;
    round.count = count % round.count;
    if (st == RP_OK && round.count != 0) {
        st = predict_round(model, &round, &tail_ns);
    }
    if (st == RP_OK) {
        *ns = (double)rounds * full_ns + tail_ns;
    }
    return st;
}
