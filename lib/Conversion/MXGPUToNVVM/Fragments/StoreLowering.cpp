//===- StoreLowering.cpp - Fragments to global memory ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread writes consecutive columns of its row. Stores carry their condition
// as a predicate and their place in the row as an immediate, so that a row
// costs one address.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;

/// `value` (index) as a value plus a constant.
static std::pair<Value, int64_t> splitConstant(NVVMBuilder &builder,
                                               Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {builder.index(0), constant.getSExtValue()};
  auto add = value.getDefiningOp<arith::AddIOp>();
  if (add && matchPattern(add.getRhs(), m_ConstantInt(&constant)))
    return {add.getLhs(), constant.getSExtValue()};
  if (add && matchPattern(add.getLhs(), m_ConstantInt(&constant)))
    return {add.getRhs(), constant.getSExtValue()};
  return {value, 0};
}

Value mx::mxgpu::getGlobalAddress(NVVMBuilder &builder, Value memref,
                                  Value bytes) {
  Value base = arith::IndexCastOp::create(
      builder, builder.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(builder, memref));
  Type generic = LLVM::LLVMPointerType::get(builder.getContext());
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value pointer = LLVM::AddrSpaceCastOp::create(
      builder, global, LLVM::IntToPtrOp::create(builder, generic, base));
  Value offset =
      arith::IndexCastOp::create(builder, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, global, builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value mx::mxgpu::getGlobalAddress(NVVMBuilder &builder, Value matrix, Value row,
                                  Value column, int64_t bytes) {
  Value stride, element = column;
  if (cast<MemRefType>(matrix.getType()).getLayout().isIdentity()) {
    stride = memref::DimOp::create(builder, matrix, 1);
  } else {
    auto view = memref::ExtractStridedMetadataOp::create(builder, matrix);
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
    return vector::ExtractOp::create(builder, from,
                                     ArrayRef<int64_t>{position});
  };
  SmallVector<Value> words;
  if (element.getIntOrFloatBitWidth() == 32) {
    for (int64_t i = first; i < first + count; ++i)
      words.push_back(arith::BitcastOp::create(builder, builder.getI32Type(),
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
    Value pair = vector::FromElementsOp::create(
        builder, VectorType::get({2}, element),
        ValueRange{extract(vector, i), extract(vector, i + 1)});
    words.push_back(
        LLVM::BitcastOp::create(builder, builder.getI32Type(), pair));
  }
  return words;
}

/// One element as an integer.
static Value getBits(NVVMBuilder &builder, Value fragment, int64_t position) {
  Value element =
      vector::ExtractOp::create(builder, fragment, ArrayRef<int64_t>{position});
  Type bits = builder.getIntegerType(element.getType().getIntOrFloatBitWidth());
  return arith::BitcastOp::create(builder, bits, element);
}

namespace {

struct StoreFragmentLowering final : OpConversionPattern<StoreFragmentOp> {
  using OpConversionPattern::OpConversionPattern;

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

  /// Reductions have vectors of 16 bytes at most.
  static int64_t getVectorBytes(StoreFragmentOp op) {
    const mx::target::TargetInfo *target = getKernelTarget(op);
    int64_t most = target && !op.getAdd() ? target->getVectorBytes() : 16;
    return std::min<int64_t>(*op.getAlignment(), most);
  }

  static void storeWhole(NVVMBuilder &builder, StoreFragmentOp op,
                         OpAdaptor adaptor) {
    int64_t bytes = getBytes(op);
    int64_t step = getVectorBytes(op) / bytes;
    auto [column, offset] = splitConstant(builder, adaptor.getColumn());
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
    Value columns = memref::DimOp::create(builder, dest, 1);
    Value address =
        getGlobalAddress(builder, dest, adaptor.getRow(), column, bytes);
    Value zero = builder.index(0);
    Value left = arith::SelectOp::create(
        builder, adaptor.getPresent(),
        arith::SubIOp::create(builder, columns, column), zero);
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, dest);
    Value bits = arith::OrIOp::create(
        builder, base, builder.mul(columns, builder.index(bytes)));
    Value low = arith::AndIOp::create(builder, bits, builder.index(15));
    Value isAligned =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, low, zero);
    Value leftAligned = arith::SelectOp::create(builder, isAligned, left, zero);
    auto isMore = [&](Value a, int64_t than) {
      return arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, a,
                                   builder.index(than));
    };
    int64_t count =
        cast<VectorType>(op.getFragment().getType()).getNumElements();
    for (int64_t i = 0, step = 16 / bytes; i < count; i += step) {
      OpBuilder::InsertionGuard guard(builder);
      int64_t end = std::min(i + step, count);
      if (end == i + step) {
        auto ifOp = scf::IfOp::create(builder, isMore(leftAligned, end - 1),
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
                                      const TypeConverter &converter) {
  patterns.add<StoreFragmentLowering>(converter, patterns.getContext());
}
