//===- SimLaunch.cpp - Kernels on the simulator ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, launches with reports and records, and tensor maps.
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "SimDevice.h"

#include "mxsim/Image.h"
#include "mxsim/io/JsonWriter.h"
#include "mxsim/io/OutputFile.h"
#include "mxsim/io/Printable.h"
#include "mxsim/tensor/TensorMap.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

using namespace mx::runtime;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

Error SimDevice::load(Image &image, int, std::unique_ptr<Module> &module) {
  if (image.kind != Image::Ptx)
    if (std::string why = sim::unpackPtx(image); !why.empty())
      return {MX_ERROR_BAD_MODULE, why};
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
    bool isOther = sim::isTarget(image.target) && !canRun(image.target);
    return {isOther ? MX_ERROR_WRONG_TARGET : MX_ERROR_BAD_MODULE, text};
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (std::string text = result->module->load(memory); !text.empty())
    return {MX_ERROR_BAD_MODULE, image.name + ": " + text};
  result->ptx = std::move(image.bytes);
  module = std::move(result);
  return {};
}

SimModule::~SimModule() {
  if (!module)
    return;
  std::lock_guard<std::mutex> lock(device.mutex);
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

static void write(mx::JsonWriter &w, const mx::sim::KernelInfo &kernel) {
  w.object([&] {
    w.member("name", kernel.name);
    w.member("cpp_name", mx::sim::demangled(kernel.name));
    w.list("parameters", kernel.parameters,
           [&](const mx::sim::ParameterInfo &parameter) {
             w.object([&] {
               w.member("name", parameter.name);
               w.member("type", parameter.type);
               w.member("bytes", parameter.bytes);
             });
           });
  });
}

Error SimModule::describe(const char *kernel, std::string &json) {
  mx::JsonWriter w;
  w.object([&] {
    w.member("name", module->name());
    w.member("target", module->target());
    w.list("kernels", mx::sim::kernelsNamed(*module, kernel ? kernel : ""),
           [&](const mx::sim::KernelInfo *info) { write(w, *info); });
    w.list("variables", module->globals(),
           [&](const mx::sim::GlobalInfo &variable) {
             w.object([&] {
               w.member("name", variable.name);
               w.member("bytes", variable.bytes);
               w.member("address", variable.address);
             });
           });
  });
  json = std::move(w.text);
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

/// Returns the findings of a successful launch that were not reported before,
/// or "". `turn` states how to turn findings into errors.
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

/// Rewrites the whole file, so the file is valid whenever the host ends.
Error SimDevice::write(const mx::sim::LaunchReport &report,
                       const std::string &path) {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.fileMutex);
  simulator.reports.push_back(report);
  std::string why =
      writeOutputFile(path, {mx::sim::reportAsJson(simulator.reports)});
  if (why.empty())
    return {};
  return {MX_ERROR_INVALID_VALUE, "simulator option report: " + why};
}

/// Writes to DIRECTORY/NUMBER-KERNEL. Long kernel names are truncated to the
/// limit of file systems.
Error SimDevice::write(const mx::sim::LaunchRecord &record,
                       const SimFunction &function,
                       const std::string &directory) {
  Simulator &simulator = Simulator::get();
  std::lock_guard<std::mutex> lock(simulator.fileMutex);
  std::string path = directory + "/" + std::to_string(simulator.records++) +
                     "-" + function.name.substr(0, 100);
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

using SharedRange = std::unique_ptr<void, std::function<void(void *)>>;

/// Shares host memory with the device while `shared` exists.
static Error share(mx::sim::DeviceMemory &memory,
                   const mxReportedLaunch &settings,
                   std::vector<SharedRange> &shared) {
  shared.reserve(size_t(settings.memoryCount));
  for (int64_t i = 0; i < settings.memoryCount; ++i) {
    void *range = settings.memory[i];
    const char *name = settings.memoryNames[i];
    uint64_t bytes = uint64_t(settings.memoryBytes[i]);
    if (!memory.mapHost(range, bytes, name))
      return invalidValue(
          std::string("host memory '") + name +
          "': expected memory that is not shared already, found " +
          memory.describe(reinterpret_cast<uint64_t>(range), bytes));
    shared.emplace_back(range, [&](void *host) { memory.unmapHost(host); });
  }
  return {};
}

static Error interrupted(const mx::sim::KernelInfo &kernel) {
  return {MX_ERROR_INTERRUPTED, "kernel '" + mx::sim::shortName(kernel.name) +
                                    "' on the simulator: interrupted"};
}

// This function polls, because GCC's thread sanitizer does not model timed
// mutex locks.
std::unique_lock<std::mutex> SimDevice::lockUnless(const int32_t *interrupt) {
  if (!interrupt)
    return std::unique_lock<std::mutex>(mutex);
  std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
  constexpr std::chrono::milliseconds kPatience(1);
  while (!__atomic_load_n(interrupt, __ATOMIC_RELAXED) && !lock.try_lock())
    std::this_thread::sleep_for(kPatience);
  return lock;
}

/// Prints the cost of source lines to standard error if requested.
static void printLines(const mx::sim::LaunchReport &report, uint32_t count) {
  std::string text = mx::printable(mx::sim::linesText(report, count));
  if (text.empty())
    return;
  fflush(stdout);
  fputs(text.c_str(), stderr);
}

Error SimDevice::run(SimFunction &function, const Launch &launch,
                     mx::sim::LaunchConfig &config, std::string &warning) {
  const mx::sim::KernelInfo &kernel = *function.kernel;
  config.interrupt = threadInterrupt();
  std::unique_lock<std::mutex> lock = lockUnless(config.interrupt);
  if (!lock)
    return interrupted(kernel);
  Simulator &simulator = Simulator::get();
  mx::sim::RunOptions options = [&] {
    std::lock_guard<std::mutex> lock(simulator.mutex);
    return simulator.options;
  }();
  std::vector<SharedRange> shared;
  if (launch.reporting) {
    const mxReportedLaunch &settings = launch.reporting->settings;
    for (auto o = settings.options; o && o[0] && o[1]; o += 2)
      if (std::string why = options.set(o[0], o[1]); !why.empty())
        return invalidValue(why);
    if (Error error = share(memory, settings, shared))
      return error;
  }
  config.programmatic = launch.programmatic;
  config.cooperative = launch.cooperative;
  options.apply(config);
  // Kernels of GPU host code run as on a GPU unless checks were requested.
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
    std::lock_guard<std::mutex> lock(simulator.mutex);
    mxSimulatorCounters &counters = simulator.counters;
    ++counters.launches;
    counters.warpInstructions += report.statistics.warpInstructions;
    counters.mmas += report.statistics.mmas;
    counters.tmaBytes += report.statistics.tmaBytes;
    simulator.modelled += report.time.microseconds();
  }
  printLines(report, options.timeLines);
  if (!options.report.empty())
    if (Error error = write(report, options.report); error && report.clean())
      return error;
  if (launch.reporting) {
    launch.reporting->report = mx::sim::reportAsJson({report});
    return {};
  }
  bool succeeds = report.clean() || (isLenient && report.isComplete);
  if (!succeeds)
    return failure(report, statusOf(report),
                   std::string(toString(report.status)));
  using Warnings = mx::sim::RunOptions::Warnings;
  if (options.warnings == Warnings::Error && !report.findings.empty())
    return failure(report, MX_ERROR_CHECK,
                   "warnings, which are errors here (MX_SIM_WARNINGS=error)");
  if (options.warnings == Warnings::Print)
    warning = newFindings(*function.module, report,
                          report.clean() ? "MX_SIM_WARNINGS=error"
                                         : "MX_SIM_CHECKS=all");
  return {};
}

/// Converts a description to the simulator's type; both use the driver's values
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
