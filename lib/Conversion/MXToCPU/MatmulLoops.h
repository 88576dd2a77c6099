//===- MatmulLoops.h - Loops of matmuls -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulator loops shared by mx.matmul and mx.grouped_matmul.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_MATMULLOOPS_H
#define MX_LIB_CONVERSION_MXTOCPU_MATMULLOOPS_H

#include "Emitter.h"

namespace mx::cpu {

/// Operand A or B with optional scales. Element (r, k) of the matmul is element
/// (firstRow + r, firstK + k) of the array.
struct Side {
  Elements elements;
  std::optional<Scales> scales = {};
  mlir::Value values = {}; // decode table
  llvm::SmallVector<mlir::Value> batch = {};
  std::optional<Int> firstRow = {}, firstK = {};
};

/// Emits the matmuls of an operation. All of them use the same buffers.
class Matmul {
public:
  Matmul(Emitter &emitter, int64_t blockSize, Int maxK);

  /// Calls `store` with the row, column and f64 accumulator of each element.
  void emit(const Side &a, const Side &b, Int rows, Int columns, Int k,
            llvm::function_ref<void(Int, Int, mlir::Value)> store);

private:
  /// Decodes rows [first, first + count) to `buffer`, with zeros for row `end`
  /// and later rows. `place` returns the buffer indices of a row and k.
  void
  decode(const Side &side, Int first, int64_t count, Int end, Int k,
         mlir::Value buffer,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(Int, Int)> place);
  /// Returns the unscaled value of an element.
  mlir::Value loadValue(const Side &side, llvm::ArrayRef<mlir::Value> place);
  /// Emits the kernel that computes 4 x 8 accumulators.
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
