//===- IndexRange.h - Values that an index can have -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What is known of constants and of counters of loops.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_INDEXRANGE_H
#define MX_DIALECT_MXGPU_IR_INDEXRANGE_H

#include "mlir/IR/Value.h"
#include <optional>

namespace mx::mxgpu {

/// First and last of the indices that a loop counts, and how far apart they
/// are.
struct IndexRange {
  int64_t first, last, step;
};

/// The values of a constant, or of the counter of a loop with constant bounds.
std::optional<IndexRange> getIndexRange(mlir::Value value);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_INDEXRANGE_H
