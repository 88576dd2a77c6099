//===- EpilogueLowering.cpp - Accumulators to registers to memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A fragment is a vector that a thread holds: its row of the tile, some
// consecutive columns.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// The lanes of a warp are those of its number modulo 4 (PTX ISA, tcgen05
/// access restrictions); the role starts at such a warp.
struct LoadAccumulatorLowering final : KernelPattern<LoadAccumulatorOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadAccumulatorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingOp ring = kernel.rings.lookup(op.getSlot());
    VectorType type = op.getType().getVectorType();
    Value column =
        getFieldColumn(builder, kernel, ring, op.getField(), adaptor.getSlot());
    Value thread = builder.threadId();
    Value warp = builder.create<arith::ShRUIOp>(thread, builder.i32(5));
    Value quarter = builder.create<arith::AndIOp>(warp, builder.i32(3));
    Value lane = builder.mul(quarter, builder.i32(32));
    Value start = builder.add(column, builder.toI32(adaptor.getColumn()));
    Value address = builder.add(
        start, builder.create<arith::ShLIOp>(lane, builder.i32(16)));
    auto load = [&] {
      Value words = builder.loadTensorMemory(address, type.getNumElements());
      return builder.create<arith::BitcastOp>(type, words).getResult();
    };
    if (!adaptor.getEmpty()) {
      rewriter.replaceOp(op, load());
      return success();
    }
    // Tensor memory that nobody wrote is not read. All warps of the role take
    // the same way, since they have the same unit of work.
    auto ifOp =
        builder.create<scf::IfOp>(type, adaptor.getEmpty(), /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value zero = builder.create<arith::ConstantOp>(builder.getZeroAttr(type));
    builder.create<scf::YieldOp>(zero);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    Value loaded = load();
    builder.create<scf::YieldOp>(loaded);
    rewriter.replaceOp(op, ifOp.getResults());
    return success();
  }
};

struct CastFragmentLowering final : KernelPattern<CastFragmentOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(CastFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(
        op, op.getType().getVectorType(), adaptor.getInput());
    return success();
  }
};

/// Rows whose bytes are a multiple of 16 are written 16 bytes at a time while
/// the fragment lies in the row; others element by element.
struct StoreFragmentLowering final : KernelPattern<StoreFragmentOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value dest = op.getDest(), column = adaptor.getColumn();
    auto type = cast<VectorType>(adaptor.getFragment().getType());
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    Value thread = builder.create<ThreadIdOp>();
    Value row = builder.add(adaptor.getRow(), thread);
    Value rows = builder.create<memref::DimOp>(dest, 0);
    Value columns = builder.create<memref::DimOp>(dest, 1);

    Value isRow = less(builder, row, rows);
    auto rowOp = builder.create<scf::IfOp>(isRow, /*withElse=*/false);
    builder.setInsertionPointToStart(rowOp.thenBlock());
    Value last = builder.add(column, builder.index(type.getNumElements() - 1));
    Value misaligned =
        builder.create<arith::RemUIOp>(columns, builder.index(16 / bytes));
    Value isAligned = builder.create<arith::CmpIOp>(
        arith::CmpIPredicate::eq, misaligned, builder.index(0));
    Value isWhole =
        builder.create<arith::AndIOp>(isAligned, less(builder, last, columns));
    auto wholeOp = builder.create<scf::IfOp>(isWhole, /*withElse=*/true);

    builder.setInsertionPointToStart(wholeOp.thenBlock());
    builder.create<vector::StoreOp>(
        adaptor.getFragment(), dest, ValueRange{row, column},
        /*nontemporal=*/false, llvm::MaybeAlign(16));

    builder.setInsertionPointToStart(wholeOp.elseBlock());
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      OpBuilder::InsertionGuard guard(builder);
      Value at = builder.add(column, builder.index(i));
      auto elementOp = builder.create<scf::IfOp>(less(builder, at, columns),
                                                 /*withElse=*/false);
      builder.setInsertionPointToStart(elementOp.thenBlock());
      Value element = builder.create<vector::ExtractOp>(adaptor.getFragment(),
                                                        ArrayRef<int64_t>{i});
      builder.create<memref::StoreOp>(element, dest, ValueRange{row, at});
    }
    rewriter.eraseOp(op);
    return success();
  }

  static Value less(NVVMBuilder &builder, Value a, Value b) {
    return builder.create<arith::CmpIOp>(arith::CmpIPredicate::ult, a, b);
  }
};

} // namespace

void mx::mxgpu::populateEpiloguePatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         KernelContext &kernel) {
  patterns.add<LoadAccumulatorLowering, CastFragmentLowering,
               StoreFragmentLowering>(converter, patterns.getContext(), kernel);
}
