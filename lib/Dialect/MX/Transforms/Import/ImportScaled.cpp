//===- ImportScaled.cpp - Import of block-scaled IR -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls are imported first, with their scaled operands. Remaining scaled
// values become dequantizations.
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic numImported("mx-import-scaled", "numImported",
                                           "Operations converted to mx");

namespace mx {
#define GEN_PASS_DEF_MXIMPORTSCALED
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {

using ImportForm = LogicalResult (*)(Operation *, const import::Options &,
                                     import::Reason &);

/// Forms in the order of application. Each form runs on the whole module.
constexpr ImportForm kForms[] = {
    import::importContraction,    import::importTosaMatmul,
    import::importTosaCastFrom,   import::importTosaCastTo,
    import::importDequantization, import::refuseRest,
};

struct ImportScaled final : mx::impl::MXImportScaledBase<ImportScaled> {
  using MXImportScaledBase::MXImportScaledBase;

  void runOnOperation() override;

private:
  FailureOr<import::Options> readOptions();
  void importAll(ImportForm form, import::Options options);

  /// Operations with a remark.
  llvm::SmallPtrSet<Operation *, 8> reported;
};

} // namespace

/// Applies a form to all operations. Erases unused operations at the end,
/// because pointers to them are kept until then.
void ImportScaled::importAll(ImportForm form, import::Options options) {
  llvm::SetVector<Operation *> dead;
  options.dead = &dead;
  SmallVector<Operation *> work;
  getOperation()->walk([&](Operation *op) { work.push_back(op); });
  for (Operation *op : work) {
    import::Reason why;
    if (isOpTriviallyDead(op) || reported.contains(op->getParentOp()))
      continue;
    if (succeeded(form(op, options, why))) {
      ++numImported;
    } else if (!why.empty() && reported.insert(op).second) {
      op->emitRemark() << "not imported: " << why;
    }
  }
  eraseDead(dead.getArrayRef());
}

FailureOr<import::Options> ImportScaled::readOptions() {
  import::Options options;
  auto layout = symbolizeScaleLayoutKind(scaleLayout);
  if (!layout)
    return getOperation()->emitError("expected scale-layout to be one of "
                                     "sf_128x4, linear, found '")
           << scaleLayout << "'";
  options.layout = *layout;
  options.dynamicBlocks = dynamicBlocks;
  options.wideF16 = wideF16;
  return options;
}

void ImportScaled::runOnOperation() {
  FailureOr<import::Options> options = readOptions();
  if (failed(options))
    return signalPassFailure();
  for (ImportForm form : kForms)
    importAll(form, *options);
  import::convertInt8Signatures(getOperation());
}
