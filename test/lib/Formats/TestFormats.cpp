//===- TestFormats.cpp - Block formats of a plug-in -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Defines block formats unknown to mx: blocks of 64 elements along K,
// whole rows and whole matrices as blocks, with scale types of this dialect.
// docs/reference/Formats.md uses this file as its example.
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/BlockFormats/F32Scales.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/InitAll.h"

using namespace mlir;
using namespace mx;

namespace {

/// `!mx_formats.ue5m3`: an unsigned float with 5 exponent bits (bias 15) and 3
/// mantissa bits. It has no infinities; 0xFF is NaN.
class UE5M3Type
    : public Type::TypeBase<UE5M3Type, Type, TypeStorage, FloatType::Trait> {
public:
  using Base::Base;
  static constexpr StringLiteral name = "mx_formats.ue5m3";

  /// LLVM does not define this format, so return another 8-bit format, of which
  /// only the width is used.
  const llvm::fltSemantics &getFloatSemantics() const {
    return llvm::APFloat::Float8E3M4();
  }
};

/// `!mx_formats.row_scale`: the f32 scale of a row.
class RowScaleType
    : public Type::TypeBase<RowScaleType, Type, TypeStorage, FloatType::Trait> {
public:
  using Base::Base;
  static constexpr StringLiteral name = "mx_formats.row_scale";

  const llvm::fltSemantics &getFloatSemantics() const {
    return llvm::APFloat::IEEEsingle();
  }
};

/// `!mx_formats.matrix_scale`: the f32 scale of a matrix.
class MatrixScaleType : public Type::TypeBase<MatrixScaleType, Type,
                                              TypeStorage, FloatType::Trait> {
public:
  using Base::Base;
  static constexpr StringLiteral name = "mx_formats.matrix_scale";

  const llvm::fltSemantics &getFloatSemantics() const {
    return llvm::APFloat::IEEEsingle();
  }
};

} // namespace

MLIR_DECLARE_EXPLICIT_TYPE_ID(UE5M3Type)
MLIR_DEFINE_EXPLICIT_TYPE_ID(UE5M3Type)
MLIR_DECLARE_EXPLICIT_TYPE_ID(RowScaleType)
MLIR_DEFINE_EXPLICIT_TYPE_ID(RowScaleType)
MLIR_DECLARE_EXPLICIT_TYPE_ID(MatrixScaleType)
MLIR_DEFINE_EXPLICIT_TYPE_ID(MatrixScaleType)

//===----------------------------------------------------------------------===//
// Codecs
//===----------------------------------------------------------------------===//

namespace {

class UE5M3Codec final : public ScaleCodec {
public:
  EncodedScale encode(OpBuilder &builder, Location loc, Type element,
                      Value amax) const override {
    ScaleArith b(loc, builder);
    Value scale = b.getScale(element, amax), bits = b.toBits(scale);
    // Round to nearest even: drop the lowest 20 bits of the f32, then subtract
    // the difference of the exponent biases, 112.
    Value last = b.rem(b.div(bits, kUnit), 2);
    Value rounded = b.add(b.add(bits, last), kUnit / 2 - 1);
    Value normal = b.sub(b.div(rounded, kUnit), kBias);
    // A subnormal is a multiple of 2^-17, the last bit of an f32 in [64, 128).
    Value shifted = arith::AddFOp::create(b, scale, b.f32(64));
    Value subnormal = b.sub(b.toBits(shifted), b.toBits(b.f32(64)));
    Value code = b.select(b.compare(arith::CmpFPredicate::OLT, scale, 0x1p-14f),
                          subnormal, normal);
    Value isNaN = b.compare(arith::CmpFPredicate::UNO, scale, 0);
    code = b.select(isNaN, b.i32(0xFF), b.min(code, 0xFE));
    Value byte = arith::TruncIOp::create(b, b.getI8Type(), code);
    return {byte, b.invert(decode(b, loc, byte))};
  }

  Value decode(OpBuilder &builder, Location loc, Value bits) const override {
    ScaleArith b(loc, builder);
    Value code = arith::ExtUIOp::create(b, b.getI32Type(), bits);
    Value normal = b.toFloat(b.mul(b.add(code, kBias), kUnit));
    Value subnormal = arith::MulFOp::create(
        b, arith::UIToFPOp::create(b, b.getF32Type(), code), b.f32(0x1p-17f));
    Value value = b.select(b.isBelow(code, b.i32(8)), subnormal, normal);
    return b.select(b.isBelow(code, b.i32(0xFF)), value,
                    b.toFloat(b.i32(0x7FC00000)));
  }

private:
  /// Value of the last mantissa bit in f32 bits, and difference of the biases.
  static constexpr int64_t kUnit = 1 << 20, kBias = 112 << 3;
};

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

template <typename T>
Type getType(MLIRContext *context) {
  return T::get(context);
}

BlockFormat getLongBlocks() {
  static const UE5M3Codec codec;
  BlockFormat format;
  format.getScaleType = getType<UE5M3Type>;
  format.blockSize = 64;
  format.elements = {FloatFormat::E4M3, FloatFormat::E2M1};
  format.hasTiles = true;
  format.codec = &codec;
  return format;
}

template <typename Scale>
BlockFormat getWhole(int64_t rows, int64_t columns) {
  BlockFormat format;
  format.getScaleType = getType<Scale>;
  format.blockRows = rows;
  format.blockSize = columns;
  format.elements = {FloatFormat::E4M3};
  format.codec = &getF32Codec(/*isCeil=*/false);
  return format;
}

ArrayRef<const BlockFormat *> getFormats() {
  constexpr int64_t kWhole = BlockFormat::kWhole;
  static const BlockFormat blocks = getLongBlocks(),
                           rows = getWhole<RowScaleType>(1, kWhole),
                           matrices = getWhole<MatrixScaleType>(kWhole, kWhole);
  static const BlockFormat *const formats[] = {&blocks, &rows, &matrices};
  return formats;
}

class FormatsDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FormatsDialect)

  explicit FormatsDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<FormatsDialect>()) {
    addTypes<UE5M3Type, RowScaleType, MatrixScaleType>();
    addInterface(std::make_unique<BlockFormatInterface>(this, getFormats()));
  }
  static constexpr StringLiteral getDialectNamespace() { return "mx_formats"; }

  Type parseType(DialectAsmParser &parser) const override {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return {};
    MLIRContext *context = parser.getContext();
    for (Type type :
         {Type(UE5M3Type::get(context)), Type(RowScaleType::get(context)),
          Type(MatrixScaleType::get(context))})
      if (getName(type) == name)
        return type;
    parser.emitError(loc, "expected a type of scales, found '") << name << "'";
    return {};
  }
  void printType(Type type, DialectAsmPrinter &printer) const override {
    printer << getName(type);
  }

private:
  static StringRef getName(Type type) {
    return type.getAbstractType().getName().split('.').second;
  }
};

/// Adds the dialect to every registry of mx; every context with mx loads it.
[[maybe_unused]] const bool isRegistered = [] {
  mx::addDialects([](DialectRegistry &registry) {
    registry.insert<FormatsDialect>();
    registry.addExtension(+[](MLIRContext *context, MXDialect *) {
      context->getOrLoadDialect<FormatsDialect>();
    });
  });
  return true;
}();

} // namespace
