//===- Registers.h - Utilities of NVVM builders -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_NVVM_REGISTERS_H
#define MX_LIB_NVVM_REGISTERS_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// Extracts the elements of a vector.
llvm::SmallVector<mlir::Value> getElements(NVVMBuilder &builder,
                                           mlir::Value vector);

/// Builds a vector from scalars.
mlir::Value makeVector(NVVMBuilder &builder, mlir::ValueRange elements);

inline mlir::NVVM::CTAGroupKind toCtaGroup(bool pair) {
  return pair ? mlir::NVVM::CTAGroupKind::CTA_2
              : mlir::NVVM::CTAGroupKind::CTA_1;
}

} // namespace mx::mxgpu

#endif // MX_LIB_NVVM_REGISTERS_H
