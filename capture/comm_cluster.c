// The world communicator of a rank table.
//
// Threads are ranks here, so it is one of a device in use and not of a process.

#include <inttypes.h>
#include <string.h>

#include <hccl/hccl_comm.h>

#include "base/env.h"
#include "base/error.h"
#include "capture/comm_attempt.h"
#include "capture/comm_config.h"
#include "replay/context.h"
#include "transport/rank_table_meet.h"

#define WORLD_NAME "hccl_world_group"

static rp_status check_arguments(const char *api, const char *path, const HcclComm *comm)
{
    if (path == NULL || comm == NULL) {
        return rp_fail(RP_ENULL, "%s: %s is NULL", api, path == NULL ? "clusterInfo" : "comm");
    }
    if (strnlen(path, RP_ENV_PATH_MAX) == RP_ENV_PATH_MAX) {
        return rp_fail(RP_EPARAM,
                "%s: the path clusterInfo has %d characters or more; at most %d are possible", api,
                RP_ENV_PATH_MAX, RP_ENV_PATH_MAX - 1);
    }
    return rp_attempt_check_thread(api);
}

struct world_search {
    int32_t device_id;
    char name[RP_COMM_NAME_BYTES]; // "": none found
};

static void look_for_world(struct rp_comm *comm, void *arg)
{
    struct world_search *search = arg;
    if (comm->world && comm->device_id == search->device_id) {
        memcpy(search->name, comm->name, sizeof(search->name));
    }
}

static rp_status check_first_world(const char *api, int32_t device_id)
{
    struct world_search search = { .device_id = device_id };
    rp_comm_each(look_for_world, &search);
    if (search.name[0] == '\0') {
        return RP_OK;
    }
    return rp_fail(RP_ENORES,
            "%s: device %" PRId32 " has a communicator of a rank table already, \"%s\"; it can "
            "have one at a time",
            api, device_id, search.name);
}

// The table's device ids are the machine's; programs take theirs with aclrtSetDevice before. If the
// two differ, the rank or the table is another one than was meant.
static rp_status check_device(const char *api, const struct rp_rank_table *table, const char *path,
        uint32_t rank, int32_t device_id)
{
    if (rank >= table->size) {
        return rp_fail(RP_EPARAM,
                "%s: rank is %" PRIu32 ", and the rank table \"%s\" has the ranks 0 to %" PRIu32,
                api, rank, path, table->size - 1);
    }
    const struct rp_rank_entry *entry = &table->entry[rank];
    const uint32_t devices = rp_env_device()->device_count;
    if (entry->device_id >= devices) {
        return rp_fail(RP_EINTERNAL,
                "rank table \"%s\": server_list[%" PRIu32 "].device[%" PRIu32 "].device_id: is "
                "%" PRIu32 ", but this machine has the devices 0 to %" PRIu32,
                path, entry->server, entry->index, entry->device_id, devices - 1);
    }
    const uint32_t physical = rp_env_device()->visible.id[device_id];
    if (entry->device_id != physical) {
        return rp_fail(RP_EPARAM,
                "%s: rank %" PRIu32 " is on device %" PRIu32 " by the rank table \"%s\" "
                "(server_list[%" PRIu32 "].device[%" PRIu32 "].device_id), but the current device "
                "is %" PRId32 ", which is the machine's %" PRIu32,
                api, rank, entry->device_id, path, entry->server, entry->index, device_id,
                physical);
    }
    return RP_OK;
}

static rp_status join_table(const struct rp_rank_table *table, const char *path,
        struct rp_join_request *request, const struct rp_algo_config *algo, HcclComm *comm)
{
    const struct rp_hccl_env *env = NULL;
    struct rp_rendezvous meet;
    rp_status st = rp_comm_environment(&env);
    st = st != RP_OK ? st : rp_rank_table_meet(table, path, request->rank, env, &meet);
    if (st != RP_OK) {
        return st;
    }
    rp_text_copy(meet.identifier, sizeof(meet.identifier), WORLD_NAME);
    request->meet = &meet;
    request->size = table->size;
    request->server = table->server[table->entry[request->rank].server].id;
    request->world = true;
    st = rp_attempt_join(request, algo, comm);
    rp_rendezvous_clear(&meet);
    return st;
}

static rp_status init_cluster(const char *api, const char *path, uint32_t rank,
        const HcclCommConfig *config, HcclComm *comm)
{
    struct rp_context *context = NULL;
    struct rp_rank_table *table = NULL;
    struct rp_algo_config algo;
    struct rp_join_request request = { .rank = rank };
    rp_status st = check_arguments(api, path, comm);
    st = st != RP_OK ? st : rp_comm_settings_load(api, config, &request.settings, &algo);
    st = st != RP_OK ? st : rp_context_current(&context);
    if (st != RP_OK) {
        return st;
    }
    request.device_id = context->device_id;
    st = rp_rank_table_load(path, &table);
    if (st != RP_OK) {
        return st;
    }
    st = check_device(api, table, path, rank, request.device_id);
    st = st != RP_OK ? st : check_first_world(api, request.device_id);
    st = st != RP_OK ? st : join_table(table, path, &request, &algo, comm);
    rp_rank_table_free(table);
    return st;
}

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm)
{
    rp_status st = rp_enter();
    st = st != RP_OK ? st : init_cluster("HcclCommInitClusterInfo", clusterInfo, rank, NULL, comm);
    return (HcclResult)rp_hccl(st);
}

static rp_status init_cluster_config(
        const char *path, uint32_t rank, const HcclCommConfig *config, HcclComm *comm)
{
    static const char api[] = "HcclCommInitClusterInfoConfig";
    const rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (config == NULL) {
        return rp_fail(RP_ENULL, "%s: config is NULL", api);
    }
    return init_cluster(api, path, rank, config, comm);
}

HcclResult HcclCommInitClusterInfoConfig(
        const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm)
{
    return (HcclResult)rp_hccl(init_cluster_config(clusterInfo, rank, config, comm));
}
