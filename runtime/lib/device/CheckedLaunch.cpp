//===- CheckedLaunch.cpp - Checks of launches and tensor maps -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver reports a bad launch as "invalid value" without naming the
// argument at fault, so limits common to all devices are checked here (CUDA
// programming guide, technical specifications per compute capability).
//===----------------------------------------------------------------------===//

#include "CheckedLaunch.h"
#include "Handles.h"
#include "Owners.h"
#include "Selection.h"
#include "mx/Target/TargetInfo.h"

#include <cstring>

using namespace mx;
using namespace mx::runtime;

namespace {

std::string shape(const int64_t *v) {
  return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" +
         std::to_string(v[2]);
}

constexpr int64_t kMaxGrid[3] = {target::kMaxGridX, target::kMaxGridYZ,
                                 target::kMaxGridYZ};
constexpr int64_t kMaxBlock[3] = {1024, 1024, 64};
constexpr int64_t kMaxThreads = target::kMaxThreadsPerCta;
constexpr int64_t kMaxCluster = target::kMaxClusterSize;

bool within(const int64_t *v, const int64_t *limits) {
  for (int i = 0; i < 3; ++i)
    if (v[i] < 1 || v[i] > limits[i])
      return false;
  return true;
}

/// Returns an error text, or "" if the shape is valid.
std::string checkShape(const mxLaunchConfig &config, int64_t sharedLimit) {
  const int64_t *block = config.block, *cluster = config.cluster;
  if (!within(config.grid, kMaxGrid))
    return "expected a grid of at most " + shape(kMaxGrid) + ", found " +
           shape(config.grid);
  if (!within(block, kMaxBlock) || block[0] * block[1] * block[2] > kMaxThreads)
    return "expected a block of 1 to " + std::to_string(kMaxThreads) +
           " threads, at most " + shape(kMaxBlock) + ", found " + shape(block);
  if (cluster[0] || cluster[1] || cluster[2]) {
    const int64_t limits[3] = {kMaxCluster, kMaxCluster, kMaxCluster};
    if (!within(cluster, limits) ||
        cluster[0] * cluster[1] * cluster[2] > kMaxCluster)
      return "expected a cluster of 1 to " + std::to_string(kMaxCluster) +
             " blocks, found " + shape(cluster);
    for (int i = 0; i < 3; ++i)
      if (config.grid[i] % cluster[i])
        return "expected a grid that is a multiple of the cluster " +
               shape(cluster) + ", found " + shape(config.grid);
  }
  if (config.dynamicSharedMemory < 0 ||
      config.dynamicSharedMemory > sharedLimit)
    return "expected 0 to " + std::to_string(sharedLimit) +
           " bytes of dynamic shared memory, found " +
           std::to_string(config.dynamicSharedMemory);
  if (config.flags & ~(MX_LAUNCH_PROGRAMMATIC | MX_LAUNCH_COOPERATIVE))
    return "expected known launch flags, found " + std::to_string(config.flags);
  return "";
}

} // namespace

Error mx::runtime::launch(mxFunction handle, const mxLaunchConfig &config,
                          void **parameters, int64_t count, Device *hostCode) {
  LoadedFunction loaded;
  if (Error error = resolveFunction(handle, hostCode, loaded))
    return error;
  if (Error error = checkStream(*loaded.device, config.stream)) {
    error.text = "kernel '" + loaded.function->name + "': " + error.text;
    return error;
  }
  return launch(*loaded.device, *loaded.function, config, parameters, count,
                /*isForeign=*/hostCode != nullptr);
}

Error mx::runtime::launch(Device &device, Function &function,
                          const mxLaunchConfig &config, void **parameters,
                          int64_t count, bool isForeign, Reporting *reporting) {
  const int64_t *grid = config.grid;
  if (grid[0] >= 0 && grid[1] >= 0 && grid[2] >= 0 &&
      (grid[0] == 0 || grid[1] == 0 || grid[2] == 0))
    return {};
  std::string wrong = checkShape(config, device.limits().sharedMemoryPerBlock);
  if (!wrong.empty())
    return {MX_ERROR_BAD_LAUNCH, "kernel '" + function.name + "': " + wrong};
  Launch checked = {};
  for (int i = 0; i < 3; ++i) {
    checked.grid[i] = config.grid[i];
    checked.block[i] = config.block[i];
    checked.cluster[i] = config.cluster[i];
  }
  checked.dynamicSharedMemory = config.dynamicSharedMemory;
  checked.stream = config.stream;
  checked.programmatic = config.flags & MX_LAUNCH_PROGRAMMATIC;
  checked.cooperative = config.flags & MX_LAUNCH_COOPERATIVE;
  checked.isForeign = isForeign;
  checked.reporting = reporting;
  return device.launch(function, checked, parameters, count);
}

Error mx::runtime::launch(mxFunction handle, const mxLaunchConfig &config,
                          void **parameters, int64_t count,
                          Reporting &reporting) {
  LoadedFunction loaded;
  if (Error error = resolveFunction(handle, nullptr, loaded))
    return error;
  if (loaded.device->kind != Device::Kind::Sim)
    return needsSimulator();
  if (!reporting.settings.report)
    return invalidValue("mxReportedLaunch: expected a handler of the report, "
                        "found a null pointer");
  return launch(*loaded.device, *loaded.function, config, parameters, count,
                /*isForeign=*/false, &reporting);
}

static Error outOfRange(const char *what, int64_t low, int64_t high,
                        int64_t found) {
  return {MX_ERROR_INVALID_VALUE, std::string("tensor map: expected ") + what +
                                      " from " + std::to_string(low) + " to " +
                                      std::to_string(high) + ", found " +
                                      std::to_string(found)};
}

Error mx::runtime::encodeTensorMap(void *map,
                                   const TensorMapArguments &arguments,
                                   Device *device) {
  using namespace mx::target;
  const TensorMapArguments &a = arguments;
  static constexpr struct {
    const char *what;
    int64_t low, high;
    int64_t TensorMapArguments::*value;
  } kRanges[] = {
      {"a data type", 0, kNumTensorMapTypes - 1, &TensorMapArguments::dataType},
      {"a rank", 1, kTensorMapMaxRank, &TensorMapArguments::rank},
      {"an interleave", 0, int64_t(TensorMapInterleave::B32),
       &TensorMapArguments::interleave},
      {"a swizzle", 0, kNumSwizzles - 1, &TensorMapArguments::swizzle},
      {"an L2 promotion", 0, int64_t(TensorMapL2::B256),
       &TensorMapArguments::l2Promotion},
      {"an out-of-bounds fill", 0, int64_t(TensorMapFill::NaN),
       &TensorMapArguments::oobFill},
  };
  for (const auto &range : kRanges)
    if (int64_t found = a.*range.value; found < range.low || found > range.high)
      return outOfRange(range.what, range.low, range.high, found);
  if (!map || !a.dims || !a.box || (a.rank > 1 && !a.strides))
    return {
        MX_ERROR_INVALID_VALUE,
        "tensor map: expected an address for the map, dimensions, strides and "
        "a box, found a null pointer"};

  TensorMapDesc desc;
  desc.globalAddress = reinterpret_cast<uint64_t>(a.globalAddress);
  desc.type = TensorMapType(a.dataType);
  desc.rank = a.rank;
  bool empty = false;
  for (int64_t i = 0; i < a.rank; ++i) {
    if (a.dims[i] < 0)
      return outOfRange("dimensions", 0, INT64_MAX, a.dims[i]);
    if (i && a.strides[i - 1] < 0)
      return outOfRange("strides", 0, INT64_MAX, a.strides[i - 1]);
    int32_t step = a.elementStrides ? a.elementStrides[i] : 1;
    if (a.box[i] < 1)
      return outOfRange("box dimensions", 1, kTensorMapMaxBox, a.box[i]);
    if (step < 1)
      return outOfRange("element strides", 1, 8, step);
    empty |= a.dims[i] == 0;
    desc.dims[i] = a.dims[i];
    if (i)
      desc.strides[i - 1] = a.strides[i - 1];
    desc.box[i] = a.box[i];
    desc.elementStrides[i] = step;
  }
  desc.interleave = TensorMapInterleave(a.interleave);
  desc.swizzle = Swizzle(a.swizzle);
  desc.l2 = TensorMapL2(a.l2Promotion);
  desc.fill = TensorMapFill(a.oobFill);

  // The driver requires 64-byte alignment, which the caller's stack may lack.
  alignas(kTensorMapAlignment) uint8_t image[kTensorMapBytes] = {};
  if (!empty) {
    if (!device)
      device = findOwner(a.globalAddress);
    if (!device)
      if (Error error = getDevice(device))
        return error;
    if (Error error = device->encodeTensorMap(image, desc))
      return error;
  }
  memcpy(map, image, sizeof(image));
  return {};
}
