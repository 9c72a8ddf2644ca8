#ifndef REPRISE_REPLAY_BINARY_H
#define REPRISE_REPLAY_BINARY_H

/*
 * Binaries: shared objects for this host, whose exported functions are kernels.
 */

#include <acl/acl_rt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "replay/kernel_function.h"

/* First member of what a handle of RP_HANDLE_BINARY leads to. */
enum rp_binary_tag {
    RP_BINARY_LOADED = 1, /* struct rp_binary; aclrtBinHandle */
    RP_BINARY_WRAPPED,    /* of aclrtCreateBinary */
};

struct rp_binary {
    enum rp_binary_tag tag;
    _Atomic uint32_t refs; /* handle + functions */
    void *object;          /* of dlopen */
    int fd;                /* the memory file that it was loaded from; -1: none */
    bool for_cpu;          /* loaded with ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE */
    pthread_mutex_t lock;
    struct rp_function *functions; /* list, each with the handle's reference; under lock */
    bool retired;                  /* no more functions; under lock */
    struct rp_binary *next;        /* among those to close */
    aclrtOpExceptionCallback
            on_exception; /* kept, never called: see aclrtBinarySetExceptionCallback */
    void *on_exception_arg;
};

/** rp_binary_open: the shared object at `path`. RP_EFILE: there is none that can be read;
 * RP_EPARAM: it is no shared object for this host, or cannot be linked. RP_ENOMEM. */
RP_MUST_USE rp_status rp_binary_open(
        const char *path, const aclrtBinaryLoadOptions *options, struct rp_binary **out);

/** rp_binary_open_data: the shared object in memory; the bytes may be freed afterwards. RP_EPARAM,
 *  RP_ENOMEM, RP_ESYS. */
RP_MUST_USE rp_status rp_binary_open_data(const void *data, size_t bytes,
        const aclrtBinaryLoadOptions *options, struct rp_binary **out);

/** rp_binary_get: the binary of a live handle, referenced. RP_ENULL, RP_EHANDLE. */
RP_MUST_USE rp_status rp_binary_get(const void *handle, struct rp_binary **out);

/** rp_binary_retire: the handle of `binary` is gone, and those of its functions. False if it was
 *  already. Launches that are queued or captured keep the code until they have run. */
bool rp_binary_retire(struct rp_binary *binary);

/** rp_binary_function: the kernel of that name, with one handle however often it is asked for; not
 *  referenced. RP_EPARAM: there is none. RP_ENOMEM. */
RP_MUST_USE rp_status rp_binary_function(
        struct rp_binary *binary, const char *name, struct rp_function **out);

/** rp_binary_cpu_function: makes the exported function `symbol` a kernel called `name`. RP_EPARAM,
 *  RP_EKERNELDUP: the name is another one's already. RP_ENOMEM. */
RP_MUST_USE rp_status rp_binary_cpu_function(
        struct rp_binary *binary, const char *symbol, const char *name, struct rp_function **out);

/* A symbol that a binary exports itself. */
struct rp_binary_symbol {
    void *address;
    size_t bytes;
    bool is_code;
};

/** rp_binary_symbol: false if the binary exports nothing of that name. */
bool rp_binary_symbol(
        const struct rp_binary *binary, const char *name, struct rp_binary_symbol *out);

/** rp_binary_extent: where its loaded pages are. */
void rp_binary_extent(const struct rp_binary *binary, void **begin, size_t *bytes);

void rp_binary_ref(struct rp_binary *binary);
/**
 * rp_binary_unref: any thread, never blocks. The last one does not close the
 * object, whose destructors are users' code: rp_binaries_close does.
 */
void rp_binary_unref(struct rp_binary *binary);

/** rp_binaries_close: closes the objects that nobody uses any more. In a public call, without
 * locks. */
void rp_binaries_close(void);

#endif
