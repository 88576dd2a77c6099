//===- Intermediates.h - Operands and results of each operation -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a chain of quantizations and matmuls, the effect of a wrong scale soon
// resembles rounding. Therefore each operation is compared separately with a
// reference that starts from the operands on the device. To this end the
// function also returns the operands and results of its mx operations. It is
// changed after fusion, because additional uses would prevent fusion.
//===----------------------------------------------------------------------===//

#ifndef MX_CHECK_INTERMEDIATES_H
#define MX_CHECK_INTERMEDIATES_H

#include "mx/Execution/Program.h"
#include <map>

namespace mx {

/// Location of the array of an SSA value after a run.
struct IntermediateValue {
  enum Kind {
    Argument, ///< argument `index` of the function
    Result,   ///< result `index` of the function
    Constant, ///< the constant that defines `value`
    Unread,   ///< destination; only the shape is used
    Number,   ///< the index value `index`
  };
  Kind kind = Unread;
  int64_t index = 0;
  mlir::Value value = {};
  /// Position of a slice in that array; empty for the whole array.
  std::vector<IntermediateValue> offsets = {}, sizes = {};
};

/// An mx operation that is compared.
struct ComparedOp {
  mlir::Operation *op = nullptr;
  /// Operands, followed by values that the regions capture.
  llvm::SmallVector<IntermediateValue> operands;
  llvm::SmallVector<IntermediateValue> results;
};

/// Operation that is not compared in isolation, with the reason.
struct HiddenOp {
  mlir::Operation *op = nullptr;
  std::string why;
};

/// Result of `exposeIntermediates`.
struct IntermediateList {
  llvm::SmallVector<ComparedOp> stages;
  /// Index of each stage among all candidates.
  llvm::SmallVector<unsigned> numbers;
  /// Number of results of the function before the change.
  unsigned ownResults = 0;
  llvm::SmallVector<HiddenOp> hidden;
};

/// Inlines calls into `entry` and appends operands and results of mx operations
/// to the results. `without` maps indices of skipped operations to reasons.
mlir::FailureOr<IntermediateList>
exposeIntermediates(mlir::func::FuncOp entry,
                    const std::map<unsigned, std::string> &without = {});

/// Arrays of a stage on the device; null for constants and unread destinations.
struct IntermediateArrays {
  llvm::SmallVector<const NpyArray *> operands, results;
  /// Copies of slices.
  std::vector<std::shared_ptr<const NpyArray>> slices = {};
};

/// Returns the arrays of a stage, given the arguments and results of a run.
IntermediateArrays collectArrays(const ComparedOp &stage,
                                 llvm::ArrayRef<NpyArray> arguments,
                                 llvm::ArrayRef<NpyArray> results);

/// Variant of a stage's operation in a reference program.
enum class OpVariant {
  Same,        ///< the operation itself
  F32Result,   ///< with f32 results, as a reference for rounding
  Accumulator, ///< with f32 results, without the epilogue
  Disturbed,   ///< adds an extra last argument to the epilogue's input
};

/// Builds a module with a function `stage` that applies the operation to
/// operands of static shape. Operands with a non-null array become arguments.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildAlone(const ComparedOp &stage, const IntermediateArrays &arrays,
           OpVariant variant);

/// Returns a string like "mx.matmul at file.mlir:12:8".
std::string describeOp(mlir::Operation *op);

} // namespace mx

#endif // MX_CHECK_INTERMEDIATES_H
