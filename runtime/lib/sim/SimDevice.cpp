//===- SimDevice.cpp - The simulator as a device --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation is complete when its call returns, which is one legal order
// of streams and events; these are therefore only handles here.
//===----------------------------------------------------------------------===//

#include "../Embedded.h"
#include "../Error.h"
#include "../Image.h"
#include "SimOptions.h"

#include "mx/Simulator/LaunchRecord.h"
#include "mx/Simulator/Report.h"
#include "mx/Simulator/tensor/TensorMap.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sys/mman.h>
#include <tuple>

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

class SimDevice;
class SimModule;

class SimFunction : public Function {
public:
  SimModule *module = nullptr;
  const mx::sim::KernelInfo *kernel = nullptr;
};

class SimModule : public Module {
public:
  explicit SimModule(SimDevice &device) : device(device) {}
  ~SimModule() override;
  Error getFunction(const char *name,
                    std::unique_ptr<Function> &function) override;

  SimDevice &device;
  std::unique_ptr<mx::sim::Module> module;
  std::string ptx;
  /// Kernel, kind and line of the warnings so far.
  std::set<std::tuple<std::string, int, unsigned>> warned;
};

class SimDevice : public Device {
public:
  SimDevice();

  mxDeviceInfo info() override;
  Limits limits() override;
  bool canRun(std::string_view target) override {
    return mx::sim::isSimulated(target);
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
  Error recordEvent(void *event, void *stream) override {
    Error error = check(Handle::Stream, stream);
    return error ? error : check(Handle::Event, event);
  }
  Error waitEvent(void *stream, void *event) override {
    return recordEvent(event, stream);
  }
  Error synchronize() override { return settle({}); }

  Error load(Image &image, int optLevel,
             std::unique_ptr<Module> &module) override;
  Error launch(Function &function, const Launch &launch, void **parameters,
               int64_t count) override;
  Error encodeTensorMap(void *map,
                        const mx::target::TensorMapDesc &desc) override;

  /// Of the memory: a launch holds it while its kernel runs.
  std::timed_mutex mutex;
  /// Of options, counters and handles: never held for long, locked after
  /// `mutex`.
  std::mutex stateMutex;
  SimOptions options;
  mxSimulatorCounters counters = {};

private:
  enum class Handle { Stream, Event };
  Error create(Handle kind, void *&handle);
  Error destroy(Handle kind, void *handle);
  /// That it exists; null is the default stream.
  Error check(Handle kind, void *handle);
  /// The kernels so far have ended, unless there is an error.
  Error settle(Error error);
  Error allocShared(size_t bytes, void *&memory);
  Error notAllocated(const char *what, const void *pointer, size_t bytes);

  /// Waits for launches of other threads, which may take long: without the lock
  /// once `*interrupt` is not 0.
  std::unique_lock<std::timed_mutex> lockUnless(const int32_t *interrupt);
  /// Runs the kernel; `warning` is the text for the host where it succeeds.
  Error run(SimFunction &function, const Launch &launch,
            mx::sim::LaunchConfig &config, std::string &warning);
  /// Adds a report to those of `file`.
  Error write(const mx::sim::LaunchReport &report, const std::string &file);
  /// Writes a record into `directory`.
  Error write(const mx::sim::LaunchRecord &record, const SimFunction &function,
              const std::string &directory);

  DeviceMemory memory;
  std::map<void *, Handle> handles;
  /// Memory of the host that alloc() gave; the rest was registered.
  std::set<void *> shared;
  /// Of launches while a report was asked for.
  std::vector<mx::sim::LaunchReport> reports;
};

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
// Modules
//===----------------------------------------------------------------------===//

Error SimDevice::load(Image &image, int, std::unique_ptr<Module> &module) {
  if (image.kind != Image::Ptx)
    if (Error error = unpackPtx(image))
      return error;
  auto result = std::make_unique<SimModule>(*this);
  std::vector<mx::sim::Diagnostic> errors;
  result->module = mx::sim::Module::parse(image.bytes, image.name, errors);
  if (!result->module) {
    std::string text;
    for (const mx::sim::Diagnostic &diagnostic : errors) {
      text += (text.empty() ? "" : "\n") + image.name;
      if (diagnostic.line)
        text += ":" + std::to_string(diagnostic.line);
      if (diagnostic.column)
        text += ":" + std::to_string(diagnostic.column);
      text += ": " + diagnostic.message;
    }
    bool isOther = isTarget(image.target) && !canRun(image.target);
    return {isOther ? MX_ERROR_WRONG_TARGET : MX_ERROR_BAD_MODULE, text};
  }
  std::lock_guard<std::timed_mutex> lock(mutex);
  if (std::string text = result->module->load(memory); !text.empty())
    return {MX_ERROR_BAD_MODULE, image.name + ": " + text};
  result->ptx = std::move(image.bytes);
  module = std::move(result);
  return {};
}

SimModule::~SimModule() {
  if (!module)
    return;
  std::lock_guard<std::timed_mutex> lock(device.mutex);
  module->unload();
  module.reset();
}

Error SimModule::getFunction(const char *name,
                             std::unique_ptr<Function> &result) {
  const mx::sim::KernelInfo *kernel = module->findKernel(name);
  if (!kernel) {
    std::string known;
    for (const mx::sim::KernelInfo &info : module->kernels())
      known += (known.empty() ? " '" : ", '") + info.name + "'";
    return {MX_ERROR_NOT_FOUND, module->name() + ": there is no kernel '" +
                                    name + "'" +
                                    (known.empty() ? "" : ", but") + known};
  }
  auto function = std::make_unique<SimFunction>();
  function->name = name;
  function->module = this;
  function->kernel = kernel;
  result = std::move(function);
  return {};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static int statusOf(const mx::sim::LaunchReport &report) {
  switch (report.status) {
  case mx::sim::LaunchStatus::Clean:
    return MX_SUCCESS;
  case mx::sim::LaunchStatus::Deadlock:
    return MX_ERROR_DEADLOCK;
  case mx::sim::LaunchStatus::Failed:
    return MX_ERROR_CHECK;
  case mx::sim::LaunchStatus::BadInput:
    break;
  }
  for (const mx::sim::Finding &finding : report.findings)
    if (finding.kind == mx::sim::FindingKind::Unsupported)
      return MX_ERROR_UNSUPPORTED;
  return MX_ERROR_BAD_LAUNCH;
}

static Error failure(const mx::sim::LaunchReport &report, int status,
                     const std::string &what) {
  return {status, "kernel '" + mx::sim::shortName(report.facts.kernel) +
                      "' on the simulator: " + what + "\n" + report.text()};
}

/// The findings of a launch that succeeds; empty where there are none but those
/// that the host was told before. `turn` is how they become errors.
static std::string newFindings(SimModule &module,
                               const mx::sim::LaunchReport &report,
                               const char *turn) {
  const std::string &kernel = report.facts.kernel;
  std::string text;
  for (const mx::sim::Finding &finding : report.findings)
    if (module.warned.insert({kernel, int(finding.kind), finding.ptxLine})
            .second)
      text += finding.text() + "\n";
  if (text.empty())
    return text;
  return "kernel '" + mx::sim::shortName(kernel) +
         "' on the simulator ran to its end with findings (errors with " +
         turn + ")\n" + text;
}

/// Reports are kept whole, so that the file is one whenever the host ends.
Error SimDevice::write(const mx::sim::LaunchReport &report,
                       const std::string &path) {
  reports.push_back(report);
  std::string text = mx::sim::reportAsJson(reports);
  errno = 0;
  FILE *file = fopen(path.c_str(), "w");
  bool isWritten =
      file && fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && fclose(file))
    isWritten = false;
  if (isWritten)
    return {};
  return {MX_ERROR_INVALID_VALUE,
          "simulator option report: '" + path +
              "' cannot be written: " + strerror(errno)};
}

/// DIRECTORY/NUMBER-KERNEL, with no more of the name than file systems take.
Error SimDevice::write(const mx::sim::LaunchRecord &record,
                       const SimFunction &function,
                       const std::string &directory) {
  std::string path = directory + "/" + std::to_string(counters.launches) + "-" +
                     function.name.substr(0, 100);
  std::string why = record.write(path, function.module->ptx);
  if (why.empty())
    return {};
  return {MX_ERROR_INVALID_VALUE, "simulator option record: " + why};
}

Error SimDevice::launch(Function &base, const Launch &launch, void **parameters,
                        int64_t count) {
  if (Error error = check(Handle::Stream, launch.stream))
    return error;
  auto &function = static_cast<SimFunction &>(base);
  const mx::sim::KernelInfo &kernel = *function.kernel;
  if (count >= 0 && size_t(count) != kernel.parameters.size())
    return {MX_ERROR_BAD_LAUNCH,
            "kernel '" + mx::sim::shortName(kernel.name) + "': expected " +
                std::to_string(kernel.parameters.size()) +
                " parameters, found " + std::to_string(count)};
  mx::sim::LaunchConfig config;
  config.kernel = kernel.name;
  config.grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
  config.block = {launch.block[0], launch.block[1], launch.block[2]};
  config.cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  config.dynamicSharedBytes = launch.dynamicSharedMemory;
  config.parameters.resize(kernel.parameterBytes);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const mx::sim::ParameterInfo &parameter = kernel.parameters[i];
    if (!parameters || !parameters[i])
      return {MX_ERROR_BAD_LAUNCH,
              "kernel '" + mx::sim::shortName(kernel.name) +
                  "': expected a value for parameter " + std::to_string(i) +
                  ", found a null pointer"};
    memcpy(config.parameters.data() + parameter.offset, parameters[i],
           parameter.bytes);
  }
  std::string warning;
  if (Error error = run(function, launch, config, warning))
    return error;
  if (!warning.empty())
    warn(warning);
  return {};
}

static Error interrupted(const mx::sim::KernelInfo &kernel) {
  return {MX_ERROR_INTERRUPTED, "kernel '" + mx::sim::shortName(kernel.name) +
                                    "' on the simulator: interrupted"};
}

std::unique_lock<std::timed_mutex>
SimDevice::lockUnless(const int32_t *interrupt) {
  std::unique_lock<std::timed_mutex> lock(mutex, std::defer_lock);
  constexpr std::chrono::milliseconds kPatience(10);
  while (!(interrupt && __atomic_load_n(interrupt, __ATOMIC_RELAXED)) &&
         !lock.try_lock_for(kPatience))
    ;
  return lock;
}

Error SimDevice::run(SimFunction &function, const Launch &launch,
                     mx::sim::LaunchConfig &config, std::string &warning) {
  const mx::sim::KernelInfo &kernel = *function.kernel;
  config.interrupt = threadInterrupt();
  std::unique_lock<std::timed_mutex> lock = lockUnless(config.interrupt);
  if (!lock)
    return interrupted(kernel);
  const SimOptions options = [&] {
    std::lock_guard<std::mutex> lock(stateMutex);
    return this->options;
  }();
  config.programmatic = launch.programmatic;
  config.cooperative = launch.cooperative;
  config.smCount = options.smCount;
  config.seed = options.seed;
  config.checks = options.checks;
  config.maxInstructions = options.maxInstructions;
  config.truncatesTensorSums = options.truncatesTensorSums;
  config.profile = !options.report.empty();
  // What was made for a GPU is run as a GPU does, unless the caller looks for
  // bugs.
  bool isLenient = launch.isForeign && !options.looksForBugs;
  config.keepsPace = isLenient;
  std::optional<mx::sim::LaunchRecord> record;
  if (!options.record.empty())
    record.emplace(memory, kernel, config);
  mx::sim::LaunchReport report =
      mx::sim::launch(*function.module->module, memory, config);
  if (report.isInterrupted)
    return interrupted(kernel);
  if (record)
    if (Error error = write(*record, function, options.record);
        error && report.clean())
      return error;
  {
    std::lock_guard<std::mutex> lock(stateMutex);
    ++counters.launches;
    counters.warpInstructions += report.statistics.warpInstructions;
    counters.mmas += report.statistics.mmas;
    counters.tmaBytes += report.statistics.tmaBytes;
  }
  if (!options.report.empty())
    if (Error error = write(report, options.report); error && report.clean())
      return error;
  bool succeeds = report.clean() || (isLenient && report.isComplete);
  if (!succeeds)
    return failure(report, statusOf(report),
                   std::string(toString(report.status)));
  using Warnings = SimOptions::Warnings;
  if (options.warnings == Warnings::Error && !report.findings.empty())
    return failure(report, MX_ERROR_CHECK,
                   "warnings, which are errors here (MX_SIM_WARNINGS=error)");
  if (options.warnings == Warnings::Print)
    warning = newFindings(*function.module, report,
                          report.clean() ? "MX_SIM_WARNINGS=error"
                                         : "MX_SIM_CHECKS=all");
  return {};
}

/// The description as the simulator has it: both have the driver's numbers
/// (SimulatorAgreementTest.cpp).
static mx::sim::TensorMapDesc
toSimulator(const mx::target::TensorMapDesc &desc) {
  mx::sim::TensorMapDesc map;
  map.globalAddress = desc.globalAddress;
  map.type = mx::sim::TmapType(desc.type);
  map.rank = desc.rank;
  map.dims = desc.dims;
  map.strides = desc.strides;
  map.box = desc.box;
  map.elementStrides = desc.elementStrides;
  map.interleave = mx::sim::TmapInterleave(desc.interleave);
  map.swizzle = mx::sim::TmapSwizzle(desc.swizzle);
  map.l2 = mx::sim::TmapL2(desc.l2);
  map.oob = mx::sim::TmapOob(desc.fill);
  return map;
}

Error SimDevice::encodeTensorMap(void *map,
                                 const mx::target::TensorMapDesc &desc) {
  if (std::string rule = mx::target::check(desc); !rule.empty())
    return {MX_ERROR_INVALID_VALUE, "tensor map: " + rule};
  mx::sim::encodeTensorMap(toSimulator(desc), static_cast<uint8_t *>(map));
  return {};
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
