// Copies of kind HOST_TO_BUF_TO_DEVICE: the data is taken at once, and the copy reads it from
// there.
//
// A buffer is freed by the next such copy that finds its own over, or with the stream. A host
// function behind each copy was the first plan: it costs a change of thread, and would not run
// where the stream's work is dropped.

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/util.h"
#include "kernels/copy.h"
#include "replay/stream.h"

struct staged {
    struct rp_list link;
    uint64_t until; // value of `ended` from which on nobody reads it
    _Alignas(RP_CACHELINE) uint8_t data[];
};

void rp_stream_free_staged(struct rp_stream *stream, bool all)
{
    struct rp_list over;
    rp_list_init(&over);
    // seq_cst [S1]: pairs with the scheduler's store, after the copy's last read.
    const uint64_t ended = atomic_load_explicit(&stream->ended, memory_order_seq_cst);
    pthread_mutex_lock(&stream->error_lock);
    rp_list_each(link, &stream->staged)
    {
        if (all || rp_container_of(link, struct staged, link)->until <= ended) {
            rp_list_remove(link);
            rp_list_push_back(&over, link);
        }
    }
    pthread_mutex_unlock(&stream->error_lock);
    for (struct rp_list *link = rp_list_pop_front(&over); link != NULL;
            link = rp_list_pop_front(&over)) {
        rp_free(rp_container_of(link, struct staged, link));
    }
}

rp_status rp_stream_copy_staged(
        struct rp_stream *stream, void *dst, const void *src, uint64_t bytes)
{
    rp_stream_free_staged(stream, false);
    struct staged *staged = bytes > SIZE_MAX - sizeof(*staged) - RP_CACHELINE
                                    ? NULL
                                    : rp_aligned_calloc(RP_CACHELINE, sizeof(*staged) + bytes);
    if (staged == NULL) {
        return rp_fail(
                RP_ENOMEM, "no memory to stage %llu bytes of a copy", (unsigned long long)bytes);
    }
    rp_copy(staged->data, src, bytes);
    struct rp_task task = { .insn = { .kind = RP_INSN_COPY } };
    task.insn.u.copy.dst = dst;
    task.insn.u.copy.src = staged->data;
    task.insn.u.copy.bytes = bytes;
    const rp_status st = rp_stream_submit(stream, &task);
    if (st != RP_OK) {
        rp_free(staged);
        return st;
    }
    // relaxed: at least the copy's own number, which this thread was given.
    staged->until = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
    pthread_mutex_lock(&stream->error_lock);
    rp_list_push_back(&stream->staged, &staged->link);
    pthread_mutex_unlock(&stream->error_lock);
    return RP_OK;
}
