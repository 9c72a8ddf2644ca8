/*
 * The fold itself, as text: reduce_simd.h includes this file once per element
 * type. No include guard, on purpose.
 *
 * In:  FOLD_TYPE   suffix of the type: load_TYPE(), store_TYPE(), ... exist
 *      FOLD_VEC    the register type in which the fold is accumulated
 *      FOLD_BYTES  bytes of memory that one register stands for (half a
 *                  register's worth for 16-bit floats, which widen)
 *      FOLD_ELEM   bytes of one element in memory
 * Out: fold_TYPE(), inlined into one function per operation by FOLD_ENTRY.
 *
 * Four registers are folded at a time: enough independent chains to cover the
 * latency of an add, and one load per source pointer is spread over four.
 * Every source of a block is read before any destination is written, so that a
 * destination may be one of the sources.
 */

#define FOLD_PASTE_(a, b) a##_##b
#define FOLD_PASTE(a, b) FOLD_PASTE_(a, b)
#define FOLD_FN(name) FOLD_PASTE(name, FOLD_TYPE)

static FOLD_INLINE void FOLD_FN(fold)(enum rp_reduce_op op, void *const *dsts, unsigned dst_count,
        const void *const *srcs, unsigned src_count, size_t first, size_t end, bool stream)
{
    const size_t step = FOLD_BYTES;
    const size_t bytes = end * FOLD_ELEM;
    size_t at = first * FOLD_ELEM;

    for (; bytes - at >= 4 * step; at += 4 * step) {
        FOLD_VEC a0 = FOLD_FN(load)(srcs[0], at);
        FOLD_VEC a1 = FOLD_FN(load)(srcs[0], at + step);
        FOLD_VEC a2 = FOLD_FN(load)(srcs[0], at + 2 * step);
        FOLD_VEC a3 = FOLD_FN(load)(srcs[0], at + 3 * step);
        for (unsigned s = 1; s < src_count; s++) {
            a0 = FOLD_FN(apply)(op, a0, FOLD_FN(load)(srcs[s], at));
            a1 = FOLD_FN(apply)(op, a1, FOLD_FN(load)(srcs[s], at + step));
            a2 = FOLD_FN(apply)(op, a2, FOLD_FN(load)(srcs[s], at + 2 * step));
            a3 = FOLD_FN(apply)(op, a3, FOLD_FN(load)(srcs[s], at + 3 * step));
        }
        a0 = FOLD_FN(finish)(a0);
        a1 = FOLD_FN(finish)(a1);
        a2 = FOLD_FN(finish)(a2);
        a3 = FOLD_FN(finish)(a3);
        for (unsigned d = 0; d < dst_count && stream; d++) {
            FOLD_FN(stream)(dsts[d], at, a0);
            FOLD_FN(stream)(dsts[d], at + step, a1);
            FOLD_FN(stream)(dsts[d], at + 2 * step, a2);
            FOLD_FN(stream)(dsts[d], at + 3 * step, a3);
        }
        for (unsigned d = 0; d < dst_count && !stream; d++) {
            FOLD_FN(store)(dsts[d], at, a0);
            FOLD_FN(store)(dsts[d], at + step, a1);
            FOLD_FN(store)(dsts[d], at + 2 * step, a2);
            FOLD_FN(store)(dsts[d], at + 3 * step, a3);
        }
    }
    for (; bytes - at >= step; at += step) {
        FOLD_VEC a = FOLD_FN(load)(srcs[0], at);
        for (unsigned s = 1; s < src_count; s++) {
            a = FOLD_FN(apply)(op, a, FOLD_FN(load)(srcs[s], at));
        }
        a = FOLD_FN(finish)(a);
        for (unsigned d = 0; d < dst_count; d++) {
            FOLD_FN(store)(dsts[d], at, a);
        }
    }
    if (at < bytes) {
        const size_t rest = bytes - at;
        FOLD_VEC a = FOLD_FN(load_part)(srcs[0], at, rest);
        for (unsigned s = 1; s < src_count; s++) {
            a = FOLD_FN(apply)(op, a, FOLD_FN(load_part)(srcs[s], at, rest));
        }
        a = FOLD_FN(finish)(a);
        for (unsigned d = 0; d < dst_count; d++) {
            FOLD_FN(store_part)(dsts[d], at, a, rest);
        }
    }
}

#define FOLD_ENTRY(name, op)                                                                  \
    static void FOLD_FN(name)(void *const *dsts, unsigned dst_count, const void *const *srcs, \
            unsigned src_count, size_t first, size_t end, bool stream)                        \
    {                                                                                         \
        FOLD_FN(fold)(op, dsts, dst_count, srcs, src_count, first, end, stream);              \
    }

FOLD_ENTRY(sum, RP_REDUCE_SUM)
FOLD_ENTRY(prod, RP_REDUCE_PROD)
FOLD_ENTRY(max, RP_REDUCE_MAX)
FOLD_ENTRY(min, RP_REDUCE_MIN)

#undef FOLD_ENTRY
#undef FOLD_FN
#undef FOLD_PASTE
#undef FOLD_PASTE_
#undef FOLD_TYPE
#undef FOLD_VEC
#undef FOLD_BYTES
#undef FOLD_ELEM
