//===- VerifyLowered.cpp - Nothing but the LLVM dialect is left -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Without this, an operation that no conversion knows would surface as a
// message about a missing dialect in the tool that runs the module.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_MXVERIFYLOWERED
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;

namespace {

struct VerifyLoweredPass final
    : mx::impl::MXVerifyLoweredBase<VerifyLoweredPass> {
  void runOnOperation() override {
    bool failed = false;
    auto report = [&](Operation *op) {
      op->emitError() << "expected an operation of the LLVM dialect after "
                         "lowering, found '"
                      << op->getName() << "', which has no lowering to the CPU";
      failed = true;
    };
    getOperation().walk([&](Operation *op) {
      if (!isa<ModuleOp, UnrealizedConversionCastOp>(op) &&
          !isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
        report(op);
    });
    // A cast is the trace of another operation that was left; it is reported
    // only where there is none.
    if (!failed)
      getOperation().walk([&](UnrealizedConversionCastOp op) { report(op); });
    if (failed)
      signalPassFailure();
  }
};

} // namespace
