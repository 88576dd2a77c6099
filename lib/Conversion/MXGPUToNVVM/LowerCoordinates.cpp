//===- LowerCoordinates.cpp - Rows and columns that a thread holds --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the digits of the thread's number say (ThreadDigits.h).
//
//===----------------------------------------------------------------------===//

#include "ThreadDigits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_LOWERCOORDINATESPASS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// What the digits of the thread's number add up to in one dimension, plus a
/// constant.
static Value getCoordinate(ImplicitLocOpBuilder &builder,
                           FragmentLayoutAttr layout,
                           int64_t FragmentDigit::*step, int64_t offset) {
  Value sum = addThreadDigits(builder, ThreadIdOp::create(builder),
                              layout.getNumThreads(), layout, step);
  if (sum && !offset)
    return sum;
  Value constant = arith::ConstantIndexOp::create(builder, offset);
  return sum ? arith::AddIOp::create(builder, sum, constant).getResult()
             : constant;
}

namespace {
struct LowerCoordinatesPass final
    : mx::mxgpu::impl::LowerCoordinatesPassBase<LowerCoordinatesPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      if (auto row = dyn_cast<FragmentRowOp>(op)) {
        FragmentLayoutAttr layout =
            cast<FragmentType>(row.getFragment()).getLayout();
        replace(op, getCoordinate(builder, layout, &FragmentDigit::rows,
                                  layout.getRowOffsets()[row.getNumber()]));
      } else if (auto column = dyn_cast<FragmentColumnOp>(op)) {
        FragmentLayoutAttr layout =
            cast<FragmentType>(column.getFragment()).getLayout();
        replace(op, getCoordinate(builder, layout, &FragmentDigit::columns,
                                  layout.getRuns()[column.getNumber()].column));
      }
    });
  }

  static void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
};
} // namespace
