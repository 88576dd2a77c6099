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
  int64_t blockSize = 1;
  mlir::Value values = {}; // decode table
  llvm::SmallVector<mlir::Value> batch = {};
  std::optional<Int> firstRow = {}, firstK = {};
};

/// Emits the matmuls of an operation. All of them use the same buffers.
class Matmul {
public:
  /// With `promote`, the sum of so many products has the reduced precision of
  /// the tensor core (docs/reference/Spec.md, Folded operands).
  Matmul(Emitter &emitter, Int maxK, int64_t promote = 0);

  /// Calls `store` with the row, column and f64 accumulator of each element.
  void emit(const Side &a, const Side &b, Int rows, Int columns, Int k,
            llvm::function_ref<void(Int, Int, mlir::Value)> store);

private:
  /// Decodes rows [first, first + count) to `buffer`, with zeros for row `end`
  /// and later rows. `place` returns the buffer indices of a row and k.
  /// If sums are promoted, only an expanded operand is scaled.
  void
  decode(const Side &side, Int first, int64_t count, Int end, Int k,
         mlir::Value buffer,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(Int, Int)> place);
  /// Returns true if elements are rounded to f8E4M3FN after scaling.
  bool isExpanded(const Side &side) const {
    return promote && llvm::isa<mlir::Float4E2M1FNType>(side.elements.type);
  }
  /// Rounds a value to f8E4M3FN, saturated.
  mlir::Value roundToE4M3(mlir::Value value);
  /// Returns the unscaled value of an element.
  mlir::Value loadValue(const Side &side, llvm::ArrayRef<mlir::Value> place);
  /// Emits the kernel that computes 4 x 8 accumulators.
  void emitKernel(Int row, Int k);

  /// Emits row `i` of the promoted accumulators. `aRow` and `bRow` are the
  /// first rows of A and B, and `row` is that of A in its buffer.
  void emitPromoted(const Side &a, const Side &b, Int aRow, Int row, Int bRow,
                    Int i, Int columns, Int k);
  /// Emits the tensor core's sum of the products of positions [begin, end).
  mlir::Value addInTensorCore(const Side &a, const Side &b, Int row, Int begin,
                              Int end);
  /// Loads the f64 scale of a row and position.
  mlir::Value loadScale(const Side &side, Int row, Int position);

  Emitter &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t promote;
  mlir::Value rowsOfA;  // [row][k]
  mlir::Value panelOfB; // [k][column]
  mlir::Value sums;
  mlir::Value partials; // of a row, if promoted
};

} // namespace mx::cpu

#endif // MX_LIB_CONVERSION_MXTOCPU_MATMULLOOPS_H
