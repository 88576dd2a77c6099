//===- RequestEntryWrappers.cpp - C interfaces of public functions --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// llvm-request-c-wrappers wraps declarations too, which would ask for
// _mlir_ciface_ symbols of C functions that have none.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_MXREQUESTENTRYWRAPPERS
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;

namespace {

struct RequestEntryWrappersPass final
    : mx::impl::MXRequestEntryWrappersBase<RequestEntryWrappersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration())
        function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                          UnitAttr::get(&getContext()));
  }
};

} // namespace
