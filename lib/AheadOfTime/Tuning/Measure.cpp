//===- Measure.cpp - Measurement of schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates take turns, so clock changes affect all of them equally. The
// result is the median of many turns. In a turn, launches run back to back with
// alternating operand sets, so operands are not in the cache.
//===----------------------------------------------------------------------===//

#include "../Output/CompileEntries.h"
#include "Operands.h"
#include "mx/Execution/Program.h"
#include "mx/Launch/EntryCall.h"
#include <cmath>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::tuning;

/// Maximum number of operand sets, reached if operands are small.
static constexpr size_t kMostSets = 64;

namespace {

struct Loaded {
  static llvm::Expected<Loaded> compile(const MatmulModule &matmul,
                                        ScheduleAttr schedule,
                                        const CompileModuleOptions &options);
  llvm::Expected<size_t> getWorkspaceBytes(const OperandSet &set) const;
  llvm::Error launch(const OperandSet &set, const DeviceBuffer &workspace,
                     size_t bytes) const;

  LoadedProgram program;
  mxEntry entry = nullptr;
  std::string ptx;
};

struct Timed {
  Loaded program;
  size_t workspaceBytes = 0;
  int launches = 1;
  std::vector<double> turns;
  TimedSchedule result;

  bool isLeftOut() const { return !result.leftOut.empty(); }
};

class Measurement {
public:
  Measurement(const SizedMatmul &sized, MatmulModule matmul,
              const CompileModuleOptions &options, Stopwatch &stopwatch)
      : sized(sized), matmul(std::move(matmul)),
        signature(getSignature(this->matmul)), options(options),
        stopwatch(stopwatch) {}

  llvm::Expected<TunedSizes> run();

private:
  void compileAll();
  llvm::Error prepare();
  llvm::Error compareAll();
  llvm::Error makeSets();
  llvm::Expected<double> takeTurn(Timed &timed);
  llvm::Error takeTurns();
  llvm::Expected<std::vector<uint8_t>> compute(const Timed &timed);
  template <typename Call>
  llvm::Error forEach(Call call);

  const SizedMatmul &sized;
  MatmulModule matmul;
  const Signature signature;
  const CompileModuleOptions &options;
  Stopwatch &stopwatch;
  std::vector<Timed> candidates;
  std::vector<OperandSet> sets;
  DeviceBuffer workspace;
  size_t nextSet = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

llvm::Expected<Loaded> Loaded::compile(const MatmulModule &matmul,
                                       ScheduleAttr schedule,
                                       const CompileModuleOptions &options) {
  OwningOpRef<ModuleOp> module = matmul.module.get().clone();
  getMatmul(*module)->setAttr(kScheduleAttrName, schedule);
  CompileModuleOptions one;
  one.chip = options.chip;
  // The simulator runs PTX.
  one.ptxas = options.tune.isModelled ? "none" : options.ptxas;
  one.fuse = options.fuse;
  std::string messages;
  llvm::Expected<CompiledModule> compiled =
      [&]() -> llvm::Expected<CompiledModule> {
    // A candidate that does not compile is not an error of the module.
    ScopedDiagnosticHandler handler(
        module->getContext(), [&](Diagnostic &found) {
          if (found.getSeverity() == DiagnosticSeverity::Error)
            messages += (messages.empty() ? "" : "; ") + found.str();
          return success();
        });
    if (llvm::Error error = keepEntries(*module, one.entries))
      return error;
    return compileEntries(*module, one, MatmulModule::kEntry);
  }();
  if (!compiled) {
    std::string text = llvm::toString(compiled.takeError());
    return makeError(text.empty() ? messages : text);
  }
  Loaded loaded;
  loaded.program =
      loadProgram(plan::writeManifest(compiled->manifest),
                  compiled->cubin.empty() ? compiled->ptx : compiled->cubin,
                  compiled->data, MatmulModule::kEntry);
  if (!loaded.program || mxProgramGetEntry(&loaded.entry, loaded.program.get(),
                                           MatmulModule::kEntry) != MX_SUCCESS)
    return takeRuntimeError();
  loaded.ptx = std::move(compiled->ptx);
  return loaded;
}

llvm::Expected<size_t> Loaded::getWorkspaceBytes(const OperandSet &set) const {
  size_t bytes = 0;
  ArrayRef<mxArgument> arguments = set.getArguments();
  if (mxEntryGetWorkspaceBytes(entry, arguments.data(), arguments.size(),
                               &bytes) != MX_SUCCESS)
    return takeRuntimeError();
  return bytes;
}

llvm::Error Loaded::launch(const OperandSet &set, const DeviceBuffer &workspace,
                           size_t bytes) const {
  ArrayRef<mxArgument> arguments = set.getArguments();
  ArrayRef<void *> results = set.getResults();
  return toError(mxEntryLaunch(entry, arguments.data(), arguments.size(),
                               results.data(), results.size(), workspace.get(),
                               bytes, nullptr));
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

/// Calls `call` for all candidates that are not excluded.
template <typename Call>
llvm::Error Measurement::forEach(Call call) {
  for (Timed &timed : candidates)
    if (!timed.isLeftOut())
      if (llvm::Error error = call(timed))
        return error;
  return llvm::Error::success();
}

void Measurement::compileAll() {
  for (ScheduleAttr schedule : sized.candidates) {
    Timed &timed = candidates.emplace_back();
    llvm::raw_string_ostream(timed.result.schedule) << schedule;
    llvm::Expected<Loaded> loaded = Loaded::compile(matmul, schedule, options);
    if (loaded)
      timed.program = std::move(*loaded);
    else
      timed.result.leftOut =
          "does not compile: " + llvm::toString(loaded.takeError());
  }
}

/// Copies the values of the last operand set to the first set and returns the
/// results of a candidate for the first set.
llvm::Expected<std::vector<uint8_t>> Measurement::compute(const Timed &timed) {
  const OperandSet &set = sets.front();
  if (llvm::Error error = set.reset(signature, sets.back()))
    return error;
  if (llvm::Error error =
          timed.program.launch(set, workspace, timed.workspaceBytes))
    return error;
  if (llvm::Error error = toError(mxSynchronize()))
    return error;
  std::vector<uint8_t> bytes;
  for (auto [slot, place] :
       llvm::zip_equal(signature.results, set.getResults())) {
    size_t begin = bytes.size();
    bytes.resize(begin + slot.bytes);
    if (llvm::Error error = toError(
            mxMemcpyToHost(bytes.data() + begin, place, slot.bytes, nullptr)))
      return error;
  }
  return bytes;
}

/// Allocates a workspace large enough for each candidate.
llvm::Error Measurement::prepare() {
  size_t most = 0;
  llvm::Error error = forEach([&](Timed &timed) -> llvm::Error {
    auto bytes = timed.program.getWorkspaceBytes(sets.front());
    if (bytes)
      most = std::max(most, timed.workspaceBytes = *bytes);
    else
      timed.result.leftOut =
          "does not run: " + llvm::toString(bytes.takeError());
    return llvm::Error::success();
  });
  if (error || !most)
    return error;
  llvm::Expected<DeviceBuffer> buffer = makeDeviceBuffer(most);
  if (!buffer)
    return buffer.takeError();
  workspace = std::move(*buffer);
  return llvm::Error::success();
}

/// Excludes candidates with results different from the first candidate's. The
/// operands have exact sums, so all results must be equal.
llvm::Error Measurement::compareAll() {
  if (!stopwatch.comparesResults)
    return llvm::Error::success();
  std::optional<std::vector<uint8_t>> expected;
  return forEach([&](Timed &timed) -> llvm::Error {
    auto bytes = compute(timed);
    if (!bytes) {
      timed.result.leftOut =
          "does not run: " + llvm::toString(bytes.takeError());
      return llvm::Error::success();
    }
    if (!expected) {
      expected = std::move(*bytes);
      return llvm::Error::success();
    }
    size_t differing = 0;
    for (auto [x, y] : llvm::zip_equal(*expected, *bytes))
      differing += x != y;
    if (differing)
      timed.result.leftOut =
          llvm::formatv("differs from the first schedule in {0} of {1} bytes, "
                        "although the operands' sums are exact in any order",
                        differing, bytes->size());
    return llvm::Error::success();
  });
}

/// Creates copies of a random operand set, so launches read at least
/// `bytesBetween` other bytes before they use a set again.
llvm::Error Measurement::makeSets() {
  sets.clear();
  size_t bytes = std::max<size_t>(signature.getBytes(), 1);
  size_t count =
      std::clamp<size_t>(stopwatch.bytesBetween / bytes + 1, 2, kMostSets);
  llvm::Expected<OperandSet> first =
      OperandSet::make(signature, Values::Random, sized.problem);
  if (!first)
    return first.takeError();
  sets.push_back(std::move(*first));
  while (sets.size() < count) {
    llvm::Expected<OperandSet> other = sets.front().copy(signature);
    if (!other)
      return other.takeError();
    sets.push_back(std::move(*other));
  }
  return toError(mxSynchronize());
}

/// Runs a turn of a candidate and returns the average microseconds per launch.
llvm::Expected<double> Measurement::takeTurn(Timed &timed) {
  if (llvm::Error error = stopwatch.use(timed.program.ptx))
    return error;
  llvm::Expected<double> taken = stopwatch.measure([&]() -> llvm::Error {
    for (int i = 0; i < timed.launches; ++i)
      if (llvm::Error error = timed.program.launch(
              sets[nextSet++ % sets.size()], workspace, timed.workspaceBytes))
        return error;
    return llvm::Error::success();
  });
  if (!taken)
    return taken.takeError();
  return *taken / timed.launches;
}

llvm::Error Measurement::takeTurns() {
  for (Timed &timed : candidates)
    timed.launches = stopwatch.leastLaunches;
  // The first launches load code and raise the clock.
  for (int warmUp = 0; warmUp < stopwatch.warmUps; ++warmUp) {
    llvm::Error error = forEach([&](Timed &timed) -> llvm::Error {
      timed.launches = stopwatch.leastLaunches;
      llvm::Expected<double> once = takeTurn(timed);
      if (!once)
        return once.takeError();
      timed.launches = static_cast<int>(
          std::clamp<double>(stopwatch.turnMicroseconds / std::max(*once, 0.01),
                             stopwatch.leastLaunches, stopwatch.mostLaunches));
      return llvm::Error::success();
    });
    if (error)
      return error;
  }
  for (int round = 0; round < stopwatch.rounds; ++round) {
    llvm::Error error = forEach([&](Timed &timed) -> llvm::Error {
      llvm::Expected<double> one = takeTurn(timed);
      if (!one)
        return one.takeError();
      timed.turns.push_back(*one);
      return llvm::Error::success();
    });
    if (error)
      return error;
  }
  return forEach([](Timed &timed) {
    auto middle = timed.turns.begin() + timed.turns.size() / 2;
    std::nth_element(timed.turns.begin(), middle, timed.turns.end());
    // Round to nanoseconds, the resolution of the measurement.
    timed.result.microseconds = std::round(*middle * 1000) / 1000;
    return llvm::Error::success();
  });
}

llvm::Expected<TunedSizes> Measurement::run() {
  compileAll();
  llvm::Expected<OperandSet> exact =
      OperandSet::make(signature, Values::Exact, sized.problem);
  if (!exact)
    return exact.takeError();
  llvm::Expected<OperandSet> other = exact->copy(signature);
  if (!other)
    return other.takeError();
  sets.push_back(std::move(*other));
  sets.push_back(std::move(*exact));
  for (auto step : {&Measurement::prepare, &Measurement::compareAll,
                    &Measurement::makeSets, &Measurement::takeTurns})
    if (llvm::Error error = (this->*step)())
      return error;
  TunedSizes found;
  found.m = sized.problem.m;
  found.n = sized.problem.n;
  found.k = sized.problem.k;
  found.groups = sized.problem.groups;
  for (Timed &timed : candidates)
    found.candidates.push_back(std::move(timed.result));
  return found;
}

llvm::Expected<TunedSizes>
mx::tuning::measureSchedules(MatmulOpInterface op, const SizedMatmul &sized,
                             const CompileModuleOptions &options,
                             Stopwatch &stopwatch) {
  llvm::Expected<MatmulModule> matmul = isolate(op, sized.problem);
  if (!matmul)
    return matmul.takeError();
  return Measurement(sized, std::move(*matmul), options, stopwatch).run();
}
