//===- TensorFacts.h - What is known of tensors around products -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TENSORFACTS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TENSORFACTS_H

#include "mlir/IR/Value.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace mx {

/// Whether a value is a tensor of f32, bf16 or f16 without encoding.
bool isFloatTensor(mlir::Value tensor);

/// Whether a value is known to be filled with zeros.
bool isZeros(mlir::Value tensor);

/// The only user of `value`, if that rounds an f32 tensor to bf16 or f16 and
/// does nothing else.
mlir::Operation *getRounding(mlir::Value value);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_TENSORFACTS_H
