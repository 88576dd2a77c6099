//===- SelectSchedule.cpp - Selection of matmul schedules -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores the chosen schedule in an attribute that users can inspect or set.
//===----------------------------------------------------------------------===//

#include "../Builder/KernelBuilder.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXSELECTSCHEDULE
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

namespace {
struct ExplainOptions {
  llvm::cl::opt<bool> explain{
      "mx-explain",
      llvm::cl::desc("print the schedule and memory map of each matmul, and "
                     "why other schedules were rejected")};
};
} // namespace

static llvm::ManagedStatic<ExplainOptions> explainOptions;

void mx::mxgpu::registerExplainOption() { *explainOptions; }

static bool isExplainRequested() {
  return explainOptions.isConstructed() && explainOptions->explain;
}

namespace {
struct SelectSchedulePass final
    : mx::mxgpu::impl::MXSelectScheduleBase<SelectSchedulePass> {
  using MXSelectScheduleBase::MXSelectScheduleBase;

  void runOnOperation() override {
    const target::TargetInfo *target = lookupTarget(getOperation(), chip);
    if (!target)
      return signalPassFailure();
    if (maxSchedules < 1) {
      getOperation().emitError("expected max-schedules of 1 or more, found ")
          << maxSchedules.getValue();
      return signalPassFailure();
    }
    if (failed(readTuned()))
      return signalPassFailure();
    joined.clear();
    WalkResult result =
        getOperation().walk([&](MatmulOpInterface op) -> WalkResult {
          if (!target->rates)
            return op->emitOpError("expected a chip with known rates for the "
                                   "schedule model, found '")
                   << target->chip << "'";
          return select(op, *target);
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Selects a schedule for `op`. Skips unsupported operations, because the
  /// conversion pass reports an error for them.
  LogicalResult select(MatmulOpInterface op, const target::TargetInfo &target) {
    if (joined.contains(op))
      return success();
    if (auto given = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName)) {
      FailureOr<ScheduleAttr> schedule = complete(op, given, target);
      if (failed(schedule))
        return failure();
      op->setAttr(kScheduleAttrName, *schedule);
      return success();
    }
    if (auto given = op->getAttrOfType<ArrayAttr>(kSchedulesAttrName))
      return completeCases(op, given, target);
    std::optional<MatmulProblem> problem = getMatmulProblem(op, target);
    if (!problem) {
      selectForNumbers(op, target);
      return success();
    }
    if (const TunedEntry *entry =
            measured ? measured->find(op, maxSchedules) : nullptr)
      return takeTuned(op, *entry, target);
    if (hasCases(*problem))
      return chooseCases(op, *problem, target);
    std::vector<Candidate> candidates = rank(op, *problem, target);
    if (candidates.empty())
      return success();
    MatmulOpInterface next = findJoinable(op);
    std::optional<MatmulProblem> ofNext;
    if (next && getUnknown(*problem).empty() && isChosen(next))
      ofNext = getMatmulProblem(next, target);
    std::vector<Candidate> others;
    if (ofNext && getUnknown(*ofNext).empty())
      others = rank(next, *ofNext, target);
    if (!others.empty())
      preferJoined(*problem, candidates, *ofNext, others, target);
    setSchedule(op, *problem, candidates, target);
    if (!others.empty()) {
      setSchedule(next, *ofNext, others, target);
      joined.insert(next);
    }
    return success();
  }

  /// Returns true if the model chooses the schedule of `op`.
  bool isChosen(MatmulOpInterface op) {
    return !op->hasAttr(kScheduleAttrName) &&
           !op->hasAttr(kSchedulesAttrName) &&
           !(measured && measured->find(op, maxSchedules));
  }

  /// Selects a schedule that dequantizes to bf16 first, for operands with
  /// scales that no instruction supports.
  void selectForNumbers(MatmulOpInterface op,
                        const target::TargetInfo &target) {
    for (Workspace workspace : {Workspace::B, Workspace::A, Workspace::AB}) {
      if (!explainNoWorkspace(op, workspace, Workspace::None, target).empty())
        continue;
      MatmulProblem problem = *getMatmulProblem(op, target, workspace);
      std::vector<Candidate> candidates = rankSchedules(problem, target);
      llvm::erase_if(candidates, [](const Candidate &candidate) {
        return getPermuted(candidate.fields) != Workspace::None;
      });
      if (candidates.empty())
        continue;
      candidates.front().fields.workspace = workspace;
      return setSchedule(op, problem, candidates, target);
    }
  }

private:
  bool isExplained() const { return explain || isExplainRequested(); }

  /// Reads the table of tuned schedules, if any. If the table is for another
  /// chip or build, the model chooses schedules, and this is not an error.
  LogicalResult readTuned() {
    measured.reset();
    if (tuned.empty())
      return success();
    llvm::Expected<TunedSchedules> found =
        TunedSchedules::read(tuned, chip, tunedGpu);
    if (!found)
      return getOperation().emitError() << llvm::toString(found.takeError());
    measured = std::move(*found);
    if (std::string why = measured->explainNoEntry(); !why.empty())
      getOperation().emitWarning() << why;
    return success();
  }

  /// Uses the measured schedule after the checks of a handwritten attribute.
  LogicalResult takeTuned(MatmulOpInterface op, const TunedEntry &entry,
                          const target::TargetInfo &target) {
    Attribute attribute = measured->parse(op, entry);
    if (!attribute)
      return failure();
    std::string from =
        "from " + measured->getPath().str() + ", " + entry.describe();
    if (auto one = dyn_cast<ScheduleAttr>(attribute)) {
      FailureOr<ScheduleAttr> schedule = complete(op, one, target, from);
      if (failed(schedule))
        return failure();
      op->setAttr(kScheduleAttrName, *schedule);
      return success();
    }
    return completeCases(op, cast<ArrayAttr>(attribute), target, from);
  }

  LogicalResult checkTuned(MatmulOpInterface op, const MatmulProblem &problem,
                           const ScheduleFields &fields,
                           const target::TargetInfo &target) {
    std::optional<ScheduleError> error = checkSchedule(problem, fields, target);
    if (!error)
      return success();
    InFlightDiagnostic report = op->emitOpError()
                                << measured->getPath() << ": " << error->message
                                << ": delete the entry, or tune again";
    for (const std::string &line : error->table)
      report.attachNote(op.getLoc()) << line;
    return report;
  }

  /// Ranks candidates for the static sizes and assumed dynamic sizes.
  /// Workspaces are excluded if sizes are dynamic, because with small M the
  /// dequantization of all of B would be too expensive.
  static std::vector<Candidate> rank(MatmulOpInterface op,
                                     const MatmulProblem &problem,
                                     const target::TargetInfo &target) {
    if (llvm::any_of(ArrayRef{problem.m, problem.n, problem.k},
                     ShapedType::isDynamic))
      return rankSchedules(problem, target);
    return rankWithWorkspaces(op, problem, target);
  }

  /// Completes an existing schedule. `explain` prints both this schedule and
  /// the model's choice. `from` describes the source of a measured schedule.
  FailureOr<ScheduleAttr> complete(MatmulOpInterface op, ScheduleAttr given,
                                   const target::TargetInfo &target,
                                   StringRef from = {}) {
    ScheduleFields fields = given.getFields();
    if (std::string why = explainNoWorkspace(op, fields.workspace,
                                             getPermuted(fields), target);
        !why.empty())
      return op->emitOpError() << (from.empty() ? "" : measured->getPath())
                               << (from.empty() ? "" : ": ") << why;
    std::optional<MatmulProblem> problem =
        getMatmulProblem(op, target, fields.workspace);
    if (!problem)
      return given;
    resolveStrategy(*problem, fields);
    if (!from.empty() && failed(checkTuned(op, *problem, fields, target)))
      return failure();
    completeSchedule(*problem, fields, target);
    auto schedule = ScheduleAttr::get(op->getContext(), fields);
    if (isExplained())
      explainSchedule(
          llvm::errs(), op, *problem, schedule,
          from.empty() ? ScheduleOrigin::Person : ScheduleOrigin::Tuned,
          rank(op, *getMatmulProblem(op, target), target), target, from);
    return schedule;
  }

  LogicalResult completeCases(MatmulOpInterface op, ArrayAttr cases,
                              const target::TargetInfo &target,
                              StringRef from = {}) {
    SmallVector<Attribute> completed;
    for (auto one : cases.getAsRange<ScheduleCaseAttr>()) {
      FailureOr<ScheduleAttr> schedule =
          complete(op, one.getSchedule(), target, from);
      if (failed(schedule))
        return failure();
      completed.push_back(ScheduleCaseAttr::get(op->getContext(), one.getMaxM(),
                                                one.getMaxN(), one.getMaxK(),
                                                one.getMaxGroups(), *schedule));
    }
    op->setAttr(kSchedulesAttrName,
                ArrayAttr::get(op->getContext(), completed));
    return success();
  }

  /// Sets the best of `candidates` for a matmul with the sizes of `whole`.
  void setSchedule(MatmulOpInterface op, const MatmulProblem &whole,
                   ArrayRef<Candidate> candidates,
                   const target::TargetInfo &target) {
    ScheduleFields fields = candidates.front().fields;
    MatmulProblem problem =
        getRemainder(op, whole, fields.workspace, target)->problem;
    completeSchedule(problem, fields, target);
    auto schedule = ScheduleAttr::get(op->getContext(), fields);
    op->setAttr(kScheduleAttrName, schedule);
    if (isExplained())
      explainSchedule(llvm::errs(), op, problem, schedule,
                      ScheduleOrigin::Model, candidates, target);
  }

  LogicalResult chooseCases(MatmulOpInterface op, const MatmulProblem &problem,
                            const target::TargetInfo &target) {
    std::vector<ScheduleCase> cases =
        selectCases(op, problem, maxSchedules, target);
    if (cases.empty())
      return success();
    if (isExplained())
      explainCases(llvm::errs(), op, problem, cases, target);
    // Parts of the columns use the schedule for the largest sizes, because they
    // could not share operands in the workspace across branches.
    if (cases.size() == 1 || op.getColumnRange()) {
      op->setAttr(kScheduleAttrName, cases.back().schedule);
      return success();
    }
    SmallVector<Attribute> attributes;
    for (const ScheduleCase &one : cases)
      attributes.push_back(
          ScheduleCaseAttr::get(op->getContext(), one.limits[0], one.limits[1],
                                one.limits[2], one.limits[3], one.schedule));
    op->setAttr(kSchedulesAttrName,
                ArrayAttr::get(op->getContext(), attributes));
    return success();
  }

  std::optional<TunedSchedules> measured;
  /// Matmuls with schedules chosen beside an earlier matmul.
  SmallPtrSet<Operation *, 4> joined;
};
} // namespace
