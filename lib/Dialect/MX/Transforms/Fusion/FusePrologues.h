//===- FusePrologues.h - The steps of the fusion of prologues ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each returns whether it changed anything.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEPROLOGUES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEPROLOGUES_H

#include "mlir/IR/PatternMatch.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"

namespace mx::detail {

/// Operations computed where results are quantized.
extern llvm::TrackingStatistic numPrologues;

/// Whether there is no batch. The region of a prologue does not know its batch,
/// and kernels for batches have none.
bool isOfMatrix(FusedQuantizeOp op);

/// quantize(x) axes = [1] and quantize(x) axes = [0] -> axes = [1, 0]
bool mergeAxes(mlir::IRRewriter &rewriter, FusedQuantizeOp first,
               FusedQuantizeOp second);

/// quantize(x), quantize(y) -> quantize(x, y) with two values
bool mergeValues(mlir::IRRewriter &rewriter, FusedQuantizeOp first,
                 FusedQuantizeOp second);

/// Bits that an element of each value has, together.
int64_t getValueBits(FusedQuantizeOp op);

/// amax(x) and quantize(x) -> quantize(x) amax, if all of x counts and nothing
/// else, and the quantization does not depend on the amax.
bool mergeAmax(mlir::IRRewriter &rewriter, AmaxOp amax, FusedQuantizeOp op);

/// Makes one input of `op` another: what was put side by side, what an
/// elementwise operation computes, or what is dequantized.
bool fuseInput(mlir::IRRewriter &rewriter, FusedQuantizeOp op,
               int64_t concatMultiple);

/// The operations that define values, each once.
llvm::SetVector<mlir::Operation *> getDefiningOps(mlir::ValueRange values);
/// Erases those of `ops` that nothing uses, and what only they used, as far as
/// that has no effects.
void eraseUnused(mlir::IRRewriter &rewriter,
                 llvm::SetVector<mlir::Operation *> ops);

} // namespace mx::detail

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEPROLOGUES_H
