//===- PlanViews.cpp - Whose memory a memref shows ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every memref of a plan is a view of an argument, a result or a part of the
// workspace. Tensor maps and kernels may be given parts, copies whole arrays.
//
//===----------------------------------------------------------------------===//

#include "../Conversion/Utils/HostMessages.h"
#include "PlanBuilder.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operator;

Number PlanBuilder::getBytes(MemRefType type, ArrayRef<Number> sizes) {
  // Constants last: one factor instead of many.
  Number bytes = 1, constant = type.getElementTypeBitWidth() / 8;
  for (const Number &size : sizes) {
    Number &part = size.isConstant() ? constant : bytes;
    part = numbers.mul(part, size);
  }
  return numbers.mul(bytes, constant);
}

std::vector<Number> PlanBuilder::getNumbers(ArrayRef<OpFoldResult> values) {
  std::vector<Number> result;
  for (OpFoldResult value : values)
    result.push_back(isa<Attribute>(value) ? Number(*getConstantIntValue(value))
                                           : numbers.get(cast<Value>(value)));
  return result;
}

std::vector<Number> PlanBuilder::getStrides(const View &view) {
  if (!view.isWhole())
    return view.strides;
  std::vector<Number> strides(view.sizes.size());
  Number stride = 1;
  for (size_t dim = strides.size(); dim-- > 0;) {
    strides[dim] = stride;
    if (dim > 0) // that of the whole is of no use
      stride = numbers.mul(stride, view.sizes[dim]);
  }
  return strides;
}

LogicalResult PlanBuilder::translateAlloc(memref::AllocOp op) {
  MemRefType type = op.getType();
  if (!type.getLayout().isIdentity() || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() % 8 ||
      op.getAlignment().value_or(1) > plan::kWorkspaceAlignment)
    return op.emitOpError("expected whole bytes in identity layout at a "
                          "multiple of at most ")
           << plan::kWorkspaceAlignment << " in a launch plan, found " << type;
  std::vector<Number> sizes = getNumbers(op.getMixedSizes());
  if (auto result = resultOf.find(op); result != resultOf.end()) {
    setView(op, {Buffer::Result, result->second}, std::move(sizes));
    return success();
  }
  entry.workBuffers.push_back({0, getBytes(type, sizes)});
  setView(op, {Buffer::Work, unsigned(entry.workBuffers.size()) - 1},
          std::move(sizes));
  return success();
}

LogicalResult PlanBuilder::translateDim(memref::DimOp op) {
  std::optional<int64_t> dim = op.getConstantIndex();
  const View &view = views.find(op.getSource())->second;
  if (!dim || *dim < 0 || *dim >= int64_t(view.sizes.size()))
    return op.emitOpError("expected a constant dimension of the memref in a "
                          "launch plan");
  numbers.set(op, view.sizes[*dim]);
  return success();
}

/// Another view of the same bytes.
LogicalResult PlanBuilder::translateShape(Operation *op) {
  View view = views.find(op->getOperand(0))->second;
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    std::vector<Number> sizes;
    for (ArrayRef<int64_t> group : collapse.getReassociationIndices()) {
      Number &size = sizes.emplace_back(1);
      for (int64_t dim : group)
        size = numbers.mul(size, view.sizes[dim]);
    }
    view.sizes = std::move(sizes);
  } else {
    auto expand = cast<memref::ExpandShapeOp>(op);
    view.sizes = getNumbers(expand.getMixedOutputShape());
  }
  views[op->getResult(0)] = std::move(view);
  return success();
}

LogicalResult PlanBuilder::translateCast(memref::CastOp op) {
  View view = views.find(op.getSource())->second;
  auto type = dyn_cast<MemRefType>(op.getType());
  if (!type || (type.getLayout().isIdentity() && !view.isWhole()))
    return op.emitOpError("expected a cast that keeps the layout in a launch "
                          "plan, found one to ")
           << op.getType();
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(size)) {
      numbers.require(numbers.apply(Operator::Eq, view.sizes[dim], size),
                      getPlace(op.getLoc()) + "expected dimension " +
                          std::to_string(dim) + " to be " +
                          std::to_string(size) + ", found {}",
                      {view.sizes[dim]});
      view.sizes[dim] = size;
    }
  views[op] = std::move(view);
  return success();
}

/// A part of an array.
LogicalResult PlanBuilder::translateSubView(memref::SubViewOp op) {
  const View &source = views.find(op.getSource())->second;
  std::vector<Number> strides = getStrides(source);
  std::vector<Number> offsets = getNumbers(op.getMixedOffsets());
  std::vector<Number> sizes = getNumbers(op.getMixedSizes());
  std::vector<Number> steps = getNumbers(op.getMixedStrides());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  View view;
  view.buffer = source.buffer;
  view.offset = source.offset;
  view.isPart = true;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    view.offset = numbers.apply(Operator::Add, view.offset,
                                numbers.mul(offsets[dim], strides[dim]));
    if (dropped.test(dim))
      continue;
    view.sizes.push_back(sizes[dim]);
    view.strides.push_back(numbers.mul(strides[dim], steps[dim]));
  }
  views[op] = std::move(view);
  return success();
}

LogicalResult
PlanBuilder::translateMetadata(memref::ExtractStridedMetadataOp op) {
  View view = views.find(op.getSource())->second;
  setView(op.getBaseBuffer(), view.buffer, {});
  numbers.set(op.getOffset(), view.offset);
  for (auto [value, size] : llvm::zip_equal(op.getSizes(), view.sizes))
    numbers.set(value, size);
  for (auto [value, stride] :
       llvm::zip_equal(op.getStrides(), getStrides(view)))
    numbers.set(value, stride);
  return success();
}

/// The address of the whole array.
void PlanBuilder::translateAddress(memref::ExtractAlignedPointerAsIndexOp op) {
  constexpr Number::Kind kKinds[] = {
      Number::ArgumentAddress, Number::ResultAddress, Number::WorkAddress};
  Buffer buffer = views.find(op.getSource())->second.buffer;
  numbers.set(op, Number(kKinds[buffer.kind], buffer.index));
}
