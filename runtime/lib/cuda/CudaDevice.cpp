//===- CudaDevice.cpp - A GPU behind the CUDA driver ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the device's primary context, which PyTorch and the CUDA runtime use
// too, and makes it current only for the length of a call.
//===----------------------------------------------------------------------===//

#include "../Image.h"
#include "Driver.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <type_traits>

using namespace mx::runtime;
using namespace mx::runtime::cuda;

namespace {

/// Makes a context current, and the one before it again.
class Current {
public:
  Current(const Driver &driver, CUcontext context) : driver(driver) {
    // Mostly it is: PyTorch's is the same one, and asking costs less.
    CUcontext now = nullptr;
    if (driver.ctxGetCurrent(&now) == CUDA_SUCCESS && now == context)
      return;
    result = driver.ctxPushCurrent(context);
    isPushed = result == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext ignored;
    if (isPushed)
      driver.ctxPopCurrent(&ignored);
  }
  CUresult result = CUDA_SUCCESS;

private:
  const Driver &driver;
  bool isPushed = false;
};

CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

class CudaDevice;

class CudaFunction : public Function {
public:
  explicit CudaFunction(CudaDevice &device) : device(device) {}
  ~CudaFunction() override;

  CudaDevice &device;
  CUfunction function = nullptr;
  int staticShared = 0;
  int requiredCluster = 1;
  int64_t parameterCount = -1; ///< -1: the driver cannot tell
  /// What the attributes allow so far. Who raises it holds the mutex.
  std::mutex mutex;
  std::atomic<uint32_t> dynamicShared = 48 << 10;
  std::atomic<bool> nonPortable = false;
};

class CudaModule : public Module {
public:
  CudaModule(CudaDevice &device, CUmodule module, std::string name)
      : device(device), module(module), name(std::move(name)) {}
  ~CudaModule() override;
  Error getFunction(const char *name,
                    std::unique_ptr<Function> &function) override;

  CudaDevice &device;
  CUmodule module;
  std::string name;
};

class CudaDevice : public Device {
public:
  CudaDevice(const Driver &driver, int ordinal)
      : driver(driver), ordinal(ordinal) {}
  Error open();

  mxDeviceInfo info() override { return deviceInfo; }
  Limits limits() override {
    return {deviceInfo.multiprocessors, deviceInfo.sharedMemoryPerBlock};
  }
  int number() override { return ordinal; }
  bool canRun(std::string_view target) override {
    return targetRunsOn(target, deviceInfo.capabilityMajor,
                        deviceInfo.capabilityMinor);
  }
  Error alloc(size_t bytes, bool shared, void *&memory) override;
  Error free(void *memory) override;
  Error allocInOrder(size_t bytes, void *&memory) override;
  Error freeInOrder(void *memory) override;
  Error copy(Copy kind, void *to, const void *from, size_t bytes,
             void *stream) override;
  Error fill(void *to, uint32_t value, unsigned width, size_t count,
             void *stream) override;
  Error registerHost(void *memory, size_t bytes) override;
  Error unregisterHost(void *memory) override;
  Error createStream(void *&stream) override;
  Error destroyStream(void *stream) override;
  Error synchronizeStream(void *stream) override;
  Error createEvent(void *&event) override;
  Error destroyEvent(void *event) override;
  Error synchronizeEvent(void *event) override;
  Error recordEvent(void *event, void *stream) override;
  Error waitEvent(void *stream, void *event) override;
  Error synchronize() override;
  Error load(Image &image, int optLevel,
             std::unique_ptr<Module> &module) override;
  Error launch(Function &function, const Launch &launch, void **parameters,
               int64_t count) override;
  Error encodeTensorMap(void *map,
                        const mx::target::TensorMapDesc &desc) override;

  Error raiseLimits(CudaFunction &function, const Launch &launch);
  bool takeInOrder(void *memory);

  /// Runs one driver call with the context current. `what` says what it does,
  /// or is a function that does, for calls that have no time for a text.
  template <typename What, typename Call>
  Error run(const What &what, Call call) {
    Current current(driver, context);
    CUresult result = current.result ? current.result : call();
    if (!result)
      return {};
    if constexpr (std::is_invocable_v<What>)
      return driver.error(what(), result);
    else
      return driver.error(what, result);
  }
  /// The same for what is given back: when global destructors run, the driver
  /// may have shut down already and taken everything with it.
  template <typename Call>
  Error release(const std::string &what, Call call) {
    Current current(driver, context);
    CUresult result = current.result ? current.result : call();
    return result && result != CUDA_ERROR_DEINITIALIZED
               ? driver.error(what, result)
               : Error();
  }
  /// Waits, and names the kernel if one has failed meanwhile.
  template <typename Call>
  Error wait(const std::string &what, Call call) {
    Error error = run(what, call);
    if (error.status == MX_ERROR_KERNEL) {
      std::lock_guard<std::mutex> lock(mutex);
      const CudaFunction *last = lastKernel;
      const std::string &name = last ? last->name : lastName;
      if (!name.empty())
        error.text += "; the last kernel launched was '" + name + "'";
    }
    return error;
  }
  /// What is known of a kernel that goes.
  void forget(const CudaFunction &function) {
    std::lock_guard<std::mutex> lock(mutex);
    const CudaFunction *gone = &function;
    if (lastKernel.compare_exchange_strong(gone, nullptr))
      lastName = function.name;
  }

  const Driver &driver;

private:
  const int ordinal;
  CUcontext context = nullptr;
  mxDeviceInfo deviceInfo = {};
  bool hasPools = false;
  std::mutex mutex;
  /// Allocations of allocInOrder that are not freed.
  std::set<void *> inOrder;
  /// The kernel that was launched last, or its name where it is no more.
  std::atomic<const CudaFunction *> lastKernel = nullptr;
  std::string lastName;
};

} // namespace

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
  // The driver refuses 0 bytes; tensors without elements are legal.
  size_t size = bytes ? bytes : 1;
  CUdeviceptr pointer = 0;
  Error error = run("allocating " + std::to_string(bytes) + " bytes", [&]() {
    return shared ? driver.memAllocManaged(&pointer, size, CU_MEM_ATTACH_GLOBAL)
                  : driver.memAlloc(&pointer, size);
  });
  memory = reinterpret_cast<void *>(pointer);
  return error;
}

/// cuMemFree waits for the kernels that use the memory, but not if it came from
/// a pool.
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
  // Made first, so that nothing can fail once there is memory to lose.
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

/// Whether memory is from allocInOrder; it is not any more.
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
      // From pageable memory the call may return while the last bytes are
      // still on their way, and other streams do not wait for them.
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

Error CudaDevice::createStream(void *&stream) {
  return run("creating a stream", [&]() {
    return driver.streamCreate(&stream, CU_STREAM_NON_BLOCKING);
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

Error CudaDevice::createEvent(void *&event) {
  return run("creating an event", [&]() {
    return driver.eventCreate(&event, CU_EVENT_DISABLE_TIMING);
  });
}

Error CudaDevice::destroyEvent(void *event) {
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

Error CudaDevice::waitEvent(void *stream, void *event) {
  return run("making a stream wait for an event",
             [&]() { return driver.streamWaitEvent(stream, event, 0); });
}

Error CudaDevice::synchronize() {
  return wait("waiting for the device",
              [&]() { return driver.ctxSynchronize(); });
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

CudaFunction::~CudaFunction() { device.forget(*this); }

CudaModule::~CudaModule() {
  (void)device.release("unloading a module",
                       [&]() { return device.driver.moduleUnload(module); });
}

Error CudaDevice::load(Image &image, int optLevel,
                       std::unique_ptr<Module> &module) {
  std::string gpu = std::string(deviceInfo.name) + " (sm_" +
                    std::to_string(deviceInfo.capabilityMajor) +
                    std::to_string(deviceInfo.capabilityMinor) + ")";
  if (image.kind == Image::Ptx && !canRun(image.target))
    return {MX_ERROR_WRONG_TARGET, image.name + ": expected a module for " +
                                       gpu + ", found one for " + image.target};
  // The assembler's log is the only place where it says what is wrong.
  std::string log(16 << 10, '\0');
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                   CU_JIT_OPTIMIZATION_LEVEL};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size()),
                    reinterpret_cast<void *>(uintptr_t(optLevel))};
  unsigned count = optLevel < 0 || optLevel > 4 ? 2 : 3;
  CUmodule loaded = nullptr;
  Error error = run(image.name + ": loading it on " + gpu, [&]() {
    return driver.moduleLoadDataEx(&loaded, image.bytes.c_str(), count, options,
                                   values);
  });
  if (error) {
    log.resize(strnlen(log.c_str(), log.size()));
    while (!log.empty() && strchr(" \n", log.back()))
      log.pop_back();
    if (!log.empty())
      error.text += "\n" + log;
    if (error.status == MX_ERROR_DRIVER)
      error.status = MX_ERROR_BAD_MODULE;
    return error;
  }
  module = std::make_unique<CudaModule>(*this, loaded, image.name);
  return {};
}

Error CudaModule::getFunction(const char *kernel,
                              std::unique_ptr<Function> &result) {
  const Driver &driver = device.driver;
  auto function = std::make_unique<CudaFunction>(device);
  function->name = kernel;
  Error error = device.run("", [&]() {
    return driver.moduleGetFunction(&function->function, module, kernel);
  });
  if (error.status == MX_ERROR_NOT_FOUND)
    return {MX_ERROR_NOT_FOUND, name + ": there is no kernel '" + kernel + "'"};
  if (error)
    return {error.status,
            name + ": finding kernel '" + kernel + "'" + error.text};
  error = device.run(
      "reading the attributes of kernel '" + function->name + "'", [&]() {
        auto get = [&](int attribute, int &value) {
          return driver.funcGetAttribute(&value, attribute, function->function);
        };
        int width = 0, height = 0, depth = 0;
        CUresult result =
            get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function->staticShared);
        if (!result)
          result = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, width);
        if (!result)
          result = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, height);
        if (!result)
          result = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, depth);
        auto atLeastOne = [](int n) { return n < 1 ? 1 : n; };
        function->requiredCluster =
            atLeastOne(width) * atLeastOne(height) * atLeastOne(depth);
        if (!result && driver.funcGetParamInfo) {
          size_t offset, size;
          function->parameterCount = 0;
          while (driver.funcGetParamInfo(function->function,
                                         function->parameterCount, &offset,
                                         &size) == CUDA_SUCCESS)
            ++function->parameterCount;
        }
        return result;
      });
  if (error)
    return error;
  result = std::move(function);
  return {};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// More than 48 KiB of dynamic shared memory and clusters of more than 8 must
/// be asked for once per kernel (CUDA programming guide, clusters and shared
/// memory of compute capability 9.0).
Error CudaDevice::raiseLimits(CudaFunction &function, const Launch &launch) {
  uint32_t cluster = launch.cluster[0] ? launch.cluster[0] * launch.cluster[1] *
                                             launch.cluster[2]
                                       : function.requiredCluster;
  // Limits only rise, so that most launches take no lock.
  if (launch.dynamicSharedMemory <= function.dynamicShared &&
      (cluster <= 8 || function.nonPortable))
    return {};
  std::lock_guard<std::mutex> lock(function.mutex);
  if (launch.dynamicSharedMemory > function.dynamicShared) {
    Error error =
        run("asking for " + std::to_string(launch.dynamicSharedMemory) +
                " bytes of dynamic shared memory for kernel '" + function.name +
                "'",
            [&]() {
              return driver.funcSetAttribute(
                  function.function,
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                  int(launch.dynamicSharedMemory));
            });
    if (error)
      return error;
    function.dynamicShared = launch.dynamicSharedMemory;
  }
  if (cluster > 8 && !function.nonPortable) {
    Error error =
        run("allowing clusters of " + std::to_string(cluster) +
                " blocks for kernel '" + function.name + "'",
            [&]() {
              return driver.funcSetAttribute(
                  function.function,
                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
            });
    if (error)
      return error;
    function.nonPortable = true;
  }
  return {};
}

Error CudaDevice::launch(Function &base, const Launch &launch,
                         void **parameters, int64_t count) {
  auto &function = static_cast<CudaFunction &>(base);
  auto kernel = [&] { return "kernel '" + function.name + "'"; };
  if (count >= 0 && function.parameterCount >= 0 &&
      count != function.parameterCount)
    return {MX_ERROR_BAD_LAUNCH,
            kernel() + ": expected " + std::to_string(function.parameterCount) +
                " parameters, found " + std::to_string(count)};
  int64_t shared = int64_t(launch.dynamicSharedMemory) + function.staticShared;
  if (shared > deviceInfo.sharedMemoryPerBlock)
    return {MX_ERROR_BAD_LAUNCH,
            kernel() + ": expected at most " +
                std::to_string(deviceInfo.sharedMemoryPerBlock) +
                " bytes of shared memory, found " + std::to_string(shared) +
                " (" + std::to_string(function.staticShared) + " static)"};
  if (Error error = raiseLimits(function, launch)) {
    error.status = MX_ERROR_BAD_LAUNCH;
    return error;
  }

  CUlaunchAttribute attributes[3] = {};
  CUlaunchConfig config = {};
  memcpy(config.gridDim, launch.grid, sizeof(config.gridDim));
  memcpy(config.blockDim, launch.block, sizeof(config.blockDim));
  config.sharedMemBytes = launch.dynamicSharedMemory;
  config.hStream = launch.stream;
  config.attrs = attributes;
  if (launch.cluster[0]) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    memcpy(attribute.value.clusterDim, launch.cluster, sizeof(launch.cluster));
  }
  if (launch.programmatic) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cooperative) {
    CUlaunchAttribute &attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  // Written only where it changes: threads that launch share it.
  if (lastKernel != &function)
    lastKernel = &function;
  auto shape = [](const uint32_t *v) {
    return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" +
           std::to_string(v[2]);
  };
  Error error = run([&] { return "launching " + kernel(); },
                    [&]() {
                      return driver.launchKernelEx(&config, function.function,
                                                   parameters, nullptr);
                    });
  if (!error)
    return error;
  error.text +=
      "; grid " + shape(launch.grid) + ", block " + shape(launch.block);
  if (launch.cluster[0])
    error.text += ", cluster " + shape(launch.cluster);
  error.text += ", " + std::to_string(launch.dynamicSharedMemory) +
                " bytes of dynamic shared memory";
  if (error.status != MX_ERROR_KERNEL)
    error.status = MX_ERROR_BAD_LAUNCH;
  return error;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

namespace {

/// A map of a description, which says all that the driver asks.
struct EncodedMap {
  mx::target::TensorMapDesc desc;
  std::array<uint8_t, mx::target::kTensorMapBytes> bytes;
};

/// Maps that this thread has encoded last: a call in a loop encodes the same
/// ones again, and the driver takes longer for one than the rest of a launch
/// does.
EncodedMap &findEncoded(const mx::target::TensorMapDesc &desc) {
  static thread_local std::array<EncodedMap, 64> encoded = {};
  uint64_t hash = desc.globalAddress;
  for (unsigned i = 0; i < desc.rank; ++i)
    hash = hash * 31 + desc.dims[i] * 7 + desc.box[i];
  return encoded[(hash ^ (hash >> 12) ^ (hash >> 24)) % encoded.size()];
}

} // namespace

Error CudaDevice::encodeTensorMap(void *map,
                                  const mx::target::TensorMapDesc &desc) {
  EncodedMap &known = findEncoded(desc);
  if (known.desc.rank && known.desc == desc) {
    memcpy(map, known.bytes.data(), known.bytes.size());
    return {};
  }
  Error error = run("encoding a tensor map", [&]() {
    return driver.tensorMapEncodeTiled(
        map, int(desc.type), desc.rank,
        reinterpret_cast<void *>(desc.globalAddress), desc.dims.data(),
        desc.strides.data(), desc.box.data(), desc.elementStrides.data(),
        int(desc.interleave), int(desc.swizzle), int(desc.l2), int(desc.fill));
  });
  // The driver only says "invalid value".
  if (error.status == MX_ERROR_INVALID_VALUE)
    if (std::string rule = mx::target::check(desc); !rule.empty())
      error.text = "tensor map: " + rule;
  if (!error) {
    known.desc = desc;
    memcpy(known.bytes.data(), map, known.bytes.size());
  }
  return error;
}

//===----------------------------------------------------------------------===//
// The devices of the machine
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

Error mx::runtime::getCudaDevice(int ordinal, Device *&device) {
  static std::mutex *mutex = new std::mutex;
  static auto *devices = new std::map<int, std::unique_ptr<CudaDevice>>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto found = devices->find(ordinal);
  if (found != devices->end()) {
    device = found->second.get();
    return {};
  }
  int count;
  if (Error error = countCudaDevices(count))
    return error;
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
  (*devices)[ordinal] = std::move(opened);
  return {};
}
