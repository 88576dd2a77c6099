//===- VerifyDims.cpp - Dimensions that arrays do not have ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream takes tensor.dim of a dimension that is not there for undefined
// behaviour, and so it behaves: some patterns crash, and lowered code reads
// past the end of a descriptor.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXVERIFYDIMS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {
struct VerifyDims final : mx::impl::MXVerifyDimsBase<VerifyDims> {
  void runOnOperation() override {
    getOperation()->walk([&](ShapedDimOpInterface op) {
      auto type = dyn_cast<ShapedType>(op.getShapedValue().getType());
      std::optional<int64_t> dim = getConstantIntValue(op.getDimension());
      if (!type || !type.hasRank() || !dim ||
          (*dim >= 0 && *dim < type.getRank()))
        return;
      op->emitError("expected a dimension of ")
          << type << ", from 0 to below " << type.getRank() << ", found "
          << *dim;
      signalPassFailure();
    });
  }
};
} // namespace
