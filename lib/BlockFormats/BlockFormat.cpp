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

using namespace mlir;
using namespace mx;

static constexpr BlockFormat kFormats[] = {
#define MX_BLOCK_FORMAT(scale, blockSize, takesInt8, hasTensorFactor)          \
  {FloatFormat::scale, blockSize, takesInt8, hasTensorFactor},
#include "mx/BlockFormats/Formats.def"
#undef MX_BLOCK_FORMAT
};

static constexpr OperandFormat kOperandFormats[] = {
#define MX_OPERAND_FORMAT(name, element, scale)                                \
  {name, FloatFormat::element, FloatFormat::scale},
#include "mx/BlockFormats/Formats.def"
#undef MX_OPERAND_FORMAT
};

ArrayRef<BlockFormat> mx::getBlockFormats() { return kFormats; }
ArrayRef<OperandFormat> mx::getOperandFormats() { return kOperandFormats; }

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
  return getFloatType(context, scale);
}

bool BlockFormat::takes(Type element, bool withIntegers) const {
  if (element.isSignlessInteger(8))
    return takesInt8 && withIntegers;
  std::optional<FloatFormat> found = getFloatFormat(element);
  return llvm::any_of(kOperandFormats, [&](const OperandFormat &format) {
    return format.scale == scale && format.element == found;
  });
}

std::string BlockFormat::listElements(bool withIntegers) const {
  SmallVector<StringRef> names;
  for (const OperandFormat &format : kOperandFormats)
    if (format.scale == scale)
      names.push_back(getTypeName(format.element));
  if (takesInt8 && withIntegers)
    names.push_back("i8");
  return join(names);
}

Type OperandFormat::getElementType(MLIRContext *context) const {
  return getFloatType(context, element);
}

const BlockFormat &OperandFormat::getBlockFormat() const {
  return *llvm::find_if(kFormats, [&](const BlockFormat &format) {
    return format.scale == scale;
  });
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

namespace {
struct FormatType {
  FloatFormat format;
  Type (*get)(MLIRContext *);
};
} // namespace

template <typename T>
static Type getType(MLIRContext *context) {
  return T::get(context);
}

/// UE4M3 comes after E4M3, which its type stands for elsewhere.
static constexpr FormatType kTypes[] = {
    {FloatFormat::E4M3, getType<Float8E4M3FNType>},
    {FloatFormat::E5M2, getType<Float8E5M2Type>},
    {FloatFormat::E3M2, getType<Float6E3M2FNType>},
    {FloatFormat::E2M3, getType<Float6E2M3FNType>},
    {FloatFormat::E2M1, getType<Float4E2M1FNType>},
    {FloatFormat::E8M0, getType<Float8E8M0FNUType>},
    {FloatFormat::UE4M3, getType<Float8E4M3FNType>},
    {FloatFormat::BF16, getType<BFloat16Type>},
    {FloatFormat::F16, getType<Float16Type>},
};
static_assert(std::size(kTypes) == kNumFloatFormats, "a type for each format");

std::optional<FloatFormat> mx::getFloatFormat(Type type) {
  for (auto [format, get] : kTypes)
    if (get(type.getContext()) == type)
      return format;
  return std::nullopt;
}

Type mx::getFloatType(MLIRContext *context, FloatFormat format) {
  return kTypes[unsigned(format)].get(context);
}
