// What a launch is made of: the call's arguments are copied, so the caller may change them at once.

#include "replay/launch.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "replay/kernel_function.h"

// Offsets into the arguments are 32 bits wide in the API.
#define ARGS_MAX UINT32_MAX
#define PADDED_TO 16

void rp_launch_ref(struct rp_launch *launch)
{
    // relaxed: whoever makes a reference has one.
    atomic_fetch_add_explicit(&launch->refs, 1, memory_order_relaxed);
}

void rp_launch_unref(struct rp_launch *launch)
{
    // acq_rel [G1]: pairs with itself: the last one sees all that the others did.
    if (atomic_fetch_sub_explicit(&launch->refs, 1, memory_order_acq_rel) == 1) {
        rp_function_unref(launch->function);
        rp_free(launch->extra);
        rp_free(launch);
    }
}

// ---- checks; `name` is the kernel's ----

static rp_status check_attr(const char *name, const aclrtLaunchKernelAttr *attr)
{
    const aclrtLaunchKernelAttrValue *value = &attr->value;
    bool fits = true;
    switch ((uint32_t)attr->id) {
    case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE:
        fits = (uint32_t)value->engineType <= ACL_RT_ENGINE_TYPE_AIV;
        break;
    case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
    case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
    case ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING:
        fits = value->isDataDump <= 1; // all three are the union's first byte
        break;
    default:
        if ((uint32_t)attr->id == 0 || (uint32_t)attr->id >= RP_KERNEL_ATTRS) {
            return rp_fail(RP_EPARAM,
                    "the configuration of a launch of kernel %s has an attribute %d; they are 1 to "
                    "%d",
                    name, (int)attr->id, RP_KERNEL_ATTRS - 1);
        }
        break;
    }
    if (!fits) {
        return rp_fail(RP_EPARAM,
                "attribute %d of a launch of kernel %s has value %" PRIu32 "; it can be 0 or 1",
                (int)attr->id, name, value->rsv[0]);
    }
    return RP_OK;
}

static rp_status check_cfg(const char *name, const aclrtLaunchKernelCfg *cfg)
{
    if (cfg == NULL || cfg->numAttrs == 0) {
        return RP_OK;
    }
    if (cfg->attrs == NULL) {
        return rp_fail(RP_EPARAM,
                "the configuration of a launch of kernel %s has %zu attributes at a null pointer",
                name, cfg->numAttrs);
    }
    for (size_t i = 0; i < cfg->numAttrs; i++) {
        const rp_status st = check_attr(name, &cfg->attrs[i]);
        if (st != RP_OK) {
            return st;
        }
    }
    return RP_OK;
}

static rp_status check_args(const char *name, const struct rp_launch_spec *spec)
{
    if (spec->args == NULL && spec->args_bytes != 0) {
        return rp_fail(RP_ENULL, "the arguments of kernel %s are a null pointer and %zu bytes",
                name, spec->args_bytes);
    }
    if (spec->args_bytes > ARGS_MAX) {
        return rp_fail(RP_EPARAM,
                "kernel %s is given %zu bytes of arguments; at most %" PRIu32 " are possible", name,
                spec->args_bytes, ARGS_MAX);
    }
    if (spec->place == NULL && spec->place_count != 0) {
        return rp_fail(RP_ENULL, "the %zu placeholders of kernel %s are at a null pointer",
                spec->place_count, name);
    }
    for (size_t i = 0; i < spec->place_count; i++) {
        const aclrtPlaceHolderInfo *place = &spec->place[i];
        if ((uint64_t)place->addrOffset + sizeof(void *) > spec->args_bytes ||
                place->dataOffset >= spec->args_bytes) {
            return rp_fail(RP_EPARAM,
                    "placeholder %zu of kernel %s is a pointer at byte %" PRIu32 " to byte %" PRIu32
                    ", and there are %zu bytes of arguments",
                    i, name, place->addrOffset, place->dataOffset, spec->args_bytes);
        }
    }
    return RP_OK;
}

// Output: how many blocks there are.
static rp_status check_blocks(const char *name, const struct rp_launch_spec *spec, uint32_t *blocks)
{
    const struct reprise_grid *grid = spec->grid;
    uint64_t product = spec->blocks;
    if (grid != NULL) {
        product = (uint64_t)grid->grid[0] * grid->grid[1];
        product = product > UINT32_MAX ? product : product * grid->grid[2];
    }
    if (grid != NULL && (grid->threads[0] == 0 || grid->threads[1] == 0 || grid->threads[2] == 0)) {
        return rp_fail(RP_EPARAM,
                "blockDim of a launch of kernel %s is %" PRIu32 " x %" PRIu32 " x %" PRIu32, name,
                grid->threads[0], grid->threads[1], grid->threads[2]);
    }
    if (product == 0 || product > UINT32_MAX) {
        return rp_fail(RP_EPARAM,
                "a launch of kernel %s has %" PRIu64 " blocks; it needs 1 to %" PRIu32, name,
                product, UINT32_MAX);
    }
    *blocks = (uint32_t)product;
    return RP_OK;
}

// ---- making one ----

static void fill_extra(struct rp_launch_extra *extra, const struct rp_launch_spec *spec)
{
    if (spec->grid != NULL) {
        extra->grid = *spec->grid;
        extra->has_grid = true;
    }
    for (size_t i = 0; spec->cfg != NULL && i < spec->cfg->numAttrs; i++) {
        const aclrtLaunchKernelAttr *attr = &spec->cfg->attrs[i];
        extra->attr[attr->id] = attr->value;
        extra->attrs |= 1u << attr->id;
    }
}

static void store_pointer(struct rp_launch *launch, uint32_t offset, size_t target)
{
    const void *pointer = launch->args + target;
    memcpy(launch->args + offset, &pointer, sizeof(pointer)); // it may be unaligned
    launch->extra->place[launch->extra->place_count++] = offset;
}

// A launch without pointers into its own arguments, and room for `places` of them.
static rp_status create(const struct rp_launch_spec *spec, size_t places, struct rp_launch **out)
{
    struct rp_function *function;
    rp_status st = rp_function_get(spec->func, &function);
    if (st != RP_OK) {
        return st;
    }
    uint32_t blocks = 0;
    st = check_blocks(function->name, spec, &blocks);
    if (st == RP_OK) {
        st = check_args(function->name, spec);
    }
    if (st == RP_OK) {
        st = check_cfg(function->name, spec->cfg);
    }
    if (st != RP_OK) {
        goto undo_function;
    }
    // A kernel may read its arguments as a struct, the padding at its end included.
    const size_t padding = rp_align_up(spec->args_bytes, PADDED_TO) - spec->args_bytes;
    struct rp_launch *launch = rp_malloc(sizeof(*launch) + spec->args_bytes + padding);
    struct rp_launch_extra *extra = NULL;
    const bool plain =
            spec->grid == NULL && places == 0 && (spec->cfg == NULL || spec->cfg->numAttrs == 0);
    if (!plain) {
        extra = rp_calloc(1, sizeof(*extra) + places * sizeof(extra->place[0]));
    }
    if (launch == NULL || (extra == NULL && !plain)) {
        st = rp_fail(RP_ENOMEM, "no memory for %zu bytes of arguments of kernel %s",
                spec->args_bytes, function->name);
        goto undo_alloc;
    }
    // relaxed: nobody else has it yet.
    atomic_store_explicit(&launch->refs, 1, memory_order_relaxed);
    launch->blocks = blocks;
    launch->function = function;
    launch->extra = extra;
    launch->args_bytes = spec->args_bytes;
    if (spec->args_bytes != 0) {
        memcpy(launch->args, spec->args, spec->args_bytes);
    }
    memset(launch->args + spec->args_bytes, 0, padding);
    if (extra != NULL) {
        fill_extra(extra, spec);
    }
    *out = launch;
    return RP_OK;

undo_alloc:
    rp_free(extra);
    rp_free(launch);
undo_function:
    rp_function_unref(function);
    return st;
}

rp_status rp_launch_create(const struct rp_launch_spec *spec, struct rp_launch **out)
{
    struct rp_launch *launch;
    const rp_status st = create(spec, spec->place_count, &launch);
    if (st != RP_OK) {
        return st;
    }
    for (size_t i = 0; i < spec->place_count; i++) {
        store_pointer(launch, spec->place[i].addrOffset, spec->place[i].dataOffset);
    }
    *out = launch;
    return RP_OK;
}

rp_status rp_launch_replace(
        const struct rp_launch *before, const struct rp_launch_spec *spec, struct rp_launch **out)
{
    struct rp_launch *launch;
    struct rp_launch_spec plain = *spec;
    plain.place = NULL;
    plain.place_count = 0;
    const size_t places = before->extra == NULL ? 0 : before->extra->place_count;
    const rp_status st = create(&plain, places, &launch);
    if (st != RP_OK) {
        return st;
    }
    for (size_t i = 0; i < places; i++) {
        const uint32_t offset = before->extra->place[i];
        uintptr_t pointer;
        if (offset + sizeof(pointer) > launch->args_bytes) {
            continue;
        }
        memcpy(&pointer, launch->args + offset, sizeof(pointer));
        const uintptr_t target = pointer - (uintptr_t)before->args; // wraps if it lies before
        if (target < before->args_bytes && target < launch->args_bytes) {
            store_pointer(launch, offset, target);
        }
    }
    *out = launch;
    return RP_OK;
}

// ---- what is asked of one ----

aclrtFuncHandle rp_launch_handle(const struct rp_launch *launch)
{
    return launch->function;
}

const char *rp_launch_name(const struct rp_launch *launch)
{
    return launch->function->name;
}

rp_status rp_launch_attr(const struct rp_launch *launch, aclrtLaunchKernelAttrId id,
        aclrtLaunchKernelAttrValue *value)
{
    const bool told = id == ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE ||
                      id == ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE ||
                      ((uint32_t)id >= ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP &&
                              (uint32_t)id <= ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING);
    if (!told) {
        return rp_fail(
                RP_EPARAM, "attrId is %d; of a kernel task it can be 1, 2 or 6 to 9", (int)id);
    }
    *value = launch->extra == NULL ? (aclrtLaunchKernelAttrValue){ .rsv = { 0 } }
                                   : launch->extra->attr[id];
    return RP_OK;
}
