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

/// Returns the word of the classes of `count` rows from `first` on, which is 0
/// if all are narrow.
static Value joinWords(KernelBuilder &body, Value classes, Value matrix,
                       Value first, int64_t count, bool isAligned) {
  int64_t words = llvm::divideCeil(count, kRowsPerWord) + !isAligned;
  Value number = body.div(first, kRowsPerWord), joined;
  for (int64_t i = 0; i < words; ++i) {
    Value word = loadWord(body, classes, matrix, body.add(number, i));
    joined = joined ? body.orBits(joined, word) : word;
  }
  return joined;
}

/// Returns the rows of B, one of each of its matrices, for a result column.
static SmallVector<Value> listRowsOfB(MatmulKernel &kernel, WorkPolicy &work,
                                      Value column) {
  SmallVector<Value> rows = {column};
  for (int64_t i = 1; i < kernel.matmul.problem.numB; ++i)
    rows.push_back(
        kernel.body.add(rows.back(), work.getScheduler().getColumns()));
  return rows;
}

Value mx::mxgpu::isAllNarrow(MatmulKernel &kernel, WorkPolicy &work,
                             ForEachWorkTileOp workTile) {
  KernelBuilder &body = kernel.body;
  const ScheduledMatmul &matmul = kernel.matmul;
  Value group = workTile.getGroup();
  bool isPacked =
      matmul.problem.ragged == RaggedKind::Rows && !matmul.problem.isMasked;
  Value row = work.getRow(workTile, body.index(0)).inMatrix;
  Value word = joinWords(body, kernel.arguments.get(Arg::AClasses), group, row,
                         matmul.getARows(), /*isAligned=*/!isPacked);
  int64_t columns = matmul.getTileColumns();
  for (Value rowOfB : listRowsOfB(kernel, work, workTile.getColumn()))
    word = body.orBits(
        word, joinWords(body, kernel.arguments.get(Arg::BClasses), group,
                        rowOfB, columns, columns % kRowsPerWord == 0));
  return body.isEqual(word, body.i32(0));
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
