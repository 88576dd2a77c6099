//===- Mgpu.cpp - mgpu functions called by stock MLIR ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code from gpu-to-llvm of LLVM 22 calls functions with these names and
// signatures. The functions return no status, so after an error the thread's
// later calls do nothing: no kernel uses an allocation that failed. Messages
// begin like the messages of MLIR's CUDA wrappers.
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "../device/CheckedLaunch.h"
#include "Calls.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

using namespace mx::runtime;

#define MX_MGPU extern "C" MX_API

namespace {

/// Exported function, and the driver call named by MLIR's wrapper.
struct Caller {
  const char *driverCall;
  const char *function;
  Caller(const char *driverCall, const char *function = __builtin_FUNCTION())
      : driverCall(driverCall), function(function) {}
};

/// Runs and reports `call` even after an error.
template <typename Call>
void always(const Caller &caller, Call call) {
  attempt(call, caller.function, caller.driverCall);
}

/// Runs `call` unless this thread has an error.
template <typename Call>
void unlessFailed(const Caller &caller, Call call) {
  if (!hasError())
    always(caller, call);
}

/// Flags set by mxNextLaunchFlags.
thread_local int32_t nextFlags = 0;

void launchKernel(const Caller &caller, void *function, mxLaunchConfig config,
                  void **parameters, void **extra, int64_t count) {
  config.flags = std::exchange(nextFlags, 0);
  unlessFailed(caller, [&]() -> Error {
    if (extra)
      return {MX_ERROR_UNSUPPORTED,
              "expected kernel parameters as an array of pointers, found "
              "the driver's `extra` form"};
    // Runs on the stream's device, like host code's memory functions.
    Device *device = soleDevice.load(std::memory_order_relaxed);
    if (!device)
      if (Error error = findStreamOwner(config.stream, device))
        return error;
    return launch(static_cast<mxFunction>(function), config, parameters, count,
                  device);
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

static void *load(const Caller &caller, const void *data, size_t bytes,
                  int optLevel) {
  mxModule module = nullptr;
  unlessFailed(caller, [&] {
    return loadModule(data, bytes, "gpu.binary", optLevel,
                      /*isOfHostCode=*/true, module);
  });
  return module;
}

MX_MGPU void *mgpuModuleLoad(void *data, size_t bytes) {
  return load({"cuModuleLoadData"}, data, bytes, /*optLevel=*/-1);
}

MX_MGPU void *mgpuModuleLoadJIT(void *data, int optLevel) {
  return load({"cuModuleLoadDataEx"}, data, 0, optLevel);
}

MX_MGPU void mgpuModuleUnload(void *module) {
  if (module)
    always({"cuModuleUnload"},
           [&] { return unloadModule(static_cast<mxModule>(module)); });
}

MX_MGPU void *mgpuModuleGetFunction(void *module, const char *name) {
  mxFunction function = nullptr;
  unlessFailed({"cuModuleGetFunction"}, [&] {
    return getFunction(static_cast<mxModule>(module), name, function);
  });
  return function;
}

void mxNextLaunchFlags(int32_t flags) { nextFlags = flags; }

MX_MGPU void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                              intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                              intptr_t blockZ, int32_t sharedMemory,
                              void *stream, void **parameters, void **extra,
                              size_t count) {
  launchKernel({"cuLaunchKernel"}, function,
               {sizeof(mxLaunchConfig),
                {gridX, gridY, gridZ},
                {blockX, blockY, blockZ},
                {0, 0, 0},
                sharedMemory,
                stream,
                0},
               parameters, extra, int64_t(std::min<size_t>(count, INT64_MAX)));
}

// The kernel's parameter list determines the number of pointers.
MX_MGPU void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                                     intptr_t clusterY, intptr_t clusterZ,
                                     intptr_t gridX, intptr_t gridY,
                                     intptr_t gridZ, intptr_t blockX,
                                     intptr_t blockY, intptr_t blockZ,
                                     int32_t sharedMemory, void *stream,
                                     void **parameters, void **extra) {
  launchKernel({"cuLaunchKernelEx"}, function,
               {sizeof(mxLaunchConfig),
                {gridX, gridY, gridZ},
                {blockX, blockY, blockZ},
                {clusterX, clusterY, clusterZ},
                sharedMemory,
                stream,
                0},
               parameters, extra, -1);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

// Resources are released even after an error.

MX_MGPU void *mgpuStreamCreate() {
  void *stream = nullptr;
  unlessFailed({"cuStreamCreate"}, onDeviceInUse([&](Device &device) {
                 return device.createStream(stream);
               }));
  return stream;
}

MX_MGPU void mgpuStreamDestroy(void *stream) {
  if (stream)
    always({"cuStreamDestroy"}, onOwnerOfStream(stream, [&](Device &device) {
             return device.destroyStream(stream);
           }));
}

// Runs even after an error, because resources of kernels are released next.
MX_MGPU void mgpuStreamSynchronize(void *stream) {
  always({"cuStreamSynchronize"}, onOwnerOfStream(stream, [&](Device &device) {
           return device.synchronizeStream(stream);
         }));
}

MX_MGPU void mgpuStreamWaitEvent(void *stream, void *event) {
  unlessFailed({"cuStreamWaitEvent"},
               onOwnerOfStream(stream, [&](Device &device) {
                 Error error = checkEvent(device, event);
                 return error ? error : device.waitEvent(stream, event);
               }));
}

MX_MGPU void *mgpuEventCreate() {
  void *event = nullptr;
  unlessFailed({"cuEventCreate"}, onDeviceInUse([&](Device &device) {
                 return device.createEvent(event);
               }));
  return event;
}

MX_MGPU void mgpuEventDestroy(void *event) {
  if (event)
    always({"cuEventDestroy"}, onOwnerOfEvent(event, [&](Device &device) {
             return device.destroyEvent(event);
           }));
}

MX_MGPU void mgpuEventSynchronize(void *event) {
  unlessFailed({"cuEventSynchronize"},
               onOwnerOfEvent(event, [&](Device &device) {
                 return device.synchronizeEvent(event);
               }));
}

MX_MGPU void mgpuEventRecord(void *event, void *stream) {
  unlessFailed({"cuEventRecord"}, onOwnerOfEvent(event, [&](Device &device) {
                 Error error = checkStream(device, stream);
                 return error ? error : device.recordEvent(event, stream);
               }));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// Generated host code passes no stream and uses only the default stream, so the
// allocation is stream-ordered: waiting for the device would serialize kernels.
MX_MGPU void *mgpuMemAlloc(uint64_t bytes, void *stream, bool hostShared) {
  void *memory = nullptr;
  auto alloc = [&](Device &device) {
    return stream || hostShared ? device.alloc(bytes, hostShared, memory)
                                : device.allocInOrder(bytes, memory);
  };
  unlessFailed({hostShared ? "cuMemAllocManaged" : "cuMemAlloc"},
               onOwnerOfStream(stream, alloc));
  return memory;
}

MX_MGPU void mgpuMemFree(void *memory, void *stream) {
  if (memory)
    always({"cuMemFree"}, onOwner(memory, [&](Device &device) {
             return stream ? device.free(memory) : device.freeInOrder(memory);
           }));
}

MX_MGPU void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream) {
  auto copy = [&](Device &device) {
    return device.copy(Copy::Guess, to, from, bytes, stream);
  };
  if (!bytes)
    return;
  if (!to || !from)
    unlessFailed({"cuMemcpyAsync"}, [&] {
      return invalidValue(std::string("mgpuMemcpy: expected ") +
                          (to ? "a source" : "a destination") +
                          ", found a null pointer");
    });
  else if (stream)
    unlessFailed({"cuMemcpyAsync"}, onOwnerOfStream(stream, copy));
  else // either side may be host memory
    unlessFailed({"cuMemcpyAsync"}, onOwner(findOwner(to) ? to : from, copy));
}

static void fill(void *to, unsigned value, unsigned width, size_t count,
                 void *stream, const Caller &caller) {
  auto fill = [&](Device &device) {
    return device.fill(to, value, width, count, stream);
  };
  if (!count)
    return;
  if (stream)
    unlessFailed(caller, onOwnerOfStream(stream, fill));
  else
    unlessFailed(caller, onOwner(to, fill));
}

MX_MGPU void mgpuMemset32(void *to, unsigned value, size_t count,
                          void *stream) {
  fill(to, value, 4, count, stream, {"cuMemsetD32Async"});
}

MX_MGPU void mgpuMemset16(void *to, unsigned short value, size_t count,
                          void *stream) {
  fill(to, value, 2, count, stream, {"cuMemsetD16Async"});
}

MX_MGPU void mgpuMemHostRegister(void *memory, uint64_t bytes) {
  unlessFailed({"cuMemHostRegister"}, onDeviceInUse([&](Device &device) {
                 return device.registerHost(memory, bytes);
               }));
}

MX_MGPU void mgpuMemHostUnregister(void *memory) {
  always({"cuMemHostUnregister"}, onOwner(memory, [&](Device &device) {
           return device.unregisterHost(memory);
         }));
}

MX_MGPU void mgpuSetDefaultDevice(int32_t ordinal) {
  unlessFailed({"cuDevicePrimaryCtxRetain"},
               [&] { return setOrdinal(ordinal); });
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

namespace {

/// MLIR's ranked memref descriptor: two pointers, an offset in elements, `rank`
/// sizes and `rank` strides.
struct MemRef {
  char *allocated;
  char *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];

  const int64_t *sizes() const { return sizesAndStrides; }
  const int64_t *strides(int64_t rank) const { return sizesAndStrides + rank; }
};

Error tooLarge(const char *what) {
  return {MX_ERROR_INVALID_VALUE,
          std::string(what) + ": expected at most 2^63-1 bytes, found more"};
}

/// Computes the byte range of a dense memref.
Error denseRange(int64_t rank, const MemRef &memref, int64_t elementBytes,
                 char *&begin, uint64_t &bytes) {
  int64_t offset = 0, size = 0;
  if (__builtin_mul_overflow(memref.offset, elementBytes, &offset))
    return tooLarge("host memref");
  begin = memref.aligned + offset;
  int64_t stride = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    if (memref.sizes()[i] > 1 && memref.strides(rank)[i] != stride)
      return {MX_ERROR_UNSUPPORTED,
              "host memref: expected stride " + std::to_string(stride) +
                  " in dimension " + std::to_string(i) + ", found " +
                  std::to_string(memref.strides(rank)[i])};
    if (memref.sizes()[i] < 0)
      return {MX_ERROR_INVALID_VALUE,
              "host memref: expected a size of at least 0 in dimension " +
                  std::to_string(i) + ", found " +
                  std::to_string(memref.sizes()[i])};
    if (__builtin_mul_overflow(stride, memref.sizes()[i], &stride))
      return tooLarge("host memref");
  }
  if (__builtin_mul_overflow(stride, elementBytes, &size) || size < 0)
    return tooLarge("host memref");
  bytes = uint64_t(size);
  return {};
}

/// Allocates device memory and fills the memory with `data`. Every stream may
/// use the memory on return.
Error place(Device &device, const void *data, size_t bytes, void *&memory) {
  // Allocate at least one byte, so that empty arrays have an address.
  if (Error error = device.alloc(std::max<size_t>(bytes, 1), false, memory))
    return error;
  Error error;
  if (bytes)
    error = device.copy(Copy::ToDevice, memory, data, bytes,
                        /*stream=*/nullptr);
  if (!error)
    error = device.synchronize();
  if (error)
    (void)device.free(memory);
  return error;
}

/// Copies a tensor map to device memory. Maps with equal contents share one
/// copy, because generated code cannot free maps.
Error placeOnDevice(Device *device, const std::array<uint8_t, 128> &image,
                    void *&result) {
  static std::mutex *mutex = new std::mutex;
  static auto *placed =
      new std::map<std::pair<Device *, std::array<uint8_t, 128>>, void *>;
  std::lock_guard<std::mutex> lock(*mutex);
  void *&slot = (*placed)[{device, image}];
  if (!slot)
    if (Error error = place(*device, image.data(), image.size(), slot)) {
      slot = nullptr;
      return error;
    }
  result = slot;
  return {};
}

} // namespace

void *mxLoadConstant(void **keep, const void *data, int64_t bytes) {
  if (!keep || (!data && bytes)) {
    reportNull(keep ? "the bytes of the constant" : "an address that keeps it");
    return nullptr;
  }
  // `keep` stores the address on the first device; `others` stores the rest.
  static auto *mutex = new std::mutex;
  static auto *others = new std::map<std::pair<void **, Device *>, void *>;
  void *result = nullptr;
  unlessFailed({"cuMemAlloc"}, onDeviceInUse([&](Device &device) -> Error {
                 std::lock_guard<std::mutex> lock(*mutex);
                 void *&slot = !*keep || findOwner(*keep) == &device
                                   ? *keep
                                   : (*others)[{keep, &device}];
                 if (!slot) {
                   void *memory = nullptr;
                   if (Error error = place(device, data, size_t(bytes), memory))
                     return error;
                   slot = memory;
                 }
                 result = slot;
                 return {};
               }));
  return result;
}

MX_MGPU void mgpuMemHostRegisterMemRef(int64_t rank, const MemRef *memref,
                                       int64_t elementBytes) {
  unlessFailed({"cuMemHostRegister"}, onDeviceInUse([&](Device &device) {
                 char *begin = nullptr;
                 uint64_t bytes = 0;
                 Error error =
                     denseRange(rank, *memref, elementBytes, begin, bytes);
                 return error ? error : device.registerHost(begin, bytes);
               }));
}

MX_MGPU void mgpuMemHostUnregisterMemRef(int64_t rank, const MemRef *memref,
                                         int64_t elementBytes) {
  mgpuMemHostUnregister(memref->aligned + memref->offset * elementBytes);
}

MX_MGPU void mgpuTensorMapEncodeTiled(
    void *map, int32_t dataType, uint32_t rank, void *globalAddress,
    const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
    const uint32_t *elementStrides, int32_t interleave, int32_t swizzle,
    int32_t l2Promotion, int32_t oobFill) {
  unlessFailed({"cuTensorMapEncodeTiled"}, [&] {
    return encodeTensorMap(map,
                           {dataType, rank, globalAddress,
                            reinterpret_cast<const int64_t *>(dims),
                            reinterpret_cast<const int64_t *>(strides),
                            reinterpret_cast<const int32_t *>(box),
                            reinterpret_cast<const int32_t *>(elementStrides),
                            interleave, swizzle, l2Promotion, oobFill});
  });
}

// The dimensions of the memref and the box are ordered outermost first.
static Error encodeMemRef(int64_t rank, const MemRef &memref, int64_t dataType,
                          int64_t interleave, int64_t swizzle,
                          int64_t l2Promotion, int64_t oobFill,
                          const int64_t *boxDims, void *&result) {
  constexpr int64_t maxRank = mx::target::kTensorMapMaxRank;
  if (rank < 1 || rank > maxRank)
    return {MX_ERROR_INVALID_VALUE,
            "tensor map: expected a rank from 1 to 5, found " +
                std::to_string(rank)};
  int64_t dims[maxRank] = {}, strides[maxRank] = {};
  int32_t box[maxRank] = {};
  int64_t bits =
      dataType < 0 || dataType >= mx::target::kNumTensorMapTypes
          ? 8
          : mx::target::getInfo(mx::target::TensorMapType(dataType)).bits;
  auto toBytes = [&](int64_t elements, int64_t &bytes) {
    bool isGood = !__builtin_mul_overflow(elements, bits, &bytes);
    bytes /= 8;
    return isGood;
  };
  for (int64_t i = 0; i < rank; ++i) {
    int64_t outer = rank - 1 - i;
    dims[i] = memref.sizes()[outer];
    if (i && !toBytes(memref.strides(rank)[outer], strides[i - 1]))
      return tooLarge("tensor map: a stride");
    if (boxDims[outer] < 1 || boxDims[outer] > INT32_MAX)
      return {MX_ERROR_INVALID_VALUE,
              "tensor map: expected box dimensions from 1 to 256, found " +
                  std::to_string(boxDims[outer])};
    box[i] = int32_t(boxDims[outer]);
  }
  int64_t offset = 0;
  if (!toBytes(memref.offset, offset))
    return tooLarge("tensor map: the offset");
  std::array<uint8_t, 128> image = {};
  void *base = memref.aligned + offset;
  Device *device = findOwner(base);
  if (!device)
    if (Error error = getDevice(device))
      return error;
  Error error =
      encodeTensorMap(image.data(),
                      {dataType, rank, base, dims, strides, box, nullptr,
                       interleave, swizzle, l2Promotion, oobFill},
                      device);
  return error ? error : placeOnDevice(device, image, result);
}

// Enumerations are passed as i64.
MX_MGPU void *mgpuTensorMapEncodeTiledMemref(
    int64_t rank, const MemRef *memref, int64_t dataType, int64_t interleave,
    int64_t swizzle, int64_t l2Promotion, int64_t oobFill, int64_t *boxDims) {
  void *result = nullptr;
  unlessFailed({"cuTensorMapEncodeTiled"}, [&] {
    return encodeMemRef(rank, *memref, dataType, interleave, swizzle,
                        l2Promotion, oobFill, boxDims, result);
  });
  return result;
}
