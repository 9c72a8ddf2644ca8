#ifndef TESTS_SUPPORT_ACL_TEST_H
#define TESTS_SUPPORT_ACL_TEST_H

/*
 * For suites of the acl interface: a test is a process of its own, and the library
 * must be used inside it for the first time.
 */

#include <acl/acl.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

#include "base/env.h"

/* A call that must answer a code; the message has the call and the sentence. */
#define ANSWERS(code, call)                                                                \
    do {                                                                                   \
        const int answer_ = (call);                                                        \
        const char *text_ = answer_ == (code) ? NULL : aclGetRecentErrMsg();               \
        cr_assert(eq(int, answer_, (code)), "%s: %s", #call, text_ == NULL ? "-" : text_); \
    } while (0)

#define WORKS(call) ANSWERS(ACL_SUCCESS, call)

/** small_device: device memory of 256 MiB, unless the test says otherwise. */
static inline void small_device(void)
{
    setenv("REPRISE_DEVICE_MEMORY", "256M", 0);
}

/** on_device: the same, with device 0 set. */
static inline void on_device(void)
{
    small_device();
    WORKS(aclrtSetDevice(0));
}

#endif
