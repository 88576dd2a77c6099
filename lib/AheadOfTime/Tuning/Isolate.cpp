//===- Isolate.cpp - Modules with a single matmul -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands become arguments of static shape. Tensors that the matmul only
// writes are created in the function.
//===----------------------------------------------------------------------===//

#include "Matmuls.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Arrays/Arrays.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::tuning;

MatmulOpInterface mx::tuning::getMatmul(ModuleOp module) {
  MatmulOpInterface found;
  module.walk([&](MatmulOpInterface op) { found = op; });
  return found;
}

static Role getRole(MatmulOpInterface op, Value value) {
  if (value == op.getExpertOffsets())
    return op.isMasked() ? Role::Counts : Role::Offsets;
  const std::pair<Value, Role> roles[] = {
      {op.getA(), Role::Elements},       {op.getB(), Role::Elements},
      {op.getAScales(), Role::Scales},   {op.getBScales(), Role::Scales},
      {op.getScatterRows(), Role::Rows}, {op.getAlpha(), Role::Alpha}};
  for (auto [operand, role] : roles)
    if (value == operand)
      return role;
  return Role::Other;
}

/// Returns the type of `value` with static sizes. The last dimension of A, B
/// and their scales is the reduction. The first dimension of a matrix per
/// expert group is the number of expert groups. All other dimensions are rows.
static Type getSizedType(MatmulOpInterface op, Value value,
                         const MatmulProblem &sizes) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.hasStaticShape())
    return value.getType();
  int64_t blocks = ceilDiv(sizes.k, op.getBlockSize());
  bool isScales = value == op.getAScales() || value == op.getBScales();
  bool isOperand = isScales || value == op.getA() || value == op.getB();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [index, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      continue;
    bool isLast = index + 1 == shape.size();
    if (value == op.getExpertOffsets() || (index == 0 && shape.size() == 3))
      extent = sizes.groups;
    else if (isOperand && isLast)
      extent = isScales ? blocks : sizes.k;
    else
      extent = op.isMasked() ? sizes.m / sizes.groups : sizes.m;
  }
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

/// Returns the operands and captured values of the matmul, without duplicates.
/// Omits row classes, because all elements are measured.
static llvm::SetVector<Value> getUsedValues(MatmulOpInterface op) {
  llvm::SetVector<Value> used;
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(op.getRowClasses(), operand))
      used.insert(operand);
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, region, used);
  return used;
}

static bool isOnlyWritten(MatmulOpInterface op, Value value) {
  if (op.readsOuts())
    return false;
  return value == op.getOut() || value == op.getResultScales();
}

llvm::Expected<MatmulModule> mx::tuning::isolate(MatmulOpInterface op,
                                                 const MatmulProblem &sizes) {
  MatmulModule matmul;
  Location loc = op->getLoc();
  matmul.module = ModuleOp::create(loc);
  OpBuilder builder(matmul.module->getBodyRegion());
  SmallVector<Value> arguments, written, constants;
  SmallVector<Type> types;
  for (Value value : getUsedValues(op)) {
    if (matchPattern(value, m_Constant()) &&
        !isa<ShapedType>(value.getType())) {
      constants.push_back(value);
    } else if (isOnlyWritten(op, value)) {
      written.push_back(value);
    } else {
      arguments.push_back(value);
      types.push_back(getSizedType(op, value, sizes));
      matmul.roles.push_back(getRole(op, value));
      if (llvm::Error error = getArrayType(types.back()).takeError())
        return error;
    }
  }
  SmallVector<Type> results;
  for (Value out : op->getOperands().take_back(op->getNumResults()))
    results.push_back(getSizedType(op, out, sizes));
  auto function = func::FuncOp::create(builder, loc, MatmulModule::kEntry,
                                       builder.getFunctionType(types, results));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  mapping.map(arguments, function.getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (Value value : written) {
    auto type = dyn_cast<RankedTensorType>(getSizedType(op, value, sizes));
    if (!type)
      return makeError("expected tensors, found memrefs");
    mapping.map(
        value,
        tensor::EmptyOp::create(builder, loc, type, ValueRange()).getResult());
  }
  Operation *copy = builder.clone(*op, mapping);
  llvm::TypeSwitch<Operation *>(copy).Case<MatmulOp, GroupedMatmulOp>(
      [](auto matmul) {
        matmul.getRowClassesMutable().clear();
        matmul.removeWhereAttr();
      });
  for (auto [result, type] : llvm::zip_equal(copy->getResults(), results))
    result.setType(type);
  func::ReturnOp::create(builder, loc, copy->getResults());
  if (failed(verify(*matmul.module)))
    return makeError("expected a matmul that can be computed in a separate "
                     "function, found a matmul that uses enclosing operations");
  return matmul;
}
