#include "transport/machine.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void rp_machine_self(uint8_t out[RP_MACHINE_BYTES])
{
    struct {
        uint64_t device;
        uint64_t inode;
        char boot[64];
    } found = { 0 };
    struct stat network;
    if (stat("/proc/self/ns/net", &network) == 0) {
        found.device = network.st_dev;
        found.inode = network.st_ino;
    }
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, found.boot, sizeof(found.boot)) < 0) {
            memset(found.boot, 0, sizeof(found.boot));
        }
        close(fd);
    }
    crypto_generichash(
            out, RP_MACHINE_BYTES, (const unsigned char *)&found, sizeof(found), NULL, 0);
}
