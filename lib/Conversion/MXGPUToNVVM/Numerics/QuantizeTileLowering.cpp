//===- QuantizeTileLowering.cpp - Quantizer accesses to shared memory -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses a thread's fragment of a tile that bulk copies have swizzled:
// address bits 7 and up are xored into bits 4 and up (PTX ISA, Swizzling
// modes). A fragment starts at a multiple of its shape, so the addresses of its
// rows and chunks differ from its first address by constant xors.
//
// Lanes with parts of the same block would access the same banks. They load
// their rows or chunks in an order permuted by an xor with a key, so that the 8
// chunks of a line are accessed at once, and exchange registers afterwards.
//===----------------------------------------------------------------------===//

#include "../../Utils/IntExpr.h"
#include "../Common/Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Computes the addresses of a thread's accesses to a fragment.
class Fragment {
public:
  Fragment(NVVMBuilder &builder, BufferType buffer, VectorType type,
           Value start, Value row, Value column)
      : builder(builder), shape(getFragmentShape(type)), start(start) {
    int64_t bits = getStoredBits(type.getElementType());
    rowBytes = buffer.getShape().back() *
               buffer.getElementType().getIntOrFloatBitWidth() / 8;
    int64_t rowElements = rowBytes * 8 / bits;
    fragmentBytes = shape[1] * bits / 8;
    if (buffer.getSwizzle() != mx::mxgpu::Swizzle::None)
      mask = static_cast<int64_t>(buffer.getSwizzle()) - 16;
    row = builder.toI32(row);
    column = builder.toI32(column);
    line = builder.mul(row, builder.i32(rowBytes));
    Value inRow = column;
    if (buffer.getShape().size() == 3) {
      Value elements = builder.i32(rowElements);
      inRow = builder.rem(column, elements);
      Value panel = builder.div(column, elements);
      int64_t panelBytes = buffer.getShape()[1] * rowBytes;
      base = builder.add(line, builder.mul(panel, builder.i32(panelBytes)));
    } else {
      base = line;
    }
    Value byte = builder.div(builder.mul(inRow, builder.i32(bits)), 8);
    Value permutation = builder.andBits(builder.shiftRight(line, 3), mask);
    inLine = builder.xorBits(byte, permutation);
  }

  int64_t getRows() const { return shape[0]; }
  int64_t getWords() const { return std::min<int64_t>(fragmentBytes, 16) / 4; }
  int64_t getChunks() const { return fragmentBytes / (4 * getWords()); }
  int64_t getTotalWords() const { return getRows() * getChunks() * getWords(); }

  /// Permutes the order of accesses if `lanes` adjacent lanes access successive
  /// parts of a block. More lanes than chunks access a bank twice.
  void permute(int64_t lanes) {
    constexpr int64_t kLines = kLine / kChunk; // of the swizzle
    bool isPermutable = getRows() > 1 ? getRows() % kLines == 0
                                      : llvm::isPowerOf2_64(getChunks());
    if (lanes == 1 || mask != kLine - kChunk || rowBytes != kLine ||
        !isPermutable)
      return;
    lanes = std::min(lanes, kLines);
    keyStep = kLines / lanes;
    Value part = builder.rem(builder.threadId(), builder.i32(lanes));
    if (getRows() > 1) {
      permuted = kLines;
    } else {
      permuted = getChunks();
      part = builder.div(part, kLine / fragmentBytes);
    }
    key = builder.mul(part, builder.i32(keyStep));
    inLine = builder.xorBits(inLine, builder.mul(key, builder.i32(kChunk)));
    if (getRows() > 1)
      keyLine = builder.mul(key, builder.i32(kLine));
  }

  /// Returns the pointer of an access. Each distinct xor constant needs a
  /// register for its pointer, and the row is an immediate offset.
  Value getPointer(int64_t row, int64_t chunk) {
    int64_t change = ((row * rowBytes >> 3) & mask) ^ (chunk * kChunk);
    int64_t inPermuted = keyLine ? row % permuted : 0;
    Value &pointer = pointers[change];
    if (!pointer) {
      Value place = builder.add(base, builder.xorBits(inLine, change));
      if (keyLine)
        place =
            builder.add(place, builder.xorBits(keyLine, inPermuted * kLine));
      pointer =
          LLVM::GEPOp::create(builder, start.getType(), builder.getI8Type(),
                              start, ArrayRef<LLVM::GEPArg>{place});
    }
    return builder.offset(pointer, (row - inPermuted) * rowBytes);
  }

  /// Restores the order of loaded words.
  void restore(SmallVector<Value> &words) {
    if (!key)
      return;
    int64_t wordsEach = getRows() > 1 ? words.size() / getRows() : getWords();
    for (int64_t bit = keyStep; bit < permuted; bit *= 2) {
      Value isSet = arith::CmpIOp::create(
          builder, arith::CmpIPredicate::ne,
          builder.andBits(key, builder.i32(bit)), builder.i32(0));
      SmallVector<Value> loaded = words;
      for (size_t i = 0; i < words.size(); ++i)
        words[i] =
            builder.select(isSet, loaded[i ^ bit * wordsEach], loaded[i]);
    }
  }

private:
  /// Bytes of a line of all banks, and of a chunk of the swizzle.
  static constexpr int64_t kLine = 128, kChunk = 16;

  NVVMBuilder &builder;
  SmallVector<int64_t, 2> shape;
  Value start, line, base, inLine;
  int64_t rowBytes, fragmentBytes, mask = 0;
  /// Key of the permuted order of `permuted` rows or chunks, a multiple of
  /// `keyStep`, and its bytes if it permutes rows. Null without a permutation.
  Value key, keyLine;
  int64_t keyStep = 0, permuted = 0;
  DenseMap<int64_t, Value> pointers;
};

} // namespace

static VectorType flatten(Type type) {
  auto vector = cast<VectorType>(type);
  return VectorType::get(vector.getNumElements(), vector.getElementType());
}

/// Convert between a vector of `type` and its words.
static Value fromWords(NVVMBuilder &builder, ArrayRef<Value> words,
                       VectorType type) {
  Value vector = joinWords(builder, words, flatten(type));
  return vector::ShapeCastOp::create(builder, type, vector);
}

static SmallVector<Value> toWords(NVVMBuilder &builder, Value value) {
  return splitWords(builder, vector::ShapeCastOp::create(
                                 builder, flatten(value.getType()), value));
}

/// Returns a mask of the lowest bits of a word. Clamps `bits` to [0, 32].
static Value getLowBits(NVVMBuilder &builder, Value bits) {
  Value some = builder.sub(builder.shiftLeft(builder.i32(1), bits), 1);
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) -> Value {
    return arith::CmpIOp::create(builder, predicate, bits, builder.i32(bound));
  };
  Value low = builder.select(compare(arith::CmpIPredicate::slt, 32), some,
                             builder.i32(-1));
  return builder.select(compare(arith::CmpIPredicate::sgt, 0), low,
                        builder.i32(0));
}

/// Divides the words into `lines` equal parts and clears the elements of each
/// part from index `left` (i32, signed). Usually all elements exist, and a
/// branch skips the clearing.
static void clearBehind(NVVMBuilder &builder, SmallVector<Value> &words,
                        Value left, int64_t lines, int64_t elementBits,
                        int64_t elements) {
  auto ifOp = scf::IfOp::create(
      builder, ValueRange(words).getTypes(),
      arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, left,
                            builder.i32(elements)),
      /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, words);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  SmallVector<Value> cleared;
  size_t inLine = words.size() / lines;
  for (auto [i, word] : llvm::enumerate(words)) {
    int64_t before = i % inLine * 32 / elementBits;
    Value bits = builder.mul(builder.add(left, builder.i32(-before)),
                             builder.i32(elementBits));
    cleared.push_back(builder.andBits(word, getLowBits(builder, bits)));
  }
  scf::YieldOp::create(builder, cleared);
  llvm::copy(ifOp.getResults(), words.begin());
}

static Values lowerLoadShared(NVVMBuilder &builder, LoadSharedOp op,
                              LoadSharedOp::Adaptor adaptor) {
  auto type = cast<VectorType>(op.getType());
  Fragment fragment(builder, op.getBuffer().getType(), type,
                    adaptor.getBuffer(), adaptor.getRow(), adaptor.getColumn());
  fragment.permute(op.getLanes());
  SmallVector<Value> words;
  for (int64_t row = 0; row < fragment.getRows(); ++row)
    for (int64_t chunk = 0; chunk < fragment.getChunks(); ++chunk)
      llvm::append_range(words,
                         builder.loadShared(fragment.getPointer(row, chunk),
                                            fragment.getWords()));
  fragment.restore(words);
  if (op.getRows()) {
    Value left = builder.sub(builder.toI32(adaptor.getRows()),
                             builder.toI32(adaptor.getRow()));
    // Treat each row as an element, because rows fill whole words.
    int64_t rows = fragment.getRows();
    clearBehind(builder, words, left, /*lines=*/1, 32 * words.size() / rows,
                rows);
  }
  return {fromWords(builder, words, type)};
}

static LogicalResult
lowerStoreFragmentShared(StoreSharedOp op, StoreSharedOp::Adaptor adaptor,
                         ConversionPatternRewriter &rewriter) {
  if (op.getCoords().empty())
    return rewriter.notifyMatchFailure(op, "a fragment");
  NVVMBuilder builder(op.getLoc(), rewriter);
  Fragment fragment(builder, op.getBuffer().getType(),
                    cast<VectorType>(op.getValue().getType()),
                    adaptor.getBuffer(), adaptor.getCoords()[0],
                    adaptor.getCoords()[1]);
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

/// Stores a scale in the layout of mx/Support/ScaleLayout.h.
static Values lowerStoreScale(NVVMBuilder &builder, StoreScaleOp op,
                              StoreScaleOp::Adaptor adaptor) {
  Int row(builder, builder.toI32(adaptor.getRow()));
  Int block(builder, builder.toI32(adaptor.getBlock()));
  ArrayRef<int64_t> shape = op.getBuffer().getType().getShape();
  Value start = adaptor.getBuffer();
  if (shape.size() == 3) { // matrix of tiles
    Int tile = row / kScaleTileRows * shape[1];
    start = builder.offset(start, (tile + block / kScaleTileBlocks) * shape[2]);
  }
  Value place = scaleOffsetInTile(row, block);
  Value byte = builder.bitcast(builder.getI8Type(), adaptor.getScale());
  LLVM::StoreOp::create(builder, byte, builder.offset(start, place));
  return {};
}

static Value toI64(NVVMBuilder &builder, Value index) {
  return arith::IndexCastUIOp::create(builder, builder.getI64Type(), index);
}

static Value joinScales(NVVMBuilder &builder, QuantizeColumnsOp op,
                        ArrayRef<Value> scaleBits) {
  auto type = cast<VectorType>(op.getScales().getType());
  SmallVector<Value> scales;
  for (Value bits : scaleBits)
    scales.push_back(toScale(builder, bits, type.getElementType()));
  return vector::FromElementsOp::create(builder, type, scales);
}

/// Quantizes columns, each with its own scale. Words hold pairs of columns, so
/// an instruction on a word processes both.
static Values lowerQuantizeColumns(NVVMBuilder &builder, QuantizeColumnsOp op,
                                   QuantizeColumnsOp::Adaptor adaptor,
                                   const TypeConverter &converter) {
  auto getElement = [](Value vector) {
    return cast<VectorType>(vector.getType()).getElementType();
  };
  QuantizeRecipe recipe = QuantizeRecipe::get(
      op, getElement(op.getInput()), getElement(op.getElements()),
      getElement(op.getScales()), op.getScaleRounding());
  QuantizeMath math(builder, recipe);
  SmallVector<Value> words = toWords(builder, adaptor.getInput());
  auto input = cast<VectorType>(op.getInput().getType());
  int64_t block = input.getDimSize(0);
  Value left = op.getRows() ? builder.toI32(adaptor.getRows()) : Value();
  std::optional<RandomNumbers> random;
  if (op.getSeed())
    random = {adaptor.getSeed(), toI64(builder, adaptor.getFirst()),
              toI64(builder, adaptor.getStride())};
  Value maximum = math.shareMaximum(math.getMaximum(words), op.getLanes());
  SmallVector<Value> packed, bytes;
  Value encode = adaptor.getEncode();
  if (recipe.inWord() == 1) {
    BlockScale scale = math.getScale(math.getRowMaximum(maximum), encode);
    packed = math.convertRow(words, scale, random);
    bytes = {scale.bits};
  } else {
    std::array<BlockScale, 2> scales;
    if (op.getLanes() > 1 && !op.getFolded())
      scales.fill(math.getScale(math.getRowMaximum(maximum), encode));
    else
      for (unsigned half : {0, 1})
        scales[half] =
            math.getScale(math.getColumnMaximum(maximum, half), encode);
    for (ArrayRef<Value> column : math.convertColumns(words, scales, random))
      llvm::append_range(packed, column);
    bytes = {scales[0].bits, scales[1].bits};
  }
  if (left) // a NaN scale makes padding NaN, so clear the padding
    clearBehind(builder, packed, left, input.getDimSize(1),
                recipe.elementBits(), block);
  auto elementsType =
      cast<VectorType>(converter.convertType(op.getElements().getType()));
  return {fromWords(builder, packed, elementsType),
          joinScales(builder, op, bytes)};
}

void mx::mxgpu::populateTilePatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter) {
  addPatterns<lowerLoadShared, lowerStoreFragmentShared, lowerStoreScale,
              lowerQuantizeColumns>(converter, patterns);
}
