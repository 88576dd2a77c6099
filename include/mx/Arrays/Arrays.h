//===- Arrays.h - Array forms of MLIR types ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled functions take and return .npy arrays. This file maps an MLIR type
// to a dtype and a shape. Types that NumPy lacks appear as bits, fp4 as two
// elements per byte (low nibble first), and scales in their physical layout.
//===----------------------------------------------------------------------===//

#ifndef MX_ARRAYS_ARRAYS_H
#define MX_ARRAYS_ARRAYS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mx/Support/ExitStatus.h"
#include "mxsim/io/Npy.h"
#include "llvm/Support/Error.h"

namespace mx {

struct ArrayType {
  std::string dtype;
  /// ShapedType::kDynamic for any extent; empty for a scalar.
  llvm::SmallVector<int64_t> shape;
  int64_t packing = 1;
  /// Scalar argument or result, an array of rank 0.
  bool isScalar = false;

  int64_t itemBytes() const { return npyItemSize(dtype); }
  /// Returns a string like "?x512xu1".
  std::string str() const;
};

/// Returns an error whose message reads "expected ..., found ...".
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

/// Checks an argument of the MLIR type `name`. Also accepts float arrays that
/// mx/Support/FloatArguments.h converts.
llvm::Error checkArray(const ArrayType &type, llvm::StringRef name,
                       const NpyArray &array);

} // namespace mx

#endif // MX_ARRAYS_ARRAYS_H
