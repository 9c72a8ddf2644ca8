// Looks the library up as frameworks do: by name, with dlopen, and each function
// with dlsym. Not linked with it, so all is found by LD_LIBRARY_PATH alone. The
// argument is the version that the library is to have.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int faults;

static void check(int holds, const char *what, const char *name)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", name, what);
        faults++;
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "libhccl.so", "libhcomm.so", "libascendcl.so",
        "libacl_rt.so", "libacl_rt_impl.so", "libmsprofiler.so", "libprofapi.so",
        "libreprise.so.0" };
    static const char *const built[] = { "aclInit", "aclrtMalloc", "HcclAllReduce",
        "aclmdlRICaptureBegin", "HcclCommResume", "HcclRankGraphGetLinks" };
    void *first[sizeof built / sizeof built[0]] = { NULL };

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        void *library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            check(0, dlerror(), names[n]);
            continue;
        }
        for (size_t f = 0; f < sizeof built / sizeof built[0]; f++) {
            void *found = dlsym(library, built[f]);
            check(found != NULL, "not found", built[f]);
            // The same address under every name: the process holds one copy of the library.
            first[f] = n == 0 ? found : first[f];
            check(found == first[f], "a second copy of the library was loaded", names[n]);
        }
        // What the library does not have is NULL: frameworks take that as "not supported".
        check(dlsym(library, "HcclNoSuchFunction") == NULL, "found", "HcclNoSuchFunction");
        check(dlsym(library, "rp_fail") == NULL, "an internal function is visible", "rp_fail");
    }
    const char *(*version)(void) = NULL;
    *(void **)&version = dlsym(dlopen("libreprise.so.0", RTLD_NOW), "reprise_version");
    check(argc == 2 && version != NULL && strcmp(version(), argv[1]) == 0, "another version",
            "reprise_version");
    return faults != 0;
}
