//===- MatmulLoops.cpp - Loops of matmuls ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scaled elements and the product of two scaled elements are exact in f64. The
// products are added in f64 in ascending order of k, and the sum is rounded
// once. Blocking does not change this order. Rows of A and panels of B are
// decoded to f64 buffers. The kernel computes 4 x 8 accumulators, which fit in
// the registers of all processors.
//===----------------------------------------------------------------------===//

#include "MatmulLoops.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {
constexpr int64_t kRowsOfA = 64; // decoded at a time
constexpr int64_t kKernelRows = 4;
constexpr int64_t kKernelColumns = 8;
} // namespace

Matmul::Matmul(Emitter &emitter, Int maxK, int64_t promote)
    : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
      promote(promote) {
  Type f64 = builder.getF64Type();
  auto allocate = [&](ArrayRef<int64_t> shape) -> Value {
    auto type = MemRefType::get(shape, f64);
    SmallVector<Value> sizes(type.getNumDynamicDims(), maxK);
    return memref::AllocOp::create(builder, loc, type, sizes,
                                   builder.getI64IntegerAttr(64));
  };
  rowsOfA = allocate({kRowsOfA, ShapedType::kDynamic});
  panelOfB = allocate({ShapedType::kDynamic, kKernelColumns});
  sums = allocate({kKernelRows, kKernelColumns});
  if (promote)
    partials = allocate({kKernelColumns});
}

Value Matmul::loadValue(const Side &side, ArrayRef<Value> place) {
  if (side.values)
    return emitter.lookup(side.values, emitter.loadCode(side.elements, place));
  FormatArith &numbers = emitter.getNumbers();
  return numbers.widenToF64(
      numbers.widenToF32(emitter.load(side.elements.memref, place)));
}

Value Matmul::roundToE4M3(Value value) {
  FormatArith &numbers = emitter.getNumbers();
  Type type = Float8E4M3FNType::get(builder.getContext());
  Int bits = numbers.widenToF32(numbers.round(value, builder.getF32Type()));
  return emitter.lookup(numbers.decodeTable(type, /*isScale=*/false),
                        numbers.quantize(type, bits, bits.like(127)));
}

void Matmul::decode(const Side &side, Int first, int64_t count, Int end, Int k,
                    Value buffer,
                    llvm::function_ref<SmallVector<Value>(Int, Int)> place) {
  Int zero = emitter.index(0);
  auto store = [&](Value value, Int row, Int position) {
    memref::StoreOp::create(builder, loc, value, buffer, place(row, position));
  };
  Int present = (end - first).min(count);
  emitter.loop(zero, present, 1, [&](Int row) {
    Int arrayRow = first + row;
    if (side.firstRow)
      arrayRow = *side.firstRow + arrayRow;
    int64_t blockSize = side.blockSize;
    emitter.loop(zero, k.ceilDiv(blockSize), 1, [&](Int block) {
      Int arrayBlock = block;
      if (side.firstK)
        arrayBlock = *side.firstK / blockSize + block;
      Value scale;
      if (side.scales && (!promote || isExpanded(side)))
        scale = emitter.loadScaleValue(*side.scales, side.batch, arrayRow,
                                       arrayBlock);
      Int begin = block * blockSize;
      emitter.loop(begin, (begin + blockSize).min(k), 1, [&](Int position) {
        SmallVector<Value> source(side.batch);
        source.append(
            {arrayRow, side.firstK ? *side.firstK + position : position});
        Value value = loadValue(side, source);
        if (scale)
          value = arith::MulFOp::create(builder, loc, value, scale);
        if (isExpanded(side))
          value = roundToE4M3(value);
        store(value, row, position);
      });
    });
  });
  Value nothing =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(0.0));
  emitter.loop(present, emitter.index(count), 1, [&](Int row) {
    emitter.loop(zero, k, 1,
                 [&](Int position) { store(nothing, row, position); });
  });
}

void Matmul::emitKernel(Int row, Int k) {
  auto vector = VectorType::get({kKernelColumns}, builder.getF64Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vector));
  SmallVector<Value> initial(kKernelRows, zero);
  Int first = emitter.index(0);
  auto forOp = scf::ForOp::create(
      builder, loc, first, k, emitter.index(1), initial,
      [&](OpBuilder &, Location, Value position, ValueRange running) {
        Value b =
            vector::LoadOp::create(builder, loc, vector, panelOfB,
                                   ValueRange{position, emitter.index(0)});
        SmallVector<Value> next;
        for (auto [i, sum] : llvm::enumerate(running)) {
          Value a = emitter.load(rowsOfA, {row + int64_t(i), position});
          a = vector::BroadcastOp::create(builder, loc, vector, a);
          // An fma would return the same result, because the product is exact.
          // On processors without an fma instruction it would be a library
          // call.
          Value product = arith::MulFOp::create(builder, loc, a, b);
          next.push_back(arith::AddFOp::create(builder, loc, sum, product));
        }
        scf::YieldOp::create(builder, loc, next);
      });
  for (auto [i, sum] : llvm::enumerate(forOp.getResults()))
    vector::StoreOp::create(
        builder, loc, sum, sums,
        ValueRange{emitter.index(int64_t(i)), emitter.index(0)});
}

void Matmul::emit(const Side &a, const Side &b, Int rows, Int columns, Int k,
                  llvm::function_ref<void(Int, Int, Value)> store) {
  Int zero = emitter.index(0);
  emitter.loop(zero, rows, kRowsOfA, [&](Int firstRow) {
    decode(a, firstRow, kRowsOfA, rows, k, rowsOfA, [](Int row, Int position) {
      return SmallVector<Value>{row, position};
    });
    Int presentRows = (rows - firstRow).min(kRowsOfA);
    emitter.loop(zero, columns, kKernelColumns, [&](Int firstColumn) {
      decode(b, firstColumn, kKernelColumns, columns, k, panelOfB,
             [](Int row, Int position) {
               return SmallVector<Value>{position, row};
             });
      Int presentColumns = (columns - firstColumn).min(kKernelColumns);
      emitter.loop(zero, presentRows, kKernelRows, [&](Int row) {
        Int kernelRows = (presentRows - row).min(kKernelRows);
        if (!promote)
          emitKernel(row, k);
        emitter.loop(zero, kernelRows, 1, [&](Int i) {
          if (promote)
            emitPromoted(a, b, firstRow + row + i, row + i, firstColumn, i,
                         presentColumns, k);
          emitter.loop(zero, presentColumns, 1, [&](Int j) {
            Int outRow = firstRow + row + i, outColumn = firstColumn + j;
            store(outRow, outColumn, emitter.load(sums, {i, j}));
          });
        });
      });
    });
  });
}
