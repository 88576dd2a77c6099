//===- Compare.cpp - Compare one stage with its reference -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// For a product of n matrix instructions with K = k each the device's y obeys
//   |y - y64| <= n * ((k + 1) * 2^-25 + 2^-23) * sum|a||b| + ulp(out) / 2,
// where the first term of the factor allows the instruction to truncate its
// products to 25 bits below the largest before adding them, and the second is
// the rounding of the f32 accumulator; the simulator adds exactly, unless it is
// asked to truncate, and keeps the second only. y64 and the sum of magnitudes
// come from the reference path with f32 results; their own half ulp is added. A
// step whose sum is subnormal in f32 rounds by up to the smallest f32 instead,
// which is added per step as well. Where operands are dequantized to bf16
// first, the smallest round by up to half of the smallest bf16, and where one
// overflows there is no bound.
//
//===----------------------------------------------------------------------===//

#include "RaggedPadding.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Execution/Check.h"
#include "mx/Support/FloatFormats.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace mx;

/// What says where groups of rows end, if rows beyond the last are nobody's;
/// else null.
static Value getEndsOfRows(Operation *op) {
  if (auto grouped = dyn_cast<GroupedMatmulOp>(op))
    return grouped.getRagged() == RaggedKind::Rows && !grouped.getScatter() &&
                   !grouped.getMasked()
               ? Value(grouped.getOffsets())
               : Value();
  auto dequantize = dyn_cast<DequantizeOp>(op);
  return dequantize && dequantize.getRaggedOrNone() == RaggedKind::Rows
             ? Value(dequantize.getOffsets())
             : Value();
}

int64_t mx::countDefinedElements(Operation *op,
                                 const IntermediateArrays &arrays) {
  const NpyArray &result = *arrays.results[0];
  int64_t count = result.data.size() / npyItemSize(result.dtype);
  Value ends = getEndsOfRows(op);
  if (!ends)
    return count;
  const NpyArray *offsets =
      arrays.operands[llvm::find(op->getOperands(), ends).getIndex()];
  if (!offsets || offsets->data.size() < 4)
    return count;
  int32_t end;
  std::memcpy(&end, offsets->data.data() + offsets->data.size() - 4, 4);
  return result.shape.empty() || result.shape[0] == 0
             ? count
             : std::min(count, count / result.shape[0] * std::max(end, 0));
}

char NoReference::ID = 0;

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

namespace {

/// A float type of results, as numbers.
struct Numbers {
  enum Kind { F32, BF16, F16, None } kind = None;

  static Numbers get(Type type) {
    if (type.isF32())
      return {F32};
    if (type.isBF16())
      return {BF16};
    if (type.isF16())
      return {F16};
    return {None};
  }
  double at(const NpyArray &array, int64_t i) const {
    if (kind == F32) {
      float value;
      std::memcpy(&value, array.data.data() + 4 * i, 4);
      return value;
    }
    uint16_t code;
    std::memcpy(&code, array.data.data() + 2 * i, 2);
    return decode(kind == BF16 ? FloatFormat::BF16 : FloatFormat::F16, code);
  }
  /// Distance of neighbours around `value`.
  double ulp(double value) const {
    int mantissa = kind == F32 ? 23 : kind == BF16 ? 7 : 10;
    int emin = kind == F16 ? -14 : -126;
    int exponent = emin;
    if (value != 0 && std::isfinite(value))
      exponent = std::max(emin, std::ilogb(value));
    return std::ldexp(1.0, exponent - mantissa);
  }
  /// Where an infinity begins: 2^emax+1. Overflow is judged as that number.
  double infinity() const { return kind == F16 ? 65536.0 : 0x1p128; }
};

/// Bits of a byte that hold signs; 0xFF for two's complement, 0 for others.
uint8_t signMask(Type element) {
  auto narrow = dyn_cast<FloatType>(element);
  if (!narrow)
    return 0;
  switch (narrow.getWidth()) {
  case 8:
    return isa<Float8E8M0FNUType>(element) ? 0 : 0x80;
  case 6:
    return 0x20;
  case 4:
    return 0x88;
  default:
    return 0;
  }
}

/// The array with the magnitudes of its elements.
NpyArray magnitudes(const NpyArray &array, Type type) {
  Type element = getElementTypeOrSelf(type);
  NpyArray result = array;
  if (element.isInteger(8)) {
    for (uint8_t &byte : result.data)
      byte = uint8_t(std::min(std::abs(int(int8_t(byte))), 127));
    return result;
  }
  if (uint8_t mask = signMask(element)) {
    for (uint8_t &byte : result.data)
      byte &= uint8_t(~mask);
    return result;
  }
  // Wide floats: the sign is the top bit of each item.
  size_t item = npyItemSize(array.dtype);
  if (isa<FloatType>(element) && item > 1)
    for (size_t i = item - 1; i < result.data.size(); i += item)
      result.data[i] &= 0x7F;
  return result;
}

/// The same numbers as f32.
NpyArray widen(const NpyArray &array, Type type) {
  Numbers numbers = Numbers::get(getElementTypeOrSelf(type));
  if (numbers.kind == Numbers::F32 || numbers.kind == Numbers::None)
    return array;
  NpyArray result;
  result.dtype = "f4";
  result.shape = array.shape;
  size_t count = array.data.size() / 2;
  result.data.resize(4 * count);
  for (size_t i = 0; i < count; ++i) {
    float value = numbers.at(array, i);
    std::memcpy(result.data.data() + 4 * i, &value, 4);
  }
  return result;
}

llvm::Expected<std::vector<NpyArray>>
runReference(const ComparedOp &stage, const IntermediateArrays &arrays,
             OpVariant variant, bool asMagnitudes, const NpyArray *last = {}) {
  auto module = buildAlone(stage, arrays, variant);
  if (!module)
    return llvm::make_error<NoReference>(llvm::toString(module.takeError()));
  auto program = compileQuietly(**module, "stage", CompileOptions());
  if (!program)
    return llvm::make_error<NoReference>(
        "the reference path does not take it: " +
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
    bool widens = isInit && (variant == OpVariant::F32Result ||
                             variant == OpVariant::Sums);
    if ((asMagnitudes && !isInteger) || widens) {
      storage[index] = *array;
      if (asMagnitudes && !isInteger)
        storage[index] = magnitudes(storage[index], type);
      if (widens)
        storage[index] = widen(storage[index], type);
      inputs.back() = &storage[index];
    }
  }
  if (last)
    inputs.push_back(last);
  return (*program)->run(inputs);
}

ResultComparison compareBits(const NpyArray &device,
                             const NpyArray &reference) {
  ResultComparison found;
  found.isExact = true;
  found.elements = device.data.size() / npyItemSize(device.dtype);
  if (device.shape != reference.shape) {
    found.unequalBytes = std::max(device.data.size(), reference.data.size());
    return found;
  }
  for (size_t i = 0, e = device.data.size(); i < e; ++i)
    if (device.data[i] != reference.data[i]) {
      if (found.unequalBytes++ == 0)
        found.worst = i / npyItemSize(device.dtype);
    }
  return found;
}

/// What the bound of a product depends on besides its operands.
struct ProductBound {
  double steps = 0;           ///< MMA steps along K and other f32 additions
  double factor = 0;          ///< of the sum of magnitudes, per step
  double smallest = 0x1p-149; ///< where sums are subnormal, per step
  double extraUlps = 0;       ///< f32 roundings after the sum
  int64_t elements = 0;       ///< leading elements that are defined

  /// How far an f32 sum may be from `reference`, itself rounded to f32.
  double limit(double reference, double magnitude) const {
    return steps * (factor * magnitude * (1 + 0x1p-22) + smallest) +
           (0.5 + extraUlps) * Numbers{Numbers::F32}.ulp(reference);
  }
};

ResultComparison compareProduct(Numbers out, const NpyArray &device,
                                const NpyArray &reference,
                                const NpyArray &magnitude,
                                const ProductBound &bound) {
  ResultComparison found;
  Numbers f32 = {Numbers::F32};
  found.elements = bound.elements;
  for (int64_t i = 0; i < bound.elements; ++i) {
    double y = out.at(device, i), ref = f32.at(reference, i),
           sum = f32.at(magnitude, i);
    if (std::isnan(ref) || std::isnan(y)) {
      // A NaN operand makes NaN on both sides. Where magnitudes overflow,
      // infinities of both signs may meet on the device only.
      bool mayMeet = !std::isnan(ref) && !std::isfinite(sum);
      found.unbounded += mayMeet;
      if (std::isnan(ref) != std::isnan(y) && !mayMeet &&
          found.violations++ == 0)
        found.worst = i;
      continue;
    }
    if (std::isinf(y) && std::isinf(ref) &&
        std::signbit(y) == std::signbit(ref))
      continue;
    if (!std::isfinite(sum)) {
      ++found.unbounded;
      continue;
    }
    // An overflow is as good as the first number that overflows.
    if (std::isinf(y))
      y = std::copysign(out.infinity(), y);
    if (std::isinf(ref))
      ref = std::copysign(f32.infinity(), ref);
    // A finite result of a wide type may overflow a narrow one.
    if (std::fabs(y) == out.infinity() && std::fabs(ref) > out.infinity() &&
        std::signbit(y) == std::signbit(ref))
      continue;
    double largest = std::max(std::fabs(y), std::fabs(ref));
    double limit = bound.limit(ref, sum) +
                   0.5 * out.ulp(std::min(largest, out.infinity() / 2));
    double deviation = std::fabs(y - ref);
    double ratio = deviation / limit;
    found.maxDeviation = std::max(found.maxDeviation, deviation);
    if (ratio > found.maxBoundRatio) {
      found.maxBoundRatio = ratio;
      if (found.violations == 0)
        found.worst = i;
    }
    found.violations += deviation > limit;
  }
  return found;
}

/// Compares the results of an epilogue whose sums may differ: it is applied to
/// the sum and to both ends of what the bound allows, and what lies between is
/// as good. Where it is not monotonic between these a quarter more is.
llvm::Expected<ResultComparison>
compareEpilogue(Numbers out, const ComparedOp &stage,
                const IntermediateArrays &arrays, const NpyArray &sums,
                const NpyArray &magnitudes, const ProductBound &bound) {
  const NpyArray &device = *arrays.results[0];
  Numbers f32 = {Numbers::F32};
  std::array<NpyArray, 3> amounts = {sums, sums, sums};
  ResultComparison found;
  found.elements = bound.elements;
  for (int64_t i = 0; i < bound.elements; ++i) {
    double sum = f32.at(sums, i), magnitude = f32.at(magnitudes, i);
    bool isBounded = std::isfinite(sum) && std::isfinite(magnitude);
    found.unbounded += !isBounded && !std::isnan(sum);
    float limit =
        isBounded ? std::nextafter(float(bound.limit(sum, magnitude)), INFINITY)
                  : 0.0f;
    for (auto [end, amount] : llvm::enumerate(amounts)) {
      float value = (float(end) - 1) * limit;
      std::memcpy(amount.data.data() + 4 * i, &value, 4);
    }
  }
  SmallVector<NpyArray, 3> results;
  for (const NpyArray &amount : amounts) {
    auto result =
        runReference(stage, arrays, OpVariant::Disturbed, false, &amount);
    if (!result)
      return result.takeError();
    results.push_back(std::move(result->front()));
  }
  for (int64_t i = 0; i < bound.elements; ++i) {
    double y = out.at(device, i), lowest = INFINITY, highest = -INFINITY;
    unsigned nans = 0;
    for (const NpyArray &result : results) {
      double value = out.at(result, i);
      nans += std::isnan(value);
      lowest = std::fmin(lowest, value);
      highest = std::fmax(highest, value);
    }
    double magnitude = f32.at(magnitudes, i);
    if (nans || std::isnan(y)) {
      bool mayBe = nans == 0 ? !std::isfinite(magnitude)
                             : nans < results.size() || std::isnan(y);
      if (!mayBe && found.violations++ == 0)
        found.worst = i;
      continue;
    }
    if (!std::isfinite(magnitude))
      continue;
    if (!std::isfinite(y) || !std::isfinite(lowest) ||
        !std::isfinite(highest)) {
      if ((y < lowest || y > highest) && found.violations++ == 0)
        found.worst = i;
      continue;
    }
    double slack = out.ulp(std::max(std::fabs(lowest), std::fabs(highest))) +
                   0.25 * (highest - lowest);
    double middle = lowest / 2 + highest / 2;
    double deviation = std::fabs(y - middle);
    double ratio = deviation / (highest / 2 - lowest / 2 + slack);
    found.maxDeviation = std::max(found.maxDeviation, deviation);
    if (ratio > found.maxBoundRatio) {
      found.maxBoundRatio = ratio;
      if (found.violations == 0)
        found.worst = i;
    }
    found.violations += ratio > 1;
  }
  return found;
}

/// The number of K elements of a product.
template <typename OpT>
int64_t reductionExtent(OpT matmul, const IntermediateArrays &arrays) {
  const NpyArray &a = *arrays.operands[0];
  int64_t packing =
      llvm::cantFail(getArrayType(matmul.getA().getType())).packing;
  return a.shape.back() * packing;
}

/// What the chip makes of a product; none of what it has no instruction for.
std::optional<target::ProductForm> getProduct(MatmulOpInterface op,
                                              StringRef chip) {
  const target::TargetInfo *target = target::lookupTarget(chip.str());
  auto problem = target ? mxgpu::getMatmulProblem(op, *target) : std::nullopt;
  return problem ? std::optional(problem->product) : std::nullopt;
}

/// The same array of ones.
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

/// Whether the tensor core cuts terms before it adds them: that of a GPU does,
/// and the simulator's where it is asked to (docs/Simulator.md, Orders).
bool truncatesSums(const CompileOptions &options) {
  if (options.device == DeviceKind::CUDA)
    return true;
  const char *sums = std::getenv("MX_SIM_TENSOR_SUMS");
  return options.device == DeviceKind::Sim && sums &&
         StringRef(sums) == "truncated";
}

/// Whether elements may be so small or large as bf16 that they round, or are
/// subnormal. The scales between 2^-95 and 2^96 leave all formats far from both
/// (docs/Spec.md); those of NVFP4 do anyway.
bool mayLeaveDomain(const NpyArray &elements, const NpyArray *scales,
                    Type scaleType) {
  if (!scales) {
    for (size_t i = 0, e = elements.data.size() / 2; i < e; ++i) {
      uint16_t code;
      std::memcpy(&code, elements.data.data() + 2 * i, 2);
      if (!(code & 0x7f80) && (code & 0x7f))
        return true;
    }
    return false;
  }
  if (!isa<Float8E8M0FNUType>(scaleType))
    return false;
  return llvm::any_of(scales->data,
                      [](uint8_t code) { return code < 32 || code > 223; });
}

/// Adds to the sums of magnitudes what stands for the rounding of operands to
/// bf16, and for subnormal ones, which count as the smallest normal number
/// where sums are truncated. `perMagnitude` is what a sum deviates for each
/// unit of them.
llvm::Error addOperandRounding(const ComparedOp &stage,
                               const IntermediateArrays &arrays,
                               OpVariant variant, double perMagnitude,
                               bool isTruncated, NpyArray &magnitude) {
  auto matmul = cast<MatmulOpInterface>(stage.op);
  unsigned firstOfB = matmul.getAScales() ? 2 : 1;
  unsigned countOfB = matmul.getBScales() ? 2 : 1;
  for (auto [first, count] : {std::pair(0u, firstOfB), {firstOfB, countOfB}}) {
    bool isDequantized = count == 2;
    Type scaleType =
        isDequantized
            ? getElementTypeOrSelf(stage.op->getOperand(first + 1).getType())
            : Type();
    const NpyArray *elements = arrays.operands[first];
    const NpyArray *scales =
        isDequantized ? arrays.operands[first + 1] : nullptr;
    if (!elements || (isDequantized && !scales))
      return llvm::Error::success();
    if (!mayLeaveDomain(*elements, scales, scaleType))
      continue;
    // Half of the smallest bf16, times each of the other operand's elements.
    double each = isDequantized ? 0x1p-134 / perMagnitude : 0;
    if (isTruncated)
      each += 0x1p-126;
    IntermediateArrays changed = arrays;
    std::array<NpyArray, 2> ones;
    for (unsigned i = 0; i < count; ++i) {
      const NpyArray *&array = changed.operands[first + i];
      ones[i] = makeOnes(*array, stage.op->getOperand(first + i).getType());
      array = &ones[i];
    }
    auto sums = runReference(stage, changed, variant, true);
    if (!sums)
      return sums.takeError();
    for (size_t i = 0, e = magnitude.data.size() / 4; i < e; ++i) {
      float sum, total;
      std::memcpy(&sum, sums->front().data.data() + 4 * i, 4);
      std::memcpy(&total, magnitude.data.data() + 4 * i, 4);
      total = sum < 0x1p127 ? total + sum * each : INFINITY;
      std::memcpy(magnitude.data.data() + 4 * i, &total, 4);
    }
  }
  return llvm::Error::success();
}

template <typename OpT>
llvm::Expected<OpComparison> compareMatmul(OpT matmul, const ComparedOp &stage,
                                           const IntermediateArrays &arrays,
                                           const CompileOptions &options) {
  Numbers out =
      Numbers::get(getElementTypeOrSelf(matmul->getResult(0).getType()));
  if (out.kind == Numbers::None)
    return llvm::make_error<NoReference>(
        "its result is neither of f32 nor of bf16 or f16");
  bool hasEpilogue = matmul.getEpilogueBlock();
  OpVariant variant = hasEpilogue ? OpVariant::Sums : OpVariant::F32Result;
  auto reference = runReference(stage, arrays, variant, false);
  if (!reference)
    return reference.takeError();
  auto magnitude = runReference(stage, arrays, variant, true);
  if (!magnitude)
    return magnitude.takeError();
  ProductBound bound;
  // What only the reference path multiplies gets the widest bound.
  auto product = getProduct(matmul, options.chip);
  mxgpu::ReductionSteps steps(product.value_or(target::ProductForm()),
                              reductionExtent(matmul, arrays));
  bound.steps = steps.count + (matmul.getAccumulate() ? 1 : 0);
  bound.factor = 0x1p-23;
  bool isTruncated = truncatesSums(options);
  if (isTruncated) {
    bound.factor += (steps.products + 1) * 0x1p-25;
    bound.smallest += steps.products * 0x1p-151;
  }
  bound.extraUlps = matmul.getAlpha() ? 0.5 : 0;
  bound.elements = countDefinedElements(stage.op, arrays);
  if (options.device != DeviceKind::CPU && product &&
      !product->getWay().takesScales)
    if (llvm::Error error = addOperandRounding(stage, arrays, variant,
                                               bound.steps * bound.factor,
                                               isTruncated, magnitude->front()))
      return error;
  OpComparison comparison;
  const NpyArray &device = *arrays.results[0];
  if (device.shape != reference->front().shape) {
    comparison.results.push_back(compareBits(device, reference->front()));
  } else if (!hasEpilogue) {
    comparison.results.push_back(compareProduct(out, device, reference->front(),
                                                magnitude->front(), bound));
  } else if (device.shape.size() != 2) {
    return llvm::make_error<NoReference>(
        "its epilogue gives more than a matrix");
  } else {
    auto found = compareEpilogue(out, stage, arrays, reference->front(),
                                 magnitude->front(), bound);
    if (!found)
      return found.takeError();
    comparison.results.push_back(*found);
  }
  return comparison;
}

} // namespace

static llvm::Expected<OpComparison>
compareExactly(const ComparedOp &stage, const IntermediateArrays &arrays) {
  auto reference = runReference(stage, arrays, OpVariant::Same, false);
  if (!reference)
    return reference.takeError();
  OpComparison comparison;
  auto quantize = dyn_cast<QuantizeOp>(stage.op);
  for (auto [i, expected] : llvm::enumerate(*reference)) {
    NpyArray device = *arrays.results[i];
    if (quantize)
      ignorePadding(quantize, arrays, i, device, expected);
    if (isa<DequantizeOp>(stage.op) &&
        device.data.size() == expected.data.size()) {
      size_t defined =
          countDefinedElements(stage.op, arrays) * npyItemSize(expected.dtype);
      std::copy(expected.data.begin() + defined, expected.data.end(),
                device.data.begin() + defined);
    }
    comparison.results.push_back(compareBits(device, expected));
  }
  return comparison;
}

llvm::Expected<OpComparison> mx::compareOp(const ComparedOp &stage,
                                           const IntermediateArrays &arrays,
                                           const CompileOptions &options) {
  auto comparison =
      llvm::TypeSwitch<Operation *, llvm::Expected<OpComparison>>(stage.op)
          .Case<MatmulOp, GroupedMatmulOp>([&](auto matmul) {
            return compareMatmul(matmul, stage, arrays, options);
          })
          .Default([&](Operation *) { return compareExactly(stage, arrays); });
  if (!comparison)
    return comparison;
  comparison->stage = describeOp(stage.op);
  for (auto [index, result] : llvm::enumerate(comparison->results))
    result.result = index;
  return comparison;
}

llvm::Expected<EndToEnd> mx::compareEndToEnd(unsigned index, Type type,
                                             const NpyArray &device,
                                             const NpyArray &reference,
                                             size_t definedBytes) {
  EndToEnd found;
  found.result = index;
  Numbers numbers = Numbers::get(getElementTypeOrSelf(type));
  if (device.shape != reference.shape)
    return makeError("result " + llvm::Twine(index) + ": expected " +
                     npyTypeString(reference) + ", found " +
                     npyTypeString(device));
  if (numbers.kind == Numbers::None ||
      std::equal(device.data.begin(), device.data.begin() + definedBytes,
                 reference.data.begin()))
    return found;
  double signal = 0, noise = 0;
  for (size_t i = 0, e = definedBytes / npyItemSize(device.dtype); i < e; ++i) {
    double y = numbers.at(device, i), ref = numbers.at(reference, i);
    if (!std::isfinite(y) || !std::isfinite(ref))
      continue;
    signal += ref * ref;
    noise += (y - ref) * (y - ref);
  }
  if (noise != 0)
    found.snr = 10 * std::log10(signal / noise);
  return found;
}
