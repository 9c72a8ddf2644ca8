/* Operator compiler interface. Nothing is compiled at run time here, so this header only makes its
 * includes compile. */
#ifndef REPRISE_ACL_ACL_OP_COMPILER_H
#define REPRISE_ACL_ACL_OP_COMPILER_H

#include "acl_op.h"

#endif
