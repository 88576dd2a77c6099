//===- BulkStoreLowering.cpp - From registers through shared memory -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows that a warp writes to shared memory, and the bulk copies of them to
// tensors.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx::mxgpu;

/// The same pointer, computed where it is used: a warp's threads then keep an
/// offset of 32 bits for it.
static Value startAtUse(NVVMBuilder &builder, Value pointer) {
  auto start = pointer.getDefiningOp<LLVM::GEPOp>();
  if (!start || !start.getBase().getDefiningOp<LLVM::AddressOfOp>())
    return pointer;
  return builder.clone(*start)->getResult(0);
}

namespace {

/// Chunks of 16 bytes change places within 8 rows of the swizzle's length as
/// the bits of their row say (PTX ISA, Swizzling modes): bits 7 and up of the
/// address are added to bits 4 and up, without carry. A warp thereby writes to
/// all banks equally.
struct StoreSharedLowering final : OpConversionPattern<StoreSharedOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(StoreSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getCoords().empty())
      return rewriter.notifyMatchFailure(op, "a fragment of a tile");
    NVVMBuilder builder(op.getLoc(), rewriter);
    BufferType buffer = op.getBuffer().getType();
    int64_t rowBytes = buffer.getSizeInBytes() / 32;
    int64_t mask = 0;
    if (buffer.getSwizzle() != mx::mxgpu::Swizzle::None)
      mask = static_cast<int64_t>(buffer.getSwizzle()) - 16;
    Value lane =
        arith::AndIOp::create(builder, builder.threadId(), builder.i32(31));
    Value row = builder.mul(lane, builder.i32(rowBytes));
    Value permutation = arith::AndIOp::create(
        builder, arith::ShRUIOp::create(builder, row, builder.i32(3)),
        builder.i32(mask));
    Value permuted = arith::XOrIOp::create(builder, row, permutation);
    SmallVector<Value> words =
        getWords(builder, op.getValue(), 0, buffer.getShape()[1]);
    for (int64_t chunk = 0; chunk < rowBytes / 16; ++chunk) {
      // The chunk's bits are below those of the row, the slot's multiples of
      // the whole pattern: this part is the same for all slots.
      Value place =
          arith::XOrIOp::create(builder, permuted, builder.i32(chunk * 16));
      builder.storeShared(builder.offset(adaptor.getBuffer(), place),
                          ArrayRef(words).slice(chunk * 4, 4));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// The thread that executes it starts the copy.
struct TmaStoreLowering final : OpConversionPattern<TmaStoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    SmallVector<Value> coords; // innermost first
    for (Value coord : llvm::reverse(adaptor.getCoords()))
      coords.push_back(builder.toI32(coord));
    int64_t first =
        op.getBox().value_or(0) * op.getMap().getType().getSizeInBytes();
    builder.storeTensor(
        builder.offset(startAtUse(builder, adaptor.getBuffer()), first),
        adaptor.getMap(), coords, op.getAdd());
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkStoreLowering final : OpConversionPattern<BulkStoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BulkStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<MemRefType>(op.getDest().getType());
    // Elements before it, by Horner's rule over the dimensions.
    Value position = builder.index(0);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      position = builder.mul(position,
                             memref::DimOp::create(builder, op.getDest(), dim));
      if (static_cast<size_t>(dim) < adaptor.getCoords().size())
        position = builder.add(position, adaptor.getCoords()[dim]);
    }
    Value bytes =
        builder.mul(position, builder.index(type.getElementTypeBitWidth() / 8));
    Value start = arith::IndexCastOp::create(
        builder, builder.getI64Type(),
        memref::ExtractAlignedPointerAsIndexOp::create(builder, op.getDest()));
    Value address = builder.add(
        start,
        arith::IndexCastOp::create(builder, builder.getI64Type(), bytes));
    BufferType buffer = op.getBuffer().getType();
    int64_t size = buffer.getSizeInBytes();
    if (op.getTile())
      size /= ShapedType::getNumElements(buffer.getShape().drop_back());
    int64_t first = op.getTile().value_or(0) * size;
    builder.storeBulk(
        builder.offset(startAtUse(builder, adaptor.getBuffer()), first),
        address, size);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mx::mxgpu::populateBulkStorePatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter) {
  patterns.add<StoreSharedLowering, TmaStoreLowering, BulkStoreLowering>(
      converter, patterns.getContext());
}
