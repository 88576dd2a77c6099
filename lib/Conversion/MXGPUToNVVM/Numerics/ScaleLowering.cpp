//===- ScaleLowering.cpp - Scales in global memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales form a matrix or tiles (mx/Support/ScaleLayout.h). In a tile, the
// scales of four lanes or lane groups are adjacent and stored as one word.
//
// Operands are exact in f16 if the scales of their tile are within a range. A
// kernel computes the range of each tile, and the next kernel tests it with
// mxgpu.load_scale_range.
//===----------------------------------------------------------------------===//

#include "../../Utils/IntExpr.h"
#include "../Common/Lowering.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

static IntegerType getBitsType(NVVMBuilder &builder, Type scale) {
  return builder.getIntegerType(scale.getIntOrFloatBitWidth());
}

static Value getScaleAddress(NVVMBuilder &builder, Value scales, Value offset) {
  int64_t bytes =
      getElementTypeOrSelf(scales.getType()).getIntOrFloatBitWidth() / 8;
  if (bytes > 1)
    offset = builder.mul(offset, bytes);
  return getGlobalAddress(builder, scales, offset);
}

/// Returns the address in a matrix with arbitrary strides, such as a slice.
static Value getPlaceInMatrix(NVVMBuilder &builder, Value matrix, Value row,
                              Value column) {
  if (cast<MemRefType>(matrix.getType()).getLayout().isIdentity())
    return builder.add(
        builder.mul(row, memref::DimOp::create(builder, matrix, 1)), column);
  auto view = memref::ExtractStridedMetadataOp::create(builder, matrix);
  Value inRow =
      builder.add(builder.mul(column, view.getStrides()[1]), view.getOffset());
  return builder.add(builder.mul(row, view.getStrides()[0]), inRow);
}

namespace {

struct ScalePlace {
  Value offset;
  Value exists; // true if the scale exists in memory

  static ScalePlace get(NVVMBuilder &builder, Value scales, Value row,
                        Value block) {
    bool isMatrix = !hasScaleTiles(cast<MemRefType>(scales.getType()));
    Value line = isMatrix ? row : builder.div(row, kScaleTileRows);
    Value inLine = isMatrix ? block : builder.div(block, kScaleTileBlocks);
    Value lines = memref::DimOp::create(builder, scales, 0);
    Value lineSize = memref::DimOp::create(builder, scales, 1);
    Value isLine = builder.isBelow(line, lines);
    Value exists = builder.both(isLine, builder.isBelow(inLine, lineSize));
    if (isMatrix)
      return {getPlaceInMatrix(builder, scales, row, block), exists};
    Value offset = builder.add(builder.mul(line, lineSize), inLine);
    Int inTile = scaleOffsetInTile(Int(builder, row), Int(builder, block));
    return {Int(builder, offset) * kScaleTileBytes + inTile, exists};
  }
};

} // namespace

static Values lowerLoadScale(NVVMBuilder &builder, LoadScaleOp op,
                             LoadScaleOp::Adaptor adaptor) {
  auto place = ScalePlace::get(builder, op.getSource(), adaptor.getRow(),
                               adaptor.getBlock());
  Value address = getScaleAddress(builder, op.getSource(), place.offset);
  auto type = VectorType::get(1, getBitsType(builder, op.getType()));
  auto ifOp = scf::IfOp::create(builder, TypeRange(type), place.exists,
                                /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(builder, builder.loadGlobal(address, type));
    builder.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(
        builder, arith::ConstantOp::create(builder, builder.getZeroAttr(type))
                     .getResult());
  }
  Value bits = vector::ExtractOp::create(builder, ifOp.getResult(0),
                                         ArrayRef<int64_t>{0});
  return {builder.bitcast(op.getType(), bits)};
}

/// Packs the scales of four lane groups into a word. Missing scales become 0.
static Value gather(NVVMBuilder &builder, Value byte, Value isScale,
                    int64_t lanes) {
  Value word = arith::ExtUIOp::create(builder, builder.getI32Type(), byte);
  word = builder.select(isScale, word, builder.i32(0));
  Value group = builder.andBits(builder.div(builder.laneId(), lanes), 3);
  word = builder.shiftLeft(word, builder.mul(group, builder.i32(8)));
  for (int64_t distance : {lanes, 2 * lanes})
    word = builder.orBits(word, builder.shuffleXor(word, distance));
  return word;
}

static Values lowerStoreScales(NVVMBuilder &builder, StoreScalesOp op,
                               StoreScalesOp::Adaptor adaptor) {
  Value bits = builder.bitcast(getBitsType(builder, op.getScale().getType()),
                               adaptor.getScale());
  Value isRow = builder.isBelow(adaptor.getRow(), adaptor.getRows());
  Value isBlock = builder.isBelow(adaptor.getBlock(), adaptor.getBlocks());
  Value isScale = builder.both(isRow, isBlock);
  auto place = ScalePlace::get(builder, op.getDest(), adaptor.getRow(),
                               adaptor.getBlock());
  int64_t lanes = op.getLanes();
  Value stored = bits, isPresent = isScale;
  if (hasScaleTiles(cast<MemRefType>(op.getDest().getType()))) {
    isPresent = place.exists;
    if (kScaleTileBlocks * lanes <= mx::target::kWarpSize) {
      stored = gather(builder, bits, isScale, lanes);
      lanes *= kScaleTileBlocks;
    } else {
      Value zero = arith::ConstantOp::create(
          builder, builder.getIntegerAttr(bits.getType(), 0));
      stored = builder.select(isScale, bits, zero);
    }
  }
  Value stores = builder.both(isPresent, builder.isFirstLane(lanes));
  Value address = getScaleAddress(builder, op.getDest(), place.offset);
  auto ifOp = scf::IfOp::create(builder, stores, /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  LLVM::StoreOp::create(builder, stored, address);
  return {};
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Exponent of the largest scale relative to the reference. In f16 the largest
/// operand is then 448 * 2^7. In bf16 the largest multiplier is 2^7 * 2^120,
/// because the fields of an element are moved to the fields of bf16.
static constexpr int64_t kAbove = 7;

/// Largest supported scale byte. With the lower bounds below, sums of products
/// are normal f32 values before and after multiplication by the references.
static constexpr int64_t kMost = 169;

/// Exponent of the reference relative to the smallest scale. In f16 the
/// smallest f8E4M3FN element, 2^-9, then stays normal. The tensor core would
/// align a subnormal as if it were 2^-14 and lose bits of other terms. In bf16
/// the limit is the smallest product of two operands, 2^-126.
static constexpr int64_t kBelowInF16 = 5, kBelowInBF16 = 54;

/// Smallest reference. A tile with a smaller reference does not fit f16. For
/// bf16 the reference is raised to this bound.
static constexpr int64_t kLeastInF16 = 87, kLeastInBF16 = 127;

/// Size of a table row in bytes. A single access loads a row.
static constexpr int64_t kRowBytes = 16;

static Values lowerLoadScaleRange(NVVMBuilder &builder, LoadScaleRangeOp op,
                                  LoadScaleRangeOp::Adaptor adaptor) {
  auto table = op.getTable();
  Value zero = builder.index(0), one = builder.index(1);
  Value last = builder.sub(memref::DimOp::create(builder, table, zero), one);
  Value tile = builder.min(adaptor.getTile(), last);
  auto type = VectorType::get({4}, builder.getI32Type());
  bool isBytes = table.getType().getElementType().isInteger(8);
  auto loaded =
      isBytes ? VectorType::get({kRowBytes}, builder.getI8Type()) : type;
  Value words = vector::LoadOp::create(
      builder, loaded, table, ValueRange{tile, zero}, /*nontemporal=*/false,
      llvm::MaybeAlign(kRowBytes));
  if (isBytes)
    words = vector::BitCastOp::create(builder, type, words);
  auto largest = [&](Value numbers) -> Value {
    return vector::ReductionOp::create(builder, vector::CombiningKind::MAXUI,
                                       numbers);
  };
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(
        builder, DenseElementsAttr::get(
                     type, builder.getI32IntegerAttr(number).getValue()));
  };
  Value most = largest(builder.shiftRight(words, constant(16)));
  Value rest = largest(builder.andBits(words, constant(0xFFFF)));
  auto compare = [&](arith::CmpIPredicate how, Value a, int64_t b) -> Value {
    return arith::CmpIOp::create(builder, how, a, builder.i32(b));
  };
  Value reference = builder.add(most, builder.i32(-kAbove));
  Value fits = compare(arith::CmpIPredicate::sle, most, kMost);
  if (op.getBf16())
    reference =
        arith::MaxSIOp::create(builder, reference, builder.i32(kLeastInBF16));
  else
    fits = builder.andBits(
        fits, compare(arith::CmpIPredicate::sge, reference, kLeastInF16));
  Value spans = compare(arith::CmpIPredicate::sle, builder.add(reference, rest),
                        255 + (op.getBf16() ? kBelowInBF16 : kBelowInF16));
  fits = builder.andBits(fits, spans);
  return {reference, fits};
}

void mx::mxgpu::populateScalePatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter) {
  addPatterns<lowerLoadScale, lowerStoreScales, lowerLoadScaleRange>(converter,
                                                                     patterns);
}
