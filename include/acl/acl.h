/* The acl interface in one include. */
#ifndef REPRISE_ACL_ACL_H
#define REPRISE_ACL_ACL_H

#include "acl_mdl.h"
#include "acl_op.h"
#include "acl_rt.h"

#endif
