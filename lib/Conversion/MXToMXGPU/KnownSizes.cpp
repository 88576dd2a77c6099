//===- KnownSizes.cpp - Refuse static sizes beyond a kernel's limits ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Launches require at run time that sizes fit in 32 bits. Sizes of types are
// known before: a program with a launch that always fails is an error.
//
//===----------------------------------------------------------------------===//

#include "Builder/HostChecks.h"
#include "Builder/KernelBuilder.h"
#include "Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kMost : product;
}

/// Evaluates unsigned arithmetic on sizes, at most `kMost`. Returns none if
/// `value` depends on the run.
static std::optional<int64_t> evaluate(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<memref::DimOp>(op)) {
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!type || !index || type.isDynamicDim(*index))
      return std::nullopt;
    return type.getDimSize(*index);
  }
  if (!op || op->getNumOperands() != 2 || op->getNumRegions())
    return std::nullopt;
  std::optional<int64_t> a = evaluate(op->getOperand(0));
  std::optional<int64_t> b = a ? evaluate(op->getOperand(1)) : std::nullopt;
  if (!b || *a < 0 || *b < 0)
    return std::nullopt;
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::MulIOp) { return multiply(*a, *b); })
      .Case([&](arith::AddIOp) { return *a > kMost - *b ? kMost : *a + *b; })
      .Case([&](arith::MinUIOp) { return std::min(*a, *b); })
      .Case([&](arith::DivUIOp) { return *b ? Result(*a / *b) : Result(); })
      .Case([&](arith::CeilDivUIOp) -> Result {
        if (!*b)
          return std::nullopt;
        return *a / *b + (*a % *b != 0);
      })
      .Default([](Operation *) { return std::nullopt; });
}

static LogicalResult verifyAtMost(Location loc, Value found, int64_t most,
                                  StringRef what) {
  std::optional<int64_t> known = evaluate(found);
  if (!known || *known <= most)
    return success();
  InFlightDiagnostic diag = emitError(loc) << "expected at most " << most << ' '
                                           << what << " on the GPU, found ";
  if (*known == kMost)
    diag << "more than 2^63";
  else
    diag << *known;
  return diag << ": divide the operation into several";
}

LogicalResult mx::mxgpu::verifyKnownSizes(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (auto launch = dyn_cast<LaunchOp>(op))
      return verifyAtMost(op->getLoc(), launch.getGrid(), kMaxWorkTiles,
                          "CTAs");
    auto require = dyn_cast<RequireOp>(op);
    // The form that `requireAtMost` creates.
    StringRef message = require ? require.getMessage() : StringRef();
    if (!message.consume_front(kAtMostMessage) ||
        !message.consume_back(kFoundMessage))
      return WalkResult::advance();
    std::optional<int64_t> most = evaluate(require.getValues()[0]);
    return most ? verifyAtMost(op->getLoc(), require.getValues()[1], *most,
                               message)
                : success();
  });
  return failure(result.wasInterrupted());
}
