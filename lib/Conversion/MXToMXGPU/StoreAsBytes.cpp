//===- StoreAsBytes.cpp - Device arrays of f4 and f6 elements -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Kernels and tensor maps take bytes; only the host's types still speak of
// elements narrower than that.
//
//===----------------------------------------------------------------------===//

#include "../Utils/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXSTOREASBYTES
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

using namespace mx::mxgpu;

namespace {

struct ConvertEncode final : OpConversionPattern<EncodeTensorMapOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EncodeTensorMapOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.modifyOpInPlace(
        op, [&] { op.getSourceMutable().assign(adaptor.getSource()); });
    return success();
  }
};

/// A bit that the host reads.
struct ConvertLoad final : OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isInteger(1))
      return rewriter.notifyMatchFailure(op, "not a bit");
    Value byte = memref::LoadOp::create(
        rewriter, op.getLoc(), adaptor.getMemref(), adaptor.getIndices());
    Value zero = arith::ConstantOp::create(
        rewriter, op.getLoc(), rewriter.getZeroAttr(byte.getType()));
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, arith::CmpIPredicate::ne,
                                               byte, zero);
    return success();
  }
};

/// Bits have a byte each, which is 0 or 1.
std::optional<Type> convertBits(MemRefType type) {
  if (!type.getElementType().isInteger(1))
    return std::nullopt;
  return MemRefType::Builder(type).setElementType(
      IntegerType::get(type.getContext(), 8));
}

struct StoreAsBytesPass final
    : mx::mxgpu::impl::MXStoreAsBytesBase<StoreAsBytesPass> {
  void runOnOperation() override {
    if (failed(mx::verifyStorage(getOperation())))
      return signalPassFailure();
    TypeConverter converter;
    mx::addStorageConversions(converter);
    converter.addConversion([](MemRefType type) -> std::optional<Type> {
      return convertBits(type);
    });
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addLegalDialect<arith::ArithDialect>();
    mx::populateStoragePatterns(converter, patterns, target);
    patterns.add<ConvertEncode, ConvertLoad>(converter, &getContext());
    target.addDynamicallyLegalOp<EncodeTensorMapOp>([&](EncodeTensorMapOp op) {
      return converter.isLegal(op.getOperation());
    });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
