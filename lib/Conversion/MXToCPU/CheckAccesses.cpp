//===- CheckAccesses.cpp - Elements that there are not --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Indices, slices and sizes that come from data may lie outside of an array,
// and the reference path would read or write anywhere. Upstream's operations
// know what to ask at run time; here the program ends with a message where
// upstream's lowering of cf.assert would abort.
//
//===----------------------------------------------------------------------===//

#include "../Utils/HostMessages.h"
#include "EndProgram.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace mx {
#define GEN_PASS_DEF_MXCHECKACCESSES
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;
using namespace mx;

namespace {

struct CheckAccessesPass final
    : mx::impl::MXCheckAccessesBase<CheckAccessesPass> {
  void runOnOperation() override {
    SmallVector<RuntimeVerifiableOpInterface> accesses;
    getOperation().walk(
        [&](RuntimeVerifiableOpInterface op) { accesses.push_back(op); });
    OpBuilder builder(&getContext());
    for (RuntimeVerifiableOpInterface op : accesses) {
      builder.setInsertionPoint(op);
      op.generateRuntimeVerification(builder, op.getLoc(), describeAccess);
    }
    SmallVector<cf::AssertOp> asserts;
    getOperation().walk([&](cf::AssertOp op) { asserts.push_back(op); });
    for (cf::AssertOp op : asserts)
      end(op);
  }

  /// An assertion of the user's too: a tool must not end by a signal.
  void end(cf::AssertOp op) {
    OpBuilder builder(op);
    std::string text = op.getMsg().str();
    for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += 2)
      text.insert(at, "%"); // printf's
    createEndProgramUnless(builder, op.getLoc(), getOperation(), op.getArg(),
                           "error: " + text + "\n", {});
    op.erase();
  }
};

} // namespace
