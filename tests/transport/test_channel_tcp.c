#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include "support/channel_conformance.h"
#include "support/tcp_case.h"

static bool open_pair(struct channel_pair *pair)
{
    struct tcp_case *tcp = calloc(1, sizeof(*tcp));
    tcp_case_open(tcp, &(struct tcp_shape){ 0 });
    pair->wire = tcp;
    pair->window_bytes = TCP_WINDOW_BYTES;
    for (uint32_t r = 0; r < 2; r++) {
        const struct rp_peer *own = &tcp->end[r].comm->lines.peer[r];
        pair->end[r] = tcp->end[r].channel;
        pair->window[r][RP_WINDOW_IN] = own->window_in;
        pair->window[r][RP_WINDOW_OUT] = own->window_out;
    }
    return true;
}

static void close_pair(struct channel_pair *pair)
{
    tcp_case_close(pair->wire);
    free(pair->wire);
}

static const struct channel_wire wire = { .open = open_pair, .close = close_pair };

CHANNEL_CONFORMANCE(channel_tcp, &wire)
