//===- MatmulSupport.cpp - What matmul kernels can do ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One place says what the GPU path takes, so that nothing else has to ask.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Parts of schedules that kernels do not have yet.
static LogicalResult
checkBuilt(ScheduleAttr schedule,
           function_ref<LogicalResult(const Twine &)> fail) {
  if (schedule.getCtaPair())
    return fail("without cta_pair");
  if (schedule.getTileN() != 128 && schedule.getTileN() != 256)
    return fail("with a tile of 128 or 256 columns");
  if (schedule.getTileK() != 128)
    return fail("with a tile of 128 reduction elements");
  if (schedule.getOverlap())
    return fail("without overlap");
  if (schedule.getScaleSlots() != 1)
    return fail("with 1 scale slot");
  if (schedule.getSplitK() != 1)
    return fail("with split_k = 1");
  if (!schedule.getRegisters().empty())
    return fail("without registers");
  if (schedule.getL2A() != CacheHint::None ||
      schedule.getL2B() != CacheHint::None)
    return fail("without l2");
  if (schedule.getPdl())
    return fail("without pdl");
  return success();
}

bool mx::mxgpu::isBuilt(ScheduleAttr schedule) {
  return succeeded(
      checkBuilt(schedule, [](const Twine &) { return failure(); }));
}

LogicalResult
mx::mxgpu::verifyScheduleSupport(MatmulOp op, ScheduleAttr schedule,
                                 const target::TargetInfo &target) {
  auto fail = [&](const Twine &expected) -> LogicalResult {
    return op.emitOpError("expected a schedule ")
           << expected << " on the GPU, found " << schedule;
  };
  if (failed(checkBuilt(schedule, fail)))
    return failure();
  if (!schedule.getStages())
    return fail("with a number of stages (run mx-select-schedule first)");
  std::optional<MatmulProblem> problem = getMatmulProblem(op);
  if (!problem)
    return op.emitOpError("expected operands and scales that a block-scaled "
                          "tcgen05.mma multiplies, found ")
           << op.getA().getType() << " and " << op.getB().getType()
           << " with blocks of " << op.getBlockSize();
  auto error = checkSchedule(*problem, schedule.getParts(), target);
  if (!error)
    return success();
  InFlightDiagnostic diag = op.emitOpError(error->message);
  for (const std::string &row : error->table)
    diag.attachNote() << row;
  return diag;
}

LogicalResult mx::mxgpu::verifyMatmulSupport(MatmulOp op) {
  if (failed(EpilogueRegion(op.getEpilogueBlock()).verify()))
    return failure();
  for (auto [operand, scales, name] :
       {std::tuple(op.getA(), op.getAScales(), "a"),
        std::tuple(op.getB(), op.getBScales(), "b")}) {
    auto type = cast<MemRefType>(operand.getType());
    auto scaleType = cast<MemRefType>(scales.getType());
    if (!isa<Float8E4M3FNType>(type.getElementType()) ||
        !type.getLayout().isIdentity())
      return op.emitOpError("expected ")
             << name << " of f8E4M3FN with identity layout on the GPU, found "
             << type;
    if (scaleType.getRank() != 5 || !scaleType.getLayout().isIdentity() ||
        !isa<Float8E8M0FNUType>(scaleType.getElementType()))
      return op.emitOpError("expected scales of ")
             << name << " as f8E8M0FNU in layout tcgen05 on the GPU, found "
             << scaleType;
  }
  auto out = cast<MemRefType>(op.getOuts().front().getType());
  if (!out.getLayout().isIdentity())
    return op.emitOpError("expected a result with identity layout on the GPU, "
                          "found ")
           << out;
  return success();
}
