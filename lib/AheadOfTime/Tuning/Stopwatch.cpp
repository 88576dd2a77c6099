//===- Stopwatch.cpp - The time of launches on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mx/AheadOfTime/Tune.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Execution/Program.h"
#include "mx_runtime.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mx;

Stopwatch::~Stopwatch() = default;

llvm::Error Stopwatch::use(const std::string &) {
  return llvm::Error::success();
}

namespace {

/// Events around what is launched. Before them the GPU fills memory, so that
/// the host is ahead of it with the launches.
class GpuStopwatch final : public Stopwatch {
public:
  ~GpuStopwatch() override {
    for (mxEvent event : {begin, end})
      if (event)
        (void)mxEventDestroy(event);
  }
  llvm::Error prepare();
  llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) override;

private:
  static constexpr size_t kFilledBytes = size_t(128) << 20;

  mxEvent begin = nullptr, end = nullptr;
  tuning::DeviceBuffer filled;
};

} // namespace

llvm::Error GpuStopwatch::prepare() {
  if (mxEventCreate(&begin) != MX_SUCCESS || mxEventCreate(&end) != MX_SUCCESS)
    return takeRuntimeError();
  auto buffer = tuning::DeviceBuffer::make(kFilledBytes);
  if (!buffer)
    return buffer.takeError();
  filled = std::move(*buffer);
  return llvm::Error::success();
}

llvm::Expected<double>
GpuStopwatch::measure(llvm::function_ref<llvm::Error()> launch) {
  if (mxMemset(filled.get(), 0, kFilledBytes, nullptr) != MX_SUCCESS ||
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

/// An error unless the device in use is a GPU that runs kernels of `chip`.
static llvm::Error checkGpu(const std::string &chip) {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  std::string found;
  if (mxGetDeviceInfo(&info) != MX_SUCCESS)
    found = llvm::toString(takeRuntimeError());
  else if (llvm::StringRef(info.kind) != "cuda")
    found = "the simulator alone";
  else if (mxCanRunTarget(chip.c_str()))
    return llvm::Error::success();
  else
    found = llvm::formatv("{0} of compute capability {1}.{2}", info.name,
                          info.capabilityMajor, info.capabilityMinor);
  return makeError("expected a GPU that runs " + chip + " to tune on, found " +
                   found +
                   ": tune on a machine that has one, and compile here with "
                   "the table that it writes (--tuned=FILE)");
}

llvm::Expected<std::unique_ptr<Stopwatch>>
mx::makeGpuStopwatch(std::string chip) {
  if (llvm::Error error = checkGpu(chip))
    return error;
  auto stopwatch = std::make_unique<GpuStopwatch>();
  if (llvm::Error error = stopwatch->prepare())
    return error;
  return stopwatch;
}
