// A user's kernel, as a task: the lane is parked while a thread runs the blocks.

#include "replay/callback.h"
#include "replay/kernel_function.h"
#include "replay/launch.h"
#include "replay/scheduler.h"

static void run_blocks(void *arg)
{
    struct rp_launch *launch = arg;
    for (uint32_t block = 0; block < launch->blocks; block++) {
        launch->function->fn(launch->args, block, launch->blocks);
    }
}

rp_status rp_task_kernel(struct rp_step *step)
{
    struct rp_launch *launch = step->insn->u.kernel.launch;
    return rp_callback_task(step, run_blocks, launch);
}
