//===- IndexRange.h - Ranges of index values --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_INDEXRANGE_H
#define MX_DIALECT_MXGPU_IR_INDEXRANGE_H

#include "mlir/IR/Value.h"
#include <optional>

namespace mx::mxgpu {

/// Values of a loop counter, from first to last in constant steps.
struct IndexRange {
  int64_t first, last, step;
};

/// Returns the range of a constant or of a counter with constant bounds.
std::optional<IndexRange> getIndexRange(mlir::Value value);

} // namespace mx::mxgpu

#endif // MX_DIALECT_MXGPU_IR_INDEXRANGE_H
