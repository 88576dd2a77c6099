//===- Device.h - Interface of a runtime device -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common interface of GPUs and the simulator. Callers check the rules that all
// devices share. Implementations are thread-safe and return errors by value.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_H
#define MX_RUNTIME_LIB_DEVICE_H

#include "mx_runtime.h"

#include "mx/Target/TensorMap.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace mx::sim {
struct Image;
} // namespace mx::sim

namespace mx::runtime {

struct Error {
  int status = MX_SUCCESS;
  std::string text;

  Error() = default;
  Error(int status, std::string text) : status(status), text(std::move(text)) {}
  explicit operator bool() const { return status != MX_SUCCESS; }
};

inline Error invalidValue(std::string text) {
  return {MX_ERROR_INVALID_VALUE, std::move(text)};
}

/// Returns the error of functions that a GPU does not support.
inline Error needsSimulator() {
  return {MX_ERROR_UNSUPPORTED,
          "expected a module of the simulator, found a module of a GPU: load "
          "it while the current device is sim (mxSetThreadDevice)"};
}

class Function {
public:
  virtual ~Function() = default;
  std::string name;
};

class Module {
public:
  virtual ~Module() = default;
  virtual Error getFunction(const char *name,
                            std::unique_ptr<Function> &function) = 0;
  /// Describes the module as JSON; `kernel` may be null. Simulator only.
  virtual Error describe(const char *, std::string &) {
    return needsSimulator();
  }
};

using sim::Image;

/// Settings of mxLaunchReported, and the JSON report of the launch.
struct Reporting {
  const mxReportedLaunch &settings;
  std::string report;
};

struct Launch {
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; ///< all zero: the compiled cluster size
  uint32_t dynamicSharedMemory;
  void *stream;
  bool programmatic, cooperative;
  /// True if the caller is GPU host code, which cannot check errors (mgpu*).
  bool isForeign;
  /// Null unless mxLaunchReported was called. Simulator only.
  Reporting *reporting;
};

enum class Copy { ToDevice, ToHost, OnDevice, Guess };

struct Limits {
  int64_t multiprocessors, sharedMemoryPerBlock;
};

/// Largest number of devices of a process.
inline constexpr int kMostGpus = 64, kMostSimDevices = 16;
inline constexpr int kMostDevices = kMostGpus + kMostSimDevices;

class Device {
public:
  enum class Kind { Cuda, Sim };
  Device(Kind kind, int ordinal)
      : kind(kind), ordinal(ordinal),
        index(kind == Kind::Cuda ? ordinal : kMostGpus + ordinal) {}
  virtual ~Device() = default;

  const Kind kind;
  /// Index among devices of the same kind.
  const int ordinal;
  /// Index among all devices, below kMostDevices.
  const int index;
  /// Returns the name accepted by mxSetDevice, such as "cuda:1".
  std::string name() const {
    return (kind == Kind::Cuda ? "cuda:" : "sim:") + std::to_string(ordinal);
  }

  virtual mxDeviceInfo info() = 0;
  /// Returns the part of info() needed by every call.
  virtual Limits limits() = 0;
  virtual bool canRun(std::string_view target) = 0;

  /// Allocates memory; `shared` memory is also accessible to the host.
  virtual Error alloc(size_t bytes, bool shared, void *&memory) = 0;
  virtual Error free(void *memory) = 0;
  /// Allocates in default-stream order, without a wait. Until earlier work
  /// completes, only the default stream may use the memory.
  virtual Error allocInOrder(size_t bytes, void *&memory) {
    return alloc(bytes, false, memory);
  }
  virtual Error freeInOrder(void *memory) { return free(memory); }
  /// Copies bytes. Either side may belong to another device of the same kind.
  virtual Error copy(Copy kind, void *to, const void *from, size_t bytes,
                     void *stream) = 0;
  /// Writes `count` values of `width` bytes (1, 2 or 4).
  virtual Error fill(void *to, uint32_t value, unsigned width, size_t count,
                     void *stream) = 0;
  virtual Error registerHost(void *memory, size_t bytes) = 0;
  virtual Error unregisterHost(void *memory) = 0;

  /// Creates a stream; a GPU starts work of an urgent stream first.
  virtual Error createStream(void *&stream, bool isUrgent = false) = 0;
  virtual Error destroyStream(void *stream) = 0;
  virtual Error synchronizeStream(void *stream) = 0;
  virtual Error createEvent(void *&event) = 0;
  virtual Error destroyEvent(void *event) = 0;
  virtual Error synchronizeEvent(void *event) = 0;
  virtual Error recordEvent(void *event, void *stream) = 0;
  virtual Error waitEvent(void *stream, void *event) = 0;
  /// Creates a timing event; GPUs only.
  virtual Error createTimedEvent(void *&) { return hasNoTime(); }
  /// Computes the time between two timed events. Waits for the second event.
  virtual Error elapsed(void *, void *, double &) { return hasNoTime(); }
  virtual Error synchronize() = 0;
  /// Returns true if work on the stream is captured into a CUDA graph.
  virtual bool isCapturing(void *) { return false; }

  virtual Error load(Image &image, int optLevel,
                     std::unique_ptr<Module> &module) = 0;
  virtual Error launch(Function &function, const Launch &launch,
                       void **parameters, int64_t count) = 0;
  /// Encodes a tensor map into 128 bytes at `map`, which is 64-byte aligned.
  virtual Error encodeTensorMap(void *map,
                                const target::TensorMapDesc &desc) = 0;

private:
  Error hasNoTime() const {
    return {MX_ERROR_UNSUPPORTED,
            "expected a GPU to measure time, found " + name()};
  }
};

/// The only device in use, or null if other devices are in use or more devices
/// of the same kind exist.
inline std::atomic<Device *> soleDevice = nullptr;
/// Records the first use of a device, one of `count` devices of its kind.
void noteDevice(Device &device, int count);

/// Returns simulated device `ordinal`. The device lives as long as the process,
/// because generated code unloads modules from global destructors. Fails on
/// invalid options in the environment.
Error getSimDevice(int ordinal, Device *&device);
/// Reads MX_SIM_DEVICES; 1 by default.
Error countSimDevices(int &count);
Error setSimOption(std::string_view option, std::string_view value);
mxSimulatorCounters getSimCounters();

/// Returns GPU `ordinal`, which is kept for the life of the process.
Error getCudaDevice(int ordinal, Device *&device);
/// Counts GPUs; fails with the reason if there is none.
Error countCudaDevices(int &count);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_H
