//===- StoreLowering.cpp - Fragments to global memory ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread writes consecutive columns of its row. Stores carry their condition
// as a predicate and their place in the row as an immediate, so that a row
// costs one address.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx::mxgpu;

/// `value` as a value plus a constant.
static std::pair<Value, int64_t> splitConstant(Value value) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  APInt constant;
  if (add && matchPattern(add.getRhs(), m_ConstantInt(&constant)))
    return {add.getLhs(), constant.getSExtValue()};
  if (add && matchPattern(add.getLhs(), m_ConstantInt(&constant)))
    return {add.getRhs(), constant.getSExtValue()};
  return {value, 0};
}

Value mx::mxgpu::getGlobalAddress(NVVMBuilder &builder, Value memref,
                                  Value bytes) {
  Value base = builder.create<arith::IndexCastOp>(
      builder.getI64Type(),
      builder.create<memref::ExtractAlignedPointerAsIndexOp>(memref));
  Type generic = LLVM::LLVMPointerType::get(builder.getContext());
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value pointer = builder.create<LLVM::AddrSpaceCastOp>(
      global, builder.create<LLVM::IntToPtrOp>(generic, base));
  Value offset =
      builder.create<arith::IndexCastOp>(builder.getI64Type(), bytes);
  return builder.create<LLVM::GEPOp>(global, builder.getI8Type(), pointer,
                                     ArrayRef<LLVM::GEPArg>{offset});
}

Value mx::mxgpu::getGlobalAddress(NVVMBuilder &builder, Value matrix, Value row,
                                  Value column, int64_t bytes) {
  Value stride, element = column;
  if (cast<MemRefType>(matrix.getType()).getLayout().isIdentity()) {
    stride = builder.create<memref::DimOp>(matrix, 1);
  } else {
    auto view = builder.create<memref::ExtractStridedMetadataOp>(matrix);
    stride = view.getStrides()[0];
    element = builder.add(element, view.getOffset());
  }
  element = builder.add(builder.mul(row, stride), element);
  return getGlobalAddress(builder, matrix,
                          builder.mul(element, builder.index(bytes)));
}

SmallVector<Value> mx::mxgpu::getWords(NVVMBuilder &builder, Value vector,
                                       int64_t first, int64_t count) {
  Type element = getElementTypeOrSelf(vector.getType());
  auto extract = [&](Value from, int64_t position) -> Value {
    return builder.create<vector::ExtractOp>(from, ArrayRef<int64_t>{position});
  };
  SmallVector<Value> words;
  if (element.getIntOrFloatBitWidth() == 32) {
    for (int64_t i = first; i < first + count; ++i)
      words.push_back(builder.create<arith::BitcastOp>(builder.getI32Type(),
                                                       extract(vector, i)));
    return words;
  }
  // Pairs from f32 in one instruction. Left to LLVM, it would put the f32s in
  // pairs of registers first.
  auto rounding = vector.getDefiningOp<arith::TruncFOp>();
  bool isF32 = rounding && getElementTypeOrSelf(rounding.getIn()).isF32();
  for (int64_t i = first; i < first + count; i += 2) {
    if (isF32) {
      words.push_back(builder.convertToHalves(extract(rounding.getIn(), i + 1),
                                              extract(rounding.getIn(), i),
                                              element));
      continue;
    }
    Value pair = builder.create<vector::FromElementsOp>(
        VectorType::get({2}, element),
        ValueRange{extract(vector, i), extract(vector, i + 1)});
    words.push_back(
        builder.create<LLVM::BitcastOp>(builder.getI32Type(), pair));
  }
  return words;
}

/// One element as an integer.
static Value getBits(NVVMBuilder &builder, Value fragment, int64_t position) {
  Value element =
      builder.create<vector::ExtractOp>(fragment, ArrayRef<int64_t>{position});
  Type bits = builder.getIntegerType(element.getType().getIntOrFloatBitWidth());
  return builder.create<arith::BitcastOp>(bits, element);
}

namespace {

struct StoreFragmentLowering final : KernelPattern<StoreFragmentOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    if (op.getAlignment())
      storeWhole(builder, op, adaptor);
    else
      storeExisting(builder, op, adaptor);
    rewriter.eraseOp(op);
    return success();
  }

private:
  static int64_t getBytes(StoreFragmentOp op) {
    return getElementTypeOrSelf(op.getFragment().getType())
               .getIntOrFloatBitWidth() /
           8;
  }

  static void store(NVVMBuilder &builder, StoreFragmentOp op, Value address,
                    int64_t offset, ArrayRef<Value> words, Value condition) {
    if (op.getAdd())
      builder.addGlobal(address, offset, words, condition);
    else
      builder.storeGlobal(address, offset, words, condition);
  }

  static void storeWhole(NVVMBuilder &builder, StoreFragmentOp op,
                         OpAdaptor adaptor) {
    // Reductions have vectors of 16 bytes at most.
    int64_t bytes = getBytes(op);
    int64_t step = (op.getAdd() ? 16 : *op.getAlignment()) / bytes;
    auto [column, offset] = splitConstant(adaptor.getColumn());
    Value address = getGlobalAddress(builder, op.getDest(), adaptor.getRow(),
                                     column, bytes);
    Value condition = adaptor.getPresent();
    if (matchPattern(condition, m_One()))
      condition = {};
    int64_t count =
        cast<VectorType>(op.getFragment().getType()).getNumElements();
    for (int64_t i = 0; i < count; i += step)
      store(builder, op, address, (offset + i) * bytes,
            getWords(builder, op.getFragment(), i, step), condition);
  }

  /// 16 bytes at a time where rows allow it and as long as there are so many
  /// columns, then element by element.
  static void storeExisting(NVVMBuilder &builder, StoreFragmentOp op,
                            OpAdaptor adaptor) {
    int64_t bytes = getBytes(op);
    Value dest = op.getDest(), column = adaptor.getColumn();
    Value columns = builder.create<memref::DimOp>(dest, 1);
    Value address =
        getGlobalAddress(builder, dest, adaptor.getRow(), column, bytes);
    Value zero = builder.index(0);
    Value left = builder.create<arith::SelectOp>(
        adaptor.getPresent(), builder.create<arith::SubIOp>(columns, column),
        zero);
    Value base = builder.create<memref::ExtractAlignedPointerAsIndexOp>(dest);
    Value bits = builder.create<arith::OrIOp>(
        base, builder.mul(columns, builder.index(bytes)));
    Value low = builder.create<arith::AndIOp>(bits, builder.index(15));
    Value isAligned =
        builder.create<arith::CmpIOp>(arith::CmpIPredicate::eq, low, zero);
    Value leftAligned = builder.create<arith::SelectOp>(isAligned, left, zero);
    auto isMore = [&](Value a, int64_t than) {
      return builder.create<arith::CmpIOp>(arith::CmpIPredicate::sgt, a,
                                           builder.index(than));
    };
    int64_t count =
        cast<VectorType>(op.getFragment().getType()).getNumElements();
    for (int64_t i = 0, step = 16 / bytes; i < count; i += step) {
      OpBuilder::InsertionGuard guard(builder);
      int64_t end = std::min(i + step, count);
      if (end == i + step) {
        auto ifOp = builder.create<scf::IfOp>(isMore(leftAligned, end - 1),
                                              /*withElse=*/true);
        builder.setInsertionPointToStart(ifOp.thenBlock());
        store(builder, op, address, i * bytes,
              getWords(builder, op.getFragment(), i, step), /*condition=*/{});
        builder.setInsertionPointToStart(ifOp.elseBlock());
      }
      for (int64_t k = i; k < end; ++k)
        store(builder, op, address, k * bytes,
              getBits(builder, adaptor.getFragment(), k), isMore(left, k));
    }
  }
};

} // namespace

void mx::mxgpu::populateStorePatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter,
                                      KernelContext &kernel) {
  patterns.add<StoreFragmentLowering>(converter, patterns.getContext(), kernel);
}
