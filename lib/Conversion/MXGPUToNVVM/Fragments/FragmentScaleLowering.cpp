//===- FragmentScaleLowering.cpp - Scales of a thread's elements ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Scales lie where mx/Support/ScaleLayout.h says. The bits of a row are those
// of the box, the thread and the register, apart from each other, and so are
// those of a block: what they give the address is added.
//
//===----------------------------------------------------------------------===//

#include "../../Utils/IntExpr.h"
#include "FragmentPlaces.h"
#include "ThreadDigits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Blocks of a row that are adjacent in memory, the first of them counted from
/// the thread's first one.
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
        tilesInRow(getScaleTiles(op.getBuffer().getType())->second) {
    Value thread = builder.toI32(adaptor.getThread());
    Value row = addDigits(thread, &FragmentDigit::rows);
    threadBlock = arith::DivUIOp::create(
        builder, addDigits(thread, &FragmentDigit::columns),
        builder.i32(block));
    Value inBox = builder.add(placeRow(row), placeBlock(threadBlock));
    Value box = builder.add(placeRow(builder.toI32(adaptor.getRow())),
                            placeBlock(builder.toI32(adaptor.getBlock())));
    start = builder.offset(builder.offset(adaptor.getBuffer(), box), inBox);
    if (op.getExtent())
      extent = builder.toI32(adaptor.getExtent());
    int64_t columns = layout.getShape().second;
    findRuns(std::max<int64_t>(columns / block, 1));
  }

  /// All scales as bytes, row after row.
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
          word = arith::AndIOp::create(builder, word, masks[i]);
        for (int64_t k = 0; k < run.size; ++k) {
          Value shifted =
              arith::ShRUIOp::create(builder, word, builder.i32(8 * k));
          scales.push_back(
              arith::TruncIOp::create(builder, builder.getI8Type(), shifted));
        }
      }
    return scales;
  }

private:
  Value addDigits(Value thread, int64_t FragmentDigit::*step) {
    Value sum = addThreadDigits(
        builder, thread, layout.getNumThreads(), layout,
        [&](const FragmentDigit &digit) { return digit.*step; });
    return sum ? sum : builder.i32(0);
  }

  Value placeRow(Value row) {
    Int tile =
        Int(builder, row) / kScaleTileRows * (tilesInRow * kScaleTileBytes);
    return tile + getTileOffset(Int(builder, row), kScaleRowModes);
  }

  Value placeBlock(Value block) {
    Int tile = Int(builder, block) / kScaleTileBlocks * kScaleTileBytes;
    return tile + getTileOffset(Int(builder, block), kScaleBlockModes);
  }

  /// As many at a time as the first one's place is a multiple of.
  void findRuns(int64_t boxBlocks) {
    int64_t alignment = std::gcd(kScaleTileBlocks, boxBlocks);
    for (const FragmentDigit &digit : layout.getThreads())
      if (digit.columns * digit.size > block && digit.size > 1)
        alignment =
            std::gcd(alignment, std::max<int64_t>(digit.columns / block, 1));
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
    int64_t place =
        tiledScaleOffset(row, run.block, tilesInRow * kScaleTileBlocks);
    Type type = builder.getIntegerType(run.size * 8);
    Value part =
        LLVM::LoadOp::create(builder, type, builder.offset(start, place),
                             /*alignment=*/run.size);
    if (run.size * 8 == 32)
      return part;
    return arith::ExtUIOp::create(builder, builder.getI32Type(), part);
  }

  /// The bytes of a run that are below the extent.
  Value getMask(const BlockRun &run) {
    Value mask;
    for (int64_t i = 0; i < run.size; ++i) {
      Value number = builder.add(threadBlock, builder.i32(run.block + i));
      Value byte = arith::SelectOp::create(
          builder, builder.isBelow(number, extent),
          builder.i32(static_cast<int32_t>(0xFFu << (8 * i))), builder.i32(0));
      mask =
          mask ? arith::OrIOp::create(builder, mask, byte).getResult() : byte;
    }
    return mask;
  }

  NVVMBuilder &builder;
  FragmentLayoutAttr layout;
  int64_t block, tilesInRow;
  /// Where the thread's first scale lies, and the number of its block in the
  /// fragment.
  Value start, threadBlock, extent;
  SmallVector<BlockRun> runs;
};

struct LoadFragmentScalesLowering final
    : OpConversionPattern<LoadFragmentScalesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadFragmentScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getThread())
      return rewriter.notifyMatchFailure(op, "the thread's number is missing");
    NVVMBuilder builder(op.getLoc(), rewriter);
    SmallVector<Value> bytes = FragmentScales(builder, op, adaptor).load();
    auto type = cast<VectorType>(op.getType());
    int64_t count = type.getNumElements();
    Value vector = vector::FromElementsOp::create(
        builder, VectorType::get(count, builder.getI8Type()), bytes);
    vector = arith::BitcastOp::create(
        builder, VectorType::get(count, type.getElementType()), vector);
    rewriter.replaceOpWithNewOp<vector::ShapeCastOp>(op, type, vector);
    return success();
  }
};

} // namespace

void mx::mxgpu::populateFragmentScalePatterns(RewritePatternSet &patterns,
                                              const TypeConverter &converter) {
  patterns.add<LoadFragmentScalesLowering>(converter, patterns.getContext());
}
