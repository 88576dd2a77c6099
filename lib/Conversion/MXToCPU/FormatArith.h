//===- FormatArith.h - Number formats as functions in the IR ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rounding, decoding and the scale recipes, each a private function or a
// constant table of the module that is made when it is first needed. All
// constants come from Support's tables. f32 values travel as i32, f64 as i64
// where their bits are meant.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_FORMATARITH_H
#define MX_LIB_CONVERSION_MXTOCPU_FORMATARITH_H

#include "../Utils/IntExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx::cpu {

/// Makes and calls the number functions of one module.
class FormatArith {
public:
  FormatArith(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::ModuleOp module)
      : builder(builder), loc(loc), module(module) {}

  /// f16 or bf16 or f32 as f32 bits, exactly.
  Int widenToF32(mlir::Value number);
  /// f32 bits as an f64, exactly, whatever the processor does to subnormals.
  mlir::Value widenToF64(Int f32Bits);
  /// f64 rounded once to f32, f16 or bf16: nearest even, infinities, NaN
  /// becomes 0x7FFFFFFF or 0x7FFF.
  mlir::Value round(mlir::Value f64, mlir::Type type);

  /// The memref<256xf64> of the values of an element or scale type.
  mlir::Value decodeTable(mlir::Type type, bool isScale);

  /// The E8M0 byte (i32) of a block whose largest magnitude is `absMax`.
  Int blockScale(mlir::Type element, ScaleRounding mode, Int absMax);
  /// The code (i8) of x * 2^(127 - byte) in `element`, saturated; rounded to
  /// nearest even, or by a random number of 32 bits.
  Int quantize(mlir::Type element, Int xBits, Int scaleByte,
               std::optional<Int> random = {});

  /// NVFP4: the E4M3 scale (i32) of a block, and the f32 bits of the factor
  /// that its elements are multiplied by.
  Int nvfp4Scale(Int absMax, Int encodeBits);
  Int nvfp4Inverse(Int scale, Int encodeBits);
  /// The code (i8) of RN(x * factor) in `element`, saturated.
  Int quantizeBy(mlir::Type element, Int xBits, Int factorBits,
                 std::optional<Int> random = {});

  /// The random number (i32) of the element with a linear index; i64 both.
  Int random(Int index, Int seed);

private:
  struct Rounding;
  using Body =
      llvm::function_ref<mlir::Value(FormatArith &, llvm::ArrayRef<Int>)>;

  /// Calls the private function `name`; `body` makes it if it is not there.
  mlir::Value call(llvm::Twine name, llvm::ArrayRef<mlir::Value> arguments,
                   mlir::Type result, Body body);
  Int number(mlir::Value value) { return {builder, loc, value}; }
  mlir::Value multiply(Int xBits, Int yBits);
  static Rounding getRounding(mlir::Type type);
  Int roundMagnitude(const Rounding &to, Int significand, unsigned fraction,
                     Int field, std::optional<Int> random = {});
  Int cutOff(Int significand, Int shift, std::optional<Int> random);
  Int countLeadingZeros(Int value);
  struct Unpacked;
  Unpacked unpackF32(Int bits);
  Int quantizeInt8(Int xBits, Int scaleByte, std::optional<Int> random);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::ModuleOp module;
};

} // namespace mx::cpu

#endif // MX_LIB_CONVERSION_MXTOCPU_FORMATARITH_H
