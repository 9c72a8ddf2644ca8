// Where a rank's buffers are, what they hold at first, and whether they hold the right bytes.

#include <stdlib.h>
#include <string.h>

#include "support/random_program_run.h"

#define POISON 0xa5

static unsigned memory_of(const struct random_buffer *buffer, unsigned rank)
{
    if (buffer->memory == RANDOM_MIXED) {
        return (buffer->pageable_ranks >> rank & 1) != 0 ? RANDOM_PAGEABLE : RANDOM_DEVICE;
    }
    return buffer->memory == RANDOM_WORD ? RANDOM_DEVICE : buffer->memory;
}

static void *allocate(unsigned memory, size_t bytes)
{
    void *block = NULL;
    if (memory == RANDOM_DEVICE) {
        must(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    } else if (memory == RANDOM_PINNED) {
        must(aclrtMallocHost(&block, bytes));
    } else {
        block = malloc(bytes);
        must_hold(block != NULL, "no memory for the test's own");
    }
    return block;
}

static void release(unsigned memory, void *block)
{
    if (memory == RANDOM_DEVICE) {
        must(aclrtFree(block));
    } else if (memory == RANDOM_PINNED) {
        must(aclrtFreeHost(block));
    } else {
        free(block);
    }
}

void random_place(struct random_runner *r)
{
    const struct random_program *p = r->program;
    for (unsigned b = 0; b < p->buffers; b++) {
        const struct random_buffer *buffer = &p->buffer[b];
        const unsigned memory = memory_of(buffer, r->rank->id);
        if (!p->own_buffers) {
            if (r->slab[memory] == NULL) {
                r->slab[memory] = allocate(memory, RANDOM_IMAGE_BYTES);
            }
            r->address[b] = r->slab[memory] + buffer->offset;
        } else {
            r->address[b] = (uint8_t *)allocate(memory, buffer->bytes + 2 * RANDOM_GUARD_BYTES) +
                            RANDOM_GUARD_BYTES;
        }
    }
}

void random_unplace(struct random_runner *r)
{
    const struct random_program *p = r->program;
    for (unsigned b = 0; p->own_buffers && b < p->buffers; b++) {
        release(memory_of(&p->buffer[b], r->rank->id), r->address[b] - RANDOM_GUARD_BYTES);
    }
}

uint8_t *random_address(const struct random_runner *r, const struct random_range *range, bool graph)
{
    const bool word = graph && r->program->buffer[range->buffer].memory == RANDOM_WORD;
    return (word ? (uint8_t *)r->word[range->buffer] : r->address[range->buffer]) + range->offset;
}

void random_load(struct random_runner *r, unsigned round)
{
    const struct random_program *p = r->program;
    for (unsigned b = 0; b < p->buffers; b++) {
        memset(r->address[b] - RANDOM_GUARD_BYTES, POISON, RANDOM_GUARD_BYTES);
        memset(r->address[b] + p->buffer[b].bytes, POISON, RANDOM_GUARD_BYTES);
        random_fill_buffer(p, b, r->rank->id, round, r->address[b]);
        if (r->word[b] != NULL) {
            memcpy(r->word[b], r->address[b], 8);
        }
    }
}

// What an execution does for the words of its graph.
void random_defaults(struct random_runner *r)
{
    const struct random_program *p = r->program;
    for (unsigned b = 0; b < p->buffers; b++) {
        if (p->buffer[b].memory == RANDOM_WORD && p->buffer[b].has_default) {
            const uint64_t value = random_word_default(p, b);
            memcpy(r->address[b], &value, 8);
        }
    }
}

// Where a buffer is after a run.
static const uint8_t *found_at(const struct random_runner *r, unsigned b)
{
    const struct random_buffer *buffer = &r->program->buffer[b];
    const bool word = r->word[b] != NULL && r->replayed[buffer->segment];
    return word ? (const uint8_t *)r->word[b] : r->address[b];
}

static bool poisoned(const uint8_t *zone)
{
    for (unsigned i = 0; i < RANDOM_GUARD_BYTES; i++) {
        if (zone[i] != POISON) {
            return false;
        }
    }
    return true;
}

void random_save(struct random_runner *r, unsigned round)
{
    const struct random_program *p = r->program;
    for (unsigned b = 0; b < p->buffers; b++) {
        memcpy(r->image[round] + p->buffer[b].offset, found_at(r, b), p->buffer[b].bytes);
    }
}

// The last task that writes a byte of a buffer.
static int writer_of(const struct random_program *p, unsigned buffer, uint32_t byte)
{
    for (unsigned i = p->tasks; i-- > 0;) {
        for (unsigned v = 0; v < p->variants; v++) {
            const struct random_range *to = &p->task[i].args[v].to;
            if (to->buffer == buffer && byte >= to->offset && byte < to->offset + to->bytes) {
                return (int)i;
            }
        }
    }
    return -1;
}

// Whether the bytes are still those of the beginning.
static bool untouched(
        const struct random_runner *r, unsigned b, unsigned round, uint32_t byte, uint8_t value)
{
    uint8_t *data = malloc(r->program->buffer[b].bytes);
    must_hold(data != NULL, "no memory for the test's own");
    random_fill_buffer(r->program, b, r->rank->id, r->program->chained ? 0 : round, data);
    const bool same = data[byte] == value;
    free(data);
    return same;
}

static void complain(const struct random_runner *r, unsigned b, const uint8_t *want, unsigned round,
        const char *what, const char *with)
{
    struct random_control *control = r->rank->shared;
    const uint8_t *got = found_at(r, b);
    const uint32_t bytes = r->program->buffer[b].bytes;
    uint32_t at = 0, wrong = 0;
    if (control->keep_going) {
        // relaxed: read once this process has ended.
        atomic_fetch_add_explicit(&control->differences, 1, memory_order_relaxed);
        return;
    }
    while (got[at] == want[at]) {
        at++;
    }
    for (uint32_t i = at; i < bytes; i++) {
        wrong += got[i] != want[i];
    }
    rank_fail(__FILE__, __LINE__,
            "program %llu, round %u: %s differs from %s: %u bytes of buffer b%u, from byte %u of "
            "%u on (0x%02x%s instead of 0x%02x%s), last written by task %d",
            (unsigned long long)r->program->seed, round, what, with, wrong, b, at, bytes, got[at],
            untouched(r, b, round, at, got[at]) ? ", as at first," : "", want[at],
            untouched(r, b, round, at, want[at]) ? ", as at first" : "",
            writer_of(r->program, b, at));
}

void random_compare(const struct random_runner *r, const uint8_t *image, unsigned round,
        const char *what, const char *with)
{
    const struct random_program *p = r->program;
    for (unsigned b = 0; b < p->buffers; b++) {
        const uint8_t *want = image + p->buffer[b].offset;
        if (memcmp(found_at(r, b), want, p->buffer[b].bytes) != 0) {
            complain(r, b, want, round, what, with);
        }
        must_hold(poisoned(r->address[b] - RANDOM_GUARD_BYTES) &&
                          poisoned(r->address[b] + p->buffer[b].bytes),
                "program %llu, round %u, %s: bytes beside buffer b%u were written",
                (unsigned long long)p->seed, round, what, b);
    }
}
