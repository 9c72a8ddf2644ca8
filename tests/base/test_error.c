#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static const char *take(void)
{
    const char *text = rp_error_take();
    return text == NULL ? "(none)" : text;
}

#define ASSERT_TAKE(expected) cr_assert(eq(str, (char *)take(), (char *)(expected)))

Test(error, nothing_is_pending_at_first)
{
    cr_assert(eq(ptr, (void *)rp_error_take(), NULL));
    cr_assert(eq(int, rp_last_error_peek(), 0));
    cr_assert(eq(int, rp_last_error_take(), 0));
}

Test(error, fail_returns_its_status_and_keeps_errno)
{
    errno = EXDEV;
    cr_assert(eq(int, rp_fail(RP_EPARAM, "count is %d", 7), RP_EPARAM));
    cr_assert(eq(int, errno, EXDEV));
    ASSERT_TAKE("E107000: count is 7\n");
}

Test(error, newest_sentence_comes_first)
{
    (void)rp_fail(RP_EPARAM, "one");
    (void)rp_fail(RP_ENOMEM, "two");
    (void)rp_fail(RP_EHANDLE, "three");
    ASSERT_TAKE("E107017: three\nE207001: two\nE107000: one\n");
    ASSERT_TAKE("(none)");
}

Test(error, taken_text_stays_until_the_next_take)
{
    (void)rp_fail(RP_EPARAM, "one");
    const char *text = rp_error_take();
    (void)rp_fail(RP_EPARAM, "two");
    cr_assert(eq(str, (char *)text, "E107000: one\n"));
    ASSERT_TAKE("E107000: two\n");
}

Test(error, oldest_whole_lines_go_when_the_text_is_full)
{
    for (int i = 0; i < 1000; i++) {
        (void)rp_fail(RP_EPARAM, "sentence number %04d of a thousand", i);
    }
    const char *text = rp_error_take();
    size_t line = strlen("E107000: sentence number 0000 of a thousand\n");
    size_t lines = strlen(text) / line;
    cr_assert(eq(sz, strlen(text) % line, 0), "only whole lines are kept");
    cr_assert(eq(sz, lines, (RP_ERROR_TEXT_MAX - 1) / line), "and as many as fit");
    char last[64];
    snprintf(last, sizeof(last), "E107000: sentence number %04zu of a thousand\n", 1000 - lines);
    cr_assert(eq(str, (char *)text + strlen(text) - line, last));
    cr_assert(eq(int, strncmp(text, "E107000: sentence number 0999", 29), 0));
}

Test(error, long_sentence_is_cut_and_says_so)
{
    static const size_t lengths[] = { RP_ERROR_SENTENCE_MAX - 2, RP_ERROR_SENTENCE_MAX - 1,
        RP_ERROR_SENTENCE_MAX, RP_ERROR_SENTENCE_MAX + 1, 3 * RP_ERROR_SENTENCE_MAX };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(lengths); i++) {
        char sentence[3 * RP_ERROR_SENTENCE_MAX + 1];
        memset(sentence, 'x', lengths[i]);
        sentence[lengths[i]] = '\0';
        (void)rp_fail(RP_EPARAM, "%s", sentence);
        const char *text = rp_error_take();
        bool cut = lengths[i] > RP_ERROR_SENTENCE_MAX - 1;
        size_t kept = cut ? RP_ERROR_SENTENCE_MAX - 1 : lengths[i];
        cr_assert(eq(sz, strlen(text), strlen("E107000: ") + kept + 1), "%zu", lengths[i]);
        cr_assert(eq(int, strstr(text, "...\n") != NULL, cut), "%zu", lengths[i]);
    }
}

Test(error, sentence_is_one_line)
{
    (void)rp_fail(RP_EPARAM, "a\nb\n");
    ASSERT_TAKE("E107000: a b \n");
}

Test(error, system_failure_names_call_object_and_errno)
{
    errno = ENOENT;
    cr_assert(eq(int, rp_fail_sys(RP_ESYS, "open", "/dev/nothing"), RP_ESYS));
    cr_assert(eq(int, errno, ENOENT));
    ASSERT_TAKE("E507899: open of /dev/nothing failed: No such file or directory (errno 2)\n");
    errno = EMFILE;
    (void)rp_fail_sys(RP_ESYS, "socket", NULL);
    ASSERT_TAKE("E507899: socket failed: Too many open files (errno 24)\n");
}

Test(error, public_call_returns_codes_and_keeps_the_last_error)
{
    cr_assert(eq(int, rp_acl(RP_OK), 0));
    cr_assert(eq(int, rp_hccl(RP_OK), 0));
    cr_assert(eq(int, rp_last_error_peek(), 0));
    cr_assert(eq(int, rp_acl(rp_fail(RP_ENOMEM, "x")), 207001));
    cr_assert(eq(int, rp_hccl(rp_fail(RP_EREMOTE, "y")), 21));
    cr_assert(eq(int, rp_last_error_peek(), 507057));
    cr_assert(eq(int, rp_acl(RP_OK), 0));
    cr_assert(eq(int, rp_last_error_take(), 507057), "success does not clear it");
    cr_assert(eq(int, rp_last_error_take(), 0));
}

Test(error, undescribed_failure_gets_the_general_sentence)
{
    cr_assert(eq(int, rp_acl(RP_EHANDLE), 107017));
    ASSERT_TAKE("E107017: stale or wrong handle\n");
    cr_assert(eq(int, rp_hccl(RP_ENULL), 2));
    ASSERT_TAKE("E100000: null pointer\n");
}

Test(error, described_failure_gets_no_second_sentence)
{
    (void)rp_acl(rp_fail(RP_EHANDLE, "stream 7 was destroyed"));
    ASSERT_TAKE("E107017: stream 7 was destroyed\n");
    // The sentence has been used up: the next failure without one is described again.
    (void)rp_acl(RP_EHANDLE);
    ASSERT_TAKE("E107017: stale or wrong handle\n");
}

Test(error, swallowed_failure_does_not_describe_another)
{
    (void)rp_fail(RP_ENOTFOUND, "no such name");
    (void)rp_acl(RP_EHANDLE);
    ASSERT_TAKE("E107017: stale or wrong handle\nE107000: no such name\n");
}

Test(error, posted_error_is_pending_in_the_posting_thread)
{
    rp_error_post(RP_EREMOTE, "rank 3 died");
    cr_assert(eq(int, rp_acl(RP_EREMOTE), 507057));
    ASSERT_TAKE("E507057: rank 3 died\n");
    rp_error_post(RP_EREMOTE, NULL);
    ASSERT_TAKE("E507057: another rank died or failed\n");
}

Test(error, captured_sentences_are_not_pending)
{
    struct rp_error_capture outer;
    struct rp_error_capture inner;
    (void)rp_fail(RP_EPARAM, "mine");
    rp_error_capture_begin(&outer);
    cr_assert(eq(str, (char *)rp_error_captured(), ""));
    (void)rp_fail(RP_EREMOTE, "first of others");
    rp_error_capture_begin(&inner);
    (void)rp_fail(RP_EREMOTE, "second of others");
    cr_assert(eq(str, (char *)rp_error_captured(), "second of others"));
    rp_error_capture_end(&inner);
    cr_assert(eq(str, (char *)rp_error_captured(), "first of others"));
    rp_error_capture_end(&outer);
    cr_assert(eq(str, (char *)rp_error_captured(), ""));
    ASSERT_TAKE("E107000: mine\n");
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    (void)rp_acl(rp_fail(RP_ENOMEM, "elsewhere"));
    char *text = strdup(take());
    return text;
}

static char *run_elsewhere(void)
{
    pthread_t thread;
    void *text;
    cr_assert(eq(int, pthread_create(&thread, NULL, fail_elsewhere, NULL), 0));
    cr_assert(eq(int, pthread_join(thread, &text), 0));
    return text;
}

Test(error, threads_do_not_see_each_other)
{
    (void)rp_acl(rp_fail(RP_EPARAM, "here"));
    char *text = run_elsewhere();
    cr_assert(eq(str, text, "E207001: elsewhere\n"));
    cr_assert(eq(int, rp_last_error_peek(), 107000));
    ASSERT_TAKE("E107000: here\n");
    free(text);
}

static void *fail_only(void *unused)
{
    (void)unused;
    (void)rp_acl(rp_fail(RP_ENOMEM, "elsewhere"));
    return NULL;
}

Test(error, process_mode_shares_sentences_but_not_the_last_error)
{
    pthread_t thread;
    rp_error_set_process_mode(true);
    (void)rp_acl(rp_fail(RP_EPARAM, "here"));
    cr_assert(eq(int, pthread_create(&thread, NULL, fail_only, NULL), 0));
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    ASSERT_TAKE("E207001: elsewhere\nE107000: here\n");
    ASSERT_TAKE("(none)");
    cr_assert(eq(int, rp_last_error_peek(), 107000));
}

Test(error, sentence_lost_for_want_of_memory_leaves_the_general_one)
{
    rp_alloc_fail_after(0);
    cr_assert(eq(int, rp_acl(rp_fail(RP_EHANDLE, "stream 7 was destroyed")), 107017));
    cr_assert(not(rp_alloc_fail_pending()), "the text is allocated at the first failure");
    cr_assert(eq(int, rp_last_error_peek(), 107017));
    ASSERT_TAKE("E107017: stale or wrong handle\n");
    ASSERT_TAKE("(none)");
    (void)rp_fail(RP_EHANDLE, "stream 8 was destroyed");
    ASSERT_TAKE("E107017: stream 8 was destroyed\n");
}

Test(error, only_the_first_failure_of_a_thread_allocates)
{
    (void)rp_fail(RP_EPARAM, "first");
    rp_alloc_fail_after(0);
    for (int i = 0; i < 100; i++) {
        (void)rp_acl(rp_fail(RP_EPARAM, "again"));
        (void)rp_error_take();
    }
    cr_assert(rp_alloc_fail_pending());
    rp_alloc_fail_after(-1);
}

/* Named as a public function is. */
static int aclPretend(rp_status st)
{
    return rp_acl(st);
}

static int HcclPretend(rp_status st)
{
    return rp_hccl(st);
}

Test(error, a_public_call_names_itself_in_its_sentence)
{
    cr_assert(eq(int, aclPretend(rp_fail(RP_EPARAM, "stream 3 is busy")), 107000));
    cr_assert(eq(int, HcclPretend(rp_fail(RP_ENOTSUP, "type 9 is not known")), 5));
    ASSERT_TAKE(
            "E207000: HcclPretend: type 9 is not known\nE107000: aclPretend: stream 3 is busy\n");
    // Not twice, and not before another call's sentence.
    (void)rp_fail(RP_EPARAM, "left by somebody");
    cr_assert(eq(int, aclPretend(rp_fail(RP_EPARAM, "aclPretend: count is 0")), 107000));
    ASSERT_TAKE("E107000: aclPretend: count is 0\nE107000: left by somebody\n");
    // What nobody described has the general text, and a test is no public function.
    cr_assert(eq(int, aclPretend(RP_EBUSY), 507004));
    ASSERT_TAKE("E507004: aclPretend: still busy\n");
    cr_assert(eq(int, rp_acl(rp_fail(RP_EPARAM, "one")), 107000));
    ASSERT_TAKE("E107000: one\n");
}

Test(error, a_name_makes_room_for_itself)
{
    char longest[RP_ERROR_SENTENCE_MAX];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (int i = 0; i < 20; i++) {
        cr_assert(eq(int, aclPretend(rp_fail(RP_EPARAM, "%s", longest)), 107000));
    }
    const char *text = take();
    cr_assert(lt(sz, strlen(text), RP_ERROR_TEXT_MAX));
    cr_assert(eq(int, strncmp(text, "E107000: aclPretend: xxx", 24), 0));
    cr_assert(eq(chr, text[strlen(text) - 1], '\n'));
}

Test(error, the_newest_sentence_can_be_kept)
{
    char kept[24];
    rp_error_newest(kept, sizeof(kept));
    cr_assert(eq(str, kept, ""));
    (void)rp_fail(RP_EPARAM, "one");
    (void)rp_fail(RP_EPARAM, "two words");
    rp_error_newest(kept, sizeof(kept));
    cr_assert(eq(str, kept, "two words"));
    (void)rp_fail(RP_EPARAM, "a sentence that is longer than this");
    rp_error_newest(kept, sizeof(kept));
    cr_assert(eq(int, strncmp(kept, "a sentence that is l", 20), 0));
    cr_assert(lt(sz, strlen(kept), sizeof(kept)));
}
