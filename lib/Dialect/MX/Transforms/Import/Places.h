//===- Places.h - Tensor dimensions in terms of loops -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Represents a tensor index as a number with loops or slices of loops as
// digits. For k = 32 ko + kb, elements are indexed by k, their scales by ko,
// and elements in blocks by (ko, kb). Reshapes split and concatenate such
// numbers, so all spellings of block scaling have the same form here.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace mx::import {

/// Represents floor(loop / inner) mod size. The size of the first digit of a
/// loop may be dynamic: the quotient of the loop's size and the other digits.
struct Digit {
  unsigned loop;
  int64_t inner;
  int64_t size;

  bool operator==(const Digit &other) const {
    return loop == other.loop && inner == other.inner && size == other.size;
  }
  bool isDynamic() const { return mlir::ShapedType::isDynamic(size); }
};

/// Digits, most significant first; 0 if empty.
using Index = llvm::SmallVector<Digit, 2>;
/// An index for each dimension of a tensor.
using Indices = llvm::SmallVector<Index, 4>;

/// Returns whole loops of the given sizes.
Indices getLoops(llvm::ArrayRef<int64_t> sizes);

/// Computes `high` * (number of values of `low`) + `low`.
void append(Index &high, llvm::ArrayRef<Digit> low);

/// Concatenates indices to a single number.
Index flatten(llvm::ArrayRef<Index> indices);

/// Splits `index` into dimensions of the given sizes; the first may be dynamic.
mlir::FailureOr<Indices> split(llvm::ArrayRef<Digit> index,
                               llvm::ArrayRef<int64_t> sizes);

/// Evaluates a map on the modes of its dimensions.
mlir::FailureOr<Index> evaluate(mlir::AffineExpr expr,
                                llvm::ArrayRef<Index> dims);
mlir::FailureOr<Indices> evaluate(mlir::AffineMap map,
                                  llvm::ArrayRef<Index> dims);

/// Returns the number of values of an index, or 0 if unknown.
int64_t countValues(llvm::ArrayRef<Digit> index);

/// Returns the digits of `index` with loops in `loops`.
Index select(llvm::ArrayRef<Digit> index,
             const llvm::SmallSetVector<unsigned, 8> &loops);

/// Order in which the dimensions of a tensor form groups: after permuting by
/// `order`, the first `counts[0]` dimensions are group 0, and so on.
struct Arrangement {
  llvm::SmallVector<int64_t> order;
  llvm::SmallVector<int64_t> counts;

  bool isInOrder() const;
};

/// Finds the dimensions of each group. Fails if a dimension belongs to two
/// groups or none, or is missing.
mlir::FailureOr<Arrangement> arrange(llvm::ArrayRef<Index> dims,
                                     llvm::ArrayRef<Index> groups);

//===----------------------------------------------------------------------===//
// Batch, rows, columns and reduction
//
// Loops of both operands and the result are a batch, loops of an operand and
// the result are rows or columns, and the others are reductions.
//===----------------------------------------------------------------------===//

struct LoopPlan {
  /// An index for each batch dimension.
  Indices batch;
  /// Loops of a single operand.
  Index left, right;
  Index reduction;
  /// Order of left and right in the result.
  bool isLeftFirst = true;
};

/// Finds the loops of each kind. Returns a reason if they are not adjacent.
std::string planLoops(llvm::ArrayRef<Index> left, llvm::ArrayRef<Index> right,
                      llvm::ArrayRef<Index> out,
                      const llvm::SmallSetVector<unsigned, 8> &reductions,
                      LoopPlan &plan);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H
