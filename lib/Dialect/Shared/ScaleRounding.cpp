//===- ScaleRounding.cpp - Rounding of scales -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/Shared/ScaleRounding.h"

#include "mx/Dialect/Shared/ScaleRounding.cpp.inc"
