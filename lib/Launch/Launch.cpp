//===- Launch.cpp - Execution of compiled directories ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Launch/Launch.h"
#include "mx/Launch/EntryCall.h"
#include "mx/Launch/RuntimeStatus.h"
#include "mx/Support/FloatArguments.h"
#include "mx/Support/ResultFiles.h"
#include "mxsim/io/Notices.h"
#include "mxsim/io/Printable.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

using namespace mx;

namespace {

ExitStatus report(const std::string &message,
                  ExitStatus status = kExitBadInput) {
  fprintf(stderr, "mx-launch: %s\n", printable(message).c_str());
  return status;
}

ExitStatus reportLastError() {
  int code = 0;
  std::string text = takeRuntimeMessage(code);
  return report(text, getExitStatus(code));
}

/// Returns a string like "?x512xu1".
std::string typeString(const mxValueInfo &info) {
  std::string text;
  for (int32_t i = 0; i < info.rank; ++i)
    text += (info.shape[i] < 0 ? "?" : std::to_string(info.shape[i])) +
            std::string("x");
  return text + info.dtype;
}

/// Returns true if an argument accepts the array, directly or converted.
bool isOfType(const NpyArray &array, const mxValueInfo &info) {
  bool same =
      (array.dtype == info.dtype || convertsFloats(info.type, array.dtype)) &&
      array.shape.size() == size_t(info.rank);
  for (int32_t i = 0; same && i < info.rank; ++i)
    same = info.shape[i] < 0 || info.shape[i] == array.shape[size_t(i)];
  return same;
}

bool isSimulated() {
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  return !mxGetDeviceInfo(&info) && info.kind == std::string("sim");
}

/// A run of an entry. Methods report errors and return an ExitStatus.
class Run {
public:
  Run(const LaunchOptions &options, const Notices &notices, mxEntry entry)
      : options(options), notices(notices), entry(entry) {}

  ExitStatus run();

private:
  ExitStatus readArguments();
  ExitStatus writeResults();
  ExitStatus reportCount(int32_t expected, size_t found, const char *what);

  const LaunchOptions &options;
  const Notices &notices;
  mxEntry entry;
  mxEntryInfo info = mxSized<mxEntryInfo>();
  std::vector<NpyArray> arrays, results;
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
  }
  notices.say(conversions.text());
  return kExitClean;
}

ExitStatus Run::writeResults() {
  for (size_t i = 0; i < options.resultFiles.size(); ++i)
    if (std::string error = writeNpy(options.resultFiles[i], results[i]);
        !error.empty())
      return report(error);
  return kExitClean;
}

ExitStatus Run::run() {
  LapTimer watch(options.printTiming);
  if (mxEntryGetInfo(entry, &info))
    return reportLastError();
  if (ExitStatus status = readArguments())
    return status;
  watch.lap("read");
  std::vector<const NpyArray *> inputs;
  for (const NpyArray &array : arrays)
    inputs.push_back(&array);
  std::string why;
  auto call = [&] {
    Progress progress(notices, isSimulated() ? "simulating" : "running");
    return callEntry(entry, inputs, results, why);
  };
  if (!call())
    return why.empty() ? reportLastError() : report(why);
  watch.lap("run");
  if (options.printTiming)
    printSimulatorCounters();
  return writeResults();
}

/// Prints a signature like
/// "main(x: tensor<4xf32>, n: index) -> (tensor<4xf32>)".
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

/// Prints lines like "ep: a group of 2 ranks, with at most 8192 tokens each".
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

/// Checks the names of --group options before this rank waits for other ranks.
ExitStatus checkNames(const std::vector<std::string> &known,
                      const std::vector<LaunchRankGroup> &named) {
  std::string names;
  for (const std::string &name : known)
    names += (names.empty() ? "" : ", ") + name;
  std::vector<std::string> seen;
  for (const LaunchRankGroup &group : named) {
    if (known.empty())
      return report("--group: expected a program with rank groups, found a "
                    "program without groups");
    if (std::find(known.begin(), known.end(), group.name) == known.end())
      return report("--group: expected one of [" + names + "], found '" +
                    group.name + "'");
    if (std::find(seen.begin(), seen.end(), group.name) != seen.end())
      return report("--group: the group '" + group.name + "' is given twice");
    seen.push_back(group.name);
  }
  return kExitClean;
}

ExitStatus bind(mxProgram program, const mxProgramGroupInfo &info,
                const LaunchOptions &options, std::vector<OwnedGroup> &groups) {
  std::string name = info.name;
  auto place = std::find_if(
      options.groups.begin(), options.groups.end(),
      [&](const LaunchRankGroup &group) { return group.name == name; });
  if (place == options.groups.end())
    return report("expected --group=" + name +
                  "@HOST:PORT --rank=R for group '" + name + "' of " +
                  std::to_string(info.size) +
                  " ranks, found none: start mx-launch once for each rank");
  if (place->rank < 0 || place->rank >= info.size)
    return report("--rank: expected 0 to " + std::to_string(info.size - 1) +
                  " for group '" + name + "', found " +
                  std::to_string(place->rank));
  mxGroupConfig config = mxSized<mxGroupConfig>();
  config.name = info.name;
  config.rank = place->rank;
  config.size = info.size;
  mxGroup group = nullptr;
  if (mxGroupConnect(&group, &config, place->address.c_str()))
    return reportLastError();
  groups.emplace_back(group);
  if (mxProgramBindGroup(program, info.name, group))
    return reportLastError();
  return kExitClean;
}

/// Joins all rank groups of the program and binds them. This process is one
/// rank. Rank 0 listens, and the other ranks connect to it.
ExitStatus bindRankGroups(mxProgram program, const LaunchOptions &options,
                          std::vector<OwnedGroup> &groups) {
  std::vector<mxProgramGroupInfo> infos(size_t(mxProgramGroupCount(program)),
                                        mxSized<mxProgramGroupInfo>());
  std::vector<std::string> names;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (mxProgramGetGroup(program, int32_t(i), &infos[i]))
      return reportLastError();
    names.push_back(infos[i].name);
  }
  if (ExitStatus status = checkNames(names, options.groups))
    return status;
  // Bind in the order of the program, which is the same for all ranks.
  for (const mxProgramGroupInfo &info : infos)
    if (ExitStatus status = bind(program, info, options, groups))
      return status;
  return kExitClean;
}

} // namespace

int mx::launch(const LaunchOptions &options) {
  // Return errors as statuses, so kernel errors do not abort the tool.
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  LapTimer watch(options.printTiming);
  Notices notices("mx-launch", options.quiet);
  mxProgram loaded = nullptr;
  if (mxSetDevice(options.device.c_str()) ||
      mxProgramLoad(&loaded, options.directory.c_str()))
    return reportLastError();
  LoadedProgram program(loaded);
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
  std::vector<OwnedGroup> groups;
  if (ExitStatus status = bindRankGroups(loaded, options, groups))
    return status;
  return Run(options, notices, entry).run();
}
