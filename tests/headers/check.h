/* Checks at compile time, in C and in C++. Each names what it checks in the compiler's message. */
#ifndef TESTS_HEADERS_CHECK_H
#define TESTS_HEADERS_CHECK_H

#include <stddef.h>

#ifdef __cplusplus
#define CHECK(condition, text) static_assert(condition, text)
#else
#define CHECK(condition, text) _Static_assert(condition, text)
#endif

/* Compared as 64-bit numbers of one sign, so that neither an enumeration nor a suffix matters. */
#define CHECK_VALUE(name, value) CHECK((long long)(name) == (long long)(value), #name)
#define CHECK_SIZE(type, bytes) CHECK(sizeof(type) == (bytes), "sizeof " #type)
#define CHECK_OFFSET(type, member, bytes) \
    CHECK(offsetof(type, member) == (bytes), #type "." #member)
#define CHECK_MEMBER_SIZE(type, member, bytes) \
    CHECK(sizeof(((type *)0)->member) == (bytes), "sizeof " #type "." #member)

#endif
