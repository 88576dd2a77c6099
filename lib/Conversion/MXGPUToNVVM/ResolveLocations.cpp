//===- ResolveLocations.cpp - One place for what was inlined --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The region of a named linalg operation has no location. Inlined it is at
// callsite(unknown at X), in which ensure-debug-info-scope-on-llvm-func looks
// for a file and crashes. Other call sites would become no .loc directive: the
// caller is no function of its own any more, so it has no scope.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"

using namespace mlir;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPURESOLVELOCATIONS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// The innermost place with a file, if there is one.
static Location resolve(Location location) {
  auto call = dyn_cast<CallSiteLoc>(location);
  if (!call)
    return location;
  Location callee = resolve(call.getCallee());
  return callee->findInstanceOf<FileLineColLoc>() ? callee
                                                  : resolve(call.getCaller());
}

namespace {
struct ResolveLocations final
    : mx::mxgpu::impl::MXGPUResolveLocationsBase<ResolveLocations> {
  void runOnOperation() override {
    getOperation().walk(
        [](Operation *op) { op->setLoc(resolve(op->getLoc())); });
  }
};
} // namespace
