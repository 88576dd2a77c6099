//===- QuantizeTileLowering.cpp - Fragments of tiles in shared memory -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where a thread's fragment of a tile lies, given that bulk copies permute the
// 16-byte chunks of a row by the row's number (PTX ISA, Swizzling modes): bits
// 7 and up of an address are added to bits 4 and up, without carry. A fragment
// begins at a multiple of its shape, so that within it the permutation of a row
// or chunk is a constant more.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// The accesses by which one thread moves a fragment.
class Fragment {
public:
  Fragment(NVVMBuilder &builder, BufferType buffer, VectorType type,
           Value start, Value row, Value column)
      : builder(builder), shape(getFragmentShape(type)), start(start) {
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    int64_t rowElements = buffer.getShape().back();
    rowBytes = rowElements * bits / 8;
    fragmentBytes = shape[1] * bits / 8;
    if (buffer.getSwizzle() != mx::mxgpu::Swizzle::None)
      mask = static_cast<int64_t>(buffer.getSwizzle()) - 16;
    row = builder.toI32(row);
    column = builder.toI32(column);
    line = builder.mul(row, builder.i32(rowBytes));
    Value inRow = column;
    if (buffer.getShape().size() == 3) {
      Value elements = builder.i32(rowElements);
      inRow = builder.create<arith::RemUIOp>(column, elements);
      Value panel = builder.create<arith::DivUIOp>(column, elements);
      int64_t panelBytes = buffer.getShape()[1] * rowBytes;
      base = builder.add(line, builder.mul(panel, builder.i32(panelBytes)));
    } else {
      base = line;
    }
    Value byte = builder.create<arith::DivUIOp>(
        builder.mul(inRow, builder.i32(bits)), builder.i32(8));
    Value permutation = builder.create<arith::AndIOp>(
        builder.create<arith::ShRUIOp>(line, builder.i32(3)),
        builder.i32(mask));
    inLine = builder.create<arith::XOrIOp>(byte, permutation);
  }

  int64_t getRows() const { return shape[0]; }
  /// Words that one access moves, and accesses in a row.
  int64_t getWords() const { return fragmentBytes < 16 ? 1 : 4; }
  int64_t getChunks() const { return fragmentBytes / (4 * getWords()); }
  int64_t getTotalWords() const { return getRows() * getChunks() * getWords(); }

  /// The pointer of an access: registers for the few constants of the
  /// permutation, the row as part of the instruction.
  Value getPointer(int64_t row, int64_t chunk) {
    int64_t change = ((row * rowBytes >> 3) & mask) ^ (chunk * 16);
    Value &pointer = pointers[change];
    if (!pointer) {
      Value place = builder.create<arith::XOrIOp>(inLine, builder.i32(change));
      pointer = builder.create<LLVM::GEPOp>(
          start.getType(), builder.getI8Type(), start,
          ArrayRef<LLVM::GEPArg>{builder.add(base, place)});
    }
    return builder.offset(pointer, row * rowBytes);
  }

private:
  NVVMBuilder &builder;
  SmallVector<int64_t, 2> shape;
  Value start, line, base, inLine;
  int64_t rowBytes, fragmentBytes, mask = 0;
  DenseMap<int64_t, Value> pointers;
};

BufferType getBuffer(RingOp ring, StringRef field) {
  return ring.getType().getBuffers()[ring.getType().getFieldIndex(field)];
}

/// A vector of `type` from its words, and back.
Value fromWords(NVVMBuilder &builder, ArrayRef<Value> words, VectorType type) {
  int64_t count = words.size();
  Value vector = builder.create<vector::FromElementsOp>(
      VectorType::get(count, builder.getI32Type()), words);
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  vector = builder.create<vector::BitCastOp>(flat, vector);
  return builder.create<vector::ShapeCastOp>(type, vector);
}

SmallVector<Value> toWords(NVVMBuilder &builder, Value value) {
  auto type = cast<VectorType>(value.getType());
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  value = builder.create<vector::ShapeCastOp>(flat, value);
  value = builder.create<arith::BitcastOp>(
      flat.clone(builder.getIntegerType(bits)), value);
  int64_t count = type.getNumElements() * bits / 32;
  value = builder.create<vector::BitCastOp>(
      VectorType::get(count, builder.getI32Type()), value);
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        builder.create<vector::ExtractOp>(value, ArrayRef<int64_t>{i}));
  return words;
}

struct LoadSharedLowering final : KernelPattern<LoadSharedOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    auto type = cast<VectorType>(op.getType());
    Value start =
        getFieldAddress(builder, ring, op.getField(), adaptor.getSlot());
    Fragment fragment(builder, getBuffer(ring, op.getField()), type, start,
                      adaptor.getRow(), adaptor.getColumn());
    SmallVector<Value> words;
    for (int64_t row = 0; row < fragment.getRows(); ++row)
      for (int64_t chunk = 0; chunk < fragment.getChunks(); ++chunk)
        llvm::append_range(words,
                           builder.loadShared(fragment.getPointer(row, chunk),
                                              fragment.getWords()));
    rewriter.replaceOp(op, fromWords(builder, words, type));
    return success();
  }
};

struct StoreFragmentSharedLowering final : KernelPattern<StoreSharedOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getCoords().empty())
      return rewriter.notifyMatchFailure(op, "a warp's rows: see staging");
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    Value start = builder.shared(
        getStagedField(builder, op, ring, op.getField(), adaptor.getSlot()));
    Fragment fragment(builder, getBuffer(ring, op.getField()),
                      cast<VectorType>(op.getValue().getType()), start,
                      adaptor.getCoords()[0], adaptor.getCoords()[1]);
    SmallVector<Value> words = toWords(builder, adaptor.getValue());
    ArrayRef<Value> rest = words;
    for (int64_t row = 0; row < fragment.getRows(); ++row)
      for (int64_t chunk = 0; chunk < fragment.getChunks(); ++chunk) {
        builder.storeShared(fragment.getPointer(row, chunk),
                            rest.take_front(fragment.getWords()));
        rest = rest.drop_front(fragment.getWords());
      }
    rewriter.eraseOp(op);
    return success();
  }
};

/// Where scaleOffsetInTile (mx/Support/ScaleLayout.h) says.
struct StoreScaleLowering final : KernelPattern<StoreScaleOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    Value start =
        getStagedField(builder, op, ring, op.getField(), adaptor.getSlot());
    Value row = builder.toI32(adaptor.getRow());
    Value inBand = builder.create<arith::RemUIOp>(row, builder.i32(32));
    Value band = builder.create<arith::DivUIOp>(row, builder.i32(32));
    Value place = builder.add(builder.mul(inBand, builder.i32(16)),
                              builder.mul(band, builder.i32(4)));
    place = builder.add(place, builder.toI32(adaptor.getBlock()));
    Value byte = builder.create<arith::BitcastOp>(builder.getI8Type(),
                                                  adaptor.getScale());
    builder.create<LLVM::StoreOp>(byte,
                                  builder.shared(builder.add(start, place)));
    rewriter.eraseOp(op);
    return success();
  }
};

/// Column by column, as rows are.
struct QuantizeColumnsLowering final : KernelPattern<QuantizeColumnsOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(QuantizeColumnsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getInput().getType());
    auto elementsType = cast<VectorType>(op.getElements().getType());
    auto scalesType = cast<VectorType>(op.getScales().getType());
    int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
    Value flat = builder.create<vector::ShapeCastOp>(
        VectorType::get(rows * columns, type.getElementType()),
        adaptor.getInput());
    SmallVector<Value> elements, scales;
    for (int64_t column = 0; column < columns; ++column) {
      SmallVector<int64_t> places;
      for (int64_t row = 0; row < rows; ++row)
        places.push_back(row * columns + column);
      Value block = builder.create<vector::ShuffleOp>(flat, flat, places);
      auto quantized = builder.create<QuantizeBlockOp>(
          TypeRange{VectorType::get(rows, elementsType.getElementType()),
                    scalesType.getElementType()},
          block, op.getScaleRounding());
      scales.push_back(quantized.getScale());
      elements.push_back(quantized.getElements());
    }
    Value all = elements[0];
    for (Value block : ArrayRef(elements).drop_front()) {
      int64_t count = cast<VectorType>(all.getType()).getNumElements();
      all = builder.create<vector::ShuffleOp>(
          all, block, llvm::to_vector(llvm::seq<int64_t>(0, count + rows)));
    }
    Value shaped = builder.create<vector::ShapeCastOp>(elementsType, all);
    Value together = builder.create<vector::FromElementsOp>(scalesType, scales);
    rewriter.replaceOp(op, {shaped, together});
    return success();
  }
};

} // namespace

void mx::mxgpu::populateTilePatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelContext &kernel) {
  patterns.add<LoadSharedLowering, StoreFragmentSharedLowering,
               StoreScaleLowering, QuantizeColumnsLowering>(
      converter, patterns.getContext(), kernel);
}
