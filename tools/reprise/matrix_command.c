// reprise matrix: the support matrix that the selector reads, as a table.

#include <stdio.h>

#include "capture/select.h"
#include "tools/reprise/command.h"

static const char *yes(bool value)
{
    return value ? "yes" : "-";
}

// "fullmesh, ring, NHR".
static void print_algorithms(const struct rp_matrix_row *row)
{
    const char *comma = "";
    for (unsigned a = 0; row->host_ts && a < 16; a++) {
        if (row->algorithms >> a & 1) {
            printf("%s%s", comma, rp_matrix_algorithm_name(a));
            comma = ", ";
        }
    }
    puts(row->host_ts ? "" : "-");
}

int command_matrix(int count, char **argument)
{
    if (count > 0) {
        complain("matrix takes no argument, not '%s'", argument[0]);
        return REPRISE_USAGE;
    }
    printf("%-16s %-5s %-8s %-8s %-6s %-9s %s\n", "Operator", "AIV", "HOST_TS", "Reduces", "Root",
            "In place", "Algorithms");
    for (unsigned i = 0; i < rp_matrix_rows; i++) {
        const struct rp_matrix_row *row = &rp_matrix[i];
        printf("%-16s %-5s %-8s %-8s %-6s %-9s ", rp_op_kind_name(row->op), yes(row->aiv),
                yes(row->host_ts), yes(row->reduces), yes(row->rooted), yes(row->in_place));
        print_algorithms(row);
    }
    puts("\n"
         "AIV: one fused kernel in shared memory, when all ranks share a node.\n"
         "HOST_TS: a list of tasks, by one of the algorithms.\n"
         "HCCL_OP_EXPANSION_MODE or the communicator's configuration chooses between them.");
    return REPRISE_DONE;
}
