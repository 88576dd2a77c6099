//===- Intermediates.h - Look at every operation of a run -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Errors of a chain of quantizations and matmuls hide in one another: a wrong
// scale looks like rounding two operations later. A run is therefore compared
// one operation at a time, each against a reference that starts from what that
// operation was given on the device. To that end the function is made to return
// the operands and results of its mx operations, after operations were fused:
// another use of a tensor would keep some apart.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CHECK_INTERMEDIATES_H
#define MX_CHECK_INTERMEDIATES_H

#include "mx/Execution/Program.h"
#include <map>

namespace mx {

/// Where the array of an SSA value is found after a run.
struct IntermediateValue {
  enum Kind {
    Argument, ///< argument `index` of the function
    Result,   ///< result `index` of the function
    Constant, ///< defined by a constant; `value` says which
    Unread,   ///< a destination of which only the shape matters
    Number,   ///< an index that is `index` itself
  };
  Kind kind = Unread;
  int64_t index = 0;
  mlir::Value value = {};
  /// Of a slice, where it lies in that array; empty for a whole one.
  std::vector<IntermediateValue> offsets = {}, sizes = {};
};

/// One mx operation of a function.
struct ComparedOp {
  mlir::Operation *op = nullptr;
  /// The operands, then what its regions use from outside.
  llvm::SmallVector<IntermediateValue> operands;
  llvm::SmallVector<IntermediateValue> results;
};

/// An operation that is not looked at alone, and why.
struct HiddenOp {
  mlir::Operation *op = nullptr;
  std::string why;
};

/// What `exposeIntermediates` found.
struct IntermediateList {
  llvm::SmallVector<ComparedOp> stages;
  /// The number of each stage among the operations that could be one.
  llvm::SmallVector<unsigned> numbers;
  /// Results that the function had before.
  unsigned ownResults = 0;
  llvm::SmallVector<HiddenOp> hidden;
};

/// Inlines calls into `entry` and appends to its results whatever the operands
/// and results of its mx operations are, but for those whose number `without`
/// has: it says why.
mlir::FailureOr<IntermediateList>
exposeIntermediates(mlir::func::FuncOp entry,
                    const std::map<unsigned, std::string> &without = {});

/// A stage with the arrays it saw; arrays of constants and of unread
/// destinations are null.
struct IntermediateArrays {
  llvm::SmallVector<const NpyArray *> operands, results;
  /// Copies of slices.
  std::vector<std::shared_ptr<const NpyArray>> slices = {};
};

/// The arrays of a stage, from the arguments and results of a run.
IntermediateArrays collectArrays(const ComparedOp &stage,
                                 llvm::ArrayRef<NpyArray> arguments,
                                 llvm::ArrayRef<NpyArray> results);

/// How the reference of a stage is computed.
enum class OpVariant {
  Same,        ///< the same operation
  F32Result,   ///< with f32 results, to judge others by
  Accumulator, ///< with f32 results and without its epilogue
  Disturbed,   ///< with a last argument that the epilogue's input is added to
};

/// A module with one function `stage`, which applies the stage's operation to
/// concrete shapes. Its arguments are those operands whose array is not null.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildAlone(const ComparedOp &stage, const IntermediateArrays &arrays,
           OpVariant variant);

/// "mx.matmul at file.mlir:12:8"
std::string describeOp(mlir::Operation *op);

} // namespace mx

#endif // MX_CHECK_INTERMEDIATES_H
