#ifndef RP_BASE_ERROR_H
#define RP_BASE_ERROR_H

/*
 * The error context: what aclGetRecentErrMsg, aclrtPeekAtLastError and aclrtGetLastError answer.
 *
 * A failure is described once, where its cause is known, by rp_fail(); its status then travels up
 * unchanged, and the public function turns it into a number at its very end with rp_acl() or
 * rp_hccl():
 *
 *     if (count == 0) {
 *         return rp_fail(RP_EPARAM, "count is 0; at least one element is needed");
 *     }
 *     ...
 *     return rp_acl(stream_create(out));
 *
 * Texts and codes belong to the calling thread. aclInit's err_msg_mode "1" makes the texts (not
 * the codes) common to the process. Nothing here fails: when memory for the text is short the
 * sentence is lost and the status' general text stands in for it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* What one thread keeps of its pending sentences, terminating zero included. When a new sentence
 * needs the room, whole old ones go. */
#define RP_ERROR_TEXT_MAX 4096

/* A longer sentence is cut, "..." at its end. */
#define RP_ERROR_SENTENCE_MAX 1024

/**
 * rp_fail: describe a failure and return `st`.
 *
 * Puts "E<aclError>: <sentence>\n" before the thread's pending text and logs the sentence once at
 * level error. Keeps errno. `st` is a failure.
 */
rp_status rp_fail(rp_status st, const char *fmt, ...) RP_PRINTF(2, 3);

/**
 * rp_fail_sys: the same for a system call that failed with errno.
 *
 * The sentence is "<call> of <what> failed: <text of errno> (errno <number>)"; `what` may be NULL.
 */
rp_status rp_fail_sys(rp_status st, const char *call, const char *what);

/* The status itself, where the compiler can see it: a caller that leaves on failure is then known
 * to leave, and what it did not fill is known to be unused. The functions return it for the linker.
 */
static inline rp_status rp_failed(rp_status st)
{
    return st;
}
#define rp_fail(st, ...) (rp_fail((st), __VA_ARGS__), rp_failed(st))
#define rp_fail_sys(st, ...) (rp_fail_sys((st), __VA_ARGS__), rp_failed(st))

/**
 * rp_error_post: an error that another thread found and described already (an operation that
 * failed on the device), told to the thread that asks for it now. As rp_fail, but not logged
 * again. `sentence` NULL: the text of `st`.
 */
void rp_error_post(rp_status st, const char *sentence);

/* Where the sentences of a thread go while it works for others (it drives a device, a loop): what
 * fails then is no failure of its own calls. The log has them all the same. */
struct rp_error_capture {
    struct rp_error_capture *outer;
    char sentence[RP_ERROR_SENTENCE_MAX]; /* the last one; "": none since the beginning */
};

/** rp_error_capture_begin: until rp_error_capture_end() this thread's sentences go to `capture`
 * and nowhere else. Captures nest. */
void rp_error_capture_begin(struct rp_error_capture *capture);
void rp_error_capture_end(struct rp_error_capture *capture);

/** rp_error_captured: the last sentence of the innermost capture, "" when there is none. Valid
 * until the next failure; for whoever keeps it with the status and posts it later. */
const char *rp_error_captured(void);

/* Out of line: stores the thread's last error and makes sure that a sentence stands for it. */
int rp_acl_failed(rp_status st, const char *call);
int rp_hccl_failed(rp_status st, const char *call);

static inline int rp_acl_from(rp_status st, const char *call)
{
    return RP_LIKELY(st == RP_OK) ? 0 : rp_acl_failed(st, call);
}

static inline int rp_hccl_from(rp_status st, const char *call)
{
    return RP_LIKELY(st == RP_OK) ? 0 : rp_hccl_failed(st, call);
}

/**
 * rp_acl(st): the aclError that a public function returns for `st`; called in its own body.
 *
 * A failure becomes the thread's last error; when nothing described it, the text of `st` is
 * recorded as its sentence. A sentence that does not name the call gets its name in front: what
 * is found deep below is described without knowing on whose behalf. (Not in process mode, where
 * the newest sentence may be another thread's.)
 */
#define rp_acl(st) rp_acl_from((st), __func__)

/** rp_hccl(st): as rp_acl, but the HcclResult. */
#define rp_hccl(st) rp_hccl_from((st), __func__)

/**
 * rp_error_take: the pending sentences, newest first, one a line; NULL when there are none.
 *
 * They are pending no more. The text stays valid until this thread's next call of this function,
 * or its end.
 */
const char *rp_error_take(void);

/**
 * rp_error_newest: a copy of this thread's newest pending sentence, without its number; "" when
 * there is none, or it cannot be told from other threads'. For whoever keeps a failure's cause.
 */
void rp_error_newest(char *out, size_t bytes);

/** rp_error_set_process_mode: from now on sentences are pending for the whole process. */
void rp_error_set_process_mode(bool process);

/** rp_error_after_fork: the process-wide text starts anew, unlocked. For base/fork.c, in a child.
 */
void rp_error_after_fork(void);

/** rp_last_error_peek: the aclError of this thread's last failed public call, 0 when none. */
int rp_last_error_peek(void);

/** rp_last_error_take: the same, and resets it to 0. */
int rp_last_error_take(void);

#endif /* RP_BASE_ERROR_H */
