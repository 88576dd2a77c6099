//===- PlanProgram.cpp - Launch plans that run in process -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-compile writes to a directory is loaded from memory instead; the
// runtime executes it in the same way.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "mx_program.h"
#include "mxsim/io/Memory.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mx;

namespace {

struct Unload {
  void operator()(mxProgram program) const { (void)mxProgramUnload(program); }
};
using LoadedProgram = std::unique_ptr<mxProgramImpl, Unload>;

struct Destroy {
  void operator()(mxGroup group) const { (void)mxGroupDestroy(group); }
};
using OwnedGroup = std::unique_ptr<mxGroupImpl, Destroy>;

/// What mx-compile would write, and the entry of it.
struct Compiled {
  std::string manifest, ptx, data, symbol;

  llvm::Expected<LoadedProgram> load() const;
};

class PlanProgram final : public Program {
public:
  PlanProgram(std::shared_ptr<const Compiled> compiled, LoadedProgram program,
              mxEntry entry)
      : compiled(std::move(compiled)), program(std::move(program)),
        entry(entry) {}

  llvm::Expected<std::unique_ptr<Program>> makeRank(Ranks &ranks,
                                                    int rank) override;
  static llvm::Expected<std::unique_ptr<PlanProgram>>
  load(std::shared_ptr<const Compiled> compiled);

private:
  llvm::Expected<std::vector<NpyArray>>
  call(ArrayRef<const NpyArray *> inputs) override;
  /// Makes all groups of the program, and binds them.
  llvm::Error bindGroups(Ranks &ranks, int rank);

  std::shared_ptr<const Compiled> compiled;
  SmallVector<OwnedGroup> groups;
  LoadedProgram program;
  mxEntry entry;
};

/// The device memory of one call.
class DeviceMemory {
public:
  ~DeviceMemory() {
    for (void *memory : owned)
      (void)mxMemFree(memory);
  }
  /// Null where the device has none left.
  void *allocate(size_t bytes) {
    void *memory = nullptr;
    if (mxMemAlloc(&memory, bytes) == MX_SUCCESS)
      owned.push_back(memory);
    return memory;
  }
  void adopt(void *memory) { owned.push_back(memory); }

private:
  SmallVector<void *> owned;
};

} // namespace

llvm::Expected<std::vector<NpyArray>>
PlanProgram::call(ArrayRef<const NpyArray *> inputs) {
  DeviceMemory memory;
  std::vector<mxArgument> values;
  for (auto [type, input] : llvm::zip_equal(arguments, inputs)) {
    void *data = const_cast<uint8_t *>(input->data.data());
    if (!type.isScalar) {
      size_t bytes = input->data.size();
      data = memory.allocate(bytes);
      if (mxGetLastStatus() != MX_SUCCESS ||
          mxMemcpyToDevice(data, input->data.data(), bytes, nullptr) !=
              MX_SUCCESS)
        return takeRuntimeError();
    }
    values.push_back({sizeof(mxArgument), data, input->shape.data()});
  }
  int32_t count = values.size();
  // Bytes of a result, and host memory for them.
  auto resize = [&](size_t index, NpyArray &array) -> llvm::Error {
    size_t bytes = results[index].itemBytes();
    for (int64_t extent : array.shape)
      bytes *= extent;
    if (tryResize(array.data, bytes))
      return llvm::Error::success();
    return makeError("result " + llvm::Twine(index) + ": no memory for the " +
                     llvm::Twine(bytes) + " bytes of " + npyTypeString(array));
  };
  std::vector<NpyArray> arrays(results.size());
  std::vector<mxTakenMemory> taken(results.size(), mxSized<mxTakenMemory>());
  std::vector<void *> places;
  for (auto [index, type] : llvm::enumerate(results)) {
    NpyArray &array = arrays[index];
    array.dtype = type.dtype;
    array.shape.resize(type.shape.size() + 1); // room, also for no dimension
    mxValueInfo info = mxSized<mxValueInfo>();
    if (mxEntryGetResult(entry, index, &info) != MX_SUCCESS)
      return takeRuntimeError();
    if (info.isTaken) {
      taken[index].shape = array.shape.data();
      places.push_back(&taken[index]);
      continue;
    }
    if (mxEntryGetResultShape(entry, values.data(), count, index,
                              array.shape.data()) != MX_SUCCESS)
      return takeRuntimeError();
    array.shape.pop_back();
    if (llvm::Error error = resize(index, array))
      return error;
    places.push_back(type.isScalar ? array.data.data()
                                   : memory.allocate(array.data.size()));
  }
  size_t workspaceBytes = 0;
  if (mxEntryGetWorkspaceBytes(entry, values.data(), count, &workspaceBytes) !=
      MX_SUCCESS)
    return takeRuntimeError();
  void *workspace = workspaceBytes ? memory.allocate(workspaceBytes) : nullptr;
  if (mxGetLastStatus() != MX_SUCCESS ||
      mxEntryLaunch(entry, values.data(), count, places.data(), places.size(),
                    workspace, workspaceBytes, nullptr) != MX_SUCCESS ||
      mxSynchronize() != MX_SUCCESS)
    return takeRuntimeError();
  for (auto [index, type] : llvm::enumerate(results)) {
    NpyArray &array = arrays[index];
    if (taken[index].shape) {
      memory.adopt(taken[index].data);
      places[index] = taken[index].data;
      array.shape.pop_back();
      if (llvm::Error error = resize(index, array))
        return error;
    }
    if (!type.isScalar &&
        mxMemcpyToHost(array.data.data(), places[index], array.data.size(),
                       nullptr) != MX_SUCCESS)
      return takeRuntimeError();
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

llvm::Expected<LoadedProgram> Compiled::load() const {
  mxProgram loaded = nullptr;
  mxProgramParts parts = {sizeof(mxProgramParts),
                          manifest.data(),
                          manifest.size(),
                          ptx.data(),
                          ptx.size(),
                          data.data(),
                          data.size(),
                          kManifestPtx};
  if (mxProgramLoadParts(&loaded, &parts) != MX_SUCCESS)
    return takeRuntimeError();
  return LoadedProgram(loaded);
}

llvm::Expected<std::unique_ptr<PlanProgram>>
PlanProgram::load(std::shared_ptr<const Compiled> compiled) {
  llvm::Expected<LoadedProgram> program = compiled->load();
  if (!program)
    return program.takeError();
  mxEntry entry = nullptr;
  if (mxProgramGetEntry(&entry, program->get(), compiled->symbol.c_str()) !=
      MX_SUCCESS)
    return takeRuntimeError();
  return std::make_unique<PlanProgram>(std::move(compiled), std::move(*program),
                                       entry);
}

namespace {
/// What a group finds its ranks by.
struct Meeting {
  Ranks &ranks;
  int rank;
  /// Why they have not met.
  std::string why = {};
};
} // namespace

static int exchange(void *user, const void *mine, size_t bytes, void *all) {
  auto *meeting = static_cast<Meeting *>(user);
  meeting->why = meeting->ranks.exchange(meeting->rank, mine, bytes, all);
  return meeting->why.empty() ? 0 : 1;
}

llvm::Error PlanProgram::bindGroups(Ranks &ranks, int rank) {
  Meeting meeting{ranks, rank};
  for (int32_t i = 0, e = mxProgramGroupCount(program.get()); i < e; ++i) {
    mxProgramGroupInfo info = mxSized<mxProgramGroupInfo>();
    if (mxProgramGetGroup(program.get(), i, &info) != MX_SUCCESS)
      return takeRuntimeError();
    mxGroupConfig config = mxSized<mxGroupConfig>();
    config.name = info.name;
    config.rank = rank;
    config.size = ranks.getCount();
    config.exchange = exchange;
    config.user = &meeting;
    config.timeoutNs = uint64_t(ranks.getTimeout().count() * 1e9);
    mxGroup group = nullptr;
    if (mxGroupCreate(&group, &config) != MX_SUCCESS) {
      llvm::Error error = takeRuntimeError();
      if (meeting.why.empty())
        return error;
      llvm::consumeError(std::move(error));
      return makeError("group " + llvm::Twine(info.name) + ": " + meeting.why,
                       kExitFault);
    }
    groups.emplace_back(group);
    if (mxProgramBindGroup(program.get(), info.name, group) != MX_SUCCESS)
      return takeRuntimeError();
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Program>> PlanProgram::makeRank(Ranks &ranks,
                                                               int rank) {
  auto program = load(compiled);
  if (!program)
    return program.takeError();
  if (llvm::Error error = (*program)->bindGroups(ranks, rank))
    return error;
  (*program)->arguments = arguments;
  (*program)->results = results;
  return std::unique_ptr<Program>(std::move(*program));
}

llvm::Expected<std::unique_ptr<Program>>
mx::compileForDevice(ModuleOp module, func::FuncOp entry,
                     const CompileOptions &options) {
  std::string symbol = entry.getSymName().str();
  for (auto function : module.getOps<func::FuncOp>())
    if (function != entry)
      function.setPrivate();
  auto code = compileDeviceCode(module, options, options.saveTemps);
  if (failed(code))
    return makeError("cannot compile '" + symbol + "' for " +
                     stringifyDeviceKind(options.device));
  auto compiled = std::make_shared<Compiled>(
      Compiled{plan::writeManifest(code->manifest), std::move(code->ptx),
               std::move(code->data), std::move(symbol)});
  const std::pair<const char *, StringRef> files[] = {
      {kManifestPtx, compiled->ptx},
      {kManifestData, compiled->data},
      {"manifest.json", compiled->manifest}};
  if (!options.saveTemps.empty())
    for (auto [name, text] : files)
      if (!text.empty())
        if (llvm::Error error = writeFile(options.saveTemps, name, text))
          return error;
  return PlanProgram::load(std::move(compiled));
}
