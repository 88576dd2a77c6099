//===- ScaleRounding.h - Rounding of scales ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef MX_DIALECT_SHARED_SCALEROUNDING_H
#define MX_DIALECT_SHARED_SCALEROUNDING_H

#include "mlir/IR/OpImplementation.h"

#include "mx/Dialect/Shared/ScaleRounding.h.inc"

#endif // MX_DIALECT_SHARED_SCALEROUNDING_H
