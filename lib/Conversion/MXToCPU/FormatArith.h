//===- FormatArith.h - Number formats as IR functions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roundings and scale computations are private functions, and decode tables are
// constants. They are added to the module on first use. The constants are
// defined in mx/Support. f32 bits are i32, f64 bits are i64.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOCPU_FORMATARITH_H
#define MX_LIB_CONVERSION_MXTOCPU_FORMATARITH_H

#include "../Utils/IntExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx::cpu {

/// Creates and calls the format functions of a module.
class FormatArith {
public:
  FormatArith(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::ModuleOp module)
      : builder(builder), loc(loc), module(module) {}

  /// Widens f16, bf16 or f32 to f32 bits. The result is exact.
  Int widenToF32(mlir::Value number);
  /// Widens f32 bits to f64. The result is exact in all flush-to-zero modes.
  mlir::Value widenToF64(Int f32Bits);
  /// Rounds f64 once, to nearest even, to f32, f16 or bf16. Overflow returns
  /// infinity. NaN becomes 0x7FFFFFFF or 0x7FFF.
  mlir::Value round(mlir::Value f64, mlir::Type type);

  /// Returns a memref<256xf64> with the value of each code of an element or
  /// scale type.
  mlir::Value decodeTable(mlir::Type type, bool isScale);

  /// Returns the E8M0 scale (i32) of a block. `absMax` is the largest magnitude
  /// in the block.
  Int blockScale(mlir::Type element, ScaleRounding mode, Int absMax);
  /// Returns the code (i8) of x * 2^(127 - scaleByte) in `element`, saturated.
  /// Rounds stochastically if `random` (i32) is given, else to nearest even.
  Int quantize(mlir::Type element, Int xBits, Int scaleByte,
               std::optional<Int> random = {});

  /// Return the E4M3 scale (i32) of an NVFP4 block, and the f32 bits of the
  /// factor that multiplies the block's elements.
  Int nvfp4Scale(Int absMax, Int encodeBits);
  Int nvfp4Inverse(Int scale, Int encodeBits);
  /// Returns the code (i8) of RN(x * factor) in `element`, saturated.
  Int quantizeBy(mlir::Type element, Int xBits, Int factorBits,
                 std::optional<Int> random = {});

  /// Returns an element's random i32. The linear index and the seed are i64.
  Int random(Int index, Int seed);

private:
  struct Rounding;
  using Body =
      llvm::function_ref<mlir::Value(FormatArith &, llvm::ArrayRef<Int>)>;

  /// Calls the private function `name`, which `body` creates on first use.
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
