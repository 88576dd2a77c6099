//===- TensorCoreLowering.cpp - Loads, scale copies and MMAs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Feeds the tensor core: bulk copies into slots, scales into tensor memory,
// one instruction for every 32 elements of the reduction.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/Descriptors.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// The matrix descriptor of a buffer: the 18 address bits of the stage that a
/// descriptor holds, plus constants. Addresses of a CTA's memory stay below the
/// 18 bits, so that sums do not carry into other fields.
static Value getDescriptor(NVVMBuilder &builder,
                           const target::SmemDescriptor &layout, Value buffer) {
  auto [start, inSlot] = splitOffset(buffer);
  Value address =
      LLVM::PtrToIntOp::create(builder, builder.getI64Type(), start);
  Value inCta = arith::AndIOp::create(
      builder, address, builder.i64(target::kDescriptorAddressMask));
  Value units = arith::ShRUIOp::create(
      builder, inCta, builder.i64(llvm::Log2_32(target::kDescriptorUnit)));
  return builder.add(units, builder.i64(target::encode(layout) +
                                        inSlot / target::kDescriptorUnit));
}

/// The L2 cache policy of a hint, as the word that instructions take.
static Value getCachePolicy(NVVMBuilder &builder, CacheHint hint) {
  switch (hint) {
  case CacheHint::None:
    return {};
  case CacheHint::EvictFirst:
    return builder.i64(target::kEvictFirstPolicy);
  case CacheHint::EvictLast:
    return builder.i64(target::kEvictLastPolicy);
  }
  llvm_unreachable("all hints are listed");
}

static mx::Swizzle getSwizzle(mxgpu::Swizzle swizzle) {
  switch (swizzle) {
  case mxgpu::Swizzle::None:
    return mx::Swizzle::None;
  case mxgpu::Swizzle::Sw32:
    return mx::Swizzle::B32;
  case mxgpu::Swizzle::Sw64:
    return mx::Swizzle::B64;
  case mxgpu::Swizzle::Sw128:
    return mx::Swizzle::B128;
  }
  llvm_unreachable("all swizzles are listed");
}

namespace {

struct TmaLoadLowering final : OpConversionPattern<TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<BarrierType>(op.getStage().getType()))
      return failure();
    NVVMBuilder builder(op.getLoc(), rewriter);
    SmallVector<Value> coords;
    for (Value coord : adaptor.getCoords())
      coords.push_back(builder.toI32(coord));
    coords.resize(op.getMap().getType().getBox().size(), builder.i32(0));
    std::reverse(coords.begin(), coords.end());
    Value dest = adaptor.getBuffer();
    if (Value part = adaptor.getBox()) {
      Value bytes = builder.i32(op.getMap().getType().getSizeInBytes());
      Value offset = builder.mul(builder.toI32(part), bytes);
      dest = LLVM::GEPOp::create(builder, dest.getType(), builder.getI8Type(),
                                 dest, ArrayRef<LLVM::GEPArg>{offset});
    }
    Value barrier = adaptor.getStage();
    Value policy = getCachePolicy(builder, op.getCache());
    if (isInPair(op))
      builder.loadTensorOfPair(dest, adaptor.getMap(), coords, barrier, policy,
                               op.getMulticast());
    else
      builder.loadTensor(dest, adaptor.getMap(), coords, barrier, policy);
    rewriter.eraseOp(op);
    return success();
  }
};

/// A tile of 128 rows by 4 scales is 512 bytes of shared memory and 4 columns
/// of tensor memory. There, tiles of the same scales stand side by side, as one
/// instruction reads them.
struct CopyScalesLowering final : OpConversionPattern<CopyScalesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(CopyScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getColumn() || !op.getTensorMemory())
      return rewriter.notifyMatchFailure(op, "the scales have no column yet");
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value descriptor = getDescriptor(builder, target::scaleTileDescriptor(),
                                     adaptor.getBuffer());
    Value column =
        builder.add(adaptor.getTensorMemory(), builder.i32(*op.getColumn()));
    if (Value place = adaptor.getPlace())
      column = builder.add(
          column, builder.mul(place, builder.i32(op.getType().getColumns())));
    int64_t tiles = op.getType().getTiles();
    int64_t groups = op.getType().getRows() / target::kScaleRowsPerGroup;
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t group = 0; group < groups; ++group) {
        Value tileColumn =
            builder.add(column, builder.i32((tile * groups + group) *
                                            target::kScaleColumnsPerGroup));
        Value tileDescriptor = builder.add(
            descriptor, builder.i64((group * tiles + tile) * kScaleTileBytes /
                                    target::kDescriptorUnit));
        builder.copyScaleTile(tileColumn, tileDescriptor, isInPair(op));
      }
    rewriter.replaceOp(op, column);
    return success();
  }
};

struct MmaLowering final : OpConversionPattern<MmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    std::string error;
    FailureOr<target::InstrDescriptor> instruction = op.getInstruction(error);
    if (failed(instruction))
      return op.emitOpError() << error;
    Issue issue = getIssue(builder, op, adaptor, *instruction);
    int64_t k = target::getInfo(instruction->kind).k;
    int64_t steps = op.getAScales().getType().getTiles() * kScaleTileBlocks *
                    instruction->blockSize / k;
    auto issueAll = [&] {
      for (int64_t step = 0; step < steps; ++step)
        issue.step(builder, step);
    };
    if (!op.getExtent() || steps == 1) {
      issueAll();
      rewriter.eraseOp(op);
      return success();
    }
    // A full tile asks once; in the last one, blocks beyond the extent hold
    // slack and must not be multiplied.
    OpBuilder::InsertionGuard guard(builder);
    Value isFull =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::uge,
                              adaptor.getExtent(), builder.index(steps * k));
    auto ifOp = scf::IfOp::create(builder, isFull, /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    issueAll();
    builder.setInsertionPointToStart(ifOp.elseBlock());
    for (int64_t step = 0; step + 1 < steps; ++step) {
      if (step > 0)
        enterIfWithin(builder, adaptor.getExtent(), step * k);
      issue.step(builder, step);
    }
    rewriter.eraseOp(op);
    return success();
  }

  static void enterIfWithin(NVVMBuilder &builder, Value extent, int64_t start) {
    Value isWithin = arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt,
                                           extent, builder.index(start));
    auto ifOp = scf::IfOp::create(builder, isWithin, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
  }

  /// An operand in shared memory: the panel after the next span of K begins
  /// further on.
  struct Operand {
    Value descriptor;
    int64_t stepsPerPanel, panelBytes;

    Value at(NVVMBuilder &builder, int64_t step) const {
      int64_t units =
          step / stepsPerPanel * panelBytes / target::kDescriptorUnit +
          step % stepsPerPanel * target::kDescriptorKStep;
      return units ? builder.add(descriptor, builder.i64(units)) : descriptor;
    }
  };

  /// What all instructions of a tile have in common.
  struct Issue {
    target::InstrDescriptor instruction;
    int64_t scalesPerStep;
    Operand a, b;
    Value d, aScales, bScales, accumulate;
    int64_t aTileColumns, bTileColumns;

    /// Issues instruction number `step` of the tile.
    void step(NVVMBuilder &builder, int64_t step) const {
      int64_t scale = step * scalesPerStep;
      target::InstrDescriptor word = instruction;
      word.scaleIdA = word.scaleIdB = scale % kScaleTileBlocks;
      int64_t tile = scale / kScaleTileBlocks;
      auto atTile = [&](Value column, int64_t columns) {
        return tile ? builder.add(column, builder.i32(tile * columns)) : column;
      };
      builder.mmaBlockScaled(
          word, d, a.at(builder, step), b.at(builder, step),
          step == 0 && accumulate ? accumulate : builder.i1(step > 0),
          atTile(aScales, aTileColumns), atTile(bScales, bTileColumns));
    }
  };

  static Operand getOperand(NVVMBuilder &builder, BufferType buffer,
                            Value view) {
    int64_t panels = buffer.getShape().size() == 3 ? buffer.getShape()[0] : 1;
    return {
        getDescriptor(builder,
                      target::kMajorDescriptor(getSwizzle(buffer.getSwizzle())),
                      view),
        static_cast<int64_t>(buffer.getSwizzle()) / target::kMmaKBytes,
        buffer.getSizeInBytes() / panels};
  }

  static Issue getIssue(NVVMBuilder &builder, MmaOp op, OpAdaptor adaptor,
                        const target::InstrDescriptor &instruction) {
    Value bScales = adaptor.getBScales();
    if (Value offset = adaptor.getBOffset()) // a column holds 32 rows
      bScales = builder.add(
          bScales, arith::ShRUIOp::create(builder, builder.toI32(offset),
                                          builder.i32(5)));
    auto getTileColumns = [](ScalesType type) {
      return type.getColumns() / type.getTiles();
    };
    int64_t k = target::getInfo(instruction.kind).k;
    return {instruction,
            k / static_cast<int64_t>(instruction.blockSize),
            getOperand(builder, op.getA().getType(), adaptor.getA()),
            getOperand(builder, op.getB().getType(), adaptor.getB()),
            adaptor.getD(),
            adaptor.getAScales(),
            bScales,
            adaptor.getAccumulate(),
            getTileColumns(op.getAScales().getType()),
            getTileColumns(op.getBScales().getType())};
  }
};

} // namespace

void mx::mxgpu::populateTensorCorePatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  patterns.add<TmaLoadLowering, CopyScalesLowering, MmaLowering>(
      converter, patterns.getContext());
}
