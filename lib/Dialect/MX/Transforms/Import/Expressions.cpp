//===- Expressions.cpp - Matching of scaled values ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches arith.scaling_extf, the equivalent conversions, and their expansion
// by --arith-expand. Expansions are matched semantically: an integer expression
// is evaluated for all codes and compared with the values of each format.
//===----------------------------------------------------------------------===//

#include "Trace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx::import;

namespace {

/// Returns the types of elements and scales.
SmallVector<FloatType> getNarrowTypes(MLIRContext *context) {
  return {Float8E8M0FNUType::get(context), Float8E4M3FNType::get(context),
          Float8E5M2Type::get(context),    Float6E3M2FNType::get(context),
          Float6E2M3FNType::get(context),  Float4E2M1FNType::get(context)};
}

class Evaluator {
public:
  Evaluator(Value leaf, Attribute code) { known[leaf] = code; }

  Attribute evaluate(Value value) {
    if (auto it = known.find(value); it != known.end())
      return it->second;
    Attribute result = compute(value);
    known[value] = result;
    return result;
  }

private:
  Attribute compute(Value value) {
    Operation *op = value.getDefiningOp();
    Attribute constant;
    if (matchPattern(value, m_Constant(&constant)))
      return constant;
    if (!op || op->getNumResults() != 1 || op->getNumRegions() ||
        op->getDialect()->getNamespace() !=
            arith::ArithDialect::getDialectNamespace())
      return {};
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(evaluate(operand));
      if (!operands.back())
        return {};
    }
    // Folding may modify the operation, so fold a clone.
    Operation *copy = op->clone();
    SmallVector<OpFoldResult> results;
    Attribute result;
    if (succeeded(copy->fold(operands, results)) && results.size() == 1)
      result = isa<Attribute>(results[0]) ? cast<Attribute>(results[0])
                                          : evaluate(cast<Value>(results[0]));
    copy->destroy();
    return result;
  }

  llvm::DenseMap<Value, Attribute> known;
};

} // namespace

/// Returns the value that a code of `type` represents, as an f32.
static APFloat decodeNarrow(FloatType type, const APInt &code) {
  if (isa<Float8E8M0FNUType>(type) && code.isAllOnes())
    return APFloat::getNaN(APFloat::IEEEsingle());
  APFloat value(type.getFloatSemantics(), code);
  bool lost;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
  return value;
}

/// Returns true if `found` equals `expected`, rounded to the type of `found`.
static bool isNumber(Attribute found, APFloat expected, bool maybeZero) {
  auto number = dyn_cast_or_null<FloatAttr>(found);
  if (!number)
    return false;
  APFloat value = number.getValue();
  bool lost;
  expected.convert(value.getSemantics(), APFloat::rmNearestTiesToEven, &lost);
  if (expected.isNaN() || value.isNaN())
    return expected.isNaN() && value.isNaN();
  return value.bitwiseIsEqual(expected) || (maybeZero && value.isPosZero());
}

/// Returns true if `value`, computed from the code `leaf`, decodes `type` for
/// every code. arith's expansion flushes the smallest scale, 2^-127, to 0.
static bool computesFormat(Value value, Value leaf, FloatType type) {
  unsigned bits = type.getWidth();
  for (unsigned code = 0; code < 1u << bits; ++code) {
    APInt raw(bits, code);
    Attribute attr;
    if (auto number = dyn_cast<FloatType>(leaf.getType()))
      attr = FloatAttr::get(number, APFloat(number.getFloatSemantics(), raw));
    else
      attr = IntegerAttr::get(leaf.getType(), raw);
    if (!isNumber(Evaluator(leaf, attr).evaluate(value),
                  decodeNarrow(type, raw),
                  isa<Float8E8M0FNUType>(type) && code == 0))
      return false;
  }
  return true;
}

/// Returns the single body argument on which an arith expression depends.
static Value findArgument(Value value) {
  llvm::SmallSetVector<Value, 8> seen;
  SmallVector<Value> work = {value};
  Value argument;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op && argument && argument != next)
      return {};
    if (!op)
      argument = next;
    else if (seen.size() > 256)
      return {};
    else
      llvm::append_range(work, op->getOperands());
  }
  return argument;
}

static Value skipBitcast(Value value) {
  if (auto op = value.getDefiningOp<arith::BitcastOp>())
    return op.getIn();
  return value;
}

std::optional<Side> mx::import::matchSide(Value value) {
  bool through = false;
  value = skipConversions(value, through);
  if (auto op = value.getDefiningOp<arith::ExtFOp>())
    if (Type type = getElementTypeOrSelf(op.getIn());
        llvm::is_contained(getNarrowTypes(type.getContext()), type))
      return Side{skipBitcast(op.getIn()), type};
  if (isa<ShapedType>(value.getType()) || !value.getDefiningOp())
    return std::nullopt;
  Value leaf = findArgument(value);
  if (!leaf || !leaf.getType().isIntOrFloat() ||
      leaf.getType().getIntOrFloatBitWidth() > 8)
    return std::nullopt;
  for (FloatType type : getNarrowTypes(value.getContext())) {
    bool mayBe =
        leaf.getType() == type || leaf.getType().isInteger(type.getWidth());
    if (mayBe && computesFormat(value, leaf, type))
      return Side{leaf, type};
  }
  return std::nullopt;
}

std::optional<bool> mx::import::isFirstScale(Type first, Type second) {
  auto isScaleOf = [](Type scale, Type number) {
    return isa<Float8E8M0FNUType>(scale)
               ? !isa<Float8E8M0FNUType>(number)
               : isa<Float8E4M3FNType>(scale) && isa<Float4E2M1FNType>(number);
  };
  if (isScaleOf(second, first))
    return false;
  if (isScaleOf(first, second))
    return true;
  return std::nullopt;
}

std::optional<ScaledValue> mx::import::matchScaled(Value value,
                                                   std::string &why) {
  if (auto op = value.getDefiningOp<arith::ScalingExtFOp>()) {
    Type elements = getElementTypeOrSelf(op.getIn());
    Type scales = getElementTypeOrSelf(op.getScale());
    if (isa<Float8E8M0FNUType>(scales))
      return ScaledValue{skipBitcast(op.getIn()), skipBitcast(op.getScale()),
                         elements, scales};
    llvm::raw_string_ostream stream(why);
    stream << "the scales of arith.scaling_extf are " << scales
           << ", but the operation uses only their exponents: use f8E8M0FNU "
              "scales, or multiply the results of two arith.extf";
    return std::nullopt;
  }
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  std::optional<Side> left = matchSide(product.getLhs());
  std::optional<Side> right = left ? matchSide(product.getRhs()) : std::nullopt;
  std::optional<bool> isScaleFirst =
      right ? isFirstScale(left->type, right->type) : std::nullopt;
  if (!isScaleFirst)
    return std::nullopt;
  if (*isScaleFirst)
    std::swap(left, right);
  return ScaledValue{left->read, right->read, left->type, right->type};
}
