//===- ElementRegionChecks.cpp - What regions may hold --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Before a region becomes part of a kernel, each of its operations is asked
// whether it can be inlined; at run time the host asks whether what it reads is
// there.
//
//===----------------------------------------------------------------------===//

#include "ElementRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

bool mx::mxgpu::isKernelNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           (integer.getWidth() == 1 || integer.getWidth() == 8 ||
            integer.getWidth() == 16 || integer.getWidth() == 32 ||
            integer.getWidth() == 64);
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type>(
      type);
}

bool mx::mxgpu::hasKernelInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
             math::IsNaNOp, math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

static InFlightDiagnostic fail(Operation *op) {
  StringRef region = op->getParentOfType<QuantizeOp>()         ? "a prologue"
                     : op->getParentOfType<linalg::LinalgOp>() ? "a reduction"
                                                               : "an epilogue";
  return op->emitOpError("in ") << region << " on the GPU: expected ";
}

LogicalResult ElementRegion::verify() {
  assert(block && "expected a region");
  for (Value value : captures) {
    Operation *user = nullptr;
    for (Operation *candidate : value.getUsers())
      if (block->findAncestorOpInBlock(*candidate))
        user = candidate;
    auto memref = dyn_cast<MemRefType>(value.getType());
    if (memref && memref.isStrided() && !memref.getMemorySpace() &&
        isKernelNumber(memref.getElementType()))
      continue;
    if (!isKernelNumber(value.getType()))
      return fail(user) << "captured numbers or memrefs of numbers with "
                           "strides, found "
                        << value.getType();
  }
  for (Operation &op : block->without_terminator())
    if (failed(verify(&op)))
      return failure();
  return success();
}

LogicalResult ElementRegion::verify(Operation *op) {
  if (isa<memref::LoadOp>(op))
    return verifyLoad(op);
  if (isa<memref::DimOp>(op) && getKind(op->getResult(0)) == Kind::Scalar)
    return success();
  if (isa<arith::RemFOp>(op))
    return fail(op) << "an operation that GPUs compute exactly, found "
                       "arith.remf; subtract a multiple instead";
  if (auto ifOp = dyn_cast<scf::IfOp>(op); ifOp && ifOp.getNumResults())
    return verifyBranch(ifOp);
  bool isArith = isa_and_present<arith::ArithDialect>(op->getDialect());
  if (!op->getNumRegions() && op->getNumResults() &&
      (isArith || hasKernelInstruction(op)) &&
      (getKind(op->getResult(0)) == Kind::Scalar ||
       OpTrait::hasElementwiseMappableTraits(op))) {
    for (Type type : llvm::concat<const Type>(
             SmallVector<Type>(op->getOperandTypes()), op->getResultTypes()))
      if (!isKernelNumber(type))
        return fail(op) << "operands and results of f16, bf16, f32, f64, i1, "
                           "i8, i16, i32, i64 or index, found "
                        << type;
    return success();
  }
  return fail(op) << "elementwise operations of arith and math and memref.load "
                     "with rows and columns as indices, found an operation "
                     "that cannot be inlined";
}

LogicalResult ElementRegion::verifyBranch(scf::IfOp op) {
  for (Type type : op.getResultTypes())
    if (!isKernelNumber(type))
      return fail(op) << "branches that give numbers, found " << type;
  for (Block *inside : {op.thenBlock(), op.elseBlock()})
    for (Operation &inner : *inside) {
      if (isa<memref::LoadOp, memref::DimOp>(inner))
        return fail(&inner) << "nothing to be read in a branch: read it before";
      if (llvm::any_of(inner.getOperands(), [&](Value operand) {
            return getKind(operand) == Kind::Column;
          }))
        return fail(&inner) << "no number of a column in a branch";
      if (!inner.hasTrait<OpTrait::IsTerminator>() && failed(verify(&inner)))
        return failure();
    }
  return success();
}

LogicalResult ElementRegion::verifyLoad(Operation *op) {
  auto load = cast<memref::LoadOp>(op);
  MemRefType type = load.getMemRefType();
  if (load.getMemRef().getParentBlock() == block)
    return fail(op) << "a memref from outside of the region, found one made "
                       "inside";
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() < 8)
    return fail(op) << "elements of whole bytes, found " << type;
  for (auto [position, index] : llvm::enumerate(load.getIndices())) {
    bool isLast = position + 1 == load.getIndices().size();
    Kind kind = getKind(index);
    bool isColumn = kind == Kind::Column || getClampedColumn(index).column;
    if (isColumn ? !isLast : kind == Kind::Vector)
      return fail(op) << "indices that do not depend on the column, but for a "
                         "last one of the column plus such a number; found "
                         "another index at position "
                      << position;
  }
  return success();
}

void ElementRegion::requireSizes(KernelBuilder &host, Value rows,
                                 Value columns) {
  assert(block && "expected a region");
  Value row = *std::prev(block->args_end(), 2);
  Value column = block->getArguments().back();
  llvm::SmallDenseSet<std::tuple<Value, int64_t, int64_t>> asked;
  auto require = [&](Value memref, int64_t dim, bool isColumn) {
    if (!asked.insert({memref, dim, int64_t(isColumn)}).second)
      return;
    Value found = host.dim(memref, dim), least = isColumn ? columns : rows;
    std::optional<int64_t> size = getConstantIntValue(found);
    std::optional<int64_t> bound = getConstantIntValue(least);
    if (size && bound && *size >= *bound)
      return;
    Value fits =
        arith::CmpIOp::create(host, arith::CmpIPredicate::uge, found, least);
    std::string text = llvm::formatv(
        "expected dimension {0} of a tensor that the region reads by {1} to be "
        "at least %lld, found %lld",
        dim, isColumn ? "columns" : "rows");
    RequireOp::create(host, fits, text, ValueRange{least, found});
  };
  for (auto load : block->getOps<memref::LoadOp>())
    for (auto [dim, index] : llvm::enumerate(load.getIndices()))
      if (index == row || index == column)
        require(load.getMemRef(), dim, index == column);
}
