//===- VerifyTensors.cpp - Operations without a lowering ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports operations that no later pass can lower. Runs before bufferization,
// while operations still have the form of the source.
//===----------------------------------------------------------------------===//

#include "../Fusion/Obstacles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mx/Dialect/MX/IR/ConstantBytes.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Dialect/Shared/VectorSizes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXVERIFYTENSORS
#define GEN_PASS_DEF_MXVERIFYDIMS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

static bool isTensor(Type type) { return isa<TensorType>(type); }

static bool hasTensors(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

//===----------------------------------------------------------------------===//
// All paths
//===----------------------------------------------------------------------===//

/// Rejects operations that neither bufferize nor become loops.
static LogicalResult verifyLowering(Operation *op) {
  if (isa<linalg::LinalgDialect>(op->getDialect()) && hasTensors(op) &&
      !isa<linalg::LinalgOp>(op))
    return op->emitOpError(
        "expected an operation that lowers to loops: use row sums, row maxima "
        "and elementwise operations (linalg.generic) instead");
  if (!hasTensors(op) || isa<bufferization::BufferizableOpInterface>(op) ||
      isa<func::FuncOp, func::ReturnOp, func::CallOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("expected an operation on tensors that bufferizes: ");
  if (op->hasTrait<OpTrait::Elementwise>())
    return diag << "write it as a linalg.generic on elements, which mx-opt "
                   "--mx-decompose-tensors does";
  return diag << "write it with linalg, tensor or mx operations";
}

/// Rejects named operations on narrow floats here, because a later error would
/// refer to body operations that upstream created.
static LogicalResult verifyNamedBody(Operation *op) {
  auto named = dyn_cast<linalg::LinalgOp>(op);
  if (!named || isa<linalg::GenericOp, linalg::MapOp, linalg::ReduceOp>(op))
    return success();
  for (Operation &inside : *named.getBlock()) {
    Type found = findNarrowFloat(&inside);
    if (!found ||
        !isa<arith::ArithDialect, math::MathDialect>(inside.getDialect()) ||
        isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(inside))
      continue;
    bool isMatmul = linalg::isaContractionOpInterface(named);
    return op->emitOpError("expected arithmetic on f16, bf16, f32, f64, "
                           "integers or index, found ")
           << found << "; "
           << (isMatmul ? "mx.matmul multiplies narrower floats with their "
                          "scales"
                        : adviseOnNarrowFloats(&inside));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

/// Returns the matmul that defines `tensor` or the source of its slice.
static MatmulOpInterface getMatmul(Value tensor) {
  if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>())
    tensor = slice.getSource();
  return tensor.getDefiningOp<MatmulOpInterface>();
}

/// Returns the obstacle to fusion with the matmul or quantization that produces
/// or uses a tensor of `op`, or none if there is no such neighbor.
static std::optional<Obstacle> findObstacle(linalg::LinalgOp op) {
  for (Value operand : op->getOperands())
    if (MatmulOpInterface matmul = getMatmul(operand))
      return findEpilogueObstacle(matmul, op);
  for (Operation *user : op->getUsers())
    if (auto quantize = dyn_cast<FusedQuantizeOp>(user))
      return findPrologueObstacle(op, quantize);
  return std::nullopt;
}

/// Attaches the reason why `op` becomes a separate kernel, for a later remark.
static void explain(linalg::LinalgOp op) {
  auto set = [&](const Twine &why) {
    op->setAttr(kApartAttr, StringAttr::get(op.getContext(), why));
  };
  if (linalg::isaContractionOpInterface(op))
    return set("its operands are not in block formats: quantize both for "
               "mx.matmul, or run mx-opt --mx-quantize-matmuls "
               "(docs/guide/Import.md)");
  if (isa<linalg::FillOp>(op) || op.getNumParallelLoops() != op.getNumLoops())
    return;
  if (std::optional<Obstacle> found = findObstacle(op); found && *found)
    set(found->why);
}

/// Returns true for types of 8, 16, 32 or 64 bits that occupy whole bytes.
static bool isReadable(Type type) {
  if (type.isIndex() || type.isInteger(1))
    return true;
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  return llvm::is_contained({8u, 16u, 32u, 64u}, bits) &&
         !(isa<FloatType>(type) && bits == 8);
}

/// Rejects constants without a byte representation.
static LogicalResult verifyConstant(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant || !isTensor(constant.getType()))
    return success();
  std::optional<std::string> fault =
      findConstantFault(cast<ElementsAttr>(constant.getValue()));
  return fault ? op->emitOpError("expected ") << *fault : success();
}

/// Rejects accesses to device memory that no kernel can perform.
static LogicalResult verifyOnDevice(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tensor::ExtractOp extract) -> LogicalResult {
        if (isReadable(extract.getType()))
          return success();
        return op->emitOpError("expected an integer, f16, bf16, f32 or f64 "
                               "where the host reads an element from device "
                               "memory, found ")
               << extract.getType();
      })
      .Default([](Operation *) { return success(); });
}

namespace {
struct VerifyTensors final : mx::impl::MXVerifyTensorsBase<VerifyTensors> {
  using MXVerifyTensorsBase::MXVerifyTensorsBase;

  void runOnOperation() override {
    if (failed(verifyVectorSizes(getOperation(), kMaxHostVector)))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getDialect() && !isOpTriviallyDead(op))
        ops.push_back(op);
      // Operations in the region of an mx or linalg operation process elements.
      bool isOfElements =
          isa_and_present<MXDialect, linalg::LinalgDialect>(op->getDialect()) ||
          isa<tensor::GenerateOp, tensor::PadOp>(op);
      return isOfElements ? WalkResult::skip() : WalkResult::advance();
    });
    for (Operation *op : ops) {
      if (failed(verifyLowering(op)) || failed(verifyConstant(op)) ||
          failed(verifyNamedBody(op)) ||
          (onDevice && failed(verifyOnDevice(op))))
        return signalPassFailure();
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op); linalgOp && onDevice)
        explain(linalgOp);
    }
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Dimensions beyond the rank
//
// Upstream treats tensor.dim beyond the rank as undefined behavior: some
// patterns crash, and lowered code reads past the end of a descriptor.
//===----------------------------------------------------------------------===//

namespace {
struct VerifyDims final : mx::impl::MXVerifyDimsBase<VerifyDims> {
  void runOnOperation() override {
    getOperation()->walk([&](ShapedDimOpInterface op) {
      auto type = dyn_cast<ShapedType>(op.getShapedValue().getType());
      std::optional<int64_t> dim = getConstantIntValue(op.getDimension());
      if (!type || !type.hasRank() || !dim ||
          (*dim >= 0 && *dim < type.getRank()))
        return;
      op->emitError("expected a dimension of ")
          << type << ", at least 0 and below " << type.getRank() << ", found "
          << *dim;
      signalPassFailure();
    });
  }
};
} // namespace
