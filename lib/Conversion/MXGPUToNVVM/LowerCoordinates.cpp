//===- LowerCoordinates.cpp - Rows and columns that a thread holds --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A layout takes the thread's number apart into digits, each of which moves the
// element by so many rows or columns. Accesses that do the same with addresses
// are given the number, as roles are branches when those are lowered.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_LOWERCOORDINATESPASS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// What the digits of the thread's number add up to in one dimension, plus a
/// constant.
static Value addDigits(ImplicitLocOpBuilder &builder, FragmentLayoutAttr layout,
                       int64_t FragmentDigit::*step, int64_t offset) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  Value thread = ThreadIdOp::create(builder);
  Value sum;
  int64_t weight = 1, threads = layout.getNumThreads();
  for (const FragmentDigit &digit : layout.getThreads()) {
    if (digit.*step) {
      Value value = thread;
      if (weight > 1)
        value = arith::DivUIOp::create(builder, value, index(weight));
      if (weight * digit.size < threads)
        value = arith::RemUIOp::create(builder, value, index(digit.size));
      if (digit.*step > 1)
        value = arith::MulIOp::create(builder, value, index(digit.*step));
      sum =
          sum ? arith::AddIOp::create(builder, sum, value).getResult() : value;
    }
    weight *= digit.size;
  }
  if (!sum)
    return index(offset);
  return offset ? arith::AddIOp::create(builder, sum, index(offset)) : sum;
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
        replace(op, addDigits(builder, layout, &FragmentDigit::rows,
                              layout.getRowOffsets()[row.getNumber()]));
      } else if (auto column = dyn_cast<FragmentColumnOp>(op)) {
        FragmentLayoutAttr layout =
            cast<FragmentType>(column.getFragment()).getLayout();
        replace(op, addDigits(builder, layout, &FragmentDigit::columns,
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
