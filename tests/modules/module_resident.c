// A binary that the loader never unmaps, like one of C++ with inline variables.

#include <reprise/kernel.h>

REPRISE_KERNEL_VARIABLE(int32_t, resident_value) = 1;

REPRISE_KERNEL(resident_bump)
{
    (void)args;
    (void)block;
    (void)blocks;
    resident_value++;
}
