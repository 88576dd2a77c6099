//===- ModelStopwatch.cpp - The time of launches by a model ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The simulator runs each launch once: its model has no noise. Matmuls are not
// computed, so that results mean nothing (simulator/docs/TimeModel.md).
//
//===----------------------------------------------------------------------===//

#include "../Output/Ptxas.h"
#include "mx/AheadOfTime/Tune.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mx/Execution/Program.h"
#include "mx_runtime.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace mx;

namespace {

/// An event, for as long as a measurement takes.
struct Event {
  ~Event() {
    if (event)
      (void)mxEventDestroy(event);
  }
  mxEvent event = nullptr;
};

class ModelStopwatch final : public Stopwatch {
public:
  ModelStopwatch(std::string chip, MachineCodeTools tools)
      : chip(std::move(chip)), tools(std::move(tools)) {}
  llvm::Error prepare();
  llvm::Error use(const std::string &ptx) override;
  llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) override;

private:
  const std::string chip;
  const MachineCodeTools tools;
};

} // namespace

static llvm::Error set(const char *option, const char *value) {
  return toError(mxSetSimulatorOption(option, value));
}

llvm::Error ModelStopwatch::prepare() {
  if (llvm::Error error = toError(mxSetDevice("sim")))
    return error;
  if (mxSetSimulatorOption("time", chip.c_str()) != MX_SUCCESS)
    return makeError("no model of time of a GPU for " + chip + ": " +
                     llvm::toString(takeRuntimeError()));
  const std::pair<const char *, const char *> options[] = {
      {"data", "none"}, {"checks", "none"}, {"warnings", "none"}};
  for (auto [option, value] : options)
    if (llvm::Error error = set(option, value))
      return error;
  gpu = (kModelOf + chip).str();
  comparesResults = false;
  warmUps = 0;
  rounds = leastLaunches = mostLaunches = 1;
  // More than a cache holds.
  bytesBetween = size_t(128) << 20;
  return llvm::Error::success();
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

llvm::Expected<double>
ModelStopwatch::measure(llvm::function_ref<llvm::Error()> launch) {
  Event begin, end;
  for (Event *one : {&begin, &end})
    if (mxEventCreate(&one->event) != MX_SUCCESS)
      return takeRuntimeError();
  if (mxEventRecord(begin.event, nullptr) != MX_SUCCESS)
    return takeRuntimeError();
  if (llvm::Error error = launch())
    return error;
  double microseconds = 0;
  if (mxEventRecord(end.event, nullptr) != MX_SUCCESS ||
      mxEventElapsed(begin.event, end.event, &microseconds) != MX_SUCCESS)
    return takeRuntimeError();
  return microseconds;
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
