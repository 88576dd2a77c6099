//===- StochasticRounding.h - Rounding by random numbers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx.quantize does with a seed: a random number below the kept bits of a
// significand is added before the rest is cut off. On integers, for every
// target: conversions that take random bits use fewer of them.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_STOCHASTICROUNDING_H
#define MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_STOCHASTICROUNDING_H

#include "mx/NVVM/NVVMBuilder.h"
#include "mx/Support/FloatFormats.h"

namespace mx::mxgpu {

class StochasticRounding {
public:
  explicit StochasticRounding(NVVMBuilder &builder) : builder(builder) {}

  /// The random word (i32) of the element with a linear index; i64 both.
  mlir::Value draw(mlir::Value index, mlir::Value seed);

  /// The saturated code of an f32 (its bits and `random` are i32) in the low
  /// bits of a word.
  mlir::Value round(const FloatFormatInfo &format, mlir::Value bits,
                    mlir::Value random);
  /// The same as a multiple of 1/64. Anything for NaN.
  mlir::Value roundInt8(mlir::Value bits, mlir::Value random);

private:
  mlir::Value cutOff(mlir::Value significand, mlir::Value count,
                     mlir::Value random);

  NVVMBuilder &builder;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXGPUTONVVM_NUMERICS_STOCHASTICROUNDING_H
