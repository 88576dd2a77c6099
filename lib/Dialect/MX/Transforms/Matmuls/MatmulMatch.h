//===- MatmulMatch.h - Matching of linalg matmuls ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches tensor operations that compute a matmul, and loops with a matmul for
// each expert group of a ragged dimension.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_MATMULMATCH_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_MATMULMATCH_H

#include "../Utils/Tensors.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Dialect/MX/IR/MX.h"

namespace mx {

struct MatmulMatch {
  struct Operand {
    mlir::Value tensor;
    /// Reduction dimension, numbered as in mx.quantize: 1 is the last
    /// dimension, 0 the second to last.
    int64_t axis;
  };

  /// Operation that multiplies. Its attributes apply to the matmul.
  mlir::linalg::LinalgOp op;
  /// Operands for the rows and the columns of the result.
  Operand a, b;
  /// True if `b` is the first operand of the operation.
  bool isSwapped = false;
  /// Result of the matmul. This is also a result of the operation to replace.
  mlir::Value result;
  /// Destination. With `accumulate` the result is added to the destination;
  /// otherwise only the shape is used.
  mlir::Value out;
  bool accumulate = false;
  /// Expert groups of rows or of the reduction, and their ends.
  RaggedKind ragged = RaggedKind::None;
  mlir::Value offsets;
};

int64_t getReductionSize(const MatmulMatch &matmul);

/// Returns the dimension of an operand that expert groups divide. This is the
/// non-reduction dimension for ragged rows, the reduction dimension for a
/// ragged reduction, and none for per-group matrices of rank 3.
RaggedKind getRaggedOfOperand(const MatmulMatch &matmul,
                              const MatmulMatch::Operand &operand);

using Reason = std::string;

/// Returns the matmul that `op` computes. On failure, sets `why` to a reason,
/// or to an empty string for unrelated operations.
std::optional<MatmulMatch> matchMatmul(mlir::linalg::LinalgOp op, Reason &why);

/// Returns the matmul that a loop over expert groups computes.
std::optional<MatmulMatch> matchGroupedLoop(mlir::scf::ForOp loop, Reason &why);

/// Rows of a matrix selected by a list of indices.
struct GatheredRows {
  mlir::Value matrix, numbers;
  /// True if indices out of range select zeros.
  bool hasZeros;
};

/// Returns the row gather that defines `tensor`, if any. Index -1 may select
/// zeros.
std::optional<GatheredRows> matchGather(mlir::Value tensor);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_MATMULMATCH_H
