//===- CommandPatterns.cpp - Memory, tensor maps and launches of a plan ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Whole arrays are allocated, filled and copied, and single numbers are read.
// The fields of a memref are the parameters that a kernel takes it by.
//
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "Views.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult lowerAlloc(memref::AllocOp op,
                                OneToN<memref::AllocOp> operands,
                                ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  forEachDoubtfulExtent(
      rewriter, op.getLoc(), op.getType(), op.getDynamicSizes(),
      [&](Value size, Value isValid, const std::string &format) {
        RequireOp::create(rewriter, op.getLoc(), isValid, format, size);
      });
  SmallVector<Value> sizes = builder.getValues(
      op.getType().getShape(), getSingles(operands.getDynamicSizes()));
  Value buffer = mxplan::AllocOp::create(
      rewriter, op.getLoc(), mxplan::BufferType::get(op.getContext()),
      getBytes(builder, op.getType(), sizes));
  replaceByBuffer(rewriter, op, buffer, std::move(sizes));
  return success();
}

/// Of a constant: convert-mx-to-mxgpu has refused other globals.
static LogicalResult lowerGlobal(memref::GetGlobalOp op,
                                 OneToN<memref::GetGlobalOp>,
                                 ConversionPatternRewriter &rewriter) {
  Value buffer = mxplan::ConstantOp::create(
      rewriter, op.getLoc(), mxplan::BufferType::get(op.getContext()),
      op.getNameAttr());
  // Its extents are in its type.
  replaceByBuffer(rewriter, op, buffer, {});
  return success();
}

static LogicalResult lowerDealloc(memref::DeallocOp op,
                                  OneToN<memref::DeallocOp>,
                                  ConversionPatternRewriter &rewriter) {
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult lowerCopy(memref::CopyOp op,
                               OneToN<memref::CopyOp> operands,
                               ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  auto type = cast<MemRefType>(op.getSource().getType());
  View from = getView(builder, type, operands.getSource());
  View target = getView(builder, cast<MemRefType>(op.getTarget().getType()),
                        operands.getTarget());
  for (auto [dim, size] : llvm::enumerate(target.sizes)) {
    if (size == from.sizes[dim])
      continue;
    // In the words of upstream's verification, on the CPU path.
    Value isSame = arith::CmpIOp::create(
        rewriter, op.getLoc(), arith::CmpIPredicate::eq, size, from.sizes[dim]);
    RequireOp::create(rewriter, op.getLoc(), isSame,
                      describeAccess(op, "size of " + std::to_string(dim) +
                                             "-th source/target dim does not "
                                             "match"),
                      ValueRange());
  }
  Value to = target.buffer;
  if (from.buffer != to)
    mxplan::CopyOp::create(rewriter, op.getLoc(), from.buffer, to,
                           /*offset=*/Value(),
                           getBytes(builder, type, from.sizes));
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult lowerMemset(gpu::MemsetOp op,
                                 OneToN<gpu::MemsetOp> operands,
                                 ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  auto type = cast<MemRefType>(op.getDst().getType());
  View view = getView(builder, type, operands.getDst());
  Attribute value;
  matchPattern(op.getValue(), m_Constant(&value));
  APInt bits = isa<FloatAttr>(value)
                   ? cast<FloatAttr>(value).getValue().bitcastToAPInt()
                   : cast<IntegerAttr>(value).getValue();
  mxplan::FillOp::create(
      rewriter, op.getLoc(), view.buffer,
      rewriter.getI32IntegerAttr(bits.extractBitsAsZExtValue(8, 0)),
      getBytes(builder, type, view.sizes));
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult lowerLoad(memref::LoadOp op,
                               OneToN<memref::LoadOp> operands,
                               ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  MemRefType type = op.getMemRefType();
  View view = getView(builder, type, operands.getMemref());
  Value element = view.offset;
  for (auto [index, stride] :
       llvm::zip_equal(getSingles(operands.getIndices()), view.strides))
    element = builder.add(element, builder.mul(index, stride));
  // A bit has a byte of its own.
  bool isBit = op.getType().isInteger(1);
  Type stored = isBit ? rewriter.getI8Type() : op.getType();
  int64_t bits = getElementBits(stored);
  Value number =
      mxplan::ReadOp::create(rewriter, op.getLoc(), stored, view.buffer,
                             builder.mul(element, builder.index(bits / 8)));
  if (isBit)
    number =
        arith::TruncIOp::create(rewriter, op.getLoc(), op.getType(), number);
  rewriter.replaceOp(op, number);
  return success();
}

static LogicalResult lowerAssert(cf::AssertOp op, OneToN<cf::AssertOp> operands,
                                 ConversionPatternRewriter &rewriter) {
  // The message of a requirement is a format.
  std::string text = op.getMsg().str();
  for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += 2)
    text.insert(at, "%");
  RequireOp::create(rewriter, op.getLoc(),
                    llvm::getSingleElement(operands.getArg()), text,
                    ValueRange());
  rewriter.eraseOp(op);
  return success();
}

/// Memory that nothing looks at: none.
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
  view.buffer = mxplan::AllocOp::create(
      rewriter, op.getLoc(), mxplan::BufferType::get(op.getContext()), zero);
  replaceByView(rewriter, op, view);
  return success();
}

//===----------------------------------------------------------------------===//
// Tensor maps and launches
//===----------------------------------------------------------------------===//

static LogicalResult lowerMap(EncodeTensorMapOp op,
                              OneToN<EncodeTensorMapOp> operands,
                              ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  auto type = cast<MemRefType>(op.getSource().getType());
  View view = getView(builder, type, operands.getSource());
  if (!view.strides.empty()) {
    Value stride = view.strides.back();
    Value isOne =
        arith::CmpIOp::create(rewriter, op.getLoc(), arith::CmpIPredicate::eq,
                              stride, builder.index(1));
    RequireOp::create(rewriter, op.getLoc(), isOne,
                      "expected elements side by side, found a stride of %lld",
                      stride);
  }
  TensorMapNumbers numbers =
      getTensorMapNumbers(rewriter, op, view.sizes, view.strides);
  Value offset = builder.mul(view.offset,
                             builder.index(type.getElementTypeBitWidth() / 8));
  rewriter.replaceOpWithNewOp<mxplan::EncodeTensorMapOp>(
      op, op.getType(), view.buffer, offset, numbers.dims, numbers.strides,
      op.getL2Promotion());
  return success();
}

/// Returns the values of an argument in a plan. A contiguous memref inside its
/// buffer becomes one at the start of a buffer.
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
      parameters.push_back(
          value.getType().isIndex()
              ? arith::IndexCastOp::create(rewriter, op.getLoc(),
                                           rewriter.getI64Type(), value)
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
