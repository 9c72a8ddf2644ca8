#ifndef RP_BASE_CLOCK_H
#define RP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define RP_NS_PER_US UINT64_C(1000)
#define RP_NS_PER_MS UINT64_C(1000000)
#define RP_NS_PER_S UINT64_C(1000000000)

/** rp_now_ns: nanoseconds of CLOCK_MONOTONIC, one clock for all processes of a machine. */
static inline uint64_t rp_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); // cannot fail for this clock
    return (uint64_t)now.tv_sec * RP_NS_PER_S + (uint64_t)now.tv_nsec;
}

/** rp_deadline_ns: now plus `timeout_ns`, UINT64_MAX ("never") where that overflows. */
static inline uint64_t rp_deadline_ns(uint64_t timeout_ns)
{
    uint64_t now_ns = rp_now_ns();
    return timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
}

#endif /* RP_BASE_CLOCK_H */
