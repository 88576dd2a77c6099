//===- TestDialect.h - Attributes of a made-up tensor core ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defines the matrix instruction of a made-up tensor core, and the strategy
// that multiplies with it. CONTRIBUTING.md uses this folder as its example.
//===----------------------------------------------------------------------===//

#ifndef MX_TEST_LIB_TENSORCORE_TESTDIALECT_H
#define MX_TEST_LIB_TENSORCORE_TESTDIALECT_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include <cstdlib>

namespace mx::test {

namespace detail {

/// Storage of an attribute with one integer.
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

/// Number of columns (N), negative if A and B are in shared memory.
struct TestMmaStorage : NumberStorage<TestMmaStorage> {
  using NumberStorage::NumberStorage;
};

/// Number of the order: 0 for `rows`, 1 for `tiles`.
struct TestOrderStorage : NumberStorage<TestOrderStorage> {
  using NumberStorage::NumberStorage;
};

/// Number of CTAs per SM.
struct TestStrategyStorage : NumberStorage<TestStrategyStorage> {
  using NumberStorage::NumberStorage;
};

} // namespace detail

/// Instruction m16nNk32 with block scales, issued by a warp and completed
/// before the next instruction. `#mx_test.mma<registers>` reads A, B
/// and scales from registers; `#mx_test.mma<shared>` reads A and B from shared
/// memory. `n = 64` sets the number of columns (default 8). No chip implements
/// this instruction, so it is lowered to an operation `mx_test.multiply`.
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

/// `#mx_test.strategy<ctas_per_sm = 2>` sets the number of CTAs that share an
/// SM (default 1).
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

/// Order that makes the words of each thread of #mx_test.mma adjacent.
/// `#mx_test.order<rows>` keeps the rows in place; `#mx_test.order<tiles>`
/// divides the operand into tiles of 8 rows x 32 columns and stores each tile
/// in the order of the 32 threads.
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
