//===- Arrays.h - How values of a function appear as arrays -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Arguments and results of a compiled function enter and leave as .npy arrays.
// This file says which dtype and shape belong to an MLIR type: numbers that
// NumPy lacks appear as their bits, fp4 two per byte (low nibble first), and
// scales in the physical layout that their type names.
//
//===----------------------------------------------------------------------===//

#ifndef MX_ARRAYS_ARRAYS_H
#define MX_ARRAYS_ARRAYS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mx/Support/ExitStatus.h"
#include "mxsim/io/Npy.h"
#include "llvm/Support/Error.h"

namespace mx {

/// The array form of one type.
struct ArrayType {
  std::string dtype;
  /// ShapedType::kDynamic where any extent will do; empty for a scalar.
  llvm::SmallVector<int64_t> shape;
  /// Elements per item along the last dimension: 2 for fp4.
  int64_t packing = 1;
  /// A number rather than a tensor; its array has no dimension.
  bool isScalar = false;

  int64_t itemBytes() const { return npyItemSize(dtype); }
  /// "?x512xu1"
  std::string str() const;
};

/// An error of the kind "expected ..., found ...", and how a tool ends by it.
llvm::Error makeError(const llvm::Twine &message,
                      ExitStatus status = kExitBadInput);

/// How a tool ends by this error.
ExitStatus getExitStatus(const llvm::Error &error);

/// Writes a file by writeOutputFile().
llvm::Error writeFile(const llvm::Twine &path, llvm::StringRef text);
/// The same in a directory.
llvm::Error writeFile(llvm::StringRef directory, const llvm::Twine &name,
                      llvm::StringRef text);

/// The array form of `type`: a ranked tensor or a scalar.
llvm::Expected<ArrayType> getArrayType(mlir::Type type);

/// Succeeds if the array has the dtype and shape of `type`.
llvm::Error checkArray(const ArrayType &type, const NpyArray &array);

/// The same of an argument whose type MLIR prints as `name`: succeeds also for
/// floats that are converted to that (mx/Support/FloatArguments.h).
llvm::Error checkArray(const ArrayType &type, llvm::StringRef name,
                       const NpyArray &array);

} // namespace mx

#endif // MX_ARRAYS_ARRAYS_H
