// The error context's public side; base/error.c keeps it.

#include <acl/acl_rt.h>

#include "base/error.h"
#include "replay/context.h"

const char *aclGetRecentErrMsg(void)
{
    return rp_error_take();
}

static rp_status check_level(aclrtLastErrLevel level)
{
    if (level != ACL_RT_THREAD_LEVEL) {
        return rp_fail(RP_EPARAM, "level is %d; it can be ACL_RT_THREAD_LEVEL (0)", (int)level);
    }
    return RP_OK;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level)
{
    const rp_status st = check_level(level);
    return st == RP_OK ? rp_last_error_peek() : rp_acl(st);
}

aclError aclrtGetLastError(aclrtLastErrLevel level)
{
    const rp_status st = check_level(level);
    return st == RP_OK ? rp_last_error_take() : rp_acl(st);
}
