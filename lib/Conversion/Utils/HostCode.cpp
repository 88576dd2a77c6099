//===- HostCode.cpp - Utilities for host code -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "HostCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MXGPU/IR/TensorMaps.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;

bool mx::isZeroBits(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return false;
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValue().bitcastToAPInt().isZero();
  auto integer = dyn_cast<IntegerAttr>(attr);
  return integer && integer.getValue().isZero();
}

bool mx::isConstant(memref::GetGlobalOp reference) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      reference, reference.getNameAttr());
  return global && global.getConstant() &&
         isa_and_present<ElementsAttr>(global.getInitialValueAttr());
}

//===----------------------------------------------------------------------===//
// Array sizes (multiplied in f64, which does not wrap around)
//===----------------------------------------------------------------------===//

/// Size of the address space of a process on 64-bit hosts.
static constexpr double kMostBytes = double(int64_t(1) << 47);

/// Returns true if `value` is an array size or non-negative arithmetic on
/// sizes.
static bool isNeverNegative(Value value) {
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return *number >= 0;
  return isa_and_present<memref::DimOp>(op) ||
         (isa_and_present<arith::AddIOp, arith::MulIOp, arith::DivUIOp,
                          arith::CeilDivUIOp, arith::RemUIOp, arith::MinUIOp,
                          arith::MaxUIOp>(op) &&
          llvm::all_of(op->getOperands(), isNeverNegative));
}

void mx::forEachDoubtfulExtent(
    OpBuilder &builder, Location loc, MemRefType type, ValueRange sizes,
    llvm::function_ref<void(Value, Value, const std::string &)> each) {
  auto size = sizes.begin();
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent))
      continue;
    if (Value value = *size++; !isNeverNegative(value)) {
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value isValid = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sge, value, zero);
      each(value, isValid,
           "expected dimension " + std::to_string(dim) +
               " of an array to be at least 0, found %lld");
    }
  }
}

static double countStaticBytes(MemRefType type) {
  Type element = type.getElementType();
  double bytes = llvm::divideCeil(mx::getElementBits(element), 8);
  for (int64_t extent : type.getShape())
    if (!ShapedType::isDynamic(extent))
      bytes *= double(extent);
  return bytes;
}

LogicalResult mx::verifyByteCount(Operation *op, MemRefType type) {
  Type element = type.getElementType();
  if (!element.isIntOrIndexOrFloat() || countStaticBytes(type) < kMostBytes)
    return success();
  return op->emitError("expected an array of less than 2^47 bytes, found ")
         << type;
}

Value mx::createFitsAddressSpace(OpBuilder &builder, Location loc,
                                 MemRefType type, ValueRange sizes) {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  };
  Value bytes = constant(countStaticBytes(type));
  for (Value size : sizes) {
    Value wide =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
    // A negative extent, read as an unsigned number, exceeds the address space.
    Value factor =
        arith::UIToFPOp::create(builder, loc, builder.getF64Type(), wide);
    bytes = arith::MulFOp::create(builder, loc, bytes, factor);
  }
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, bytes,
                               constant(kMostBytes));
}

//===----------------------------------------------------------------------===//
// Messages at run time
//===----------------------------------------------------------------------===//

Value mx::getConstantText(OpBuilder &builder, Location loc, ModuleOp module,
                          StringRef prefix, const std::string &text) {
  StringAttr bytes = builder.getStringAttr(text + '\0');
  unsigned count = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (!global.getSymName().starts_with(prefix))
      continue;
    ++count;
    if (global.getValueOrNull() == bytes)
      return LLVM::AddressOfOp::create(builder, loc, global);
  }
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal,
                                    (prefix + Twine(count)).str(), bytes);
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

std::string mx::describeAccess(Operation *op, StringRef message) {
  return ("'" + op->getName().getStringRef() +
          "' op expected an access inside of its array: " + message)
      .str();
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

LogicalResult mx::verifyMapElements(mxgpu::EncodeTensorMapOp op) {
  // Elements narrower than a byte were converted to bytes.
  Type stored = cast<MemRefType>(op.getSource().getType()).getElementType();
  bool isBelowByte = stored.getIntOrFloatBitWidth() < 8;
  if (mxgpu::getMapType(op.getType()) && !isBelowByte)
    return success();
  return op.emitOpError("expected elements of one byte, f16, bf16 or f32, "
                        "found ")
         << (isBelowByte ? stored : op.getType().getElementType());
}

SmallVector<Value> mx::getIdentityStrides(OpBuilder &builder, Location loc,
                                          ValueRange sizes) {
  SmallVector<Value> strides(sizes.size());
  Value stride = arith::ConstantIndexOp::create(builder, loc, 1);
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    if (dim > 0) // the last product is unused
      stride = arith::MulIOp::create(builder, loc, stride, sizes[dim]);
  }
  return strides;
}

TensorMapNumbers mx::getTensorMapNumbers(OpBuilder &builder,
                                         mxgpu::EncodeTensorMapOp op,
                                         ValueRange sizes, ValueRange strides) {
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto source = cast<MemRefType>(op.getSource().getType());
  int64_t bits = op.getType().getElementType().getIntOrFloatBitWidth();
  Value bytes = constant(source.getElementTypeBitWidth() / 8);
  TensorMapNumbers numbers;
  for (int64_t rank = source.getRank(), dim = rank - 1; dim >= 0; --dim) {
    Value size = sizes[dim];
    // The last dimension counts narrow elements, packed without gaps.
    if (dim + 1 == rank && bits < 8)
      size = arith::DivUIOp::create(
          builder, loc, arith::MulIOp::create(builder, loc, size, constant(8)),
          constant(bits));
    numbers.dims.push_back(size);
    if (dim > 0)
      numbers.strides.push_back(
          arith::MulIOp::create(builder, loc, strides[dim - 1], bytes));
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Arithmetic on array elements
//===----------------------------------------------------------------------===//

static bool isArithmetic(Operation *op) {
  if (isa<memref::LoadOp>(op))
    return true;
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

static void addArithmetic(Value value, llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || ops.contains(op) || !isArithmetic(op))
    return;
  for (Value operand : op->getOperands())
    addArithmetic(operand, ops);
  ops.insert(op);
}

llvm::SetVector<Operation *> mx::findArithmetic(Value value) {
  llvm::SetVector<Operation *> ops;
  addArithmetic(value, ops);
  return ops;
}

bool mx::followsFromMemory(Value value) {
  return llvm::any_of(findArithmetic(value), llvm::IsaPred<memref::LoadOp>);
}
