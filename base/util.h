#ifndef RP_BASE_UTIL_H
#define RP_BASE_UTIL_H

/* Small constants and helpers that every room needs and none of them owns. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fields that different threads or ranks write stand this many bytes apart. A constant, and not
 * the machine's own figure, because shared layouts are pinned by it. */
#define RP_CACHELINE 64

#define RP_MUST_USE __attribute__((warn_unused_result))
#define RP_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))

#define RP_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define RP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define RP_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/** rp_container_of: the object of `type` whose `member` is at `pointer`. */
#define rp_container_of(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/** rp_align_up: `value` rounded up to a multiple of `alignment`, which is a power of two. */
static inline uint64_t rp_align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/** rp_text_copy: copy `text` to `out`, which has `bytes` of room; false when it had to be cut. */
static inline bool rp_text_copy(char *out, size_t bytes, const char *text)
{
    size_t length = strlen(text);
    bool fits = length < bytes;
    size_t kept = fits ? length : bytes - 1;
    memcpy(out, text, kept);
    out[kept] = '\0';
    return fits;
}

/** rp_min_u32: the smaller of two. */
static inline uint32_t rp_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint64_t rp_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t rp_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif /* RP_BASE_UTIL_H */
