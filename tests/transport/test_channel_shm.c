#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/channel_conformance.h"
#include "support/node_case.h"

#define WINDOW_BYTES 100000 // no multiple of anything

static bool open_pair(struct channel_pair *pair)
{
    struct node_local *local = calloc(1, sizeof(*local));
    node_local_open(local, 2, WINDOW_BYTES);
    pair->wire = local;
    pair->window_bytes = WINDOW_BYTES;
    for (uint32_t r = 0; r < 2; r++) {
        const struct rp_peer *own = &local->comm[r]->lines.peer[r];
        pair->end[r] = local->comm[r]->channel[1 - r];
        pair->window[r][RP_WINDOW_IN] = own->window_in;
        pair->window[r][RP_WINDOW_OUT] = own->window_out;
        pair->bell[r] = own->bell;
    }
    return true;
}

static void close_pair(struct channel_pair *pair)
{
    node_local_close(pair->wire);
    free(pair->wire);
}

static const struct channel_wire wire = { .open = open_pair, .close = close_pair };

CHANNEL_CONFORMANCE(channel_shm, &wire)

Test(channel_shm, is_named_and_knows_its_peer)
{
    struct channel_pair pair = { 0 };
    cr_assert(open_pair(&pair));
    cr_assert(eq(str, (char *)(uintptr_t)pair.end[0]->ops->name, "shm"));
    cr_assert(eq(uint, pair.end[0]->peer, 1));
    cr_assert(eq(uint, pair.end[1]->peer, 0));
    cr_assert(eq(uint, rp_channel_progress(pair.end[0], 10), 0));
    close_pair(&pair);
}

// Ranks come out of the bootstrap one after the other.
Test(channel_shm, signals_from_before_the_receiver_opened_count)
{
    struct node_local local;
    struct rp_channel *late = NULL;
    node_local_open(&local, 2, WINDOW_BYTES);
    cr_assert(eq(int, rp_channel_signal(local.comm[0]->channel[1]), RP_OK));
    cr_assert(eq(int, rp_channel_shm_open(&local.comm[1]->lines, 0, &late), RP_OK));
    cr_assert(rp_channel_test(late));
    cr_assert(not(rp_channel_test(late)));
    rp_channel_close(late);
    node_local_close(&local);
}

Test(channel_shm, signals_of_several_peers_are_apart)
{
    struct node_local local;
    node_local_open(&local, 4, WINDOW_BYTES);
    cr_assert(eq(int, rp_channel_signal(local.comm[3]->channel[1]), RP_OK));
    cr_assert(eq(int, rp_channel_signal(local.comm[0]->channel[1]), RP_OK));
    cr_assert(eq(int, rp_channel_signal(local.comm[0]->channel[1]), RP_OK));
    const unsigned expected[4] = { 2, 0, 0, 1 };
    for (uint32_t r = 0; r < 4; r++) {
        for (uint32_t q = 0; q < 4; q++) {
            unsigned count = 0;
            while (r != q && rp_channel_test(local.comm[r]->channel[q])) {
                count++;
            }
            cr_assert(eq(uint, count, r == 1 ? expected[q] : 0), "%u from %u", r, q);
        }
    }
    node_local_close(&local);
}

Test(channel_shm, heap_failure_is_an_error)
{
    struct node_local local;
    struct rp_channel *channel = NULL;
    node_local_open(&local, 2, WINDOW_BYTES);
    rp_alloc_fail_after(0);
    cr_assert(eq(int, rp_channel_shm_open(&local.comm[0]->lines, 1, &channel), RP_ENOMEM));
    cr_assert(eq(ptr, channel, NULL));
    node_local_close(&local);
}
