//===- HostOps.cpp - What runs on the host --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Checks of arguments, and launches.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// printf reads what its format names: anything but `%lld` and `%%` would read
/// an argument that is not there.
LogicalResult RequireOp::verify() {
  StringRef rest = getMessage();
  // require C1
  if (rest.contains('\0'))
    return emitOpError("expected a message without zero bytes");
  size_t places = 0;
  for (size_t at; (at = rest.find('%')) != StringRef::npos;) {
    rest = rest.drop_front(at);
    // require C2
    if (!rest.consume_front("%%") && !rest.consume_front("%lld"))
      return emitOpError("expected only %lld and %% in the message, found \"")
             << rest.take_front(4) << '"';
    places += rest.data()[-1] == 'd';
  }
  // require C3
  if (places != getValues().size())
    return emitOpError("expected ")
           << places << " values for the message, found " << getValues().size();
  return success();
}

LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto *callee =
      symbolTable.lookupNearestSymbolFrom(getOperation(), getKernelAttr());
  // After the kernels are lowered they are llvm.func; launches are by then too.
  auto kernel = dyn_cast_if_present<KernelOp>(callee);
  // launch C1
  if (!kernel)
    return emitOpError("expected a mxgpu.kernel, found ")
           << (callee ? callee->getName().getStringRef() : "nothing")
           << " named " << getKernelAttr();
  // launch C2
  if (kernel.getArgumentTypes().size() != getArgs().size())
    return emitOpError("expected ") << kernel.getArgumentTypes().size()
                                    << " arguments, found " << getArgs().size();
  // launch C3
  for (auto [index, expected, found] :
       llvm::enumerate(kernel.getArgumentTypes(), getArgs().getTypes()))
    if (expected != found && expected != getParameterType(found))
      return emitOpError("expected argument ")
             << index << " of type " << expected << ", found " << found;
  return success();
}
