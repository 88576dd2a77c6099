//===- ConstantBytes.cpp - Constant tensors as bytes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MX/IR/ConstantBytes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

/// Returns the bits of an element in an array, or 0 for an unsupported type.
static unsigned getStoredBits(Type element) {
  if (isa<Float4E2M1FNType>(element))
    return 4;
  if (element.isInteger(1) || isa<Float6E3M2FNType, Float6E2M3FNType>(element))
    return 8;
  if (element.isIndex())
    return 64;
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits : 0;
}

static uint64_t getStoredBytes(ShapedType type) {
  return llvm::divideCeil(uint64_t(type.getNumElements()) *
                              getStoredBits(type.getElementType()),
                          8);
}

static void packHalves(ArrayRef<char> elements, std::string &bytes) {
  for (size_t i = 0; i < elements.size(); i += 2) {
    char high = i + 1 < elements.size() ? elements[i + 1] : 0;
    bytes.push_back(char((elements[i] & 0xf) | high << 4));
  }
}

std::optional<std::string> mx::findConstantFault(ElementsAttr elements) {
  ShapedType type = elements.getShapedType();
  if (!getStoredBits(type.getElementType()))
    return "elements of the constant to be integers of 1, 8, 16, 32 or 64 bits "
           "or floats of 4, 6, 8, 16, 32 or 64 bits, found " +
           debugString(type.getElementType());
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  if (!resource)
    return isa<DenseElementsAttr>(elements)
               ? std::nullopt
               : std::optional<std::string>(
                     "a dense or dense_resource constant, found neither");
  const AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  std::string name = resource.getRawHandle().getKey().str();
  if (!blob)
    return "the bytes of the resource '" + name +
           "' in the file (dialect_resources), found none";
  uint64_t expected = getStoredBytes(type), found = blob->getData().size();
  bool isUnpacked = isa<Float4E2M1FNType>(type.getElementType()) &&
                    found == uint64_t(type.getNumElements());
  if (found == expected || isUnpacked)
    return std::nullopt;
  return "the resource '" + name + "' to have the " + std::to_string(expected) +
         " bytes of " + debugString(type) + ", found " + std::to_string(found);
}

void mx::appendConstantBytes(ElementsAttr elements, std::string &bytes) {
  ShapedType type = elements.getShapedType();
  bool isPacked = isa<Float4E2M1FNType>(type.getElementType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    if (isPacked && data.size() != getStoredBytes(type))
      return packHalves(data, bytes);
    bool isBits = type.getElementType().isInteger(1);
    for (char byte : data)
      bytes.push_back(isBits ? char(byte != 0) : byte);
    return;
  }
  auto dense = cast<DenseElementsAttr>(elements);
  if (type.getElementType().isInteger(1)) { // may be stored as bits
    for (bool bit : dense.getValues<bool>())
      bytes.push_back(char(bit));
    return;
  }
  ArrayRef<char> data = dense.getRawData();
  std::string repeated;
  if (dense.isSplat()) {
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      repeated.append(data.begin(), data.end());
    data = ArrayRef<char>(repeated.data(), repeated.size());
  }
  if (isPacked)
    return packHalves(data, bytes);
  bytes.append(data.begin(), data.end());
}
