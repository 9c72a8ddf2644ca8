#include "transport/links.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/conn.h"
#include "transport/dialer.h"
#include "transport/listener.h"
#include "transport/rendezvous.h"

#define DIALS_MAX 16
#define GRACE_MS 500   // for the root to say why a peer went away
#define VERDICT_MS 300 // before the deadline, so that the root hears whom we cannot reach

enum link_message {
    LINK_HELLO = 1, // u32 from, u32 to
    LINK_WELCOME,
};

// One rank that is being dialed; `links` is NULL while the place is free.
struct dial {
    struct rp_links *links;
    uint32_t peer;
    struct rp_rendezvous target; // its door, as a dialer wants it
    struct rp_dialer *dialer;
    struct rp_conn *conn; // that has proved itself
};

struct rp_links {
    struct rp_links_setup setup;
    uv_timer_t timer; // the start, the deadline, the grace
    bool ended;
    char lost[256]; // why a connection was lost; "" while none was
    struct rp_listener *listener;
    struct rp_list lobby; // struct rp_conn that has not said which rank it is
    int *fd;              // [size]
    uint32_t missing;     // connections
    uint32_t next;        // ranks below it are dialed, or need not be
    struct dial dial[DIALS_MAX];
};

static bool is_elsewhere(const struct rp_links *links, uint32_t rank)
{
    const struct rp_roster_entry *roster = links->setup.roster;
    return roster[rank].member.node != roster[links->setup.rank].member.node;
}

// The end.

static void free_dial(struct dial *dial)
{
    if (dial->links != NULL) {
        rp_dialer_destroy(dial->dialer);
        rp_conn_close(dial->conn);
        dial->links = NULL;
        dial->dialer = NULL;
        dial->conn = NULL;
    }
}

static void stop(struct rp_links *links)
{
    links->ended = true;
    uv_timer_stop(&links->timer);
    rp_listener_close(links->listener);
    links->listener = NULL;
    rp_list_each(link, &links->lobby)
    {
        rp_conn_close(rp_conn_of_link(link));
    }
    for (uint32_t i = 0; i < DIALS_MAX; i++) {
        free_dial(&links->dial[i]);
    }
}

static void fail(struct rp_links *links, rp_status status, const char *sentence)
{
    if (!links->ended) {
        stop(links);
        links->setup.events->failed(links->setup.owner, status, sentence);
    }
}

static void fail_described(struct rp_links *links, rp_status status)
{
    const char *sentence = rp_error_captured();
    fail(links, status, sentence[0] == '\0' ? rp_status_text(status) : sentence);
}

static void on_grace_over(uv_timer_t *timer)
{
    struct rp_links *links = rp_container_of(timer, struct rp_links, timer);
    rp_loop_ran(links->setup.loop);
    fail(links, RP_EREMOTE, links->lost);
}

static void lose(struct rp_links *links, uint32_t peer, bool by_peer, const char *why)
{
    if (links->ended || links->lost[0] != '\0') {
        return;
    }
    snprintf(links->lost, sizeof(links->lost), "rank %u and rank %u could not be connected: %s",
            links->setup.rank, peer, why);
    if (by_peer) {
        uv_timer_start(&links->timer, on_grace_over, GRACE_MS, 0);
    } else {
        fail(links, RP_ENORES, links->lost);
    }
}

void rp_links_release(int *fd, uint32_t size)
{
    for (uint32_t i = 0; fd != NULL && i < size; i++) {
        if (fd[i] >= 0) {
            rp_fork_unguard_fd(fd[i]);
            close(fd[i]);
        }
    }
    rp_free(fd);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct rp_links *links = rp_container_of(handle, struct rp_links, timer);
    rp_loop_count_end(links->setup.loop);
    sodium_memzero(links->dial, sizeof(links->dial));
    rp_free(links);
}

void rp_links_destroy(struct rp_links *links)
{
    if (links == NULL) {
        return;
    }
    stop(links);
    rp_links_release(links->fd, links->setup.size);
    links->fd = NULL;
    uv_close((uv_handle_t *)&links->timer, on_timer_closed);
}

int *rp_links_take(struct rp_links *links)
{
    assert(links->missing == 0);
    int *fd = links->fd;
    links->fd = NULL;
    return fd;
}

// A connection stands: only its descriptor is of use from here on.
static void take_link(struct rp_links *links, uint32_t peer, struct rp_conn *conn)
{
    links->fd[peer] = rp_conn_detach(conn);
    if (links->fd[peer] < 0) {
        rp_conn_close(conn);
        lose(links, peer, false, "more was said than was asked");
        return;
    }
    links->missing--;
}

static void finish_if_done(struct rp_links *links)
{
    if (!links->ended && links->missing == 0) {
        stop(links);
        links->setup.events->linked(links->setup.owner);
    }
}

// The ranks above this one come.

static void on_lobby_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct rp_links *links = owner;
    uint32_t from = rp_read_u32(&frame->payload);
    uint32_t to = rp_read_u32(&frame->payload);
    if (frame->type != LINK_HELLO || !rp_reader_finished(&frame->payload) ||
            to != links->setup.rank || from <= to || from >= links->setup.size ||
            !is_elsewhere(links, from) || links->fd[from] >= 0) {
        rp_log_warn("a connection of another rank did not name one that is awaited");
        rp_conn_close(conn);
        return;
    }
    rp_status st = rp_conn_send(conn, LINK_WELCOME, NULL, 0, NULL);
    if (st != RP_OK) {
        rp_conn_close(conn);
        fail_described(links, st);
        return;
    }
    take_link(links, from, conn);
    finish_if_done(links);
}

static void on_lobby_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    (void)conn;
    (void)owner;
    (void)by_peer;
    rp_log_info("a connection of another rank was lost: %s", why);
}

static const struct rp_conn_events lobby_events = {
    .frame = on_lobby_frame,
    .lost = on_lobby_lost,
};

static void on_accepted(struct rp_listener *listener, void *owner, struct rp_conn *conn)
{
    struct rp_links *links = owner;
    (void)listener;
    rp_list_push_back(&links->lobby, rp_conn_link(conn));
    rp_conn_adopt(conn, &lobby_events, links);
}

// The ranks below this one are dialed.

static void dial_more(struct rp_links *links);

static void on_dial_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    struct dial *dial = owner;
    struct rp_links *links = dial->links;
    if (frame->type != LINK_WELCOME || !rp_reader_finished(&frame->payload)) {
        lose(links, dial->peer, false, "it said something unexpected");
        return;
    }
    dial->conn = NULL;
    take_link(links, dial->peer, conn);
    free_dial(dial);
    dial_more(links);
    finish_if_done(links);
}

static void on_dial_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct dial *dial = owner;
    (void)conn;
    dial->conn = NULL;
    lose(dial->links, dial->peer, by_peer, why);
}

static const struct rp_conn_events dial_events = {
    .frame = on_dial_frame,
    .lost = on_dial_lost,
};

static void on_dialed(void *owner, struct rp_conn *conn)
{
    struct dial *dial = owner;
    struct rp_links *links = dial->links;
    uint8_t payload[8];
    struct rp_writer writer = rp_writer_view(payload, sizeof(payload));
    dial->conn = conn;
    rp_conn_adopt(conn, &dial_events, dial);
    rp_dialer_destroy(dial->dialer);
    dial->dialer = NULL;
    rp_write_u32(&writer, links->setup.rank);
    rp_write_u32(&writer, dial->peer);
    rp_status st = rp_conn_send(conn, LINK_HELLO, payload, sizeof(payload), NULL);
    if (st != RP_OK) {
        fail_described(links, st);
    }
}

static void begin_dial(struct rp_links *links, struct dial *dial, uint32_t peer)
{
    const struct rp_door *door = &links->setup.door[peer];
    *dial = (struct dial){ .links = links, .peer = peer };
    rp_rendezvous_add_address(&dial->target, &door->address, door->port);
    memcpy(dial->target.secret, links->setup.secret, sizeof(dial->target.secret));
    snprintf(dial->target.identifier, sizeof(dial->target.identifier), "rank %u", peer);
    struct rp_dialer_setup setup = {
        .loop = links->setup.loop,
        .env = links->setup.env,
        .meet = &dial->target,
        .scope = RP_WIRE_LINK,
        .ready = on_dialed,
        .owner = dial,
    };
    rp_status st = rp_dialer_create(&setup, &dial->dialer);
    if (st != RP_OK) {
        fail_described(links, st);
    }
}

// As many as there are places for.
static void dial_more(struct rp_links *links)
{
    for (uint32_t i = 0; i < DIALS_MAX && !links->ended; i++) {
        while (links->next < links->setup.rank && !is_elsewhere(links, links->next)) {
            links->next++;
        }
        if (links->next == links->setup.rank) {
            return;
        }
        if (links->dial[i].links == NULL) {
            begin_dial(links, &links->dial[i], links->next++);
        }
    }
}

// The beginning.

// Names one rank that cannot be reached. Who waits to be dialed leaves it to the other end, which
// knows why.
static void on_deadline(uv_timer_t *timer)
{
    struct rp_links *links = rp_container_of(timer, struct rp_links, timer);
    rp_loop_ran(links->setup.loop);
    for (uint32_t i = 0; i < DIALS_MAX; i++) {
        const struct dial *dial = &links->dial[i];
        if (dial->links == NULL || dial->dialer == NULL) {
            continue;
        }
        char where[RP_RENDEZVOUS_TEXT_BYTES];
        char sentence[RP_SENTENCE_BYTES];
        const char *why = rp_dialer_why(dial->dialer);
        rp_rendezvous_text(&dial->target, where, sizeof(where));
        snprintf(sentence, sizeof(sentence),
                "rank %u could not connect to rank %u at %s within the time of "
                "HCCL_CONNECT_TIMEOUT: %s",
                links->setup.rank, dial->peer, where, why[0] == '\0' ? "it does not answer" : why);
        fail(links, RP_ECONNTIMEOUT, sentence);
        return;
    }
}

static void on_start(uv_timer_t *timer)
{
    struct rp_links *links = rp_container_of(timer, struct rp_links, timer);
    rp_loop_ran(links->setup.loop);
    uint64_t now_ns = rp_now_ns();
    uint64_t verdict_ns = links->setup.deadline_ns - VERDICT_MS * RP_NS_PER_MS;
    uv_timer_start(&links->timer, on_deadline,
            verdict_ns > now_ns ? (verdict_ns - now_ns) / RP_NS_PER_MS : 0, 0);
    dial_more(links);
}

static rp_status listen_for_links(struct rp_links *links)
{
    struct rp_listener_setup setup = {
        .loop = links->setup.loop,
        .fd = links->setup.listen_fd,
        .scope = RP_WIRE_LINK,
        .secret = links->setup.secret,
        .accepted = on_accepted,
        .owner = links,
    };
    return rp_listener_create(&setup, &links->listener);
}

rp_status rp_links_create(const struct rp_links_setup *setup, struct rp_links **out)
{
    struct rp_links *links = rp_calloc(1, sizeof(*links));
    int *fd = rp_malloc(setup->size * sizeof(*fd));
    rp_status st = RP_OK;
    if (links == NULL || fd == NULL) {
        close(setup->listen_fd);
        st = rp_fail(RP_ENOMEM, "no memory for the connections to %u ranks", setup->size);
        goto undo_alloc;
    }
    links->setup = *setup;
    links->fd = fd;
    rp_list_init(&links->lobby);
    for (uint32_t q = 0; q < setup->size; q++) {
        fd[q] = -1;
        links->missing += is_elsewhere(links, q) ? 1 : 0;
    }
    st = listen_for_links(links);
    if (st != RP_OK) {
        goto undo_alloc;
    }
    uv_timer_init(rp_loop_uv(setup->loop), &links->timer); // cannot fail
    rp_loop_count_begin(setup->loop);
    uv_timer_start(&links->timer, on_start, 0, 0);
    *out = links;
    return RP_OK;

undo_alloc:
    rp_free(fd);
    rp_free(links);
    return st;
}
