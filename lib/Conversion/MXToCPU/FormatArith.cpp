//===- FormatArith.cpp - Number formats as IR functions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All formats share an integer rounding routine. It splits a number into a
// significand with its hidden bit and the exponent field of the target format.
// If the field is below 1, the number is subnormal in the target format, and
// the significand is shifted right further.
//===----------------------------------------------------------------------===//

#include "FormatArith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/Philox.h"
#include "mx/Support/ScaleRecipe.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::cpu;

namespace {

constexpr int64_t kF32Infinity = 0x7F800000;
constexpr int64_t kF32Max = 0x7F7FFFFF;
constexpr int64_t kF32Magnitude = 0x7FFFFFFF;
constexpr int64_t kF64Infinity = 0x7FF0000000000000;
constexpr int64_t kOneSixth = 0x3E2AAAAB; // fl(1/6)
/// Exponent field of infinities, larger than in any format.
constexpr int64_t kHugeField = 1 << 10;

std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

} // namespace

//===----------------------------------------------------------------------===//
// Functions and tables of the module
//===----------------------------------------------------------------------===//

Value FormatArith::call(llvm::Twine name, ArrayRef<Value> arguments,
                        Type result, Body body) {
  std::string symbol = ("__mx_" + name).str();
  auto function = module.lookupSymbol<func::FuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> types(ValueRange(arguments).getTypes());
    function = func::FuncOp::create(builder, loc, symbol,
                                    builder.getFunctionType(types, {result}));
    function.setPrivate();
    SmallVector<Location> locs(types.size(), loc);
    Block *entry = builder.createBlock(&function.getBody(), {}, types, locs);
    SmallVector<Int> parameters;
    for (Value argument : entry->getArguments())
      parameters.push_back(number(argument));
    Value value = body(*this, parameters);
    func::ReturnOp::create(builder, loc, value);
  }
  return func::CallOp::create(builder, loc, function, arguments).getResult(0);
}

Value FormatArith::decodeTable(Type type, bool isScale) {
  std::string symbol =
      (isScale ? "__mx_scale_values_" : "__mx_values_") + nameOf(type);
  auto tableType = MemRefType::get({256}, builder.getF64Type());
  if (!module.lookupSymbol(symbol)) {
    FloatFormat format =
        type.isInteger() ? FloatFormat::E4M3 : *getFloatFormat(type);
    if (isScale && format == FloatFormat::E4M3)
      format = FloatFormat::UE4M3;
    SmallVector<double> values;
    for (unsigned code = 0; code < 256; ++code)
      values.push_back(widenF32(type.isInteger() ? decodeInt8(int8_t(code))
                                                 : decode(format, code)));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto initial = DenseElementsAttr::get(
        RankedTensorType::get({256}, builder.getF64Type()),
        ArrayRef<double>(values));
    memref::GlobalOp::create(builder, loc, symbol,
                             builder.getStringAttr("private"), tableType,
                             initial, /*constant=*/true, /*alignment=*/{});
  }
  return memref::GetGlobalOp::create(builder, loc, tableType, symbol);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Target format of a rounding.
struct FormatArith::Rounding {
  unsigned mantissaBits;
  int64_t bias;
  int64_t maxCode;
  int64_t overflowCode; ///< infinity, or the largest code
  int64_t nanCode;
  int64_t signCode;
};

FormatArith::Rounding FormatArith::getRounding(Type type) {
  if (type.isF32())
    return {23, 127, kF32Max, kF32Infinity, kF32CanonicalNaN, 1ll << 31};
  const FloatFormatInfo &info = getInfo(*getFloatFormat(type));
  bool isResult = isa<BFloat16Type, Float16Type>(type);
  return {info.mantissaBits, info.bias,
          info.maxCode,      isResult ? info.maxCode + 1 : info.maxCode,
          info.nanCode,      1ll << (info.bits - 1)};
}

/// Shifts a significand right by at least one bit and rounds. To round to
/// nearest even, adds the last kept bit and half an ulp minus one. To round
/// stochastically, adds the random number to the 32 bits below the last kept
/// bit, and ignores lower bits.
Int FormatArith::cutOff(Int significand, Int shift, std::optional<Int> random) {
  int64_t width = significand.type().getIntOrFloatBitWidth();
  if (!random) {
    shift = shift.min(width - 2); // everything is shifted out
    Int even = (significand >> shift) & 1;
    Int half = significand.like(1) << (shift - 1);
    return (significand + (half - 1) + even) >> shift;
  }
  Type i64 = builder.getI64Type();
  Int wideShift = shift.to(i64);
  Int wide = significand.to(i64) >> (wideShift - 32).max(0).min(63);
  Int drawn = wideShift.min(32);
  Int below = random->to(i64) & ((wide.like(1) << drawn) - 1);
  return ((wide + below) >> drawn).to(significand.type());
}

/// Rounds a significand and returns its code without the sign. `fraction` is
/// the number of bits below the hidden bit. `field` is the exponent field of
/// the target format. A carry increments the exponent.
Int FormatArith::roundMagnitude(const Rounding &to, Int significand,
                                unsigned fraction, Int field,
                                std::optional<Int> random) {
  Int one = significand.like(1);
  Int shift = (one - field).max(0) + (fraction - to.mantissaBits);
  Int kept = cutOff(significand, shift, random);
  Int code = kept + ((field.max(1) - 1) << int64_t(to.mantissaBits));
  return (code > to.maxCode).select(to.overflowCode, code);
}

Int FormatArith::countLeadingZeros(Int value) {
  return number(builder.createOrFold<math::CountLeadingZerosOp>(loc, value));
}

Value FormatArith::round(Value f64, Type type) {
  Type i64 = builder.getI64Type();
  Type code = builder.getIntegerType(type.getIntOrFloatBitWidth());
  Value result =
      call("round_f64_to_" + nameOf(type), {number(f64).as(i64)}, code,
           [&](FormatArith &n, ArrayRef<Int> args) -> Value {
             Rounding to = getRounding(type);
             Int bits = args[0];
             Int magnitude = bits & INT64_MAX;
             Int field = magnitude >> 52;
             Int hidden = (field > 0).select(field.like(1ll << 52), int64_t(0));
             Int significand = (magnitude & ((1ll << 52) - 1)) | hidden;
             Int rounded = n.roundMagnitude(to, significand, 52,
                                            field - (1023 - to.bias));
             Int sign = (bits < 0).select(to.signCode, bits.like(0));
             return (magnitude > kF64Infinity)
                 .select(to.nanCode, rounded | sign)
                 .to(code);
           });
  return number(result).as(type);
}

//===----------------------------------------------------------------------===//
// Widening
//===----------------------------------------------------------------------===//

/// An f32 number. Bit 23 of the significand is the hidden bit. The field is at
/// most 0 for subnormals and kHugeField for infinities and NaNs. The
/// significand of zero is 0.
struct FormatArith::Unpacked {
  Int magnitude, significand, field;
};

FormatArith::Unpacked FormatArith::unpackF32(Int bits) {
  Int magnitude = bits & kF32Magnitude;
  Int field = magnitude >> 23;
  Int hidden = (field > 0).select(field.like(1 << 23), int64_t(0));
  Int significand = (magnitude & 0x7FFFFF) | hidden;
  Int shift = countLeadingZeros(significand) - 8;
  Int finite = field.max(1) - shift;
  return {magnitude, significand << shift,
          (magnitude >= kF32Infinity).select(kHugeField, finite)};
}

Int FormatArith::widenToF32(Value value) {
  Type i32 = builder.getI32Type();
  if (value.getType().isF32())
    return number(number(value).as(i32));
  Int half = number(number(value).as(builder.getI16Type()));
  if (value.getType().isBF16())
    return half.to(i32) << 16;
  return number(
      call("widen_f16", {half}, i32, [&](FormatArith &n, ArrayRef<Int> args) {
        Int code = args[0].to(i32);
        Int magnitude = code & 0x7FFF;
        // The exponent biases differ by 112. Infinity and NaN need another 112
        // to fill the exponent field.
        Int normal = (magnitude << 13) + (112 << 23);
        normal = (magnitude >= 0x7C00).select(normal + (112 << 23), normal);
        // A subnormal is magnitude * 2^-24, so shift its first bit to bit 10.
        Int shift = n.countLeadingZeros(magnitude) - 21;
        Int exponent = (shift.like(113) - shift) << 23;
        Int subnormal = exponent | (((magnitude << shift) & 0x3FF) << 13);
        Int small = (magnitude == 0).select(int64_t(0), subnormal);
        Int widened = (magnitude < 0x400).select(small, normal);
        return widened | ((code & 0x8000) << 16);
      }));
}

Value FormatArith::widenToF64(Int f32Bits) {
  Type i64 = builder.getI64Type();
  Value bits = call(
      "widen_f32", {f32Bits}, i64, [&](FormatArith &n, ArrayRef<Int> args) {
        Unpacked x = n.unpackF32(args[0]);
        // The biases differ by 896.
        Int field = (x.magnitude >= kF32Infinity).select(2047, x.field + 896);
        Int exponent = field.to(i64) << 52;
        Int wide = exponent | ((x.significand & 0x7FFFFF).to(i64) << 29);
        Int sign = (args[0] >> 31).to(i64) << 63;
        return (x.magnitude == 0).select(int64_t(0), wide) | sign;
      });
  return number(bits).as(builder.getF64Type());
}

/// Returns RN(x * y) as f32 bits. The product of two f32 is exact in f64.
Value FormatArith::multiply(Int xBits, Int yBits) {
  return call("mul_f32", {xBits, yBits}, xBits.type(),
              [](FormatArith &n, ArrayRef<Int> args) -> Value {
                Value x = n.widenToF64(args[0]), y = n.widenToF64(args[1]);
                Value product = arith::MulFOp::create(n.builder, n.loc, x, y);
                return n.widenToF32(n.round(product, n.builder.getF32Type()));
              });
}

//===----------------------------------------------------------------------===//
// MX blocks (OCP MX v1.0, section 6.3)
//===----------------------------------------------------------------------===//

Int FormatArith::blockScale(Type element, ScaleRounding mode, Int absMax) {
  static constexpr llvm::StringLiteral kNames[] = {"ceil", "floor", "even",
                                                   "fit"};
  return number(call(
      "scale_" + nameOf(element) + "_" + kNames[unsigned(mode)], {absMax},
      absMax.type(), [&](FormatArith &n, ArrayRef<Int> args) -> Value {
        const ScaleRecipe &recipe =
            element.isInteger() ? getInt8ScaleRecipe()
                                : getScaleRecipe(*getFloatFormat(element));
        Int a = args[0];
        auto finite = [&]() -> Int {
          if (mode != ScaleRounding::Ceil)
            return ((a +
                     int64_t(recipe.getCarry(ScaleRecipe::Rounding(mode)))) >>
                    23) -
                   recipe.emax;
          // cvt.rp.satfinite.ue8m0 rounds up to a power of two. 2^-127 is the
          // f32 subnormal 0x00400000.
          Int t = n.number(
              n.multiply(a, a.like(int64_t(recipe.maxReciprocalBits))));
          Int exact = (t < 0x800000).select(0x400000, t.like(0));
          Int more = ((t & 0x7FFFFF) > exact).to(t.type());
          return (t >> 23) + more;
        };
        Int byte = finite().max(0).min(254);
        byte = (a == kF32Infinity).select(254, byte);
        return (a > kF32Infinity).select(255, byte);
      }));
}

/// Quantizes to int8. The value is significand * 2^(field - byte - 17) / 64.
/// With a right shift of less than 17 bits, the result exceeds 127.
Int FormatArith::quantizeInt8(Int xBits, Int scaleByte,
                              std::optional<Int> random) {
  Unpacked x = unpackF32(xBits);
  Int shift = (scaleByte + 17 - x.field).max(16);
  Int kept = cutOff(x.significand, shift, random).min(127);
  Int inputIsNaN = x.magnitude > kF32Infinity, scaleIsNaN = scaleByte == 255;
  Int isNaN = inputIsNaN | scaleIsNaN;
  Int signedCode = (xBits < 0).select(kept.like(0) - kept, kept);
  return isNaN.select(int64_t(0), signedCode);
}

Int FormatArith::quantize(Type element, Int xBits, Int scaleByte,
                          std::optional<Int> random) {
  Type i8 = builder.getI8Type();
  SmallVector<Value> arguments = {xBits, scaleByte};
  if (random)
    arguments.push_back(*random);
  Value quantized =
      call((random ? "quantize_stochastic_" : "quantize_") + nameOf(element),
           arguments, i8, [&](FormatArith &n, ArrayRef<Int> args) -> Value {
             std::optional<Int> drawn;
             if (random)
               drawn = args[2];
             if (element.isInteger())
               return n.quantizeInt8(args[0], args[1], drawn).to(i8);
             Rounding to = getRounding(element);
             Unpacked x = n.unpackF32(args[0]);
             // A single rounding is enough. RN(x * 2^(127 - byte)) in f32
             // differs from the exact product only below 2^-126, where every
             // element type rounds to 0.
             Int field = x.field + to.bias - args[1];
             Int code = n.roundMagnitude(to, x.significand, 23, field, drawn);
             Int sign = (args[0] < 0).select(to.signCode, code.like(0));
             Int inputIsNaN = x.magnitude > kF32Infinity;
             Int scaleIsNaN = args[1] == 255;
             Int isNaN = inputIsNaN | scaleIsNaN;
             return isNaN.select(to.nanCode, code | sign).to(i8);
           });
  return number(quantized);
}

//===----------------------------------------------------------------------===//
// NVFP4
//===----------------------------------------------------------------------===//

Int FormatArith::nvfp4Scale(Int absMax, Int encodeBits) {
  return number(call(
      "nvfp4_scale", {absMax, encodeBits}, absMax.type(),
      [](FormatArith &n, ArrayRef<Int> args) -> Value {
        Int sixth = n.number(n.multiply(args[0], args[0].like(kOneSixth)));
        Int scaled = n.number(n.multiply(sixth, args[1]));
        Type e4m3 = Float8E4M3FNType::get(n.builder.getContext());
        return n.quantize(e4m3, scaled, scaled.like(127)).to(scaled.type());
      }));
}

/// Returns min(RN(encode / scale), FLT_MAX), or 0 for a scale of 0. f64 has
/// more than twice the bits of f32 plus two, so rounding the quotient twice
/// equals rounding it once.
Int FormatArith::nvfp4Inverse(Int scale, Int encodeBits) {
  return number(call(
      "nvfp4_inverse", {scale, encodeBits}, scale.type(),
      [](FormatArith &n, ArrayRef<Int> args) -> Value {
        Type e4m3 = Float8E4M3FNType::get(n.builder.getContext());
        Int index = args[0].to(n.builder.getIndexType());
        Value divisor = memref::LoadOp::create(
            n.builder, n.loc, n.decodeTable(e4m3, /*isScale=*/true),
            ValueRange{index});
        Value quotient = arith::DivFOp::create(n.builder, n.loc,
                                               n.widenToF64(args[1]), divisor);
        Int inverse = n.widenToF32(n.round(quotient, n.builder.getF32Type()));
        inverse = (inverse == kF32Infinity).select(kF32Max, inverse);
        return (args[0] == 0).select(int64_t(0), inverse);
      }));
}

Int FormatArith::quantizeBy(Type element, Int xBits, Int factorBits,
                            std::optional<Int> random) {
  Int product = number(multiply(xBits, factorBits));
  return quantize(element, product, product.like(127), random);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

Int FormatArith::random(Int index, Int seed) {
  Type i32 = builder.getI32Type();
  return number(call(
      "philox_4x32_10", {index, seed}, i32,
      [&](FormatArith &n, ArrayRef<Int> args) -> Value {
        Type i64 = args[0].type();
        Int zero = args[0].like(0).to(i32);
        Int counter[4] = {args[0].to(i32), (args[0] >> 32).to(i32), zero, zero};
        Int key[2] = {args[1].to(i32), (args[1] >> 32).to(i32)};
        for (unsigned round = 0; round < kPhiloxRounds; ++round) {
          Int even = counter[0].to(i64) * int64_t(kPhiloxMultipliers[0]);
          Int odd = counter[2].to(i64) * int64_t(kPhiloxMultipliers[1]);
          counter[0] = (odd >> 32).to(i32) ^ counter[1] ^ key[0];
          counter[1] = odd.to(i32);
          counter[2] = (even >> 32).to(i32) ^ counter[3] ^ key[1];
          counter[3] = even.to(i32);
          for (unsigned i = 0; i < 2; ++i)
            key[i] = key[i] + int64_t(kPhiloxWeyl[i]);
        }
        return counter[0];
      }));
}
