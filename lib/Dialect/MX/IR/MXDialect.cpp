//===- MXDialect.cpp - Registration of the mx dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Adds the dialect's attributes and operations to a context.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "mx/Dialect/MX/IR/MXDialect.cpp.inc"
#include "mx/Dialect/MX/IR/MXEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MX/IR/MXAttrs.cpp.inc"

void mx::MXDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MX/IR/MXAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MX/IR/MXOps.cpp.inc"
      >();
}
