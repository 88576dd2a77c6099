//===- TestMma.cpp - A matrix instruction that mxgpu does not know --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An instruction of another dialect: m16n8k32 with block scales, which a warp
// issues, and which is done when the next one begins. `#mx_test.mma<registers>`
// takes A, B and scales from registers, `#mx_test.mma<shared>` A and B from
// shared memory. There is no such instruction: it becomes an operation
// `mx_test.multiply`.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/NVVM/NVVMBuilder.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using target::MmaPlace;

namespace {

struct TestMmaStorage : AttributeStorage {
  using KeyTy = bool;

  explicit TestMmaStorage(bool isShared) : isShared(isShared) {}
  bool operator==(bool key) const { return key == isShared; }
  static llvm::hash_code hashKey(bool key) {
    return llvm::hash_value(unsigned(key));
  }
  static TestMmaStorage *construct(AttributeStorageAllocator &allocator,
                                   bool key) {
    return new (allocator.allocate<TestMmaStorage>()) TestMmaStorage(key);
  }

  bool isShared;
};

class TestMmaAttr
    : public Attribute::AttrBase<TestMmaAttr, Attribute, TestMmaStorage,
                                 MmaAttrInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMmaAttr)

  using Base::Base;
  static constexpr StringLiteral name = "mx_test.mma";

  bool isShared() const { return getImpl()->isShared; }

  target::MmaRoles getRoles() const {
    MmaPlace operands =
        isShared() ? MmaPlace::SharedMemory : MmaPlace::Registers;
    return {target::kWarpSize,
            operands,
            operands,
            MmaPlace::Registers,
            MmaPlace::Registers,
            target::MmaCompletion::Synchronous};
  }

  MmaShape getMmaShape() const { return {16, 8, 32}; }

  FragmentModes getAccumulatorModes(int64_t columns) const {
    return {{{4, 0, 2}, {8, 1, 0}},
            {{2, 0, 1}, {2, 8, 0}, {columns / 8, 0, 8}}};
  }

  /// Four threads share a row: of each 32 elements one has two words of 4, of
  /// each 4 scales one.
  FragmentModes getOperandModes(MmaOperand operand, Type element,
                                int64_t columns) const {
    switch (operand) {
    case MmaOperand::A:
      if (columns % 32 || !isa<Float8E4M3FNType>(element))
        return {};
      return {{{4, 0, 4}, {8, 1, 0}},
              {{4, 0, 1}, {2, 8, 0}, {2, 0, 16}, {columns / 32, 0, 32}}};
    case MmaOperand::B:
      if (columns % 32 || !isa<Float8E4M3FNType>(element))
        return {};
      return {{{4, 0, 4}, {8, 1, 0}},
              {{4, 0, 1}, {2, 0, 16}, {columns / 32, 0, 32}}};
    case MmaOperand::AScales:
      if (columns % 4 || !isa<Float8E8M0FNUType>(element))
        return {};
      return {{{4, 0, 1}, {8, 1, 0}}, {{2, 8, 0}, {columns / 4, 0, 4}}};
    case MmaOperand::BScales:
      if (columns % 4 || !isa<Float8E8M0FNUType>(element))
        return {};
      return {{{4, 0, 1}, {8, 1, 0}}, {{columns / 4, 0, 4}}};
    }
    llvm_unreachable("all operands are listed");
  }

  std::string checkTarget(const target::TargetInfo &) const { return {}; }
  int64_t getCycles(const target::Rates &) const { return 1; }

  LogicalResult verifyMma(MmaOp &op) const {
    if (op.getAccumulate() || op.getExtent() || op.getBOffset())
      return op.emitOpError("expected neither accumulate, extent nor b_offset");
    return success();
  }

  Value emit(NVVMBuilder &builder, MmaOp &, const MmaOperands &values) const {
    OperationState state(builder.getLoc(), "mx_test.multiply");
    state.addOperands(
        {values.a, values.b, values.aScales, values.bScales, values.d});
    state.addTypes(values.d.getType());
    return builder.create(state)->getResult(0);
  }
};

class TestDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDialect)

  explicit TestDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<TestDialect>()) {
    addAttributes<TestMmaAttr>();
    allowUnknownOperations();
  }
  static constexpr StringLiteral getDialectNamespace() { return "mx_test"; }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    StringRef operands;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword("mma") || parser.parseLess() ||
        parser.parseKeyword(&operands) || parser.parseGreater())
      return {};
    if (operands == "shared" || operands == "registers")
      return TestMmaAttr::get(getContext(), operands == "shared");
    parser.emitError(loc, "expected shared or registers, found ") << operands;
    return {};
  }

  void printAttribute(Attribute attribute,
                      DialectAsmPrinter &printer) const override {
    printer << "mma<"
            << (cast<TestMmaAttr>(attribute).isShared() ? "shared"
                                                        : "registers")
            << '>';
  }
};

} // namespace

namespace mx::test {
void registerMmaDialect(DialectRegistry &registry);
} // namespace mx::test

void mx::test::registerMmaDialect(DialectRegistry &registry) {
  registry.insert<TestDialect>();
}
