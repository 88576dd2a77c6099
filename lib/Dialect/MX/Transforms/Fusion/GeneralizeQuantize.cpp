//===- GeneralizeQuantize.cpp - mx.quantize to mx.fused_quantize ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Matmuls/MatmulMatch.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXGENERALIZEQUANTIZE
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

/// Fuses the gather that produces the input into `op`, unless the gathered
/// tensor has other users.
static void fuseGather(FusedQuantizeOp op) {
  Value tensor = op.getInput();
  std::optional<GatheredRows> rows = matchGather(tensor);
  if (!rows || !rows->hasZeros || op.getGather() || op.getPrologueBlock() ||
      !llvm::all_of(tensor.getUsers(),
                    llvm::IsaPred<FusedQuantizeOp, tensor::DimOp>))
    return;
  op.getInputsMutable().assign(rows->matrix);
  op.getGatherMutable().assign(rows->numbers);
}

namespace {
struct GeneralizeQuantize final
    : mx::impl::MXGeneralizeQuantizeBase<GeneralizeQuantize> {
  void runOnOperation() override {
    generalizeQuantizations(getOperation());
    getOperation()->walk(fuseGather);
  }
};
} // namespace
