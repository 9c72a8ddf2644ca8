#ifndef REPRISE_KERNELS_CPU_FEATURES_H
#define REPRISE_KERNELS_CPU_FEATURES_H

#include <stdbool.h>

/* What the kernels ask a CPU for. A flag is set only when the operating system saves the registers.
 */
struct rp_cpu {
    bool avx2;   /* AVX2, FMA and F16C, which every CPU with AVX2 has together */
    bool avx512; /* AVX-512 F, BW, DQ and VL */
    bool neon;   /* AArch64's baseline */
};

/** rp_cpu_detect: ask the CPU that this thread runs on. Cheap but not free: call it at init. */
void rp_cpu_detect(struct rp_cpu *cpu);

#endif
