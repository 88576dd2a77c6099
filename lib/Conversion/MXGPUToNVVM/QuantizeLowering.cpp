//===- QuantizeLowering.cpp - Blocks of a quantizer in registers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Threads read and write global memory directly, 16 bytes at a time where they
// have as many. Lanes that share a block exchange its maximum, and those that
// share a row its scales. The numbers are QuantizeMath's.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Support/FloatFormats.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Words of 32 bits in one access to memory.
static constexpr int64_t kWordsAtOnce = 4;

static Value isBelow(NVVMBuilder &builder, Value a, Value b) {
  return builder.create<arith::CmpIOp>(arith::CmpIPredicate::ult, a, b);
}

static Value both(NVVMBuilder &builder, Value a, Value b) {
  return builder.create<arith::AndIOp>(a, b);
}

/// Elements in a byte of memory.
static int64_t getPacking(Type element) {
  return element.getIntOrFloatBitWidth() == 4 ? 2 : 1;
}

/// Whether an element of `type` is inside the matrix that holds it.
static Value isInside(NVVMBuilder &builder, Value matrix, Value row,
                      Value column, Type type) {
  Value columns = builder.mul(builder.create<memref::DimOp>(matrix, 1),
                              builder.index(getPacking(type)));
  return both(builder,
              isBelow(builder, row, builder.create<memref::DimOp>(matrix, 0)),
              isBelow(builder, column, columns));
}

/// Its address there.
static Value getPlace(NVVMBuilder &builder, Value matrix, Value row,
                      Value column, Type type) {
  if (getPacking(type) > 1)
    column =
        builder.create<arith::DivUIOp>(column, builder.index(getPacking(type)));
  int64_t bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
  return getGlobalAddress(builder, matrix, row, column, bytes);
}

SmallVector<Value> mx::mxgpu::splitWords(NVVMBuilder &builder, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type element = type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  if (!element.isInteger())
    vector = builder.create<arith::BitcastOp>(
        VectorType::get(type.getShape(), builder.getIntegerType(bits)), vector);
  int64_t count = type.getNumElements() * bits / 32;
  auto wordType = VectorType::get(count, builder.getI32Type());
  if (vector.getType() != wordType)
    vector = builder.create<vector::BitCastOp>(wordType, vector);
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        builder.create<vector::ExtractOp>(vector, ArrayRef<int64_t>{i}));
  return words;
}

Value mx::mxgpu::joinWords(NVVMBuilder &builder, ArrayRef<Value> words,
                           VectorType type) {
  auto wordType = VectorType::get(int64_t(words.size()), builder.getI32Type());
  Value vector = builder.create<vector::FromElementsOp>(wordType, words);
  Type element = type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  auto integers =
      VectorType::get(type.getShape(), builder.getIntegerType(bits));
  if (integers != wordType)
    vector = builder.create<vector::BitCastOp>(integers, vector);
  return integers == type
             ? vector
             : builder.create<arith::BitcastOp>(type, vector).getResult();
}

namespace {

struct LoadBlockLowering final : KernelPattern<LoadBlockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    Type element = type.getElementType();
    Value row = adaptor.getRow(), column = adaptor.getColumn();
    Value inside = isInside(builder, op.getSource(), row, column, element);
    Value place = getPlace(builder, op.getSource(), row, column, element);
    int64_t count =
        type.getNumElements() * element.getIntOrFloatBitWidth() / 32;
    SmallVector<Value> words;
    for (int64_t i = 0; i < count; i += kWordsAtOnce) {
      int64_t size = std::min(kWordsAtOnce, count - i);
      llvm::append_range(words, splitWords(builder, load(builder, place, 4 * i,
                                                         size, inside)));
    }
    rewriter.replaceOp(op, joinWords(builder, words, type));
    return success();
  }

private:
  /// Words, or zeros.
  static Value load(NVVMBuilder &builder, Value place, int64_t offset,
                    int64_t size, Value condition) {
    auto type = VectorType::get(size, builder.getI32Type());
    auto ifOp = builder.create<scf::IfOp>(type, condition, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.create<scf::YieldOp>(
        builder.loadGlobal(builder.offset(place, offset), type));
    builder.setInsertionPointToStart(ifOp.elseBlock());
    builder.create<scf::YieldOp>(
        builder.create<arith::ConstantOp>(builder.getZeroAttr(type))
            .getResult());
    return ifOp.getResult(0);
  }
};

struct StoreBlockLowering final : KernelPattern<StoreBlockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Type element = getElementTypeOrSelf(op.getValue().getType());
    Value row = adaptor.getRow(), column = adaptor.getColumn();
    Value inside = isInside(builder, op.getDest(), row, column, element);
    Value place = getPlace(builder, op.getDest(), row, column, element);
    SmallVector<Value> words = splitWords(builder, adaptor.getValue());
    auto ifOp = builder.create<scf::IfOp>(inside, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    for (size_t i = 0; i < words.size(); i += kWordsAtOnce) {
      ArrayRef<Value> some = ArrayRef(words).slice(
          i, std::min<size_t>(kWordsAtOnce, words.size() - i));
      auto type = VectorType::get(int64_t(some.size()), builder.getI32Type());
      builder.create<LLVM::StoreOp>(
          builder.create<vector::FromElementsOp>(type, some),
          builder.offset(place, 4 * i), /*alignment=*/4 * some.size());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Scale (r, c) lies in tile (r / 128, c / 4) at byte
/// (r % 32) * 16 + (r / 32 % 4) * 4 + c % 4 (mx/Support/ScaleLayout.h).
struct StoreScalesLowering final : KernelPattern<StoreScalesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value byte = builder.create<arith::BitcastOp>(builder.getI8Type(),
                                                  adaptor.getScale());
    Value isScale =
        both(builder, isBelow(builder, adaptor.getRow(), adaptor.getRows()),
             isBelow(builder, adaptor.getBlock(), adaptor.getBlocks()));
    if (cast<MemRefType>(op.getDest().getType()).getRank() == 2)
      storeInMatrix(builder, op, adaptor, byte, isScale);
    else
      storeInTile(builder, op, adaptor, byte, isScale);
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value div(NVVMBuilder &builder, Value value, int64_t by) {
    return builder.create<arith::DivUIOp>(value, builder.index(by));
  }
  static Value rem(NVVMBuilder &builder, Value value, int64_t by) {
    return builder.create<arith::RemUIOp>(value, builder.index(by));
  }

  /// The first lane of each `lanes`.
  static Value isFirst(NVVMBuilder &builder, int64_t lanes) {
    Value inGroup =
        builder.create<arith::AndIOp>(builder.laneId(), builder.i32(lanes - 1));
    return builder.create<arith::CmpIOp>(arith::CmpIPredicate::eq, inGroup,
                                         builder.i32(0));
  }

  static void storeInMatrix(NVVMBuilder &builder, StoreScalesOp op,
                            OpAdaptor adaptor, Value byte, Value isScale) {
    Value stores = both(builder, isScale, isFirst(builder, op.getLanes()));
    Value place = getGlobalAddress(builder, op.getDest(), adaptor.getRow(),
                                   adaptor.getBlock(), /*bytes=*/1);
    auto ifOp = builder.create<scf::IfOp>(stores, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.create<LLVM::StoreOp>(byte, place);
  }

  /// The first lane of four groups stores all four scales.
  static void storeInTile(NVVMBuilder &builder, StoreScalesOp op,
                          OpAdaptor adaptor, Value byte, Value isScale) {
    int64_t lanes = op.getLanes();
    Value word = builder.create<arith::ExtUIOp>(builder.getI32Type(), byte);
    word = builder.create<arith::SelectOp>(isScale, word, builder.i32(0));
    Value group = builder.create<arith::AndIOp>(
        builder.create<arith::DivUIOp>(builder.laneId(), builder.i32(lanes)),
        builder.i32(3));
    word =
        builder.create<arith::ShLIOp>(word, builder.mul(group, builder.i32(8)));
    for (int64_t distance : {lanes, 2 * lanes})
      word = builder.create<arith::OrIOp>(word,
                                          builder.shuffleXor(word, distance));
    Value row = adaptor.getRow(), dest = op.getDest();
    Value rowTile = div(builder, row, 128);
    Value blockTile = div(builder, adaptor.getBlock(), 4);
    Value blockTiles = builder.create<memref::DimOp>(dest, 1);
    Value isTile =
        both(builder,
             isBelow(builder, rowTile, builder.create<memref::DimOp>(dest, 0)),
             isBelow(builder, blockTile, blockTiles));
    Value stores = both(builder, isTile, isFirst(builder, 4 * lanes));
    // The tile, and the row in it.
    Value tile = builder.add(builder.mul(rowTile, blockTiles), blockTile);
    Value inTile = builder.add(
        builder.mul(rem(builder, row, 32), builder.index(16)),
        builder.mul(rem(builder, div(builder, row, 32), 4), builder.index(4)));
    Value place = getGlobalAddress(
        builder, dest,
        builder.add(builder.mul(tile, builder.index(512)), inTile));
    auto ifOp = builder.create<scf::IfOp>(stores, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.create<LLVM::StoreOp>(word, place);
  }
};

struct QuantizeBlockLowering final : KernelPattern<QuantizeBlockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(QuantizeBlockOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getElements().getType());
    QuantizeRecipe recipe =
        QuantizeRecipe::get(op, getElementTypeOrSelf(op.getInput().getType()),
                            type.getElementType(), op.getScale().getType(),
                            ScaleMode(op.getScaleRounding()));
    QuantizeMath math(builder, recipe);
    SmallVector<Value> words = splitWords(builder, adaptor.getInput());
    Value maximum = math.getMaximum(words);
    for (int64_t distance = 1; distance < op.getLanes(); distance *= 2)
      maximum = math.combine(maximum, builder.shuffleXor(maximum, distance));
    BlockScale scale =
        math.getScale(math.getRowMaximum(maximum), adaptor.getEncode());
    auto converted = cast<VectorType>(getTypeConverter()->convertType(type));
    std::optional<RandomNumbers> random;
    if (op.getSeed())
      random = {adaptor.getSeed(),
                builder.create<arith::IndexCastUIOp>(builder.getI64Type(),
                                                     adaptor.getFirst())};
    Value elements =
        joinWords(builder, math.convertRow(words, scale, random), converted);
    Value byte =
        builder.create<arith::TruncIOp>(builder.getI8Type(), scale.byte);
    rewriter.replaceOp(op, {elements, builder.create<arith::BitcastOp>(
                                          op.getScale().getType(), byte)});
    return success();
  }
};

struct RaiseMagnitudeLowering final : KernelPattern<RaiseMagnitudeOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(RaiseMagnitudeOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    QuantizeRecipe recipe;
    recipe.input = getElementTypeOrSelf(op.getValues()[0]);
    QuantizeMath math(builder, recipe);
    SmallVector<Value> words;
    for (Value value : adaptor.getValues())
      llvm::append_range(words, splitWords(builder, value));
    Value bits = math.getRowMaximum(math.getMaximum(words));
    Value isNaN = builder.create<arith::CmpIOp>(arith::CmpIPredicate::ugt, bits,
                                                builder.i32(0x7F800000));
    bits = builder.create<arith::SelectOp>(isNaN, builder.i32(kF32CanonicalNaN),
                                           bits);
    Value largest = builder.largestInWarp(bits);
    Value isFirst = builder.create<arith::CmpIOp>(
        arith::CmpIPredicate::eq, builder.laneId(), builder.i32(0));
    auto ifOp = builder.create<scf::IfOp>(isFirst, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.raiseGlobal(
        getGlobalAddress(builder, op.getDest(), builder.index(0)), largest);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

static_assert(unsigned(ScaleMode::Ceil) == unsigned(ScaleRounding::Ceil) &&
              unsigned(ScaleMode::Floor) == unsigned(ScaleRounding::Floor) &&
              unsigned(ScaleMode::Even) == unsigned(ScaleRounding::Even));

void mx::mxgpu::addNarrowVectorConversions(TypeConverter &converter) {
  converter.addConversion([](VectorType type) -> Type {
    Type element = type.getElementType();
    if (!isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(element))
      return type;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = shape.back() / getPacking(element) / 4;
    return VectorType::get(shape, IntegerType::get(type.getContext(), 32));
  });
}

void mx::mxgpu::populateQuantizePatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         KernelContext &kernel) {
  patterns.add<LoadBlockLowering, StoreBlockLowering, StoreScalesLowering,
               QuantizeBlockLowering, RaiseMagnitudeLowering>(
      converter, patterns.getContext(), kernel);
}
