//===- SimDevice.cpp - Memory, streams and events of the simulator --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SimDevice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace mx::runtime;
using mx::sim::DeviceMemory;

namespace {

/// Host memory is never mapped here, so an address tells where it belongs.
constexpr uint64_t kRangeBytes = 1ull << 44;

uint64_t address(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

bool onDevice(const void *pointer) {
  return address(pointer) - DeviceMemory::kBase < kRangeBytes;
}

} // namespace

SimDevice::SimDevice() {
  // No block of the host may come to lie among the device's addresses. Where
  // the reservation fails (a limit on address space), Linux does not map there
  // by itself either.
  (void)mmap(
      reinterpret_cast<void *>(DeviceMemory::kBase), kRangeBytes, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

mxDeviceInfo SimDevice::info() {
  std::lock_guard<std::mutex> lock(stateMutex);
  mxDeviceInfo info = {};
  strcpy(info.kind, "sim");
  strcpy(info.name, "mx simulator");
  info.multiprocessors = options.smCount;
  info.capabilityMajor = 10;
  info.sharedMemoryPerBlock = mx::sim::LaunchConfig().maxDynamicSharedBytes;
  info.globalMemory = memory.bytesCapacity();
  return info;
}

Limits SimDevice::limits() {
  std::lock_guard<std::mutex> lock(stateMutex);
  return {options.smCount, mx::sim::LaunchConfig().maxDynamicSharedBytes};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Error SimDevice::alloc(size_t bytes, bool isShared, void *&result) {
  if (isShared)
    return allocShared(bytes, result);
  std::lock_guard<std::timed_mutex> lock(mutex);
  uint64_t allocated = memory.alloc(bytes);
  if (!allocated)
    return {MX_ERROR_OUT_OF_MEMORY,
            "allocating " + std::to_string(bytes) +
                " bytes on the simulator failed: " +
                std::to_string(memory.bytesInUse()) + " of " +
                std::to_string(memory.bytesCapacity()) + " bytes are in use"};
  result = reinterpret_cast<void *>(allocated);
  return {};
}

/// What the host may use too is memory of the host, as poisoned as any other.
Error SimDevice::allocShared(size_t bytes, void *&result) {
  constexpr size_t align = 256;
  // An address of its own also for no bytes.
  size_t size = (std::max<size_t>(bytes, 1) + align - 1) / align * align;
  std::unique_ptr<void, void (*)(void *)> host(
      bytes > memory.bytesCapacity() ? nullptr
                                     : std::aligned_alloc(align, size),
      std::free);
  if (!host)
    return {MX_ERROR_OUT_OF_MEMORY, "allocating " + std::to_string(bytes) +
                                        " bytes of shared memory failed"};
  std::lock_guard<std::timed_mutex> lock(mutex);
  auto entry = shared.insert(host.get()).first;
  bool isMapped = false;
  try {
    isMapped = memory.mapHost(host.get(), bytes);
  } catch (...) {
    shared.erase(entry);
    throw;
  }
  if (!isMapped) {
    shared.erase(entry);
    return {MX_ERROR_OUT_OF_MEMORY,
            "the host's memory lies where the device has its addresses"};
  }
  memory.fillPoison(address(host.get()), bytes);
  result = host.release();
  return {};
}

Error SimDevice::registerHost(void *host, size_t bytes) {
  std::lock_guard<std::timed_mutex> lock(mutex);
  if (memory.mapHost(host, bytes))
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "registering host memory: expected memory of the host that is not "
          "registered, found " +
              memory.describe(address(host), bytes)};
}

Error SimDevice::unregisterHost(void *host) {
  std::lock_guard<std::timed_mutex> lock(mutex);
  if (!shared.count(host) && memory.unmapHost(host))
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "unregistering host memory: expected the start of memory that was "
          "registered, found " +
              memory.describe(address(host), 0)};
}

Error SimDevice::free(void *pointer) {
  std::lock_guard<std::timed_mutex> lock(mutex);
  if (shared.erase(pointer)) {
    memory.unmapHost(pointer);
    std::free(pointer);
    return {};
  }
  if (memory.free(address(pointer)))
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "expected the address of an allocation to free, found " +
              memory.describe(address(pointer), 0)};
}

Error SimDevice::notAllocated(const char *what, const void *pointer,
                              size_t bytes) {
  return {MX_ERROR_INVALID_VALUE,
          std::string(what) + ": expected allocated device memory, found " +
              memory.describe(address(pointer), bytes)};
}

Error SimDevice::copy(Copy kind, void *to, const void *from, size_t bytes,
                      void *stream) {
  if (Error error = check(Handle::Stream, stream))
    return error;
  bool toDevice = kind == Copy::ToDevice || kind == Copy::OnDevice;
  bool fromDevice = kind == Copy::ToHost || kind == Copy::OnDevice;
  if (kind == Copy::Guess) {
    toDevice = onDevice(to);
    fromDevice = onDevice(from);
  }
  // Touching it would be a segmentation fault here, as it is with a GPU.
  if ((!toDevice && onDevice(to)) || (!fromDevice && onDevice(from)))
    return {MX_ERROR_INVALID_VALUE,
            "copy: expected host memory, found an address of the device"};
  std::lock_guard<std::timed_mutex> lock(mutex);
  memory.settle();
  if (toDevice && !memory.translate(address(to), bytes))
    return notAllocated("copy", to, bytes);
  if (fromDevice && !memory.translate(address(from), bytes))
    return notAllocated("copy", from, bytes);
  if (toDevice && fromDevice)
    memory.copy(address(to), address(from), bytes);
  else if (toDevice)
    memory.copyIn(address(to), from, bytes);
  else if (fromDevice)
    memory.copyOut(to, address(from), bytes);
  else
    memmove(to, from, bytes);
  return {};
}

Error SimDevice::fill(void *to, uint32_t value, unsigned width, size_t count,
                      void *stream) {
  if (Error error = check(Handle::Stream, stream))
    return error;
  std::lock_guard<std::timed_mutex> lock(mutex);
  memory.settle();
  size_t size = 0;
  uint8_t *bytes = nullptr;
  if (__builtin_mul_overflow(count, width, &size))
    size = SIZE_MAX; // more than anybody has
  else
    bytes = static_cast<uint8_t *>(memory.translate(address(to), size));
  if (!bytes)
    return notAllocated("fill", to, size);
  if (width == 1)
    memset(bytes, int(value), count);
  else
    for (size_t i = 0; i < count; ++i)
      memcpy(bytes + i * width, &value, width); // little endian on both sides
  return {};
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Error SimDevice::create(Handle kind, void *&handle) {
  std::lock_guard<std::mutex> lock(stateMutex);
  auto made = std::make_unique<char>();
  handles[made.get()] = kind;
  handle = made.release();
  return {};
}

Error SimDevice::destroy(Handle kind, void *handle) {
  if (Error error = check(kind, handle))
    return error;
  std::lock_guard<std::mutex> lock(stateMutex);
  if (handles.erase(handle))
    delete static_cast<char *>(handle);
  return {};
}

Error SimDevice::settle(Error error) {
  std::lock_guard<std::timed_mutex> lock(mutex);
  if (!error)
    memory.settle();
  return error;
}

Error SimDevice::check(Handle kind, void *handle) {
  static const char *const names[] = {"a stream", "an event"};
  std::lock_guard<std::mutex> lock(stateMutex);
  auto found = handles.find(handle);
  if (found == handles.end() ? !handle && kind == Handle::Stream
                             : found->second == kind)
    return {};
  return {MX_ERROR_INVALID_VALUE,
          std::string("expected ") + names[int(kind)] +
              " of the simulator, found " +
              (found == handles.end() ? "a handle that is none"
                                      : names[int(found->second)])};
}

//===----------------------------------------------------------------------===//
// The one simulator
//===----------------------------------------------------------------------===//

static SimDevice &simulator() {
  static SimDevice *device = new SimDevice;
  return *device;
}

Error mx::runtime::getSimDevice(Device *&device) {
  // Before anything was set through the interface, which then wins.
  static Error *error = [] {
    SimDevice &device = simulator();
    std::lock_guard<std::mutex> lock(device.stateMutex);
    return new Error(device.options.readEnvironment());
  }();
  device = &simulator();
  return *error;
}

Error mx::runtime::setSimOption(std::string_view option,
                                std::string_view value) {
  Device *device;
  if (Error error = getSimDevice(device))
    return error;
  std::lock_guard<std::mutex> lock(simulator().stateMutex);
  return simulator().options.set(option, value);
}

mxSimulatorCounters mx::runtime::getSimCounters() {
  std::lock_guard<std::mutex> lock(simulator().stateMutex);
  return simulator().counters;
}
