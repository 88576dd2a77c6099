//===- SimpleChecks.cpp - What a thread can compute -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Before an operation becomes loops it is asked whether a kernel can compute
// it; at run time the host asks whether the elements are there.
//
//===----------------------------------------------------------------------===//

#include "../ElementRegion.h"
#include "Simple.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Elements that a thread can move, though not compute with.
static bool isByte(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

static LogicalResult verifyOperand(linalg::GenericOp op, OpOperand &operand) {
  Type type = operand.get().getType();
  auto memref = dyn_cast<MemRefType>(type);
  Type element = getElementTypeOrSelf(type);
  if ((!memref || (memref.isStrided() && !memref.getMemorySpace())) &&
      (isKernelNumber(element) || isByte(element)))
    return success();
  return op.emitOpError("expected numbers, or memrefs with strides of f16, "
                        "bf16, f32, f64, floats of 8 bits, i1, i8, i16, i32, "
                        "i64 or index in a kernel of its own on the GPU, found "
                        "operand ")
         << operand.getOperandNumber() << " of type " << type;
}

static LogicalResult verifyInside(Operation *op) {
  bool isControl = isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op) ||
                   op->hasTrait<OpTrait::IsTerminator>();
  bool isAccess = isa<memref::LoadOp, memref::DimOp, linalg::IndexOp>(op);
  bool isArith = isa_and_present<arith::ArithDialect>(op->getDialect());
  if (isa<arith::RemFOp>(op))
    return op->emitOpError("expected an operation that GPUs compute exactly, "
                           "found arith.remf; subtract a multiple instead");
  if (!isControl && !isAccess && !isArith && !hasKernelInstruction(op))
    return op->emitOpError("expected operations of arith, math and scf, and "
                           "memref.load, in a kernel of its own on the GPU, "
                           "found one that no thread computes");
  if (isa<linalg::YieldOp>(op))
    return success();
  for (Type type : llvm::concat<const Type>(
           SmallVector<Type>(op->getOperandTypes()), op->getResultTypes()))
    if (!isKernelNumber(type) && !(isAccess && isa<MemRefType>(type) &&
                                   isKernelNumber(getElementTypeOrSelf(type))))
      return op->emitOpError("expected operands and results of f16, bf16, f32, "
                             "f64, i1, i8, i16, i32, i64 or index in a kernel "
                             "of its own on the GPU, found ")
             << type << "; "
             << (isa<arith::ScalingExtFOp>(op)
                     ? "mx-opt --mx-import-scaled makes operations of mx of "
                       "it (docs/ImportScaled.md)"
                     : "mx.dequantize widens narrower floats");
  return success();
}

LogicalResult mx::mxgpu::verifySimple(linalg::GenericOp op) {
  for (OpOperand &operand : op->getOpOperands())
    if (failed(verifyOperand(op, operand)))
      return failure();
  WalkResult result = op.getBody()->walk([](Operation *inside) {
    return failed(verifyInside(inside)) ? WalkResult::interrupt()
                                        : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
/// Takes down the assertions that are made.
struct AssertListener final : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto assertion = dyn_cast<cf::AssertOp>(op))
      assertions.push_back(assertion);
  }

  SmallVector<cf::AssertOp> assertions;
};
} // namespace

void mx::mxgpu::requireAccesses(Operation *op) {
  auto accesses = dyn_cast<RuntimeVerifiableOpInterface>(op);
  if (!accesses)
    return;
  AssertListener listener;
  OpBuilder builder(op, &listener);
  accesses.generateRuntimeVerification(
      builder, op->getLoc(), [](Operation *op, StringRef message) {
        return ("'" + op->getName().getStringRef() +
                "' op expected an access inside of its array: " + message)
            .str();
      });
  for (cf::AssertOp assertion : listener.assertions) {
    OpBuilder at(assertion);
    // The message of a requirement is a format.
    std::string text = assertion.getMsg().str();
    for (size_t i = 0; (i = text.find('%', i)) != std::string::npos; i += 2)
      text.insert(i, "%");
    RequireOp::create(at, assertion.getLoc(), assertion.getArg(), text,
                      ValueRange());
    assertion.erase();
  }
}

void mx::mxgpu::requireSizes(linalg::GenericOp op) {
  // Whatever else an index is computed by, upstream knows its bounds.
  if (!llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return requireAccesses(op);
  KernelBuilder host(op.getLoc(), op);
  SmallVector<Range, 4> ranges = cast<linalg::LinalgOp>(op.getOperation())
                                     .createLoopRanges(host, op.getLoc());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      host.requireSize(
          host.dim(operand.get(), i),
          getValueOrCreateConstantIndexOp(host, op.getLoc(),
                                          ranges[map.getDimPosition(i)].size),
          "dimension " + Twine(i) + " of operand " +
              Twine(operand.getOperandNumber()) + " of '" +
              op->getName().getStringRef() + "'");
  }
}
