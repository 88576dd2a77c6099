//===- TestDialect.cpp - Attributes of a made-up tensor core --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TestDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mx/NVVM/NVVMBuilder.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::test;
using target::MmaPlace;

MLIR_DEFINE_EXPLICIT_TYPE_ID(mx::test::TestMmaAttr)
MLIR_DEFINE_EXPLICIT_TYPE_ID(mx::test::TestOrderAttr)
MLIR_DEFINE_EXPLICIT_TYPE_ID(mx::test::TestStrategyAttr)

target::MmaRoles TestMmaAttr::getRoles() const {
  MmaPlace operands = isShared() ? MmaPlace::SharedMemory : MmaPlace::Registers;
  return {target::kWarpSize,
          operands,
          operands,
          MmaPlace::Registers,
          MmaPlace::Registers,
          target::MmaCompletion::Synchronous};
}

FragmentModes TestMmaAttr::getAccumulatorModes(int64_t columns) const {
  return {{{4, 0, 2}, {8, 1, 0}}, {{2, 0, 1}, {2, 8, 0}, {columns / 8, 0, 8}}};
}

/// Four threads share a row. A thread holds two 4-element words of every 32
/// columns, and one of every 4 scales.
FragmentModes TestMmaAttr::getOperandModes(MmaOperand operand, Type element,
                                           int64_t columns) const {
  bool isScales =
      operand == MmaOperand::AScales || operand == MmaOperand::BScales;
  if (isScales ? columns % 4 || !isa<Float8E8M0FNUType>(element)
               : columns % 32 || !isa<Float8E4M3FNType>(element))
    return {};
  FragmentMode rows = {getN() / 8, 8, 0};
  switch (operand) {
  case MmaOperand::A:
    return {{{4, 0, 4}, {8, 1, 0}},
            {{4, 0, 1}, {2, 8, 0}, {2, 0, 16}, {columns / 32, 0, 32}}};
  case MmaOperand::B:
    if (getN() == 8)
      return {{{4, 0, 4}, {8, 1, 0}},
              {{4, 0, 1}, {2, 0, 16}, {columns / 32, 0, 32}}};
    return {{{4, 0, 4}, {8, 1, 0}},
            {{4, 0, 1}, {2, 0, 16}, {columns / 32, 0, 32}, rows}};
  case MmaOperand::AScales:
    return {{{4, 0, 1}, {8, 1, 0}}, {{2, 8, 0}, {columns / 4, 0, 4}}};
  case MmaOperand::BScales:
    if (getN() == 8)
      return {{{4, 0, 1}, {8, 1, 0}}, {{columns / 4, 0, 4}}};
    return {{{4, 0, 1}, {8, 1, 0}}, {{columns / 4, 0, 4}, rows}};
  }
  llvm_unreachable("all operands are listed");
}

LogicalResult TestMmaAttr::verifyMma(MmaOp &op) const {
  if (op.getAccumulate() || op.getExtent() || op.getBOffset())
    return op.emitOpError("expected neither accumulate, extent nor b_offset");
  return success();
}

Value TestMmaAttr::emit(NVVMBuilder &builder, MmaOp &,
                        const MmaOperands &values) const {
  OperationState state(builder.getLoc(), "mx_test.multiply");
  state.addOperands(
      {values.a, values.b, values.aScales, values.bScales, values.d});
  state.addTypes(values.d.getType());
  return builder.create(state)->getResult(0);
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// Each thread holds two 4-element words of every 32 columns.
OperandTiles TestOrderAttr::getTiles() const {
  AffineExpr i, j;
  bindDims(getContext(), i, j);
  auto getMap = [&](AffineExpr row, AffineExpr thread, AffineExpr value) {
    AffineExpr column = thread * 4 + value % 4 + value.floorDiv(4) * 16;
    return AffineMap::get(2, 0, {row, column}, getContext());
  };
  if (hasTiles())
    return {8, 32, {32, 8}, getMap(i.floorDiv(4), i % 4, j)};
  return {1, 32, {}, getMap(i, j.floorDiv(8), j % 8)};
}

//===----------------------------------------------------------------------===//
// The dialect
//===----------------------------------------------------------------------===//

/// Parses an optional `NAME = NUMBER`.
static FailureOr<int64_t> parseNumber(DialectAsmParser &parser, StringRef name,
                                      int64_t otherwise) {
  if (failed(parser.parseOptionalKeyword(name)))
    return otherwise;
  int64_t number = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseEqual() || parser.parseInteger(number))
    return failure();
  if (number < 1) {
    parser.emitError(loc, "expected ")
        << name << " of at least 1, found " << number;
    return failure();
  }
  return number;
}

/// Parses the rest of `mma<`.
static Attribute parseMma(DialectAsmParser &parser) {
  StringRef operands;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&operands))
    return {};
  if (operands != "shared" && operands != "registers") {
    parser.emitError(loc, "expected shared or registers, found ") << operands;
    return {};
  }
  FailureOr<int64_t> n = int64_t(8);
  if (succeeded(parser.parseOptionalComma()))
    n = parseNumber(parser, "n", 8);
  if (failed(n) || parser.parseGreater())
    return {};
  return TestMmaAttr::get(parser.getContext(), operands == "shared" ? -*n : *n);
}

/// Parses the rest of `strategy<`.
static Attribute parseStrategy(DialectAsmParser &parser) {
  FailureOr<int64_t> ctas = parseNumber(parser, "ctas_per_sm", 1);
  if (failed(ctas) || parser.parseGreater())
    return {};
  return TestStrategyAttr::get(parser.getContext(), *ctas);
}

/// Parses the rest of `order<`.
static Attribute parseOrder(DialectAsmParser &parser) {
  bool hasTiles = succeeded(parser.parseOptionalKeyword("tiles"));
  if ((!hasTiles && parser.parseKeyword("rows")) || parser.parseGreater())
    return {};
  return TestOrderAttr::get(parser.getContext(), int64_t(hasTiles));
}

namespace {

class TestDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDialect)

  explicit TestDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<TestDialect>()) {
    addAttributes<TestMmaAttr, TestOrderAttr, TestStrategyAttr>();
    allowUnknownOperations();
  }
  static constexpr StringLiteral getDialectNamespace() { return "mx_test"; }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    StringRef kind;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&kind) || parser.parseLess())
      return {};
    if (kind == "mma")
      return parseMma(parser);
    if (kind == "strategy")
      return parseStrategy(parser);
    if (kind == "order")
      return parseOrder(parser);
    parser.emitError(loc, "expected mma, order or strategy, found ") << kind;
    return {};
  }

  void printAttribute(Attribute attribute,
                      DialectAsmPrinter &printer) const override {
    if (auto strategy = dyn_cast<TestStrategyAttr>(attribute)) {
      printer << "strategy<";
      if (strategy.getCtasPerSm() != 1)
        printer << "ctas_per_sm = " << strategy.getCtasPerSm();
      printer << '>';
      return;
    }
    if (auto order = dyn_cast<TestOrderAttr>(attribute)) {
      printer << "order<" << (order.hasTiles() ? "tiles" : "rows") << '>';
      return;
    }
    auto mma = cast<TestMmaAttr>(attribute);
    printer << "mma<" << (mma.isShared() ? "shared" : "registers");
    if (mma.getN() != 8)
      printer << ", n = " << mma.getN();
    printer << '>';
  }
};

} // namespace

/// The strategy creates attributes of this dialect, so any context that loads
/// mxgpu must load the dialect.
void mx::test::registerTestDialect(DialectRegistry &registry) {
  registry.insert<TestDialect>();
  registry.addExtension(+[](MLIRContext *context, MXGPUDialect *) {
    context->getOrLoadDialect<TestDialect>();
  });
}
