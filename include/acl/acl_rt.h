/* The runtime interface (aclrt*, aclmdlRI*). Each noun has a header of its own
 * under detail/; programs include this one.
 *
 * Conventions that hold everywhere: a NULL pointer for a result, and other
 * plainly bad arguments, are ACL_ERROR_INVALID_PARAM; a bad value found further
 * down is ACL_ERROR_RT_PARAM_INVALID; no current context is
 * ACL_ERROR_RT_CONTEXT_NULL. What fails on the device later is told by the next
 * synchronise or query, and by aclrtGetLastError(); aclGetRecentErrMsg() has the
 * sentence. Objects may be used from any thread in which their context is current;
 * elsewhere a stream or event is ACL_ERROR_RT_STREAM_CONTEXT (107003), a graph
 * ACL_ERROR_RT_MODEL_CONTEXT (107004).
 *
 * Some codes are classes: ACL_ERROR_RT_INTERNAL_ERROR (507000) says of many things that
 * they do not fit, and only the sentence says which. Hccl calls return an HcclResult, 0
 * to 24, and their sentence begins with the aclError that stands behind it. */
#ifndef REPRISE_ACL_ACL_RT_H
#define REPRISE_ACL_ACL_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_base.h"
#include "acl_rt_allocator.h"
#include "detail/rt_callback.h"
#include "detail/rt_context.h"
#include "detail/rt_copy.h"
#include "detail/rt_device.h"
#include "detail/rt_error.h"
#include "detail/rt_event.h"
#include "detail/rt_kernel.h"
#include "detail/rt_managed.h"
#include "detail/rt_mbuf.h"
#include "detail/rt_memory.h"
#include "detail/rt_model_ri.h"
#include "detail/rt_notify.h"
#include "detail/rt_snapshot.h"
#include "detail/rt_stream.h"
#include "detail/rt_system.h"
#include "detail/rt_task.h"
#include "detail/rt_vmm.h"

#endif
