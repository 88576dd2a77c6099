//===- SelectedWork.cpp - Elements selected by row classes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SelectedWork.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Loads a word of the classes of a matrix, or the last word.
static Value loadWord(KernelBuilder &body, Value classes, Value matrix,
                      Value number) {
  int64_t rank = cast<MemRefType>(classes.getType()).getRank();
  Value last = body.sub(body.dim(classes, rank - 1), body.index(1));
  SmallVector<Value> place(rank - 1, matrix);
  place.push_back(body.min(number, last));
  return memref::LoadOp::create(body, classes, place);
}

/// Returns the rows of B, one of each of its matrices, for a result column.
static SmallVector<Value> listRowsOfB(MatmulKernel &kernel, WorkPolicy &work,
                                      Value column) {
  SmallVector<Value> rows = {column};
  for (int64_t i = 1; i < kernel.matmul.problem.numB; ++i)
    rows.push_back(kernel.body.add(rows.back(), work.getResultColumns()));
  return rows;
}

SmallVector<Value> mx::mxgpu::loadWords(MatmulKernel &kernel, WorkPolicy &work,
                                        ForEachWorkTileOp workTile,
                                        bool byLane) {
  KernelBuilder &body = kernel.body;
  const ScheduledMatmul &matmul = kernel.matmul;
  Value lane;
  if (byLane)
    lane = gpu::LaneIdOp::create(body, /*upperBound=*/IntegerAttr());
  SmallVector<Value> loaded;
  auto load = [&](Arg classes, Value first, int64_t rows, bool isAligned) {
    int64_t words = llvm::divideCeil(rows, kRowsPerWord) + !isAligned;
    assert(words <= target::kWarpSize);
    first = body.div(first, kRowsPerWord);
    for (int64_t i = 0; i < (lane ? 1 : words); ++i) {
      Value number =
          lane ? body.min(lane, body.index(words - 1)) : Value(body.index(i));
      loaded.push_back(loadWord(body, kernel.arguments.get(classes),
                                workTile.getGroup(), body.add(first, number)));
    }
  };
  bool isPacked =
      matmul.problem.ragged == RaggedKind::Rows && !matmul.problem.isMasked;
  load(Arg::AClasses, work.getRow(workTile, body.index(0)).inMatrix,
       matmul.getARows(), /*isAligned=*/!isPacked);
  int64_t columns = matmul.getTileColumns();
  for (Value rowOfB : listRowsOfB(kernel, work, workTile.getColumn()))
    load(Arg::BClasses, rowOfB, columns, columns % kRowsPerWord == 0);
  return loaded;
}

Value mx::mxgpu::areAllNarrow(KernelBuilder &body, ValueRange words,
                              bool byLane) {
  Value joined = words.front();
  for (Value word : words.drop_front())
    joined = body.orBits(joined, word);
  if (byLane)
    joined = gpu::SubgroupReduceOp::create(
        body, joined, gpu::AllReduceOperation::OR, /*uniform=*/true);
  return body.isEqual(joined, body.i32(0));
}

SmallVector<Value> mx::mxgpu::selectElements(MatmulKernel &kernel,
                                             WorkPolicy &work,
                                             ForEachWorkTileOp workTile,
                                             const ResultRow &row, Value column,
                                             int64_t count) {
  KernelBuilder &body = kernel.body;
  Value group = workTile.getGroup();
  auto load = [&](Arg classes, Value number) {
    return loadWord(body, kernel.arguments.get(classes), group,
                    body.div(number, kRowsPerWord));
  };
  // Shifts the bit of a row to the lowest bit.
  auto shift = [&](Value word, Value number) {
    Value bit = body.rem(number, body.index(kRowsPerWord));
    return body.shiftRight(
        word, arith::IndexCastOp::create(body, body.getI32Type(), bit));
  };
  bool isWide = kernel.matmul.problem.where == RowClass::Wide;
  bool sharesWord = kRowsPerWord % count == 0;
  Value ofRow = shift(load(Arg::AClasses, row.inMatrix), row.inMatrix);
  SmallVector<Value> selected, words;
  SmallVector<Value> first = listRowsOfB(kernel, work, column);
  for (int64_t i = 0; i < count; ++i) {
    Value bits = ofRow;
    for (auto [matrix, start] : llvm::enumerate(first)) {
      Value rowOfB = i ? body.add(start, i) : start;
      if (!i || !sharesWord)
        words.push_back(load(Arg::BClasses, rowOfB));
      bits = body.orBits(
          bits, shift(sharesWord ? words[matrix] : words.back(), rowOfB));
    }
    Value bit = body.andBits(bits, 1);
    selected.push_back(
        body.both(row.isPresent, body.isEqual(bit, body.i32(isWide))));
  }
  return selected;
}
