//===- BlockFormat.cpp - Table of block-scaled formats --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "mx/BlockFormats/BlockFormat.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;

static constexpr FloatFormat kAllElements[] = {
    FloatFormat::E4M3, FloatFormat::E5M2, FloatFormat::E3M2, FloatFormat::E2M3,
    FloatFormat::E2M1};
static constexpr FloatFormat kE2M1[] = {FloatFormat::E2M1};

static constexpr BlockFormat kFormats[] = {
    // scale, block, elements, int8, factor of the tensor
    {FloatFormat::E8M0, kPowerOfTwoBlockSize, kAllElements, true,
     false},                                      // OCP MX
    {FloatFormat::UE4M3, 16, kE2M1, false, true}, // NVFP4
};

ArrayRef<BlockFormat> mx::getBlockFormats() { return kFormats; }

/// "a, b or c".
static std::string join(ArrayRef<StringRef> names) {
  return names.size() == 1
             ? names[0].str()
             : (llvm::join(names.drop_back(), ", ") + " or " + names.back())
                   .str();
}

static StringRef getTypeName(FloatFormat format) {
  return getInfo(format).typeName;
}

Type BlockFormat::getScaleType(MLIRContext *context) const {
  return scale == FloatFormat::E8M0 ? Type(Float8E8M0FNUType::get(context))
                                    : Type(Float8E4M3FNType::get(context));
}

bool BlockFormat::takes(Type element) const {
  if (element.isSignlessInteger(8))
    return takesInt8;
  std::optional<FloatFormat> format = getFloatFormat(element);
  return format && llvm::is_contained(elements, *format);
}

std::string BlockFormat::listElements(bool withIntegers) const {
  SmallVector<StringRef> names = llvm::map_to_vector(elements, getTypeName);
  if (takesInt8 && withIntegers)
    names.push_back("i8");
  return join(names);
}

const BlockFormat *mx::findBlockFormat(Type scale) {
  std::optional<FloatFormat> found = getFloatFormat(scale);
  if (found == FloatFormat::E4M3)
    found = FloatFormat::UE4M3;
  for (const BlockFormat &format : kFormats)
    if (format.scale == found)
      return &format;
  return nullptr;
}

const BlockFormat &mx::getBlockFormat(Type scale) {
  const BlockFormat *format = findBlockFormat(scale);
  assert(format && "expected a verified type of scales");
  return *format;
}

const BlockFormat *mx::findBlockFormat(int64_t blockSize) {
  for (const BlockFormat &format : kFormats)
    if (format.blockSize == blockSize)
      return &format;
  return nullptr;
}

const BlockFormat &mx::getPowerOfTwoFormat() { return kFormats[0]; }

bool mx::isPowerOfTwoScale(Type scale) {
  return scale && findBlockFormat(scale) == &getPowerOfTwoFormat();
}

std::string mx::listScaleTypes() {
  return join(llvm::map_to_vector(kFormats, [](const BlockFormat &format) {
    return getTypeName(format.scale);
  }));
}

std::optional<FloatFormat> mx::getFloatFormat(Type type) {
  return llvm::TypeSwitch<Type, std::optional<FloatFormat>>(type)
      .Case([](Float8E4M3FNType) { return FloatFormat::E4M3; })
      .Case([](Float8E5M2Type) { return FloatFormat::E5M2; })
      .Case([](Float6E3M2FNType) { return FloatFormat::E3M2; })
      .Case([](Float6E2M3FNType) { return FloatFormat::E2M3; })
      .Case([](Float4E2M1FNType) { return FloatFormat::E2M1; })
      .Case([](Float8E8M0FNUType) { return FloatFormat::E8M0; })
      .Case([](BFloat16Type) { return FloatFormat::BF16; })
      .Case([](Float16Type) { return FloatFormat::F16; })
      .Default(std::optional<FloatFormat>());
}
