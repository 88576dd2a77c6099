//===- SharedFragmentLowering.cpp - Fragments from and to shared memory ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What is read are words of a row; what a thread holds are registers in the
// order of its layout. Bytes change places between the two.
//
//===----------------------------------------------------------------------===//

#include "FragmentPlaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx::mxgpu;

/// Reads 1, 2, 4, 8 or 16 bytes as words, the upper bits of a smaller one being
/// 0.
static SmallVector<Value> loadBytes(NVVMBuilder &builder, Value pointer,
                                    int64_t bytes) {
  if (bytes >= 4)
    return builder.loadShared(pointer, bytes / 4);
  Type type = builder.getIntegerType(bytes * 8);
  Value part = LLVM::LoadOp::create(builder, type, pointer, bytes);
  return {arith::ExtUIOp::create(builder, builder.getI32Type(), part)};
}

static void storeBytes(NVVMBuilder &builder, Value pointer,
                       ArrayRef<Value> words, int64_t bytes) {
  if (bytes >= 4)
    return builder.storeShared(pointer, words);
  Type type = builder.getIntegerType(bytes * 8);
  Value part = arith::TruncIOp::create(builder, type, words.front());
  LLVM::StoreOp::create(builder, part, pointer, bytes);
}

/// Words of these bytes, the last one with as many as are left.
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

namespace {

struct LoadFragmentLowering final : OpConversionPattern<LoadFragmentOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getThread())
      return rewriter.notifyMatchFailure(op, "the thread's number is missing");
    NVVMBuilder builder(op.getLoc(), rewriter);
    FragmentPlaces places(builder, op.getBuffer().getType(), op.getType(),
                          adaptor.getBuffer(),
                          builder.toI32(adaptor.getThread()));
    places.moveTo(adaptor.getRow(), adaptor.getColumn());
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    SmallVector<Value> words;
    SmallVector<BytePlace> bytes(type.getNumElements() *
                                 type.getElementTypeBitWidth() / 8);
    for (const FragmentAccess &access : places.getAccesses()) {
      for (auto [i, byte] : llvm::enumerate(access.registerBytes))
        bytes[byte] = {words.size() + i / 4, static_cast<int64_t>(i % 4)};
      llvm::append_range(words, loadBytes(builder, places.getPointer(access),
                                          access.registerBytes.size()));
    }
    rewriter.replaceOp(
        op, joinWords(builder, gatherWords(builder, words, bytes), type));
    return success();
  }
};

struct StoreRoleLowering final : OpConversionPattern<StoreSharedOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(StoreSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
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
};

struct RelabelFragmentLowering final : OpConversionPattern<RelabelFragmentOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(RelabelFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getFragment());
    return success();
  }
};

} // namespace

void mx::mxgpu::populateSharedFragmentPatterns(RewritePatternSet &patterns,
                                               const TypeConverter &converter) {
  patterns
      .add<LoadFragmentLowering, StoreRoleLowering, RelabelFragmentLowering>(
          converter, patterns.getContext());
}
