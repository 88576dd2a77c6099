//===- EntryCall.cpp - Calls of entries on host arrays --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Launch/EntryCall.h"
#include "mxsim/io/Memory.h"

#include <cinttypes>
#include <cstdio>

using namespace mx;

namespace {

struct Free {
  void operator()(void *memory) const { (void)mxMemFree(memory); }
};

/// A call of an entry. Methods return false after an error.
class EntryCall {
public:
  EntryCall(mxEntry entry, const std::vector<const NpyArray *> &inputs,
            std::vector<NpyArray> &results, std::string &why)
      : entry(entry), inputs(inputs), results(results), why(why) {}

  bool run();

private:
  bool prepareResult(size_t index);
  bool resize(size_t index);
  bool copyArgument(size_t index);
  bool copyResult(size_t index);
  bool allocate(size_t bytes, void *&address) {
    if (mxMemAlloc(&address, bytes) != MX_SUCCESS)
      return false;
    memory.emplace_back(address);
    return true;
  }

  mxEntry entry;
  const std::vector<const NpyArray *> &inputs;
  std::vector<NpyArray> &results;
  std::string &why;
  std::vector<std::unique_ptr<void, Free>> memory;
  std::vector<mxArgument> arguments;
  std::vector<void *> places;
  /// Results with a shape unknown before the launch.
  std::vector<mxTakenMemory> taken;
};

/// Allocates host memory for a result with a known shape.
bool EntryCall::resize(size_t index) {
  mxValueInfo type = mxSized<mxValueInfo>();
  NpyArray &array = results[index];
  if (mxEntryGetResult(entry, int32_t(index), &type) != MX_SUCCESS)
    return false;
  size_t bytes = size_t(type.itemBytes);
  for (int64_t extent : array.shape)
    bytes *= size_t(extent);
  if (tryResize(array.data, bytes))
    return true;
  why = "result " + std::to_string(index) + ": no memory for the " +
        std::to_string(bytes) + " bytes of " + npyTypeString(array);
  return false;
}

bool EntryCall::prepareResult(size_t index) {
  mxValueInfo type = mxSized<mxValueInfo>();
  NpyArray &array = results[index];
  if (mxEntryGetResult(entry, int32_t(index), &type) != MX_SUCCESS)
    return false;
  array.dtype = type.dtype;
  array.shape.resize(size_t(type.rank) + 1); // not empty for rank 0
  if (type.isTaken) {
    taken[index].shape = array.shape.data();
    places[index] = &taken[index];
    return true;
  }
  if (mxEntryGetResultShape(entry, arguments.data(), int32_t(inputs.size()),
                            int32_t(index), array.shape.data()) != MX_SUCCESS)
    return false;
  array.shape.pop_back();
  if (!resize(index))
    return false;
  // Launches write numbers to host memory.
  places[index] = array.data.data();
  return type.isNumber || allocate(array.data.size(), places[index]);
}

bool EntryCall::copyArgument(size_t index) {
  mxValueInfo type = mxSized<mxValueInfo>();
  if (mxEntryGetArgument(entry, int32_t(index), &type) != MX_SUCCESS)
    return false;
  const std::vector<uint8_t> &data = inputs[index]->data;
  void *&place = arguments[index].data;
  return type.isNumber || (allocate(data.size(), place) &&
                           mxMemcpyToDevice(place, data.data(), data.size(),
                                            nullptr) == MX_SUCCESS);
}

bool EntryCall::copyResult(size_t index) {
  NpyArray &array = results[index];
  if (taken[index].shape) {
    places[index] = taken[index].data;
    memory.emplace_back(places[index]);
    array.shape.pop_back();
    if (!resize(index))
      return false;
  }
  return places[index] == array.data.data() ||
         mxMemcpyToHost(array.data.data(), places[index], array.data.size(),
                        nullptr) == MX_SUCCESS;
}

bool EntryCall::run() {
  mxEntryInfo info = mxSized<mxEntryInfo>();
  if (mxEntryGetInfo(entry, &info) != MX_SUCCESS)
    return false;
  for (const NpyArray *input : inputs)
    arguments.push_back({sizeof(mxArgument),
                         const_cast<uint8_t *>(input->data.data()),
                         input->shape.data()});
  results.resize(size_t(info.resultCount));
  places.resize(results.size());
  taken.resize(results.size(), mxSized<mxTakenMemory>());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!copyArgument(i))
      return false;
  size_t workspaceBytes = 0;
  void *workspace = nullptr;
  if (mxEntryGetWorkspaceBytes(entry, arguments.data(), int32_t(inputs.size()),
                               &workspaceBytes) != MX_SUCCESS)
    return false;
  for (size_t i = 0; i < results.size(); ++i)
    if (!prepareResult(i))
      return false;
  if (workspaceBytes && !allocate(workspaceBytes, workspace))
    return false;
  if (mxEntryLaunch(entry, arguments.data(), int32_t(inputs.size()),
                    places.data(), info.resultCount, workspace, workspaceBytes,
                    nullptr) != MX_SUCCESS ||
      mxSynchronize() != MX_SUCCESS)
    return false;
  for (size_t i = 0; i < results.size(); ++i)
    if (!copyResult(i))
      return false;
  return true;
}

} // namespace

bool mx::callEntry(mxEntry entry, const std::vector<const NpyArray *> &inputs,
                   std::vector<NpyArray> &results, std::string &why) {
  return EntryCall(entry, inputs, results, why).run();
}

LoadedProgram mx::loadProgram(const std::string &manifest,
                              const std::string &code, const std::string &data,
                              const char *name) {
  mxProgram loaded = nullptr;
  mxProgramParts parts = {sizeof(mxProgramParts),
                          manifest.data(),
                          manifest.size(),
                          code.data(),
                          code.size(),
                          data.data(),
                          data.size(),
                          name};
  (void)mxProgramLoadParts(&loaded, &parts);
  return LoadedProgram(loaded);
}

std::string mx::takeRuntimeMessage(int &status) {
  std::string text = mxGetLastError();
  status = mxGetLastStatus();
  mxClearError();
  // Reports of the simulator end with blank lines.
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.empty() ? mxStatusName(status) : text;
}

void mx::printSimulatorCounters() {
  mxSimulatorCounters counters = mxSized<mxSimulatorCounters>();
  mxGetSimulatorCounters(&counters);
  if (counters.launches)
    fprintf(stderr,
            "simulator: %" PRId64 " launches, %" PRId64
            " warp instructions, %" PRId64 " MMAs, %" PRId64 " bytes by TMA\n",
            counters.launches, counters.warpInstructions, counters.mmas,
            counters.tmaBytes);
}

void LapTimer::lap(const char *part) {
  auto now = Clock::now();
  if (enabled)
    fprintf(stderr, "time: %s %.3f s\n", part,
            std::chrono::duration<double>(now - start).count());
  start = now;
}
