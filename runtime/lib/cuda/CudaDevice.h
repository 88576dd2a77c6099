//===- CudaDevice.h - GPU device on top of the CUDA driver ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the device's primary context, which PyTorch and the CUDA runtime share,
// and makes this context current only during a call.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_CUDA_CUDADEVICE_H
#define MX_RUNTIME_LIB_CUDA_CUDADEVICE_H

#include "Driver.h"

#include "mxsim/Image.h"

#include <atomic>
#include <mutex>
#include <set>
#include <type_traits>

namespace mx::runtime::cuda {

/// Makes a context current for the lifetime of the object.
class Current {
public:
  Current(const Driver &driver, CUcontext context) : driver(driver) {
    // The context is usually current (PyTorch uses the same), and the query is
    // cheaper than a push.
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

class CudaDevice;

class CudaFunction : public Function {
public:
  explicit CudaFunction(CudaDevice &device) : device(device) {}
  ~CudaFunction() override;

  CudaDevice &device;
  CUfunction function = nullptr;
  int staticShared = 0;
  int requiredCluster = 1;
  int64_t parameterCount = -1; ///< -1: unknown to the driver
  /// Limits set so far. Writers hold the mutex.
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
      : Device(Kind::Cuda, ordinal), driver(driver) {}
  Error open();

  mxDeviceInfo info() override { return deviceInfo; }
  Limits limits() override {
    return {deviceInfo.multiprocessors, deviceInfo.sharedMemoryPerBlock};
  }
  bool canRun(std::string_view target) override {
    return sim::targetRunsOn(
        target, {deviceInfo.capabilityMajor, deviceInfo.capabilityMinor});
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
  Error createStream(void *&stream, bool isUrgent) override;
  Error destroyStream(void *stream) override;
  Error synchronizeStream(void *stream) override;
  Error createEvent(void *&event) override;
  Error createTimedEvent(void *&event) override;
  Error elapsed(void *begin, void *end, double &microseconds) override;
  Error destroyEvent(void *event) override;
  Error synchronizeEvent(void *event) override;
  Error recordEvent(void *event, void *stream) override;
  Error waitEvent(void *stream, void *event) override;
  Error synchronize() override;
  bool isCapturing(void *stream) override;
  Error load(Image &image, int optLevel,
             std::unique_ptr<Module> &module) override;
  Error launch(Function &function, const Launch &launch, void **parameters,
               int64_t count) override;
  Error encodeTensorMap(void *map, const target::TensorMapDesc &desc) override;

  Error createEvent(void *&event, unsigned flags);
  Error raiseLimits(CudaFunction &function, const Launch &launch);
  bool takeInOrder(void *memory);

  /// Runs one driver call with the context current. `what` describes the call
  /// for errors: a text, or a function that builds the text only on failure.
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
  /// Runs a driver call that releases a resource. Ignores the error that the
  /// driver returns after its shutdown, as in global destructors.
  template <typename Call>
  Error release(const std::string &what, Call call) {
    Current current(driver, context);
    CUresult result = current.result ? current.result : call();
    return result && result != CUDA_ERROR_DEINITIALIZED
               ? driver.error(what, result)
               : Error();
  }
  /// Runs a driver call that waits. If a kernel failed, names the last kernel.
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
  /// Keeps the name of a kernel that is being destroyed, for messages.
  void forget(const CudaFunction &function) {
    std::lock_guard<std::mutex> lock(mutex);
    const CudaFunction *gone = &function;
    if (lastKernel.compare_exchange_strong(gone, nullptr))
      lastName = function.name;
  }

  const Driver &driver;

  CUcontext getContext() const { return context; }

private:
  CUcontext context = nullptr;
  mxDeviceInfo deviceInfo = {};
  bool hasPools = false;
  std::mutex mutex;
  /// Live allocations of allocInOrder.
  std::set<void *> inOrder;
  /// Last launched kernel, or its name once the kernel is destroyed.
  std::atomic<const CudaFunction *> lastKernel = nullptr;
  std::string lastName;
};

} // namespace mx::runtime::cuda

#endif // MX_RUNTIME_LIB_CUDA_CUDADEVICE_H
