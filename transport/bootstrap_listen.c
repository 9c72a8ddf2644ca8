// Where a root listens: for a root info on a port of this machine, for a standing rendezvous at
// places that are known beforehand, as soon as they are free; and whom it sends away there.

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "transport/bootstrap_root.h"
#include "transport/netif.h"
#include "transport/node_internal.h"

#define LISTEN_RETRY_MS 20
#define UNBOUND_MARGIN_MS 2000 // a root that cannot listen outlives its rank's patience

void rp_root_close_listeners(struct rp_root *root)
{
    for (uint32_t i = 0; i < root->listeners; i++) {
        rp_listener_close(root->listener[i]);
        root->listener[i] = NULL;
    }
    root->open = false;
    uv_timer_stop(&root->retry);
}

// A standing rendezvous is used by one attempt after another, and by two jobs at once when these
// have the same rank table: who belongs to another attempt than this one is to come again.

static bool is_same_process(const struct rp_member *a, const struct rp_member *b)
{
    return memcmp(&a->process, &b->process, sizeof(a->process)) == 0;
}

// Another attempt's rank; says why in `why`.
bool rp_root_is_foreign(struct rp_root *root, const struct rp_hello *hello, char *why, size_t bytes)
{
    const struct rp_member *comer = &hello->member;
    const struct rp_process_id own = rp_process_self_id();
    if (!root->meet.standing) {
        return false;
    }
    if (hello->rank == root->meet.root && (memcmp(&comer->process, &own, sizeof(own)) != 0 ||
                                                  comer->device_id != root->device_id)) {
        snprintf(why, bytes,
                "another init is under way there, of pid %lld, which is rank %u of it as well",
                (long long)getpid(), hello->rank);
        return true;
    }
    if (root->phase == ROOT_ENDED) {
        snprintf(why, bytes, "an earlier init is ending there");
        return root->status == RP_OK || (hello->rank < root->size && root->heard[hello->rank]);
    }
    if (hello->rank >= root->size || root->rank[hello->rank] == NULL) {
        return false;
    }
    const struct rp_member *seated = &root->roster[hello->rank].member;
    if (is_same_process(seated, comer)) {
        return false; // no other job, but a mistake
    }
    snprintf(why, bytes,
            "another init is under way there, with rank %u as device %d of pid %lld on %s",
            hello->rank, seated->device_id, (long long)seated->pid, seated->host);
    snprintf(root->doubled, sizeof(root->doubled),
            "rank %u came twice, as device %d of pid %lld on %s and as device %d of pid %lld on %s",
            hello->rank, seated->device_id, (long long)seated->pid, seated->host, comer->device_id,
            (long long)comer->pid, comer->host);
    return true;
}

static bool admits(int fd)
{
    return rp_node_admits(fd, NULL);
}

// A root that has failed and waits for latecomers makes room: the new one may need its port.
static void retire_ended(struct rp_loop *loop)
{
    rp_list_each(link, rp_loop_objects(loop))
    {
        struct rp_loop_object *object = rp_container_of(link, struct rp_loop_object, link);
        struct rp_root *root = rp_container_of(object, struct rp_root, object);
        if (object->close == rp_root_on_loop_destroyed && root->phase == ROOT_ENDED) {
            rp_root_close_listeners(root);
            rp_root_free_if_idle(root);
        }
    }
}

static rp_status add_listener(struct rp_root *root, int fd, bool local)
{
    struct rp_listener_setup setup = {
        .loop = root->loop,
        .fd = fd,
        .scope = RP_WIRE_ROOT,
        .secret = root->meet.secret,
        .admit = local ? admits : NULL,
        .accepted = rp_root_accepted,
        .owner = root,
    };
    rp_status st = rp_listener_create(&setup, &root->listener[root->listeners]);
    root->listeners += st == RP_OK;
    return st;
}

// The places of a standing rendezvous, one after the other: who has the first one has the others.
// RP_AGAIN: one is taken.
static rp_status listen_on_next(struct rp_root *root)
{
    const struct rp_endpoint *endpoint = &root->meet.endpoint[root->listeners];
    int fd = rp_endpoint_listen(endpoint);
    if (fd >= 0) {
        return add_listener(root, fd, endpoint->socket[0] != '\0');
    }
    int error = errno;
    char limit[RP_LIMIT_TEXT_BYTES];
    char place[RP_ENDPOINT_TEXT_BYTES];
    rp_endpoint_text(endpoint, place);
    snprintf(root->unbound, sizeof(root->unbound), "rank %u cannot listen on %s: %s%s",
            root->meet.root, place, strerrordesc_np(error), rp_descriptor_limit_text(error, limit));
    switch (error) {
    case EADDRINUSE:
        return RP_AGAIN;
    case EADDRNOTAVAIL:
        return rp_fail(RP_EPARAM, "%s", root->unbound);
    case EACCES:
        return rp_fail(RP_EPORT, "%s", root->unbound);
    case EMFILE:
    case ENFILE:
        return rp_fail(RP_ENORES, "%s", root->unbound);
    default:
        return rp_fail(RP_ESYS, "%s", root->unbound);
    }
}

static rp_status listen_everywhere(struct rp_root *root)
{
    rp_status st = RP_OK;
    while (st == RP_OK && root->listeners < root->meet.count) {
        st = listen_on_next(root);
    }
    if (st == RP_OK) {
        root->unbound[0] = '\0';
    }
    return st;
}

static void on_retry(uv_timer_t *timer)
{
    struct rp_root *root = rp_container_of(timer, struct rp_root, retry);
    rp_loop_ran(root->loop);
    if (listen_everywhere(root) != RP_OK) { // what failed otherwise may pass, too
        uv_timer_start(&root->retry, on_retry, LISTEN_RETRY_MS, 0);
    }
}

static rp_status listen_for_info(
        struct rp_root *root, const struct rp_hccl_env *env, struct rp_root_info *info)
{
    struct rp_netif address;
    int fd;
    uint16_t port;
    rp_status st = rp_netif_choose(env, &address);
    if (st != RP_OK) {
        return st;
    }
    st = rp_netif_listen(&address, &env->host_ports, &fd, &port);
    if (st != RP_OK) {
        return st;
    }
    rp_root_info_init(info, &address, port, root->device_id);
    rp_rendezvous_from_info(info, &root->meet);
    root->terms.base = info->base;
    return add_listener(root, fd, false);
}

static rp_status root_create(struct rp_loop *loop, int32_t device_id, struct rp_root **out)
{
    if (sodium_init() < 0) {
        return rp_fail(RP_ESYS, "libsodium cannot be initialised");
    }
    struct rp_root *root = rp_calloc(1, sizeof(*root));
    if (root == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the root of a communicator");
    }
    retire_ended(loop);
    root->loop = loop;
    root->device_id = device_id;
    root->zero_copy = true;
    root->object.close = rp_root_on_loop_destroyed;
    rp_list_init(&root->callers);
    root->terms.base = rp_root_info_base();
    randombytes_buf(root->terms.nonce, sizeof(root->terms.nonce));
    *out = root;
    return RP_OK;
}

static void root_begin(struct rp_root *root, uint64_t timeout_ms)
{
    uv_timer_init(rp_loop_uv(root->loop), &root->timer); // cannot fail
    uv_timer_init(rp_loop_uv(root->loop), &root->retry);
    uv_update_time(rp_loop_uv(root->loop)); // the loop may not have been stepped for long
    rp_root_set_timer(root, timeout_ms);
    root->handles = 2;
    rp_loop_count_begin(root->loop);
    rp_loop_count_begin(root->loop);
    rp_loop_attach(root->loop, &root->object);
    root->open = true;
}

rp_status rp_bootstrap_root(struct rp_loop *loop, int32_t device_id, void *info)
{
    const struct rp_hccl_env *env;
    struct rp_root_info made;
    struct rp_root *root = NULL;
    rp_status st = rp_env_hccl(&env);
    st = st != RP_OK ? st : root_create(loop, device_id, &root);
    if (st != RP_OK) {
        return st;
    }
    st = listen_for_info(root, env, &made);
    if (st != RP_OK) {
        rp_root_destroy(root);
        return st;
    }
    root_begin(root, env->connect_timeout_ns / RP_NS_PER_MS);
    rp_root_info_write(&made, info);
    sodium_memzero(&made, sizeof(made));
    return RP_OK;
}

rp_status rp_bootstrap_root_at(struct rp_loop *loop, const struct rp_rendezvous *meet,
        uint32_t size, int32_t device_id, uint64_t timeout_ms)
{
    struct rp_root *root = NULL;
    rp_status st = root_create(loop, device_id, &root);
    if (st != RP_OK) {
        return st;
    }
    st = rp_rendezvous_copy(meet, size, &root->meet);
    if (st != RP_OK) {
        rp_root_destroy(root);
        return st;
    }
    st = listen_everywhere(root);
    if (st != RP_OK && st != RP_AGAIN) {
        for (uint32_t i = 0; i < root->listeners; i++) {
            rp_listener_close(root->listener[i]);
        }
        rp_root_destroy(root);
        return st;
    }
    root_begin(root, timeout_ms + UNBOUND_MARGIN_MS);
    if (st == RP_AGAIN) {
        rp_log_info("%s; trying again", root->unbound);
        uv_timer_start(&root->retry, on_retry, LISTEN_RETRY_MS, 0);
    }
    return RP_OK;
}

const char *rp_bootstrap_unbound(struct rp_loop *loop, const struct rp_rendezvous *meet)
{
    rp_list_each(link, rp_loop_objects(loop))
    {
        struct rp_loop_object *object = rp_container_of(link, struct rp_loop_object, link);
        const struct rp_root *root = rp_container_of(object, struct rp_root, object);
        if (object->close == rp_root_on_loop_destroyed &&
                memcmp(root->meet.secret, meet->secret, sizeof(meet->secret)) == 0) {
            return root->unbound;
        }
    }
    return "";
}
