//===- Launch.cpp - Run a compiled directory on arrays --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads arrays, brings them to the device, launches the entry, takes the
// results back.
//===----------------------------------------------------------------------===//

#include "mx/Launch/Launch.h"
#include "RankGroups.h"
#include "Report.h"
#include "mx/Launch/RuntimeStatus.h"
#include "mx/Support/FloatArguments.h"
#include "mx/Support/ResultFiles.h"
#include "mx_program.h"
#include "mxsim/io/Memory.h"
#include "mxsim/io/Notices.h"
#include "mxsim/io/Npy.h"
#include "mxsim/io/Printable.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>

using namespace mx;

ExitStatus mx::report(const std::string &message, ExitStatus status) {
  fprintf(stderr, "mx-launch: %s\n", printable(message).c_str());
  return status;
}

ExitStatus mx::reportLastError() {
  std::string text = mxGetLastError();
  int code = mxGetLastStatus();
  mxClearError();
  // A simulator's report ends its paragraphs.
  text.erase(text.find_last_not_of(" \n") + 1);
  return report(text.empty() ? mxStatusName(code) : text, getExitStatus(code));
}

namespace {

/// Prints what took how long, where that was asked for.
class Stopwatch {
public:
  explicit Stopwatch(bool enabled) : enabled(enabled) {}
  void lap(const char *what) {
    auto now = std::chrono::steady_clock::now();
    if (enabled)
      fprintf(stderr, "time: %s %.3f s\n", what,
              std::chrono::duration<double>(now - start).count());
    start = now;
  }

private:
  bool enabled;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// "?x512xu1"
std::string typeString(const mxValueInfo &info) {
  std::string text;
  for (int32_t i = 0; i < info.rank; ++i)
    text += (info.shape[i] < 0 ? "?" : std::to_string(info.shape[i])) +
            std::string("x");
  return text + info.dtype;
}

/// Whether an argument takes the array, as it is or converted.
bool isOfType(const NpyArray &array, const mxValueInfo &info) {
  bool same =
      (array.dtype == info.dtype || convertsFloats(info.type, array.dtype)) &&
      array.shape.size() == size_t(info.rank);
  for (int32_t i = 0; same && i < info.rank; ++i)
    same = info.shape[i] < 0 || info.shape[i] == array.shape[size_t(i)];
  return same;
}

/// Whether the device in use is the simulator.
bool isSimulated() {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  return !mxGetDeviceInfo(&info) && info.kind == std::string("sim");
}

struct Unload {
  void operator()(mxProgram program) const { (void)mxProgramUnload(program); }
};
using Program = std::unique_ptr<mxProgramImpl, Unload>;

struct Free {
  void operator()(void *memory) const { (void)mxMemFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, Free>;

bool allocate(size_t bytes, DeviceMemory &memory) {
  void *address = nullptr;
  if (mxMemAlloc(&address, bytes))
    return false;
  memory.reset(address);
  return true;
}

/// One run of one entry; methods return kExitClean or a status that was
/// reported.
class Run {
public:
  Run(const LaunchOptions &options, const Notices &notices, mxEntry entry)
      : options(options), notices(notices), entry(entry) {}

  ExitStatus run();

private:
  ExitStatus readArguments();
  ExitStatus prepareResults();
  ExitStatus takeResult(size_t index);
  ExitStatus resizeResult(size_t index);
  ExitStatus launchEntry();
  ExitStatus writeResults();
  ExitStatus reportCount(int32_t expected, size_t found, const char *what);

  const LaunchOptions &options;
  const Notices &notices;
  mxEntry entry;
  mxEntryInfo info = mxSized<mxEntryInfo>();
  std::vector<NpyArray> arrays, results;
  std::vector<DeviceMemory> memory;
  std::vector<mxArgument> arguments;
  std::vector<void *> resultAddresses;
  /// Of results whose shape only the run knows.
  std::vector<mxTakenMemory> taken;
};

ExitStatus Run::reportCount(int32_t expected, size_t found, const char *what) {
  return report("expected " + std::to_string(expected) + " " + what +
                " of entry '" + info.name + "', found " +
                std::to_string(found));
}

ExitStatus Run::readArguments() {
  if (options.argumentFiles.size() != size_t(info.argumentCount))
    return reportCount(info.argumentCount, options.argumentFiles.size(),
                       "--arg, one for each argument");
  if (!options.resultFiles.empty() &&
      options.resultFiles.size() != size_t(info.resultCount))
    return reportCount(info.resultCount, options.resultFiles.size(),
                       "--result, one for each result");
  if (std::string why = checkResultFiles(options.resultFiles); !why.empty())
    return report(why);
  FloatConversions conversions;
  for (int32_t i = 0; i < info.argumentCount; ++i) {
    const std::string &path = options.argumentFiles[size_t(i)];
    NpyArray &array = arrays.emplace_back();
    mxValueInfo expected = mxSized<mxValueInfo>();
    if (std::string error = readNpy(path, array); !error.empty())
      return report(error);
    if (mxEntryGetArgument(entry, i, &expected))
      return reportLastError();
    if (!isOfType(array, expected))
      return report(path + ": argument " + std::to_string(i) + " of type " +
                    expected.type + ": expected " + typeString(expected) +
                    ", found " + npyTypeString(array) +
                    adviseOnFloats(expected.type, array.dtype));
    if (std::string error = conversions.convert(path, expected.type, array);
        !error.empty())
      return report(error);
    arguments.push_back(
        {sizeof(mxArgument), array.data.data(), array.shape.data()});
  }
  notices.say(conversions.text());
  return kExitClean;
}

/// Host memory for a result whose shape is known.
ExitStatus Run::resizeResult(size_t index) {
  mxValueInfo type = mxSized<mxValueInfo>();
  NpyArray &array = results[index];
  if (mxEntryGetResult(entry, int32_t(index), &type))
    return reportLastError();
  size_t bytes = size_t(type.itemBytes);
  for (int64_t extent : array.shape)
    bytes *= size_t(extent);
  if (tryResize(array.data, bytes))
    return kExitClean;
  return report("result " + std::to_string(index) + ": no memory for the " +
                std::to_string(bytes) + " bytes of " + npyTypeString(array));
}

/// Owns the memory that the launch took, and knows the shape.
ExitStatus Run::takeResult(size_t index) {
  memory.emplace_back(taken[index].data);
  resultAddresses[index] = taken[index].data;
  results[index].shape.pop_back();
  return resizeResult(index);
}

ExitStatus Run::prepareResults() {
  results.resize(size_t(info.resultCount));
  taken.resize(results.size(), mxSized<mxTakenMemory>());
  for (int32_t i = 0; i < info.resultCount; ++i) {
    mxValueInfo type = mxSized<mxValueInfo>();
    NpyArray &array = results[size_t(i)];
    if (mxEntryGetResult(entry, i, &type))
      return reportLastError();
    array.dtype = type.dtype;
    array.shape.resize(size_t(type.rank) + 1); // room, also for no dimension
    if (type.isTaken) {
      taken[size_t(i)].shape = array.shape.data();
      resultAddresses.push_back(&taken[size_t(i)]);
      continue;
    }
    if (mxEntryGetResultShape(entry, arguments.data(), info.argumentCount, i,
                              array.shape.data()))
      return reportLastError();
    array.shape.pop_back();
    if (ExitStatus status = resizeResult(size_t(i)))
      return status;
    if (!type.isNumber && !allocate(array.data.size(), memory.emplace_back()))
      return reportLastError();
    // The host knows numbers when the launch returns.
    resultAddresses.push_back(type.isNumber ? array.data.data()
                                            : memory.back().get());
  }
  return kExitClean;
}

ExitStatus Run::launchEntry() {
  size_t workspaceBytes = 0;
  if (mxEntryGetWorkspaceBytes(entry, arguments.data(), info.argumentCount,
                               &workspaceBytes))
    return reportLastError();
  if (ExitStatus status = prepareResults())
    return status;
  DeviceMemory &workspace = memory.emplace_back();
  if (workspaceBytes && !allocate(workspaceBytes, workspace))
    return reportLastError();
  void *workspaceAddress = workspace.get();
  for (int32_t i = 0; i < info.argumentCount; ++i) {
    mxValueInfo type = mxSized<mxValueInfo>();
    if (mxEntryGetArgument(entry, i, &type))
      return reportLastError();
    if (type.isNumber)
      continue;
    const std::vector<uint8_t> &data = arrays[size_t(i)].data;
    if (!allocate(data.size(), memory.emplace_back()) ||
        mxMemcpyToDevice(memory.back().get(), data.data(), data.size(),
                         nullptr))
      return reportLastError();
    arguments[size_t(i)].data = memory.back().get();
  }
  auto launchAndWait = [&] {
    Progress progress(notices, isSimulated() ? "simulating" : "running");
    return mxEntryLaunch(entry, arguments.data(), info.argumentCount,
                         resultAddresses.data(), info.resultCount,
                         workspaceAddress, workspaceBytes, nullptr) ||
           mxSynchronize();
  };
  if (launchAndWait())
    return reportLastError();
  for (size_t i = 0; i < results.size(); ++i)
    if (taken[i].shape)
      if (ExitStatus status = takeResult(i))
        return status;
  for (size_t i = 0; i < results.size(); ++i)
    if (resultAddresses[i] != results[i].data.data() &&
        mxMemcpyToHost(results[i].data.data(), resultAddresses[i],
                       results[i].data.size(), nullptr))
      return reportLastError();
  return kExitClean;
}

ExitStatus Run::writeResults() {
  for (size_t i = 0; i < options.resultFiles.size(); ++i)
    if (std::string error = writeNpy(options.resultFiles[i], results[i]);
        !error.empty())
      return report(error);
  return kExitClean;
}

void printSimulatorCounters() {
  mxSimulatorCounters counters = mxSized<mxSimulatorCounters>();
  mxGetSimulatorCounters(&counters);
  if (counters.launches)
    fprintf(stderr,
            "simulator: %" PRId64 " launches, %" PRId64
            " warp instructions, %" PRId64 " MMAs, %" PRId64 " bytes by TMA\n",
            counters.launches, counters.warpInstructions, counters.mmas,
            counters.tmaBytes);
}

ExitStatus Run::run() {
  Stopwatch watch(options.printTiming);
  if (mxEntryGetInfo(entry, &info))
    return reportLastError();
  if (ExitStatus status = readArguments())
    return status;
  watch.lap("read");
  if (ExitStatus status = launchEntry())
    return status;
  watch.lap("run");
  if (options.printTiming)
    printSimulatorCounters();
  return writeResults();
}

/// "main(x: tensor<4xf32>, n: index) -> (tensor<4xf32>)"
ExitStatus printEntry(mxEntry entry) {
  mxEntryInfo info = mxSized<mxEntryInfo>();
  mxValueInfo value = mxSized<mxValueInfo>();
  if (mxEntryGetInfo(entry, &info))
    return reportLastError();
  std::string text = info.name + std::string("(");
  for (int32_t i = 0; i < info.argumentCount; ++i) {
    if (mxEntryGetArgument(entry, i, &value))
      return reportLastError();
    text += (i ? ", " : "") + std::string(value.name) + ": " + value.type;
  }
  text += ") -> (";
  for (int32_t i = 0; i < info.resultCount; ++i) {
    if (mxEntryGetResult(entry, i, &value))
      return reportLastError();
    text += (i ? ", " : "") + std::string(value.type);
  }
  printf("%s)\n", printable(text).c_str());
  return kExitClean;
}

/// "ep: a group of 2 ranks, with at most 8192 tokens each"
ExitStatus printGroups(mxProgram program) {
  for (int32_t i = 0; i < mxProgramGroupCount(program); ++i) {
    mxProgramGroupInfo info = mxSized<mxProgramGroupInfo>();
    if (mxProgramGetGroup(program, i, &info))
      return reportLastError();
    printf("%s: a group of %" PRId32 " ranks, with at most %" PRId64
           " tokens each\n",
           printable(info.name).c_str(), info.size, info.tokens);
  }
  return kExitClean;
}

ExitStatus printEntries(mxProgram program) {
  for (int32_t i = 0; i < mxProgramEntryCount(program); ++i) {
    mxEntry entry;
    if (mxProgramGetEntryAt(&entry, program, i))
      return reportLastError();
    if (ExitStatus status = printEntry(entry))
      return status;
  }
  return kExitClean;
}

} // namespace

int mx::launch(const LaunchOptions &options) {
  // Errors come back as statuses: a tool must not be aborted by a kernel.
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  Stopwatch watch(options.printTiming);
  Notices notices("mx-launch", options.quiet);
  mxProgram loaded = nullptr;
  if (mxSetDevice(options.device.c_str()) ||
      mxProgramLoad(&loaded, options.directory.c_str()))
    return reportLastError();
  Program program(loaded);
  watch.lap("load");
  if (options.list) {
    ExitStatus status = printGroups(loaded);
    return status ? status : printEntries(loaded);
  }
  mxEntry entry;
  if (mxProgramGetEntry(&entry, loaded, options.entry.c_str()))
    return reportLastError();
  if (options.device == "auto" && isSimulated())
    notices.say(kSimulatedNotice);
  RankGroups groups(loaded);
  if (ExitStatus status = groups.bind(options))
    return status;
  return Run(options, notices, entry).run();
}
