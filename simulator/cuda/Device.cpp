//===- Device.cpp - Devices, contexts, properties, errors, entry points ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "mxsim/tensor/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

using namespace mx::sim;
using namespace mx::sim::cuda;

Device &mx::sim::cuda::deviceAt(int ordinal) {
  auto &devices = Session::get().devices;
  require(ordinal >= 0 && size_t(ordinal) < devices.size(), CUDA_ERROR_INVALID_DEVICE);
  return *devices[size_t(ordinal)];
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// Returns an attribute of the devices; 0 for others, which are absent features.
static int attributeOf(int attribute) {
  const Chip &chip = *Session::get().chip;
  static const std::map<int, int> values = {
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
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
      {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 1}, // accepted, without effect
      {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 134213632},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, int(Session::get().options.smCount)},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, chip.capability.major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, chip.capability.minor},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, chip.clockKhz},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, chip.memoryClockKhz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, chip.busBits},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, int(chip.l2)},
      {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, int(chip.l2 / 8 * 5)}, // accepted, without effect
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, int(chip.sharedPerSm)},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, int(chip.sharedPerBlock)},
  };
  auto found = values.find(attribute);
  return found == values.end() ? 0 : found->second;
}

static void getAttribute(int *value, int attribute, int device) {
  require(value);
  deviceAt(device);
  *value = attributeOf(attribute);
}

static void fillProperties(int device, cudaDeviceProp &p) {
  memset(&p, 0, sizeof p);
  strncpy(p.name, Session::get().chip->product, sizeof p.name - 1);
  p.uuid.bytes[0] = char(device + 1);
  p.totalGlobalMem = deviceAt(device).memory.bytesCapacity();
  p.pciBusID = device + 1;
  auto set = [](auto &member, int attribute) { member = std::decay_t<decltype(member)>(attributeOf(attribute)); };
  for (int i = 0; i < 3; ++i) {
    set(p.maxThreadsDim[i], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i);
    set(p.maxGridSize[i], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i);
  }
  set(p.regsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  set(p.warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  set(p.maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  set(p.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  set(p.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  set(p.multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  set(p.canMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  set(p.concurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  set(p.ECCEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  set(p.asyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  set(p.unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  set(p.memoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  set(p.l2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  set(p.maxThreadsPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  set(p.streamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  set(p.globalL1CacheSupported, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  set(p.localL1CacheSupported, CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  set(p.regsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  set(p.managedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  set(p.concurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  set(p.computePreemptionSupported, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  set(p.canUseHostPointerForRegisteredMem, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  set(p.cooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  set(p.maxBlocksPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  set(p.hostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  set(p.persistingL2CacheMaxSize, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  set(p.accessPolicyMaxWindowSize, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  set(p.memoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  set(p.clusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  set(p.sharedMemPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  set(p.memPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  set(p.totalConstMem, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  set(p.textureAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  set(p.texturePitchAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  set(p.surfaceAlignment, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
  set(p.sharedMemPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  set(p.sharedMemPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  set(p.reservedSharedMemPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
}

MX_DRIVER(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
    { getAttribute(value, attribute, device); })
MX_RUNTIME(cudaDeviceGetAttribute, (int *value, cudaDeviceAttr attribute, int device),
    { getAttribute(value, attribute, device); })
MX_RUNTIME(cudaGetDeviceProperties, (cudaDeviceProp * p, int device), { fillProperties(device, *p); })
MX_RUNTIME(cudaChooseDevice, (int *device, const cudaDeviceProp *), { *device = 0; })
MX_DRIVER(cuDeviceGetName, (char *name, int bytes, CUdevice device), {
  deviceAt(device);
  require(bytes >= 1, CUDA_ERROR_INVALID_DEVICE);
  snprintf(name, size_t(bytes), "%s", Session::get().chip->product);
})
MX_DRIVER(cuDeviceTotalMem, (size_t *bytes, CUdevice device), { *bytes = deviceAt(device).memory.bytesCapacity(); })
MX_DRIVER(cuDeviceComputeCapability, (int *major, int *minor, CUdevice), {
  *major = Session::get().chip->capability.major;
  *minor = Session::get().chip->capability.minor;
})
MX_DRIVER(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), {
  *uuid = {};
  uuid->bytes[0] = char(device + 1);
})
MX_BOTH(cuDeviceGetPCIBusId, cudaDeviceGetPCIBusId, (char *name, int bytes, int device), {
  deviceAt(device);
  snprintf(name, size_t(bytes), "0000:%02X:00.0", device + 1);
})

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

static void select(int device) {
  deviceAt(device);
  Session::get().current() = device;
}
MX_BOTH(cuDeviceGetCount, cudaGetDeviceCount, (int *number), { *number = int(Session::get().devices.size()); })
MX_DRIVER(cuDeviceGet, (CUdevice * device, int ordinal), {
  deviceAt(ordinal);
  *device = ordinal;
})
MX_RUNTIME(cudaSetDevice, (int device), { select(device); })
MX_RUNTIME(cudaInitDevice, (int device, unsigned, unsigned), { select(device); })
MX_RUNTIME(cudaGetDevice, (int *device), { *device = Session::get().current(); })
MX_RUNTIME(cudaGetDeviceFlags, (unsigned *flags), { *flags = 0; })

MX_BOTH(cuCtxSynchronize, cudaDeviceSynchronize, (), { Session::get().settle(); })
MX_DRIVER(cuCtxSynchronize_v2, (CUcontext), { Session::get().settle(); })
/// Frees the memory of the current device and clears the error of a launch.
static void reset() {
  Session &session = Session::get();
  session.sticky = CUDA_SUCCESS;
  std::vector<uint64_t> all;
  for (auto &[address, block] : session.blocks)
    if (block.device == session.current() && block.kind != Block::Registered)
      all.push_back(address);
  for (uint64_t address : all)
    release(address);
}
MX_PUBLIC cudaError_t CUDARTAPI cudaDeviceReset() {
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
static CUcontext out(Context *context) { return reinterpret_cast<CUcontext>(context); }
static Context &top() { return stack().empty() ? Session::get().device().primary : *stack().back(); }
/// Returns a context of cuCtxCreate, or a primary context.
static Context &in(CUcontext handle) {
  for (std::unique_ptr<Device> &device : Session::get().devices)
    if (handle == out(&device->primary))
      return device->primary;
  return live<Context>(handle, CUDA_ERROR_INVALID_CONTEXT);
}
static void push(Context &context) {
  stack().push_back(&context);
  Session::get().current() = context.device;
}
static void createContext(CUcontext *result, unsigned flags, CUdevice device) {
  deviceAt(device);
  auto *context = make<Context>(device, flags);
  *result = out(context);
  push(*context);
}
MX_DRIVER(cuCtxCreate, (CUcontext * context, CUctxCreateParams *, unsigned flags, CUdevice device),
    { createContext(context, flags, device); })
// Programs of earlier releases call this version.
#undef cuCtxCreate_v2
extern "C" CUresult CUDAAPI cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
MX_DRIVER(
    cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device), { createContext(context, flags, device); })
MX_DRIVER(cuCtxDestroy, (CUcontext handle), {
  Context &context = live<Context>(handle, CUDA_ERROR_INVALID_CONTEXT);
  std::vector<Context *> &all = stack();
  all.erase(std::remove(all.begin(), all.end(), &context), all.end());
  destroy(context);
})
MX_DRIVER(cuCtxPushCurrent, (CUcontext context), {
  if (context)
    push(in(context));
})
MX_DRIVER(cuCtxPopCurrent, (CUcontext * context), {
  require(!stack().empty(), CUDA_ERROR_INVALID_CONTEXT);
  if (context)
    *context = out(stack().back());
  stack().pop_back();
  Session::get().current() = top().device;
})
MX_DRIVER(cuCtxSetCurrent, (CUcontext context), {
  Context *next = context ? &in(context) : nullptr;
  if (!stack().empty())
    stack().pop_back();
  if (next)
    push(*next);
})
MX_DRIVER(cuCtxGetCurrent, (CUcontext * context), { *context = stack().empty() ? nullptr : out(stack().back()); })
MX_DRIVER(cuCtxGetDevice, (CUdevice * device), { *device = top().device; })
MX_DRIVER(
    cuCtxGetDevice_v2, (CUdevice * device, CUcontext context), { *device = (context ? in(context) : top()).device; })
MX_DRIVER(cuCtxGetFlags, (unsigned *flags), { *flags = top().flags; })
MX_DRIVER(cuCtxGetId, (CUcontext context, unsigned long long *id), { *id = uint64_t(context ? &in(context) : &top()); })
MX_DRIVER(cuCtxGetApiVersion, (CUcontext, unsigned *version), { *version = CUDA_VERSION; })
MX_DRIVER(
    cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), { *context = out(&deviceAt(device).primary); })
MX_DRIVER(cuDevicePrimaryCtxReset, (CUdevice), { reset(); })
MX_DRIVER(cuDevicePrimaryCtxGetState, (CUdevice, unsigned *flags, int *isActive), {
  *flags = 0;
  *isActive = 1;
})

// Limits are kept and have no effect.
MX_DRIVER(cuCtxSetLimit, (CUlimit limit, size_t value), { top().limits[limit] = value; })
MX_DRIVER(cuCtxGetLimit, (size_t *value, CUlimit limit), { *value = top().limits[limit]; })
MX_RUNTIME(cudaDeviceSetLimit, (cudaLimit limit, size_t value), { top().limits[limit] = value; })
MX_RUNTIME(cudaDeviceGetLimit, (size_t *value, cudaLimit limit), { *value = top().limits[limit]; })
MX_RUNTIME(cudaDeviceGetCacheConfig, (cudaFuncCache * config), { *config = cudaFuncCachePreferNone; })
MX_BOTH(cuCtxGetStreamPriorityRange, cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
})

// Peers: all devices are connected.
MX_BOTH(cuDeviceCanAccessPeer, cudaDeviceCanAccessPeer, (int *can, int device, int peer),
    { *can = &deviceAt(device) != &deviceAt(peer); })
static void enablePeer(int peer) {
  Device &device = Session::get().device();
  require(&deviceAt(peer) != &device, CUDA_ERROR_INVALID_DEVICE);
  require(device.peers.insert(peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}
static void disablePeer(int peer) {
  require(Session::get().device().peers.erase(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}
MX_RUNTIME(cudaDeviceEnablePeerAccess, (int peer, unsigned), { enablePeer(peer); })
MX_RUNTIME(cudaDeviceDisablePeerAccess, (int peer), { disablePeer(peer); })
MX_DRIVER(cuCtxEnablePeerAccess, (CUcontext peer, unsigned), { enablePeer(in(peer).device); })
MX_DRIVER(cuCtxDisablePeerAccess, (CUcontext peer), { disablePeer(in(peer).device); })
MX_RUNTIME(cudaDeviceGetP2PAttribute, (int *value, cudaDeviceP2PAttr attribute, int, int),
    { *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported; })

//===----------------------------------------------------------------------===//
// Versions, errors, profiler
//===----------------------------------------------------------------------===//

MX_BOTH(cuDriverGetVersion, cudaDriverGetVersion, (int *number), { *number = CUDA_VERSION; })
MX_RUNTIME(cudaRuntimeGetVersion, (int *number), { *number = CUDA_VERSION; })

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
  require(!memcmp(id->bytes, "\x6b\xd5\xfb\x6c", 4), CUDA_ERROR_NOT_SUPPORTED);
  fail(CUDA_ERROR_NOT_SUPPORTED, "found a program or library that contains CUDA's runtime without symbols: link it "
                                 "with nvcc -cudart shared, or keep its symbols");
})
// Called by the definitions of generate.py.
#define MX_STUB extern "C" __attribute__((visibility("hidden"))) int
static bool isRuntime(const char *name) { return !strncmp(name, "cuda", 4); }
MX_STUB mxSimNothing(const char *name) {
  return int(run(name, isRuntime(name), [] {}));
}
MX_STUB mxSimMissing(const char *name) {
  auto report = [] { fail(CUDA_ERROR_NOT_SUPPORTED, "not supported by mx-sim"); };
  return int(run(name, isRuntime(name), report, /*needsStart=*/false));
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
template <typename Result>
static void entryPoint(const char *name, void **function, int version, Result *result) {
  *function = findFunction(name, version);
  if (result)
    *result = Result(*function ? 0 : 1); // success, or no such symbol
  require(*function, CUDA_ERROR_NOT_FOUND);
}
MX_DRIVER(cuGetProcAddress,
    (const char *name, void **function, int version, cuuint64_t, CUdriverProcAddressQueryResult *result),
    { entryPoint(name, function, version, result); })
MX_RUNTIME(cudaGetDriverEntryPoint,
    (const char *name, void **function, unsigned long long, cudaDriverEntryPointQueryResult *result),
    { entryPoint(name, function, CUDA_VERSION, result); })
MX_RUNTIME(cudaGetDriverEntryPointByVersion,
    (const char *name, void **function, unsigned version, unsigned long long, cudaDriverEntryPointQueryResult *result),
    { entryPoint(name, function, int(version), result); })

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
        invalid("expected a rank of 1 to 5, found " + std::to_string(rank));
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
        invalid(why);
      encodeTensorMap(desc, reinterpret_cast<uint8_t *>(map));
    })
MX_DRIVER(cuTensorMapReplaceAddress, (CUtensorMap * map, void *address), {
  TensorMapDesc desc;
  auto *image = reinterpret_cast<uint8_t *>(map);
  if (std::string why = decodeTensorMap(image, desc); !why.empty())
    invalid(why);
  desc.globalAddress = uint64_t(address);
  encodeTensorMap(desc, image);
})
