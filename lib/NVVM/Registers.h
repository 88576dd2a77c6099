//===- Registers.h - Vectors as registers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_NVVM_REGISTERS_H
#define MX_LIB_NVVM_REGISTERS_H

#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// Extracts the elements of a vector.
llvm::SmallVector<mlir::Value> getElements(NVVMBuilder &builder,
                                           mlir::Value vector);

/// Builds a vector from scalars.
mlir::Value makeVector(NVVMBuilder &builder, mlir::ValueRange elements);

} // namespace mx::mxgpu

#endif // MX_LIB_NVVM_REGISTERS_H
