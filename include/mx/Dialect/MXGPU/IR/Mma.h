//===- Mma.h - Matrix instructions and fragments ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data types of the attributes in MXGPUMma.td.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MMA_H
#define MX_DIALECT_MXGPU_IR_MMA_H

#include "mlir/IR/Value.h"
#include "mx/Target/MmaFamilies.h"
#include "mx/Target/Rates.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mx::mxgpu {

class NVVMBuilder;

/// Digit of a thread or register number: `size` values, each with a step of
/// `rows` or `columns`.
struct FragmentMode {
  int64_t size, rows, columns;

  bool operator==(const FragmentMode &other) const {
    return size == other.size && rows == other.rows && columns == other.columns;
  }
};

inline FragmentMode rows(int64_t size, int64_t step) { return {size, step, 0}; }
inline FragmentMode columns(int64_t size, int64_t step) {
  return {size, 0, step};
}
/// Appends a mode, merging it with the last mode if it continues that mode.
void appendMode(llvm::SmallVectorImpl<FragmentMode> &modes,
                const FragmentMode &mode);

/// Modes of a layout, lowest first.
struct FragmentModes {
  llvm::SmallVector<FragmentMode> threads, values;
};

inline llvm::hash_code hash_value(const FragmentMode &mode) {
  return llvm::hash_combine(mode.size, mode.rows, mode.columns);
}

/// Adjacent columns in a thread's row.
struct FragmentRun {
  int64_t column, size;
};

/// Rows, columns and reduction elements of one instruction.
struct MmaShape {
  int64_t m, n, k;
};

/// Input operand of an instruction. A has a row for each accumulator row, and B
/// has a row for each accumulator column. Scales have an entry for each block.
enum class MmaOperand : uint8_t { A, B, AScales, BScales };

/// Operands of an mxgpu.mma after conversion: addresses in shared memory,
/// columns (i32) in tensor memory, vectors of registers, or null.
struct MmaOperands {
  mlir::Value a, b, aScales, bScales, d, bOffset, accumulate, extent, thread;
  /// Registers per thread at launch, if below the hardware limit.
  std::optional<int64_t> launchRegisters;
};

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MMA_H
