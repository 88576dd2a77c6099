//===- FoldOperands.h - Folding of matmul operands --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_FOLDOPERANDS_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_FOLDOPERANDS_H

#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

/// Block sizes of folded operands, the number of products in a partial sum, and
/// the largest spread of rows that are folded.
struct Folding {
  int64_t a = 128, b = BlockFormat::kWhole, promote = 128;
  std::optional<int64_t> limit = std::nullopt;
};

/// Folds both operands of each matmul, and sets `promote`. A quantizer with no
/// other users writes the wider blocks; other operands become an mx.fold. With
/// a limit, another matmul computes the elements of wide rows exactly. Emits
/// a remark for each matmul that cannot be folded. Ignores matmuls with
/// `promote`. Returns the number of changed matmuls.
int64_t foldMatmuls(llvm::ArrayRef<MatmulOpInterface> matmuls,
                    const Folding &folding);

/// Operands of a matmul with scales for both. Scales follow their elements.
inline constexpr unsigned kElements[] = {0, 2};

/// Creates a destination for the scales of `elements`, in blocks of
/// `blockSize`, and with the layout of `old`.
mlir::Value makeScales(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value elements, mlir::RankedTensorType old,
                       int64_t blockSize, RaggedKind ragged,
                       mlir::Value offsets);

/// Creates a destination for the spreads of `elements`, which are transposed
/// along axis 0.
mlir::Value makeSpreads(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value elements, int64_t blockSize, int64_t axis);
/// Replaces `op` by quantizations that write `blocks`, the block sizes of all
/// destinations. Wide blocks get spreads with `hasSpreads`.
void widenBlocks(mlir::IRRewriter &rewriter, FusedQuantizeOp op,
                 llvm::ArrayRef<int64_t> blocks, bool hasSpreads);

/// Returns the reason why rows of `op` cannot be folded up to a limit, or an
/// empty string.
std::string checkLimit(MatmulOpInterface op);
/// Restricts a matmul of folded operands with spreads to narrow rows, and
/// computes the wide rows by a matmul of MX operands.
void computeWideRows(mlir::IRRewriter &rewriter, MatmulOpInterface op,
                     int64_t limit);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_FOLDOPERANDS_H
