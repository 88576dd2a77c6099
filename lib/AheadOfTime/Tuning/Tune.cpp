//===- Tune.cpp - Tuning of a module --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/AheadOfTime/Tune.h"
#include "Matmuls.h"
#include "mx/Execution/Program.h"
#include "mx/Support/Version.h"
#include "mx_runtime.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <ctime>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::tuning;

/// Minimum gain, in thousandths of the time, for which a schedule replaces the
/// model's choice. Smaller gains are noise.
static constexpr double kLeastGain = 5;
/// Maximum loss, in percent, predicted by the model for a measured schedule at
/// unmeasured sizes. Approximates the error of the model.
static constexpr int64_t kMostLoss = 5;

std::string mx::getTunedTablePath() {
  llvm::SmallString<128> path;
  if (const char *folder = std::getenv("MX_CACHE_DIR"); folder && *folder)
    path = folder;
  else if (llvm::sys::path::cache_directory(path))
    llvm::sys::path::append(path, "mx_compiler");
  llvm::sys::path::append(path, "tuned-schedules.json");
  return path.str().str();
}

static std::string getDate() {
  time_t now = time(nullptr);
  tm utc;
  gmtime_r(&now, &utc);
  char text[sizeof "2026-11-25"];
  strftime(text, sizeof(text), "%Y-%m-%d", &utc);
  return text;
}

/// Returns the fastest schedule with correct results, or null.
static const TimedSchedule *findFastest(const TunedSizes &sizes) {
  const TimedSchedule *fastest = nullptr;
  for (const TimedSchedule &one : sizes.candidates) {
    if (!one.leftOut.empty())
      continue;
    double factor =
        fastest == &sizes.candidates.front() ? 1 - kLeastGain / 1000 : 1;
    if (!fastest || one.microseconds < fastest->microseconds * factor)
      fastest = &one;
  }
  return fastest;
}

namespace {

class Tuner {
public:
  Tuner(const CompileModuleOptions &options, Stopwatch &stopwatch,
        std::string table, std::string gpu)
      : options(options), stopwatch(stopwatch), path(std::move(table)),
        gpu(std::move(gpu)) {}

  llvm::Error run(ModuleOp module, const target::TargetInfo &target);

private:
  bool isKnown(const TunedTable &table, const TunedKey &key) const;
  llvm::Expected<TunedTable> readTable() const;
  llvm::Error keep(const TunedEntry &entry) const;
  llvm::Error tune(const Matmul &matmul, TunedKey key,
                   const target::TargetInfo &target);
  void tell(const Matmul &matmul, const TunedSizes &sizes) const;

  const CompileModuleOptions &options;
  Stopwatch &stopwatch;
  const std::string path, gpu;
};

} // namespace

llvm::Expected<TunedTable> Tuner::readTable() const {
  if (!llvm::sys::fs::exists(path))
    return TunedTable();
  return TunedTable::read(path, /*replacesOld=*/true);
}

/// Returns true if the table contains a measurement with the same options.
bool Tuner::isKnown(const TunedTable &table, const TunedKey &key) const {
  const TunedEntry *entry = table.find(key);
  return entry && entry->count == options.tune.count &&
         entry->rows == options.tune.rows;
}

/// Rereads the table file, which other processes may change, and adds an entry.
llvm::Error Tuner::keep(const TunedEntry &entry) const {
  llvm::Expected<TunedTable> table = readTable();
  if (!table)
    return table.takeError();
  table->put(entry);
  StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(
            folder, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all))
      return makeError(folder + ": cannot create: " + error.message());
  return table->write(path);
}

void Tuner::tell(const Matmul &matmul, const TunedSizes &sizes) const {
  for (const TimedSchedule &one : sizes.candidates)
    if (!one.leftOut.empty())
      matmul.op->emitRemark("left out ") << one.schedule << ": " << one.leftOut;
  const TimedSchedule *fastest = findFastest(sizes);
  if (!fastest)
    return;
  const TimedSchedule &first = sizes.candidates.front();
  InFlightDiagnostic remark =
      matmul.op->emitRemark(options.tune.isModelled ? "modelled " : "tuned ");
  remark << sizes.m << " x " << sizes.n << " x " << sizes.k << ": "
         << llvm::formatv("{0:f2} us", fastest->microseconds).str();
  if (fastest == &first)
    remark << " with the model's choice";
  else if (first.leftOut.empty())
    remark << llvm::formatv(", {0:f2} us with the model's choice",
                            first.microseconds)
                  .str();
  remark << "; timed " << sizes.candidates.size() << " schedules on " << gpu;
}

/// Returns the modelled time of a schedule at a case's example sizes.
static int64_t getModelledTotal(MatmulOpInterface op, const ScheduleCase &one,
                                ScheduleAttr schedule,
                                const target::TargetInfo &target) {
  ScheduleFields fields = schedule.getFields();
  return getRemainder(op, one.example, fields.workspace, target)
      ->getCost(fields, target)
      .total;
}

/// Uses a measured schedule for a case. If `isEverywhere`, also uses it for the
/// cases that had the same schedule before, so they still share a kernel,
/// unless the model predicts a loss above kMostLoss for a case.
static void replaceSchedule(const Matmul &matmul, size_t index,
                            ScheduleAttr schedule, bool isEverywhere,
                            const target::TargetInfo &target,
                            std::vector<ScheduleAttr> &chosen) {
  chosen[index] = schedule;
  if (matmul.cases.empty() || !isEverywhere)
    return;
  for (auto [one, of] : llvm::zip_equal(matmul.cases, chosen)) {
    if (one.schedule != matmul.cases[index].schedule)
      continue;
    int64_t before = getModelledTotal(matmul.op, one, one.schedule, target);
    int64_t after = getModelledTotal(matmul.op, one, schedule, target);
    if (after * 100 <= before * (100 + kMostLoss))
      of = schedule;
  }
}

llvm::Error Tuner::tune(const Matmul &matmul, TunedKey key,
                        const target::TargetInfo &target) {
  MLIRContext *context = matmul.op->getContext();
  TunedEntry entry;
  entry.key = std::move(key);
  entry.date = getDate();
  entry.count = options.tune.count;
  entry.rows = options.tune.rows;
  std::vector<ScheduleAttr> chosen;
  for (const ScheduleCase &one : matmul.cases)
    chosen.push_back(one.schedule);
  chosen.resize(std::max<size_t>(chosen.size(), 1));
  for (const SizedMatmul &sized : matmul.sizes) {
    llvm::Expected<TunedSizes> sizes =
        measureSchedules(matmul.op, sized, options, stopwatch);
    if (!sizes) {
      matmul.op->emitWarning("is not tuned: ")
          << llvm::toString(sizes.takeError())
          << "; the model chooses the schedule";
      return llvm::Error::success();
    }
    tell(matmul, *sizes);
    if (const TimedSchedule *fastest = findFastest(*sizes)) {
      ScheduleAttr schedule =
          sized.candidates[fastest - sizes->candidates.data()];
      replaceSchedule(matmul, sized.index, schedule,
                      /*isEverywhere=*/options.tune.rows.empty(), target,
                      chosen);
    }
    entry.sizes.push_back(std::move(*sizes));
  }
  if (!chosen.front()) {
    matmul.op->emitWarning("is not tuned: none of the tried schedules runs; "
                           "the model chooses the schedule");
    return llvm::Error::success();
  }
  llvm::raw_string_ostream os(entry.schedule);
  if (chosen.size() == 1) {
    os << chosen.front();
    return keep(entry);
  }
  SmallVector<Attribute> cases;
  for (auto [one, schedule] : llvm::zip_equal(matmul.cases, chosen))
    cases.push_back(ScheduleCaseAttr::get(context, one.limits[0], one.limits[1],
                                          one.limits[2], one.limits[3],
                                          schedule));
  os << ArrayAttr::get(context, cases);
  return keep(entry);
}

llvm::Error Tuner::run(ModuleOp module, const target::TargetInfo &target) {
  llvm::Expected<TunedTable> table = readTable();
  if (!table)
    return table.takeError();
  OwningOpRef<ModuleOp> lowered = module.clone();
  if (failed(lowerToMatmuls(*lowered, options)))
    return makeError(""); // already reported
  for (const Matmul &matmul : findMatmuls(*lowered, options, target)) {
    TunedKey key = {options.chip, gpu, getVersion(), matmul.form};
    if (isKnown(*table, key))
      continue;
    if (llvm::Error error = tune(matmul, std::move(key), target))
      return error;
  }
  // Create a table even if nothing was measured.
  return llvm::sys::fs::exists(path) ? llvm::Error::success()
                                     : TunedTable().write(path);
}

llvm::Expected<Tuned> mx::tuneModule(ModuleOp module,
                                     const CompileModuleOptions &options,
                                     Stopwatch &stopwatch) {
  std::string error;
  const target::TargetInfo *target =
      target::lookupKernelTarget(options.chip, error);
  if (!target)
    return makeError(error);
  if (!target->rates)
    return makeError("cannot choose schedules for chip '" + options.chip +
                     "': its rates are not known");
  mxDeviceInfo info = mxSized<mxDeviceInfo>();
  if (mxGetDeviceInfo(&info) != MX_SUCCESS)
    return takeRuntimeError();
  Tuned tuned = {options.tuned.empty() ? getTunedTablePath() : options.tuned,
                 stopwatch.gpu.empty() ? info.name : stopwatch.gpu};
  Tuner tuner(options, stopwatch, tuned.table, tuned.gpu);
  if (llvm::Error failure = tuner.run(module, *target))
    return failure;
  return tuned;
}
