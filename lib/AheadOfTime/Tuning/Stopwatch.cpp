//===- Stopwatch.cpp - Timing of launches ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Output/Ptxas.h"
#include "Operands.h"
#include "mx/Execution/Program.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace mx;
using mx::tuning::toError;

Stopwatch::~Stopwatch() = default;

llvm::Error Stopwatch::use(const std::string &) {
  return llvm::Error::success();
}

namespace {

class EventStopwatch : public Stopwatch {
public:
  ~EventStopwatch() override {
    for (mxEvent event : {begin, end})
      if (event)
        (void)mxEventDestroy(event);
  }
  /// Allocates `bytes` of memory that the GPU fills before each measurement.
  /// Meanwhile the host enqueues the launches.
  llvm::Error prepare(size_t bytes);
  llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) override;

private:
  mxEvent begin = nullptr, end = nullptr;
  tuning::DeviceBuffer filled;
  size_t filledBytes = 0;
};

/// Stopwatch for the simulator's time model. Runs each launch once, because the
/// model is deterministic. Matmuls are not computed, so their results are
/// undefined (simulator/docs/TimeModel.md).
class ModelStopwatch final : public EventStopwatch {
public:
  ModelStopwatch(std::string chip, MachineCodeTools tools)
      : chip(std::move(chip)), tools(std::move(tools)) {}
  llvm::Error prepare();
  llvm::Error use(const std::string &ptx) override;

private:
  const std::string chip;
  const MachineCodeTools tools;
};

} // namespace

llvm::Error EventStopwatch::prepare(size_t bytes) {
  if (mxEventCreate(&begin) != MX_SUCCESS || mxEventCreate(&end) != MX_SUCCESS)
    return takeRuntimeError();
  filledBytes = bytes;
  if (!bytes)
    return llvm::Error::success();
  llvm::Expected<tuning::DeviceBuffer> buffer = tuning::makeDeviceBuffer(bytes);
  if (!buffer)
    return buffer.takeError();
  filled = std::move(*buffer);
  return llvm::Error::success();
}

llvm::Expected<double>
EventStopwatch::measure(llvm::function_ref<llvm::Error()> launch) {
  if ((filled &&
       mxMemset(filled.get(), 0, filledBytes, nullptr) != MX_SUCCESS) ||
      mxEventRecord(begin, nullptr) != MX_SUCCESS)
    return takeRuntimeError();
  if (llvm::Error error = launch())
    return error;
  double microseconds = 0;
  if (mxEventRecord(end, nullptr) != MX_SUCCESS ||
      mxEventElapsed(begin, end, &microseconds) != MX_SUCCESS)
    return takeRuntimeError();
  return microseconds;
}

/// Fails unless the device in use is a GPU that runs kernels of `chip`.
static llvm::Error checkGpu(const std::string &chip) {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  std::string found;
  if (mxGetDeviceInfo(&info) != MX_SUCCESS)
    found = llvm::toString(takeRuntimeError());
  else if (llvm::StringRef(info.kind) != "cuda")
    found = "only the simulator";
  else if (mxCanRunTarget(chip.c_str()))
    return llvm::Error::success();
  else
    found = llvm::formatv("{0} of compute capability {1}.{2}", info.name,
                          info.capabilityMajor, info.capabilityMinor);
  return makeError("tuning requires a GPU that runs " + chip + ", found " +
                   found +
                   ": tune on a machine with such a GPU, and compile here "
                   "with the resulting table (--tuned=FILE)");
}

llvm::Expected<std::unique_ptr<Stopwatch>>
mx::makeGpuStopwatch(std::string chip) {
  if (llvm::Error error = checkGpu(chip))
    return error;
  auto stopwatch = std::make_unique<EventStopwatch>();
  if (llvm::Error error = stopwatch->prepare(size_t(128) << 20))
    return error;
  return stopwatch;
}

static llvm::Error set(const char *option, const char *value) {
  return toError(mxSetSimulatorOption(option, value));
}

llvm::Error ModelStopwatch::prepare() {
  if (llvm::Error error = toError(mxSetDevice("sim")))
    return error;
  if (mxSetSimulatorOption("time", chip.c_str()) != MX_SUCCESS)
    return makeError("no GPU time model for " + chip + ": " +
                     llvm::toString(takeRuntimeError()));
  for (const char *option : {"data", "checks", "warnings"})
    if (llvm::Error error = set(option, "none"))
      return error;
  gpu = (mxgpu::kModelOf + chip).str();
  comparesResults = false;
  warmUps = 0;
  rounds = leastLaunches = mostLaunches = 1;
  // 128 MiB exceeds the cache.
  bytesBetween = size_t(128) << 20;
  return EventStopwatch::prepare(/*bytes=*/0);
}

llvm::Error ModelStopwatch::use(const std::string &ptx) {
  if (tools.ptxas.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> listing = listMachineCode(tools, chip, ptx);
  if (!listing)
    return listing.takeError();
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("mx-compile", "sass", path))
    return makeError("cannot make a temporary file: " + error.message());
  llvm::FileRemover remover(path);
  if (llvm::Error error = writeFile(path, *listing))
    return error;
  return set("machine-code", path.c_str());
}

llvm::Expected<std::unique_ptr<Stopwatch>>
mx::makeModelStopwatch(const std::string &chip, const std::string &ptxas) {
  MachineCodeTools tools;
  if (ptxas != "none") {
    llvm::Expected<MachineCodeTools> found = findMachineCodeTools(ptxas, chip);
    if (!found)
      return found.takeError();
    tools = std::move(*found);
  }
  auto stopwatch = std::make_unique<ModelStopwatch>(chip, std::move(tools));
  if (llvm::Error error = stopwatch->prepare())
    return error;
  return stopwatch;
}
