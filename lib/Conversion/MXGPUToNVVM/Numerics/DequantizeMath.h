//===- DequantizeMath.h - Numbers of narrow codes in f32 --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Codes become f32 numbers, which they are exactly, and so is their product
// with a scale: at most 8 bits of significand, and down to 2^-143.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_DEQUANTIZEMATH_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_DEQUANTIZEMATH_H

#include "mlir/IR/BuiltinTypes.h"
#include "mx/NVVM/NVVMBuilder.h"

namespace mx::mxgpu {

/// Builds the numbers that codes stand for.
class DequantizeMath {
public:
  DequantizeMath(NVVMBuilder &builder, mlir::Type element, bool hasConversions)
      : builder(builder), element(element), hasConversions(hasConversions) {}

  /// All elements of some words as f32, MXINT8 times 64.
  llvm::SmallVector<mlir::Value> decode(llvm::ArrayRef<mlir::Value> words);
  /// The scale (i8) as f32, MXINT8's by 64.
  mlir::Value decodeScale(mlir::Value byte, bool nvfp4);

private:
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::Value shiftRight(mlir::Value word, int64_t bits);
  mlir::Value widen(mlir::Value codes);
  mlir::Value widenOnBits(mlir::Value codes);
  void decodeInt8(mlir::Value word, Values &numbers);

  bool isFour() const { return mlir::isa<mlir::Float4E2M1FNType>(element); }

  NVVMBuilder &builder;
  mlir::Type element;
  bool hasConversions;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_DEQUANTIZEMATH_H
