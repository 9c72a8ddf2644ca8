/* Kernels of your own: what aclrtLaunchKernel and its relatives run.
 *
 * A kernel is a C function. It is called once for each block of a launch, with the same argument
 * block every time. Two ways lead from it to an aclrtFuncHandle:
 *
 *   - a "binary" is a shared object for this host that exports kernels:
 *
 *         // kernels.c: cc -shared -fPIC -o kernels.so kernels.c
 *         #include <reprise/kernel.h>
 *         struct add_args { const float *x; float *y; uint32_t count; };
 *         REPRISE_KERNEL(add)
 *         {
 *             const struct add_args *a = (const struct add_args *)args;
 *             for (uint32_t i = block; i < a->count; i += blocks) {
 *                 a->y[i] += a->x[i];
 *             }
 *         }
 *
 *     aclrtBinaryLoadFromFile() (or FromData) loads it, aclrtBinaryGetFunction() finds "add".
 *
 *   - reprise_kernel_register() makes one of a function of the program itself.
 *
 * The argument block is copied by the call that launches, from host and from device memory alike;
 * what it points to is not. The copy begins at a multiple of 16 bytes, and a kernel only reads it:
 * a captured launch is given the same one every time. Kernels run in stream order on the device's
 * vector cores. No order of blocks is promised: they may run at the same time and must not wait for
 * each other. A kernel may not make a call that waits for a device (such calls answer 207006).
 *
 * A kernel that faults is a fault of the process, like in any other code of the program: the
 * callback of aclrtBinarySetExceptionCallback() has no occasion to be called. Loading the same file
 * twice gives two binaries that share their variables, as dlopen() does; loading it from memory
 * does not.
 *
 * Parameters that are appended to an argument list (aclrtKernelArgsAppend) stand where the kernel's
 * table says. Without a table each stands at the next multiple of 8 bytes, and those of a CPU
 * kernel (aclrtRegisterCpuFunc) follow one another without gaps. */
#ifndef REPRISE_KERNEL_H
#define REPRISE_KERNEL_H

#include <acl/acl_rt.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define REPRISE_KERNEL_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define REPRISE_KERNEL_EXPORT extern __attribute__((visibility("default")))
#endif

/** A kernel: `args` is the launch's argument block, `block` is below `blocks`, their number. */
typedef void (*reprise_kernel_fn)(void *args, uint32_t block, uint32_t blocks);

/** Head of a kernel that a binary exports; the body follows. A kernel need not be made with it:
 * an exported function of the same type will do. */
#define REPRISE_KERNEL(name)                                                      \
    REPRISE_KERNEL_EXPORT void name(void *args, uint32_t block, uint32_t blocks); \
    REPRISE_KERNEL_EXPORT void name(void *args, uint32_t block, uint32_t blocks)

/** Where a parameter lies in the argument block, in bytes. */
struct reprise_kernel_param {
    uint32_t offset;
    uint32_t bytes;
};

/** The parameter that is `member` of the struct `type`. */
#define REPRISE_PARAM(type, member)                                              \
    {                                                                            \
        (uint32_t) offsetof(type, member), (uint32_t)sizeof(((type *)0)->member) \
    }

/** A variable that a binary exports, for aclrtBinaryGetGlobal(). An initializer may follow:
 *
 *     REPRISE_KERNEL_VARIABLE(int32_t, table[4]) = { 1, 2, 3, 4 };
 */
#define REPRISE_KERNEL_VARIABLE(type, name) \
    REPRISE_KERNEL_EXPORT type name;        \
    type name

/** Beside a kernel of a binary: its parameters, in order. aclrtLaunchKernelWithArgsArray() and its
 * relatives, which are given a pointer to each, need it; the others do without.
 *
 *     REPRISE_KERNEL_PARAMS(add, REPRISE_PARAM(struct add_args, x),
 *             REPRISE_PARAM(struct add_args, y), REPRISE_PARAM(struct add_args, count));
 */
#define REPRISE_KERNEL_PARAMS(name, ...)                                     \
    REPRISE_KERNEL_EXPORT const struct reprise_kernel_param name##_params[]; \
    const struct reprise_kernel_param name##_params[] = { __VA_ARGS__, { 0, 0 } }

/** A kernel's number, for aclrtBinaryGetFunctionByEntry(). */
struct reprise_kernel_entry {
    uint64_t entry;
    const char *name;
};

/** Once in a binary: the numbers of its kernels.
 *
 *     REPRISE_KERNEL_ENTRIES({ 1, "add" }, { 2, "add_half" });
 */
#define REPRISE_KERNEL_ENTRIES(...)                                                   \
    REPRISE_KERNEL_EXPORT const struct reprise_kernel_entry reprise_kernel_entries[]; \
    const struct reprise_kernel_entry reprise_kernel_entries[] = { __VA_ARGS__, { 0, NULL } }

/** What a launch of a grid (aclrtLaunchSIMTKernel...) says besides. A grid runs as gridDim.x *
 * gridDim.y * gridDim.z blocks, x fastest; the threads of a block are the kernel's own loop. */
struct reprise_grid {
    uint32_t grid[3];    /* gridDim: x, y, z */
    uint32_t threads[3]; /* blockDim: x, y, z */
    size_t local_bytes;  /* dynUbufSize */
};

/**
 * reprise_kernel_grid: the grid of the launch that the calling thread runs a block of.
 *
 * Only in a kernel; elsewhere NULL. A plain launch has a grid of `blocks` by 1 by 1, of one thread
 * each. Valid until the kernel returns.
 */
__attribute__((visibility("default"))) const struct reprise_grid *reprise_kernel_grid(void);

/**
 * reprise_kernel_register: a handle to launch the function `fn` of this program.
 *
 * `name` is for messages and reports, and copied. `out` may be NULL for a program that launches by
 * the function's address, which is the symbol that aclrtLaunchKernelWithArgsArray() and
 * aclrtGetFuncBySymbol() take. The second form also says where the parameters lie, as
 * REPRISE_KERNEL_PARAMS does for a binary.
 *
 * Return 100000 for a null pointer, 107000 for parameters that are empty or overlap, and 507028 if
 * the function is registered already.
 */
__attribute__((visibility("default"))) aclError reprise_kernel_register(
        const char *name, reprise_kernel_fn fn, aclrtFuncHandle *out);
__attribute__((visibility("default"))) aclError reprise_kernel_register_params(const char *name,
        reprise_kernel_fn fn, const struct reprise_kernel_param *params, size_t param_count,
        aclrtFuncHandle *out);

/**
 * reprise_kernel_unregister: the handle is no longer valid. Launches that are queued, or captured,
 * still run.
 */
__attribute__((visibility("default"))) aclError reprise_kernel_unregister(aclrtFuncHandle func);

/**
 * reprise_error_report: the next aclGetRecentErrMsg() of this thread has `sentence`, too.
 *
 * For libraries of operators, whose own checks fail before a launch. It is copied.
 */
__attribute__((visibility("default"))) void reprise_error_report(const char *sentence);

#ifdef __cplusplus
}
#endif

#endif
