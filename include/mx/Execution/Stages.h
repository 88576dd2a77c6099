//===- Stages.h - Look at every operation of a run --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Errors of a chain of quantizations and products hide in one another: a wrong
// scale looks like rounding two operations later. A run is therefore compared
// one operation at a time, each against a reference that starts from what that
// operation was given on the device. To that end the function is made to return
// the operands and results of its mx operations.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_STAGES_H
#define MX_EXECUTION_STAGES_H

#include "mx/Execution/Program.h"

namespace mx {

/// Where the array of an SSA value is found after a run.
struct StageValue {
  enum Kind {
    Argument, ///< argument `index` of the function
    Result,   ///< result `index` of the function
    Constant, ///< defined by a constant; `value` says which
    Unread,   ///< a destination of which only the shape matters
  };
  Kind kind = Unread;
  unsigned index = 0;
  mlir::Value value;
};

/// One mx operation of a function.
struct Stage {
  mlir::Operation *op = nullptr;
  /// The operands, then what its regions use from outside.
  llvm::SmallVector<StageValue> operands;
  llvm::SmallVector<StageValue> results;
};

/// What `exposeStages` found.
struct StageList {
  llvm::SmallVector<Stage> stages;
  /// Results that the function had before.
  unsigned ownResults = 0;
  /// Operations that cannot be looked at alone: inside control flow, on memrefs
  /// or on slices.
  llvm::SmallVector<mlir::Operation *> hidden;
};

/// Whether an operation uses part of a tensor: returned, that would be a copy,
/// which a device does not make of rows that lie apart.
bool readsSlices(mlir::Operation *op);

/// Inlines calls into `entry` and appends to its results whatever the operands
/// and results of its mx operations are.
mlir::FailureOr<StageList> exposeStages(mlir::func::FuncOp entry);

/// A stage with the arrays it saw; arrays of constants and of unread
/// destinations are null.
struct StageArrays {
  llvm::SmallVector<const NpyArray *> operands, results;
};

/// How the reference of a stage is computed.
enum class StageVariant {
  Same,      ///< the same operation
  F32Result, ///< with f32 results, to judge others by
  Sums,      ///< with f32 results and without its epilogue
  Disturbed, ///< the same, but a last argument is added to the epilogue's sums
};

/// A module with one function `stage`, which applies the stage's operation to
/// concrete shapes. Its arguments are those operands whose array is not null.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildStage(const Stage &stage, const StageArrays &arrays, StageVariant variant);

/// "mx.matmul at file.mlir:12:8"
std::string describeStage(mlir::Operation *op);

} // namespace mx

#endif // MX_EXECUTION_STAGES_H
