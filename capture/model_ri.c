// The aclmdlRI entry points of stream capture.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "capture/capture.h"

/* A live stream of the current context, or its default stream for NULL. */
static rp_status enter_with_stream(aclrtStream handle, struct rp_stream **stream)
{
    const rp_status st = rp_enter();
    return st == RP_OK ? rp_stream_resolve(handle, stream) : st;
}

static rp_status capture_begin(
        const char *api, aclrtStream handle, struct rp_graph *into, aclmdlRICaptureMode mode)
{
    struct rp_stream *stream = NULL;
    if (handle == NULL) {
        return rp_fail(RP_EINVAL, "%s: stream is NULL", api);
    }
    if ((unsigned)mode >= RP_CAPTURE_MODES) {
        return rp_fail(
                RP_EPARAM, "%s: mode %d is not GLOBAL, THREAD_LOCAL or RELAXED", api, (int)mode);
    }
    const rp_status st = enter_with_stream(handle, &stream);
    return st == RP_OK ? rp_capture_begin(stream, into, (enum rp_capture_mode)mode) : st;
}

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode)
{
    return rp_acl(capture_begin("aclmdlRICaptureBegin", stream, NULL, mode));
}

static rp_status capture_into(aclrtStream stream, aclmdlRI model, aclmdlRICaptureMode mode)
{
    const char *api = "aclmdlRICaptureToModelRIBegin";
    if (model == NULL) {
        return rp_fail(RP_EINVAL, "%s: modelRI is NULL", api);
    }
    struct rp_graph *graph = rp_graph_from_handle(model);
    if (graph == NULL) {
        return rp_fail(RP_EPARAM, "%s: %p is no graph, or a destroyed one", api, model);
    }
    return capture_begin(api, stream, graph, mode);
}

aclError aclmdlRICaptureToModelRIBegin(
        aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? capture_into(stream, modelRI, mode) : st);
}

/* Allocators ask about streams of whatever context; NULL is the current one's default stream. */
static rp_status any_stream(aclrtStream handle, struct rp_stream **stream)
{
    if (handle == NULL) {
        return enter_with_stream(handle, stream);
    }
    const rp_status st = rp_enter();
    *stream = st == RP_OK ? rp_stream_from_handle(handle) : NULL;
    return st != RP_OK || *stream != NULL
                   ? st
                   : rp_fail(RP_EHANDLE,
                             "aclmdlRICaptureGetInfo: stream %p is no stream, or was destroyed",
                             handle);
}

static rp_status capture_get_info(
        aclrtStream handle, aclmdlRICaptureStatus *status, aclmdlRI *model)
{
    struct rp_stream *stream = NULL;
    if (status == NULL && model == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRICaptureGetInfo: status and modelRI are both NULL");
    }
    const rp_status st = any_stream(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    enum rp_capture_status found;
    struct rp_graph *graph = NULL;
    rp_capture_info(stream, &found, &graph);
    if (status != NULL) {
        *status = (aclmdlRICaptureStatus)found;
    }
    if (model != NULL) {
        *model = graph;
    }
    return RP_OK;
}

aclError aclmdlRICaptureGetInfo(
        aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI)
{
    return rp_acl(capture_get_info(stream, status, modelRI));
}

static rp_status capture_end(aclrtStream handle, aclmdlRI *model)
{
    struct rp_stream *stream = NULL;
    rp_status st = enter_with_stream(handle, &stream);
    if (st != RP_OK) {
        return st;
    }
    if (model == NULL) {
        return rp_capture_end(stream, NULL);
    }
    struct rp_graph *graph = *model;
    st = rp_capture_end(stream, &graph);
    if (st != RP_ENOTCAPTURED && st != RP_ECAPUNMATCHED) {
        *model = graph;
    }
    return st;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI)
{
    return rp_acl(capture_end(stream, modelRI));
}

static rp_status exchange_mode(aclmdlRICaptureMode *mode)
{
    rp_status st = rp_enter();
    if (st != RP_OK) {
        return st;
    }
    if (mode == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRICaptureThreadExchangeMode: mode is NULL");
    }
    if ((unsigned)*mode >= RP_CAPTURE_MODES) {
        return rp_fail(RP_EPARAM,
                "aclmdlRICaptureThreadExchangeMode: mode %d is not GLOBAL, THREAD_LOCAL or RELAXED",
                (int)*mode);
    }
    struct rp_thread *thread = rp_thread_self();
    if (thread == NULL) {
        return rp_fail(RP_ENOMEM, "no memory for the thread's state");
    }
    const enum rp_capture_mode before = thread->exchange_mode;
    thread->exchange_mode = (enum rp_capture_mode) * mode;
    *mode = (aclmdlRICaptureMode)before;
    return RP_OK;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode)
{
    return rp_acl(exchange_mode(mode));
}
