//===- SelectSchedule.cpp - Choose how each matmul runs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The choice is an attribute: printed, tested, and yours to set instead.
//
//===----------------------------------------------------------------------===//

#include "../KernelBuilder.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Target/TargetInfo.h"
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
      llvm::cl::desc("Print which schedule each matmul gets, its memory map "
                     "and why others lost")};
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
    std::string error;
    const target::TargetInfo *target = target::lookupKernelTarget(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    WalkResult result =
        getOperation().walk([&](MatmulOpInterface op) -> WalkResult {
          if (!target->rates)
            return op->emitOpError("no rates of chip '")
                   << target->chip << "' are known to choose a schedule by";
          return select(op, *target);
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Leaves an operation that no kernel can do to the message of the pass that
  /// builds kernels.
  LogicalResult select(MatmulOpInterface op, const target::TargetInfo &target) {
    auto given = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
    Workspace workspace = given ? given.getWorkspace() : Workspace::None;
    if (std::string why = explainNoWorkspace(op, workspace, target);
        !why.empty())
      return op->emitOpError(why);
    bool isExplained = explain || isExplainRequested();
    std::vector<Candidate> candidates;
    if (!given || isExplained)
      candidates = rankWithWorkspaces(op, target);
    if (!given && candidates.empty())
      return success();
    ScheduleFields fields =
        given ? given.getFields() : candidates.front().fields;
    std::optional<MatmulProblem> problem =
        getMatmulProblem(op, target, fields.workspace);
    if (!problem)
      return success();
    completeSchedule(*problem, fields, target);
    auto schedule = ScheduleAttr::get(op->getContext(), fields);
    op->setAttr(kScheduleAttrName, schedule);
    if (isExplained)
      explainSchedule(llvm::errs(), op, *problem, schedule, bool(given),
                      candidates, target);
    return success();
  }
};
} // namespace
