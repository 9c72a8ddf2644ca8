// Who may read what: a thread's context is its own; the process-wide text has a lock. The context
// itself is a few words of thread-local storage, because thread-local storage counts against the
// stack of every thread of a host program, and some have 16 KiB; the text is allocated with the
// thread's first failure.

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

struct text {
    char pending[RP_ERROR_TEXT_MAX];
    char taken[RP_ERROR_TEXT_MAX]; // what rp_error_take returned last
};

static _Thread_local struct {
    rp_status spoken;  // the last status with a sentence that no public call has returned yet
    rp_status lost;    // a sentence was due and memory was short
    int last_error;    // aclError
    struct text *text; // NULL until the first failure
    struct rp_error_capture *capture; // NULL: sentences are this thread's own
    char spare[128];                  // what is taken when `text` could not be allocated
} context;

static pthread_once_t text_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t text_key;
static bool text_key_made;

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static char process_pending[RP_ERROR_TEXT_MAX]; // under process_lock
// Whether sentences go there. relaxed: aclInit sets it before the calls that should be affected.
static _Atomic bool process_mode;

static void forget_text(void *text)
{
    context.text = NULL; // another library's destructor may fail in one of our calls after this
    rp_free(text);
}

static void make_text_key(void)
{
    text_key_made = pthread_key_create(&text_key, forget_text) == 0;
}

// This thread's text, NULL when memory is short. Without a key nobody would free it: then it is
// not allocated at all.
static struct text *own_text(void)
{
    if (context.text != NULL) {
        return context.text;
    }
    pthread_once(&text_key_once, make_text_key);
    if (!text_key_made) {
        return NULL;
    }
    struct text *text = rp_calloc(1, sizeof(*text));
    if (text != NULL && pthread_setspecific(text_key, text) != 0) {
        rp_free(text);
        text = NULL;
    }
    context.text = text;
    return text;
}

// Puts `line` before `pending`; whole lines at its end go until there is room.
static void put_first(char *pending, const char *line)
{
    size_t line_bytes = strlen(line);
    size_t kept = strlen(pending);
    while (line_bytes + kept >= RP_ERROR_TEXT_MAX) {
        kept--; // the newline of the oldest line
        while (kept > 0 && pending[kept - 1] != '\n') {
            kept--;
        }
    }
    memmove(pending + line_bytes, pending, kept);
    memcpy(pending, line, line_bytes);
    pending[line_bytes + kept] = '\0';
}

// Records `sentence`, which ends without a newline, as pending.
static void record(rp_status st, const char *sentence)
{
    if (context.capture != NULL) {
        rp_text_copy(context.capture->sentence, sizeof(context.capture->sentence), sentence);
        return;
    }
    char line[RP_ERROR_SENTENCE_MAX + 32];
    snprintf(line, sizeof(line), "E%d: %s\n", rp_status_acl(st), sentence);
    context.spoken = st;
    if (atomic_load_explicit(&process_mode, memory_order_relaxed)) {
        pthread_mutex_lock(&process_lock);
        put_first(process_pending, line);
        pthread_mutex_unlock(&process_lock);
        return;
    }
    struct text *text = own_text();
    if (text == NULL) {
        context.lost = st;
        return;
    }
    put_first(text->pending, line);
}

// `used` is what a printf function answered; a cut sentence shows that it was cut. A newline would
// look like the end of the sentence.
static void finish_sentence(char *sentence, int used)
{
    if (used >= RP_ERROR_SENTENCE_MAX) {
        memcpy(sentence + RP_ERROR_SENTENCE_MAX - sizeof("..."), "...", sizeof("..."));
    }
    for (char *at = strchr(sentence, '\n'); at != NULL; at = strchr(at, '\n')) {
        *at = ' ';
    }
}

rp_status(rp_fail)(rp_status st, const char *fmt, ...)
{
    int error = errno;
    char sentence[RP_ERROR_SENTENCE_MAX] = "";
    va_list args;
    va_start(args, fmt);
    int used = vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    finish_sentence(sentence, used);
    record(st, sentence);
    rp_log_error("%s: %s", rp_status_name(st), sentence);
    errno = error;
    return st;
}

rp_status(rp_fail_sys)(rp_status st, const char *call, const char *what)
{
    int error = errno;
    char reason[128];
    const char *text = strerror_r(error, reason, sizeof(reason));
    if (what == NULL) {
        rp_fail(st, "%s failed: %s (errno %d)", call, text, error);
    } else {
        rp_fail(st, "%s of %s failed: %s (errno %d)", call, what, text, error);
    }
    errno = error;
    return st;
}

void rp_error_post(rp_status st, const char *sentence)
{
    int error = errno;
    char copy[RP_ERROR_SENTENCE_MAX];
    int used = snprintf(copy, sizeof(copy), "%s", sentence == NULL ? rp_status_text(st) : sentence);
    finish_sentence(copy, used);
    record(st, copy);
    errno = error;
}

void rp_error_capture_begin(struct rp_error_capture *capture)
{
    capture->outer = context.capture;
    capture->sentence[0] = '\0';
    context.capture = capture;
}

void rp_error_capture_end(struct rp_error_capture *capture)
{
    assert(context.capture == capture);
    context.capture = capture->outer;
}

const char *rp_error_captured(void)
{
    return context.capture == NULL ? "" : context.capture->sentence;
}

// The thread's newest line in `line`, with its number and without its end; false: it has none.
static bool newest_line(char *line, size_t bytes)
{
    if (context.text == NULL || context.capture != NULL ||
            atomic_load_explicit(&process_mode, memory_order_relaxed)) {
        return false;
    }
    const char *end = strchr(context.text->pending, '\n');
    if (end == NULL) {
        return false;
    }
    const size_t line_bytes = (size_t)(end - context.text->pending);
    rp_text_copy(line, (size_t)rp_min_u64(bytes, line_bytes + 1), context.text->pending);
    return true;
}

void rp_error_newest(char *out, size_t bytes)
{
    char line[RP_ERROR_SENTENCE_MAX + 32];
    out[0] = '\0';
    if (newest_line(line, sizeof(line))) {
        const char *space = strchr(line, ' ');
        rp_text_copy(out, bytes, space == NULL ? line : space + 1);
    }
}

// Whether `call` is a public function's name, and not a test's.
static bool is_public(const char *call)
{
    return strncmp(call, "acl", 3) == 0 || strncmp(call, "Hccl", 4) == 0;
}

// The newest pending sentence says whose it is.
static void name_call(const char *call)
{
    char line[RP_ERROR_SENTENCE_MAX + 32];
    char named[RP_ERROR_SENTENCE_MAX + 160];
    if (!is_public(call) || !newest_line(line, sizeof(line)) || strstr(line, call) != NULL) {
        return;
    }
    const char *space = strchr(line, ' ');
    const int number_bytes = space == NULL ? 0 : (int)(space - line);
    const int used = snprintf(
            named, sizeof(named), "%.*s %s:%s\n", number_bytes, line, call, line + number_bytes);
    if (used > 0 && (size_t)used < sizeof(named)) {
        char *pending = context.text->pending;
        const char *rest = pending + strlen(line) + 1;
        memmove(pending, rest, strlen(rest) + 1);
        put_first(pending, named);
    }
}

// What a public call does with its failure: one sentence at least, and the last error.
static void conclude(rp_status st, const char *call)
{
    if (context.spoken != st) {
        rp_error_post(st, NULL);
    }
    name_call(call);
    context.spoken = RP_OK;
    context.last_error = rp_status_acl(st);
}

int rp_acl_failed(rp_status st, const char *call)
{
    conclude(st, call);
    return rp_status_acl(st);
}

int rp_hccl_failed(rp_status st, const char *call)
{
    conclude(st, call);
    return rp_status_hccl(st);
}

static const char *take_from(char *pending, char *taken)
{
    if (pending[0] == '\0') {
        return NULL;
    }
    memcpy(taken, pending, strlen(pending) + 1);
    pending[0] = '\0';
    return taken;
}

// The text of a sentence that was lost, in the thread's spare words.
static const char *take_lost(void)
{
    if (context.lost == RP_OK) {
        return NULL;
    }
    snprintf(context.spare, sizeof(context.spare), "E%d: %s\n", rp_status_acl(context.lost),
            rp_status_text(context.lost));
    context.lost = RP_OK;
    return context.spare;
}

const char *rp_error_take(void)
{
    bool process = atomic_load_explicit(&process_mode, memory_order_relaxed);
    struct text *text = process ? own_text() : context.text;
    if (text == NULL) {
        return take_lost();
    }
    const char *taken = NULL;
    if (process) {
        pthread_mutex_lock(&process_lock);
        taken = take_from(process_pending, text->taken);
        pthread_mutex_unlock(&process_lock);
    }
    if (taken == NULL) {
        taken = take_from(text->pending, text->taken);
    }
    return taken == NULL ? take_lost() : taken;
}

void rp_error_set_process_mode(bool process)
{
    atomic_store_explicit(&process_mode, process, memory_order_relaxed);
}

void rp_error_after_fork(void)
{
    pthread_mutex_init(&process_lock, NULL);
    process_pending[0] = '\0';
}

int rp_last_error_peek(void)
{
    return context.last_error;
}

int rp_last_error_take(void)
{
    int last_error = context.last_error;
    context.last_error = 0;
    return last_error;
}
