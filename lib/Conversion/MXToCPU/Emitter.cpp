//===- Emitter.cpp - Loops and array accesses -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the logical coordinates of callers to packed elements and scale layouts.
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "../Utils/Storage.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

Emitter::Emitter(OpBuilder &builder, Operation *op)
    : builder(builder), op(op), loc(op->getLoc()),
      module(op->getParentOfType<ModuleOp>()), numbers(builder, loc, module) {}

void Emitter::loop(Int begin, Int end, int64_t step,
                   llvm::function_ref<void(Int)> body) {
  auto forOp = scf::ForOp::create(builder, loc, begin, end, index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forOp.getBody()->getTerminator());
  body(wrap(forOp.getInductionVar()));
}

Int Emitter::reduce(Int begin, Int end, Int initial,
                    llvm::function_ref<Int(Int, Int)> body) {
  auto forOp = scf::ForOp::create(builder, loc, begin, end, index(1),
                                  ValueRange{initial});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  Int next =
      body(wrap(forOp.getInductionVar()), wrap(forOp.getRegionIterArg(0)));
  scf::YieldOp::create(builder, loc, ValueRange{next});
  return wrap(forOp.getResult(0));
}

void Emitter::loopOverDims(Value memref, unsigned count,
                           llvm::function_ref<void(ArrayRef<Value>)> body) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> indices;
  for (unsigned i = 0; i < count; ++i) {
    Int zero = index(0), size = dim(memref, i);
    auto forOp = scf::ForOp::create(builder, loc, zero, size, index(1));
    indices.push_back(forOp.getInductionVar());
    builder.setInsertionPoint(forOp.getBody()->getTerminator());
  }
  body(indices);
}

Int Emitter::loadOffset(Value offsets, Int group) {
  return wrap(arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                         load(offsets, {group})));
}

Int Emitter::loadEnd(Value offsets, Int total) {
  return loadOffset(offsets, dim(offsets, 0) - 1).min(total).max(0);
}

void Emitter::forEachExpert(Value offsets, Int total,
                            llvm::function_ref<void(ExpertGroup)> body) {
  Int zero = index(0), count = dim(offsets, 0), last = loadEnd(offsets, total);
  auto forOp = scf::ForOp::create(builder, loc, zero, count, index(1),
                                  ValueRange{zero, zero});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  Int g = wrap(forOp.getInductionVar()),
      begin = wrap(forOp.getRegionIterArg(0));
  Int end = loadOffset(offsets, g).min(last).max(begin);
  ExpertGroup group{g, begin, end, wrap(forOp.getRegionIterArg(1))};
  body(group);
  Int next =
      group.start + (group.end - group.begin).roundUp(kRaggedReductionAlign);
  scf::YieldOp::create(builder, loc, ValueRange{end, next});
}

SmallVector<Value> Emitter::inlineRegion(Region &region, ValueRange arguments) {
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &inner : block.without_terminator())
    builder.clone(inner, mapping);
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

Int Emitter::dim(Value memref, int64_t dimension) {
  return wrap(builder.createOrFold<memref::DimOp>(loc, memref, dimension));
}

Int Emitter::dim(const Elements &array, int64_t dimension) {
  Int size = dim(array.memref, dimension);
  bool isLast =
      dimension + 1 == cast<MemRefType>(array.memref.getType()).getRank();
  return isLast && isa<Float4E2M1FNType>(array.type) ? size * 2 : size;
}

Value Emitter::load(Value memref, ArrayRef<Value> indices) {
  return memref::LoadOp::create(builder, loc, memref, indices);
}

/// Replaces the last index of a packed array by a byte index. Returns `column`
/// and the bit offset of the element within the byte.
static std::pair<Int, Int> getNibble(SmallVectorImpl<Value> &indices,
                                     Int column, Type i8) {
  indices.back() = column / 2;
  return {column, ((column % 2) * 4).to(i8)};
}

Int Emitter::loadCode(const Elements &array, ArrayRef<Value> indices) {
  Type i8 = builder.getI8Type();
  if (!isa<Float4E2M1FNType>(array.type))
    return wrap(wrap(load(array.memref, indices)).as(i8));
  SmallVector<Value> place(indices);
  Int shift = getNibble(place, wrap(indices.back()), i8).second;
  return (wrap(load(array.memref, place)) >> shift) & 15;
}

void Emitter::storeCode(Int code, const Elements &array,
                        ArrayRef<Value> indices) {
  Type i8 = builder.getI8Type();
  SmallVector<Value> place(indices);
  if (isa<Float4E2M1FNType>(array.type)) {
    Int shift = getNibble(place, wrap(indices.back()), i8).second;
    Int byte = wrap(load(array.memref, place));
    Int kept = byte & ((shift.like(15) << shift) ^ 0xFF);
    code = kept | (code << shift);
  }
  Type stored = cast<MemRefType>(array.memref.getType()).getElementType();
  memref::StoreOp::create(builder, loc, code.as(stored), array.memref, place);
}

Value Emitter::lookup(Value table, Int code) {
  return load(table, {code.to(builder.getIndexType())});
}

void Emitter::fillZero(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Type bits = builder.getIntegerType(type.getElementTypeBitWidth());
  Value zero = Int::constant(builder, loc, bits, 0).as(type.getElementType());
  loopOverDims(memref, type.getRank(), [&](ArrayRef<Value> indices) {
    memref::StoreOp::create(builder, loc, zero, memref, indices);
  });
}

SmallVector<Value> Emitter::scaleIndices(const Scales &scales,
                                         ArrayRef<Value> batch, Int row,
                                         Int block) {
  SmallVector<Value> indices(batch);
  if (scales.layout == ScaleLayoutKind::Linear) {
    indices.append({row / scales.blockRows, block});
    return indices;
  }
  if (scales.layout == ScaleLayoutKind::MNMajor) {
    indices.append({block, row / kMNMajorRows, row % kMNMajorRows});
    return indices;
  }
  if (scales.expertStart)
    row = row - *scales.expertStart;
  Int tileRow = row / kScaleTileRows;
  if (scales.expertTileRow)
    tileRow = tileRow + *scales.expertTileRow;
  indices.append({tileRow, block / kScaleTileBlocks});
  for (const ScaleTileMode &mode : kScaleRowModes)
    indices.push_back(getTileIndex(row, mode));
  for (const ScaleTileMode &mode : kScaleBlockModes)
    indices.push_back(getTileIndex(block, mode));
  return indices;
}

Int Emitter::loadScale(const Scales &scales, ArrayRef<Value> batch, Int row,
                       Int block) {
  Value value = load(scales.memref, scaleIndices(scales, batch, row, block));
  return wrap(wrap(value).as(
      builder.getIntegerType(value.getType().getIntOrFloatBitWidth())));
}

Value Emitter::loadScaleValue(const Scales &scales, ArrayRef<Value> batch,
                              Int row, Int block) {
  Int bits = loadScale(scales, batch, row, block);
  if (!scales.codec)
    return lookup(scales.values, bits);
  Int value = wrap(scales.codec->decode(builder, loc, bits));
  return numbers.widenToF64(wrap(value.as(builder.getI32Type())));
}

void Emitter::storeScale(Int bits, const Scales &scales, ArrayRef<Value> batch,
                         Int row, Int block) {
  Type stored = cast<MemRefType>(scales.memref.getType()).getElementType();
  Type code = builder.getIntegerType(stored.getIntOrFloatBitWidth());
  Value value = bits.to(code).as(stored);
  memref::StoreOp::create(builder, loc, value, scales.memref,
                          scaleIndices(scales, batch, row, block));
}

Scales Emitter::inExpert(Scales scales, const ExpertGroup &group) {
  scales.expertStart = group.begin;
  scales.expertTileRow = raggedRowsTileRow(group.begin, group.number);
  return scales;
}

//===----------------------------------------------------------------------===//
// Size checks at run time
//
// A failed check prints the location and both values, and ends the program.
// Verifiers have already checked static sizes.
//===----------------------------------------------------------------------===//

void Emitter::check(Int condition, llvm::Twine text, ArrayRef<Int> values) {
  if (std::optional<int64_t> known = getConstantIntValue(Value(condition));
      known && *known)
    return;
  createEndProgramUnless(builder, loc, module, condition,
                         "error: expected " + text + "\n",
                         llvm::to_vector_of<Value>(values));
}

void Emitter::checkDim(StringRef name, const Elements &array, int64_t dimension,
                       Int expected) {
  Int found = dim(array, dimension);
  check(found == expected,
        "dimension " + llvm::Twine(dimension) + " of " + name +
            " to be %ld, found %ld",
        {expected, found});
}

void Emitter::checkExperts(Value offsets) {
  if (!offsets || !cast<MemRefType>(offsets.getType()).isDynamicDim(0))
    return;
  Int groups = dim(offsets, 0);
  check(groups > 0, "at least 1 expert group, found %ld", {groups});
}

void Emitter::checkScales(StringRef name, const Scales &scales,
                          const Elements &like, Int rows, Int columns,
                          int64_t blockSize, std::optional<Int> groups) {
  Elements array{scales.memref, builder.getI8Type()};
  int64_t batch = like.getRank() - 2;
  for (int64_t i = 0; i < batch; ++i)
    checkDim(name, array, i, dim(like, i));
  auto count = [&](Int extent, int64_t size) {
    return size == BlockFormat::kWhole ? index(1) : extent / size;
  };
  Int blocks = count(columns, blockSize);
  if (scales.layout == ScaleLayoutKind::MNMajor) {
    checkDim(name, array, batch, blocks);
    checkDim(name, array, batch + 1, rows.ceilDiv(kMNMajorRows));
    checkDim(name, array, batch + 2, index(kMNMajorRows));
    return;
  }
  if (scales.layout == ScaleLayoutKind::Sf128x4) {
    Int tileRows =
        groups ? rows / kScaleTileRows + *groups : rows.ceilDiv(kScaleTileRows);
    checkDim(name, array, batch, tileRows);
    checkDim(name, array, batch + 1, blocks.ceilDiv(kScaleTileBlocks));
    checkDim(name, array, batch + 2, index(32));
    checkDim(name, array, batch + 3, index(4));
    checkDim(name, array, batch + 4, index(4));
    return;
  }
  checkDim(name, array, batch,
           count(rows + (scales.blockRows - 1), scales.blockRows));
  checkDim(name, array, batch + 1, blocks);
}

void Emitter::checkMultiple(StringRef name, int64_t dimension, Int found,
                            int64_t blockSize) {
  if (blockSize == BlockFormat::kWhole)
    return;
  Int rest = found % blockSize, below = found - rest;
  check(rest == 0,
        "dimension " + llvm::Twine(dimension) + " of " + name +
            " to be a multiple of " + llvm::Twine(blockSize) +
            ", found %ld; the nearest are %ld and %ld",
        {found, below, below + blockSize});
}
