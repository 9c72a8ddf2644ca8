// Sub-communicators: some ranks of a communicator, found through its secret.
//
// Nothing goes through the parent's sequence of operators: the first of the members is the root of
// a bootstrap at a place that follows from the parent's secret, the id and that first member, so
// that several can be made at once, in any order, by any threads.

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include <hccl/hccl_comm.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "capture/comm_attempt.h"
#include "capture/comm_config.h"
#include "capture/comm_extra.h"
#include "replay/context.h"
#include "transport/agreement.h"
#include "transport/rendezvous.h"

static const char api[] = "HcclCreateSubCommConfig";
static const char hint[] = "all members must call HcclCreateSubCommConfig with the same rankIds "
                           "and subCommId";

#define NO_MEMBER UINT64_C(0xffffffff) // subCommId of who takes no part

struct sub_request {
    uint64_t id;
    uint32_t count;
    const uint32_t *rank; // of the parent, [count]
    uint32_t own;         // index in it
};

// ---- arguments ----

static rp_status check_pointers(
        const HcclComm *comm, const HcclCommConfig *config, const HcclComm *out)
{
    const char *missing = comm == NULL ? "comm" : config == NULL ? "config" : "subComm";
    if (comm == NULL || config == NULL || out == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is NULL", api, missing);
    }
    return rp_attempt_check_thread(api);
}

static rp_status check_lengths(const struct rp_comm *parent, const struct sub_request *sub)
{
    if (sub->rank == NULL) {
        return rp_fail(RP_EPARAM,
                "%s: rankIds is NULL, but subCommId is %" PRIu64 "; who is no member passes "
                "0xFFFFFFFF",
                api, sub->id);
    }
    if (sub->id == NO_MEMBER) {
        return rp_fail(RP_EPARAM,
                "%s: subCommId is 0xFFFFFFFF, which is for who is no member, but rankIds is given",
                api);
    }
    if (sub->count == 0 || sub->count > parent->size) {
        return rp_fail(RP_EPARAM,
                "%s: rankNum is %" PRIu32 "; communicator \"%s\" has %" PRIu32 " ranks", api,
                sub->count, parent->name, parent->size);
    }
    if (sub->own >= sub->count) {
        return rp_fail(RP_EPARAM, "%s: subCommRankId is %" PRIu32 ", but rankNum is %" PRIu32, api,
                sub->own, sub->count);
    }
    return RP_OK;
}

static rp_status check_members(const struct rp_comm *parent, const struct sub_request *sub)
{
    for (uint32_t i = 0; i < sub->count; i++) {
        if (sub->rank[i] >= parent->size) {
            return rp_fail(RP_EPARAM,
                    "%s: rankIds[%" PRIu32 "] is %" PRIu32 "; communicator \"%s\" has the ranks 0 "
                    "to %" PRIu32,
                    api, i, sub->rank[i], parent->name, parent->size - 1);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (sub->rank[k] == sub->rank[i]) {
                return rp_fail(RP_EPARAM,
                        "%s: rank %" PRIu32 " stands in rankIds twice, at %" PRIu32 " and %" PRIu32,
                        api, sub->rank[i], k, i);
            }
        }
    }
    if (sub->rank[sub->own] != parent->rank) {
        return rp_fail(RP_EPARAM,
                "%s: rankIds[%" PRIu32 "] (subCommRankId) is %" PRIu32 ", but this is rank "
                "%" PRIu32 " of communicator \"%s\"",
                api, sub->own, sub->rank[sub->own], parent->rank, parent->name);
    }
    return RP_OK;
}

// ---- where the members meet ----

static void make_secret(const struct rp_comm *parent, const struct sub_request *sub,
        uint8_t out[RP_WIRE_SECRET_BYTES])
{
    static const char label[] = "reprise sub-communicator";
    uint8_t text[sizeof(label) + 8 + 4];
    struct rp_writer writer = rp_writer_view(text, sizeof(text));
    rp_write_bytes(&writer, label, sizeof(label));
    rp_write_u64(&writer, sub->id);
    rp_write_u32(&writer, sub->rank[0]);
    crypto_generichash(
            out, RP_WIRE_SECRET_BYTES, text, writer.used, parent->secret, sizeof(parent->secret));
}

// A parent's name that leaves no room for the rest is cut; what tells it apart is then its hash.
static void make_name(
        const struct rp_comm *parent, uint64_t id, char name[RP_ROOT_IDENTIFIER_BYTES])
{
    char tail[40];
    char cut[RP_COMM_NAME_BYTES];
    const int length = snprintf(tail, sizeof(tail), "_sub_%" PRIu64, id);
    const size_t room = RP_COMM_NAME_BYTES - 1 - (size_t)length;
    rp_text_copy(cut, sizeof(cut), parent->name);
    if (strlen(cut) > room) {
        uint8_t hash[16];
        char hex[2 * sizeof(hash) + 1];
        crypto_generichash(hash, sizeof(hash), (const uint8_t *)cut, strlen(cut), NULL, 0);
        sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
        snprintf(cut + room - 9, 10, "~%.8s", hex);
    }
    snprintf(name, RP_ROOT_IDENTIFIER_BYTES, "%.*s%s", (int)room, cut, tail);
}

// "3, 0-2, 7": the members in their order. What does not fit is told apart by its hash.
static void describe_members(const struct sub_request *sub, char text[RP_SETTING_VALUE_BYTES])
{
    size_t used = 0;
    uint32_t i = 0;
    while (i < sub->count && used < RP_SETTING_VALUE_BYTES - 64) {
        uint32_t last = i;
        while (last + 1 < sub->count && sub->rank[last + 1] == sub->rank[last] + 1) {
            last++;
        }
        used += (size_t)snprintf(text + used, RP_SETTING_VALUE_BYTES - used, "%s%" PRIu32,
                i == 0 ? "" : ", ", sub->rank[i]);
        if (last != i) {
            used += (size_t)snprintf(
                    text + used, RP_SETTING_VALUE_BYTES - used, "-%" PRIu32, sub->rank[last]);
        }
        i = last + 1;
    }
    if (i < sub->count) {
        uint8_t hash[16];
        char hex[2 * sizeof(hash) + 1];
        crypto_generichash(hash, sizeof(hash), (const uint8_t *)sub->rank,
                sub->count * sizeof(*sub->rank), NULL, 0);
        sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
        snprintf(text + used, RP_SETTING_VALUE_BYTES - used, ", ...#%.16s", hex);
    }
}

static rp_status check_nodes(const struct rp_comm *parent, const struct sub_request *sub)
{
    for (uint32_t i = 1; i < sub->count; i++) {
        if (parent->member[sub->rank[i]].node != parent->member[sub->rank[0]].node) {
            return rp_fail(RP_ENOTSUP,
                    "%s: ranks %" PRIu32 " and %" PRIu32 " of communicator \"%s\" are on different "
                    "nodes; a sub-communicator lies within one",
                    api, sub->rank[0], sub->rank[i], parent->name);
        }
    }
    return RP_OK;
}

static rp_status meet_members(
        const struct rp_comm *parent, const struct sub_request *sub, struct rp_rendezvous *out)
{
    if (sodium_init() < 0) {
        return rp_fail(RP_ESYS, "libsodium cannot be initialised");
    }
    rp_status st = check_nodes(parent, sub);
    if (st != RP_OK) {
        return st;
    }
    uint32_t *ranks = rp_calloc(sub->count, sizeof(*ranks));
    if (ranks == NULL) {
        return rp_fail(RP_ENOMEM, "%s: no memory for %" PRIu32 " ranks", api, sub->count);
    }
    memcpy(ranks, sub->rank, sub->count * sizeof(*ranks));
    *out = (struct rp_rendezvous){
        .standing = true, .root = 0, .hint = hint, .parent_rank = ranks
    };
    rp_text_copy(out->parent, sizeof(out->parent), parent->name);
    make_name(parent, sub->id, out->identifier);
    make_secret(parent, sub, out->secret);
    rp_rendezvous_add_socket(out);
    return RP_OK;
}

// ---- the call ----

// The parent may go as soon as the members know where to meet.
static rp_status prepare(HcclComm handle, const struct sub_request *sub,
        struct rp_join_request *request, struct rp_rendezvous *meet)
{
    struct rp_comm *parent = NULL;
    rp_status st = rp_comm_call_begin(api, handle, &parent);
    if (st != RP_OK) {
        return st;
    }
    st = check_lengths(parent, sub);
    st = st != RP_OK ? st : check_members(parent, sub);
    st = st != RP_OK ? st : meet_members(parent, sub, meet);
    request->device_id = parent->device_id;
    rp_comm_call_end(parent);
    return st;
}

static rp_status create_sub(
        HcclComm handle, const struct sub_request *sub, const HcclCommConfig *config, HcclComm *out)
{
    struct rp_algo_config algo;
    struct rp_rendezvous meet;
    char members[RP_SETTING_VALUE_BYTES] = "";
    struct rp_join_request request = { .size = sub->count, .rank = sub->own, .ranks = members };
    rp_status st = prepare(handle, sub, &request, &meet);
    if (st != RP_OK) {
        return st;
    }
    describe_members(sub, members);
    request.meet = &meet;
    st = rp_comm_settings_load(api, config, &request.settings, &algo);
    st = st != RP_OK ? st : rp_attempt_join(&request, &algo, out);
    rp_rendezvous_clear(&meet);
    return st;
}

static rp_status create_sub_comm(
        HcclComm *comm, const struct sub_request *sub, const HcclCommConfig *config, HcclComm *out)
{
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (comm != NULL && sub->rank == NULL && sub->id == NO_MEMBER) {
        struct rp_comm *parent = NULL;
        st = rp_comm_call_begin(api, *comm, &parent);
        if (st == RP_OK) {
            rp_comm_call_end(parent);
        }
        return st;
    }
    st = check_pointers(comm, config, out);
    return st != RP_OK ? st : create_sub(*comm, sub, config, out);
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
        uint64_t subCommId, uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm)
{
    const struct sub_request sub = {
        .id = subCommId,
        .count = rankNum,
        .rank = rankIds,
        .own = subCommRankId,
    };
    return (HcclResult)rp_hccl(create_sub_comm(comm, &sub, config, subComm));
}
