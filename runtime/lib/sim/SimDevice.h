//===- SimDevice.h - Simulated device ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation is complete when the call returns. This order is legal for
// all uses of streams and events, so streams and events are only handles.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_SIM_SIMDEVICE_H
#define MX_RUNTIME_LIB_SIM_SIMDEVICE_H

#include "../Device.h"

#include "mxsim/LaunchRecord.h"
#include "mxsim/Report.h"
#include "mxsim/RunOptions.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace mx::runtime {

class SimDevice;
class SimModule;

/// Returns the flag passed by this thread to mxSetThreadInterrupt. Launches
/// pass the flag on as LaunchConfig::interrupt.
const int32_t *threadInterrupt();

class SimFunction : public Function {
public:
  SimModule *module = nullptr;
  const sim::KernelInfo *kernel = nullptr;
};

class SimModule : public Module {
public:
  explicit SimModule(SimDevice &device) : device(device) {}
  ~SimModule() override;
  Error getFunction(const char *name,
                    std::unique_ptr<Function> &function) override;
  Error describe(const char *kernel, std::string &json) override;

  SimDevice &device;
  std::unique_ptr<sim::Module> module;
  std::string ptx;
  /// Kernel, kind and line of all warnings so far.
  std::set<std::tuple<std::string, int, unsigned>> warned;
};

/// State shared by the simulated devices of a process.
struct Simulator {
  /// Held only briefly. Locked after a device's mutex.
  std::mutex mutex;
  sim::RunOptions options;
  mxSimulatorCounters counters = {};
  /// Modeled time of all timed launches so far, in microseconds.
  double modelled = 0;

  /// Stream or event and its device.
  struct Handle {
    enum Kind { Stream, Event } kind;
    Device *device;
    double recorded = 0; ///< event: `modelled` at recording
  };
  std::map<void *, Handle> handles;

  /// Guards output files. Locked before `mutex`.
  std::mutex fileMutex;
  /// Reports of all launches since a report was requested.
  std::vector<sim::LaunchReport> reports;
  /// Number of launches recorded so far.
  int64_t records = 0;

  static Simulator &get();
};

class SimDevice : public Device {
public:
  /// Creates one of `count` devices, each with an equal share of the capacity.
  SimDevice(int ordinal, int count);

  mxDeviceInfo info() override;
  Limits limits() override;
  bool canRun(std::string_view target) override {
    return sim::isSimulated(target);
  }
  Error alloc(size_t bytes, bool shared, void *&memory) override;
  Error free(void *memory) override;
  Error copy(Copy kind, void *to, const void *from, size_t bytes,
             void *stream) override;
  Error fill(void *to, uint32_t value, unsigned width, size_t count,
             void *stream) override;
  Error registerHost(void *memory, size_t bytes) override;
  Error unregisterHost(void *memory) override;

  Error createStream(void *&stream, bool) override {
    return create(Handle::Stream, stream);
  }
  Error destroyStream(void *stream) override {
    return destroy(Handle::Stream, stream);
  }
  Error synchronizeStream(void *stream) override {
    return settle(check(Handle::Stream, stream));
  }
  Error createEvent(void *&event) override {
    return create(Handle::Event, event);
  }
  Error destroyEvent(void *event) override {
    return destroy(Handle::Event, event);
  }
  Error synchronizeEvent(void *event) override {
    return settle(check(Handle::Event, event));
  }
  Error recordEvent(void *event, void *stream) override;
  /// Creates an event for modeled time. Requires timed launches.
  Error createTimedEvent(void *&event) override;
  Error elapsed(void *begin, void *end, double &microseconds) override;
  /// Accepts an event of any simulated device.
  Error waitEvent(void *stream, void *event) override {
    Error error = check(Handle::Stream, stream);
    return error ? error : checkKind(Handle::Event, event);
  }
  Error synchronize() override { return settle({}); }

  Error load(Image &image, int optLevel,
             std::unique_ptr<Module> &module) override;
  Error launch(Function &function, const Launch &launch, void **parameters,
               int64_t count) override;
  Error encodeTensorMap(void *map, const target::TensorMapDesc &desc) override;

  /// Returns true if the device shares this host memory.
  bool sharesHost(const void *memory);

  /// Guards the memory. A launch holds the mutex while the kernel runs.
  std::mutex mutex;

private:
  using Handle = Simulator::Handle;
  Error create(Handle::Kind kind, void *&handle);
  Error destroy(Handle::Kind kind, void *handle);
  /// Fails unless the handle exists on this device. Null is the default stream.
  Error check(Handle::Kind kind, void *handle);
  /// Fails unless the handle exists on any simulated device.
  Error checkKind(Handle::Kind kind, void *handle);
  Error copyBetween(SimDevice &from, void *to, const void *bytes, size_t count);
  /// Returns `error`. If there is none, notes that all kernels have ended.
  Error settle(Error error);
  Error allocShared(size_t bytes, void *&memory);
  Error notAllocated(const char *what, const void *pointer, size_t bytes);

  /// Locks `mutex`, which a launch of another thread may hold for a long time.
  /// Returns without the lock once `*interrupt` is nonzero.
  std::unique_lock<std::mutex> lockUnless(const int32_t *interrupt);
  /// Runs the kernel. On success, stores the findings for the host in
  /// `warning`, unless the launch has a report.
  Error run(SimFunction &function, const Launch &launch,
            sim::LaunchConfig &config, std::string &warning);
  /// Adds a report to `file`.
  Error write(const sim::LaunchReport &report, const std::string &file);
  /// Writes a record into `directory`.
  Error write(const sim::LaunchRecord &record, const SimFunction &function,
              const std::string &directory);

  sim::DeviceMemory memory;
  /// Host memory allocated by alloc(). All other shared memory was registered.
  std::set<void *> shared;
  /// Number of host ranges shared with simulated devices, read without a lock.
  static inline std::atomic<int> hostPieces = 0;
  friend Device *findSimSharing(const void *memory);
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_SIM_SIMDEVICE_H
