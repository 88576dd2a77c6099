//===- DequantizeOperands.cpp - Operands of a product in a workspace ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a schedule says of operands (`workspace`) becomes operations: each is
// dequantized to bf16, which rounds as the kernels that dequantize do, and the
// product takes the numbers. Layouts are shapes by then, so that elements of
// ragged reductions are a matrix as others: the padding of their segments is 0,
// and stays 0.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXDEQUANTIZEOPERANDS
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

/// The numbers of an operand as a tensor of their own, of the groups that
/// divide its rows, if any.
static Value dequantize(OpBuilder &builder, Location loc, Value elements,
                        Value scales, Value offsets, int64_t blockSize) {
  auto type = cast<RankedTensorType>(elements.getType());
  auto numbers = type.clone(builder.getBF16Type());
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, elements),
      numbers.getElementType());
  RaggedKindAttr ragged;
  if (offsets)
    ragged = RaggedKindAttr::get(builder.getContext(), RaggedKind::Rows);
  auto op =
      DequantizeOp::create(builder, loc, TypeRange{numbers}, elements, scales,
                           /*global_scale=*/Value(), offsets, ValueRange{empty},
                           ragged, builder.getI64IntegerAttr(blockSize));
  return op.getResult(0);
}

template <typename OpT>
static void dequantizeOperands(OpT op, Workspace workspace) {
  OpBuilder builder(op);
  int64_t blockSize = op.getBlockSize();
  // Where groups have matrices the rows of a are those of a batch.
  bool hasRows = op.getRaggedOrNone() == RaggedKind::Rows && !op.isMasked();
  if (holdsA(workspace)) {
    Value numbers =
        dequantize(builder, op.getLoc(), op.getA(), op.getAScales(),
                   hasRows ? op.getGroupOffsets() : Value(), blockSize);
    op.getAMutable().assign(numbers);
    op.getAScalesMutable().clear();
  }
  if (holdsB(workspace)) {
    Value numbers = dequantize(builder, op.getLoc(), op.getB(), op.getBScales(),
                               /*offsets=*/Value(), blockSize);
    op.getBMutable().assign(numbers);
    op.getBScalesMutable().clear();
  }
  // Numbers have no blocks: what is not written is 32.
  if (!op.getBScales())
    op.setBlockSize(32);
}

namespace {
struct DequantizeOperandsPass final
    : mx::mxgpu::impl::MXDequantizeOperandsBase<DequantizeOperandsPass> {
  using MXDequantizeOperandsBase::MXDequantizeOperandsBase;

  void runOnOperation() override {
    std::string error;
    const target::TargetInfo *target = target::lookupKernelTarget(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    WalkResult result =
        getOperation().walk([&](MatmulOpInterface op) -> WalkResult {
          return rewrite(op, *target);
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult rewrite(MatmulOpInterface op,
                               const target::TargetInfo &target) {
    auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
    if (!schedule || schedule.getWorkspace() == Workspace::None)
      return success();
    Workspace workspace = schedule.getWorkspace();
    if (std::string why = explainNoWorkspace(op, workspace, target);
        !why.empty())
      return op->emitOpError(why);
    if (!op->getNumResults())
      return op->emitOpError("expected tensors with workspace = ")
             << stringifyWorkspace(workspace)
             << ", found memrefs: run mx-dequantize-operands before "
                "bufferization";
    ScheduleFields fields = schedule.getFields();
    fields.workspace = Workspace::None;
    op->setAttr(kScheduleAttrName, ScheduleAttr::get(op->getContext(), fields));
    if (auto matmul = dyn_cast<MatmulOp>(*op))
      dequantizeOperands(matmul, workspace);
    else
      dequantizeOperands(cast<GroupedMatmulOp>(*op), workspace);
    return success();
  }
};
} // namespace
