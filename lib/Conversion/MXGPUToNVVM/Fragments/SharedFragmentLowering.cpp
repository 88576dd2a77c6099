//===- SharedFragmentLowering.cpp - Fragments and scales in shared memory -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads words of a row and permutes their bytes to the layout's register order.
//
// mx/Support/ScaleLayout.h defines the positions of scales in memory. Box,
// thread and register contribute disjoint bits to the row and to the block, so
// the address is the sum of their contributions.
//===----------------------------------------------------------------------===//

#include "../../Utils/IntExpr.h"
#include "FragmentPlaces.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Reads 1, 2, 4, 8 or 16 bytes as words, zero-extended.
static SmallVector<Value> loadBytes(NVVMBuilder &builder, Value pointer,
                                    int64_t bytes) {
  if (bytes >= 4)
    return builder.loadShared(pointer, bytes / 4);
  Type type = builder.getIntegerType(bytes * 8);
  Value narrow = LLVM::LoadOp::create(builder, type, pointer, bytes);
  return {arith::ExtUIOp::create(builder, builder.getI32Type(), narrow)};
}

static void storeBytes(NVVMBuilder &builder, Value pointer,
                       ArrayRef<Value> words, int64_t bytes) {
  if (bytes >= 4)
    return builder.storeShared(pointer, words);
  Type type = builder.getIntegerType(bytes * 8);
  Value narrow = arith::TruncIOp::create(builder, type, words.front());
  LLVM::StoreOp::create(builder, narrow, pointer, bytes);
}

/// Packs bytes into words. The last word may be incomplete.
static SmallVector<Value> gatherWords(NVVMBuilder &builder,
                                      ArrayRef<Value> words,
                                      ArrayRef<BytePlace> bytes) {
  SmallVector<Value> gathered;
  for (; !bytes.empty();
       bytes = bytes.drop_front(std::min<size_t>(bytes.size(), 4)))
    gathered.push_back(gatherBytes(
        builder, words, bytes.take_front(std::min<size_t>(bytes.size(), 4))));
  return gathered;
}

static FragmentPlaces getPlaces(NVVMBuilder &builder, LoadFragmentOp op,
                                LoadFragmentOp::Adaptor adaptor,
                                FragmentType type) {
  FragmentPlaces places(builder, op.getBuffer().getType(), type,
                        adaptor.getBuffer(),
                        builder.toI32(adaptor.getThread()));
  places.moveTo(adaptor.getRow(), adaptor.getColumn());
  return places;
}

static SmallVector<Value> loadWords(NVVMBuilder &builder, LoadFragmentOp op,
                                    LoadFragmentOp::Adaptor adaptor,
                                    VectorType type) {
  FragmentPlaces places = getPlaces(builder, op, adaptor, op.getType());
  SmallVector<Value> words;
  SmallVector<BytePlace> bytes(type.getNumElements() *
                               type.getElementTypeBitWidth() / 8);
  for (const FragmentAccess &access : places.getAccesses()) {
    for (auto [i, byte] : llvm::enumerate(access.registerBytes))
      bytes[byte] = {words.size() + i / 4, static_cast<int64_t>(i % 4)};
    llvm::append_range(words, loadBytes(builder, places.getPointer(access),
                                        access.registerBytes.size()));
  }
  return gatherWords(builder, words, bytes);
}

/// Emits ldmatrix. Lanes pass row addresses and receive a word per matrix.
static SmallVector<Value> loadMatrices(NVVMBuilder &builder, LoadFragmentOp op,
                                       LoadFragmentOp::Adaptor adaptor) {
  Type element = op.getType().getElementType();
  int64_t bits = getStoredBits(element);
  FragmentLayoutAttr layout = op.getType().getLayout();
  FragmentPlaces places =
      getPlaces(builder, op, adaptor,
                FragmentType::get(element, layout.getMatrixRows(bits)));
  places.shareAddress();
  SmallVector<Value> words(layout.getNumValues() * bits / 32);
  SmallVector<FragmentAccess> accesses = places.getAccesses();
  size_t matrices = words.size() / accesses.size();
  for (const FragmentAccess &access : accesses) {
    size_t first = access.registerBytes.front() / kChunkBytes * matrices;
    llvm::copy(builder.loadMatrices(places.getPointer(access), matrices),
               words.begin() + first);
  }
  return words;
}

static LogicalResult lowerLoadFragment(LoadFragmentOp op,
                                       LoadFragmentOp::Adaptor adaptor,
                                       ConversionPatternRewriter &rewriter,
                                       const TypeConverter &converter) {
  if (!op.getThread())
    return rewriter.notifyMatchFailure(op, "the thread's number is missing");
  NVVMBuilder builder(op.getLoc(), rewriter);
  auto type = cast<VectorType>(converter.convertType(op.getType()));
  SmallVector<Value> words = op.getMatrices()
                                 ? loadMatrices(builder, op, adaptor)
                                 : loadWords(builder, op, adaptor, type);
  rewriter.replaceOp(op, joinWords(builder, words, type));
  return success();
}

static LogicalResult lowerStoreRole(StoreSharedOp op,
                                    StoreSharedOp::Adaptor adaptor,
                                    ConversionPatternRewriter &rewriter) {
  auto type = dyn_cast<FragmentType>(op.getValue().getType());
  if (!type || !op.getThread())
    return rewriter.notifyMatchFailure(op, "not a fragment of a role");
  NVVMBuilder builder(op.getLoc(), rewriter);
  FragmentPlaces places(builder, op.getBuffer().getType(), type,
                        adaptor.getBuffer(),
                        builder.toI32(adaptor.getThread()));
  SmallVector<Value> words = splitWords(builder, adaptor.getValue());
  for (const FragmentAccess &access : places.getAccesses()) {
    SmallVector<BytePlace> bytes;
    for (int64_t byte : access.registerBytes)
      bytes.push_back({static_cast<size_t>(byte / 4), byte % 4});
    storeBytes(builder, places.getPointer(access),
               gatherWords(builder, words, bytes), bytes.size());
  }
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

namespace {

/// Blocks of a row that are adjacent in memory, from the thread's first block.
struct BlockRun {
  int64_t block, size;
};

class FragmentScales {
public:
  FragmentScales(NVVMBuilder &builder, LoadFragmentScalesOp op,
                 LoadFragmentScalesOp::Adaptor adaptor)
      : builder(builder),
        layout(cast<FragmentType>(op.getFragment()).getLayout()),
        block(op.getBlockSize()),
        bits(getStoredBits(op.getBuffer().getType().getElementType())),
        tilesInRow(getScaleTiles(op.getBuffer().getType())->second) {
    Value thread = builder.toI32(adaptor.getThread());
    Value row = addModes(thread, &FragmentMode::rows);
    threadBlock = builder.div(addModes(thread, &FragmentMode::columns), block);
    // A box may begin in the middle of a scale tile. Then the address is not
    // the sum of a box offset and a row offset, so add the row numbers first
    // and compute the address from the sum.
    row = builder.add(row, builder.toI32(adaptor.getRow()));
    Value inBox = builder.add(placeRow(row), placeBlock(threadBlock));
    Value box = placeBlock(builder.toI32(adaptor.getBlock()));
    start = builder.offset(builder.offset(adaptor.getBuffer(), box), inBox);
    if (op.getExtent())
      extent = builder.toI32(adaptor.getExtent());
    int64_t columns = layout.getShape().second;
    findRuns(std::max<int64_t>(columns / block, 1));
  }

  /// Returns all scales of the thread as integers, row by row.
  SmallVector<Value> load() {
    SmallVector<Value> masks;
    if (extent)
      for (const BlockRun &run : runs)
        masks.push_back(getMask(run));
    SmallVector<Value> scales;
    for (int64_t row : layout.getRowOffsets())
      for (auto [i, run] : llvm::enumerate(runs)) {
        Value word = loadRun(row, run);
        if (extent)
          word = builder.andBits(word, masks[i]);
        for (int64_t k = 0; k < run.size; ++k) {
          if (bits == 32) {
            scales.push_back(word);
            continue;
          }
          Value shifted = builder.shiftRight(word, bits * k);
          scales.push_back(arith::TruncIOp::create(
              builder, builder.getIntegerType(bits), shifted));
        }
      }
    return scales;
  }

private:
  Value addModes(Value thread, int64_t FragmentMode::*step) {
    Value sum =
        addThreadModes(builder, thread, layout.getNumThreads(), layout,
                       [&](const FragmentMode &mode) { return mode.*step; });
    return sum ? sum : builder.i32(0);
  }

  Value placeRow(Value row) {
    Int tile =
        Int(builder, row) / kScaleTileRows * (tilesInRow * kScaleTileBytes);
    return tile + getTileOffset(Int(builder, row), kScaleRowModes);
  }

  /// Returns the offset of a block's scale in bytes.
  Value placeBlock(Value block) {
    if (bits > 8)
      block = builder.mul(block, builder.i32(bits / 8));
    Int tile = Int(builder, block) / kScaleTileBlocks * kScaleTileBytes;
    return tile + getTileOffset(Int(builder, block), kScaleBlockModes);
  }

  /// Splits blocks into aligned runs.
  void findRuns(int64_t boxBlocks) {
    int64_t alignment = std::gcd(kScaleTileBlocks * 8 / bits, boxBlocks);
    for (const FragmentMode &mode : layout.getThreads())
      if (mode.columns * mode.size > block && mode.size > 1)
        alignment =
            std::gcd(alignment, std::max<int64_t>(mode.columns / block, 1));
    SmallVector<int64_t> blocks = layout.getBlocks(block);
    for (size_t i = 0; i < blocks.size(); i += runs.back().size) {
      int64_t adjacent = 1;
      while (i + adjacent < blocks.size() &&
             blocks[i + adjacent] == blocks[i] + adjacent)
        ++adjacent;
      runs.push_back(
          {blocks[i], std::min<int64_t>(std::gcd(alignment, blocks[i]),
                                        llvm::bit_floor<uint64_t>(adjacent))});
    }
  }

  Value loadRun(int64_t row, const BlockRun &run) {
    int64_t place = tiledScaleOffset(row, run.block * bits / 8,
                                     tilesInRow * kScaleTileBlocks);
    Type type = builder.getIntegerType(run.size * bits);
    Value narrow =
        LLVM::LoadOp::create(builder, type, builder.offset(start, place),
                             /*alignment=*/run.size * bits / 8);
    if (run.size * bits == 32)
      return narrow;
    return arith::ExtUIOp::create(builder, builder.getI32Type(), narrow);
  }

  /// Returns a mask of the blocks of a run below the extent.
  Value getMask(const BlockRun &run) {
    Value mask;
    for (int64_t i = 0; i < run.size; ++i) {
      Value number = builder.add(threadBlock, builder.i32(run.block + i));
      Value code = builder.select(
          builder.isBelow(number, extent),
          builder.i32(static_cast<int32_t>(
              llvm::maskTrailingOnes<uint32_t>(bits) << (bits * i))),
          builder.i32(0));
      mask = mask ? builder.orBits(mask, code) : code;
    }
    return mask;
  }

  NVVMBuilder &builder;
  FragmentLayoutAttr layout;
  int64_t block, bits, tilesInRow;
  /// Address of the thread's first scale, index of the first scale's block in
  /// the fragment, and number of existing blocks.
  Value start, threadBlock, extent;
  SmallVector<BlockRun> runs;
};

} // namespace

/// Reorders the bytes of a fragment from row order to register order.
static Value toRegisters(NVVMBuilder &builder, FragmentLayoutAttr layout,
                         ArrayRef<Value> bytes) {
  SmallVector<Value> registers(bytes.size());
  for (int64_t row : layout.getRowOffsets())
    for (int64_t column : layout.getBlocks(/*block=*/1)) {
      registers[layout.getRegister(row, column)] = bytes.front();
      bytes = bytes.drop_front();
    }
  auto type = VectorType::get(registers.size(), builder.getI8Type());
  return vector::FromElementsOp::create(builder, type, registers);
}

static LogicalResult lowerLoadFragmentScales(
    LoadFragmentScalesOp op, LoadFragmentScalesOp::Adaptor adaptor,
    ConversionPatternRewriter &rewriter, const TypeConverter &converter) {
  if (!op.getThread())
    return rewriter.notifyMatchFailure(op, "the thread's number is missing");
  NVVMBuilder builder(op.getLoc(), rewriter);
  SmallVector<Value> bytes = FragmentScales(builder, op, adaptor).load();
  if (auto fragment = dyn_cast<FragmentType>(op.getType())) {
    Value registers = toRegisters(builder, fragment.getLayout(), bytes);
    Type type = converter.convertType(fragment);
    if (registers.getType() != type)
      registers = builder.bitcast(type, registers);
    rewriter.replaceOp(op, registers);
    return success();
  }
  auto type = cast<VectorType>(op.getType());
  int64_t count = type.getNumElements();
  Value vector = vector::FromElementsOp::create(
      builder, VectorType::get(count, bytes.front().getType()), bytes);
  vector =
      builder.bitcast(VectorType::get(count, type.getElementType()), vector);
  rewriter.replaceOpWithNewOp<vector::ShapeCastOp>(op, type, vector);
  return success();
}

void mx::mxgpu::populateSharedFragmentPatterns(RewritePatternSet &patterns,
                                               const TypeConverter &converter) {
  addPatterns<lowerLoadFragment, lowerStoreRole,
              forwardOperand<RelabelFragmentOp>, lowerLoadFragmentScales>(
      converter, patterns);
}
