/* Offline-model interface. Of it, this runtime has the flags of aclmdlRIBindStream(); the graphs
 * themselves (aclmdlRI*) are declared by acl_rt.h. */
#ifndef REPRISE_ACL_ACL_MDL_H
#define REPRISE_ACL_ACL_MDL_H

#include "acl_base.h"
#include "acl_rt.h"

/** The stream starts with the graph. */
#define ACL_MODEL_STREAM_FLAG_HEAD 0x00000000U
/** The stream is started by another one of the graph. */
#define ACL_MODEL_STREAM_FLAG_DEFAULT 0x7FFFFFFFU

#endif
