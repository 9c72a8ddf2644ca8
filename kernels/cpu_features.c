#include "kernels/cpu_features.h"

#include <stdint.h>

#if defined(__x86_64__)

#include <cpuid.h>

// __builtin_cpu_supports() is not used: clang 14 does not know "f16c".
#define LEAF1_ECX_FMA (1u << 12)
#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF1_ECX_F16C (1u << 29)
#define LEAF7_EBX_AVX2 (1u << 5)
#define LEAF7_EBX_AVX512F (1u << 16)
#define LEAF7_EBX_AVX512DQ (1u << 17)
#define LEAF7_EBX_AVX512BW (1u << 30)
#define LEAF7_EBX_AVX512VL (1u << 31)
#define XCR0_YMM 0x06u // XMM and YMM state
#define XCR0_ZMM 0xe6u // and opmask, upper halves, the upper sixteen

static uint32_t xcr0_low(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_all(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

void rp_cpu_detect(struct rp_cpu *cpu)
{
    const uint32_t avx2_ecx = LEAF1_ECX_FMA | LEAF1_ECX_F16C;
    const uint32_t avx512_ebx =
            LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL;
    uint32_t eax, ebx, ecx, edx, leaf7_ebx;

    *cpu = (struct rp_cpu){ 0 };
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has_all(ecx, LEAF1_ECX_OSXSAVE)) {
        return;
    }
    const uint32_t leaf1_ecx = ecx;
    if (!__get_cpuid_count(7, 0, &eax, &leaf7_ebx, &ecx, &edx)) {
        return;
    }
    const uint32_t saved = xcr0_low();
    cpu->avx2 = has_all(saved, XCR0_YMM) && has_all(leaf1_ecx, avx2_ecx) &&
                has_all(leaf7_ebx, LEAF7_EBX_AVX2);
    cpu->avx512 = cpu->avx2 && has_all(saved, XCR0_ZMM) && has_all(leaf7_ebx, avx512_ebx);
}

#else

void rp_cpu_detect(struct rp_cpu *cpu)
{
    *cpu = (struct rp_cpu){ 0 };
#if defined(__aarch64__)
    cpu->neon = true;
#endif
}

#endif
