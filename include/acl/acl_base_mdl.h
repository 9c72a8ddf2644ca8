/* Basic types of the offline-model interface. That interface (aclmdl*) is not part of this runtime,
 * so this header exists for programs that include it and adds nothing of its own. */
#ifndef REPRISE_ACL_ACL_BASE_MDL_H
#define REPRISE_ACL_ACL_BASE_MDL_H

#include "acl_base_rt.h"

#endif
