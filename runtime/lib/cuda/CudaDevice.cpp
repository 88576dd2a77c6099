//===- CudaDevice.cpp - Memory, streams and events of a GPU ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "../device/Owners.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace mx::runtime;
using namespace mx::runtime::cuda;

static CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

Error CudaDevice::open() {
  std::string which = "GPU " + std::to_string(ordinal);
  CUdevice device = 0;
  if (CUresult result = driver.deviceGet(&device, ordinal))
    return {MX_ERROR_NO_DEVICE, which + ": " + driver.describe(result)};
  const struct {
    int attribute;
    int32_t *value;
  } attributes[] = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &deviceInfo.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
       &deviceInfo.capabilityMajor},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
       &deviceInfo.capabilityMinor},
  };
  for (const auto &entry : attributes)
    if (CUresult result =
            driver.deviceGetAttribute(entry.value, entry.attribute, device))
      return driver.error(which + ": cuDeviceGetAttribute", result);
  int shared = 0, pools = 0;
  size_t memory = 0;
  driver.deviceGetAttribute(
      &shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  driver.deviceGetAttribute(&pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                            device);
  driver.deviceTotalMem(&memory, device);
  hasPools = pools;
  deviceInfo.sharedMemoryPerBlock = shared;
  deviceInfo.globalMemory = memory;
  strcpy(deviceInfo.kind, "cuda");
  strcpy(deviceInfo.device, name().c_str());
  driver.deviceGetName(deviceInfo.name, sizeof(deviceInfo.name), device);
  if (CUresult result = driver.primaryCtxRetain(&context, device))
    return {MX_ERROR_NO_DEVICE,
            which + " (" + deviceInfo.name +
                ") cannot be used: " + driver.describe(result)};
  return {};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Error CudaDevice::alloc(size_t bytes, bool shared, void *&memory) {
  // The driver rejects 0 bytes, but tensors may be empty.
  size_t size = bytes ? bytes : 1;
  CUdeviceptr pointer = 0;
  Error error = run("allocating " + std::to_string(bytes) + " bytes", [&]() {
    return shared ? driver.memAllocManaged(&pointer, size, CU_MEM_ATTACH_GLOBAL)
                  : driver.memAlloc(&pointer, size);
  });
  memory = reinterpret_cast<void *>(pointer);
  return error;
}

/// Frees memory after the last use. cuMemFree waits for kernels unless the
/// memory comes from a pool.
Error CudaDevice::free(void *memory) {
  bool isFromPool = takeInOrder(memory);
  return release("freeing memory", [&]() {
    CUresult result = isFromPool ? driver.ctxSynchronize() : CUDA_SUCCESS;
    return result ? result : driver.memFree(address(memory));
  });
}

Error CudaDevice::allocInOrder(size_t bytes, void *&memory) {
  if (!hasPools)
    return alloc(bytes, false, memory);
  // Allocated first, so nothing can fail after the device allocation.
  std::set<void *> noted = {nullptr};
  auto note = noted.extract(noted.begin());
  CUdeviceptr pointer = 0;
  Error error = run("allocating " + std::to_string(bytes) + " bytes", [&]() {
    return driver.memAllocAsync(&pointer, bytes ? bytes : 1, nullptr);
  });
  memory = reinterpret_cast<void *>(pointer);
  note.value() = memory;
  std::lock_guard<std::mutex> lock(mutex);
  if (!error)
    inOrder.insert(std::move(note));
  return error;
}

Error CudaDevice::freeInOrder(void *memory) {
  if (!takeInOrder(memory))
    return free(memory);
  return release("freeing memory", [&]() {
    return driver.memFreeAsync(address(memory), nullptr);
  });
}

/// Removes memory from the allocations of allocInOrder; returns true if found.
bool CudaDevice::takeInOrder(void *memory) {
  std::lock_guard<std::mutex> lock(mutex);
  return inOrder.erase(memory);
}

Error CudaDevice::copy(Copy kind, void *to, const void *from, size_t bytes,
                       void *stream) {
  return wait("copying " + std::to_string(bytes) + " bytes", [&]() {
    switch (kind) {
    case Copy::ToDevice: {
      if (stream)
        return driver.memcpyHtoDAsync(address(to), from, bytes, stream);
      // A copy from pageable memory may return before the last bytes arrive,
      // and other streams do not wait for them.
      CUresult result = driver.memcpyHtoD(address(to), from, bytes);
      return result ? result : driver.streamSynchronize(nullptr);
    }
    case Copy::ToHost:
      return stream ? driver.memcpyDtoHAsync(to, address(from), bytes, stream)
                    : driver.memcpyDtoH(to, address(from), bytes);
    case Copy::OnDevice:
      return driver.memcpyDtoDAsync(address(to), address(from), bytes, stream);
    case Copy::Guess:
      break;
    }
    return driver.memcpyAsync(address(to), address(from), bytes, stream);
  });
}

Error CudaDevice::fill(void *to, uint32_t value, unsigned width, size_t count,
                       void *stream) {
  return run("filling " + std::to_string(count * width) + " bytes", [&]() {
    if (width == 1)
      return driver.memsetD8Async(address(to), value, count, stream);
    if (width == 2)
      return driver.memsetD16Async(address(to), value, count, stream);
    return driver.memsetD32Async(address(to), value, count, stream);
  });
}

Error CudaDevice::registerHost(void *memory, size_t bytes) {
  return run("registering host memory",
             [&]() { return driver.memHostRegister(memory, bytes, 0); });
}

Error CudaDevice::unregisterHost(void *memory) {
  return release("unregistering host memory",
                 [&]() { return driver.memHostUnregister(memory); });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

Error CudaDevice::createStream(void *&stream, bool isUrgent) {
  // The driver raises the value to its most urgent priority.
  constexpr int kUrgent = -100;
  return run("creating a stream", [&]() {
    return driver.streamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                           isUrgent ? kUrgent : 0);
  });
}

Error CudaDevice::destroyStream(void *stream) {
  return release("destroying a stream",
                 [&]() { return driver.streamDestroy(stream); });
}

Error CudaDevice::synchronizeStream(void *stream) {
  return wait("waiting for a stream",
              [&]() { return driver.streamSynchronize(stream); });
}

/// Owners of the events created by the runtime, because the driver cannot
/// report them.
struct Events {
  std::mutex mutex;
  std::map<void *, Device *> owners;
  static Events &get() {
    static auto *events = new Events;
    return *events;
  }
};

Error CudaDevice::createEvent(void *&event) {
  return createEvent(event, CU_EVENT_DISABLE_TIMING);
}

Error CudaDevice::createTimedEvent(void *&event) {
  return createEvent(event, CU_EVENT_DEFAULT);
}

Error CudaDevice::createEvent(void *&event, unsigned flags) {
  Error error = run("creating an event",
                    [&]() { return driver.eventCreate(&event, flags); });
  Events &events = Events::get();
  std::lock_guard<std::mutex> lock(events.mutex);
  if (!error)
    events.owners[event] = this;
  return error;
}

Device *mx::runtime::findGpuOfEvent(void *event) {
  Events &events = Events::get();
  std::lock_guard<std::mutex> lock(events.mutex);
  auto found = events.owners.find(event);
  return found == events.owners.end() ? nullptr : found->second;
}

Error CudaDevice::destroyEvent(void *event) {
  {
    Events &events = Events::get();
    std::lock_guard<std::mutex> lock(events.mutex);
    events.owners.erase(event);
  }
  return release("destroying an event",
                 [&]() { return driver.eventDestroy(event); });
}

Error CudaDevice::synchronizeEvent(void *event) {
  return wait("waiting for an event",
              [&]() { return driver.eventSynchronize(event); });
}

Error CudaDevice::recordEvent(void *event, void *stream) {
  return run("recording an event",
             [&]() { return driver.eventRecord(event, stream); });
}

Error CudaDevice::elapsed(void *begin, void *end, double &microseconds) {
  if (Error error = synchronizeEvent(end))
    return error;
  float milliseconds = 0;
  Error error = run("reading the time between two events", [&]() {
    return driver.eventElapsedTime(&milliseconds, begin, end);
  });
  microseconds = double(milliseconds) * 1000;
  return error;
}

Error CudaDevice::waitEvent(void *stream, void *event) {
  return run("making a stream wait for an event",
             [&]() { return driver.streamWaitEvent(stream, event, 0); });
}

Error CudaDevice::synchronize() {
  return wait("waiting for the device",
              [&]() { return driver.ctxSynchronize(); });
}

bool CudaDevice::isCapturing(void *stream) {
  int status = CU_STREAM_CAPTURE_STATUS_NONE;
  return stream && driver.streamIsCapturing &&
         !run("querying a stream",
              [&]() { return driver.streamIsCapturing(stream, &status); }) &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

//===----------------------------------------------------------------------===//
// Devices of the machine
//===----------------------------------------------------------------------===//

Error mx::runtime::countCudaDevices(int &count) {
  const Driver *driver;
  count = 0;
  if (Error error = getDriver(driver))
    return error;
  CUresult result = driver->deviceGetCount(&count);
  if (result || count == 0)
    return {MX_ERROR_NO_DEVICE,
            "the CUDA driver finds no GPU" +
                (result ? ": " + driver->describe(result) : std::string())};
  return {};
}

/// GPUs in use, and the number of GPUs in the machine.
static std::atomic<CudaDevice *> openGpus[kMostGpus];
static std::atomic<int> gpuCount = 0;

Error mx::runtime::getCudaDevice(int ordinal, Device *&device) {
  static std::mutex *mutex = new std::mutex;
  if ((device = getOpenGpu(ordinal)))
    return {};
  std::lock_guard<std::mutex> lock(*mutex);
  if ((device = getOpenGpu(ordinal)))
    return {};
  int count;
  if (Error error = countCudaDevices(count))
    return error;
  count = std::min(count, kMostGpus);
  if (ordinal < 0 || ordinal >= count)
    return {MX_ERROR_NO_DEVICE, "expected a GPU number below " +
                                    std::to_string(count) + ", found " +
                                    std::to_string(ordinal)};
  const Driver *driver;
  (void)getDriver(driver);
  auto opened = std::make_unique<CudaDevice>(*driver, ordinal);
  if (Error error = opened->open())
    return error;
  device = opened.get();
  noteDevice(*device, count);
  gpuCount = count;
  openGpus[ordinal] = opened.release();
  return {};
}

Device *mx::runtime::getOpenGpu(int ordinal) {
  return ordinal < 0 || ordinal >= kMostGpus ? nullptr
                                             : openGpus[ordinal].load();
}

Device *mx::runtime::getOnlyGpu() {
  return gpuCount.load(std::memory_order_relaxed) == 1 ? getOpenGpu(0)
                                                       : nullptr;
}

Device *mx::runtime::askGpuOfMemory(const void *memory) {
  const Driver *driver;
  if (!gpuCount || getDriver(driver))
    return nullptr;
  // One query returns both attributes. For an unknown address, the query
  // succeeds and sets them to zero.
  unsigned type = 0;
  int ordinal = -1;
  int attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *answers[] = {&type, &ordinal};
  Device *device = nullptr;
  if (driver->pointerGetAttributes(2, attributes, answers, address(memory)) ||
      type != CU_MEMORYTYPE_DEVICE || getCudaDevice(ordinal, device))
    return nullptr;
  return device;
}

Device *mx::runtime::findGpuOfStream(void *stream) {
  if (Device *only = getOnlyGpu())
    return only;
  // The driver's handles of default streams are valid on every device.
  if (uintptr_t(stream) <= kStreamPerThread)
    return nullptr;
  const Driver *driver;
  CUcontext context = nullptr;
  if (!gpuCount || getDriver(driver) || driver->streamGetCtx(stream, &context))
    return nullptr;
  for (std::atomic<CudaDevice *> &device : openGpus)
    if (CudaDevice *gpu = device; gpu && gpu->getContext() == context)
      return gpu;
  return nullptr;
}
