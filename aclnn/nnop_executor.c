// Executors: an operator that was checked and waits to be launched. It is gone once it has run, so
// those that live are kept in a list: one that is used again answers a code.

#include "aclnn/nnop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static aclOpExecutor *living; // under lock

aclOpExecutor *reprise_nn_executor_add(const aclOpExecutor *model)
{
    aclOpExecutor *executor = aligned_alloc(_Alignof(aclOpExecutor), sizeof(*executor));
    if (executor == NULL) {
        return NULL;
    }
    *executor = *model;
    pthread_mutex_lock(&lock);
    executor->next = living;
    living = executor;
    pthread_mutex_unlock(&lock);
    return executor;
}

// The link that leads to it; NULL: it does not live. Under the lock.
static aclOpExecutor **find(const aclOpExecutor *executor)
{
    aclOpExecutor **link = &living;
    while (*link != NULL && *link != executor) {
        link = &(*link)->next;
    }
    return *link == NULL ? NULL : link;
}

static aclnnStatus gone(const char *call, const aclOpExecutor *executor)
{
    if (executor == NULL) {
        return reprise_nn_fail(NN_ERR_NULL, "%s: executor is a null pointer", call);
    }
    return reprise_nn_fail(NN_ERR_INVALID,
            "%s: %p is no executor, or has run already (see aclSetAclOpExecutorRepeatable)", call,
            (const void *)executor);
}

aclnnStatus reprise_nn_executor_run(aclOpExecutor *executor, const char *call, aclrtStream stream)
{
    aclOpExecutor copy; // another thread may destroy a repeatable one while this one launches
    bool once = false;
    pthread_mutex_lock(&lock);
    aclOpExecutor **link = find(executor);
    if (link != NULL) {
        copy = *executor;
        once = !executor->repeatable;
        if (once) {
            *link = executor->next;
        }
    }
    pthread_mutex_unlock(&lock);
    if (link == NULL) {
        return gone(call, executor);
    }
    if (once) {
        free(executor);
    }
    if (copy.blocks == 0) {
        return NN_SUCCESS; // no elements
    }
    const aclError answer =
            aclrtLaunchKernel(copy.kernel, copy.blocks, copy.args, copy.args_bytes, stream);
    if (answer != ACL_SUCCESS) {
        return reprise_nn_fail(
                NN_ERR_RUNTIME, "%s: the launch of its kernel failed with %d", call, answer);
    }
    return NN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor)
{
    if (executor == NULL) {
        return NN_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    aclOpExecutor **link = find(executor);
    if (link != NULL) {
        *link = executor->next;
    }
    pthread_mutex_unlock(&lock);
    if (link == NULL) {
        return gone(__func__, executor);
    }
    free(executor);
    return NN_SUCCESS;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor)
{
    pthread_mutex_lock(&lock);
    const bool lives = find(executor) != NULL;
    if (lives) {
        executor->repeatable = true;
    }
    pthread_mutex_unlock(&lock);
    return lives ? NN_SUCCESS : gone(__func__, executor);
}

// `first` and `count` tell which slots `index` may lead to.
static void store_address(aclOpExecutor *executor, const struct nn_slot *slot, const void *data)
{
    const char *element = (const char *)data + slot->offset_bytes;
    memcpy(executor->args + slot->at, &element, sizeof(element));
}

static aclnnStatus set_address(const char *call, aclOpExecutor *executor, bool output, size_t index,
        aclTensor *tensor, void *addr)
{
    aclnnStatus status = NN_SUCCESS;
    uint32_t count = 0;
    pthread_mutex_lock(&lock);
    const bool lives = find(executor) != NULL;
    if (lives) {
        count = output ? executor->outputs : executor->inputs;
    }
    if (lives && index < count) {
        store_address(executor, &executor->slot[(output ? executor->inputs : 0) + index], addr);
    }
    pthread_mutex_unlock(&lock);
    if (!lives) {
        return gone(call, executor);
    }
    if (index >= count) {
        status = reprise_nn_fail(NN_ERR_INVALID, "%s: index is %zu; the operator has %u %ss", call,
                index, count, output ? "output" : "input");
    } else if (tensor != NULL) {
        tensor->data = addr;
    }
    return status;
}

aclnnStatus aclSetInputTensorAddr(
        aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_address(__func__, executor, false, index, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(
        aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)
{
    return set_address(__func__, executor, true, index, tensor, addr);
}
