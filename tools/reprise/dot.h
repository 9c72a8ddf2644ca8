#ifndef TOOLS_REPRISE_DOT_H
#define TOOLS_REPRISE_DOT_H

/*
 * A dump as text in the language of Graphviz.
 */

#include <stdbool.h>
#include <stdio.h>

#include "tools/reprise/dump.h"

/** dot_write: the drawing of `dump` to `out`; false: no memory, which was said. Whether `out` took
 * it all is the caller's to ask. */
bool dot_write(const struct dump *dump, FILE *out);

#endif
