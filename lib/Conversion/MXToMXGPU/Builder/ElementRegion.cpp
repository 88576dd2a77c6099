//===- ElementRegion.cpp - Vectorized element regions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ElementRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

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

ElementRegion::operator bool() const { return block; }

ArrayRef<Value> ElementRegion::getCaptures() const { return captures; }

void ElementRegion::capture(Value value, Value inKernel) {
  scalars.map(value, inKernel);
}

bool ElementRegion::usesColumns() const {
  return block && !block->getArguments().back().use_empty();
}

ElementRegion::ElementRegion(Block *block) : block(block) {
  if (!block)
    return;
  for (Value element : block->getArguments().drop_back(2))
    kinds[element] = Kind::Vector;
  kinds[block->getArguments().back()] = Kind::Column;
  classify(*block);
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(*block->getParent(), used);
  for (Value value : used)
    (matchPattern(value, m_Constant()) ? constants : captures).push_back(value);
}

void ElementRegion::classify(Block &inside) {
  for (Operation &op : inside) {
    Kind kind = classify(&op);
    for (Value result : op.getResults())
      kinds[result] = kind;
    if (kind == Kind::Vector)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          classify(inner);
  }
}

ElementRegion::Kind ElementRegion::classify(Operation *op) {
  auto is = [&](unsigned operand, Kind kind) {
    return getKind(op->getOperand(operand)) == kind;
  };
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  used.insert(op->operand_begin(), op->operand_end());
  if (llvm::all_of(used,
                   [&](Value value) { return getKind(value) == Kind::Scalar; }))
    return Kind::Scalar;
  if (isa<arith::AddIOp>(op) && ((is(0, Kind::Column) && is(1, Kind::Scalar)) ||
                                 (is(0, Kind::Scalar) && is(1, Kind::Column))))
    return Kind::Column;
  if (isa<arith::SubIOp>(op) && is(0, Kind::Column) && is(1, Kind::Scalar))
    return Kind::Column;
  return Kind::Vector;
}

ElementRegion::ClampedColumn
ElementRegion::getClampedColumn(Value value) const {
  ClampedColumn clamped;
  if (auto most = value.getDefiningOp<arith::MaxSIOp>();
      most && matchPattern(most.getRhs(), m_Zero()))
    value = most.getLhs();
  if (auto least = value.getDefiningOp<arith::MinSIOp>();
      least && getKind(least.getRhs()) == Kind::Scalar) {
    clamped.end = least.getRhs();
    value = least.getLhs();
  }
  if (getKind(value) == Kind::Column)
    clamped.column = value;
  return clamped;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static InFlightDiagnostic fail(Operation *op) {
  StringRef region = op->getParentOfType<FusedQuantizeOp>()    ? "a prologue"
                     : op->getParentOfType<linalg::LinalgOp>() ? "a reduction"
                                                               : "an epilogue";
  return op->emitOpError("in ") << region << " on the GPU: expected ";
}

LogicalResult ElementRegion::verify() {
  if (!block)
    return success();
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
      return fail(user) << "captured values to be numbers or strided memrefs "
                           "of numbers, found "
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
  return fail(op) << "elementwise arith and math operations, or memref.load "
                     "indexed by row and column, found an operation that "
                     "cannot be inlined";
}

LogicalResult ElementRegion::verifyBranch(scf::IfOp op) {
  for (Type type : op.getResultTypes())
    if (!isKernelNumber(type))
      return fail(op) << "a branch that yields numbers, found " << type;
  for (Block *inside : {op.thenBlock(), op.elseBlock()})
    for (Operation &inner : *inside) {
      if (isa<memref::LoadOp, memref::DimOp>(inner))
        return fail(&inner) << "no load in a branch: load before the branch";
      if (llvm::any_of(inner.getOperands(), [&](Value operand) {
            return getKind(operand) == Kind::Column;
          }))
        return fail(&inner) << "no use of the column index in a branch";
      if (!inner.hasTrait<OpTrait::IsTerminator>() && failed(verify(&inner)))
        return failure();
    }
  return success();
}

LogicalResult ElementRegion::verifyLoad(Operation *op) {
  auto load = cast<memref::LoadOp>(op);
  MemRefType type = load.getMemRefType();
  if (load.getMemRef().getParentBlock() == block)
    return fail(op) << "a memref defined outside the region, found a memref "
                       "defined inside";
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() < 8)
    return fail(op) << "elements of whole bytes, found " << type;
  for (auto [position, index] : llvm::enumerate(load.getIndices())) {
    bool isLast = position + 1 == load.getIndices().size();
    Kind kind = getKind(index);
    bool isColumn = kind == Kind::Column || getClampedColumn(index).column;
    if (isColumn ? !isLast : kind == Kind::Vector)
      return fail(op) << "indices that do not depend on the column, except "
                         "that the last index may be the column plus an "
                         "offset; found another index at position "
                      << position;
  }
  return success();
}

void ElementRegion::requireSizes(KernelBuilder &host, Value rows,
                                 Value columns) {
  if (!block)
    return;
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
        "expected dimension {0} of a tensor that the region indexes by {1} to "
        "be at least %lld, found %lld",
        dim, isColumn ? "column" : "row");
    RequireOp::create(host, fits, text, ValueRange{least, found});
  };
  for (auto load : block->getOps<memref::LoadOp>())
    for (auto [dim, index] : llvm::enumerate(load.getIndices()))
      if (index == row || index == column)
        require(load.getMemRef(), dim, index == column);
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

void ElementRegion::emitScalars(KernelBuilder &builder, Value row) {
  if (!block)
    return;
  scalars.map(*std::prev(block->args_end(), 2), row);
  for (Value value : constants)
    builder.clone(*value.getDefiningOp(), scalars);
  for (Operation &op : block->without_terminator())
    if (getKind(op.getResult(0)) == Kind::Scalar)
      builder.clone(op, scalars);
}

Value ElementRegion::getRowCondition(const APFloat &number) {
  auto select =
      block->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  APFloat other(number);
  if (!select || getKind(select.getCondition()) != Kind::Scalar ||
      !matchPattern(select.getFalseValue(), m_ConstantFloat(&other)) ||
      !other.bitwiseIsEqual(number))
    return {};
  return scalars.lookupOrDefault(select.getCondition());
}

Value ElementRegion::getOffset(KernelBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {}; // column itself
  auto getScalar = [&](Value operand) {
    return scalars.lookupOrDefault(operand);
  };
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (getKind(a) == Kind::Scalar)
    std::swap(a, b);
  Value offset = getOffset(builder, a);
  if (isa<arith::SubIOp>(op)) {
    if (!offset)
      offset = builder.index(0);
    return arith::SubIOp::create(builder, offset, getScalar(b));
  }
  return offset ? builder.add(offset, getScalar(b)) : getScalar(b);
}

Value ElementRegion::areLoadsAligned(KernelBuilder &builder, int64_t count) {
  if (!block)
    return {};
  Value all;
  for (auto load : block->getOps<memref::LoadOp>()) {
    int64_t alignment = getLoadAlignment(load.getMemRefType(), count);
    if (getKind(load.getResult()) == Kind::Scalar || !alignment ||
        getKind(load.getIndices().back()) != Kind::Column)
      continue;
    Value aligned =
        isAligned(builder, scalars.lookupOrDefault(load.getMemRef()), alignment,
                  getOffset(builder, load.getIndices().back()));
    all = all ? arith::AndIOp::create(builder, all, aligned) : aligned;
  }
  return all;
}

bool ElementRegion::isWide() {
  auto isWideNumber = [&](Value result) {
    return getKind(result) == Kind::Vector && result.getType().isF64();
  };
  return block
      ->walk([&](Operation *op) {
        return llvm::any_of(op->getResults(), isWideNumber)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

Value ElementRegion::emitLoad(KernelBuilder &builder, memref::LoadOp load,
                              const Columns &columns) {
  SmallVector<Value> indices;
  for (Value index : load.getIndices().drop_back())
    indices.push_back(scalars.lookupOrDefault(index));
  Value index = load.getIndices().back(), end;
  if (getKind(index) != Kind::Column) {
    ClampedColumn clamped = getClampedColumn(index);
    index = clamped.column;
    end = clamped.end ? scalars.lookupOrDefault(clamped.end)
                      : builder.index(std::numeric_limits<int64_t>::max());
  }
  return loadColumns(builder, scalars.lookupOrDefault(load.getMemRef()),
                     indices, columns, getOffset(builder, index), end);
}

SmallVector<Value> ElementRegion::emit(KernelBuilder &builder,
                                       ValueRange elements,
                                       const Columns &columns) {
  // Compute two columns at a time, because math functions use f64 and the f64
  // values of all columns exceed the registers.
  constexpr int64_t kAtOnce = 2;
  IRMapping inputs;
  inputs.map(block->getArguments().drop_back(2), elements);
  if (columns.count % kAtOnce || !isWide())
    return emitColumns(builder, inputs, columns);
  SmallVector<Value> names(block->getArguments().drop_back(2));
  for (auto load : block->getOps<memref::LoadOp>())
    if (getKind(load.getResult()) == Kind::Vector) {
      names.push_back(load.getResult());
      inputs.map(load.getResult(), emitLoad(builder, load, columns));
    }
  SmallVector<Value> results;
  for (int64_t i = 0; i < columns.count; i += kAtOnce) {
    IRMapping slices;
    for (Value name : names)
      slices.map(name, vector::ExtractStridedSliceOp::create(
                           builder, inputs.lookup(name), ArrayRef<int64_t>{i},
                           ArrayRef<int64_t>{kAtOnce}, ArrayRef<int64_t>{1}));
    Columns pair = columns;
    pair.first = builder.add(columns.first, i);
    pair.count = kAtOnce;
    SmallVector<Value> values = emitColumns(builder, slices, pair);
    for (auto [number, value] : llvm::enumerate(values)) {
      Type type = cast<VectorType>(value.getType()).getElementType();
      if (!i)
        results.push_back(arith::ConstantOp::create(
            builder,
            builder.getZeroAttr(VectorType::get({columns.count}, type))));
      results[number] = vector::InsertStridedSliceOp::create(
          builder, value, results[number], ArrayRef<int64_t>{i},
          ArrayRef<int64_t>{1});
    }
  }
  return results;
}

SmallVector<Value> ElementRegion::emitColumns(KernelBuilder &builder,
                                              const IRMapping &inputs,
                                              const Columns &columns) {
  auto getVector = [&](Type type) {
    return VectorType::get({columns.count}, type);
  };
  auto broadcast = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(builder, getVector(scalar.getType()),
                                       scalar);
  };
  // Column indices. Columns past the end repeat the index of the last column.
  Value numbers;
  auto getColumns = [&](Value value) -> Value {
    if (!numbers) {
      Value steps =
          vector::StepOp::create(builder, getVector(builder.getIndexType()));
      numbers = builder.add(broadcast(columns.first), steps);
      if (!columns.areWhole())
        numbers =
            arith::MinUIOp::create(builder, numbers, broadcast(columns.last));
    }
    Value offset = getOffset(builder, value);
    return offset ? builder.add(numbers, broadcast(offset)) : numbers;
  };

  IRMapping vectors = inputs;
  auto getOperand = [&](Value value) -> Value {
    switch (getKind(value)) {
    case Kind::Scalar:
      return broadcast(scalars.lookupOrDefault(value));
    case Kind::Column:
      return getColumns(value);
    case Kind::Vector:
      return vectors.lookup(value);
    }
    llvm_unreachable("all kinds are listed");
  };
  std::function<void(Operation &)> emitOperation;
  auto emitBlock = [&](Block *inside) {
    for (Operation &op : inside->without_terminator())
      emitOperation(op);
    return llvm::map_to_vector(inside->getTerminator()->getOperands(),
                               getOperand);
  };
  // Emits the else block for all columns, and the then block in a branch that
  // is taken if any column needs it. Neither block has side effects.
  auto emitBranch = [&](scf::IfOp op) {
    SmallVector<Value> others = emitBlock(op.elseBlock());
    Value condition = getOperand(op.getCondition()), any;
    for (int64_t i = 0; i < columns.count; ++i) {
      Value one =
          vector::ExtractOp::create(builder, condition, ArrayRef<int64_t>{i});
      any = any ? arith::OrIOp::create(builder, any, one) : one;
    }
    auto branch = scf::IfOp::create(builder, TypeRange(ValueRange(others)), any,
                                    /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> values = emitBlock(op.thenBlock());
    for (auto [value, other] : llvm::zip_equal(values, others))
      value = arith::SelectOp::create(builder, condition, value, other);
    scf::YieldOp::create(builder, values);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, others);
    vectors.map(op.getResults(), branch.getResults());
  };
  emitOperation = [&](Operation &op) {
    if (getKind(op.getResult(0)) == Kind::Scalar) {
      builder.clone(op, scalars); // nested in a branch
      return;
    }
    if (auto ifOp = dyn_cast<scf::IfOp>(op))
      return emitBranch(ifOp);
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (!vectors.contains(load.getResult()))
        vectors.map(load.getResult(), emitLoad(builder, load, columns));
      return;
    }
    IRMapping operands;
    for (Value operand : op.getOperands())
      operands.map(operand, getOperand(operand));
    Operation *copy = builder.clone(op, operands);
    for (auto [result, original] :
         llvm::zip_equal(copy->getResults(), op.getResults())) {
      result.setType(getVector(original.getType()));
      vectors.map(original, result);
    }
  };
  for (Operation &op : block->without_terminator())
    if (getKind(op.getResult(0)) == Kind::Vector)
      emitOperation(op);
  return llvm::map_to_vector(block->getTerminator()->getOperands(), getOperand);
}
