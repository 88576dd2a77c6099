//===- Registers.h - Vectors as registers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_NVVM_REGISTERS_H
#define MX_LIB_NVVM_REGISTERS_H

#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// The elements of a vector, each in a register of its own.
llvm::SmallVector<mlir::Value> getElements(NVVMBuilder &builder,
                                           mlir::Value vector);

/// A vector of them.
mlir::Value makeVector(NVVMBuilder &builder, mlir::ValueRange elements);

} // namespace mx::mxgpu

#endif // MX_LIB_NVVM_REGISTERS_H
