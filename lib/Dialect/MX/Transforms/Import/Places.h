//===- Places.h - Tensor dimensions in terms of loops -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Represents a tensor index as a number. The digits are loops or slices of
// loops. For k = 32 ko + kb, elements have the index k, their scales have the
// index ko, and elements in blocks have the indices (ko, kb). Reshapes split
// and concatenate such numbers, so all spellings of block scaling have the same
// form here.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace mx::import {

/// Represents floor(loop / inner) mod size. The size of the first digit of a
/// loop may be dynamic. It is the size of the loop divided by the sizes of the
/// other digits.
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

/// Evaluates an expression, given the index of each dimension.
mlir::FailureOr<Index> evaluate(mlir::AffineExpr expr,
                                llvm::ArrayRef<Index> dims);
mlir::FailureOr<Indices> evaluate(mlir::AffineMap map,
                                  llvm::ArrayRef<Index> dims);

/// Returns the number of values of an index, or 0 if unknown.
int64_t countValues(llvm::ArrayRef<Digit> index);

/// Returns the digits of `index` with loops in `loops`.
Index select(llvm::ArrayRef<Digit> index,
             const llvm::SmallSetVector<unsigned, 8> &loops);

/// Groups of tensor dimensions. After a permutation with `order`, the first
/// `counts[0]` dimensions are group 0, and so on.
struct Arrangement {
  llvm::SmallVector<int64_t> order;
  llvm::SmallVector<int64_t> counts;

  bool isInOrder() const;
};

/// Finds the dimensions of each group. Fails unless each dimension belongs to
/// exactly one group and no dimension is missing.
mlir::FailureOr<Arrangement> arrange(llvm::ArrayRef<Index> dims,
                                     llvm::ArrayRef<Index> groups);

//===----------------------------------------------------------------------===//
// Batch, rows, columns and reduction
//
// Batch loops index both operands and the result. Row and column loops index
// one operand and the result. The remaining loops are reductions.
//===----------------------------------------------------------------------===//

struct LoopPlan {
  /// An index for each batch dimension.
  Indices batch;
  /// Loops that index only the left operand, or only the right operand.
  Index left, right;
  Index reduction;
  /// True if the result contains the left loops before the right loops.
  bool isLeftFirst = true;
};

/// Finds the loops of each kind. Returns a reason if a kind is not contiguous.
std::string planLoops(llvm::ArrayRef<Index> left, llvm::ArrayRef<Index> right,
                      llvm::ArrayRef<Index> out,
                      const llvm::SmallSetVector<unsigned, 8> &reductions,
                      LoopPlan &plan);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H
