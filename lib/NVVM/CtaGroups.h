//===- CtaGroups.h - CTA groups in NVVM -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_NVVM_CTAGROUPS_H
#define MX_LIB_NVVM_CTAGROUPS_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mx::mxgpu {

inline mlir::NVVM::CTAGroupKind toCtaGroup(bool pair) {
  return pair ? mlir::NVVM::CTAGroupKind::CTA_2
              : mlir::NVVM::CTAGroupKind::CTA_1;
}

} // namespace mx::mxgpu

#endif // MX_LIB_NVVM_CTAGROUPS_H
