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

Status mx::sim::cuda::pack(Function &function, void **arguments, void **extra, std::vector<uint8_t> &parameters) {
  const KernelInfo *info;
  if (Status status = function.info(info))
    return status;
  parameters.assign(info->parameterBytes, 0);
  if (extra) {
    const void *buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = extra[1];
      else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
        bytes = *static_cast<size_t *>(extra[1]);
    memcpy(parameters.data(), buffer, buffer ? std::min<size_t>(bytes, parameters.size()) : 0);
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < info->parameters.size(); ++i) {
    const ParameterInfo &parameter = info->parameters[i];
    if (!arguments || !arguments[i])
      return invalid(shortName(function.name) + ": expected a value for " + "parameter " + std::to_string(i) +
                     ", found a null pointer");
    memcpy(parameters.data() + parameter.offset, arguments[i], parameter.bytes);
  }
  return CUDA_SUCCESS;
}

Status mx::sim::cuda::readAttributes(const cudaLaunchAttribute *attributes, unsigned count, Operation &work) {
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
      return fail(
          CUDA_ERROR_NOT_SUPPORTED, "launch attribute " + std::to_string(int(attributes[i].id)) + " is not supported");
    }
  }
  return CUDA_SUCCESS;
}
static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value));
static const cudaLaunchAttribute *of(const CUlaunchAttribute *attributes) {
  return reinterpret_cast<const cudaLaunchAttribute *>(attributes);
}
static const cudaLaunchAttribute *of(const cudaLaunchAttribute *attributes) { return attributes; }

/// Checks the sizes of a launch, as a GPU does.
static Status check(const Operation &work) {
  const Dim3 &g = work.grid, &b = work.block;
  if (!g.count() || !b.count() || b.count() > 1024 || b.z > 64 || g.x > 0x7FFFFFFF || g.y > 65535 || g.z > 65535)
    return fail(Status(cudaErrorInvalidConfiguration), "expected a grid of at most 2147483647 x 65535 x 65535 and "
                                                       "blocks of 1 to 1024 threads, found " +
                                                           std::to_string(g.x) + " x " + std::to_string(g.y) + " x " +
                                                           std::to_string(g.z) + " and " + std::to_string(b.count()) +
                                                           " threads");
  const KernelInfo *info;
  if (Status status = work.function->info(info))
    return status;
  int most = work.function->mostShared(*info);
  if (int64_t(work.dynamicShared) > most)
    return invalid(shortName(work.function->name) + ": expected at most " + std::to_string(most) +
                   " bytes of dynamic shared memory, found " + std::to_string(work.dynamicShared) +
                   ": cudaFuncSetAttribute raises the limit");
  return CUDA_SUCCESS;
}

static Status launch(const void *kernel, Dim3 grid, Dim3 block, uint32_t shared, CUstream stream, void **arguments,
    void **extra, Operation work = {}) {
  if (Status status = functionOf(kernel, work.function))
    return status;
  work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
  work.grid = grid;
  work.block = block;
  work.dynamicShared = shared;
  if (!work.cluster.x)
    for (int i = 0; i < 3; ++i)
      (&work.cluster.x)[i] = uint32_t(work.function->requiredCluster[i]);
  if (Status status = check(work))
    return status;
  if (Status status = pack(*work.function, arguments, extra, work.parameters))
    return status;
  return submit(stream, std::move(work));
}

static Dim3 of(dim3 d) { return {d.x, d.y, d.z}; }

MX_DRIVER(cuLaunchKernel,
    (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
        CUstream stream, void **arguments, void **extra),
    { return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, extra); })
MX_DRIVER(cuLaunchCooperativeKernel,
    (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
        CUstream stream, void **arguments),
    {
      Operation work;
      work.isCooperative = true;
      return launch(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, arguments, nullptr, work);
    })
MX_DRIVER(cuLaunchKernelEx, (const CUlaunchConfig *c, CUfunction function, void **arguments, void **extra), {
  Operation work;
  if (Status status = readAttributes(of(c->attrs), c->numAttrs, work))
    return status;
  return launch(function, {c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ},
      c->sharedMemBytes, c->hStream, arguments, extra, work);
})

static Status launchRuntime(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
    cudaStream_t stream, Operation work = {}) {
  if (shared > UINT32_MAX)
    return CUDA_ERROR_INVALID_VALUE;
  return launch(kernel, of(grid), of(block), uint32_t(shared), stream, arguments, nullptr, std::move(work));
}
MX_RUNTIME(cudaLaunchKernel,
    (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
    { return launchRuntime(kernel, grid, block, arguments, shared, stream); })
MX_RUNTIME(__cudaLaunchKernel,
    (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream),
    { return launchRuntime(kernel, grid, block, arguments, shared, stream); })
MX_RUNTIME(cudaLaunchCooperativeKernel,
    (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream), {
      Operation work;
      work.isCooperative = true;
      return launchRuntime(kernel, grid, block, arguments, shared, stream, work);
    })
MX_RUNTIME(cudaLaunchKernelExC, (const cudaLaunchConfig_t *c, const void *kernel, void **arguments), {
  Operation work;
  if (Status status = readAttributes(of(c->attrs), c->numAttrs, work))
    return status;
  return launchRuntime(kernel, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream, work);
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

extern "C" __attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(
    dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
extern "C" __attribute__((visibility("default"))) cudaError_t __cudaPopCallConfiguration(
    dim3 *grid, dim3 *block, size_t *shared, void *stream) {
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

/// Finds a kernel and its description.
static Status find(const void *kernel, Function *&function, const KernelInfo *&info) {
  Status status = functionOf(kernel, function);
  return status ? status : function->info(info);
}

static Status setAttribute(const void *kernel, int attribute, int value) {
  Function *found;
  if (Status status = functionOf(kernel, found))
    return status;
  Function &function = *found;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
    int most = int(Session::get().chip->sharedPerBlock);
    if (value < 0 || value > most)
      return invalid("expected at most " + std::to_string(most) + " bytes of dynamic shared memory, found " +
                     std::to_string(value));
    function.maxDynamicShared = value;
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: function.nonPortableCluster = value; return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    function.requiredCluster[size_t(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)] = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return CUDA_SUCCESS; // hints
  default: return invalid("expected an attribute of kernels that can be set, found " + std::to_string(attribute));
  }
}

static int maxThreads(const KernelInfo &info) {
  for (const auto &block : {info.requiredBlock, info.maximumBlock})
    if (block[0])
      return int(std::max(block[0], 1u) * std::max(block[1], 1u) * std::max(block[2], 1u));
  return 1024;
}
/// PTX has no register counts. This is the most that a block may use.
static int registersOf(const KernelInfo &info) { return std::min(255, kRegistersPerSm / maxThreads(info) / 8 * 8); }

static Status getAttribute(const void *kernel, int attribute, int &value) {
  Function *found;
  const KernelInfo *info;
  if (Status status = find(kernel, found, info))
    return status;
  Function &function = *found;
  const Chip &chip = *Session::get().chip;
  int version = 10 * chip.capability.major + chip.capability.minor;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = maxThreads(*info); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: value = int(info->staticSharedBytes); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: value = registersOf(*info); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: value = version; return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: value = function.mostShared(*info); return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: value = function.nonPortableCluster; return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    value = function.requiredCluster[size_t(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)];
    return CUDA_SUCCESS;
  default:
    value = 0; // constant and local memory, cache mode, hints
    return CUDA_SUCCESS;
  }
}

MX_DRIVER(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),
    { return setAttribute(function, attribute, value); })
MX_DRIVER(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function),
    { return getAttribute(function, attribute, *value); })
MX_DRIVER(cuKernelSetAttribute, (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice),
    { return setAttribute(kernel, attribute, value); })
MX_DRIVER(cuKernelGetAttribute, (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice),
    { return getAttribute(kernel, attribute, *value); })
MX_RUNTIME(cudaFuncSetAttribute, (const void *kernel, cudaFuncAttribute attribute, int value),
    { return setAttribute(kernel, attribute, value); })
MX_RUNTIME(cudaKernelSetAttributeForDevice, (cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int),
    { return setAttribute(kernel, attribute, value); })
MX_DRIVER(cuFuncSetCacheConfig, (CUfunction, CUfunc_cache), { return CUDA_SUCCESS; })
MX_DRIVER(cuFuncSetSharedMemConfig, (CUfunction, CUsharedconfig), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaFuncSetCacheConfig, (const void *, cudaFuncCache), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaFuncSetSharedMemConfig, (const void *, cudaSharedMemConfig), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaFuncGetAttributes, (cudaFuncAttributes * result, const void *kernel), {
  Function *function;
  const KernelInfo *info;
  if (Status status = find(kernel, function, info))
    return status;
  int version = 0;
  getAttribute(kernel, CU_FUNC_ATTRIBUTE_BINARY_VERSION, version);
  *result = {};
  result->sharedSizeBytes = info->staticSharedBytes;
  result->maxThreadsPerBlock = maxThreads(*info);
  result->numRegs = registersOf(*info);
  result->ptxVersion = result->binaryVersion = version;
  result->maxDynamicSharedSizeBytes = function->mostShared(*info);
  result->preferredShmemCarveout = -1;
  result->nonPortableClusterSizeAllowed = function->nonPortableCluster;
  return CUDA_SUCCESS;
})

//===----------------------------------------------------------------------===//
// Occupancy: limits of threads, blocks and shared memory, not of registers
//===----------------------------------------------------------------------===//

static Status occupancy(const void *kernel, int threads, size_t dynamic, int &blocks) {
  Function *function;
  const KernelInfo *info;
  if (Status status = find(kernel, function, info))
    return status;
  if (threads < 1)
    return CUDA_ERROR_INVALID_VALUE;
  const Chip &chip = *Session::get().chip;
  int warps = (threads + 31) / 32;
  size_t shared = info->staticSharedBytes + dynamic + kReservedShared;
  blocks = threads > maxThreads(*info)
               ? 0
               : std::min({kBlocksPerSm, kThreadsPerSm / 32 / warps, int(chip.sharedPerSm / shared)});
  return CUDA_SUCCESS;
}

MX_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int threads, size_t dynamic),
    { return occupancy(function, threads, dynamic, *blocks); })
MX_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    (int *blocks, CUfunction function, int threads, size_t dynamic, unsigned),
    { return occupancy(function, threads, dynamic, *blocks); })
MX_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
    (int *blocks, const void *kernel, int threads, size_t dynamic),
    { return occupancy(kernel, threads, dynamic, *blocks); })
MX_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    (int *blocks, const void *kernel, int threads, size_t dynamic, unsigned),
    { return occupancy(kernel, threads, dynamic, *blocks); })
static Status availableShared(const void *kernel, int blocks, size_t &bytes) {
  Function *function;
  const KernelInfo *info;
  if (Status status = find(kernel, function, info))
    return status;
  const Chip &chip = *Session::get().chip;
  int64_t each = int64_t(chip.sharedPerSm) / std::max(blocks, 1) - kReservedShared - info->staticSharedBytes;
  bytes = size_t(std::clamp<int64_t>(each, 0, chip.sharedPerBlock - info->staticSharedBytes));
  return CUDA_SUCCESS;
}
MX_DRIVER(cuOccupancyAvailableDynamicSMemPerBlock, (size_t *bytes, CUfunction function, int blocks, int),
    { return availableShared(function, blocks, *bytes); })
MX_RUNTIME(cudaOccupancyAvailableDynamicSMemPerBlock, (size_t *bytes, const void *kernel, int blocks, int),
    { return availableShared(kernel, blocks, *bytes); })
MX_DRIVER(cuOccupancyMaxPotentialBlockSize,
    (int *grid, int *block, CUfunction function, CUoccupancyB2DSize dynamicOf, size_t dynamic, int limit), {
      Function *found;
      const KernelInfo *info;
      if (Status status = find(function, found, info))
        return status;
      int most = maxThreads(*info), best = 0;
      if (limit > 0)
        most = std::min(most, limit);
      for (int threads = most; threads > 0; threads = threads % 32 ? threads / 32 * 32 : threads - 32) {
        int blocks = 0;
        size_t shared = dynamicOf ? dynamicOf(threads) : dynamic;
        if (Status status = occupancy(function, threads, shared, blocks))
          return status;
        if (blocks * threads > best) {
          best = blocks * threads;
          *block = threads;
          *grid = blocks * int(Session::get().options.smCount);
        }
      }
      return CUDA_SUCCESS;
    })

template <typename Config>
static Status clusters(int *count, const void *kernel, const Config *c, int threads, size_t dynamic) {
  Operation work;
  if (Status status = readAttributes(of(c->attrs), c->numAttrs, work))
    return status;
  int blocks = 0;
  Function *function;
  const KernelInfo *info;
  if (Status status = find(kernel, function, info))
    return status;
  // CuTe DSL asks for more threads than its kernel declares.
  if (Status status = occupancy(kernel, std::min(threads, maxThreads(*info)), dynamic, blocks))
    return status;
  int size = int(std::max<uint64_t>(work.cluster.count(), 1));
  *count = int(Session::get().options.smCount) * blocks / size;
  return CUDA_SUCCESS;
}
MX_RUNTIME(cudaOccupancyMaxActiveClusters, (int *count, const void *kernel, const cudaLaunchConfig_t *c),
    { return clusters(count, kernel, c, int(of(c->blockDim).count()), c->dynamicSmemBytes); })
MX_DRIVER(cuOccupancyMaxActiveClusters, (int *count, CUfunction function, const CUlaunchConfig *c),
    { return clusters(count, function, c, int(c->blockDimX * c->blockDimY * c->blockDimZ), c->sharedMemBytes); })
static Status clusterSize(int *size, const void *kernel) {
  Function *function;
  if (Status status = functionOf(kernel, function))
    return status;
  *size = function->nonPortableCluster ? 16 : 8;
  return CUDA_SUCCESS;
}
MX_RUNTIME(cudaOccupancyMaxPotentialClusterSize, (int *size, const void *kernel, const cudaLaunchConfig_t *),
    { return clusterSize(size, kernel); })
MX_DRIVER(cuOccupancyMaxPotentialClusterSize, (int *size, CUfunction function, const CUlaunchConfig *),
    { return clusterSize(size, function); })
