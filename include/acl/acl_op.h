/* Single-operator interface. Its functions (aclop*) are not part of this runtime: operators here
 * are the collectives of hccl/hccl.h and the caller's own kernels and host functions. */
#ifndef REPRISE_ACL_ACL_OP_H
#define REPRISE_ACL_ACL_OP_H

#include "acl_base.h"

#endif
