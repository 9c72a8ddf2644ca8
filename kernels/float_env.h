#ifndef REPRISE_KERNELS_FLOAT_ENV_H
#define REPRISE_KERNELS_FLOAT_ENV_H

/*
 * The default floating-point environment around a kernel. Rounding mode,
 * flush-to-zero and trap masks belong to a thread, and our kernels run on the
 * caller's: one that was linked with -ffast-math, or set FE_UPWARD, would get
 * other bits than the peers that fold the rest of the same array. <fenv.h>
 * cannot say flush-to-zero, and saving its whole environment costs more than a
 * tiny reduction; one register read is enough where nothing was changed.
 *
 * Exception flags that a kernel raises stay raised, as in any library.
 */

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

#define FLOAT_ENV_FLAGS 0x3fu     /* sticky exception flags */
#define FLOAT_ENV_DEFAULT 0x1f80u /* all masked, nearest even, no flushing */

static inline uint64_t float_env_read(void)
{
    return _mm_getcsr();
}

static inline void float_env_write(uint64_t control)
{
    _mm_setcsr((uint32_t)control);
}

#elif defined(__aarch64__)

#define FLOAT_ENV_FLAGS 0u /* they live in another register */
#define FLOAT_ENV_DEFAULT 0u

static inline uint64_t float_env_read(void)
{
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static inline void float_env_write(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
}

#else
#error "say here how this processor's floating-point control word is read"
#endif

/** rp_float_env_enter: make the defaults hold on this thread; returns what to give back to leave.
 */
static inline uint64_t rp_float_env_enter(void)
{
    const uint64_t control = float_env_read();

    if ((control & ~(uint64_t)FLOAT_ENV_FLAGS) != FLOAT_ENV_DEFAULT) {
        float_env_write(FLOAT_ENV_DEFAULT);
    }
    return control;
}

/** rp_float_env_leave: give the thread its own environment back. */
static inline void rp_float_env_leave(uint64_t control)
{
    if ((control & ~(uint64_t)FLOAT_ENV_FLAGS) != FLOAT_ENV_DEFAULT) {
        float_env_write(control);
    }
}

#endif
