//===- BlockQuantize.cpp - normative block quantization recipes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The recipes are a table of constants per element type and a few lines of
// code. All arithmetic is FloatFormats' integer arithmetic, so that a flush to
// zero set by the surrounding program cannot change a scale.
//
//===----------------------------------------------------------------------===//

#include "mx/Support/BlockQuantize.h"
#include <cassert>

using namespace mx;

namespace {

constexpr uint32_t kInfinityBits = 0x7F800000u;
constexpr uint32_t kSixthBits = 0x3E2AAAABu; // fl(1/6)

constexpr ScaleRecipe kRecipes[] = {
    {0x3B124925u, 8, 3, 0x600000u, 0x17FFFFu},  // E4M3: 448, up to 464
    {0x37924925u, 15, 2, 0x600000u, 0x100000u}, // E5M2: 57344
    {0x3D124925u, 4, 2, 0x600000u, 0x100000u},  // E3M2: 28
    {0x3E088889u, 2, 3, 0x700000u, 0x080000u},  // E2M3: 7.5
    {kSixthBits, 2, 1, 0x400000u, 0x200000u},   // E2M1: 6
};
constexpr ScaleRecipe kInt8Recipe = {0x3F010204u, 0, 6, 0x7E0000u,
                                     0x010000u}; // 127/64

bool isNaNBits(uint32_t magnitude) { return magnitude > kInfinityBits; }

/// Calls quantize(x) on every element of a strided block.
template <typename Code, typename Quantize>
void forEachElement(const float *x, size_t n, Code *codes, ptrdiff_t stride,
                    Quantize quantize) {
  for (size_t i = 0; i < n; ++i)
    codes[ptrdiff_t(i) * stride] = quantize(x[ptrdiff_t(i) * stride]);
}

} // namespace

const ScaleRecipe &mx::getScaleRecipe(FloatFormat elem) {
  assert(elem <= FloatFormat::E2M1 && "not an element format");
  return kRecipes[unsigned(elem)];
}

const ScaleRecipe &mx::getInt8ScaleRecipe() { return kInt8Recipe; }

uint32_t mx::absMaxBits(const float *x, size_t n, ptrdiff_t stride) {
  uint32_t max = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits = bitsOf(x[ptrdiff_t(i) * stride]) & 0x7FFFFFFFu;
    max = bits > max ? bits : max;
  }
  return max;
}

uint8_t mx::blockScale(const ScaleRecipe &recipe,
                       ScaleRecipe::Rounding rounding, uint32_t absMaxBits) {
  if (isNaNBits(absMaxBits))
    return kE8M0NaN;
  if (absMaxBits == kInfinityBits)
    return 0xFE;
  if (rounding == ScaleRecipe::Rounding::Ceil)
    return encodeE8M0Up(mulF32(floatFromBits(absMaxBits),
                               floatFromBits(recipe.maxReciprocalBits)));
  absMaxBits += recipe.getCarry(rounding);
  int exponent = int(absMaxBits >> 23) - recipe.emax;
  return uint8_t(exponent < 0 ? 0 : exponent > 0xFE ? 0xFE : exponent);
}

uint8_t mx::blockScale(FloatFormat elem, ScaleRecipe::Rounding rounding,
                       uint32_t absMaxBits) {
  return blockScale(getScaleRecipe(elem), rounding, absMaxBits);
}

float mx::inverseScale(uint8_t scaleByte) {
  if (scaleByte == kE8M0NaN)
    return floatFromBits(kF32CanonicalNaN);
  uint32_t field = 254u - scaleByte;
  return floatFromBits(field == 0 ? 0x00400000u : field << 23);
}

uint8_t mx::quantizeElement(FloatFormat elem, float x, float inverse) {
  return uint8_t(encode(elem, mulF32(x, inverse)));
}

int8_t mx::quantizeElementInt8(float x, float inverse) {
  return encodeInt8(mulF32(x, inverse));
}

uint8_t mx::quantizeBlock(FloatFormat elem, ScaleRecipe::Rounding rounding,
                          const float *x, size_t n, uint8_t *codes,
                          ptrdiff_t stride) {
  uint8_t scale = blockScale(elem, rounding, absMaxBits(x, n, stride));
  float inverse = inverseScale(scale);
  forEachElement(x, n, codes, stride,
                 [&](float v) { return quantizeElement(elem, v, inverse); });
  return scale;
}

uint8_t mx::quantizeBlockInt8(ScaleRecipe::Rounding rounding, const float *x,
                              size_t n, int8_t *codes, ptrdiff_t stride) {
  uint8_t scale = blockScale(kInt8Recipe, rounding, absMaxBits(x, n, stride));
  float inverse = inverseScale(scale);
  forEachElement(x, n, codes, stride,
                 [&](float v) { return quantizeElementInt8(v, inverse); });
  return scale;
}

uint8_t mx::nvfp4Scale(uint32_t absMaxBits, float enc) {
  float sixth = mulF32(floatFromBits(absMaxBits), floatFromBits(kSixthBits));
  return uint8_t(encode(FloatFormat::E4M3, mulF32(sixth, enc)));
}

float mx::nvfp4InverseScale(uint8_t scaleCode, float enc) {
  if ((scaleCode & 0x7F) == 0)
    return 0.0f;
  uint32_t inverse = bitsOf(divF32(enc, decode(FloatFormat::UE4M3, scaleCode)));
  return floatFromBits(inverse == kInfinityBits ? kInfinityBits - 1 : inverse);
}

uint8_t mx::quantizeBlockNVFP4(float enc, const float *x, size_t n,
                               uint8_t *codes, ptrdiff_t stride) {
  uint8_t scale = nvfp4Scale(absMaxBits(x, n, stride), enc);
  float inverse = nvfp4InverseScale(scale, enc);
  forEachElement(x, n, codes, stride, [&](float v) {
    return quantizeElement(FloatFormat::E2M1, v, inverse);
  });
  return scale;
}

namespace {

/// Both factors have at most 24 bits and the exponent of the product is far
/// from the limits of a double, so that multiplying doubles is exact, and no
/// operand is a subnormal double.
double multiplyExact(float element, float scale) {
  return widenF32(element) * widenF32(scale);
}

} // namespace

double mx::dequantizeExact(FloatFormat elem, uint32_t code,
                           FloatFormat scaleFormat, uint8_t scale) {
  if (scaleFormat == FloatFormat::E4M3)
    scaleFormat = FloatFormat::UE4M3;
  return multiplyExact(decode(elem, code), decode(scaleFormat, scale));
}

double mx::dequantizeExactInt8(int8_t code, uint8_t scaleByte) {
  return multiplyExact(decodeInt8(code), decode(FloatFormat::E8M0, scaleByte));
}

float mx::dequantize(FloatFormat elem, uint32_t code, FloatFormat scaleFormat,
                     uint8_t scale) {
  return roundToF32(dequantizeExact(elem, code, scaleFormat, scale));
}

uint16_t mx::dequantizeTo(FloatFormat result, FloatFormat elem, uint32_t code,
                          FloatFormat scaleFormat, uint8_t scale) {
  assert((result == FloatFormat::BF16 || result == FloatFormat::F16) &&
         "results are bf16 or f16");
  return uint16_t(
      encodeF64(result, dequantizeExact(elem, code, scaleFormat, scale)));
}
