//===- LowerCoordinates.cpp - Rows and columns that a thread holds --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the digits of the thread's number say (ThreadDigits.h). Accesses that do
// the same with addresses are given the number, as roles are branches when
// those are lowered.
//
//===----------------------------------------------------------------------===//

#include "ThreadDigits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPULOWERCOORDINATES
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// What the digits of the thread's number add up to in one dimension, plus a
/// constant.
static Value getCoordinate(ImplicitLocOpBuilder &builder,
                           FragmentLayoutAttr layout,
                           int64_t FragmentDigit::*step, int64_t offset) {
  Value sum = addThreadDigits(builder, ThreadIdOp::create(builder),
                              layout.getNumThreads(), layout,
                              [&](auto &digit) { return digit.*step; });
  if (sum && !offset)
    return sum;
  Value constant = arith::ConstantIndexOp::create(builder, offset);
  return sum ? arith::AddIOp::create(builder, sum, constant).getResult()
             : constant;
}

namespace {
struct LowerCoordinatesPass final
    : mx::mxgpu::impl::MXGPULowerCoordinatesBase<LowerCoordinatesPass> {
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
      } else {
        llvm::TypeSwitch<Operation *>(op)
            .Case<LoadFragmentOp, LoadFragmentScalesOp, StoreSharedOp>(
                [&](auto access) { addThread(builder, access); });
      }
    });
  }

  /// Accesses of all threads of a role.
  template <typename AccessOp>
  static void addThread(ImplicitLocOpBuilder &builder, AccessOp op) {
    bool isOfRole = true;
    if constexpr (std::is_same_v<AccessOp, StoreSharedOp>)
      isOfRole = op.isOfRole();
    if (isOfRole && !op.getThread())
      op.getThreadMutable().assign(ThreadIdOp::create(builder).getResult());
  }

  static void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
};
} // namespace
