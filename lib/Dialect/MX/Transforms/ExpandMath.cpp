//===- ExpandMath.cpp - Transcendental functions as IEEE operations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Libraries and approximate instructions differ from target to target in the
// last bits. Expansions, applied once for all targets, do not: ours of
// exponentials, upstream's of the rest.
//
//===----------------------------------------------------------------------===//

#include "ExpandExponentials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mx/Dialect/MX/IR/VectorSizes.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXEXPANDMATH
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {

/// Expanded by way of other functions. fma is not among these: it is IEEE's.
constexpr llvm::StringLiteral kExpanded[] = {
    "sinh", "cosh",  "tan",   "asinh",  "acosh", "atanh",
    "powf", "fpowi", "rsqrt", "clampf", "exp2",  "round"};

struct ExpandMath final : mx::impl::MXExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    // Upstream's patterns take vectors apart.
    if (failed(mx::verifyVectorSizes(getOperation(), mx::kMaxHostVector)))
      return signalPassFailure();
    RewritePatternSet sigmoids(&getContext());
    mx::populateSigmoidExpansionPatterns(sigmoids);
    RewritePatternSet patterns(&getContext());
    mx::populateExpExpansionPatterns(patterns);
    auto all = [](StringRef) { return true; };
    populateMathF32ExpansionPatterns(patterns, all);
    populateMathPolynomialApproximationPatterns(patterns, all);
    SmallVector<StringRef> names(std::begin(kExpanded), std::end(kExpanded));
    math::populateExpansionPatterns(patterns, names);
    GreedyRewriteConfig config;
    // Constants that are folded would be those of the host's library.
    config.enableFolding(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(sigmoids),
                                     config)) ||
        failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
