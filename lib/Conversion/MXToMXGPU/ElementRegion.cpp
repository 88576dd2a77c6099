//===- ElementRegion.cpp - Epilogues and prologues on vectors -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ElementRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Loads of columns
//===----------------------------------------------------------------------===//

static int64_t getBytes(MemRefType type) {
  return type.getElementTypeBitWidth() / 8;
}

int64_t mx::mxgpu::getRowAlignment(MemRefType type, int64_t dynamic) {
  if (!isContiguous(type))
    return 0; // of a part: read element by element
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    return dynamic;
  int64_t bytes =
      type.getRank() > 1 ? type.getShape().back() * getBytes(type) : 0;
  return bytes % 32 == 0 ? 32 : bytes % 16 == 0 ? 16 : 0;
}

Value mx::mxgpu::isAligned(KernelBuilder &builder, Value memref,
                           int64_t alignment, Value offset) {
  auto type = cast<MemRefType>(memref.getType());
  Value bits = memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  auto include = [&](Value elements) {
    Value bytes = builder.mul(elements, builder.index(getBytes(type)));
    bits = arith::OrIOp::create(builder, bits, bytes);
  };
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    include(builder.dim(memref, type.getRank() - 1));
  if (offset)
    include(offset);
  Value low =
      arith::AndIOp::create(builder, bits, builder.index(alignment - 1));
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, low,
                               builder.index(0));
}

int64_t mx::mxgpu::getLoadAlignment(MemRefType type, int64_t count) {
  int64_t alignment = getRowAlignment(type, /*dynamic=*/16);
  while (alignment && count * getBytes(type) % alignment)
    alignment = alignment == 32 ? 16 : 0;
  return alignment;
}

static Value loadPresentColumns(KernelBuilder &builder, Value source,
                                ValueRange indices, const Columns &columns,
                                Value offset, Value end) {
  auto type = cast<MemRefType>(source.getType());
  auto vector = VectorType::get({columns.count}, type.getElementType());
  auto getPlace = [&](Value column) {
    SmallVector<Value> place(indices);
    Value last = offset ? builder.add(column, offset) : column;
    if (end)
      last = arith::MaxSIOp::create(builder,
                                    arith::MinSIOp::create(builder, last, end),
                                    builder.index(0));
    place.push_back(last);
    return place;
  };
  int64_t alignment = getLoadAlignment(type, columns.count);
  if (columns.areWhole() && alignment && !end)
    return vector::LoadOp::create(
        builder, vector, source, getPlace(columns.first), /*nontemporal=*/false,
        llvm::MaybeAlign(alignment));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < columns.count; ++i) {
    Value column = builder.add(columns.first, i);
    if (!columns.areWhole())
      column = arith::MinUIOp::create(builder, column, columns.last);
    elements.push_back(
        memref::LoadOp::create(builder, source, getPlace(column)));
  }
  return vector::FromElementsOp::create(builder, vector, elements);
}

Value mx::mxgpu::loadColumns(KernelBuilder &builder, Value source,
                             ValueRange indices, const Columns &columns,
                             Value offset, Value end) {
  if (!columns.isPresent || indices.empty())
    return loadPresentColumns(builder, source, indices, columns, offset, end);
  auto type = VectorType::get(
      {columns.count}, cast<MemRefType>(source.getType()).getElementType());
  auto ifOp = scf::IfOp::create(builder, type, columns.isPresent,
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, loadPresentColumns(builder, source, indices,
                                                   columns, offset, end));
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(
      builder, arith::ConstantOp::create(builder, builder.getZeroAttr(type))
                   .getResult());
  return ifOp.getResult(0);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

ElementRegion::operator bool() const { return block; }

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

Value ElementRegion::getOffset(KernelBuilder &builder, Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {}; // the column itself
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
  // Of what is computed in f64, as functions of math are, the values of all
  // columns at once would take more registers than there are.
  constexpr int64_t kPart = 2;
  IRMapping inputs;
  inputs.map(block->getArguments().drop_back(2), elements);
  if (columns.count % kPart || !isWide())
    return emitPart(builder, inputs, columns);
  SmallVector<Value> names(block->getArguments().drop_back(2));
  for (auto load : block->getOps<memref::LoadOp>())
    if (getKind(load.getResult()) == Kind::Vector) {
      names.push_back(load.getResult());
      inputs.map(load.getResult(), emitLoad(builder, load, columns));
    }
  SmallVector<Value> results;
  for (int64_t i = 0; i < columns.count; i += kPart) {
    IRMapping slices;
    for (Value name : names)
      slices.map(name, vector::ExtractStridedSliceOp::create(
                           builder, inputs.lookup(name), ArrayRef<int64_t>{i},
                           ArrayRef<int64_t>{kPart}, ArrayRef<int64_t>{1}));
    Columns part = columns;
    part.first = builder.add(columns.first, i);
    part.count = kPart;
    SmallVector<Value> values = emitPart(builder, slices, part);
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

SmallVector<Value> ElementRegion::emitPart(KernelBuilder &builder,
                                           const IRMapping &inputs,
                                           const Columns &columns) {
  auto getVector = [&](Type type) {
    return VectorType::get({columns.count}, type);
  };
  auto broadcast = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(builder, getVector(scalar.getType()),
                                       scalar);
  };
  // Numbers of the columns: those that do not exist count as the last.
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
  // A branch that any of the columns takes; nothing in it has effects.
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
      builder.clone(op, scalars); // in a branch
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
