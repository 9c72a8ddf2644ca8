// The table of statuses against the public headers, which base/ itself does not include.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <acl/acl.h>
#include <acl/error_codes/rt_error_codes.h>
#include <hccl/hccl.h>

#include "base/status.h"

static const rp_status all[] = {
#define LIST(name, value, acl, hccl, text) name,
    RP_STATUS_MAP(LIST)
#undef LIST
};

Test(status, values_are_unique)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(all); i++) {
        for (size_t k = 0; k < i; k++) {
            cr_assert(ne(int, all[i], all[k]), "%s and %s", rp_status_name(all[i]),
                    rp_status_name(all[k]));
        }
    }
}

Test(status, only_success_maps_to_zero)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(all); i++) {
        bool success = all[i] == RP_OK;
        cr_assert(eq(int, rp_status_acl(all[i]) == ACL_SUCCESS, success), "%s",
                rp_status_name(all[i]));
        cr_assert(eq(int, rp_status_hccl(all[i]) == (int)HCCL_SUCCESS, success), "%s",
                rp_status_name(all[i]));
    }
}

Test(status, failures_are_negative)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(all); i++) {
        cr_assert(eq(int, all[i] < 0, all[i] != RP_OK && all[i] != RP_AGAIN), "%s",
                rp_status_name(all[i]));
    }
}

Test(status, hccl_codes_exist)
{
    for (size_t i = 0; i < RP_ARRAY_LENGTH(all); i++) {
        int code = rp_status_hccl(all[i]);
        cr_assert(ge(int, code, 0), "%s", rp_status_name(all[i]));
        cr_assert(le(int, code, (int)HCCL_E_OPRETRY_FAIL), "%s", rp_status_name(all[i]));
    }
}

Test(status, has_a_text_and_its_own_name)
{
#define CHECK(name, value, acl, hccl, text)                    \
    cr_assert(eq(str, (char *)rp_status_name(name), #name));   \
    cr_assert(gt(sz, strlen(rp_status_text(name)), 3), #name); \
    cr_assert(ne(chr, rp_status_text(name)[strlen(rp_status_text(name)) - 1], '.'), #name);
    RP_STATUS_MAP(CHECK)
#undef CHECK
}

Test(status, number_outside_the_table_is_an_internal_error)
{
    rp_status unknown = (rp_status)-1000;
    cr_assert(eq(int, rp_status_acl(unknown), ACL_ERROR_INTERNAL_ERROR));
    cr_assert(eq(int, rp_status_hccl(unknown), (int)HCCL_E_INTERNAL));
    cr_assert(eq(str, (char *)rp_status_name(unknown), "RP_?"));
}

// Every code of the contract by its public name. The HCCL half is given where it is not the
// catch-all HCCL_E_RUNTIME.
Test(status, codes_are_the_public_ones)
{
    const struct {
        rp_status st;
        int acl;
        int hccl;
    } rows[] = {
        { RP_EINVAL, ACL_ERROR_INVALID_PARAM, HCCL_E_PARA },
        { RP_ENULL, ACL_ERROR_INVALID_PARAM, HCCL_E_PTR },
        { RP_EPARAM, ACL_ERROR_RT_PARAM_INVALID, HCCL_E_PARA },
        { RP_EDEVICE, ACL_ERROR_RT_INVALID_DEVICEID, HCCL_E_PARA },
        { RP_ENOCTX, ACL_ERROR_RT_CONTEXT_NULL, HCCL_E_RUNTIME },
        { RP_ESTREAMCTX, ACL_ERROR_RT_STREAM_CONTEXT, HCCL_E_PARA },
        { RP_EGRAPHCTX, ACL_ERROR_RT_MODEL_CONTEXT, HCCL_E_PARA },
        { RP_EBOUND, ACL_ERROR_RT_STREAM_MODEL, HCCL_E_RUNTIME },
        { RP_ETIMESTAMP, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, HCCL_E_RUNTIME },
        { RP_EREVERSAL, ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, HCCL_E_RUNTIME },
        { RP_ESUBSCRIBE, ACL_ERROR_RT_STREAM_SUBSCRIBE, HCCL_E_RUNTIME },
        { RP_ETHREADSUB, ACL_ERROR_RT_THREAD_SUBSCRIBE, HCCL_E_RUNTIME },
        { RP_ENOSUB, ACL_ERROR_RT_STREAM_NO_CB_REG, HCCL_E_RUNTIME },
        { RP_EMEMTYPE, ACL_ERROR_RT_INVALID_MEMORY_TYPE, HCCL_E_PARA },
        { RP_EHANDLE, ACL_ERROR_RT_INVALID_HANDLE, HCCL_E_PARA },
        { RP_ENOTSET, ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, HCCL_E_RUNTIME },
        { RP_EARRAY, ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY, HCCL_E_PARA },
        { RP_EUNINIT, ACL_ERROR_UNINITIALIZE, HCCL_E_RUNTIME },
        { RP_EINIT, ACL_ERROR_REPEAT_INITIALIZE, HCCL_E_RUNTIME },
        { RP_EREFINAL, ACL_ERROR_REPEAT_FINALIZE, HCCL_E_RUNTIME },
        { RP_EFILE, ACL_ERROR_INVALID_FILE, HCCL_E_OPEN_FILE_FAILURE },
        { RP_EPARSE, ACL_ERROR_PARSE_FILE, HCCL_E_PARA },
        { RP_EPROFCONFIG, ACL_ERROR_INVALID_PROFILING_CONFIG, HCCL_E_PROFILING },
        { RP_EPROFRUN, ACL_ERROR_PROF_ALREADY_RUN, HCCL_E_PROFILING },
        { RP_EPROFNOTRUN, ACL_ERROR_PROF_NOT_RUN, HCCL_E_PROFILING },
        { RP_ENOTFOUND, ACL_ERROR_RT_PARAM_INVALID, HCCL_E_NOT_FOUND },
        { RP_ENOTSUP, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, HCCL_E_NOT_SUPPORT },
        { RP_ECALLBACK, ACL_ERROR_RT_NO_PERMISSION, HCCL_E_RUNTIME },
        { RP_EFORKED, ACL_ERROR_RT_NO_DEVICE, HCCL_E_UNAVAIL },
        { RP_ECTXRELEASE, ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, HCCL_E_RUNTIME },
        { RP_EREGISTERED, ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, HCCL_E_RUNTIME },
        { RP_ENOTREGISTERED, ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, HCCL_E_RUNTIME },
        { RP_EWRITEFILE, ACL_ERROR_WRITE_FILE, HCCL_E_OPEN_FILE_FAILURE },
        { RP_EFEATURE, ACL_ERROR_FEATURE_UNSUPPORTED, HCCL_E_NOT_SUPPORT },
        { RP_EOPQUEUE, ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG, HCCL_E_PARA },
        { RP_ESYMBOL, ACL_ERROR_RT_SYMBOL_NOT_FOUND, HCCL_E_PARA },
        { RP_EFUNCTION, ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, HCCL_E_PARA },
        { RP_EKERNELDUP, ACL_ERROR_RT_KERNEL_DUPLICATE, HCCL_E_RUNTIME },
        { RP_ECAPDEP, ACL_ERROR_RT_CAPTURE_DEPENDENCY, HCCL_E_RUNTIME },
        { RP_EUNJOINED, ACL_ERROR_RT_STREAM_UNJOINED, HCCL_E_RUNTIME },
        { RP_EMODELCAPTURED, ACL_ERROR_RT_MODEL_CAPTURED, HCCL_E_RUNTIME },
        { RP_ESTREAMCAPTURED, ACL_ERROR_RT_STREAM_CAPTURED, HCCL_E_RUNTIME },
        { RP_EEVENTCAPTURED, ACL_ERROR_RT_EVENT_CAPTURED, HCCL_E_RUNTIME },
        { RP_ENOTCAPTURED, ACL_ERROR_RT_STREAM_NOT_CAPTURED, HCCL_E_RUNTIME },
        { RP_ECAPMODE, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, HCCL_E_RUNTIME },
        { RP_ECAPIMPLICIT, ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, HCCL_E_RUNTIME },
        { RP_ECAPCONFLICT, ACL_ERROR_STREAM_CAPTURE_CONFLICT, HCCL_E_RUNTIME },
        { RP_ETASKGROUP, ACL_ERROR_STREAM_TASK_GROUP_STATUS, HCCL_E_RUNTIME },
        { RP_ETASKGROUPINTR, ACL_ERROR_STREAM_TASK_GROUP_INTR, HCCL_E_RUNTIME },
        { RP_ECAPUNMATCHED, ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, HCCL_E_RUNTIME },
        { RP_EMODELRUNNING, ACL_ERROR_RT_MODEL_RUNNING, HCCL_E_RUNTIME },
        { RP_EWRONGTHREAD, ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, HCCL_E_RUNTIME },
        { RP_EUPDATE, ACL_ERROR_RT_MODEL_UPDATE_FAILED, HCCL_E_RUNTIME },
        { RP_EBLOCKASYNC, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, HCCL_E_RUNTIME },
        { RP_ESUBGRAPH, ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING, HCCL_E_RUNTIME },
        { RP_ETASKTYPE, ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, HCCL_E_RUNTIME },
        { RP_EGRAPHSTATE, ACL_ERROR_RT_MODEL_EXECUTE, HCCL_E_PARA },
        { RP_ECAPINVALID, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, HCCL_E_RUNTIME },
        { RP_EGRAPHABORT, ACL_ERROR_RT_MODEL_ABORT_NORMAL, HCCL_E_RUNTIME },
        { RP_ELABELCTX, ACL_ERROR_RT_LABEL_CONTEXT, HCCL_E_PARA },
        { RP_ENOMEM, ACL_ERROR_RT_MEMORY_ALLOCATION, HCCL_E_MEMORY },
        { RP_ENORES, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, HCCL_E_UNAVAIL },
        { RP_ENOEVENT, ACL_ERROR_RT_NO_EVENT_RESOURCE, HCCL_E_UNAVAIL },
        { RP_ENOSTREAM, ACL_ERROR_RT_NO_STREAM_RESOURCE, HCCL_E_UNAVAIL },
        { RP_ENONOTIFY, ACL_ERROR_RT_NO_NOTIFY_RESOURCE, HCCL_E_UNAVAIL },
        { RP_ENOGRAPH, ACL_ERROR_RT_NO_MODEL_RESOURCE, HCCL_E_UNAVAIL },
        { RP_EPORT, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, HCCL_E_UNAVAIL },
        { RP_ESYS, ACL_ERROR_RT_DRV_INTERNAL_ERROR, HCCL_E_SYSCALL },
        { RP_EWAITTIMEOUT, ACL_ERROR_RT_WAIT_TIMEOUT, HCCL_E_TIMEOUT },
        { RP_ETASKTIMEOUT, ACL_ERROR_RT_TASK_TIMEOUT, HCCL_E_TIMEOUT },
        { RP_EDEVABORT, ACL_ERROR_RT_DEVICE_TASK_ABORT, HCCL_E_RUNTIME },
        { RP_ESTREAMABORT, ACL_ERROR_RT_STREAM_ABORT, HCCL_E_RUNTIME },
        { RP_EINTERNAL, ACL_ERROR_RT_INTERNAL_ERROR, HCCL_E_INTERNAL },
        { RP_EBUSY, ACL_ERROR_RT_STREAM_NOT_COMPLETE, HCCL_E_AGAIN },
        { RP_AGAIN, ACL_ERROR_RT_STREAM_NOT_COMPLETE, HCCL_E_AGAIN },
        { RP_ENOREPORT, ACL_ERROR_RT_REPORT_TIMEOUT, HCCL_E_RUNTIME },
        { RP_ESYNCTIMEOUT, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, HCCL_E_TIMEOUT },
        { RP_EEVENTTIMEOUT, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, HCCL_E_TIMEOUT },
        { RP_EMISMATCH, ACL_ERROR_RT_INTERNAL_ERROR, HCCL_E_PARA },
        { RP_ECYCLE, ACL_ERROR_RT_INTERNAL_ERROR, HCCL_E_PARA },
        { RP_ESUSPEND, ACL_ERROR_RT_INTERNAL_ERROR, HCCL_E_SUSPENDING },
        { RP_ELINK, ACL_ERROR_RT_LINK_ERROR, HCCL_E_REMOTE },
        { RP_EREMOTE, ACL_ERROR_RT_SUSPECT_REMOTE_ERROR, HCCL_E_REMOTE },
        { RP_ERETRY, ACL_ERROR_RT_COMM_OP_RETRY_FAIL, HCCL_E_OPRETRY_FAIL },
        { RP_ECONNTIMEOUT, ACL_ERROR_RT_WAIT_TIMEOUT, HCCL_E_TIMEOUT },
        { RP_ETCP, ACL_ERROR_RT_SOCKET_CLOSE, HCCL_E_TCP_CONNECT },
        { RP_OK, ACL_SUCCESS, HCCL_SUCCESS },
    };
    cr_assert(eq(sz, RP_ARRAY_LENGTH(rows), RP_ARRAY_LENGTH(all)), "a row for each status");
    for (size_t i = 0; i < RP_ARRAY_LENGTH(rows); i++) {
        cr_assert(
                eq(int, rp_status_acl(rows[i].st), rows[i].acl), "%s", rp_status_name(rows[i].st));
        cr_assert(eq(int, rp_status_hccl(rows[i].st), rows[i].hccl), "%s",
                rp_status_name(rows[i].st));
    }
}
