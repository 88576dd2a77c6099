//===- FusePrologues.h - Steps of prologue fusion ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step returns true if it changed the IR.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEPROLOGUES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEPROLOGUES_H

#include "mlir/IR/PatternMatch.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"

namespace mx::detail {

/// Operations fused into quantizations.
extern llvm::TrackingStatistic numPrologues;

/// Returns true for quantizations without batch dimensions. Only these support
/// a prologue, because the region has no batch index.
bool isOfMatrix(FusedQuantizeOp op);

/// quantize(x) axes = [1] and quantize(x) axes = [0] -> axes = [1, 0]
bool mergeAxes(mlir::IRRewriter &rewriter, FusedQuantizeOp first,
               FusedQuantizeOp second);

/// quantize(x), quantize(y) -> quantize(x, y) with two values
bool mergeValues(mlir::IRRewriter &rewriter, FusedQuantizeOp first,
                 FusedQuantizeOp second);

/// Returns the number of bits per element, added over all quantized values.
int64_t getValueBits(FusedQuantizeOp op);

/// amax(x) and quantize(x) -> quantize(x) amax, if amax covers exactly x and
/// the quantization does not depend on the amax.
bool mergeAmax(mlir::IRRewriter &rewriter, AmaxOp amax, FusedQuantizeOp op);

/// Fuses the producer of an input: a concatenation, an elementwise operation or
/// a dequantization.
bool fuseInput(mlir::IRRewriter &rewriter, FusedQuantizeOp op,
               int64_t concatMultiple);

/// Returns the operations that define `values`, without duplicates.
llvm::SetVector<mlir::Operation *> getDefiningOps(mlir::ValueRange values);
/// Erases unused operations of `ops` without side effects, and operations that
/// become unused.
void eraseUnused(mlir::IRRewriter &rewriter,
                 llvm::SetVector<mlir::Operation *> ops);

} // namespace mx::detail

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_FUSION_FUSEPROLOGUES_H
