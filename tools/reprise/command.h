#ifndef TOOLS_REPRISE_COMMAND_H
#define TOOLS_REPRISE_COMMAND_H

/*
 * The commands of `reprise`. Each gets its own arguments, without the command's name.
 */

/* What the program ends with. */
#define REPRISE_DONE 0
#define REPRISE_FAILED 1 /* the input is bad, or something could not be done */
#define REPRISE_USAGE 2  /* it was called wrongly */

/** command_graph: `graph FILE [-o OUT]`. */
int command_graph(int count, char **argument);

/** command_matrix: `matrix [--json | --markdown]`. */
int command_matrix(int count, char **argument);

/** complain: "reprise: <sentence>" and a newline to standard error. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
