//===- Place.cpp - Source locations of messages ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MX/IR/Place.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

std::string mx::getPlace(Location loc) {
  std::string place;
  llvm::raw_string_ostream os(place);
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    os << file.getFilename().getValue() << ':' << file.getLine() << ':'
       << file.getColumn() << ": ";
    return WalkResult::interrupt();
  });
  return place;
}

void mx::locateBodies(Operation *root) {
  root->walk([](linalg::LinalgOp op) {
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inside) {
        if (isa<UnknownLoc>(inside->getLoc()))
          inside->setLoc(op.getLoc());
      });
  });
}

static bool isNarrowFloat(Type type, unsigned bits) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() <= bits;
}

Type mx::findNarrowFloat(Operation *op, unsigned bits) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (isNarrowFloat(type, bits))
        return getElementTypeOrSelf(type);
  return {};
}

StringRef mx::adviseOnNarrowFloats(Operation *op) {
  if (isa<arith::ScalingExtFOp>(op))
    return "mx-opt --mx-import-scaled converts the operation to mx "
           "(docs/guide/Import.md)";
  bool isConversion = op->getNumResults() == 1 && op->getNumOperands() > 0 &&
                      isNarrowFloat(op->getResult(0).getType(), 8) &&
                      !isNarrowFloat(op->getOperand(0).getType(), 8);
  return isConversion || isa<arith::TruncFOp, arith::ScalingTruncFOp>(op)
             ? "mx.quantize computes narrower floats and their scales"
             : "mx.dequantize widens narrower floats";
}
