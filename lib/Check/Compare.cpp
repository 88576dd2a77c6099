//===- Compare.cpp - Comparison of a stage with its reference -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matmul executes n matrix instructions with K = k. Its result y on the
// device satisfies
//
//   |y - y64| <= n * ((k + 1) * 2^-25 + 2^-23) * sum|a||b| + ulp(out) / 2
//
// where y64 is the sum in f64. The first term allows the instruction to
// truncate products to 25 bits below the largest product. The second term is
// the rounding of the f32 accumulator. The simulator adds exactly unless
// truncation is enabled, so only the second term applies to it. y64 and the sum
// of magnitudes are f32 results of the reference path, so half an ulp of each
// is added to the bound.
//
// Each step with a subnormal f32 sum adds the smallest f32 to the bound. If
// operands are dequantized to bf16, small operands add half of the smallest
// bf16, and operands that overflow remove the bound. A partial sum may overflow
// only if the sum of all terms of one sign exceeds the largest f32. Infinity
// and NaN are errors if no partial sum can overflow. Finite values are errors
// if the sum must overflow.
//===----------------------------------------------------------------------===//

#include "RaggedPadding.h"
#include "mlir/IR/Matchers.h"
#include "mx/Check/Check.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace mx;

/// Returns the offsets of an operation if rows or columns of its first result
/// may be outside all expert groups and undefined, else null.
static Value getEnds(Operation *op) {
  if (auto grouped = dyn_cast<GroupedMatmulOp>(op))
    return grouped.getRagged() == RaggedKind::Rows && !grouped.getScatter()
               ? Value(grouped.getOffsets())
               : Value();
  auto dequantize = dyn_cast<DequantizeOp>(op);
  return dequantize && (dequantize.getRaggedOrNone() == RaggedKind::Rows ||
                        dequantize.getPadded())
             ? Value(dequantize.getOffsets())
             : Value();
}

ElementRanges mx::getDefinedElements(Operation *op,
                                     const IntermediateArrays &arrays) {
  const NpyArray &result = *arrays.results[0];
  int64_t count = result.data.size() / npyItemSize(result.dtype);
  if (count == 0)
    return {{0, 0}};
  // In a rank group of a single rank, only the rows of the input are defined.
  if (auto gather = dyn_cast<AllGatherOp>(op); gather && gather.getInput()) {
    const NpyArray *input = arrays.operands[0];
    int64_t rows =
        input ? input->shape[0]
              : cast<ShapedType>(gather.getInput().getType()).getDimSize(0);
    return {{0, count / result.shape[0] * rows}};
  }
  Value ends = getEnds(op);
  if (!ends)
    return {{0, count}};
  std::vector<int64_t> numbers;
  DenseIntElementsAttr constant;
  if (const NpyArray *offsets =
          arrays.operands[llvm::find(op->getOperands(), ends).getIndex()])
    numbers = readEnds(*offsets);
  else if (matchPattern(ends, m_Constant(&constant)))
    for (const APInt &number : constant.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
  else
    return {{0, count}};
  auto matmul = dyn_cast<MatmulOpInterface>(op);
  bool isMasked = matmul && matmul.isMasked();
  int64_t rows = result.shape[isMasked ? 1 : 0];
  int64_t columns = result.shape.back(), begin = 0;
  ElementRanges ranges;
  auto dequantize = dyn_cast<DequantizeOp>(op);
  if (dequantize && dequantize.getPadded()) {
    int64_t defined =
        std::min(countSegmentColumns(clampEnds(numbers, columns)), columns);
    for (int64_t row = 0; row < rows; ++row)
      ranges.push_back({row * columns, row * columns + defined});
    return ranges;
  }
  for (int64_t end : numbers) {
    end = std::clamp<int64_t>(end, 0, rows);
    if (isMasked) {
      ranges.push_back({begin, begin + end * columns});
      begin += rows * columns;
    } else {
      ranges.assign({{0, end * columns}});
    }
  }
  return ranges;
}

char NoReference::ID = 0;

void ResultComparison::addDeviation(int64_t element, double deviation,
                                    double ratio) {
  maxDeviation = std::max(maxDeviation, deviation);
  if (ratio <= maxBoundRatio)
    return;
  maxBoundRatio = ratio;
  if (violations == 0)
    worst = element;
}

llvm::Expected<std::unique_ptr<Program>>
mx::compileQuietly(ModuleOp module, StringRef entry,
                   const CompileOptions &options) {
  std::string first;
  ScopedDiagnosticHandler quiet(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (first.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          first = diagnostic.str();
        return success();
      });
  auto program = Program::compile(module, entry, options);
  if (!program && !first.empty()) {
    llvm::consumeError(program.takeError());
    return makeError(first);
  }
  return program;
}

llvm::Expected<Program *> ReferencePrograms::get(ModuleOp module,
                                                 StringRef entry) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().useLocalScope());
  std::unique_ptr<Program> &known = programs[text];
  if (!known) {
    auto program = compileQuietly(module, entry, CompileOptions());
    if (!program)
      return program.takeError();
    known = std::move(*program);
  }
  return known.get();
}

namespace {

template <typename Fn>
void forEachElement(const ElementRanges &ranges, Fn &&visit) {
  for (auto [begin, end] : ranges)
    for (int64_t i = begin; i < end; ++i)
      visit(i);
}

template <typename T>
T load(const NpyArray &array, int64_t i) {
  T value;
  std::memcpy(&value, array.data.data() + sizeof(T) * i, sizeof(T));
  return value;
}

template <typename T>
void store(NpyArray &array, int64_t i, T value) {
  std::memcpy(array.data.data() + sizeof(T) * i, &value, sizeof(T));
}

/// Float type of a matmul's results.
struct ResultFormat {
  enum Kind { F32, BF16, F16, None } kind = None;

  static ResultFormat get(Type type) {
    Type element = getElementTypeOrSelf(type);
    return {element.isF32()    ? F32
            : element.isBF16() ? BF16
            : element.isF16()  ? F16
                               : None};
  }
  FloatFormat narrow() const {
    return kind == BF16 ? FloatFormat::BF16 : FloatFormat::F16;
  }
  double at(const NpyArray &array, int64_t i) const {
    return kind == F32 ? load<float>(array, i)
                       : decode(narrow(), load<uint16_t>(array, i));
  }
  void set(NpyArray &array, int64_t i, float value) const {
    if (kind == F32)
      store(array, i, value);
    else
      store(array, i, uint16_t(encode(narrow(), value)));
  }
  /// Returns the distance between `value` and the next representable number.
  double ulp(double value) const {
    int mantissa = kind == F32 ? 23 : kind == BF16 ? 7 : 10;
    int emin = kind == F16 ? -14 : -126;
    int exponent = emin;
    if (value != 0 && std::isfinite(value))
      exponent = std::max(emin, std::ilogb(value));
    return std::ldexp(1.0, exponent - mantissa);
  }
  /// Returns 2^(emax + 1). Magnitudes from this value on overflow.
  double infinity() const { return kind == F16 ? 65536.0 : 0x1p128; }
};

uint8_t getScaleNaN() { return getInfo(*getPowerOfTwoFormat().scale).nanCode; }

NpyArray magnitudes(const NpyArray &array, Type type) {
  Type element = getElementTypeOrSelf(type);
  NpyArray result = array;
  if (element.isInteger(8))
    for (uint8_t &byte : result.data)
      byte = uint8_t(std::min(std::abs(int(int8_t(byte))), 127));
  auto number = dyn_cast<FloatType>(element);
  if (!number || !APFloat::semanticsHasSignedRepr(number.getFloatSemantics()))
    return result;
  // The sign is the top bit; two 4-bit elements share a byte.
  unsigned width = number.getWidth();
  uint8_t signs = width == 4 ? 0x88 : 1 << (width - 1) % 8;
  size_t item = npyItemSize(array.dtype);
  for (size_t i = item - 1; i < result.data.size(); i += item)
    result.data[i] &= ~signs;
  return result;
}

/// Converts the elements to f32.
NpyArray widen(const NpyArray &array, Type type) {
  ResultFormat format = ResultFormat::get(type);
  if (format.kind == ResultFormat::F32 || format.kind == ResultFormat::None)
    return array;
  size_t count = array.data.size() / 2;
  NpyArray result = {"f4", array.shape, {}};
  result.data.resize(4 * count);
  for (size_t i = 0; i < count; ++i)
    store(result, i, float(format.at(array, i)));
  return result;
}

llvm::Expected<std::vector<NpyArray>>
runReference(ReferencePrograms &programs, const ComparedOp &stage,
             const IntermediateArrays &arrays, OpVariant variant,
             bool asMagnitudes, const NpyArray *last = {}) {
  auto module = buildAlone(stage, arrays, variant);
  if (!module)
    return llvm::make_error<NoReference>(llvm::toString(module.takeError()));
  auto program = programs.get(**module, "stage");
  if (!program)
    return llvm::make_error<NoReference>("the reference path rejects it: " +
                                         llvm::toString(program.takeError()));
  auto structured = cast<DestinationStyleOpInterface>(stage.op);
  std::vector<NpyArray> storage(arrays.operands.size());
  SmallVector<const NpyArray *> inputs;
  for (auto [index, array] : llvm::enumerate(arrays.operands)) {
    if (!array)
      continue;
    inputs.push_back(array);
    if (index >= stage.op->getNumOperands())
      continue;
    Type type = stage.op->getOperand(index).getType();
    bool isInit = structured.isDpsInit(&stage.op->getOpOperand(index));
    bool isInteger = type.isIntOrIndex() ||
                     getElementTypeOrSelf(type).isInteger(32) ||
                     getElementTypeOrSelf(type).isInteger(64);
    auto change = [&](NpyArray changed) {
      storage[index] = std::move(changed);
      inputs.back() = &storage[index];
    };
    if (asMagnitudes && !isInteger)
      change(magnitudes(*inputs.back(), type));
    if (isInit &&
        (variant == OpVariant::F32Result || variant == OpVariant::Accumulator))
      change(widen(*inputs.back(), type));
  }
  if (last)
    inputs.push_back(last);
  return (*program)->run(inputs);
}

/// Range of a matmul's accumulator on the device.
struct SumRange {
  double low = 0, high = 0;
  /// True if infinities of both signs may be added.
  bool mayBeNaN = false;

  bool isUnbounded() const {
    return std::isinf(low) && std::isinf(high) && low != high;
  }
};

/// Parameters of a matmul's error bound, independent of element values.
struct MatmulBound {
  double steps = 0;           ///< MMA steps along K and other f32 additions
  double factor = 0;          ///< error per step, relative to the magnitudes
  double smallest = 0x1p-149; ///< added per step for subnormal sums
  double extraUlps = 0;       ///< f32 roundings after the sum
  double alpha = 1;           ///< factor of the sums, if known
  ElementRanges elements;     ///< defined elements

  /// Returns the maximum distance of an f32 sum from the rounded `reference`.
  double limit(double reference, double magnitude) const {
    return steps * (factor * magnitude * (1 + 0x1p-22) + smallest) +
           (0.5 + extraUlps) * ResultFormat{ResultFormat::F32}.ulp(reference);
  }
  /// Returns the range of a non-NaN sum. A partial sum may overflow if the sum
  /// of all terms of one sign overflows. Later terms cannot undo the overflow.
  SumRange getRange(double sum, double magnitude) const {
    double overflow = 0x1.ffffffp127 * (alpha == 0 ? 1 : std::fabs(alpha));
    double deviation = limit(sum, magnitude);
    if (std::isinf(sum)) // an operand is infinite
      return {sum, sum, magnitude + deviation >= overflow};
    if (std::isinf(magnitude))
      return {-INFINITY, INFINITY, true};
    bool mayRise = (magnitude + sum) / 2 + deviation >= overflow;
    bool mayFall = (magnitude - sum) / 2 + deviation >= overflow;
    return {mayFall ? -INFINITY : sum - deviation,
            mayRise ? INFINITY : sum + deviation, mayRise && mayFall};
  }
};

/// Sums of a matmul's terms, and of the terms' magnitudes. If possible, the
/// sums are not limited to the range of f32.
struct MatmulReference {
  std::vector<double> sums, magnitudes;
};

ResultComparison compareMatmul(ResultFormat out, const NpyArray &device,
                               const MatmulReference &reference,
                               const MatmulBound &bound) {
  ResultComparison found;
  forEachElement(bound.elements, [&](int64_t i) {
    ++found.elements;
    double y = out.at(device, i), sum = reference.sums[i];
    if (std::isnan(sum)) { // an operand is NaN, or +inf and -inf are added
      if (!std::isnan(y))
        found.violate(i);
      return;
    }
    SumRange range = bound.getRange(sum, reference.magnitudes[i]);
    found.unbounded += range.isUnbounded();
    if (std::isnan(y)) {
      if (!range.mayBeNaN)
        found.violate(i);
      return;
    }
    double largest = std::max(std::fabs(y), std::fabs(sum));
    double rounding = 0.5 * out.ulp(std::min(largest, out.infinity() / 2));
    double low = range.low - rounding, high = range.high + rounding;
    // Treat infinity as the smallest overflowing value.
    bool isGood = !std::isinf(y) ? y >= low && y <= high
                  : y > 0        ? high >= out.infinity()
                                 : low <= -out.infinity();
    if (std::isfinite(y) && std::isfinite(low) && std::isfinite(high)) {
      double deviation = std::fabs(y - sum);
      found.addDeviation(i, deviation, deviation / ((high - low) / 2));
    }
    if (!isGood)
      found.violate(i);
  });
  return found;
}

/// Compares the results of an epilogue on the device with reference results.
/// These are computed from the reference accumulator and from both ends of its
/// bound. Accepts all results between the reference results. A quarter of the
/// interval is added, because epilogues need not be monotonic.
llvm::Expected<ResultComparison>
compareEpilogue(ReferencePrograms &programs, ResultFormat out,
                const ComparedOp &stage, const IntermediateArrays &arrays,
                const NpyArray &sums, const MatmulReference &reference,
                const MatmulBound &bound) {
  const NpyArray &device = *arrays.results[0];
  ResultFormat f32 = {ResultFormat::F32};
  std::array<NpyArray, 3> amounts = {sums, sums, sums};
  for (NpyArray &amount : amounts)
    std::fill(amount.data.begin(), amount.data.end(), 0);
  ResultComparison found;
  std::vector<bool> isUnbounded(reference.sums.size());
  forEachElement(bound.elements, [&](int64_t i) {
    ++found.elements;
    double sum = reference.sums[i], start = f32.at(sums, i);
    if (std::isnan(sum))
      return;
    SumRange range = bound.getRange(sum, reference.magnitudes[i]);
    float below = 0, above = 0;
    if (std::isfinite(start)) {
      below = std::nextafter(float(range.low - start), -INFINITY);
      above = std::nextafter(float(range.high - start), INFINITY);
    }
    // Adding a finite number cannot turn an infinite sum into a finite sum.
    bool mayBeFinite = std::isinf(start) &&
                       (start > 0 ? range.low : -range.high) < f32.infinity();
    isUnbounded[i] = range.isUnbounded() || range.mayBeNaN || mayBeFinite;
    found.unbounded += isUnbounded[i];
    store(amounts[0], i, below);
    store(amounts[2], i, above);
  });
  SmallVector<NpyArray, 3> results;
  for (const NpyArray &amount : amounts) {
    auto result = runReference(programs, stage, arrays, OpVariant::Disturbed,
                               false, &amount);
    if (!result)
      return result.takeError();
    results.push_back(std::move(result->front()));
  }
  forEachElement(bound.elements, [&](int64_t i) {
    if (isUnbounded[i])
      return;
    double y = out.at(device, i), lowest = INFINITY, highest = -INFINITY;
    unsigned nans = 0;
    for (const NpyArray &result : results) {
      double value = out.at(result, i);
      nans += std::isnan(value);
      lowest = std::fmin(lowest, value);
      highest = std::fmax(highest, value);
    }
    if (nans || std::isnan(y)) {
      if (nans == 0 || (nans == results.size() && !std::isnan(y)))
        found.violate(i);
      return;
    }
    if (!std::isfinite(y) || !std::isfinite(lowest) ||
        !std::isfinite(highest)) {
      if (y < lowest || y > highest)
        found.violate(i);
      return;
    }
    double slack = out.ulp(std::max(std::fabs(lowest), std::fabs(highest))) +
                   0.25 * (highest - lowest);
    double middle = lowest / 2 + highest / 2;
    double deviation = std::fabs(y - middle);
    double ratio = deviation / (highest / 2 - lowest / 2 + slack);
    found.addDeviation(i, deviation, ratio);
    if (ratio > 1)
      found.violate(i);
  });
  return found;
}

/// Returns the operand index of B, which follows A and its scales.
unsigned matmulFirstOfB(Operation *op) {
  return cast<MatmulOpInterface>(op).getAScales() ? 2 : 1;
}

/// Returns K of a matmul.
template <typename OpT>
int64_t reductionExtent(OpT matmul, const IntermediateArrays &arrays) {
  const NpyArray &a = *arrays.operands[0];
  int64_t packing =
      llvm::cantFail(getArrayType(matmul.getA().getType())).packing;
  return a.shape.back() * packing;
}

/// Returns the MMA that computes a matmul on the chip, or none.
std::optional<target::MmaForm> getMma(MatmulOpInterface op, StringRef chip) {
  const target::TargetInfo *target = target::lookupTarget(chip.str());
  auto problem = target ? mxgpu::getMatmulProblem(op, *target) : std::nullopt;
  return problem ? std::optional(problem->mma) : std::nullopt;
}

/// Returns an array filled with 1, with the same shape and type.
NpyArray makeOnes(const NpyArray &array, Type type) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  llvm::APFloat one(element.getFloatSemantics(), 1);
  uint16_t code = one.bitcastToAPInt().getZExtValue();
  if (element.getWidth() == 4)
    code |= code << 4;
  if (element.getWidth() < 16)
    code |= code << 8;
  NpyArray ones = array;
  for (size_t i = 0, e = ones.data.size(); i < e; ++i)
    ones.data[i] = i % 2 ? code >> 8 : code & 0xff;
  return ones;
}

/// Returns true if the tensor core truncates addends. GPUs always truncate. The
/// simulator truncates if configured (simulator/docs/Simulator.md, Arithmetic).
bool truncatesAddends(const CompileOptions &options) {
  if (options.device == DeviceKind::CUDA)
    return true;
  const char *sums = std::getenv("MX_SIM_TENSOR_SUMS");
  return options.device == DeviceKind::Sim && sums &&
         StringRef(sums) == "truncated";
}

/// Returns true if elements converted to bf16 may overflow, round or
/// become subnormal. This cannot happen with scales between 2^-95 and 2^96
/// (docs/reference/Spec.md) or with NVFP4 scales.
bool mayLeaveDomain(const NpyArray &elements, const NpyArray *scales,
                    Type scaleType) {
  if (!scales) {
    for (size_t i = 0, e = elements.data.size() / 2; i < e; ++i) {
      uint16_t code = load<uint16_t>(elements, i);
      if (!(code & 0x7f80) && (code & 0x7f))
        return true;
    }
    return false;
  }
  if (!isPowerOfTwoScale(scaleType))
    return false;
  return llvm::any_of(scales->data,
                      [](uint8_t code) { return code < 32 || code > 223; });
}

/// Returns the largest code of a power-of-two scale for which no scaled element
/// of the type overflows bf16: maxFinite * 2^(code - 127) < 2^128.
int64_t largestScaleInRange(Type element) {
  const llvm::fltSemantics &format =
      cast<FloatType>(element).getFloatSemantics();
  return 254 - llvm::APFloat::semanticsMaxExponent(format);
}

/// Increases the sums of magnitudes to include the error of rounding operands
/// to bf16. If sums are truncated, also includes the smallest normal number for
/// each operand, because operands may be subnormal. `perMagnitude` is the
/// deviation per unit of magnitude. An operand that overflows removes the
/// bound.
llvm::Error addOperandRounding(ReferencePrograms &programs,
                               const ComparedOp &stage,
                               const IntermediateArrays &arrays,
                               OpVariant variant, double perMagnitude,
                               bool isTruncated,
                               std::vector<double> &magnitudes) {
  auto matmul = cast<MatmulOpInterface>(stage.op);
  unsigned firstOfB = matmulFirstOfB(stage.op);
  unsigned countOfB = matmul.getBScales() ? 2 : 1;
  std::pair<unsigned, unsigned> sides[] = {{0, firstOfB}, {firstOfB, countOfB}};
  auto typeOf = [&](unsigned operand) {
    return stage.op->getOperand(operand).getType();
  };
  for (auto [first, count] : sides) {
    bool isDequantized = count == 2;
    Type scaleType =
        isDequantized ? getElementTypeOrSelf(typeOf(first + 1)) : Type();
    const NpyArray *elements = arrays.operands[first];
    const NpyArray *scales =
        isDequantized ? arrays.operands[first + 1] : nullptr;
    if (!elements || (isDequantized && !scales))
      return llvm::Error::success();
    if (!mayLeaveDomain(*elements, scales, scaleType))
      continue;
    IntermediateArrays changed = arrays;
    std::vector<NpyArray> kept;
    kept.reserve(4);
    auto setOnes = [&](std::pair<unsigned, unsigned> side) {
      for (unsigned i = 0; i < side.second; ++i) {
        const NpyArray *&array = changed.operands[side.first + i];
        if (array)
          array = &kept.emplace_back(makeOnes(*array, typeOf(side.first + i)));
      }
    };
    setOnes({first, count});
    auto sums = runReference(programs, stage, changed, variant, true);
    if (!sums)
      return sums.takeError();
    ResultFormat f32 = {ResultFormat::F32};
    // Rounding changes an element by at most half of the smallest bf16. The
    // error is multiplied by the elements of the other operand.
    double each = isDequantized ? 0x1p-134 / perMagnitude : 0;
    if (isTruncated)
      each += 0x1p-126;
    for (size_t i = 0, e = magnitudes.size(); i < e; ++i)
      magnitudes[i] += f32.at(sums->front(), i) * each;

    if (!isPowerOfTwoScale(scaleType))
      continue;
    // Count the terms from blocks with elements that may overflow. All other
    // blocks get the scale 2^-127.
    int64_t largest = largestScaleInRange(getElementTypeOrSelf(typeOf(first)));
    NpyArray marks = *scales;
    bool isAny = false;
    for (uint8_t &code : marks.data) {
      bool overflows = code > largest && code != getScaleNaN();
      isAny |= overflows;
      code = overflows ? 127 : 0;
    }
    if (!isAny)
      continue;
    setOnes(first == 0 ? sides[1] : sides[0]);
    changed.operands[first + 1] = &marks;
    auto overflows = runReference(programs, stage, changed, variant, true);
    if (!overflows)
      return overflows.takeError();
    for (size_t i = 0, e = magnitudes.size(); i < e; ++i)
      if (f32.at(overflows->front(), i) >= 1)
        magnitudes[i] = INFINITY;
  }
  return llvm::Error::success();
}

/// Sums beyond the range of f32 are scaled by 2^-kShrink.
constexpr int kShrink = 40;

/// Replaces infinities with zeros.
NpyArray dropInfinities(const NpyArray &array, Type type) {
  Type element = getElementTypeOrSelf(type);
  NpyArray result = array;
  auto drop = [&](auto zero, int magnitude, int infinity) {
    for (size_t i = 0, e = result.data.size() / sizeof(zero); i < e; ++i)
      if ((load<decltype(zero)>(result, i) & magnitude) == infinity)
        store(result, i, zero);
  };
  if (isa<Float8E5M2Type>(element))
    drop(uint8_t(), 0x7F, 0x7C);
  else if (element.isBF16() || element.isF16())
    drop(uint16_t(), 0x7FFF, element.isBF16() ? 0x7F80 : 0x7C00);
  return result;
}

/// Returns operands for which the sums are 2^-40 of the original sums. Scales
/// one operand and the initial value of the accumulator. Terms that underflow
/// do not affect a sum that overflows. Returns none if both operands are
/// constants, or if the range of their formats is too small to overflow.
std::optional<IntermediateArrays> shrinkOperands(const ComparedOp &stage,
                                                 IntermediateArrays arrays) {
  auto matmul = cast<MatmulOpInterface>(stage.op);
  unsigned firstOfB = matmulFirstOfB(stage.op);
  auto elementOf = [&](unsigned operand) {
    return getElementTypeOrSelf(stage.op->getOperand(operand).getType());
  };
  auto replace = [&](unsigned operand, auto change) {
    auto changed = std::make_shared<NpyArray>(*arrays.operands[operand]);
    change(*changed);
    arrays.operands[operand] = changed.get();
    arrays.slices.push_back(std::move(changed));
  };
  auto shrinkFloats = [](Type element) {
    return [element](NpyArray &array) {
      ResultFormat format = ResultFormat::get(element);
      for (size_t i = 0, e = array.data.size() / npyItemSize(array.dtype);
           i < e; ++i)
        format.set(array, i, std::ldexp(format.at(array, i), -kShrink));
    };
  };
  auto shrinkSide = [&](unsigned first, bool hasScales) {
    unsigned operand = first + hasScales;
    Type element = elementOf(operand);
    if (!arrays.operands[operand])
      return false;
    if (isPowerOfTwoScale(element))
      replace(operand, [](NpyArray &array) {
        for (uint8_t &code : array.data)
          code = code == getScaleNaN() ? code : std::max(code - kShrink, 0);
      });
    else if (element.isBF16())
      replace(operand, shrinkFloats(element));
    else
      return false;
    return true;
  };
  if (!shrinkSide(0, bool(matmul.getAScales())) &&
      !shrinkSide(firstOfB, bool(matmul.getBScales())))
    return std::nullopt;
  auto structured = cast<DestinationStyleOpInterface>(stage.op);
  unsigned init = structured.getDpsInitOperand(0)->getOperandNumber();
  if (arrays.operands[init])
    replace(init, shrinkFloats(elementOf(init)));
  return arrays;
}

/// Computes a matmul's sums on the reference path. `narrow` receives f32 sums.
llvm::Expected<MatmulReference>
computeReference(ReferencePrograms &programs, const ComparedOp &stage,
                 const IntermediateArrays &arrays, OpVariant variant,
                 NpyArray &narrow) {
  ResultFormat f32 = {ResultFormat::F32};
  auto run = [&](const IntermediateArrays &operands, bool asMagnitudes,
                 std::vector<double> &values) -> llvm::Expected<NpyArray> {
    auto result =
        runReference(programs, stage, operands, variant, asMagnitudes);
    if (!result)
      return result.takeError();
    values.resize(result->front().data.size() / 4);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = f32.at(result->front(), i);
    return std::move(result->front());
  };
  MatmulReference found;
  auto sums = run(arrays, false, found.sums);
  if (!sums)
    return sums.takeError();
  narrow = std::move(*sums);
  auto magnitudes = run(arrays, true, found.magnitudes);
  if (!magnitudes)
    return magnitudes.takeError();
  auto overflows = [](double value) { return std::isinf(value); };
  if (llvm::none_of(found.magnitudes, overflows))
    return found;
  std::optional<IntermediateArrays> shrunken = shrinkOperands(stage, arrays);
  if (!shrunken)
    return found;
  MatmulReference small;
  sums = run(*shrunken, false, small.sums);
  if (!sums)
    return sums.takeError();
  // An infinite operand makes the sum infinite. Add only the finite terms.
  std::array<NpyArray, 2> finite;
  unsigned operands[] = {0, matmulFirstOfB(stage.op)};
  for (auto [operand, array] : llvm::zip(operands, finite)) {
    const NpyArray *&from = shrunken->operands[operand];
    if (!from)
      continue;
    array = dropInfinities(*from, stage.op->getOperand(operand).getType());
    from = &array;
  }
  magnitudes = run(*shrunken, true, small.magnitudes);
  if (!magnitudes)
    return magnitudes.takeError();
  for (size_t i = 0, e = found.sums.size(); i < e; ++i)
    if (overflows(found.magnitudes[i])) {
      found.sums[i] = std::ldexp(small.sums[i], kShrink);
      found.magnitudes[i] = std::ldexp(small.magnitudes[i], kShrink);
    }
  return found;
}

/// Returns alpha if its value was recorded or is constant, else 1.
double findAlpha(MatmulOpInterface op, const IntermediateArrays &arrays) {
  Value alpha = op.getAlpha();
  if (!alpha)
    return 1;
  unsigned operand = llvm::find(op->getOperands(), alpha).getIndex();
  if (const NpyArray *array = arrays.operands[operand])
    return ResultFormat{ResultFormat::F32}.at(*array, 0);
  FloatAttr constant;
  return matchPattern(alpha, m_Constant(&constant))
             ? constant.getValueAsDouble()
             : 1;
}

template <typename OpT>
llvm::Expected<OpComparison>
compareMatmul(ReferencePrograms &programs, OpT matmul, const ComparedOp &stage,
              const IntermediateArrays &arrays, const CompileOptions &options) {
  ResultFormat out = ResultFormat::get(matmul->getResult(0).getType());
  if (out.kind == ResultFormat::None)
    return llvm::make_error<NoReference>("its result is not f32, bf16 or f16");
  bool hasEpilogue = matmul.getEpilogueBlock();
  OpVariant variant =
      hasEpilogue ? OpVariant::Accumulator : OpVariant::F32Result;
  NpyArray sums;
  auto reference = computeReference(programs, stage, arrays, variant, sums);
  if (!reference)
    return reference.takeError();
  MatmulBound bound;
  // If the chip has no MMA for the matmul, use the widest bound.
  auto mma = getMma(matmul, options.chip);
  mxgpu::ReductionSteps steps(mma.value_or(target::MmaForm()),
                              reductionExtent(matmul, arrays));
  bound.steps = steps.count + (matmul.getAccumulate() ? 1 : 0);
  bound.factor = 0x1p-23;
  bool isTruncated = truncatesAddends(options);
  if (isTruncated) {
    bound.factor += (steps.products + 1) * 0x1p-25;
    bound.smallest += steps.products * 0x1p-151;
  }
  bound.extraUlps = matmul.getAlpha() ? 0.5 : 0;
  bound.alpha = findAlpha(matmul, arrays);
  bound.elements = getDefinedElements(stage.op, arrays);
  if (options.device != DeviceKind::CPU && mma &&
      !mma->instruction->takesScales)
    if (llvm::Error error = addOperandRounding(
            programs, stage, arrays, variant, bound.steps * bound.factor,
            isTruncated, reference->magnitudes))
      return error;
  OpComparison comparison;
  const NpyArray &device = *arrays.results[0];
  if (device.shape != sums.shape) {
    comparison.results.push_back(compareBits(device, sums));
  } else if (!hasEpilogue) {
    comparison.results.push_back(compareMatmul(out, device, *reference, bound));
  } else if (device.shape.size() != 2) {
    return llvm::make_error<NoReference>(
        "its epilogue computes more than one matrix");
  } else {
    auto found =
        compareEpilogue(programs, out, stage, arrays, sums, *reference, bound);
    if (!found)
      return found.takeError();
    comparison.results.push_back(*found);
  }
  return comparison;
}

} // namespace

static llvm::Expected<OpComparison>
compareExactly(ReferencePrograms &programs, const ComparedOp &stage,
               const IntermediateArrays &arrays) {
  auto reference =
      runReference(programs, stage, arrays, OpVariant::Same, false);
  if (!reference)
    return reference.takeError();
  OpComparison comparison;
  auto quantize = dyn_cast<FusedQuantizeOp>(stage.op);
  for (auto [i, expected] : llvm::enumerate(*reference)) {
    NpyArray device = *arrays.results[i];
    if (quantize)
      ignorePadding(quantize, arrays, i, device, expected);
    if (isa<DequantizeOp, AllGatherOp>(stage.op) &&
        device.data.size() == expected.data.size()) {
      // Rows that belong to no expert group or token are not compared.
      NpyArray defined = expected;
      size_t item = npyItemSize(expected.dtype);
      for (auto [begin, end] : getDefinedElements(stage.op, arrays))
        std::copy(device.data.begin() + begin * item,
                  device.data.begin() + end * item,
                  defined.data.begin() + begin * item);
      device = std::move(defined);
    }
    comparison.results.push_back(compareBits(device, expected));
  }
  return comparison;
}

llvm::Expected<OpComparison> mx::compareOp(ReferencePrograms &programs,
                                           const ComparedOp &stage,
                                           const IntermediateArrays &arrays,
                                           const CompileOptions &options) {
  auto comparison =
      llvm::TypeSwitch<Operation *, llvm::Expected<OpComparison>>(stage.op)
          .Case<MatmulOp, GroupedMatmulOp>([&](auto matmul) {
            return compareMatmul(programs, matmul, stage, arrays, options);
          })
          .Default([&](Operation *) {
            return compareExactly(programs, stage, arrays);
          });
  if (!comparison)
    return comparison;
  comparison->stage = describeOp(stage.op);
  for (auto [index, result] : llvm::enumerate(comparison->results))
    result.result = index;
  return comparison;
}
