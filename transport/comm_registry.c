// The registry of communicators: by handle, which may be any pointer that a user passes, and by
// name on a device. The links lie in the communicators, so entering cannot fail for want of memory;
// a handle is compared with the entries and never followed.

#include "transport/comm_registry.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "base/util.h"
#include "transport/comm.h"

#define BUCKETS 256

// Lock order: above nothing; the caller may hold a baton.
static struct {
    pthread_mutex_t lock;
    bool ready; // the lists are initialised
    struct rp_list by_handle[BUCKETS];
    struct rp_list by_name[BUCKETS];
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void registry_lock(void)
{
    pthread_mutex_lock(&registry.lock);
    if (!registry.ready) {
        for (unsigned i = 0; i < BUCKETS; i++) {
            rp_list_init(&registry.by_handle[i]);
            rp_list_init(&registry.by_name[i]);
        }
        registry.ready = true;
    }
}

static void registry_unlock(void)
{
    pthread_mutex_unlock(&registry.lock);
}

static struct rp_list *handle_bucket(const void *handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);
    return &registry.by_handle[hash >> 56];
}
static_assert(BUCKETS == 256, "eight bits of hash");

static struct rp_list *name_bucket(int32_t device_id, const char *name)
{
    uint32_t hash = UINT32_C(2166136261) ^ (uint32_t)device_id;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (uint8_t)*name) * UINT32_C(16777619);
    }
    return &registry.by_name[hash % BUCKETS];
}

static struct rp_comm *find_handle(const void *handle)
{
    struct rp_list *bucket = handle_bucket(handle);
    rp_list_each(link, bucket)
    {
        struct rp_comm *comm = rp_container_of(link, struct rp_comm, by_handle);
        if ((const void *)comm == handle) {
            return comm;
        }
    }
    return NULL;
}

static struct rp_comm *find_name(int32_t device_id, const char *name)
{
    struct rp_list *bucket = name_bucket(device_id, name);
    rp_list_each(link, bucket)
    {
        struct rp_comm *comm = rp_container_of(link, struct rp_comm, by_name);
        if (comm->device_id == device_id && strcmp(comm->name, name) == 0) {
            return comm;
        }
    }
    return NULL;
}

rp_status rp_comm_registry_add(struct rp_comm *comm)
{
    registry_lock();
    bool taken = find_name(comm->device_id, comm->name) != NULL;
    if (!taken) {
        rp_list_push_back(handle_bucket(comm), &comm->by_handle);
        rp_list_push_back(name_bucket(comm->device_id, comm->name), &comm->by_name);
    }
    registry_unlock();
    if (taken) {
        return rp_fail(RP_EPARAM, "a communicator named \"%s\" exists on device %d already",
                comm->name, comm->device_id);
    }
    return RP_OK;
}

bool rp_comm_registry_remove(struct rp_comm *comm)
{
    registry_lock();
    bool there = find_handle(comm) != NULL;
    if (there) {
        rp_list_remove(&comm->by_handle);
        rp_list_remove(&comm->by_name);
    }
    registry_unlock();
    return there;
}

// References are taken under the lock while the entry is there: the handle's own reference, which
// goes only after the entry, keeps the count above zero.
struct rp_comm *rp_comm_from_handle(const void *handle)
{
    registry_lock();
    struct rp_comm *comm = find_handle(handle);
    if (comm != NULL) {
        rp_comm_ref(comm);
    }
    registry_unlock();
    return comm;
}

struct rp_comm *rp_comm_from_name(int32_t device_id, const char *name)
{
    registry_lock();
    struct rp_comm *comm = find_name(device_id, name);
    if (comm != NULL) {
        rp_comm_ref(comm);
    }
    registry_unlock();
    return comm;
}

void rp_comm_each(void (*fn)(struct rp_comm *comm, void *arg), void *arg)
{
    registry_lock();
    for (unsigned i = 0; i < BUCKETS; i++) {
        rp_list_each(link, &registry.by_handle[i])
        {
            fn(rp_container_of(link, struct rp_comm, by_handle), arg);
        }
    }
    registry_unlock();
}
