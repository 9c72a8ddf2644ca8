#ifndef RP_BASE_STATUS_H
#define RP_BASE_STATUS_H

/*
 * The one status type of every internal function: zero is done, positive is "still going",
 * negative is failure.
 *
 * One table makes the enum, the name, the text, and the two numbers that a public call returns:
 * the aclError and the HcclResult. The numbers stand here as plain integers because base/ includes
 * no public header; tests/base/test_status.c compares them with the headers.
 *
 * Two families of argument errors exist because CANN has two layers: the acl layer answers 100000
 * (a null pointer, a bad enum), the runtime below it 107000 (everything else). Where HCCL has no
 * code of its own the answer is HCCL_E_RUNTIME, 15. Choices that the documents leave to us:
 *
 *   RP_EFORKED    207004 "no usable device": nothing of the parent's device works in the child
 *   RP_ECALLBACK  207006 "operation not permitted": a callback may not wait for its own device
 *   RP_EBUSY      507004 "still busy" and HCCL_E_AGAIN
 *   RP_EMISMATCH, RP_ECYCLE, RP_ESUSPEND share 507000 with RP_EINTERNAL: design.md asks for it
 */

#include "base/util.h"

/* X(name, value, aclError, HcclResult, text) */
#define RP_STATUS_MAP(X)                                                                           \
    X(RP_OK, 0, 0, 0, "done")                                                                      \
    X(RP_AGAIN, 1, 507004, 20, "not finished yet")                                                 \
    /* arguments and calling order */                                                              \
    X(RP_EINVAL, -1, 100000, 1, "invalid argument")                                                \
    X(RP_ENULL, -2, 100000, 2, "null pointer")                                                     \
    X(RP_EPARAM, -3, 107000, 1, "invalid parameter")                                               \
    X(RP_EDEVICE, -4, 107001, 1, "invalid device id")                                              \
    X(RP_ENOCTX, -5, 107002, 15, "the thread has no current context")                              \
    X(RP_ESTREAMCTX, -6, 107003, 1, "the stream belongs to another context")                       \
    X(RP_EGRAPHCTX, -7, 107004, 1, "the graph belongs to another context")                         \
    X(RP_EBOUND, -8, 107005, 15, "wrong binding of stream and graph")                              \
    X(RP_ETIMESTAMP, -9, 107006, 15, "the event has no valid time stamp")                          \
    X(RP_EREVERSAL, -10, 107007, 15, "the end event was recorded before the start event")          \
    X(RP_ESUBSCRIBE, -11, 107011, 15, "wrong callback subscription of the stream")                 \
    X(RP_ETHREADSUB, -12, 107012, 15, "wrong callback subscription of the thread")                 \
    X(RP_ENOSUB, -13, 107015, 15, "no thread is subscribed to callbacks of the stream")            \
    X(RP_EMEMTYPE, -14, 107016, 1, "invalid memory type")                                          \
    X(RP_EHANDLE, -15, 107017, 1, "stale or wrong handle")                                         \
    X(RP_ENOTSET, -16, 107021, 15, "the value was never set")                                      \
    X(RP_EARRAY, -17, 107039, 1, "the caller's array is too small")                                \
    X(RP_EUNINIT, -18, 100001, 15, "not initialised")                                              \
    X(RP_EINIT, -19, 100002, 15, "initialised already")                                            \
    X(RP_EREFINAL, -20, 100037, 15, "finalised already, or never initialised")                     \
    X(RP_EFILE, -21, 100003, 10, "missing or unreadable file")                                     \
    X(RP_EPARSE, -22, 100006, 1, "the content cannot be parsed")                                   \
    X(RP_EPROFCONFIG, -23, 100010, 17, "invalid profiling configuration")                          \
    X(RP_EPROFRUN, -24, 100042, 17, "a profiling session is active already")                       \
    X(RP_EPROFNOTRUN, -25, 100043, 17, "profiling is not initialised")                             \
    X(RP_ENOTFOUND, -26, 107000, 6, "not found")                                                   \
    X(RP_ENOTSUP, -27, 207000, 5, "not supported")                                                 \
    X(RP_ECALLBACK, -28, 207006, 15, "a callback may not make a call that waits")                  \
    X(RP_EFORKED, -29, 207004, 7, "a child forked after the library was first used cannot use it") \
    X(RP_ECTXRELEASE, -30, 507007, 15, "the device or context was released already")               \
    X(RP_EREGISTERED, -31, 507910, 15, "the host memory is registered already")                    \
    X(RP_ENOTREGISTERED, -32, 507911, 15, "the host memory is not registered")                     \
    X(RP_EWRITEFILE, -33, 100004, 10, "the file cannot be written")                                \
    X(RP_EFEATURE, -34, 200006, 5, "the feature is not supported")                                 \
    X(RP_EOPQUEUE, -35, 148048, 1, "invalid max_opqueue_num in the configuration")                 \
    X(RP_ESYMBOL, -36, 107042, 1, "the binary has no such variable")                               \
    X(RP_EFUNCTION, -37, 107044, 1, "not the symbol of a kernel")                                  \
    X(RP_EKERNELDUP, -38, 507028, 15, "the kernel is registered already")                          \
    /* capture and graphs */                                                                       \
    X(RP_ECAPDEP, -40, 107024, 15, "the wait has no captured record")                              \
    X(RP_EUNJOINED, -41, 107025, 15, "a side stream was not joined to the capture's origin")       \
    X(RP_EMODELCAPTURED, -42, 107026, 15, "the graph is still being captured")                     \
    X(RP_ESTREAMCAPTURED, -43, 107027, 15, "not allowed on a capturing stream")                    \
    X(RP_EEVENTCAPTURED, -44, 107028, 15, "not allowed on a captured event")                       \
    X(RP_ENOTCAPTURED, -45, 107029, 15, "the stream is not capturing")                             \
    X(RP_ECAPMODE, -46, 107030, 15, "unsafe under the active capture mode")                        \
    X(RP_ECAPIMPLICIT, -47, 107031, 15, "the default stream cannot take part in a capture")        \
    X(RP_ECAPCONFLICT, -48, 107032, 15, "event and stream belong to different captures")           \
    X(RP_ETASKGROUP, -49, 107033, 15, "wrong state of the task group")                             \
    X(RP_ETASKGROUPINTR, -50, 107034, 15, "another captured stream interrupted the task group")    \
    X(RP_ECAPUNMATCHED, -51, 107036, 15, "the capture did not begin on this stream")               \
    X(RP_EMODELRUNNING, -52, 107037, 15, "the graph is still executing")                           \
    X(RP_EWRONGTHREAD, -53, 107038, 15, "the capture began in another thread")                     \
    X(RP_EUPDATE, -54, 107040, 15, "the graph could not be updated")                               \
    X(RP_EBLOCKASYNC, -55, 107041, 15, "the call would block under the active capture mode")       \
    X(RP_ESUBGRAPH, -56, 107045, 15, "a conditional sub-graph is still being captured")            \
    X(RP_ETASKTYPE, -57, 507009, 15, "this type of task is not allowed here")                      \
    X(RP_EGRAPHSTATE, -58, 507011, 1, "the graph is not ready to execute")                         \
    X(RP_ECAPINVALID, -59, 507903, 15, "the capture was invalidated by an earlier failure")        \
    X(RP_EGRAPHABORT, -60, 507023, 15, "the graph was aborted")                                    \
    X(RP_ELABELCTX, -61, 507031, 1, "the label belongs to another context")                        \
    /* resources */                                                                                \
    X(RP_ENOMEM, -70, 207001, 3, "out of memory")                                                  \
    X(RP_ENORES, -71, 207005, 7, "out of resources")                                               \
    X(RP_ENOEVENT, -72, 207007, 7, "out of events")                                                \
    X(RP_ENOSTREAM, -73, 207008, 7, "out of streams")                                              \
    X(RP_ENONOTIFY, -74, 207009, 7, "out of notifies")                                             \
    X(RP_ENOGRAPH, -75, 207010, 7, "out of graphs")                                                \
    X(RP_EPORT, -76, 207005, 7, "no free port")                                                    \
    X(RP_ESYS, -77, 507899, 8, "a system call failed")                                             \
    /* while running */                                                                            \
    X(RP_EWAITTIMEOUT, -90, 107019, 9, "the wait timed out")                                       \
    X(RP_ETASKTIMEOUT, -91, 107020, 9, "the task timed out")                                       \
    X(RP_EDEVABORT, -92, 107022, 15, "the device's tasks are being aborted")                       \
    X(RP_ESTREAMABORT, -93, 107023, 15, "the stream is being aborted")                             \
    X(RP_EINTERNAL, -94, 507000, 4, "internal error")                                              \
    X(RP_EBUSY, -95, 507004, 20, "still busy")                                                     \
    X(RP_ENOREPORT, -96, 507012, 15, "no callback arrived in time")                                \
    X(RP_ESYNCTIMEOUT, -97, 507046, 9, "synchronising a stream or device timed out")               \
    X(RP_EEVENTTIMEOUT, -98, 507047, 9, "synchronising an event timed out")                        \
    /* between ranks */                                                                            \
    X(RP_EMISMATCH, -110, 507000, 1, "the ranks' calls differ")                                    \
    X(RP_ECYCLE, -111, 507000, 1, "the order of the calls is a cycle")                             \
    X(RP_ESUSPEND, -112, 507000, 22, "the communicator is suspended")                              \
    X(RP_ELINK, -113, 507056, 21, "a connection to another rank was lost")                         \
    X(RP_EREMOTE, -114, 507057, 21, "another rank died or failed")                                 \
    X(RP_ERETRY, -115, 507904, 23, "the retries of a collective are exhausted")                    \
    X(RP_ECONNTIMEOUT, -116, 107019, 9, "connecting the ranks timed out")                          \
    X(RP_ETCP, -117, 507901, 11, "a TCP connection failed")

typedef enum rp_status {
#define RP_STATUS_ENUM(name, value, acl, hccl, text) name = (value),
    RP_STATUS_MAP(RP_STATUS_ENUM)
#undef RP_STATUS_ENUM
} rp_status;

/** rp_status_acl: the aclError of `st`; 500000 (internal error) for a number outside the table. */
int rp_status_acl(rp_status st);

/** rp_status_hccl: the HcclResult of `st`; 4 (HCCL_E_INTERNAL) for a number outside the table. */
int rp_status_hccl(rp_status st);

/** rp_status_name: "RP_EPARAM"; "RP_?" for a number outside the table. Static. */
const char *rp_status_name(rp_status st);

/** rp_status_text: what `st` means, a phrase without a full stop. Static. */
const char *rp_status_text(rp_status st);

#endif /* RP_BASE_STATUS_H */
