//===- Device.cpp - Devices, contexts, properties, errors, entry points ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "mxsim/tensor/TensorMap.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mx::sim;
using namespace mx::sim::cuda;

static bool isDevice(int ordinal) { return ordinal >= 0 && size_t(ordinal) < Session::get().devices.size(); }

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

namespace {
/// Property that is the same on all chips.
struct Property {
  CUdevice_attribute attribute;
  int value;
};
} // namespace

static const Property kProperties[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 1}, // accepted, without effect
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 134213632},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
};

/// Returns an attribute of a chip; 0 for unknown features, which are absent.
static int attributeOf(const Chip &chip, CUdevice_attribute attribute) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return int(Session::get().options.smCount);
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return chip.capability.major;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return chip.capability.minor;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return chip.clockKhz;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return chip.memoryClockKhz;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return chip.busBits;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return int(chip.l2);
  case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE: return int(chip.l2 / 8 * 5); // accepted, without effect
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return int(chip.sharedPerSm);
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return int(chip.sharedPerBlock);
  default: break;
  }
  for (const Property &property : kProperties)
    if (property.attribute == attribute)
      return property.value;
  return 0;
}

static Status getAttribute(int *value, int attribute, int device) {
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  *value = attributeOf(*Session::get().chip, CUdevice_attribute(attribute));
  return CUDA_SUCCESS;
}

static void fillProperties(const Chip &chip, int device, cudaDeviceProp &p) {
  memset(&p, 0, sizeof p);
  auto get = [&](CUdevice_attribute attribute) { return attributeOf(chip, attribute); };
  strncpy(p.name, chip.product, sizeof p.name - 1);
  p.uuid.bytes[0] = char(device + 1);
  p.totalGlobalMem = Session::get().devices[size_t(device)]->memory.bytesCapacity();
  p.pciBusID = device + 1;
  const std::pair<int *, CUdevice_attribute> kInts[] = {
      {&p.regsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
      {&p.warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
      {&p.maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {&p.maxThreadsDim[0], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
      {&p.maxThreadsDim[1], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
      {&p.maxThreadsDim[2], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
      {&p.maxGridSize[0], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
      {&p.maxGridSize[1], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
      {&p.maxGridSize[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
      {&p.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&p.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&p.multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&p.canMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
      {&p.concurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
      {&p.ECCEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
      {&p.asyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
      {&p.unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
      {&p.memoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
      {&p.l2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {&p.maxThreadsPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
      {&p.streamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
      {&p.globalL1CacheSupported, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED},
      {&p.localL1CacheSupported, CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED},
      {&p.regsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
      {&p.managedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
      {&p.concurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
      {&p.computePreemptionSupported, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED},
      {&p.canUseHostPointerForRegisteredMem, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
      {&p.cooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
      {&p.maxBlocksPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
      {&p.hostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
      {&p.persistingL2CacheMaxSize, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE},
      {&p.accessPolicyMaxWindowSize, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE},
      {&p.memoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
      {&p.clusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH},
  };
  const std::pair<size_t *, CUdevice_attribute> kSizes[] = {
      {&p.sharedMemPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
      {&p.memPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
      {&p.totalConstMem, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
      {&p.textureAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT},
      {&p.texturePitchAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT},
      {&p.surfaceAlignment, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT},
      {&p.sharedMemPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
      {&p.sharedMemPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {&p.reservedSharedMemPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
  };
  for (auto [member, attribute] : kInts)
    *member = get(attribute);
  for (auto [member, attribute] : kSizes)
    *member = size_t(get(attribute));
}

MX_DRIVER(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
    { return getAttribute(value, attribute, device); })
MX_RUNTIME(cudaDeviceGetAttribute, (int *value, cudaDeviceAttr attribute, int device),
    { return getAttribute(value, attribute, device); })
MX_RUNTIME(cudaGetDeviceProperties, (cudaDeviceProp * p, int device), {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  fillProperties(*Session::get().chip, device, *p);
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaChooseDevice, (int *device, const cudaDeviceProp *), {
  *device = 0;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuDeviceGetName, (char *name, int bytes, CUdevice device), {
  if (!isDevice(device) || bytes < 1)
    return CUDA_ERROR_INVALID_DEVICE;
  strncpy(name, Session::get().chip->product, size_t(bytes) - 1);
  name[bytes - 1] = 0;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuDeviceTotalMem, (size_t *bytes, CUdevice device), {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  *bytes = Session::get().devices[size_t(device)]->memory.bytesCapacity();
  return CUDA_SUCCESS;
})
MX_DRIVER(cuDeviceComputeCapability, (int *major, int *minor, CUdevice), {
  *major = Session::get().chip->capability.major;
  *minor = Session::get().chip->capability.minor;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), {
  *uuid = {};
  uuid->bytes[0] = char(device + 1);
  return CUDA_SUCCESS;
})
MX_BOTH(cuDeviceGetPCIBusId, cudaDeviceGetPCIBusId, (char *name, int bytes, int device), {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, size_t(bytes), "0000:%02X:00.0", device + 1);
  return CUDA_SUCCESS;
})

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

static Status select(int device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  Session::get().current() = device;
  return CUDA_SUCCESS;
}
MX_BOTH(cuDeviceGetCount, cudaGetDeviceCount, (int *number), {
  *number = int(Session::get().devices.size());
  return CUDA_SUCCESS;
})
MX_DRIVER(cuInit, (unsigned), { return CUDA_SUCCESS; })
MX_DRIVER(cuDeviceGet, (CUdevice * device, int ordinal), {
  *device = ordinal;
  return isDevice(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
})
MX_RUNTIME(cudaSetDevice, (int device), { return select(device); })
MX_RUNTIME(cudaInitDevice, (int device, unsigned, unsigned), { return select(device); })
MX_RUNTIME(cudaGetDevice, (int *device), {
  *device = Session::get().current();
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaSetDeviceFlags, (unsigned), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaGetDeviceFlags, (unsigned *flags), {
  *flags = 0;
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaSetValidDevices, (int *, int), { return CUDA_SUCCESS; })

MX_BOTH(cuCtxSynchronize, cudaDeviceSynchronize, (), {
  Session::get().settle();
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxSynchronize_v2, (CUcontext), {
  Session::get().settle();
  return CUDA_SUCCESS;
})
/// Frees the memory of the current device and clears the error of a launch.
static Status reset() {
  Session &session = Session::get();
  session.sticky = CUDA_SUCCESS;
  std::vector<uint64_t> all;
  for (auto &[address, block] : session.blocks)
    if (block.device == session.current() && block.kind != Block::Registered)
      all.push_back(address);
  for (uint64_t address : all)
    release(address);
  return CUDA_SUCCESS;
}
extern "C" __attribute__((visibility("default"))) cudaError_t CUDARTAPI cudaDeviceReset() {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  Status last = std::exchange(session.sticky, CUDA_SUCCESS);
  run("cudaDeviceReset", true, reset);
  return cudaError_t(last);
}

// Contexts: the current one of a thread is on top of its stack.
static std::vector<Context *> &stack() {
  static thread_local std::vector<Context *> contexts;
  return contexts;
}
static Context *in(CUcontext context) { return reinterpret_cast<Context *>(context); }
static CUcontext out(Context *context) { return reinterpret_cast<CUcontext>(context); }
static Context *top() { return stack().empty() ? &Session::get().device().primary : stack().back(); }
/// Returns true for contexts of cuCtxCreate, and for primary contexts.
static bool isContext(Context *context) {
  for (std::unique_ptr<Device> &device : Session::get().devices)
    if (context == &device->primary)
      return true;
  return isLive(context);
}
static Status makeCurrent(Context *context, bool isPushed) {
  if (context && !isContext(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!isPushed && !stack().empty())
    stack().pop_back();
  if (context) {
    stack().push_back(context);
    Session::get().current() = context->device;
  }
  return CUDA_SUCCESS;
}
static Status createContext(CUcontext *context, unsigned flags, CUdevice device) {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  auto *made = make<Context>(device, flags);
  *context = out(made);
  return makeCurrent(made, true);
}
MX_DRIVER(cuCtxCreate, (CUcontext * context, CUctxCreateParams *, unsigned flags, CUdevice device),
    { return createContext(context, flags, device); })
// Programs of earlier releases call this version.
#undef cuCtxCreate_v2
extern "C" CUresult CUDAAPI cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
MX_DRIVER(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),
    { return createContext(context, flags, device); })
MX_DRIVER(cuCtxDestroy, (CUcontext context), {
  std::vector<Context *> &all = stack();
  all.erase(std::remove(all.begin(), all.end(), in(context)), all.end());
  return destroy(in(context)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
})
MX_DRIVER(cuCtxPushCurrent, (CUcontext context), { return makeCurrent(in(context), true); })
MX_DRIVER(cuCtxPopCurrent, (CUcontext * context), {
  if (stack().empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context)
    *context = out(stack().back());
  stack().pop_back();
  Session::get().current() = top()->device;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxSetCurrent, (CUcontext context), { return makeCurrent(in(context), false); })
MX_DRIVER(cuCtxGetCurrent, (CUcontext * context), {
  *context = stack().empty() ? nullptr : out(stack().back());
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxGetDevice, (CUdevice * device), {
  *device = top()->device;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxGetDevice_v2, (CUdevice * device, CUcontext context), {
  *device = (context ? in(context) : top())->device;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxGetFlags, (unsigned *flags), {
  *flags = top()->flags;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxGetId, (CUcontext context, unsigned long long *id), {
  *id = uint64_t(context ? in(context) : top());
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxGetApiVersion, (CUcontext, unsigned *version), {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxSetCacheConfig, (CUfunc_cache), { return CUDA_SUCCESS; })
MX_DRIVER(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), {
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  *context = out(&Session::get().devices[size_t(device)]->primary);
  return CUDA_SUCCESS;
})
MX_DRIVER(cuDevicePrimaryCtxRelease, (CUdevice), { return CUDA_SUCCESS; })
MX_DRIVER(cuDevicePrimaryCtxSetFlags, (CUdevice, unsigned), { return CUDA_SUCCESS; })
MX_DRIVER(cuDevicePrimaryCtxReset, (CUdevice), { return reset(); })
MX_DRIVER(cuDevicePrimaryCtxGetState, (CUdevice, unsigned *flags, int *isActive), {
  *flags = 0;
  *isActive = 1;
  return CUDA_SUCCESS;
})

// Limits are kept and have no effect.
MX_DRIVER(cuCtxSetLimit, (CUlimit limit, size_t value), {
  top()->limits[limit] = value;
  return CUDA_SUCCESS;
})
MX_DRIVER(cuCtxGetLimit, (size_t *value, CUlimit limit), {
  *value = top()->limits[limit];
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaDeviceSetLimit, (cudaLimit limit, size_t value), {
  top()->limits[limit] = value;
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaDeviceGetLimit, (size_t *value, cudaLimit limit), {
  *value = top()->limits[limit];
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaDeviceSetCacheConfig, (cudaFuncCache), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaDeviceGetCacheConfig, (cudaFuncCache * config), {
  *config = cudaFuncCachePreferNone;
  return CUDA_SUCCESS;
})
MX_RUNTIME(cudaCtxResetPersistingL2Cache, (), { return CUDA_SUCCESS; })
MX_BOTH(cuCtxGetStreamPriorityRange, cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
})

// Peers: all devices are connected.
MX_BOTH(cuDeviceCanAccessPeer, cudaDeviceCanAccessPeer, (int *can, int device, int peer), {
  if (!isDevice(device) || !isDevice(peer))
    return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer;
  return CUDA_SUCCESS;
})
static Status enablePeer(int peer) {
  Device &device = Session::get().device();
  if (!isDevice(peer) || peer == Session::get().current())
    return CUDA_ERROR_INVALID_DEVICE;
  return device.peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
static Status disablePeer(int peer) {
  return Session::get().device().peers.erase(peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
MX_RUNTIME(cudaDeviceEnablePeerAccess, (int peer, unsigned), { return enablePeer(peer); })
MX_RUNTIME(cudaDeviceDisablePeerAccess, (int peer), { return disablePeer(peer); })
MX_DRIVER(cuCtxEnablePeerAccess, (CUcontext peer, unsigned),
    { return isContext(in(peer)) ? enablePeer(in(peer)->device) : CUDA_ERROR_INVALID_CONTEXT; })
MX_DRIVER(cuCtxDisablePeerAccess, (CUcontext peer),
    { return isContext(in(peer)) ? disablePeer(in(peer)->device) : CUDA_ERROR_INVALID_CONTEXT; })
MX_RUNTIME(cudaDeviceGetP2PAttribute, (int *value, cudaDeviceP2PAttr attribute, int, int), {
  *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported;
  return CUDA_SUCCESS;
})

//===----------------------------------------------------------------------===//
// Versions, errors, profiler
//===----------------------------------------------------------------------===//

static Status version(int *number) {
  *number = CUDA_VERSION;
  return CUDA_SUCCESS;
}
MX_BOTH(cuDriverGetVersion, cudaDriverGetVersion, (int *number), { return version(number); })
MX_RUNTIME(cudaRuntimeGetVersion, (int *number), { return version(number); })
MX_BOTH(cuProfilerStart, cudaProfilerStart, (), { return CUDA_SUCCESS; })
MX_BOTH(cuProfilerStop, cudaProfilerStop, (), { return CUDA_SUCCESS; })
#define MX_PUBLIC extern "C" __attribute__((visibility("default")))

namespace {
struct ErrorName {
  int number;
  const char *driver, *runtime, *text;
};
} // namespace
static const ErrorName kErrors[] = {
#include "Errors.inc"
};
static const ErrorName *findError(int number) {
  for (const ErrorName &error : kErrors)
    if (error.number == number)
      return &error;
  return nullptr;
}
MX_PUBLIC const char *CUDARTAPI cudaGetErrorName(cudaError_t error) {
  const ErrorName *found = findError(error);
  return found && found->runtime ? found->runtime : "unrecognized error code";
}
MX_PUBLIC const char *CUDARTAPI cudaGetErrorString(cudaError_t error) {
  const ErrorName *found = findError(error);
  return found ? found->text : "unrecognized error code";
}
MX_PUBLIC CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text) {
  const ErrorName *found = findError(error);
  *text = found ? found->driver : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
MX_PUBLIC CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text) {
  const ErrorName *found = findError(error);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
/// Returns the error of a launch, which stays, or the last error of the thread.
static cudaError_t takeError(bool isCleared) {
  Session &session = Session::get();
  std::lock_guard<std::recursive_mutex> lock(session.mutex);
  if (session.sticky)
    return cudaError_t(session.sticky);
  return isCleared ? std::exchange(lastError, cudaSuccess) : lastError;
}
MX_PUBLIC cudaError_t CUDARTAPI cudaGetLastError() { return takeError(true); }
MX_PUBLIC cudaError_t CUDARTAPI cudaPeekAtLastError() { return takeError(false); }
MX_PUBLIC cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(
    int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

/// Tables of NVIDIA's own libraries. CUDA's runtime needs the one of this name.
MX_DRIVER(cuGetExportTable, (const void **, const CUuuid *id), {
  return memcmp(id->bytes, "\x6b\xd5\xfb\x6c", 4)
             ? CUDA_ERROR_NOT_SUPPORTED
             : fail(CUDA_ERROR_NOT_SUPPORTED,
                   "found a program or library that contains CUDA's runtime without symbols: link it with nvcc -cudart "
                   "shared, or keep its symbols");
})
/// Reports a function that is not supported. Called by the definitions of generate.py.
extern "C" __attribute__((visibility("hidden"))) int mxSimMissing(const char *name) {
  return int(run(
      name, strncmp(name, "cuda", 4) == 0, [] { return fail(CUDA_ERROR_NOT_SUPPORTED, "not supported by mx-sim"); },
      /*needsStart=*/false));
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Returns the newest variant of a function of this library for a version of
/// CUDA, or null.
static void *findFunction(const char *name, int version) {
  static void *self = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void *>(&findFunction), &info);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  static const std::map<std::string, int> since = {
#include "Versions.inc"
  };
  for (const char *suffix : {"_v4", "_v3", "_v2", ""}) {
    std::string variant = std::string(name) + suffix;
    auto first = since.find(variant);
    if (first == since.end() || first->second <= version)
      if (void *found = dlsym(self, variant.c_str()))
        return found;
  }
  return nullptr;
}
MX_DRIVER(cuGetProcAddress,
    (const char *name, void **function, int version, cuuint64_t, CUdriverProcAddressQueryResult *result), {
      *function = findFunction(name, version);
      if (result)
        *result = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
      return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    })
static Status entryPoint(const char *name, void **function, unsigned version, cudaDriverEntryPointQueryResult *result) {
  *function = findFunction(name, int(version));
  if (result)
    *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function ? CUDA_SUCCESS : Status(cudaErrorSymbolNotFound);
}
MX_RUNTIME(cudaGetDriverEntryPoint,
    (const char *name, void **function, unsigned long long, cudaDriverEntryPointQueryResult *result),
    { return entryPoint(name, function, CUDA_VERSION, result); })
MX_RUNTIME(cudaGetDriverEntryPointByVersion,
    (const char *name, void **function, unsigned version, unsigned long long, cudaDriverEntryPointQueryResult *result),
    { return entryPoint(name, function, version, result); })

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

MX_DRIVER(cuTensorMapEncodeTiled,
    (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims,
        const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *elementStrides,
        CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
        CUtensorMapFloatOOBfill fill),
    {
      if (rank < 1 || rank > maxTensorRank)
        return invalid("expected a rank of 1 to 5, found " + std::to_string(rank));
      TensorMapDesc desc;
      desc.globalAddress = uint64_t(address);
      desc.type = TmapType(type);
      desc.rank = rank;
      for (unsigned i = 0; i < rank; ++i) {
        desc.dims[i] = dims[i];
        desc.box[i] = box[i];
        desc.elementStrides[i] = elementStrides[i];
        if (i)
          desc.strides[i - 1] = strides[i - 1];
      }
      desc.interleave = TmapInterleave(interleave);
      desc.swizzle = TmapSwizzle(swizzle);
      desc.l2 = TmapL2(l2);
      desc.oob = TmapOob(fill);
      if (std::string why = validate(desc); !why.empty())
        return invalid(why);
      encodeTensorMap(desc, reinterpret_cast<uint8_t *>(map));
      return CUDA_SUCCESS;
    })
MX_DRIVER(cuTensorMapReplaceAddress, (CUtensorMap * map, void *address), {
  TensorMapDesc desc;
  auto *image = reinterpret_cast<uint8_t *>(map);
  if (std::string why = decodeTensorMap(image, desc); !why.empty())
    return invalid(why);
  desc.globalAddress = uint64_t(address);
  encodeTensorMap(desc, image);
  return CUDA_SUCCESS;
})
