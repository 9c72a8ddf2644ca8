// The aclmdlRI entry points of a graph that is built by hand, and aclrtPersistentTaskClean.

#include <acl/acl_mdl.h>
#include <acl/acl_rt.h>

#include "base/error.h"
#include "capture/build.h"
#include "capture/introspect.h"

static rp_status build_begin(aclmdlRI *out, uint32_t flag)
{
    struct rp_context *context;
    struct rp_graph *graph = NULL;
    if (out == NULL) {
        return rp_fail(RP_EINVAL, "aclmdlRIBuildBegin: modelRI is NULL");
    }
    if (flag != 0) {
        return rp_fail(RP_EPARAM, "aclmdlRIBuildBegin: flag is %u; it must be 0", flag);
    }
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_graph_create(context, RP_GRAPH_BUILT, NULL, &graph);
    }
    if (st == RP_OK) {
        *out = graph;
    }
    return st;
}

aclError aclmdlRIBuildBegin(aclmdlRI *modelRI, uint32_t flag)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? build_begin(modelRI, flag) : st);
}

/* A graph of the current context that was made by aclmdlRIBuildBegin. */
static rp_status find_graph(const char *api, aclmdlRI model, struct rp_graph **graph)
{
    rp_status st = rp_graph_argument(api, model, graph);
    if (st == RP_OK) {
        st = rp_graph_check_root(api, *graph, "is not built by hand");
    }
    if (st == RP_OK && (*graph)->kind != RP_GRAPH_BUILT) {
        st = rp_fail(RP_EPARAM,
                "%s: graph %u was captured; this call is for graphs of "
                "aclmdlRIBuildBegin",
                api, (*graph)->id);
    }
    return st == RP_OK ? rp_graph_check_current(api, *graph) : st;
}

/* The same, and a stream of the current context. */
static rp_status find_pair(const char *api, aclmdlRI model, aclrtStream handle,
        struct rp_graph **graph, struct rp_stream **stream)
{
    rp_status st = rp_graph_argument(api, model, graph);
    if (st == RP_OK && handle == NULL) {
        st = rp_fail(RP_EINVAL, "%s: stream is NULL (graph %u)", api, (*graph)->id);
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(handle, stream);
    }
    return st == RP_OK ? find_graph(api, model, graph) : st;
}

static rp_status bind_stream(aclmdlRI model, aclrtStream handle, uint32_t flag)
{
    static const char *const api = "aclmdlRIBindStream";
    struct rp_graph *graph = NULL;
    struct rp_stream *stream = NULL;
    rp_status st = find_pair(api, model, handle, &graph, &stream);
    if (st == RP_OK && flag != ACL_MODEL_STREAM_FLAG_HEAD &&
            flag != ACL_MODEL_STREAM_FLAG_DEFAULT) {
        st = rp_fail(RP_EPARAM,
                "%s: flag is 0x%x (graph %u, stream %d); it can be ACL_MODEL_STREAM_FLAG_HEAD or "
                "ACL_MODEL_STREAM_FLAG_DEFAULT",
                api, flag, graph->id, stream->id);
    }
    return st == RP_OK ? rp_build_bind(graph, stream, flag == ACL_MODEL_STREAM_FLAG_DEFAULT) : st;
}

aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream, uint32_t flag)
{
    return rp_acl(bind_stream(modelRI, stream, flag));
}

aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream)
{
    struct rp_graph *graph = NULL;
    struct rp_stream *found = NULL;
    const rp_status st = find_pair("aclmdlRIUnbindStream", modelRI, stream, &graph, &found);
    return rp_acl(st == RP_OK ? rp_build_unbind(graph, found) : st);
}

aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream)
{
    struct rp_graph *graph = NULL;
    struct rp_stream *found = NULL;
    const rp_status st = find_pair("aclmdlRIEndTask", modelRI, stream, &graph, &found);
    return rp_acl(st == RP_OK ? rp_build_end_task(graph, found) : st);
}

static rp_status build_end(aclmdlRI model, const void *reserve)
{
    static const char *const api = "aclmdlRIBuildEnd";
    struct rp_graph *graph = NULL;
    rp_status st = find_graph(api, model, &graph);
    if (st == RP_OK && reserve != NULL) {
        st = rp_fail(RP_EPARAM, "%s: reserve must be NULL (graph %u)", api, graph->id);
    }
    return st == RP_OK ? rp_build_end(graph) : st;
}

aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void *reserve)
{
    return rp_acl(build_end(modelRI, reserve));
}

static rp_status persistent_clean(aclrtStream handle)
{
    struct rp_stream *stream = NULL;
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "aclrtPersistentTaskClean: stream is a null pointer");
    }
    const rp_status st = rp_stream_resolve(handle, &stream);
    if (st == RP_OK && (stream->flags & ACL_STREAM_PERSISTENT) == 0) {
        return rp_fail(RP_EPARAM,
                "aclrtPersistentTaskClean: stream %d was not created with ACL_STREAM_PERSISTENT",
                stream->id);
    }
    return st == RP_OK ? rp_build_clean(stream) : st;
}

aclError aclrtPersistentTaskClean(aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? persistent_clean(stream) : st);
}
