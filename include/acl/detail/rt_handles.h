/* Handles and callback types that several parts of acl_rt.h share. */
#ifndef REPRISE_RT_HANDLES_H
#define REPRISE_RT_HANDLES_H

#include "../acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclmdlRI;           /* a graph: captured, or built by hand */
typedef void *aclmdlRICondHandle; /* the condition word of a conditional node */
typedef void *aclrtDrvMemHandle;  /* physical memory of aclrtMallocPhysical() */
typedef void *aclrtBinary;        /* caller-owned bytes of a kernel binary */
typedef void *aclrtBinHandle;     /* a loaded kernel binary */
typedef void *aclrtFuncHandle;    /* a kernel of a loaded binary */
typedef void *aclrtArgsHandle;    /* an argument list being built */
typedef void *aclrtParamHandle;   /* one parameter of it */

/* `userData` and `args` are handed through untouched. A callback that the runtime calls must be
 * short and must not allocate, free, synchronise or launch. */
typedef void (*aclrtCallback)(void *userData);
typedef void (*aclrtHostFunc)(void *args);

#ifdef __cplusplus
}
#endif

#endif
