//===- Device.h - What a device of the runtime does -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one interface behind which a GPU and the simulator look alike. Arguments
// have been checked for what holds on every device; implementations are
// thread-safe and report by value.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_DEVICE_H
#define MX_RUNTIME_LIB_DEVICE_H

#include "mx_runtime.h"

#include "mx/Target/TensorMap.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

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
};

/// A module as it came, told apart by its first bytes.
struct Image {
  enum Kind { Ptx, Cubin, Fatbin } kind = Ptx;
  /// PTX: NUL-terminated after its end.
  std::string bytes;
  std::string name;
  /// The .target of PTX, "" for binaries.
  std::string target;
};

struct Launch {
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; ///< zeros: as the kernel was compiled
  uint32_t dynamicSharedMemory;
  void *stream;
  bool programmatic, cooperative;
  /// By host code that was made for a GPU and cannot look at errors (mgpu).
  bool isForeign;
};

enum class Copy { ToDevice, ToHost, OnDevice, Guess };

struct Limits {
  int64_t multiprocessors, sharedMemoryPerBlock;
};

/// GPUs and simulated devices of a process, at most.
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
  /// Among the devices of its kind.
  const int ordinal;
  /// Among all devices: below kMostDevices.
  const int index;
  /// "cuda:1", as mxSetDevice takes it.
  std::string name() const {
    return (kind == Kind::Cuda ? "cuda:" : "sim:") + std::to_string(ordinal);
  }

  virtual mxDeviceInfo info() = 0;
  /// The part of info() that every call asks for.
  virtual Limits limits() = 0;
  virtual bool canRun(std::string_view target) = 0;

  /// `shared`: the host may use the memory as well.
  virtual Error alloc(size_t bytes, bool shared, void *&memory) = 0;
  virtual Error free(void *memory) = 0;
  /// In the order of the default stream, without a wait for what runs there:
  /// only that may use the memory, until it has been waited for.
  virtual Error allocInOrder(size_t bytes, void *&memory) {
    return alloc(bytes, false, memory);
  }
  virtual Error freeInOrder(void *memory) { return free(memory); }
  /// Memory of another device of the same kind may take part.
  virtual Error copy(Copy kind, void *to, const void *from, size_t bytes,
                     void *stream) = 0;
  /// Writes `count` values of `width` bytes (1, 2 or 4).
  virtual Error fill(void *to, uint32_t value, unsigned width, size_t count,
                     void *stream) = 0;
  virtual Error registerHost(void *memory, size_t bytes) = 0;
  virtual Error unregisterHost(void *memory) = 0;

  virtual Error createStream(void *&stream) = 0;
  virtual Error destroyStream(void *stream) = 0;
  virtual Error synchronizeStream(void *stream) = 0;
  virtual Error createEvent(void *&event) = 0;
  virtual Error destroyEvent(void *event) = 0;
  virtual Error synchronizeEvent(void *event) = 0;
  virtual Error recordEvent(void *event, void *stream) = 0;
  virtual Error waitEvent(void *stream, void *event) = 0;
  /// Events that measure time, which only a GPU has.
  virtual Error createTimedEvent(void *&) { return hasNoTime(); }
  /// Between two of them; waits for the second.
  virtual Error elapsed(void *, void *, double &) { return hasNoTime(); }
  virtual Error synchronize() = 0;
  /// Whether what is put on a stream becomes a part of a CUDA graph.
  virtual bool isCapturing(void *) { return false; }

  virtual Error load(Image &image, int optLevel,
                     std::unique_ptr<Module> &module) = 0;
  virtual Error launch(Function &function, const Launch &launch,
                       void **parameters, int64_t count) = 0;
  /// `map` has 128 bytes, aligned to 64.
  virtual Error encodeTensorMap(void *map,
                                const target::TensorMapDesc &desc) = 0;

private:
  Error hasNoTime() const {
    return {MX_ERROR_UNSUPPORTED,
            "expected a GPU to measure time on, found " + name()};
  }
};

/// The device in use, if it is the only one in use and the only one of its
/// kind; else null.
inline std::atomic<Device *> soleDevice = nullptr;
/// Records the first use of a device, one of `count` of its kind.
void noteDevice(Device &device, int count);

/// Number `ordinal` of the simulated devices, or why it cannot be used. It
/// lives as long as the process, because generated code unloads its modules
/// from global destructors. Fails when the environment holds options that mean
/// nothing.
Error getSimDevice(int ordinal, Device *&device);
/// What MX_SIM_DEVICES says, 1 without it.
Error countSimDevices(int &count);
Error setSimOption(std::string_view option, std::string_view value);
mxSimulatorCounters getSimCounters();

/// GPU number `ordinal`, or why it cannot be used. Kept for the process.
Error getCudaDevice(int ordinal, Device *&device);
/// Number of GPUs, or why there is none.
Error countCudaDevices(int &count);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_DEVICE_H
