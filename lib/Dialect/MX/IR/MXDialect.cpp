//===- MXDialect.cpp - Registration of the mx dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Adds the dialect's attributes, operations and bytecode version to a context.
//
//===----------------------------------------------------------------------===//

#include "MXBytecode.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "mx/Dialect/MX/IR/MXDialect.cpp.inc"
#include "mx/Dialect/MX/IR/MXEnums.cpp.inc"

// g++ 12 does not see that the generated parser of a struct of parameters has
// read all of them where it builds the attribute.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MX/IR/MXAttrs.cpp.inc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace {
/// Operations mean the same in every function.
struct MXInlinerInterface final : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void mx::MXDialect::initialize() {
  addInterfaces<MXInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MX/IR/MXAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MX/IR/MXOps.cpp.inc"
      >();
  addBytecodeInterface(*this);
}
