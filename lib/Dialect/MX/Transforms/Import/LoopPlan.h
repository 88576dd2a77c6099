//===- LoopPlan.h - Batch, rows, columns and reduction ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Loops of both operands of a product and of its result are a batch, those of
// one operand are rows, those of the other are columns, and the rest is summed
// over.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_LOOPPLAN_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_LOOPPLAN_H

#include "Places.h"

namespace mx::import {

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

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_IMPORT_LOOPPLAN_H
