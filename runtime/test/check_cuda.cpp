//===- check_cuda.cpp - Comparison of a GPU with the simulator ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the kernels of kernels.ptx through the C interface on two devices and
// compares every byte written. Usage: check_cuda KERNELS.ptx [DEVICE], which
// compares DEVICE (default cuda) with sim. scripts/check-cuda builds and runs
// this program.
//===----------------------------------------------------------------------===//

#include "mx_runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

void check(int status, const char *what) {
  if (status == MX_SUCCESS)
    return;
  fprintf(stderr, "check_cuda: %s: %s: %s\n", what, mxStatusName(status),
          mxGetLastError());
  exit(1);
}
#define CHECK(call) check(call, #call)

/// Initialized device memory.
class Buffer {
public:
  explicit Buffer(const Bytes &bytes) : size(bytes.size()) {
    CHECK(mxMemAlloc(&memory, size));
    CHECK(mxMemcpyToDevice(memory, bytes.data(), size, nullptr));
  }
  ~Buffer() { CHECK(mxMemFree(memory)); }
  Bytes read(mxStream stream) const {
    Bytes bytes(size);
    CHECK(mxMemcpyToHost(bytes.data(), memory, size, stream));
    CHECK(mxStreamSynchronize(stream));
    return bytes;
  }
  void *memory = nullptr;
  size_t size;
};

Bytes pattern(size_t size, uint32_t seed) {
  Bytes bytes(size);
  for (uint8_t &byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = seed >> 24;
  }
  return bytes;
}

/// Tensor map and a box.
struct MapCase {
  const char *name;
  int32_t type, elementBytes;
  int64_t dims[2], stride;
  int32_t box[2], steps[2];
  int32_t swizzle, oob;
  int32_t x, y;
  uint32_t lineBytes; // distance between rows of the box in shared memory
};

// clang-format off
const MapCase kMaps[] = {
  // name               type size dims         stride box         steps  swz oob  x   y  line
  {"u8 plain",            0, 1, {256, 40},    256, {64, 32},   {1, 1}, 0, 0,  16,   3,  64},
  {"u8 32b",              0, 1, {256, 40},    256, {32, 32},   {1, 1}, 1, 0,  48,   0,  32},
  {"u8 64b",              0, 1, {256, 40},    256, {64, 32},   {1, 1}, 2, 0,   0,   1,  64},
  {"u8 128b",             0, 1, {256, 40},    256, {128, 64},  {1, 1}, 3, 0,  64,   2, 128},
  {"u8 128b short line",  0, 1, {256, 40},    256, {48, 32},   {1, 1}, 3, 0,   0,   0, 128},
  {"u8 128b outside",     0, 1, {100, 20},    112, {128, 32},  {1, 1}, 3, 0, -16,  -5, 128},
  {"u8 128b short row",   0, 1, {100, 20},    112, {128, 32},  {1, 1}, 3, 0,  16,   2, 128},
  {"bf16 128b",           9, 2, {200, 50},    400, {64, 64},   {1, 1}, 3, 0, 160,   8, 128},
  {"bf16 nan outside",    9, 2, {40, 10},      80, {32, 16},   {1, 1}, 2, 1,  24,   5,  64},
  {"f16 steps",           6, 2, {64, 40},     128, {32, 16},   {1, 2}, 0, 0,   0,   4,  64},
  {"f32 64b",             7, 4, {60, 33},     240, {16, 32},   {1, 1}, 2, 0,  48,  10,  64},
  {"f64 nan outside",     8, 8, {20, 9},      160, {8, 16},    {1, 1}, 2, 1,  16,   0,  64},
  {"u32 wholly outside",  2, 4, {16, 16},      64, {16, 16},   {1, 1}, 0, 0, 100, 100,  64},
};
// clang-format on

struct Result {
  std::string name;
  Bytes bytes;
};

class Runner {
public:
  Runner(const std::string &device, const std::string &ptx) {
    CHECK(mxSetDevice(device.c_str()));
    CHECK(mxModuleLoad(&module, ptx.data(), ptx.size(), "kernels.ptx"));
    CHECK(mxStreamCreate(&stream));
  }
  ~Runner() {
    CHECK(mxStreamDestroy(stream));
    CHECK(mxModuleUnload(module));
  }

  std::vector<Result> run() {
    vectorAdd();
    for (const MapCase &map : kMaps)
      load(map, 2, 1);
    // 24 slots of 8 KiB (192 KiB of dynamic shared memory) and two launches
    // that may overlap.
    load(kMaps[3], 24, 2);
    // Skip boxes that start before the tensor, because a GPU reports their
    // stores as illegal instructions.
    for (const MapCase &map : kMaps)
      if (map.steps[1] == 1 && map.x >= 0 && map.y >= 0)
        store(map);
    for (int64_t cluster : {1, 2, 8, 16})
      clusterExchange(cluster);
    return std::move(results);
  }

private:
  void launch(const char *name, mxLaunchConfig config,
              std::vector<void *> parameters, int64_t count) {
    mxFunction function;
    CHECK(mxModuleGetFunction(&function, module, name));
    config.stream = stream;
    CHECK(mxLaunch(function, &config, parameters.data(), count));
  }

  void vectorAdd() {
    uint32_t n = 10001;
    std::vector<float> values(n);
    for (uint32_t i = 0; i < n; ++i)
      values[i] = 1.0f / (i + 1);
    Bytes bytes(n * 4);
    memcpy(bytes.data(), values.data(), bytes.size());
    Buffer a(bytes), b(pattern(n * 4, 1)), c(Bytes(n * 4, 0));
    launch("vector_add",
           {sizeof(mxLaunchConfig),
            {(n + 255) / 256, 1, 1},
            {256, 1, 1},
            {},
            0,
            {},
            0},
           {&a.memory, &b.memory, &c.memory, &n}, 4);
    results.push_back({"vector_add", c.read(stream)});
  }

  void encode(const MapCase &map, void *memory, void *image) {
    CHECK(mxTensorMapEncodeTiled(image, map.type, 2, memory, map.dims,
                                 &map.stride, map.box, map.steps, 0,
                                 map.swizzle, 0, map.oob));
  }

  static uint32_t rows(const MapCase &map) {
    return (map.box[1] + map.steps[1] - 1) / map.steps[1];
  }

  void load(const MapCase &map, uint32_t slots, int times) {
    Buffer source(pattern(map.stride * map.dims[1], 7));
    uint32_t slotBytes = (map.lineBytes * rows(map) + 1023) / 1024 * 1024;
    uint32_t boxBytes = map.box[0] * map.elementBytes * rows(map);
    Buffer out(Bytes(slotBytes * slots, 0));
    alignas(64) uint8_t image[128];
    encode(map, source.memory, image);
    int32_t x = map.x, y = map.y;
    for (int i = 0; i < times; ++i)
      launch("tma_load",
             {sizeof(mxLaunchConfig),
              {1, 1, 1},
              {128, 1, 1},
              {},
              slotBytes * slots,
              {},
              i ? MX_LAUNCH_PROGRAMMATIC : 0},
             {image, &out.memory, &x, &y, &slotBytes, &boxBytes, &slots}, 7);
    results.push_back(
        {std::string("tma_load ") + map.name + " x " + std::to_string(slots),
         out.read(stream)});
  }

  void store(const MapCase &map) {
    Buffer target(Bytes(map.stride * map.dims[1], 0xCC));
    uint32_t slotBytes = (map.lineBytes * rows(map) + 1023) / 1024 * 1024;
    alignas(64) uint8_t image[128];
    encode(map, target.memory, image);
    int32_t x = map.x, y = map.y;
    launch(
        "tma_store",
        {sizeof(mxLaunchConfig), {1, 1, 1}, {128, 1, 1}, {}, slotBytes, {}, 0},
        {image, &x, &y, &slotBytes}, 4);
    results.push_back(
        {std::string("tma_store ") + map.name, target.read(stream)});
  }

  void clusterExchange(int64_t cluster) {
    Buffer out(Bytes(32 * 64 * 4, 0));
    launch("cluster_exchange",
           {sizeof(mxLaunchConfig),
            {32, 1, 1},
            {64, 1, 1},
            {cluster, 1, 1},
            0,
            {},
            0},
           {&out.memory}, 1);
    results.push_back(
        {"cluster_exchange " + std::to_string(cluster), out.read(stream)});
  }

  mxModule module = nullptr;
  mxStream stream = nullptr;
  std::vector<Result> results;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: check_cuda KERNELS.ptx [DEVICE]\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string ptx(std::istreambuf_iterator<char>(file), {});
  if (ptx.empty()) {
    fprintf(stderr, "check_cuda: cannot read %s\n", argv[1]);
    return 2;
  }
  std::string device = argc > 2 ? argv[2] : "cuda";
  mxSetErrorPolicy(MX_ERRORS_RETURN);

  CHECK(mxSetDevice(device.c_str()));
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  CHECK(mxGetDeviceInfo(&info));
  printf("%s: %s, %d multiprocessors, compute capability %d.%d, %lld bytes of "
         "shared memory per block\n",
         info.kind, info.name, info.multiprocessors, info.capabilityMajor,
         info.capabilityMinor, (long long)info.sharedMemoryPerBlock);

  std::vector<Result> left = Runner(device, ptx).run();
  std::vector<Result> right = Runner("sim", ptx).run();
  int bad = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const Bytes &a = left[i].bytes, &b = right[i].bytes;
    size_t unequal = 0, first = 0;
    for (size_t j = a.size(); j-- > 0;)
      if (a[j] != b[j]) {
        ++unequal;
        first = j;
      }
    bad += unequal != 0;
    printf("%-32s %8zu bytes: ", left[i].name.c_str(), a.size());
    if (unequal == 0)
      printf("equal\n");
    else
      printf("%zu UNEQUAL, the first at %zu: %s 0x%02x, sim 0x%02x\n", unequal,
             first, device.c_str(), a[first], b[first]);
  }

  // Device errors must be reported as text.
  mxFunction function;
  mxModule module;
  CHECK(mxSetDevice(device.c_str()));
  CHECK(mxModuleLoad(&module, ptx.data(), ptx.size(), "kernels.ptx"));
  if (mxModuleGetFunction(&function, module, "absent") != MX_ERROR_NOT_FOUND) {
    printf("a kernel that is not there: expected status %d, found %d (%s)\n",
           MX_ERROR_NOT_FOUND, mxGetLastStatus(), mxGetLastError());
    ++bad;
  }
  mxClearError();
  CHECK(mxModuleUnload(module));
  std::string blackwell = ptx;
  const std::string target = ".target sm_90a";
  blackwell.replace(blackwell.find(target), target.size(), ".target sm_100a");
  int expected = info.capabilityMajor == 9 ? MX_ERROR_WRONG_TARGET : MX_SUCCESS;
  if (int status = mxModuleLoad(&module, blackwell.data(), 0, "sm_100a.ptx");
      status != expected) {
    printf("a module for sm_100a: expected status %d, found %d (%s)\n",
           expected, status, mxGetLastError());
    ++bad;
  }
  printf("an sm_100a module here: %s\n",
         *mxGetLastError() ? mxGetLastError() : "loads");
  mxClearError();
  alignas(64) uint8_t image[128];
  const int64_t dims[] = {64, 64}, stride[] = {72};
  const int32_t box[] = {64, 64};
  if (mxTensorMapEncodeTiled(image, 0, 2, (void *)0x10000, dims, stride, box,
                             nullptr, 0, 0, 0, 0) != MX_ERROR_INVALID_VALUE) {
    printf("a stride of 72 bytes: expected status %d, found %d (%s)\n",
           MX_ERROR_INVALID_VALUE, mxGetLastStatus(), mxGetLastError());
    ++bad;
  }
  printf("a stride of 72 bytes: %s\n", mxGetLastError());

  printf("%zu comparisons, %d bad\n", left.size(), bad);
  return bad ? 1 : 0;
}
