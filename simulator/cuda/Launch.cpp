//===- Launch.cpp - Launches, attributes of kernels, occupancy ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

constexpr int kThreadsPerSm = 2048, kBlocksPerSm = 32, kRegistersPerSm = 65536;
/// Shared memory that the system uses in each CTA.
constexpr int kReservedShared = 1024;

/// Packs the arguments of a kernel.
static std::vector<uint8_t> pack(const Function &function, void **arguments, void **extra) {
  const KernelInfo &info = function.info();
  std::vector<uint8_t> parameters(info.parameterBytes);
  if (extra) {
    const void *buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = extra[1];
      else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
        bytes = *static_cast<size_t *>(extra[1]);
    memcpy(parameters.data(), buffer, buffer ? std::min<size_t>(bytes, parameters.size()) : 0);
    return parameters;
  }
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const ParameterInfo &parameter = info.parameters[i];
    if (!arguments || !arguments[i])
      invalid(shortName(function.name) + ": expected a value for parameter " + std::to_string(i) +
              ", found a null pointer");
    memcpy(parameters.data() + parameter.offset, arguments[i], parameter.bytes);
  }
  return parameters;
}

void mx::sim::cuda::readAttributes(const cudaLaunchAttribute *attributes, unsigned count, Operation &work) {
  for (unsigned i = 0; i < count; ++i) {
    const cudaLaunchAttributeValue &value = attributes[i].val;
    switch (attributes[i].id) {
    case cudaLaunchAttributeClusterDimension:
      work.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      break;
    case cudaLaunchAttributeCooperative: work.isCooperative = value.cooperative; break;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      work.isProgrammatic = value.programmaticStreamSerializationAllowed;
      break;
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributeMemSyncDomainMap: break; // hints
    default:
      fail(CUDA_ERROR_NOT_SUPPORTED, "launch attribute " + std::to_string(int(attributes[i].id)) + " is not supported");
    }
  }
}
static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value));
/// Reads the attributes of a configuration of either interface.
template <typename Config>
static Operation attributesOf(const Config &c) {
  Operation work;
  readAttributes(reinterpret_cast<const cudaLaunchAttribute *>(c.attrs), c.numAttrs, work);
  return work;
}

/// Checks the sizes of a launch, as a GPU does.
static void check(const Operation &work) {
  const Dim3 &g = work.grid, &b = work.block;
  if (!g.count() || !b.count() || b.count() > 1024 || b.z > 64 || g.x > 0x7FFFFFFF || g.y > 65535 || g.z > 65535)
    fail(Status(cudaErrorInvalidConfiguration),
        "expected a grid of at most 2147483647 x 65535 x 65535 and blocks of 1 to 1024 threads, found " +
            std::to_string(g.x) + " x " + std::to_string(g.y) + " x " + std::to_string(g.z) + " and " +
            std::to_string(b.count()) + " threads");
  int most = work.function->mostShared();
  if (int64_t(work.dynamicShared) > most)
    invalid(shortName(work.function->name) + ": expected at most " + std::to_string(most) +
            " bytes of dynamic shared memory, found " + std::to_string(work.dynamicShared) +
            ": cudaFuncSetAttribute raises the limit");
}

Operation mx::sim::cuda::kernelOf(
    const void *kernel, Dim3 grid, Dim3 block, size_t shared, void **arguments, void **extra, Operation work) {
  require(shared <= UINT32_MAX);
  work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
  work.function = &functionOf(kernel);
  work.grid = grid;
  work.block = block;
  work.dynamicShared = uint32_t(shared);
  if (!work.cluster.x)
    work.cluster = work.function->requiredCluster;
  check(work);
  work.parameters = pack(*work.function, arguments, extra);
  return work;
}

static Operation cooperative() {
  Operation work;
  work.isCooperative = true;
  return work;
}

MX_DRIVER(cuLaunchKernel,
    (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
        CUstream stream, void **arguments, void **extra),
    { submit(stream, kernelOf(function, {gx, gy, gz}, {bx, by, bz}, shared, arguments, extra)); })
MX_DRIVER(cuLaunchCooperativeKernel,
    (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
        CUstream stream, void **arguments),
    { submit(stream, kernelOf(function, {gx, gy, gz}, {bx, by, bz}, shared, arguments, nullptr, cooperative())); })
MX_DRIVER(cuLaunchKernelEx, (const CUlaunchConfig *c, CUfunction function, void **arguments, void **extra), {
  submit(c->hStream,
      kernelOf(function, {c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ},
          c->sharedMemBytes, arguments, extra, attributesOf(*c)));
})
MX_RUNTIME(cudaLaunchKernel,
    (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
    { submit(stream, kernelOf(kernel, of(grid), of(block), shared, arguments, nullptr)); })
MX_RUNTIME(__cudaLaunchKernel,
    (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
    { submit(stream, kernelOf(kernel, of(grid), of(block), shared, arguments, nullptr)); })
MX_RUNTIME(cudaLaunchCooperativeKernel,
    (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
    { submit(stream, kernelOf(kernel, of(grid), of(block), shared, arguments, nullptr, cooperative())); })
MX_RUNTIME(cudaLaunchKernelExC, (const cudaLaunchConfig_t *c, const void *kernel, void **arguments), {
  submit(c->stream,
      kernelOf(kernel, of(c->gridDim), of(c->blockDim), c->dynamicSmemBytes, arguments, nullptr, attributesOf(*c)));
})

namespace {
struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
} // namespace
/// Configurations of <<<...>>> before the call of the kernel.
static thread_local std::vector<Configuration> configurations;

MX_PUBLIC unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
MX_PUBLIC cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (configurations.empty())
    return cudaErrorMissingConfiguration;
  Configuration c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t *>(stream) = c.stream;
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Attributes of kernels
//===----------------------------------------------------------------------===//

static void setAttribute(const void *kernel, int attribute, int value) {
  Function &function = functionOf(kernel);
  int most = int(Session::get().chip->sharedPerBlock);
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || value > most)
      invalid("expected at most " + std::to_string(most) + " bytes of dynamic shared memory, found " +
              std::to_string(value));
    function.maxDynamicShared = value;
    break;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: function.nonPortableCluster = value; break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: function.requiredCluster.x = uint32_t(value); break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: function.requiredCluster.y = uint32_t(value); break;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: function.requiredCluster.z = uint32_t(value); break;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: break; // hints
  default: invalid("expected an attribute of kernels that can be set, found " + std::to_string(attribute));
  }
}

static int maxThreads(const KernelInfo &info) {
  for (const auto &block : {info.requiredBlock, info.maximumBlock})
    if (block[0])
      return int(std::max(block[0], 1u) * std::max(block[1], 1u) * std::max(block[2], 1u));
  return 1024;
}

static int getAttribute(const void *kernel, int attribute) {
  const Function &function = functionOf(kernel);
  const KernelInfo &info = function.info();
  const Chip &chip = *Session::get().chip;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return maxThreads(info);
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return int(info.staticSharedBytes);
  // PTX has no register counts. This is the most that a block may use.
  case CU_FUNC_ATTRIBUTE_NUM_REGS: return std::min(255, kRegistersPerSm / maxThreads(info) / 8 * 8);
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return 10 * chip.capability.major + chip.capability.minor;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return function.mostShared();
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: return function.nonPortableCluster;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return int(function.requiredCluster.x);
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return int(function.requiredCluster.y);
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return int(function.requiredCluster.z);
  default: return 0; // constant and local memory, cache mode, hints
  }
}

MX_DRIVER(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),
    { setAttribute(function, attribute, value); })
MX_DRIVER(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function),
    { *value = getAttribute(function, attribute); })
MX_DRIVER(cuKernelSetAttribute, (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice),
    { setAttribute(kernel, attribute, value); })
MX_DRIVER(cuKernelGetAttribute, (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice),
    { *value = getAttribute(kernel, attribute); })
MX_RUNTIME(cudaFuncSetAttribute, (const void *kernel, cudaFuncAttribute attribute, int value),
    { setAttribute(kernel, attribute, value); })
MX_RUNTIME(cudaKernelSetAttributeForDevice, (cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int),
    { setAttribute(kernel, attribute, value); })
MX_RUNTIME(cudaFuncGetAttributes, (cudaFuncAttributes * result, const void *kernel), {
  auto get = [&](int attribute) { return getAttribute(kernel, attribute); };
  *result = {};
  result->sharedSizeBytes = size_t(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  result->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  result->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  result->ptxVersion = result->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  result->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  result->preferredShmemCarveout = -1;
  result->nonPortableClusterSizeAllowed = get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
})

//===----------------------------------------------------------------------===//
// Occupancy: limits of threads, blocks and shared memory, not of registers
//===----------------------------------------------------------------------===//

static int occupancy(const void *kernel, int threads, size_t dynamic) {
  const KernelInfo &info = functionOf(kernel).info();
  require(threads >= 1);
  int warps = (threads + 31) / 32;
  size_t shared = info.staticSharedBytes + dynamic + kReservedShared;
  return threads > maxThreads(info)
             ? 0
             : std::min({kBlocksPerSm, kThreadsPerSm / 32 / warps, int(Session::get().chip->sharedPerSm / shared)});
}
MX_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int threads, size_t dynamic),
    { *blocks = occupancy(function, threads, dynamic); })
MX_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    (int *blocks, CUfunction function, int threads, size_t dynamic, unsigned),
    { *blocks = occupancy(function, threads, dynamic); })
MX_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
    (int *blocks, const void *kernel, int threads, size_t dynamic), { *blocks = occupancy(kernel, threads, dynamic); })
MX_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    (int *blocks, const void *kernel, int threads, size_t dynamic, unsigned),
    { *blocks = occupancy(kernel, threads, dynamic); })

static size_t availableShared(const void *kernel, int blocks) {
  const KernelInfo &info = functionOf(kernel).info();
  const Chip &chip = *Session::get().chip;
  int64_t each = int64_t(chip.sharedPerSm) / std::max(blocks, 1) - kReservedShared - info.staticSharedBytes;
  return size_t(std::clamp<int64_t>(each, 0, chip.sharedPerBlock - info.staticSharedBytes));
}
MX_DRIVER(cuOccupancyAvailableDynamicSMemPerBlock, (size_t *bytes, CUfunction function, int blocks, int),
    { *bytes = availableShared(function, blocks); })
MX_RUNTIME(cudaOccupancyAvailableDynamicSMemPerBlock, (size_t *bytes, const void *kernel, int blocks, int),
    { *bytes = availableShared(kernel, blocks); })
MX_DRIVER(cuOccupancyMaxPotentialBlockSize,
    (int *grid, int *block, CUfunction function, CUoccupancyB2DSize dynamicOf, size_t dynamic, int limit), {
      int most = maxThreads(functionOf(function).info()), best = 0;
      if (limit > 0)
        most = std::min(most, limit);
      for (int threads = most; threads > 0; threads = threads % 32 ? threads / 32 * 32 : threads - 32) {
        int blocks = occupancy(function, threads, dynamicOf ? dynamicOf(threads) : dynamic);
        if (blocks * threads > best) {
          best = blocks * threads;
          *block = threads;
          *grid = blocks * int(Session::get().options.smCount);
        }
      }
    })

template <typename Config>
static int clusters(const void *kernel, const Config &c, uint64_t threads, size_t dynamic) {
  int size = int(std::max<uint64_t>(attributesOf(c).cluster.count(), 1));
  // CuTe DSL asks for more threads than its kernel declares.
  int most = maxThreads(functionOf(kernel).info());
  return int(Session::get().options.smCount) * occupancy(kernel, std::min(int(threads), most), dynamic) / size;
}
MX_RUNTIME(cudaOccupancyMaxActiveClusters, (int *count, const void *kernel, const cudaLaunchConfig_t *c),
    { *count = clusters(kernel, *c, of(c->blockDim).count(), c->dynamicSmemBytes); })
MX_DRIVER(cuOccupancyMaxActiveClusters, (int *count, CUfunction function, const CUlaunchConfig *c),
    { *count = clusters(function, *c, c->blockDimX * c->blockDimY * c->blockDimZ, c->sharedMemBytes); })
MX_RUNTIME(cudaOccupancyMaxPotentialClusterSize, (int *size, const void *kernel, const cudaLaunchConfig_t *),
    { *size = functionOf(kernel).nonPortableCluster ? 16 : 8; })
MX_DRIVER(cuOccupancyMaxPotentialClusterSize, (int *size, CUfunction function, const CUlaunchConfig *),
    { *size = functionOf(function).nonPortableCluster ? 16 : 8; })
