//===- Views.cpp - Memrefs in launch plans --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A memref becomes a buffer and its dynamic sizes, strides and offset. Casts,
// slices and reshapes only change these numbers.
//===----------------------------------------------------------------------===//

#include "Views.h"
#include "../Utils/HostCode.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value PlanBuilder::multiply(ValueRange factors) {
  Value product = index(1);
  for (Value factor : factors)
    product = mul(product, factor);
  return product;
}

SmallVector<Value> PlanBuilder::getValues(ArrayRef<int64_t> known,
                                          ValueRange values) {
  SmallVector<Value> result;
  for (int64_t number : known) {
    if (!ShapedType::isDynamic(number)) {
      result.push_back(index(number));
      continue;
    }
    result.push_back(values.front());
    values = values.drop_front();
  }
  return result;
}

void PlanBuilder::requireEqual(Value a, Value b, const Twine &what) {
  Value same = isEqual(a, b);
  RequireOp::create(*this, same, what.str(), ValueRange{b, a});
}

Value &View::get(KernelParameter parameter) {
  switch (parameter.kind) {
  case KernelParameter::Size:
    return sizes[parameter.dim];
  case KernelParameter::Stride:
    return strides[parameter.dim];
  case KernelParameter::Offset:
    return offset;
  default:
    return buffer;
  }
}

APInt mx::mxgpu::getBits(Attribute number) {
  if (auto integer = dyn_cast<IntegerAttr>(number))
    return integer.getValue();
  auto value = dyn_cast<FloatAttr>(number);
  return value ? value.getValue().bitcastToAPInt() : APInt();
}

Value PlanBuilder::alloc(Value bytes) {
  return mxplan::AllocOp::create(*this, mxplan::BufferType::get(getContext()),
                                 bytes);
}

void PlanBuilder::requireExtents(MemRefType type, ValueRange sizes) {
  forEachDoubtfulExtent(
      *this, getLoc(), type, sizes,
      [&](Value size, Value isValid, const std::string &format) {
        RequireOp::create(*this, isValid, format, size);
      });
}

View mx::mxgpu::getView(PlanBuilder &builder, MemRefType type,
                        ValueRange fields) {
  auto known = [&](int64_t number) -> Value {
    return ShapedType::isDynamic(number) ? Value() : builder.index(number);
  };
  View view;
  auto [strides, offset] = type.getStridesAndOffset();
  view.sizes = llvm::map_to_vector(type.getShape(), known);
  view.offset = known(offset);
  if (!type.getLayout().isIdentity())
    view.strides = llvm::map_to_vector(strides, known);
  SmallVector<KernelParameter> parameters = getKernelParameters(type);
  for (auto [parameter, value] : llvm::zip_equal(parameters, fields))
    view.get(parameter) = value;
  if (type.getLayout().isIdentity())
    view.strides = getIdentityStrides(builder, builder.getLoc(), view.sizes);
  return view;
}

SmallVector<Value> mx::mxgpu::getViewParameters(MemRefType type, View view) {
  return llvm::map_to_vector(
      getKernelParameters(type),
      [&](KernelParameter parameter) { return view.get(parameter); });
}

void mx::mxgpu::replaceByView(ConversionPatternRewriter &rewriter,
                              Operation *op, const View &view) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  rewriter.replaceOpWithMultiple(
      op, SmallVector<SmallVector<Value>>{getViewParameters(type, view)});
}

void mx::mxgpu::replaceByBuffer(ConversionPatternRewriter &rewriter,
                                Operation *op, Value buffer,
                                SmallVector<Value> sizes) {
  View view;
  view.buffer = buffer;
  view.sizes = std::move(sizes);
  replaceByView(rewriter, op, view);
}

Value mx::mxgpu::getBytes(PlanBuilder &builder, MemRefType type,
                          ValueRange sizes) {
  return builder.mul(builder.multiply(sizes),
                     builder.index(getElementBits(type) / 8));
}

SmallVector<Value> mx::mxgpu::getSingles(ArrayRef<ValueRange> operands) {
  return llvm::map_to_vector(operands, [](ValueRange values) -> Value {
    return llvm::getSingleElement(values);
  });
}

/// Lowers a cast. Checks sizes, strides and offsets that are static only in the
/// new type.
static void lowerCast(memref::CastOp op, View &view, ArrayRef<ValueRange>,
                      PlanBuilder &builder,
                      ConversionPatternRewriter &rewriter) {
  auto from = cast<MemRefType>(op.getSource().getType());
  auto to = cast<MemRefType>(op.getType());
  auto require = [&](Value &number, int64_t was, int64_t is,
                     const Twine &what) {
    if (was == is || ShapedType::isDynamic(is))
      return;
    Value wanted = builder.index(is);
    builder.requireEqual(number, wanted,
                         "expected " + what + " to be %lld, found %lld");
    number = wanted;
  };
  auto [fromStrides, fromOffset] = from.getStridesAndOffset();
  auto [toStrides, toOffset] = to.getStridesAndOffset();
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    require(view.sizes[dim], from.getDimSize(dim), to.getDimSize(dim),
            "dimension " + Twine(dim));
  if (from.getLayout() != to.getLayout())
    for (int64_t dim = 0; dim < to.getRank(); ++dim)
      require(view.strides[dim], fromStrides[dim], toStrides[dim],
              "the stride of dimension " + Twine(dim));
  require(view.offset, fromOffset, toOffset, "the offset");
  replaceByView(rewriter, op, view);
}

/// Requires the first and last element of a slice to be in bounds. An empty
/// slice may start at the end. The condition and the message equal those of
/// upstream's verification on the CPU path. The condition has no branches, so
/// that its result is known before a call.
static void requireInside(memref::SubViewOp op, size_t dim, Value offset,
                          Value size, Value step, Value extent,
                          PlanBuilder &builder) {
  if (isConstantIntValue(offset, 0) && isConstantIntValue(step, 1) &&
      size == extent)
    return;
  using arith::CmpIPredicate;
  auto compare = [&](CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, predicate, a, b);
  };
  // Create the operations in separate statements, because C++ does not define
  // the evaluation order of arguments.
  auto isWithin = [&](Value position, Value end) -> Value {
    Value isBeforeEnd = compare(CmpIPredicate::slt, position, end);
    Value isNonNegative =
        compare(CmpIPredicate::sle, builder.index(0), position);
    return builder.both(isNonNegative, isBeforeEnd);
  };
  Value one = builder.index(1);
  Value hasElements = compare(CmpIPredicate::slt, builder.index(0), size);
  Value end = builder.select(hasElements, extent, builder.add(extent, one));
  Value steps = builder.sub(size, one);
  Value last = builder.add(offset, builder.mul(steps, step));
  Value yes = builder.constantLike(hasElements, 1);
  Value endsWithin = builder.select(hasElements, isWithin(last, extent), yes);
  RequireOp::create(
      builder, isWithin(offset, end),
      describeAccess(op, "offset " + std::to_string(dim) + " is out-of-bounds"),
      ValueRange());
  RequireOp::create(
      builder, endsWithin,
      describeAccess(op, "subview runs out-of-bounds along dimension " +
                             std::to_string(dim)),
      ValueRange());
}

static void lowerSubView(memref::SubViewOp op, View &view,
                         ArrayRef<ValueRange> operands, PlanBuilder &builder,
                         ConversionPatternRewriter &rewriter) {
  SmallVector<Value> numbers = getSingles(operands);
  ValueRange rest = numbers;
  auto take = [&](ArrayRef<int64_t> known, size_t count) {
    SmallVector<Value> values =
        builder.getValues(known, rest.take_front(count));
    rest = rest.drop_front(count);
    return values;
  };
  SmallVector<Value> offsets =
      take(op.getStaticOffsets(), op.getOffsets().size());
  SmallVector<Value> sizes = take(op.getStaticSizes(), op.getSizes().size());
  SmallVector<Value> steps =
      take(op.getStaticStrides(), op.getStrides().size());
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    requireInside(op, dim, offsets[dim], sizes[dim], steps[dim],
                  view.sizes[dim], builder);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  View slice;
  slice.buffer = view.buffer;
  slice.offset = view.offset;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    slice.offset =
        builder.add(slice.offset, builder.mul(offsets[dim], view.strides[dim]));
    if (dropped.test(dim))
      continue;
    slice.sizes.push_back(size);
    slice.strides.push_back(builder.mul(view.strides[dim], steps[dim]));
  }
  replaceByView(rewriter, op, slice);
}

/// Returns the last dimension whose size is not statically 1.
static int64_t getInner(MemRefType type, ArrayRef<int64_t> group) {
  for (int64_t dim : llvm::reverse(group))
    if (type.getDimSize(dim) != 1)
      return dim;
  return group.back();
}

/// Collapses contiguous dimensions. The last dimension determines the stride.
static void lowerCollapse(memref::CollapseShapeOp op, View &view,
                          ArrayRef<ValueRange>, PlanBuilder &builder,
                          ConversionPatternRewriter &rewriter) {
  SmallVector<Value> sizes, strides;
  for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
    sizes.push_back(builder.multiply(
        ArrayRef(view.sizes).slice(group.front(), group.size())));
    strides.push_back(view.strides[getInner(op.getSrcType(), group)]);
  }
  view.sizes = std::move(sizes);
  view.strides = std::move(strides);
  replaceByView(rewriter, op, view);
}

static void lowerExpand(memref::ExpandShapeOp op, View &view,
                        ArrayRef<ValueRange> operands, PlanBuilder &builder,
                        ConversionPatternRewriter &rewriter) {
  builder.requireExtents(op.getResultType(), op.getOutputShape());
  SmallVector<Value> sizes =
      builder.getValues(op.getStaticOutputShape(), getSingles(operands));
  SmallVector<Value> strides(sizes.size(), builder.index(1));
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = view.strides[dim];
    Value elements = builder.index(1);
    for (int64_t inner : llvm::reverse(group)) {
      strides[inner] = stride;
      stride = builder.mul(stride, sizes[inner]);
      elements = builder.mul(elements, sizes[inner]);
    }
    bool isOpen = llvm::any_of(group, [&](int64_t inner) {
      return op.getResultType().isDynamicDim(inner);
    });
    if (group.size() > 1 && isOpen)
      builder.requireEqual(view.sizes[dim], elements,
                           "expected dimension " + Twine(dim) +
                               " of the reshaped array to be %lld, found %lld");
  }
  view.sizes = std::move(sizes);
  view.strides = std::move(strides);
  replaceByView(rewriter, op, view);
}

static void lowerTranspose(memref::TransposeOp op, View &view,
                           ArrayRef<ValueRange>, PlanBuilder &,
                           ConversionPatternRewriter &rewriter) {
  View permuted = view;
  for (auto [dim, result] : llvm::enumerate(op.getPermutation().getResults())) {
    unsigned from = cast<AffineDimExpr>(result).getPosition();
    permuted.sizes[dim] = view.sizes[from];
    permuted.strides[dim] = view.strides[from];
  }
  replaceByView(rewriter, op, permuted);
}

static void lowerMetadata(memref::ExtractStridedMetadataOp op, View &view,
                          ArrayRef<ValueRange>, PlanBuilder &,
                          ConversionPatternRewriter &rewriter) {
  SmallVector<Value> values = {view.buffer, view.offset};
  llvm::append_range(values, view.sizes);
  llvm::append_range(values, view.strides);
  rewriter.replaceOp(op, values);
}

/// Returns the address of the whole buffer.
static void lowerAddress(memref::ExtractAlignedPointerAsIndexOp op, View &view,
                         ArrayRef<ValueRange>, PlanBuilder &,
                         ConversionPatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<mxplan::AddressOp>(op, op.getType(), view.buffer);
}

static void lowerDim(memref::DimOp op, View &view, ArrayRef<ValueRange>,
                     PlanBuilder &, ConversionPatternRewriter &rewriter) {
  rewriter.replaceOp(op, view.sizes[*op.getConstantIndex()]);
}

void mx::mxgpu::addViewPatterns(const TypeConverter &converter,
                                RewritePatternSet &patterns) {
  addPatterns<lowerCast, lowerSubView, lowerCollapse, lowerExpand,
              lowerTranspose, lowerMetadata, lowerAddress, lowerDim>(converter,
                                                                     patterns);
}
