//===- DequantizeFragment.cpp - Dequantization to 16-bit pairs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element is converted to bf16 by moving its exponent and mantissa to the
// bf16 fields. The result is the element times 2^(bias - 127), even for a
// subnormal. One multiplication by scale * 2^(127 - bias) corrects the factor
// and applies the scale, so the exact product is rounded once.
//
// A thread takes a slow path if the multiplier of any scale exceeds the range
// of bf16. It also takes this path if an element is NaN or infinity, because
// the bf16 fields would encode a finite number. Formats without NaN then
// multiply twice, first exactly by 2^(127 - bias) and then by the scale as
// bf16. Other formats compute in f32. E4M3 scales always use two
// multiplications. With `finite` there is no slow path.
//===----------------------------------------------------------------------===//

#include "../Common/Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/BlockFormats/BlockFormat.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

using Values = SmallVector<Value>;

/// Mantissa bits, bias and largest finite exponent field of bf16.
static constexpr int64_t kMantissaBits = 7, kBias = 127, kMaxField = 254;

/// Scale indices of the two halves of a word.
using ScalePair = std::pair<int64_t, int64_t>;

/// Returns the scale indices of a thread's elements in register order.
static SmallVector<ScalePair> getScalePairs(FragmentLayoutAttr layout,
                                            int64_t block) {
  SmallVector<int64_t> scales(layout.getNumValues());
  SmallVector<int64_t> blocks = layout.getBlocks(block);
  for (auto [i, row] : llvm::enumerate(layout.getRowOffsets()))
    for (const FragmentRun &run : layout.getRuns())
      for (int64_t k = 0; k < run.size; ++k) {
        int64_t column = run.column + k;
        auto *found = llvm::find(blocks, column / block);
        scales[layout.getRegister(row, column)] =
            i * blocks.size() + (found - blocks.begin());
      }
  SmallVector<ScalePair> pairs;
  for (size_t i = 0; i < scales.size(); i += 2)
    pairs.push_back({scales[i], scales[i + 1]});
  return pairs;
}

namespace {

/// Multiplies a thread's elements by their scales. `words` and `scaleWords`
/// contain as many elements or scales per word as fit.
class FragmentProducts {
public:
  FragmentProducts(DequantizeFragmentOp op, NVVMBuilder &builder,
                   ArrayRef<Value> words, ArrayRef<Value> scaleWords)
      : builder(builder), element(op.getInput().getType().getElementType()),
        format(getElementFormat(element)),
        math(builder, element, hasNarrowConversions(op)), words(words),
        scaleWords(scaleWords),
        scales(getBlockFormat(getElementTypeOrSelf(op.getScales()))),
        scaleBits(getElementTypeOrSelf(op.getScales()).getIntOrFloatBitWidth()),
        pairs(getScalePairs(op.getInput().getType().getLayout(),
                            op.getBlock())) {}

  /// Returns words of two bf16 values in element order.
  Values build();
  /// Return words of two f16 or bf16 values, divided by 2^(reference - 127).
  /// Requires that isRare() is false.
  Values buildInF16(Value reference);
  Values buildFinite(Value reference);

private:
  Value shiftLeft(Value word, int64_t bits);
  Value mask(Value word, uint32_t bits);
  Value inBothHalves(int64_t bits) { return builder.i32(bits * 0x10001); }
  Value multiply(Value a, Value b);

  Value placePair(Value low, Value high, int64_t first, int64_t second);
  Values place();

  Values forScales(function_ref<Value(Value word, int64_t number)> get);
  Value getMultiplier(Value word, int64_t byte, Value offset);
  Value getScaleInF32(Value word, int64_t number);
  Value getScale(Value word, int64_t byte);
  Value joinScales(ArrayRef<Value> scales, const ScalePair &pair);

  Value isRare();
  Values multiplyOnce(Values placed, Value offset);
  Values multiplyTwice(Values placed);
  Values multiplyInF32();
  Values choose(function_ref<Values()> rare, function_ref<Values()> usual);

  NVVMBuilder &builder;
  Type element;
  const FloatFormatInfo &format;
  DequantizeMath math;
  ArrayRef<Value> words, scaleWords;
  const BlockFormat &scales;
  int64_t scaleBits;
  SmallVector<ScalePair> pairs;
};

} // namespace

Value FragmentProducts::shiftLeft(Value word, int64_t bits) {
  if (bits == 0)
    return word;
  return builder.shiftLeft(word, bits);
}

Value FragmentProducts::mask(Value word, uint32_t bits) {
  return builder.andBits(word, int32_t(bits));
}

Value FragmentProducts::multiply(Value a, Value b) {
  // Create the casts in separate statements, because C++ does not define the
  // evaluation order of arguments.
  Type type = VectorType::get({2}, builder.getBF16Type());
  Value right = LLVM::BitcastOp::create(builder, type, b);
  Value left = LLVM::BitcastOp::create(builder, type, a);
  Value product = LLVM::FMulOp::create(builder, left, right);
  return LLVM::BitcastOp::create(builder, builder.getI32Type(), product);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Moves two bytes with the sign in their highest bit to the fields of bf16.
/// The sign-extended byte is shifted left, and the mask removes the copies of
/// the sign between sign and exponent, and bits below the mantissa.
Value FragmentProducts::placePair(Value low, Value high, int64_t first,
                                  int64_t second) {
  constexpr uint32_t kSign = 8; // PTX ISA, prmt: replicates the byte's sign
  uint32_t selector =
      first | (kSign | first) << 4 | second << 8 | (kSign | second) << 12;
  Value pair = builder.permute(low, high, selector);
  uint32_t numberBits = format.exponentBits + format.mantissaBits;
  uint32_t number = ((1u << numberBits) - 1)
                    << (kMantissaBits - format.mantissaBits);
  return mask(shiftLeft(pair, format.exponentBits),
              (0x8000 | number) * 0x10001);
}

/// Moves all elements to the fields of bf16, two elements per result.
Values FragmentProducts::place() {
  Values placed;
  for (Value word : words) {
    Value top = shiftLeft(word, 8 - format.bits); // sign on top of a byte
    for (int64_t i = 0; i < 4; ++i) {
      // `top` contains the low nibbles, `word` the high nibbles.
      if (format.bits == 4)
        placed.push_back(placePair(top, word, i, 4 + i));
      else if (i % 2 == 0)
        placed.push_back(placePair(top, top, i, i + 1));
    }
  }
  return placed;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Returns the result of `get` for each scale of the thread. `get` receives the
/// word that contains the scale and the scale's position in the word.
Values FragmentProducts::forScales(
    function_ref<Value(Value word, int64_t number)> get) {
  Values scales;
  int64_t count = 0, inWord = 32 / scaleBits;
  for (const ScalePair &pair : pairs)
    count = std::max({count, pair.first + 1, pair.second + 1});
  for (int64_t i = 0; i < count; ++i)
    scales.push_back(get(scaleWords[i / inWord], i % inWord));
  return scales;
}

/// Adds a scale byte and `offset` as exponents, and returns the power of two in
/// both halves of a word as bf16.
Value FragmentProducts::getMultiplier(Value word, int64_t byte, Value offset) {
  Value field = builder.permute(word, builder.i32(0), 0x4040 | byte * 0x101);
  return builder.add(shiftLeft(field, kMantissaBits), offset);
}

Value FragmentProducts::getScaleInF32(Value word, int64_t number) {
  if (scaleBits == 32)
    return math.decodeScale(word, scales);
  Value code = builder.permute(word, builder.i32(0), 0x4440 | number);
  return math.decodeScale(
      arith::TruncIOp::create(builder, builder.getI8Type(), code), scales);
}

/// Returns the scale, which bf16 represents exactly, in both halves of a word.
Value FragmentProducts::getScale(Value word, int64_t byte) {
  Value bits = builder.bitcast(builder.getI32Type(), getScaleInF32(word, byte));
  return builder.permute(bits, bits, 0x3232);
}

Value FragmentProducts::joinScales(ArrayRef<Value> scales,
                                   const ScalePair &pair) {
  Value first = scales[pair.first], second = scales[pair.second];
  return first == second ? first : builder.permute(first, second, 0x5410);
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

/// Returns true if an element or scale of the thread needs the slow path. Adds
/// a constant to all bytes at once. The sum flips the highest bit of NaN codes
/// and clears the highest bit of large scales. A carry into the next byte is
/// harmless, because only a byte that needs the slow path can carry.
Value FragmentProducts::isRare() {
  Value found = builder.i32(0);
  auto add = [&](Value word, int64_t number) {
    return builder.add(word, builder.i32(number * 0x01010101));
  };
  auto collect = [&](Value bits) { found = builder.orBits(found, bits); };
  // Find scales above the largest that the fast path supports.
  int64_t most = kMaxField - (kBias - format.bias);
  for (Value word : scaleWords) {
    Value kept = add(word, 0xFF - most);
    Value lost = builder.xorBits(kept, -1);
    collect(builder.andBits(word, lost));
  }
  // Find NaN, and infinity in formats with infinity.
  int64_t last = format.hasInfinity ? 1 << format.mantissaBits : 1;
  if (format.hasNaN)
    for (Value word : words)
      collect(builder.xorBits(add(word, last), word));
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                               mask(found, 0x80808080), builder.i32(0));
}

Values FragmentProducts::multiplyOnce(Values placed, Value offset) {
  Values multipliers = forScales([&](Value word, int64_t byte) {
    return getMultiplier(word, byte, offset);
  });
  for (auto [number, pair] : llvm::zip(placed, pairs))
    number = multiply(number, joinScales(multipliers, pair));
  return placed;
}

Values FragmentProducts::multiplyTwice(Values placed) {
  Values scales =
      forScales([&](Value word, int64_t byte) { return getScale(word, byte); });
  Value factor = inBothHalves((kMaxField - format.bias) << kMantissaBits);
  for (auto [number, pair] : llvm::zip(placed, pairs))
    number = multiply(multiply(number, factor), joinScales(scales, pair));
  return placed;
}

Values FragmentProducts::multiplyInF32() {
  Values scales = forScales(
      [&](Value word, int64_t number) { return getScaleInF32(word, number); });
  Values numbers = math.decode(words), products;
  for (auto [i, pair] : llvm::enumerate(pairs)) {
    Value low =
        arith::MulFOp::create(builder, numbers[2 * i], scales[pair.first]);
    Value high =
        arith::MulFOp::create(builder, numbers[2 * i + 1], scales[pair.second]);
    products.push_back(
        builder.convertToHalves(high, low, builder.getBF16Type()));
  }
  return products;
}

Values FragmentProducts::choose(function_ref<Values()> rare,
                                function_ref<Values()> usual) {
  SmallVector<Type> types(pairs.size(), builder.getI32Type());
  auto ifOp = scf::IfOp::create(builder, types, isRare(), /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, rare());
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(builder, usual());
  return Values(ifOp.getResults());
}

Values FragmentProducts::build() {
  if (scales.codec)
    return multiplyInF32();
  Values placed = place();
  if (!isPowerOfTwoScale(scales.getScaleType(builder.getContext())))
    return multiplyTwice(placed);
  // The multiplier 2^(byte - 127) * 2^(127 - bias) is 2^(byte - bias), so add
  // 127 - bias to the byte to get the exponent field.
  Value offset = inBothHalves((kBias - format.bias) << kMantissaBits);
  if (!format.hasNaN)
    return choose([&] { return multiplyTwice(placed); },
                  [&] { return multiplyOnce(placed, offset); });
  // Multiply before the branch to hide the latency of its condition.
  Values products = multiplyOnce(placed, offset);
  return choose([&] { return multiplyInF32(); }, [&] { return products; });
}

Values FragmentProducts::buildFinite(Value reference) {
  Value field =
      builder.sub(builder.i32(2 * kBias - int64_t(format.bias)), reference);
  Value offset = builder.mul(field, inBothHalves(1 << kMantissaBits));
  return multiplyOnce(place(), offset);
}

/// Converts with cvt, which preserves NaN. The multiplication is exact.
Values FragmentProducts::buildInF16(Value reference) {
  constexpr int64_t kF16Bias = 15, kF16MantissaBits = 10;
  Value offset = builder.sub(builder.i32(kF16Bias), reference);
  Values multipliers = forScales([&](Value word, int64_t byte) -> Value {
    Value code = builder.permute(word, builder.i32(0), 0x4440 | byte);
    Value field = arith::MaxSIOp::create(builder, builder.add(code, offset),
                                         builder.i32(0));
    return builder.mul(field, inBothHalves(1 << kF16MantissaBits));
  });
  Type type = VectorType::get({2}, builder.getF16Type());
  Values products;
  for (Value word : words)
    for (int64_t half : {0, 16}) {
      Value codes = half ? builder.shiftRight(word, half) : word;
      Value number = builder.widenNarrow(
          arith::TruncIOp::create(builder, builder.getI16Type(), codes),
          element);
      Value factor = joinScales(multipliers, pairs[products.size()]);
      Value product = LLVM::FMulOp::create(
          builder, number,
          LLVM::BitcastOp::create(builder, type, factor).getResult());
      products.push_back(
          LLVM::BitcastOp::create(builder, builder.getI32Type(), product));
    }
  return products;
}

/// Packs scales into words. The last word is padded with zeros.
static Values getScaleWords(NVVMBuilder &builder, Value scales) {
  auto type = cast<VectorType>(scales.getType());
  int64_t count = type.getNumElements();
  Value bytes = vector::ShapeCastOp::create(
      builder, VectorType::get({count}, type.getElementType()), scales);
  Type code = builder.getIntegerType(type.getElementTypeBitWidth());
  auto byteType = VectorType::get({count}, code);
  bytes = builder.bitcast(byteType, bytes);
  int64_t inWord = 32 / type.getElementTypeBitWidth();
  if (count % inWord) {
    auto whole = VectorType::get({int64_t(llvm::alignTo(count, inWord))}, code);
    Value zeros =
        arith::ConstantOp::create(builder, builder.getZeroAttr(whole));
    bytes = vector::InsertStridedSliceOp::create(
        builder, bytes, zeros, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
  }
  return splitWords(builder, bytes);
}

/// Reorders two-element words from layout `from` to layout `to`.
static Values reorder(ArrayRef<Value> words, FragmentLayoutAttr from,
                      FragmentLayoutAttr to) {
  if (from == to)
    return llvm::to_vector(words);
  Values ordered(words.size());
  for (int64_t row : to.getRowOffsets())
    for (const FragmentRun &run : to.getRuns())
      for (int64_t column = run.column; column < run.column + run.size;
           column += 2)
        ordered[to.getRegister(row, column) / 2] =
            words[from.getRegister(row, column) / 2];
  return ordered;
}

static Values lowerDequantizeFragment(NVVMBuilder &builder,
                                      DequantizeFragmentOp op,
                                      DequantizeFragmentOp::Adaptor adaptor,
                                      const TypeConverter &converter) {
  Values words = splitWords(builder, adaptor.getInput());
  Values scaleWords = getScaleWords(builder, adaptor.getScales());
  FragmentProducts products(op, builder, words, scaleWords);
  Value reference = adaptor.getReference();
  Values built = !reference       ? products.build()
                 : op.getFinite() ? products.buildFinite(reference)
                                  : products.buildInF16(reference);
  Values ordered = reorder(built, op.getInput().getType().getLayout(),
                           op.getType().getLayout());
  auto type = converter.convertType<VectorType>(op.getType());
  return {joinWords(builder, ordered, type)};
}

void mx::mxgpu::populateDequantizeFragmentPatterns(
    RewritePatternSet &patterns, const TypeConverter &converter) {
  addPatterns<lowerDequantizeFragment>(converter, patterns);
}
