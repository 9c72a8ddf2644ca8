/* What Reprise adds to the interfaces of acl/ and hccl/. */
#ifndef REPRISE_REPRISE_H
#define REPRISE_REPRISE_H

#ifdef __cplusplus
extern "C" {
#endif

#define REPRISE_VERSION_MAJOR 0
#define REPRISE_VERSION_MINOR 1
#define REPRISE_VERSION_PATCH 0

/** The version of the library that is loaded, as "major.minor.patch". Never to be freed. */
__attribute__((visibility("default"))) const char *reprise_version(void);

#ifdef __cplusplus
}
#endif

#endif
