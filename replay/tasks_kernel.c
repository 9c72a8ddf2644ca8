// A user's kernel, as a task: the lane is parked while one of the device's cores runs the blocks.

#include "replay/callback.h"
#include "replay/kernel_function.h"
#include "replay/launch.h"
#include "replay/scheduler.h"

// Of the launch whose kernel this thread runs; NULL: none.
static _Thread_local const struct reprise_grid *current_grid;

const struct reprise_grid *reprise_kernel_grid(void)
{
    return current_grid;
}

static void run_blocks(void *arg)
{
    struct rp_launch *launch = arg;
    const struct reprise_grid plain = {
        .grid = { launch->blocks, 1, 1 },
        .threads = { 1, 1, 1 },
    };
    const bool has_grid = launch->extra != NULL && launch->extra->has_grid;
    current_grid = has_grid ? &launch->extra->grid : &plain;
    for (uint32_t block = 0; block < launch->blocks; block++) {
        launch->function->fn(launch->args, block, launch->blocks);
    }
    current_grid = NULL;
}

rp_status rp_task_kernel(struct rp_step *step)
{
    return rp_callback_task(step, RP_CREW_CORES, run_blocks, step->insn->u.kernel.launch);
}
