//===- MatmulMatch.h - Matmuls that linalg computes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Recognises matmuls in operations on tensors, whatever they are called: a
// single one, or one for each group of a ragged dimension.
//
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
    /// The dimension that is summed over, as mx.quantize counts: 1 is the last,
    /// 0 the one before.
    int64_t axis;
  };

  /// The operation that multiplies; its attributes are those of the matmul.
  mlir::linalg::LinalgOp op;
  /// Of the result's rows and of its columns.
  Operand a, b;
  /// Whether b is the first operand of the operation.
  bool isSwapped = false;
  /// The result of the matmul; the operation that defines it is replaced.
  mlir::Value result;
  /// The destination: with `accumulate` the result is added to it, otherwise it
  /// only gives the shape.
  mlir::Value out;
  bool accumulate = false;
  /// Groups of rows, or of the reduction, and their ends.
  RaggedKind ragged = RaggedKind::None;
  mlir::Value offsets;
};

/// The size of what is summed over.
int64_t getReductionSize(const MatmulMatch &matmul);

/// What the expert groups divide in an operand: of ragged rows the other
/// dimension than the reduction, of a ragged reduction that one. Matrices of
/// groups, of rank 3, have none.
RaggedKind getRaggedOfOperand(const MatmulMatch &matmul,
                              const MatmulMatch::Operand &operand);

/// Why there is no matmul.
using Reason = std::string;

/// The matmul that `op` computes. A null result says why there is none; an
/// empty reason that `op` is something else.
std::optional<MatmulMatch> matchMatmul(mlir::linalg::LinalgOp op, Reason &why);

/// The matmul that a loop over groups computes.
std::optional<MatmulMatch> matchGroupedLoop(mlir::scf::ForOp loop, Reason &why);

/// Rows of a matrix, selected by a list of indices.
struct GatheredRows {
  mlir::Value matrix, numbers;
  /// Rows that do not exist are zeros.
  bool hasZeros;
};

/// What `tensor` gathers, where an operation makes it of the rows of a matrix;
/// one whose number is -1 may be zeros.
std::optional<GatheredRows> matchGather(mlir::Value tensor);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATMULS_MATMULMATCH_H
