//===- Places.h - Which loops the dimensions of a tensor follow -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An index of a tensor is a number whose digits are loops, or slices of loops:
// with k = 32 ko + kb, the elements have k, their scales ko, and elements that
// are kept in blocks have ko and kb. Reshapes cut such numbers and put them
// together, so that every way of writing a block scale has one form here.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SetVector.h"
#include <string>

namespace mx::import {

/// floor(loop / inner) mod size. The size of the first digit of a loop may be
/// dynamic: it is then all that the other digits leave.
struct Digit {
  unsigned loop;
  int64_t inner;
  int64_t size;

  bool operator==(const Digit &other) const {
    return loop == other.loop && inner == other.inner && size == other.size;
  }
  bool isDynamic() const { return mlir::ShapedType::isDynamic(size); }
};

/// The most significant digit first; 0 without digits.
using Index = llvm::SmallVector<Digit, 2>;
/// One for each dimension of a tensor.
using Indices = llvm::SmallVector<Index, 4>;

/// Loops of the given lengths, whole.
Indices getLoops(llvm::ArrayRef<int64_t> sizes);

/// `high` * (what `low` counts) + `low`.
void append(Index &high, llvm::ArrayRef<Digit> low);

/// The indices one after the other, as one number.
Index flatten(llvm::ArrayRef<Index> indices);

/// Cuts `index` into dimensions of the given sizes, of which the first may be
/// dynamic.
mlir::FailureOr<Indices> split(llvm::ArrayRef<Digit> index,
                               llvm::ArrayRef<int64_t> sizes);

/// What a result of a map reads, in terms of the digits of its dimensions.
mlir::FailureOr<Index> evaluate(mlir::AffineExpr expr,
                                llvm::ArrayRef<Index> dims);
mlir::FailureOr<Indices> evaluate(mlir::AffineMap map,
                                  llvm::ArrayRef<Index> dims);

/// How many values an index takes; 0 if that is not known.
int64_t countValues(llvm::ArrayRef<Digit> index);

/// The digits of `index` whose loops are in `loops`.
Index select(llvm::ArrayRef<Digit> index,
             const llvm::SmallSetVector<unsigned, 8> &loops);

/// How the dimensions of a tensor make up groups, in order: after `order`, the
/// first `counts[0]` dimensions are group 0, and so on.
struct Arrangement {
  llvm::SmallVector<int64_t> order;
  llvm::SmallVector<int64_t> counts;

  bool isInOrder() const;
};

/// Finds the dimensions of each group. Fails if a dimension is part of two
/// groups, or of none, or if something is missing.
mlir::FailureOr<Arrangement> arrange(llvm::ArrayRef<Index> dims,
                                     llvm::ArrayRef<Index> groups);

//===----------------------------------------------------------------------===//
// Batch, rows, columns and reduction
//
// Loops of both operands of a matmul and of its result are a batch, those of
// one operand are rows, those of the other are columns, and the rest is summed
// over.
//===----------------------------------------------------------------------===//

struct LoopPlan {
  /// One index for each dimension of the batch.
  Indices batch;
  /// Of one operand alone.
  Index left, right;
  Index reduction;
  /// Whether the result has those of the left operand first.
  bool isLeftFirst = true;
};

/// Finds the loops of each kind; says why they are not together.
std::string planLoops(llvm::ArrayRef<Index> left, llvm::ArrayRef<Index> right,
                      llvm::ArrayRef<Index> out,
                      const llvm::SmallSetVector<unsigned, 8> &reductions,
                      LoopPlan &plan);

} // namespace mx::import

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_PLACES_H
