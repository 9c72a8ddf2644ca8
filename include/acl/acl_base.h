/* Everything that the other acl headers build on. */
#ifndef REPRISE_ACL_ACL_BASE_H
#define REPRISE_ACL_ACL_BASE_H

#include "acl_base_mdl.h"
#include "acl_base_rt.h"
#include "error_codes/ge_error_codes.h"
#include "error_codes/rt_error_codes.h"

#endif
