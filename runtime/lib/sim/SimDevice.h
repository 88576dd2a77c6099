//===- SimDevice.h - A simulated device        ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation is complete when its call returns, which is one legal order
// of streams and events; these are therefore only handles here.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_SIM_SIMDEVICE_H
#define MX_RUNTIME_LIB_SIM_SIMDEVICE_H

#include "SimOptions.h"

#include "mxsim/LaunchRecord.h"
#include "mxsim/Report.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace mx::runtime {

class SimDevice;
class SimModule;

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

  SimDevice &device;
  std::unique_ptr<sim::Module> module;
  std::string ptx;
  /// Kernel, kind and line of the warnings so far.
  std::set<std::tuple<std::string, int, unsigned>> warned;
};

/// What the simulated devices of a process share.
struct Simulator {
  /// Never held for long, locked after the mutex of a device.
  std::mutex mutex;
  SimOptions options;
  mxSimulatorCounters counters = {};
  /// Microseconds of all launches so far that were timed.
  double modelled = 0;

  /// A stream or an event, and where it was made.
  struct Handle {
    enum Kind { Stream, Event } kind;
    Device *device;
    double recorded = 0; ///< an event: `modelled` then
  };
  std::map<void *, Handle> handles;

  /// Of the files that options ask for; locked before `mutex`.
  std::mutex fileMutex;
  /// Of launches while a report was asked for.
  std::vector<sim::LaunchReport> reports;
  /// Launches that were written as files so far.
  int64_t records = 0;

  static Simulator &get();
};

class SimDevice : public Device {
public:
  /// One of `count`, which share the memory of the host.
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

  Error createStream(void *&stream) override {
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
  /// Events tell modelled time, where launches are timed.
  Error createTimedEvent(void *&event) override;
  Error elapsed(void *begin, void *end, double &microseconds) override;
  /// For an event of any simulated device.
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

  /// Whether it is the host's memory that this device uses too.
  bool sharesHost(const void *memory);

  /// Of the memory: a launch holds it while its kernel runs.
  std::mutex mutex;

private:
  using Handle = Simulator::Handle;
  Error create(Handle::Kind kind, void *&handle);
  Error destroy(Handle::Kind kind, void *handle);
  /// That it exists and is of this device; null is the default stream.
  Error check(Handle::Kind kind, void *handle);
  /// That it exists on any simulated device.
  Error checkKind(Handle::Kind kind, void *handle);
  Error copyBetween(SimDevice &from, void *to, const void *bytes, size_t count);
  /// The kernels so far have ended, unless there is an error.
  Error settle(Error error);
  Error allocShared(size_t bytes, void *&memory);
  Error notAllocated(const char *what, const void *pointer, size_t bytes);

  /// Waits for launches of other threads, which may take long: without the lock
  /// once `*interrupt` is not 0.
  std::unique_lock<std::mutex> lockUnless(const int32_t *interrupt);
  /// Runs the kernel; `warning` is the text for the host where it succeeds.
  Error run(SimFunction &function, const Launch &launch,
            sim::LaunchConfig &config, std::string &warning);
  /// Adds a report to those of `file`.
  Error write(const sim::LaunchReport &report, const std::string &file);
  /// Writes a record into `directory`.
  Error write(const sim::LaunchRecord &record, const SimFunction &function,
              const std::string &directory);

  sim::DeviceMemory memory;
  /// Memory of the host that alloc() gave; the rest was registered.
  std::set<void *> shared;
  /// Memory of the host that simulated devices use, in pieces: asked without a
  /// lock.
  static inline std::atomic<int> hostPieces = 0;
  friend Device *findSimSharing(const void *memory);
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_SIM_SIMDEVICE_H
