// A program as users bring it: two devices of one process, an all-reduce of each
// thread's vector, once called directly and then captured and replayed with new
// data. It knows nothing of Reprise.

#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace
{
constexpr uint32_t kDevices = 2;
constexpr uint64_t kCount = 1000;
constexpr int kReplays = 5;

bool ok(int code, const char *call)
{
    if (code != 0) {
        std::fprintf(stderr, "%s: error %d: %s\n", call, code, aclGetRecentErrMsg());
    }
    return code == 0;
}
#define CHECK(call)             \
    do {                        \
        if (!ok((call), #call)) \
            return false;       \
    } while (0)

// Device `rank` brings (rank + 1) * (i + round); the sum over the devices is known.
bool fill(float *device, uint32_t rank, int round)
{
    std::vector<float> host(kCount);
    for (uint64_t i = 0; i < kCount; i++) {
        host[i] = static_cast<float>((rank + 1) * (i + static_cast<uint64_t>(round)));
    }
    const size_t bytes = kCount * sizeof(float);
    CHECK(aclrtMemcpy(device, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return true;
}

bool verify(const float *device, int round)
{
    std::vector<float> host(kCount);
    const size_t bytes = kCount * sizeof(float);
    CHECK(aclrtMemcpy(host.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (uint64_t i = 0; i < kCount; i++) {
        const float want = static_cast<float>(3 * (i + static_cast<uint64_t>(round)));
        if (host[i] != want) {
            std::fprintf(stderr, "round %d: element %llu is %f, not %f\n", round,
                    static_cast<unsigned long long>(i), host[i], want);
            return false;
        }
    }
    return true;
}

bool run(uint32_t rank, HcclComm comm)
{
    aclrtStream stream = nullptr;
    void *send = nullptr;
    void *recv = nullptr;
    CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&send, kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&recv, kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    float *in = static_cast<float *>(send);
    float *out = static_cast<float *>(recv);

    if (!fill(in, rank, 0)) {
        return false;
    }
    CHECK(HcclAllReduce(in, out, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    if (!verify(out, 0)) {
        return false;
    }

    aclmdlRI graph = nullptr;
    CHECK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(HcclAllReduce(in, out, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclmdlRICaptureEnd(stream, &graph));
    for (int round = 1; round <= kReplays; round++) {
        if (!fill(in, rank, round)) {
            return false;
        }
        CHECK(aclmdlRIExecuteAsync(graph, stream));
        CHECK(aclrtSynchronizeStream(stream));
        if (!verify(out, round)) {
            return false;
        }
    }
    CHECK(aclmdlRIDestroy(graph));

    CHECK(aclrtFree(send));
    CHECK(aclrtFree(recv));
    CHECK(aclrtDestroyStream(stream));
    CHECK(HcclCommDestroy(comm));
    CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
    return true;
}
} // namespace

int main()
{
    if (!ok(aclInit(nullptr), "aclInit")) {
        return 1;
    }
    int32_t devices[kDevices] = { 0, 1 };
    HcclComm comms[kDevices] = {};
    if (!ok(HcclCommInitAll(kDevices, devices, comms), "HcclCommInitAll")) {
        return 1;
    }
    bool passed[kDevices] = {};
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kDevices; rank++) {
        threads.emplace_back([&, rank] { passed[rank] = run(rank, comms[rank]); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    if (!ok(aclFinalize(), "aclFinalize") || !passed[0] || !passed[1]) {
        return 1;
    }
    std::puts("all-reduce right, eager and replayed");
    return 0;
}
