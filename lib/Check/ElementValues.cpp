//===- ElementValues.cpp - Elements of arrays as numbers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ElementValues.h"
#include "mlir/IR/TypeUtilities.h"
#include "mx/Arrays/Arrays.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mx;

ElementValues::ElementValues(Type type, const NpyArray &array)
    : element(getElementTypeOrSelf(type)), array(array),
      width(element.isIndex() ? 64 : element.getIntOrFloatBitWidth()),
      itemBytes(npyItemSize(array.dtype)),
      count(array.data.size() / itemBytes *
            llvm::cantFail(getArrayType(type)).packing) {}

uint64_t ElementValues::bitsAt(int64_t i) const {
  int64_t packing = count / int64_t(array.data.size() / itemBytes);
  uint64_t bits = 0;
  std::memcpy(&bits, array.data.data() + i / packing * itemBytes, itemBytes);
  // A byte of a float of 6 bits or of i1 is compared as a whole: the rest is 0.
  return packing == 1 ? bits : bits >> i % packing * width & 0xF;
}

double ElementValues::at(int64_t i) const {
  llvm::APInt bits(width, bitsAt(i), /*isSigned=*/false,
                   /*implicitTrunc=*/true);
  auto type = dyn_cast<FloatType>(element);
  if (!type)
    return width == 1 ? double(bits.getZExtValue())
                      : double(bits.getSExtValue());
  llvm::APFloat value(type.getFloatSemantics(), bits);
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

bool ElementValues::isEqual(const ElementValues &other, int64_t i) const {
  if (bitsAt(i) == other.bitsAt(i))
    return true;
  return isa<FloatType>(element) && width >= 16 && std::isnan(at(i)) &&
         std::isnan(other.at(i));
}
