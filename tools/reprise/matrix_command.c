// reprise matrix: the support matrix that the selector reads, as a table.

#include <stdio.h>

#include "capture/select.h"
#include "tools/reprise/command.h"

static const char *yes(bool value)
{
    return value ? "yes" : "-";
}

int command_matrix(int count, char **argument)
{
    if (count > 0) {
        complain("matrix takes no argument, not '%s'", argument[0]);
        return REPRISE_USAGE;
    }
    printf("%-16s %-5s %-8s %-12s %-8s %-6s %s\n", "Operator", "AIV", "HOST_TS", "Algorithms",
            "Reduces", "Root", "In place");
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        const struct rp_matrix_row *row = &rp_matrix[i];
        printf("%-16s %-5s %-8s %-12s %-8s %-6s %s\n", rp_op_kind_name(row->op), yes(row->aiv),
                yes(row->host_ts),
                !row->host_ts ? "-"
                : row->ring   ? "mesh, ring"
                              : "mesh",
                yes(row->reduces), yes(row->rooted), yes(row->in_place));
    }
    puts("\n"
         "AIV: one fused kernel in shared memory, when all ranks share a node.\n"
         "HOST_TS: a list of tasks, by one of the algorithms.\n"
         "HCCL_OP_EXPANSION_MODE or the communicator's configuration chooses between them.");
    return REPRISE_DONE;
}
