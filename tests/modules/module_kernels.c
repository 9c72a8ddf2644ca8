// Kernels in a binary, for the suites of kernels. It is linked with the C library alone: what else
// a kernel calls is among its arguments.

#include <reprise/kernel.h>
#include <stdlib.h>
#include <string.h>

REPRISE_KERNEL_VARIABLE(int32_t, module_values[4]) = { 11, 22, 33, 44 };

struct add_args {
    const float *x;
    float *y;
    uint32_t count;
};

REPRISE_KERNEL(module_add)
{
    const struct add_args *a = (const struct add_args *)args;
    for (uint32_t i = block; i < a->count; i += blocks) {
        a->y[i] += a->x[i];
    }
}

struct scale_args {
    int64_t *data;
    uint32_t count;
    int16_t by;
    int64_t plus;
};

REPRISE_KERNEL(module_scale)
{
    const struct scale_args *a = (const struct scale_args *)args;
    for (uint32_t i = block; i < a->count; i += blocks) {
        a->data[i] = a->data[i] * a->by + a->plus;
    }
}

REPRISE_KERNEL_PARAMS(module_scale, REPRISE_PARAM(struct scale_args, data),
        REPRISE_PARAM(struct scale_args, count), REPRISE_PARAM(struct scale_args, by),
        REPRISE_PARAM(struct scale_args, plus));

// Its variable is the binary's own.
REPRISE_KERNEL(module_bump)
{
    (void)args;
    (void)blocks;
    module_values[block % 4]++;
}

struct call_args {
    int (*call)(void *arg);
    void *arg;
    int *answer;
};

REPRISE_KERNEL(module_call)
{
    const struct call_args *a = (const struct call_args *)args;
    (void)block;
    (void)blocks;
    *a->answer = a->call(a->arg);
}

struct parse_args {
    const char *text;
    long *out;
};

REPRISE_KERNEL(module_parse)
{
    const struct parse_args *a = (const struct parse_args *)args;
    (void)block;
    (void)blocks;
    *a->out = strtol(a->text, NULL, 10);
}

// Packed arguments, as CPU kernels have: a byte, then a pointer.
REPRISE_KERNEL(module_packed)
{
    const unsigned char *bytes = (const unsigned char *)args;
    uint8_t *out;
    (void)block;
    (void)blocks;
    memcpy(&out, bytes + 1, sizeof(out));
    *out = bytes[0];
}

REPRISE_KERNEL_ENTRIES({ 7, "module_add" }, { 0, "module_bump" }, { UINT64_MAX, "module_scale" },
        { 8, "module_missing" });
