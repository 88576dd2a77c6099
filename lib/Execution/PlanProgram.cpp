//===- PlanProgram.cpp - Launch plans in process --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads compiled programs from memory. The runtime executes them like programs
// written to a directory by mx-compile.
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "mx/Launch/EntryCall.h"

using namespace mlir;
using namespace mx;

namespace {

/// Contents of the files that mx-compile would write, and the entry.
struct Compiled {
  std::string manifest, ptx, data, symbol;
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
  /// Creates all rank groups of the program and binds them.
  llvm::Error bindGroups(Ranks &ranks, int rank);

  std::shared_ptr<const Compiled> compiled;
  SmallVector<OwnedGroup> groups;
  LoadedProgram program;
  mxEntry entry;
};

} // namespace

llvm::Expected<std::vector<NpyArray>>
PlanProgram::call(ArrayRef<const NpyArray *> inputs) {
  std::vector<NpyArray> found;
  std::string why;
  if (callEntry(entry, inputs, found, why))
    return found;
  return why.empty() ? takeRuntimeError() : makeError(why);
}

llvm::Expected<std::unique_ptr<PlanProgram>>
PlanProgram::load(std::shared_ptr<const Compiled> compiled) {
  LoadedProgram program = loadProgram(compiled->manifest, compiled->ptx,
                                      compiled->data, kManifestPtx);
  mxEntry entry = nullptr;
  if (!program || mxProgramGetEntry(&entry, program.get(),
                                    compiled->symbol.c_str()) != MX_SUCCESS)
    return takeRuntimeError();
  return std::make_unique<PlanProgram>(std::move(compiled), std::move(program),
                                       entry);
}

namespace {
/// Data used by `exchange` while a rank group is created.
struct Meeting {
  Ranks &ranks;
  int rank;
  /// Error message of a failed exchange.
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
