#ifndef TESTS_RACE_RACE_CHECK_H
#define TESTS_RACE_RACE_CHECK_H

/* A call that must answer 0: if it does not, says so and `failed` is set. For race programs, which
 * have no Criterion; any thread. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include <acl/acl.h>

static _Atomic bool failed;

#define check(call) check_code((int)(call), #call, __LINE__)

static bool check_code(int code, const char *call, int line)
{
    if (code != 0) {
        const char *text = aclGetRecentErrMsg();
        fprintf(stderr, "line %d: %s answers %d: %s\n", line, call, code, text == NULL ? "" : text);
        atomic_store(&failed, true);
    }
    return code == 0;
}

#endif
