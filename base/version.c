// The version of the loaded library, from the macros of the header it was built with.

#include <reprise/reprise.h>

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *reprise_version(void)
{
    return VERSION(REPRISE_VERSION_MAJOR, REPRISE_VERSION_MINOR, REPRISE_VERSION_PATCH);
}
