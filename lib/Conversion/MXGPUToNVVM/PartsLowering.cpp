//===- PartsLowering.cpp - Sums of the CTAs of a cluster ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each CTA writes its part to its own shared memory, and the first reads those
// of the others there.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// A part lies in shared memory as one chunk of words after the other of all
/// threads, so that adjacent threads have adjacent ones.
class PartWords {
public:
  PartWords(NVVMBuilder &builder, AddPartsOp op, Value thread, int64_t words)
      : builder(builder), chunk(words % 4 ? 1 : 4), count(words / chunk),
        stride(chunk * 4 * op.getType().getLayout().getNumThreads()) {
    Value bytes = builder.mul(thread, builder.i32(chunk * 4));
    own = builder.offset(builder.shared(*op.getOffset()), bytes);
  }

  void store(ArrayRef<Value> words) {
    for (int64_t i = 0; i < count; ++i)
      builder.storeShared(builder.offset(own, i * stride),
                          words.slice(i * chunk, chunk));
  }

  /// Those of the CTA with this rank.
  SmallVector<Value> load(int64_t rank) {
    Value there = builder.inCta(own, rank);
    SmallVector<Value> words;
    for (int64_t i = 0; i < count; ++i)
      llvm::append_range(
          words, builder.loadShared(builder.offset(there, i * stride), chunk));
    return words;
  }

private:
  NVVMBuilder &builder;
  int64_t chunk, count, stride;
  Value own;
};

/// The first wait of the cluster says that all parts are there, and the second
/// that they have been read. CTAs that wait only then do not end before, nor
/// write their next part.
struct AddPartsLowering final : OpConversionPattern<AddPartsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AddPartsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::optional<int64_t> parts = getClusterSize(op);
    if (!parts || !op.getOffset())
      return rewriter.notifyMatchFailure(op, "not of a lowered kernel");
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(adaptor.getSums().getType());
    Value own = adaptor.getSums();
    PartWords words(builder, op, builder.toI32(adaptor.getThread()),
                    type.getNumElements());
    words.store(splitWords(builder, own));
    builder.syncCluster();
    auto ifOp = scf::IfOp::create(builder, TypeRange(type), builder.isLeader(),
                                  /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(ifOp.elseBlock());
      scf::YieldOp::create(builder, own);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      Value sum = own;
      for (int64_t rank = 1; rank < *parts; ++rank)
        sum = arith::AddFOp::create(builder, sum,
                                    joinWords(builder, words.load(rank), type));
      scf::YieldOp::create(builder, sum);
    }
    builder.syncCluster();
    rewriter.replaceOp(op, ifOp.getResult(0));
    return success();
  }

private:
  /// CTAs of a cluster of the function that was a kernel.
  static std::optional<int64_t> getClusterSize(Operation *op) {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    auto size = function ? function->getAttrOfType<DenseI32ArrayAttr>(
                               NVVM::NVVMDialect::getClusterDimAttrName())
                         : DenseI32ArrayAttr();
    if (!size)
      return std::nullopt;
    return size[0];
  }
};

} // namespace

void mx::mxgpu::populatePartsPatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter) {
  patterns.add<AddPartsLowering>(converter, patterns.getContext());
}
