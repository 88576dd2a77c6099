//===- MatmulLoops.h - Sums of products as loops ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx.matmul and mx.grouped_matmul have in common: the sums of a matmul of
// two arrays with scales.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_MATMULLOOPS_H
#define MX_LIB_CONVERSION_MXTOCPU_MATMULLOOPS_H

#include "Emitter.h"

namespace mx::cpu {

/// A or B: rows of elements with their scales, or of numbers without. Row r and
/// position k of the matmul are row firstRow + r and position firstK + k of
/// the array.
struct Side {
  Elements elements;
  std::optional<Scales> scales = {};
  mlir::Value values = {}; // decode table
  llvm::SmallVector<mlir::Value> batch = {};
  std::optional<Int> firstRow = {}, firstK = {};
};

/// Emits the matmuls of one operation, which share the buffers.
class Matmul {
public:
  Matmul(Emitter &emitter, int64_t blockSize, Int maxK);

  /// Calls `store` with row, column and the f64 sum of each element.
  void emit(const Side &a, const Side &b, Int rows, Int columns, Int k,
            llvm::function_ref<void(Int, Int, mlir::Value)> store);

private:
  /// Decodes rows first to first + count; rows from `end` on become zero.
  /// `place` gives the indices in `buffer` of a row of these and of k.
  void
  decode(const Side &side, Int first, int64_t count, Int end, Int k,
         mlir::Value buffer,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(Int, Int)> place);
  /// What the element at a place stands for, without its scale.
  mlir::Value loadValue(const Side &side, llvm::ArrayRef<mlir::Value> place);
  /// Leaves 4 x 8 sums in `sums`.
  void emitKernel(Int row, Int k);

  Emitter &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t blockSize;
  mlir::Value rowsOfA;  // [row][k]
  mlir::Value panelOfB; // [k][column]
  mlir::Value sums;
};

} // namespace mx::cpu

#endif // MX_LIB_CONVERSION_MXTOCPU_MATMULLOOPS_H
