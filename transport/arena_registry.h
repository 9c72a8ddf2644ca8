#ifndef REPRISE_TRANSPORT_ARENA_REGISTRY_H
#define REPRISE_TRANSPORT_ARENA_REGISTRY_H

/* This process's arenas; rp_arena_find and rp_arena_of_device (arena.h) read it. */

#include "base/status.h"

struct rp_arena;

/** rp_arena_registry_add: RP_ENORES when the table is full. */
RP_MUST_USE rp_status rp_arena_registry_add(struct rp_arena *arena);
void rp_arena_registry_remove(struct rp_arena *arena);

#endif
