/* Marks and ranges for the profiler, in a default domain or in domains of the
 * caller's. */
#ifndef REPRISE_MSTX_MS_TOOLS_EXT_H
#define REPRISE_MSTX_MS_TOOLS_EXT_H

#include <stdint.h>

#include "../acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** No range: what a start returns when nothing is being recorded. */
#define MSTX_INVALID_ID 0
#define MSTX_INVALID_RANGE_ID 0

typedef uint64_t mstxRangeId;

typedef struct mstxDomainRegistration_st mstxDomainRegistration_t;
typedef mstxDomainRegistration_t *mstxDomainHandle_t;

/** Marks this moment and, where `stream` is not NULL, the point that the stream has then reached.
 */
ACL_FUNC_VISIBILITY void mstxMarkA(const char *message, aclrtStream stream);

/** Starts a range, on the stream too where `stream` is not NULL. */
ACL_FUNC_VISIBILITY mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);

/** Ends a range, on any thread. MSTX_INVALID_ID has no effect. */
ACL_FUNC_VISIBILITY void mstxRangeEnd(mstxRangeId id);

/** A domain, which can be chosen for recording by its name; one name is one domain. */
ACL_FUNC_VISIBILITY mstxDomainHandle_t mstxDomainCreateA(const char *name);

/** Ends a domain. */
ACL_FUNC_VISIBILITY void mstxDomainDestroy(mstxDomainHandle_t domain);

/** As the three calls above, in a domain. */
ACL_FUNC_VISIBILITY void mstxDomainMarkA(
        mstxDomainHandle_t domain, const char *message, aclrtStream stream);
ACL_FUNC_VISIBILITY mstxRangeId mstxDomainRangeStartA(
        mstxDomainHandle_t domain, const char *message, aclrtStream stream);
ACL_FUNC_VISIBILITY void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

#ifdef __cplusplus
}
#endif

#endif
