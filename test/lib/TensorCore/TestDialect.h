//===- TestDialect.h - A tensor core that mxgpu does not know ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The attributes of a made-up tensor core: its matrix instruction, and the
// strategy that multiplies with it. CONTRIBUTING.md uses this folder as its
// example.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TEST_LIB_TENSORCORE_TESTDIALECT_H
#define MX_TEST_LIB_TENSORCORE_TESTDIALECT_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include <cstdlib>

namespace mx::test {

namespace detail {

/// An attribute with one number.
template <typename StorageT>
struct NumberStorage : mlir::AttributeStorage {
  using KeyTy = int64_t;

  explicit NumberStorage(int64_t number) : number(number) {}
  bool operator==(int64_t key) const { return key == number; }
  static StorageT *construct(mlir::AttributeStorageAllocator &allocator,
                             int64_t key) {
    return new (allocator.allocate<StorageT>()) StorageT(key);
  }

  int64_t number;
};

/// Columns, negative with operands in shared memory.
struct TestMmaStorage : NumberStorage<TestMmaStorage> {
  using NumberStorage::NumberStorage;
};

/// 1 with tiles.
struct TestOrderStorage : NumberStorage<TestOrderStorage> {
  using NumberStorage::NumberStorage;
};

/// CTAs that share an SM.
struct TestStrategyStorage : NumberStorage<TestStrategyStorage> {
  using NumberStorage::NumberStorage;
};

} // namespace detail

/// m16nNk32 with block scales: a warp issues it, and it is done when the next
/// instruction begins. `#mx_test.mma<registers>` takes A, B and scales from
/// registers, `#mx_test.mma<shared>` A and B from shared memory; `n = 64` are
/// columns, 8 if nothing is said. There is no such instruction: it becomes an
/// operation `mx_test.multiply`.
class TestMmaAttr
    : public mlir::Attribute::AttrBase<TestMmaAttr, mlir::Attribute,
                                       detail::TestMmaStorage,
                                       mxgpu::MmaAttrInterface::Trait> {
public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "mx_test.mma";

  bool isShared() const { return getImpl()->number < 0; }
  int64_t getN() const { return std::abs(getImpl()->number); }

  target::MmaRoles getRoles() const;
  mxgpu::MmaShape getMmaShape() const { return {16, getN(), 32}; }
  mxgpu::FragmentModes getAccumulatorModes(int64_t columns) const;
  mxgpu::FragmentModes getOperandModes(mxgpu::MmaOperand operand,
                                       mlir::Type element,
                                       int64_t columns) const;
  std::string checkTarget(const target::TargetInfo &) const { return {}; }
  int64_t getCycles(const target::Rates &) const { return getN() / 8; }
  llvm::LogicalResult verifyMma(mxgpu::MmaOp &op) const;
  mlir::Value emit(mxgpu::NVVMBuilder &builder, mxgpu::MmaOp &op,
                   const mxgpu::MmaOperands &values) const;
};

/// `#mx_test.strategy<ctas_per_sm = 2>`: CTAs that share an SM, 1 if nothing is
/// said.
class TestStrategyAttr
    : public mlir::Attribute::AttrBase<TestStrategyAttr, mlir::Attribute,
                                       detail::TestStrategyStorage,
                                       mxgpu::StrategyAttrInterface::Trait> {
public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "mx_test.strategy";

  static TestStrategyAttr get(mlir::MLIRContext *context,
                              int64_t ctasPerSm = 1) {
    return Base::get(context, ctasPerSm);
  }
  int64_t getCtasPerSm() const { return getImpl()->number; }
};

/// The order in which the words of a thread of #mx_test.mma are adjacent: in
/// `#mx_test.order<rows>` rows stay where they are, in `#mx_test.order<tiles>`
/// the 32 threads of 8 rows x 32 columns follow each other.
class TestOrderAttr
    : public mlir::Attribute::AttrBase<TestOrderAttr, mlir::Attribute,
                                       detail::TestOrderStorage,
                                       OperandOrderAttrInterface::Trait,
                                       mlir::VerifiableTensorEncoding::Trait> {
public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "mx_test.order";

  bool hasTiles() const { return getImpl()->number; }
  OperandTiles getTiles() const;
  llvm::LogicalResult
  verifyElement(mlir::Type,
                llvm::function_ref<mlir::InFlightDiagnostic()>) const {
    return llvm::success();
  }
};

void registerTestDialect(mlir::DialectRegistry &registry);

} // namespace mx::test

MLIR_DECLARE_EXPLICIT_TYPE_ID(mx::test::TestMmaAttr)
MLIR_DECLARE_EXPLICIT_TYPE_ID(mx::test::TestOrderAttr)
MLIR_DECLARE_EXPLICIT_TYPE_ID(mx::test::TestStrategyAttr)

#endif // MX_TEST_LIB_TENSORCORE_TESTDIALECT_H
