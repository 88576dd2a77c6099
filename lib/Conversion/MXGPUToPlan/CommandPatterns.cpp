//===- CommandPatterns.cpp - Memory and launches in plans -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers allocations, fills and copies of whole arrays, host reads of single
// numbers, tensor maps and launches. Kernels receive a memref as a pointer,
// sizes, strides and an offset.
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "Views.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static LogicalResult lowerAlloc(memref::AllocOp op,
                                OneToN<memref::AllocOp> operands,
                                ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  builder.requireExtents(op.getType(), op.getDynamicSizes());
  SmallVector<Value> sizes = builder.getValues(
      op.getType().getShape(), getSingles(operands.getDynamicSizes()));
  Value buffer = builder.alloc(getBytes(builder, op.getType(), sizes));
  replaceByBuffer(rewriter, op, buffer, std::move(sizes));
  return success();
}

/// Lowers a constant. convert-mx-to-mxgpu has rejected all other globals.
static LogicalResult lowerGlobal(memref::GetGlobalOp op,
                                 OneToN<memref::GetGlobalOp>,
                                 ConversionPatternRewriter &rewriter) {
  Value buffer = mxplan::ConstantOp::create(
      rewriter, op.getLoc(), mxplan::BufferType::get(op.getContext()),
      op.getNameAttr());
  // The type is static, so there are no dynamic sizes.
  replaceByBuffer(rewriter, op, buffer, {});
  return success();
}

static LogicalResult lowerDealloc(memref::DeallocOp op,
                                  OneToN<memref::DeallocOp>,
                                  ConversionPatternRewriter &rewriter) {
  rewriter.eraseOp(op);
  return success();
}

static void lowerCopy(memref::CopyOp op, View &from,
                      ArrayRef<ValueRange> operands, PlanBuilder &builder,
                      ConversionPatternRewriter &rewriter) {
  auto type = cast<MemRefType>(op.getSource().getType());
  View target =
      getView(builder, cast<MemRefType>(op.getTarget().getType()), operands[0]);
  for (auto [dim, size] : llvm::enumerate(target.sizes)) {
    if (size == from.sizes[dim])
      continue;
    // Upstream's verification emits the same message on the CPU path.
    Value isSame = builder.isEqual(size, from.sizes[dim]);
    RequireOp::create(builder, isSame,
                      describeAccess(op, "size of " + std::to_string(dim) +
                                             "-th source/target dim does not "
                                             "match"),
                      ValueRange());
  }
  if (from.buffer != target.buffer)
    mxplan::CopyOp::create(builder, from.buffer, target.buffer,
                           /*offset=*/Value(),
                           getBytes(builder, type, from.sizes));
  rewriter.eraseOp(op);
}

static LogicalResult lowerMemset(gpu::MemsetOp op,
                                 OneToN<gpu::MemsetOp> operands,
                                 ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  auto type = cast<MemRefType>(op.getDst().getType());
  View view = getView(builder, type, operands.getDst());
  Attribute value;
  matchPattern(op.getValue(), m_Constant(&value));
  mxplan::FillOp::create(builder, view.buffer,
                         getBits(value).extractBitsAsZExtValue(8, 0),
                         getBytes(builder, type, view.sizes));
  rewriter.eraseOp(op);
  return success();
}

static void lowerLoad(memref::LoadOp op, View &view,
                      ArrayRef<ValueRange> indices, PlanBuilder &builder,
                      ConversionPatternRewriter &rewriter) {
  Value element = view.offset;
  for (auto [index, stride] :
       llvm::zip_equal(getSingles(indices), view.strides))
    element = builder.add(element, builder.mul(index, stride));
  // An i1 is stored in a byte.
  bool isBit = op.getType().isInteger(1);
  Type stored = isBit ? rewriter.getI8Type() : op.getType();
  int64_t bits = getElementBits(stored);
  Value number =
      mxplan::ReadOp::create(builder, stored, view.buffer,
                             builder.mul(element, builder.index(bits / 8)));
  if (isBit)
    number = arith::TruncIOp::create(builder, op.getType(), number);
  rewriter.replaceOp(op, number);
}

static LogicalResult lowerAssert(cf::AssertOp op, OneToN<cf::AssertOp> operands,
                                 ConversionPatternRewriter &rewriter) {
  // Escape percent signs, because messages of requirements are format strings.
  std::string text = op.getMsg().str();
  for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += 2)
    text.insert(at, "%");
  RequireOp::create(rewriter, op.getLoc(),
                    llvm::getSingleElement(operands.getArg()), text,
                    ValueRange());
  rewriter.eraseOp(op);
  return success();
}

/// Lowers poison memory, which is never accessed, to null.
static LogicalResult lowerPoison(ub::PoisonOp op, OneToN<ub::PoisonOp>,
                                 ConversionPatternRewriter &rewriter) {
  auto type = dyn_cast<MemRefType>(op.getType());
  if (!type)
    return failure();
  PlanBuilder builder(op.getLoc(), rewriter);
  Value zero = builder.index(0);
  View view;
  view.sizes.assign(type.getRank(), zero);
  view.strides = view.sizes;
  view.offset = zero;
  view.buffer = builder.alloc(zero);
  replaceByView(rewriter, op, view);
  return success();
}

static void lowerMap(EncodeTensorMapOp op, View &view, ArrayRef<ValueRange>,
                     PlanBuilder &builder,
                     ConversionPatternRewriter &rewriter) {
  auto type = cast<MemRefType>(op.getSource().getType());
  if (!view.strides.empty()) {
    Value stride = view.strides.back();
    Value isOne = builder.isEqual(stride, builder.index(1));
    RequireOp::create(builder, isOne,
                      "expected contiguous elements, found a stride of %lld",
                      stride);
  }
  TensorMapNumbers numbers =
      getTensorMapNumbers(rewriter, op, view.sizes, view.strides);
  Value offset = builder.mul(view.offset,
                             builder.index(type.getElementTypeBitWidth() / 8));
  rewriter.replaceOpWithNewOp<mxplan::EncodeTensorMapOp>(
      op, op.getType(), view.buffer, offset, numbers.dims, numbers.strides,
      op.getL2Promotion());
}

/// Returns the plan values passed for an argument. A contiguous memref that
/// covers part of a buffer becomes a slice of the buffer.
static SmallVector<Value> getParameters(PlanBuilder &builder, Type type,
                                        ValueRange fields) {
  Type taken = getParameterType(type);
  if (taken == type)
    return llvm::to_vector(fields);
  auto memref = cast<MemRefType>(type);
  View view = getView(builder, memref, fields);
  Value bits = builder.index(getElementBits(memref));
  Value bytes = builder.div(builder.mul(view.offset, bits), 8);
  view.buffer = mxplan::SliceOp::create(builder, view.buffer.getType(),
                                        view.buffer, bytes);
  return getViewParameters(cast<MemRefType>(taken), view);
}

static LogicalResult lowerLaunch(LaunchOp op, OneToN<LaunchOp> operands,
                                 ConversionPatternRewriter &rewriter) {
  SmallVector<Value> parameters;
  PlanBuilder builder(op.getLoc(), rewriter);
  for (auto [argument, fields] :
       llvm::zip_equal(op.getArgs(), operands.getArgs()))
    for (Value value : getParameters(builder, argument.getType(), fields))
      parameters.push_back(value.getType().isIndex()
                               ? arith::IndexCastOp::create(
                                     builder, rewriter.getI64Type(), value)
                               : value);
  rewriter.replaceOpWithNewOp<mxplan::LaunchOp>(
      op, op.getKernelAttr(), llvm::getSingleElement(operands.getGrid()),
      parameters);
  return success();
}

void mx::mxgpu::addCommandPatterns(const TypeConverter &converter,
                                   RewritePatternSet &patterns) {
  addPatterns<lowerAlloc, lowerGlobal, lowerDealloc, lowerCopy, lowerMemset,
              lowerLoad, lowerAssert, lowerPoison, lowerMap, lowerLaunch>(
      converter, patterns);
}
