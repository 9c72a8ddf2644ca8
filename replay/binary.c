// Binaries. The dynamic loader does the work: it maps the object, links it, and finds its symbols.
//
// What a name leads to is asked of the object itself: dlsym alone would also find what its
// libraries export, and a call of "exit" or "printf" is no kernel.

#include "replay/binary.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "replay/binary_check.h"

#define FD_PATH_BYTES 32

// Those whose last user is gone, until a public call closes them.
static _Atomic(struct rp_binary *) to_close;

void rp_binary_ref(struct rp_binary *binary)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&binary->refs, 1, memory_order_relaxed);
}

void rp_binary_unref(struct rp_binary *binary)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&binary->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    // relaxed: a first guess.
    struct rp_binary *top = atomic_load_explicit(&to_close, memory_order_relaxed);
    do {
        binary->next = top;
        // release [L1]: pairs with the exchange in rp_binaries_close.
    } while (!atomic_compare_exchange_weak_explicit(
            &to_close, &top, binary, memory_order_release, memory_order_relaxed));
}

static void fd_path(int fd, char path[FD_PATH_BYTES])
{
    snprintf(path, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

// The loader knows an object by its path, and some objects stay for good (those with unique symbols
// of C++): the path of such a one must not become another one's, so its descriptor stays too.
static void close_fd(int fd)
{
    char path[FD_PATH_BYTES];
    fd_path(fd, path);
    void *resident = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (resident != NULL) {
        dlclose(resident);
    } else {
        close(fd);
    }
}

static void binary_free(struct rp_binary *binary)
{
    if (binary->object != NULL) {
        dlclose(binary->object);
    }
    if (binary->fd >= 0) {
        close_fd(binary->fd);
    }
    pthread_mutex_destroy(&binary->lock);
    rp_free(binary);
}

void rp_binaries_close(void)
{
    // relaxed: what comes in the meantime is closed by the next call.
    if (RP_LIKELY(atomic_load_explicit(&to_close, memory_order_relaxed) == NULL)) {
        return;
    }
    // acquire [L1]: pairs with the push in rp_binary_unref.
    struct rp_binary *binary = atomic_exchange_explicit(&to_close, NULL, memory_order_acquire);
    while (binary != NULL) {
        struct rp_binary *next = binary->next;
        binary_free(binary);
        binary = next;
    }
}

// ---- opening ----

struct options {
    bool lazy;
    bool for_cpu;
};

static rp_status read_option(const aclrtBinaryLoadOption *option, struct options *out)
{
    const aclrtBinaryLoadOptionValue *value = &option->value;
    switch ((uint32_t)option->type) {
    case ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD:
        if (value->isLazyLoad > 1) {
            return rp_fail(RP_EPARAM, "the option LAZY_LOAD is %" PRIu32 "; it can be 0 or 1",
                    value->isLazyLoad);
        }
        out->lazy = value->isLazyLoad == 1;
        return RP_OK;
    case ACL_RT_BINARY_LOAD_OPT_MAGIC:
        if (value->magic != ACL_RT_BINARY_MAGIC_ELF_AICORE &&
                value->magic != ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE &&
                value->magic != ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE) {
            return rp_fail(RP_EPARAM,
                    "the option MAGIC is 0x%" PRIx32 ", none of ACL_RT_BINARY_MAGIC_ELF_...",
                    value->magic);
        }
        return RP_OK; // all cores are the host's
    case ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE:
        if (value->cpuKernelMode < 0 || value->cpuKernelMode > 2) {
            return rp_fail(RP_EPARAM, "the option CPU_KERNEL_MODE is %" PRId32 "; it can be 0 to 2",
                    value->cpuKernelMode);
        }
        out->for_cpu = true;
        return RP_OK;
    default:
        return rp_fail(RP_EPARAM, "there is no load option %d", (int)option->type);
    }
}

static rp_status read_options(const aclrtBinaryLoadOptions *options, struct options *out)
{
    *out = (struct options){ 0 };
    if (options == NULL || options->numOpt == 0) {
        return RP_OK;
    }
    if (options->options == NULL) {
        return rp_fail(RP_ENULL, "%zu load options are at a null pointer", options->numOpt);
    }
    for (size_t i = 0; i < options->numOpt; i++) {
        const rp_status st = read_option(&options->options[i], out);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

// Loads `path`, called `what` in messages. `fd` is the binary's on success.
static rp_status open_object(const char *path, const char *what, int fd,
        const struct options *options, struct rp_binary **out)
{
    struct rp_binary *binary = rp_calloc(1, sizeof(*binary));
    if (binary == NULL) {
        return rp_fail(RP_ENOMEM, "no memory to load %s", what);
    }
    pthread_mutex_init(&binary->lock, NULL);
    binary->tag = RP_BINARY_LOADED;
    binary->fd = -1;
    binary->for_cpu = options->for_cpu;
    // relaxed: nobody else has it yet.
    atomic_store_explicit(&binary->refs, 1, memory_order_relaxed);
    rp_status st = RP_OK;
    binary->object = dlopen(path, (options->lazy ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
    if (binary->object == NULL) {
        const char *why = dlerror();
        st = rp_fail(RP_EPARAM, "%s cannot be loaded as a shared object of this host: %s", what,
                why == NULL ? "no reason given" : why);
    }
    if (st == RP_OK) {
        st = rp_handle_add(RP_HANDLE_BINARY, binary);
    }
    if (st != RP_OK) {
        binary_free(binary);
        return st;
    }
    binary->fd = fd;
    *out = binary;
    return RP_OK;
}

// The object that a path stands for: the loader looks for names without a slash elsewhere, and the
// description of CPU kernels (JSON) lies beside the object that has them.
static char *object_path(const char *path, const struct options *options)
{
    static const char json[] = ".json";
    const size_t length = strlen(path);
    char *copy = rp_malloc(length + sizeof("./"));
    if (copy == NULL) {
        return NULL;
    }
    snprintf(copy, length + sizeof("./"), "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    char *end = copy + strlen(copy);
    if (options->for_cpu && length >= sizeof(json) && strcmp(end - sizeof(json) + 1, json) == 0) {
        memcpy(end - sizeof(json) + 1, ".so", sizeof(".so"));
    }
    return copy;
}

static rp_status check_file(const char *path)
{
    // A pipe is not waited for.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return rp_fail_sys(RP_EFILE, "open", path);
    }
    const rp_status st = rp_binary_check(fd, path);
    close(fd);
    return st;
}

rp_status rp_binary_open(
        const char *path, const aclrtBinaryLoadOptions *options, struct rp_binary **out)
{
    struct options read;
    rp_status st = read_options(options, &read);
    if (st != RP_OK) {
        return st;
    }
    char *object = object_path(path, &read);
    if (object == NULL) {
        return rp_fail(RP_ENOMEM, "no memory to load %s", path);
    }
    st = check_file(object);
    if (st == RP_OK) {
        st = open_object(object, object, -1, &read, out);
    }
    rp_free(object);
    return st;
}

static rp_status write_all(int fd, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes != 0) {
        const ssize_t written = write(fd, from, bytes);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return rp_fail_sys(RP_ENORES, "write", "a binary's memory file");
        }
        from += written;
        bytes -= (size_t)written;
    }
    return RP_OK;
}

rp_status rp_binary_open_data(const void *data, size_t bytes, const aclrtBinaryLoadOptions *options,
        struct rp_binary **out)
{
    struct options read;
    rp_status st = read_options(options, &read);
    if (st != RP_OK) {
        return st;
    }
    // The loader trusts what stands in the file; what is not even an ELF file it need not see.
    if (bytes < sizeof(ElfW(Ehdr)) || memcmp(data, ELFMAG, SELFMAG) != 0) {
        return rp_fail(
                RP_EPARAM, "the %zu bytes of the binary do not begin like an ELF file", bytes);
    }
    const int fd = memfd_create("reprise-binary", MFD_CLOEXEC);
    if (fd < 0) {
        return rp_fail_sys(RP_ENORES, "memfd_create", "a binary");
    }
    st = write_all(fd, data, bytes);
    if (st == RP_OK) {
        st = rp_binary_check(fd, "the binary in memory");
    }
    if (st == RP_OK) {
        char path[FD_PATH_BYTES];
        fd_path(fd, path);
        st = open_object(path, "the binary in memory", fd, &read, out);
    }
    if (st != RP_OK) {
        close(fd);
    }
    return st;
}

// ---- the handle ----

// Handles of aclrtCreateBinary are in the same set and begin with a tag, too.
static void ref_loaded(void *object)
{
    struct rp_binary *binary = object;
    if (binary->tag == RP_BINARY_LOADED) {
        rp_binary_ref(binary);
    }
}

rp_status rp_binary_get(const void *handle, struct rp_binary **out)
{
    if (handle == NULL) {
        return rp_fail(RP_ENULL, "binHandle is a null pointer");
    }
    // A handle is the object's address; `const` is the caller's promise, not the object's.
    struct rp_binary *binary = (void *)(uintptr_t)handle;
    if (!rp_handle_ref(RP_HANDLE_BINARY, binary, ref_loaded) || binary->tag != RP_BINARY_LOADED) {
        return rp_fail(
                RP_EHANDLE, "%p is no loaded binary: never one, or unloaded already", handle);
    }
    *out = binary;
    return RP_OK;
}

bool rp_binary_retire(struct rp_binary *binary)
{
    if (!rp_handle_remove(RP_HANDLE_BINARY, binary)) {
        return false;
    }
    pthread_mutex_lock(&binary->lock);
    binary->retired = true;
    struct rp_function *function = binary->functions;
    binary->functions = NULL;
    pthread_mutex_unlock(&binary->lock);
    while (function != NULL) {
        struct rp_function *next = function->next;
        (void)rp_function_retire(function); // its handle ends with this list only
        function = next;
    }
    rp_binary_unref(binary);
    return true;
}

// ---- symbols ----

bool rp_binary_symbol(
        const struct rp_binary *binary, const char *name, struct rp_binary_symbol *out)
{
    struct link_map *map;
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *address = dlsym(binary->object, name);
    if (address == NULL || dlinfo(binary->object, RTLD_DI_LINKMAP, &map) != 0 ||
            dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL) {
        return false;
    }
    struct link_map *owner = NULL;
    if (dladdr1(address, &info, (void **)&owner, RTLD_DL_LINKMAP) == 0 || owner != map) {
        return false; // a library's that it needs
    }
    const unsigned type = symbol->st_info & 0xf;
    *out = (struct rp_binary_symbol){
        .address = address,
        .bytes = symbol->st_size,
        .is_code = type == STT_FUNC || type == STT_GNU_IFUNC,
    };
    return true;
}

struct extent {
    uintptr_t base;
    uintptr_t begin, end;
};

static int measure(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    struct extent *extent = arg;
    if (info->dlpi_addr != extent->base) {
        return 0;
    }
    extent->begin = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD) {
            const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
            extent->begin = begin < extent->begin ? begin : extent->begin;
            extent->end = rp_max_u64(extent->end, begin + part->p_memsz);
        }
    }
    return 1;
}

void rp_binary_extent(const struct rp_binary *binary, void **begin, size_t *bytes)
{
    struct link_map *map;
    struct extent extent = { 0 };
    if (dlinfo(binary->object, RTLD_DI_LINKMAP, &map) == 0) {
        extent.base = map->l_addr;
        dl_iterate_phdr(measure, &extent);
    }
    *begin = (void *)extent.begin;
    *bytes = extent.end - extent.begin;
}

// ---- functions ----

// The table beside a kernel, up to the empty entry at its end or the end of its symbol.
static const struct reprise_kernel_param *find_params(
        const struct rp_binary *binary, const char *name, uint32_t *count)
{
    struct rp_binary_symbol symbol;
    char text[512];
    *count = 0;
    const int length = snprintf(text, sizeof(text), "%s_params", name);
    if (length < 0 || (size_t)length >= sizeof(text) || !rp_binary_symbol(binary, text, &symbol) ||
            symbol.is_code) {
        return NULL;
    }
    const struct reprise_kernel_param *params = symbol.address;
    while ((*count + 1) * sizeof(*params) <= symbol.bytes && params[*count].bytes != 0) {
        (*count)++;
    }
    return params;
}

// Under the binary's lock.
static struct rp_function *find_made(const struct rp_binary *binary, const char *name)
{
    struct rp_function *function = binary->functions;
    while (function != NULL && strcmp(function->name, name) != 0) {
        function = function->next;
    }
    return function;
}

// Under the binary's lock.
static rp_status make_function(struct rp_binary *binary, const char *symbol_name, const char *name,
        struct rp_function **out)
{
    struct rp_binary_symbol symbol;
    if (binary->retired) {
        return rp_fail(RP_EHANDLE, "the binary was unloaded meanwhile");
    }
    if (!rp_binary_symbol(binary, symbol_name, &symbol) || !symbol.is_code) {
        return rp_fail(RP_EPARAM, "the binary exports no function %s", symbol_name);
    }
    uint32_t count;
    const struct reprise_kernel_param *params = find_params(binary, symbol_name, &count);
    reprise_kernel_fn fn;
    static_assert(sizeof(fn) == sizeof(symbol.address), "POSIX: dlsym finds functions, too");
    memcpy(&fn, &symbol.address, sizeof(fn));
    const rp_status st = rp_function_create(binary, name, fn, params, count, out);
    if (st == RP_OK) {
        (*out)->next = binary->functions;
        binary->functions = *out;
    }
    return st;
}

rp_status rp_binary_function(struct rp_binary *binary, const char *name, struct rp_function **out)
{
    pthread_mutex_lock(&binary->lock);
    rp_status st = RP_OK;
    struct rp_function *function = find_made(binary, name);
    if (function == NULL) {
        st = make_function(binary, name, name, &function);
    }
    pthread_mutex_unlock(&binary->lock);
    if (st == RP_OK) {
        *out = function;
    }
    return st;
}

rp_status rp_binary_cpu_function(
        struct rp_binary *binary, const char *symbol, const char *name, struct rp_function **out)
{
    if (!binary->for_cpu) {
        return rp_fail(RP_EPARAM,
                "the binary was not loaded with ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE, so %s is "
                "no "
                "CPU kernel",
                symbol);
    }
    pthread_mutex_lock(&binary->lock);
    rp_status st;
    if (find_made(binary, name) != NULL) {
        st = rp_fail(RP_EKERNELDUP, "the binary has a kernel %s already", name);
    } else {
        st = make_function(binary, symbol, name, out);
    }
    if (st == RP_OK) {
        (*out)->for_cpu = true;
    }
    pthread_mutex_unlock(&binary->lock);
    return st;
}
