//===- Mma.h - What matrix instructions and fragments are made of -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Plain values that the attributes of MXGPUMma.td hold, take and give.
//
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

/// A mode of the number of a thread or of a register: `size` values, each of
/// which moves by `rows` or by `columns` of the matrix.
struct FragmentMode {
  int64_t size, rows, columns;

  bool operator==(const FragmentMode &other) const {
    return size == other.size && rows == other.rows && columns == other.columns;
  }
};

/// A mode that counts rows, or columns, in steps.
inline FragmentMode rows(int64_t size, int64_t step) { return {size, step, 0}; }
inline FragmentMode columns(int64_t size, int64_t step) {
  return {size, 0, step};
}
/// Adds a mode, or extends the last one where the mode continues it.
void appendMode(llvm::SmallVectorImpl<FragmentMode> &modes,
                const FragmentMode &mode);

/// The modes of a layout, the lowest first.
struct FragmentModes {
  llvm::SmallVector<FragmentMode> threads, values;
};

inline llvm::hash_code hash_value(const FragmentMode &mode) {
  return llvm::hash_combine(mode.size, mode.rows, mode.columns);
}

/// Adjacent columns of a row that one thread holds.
struct FragmentRun {
  int64_t column, size;
};

/// Rows, columns and elements of the reduction of one instruction.
struct MmaShape {
  int64_t m, n, k;
};

/// The matrices that an instruction reads: A with a row for each row of the
/// accumulators, B with one for each column, and a scale for each block of
/// either.
enum class MmaOperand : uint8_t { A, B, AScales, BScales };

/// The operands of an mxgpu.mma after conversion: addresses of buffers in
/// shared memory, columns (i32) of scales and accumulators in tensor memory,
/// vectors of what is in registers; null for those that it does not have.
struct MmaOperands {
  mlir::Value a, b, aScales, bScales, d, bOffset, accumulate, extent, thread;
  /// Registers that threads of the kernel are launched with, where that is
  /// less than a thread can have.
  std::optional<int64_t> launchRegisters;
};

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_MMA_H
