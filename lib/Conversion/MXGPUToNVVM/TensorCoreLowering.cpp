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

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// The matrix descriptor of a buffer at a run-time address: its constant
/// fields plus the 18 address bits that a descriptor holds.
static Value getDescriptor(NVVMBuilder &builder,
                           const target::SmemDescriptor &layout,
                           Value pointer) {
  Value address = builder.sharedAddress(pointer);
  Value inCta = builder.create<arith::AndIOp>(address, builder.i32(0x3FFFF));
  Value units = builder.create<arith::ShRUIOp>(inCta, builder.i32(4));
  Value wide = builder.create<arith::ExtUIOp>(builder.getI64Type(), units);
  return builder.create<arith::OrIOp>(wide,
                                      builder.i64(target::encode(layout)));
}

namespace {

struct TmaLoadLowering final : KernelPattern<TmaLoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    SmallVector<Value> coords;
    for (Value coord : adaptor.getCoords())
      coords.push_back(builder.toI32(coord));
    coords.resize(op.getMap().getType().getBox().size(), builder.i32(0));
    std::reverse(coords.begin(), coords.end());
    Value dest =
        getFieldAddress(builder, ring, op.getField(), adaptor.getSlot());
    builder.loadTensor(dest, adaptor.getMap(), coords,
                       getFullBarrier(builder, ring, adaptor.getSlot()));
    rewriter.eraseOp(op);
    return success();
  }
};

/// 128 rows of scales are one tile of 512 bytes in shared memory and 4 columns
/// of tensor memory.
struct CopyScalesLowering final : KernelPattern<CopyScalesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(CopyScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getColumn())
      return rewriter.notifyMatchFailure(op, "the scales have no column yet");
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    Value source =
        getFieldAddress(builder, ring, op.getField(), adaptor.getSlot());
    Value descriptor =
        getDescriptor(builder, target::scaleTileDescriptor(), source);
    Value column =
        builder.add(kernel.tensorMemory, builder.i32(*op.getColumn()));
    int64_t tiles = op.getType().getRows() / target::kScaleRowsPerGroup;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      Value tileColumn = builder.add(
          column, builder.i32(tile * target::kScaleColumnsPerGroup));
      Value tileDescriptor =
          builder.add(descriptor, builder.i64(tile * kScaleTileBytes /
                                              target::kDescriptorUnit));
      builder.copyScaleTile(tileColumn, tileDescriptor);
    }
    rewriter.replaceOp(op, column);
    return success();
  }
};

struct MmaLowering final : KernelPattern<MmaOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(MmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp inputs = kernel.rings.lookup(op.getInputs());
    RingOp accumulators = kernel.rings.lookup(op.getAccumulator());
    auto layout = target::kMajorDescriptor(mx::Swizzle::B128);
    Value a = getDescriptor(
        builder, layout,
        getFieldAddress(builder, inputs, op.getA(), adaptor.getInputs()));
    Value b = getDescriptor(
        builder, layout,
        getFieldAddress(builder, inputs, op.getB(), adaptor.getInputs()));
    Value d = getFieldColumn(builder, kernel, accumulators, op.getD(),
                             adaptor.getAccumulator());
    target::InstrDescriptor instruction;
    instruction.kind = target::MmaKind::MXF8F6F4;
    instruction.m = op.getAScales().getType().getRows();
    instruction.n = op.getBScales().getType().getRows();
    instruction.a = instruction.b = target::MmaType::E4M3;
    instruction.blockSize = kBlock;
    if (std::string error = target::check(instruction); !error.empty())
      return op.emitOpError() << error;

    for (int64_t block = 0; block < kTileK / kBlock; ++block) {
      OpBuilder::InsertionGuard guard(builder);
      // Blocks beyond the extent hold slack: they must not be multiplied.
      if (block > 0 && op.getExtent())
        enterIfWithin(builder, adaptor.getExtent(), block * kBlock);
      Value accumulate = block == 0 && op.getAccumulate()
                             ? adaptor.getAccumulate()
                             : builder.i1(block > 0);
      instruction.scaleIdA = instruction.scaleIdB = block;
      Value step = builder.i64(block * target::kDescriptorKStep);
      Value aBlock = builder.add(a, step);
      Value bBlock = builder.add(b, step);
      builder.mmaMXF8(d, aBlock, bBlock, target::encode(instruction),
                      accumulate, adaptor.getAScales(), adaptor.getBScales());
    }
    rewriter.eraseOp(op);
    return success();
  }

  static void enterIfWithin(NVVMBuilder &builder, Value extent, int64_t start) {
    Value isWithin = builder.create<arith::CmpIOp>(
        arith::CmpIPredicate::ugt, extent, builder.index(start));
    auto ifOp = builder.create<scf::IfOp>(isWithin, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
  }

  /// Elements of the reduction in one instruction, and in one tile of 128
  /// bytes (verified by the operation).
  static constexpr int64_t kBlock = 32, kTileK = 128;
};

} // namespace

void mx::mxgpu::populateTensorCorePatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter,
                                           KernelContext &kernel) {
  patterns.add<TmaLoadLowering, CopyScalesLowering, MmaLowering>(
      converter, patterns.getContext(), kernel);
}
