// Which ranks share a node is proved, not guessed: by a token in memory that one
// rank offers and the other reads. Containers on one machine (other /dev/shm, other
// host names) work; ranks in networks of their own, joined by a veth pair, are two
// machines that work together over TCP. What a host's own name resolves to
// plays no part, and the choice of an interface takes every documented form.

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <hccl/hccl_rank_graph.h>

#include "support/rank_test.h"

static void need_root(void)
{
    if (geteuid() != 0 || access("/proc/self/ns/net", R_OK) != 0) {
        cr_skip("needs root, for namespaces");
    }
}

// ---- A job in which everything is used once ----

static void use_communicator(struct rank *rank, HcclComm comm, uint32_t size, uint32_t as)
{
    const struct rank self = { .id = as, .count = size };
    const struct oracle_call what = {
        .op = ORACLE_ALL_REDUCE, .dtype = RP_DTYPE_INT32, .count = 50000, .ranks = size
    };
    struct rank_call call;
    rank_call_open(&call, &self, &what, &(struct rank_call_options){ .versions = 2 });
    capture_begin(rank->stream);
    must(rank_call_issue(&call, comm, rank->stream));
    aclmdlRI graph = capture_end(rank->stream);
    for (unsigned round = 0; round < 4; round++) {
        rank_call_load(&call, round);
        if (round % 2 == 0) {
            must(rank_call_issue(&call, comm, rank->stream));
        } else {
            replay(graph, rank->stream);
        }
        must(aclrtSynchronizeStream(rank->stream));
        rank_call_check(&call, round, "across containers");
    }
    must(aclmdlRIDestroy(graph));
    rank_call_close(&call);
}

// ---- Containers on one machine ----

enum container {
    OWN_SHM = 1,
    OWN_HOST_NAME = 2,
};

static void enter_container(const struct rank *rank, unsigned container)
{
    char name[32];
    if ((container & OWN_SHM) != 0) {
        must_hold(unshare(CLONE_NEWNS) == 0 &&
                          mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                          mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") == 0,
                "a mount namespace: %s", strerror(errno));
    }
    if ((container & OWN_HOST_NAME) != 0) {
        snprintf(name, sizeof(name), "container-%u", rank->id);
        must_hold(unshare(CLONE_NEWUTS) == 0 && sethostname(name, strlen(name)) == 0,
                "a host name: %s", strerror(errno));
    }
}

static void container_rank(struct rank *rank)
{
    enter_container(rank, *(const unsigned *)rank->arg);
    rank_open(rank);
    use_communicator(rank, rank->comm, rank->count, rank->id);
    rank_close(rank);
}

Test(locality, r43_containers_on_one_machine_share_it, .init = need_root)
{
    for (unsigned container = 0; container <= (OWN_SHM | OWN_HOST_NAME); container++) {
        struct rank_job job = { .ranks = 4, .fn = container_rank, .arg = &container };
        job.env = AIV;
        assert_job(&job, "AIV, containers of kind %u", container);
        job.env = HOST_TS;
        assert_job(&job, "HOST_TS, containers of kind %u", container);
    }
}

// ---- Two machines ----

enum side {
    LEFT,
    RIGHT,
};

// Ranks 0 and 1 are on the left, 2 and 3 on the right.
struct networks {
    _Atomic int holder[2]; // process whose network it is
    _Atomic int joined;    // the veth pair stands
};

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool run(const char *format, ...)
{
    char command[256];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command) == 0;
}

static void enter_network(struct rank *rank)
{
    struct networks *networks = rank->shared;
    const enum side side = rank->id < 2 ? LEFT : RIGHT;
    char path[64];
    if (rank->id % 2 == 0) {
        must_hold(unshare(CLONE_NEWNET) == 0, "a network namespace: %s", strerror(errno));
        atomic_store(&networks->holder[side], getpid());
    } else {
        while (atomic_load(&networks->holder[side]) == 0) {
            rank_sleep_us(1000);
        }
        snprintf(path, sizeof(path), "/proc/%d/ns/net", atomic_load(&networks->holder[side]));
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        must_hold(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, "joining a network namespace");
        close(fd);
    }
    while (atomic_load(&networks->joined) == 0) {
        rank_sleep_us(1000);
    }
}

static bool in(const struct networks *networks, enum side side, const char *command)
{
    return run("nsenter -t %d -n ip %s", atomic_load(&networks->holder[side]), command);
}

static bool join_networks(struct networks *networks)
{
    for (enum side side = LEFT; side <= RIGHT; side++) {
        for (unsigned tries = 0; atomic_load(&networks->holder[side]) == 0; tries++) {
            if (tries == 10000) {
                return false;
            }
            rank_sleep_us(1000);
        }
    }
    const bool joined =
            run("ip link add rpleft netns %d type veth peer name rpright netns %d",
                    atomic_load(&networks->holder[LEFT]), atomic_load(&networks->holder[RIGHT])) &&
            in(networks, LEFT, "link set lo up") && in(networks, RIGHT, "link set lo up") &&
            in(networks, LEFT, "addr add 10.98.7.1/24 dev rpleft") &&
            in(networks, RIGHT, "addr add 10.98.7.2/24 dev rpright") &&
            in(networks, LEFT, "link set rpleft up") && in(networks, RIGHT, "link set rpright up");
    atomic_store(&networks->joined, 1);
    return joined;
}

static void run_on_two_machines(rank_fn *fn, const void *arg, const char *const *env)
{
    struct networks *networks = rank_shared_create(sizeof(*networks));
    const struct rank_job job = {
        .ranks = 4, .fn = fn, .arg = arg, .shared = networks, .env = env, .timeout_s = 60
    };
    struct rank_crew *crew = rank_start(&job);
    const bool joined = join_networks(networks);
    const char *wrong = rank_finish(crew);
    rank_shared_destroy(networks, sizeof(*networks));
    if (!joined) {
        cr_skip("no veth pairs here, or no iproute2");
    }
    assert_well(wrong, "two machines, %s", env[0]);
}

// The four work together, and so do each machine's own.
static void expect_two_machines(struct rank *rank)
{
    HcclComm comm = NULL;
    uint32_t *sizes = NULL;
    uint32_t nodes = 0;
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    must(rank_join(rank, 0, rank->count, rank->id, NULL, &comm));
    must(HcclRankGraphGetInstSizeListByLayer(comm, 0, &sizes, &nodes));
    must_hold(nodes == 2 && sizes[0] == 2 && sizes[1] == 2, "two machines of two ranks are %u",
            (unsigned)nodes);
    use_communicator(rank, comm, rank->count, rank->id);
    must(HcclCommDestroy(comm));
    rank_barrier(rank);
    must(rank_join(rank, 1 + rank->id / 2, 2, rank->id % 2, NULL, &comm));
    use_communicator(rank, comm, 2, rank->id % 2);
    must(HcclCommDestroy(comm));
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

static void two_machines_rank(struct rank *rank)
{
    enter_network(rank);
    expect_two_machines(rank);
}

Test(locality, r43_ranks_on_two_machines_work_together, .init = need_root)
{
    run_on_two_machines(two_machines_rank, NULL, AIV);
    run_on_two_machines(two_machines_rank, NULL, HOST_TS);
}

// ---- The own name ----

// What /etc/hosts says of this machine's name, seen by this process alone.
static void resolve_own_name_to(const char *address)
{
    char path[] = "/tmp/reprise-hosts-XXXXXX";
    const int fd = mkstemp(path);
    must_hold(fd >= 0, "a file for /etc/hosts");
    dprintf(fd, "127.0.0.1 localhost\n");
    if (address[0] != '\0') {
        dprintf(fd, "%s rphost\n", address);
    }
    close(fd);
    const bool mounted = unshare(CLONE_NEWNS | CLONE_NEWUTS) == 0 &&
                         mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                         mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0 &&
                         sethostname("rphost", 6) == 0;
    unlink(path);
    must_hold(mounted, "another /etc/hosts: %s", strerror(errno));
}

static void own_name_rank(struct rank *rank)
{
    resolve_own_name_to(rank->arg);
    enter_network(rank);
    expect_two_machines(rank);
}

Test(locality, r52_what_the_own_name_resolves_to_plays_no_part, .init = need_root)
{
    static const char *const addresses[] = { "127.0.0.1", "127.0.1.1", "", "198.51.100.77" };
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        run_on_two_machines(own_name_rank, addresses[i], AIV);
    }
}

// ---- The choice of an interface ----

struct choice {
    const char *setting;
    const char *address; // of the root; NULL: refused
};

// One end of a pair whose other end has no address.
static bool make_interface(const char *name, const char *peer, const char *address)
{
    return run("ip link add %s type veth peer name %s && ip link set %s addrgenmode none && "
               "ip link set %s addrgenmode none && ip addr add %s dev %s && ip link set %s up && "
               "ip link set %s up",
            name, peer, name, peer, address, name, name, peer);
}

// A lonely network with two interfaces beside the loopback, made by the first rank.
static void choice_rank(struct rank *rank)
{
    const struct choice *choice = rank->arg;
    HcclRootInfo info;
    struct networks *networks = rank->shared;
    char path[64];
    if (rank->id == 0) {
        must_hold(unshare(CLONE_NEWNET) == 0, "a network namespace: %s", strerror(errno));
        must_hold(run("ip link set lo up") && make_interface("rpeth0", "zz0", "10.97.1.1/24") &&
                          make_interface("rpwan1", "zz1", "10.97.2.1/24"),
                "interfaces");
        atomic_store(&networks->holder[LEFT], getpid());
    } else {
        while (atomic_load(&networks->holder[LEFT]) == 0) {
            rank_sleep_us(1000);
        }
        snprintf(path, sizeof(path), "/proc/%d/ns/net", atomic_load(&networks->holder[LEFT]));
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        must_hold(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, "joining a network namespace");
        close(fd);
    }
    must(aclrtSetDevice(rank->device));
    must(aclrtCreateStream(&rank->stream));
    if (choice->address == NULL) {
        must_be(HcclGetRootInfo(&info), HCCL_E_PARA);
        const char *text = rank_error_text();
        const size_t name = strcspn(choice->setting, "=");
        must_hold(strstr(text, "HCCL_") != NULL &&
                          strncmp(strstr(text, "HCCL_"), choice->setting, name) == 0,
                "the variable is not named: \"%s\"", text);
        must_hold(strncmp(choice->setting, "HCCL_SOCKET_IFNAME", name) != 0 ||
                          (strstr(text, "rpeth0") != NULL && strstr(text, "rpwan1") != NULL),
                "the interfaces found are not named: \"%s\"", text);
    } else {
        must(rank_join(rank, 0, rank->count, rank->id, NULL, &rank->comm));
        rank_root_info(rank, 0, false, &info);
        must_hold(strcmp(info.internal, choice->address) == 0, "%s chooses %s instead of %s",
                choice->setting, info.internal, choice->address);
        use_communicator(rank, rank->comm, rank->count, rank->id);
        must(HcclCommDestroy(rank->comm));
    }
    rank_barrier(rank); // the network goes with rank 0
    must(aclrtDestroyStream(rank->stream));
    must(aclrtResetDevice(rank->device));
}

Test(locality, r52_an_interface_can_be_chosen_in_every_form, .init = need_root)
{
    static const struct choice choices[] = {
        { "HCCL_SOCKET_IFNAME==rpwan1", "10.97.2.1" },
        { "HCCL_SOCKET_IFNAME=rpw", "10.97.2.1" },
        { "HCCL_SOCKET_IFNAME=nosuch,rpe", "10.97.1.1" },
        { "HCCL_SOCKET_IFNAME==nosuch,rpwan1", "10.97.2.1" },
        { "HCCL_SOCKET_IFNAME=^rpe,lo", "10.97.2.1" },
        { "HCCL_SOCKET_IFNAME=^=rpeth0,lo", "10.97.2.1" },
        { "HCCL_IF_IP=10.97.2.1", "10.97.2.1" },
        { "HCCL_IF_IP=127.0.0.1", "127.0.0.1" },
        { "HCCL_SOCKET_IFNAME=10.97.2.1", NULL },
        { "HCCL_SOCKET_IFNAME==rpw", NULL },
        { "HCCL_SOCKET_IFNAME=nosuch", NULL },
        { "HCCL_SOCKET_IFNAME=^rp,lo", NULL },
        { "HCCL_IF_IP=10.97.3.1", NULL },
        { "HCCL_IF_IP=rpwan1", NULL },
    };
    if (!run("unshare -n ip link add rptry0 type veth peer name rptry1 2>/dev/null")) {
        cr_skip("no veth pairs here, or no iproute2");
    }
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct networks *networks = rank_shared_create(sizeof(*networks));
        const struct rank_job job = { .ranks = 2,
            .fn = choice_rank,
            .arg = &choices[i],
            .shared = networks,
            .env = ENV(choices[i].setting) };
        assert_job(&job, "%s", choices[i].setting);
        rank_shared_destroy(networks, sizeof(*networks));
    }
}
