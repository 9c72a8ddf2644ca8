/* What the headers of operators share. */
#ifndef REPRISE_ACLNN_ACLNN_BASE_H
#define REPRISE_ACLNN_ACLNN_BASE_H

#include "../acl/acl_rt.h"
#include "acl_meta.h"

#define ACLNN_API ACL_FUNC_VISIBILITY

#endif
