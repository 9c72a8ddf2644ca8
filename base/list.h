#ifndef RP_BASE_LIST_H
#define RP_BASE_LIST_H

/*
 * Intrusive circular doubly linked list. The head is a link that belongs to no element; an element
 * outside any list points at itself, so removing it twice does no harm.
 *
 * Threads: none of it is atomic; whoever owns the list guards it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/util.h"

struct rp_list {
    struct rp_list *next;
    struct rp_list *prev;
};

#define RP_LIST_INIT(head) \
    {                      \
        &(head), &(head)   \
    }

static inline void rp_list_init(struct rp_list *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool rp_list_empty(const struct rp_list *head)
{
    return head->next == head;
}

/** rp_list_insert_before: put `link`, which is in no list, before `place`. */
static inline void rp_list_insert_before(struct rp_list *place, struct rp_list *link)
{
    link->prev = place->prev;
    link->next = place;
    place->prev->next = link;
    place->prev = link;
}

static inline void rp_list_push_back(struct rp_list *head, struct rp_list *link)
{
    rp_list_insert_before(head, link);
}

static inline void rp_list_push_front(struct rp_list *head, struct rp_list *link)
{
    rp_list_insert_before(head->next, link);
}

/** rp_list_remove: take `link` out of its list; it is in none afterwards. */
static inline void rp_list_remove(struct rp_list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    rp_list_init(link);
}

/** rp_list_first: the first link, NULL when the list is empty. */
static inline struct rp_list *rp_list_first(const struct rp_list *head)
{
    return rp_list_empty(head) ? NULL : head->next;
}

/** rp_list_pop_front: take out and return the first link, NULL when the list is empty. */
static inline struct rp_list *rp_list_pop_front(struct rp_list *head)
{
    struct rp_list *link = rp_list_first(head);
    if (link != NULL) {
        rp_list_remove(link);
    }
    return link;
}

/** rp_list_splice_back: move all of `from` behind the elements of `head`. */
static inline void rp_list_splice_back(struct rp_list *head, struct rp_list *from)
{
    if (rp_list_empty(from)) {
        return;
    }
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    rp_list_init(from);
}

/* Walk the links of `head`; the current one may be removed, not its successor. */
#define rp_list_each(link, head)                                                             \
    for (struct rp_list *link = (head)->next, *rp_after_##link = link->next; link != (head); \
            link = rp_after_##link, rp_after_##link = link->next)

#endif /* RP_BASE_LIST_H */
