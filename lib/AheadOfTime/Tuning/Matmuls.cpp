//===- Matmuls.cpp - Selection of matmuls and schedules -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matmuls.h"
#include "mx/Pipelines/Pipelines.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::tuning;

LogicalResult mx::tuning::lowerToMatmuls(ModuleOp module,
                                         const CompileModuleOptions &options) {
  MXToNVVMOptions nvvm;
  nvvm.chip = options.chip;
  nvvm.fuse = options.fuse;
  nvvm.skipHostCode = false; // there is none
  PassManager pm(module.getContext());
  buildMXToMatmulsPipeline(pm, nvvm);
  return pm.run(module);
}

/// Adds a completed schedule unless it is present or the limit is reached.
static void addCandidate(std::vector<ScheduleAttr> &found,
                         ScheduleAttr schedule, int64_t count) {
  if (static_cast<int64_t>(found.size()) < count &&
      !llvm::is_contained(found, schedule))
    found.push_back(schedule);
}

/// Ranks schedules for the sizes of `sized`, starting with `first` unless null.
static SizedMatmul rankAt(MatmulOpInterface op, const MatmulProblem &typed,
                          const MatmulProblem &sized, ScheduleAttr first,
                          int64_t count, const target::TargetInfo &target) {
  SizedMatmul matmul;
  matmul.problem = sized;
  if (first)
    addCandidate(matmul.candidates, first, count);
  for (const Candidate &candidate : rankWithWorkspaces(op, sized, target)) {
    if (!isLegalForAllSizes(op, typed, candidate.fields, target))
      continue;
    ScheduleFields fields = candidate.fields;
    completeSchedule(getRemainder(op, sized, fields.workspace, target)->problem,
                     fields, target);
    addCandidate(matmul.candidates, ScheduleAttr::get(op->getContext(), fields),
                 count);
  }
  return matmul;
}

/// Returns the case that runs a matmul of these sizes.
static size_t findCase(ArrayRef<ScheduleCase> cases,
                       const MatmulProblem &sized) {
  for (auto [index, one] : llvm::enumerate(cases))
    if (fitsLimits(sized, one.limits))
      return index;
  return cases.size() - 1;
}

static size_t findFirst(ArrayRef<ScheduleCase> cases, const ScheduleCase &one) {
  return llvm::find_if(cases,
                       [&](const ScheduleCase &other) {
                         return other.schedule == one.schedule;
                       }) -
         cases.begin();
}

/// Returns the sizes to measure for a matmul with cases: the largest requested
/// row count of each case. If no row counts are requested, measures each
/// schedule at the example sizes of its first case.
static std::vector<SizedMatmul> chooseSizes(MatmulOpInterface op,
                                            const MatmulProblem &typed,
                                            ArrayRef<ScheduleCase> cases,
                                            const TuneOptions &asked,
                                            const target::TargetInfo &target) {
  std::map<size_t, MatmulProblem> problems;
  for (auto [index, one] : llvm::enumerate(cases))
    if (asked.rows.empty() && findFirst(cases, one) == index)
      problems[index] = one.example;
  std::vector<int64_t> rows = asked.rows;
  llvm::sort(rows);
  for (int64_t size : rows) {
    // A dynamic number of groups is taken from the example.
    MatmulProblem sized = cases.back().example;
    getSizeOf(sized, ShapedType::isDynamic(typed.m) ? SizeName::M
                                                    : SizeName::K) = size;
    problems[findCase(cases, sized)] = sized;
  }
  std::vector<SizedMatmul> sizes;
  for (const auto &[index, problem] : problems) {
    sizes.push_back(
        rankAt(op, typed, problem, cases[index].schedule, asked.count, target));
    sizes.back().index = index;
  }
  return sizes;
}

static bool hasUnknownSize(const MatmulProblem &problem) {
  return !getUnknown(problem).empty();
}

std::vector<Matmul> mx::tuning::findMatmuls(ModuleOp module,
                                            const CompileModuleOptions &options,
                                            const target::TargetInfo &target) {
  std::vector<Matmul> matmuls;
  llvm::StringSet<> forms;
  module.walk([&](MatmulOpInterface op) {
    if (op->hasAttr(kScheduleAttrName) || op->hasAttr(kSchedulesAttrName))
      return;
    // The time of wide elements depends on their number.
    if (op.getWhere() == RowClass::Wide)
      return;
    std::optional<MatmulProblem> problem = getMatmulProblem(op, target);
    std::string form = getMatmulForm(op, options.maxSchedules);
    if (!problem || !forms.insert(form).second)
      return;
    Matmul matmul;
    matmul.op = op;
    matmul.form = form;
    if (!hasUnknownSize(*problem)) {
      matmul.sizes.push_back(
          rankAt(op, *problem, *problem, {}, options.tune.count, target));
    } else if (hasCases(*problem)) {
      matmul.cases = selectCases(op, *problem, options.maxSchedules, target);
      if (!matmul.cases.empty())
        matmul.sizes =
            chooseSizes(op, *problem, matmul.cases, options.tune, target);
    } else {
      op->emitRemark("is not tuned: only the numbers of rows, expert groups "
                     "and reduced rows may be dynamic; the model chooses the "
                     "schedule");
      return;
    }
    llvm::erase_if(matmul.sizes, [](const SizedMatmul &sized) {
      return sized.candidates.empty();
    });
    // The pass that builds kernels reports unsupported matmuls.
    if (!matmul.sizes.empty())
      matmuls.push_back(std::move(matmul));
  });
  return matmuls;
}
