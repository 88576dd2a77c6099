//===- SimDevice.cpp - Memory, streams and events of simulated devices ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SimDevice.h"
#include "../device/Owners.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace mx::runtime;
using mx::sim::DeviceMemory;

namespace {

static_assert(kMostSimDevices == DeviceMemory::kMostDevices);

/// Address range of all devices. Host memory is never mapped here, so an
/// address identifies its owner.
constexpr uint64_t kRangeBytes = kMostSimDevices * DeviceMemory::kBytes;

uint64_t address(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

bool onDevice(const void *pointer) {
  return address(pointer) - DeviceMemory::kBase < kRangeBytes;
}

thread_local const int32_t *interruptFlag = nullptr;

} // namespace

const int32_t *mx::runtime::threadInterrupt() { return interruptFlag; }

void mxSetThreadInterrupt(const int32_t *flag) { interruptFlag = flag; }

bool mx::runtime::isSimAddress(const void *memory, int &ordinal) {
  if (!onDevice(memory))
    return false;
  ordinal = int((address(memory) - DeviceMemory::kBase) / DeviceMemory::kBytes);
  return true;
}

Simulator &Simulator::get() {
  static Simulator *simulator = new Simulator;
  return *simulator;
}

SimDevice::SimDevice(int ordinal, int count)
    : Device(Kind::Sim, ordinal),
      memory(DeviceMemory::defaultCapacity() / uint64_t(count),
             unsigned(ordinal)) {
  // Reserve the devices' addresses, so host memory is not mapped there. If the
  // reservation fails because address space is limited, Linux still does not
  // place memory there by default.
  [[maybe_unused]] static void *reserved = mmap(
      reinterpret_cast<void *>(DeviceMemory::kBase), kRangeBytes, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

mxDeviceInfo SimDevice::info() {
  mxDeviceInfo info = {};
  strcpy(info.kind, "sim");
  strcpy(info.name, "mx simulator");
  strcpy(info.device, name().c_str());
  info.multiprocessors = int32_t(limits().multiprocessors);
  info.capabilityMajor = 10;
  info.sharedMemoryPerBlock = mx::sim::LaunchConfig().maxDynamicSharedBytes;
  info.globalMemory = memory.bytesCapacity();
  return info;
}

Limits SimDevice::limits() {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  return {simulator.options.smCount,
          mx::sim::LaunchConfig().maxDynamicSharedBytes};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Error SimDevice::alloc(size_t bytes, bool isShared, void *&result) {
  if (isShared)
    return allocShared(bytes, result);
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t allocated = memory.alloc(bytes);
  if (!allocated)
    return {MX_ERROR_OUT_OF_MEMORY,
            "allocating " + std::to_string(bytes) + " bytes on " + name() +
                " failed: " + std::to_string(memory.bytesInUse()) + " of " +
                std::to_string(memory.bytesCapacity()) + " bytes are in use"};
  result = reinterpret_cast<void *>(allocated);
  return {};
}

/// Allocates host memory that the device shares, poisoned like device memory.
Error SimDevice::allocShared(size_t bytes, void *&result) {
  constexpr size_t align = 256;
  // Empty allocations need their own address too.
  size_t size = (std::max<size_t>(bytes, 1) + align - 1) / align * align;
  std::unique_ptr<void, void (*)(void *)> host(
      bytes > memory.bytesCapacity() ? nullptr
                                     : std::aligned_alloc(align, size),
      std::free);
  if (!host)
    return {MX_ERROR_OUT_OF_MEMORY, "allocating " + std::to_string(bytes) +
                                        " bytes of shared memory failed"};
  std::lock_guard<std::mutex> lock(mutex);
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
            "host memory overlaps the device's address range"};
  }
  ++hostPieces;
  memory.fillPoison(address(host.get()), bytes);
  result = host.release();
  return {};
}

Error SimDevice::registerHost(void *host, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (memory.mapHost(host, bytes)) {
    ++hostPieces;
    return {};
  }
  return {MX_ERROR_INVALID_VALUE,
          "registering host memory: expected host memory that is not "
          "registered, found " +
              memory.describe(address(host), bytes)};
}

Error SimDevice::unregisterHost(void *host) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!shared.count(host) && memory.unmapHost(host)) {
    --hostPieces;
    return {};
  }
  return {MX_ERROR_INVALID_VALUE,
          "unregistering host memory: expected the start of memory that was "
          "registered, found " +
              memory.describe(address(host), 0)};
}

Error SimDevice::free(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  if (shared.erase(pointer)) {
    memory.unmapHost(pointer);
    --hostPieces;
    std::free(pointer);
    return {};
  }
  if (memory.free(address(pointer)))
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "expected the address of an allocation to free, found " +
              memory.describe(address(pointer), 0)};
}

bool SimDevice::sharesHost(const void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  return !onDevice(pointer) && memory.find(address(pointer));
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
  // Without this check the host's access would cause a segmentation fault, as
  // with a GPU.
  if ((!toDevice && onDevice(to)) || (!fromDevice && onDevice(from)))
    return {MX_ERROR_INVALID_VALUE,
            "copy: expected host memory, found an address of the device"};
  int toOrdinal = ordinal, fromOrdinal = ordinal;
  if (toDevice && fromDevice && isSimAddress(to, toOrdinal) &&
      isSimAddress(from, fromOrdinal) && toOrdinal != fromOrdinal) {
    Device *source, *target;
    Error error = getSimDevice(fromOrdinal, source);
    if (!error)
      error = getSimDevice(toOrdinal, target);
    return error ? error
                 : static_cast<SimDevice *>(target)->copyBetween(
                       *static_cast<SimDevice *>(source), to, from, bytes);
  }
  std::lock_guard<std::mutex> lock(mutex);
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

Error SimDevice::copyBetween(SimDevice &source, void *to, const void *from,
                             size_t bytes) {
  std::scoped_lock lock(mutex, source.mutex);
  memory.settle();
  source.memory.settle();
  const void *begin = source.memory.translate(address(from), bytes);
  if (!begin)
    return source.notAllocated("copy", from, bytes);
  return memory.copyIn(address(to), begin, bytes)
             ? Error()
             : notAllocated("copy", to, bytes);
}

Error SimDevice::fill(void *to, uint32_t value, unsigned width, size_t count,
                      void *stream) {
  if (Error error = check(Handle::Stream, stream))
    return error;
  std::lock_guard<std::mutex> lock(mutex);
  memory.settle();
  size_t size = 0;
  uint8_t *bytes = nullptr;
  if (__builtin_mul_overflow(count, width, &size))
    size = SIZE_MAX; // exceeds any allocation
  else
    bytes = static_cast<uint8_t *>(memory.translate(address(to), size));
  if (!bytes)
    return notAllocated("fill", to, size);
  memory.define(address(to), size);
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

Error SimDevice::create(Handle::Kind kind, void *&handle) {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  auto made = std::make_unique<char>();
  simulator.handles[made.get()] = {kind, this};
  handle = made.release();
  return {};
}

Error SimDevice::createTimedEvent(void *&event) {
  Simulator &simulator = Simulator::get();
  {
    std::lock_guard<std::mutex> lock(simulator.mutex);
    if (simulator.options.timedChip.empty())
      return Device::createTimedEvent(event);
  }
  return create(Handle::Event, event);
}

Error SimDevice::recordEvent(void *event, void *stream) {
  if (Error error = check(Handle::Stream, stream))
    return error;
  if (Error error = check(Handle::Event, event))
    return error;
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  simulator.handles[event].recorded = simulator.modelled;
  return {};
}

Error SimDevice::elapsed(void *begin, void *end, double &microseconds) {
  for (void *event : {begin, end})
    if (Error error = checkKind(Handle::Event, event))
      return error;
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  microseconds =
      simulator.handles[end].recorded - simulator.handles[begin].recorded;
  return {};
}

Error SimDevice::destroy(Handle::Kind kind, void *handle) {
  if (Error error = check(kind, handle))
    return error;
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  if (simulator.handles.erase(handle))
    delete static_cast<char *>(handle);
  return {};
}

Error SimDevice::settle(Error error) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!error)
    memory.settle();
  return error;
}

static const char *const kHandleNames[] = {"a stream", "an event"};

Error SimDevice::checkKind(Handle::Kind kind, void *handle) {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  auto found = simulator.handles.find(handle);
  bool isNone = found == simulator.handles.end();
  if (isNone ? !handle && kind == Handle::Stream : found->second.kind == kind)
    return {};
  return invalidValue(
      std::string("expected ") + kHandleNames[kind] +
      " of the simulator, found " +
      (isNone ? "an invalid handle" : kHandleNames[found->second.kind]));
}

Error SimDevice::check(Handle::Kind kind, void *handle) {
  if (Error error = checkKind(kind, handle))
    return error;
  Device *owner = findSimHandle(handle);
  if (!owner || owner == this)
    return {};
  return invalidValue(std::string("expected ") + kHandleNames[kind] + " of " +
                      name() + ", found one of " + owner->name());
}

Device *mx::runtime::findSimHandle(void *handle) {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  auto found = simulator.handles.find(handle);
  return found == simulator.handles.end() ? nullptr : found->second.device;
}

//===----------------------------------------------------------------------===//
// Simulated devices of the process
//===----------------------------------------------------------------------===//

Error mx::runtime::countSimDevices(int &count) {
  static int number = 1;
  static Error *error = [] {
    const char *text = getenv("MX_SIM_DEVICES");
    if (!text || !*text)
      return new Error;
    char *end = nullptr;
    long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (!value || *end || value > kMostSimDevices)
      return new Error(invalidValue(
          "MX_SIM_DEVICES: expected a number of simulated devices from 1 to " +
          std::to_string(kMostSimDevices) + ", found '" + text + "'"));
    number = int(value);
    return new Error;
  }();
  count = number;
  return *error;
}

/// Devices in use.
static std::atomic<SimDevice *> simDevices[kMostSimDevices];

Error mx::runtime::getSimDevice(int ordinal, Device *&device) {
  // Read the environment before any option is set through the interface,
  // because the interface takes precedence.
  static Error *error = [] {
    Simulator &simulator = Simulator::get();
    std::lock_guard<std::mutex> lock(simulator.mutex);
    std::string why = simulator.options.readEnvironment();
    return why.empty() ? new Error : new Error(invalidValue(why));
  }();
  if (*error)
    return *error;
  int count;
  if (Error error = countSimDevices(count))
    return error;
  if (ordinal < 0 || ordinal >= count)
    return {MX_ERROR_NO_DEVICE, "expected a simulated device below " +
                                    std::to_string(count) + ", found " +
                                    std::to_string(ordinal) +
                                    ": MX_SIM_DEVICES sets the number"};
  static auto *mutex = new std::mutex;
  device = simDevices[ordinal];
  if (device)
    return {};
  std::lock_guard<std::mutex> lock(*mutex);
  if (!simDevices[ordinal]) {
    auto *made = new SimDevice(ordinal, count);
    noteDevice(*made, count);
    simDevices[ordinal] = made;
  }
  device = simDevices[ordinal];
  return {};
}

Device *mx::runtime::getOpenSimDevice(int ordinal) {
  return simDevices[ordinal];
}

Device *mx::runtime::findSimSharing(const void *memory) {
  // The count is usually zero. Then there is no need to wait for a launch to
  // release the lock.
  if (!SimDevice::hostPieces)
    return nullptr;
  for (std::atomic<SimDevice *> &device : simDevices)
    if (SimDevice *used = device; used && used->sharesHost(memory))
      return used;
  return nullptr;
}

Error mx::runtime::setSimOption(std::string_view option,
                                std::string_view value) {
  Device *device;
  if (Error error = getSimDevice(0, device))
    return error;
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  std::string why = simulator.options.set(option, value);
  return why.empty() ? Error() : invalidValue(why);
}

mxSimulatorCounters mx::runtime::getSimCounters() {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.mutex);
  return simulator.counters;
}
