// Prints docs/environment.md from the table of environment variables.

#include <stdio.h>

#include "base/env_table.h"

int main(void)
{
    rp_env_doc_write(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
