#include "support/operator_case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/util.h"
#include "capture/select.h"
#include "kernels/line.h"
#include "support/random_program.h"

unsigned operator_case_ranks(uint64_t seed)
{
    return 1 + (unsigned)(seed % OPERATOR_RANKS);
}

// Bytes at which some form, algorithm or window ends. The windows have 1 MiB; a part is the
// kernels'.
static const uint32_t boundaries[] = { RP_LINE_PAYLOAD_BYTES, 64, 512, 4096, 8192, RP_SLOT_BYTES,
    64u << 10, 128u << 10, 256u << 10, 512u << 10, 768u << 10, 1u << 20, 2u << 20 };

// At most `most` elements.
static uint64_t random_count(
        struct random_source *source, uint64_t most, size_t element, bool whole)
{
    const uint32_t kind = random_below(source, 100);
    uint64_t count = 0;
    if (kind < 4) {
        return 0;
    }
    if (kind < 30) {
        count = 1 + random_below(source, 16);
    } else if (kind < 60) {
        const uint32_t limit = kind < 56 ? 8 : RP_ARRAY_LENGTH(boundaries);
        count = boundaries[random_below(source, limit)] / element + random_below(source, 3) - 1;
    } else if (kind < (whole ? 97 : 100)) {
        count = 1 + random_below(source, 1u << random_below(source, 13));
    } else {
        count = 1 + random_below(source, 1u << 20) / element;
    }
    return rp_min_u64(count, most);
}

static enum rp_dtype some_type(struct random_source *source, const struct rp_matrix_row *row)
{
    unsigned type = RP_DTYPE_INT8; // of what has no elements
    while (row->types != 0 && (row->types >> (type = random_below(source, 18)) & 1) == 0) {
    }
    return (enum rp_dtype)type;
}

static void make_blocks(struct random_source *source, struct operator_call *call, uint64_t most)
{
    const size_t element = rp_dtype_bytes(call->dtype);
    const bool by_source = call->op == RP_OP_ALL_GATHER_V;
    const bool by_target = call->op == RP_OP_REDUCE_SCATTER_V;
    for (unsigned s = 0; s < call->ranks; s++) {
        for (unsigned d = 0; d < call->ranks; d++) {
            const bool copied = (by_source && d > 0) || (by_target && s > 0);
            call->block[s][d] = copied ? call->block[by_source ? s : 0][by_source ? 0 : d]
                                : random_chance(source, 30)
                                        ? 0
                                        : random_count(source, most, element, false);
        }
    }
    operator_place_blocks(call);
}

static void make_call(struct random_source *source, struct operator_call *call, unsigned ranks,
        const struct operator_form *forms, unsigned form_count)
{
    const struct rp_matrix_row *row = NULL;
    do {
        row = &rp_matrix[random_below(source, rp_matrix_rows)];
    } while (!operator_knows(row->op) ||
             ((row->op == RP_OP_SEND || row->op == RP_OP_RECEIVE) && ranks == 1));
    *call = (struct operator_call){ .op = row->op, .ranks = ranks };
    call->dtype = some_type(source, row);
    call->reduce = row->reduces ? (enum rp_reduce_op)random_below(source, 4) : RP_REDUCE_SUM;
    call->root = random_below(source, ranks);
    call->peer = (call->root + 1 + random_below(source, ranks > 1 ? ranks - 1 : 1)) % ranks;
    call->in_place = random_chance(source, 40);
    call->fill = random_next(source) >> 20;
    call->comm = random_below(source, form_count);
    call->exact = !forms[call->comm].ordered;
    const uint64_t most = (OPERATOR_BUFFER_BYTES / rp_dtype_bytes(call->dtype) - 64) / ranks;
    call->count = random_count(source, most, rp_dtype_bytes(call->dtype), true);
    call->count = row->types == 0 ? 0 : call->count;
    if (operator_has_blocks(call->op)) {
        make_blocks(source, call, most);
    }
    const unsigned kinds = random_below(source, 3); // all in the arena, all alike, or a mix
    const uint8_t alike = (uint8_t)random_below(source, OPERATOR_MEMORIES);
    for (unsigned r = 0; r < ranks; r++) {
        for (unsigned b = 0; b < 2; b++) {
            const uint8_t other = (uint8_t)random_below(source, OPERATOR_MEMORIES);
            call->of[r].memory[b] = kinds == 0 ? OPERATOR_ARENA : kinds == 1 ? alike : other;
            call->of[r].skew[b] = random_chance(source, 50) ? 0 : (uint8_t)random_below(source, 64);
        }
        call->of[r].stream = (uint8_t)random_below(source, 2);
    }
}

void operator_case_make(struct operator_case *c, uint64_t seed, const struct operator_form *forms,
        unsigned form_count)
{
    struct random_source source = random_begin(seed * UINT64_C(0x2545f4914f6cdd1d));
    *c = (struct operator_case){
        .seed = seed,
        .ranks = operator_case_ranks(seed),
        .mode = (enum operator_mode)random_below(&source, OPERATOR_MODES),
        .calls = 1 + random_below(&source, OPERATOR_CALLS),
        .forked = random_chance(&source, 30),
        .queued = random_chance(&source, 30) ? 1 + random_below(&source, 2) : 0,
    };
    c->rounds = c->mode == OPERATOR_EAGER ? 1 + random_below(&source, 2)
                                          : 2 + random_below(&source, OPERATOR_ROUNDS_MAX - 2);
    const bool one_comm = random_chance(&source, 75);
    uint64_t largest = 0;
    for (unsigned i = 0; i < c->calls; i++) {
        make_call(&source, &c->call[i], c->ranks, forms, form_count);
        if (one_comm) {
            c->call[i].comm = c->call[0].comm;
            c->call[i].exact = c->call[0].exact;
        }
        largest = rp_max_u64(largest, c->call[i].count * rp_dtype_bytes(c->call[i].dtype));
    }
    for (unsigned i = 0; i < c->calls; i++) {
        for (unsigned r = 0; r < c->ranks; r++) {
            size_t offset;
            const bool repeats =
                    c->call[i].op == RP_OP_BROADCAST || !operator_in_place(&c->call[i], r, &offset);
            c->queued = repeats ? c->queued : 0;
        }
    }
    if (largest > (128u << 10)) {
        c->rounds = 2; // the oracle is slow
    }
}

// ---- words ----

static const char *const mode_names[] = { "eager", "captured", "eager and captured in turn" };
static const char memory_letters[] = { 'a', 'm', 'p' };

static size_t say(char *text, size_t bytes, size_t used, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

static size_t say(char *text, size_t bytes, size_t used, const char *format, ...)
{
    va_list args;
    if (used >= bytes) {
        return used;
    }
    va_start(args, format);
    const int more = vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
    return used + (more > 0 ? (size_t)more : 0);
}

void operator_case_words(
        const struct operator_case *c, const struct operator_form *forms, char *text, size_t bytes)
{
    size_t used = say(text, bytes, 0, "case %" PRIu64 ": %u ranks, %s, %u rounds%s", c->seed,
            c->ranks, mode_names[c->mode], c->rounds, c->forked ? ", two streams" : "");
    for (unsigned i = 0; i < c->calls; i++) {
        const struct operator_call *call = &c->call[i];
        struct rp_record record = {
            .op = (uint16_t)call->op, .dtype = (uint8_t)call->dtype, .reduce = (uint8_t)call->reduce
        };
        const struct rp_record_words words = rp_record_words(&record);
        used = say(text, bytes, used, "; %s of %" PRIu64 " %s%s%s on %s, root %u%s, memory ",
                words.op, call->count, words.dtype != NULL ? words.dtype : "elements",
                words.reduce != NULL ? ", " : "", words.reduce != NULL ? words.reduce : "",
                forms[call->comm].name, call->root, call->in_place ? ", in place" : "");
        for (unsigned r = 0; r < c->ranks; r++) {
            used = say(text, bytes, used, "%c%c", memory_letters[call->of[r].memory[0]],
                    memory_letters[call->of[r].memory[1]]);
        }
        for (unsigned s = 0; operator_has_blocks(call->op) && s < c->ranks; s++) {
            for (unsigned d = 0; d < c->ranks; d++) {
                used = say(
                        text, bytes, used, "%s%" PRIu64, d == 0 ? " / " : " ", call->block[s][d]);
            }
        }
    }
}
