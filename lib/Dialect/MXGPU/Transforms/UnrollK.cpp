//===- UnrollK.cpp - Unrolling of loops over K ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/Transforms/Passes.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUUNROLLK
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

namespace {
struct UnrollKPass final : mxgpu::impl::MXGPUUnrollKBase<UnrollKPass> {
  using Base::Base;

  void runOnOperation() override {
    if (factor < 1 || factor > 64) {
      getOperation().emitError("expected a factor from 1 to 64, found ")
          << int64_t(factor);
      return signalPassFailure();
    }
    getOperation().walk([&](ForEachKOp loop) { loop.setUnroll(factor); });
  }
};
} // namespace
