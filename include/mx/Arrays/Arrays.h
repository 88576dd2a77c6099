//===- Arrays.h - Array forms of MLIR types ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled functions take and return .npy arrays. This file maps an MLIR type
// to a dtype and a shape. Types that NumPy lacks appear as their bits, fp4 as
// two elements per byte (low nibble first), and scales in the physical layout
// of their type.
//===----------------------------------------------------------------------===//

#ifndef MX_ARRAYS_ARRAYS_H
#define MX_ARRAYS_ARRAYS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mx/Support/ExitStatus.h"
#include "mxsim/io/Npy.h"
#include "llvm/Support/Error.h"

namespace mx {

/// Array form of a type: dtype and shape.
struct ArrayType {
  std::string dtype;
  /// ShapedType::kDynamic for any extent; empty for a scalar.
  llvm::SmallVector<int64_t> shape;
  int64_t packing = 1;
  /// Scalar argument or result; the array has rank 0.
  bool isScalar = false;

  int64_t itemBytes() const { return npyItemSize(dtype); }
  /// Returns a string like "?x512xu1".
  std::string str() const;
};

/// Returns an error with a message ("expected ..., found ...") and an exit
/// status.
llvm::Error makeError(const llvm::Twine &message,
                      ExitStatus status = kExitBadInput);

ExitStatus getExitStatus(const llvm::Error &error);

llvm::Error writeFile(const llvm::Twine &path, llvm::StringRef text);
llvm::Error writeFile(llvm::StringRef directory, const llvm::Twine &name,
                      llvm::StringRef text);

/// Returns the array form of a ranked tensor or scalar type.
llvm::Expected<ArrayType> getArrayType(mlir::Type type);

/// Fails unless `array` matches the dtype and shape of `type`.
llvm::Error checkArray(const ArrayType &type, const NpyArray &array);

/// Checks an argument with an MLIR type printed as `name`. Also accepts arrays
/// of floats to be converted by mx/Support/FloatArguments.h.
llvm::Error checkArray(const ArrayType &type, llvm::StringRef name,
                       const NpyArray &array);

} // namespace mx

#endif // MX_ARRAYS_ARRAYS_H
