//===- OperandOrder.cpp - Storage orders of operands ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/Shared/OperandOrder.h"

using namespace mlir;
using namespace mx;

#include "mx/Dialect/Shared/OperandOrder.cpp.inc"

SmallVector<int64_t>
OperandOrderAttrInterface::getStoredShape(ArrayRef<int64_t> logical) const {
  SmallVector<int64_t> shape(logical);
  OperandTiles tiles = getTiles();
  if (tiles.stored.empty())
    return shape;
  size_t last = shape.size() - 1;
  for (auto [dim, tile] :
       {std::pair(last - 1, tiles.rows), {last, tiles.columns}})
    if (!ShapedType::isDynamic(shape[dim]))
      shape[dim] = llvm::divideCeil(shape[dim], tile);
  llvm::append_range(shape, tiles.stored);
  return shape;
}

AffineMap OperandOrderAttrInterface::getMap() const {
  OperandTiles tiles = getTiles();
  AffineExpr row, column;
  bindDims(getContext(), row, column);
  AffineMap map = tiles.map.shiftDims(2);
  if (tiles.stored.empty()) {
    map = tiles.map.replaceDimsAndSymbols(
        {row % tiles.rows, column % tiles.columns}, {}, 2, 0);
    row = row.floorDiv(tiles.rows);
    column = column.floorDiv(tiles.columns);
  }
  return AffineMap::get(map.getNumDims(), 0,
                        {row * tiles.rows + map.getResult(0),
                         column * tiles.columns + map.getResult(1)},
                        getContext());
}

LogicalResult OperandOrderAttrInterface::verifyOperand(
    ArrayRef<int64_t> logical, Type element,
    function_ref<InFlightDiagnostic()> emitError) const {
  // The parser calls this with a null element type after an error.
  if (!element)
    return failure();
  if (logical.size() < 2) // operand_order C1
    return emitError() << "expected an operand of rank 2 or more in order "
                       << *this << ", found rank " << logical.size();
  if (failed(verifyElement(element, emitError))) // operand_order C2
    return failure();
  OperandTiles tiles = getTiles();
  for (auto [size, tile] : {std::pair(logical[logical.size() - 2], tiles.rows),
                            {logical.back(), tiles.columns}})
    if (tiles.stored.empty() && !ShapedType::isDynamic(size) && size % tile)
      // operand_order C3
      return emitError() << "expected an operand of whole tiles of "
                         << tiles.rows << " x " << tiles.columns
                         << " elements in order " << *this
                         << ", found a size of " << size;
  return success();
}

OperandOrderAttrInterface mx::getOrder(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<OperandOrderAttrInterface>(
                      tensor.getEncoding())
                : OperandOrderAttrInterface();
}
