#ifndef REPRISE_CAPTURE_COMM_CALLBACK_H
#define REPRISE_CAPTURE_COMM_CALLBACK_H

/*
 * The program's callbacks before and after a communicator is destroyed or
 * resumed: HcclCommRegCommStateCallback.
 */

#include <hccl/hccl_comm.h>

/**
 * rp_comm_tell: call every registered callback, in the order of registration, on this
 * thread and with no lock held: they may call anything. What one answers is logged
 * when it is a failure, and changes nothing.
 */
void rp_comm_tell(HcclComm comm, HcclCommStatePhase phase);

#endif
