// Callbacks by name: order, replacement, removal, and changes while one runs.

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "base/callbacks.h"
#include "base/util.h"

static struct rp_callbacks callbacks = RP_CALLBACKS_INIT(callbacks);
static char calls[16];

static void note(void *letter)
{
    strncat(calls, letter, 1);
}

static void note_and_change(void *letter)
{
    note(letter);
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", "second", NULL, NULL), RP_OK));
    cr_assert(eq(int,
            rp_callbacks_set(&callbacks, "api", "late", (rp_callback_fn)note, (void *)"l"), RP_OK));
}

static const char *run(void)
{
    struct rp_callback callback = { .number = 0 };
    calls[0] = '\0';
    while (rp_callbacks_next(&callbacks, &callback)) {
        ((void (*)(void *))callback.fn)(callback.args);
    }
    return calls;
}

static void set(const char *name, void (*fn)(void *), const char *letter)
{
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", name, (rp_callback_fn)fn, (void *)letter),
            RP_OK));
}

static void remove_all(void)
{
    static const char *const names[] = { "first", "second", "third", "late" };
    for (size_t i = 0; i < RP_ARRAY_LENGTH(names); i++) {
        const rp_status st = rp_callbacks_set(&callbacks, "api", names[i], NULL, NULL);
        cr_assert(st == RP_OK || st == RP_EPARAM); // it may be gone
    }
}

Test(callbacks, run_in_the_order_of_registration, .fini = remove_all)
{
    set("first", note, "a");
    set("second", note, "b");
    set("third", note, "c");
    cr_assert(eq(str, (char *)run(), "abc"));
    set("first", note, "d"); // replaces, and is the last now
    cr_assert(eq(str, (char *)run(), "bcd"));
}

Test(callbacks, may_be_changed_by_one_that_runs, .fini = remove_all)
{
    set("first", note_and_change, "a");
    set("second", note, "b");
    set("third", note, "c");
    cr_assert(eq(str, (char *)run(), "acl"));
}

Test(callbacks, have_names, .fini = remove_all)
{
    char name[RP_CALLBACK_NAME_BYTES + 1];
    const rp_callback_fn fn = (rp_callback_fn)note;
    memset(name, 'x', sizeof(name));
    name[RP_CALLBACK_NAME_BYTES] = '\0';
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", NULL, fn, NULL), RP_ENULL));
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", "", fn, NULL), RP_EPARAM));
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", name, fn, NULL), RP_EPARAM));
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", "nobody", NULL, NULL), RP_EPARAM));
    name[RP_CALLBACK_NAME_BYTES - 1] = '\0';
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", name, fn, NULL), RP_OK));
    cr_assert(eq(int, rp_callbacks_set(&callbacks, "api", name, NULL, NULL), RP_OK));
}
