//===- Mgpu.cpp - The functions that stock MLIR calls ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-to-llvm of LLVM 22 emits calls to these names with these signatures.
// They cannot report, so an error that sticks makes the rest do nothing:
// nothing is launched on memory that could not be allocated.
//===----------------------------------------------------------------------===//

#include "../device/CheckedLaunch.h"
#include "../device/Handles.h"
#include "../device/Selection.h"
#include "Error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

using namespace mx::runtime;

#define MX_MGPU extern "C" MX_API

namespace {

/// Calls a method of the device in use, after an error too.
template <typename Call>
void always(Call call, const char *function = __builtin_FUNCTION()) {
  attempt(
      [&]() -> Error {
        Device *device;
        Error error = getDevice(device);
        return error ? error : call(*device);
      },
      function);
}

/// Does nothing after an error; else calls a method of the device in use.
template <typename Call>
void onDevice(Call call, const char *function = __builtin_FUNCTION()) {
  if (!hasError())
    always(call, function);
}

/// After an error too: what was acquired before it is still released.
template <typename Call>
void release(void *handle, Call call,
             const char *function = __builtin_FUNCTION()) {
  if (handle)
    always(call, function);
}

/// Of mxNextLaunchFlags.
thread_local int32_t nextFlags = 0;

void launchKernel(void *function, mxLaunchConfig config, void **parameters,
                  void **extra, int64_t count,
                  const char *caller = __builtin_FUNCTION()) {
  config.flags = std::exchange(nextFlags, 0);
  if (hasError())
    return;
  attempt(
      [&]() -> Error {
        if (extra)
          return {MX_ERROR_UNSUPPORTED,
                  "expected kernel parameters as an array of pointers, found "
                  "the driver's `extra` form"};
        return launch(static_cast<mxFunction>(function), config, parameters,
                      count, /*isForeign=*/true);
      },
      caller);
}

} // namespace

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

static void *load(const void *data, size_t bytes, int optLevel,
                  const char *function = __builtin_FUNCTION()) {
  mxModule module = nullptr;
  if (!hasError())
    attempt(
        [&] { return loadModule(data, bytes, "gpu.binary", optLevel, module); },
        function);
  return module;
}

MX_MGPU void *mgpuModuleLoad(void *data, size_t bytes) {
  return load(data, bytes, /*optLevel=*/-1);
}

MX_MGPU void *mgpuModuleLoadJIT(void *data, int optLevel) {
  return load(data, 0, optLevel);
}

MX_MGPU void mgpuModuleUnload(void *module) {
  if (module)
    attempt([&] { return unloadModule(static_cast<mxModule>(module)); });
}

MX_MGPU void *mgpuModuleGetFunction(void *module, const char *name) {
  mxFunction function = nullptr;
  if (!hasError())
    attempt([&] {
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
  launchKernel(function,
               {{gridX, gridY, gridZ},
                {blockX, blockY, blockZ},
                {0, 0, 0},
                sharedMemory,
                stream,
                0},
               parameters, extra, int64_t(std::min<size_t>(count, INT64_MAX)));
}

// No count: the kernel's own parameters say how many pointers are read.
MX_MGPU void mgpuLaunchClusterKernel(void *function, intptr_t clusterX,
                                     intptr_t clusterY, intptr_t clusterZ,
                                     intptr_t gridX, intptr_t gridY,
                                     intptr_t gridZ, intptr_t blockX,
                                     intptr_t blockY, intptr_t blockZ,
                                     int32_t sharedMemory, void *stream,
                                     void **parameters, void **extra) {
  launchKernel(function,
               {{gridX, gridY, gridZ},
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

MX_MGPU void *mgpuStreamCreate() {
  void *stream = nullptr;
  onDevice([&](Device &device) { return device.createStream(stream); });
  return stream;
}

MX_MGPU void mgpuStreamDestroy(void *stream) {
  release(stream, [&](Device &device) { return device.destroyStream(stream); });
}

// After an error too: kernels that were launched before it may still use what
// is released next.
MX_MGPU void mgpuStreamSynchronize(void *stream) {
  always([&](Device &device) { return device.synchronizeStream(stream); });
}

MX_MGPU void mgpuStreamWaitEvent(void *stream, void *event) {
  onDevice([&](Device &device) { return device.waitEvent(stream, event); });
}

MX_MGPU void *mgpuEventCreate() {
  void *event = nullptr;
  onDevice([&](Device &device) { return device.createEvent(event); });
  return event;
}

MX_MGPU void mgpuEventDestroy(void *event) {
  release(event, [&](Device &device) { return device.destroyEvent(event); });
}

MX_MGPU void mgpuEventSynchronize(void *event) {
  onDevice([&](Device &device) { return device.synchronizeEvent(event); });
}

MX_MGPU void mgpuEventRecord(void *event, void *stream) {
  onDevice([&](Device &device) { return device.recordEvent(event, stream); });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// Without a stream, as our own host code asks, which uses no other than the
// default stream: a wait for the device would keep kernels from overlapping.
MX_MGPU void *mgpuMemAlloc(uint64_t bytes, void *stream, bool hostShared) {
  void *memory = nullptr;
  onDevice([&](Device &device) {
    return stream || hostShared ? device.alloc(bytes, hostShared, memory)
                                : device.allocInOrder(bytes, memory);
  });
  return memory;
}

MX_MGPU void mgpuMemFree(void *memory, void *stream) {
  release(memory, [&](Device &device) {
    return stream ? device.free(memory) : device.freeInOrder(memory);
  });
}

MX_MGPU void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream) {
  if (bytes)
    onDevice([&](Device &device) {
      return device.copy(Copy::Guess, to, from, bytes, stream);
    });
}

MX_MGPU void mgpuMemset32(void *to, unsigned value, size_t count,
                          void *stream) {
  if (count)
    onDevice([&](Device &device) {
      return device.fill(to, value, 4, count, stream);
    });
}

MX_MGPU void mgpuMemset16(void *to, unsigned short value, size_t count,
                          void *stream) {
  if (count)
    onDevice([&](Device &device) {
      return device.fill(to, value, 2, count, stream);
    });
}

MX_MGPU void mgpuMemHostRegister(void *memory, uint64_t bytes) {
  onDevice([&](Device &device) { return device.registerHost(memory, bytes); });
}

MX_MGPU void mgpuMemHostUnregister(void *memory) {
  onDevice([&](Device &device) { return device.unregisterHost(memory); });
}

MX_MGPU void mgpuSetDefaultDevice(int32_t ordinal) {
  if (!hasError())
    attempt([&] { return setOrdinal(ordinal); });
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

namespace {

/// MLIR's ranked memref descriptor: two pointers, an offset in elements,
/// `rank` sizes and `rank` strides.
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

/// The bytes of a dense memref.
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
              "host memref: expected a size from 0 in dimension " +
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

/// A map in device memory, made once per content: generated code has no way
/// to free it.
Error placeOnDevice(const std::array<uint8_t, 128> &image, void *&result) {
  static std::mutex *mutex = new std::mutex;
  static auto *placed =
      new std::map<std::pair<Device *, std::array<uint8_t, 128>>, void *>;
  Device *device;
  if (Error error = getDevice(device))
    return error;
  std::lock_guard<std::mutex> lock(*mutex);
  void *&slot = (*placed)[{device, image}];
  if (!slot) {
    void *memory = nullptr;
    if (Error error = device->alloc(image.size(), false, memory))
      return error;
    if (Error error = device->copy(Copy::ToDevice, memory, image.data(),
                                   image.size(), nullptr))
      return error;
    slot = memory;
  }
  result = slot;
  return {};
}

} // namespace

void *mxLoadConstant(void **place, const void *data, int64_t bytes) {
  if (!place || (!data && bytes)) {
    reportNull(place ? "the bytes of the constant"
                     : "an address that keeps it");
    return nullptr;
  }
  static auto *mutex = new std::mutex;
  std::lock_guard<std::mutex> lock(*mutex);
  if (*place)
    return *place;
  onDevice([&](Device &device) -> Error {
    void *memory = nullptr;
    // Never none: an array without elements is there too.
    if (Error error =
            device.alloc(std::max<size_t>(size_t(bytes), 1), false, memory))
      return error;
    if (Error error = device.copy(Copy::ToDevice, memory, data, size_t(bytes),
                                  /*stream=*/nullptr))
      return error;
    *place = memory;
    return device.synchronize();
  });
  return *place;
}

MX_MGPU void mgpuMemHostRegisterMemRef(int64_t rank, const MemRef *memref,
                                       int64_t elementBytes) {
  onDevice([&](Device &device) {
    char *begin = nullptr;
    uint64_t bytes = 0;
    Error error = denseRange(rank, *memref, elementBytes, begin, bytes);
    return error ? error : device.registerHost(begin, bytes);
  });
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
  if (hasError())
    return;
  attempt([&] {
    return encodeTensorMap(map,
                           {dataType, rank, globalAddress,
                            reinterpret_cast<const int64_t *>(dims),
                            reinterpret_cast<const int64_t *>(strides),
                            reinterpret_cast<const int32_t *>(box),
                            reinterpret_cast<const int32_t *>(elementStrides),
                            interleave, swizzle, l2Promotion, oobFill});
  });
}

// Dimensions of the memref and the box come outermost first.
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
  Error error = encodeTensorMap(
      image.data(), {dataType, rank, memref.aligned + offset, dims, strides,
                     box, nullptr, interleave, swizzle, l2Promotion, oobFill});
  return error ? error : placeOnDevice(image, result);
}

// Enumerations are passed as i64.
MX_MGPU void *mgpuTensorMapEncodeTiledMemref(
    int64_t rank, const MemRef *memref, int64_t dataType, int64_t interleave,
    int64_t swizzle, int64_t l2Promotion, int64_t oobFill, int64_t *boxDims) {
  void *result = nullptr;
  if (!hasError())
    attempt([&] {
      return encodeMemRef(rank, *memref, dataType, interleave, swizzle,
                          l2Promotion, oobFill, boxDims, result);
    });
  return result;
}
