// Many producers push numbered nodes; the consumer sleeps by a doorbell when the queue is empty.
// Every node must come out once, those of one producer in order, with the payload that its producer
// wrote (ThreadSanitizer checks that the queue orders it), and no push may be slept through.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/doorbell.h"
#include "base/mpsc.h"

#define PRODUCERS 4
#define NODES 20000
#define WAIT_NS (20 * RP_NS_PER_S)

struct item {
    struct rp_mpsc_node node;
    unsigned producer;
    unsigned number; // plain memory: published by the queue alone
};

static struct rp_mpsc queue;
static struct rp_doorbell bell;
static struct rp_doorbell_end end = { .bell = &bell, .eventfd = -1 };

static void *produce(void *argument)
{
    unsigned producer = *(unsigned *)argument;
    for (unsigned i = 0; i < NODES; i++) {
        struct item *item = malloc(sizeof(*item));
        if (item == NULL) {
            return NULL;
        }
        item->producer = producer;
        item->number = i;
        rp_mpsc_push(&queue, &item->node);
        rp_doorbell_ring(&end);
    }
    return NULL;
}

static int sleep_until_pushed(void)
{
    struct rp_sleep sleep;
    rp_doorbell_prepare(&end, &sleep);
    if (!rp_mpsc_empty(&queue)) {
        rp_doorbell_cancel(&end, &sleep);
        return 0;
    }
    return rp_doorbell_wait(&end, &sleep, WAIT_NS) == RP_WAKE_TIMEOUT;
}

static int consume(void)
{
    unsigned next[PRODUCERS] = { 0 };
    for (unsigned taken = 0; taken < PRODUCERS * NODES;) {
        struct rp_mpsc_node *node = rp_mpsc_pop(&queue);
        if (node == NULL) {
            if (sleep_until_pushed() != 0) {
                fprintf(stderr, "slept through a push after %u nodes\n", taken);
                return 1;
            }
            continue;
        }
        struct item *item = rp_container_of(node, struct item, node);
        if (item->producer >= PRODUCERS || item->number != next[item->producer]++) {
            fprintf(stderr, "node %u of producer %u out of order\n", item->number, item->producer);
            return 1;
        }
        free(item);
        taken++;
    }
    return rp_mpsc_pop(&queue) != NULL || !rp_mpsc_empty(&queue);
}

int main(void)
{
    pthread_t thread[PRODUCERS];
    unsigned number[PRODUCERS];
    rp_mpsc_init(&queue);
    rp_doorbell_init(&bell);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, produce, &number[i]) != 0) {
            return 2;
        }
    }
    int failed = consume();
    for (unsigned i = 0; i < PRODUCERS; i++) {
        pthread_join(thread[i], NULL);
    }
    return failed;
}
