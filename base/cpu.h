#ifndef RP_BASE_CPU_H
#define RP_BASE_CPU_H

#include "base/util.h"

/** rp_cpu_pause: tell the core that this is a spin loop. */
static inline void rp_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/**
 * rp_cpu_usable: how many cores this process may keep busy, at least 1.
 *
 * The smaller of the affinity mask and the CPU quota of its control group (version 1 or 2, every
 * level up to the root, rounded up): in a container with "--cpus 2" on a 64-core machine it is the
 * quota that throttles a spinning rank. Read once and remembered.
 */
unsigned rp_cpu_usable(void);

/** rp_cpu_refresh: read both again, remember and return the new answer. */
unsigned rp_cpu_refresh(void);

/**
 * rp_cpu_quota: the quota alone, in cores rounded up; 0 when there is none.
 *
 * `root` is put before "/proc" and "/sys" paths; "" in the product, a directory of prepared files
 * in the tests.
 */
unsigned rp_cpu_quota(const char *root);

#endif /* RP_BASE_CPU_H */
