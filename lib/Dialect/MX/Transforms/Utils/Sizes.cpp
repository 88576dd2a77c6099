//===- Sizes.cpp - Sizes of arrays ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Sizes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mx;

Value Size::getValue(OpBuilder &builder, Location loc) const {
  if (!array)
    return getValueOrCreateConstantIndexOp(builder, loc, number);
  if (isa<MemRefType>(array.getType()))
    return memref::DimOp::create(builder, loc, array, dim);
  return tensor::DimOp::create(builder, loc, array, dim);
}

Size mx::getSize(Value array, int64_t dim) {
  while (true) {
    auto type = cast<ShapedType>(array.getType());
    if (!type.isDynamicDim(dim))
      return {
          Builder(type.getContext()).getIndexAttr(type.getDimSize(dim)), {}, 0};
    if (auto op = array.getDefiningOp<DestinationStyleOpInterface>()) {
      array = op.getTiedOpOperand(cast<OpResult>(array))->get();
      continue;
    }
    auto empty = array.getDefiningOp<tensor::EmptyOp>();
    if (!empty)
      return {{}, array, dim};
    Value size = empty.getDynamicSize(dim);
    auto dimOp = size.getDefiningOp<tensor::DimOp>();
    std::optional<int64_t> index =
        dimOp ? dimOp.getConstantIndex() : std::nullopt;
    if (!index || !isa<RankedTensorType>(dimOp.getSource().getType()))
      return {getAsOpFoldResult(size), {}, 0};
    array = dimOp.getSource();
    dim = *index;
  }
}

mxgpu::RequireOp mx::requireSize(OpBuilder &builder, Location loc, int64_t dim,
                                 const Twine &name, Value expected,
                                 Value found) {
  Value isEqual = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        expected, found);
  std::string text = ("expected dimension " + Twine(dim) + " of " + name +
                      " to be %lld, found %lld")
                         .str();
  return mxgpu::RequireOp::create(builder, loc, isEqual, text,
                                  ValueRange{expected, found});
}
