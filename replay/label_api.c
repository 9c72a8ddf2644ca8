// Labels as a program sees them: aclrtCreateLabel and what follows.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "base/handle.h"
#include "replay/label.h"
#include "replay/stream_control.h"

static rp_status find_label(const char *api, aclrtLabel handle, struct rp_label **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "%s: label is a null pointer", api);
    }
    if (!rp_handle_live(RP_HANDLE_LABEL, handle)) {
        return rp_fail(RP_EHANDLE, "%s: %p is no label, or was destroyed", api, handle);
    }
    *out = handle;
    return RP_OK;
}

static rp_status create_label(aclrtLabel *out)
{
    struct rp_context *context;
    struct rp_label *label;
    if (out == NULL) {
        return rp_fail(RP_ENULL, "aclrtCreateLabel: label is a null pointer");
    }
    rp_status st = rp_context_current(&context);
    if (st == RP_OK) {
        st = rp_label_create(context, &label);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_handle_add(RP_HANDLE_LABEL, label);
    if (st != RP_OK) {
        rp_label_unref(label);
        return st;
    }
    *out = label;
    return RP_OK;
}

aclError aclrtCreateLabel(aclrtLabel *label)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create_label(label) : st);
}

static rp_status destroy_label(aclrtLabel handle)
{
    struct rp_label *label;
    const rp_status st = find_label("aclrtDestroyLabel", handle, &label);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_handle_remove(RP_HANDLE_LABEL, label)) {
        return rp_fail(
                RP_EHANDLE, "aclrtDestroyLabel: another thread is destroying label %p", handle);
    }
    rp_label_unref(label); // lists and graphs that name it keep it
    return RP_OK;
}

aclError aclrtDestroyLabel(aclrtLabel label)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy_label(label) : st);
}

static rp_status check_context(
        const char *api, const struct rp_label *label, const struct rp_stream *stream)
{
    if (label->context != stream->context) {
        return rp_fail(RP_ELABELCTX, "%s: label %u belongs to another context than stream %d", api,
                label->id, stream->id);
    }
    return RP_OK;
}

static rp_status set_label(aclrtLabel handle, aclrtStream stream_handle)
{
    static const char *const api = "aclrtSetLabel";
    struct rp_stream *stream = NULL;
    struct rp_label *label = NULL;
    rp_status st = find_label(api, handle, &label);
    if (st == RP_OK) {
        st = rp_stream_resolve(stream_handle, &stream);
    }
    if (st == RP_OK) {
        st = rp_stream_check_bound(api, stream);
    }
    if (st == RP_OK) {
        st = check_context(api, label, stream);
    }
    if (st != RP_OK) {
        return st;
    }
    const struct rp_task task = { .insn = { .kind = RP_INSN_LABEL, .u.label.label = label } };
    return rp_stream_submit(stream, &task);
}

aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? set_label(label, stream) : st);
}

// ---- lists ----

static rp_status create_list(const aclrtLabel *labels, size_t count, aclrtLabelList *out)
{
    static const char *const api = "aclrtCreateLabelList";
    struct rp_label_list *list = NULL;
    struct rp_label *label = NULL;
    if (labels == NULL || out == NULL) {
        return rp_fail(
                RP_ENULL, "%s: %s is a null pointer", api, labels == NULL ? "labels" : "labelList");
    }
    if (count == 0 || count > RP_LABELS_MAX) {
        return rp_fail(RP_EPARAM, "%s: num is %zu; it can be 1 to %d", api, count, RP_LABELS_MAX);
    }
    rp_status st = RP_OK;
    for (size_t i = 0; i < count && st == RP_OK; i++) {
        st = find_label(api, labels[i], &label);
    }
    if (st == RP_OK) {
        st = rp_label_list_create((struct rp_label *const *)labels, (uint32_t)count, &list);
    }
    if (st != RP_OK) {
        return st;
    }
    st = rp_handle_add(RP_HANDLE_LABEL_LIST, list);
    if (st != RP_OK) {
        rp_label_list_unref(list);
        return st;
    }
    *out = list;
    return RP_OK;
}

aclError aclrtCreateLabelList(aclrtLabel *labels, size_t num, aclrtLabelList *labelList)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? create_list(labels, num, labelList) : st);
}

static rp_status check_list(const char *api, aclrtLabelList handle)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "%s: labelList is a null pointer", api);
    }
    if (!rp_handle_live(RP_HANDLE_LABEL_LIST, handle)) {
        return rp_fail(RP_EHANDLE, "%s: %p is no list of labels, or was destroyed", api, handle);
    }
    return RP_OK;
}

static rp_status destroy_list(aclrtLabelList handle)
{
    static const char *const api = "aclrtDestroyLabelList";
    const rp_status st = check_list(api, handle);
    if (st != RP_OK) {
        return st;
    }
    if (!rp_handle_remove(RP_HANDLE_LABEL_LIST, handle)) {
        return rp_fail(RP_EHANDLE, "%s: another thread is destroying list %p", api, handle);
    }
    rp_label_list_unref(handle); // graphs that name it keep it
    return RP_OK;
}

aclError aclrtDestroyLabelList(aclrtLabelList labelList)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? destroy_list(labelList) : st);
}

// `choices`: of the list's labels, the first so many.
static rp_status switch_label(
        void *which, uint32_t choices, aclrtLabelList handle, aclrtStream stream_handle)
{
    static const char *const api = "aclrtSwitchLabelByIndex";
    struct rp_stream *stream = NULL;
    rp_status st = check_list(api, handle);
    if (st == RP_OK) {
        st = rp_check_device_word(api, "ptr", which, sizeof(uint32_t));
    }
    if (st == RP_OK) {
        st = rp_stream_resolve(stream_handle, &stream);
    }
    if (st == RP_OK) {
        st = rp_stream_check_bound(api, stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_label_list *list = handle;
    if (choices == 0 || choices > list->count) {
        return rp_fail(RP_EPARAM,
                "%s: maxValue is %u; it is the number of labels to choose from, and the list has "
                "%u (stream %d)",
                api, choices, list->count, stream->id);
    }
    for (uint32_t i = 0; i < choices && st == RP_OK; i++) {
        st = check_context(api, list->label[i], stream);
    }
    if (st != RP_OK) {
        return st;
    }
    struct rp_task task = { .insn = { .kind = RP_INSN_LABEL_SWITCH } };
    task.insn.u.label_switch.list = list;
    task.insn.u.label_switch.which = which;
    task.insn.u.label_switch.max = choices - 1;
    return rp_stream_submit(stream, &task);
}

aclError aclrtSwitchLabelByIndex(
        void *ptr, uint32_t maxValue, aclrtLabelList labelList, aclrtStream stream)
{
    const rp_status st = rp_enter();
    return rp_acl(st == RP_OK ? switch_label(ptr, maxValue, labelList, stream) : st);
}
