#include "transport/dialer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"

#define RETRY_FIRST_MS 10
#define RETRY_MAX_MS 250
#define RETRY_LOCAL_MAX_MS 20 // costs nobody anything, and its root comes any moment
#define ATTEMPT_MS 5000       // a connection whose handshake takes longer is as good as none

struct rp_dialer {
    struct rp_dialer_setup setup;
    uv_timer_t timer; // the next attempt, or the end of this one's patience
    struct rp_conn *conn;
    struct rp_netif source; // family 0: any
    uint32_t next;          // endpoint
    uint64_t retry_ms;
    char why[160];
};

static void on_timer(uv_timer_t *timer);

static void retry(struct rp_dialer *dialer, const char *why)
{
    rp_text_copy(dialer->why, sizeof(dialer->why), why);
    rp_log_debug("dialing %s: %s", dialer->setup.meet->identifier, why);
    uv_timer_start(&dialer->timer, on_timer, dialer->retry_ms, 0);
    const bool local = dialer->setup.meet->endpoint[dialer->next].socket[0] != '\0';
    dialer->retry_ms = rp_min_u64(2 * dialer->retry_ms, local ? RETRY_LOCAL_MAX_MS : RETRY_MAX_MS);
}

static void on_ready(struct rp_conn *conn, void *owner)
{
    struct rp_dialer *dialer = owner;
    dialer->conn = NULL;
    uv_timer_stop(&dialer->timer);
    dialer->setup.ready(dialer->setup.owner, conn);
}

// Never called: whoever is ready has a new owner before its first frame is read.
static void on_frame(struct rp_conn *conn, void *owner, struct rp_frame *frame)
{
    (void)owner;
    (void)frame;
    rp_conn_close(conn);
}

static void on_lost(struct rp_conn *conn, void *owner, bool by_peer, const char *why)
{
    struct rp_dialer *dialer = owner;
    (void)conn;
    (void)by_peer;
    dialer->conn = NULL;
    retry(dialer, why);
}

static const struct rp_conn_events dial_events = {
    .ready = on_ready,
    .frame = on_frame,
    .lost = on_lost,
};

static void attempt(struct rp_dialer *dialer)
{
    const struct rp_rendezvous *meet = dialer->setup.meet;
    const struct rp_endpoint *endpoint = &meet->endpoint[dialer->next];
    dialer->next = (dialer->next + 1) % meet->count;
    int fd = rp_endpoint_connect(endpoint, &dialer->source);
    if (fd < 0) {
        char limit[RP_LIMIT_TEXT_BYTES];
        char why[160];
        int error = errno;
        snprintf(why, sizeof(why), "%s%s", strerrordesc_np(error),
                rp_descriptor_limit_text(error, limit));
        retry(dialer, why);
        return;
    }
    struct rp_conn_setup setup = {
        .loop = dialer->setup.loop,
        .fd = fd,
        .scope = dialer->setup.scope,
        .role = RP_WIRE_DIALER,
        .secret = meet->secret,
        .events = &dial_events,
        .owner = dialer,
    };
    if (rp_conn_create(&setup, &dialer->conn) != RP_OK) {
        retry(dialer, rp_error_captured());
        return;
    }
    uv_timer_start(&dialer->timer, on_timer, ATTEMPT_MS, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct rp_dialer *dialer = rp_container_of(timer, struct rp_dialer, timer);
    rp_loop_ran(dialer->setup.loop);
    if (dialer->conn != NULL) {
        rp_conn_close(dialer->conn);
        dialer->conn = NULL;
        rp_text_copy(dialer->why, sizeof(dialer->why), "it does not answer");
    }
    attempt(dialer);
}

rp_status rp_dialer_create(const struct rp_dialer_setup *setup, struct rp_dialer **out)
{
    struct rp_dialer *dialer = rp_calloc(1, sizeof(*dialer));
    if (dialer == NULL) {
        return rp_fail(RP_ENOMEM, "no memory to dial the root");
    }
    dialer->setup = *setup;
    dialer->retry_ms = RETRY_FIRST_MS;
    if (setup->env->if_ip.family != 0 || setup->env->ifnames.count != 0) {
        rp_status st = rp_netif_choose(setup->env, &dialer->source);
        if (st != RP_OK) {
            rp_free(dialer);
            return st;
        }
    }
    uv_timer_init(rp_loop_uv(setup->loop), &dialer->timer); // cannot fail
    rp_loop_count_begin(setup->loop);
    uv_timer_start(&dialer->timer, on_timer, setup->delay_ms, 0);
    *out = dialer;
    return RP_OK;
}

const char *rp_dialer_why(const struct rp_dialer *dialer)
{
    return dialer->why;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct rp_dialer *dialer = rp_container_of(handle, struct rp_dialer, timer);
    rp_loop_count_end(dialer->setup.loop);
    rp_free(dialer);
}

void rp_dialer_destroy(struct rp_dialer *dialer)
{
    if (dialer == NULL) {
        return;
    }
    rp_conn_close(dialer->conn);
    dialer->conn = NULL;
    uv_close((uv_handle_t *)&dialer->timer, on_timer_closed);
}
