//===- BlockFormat.cpp - Block-scaled formats -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/BlockFormats/BlockFormat.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mx/BlockFormats/F32Scales.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;

MLIR_DEFINE_EXPLICIT_TYPE_ID(mx::BlockFormatInterface)

static constexpr OperandFormat kOperandFormats[] = {
#define MX_OPERAND_FORMAT(name, element, scale)                                \
  {name, FloatFormat::element, FloatFormat::scale},
#include "mx/BlockFormats/Formats.def"
#undef MX_OPERAND_FORMAT
};

ArrayRef<OperandFormat> mx::getOperandFormats() { return kOperandFormats; }

template <FloatFormat kScale>
static BlockFormat makeFormat(int64_t blockSize, bool takesInt8,
                              bool hasTensorFactor) {
  BlockFormat format;
  format.getScaleType = [](MLIRContext *context) {
    return getFloatType(context, kScale);
  };
  format.blockSize = blockSize;
  for (const OperandFormat &operand : kOperandFormats)
    if (operand.scale == kScale)
      format.elements.push_back(operand.element);
  format.takesInt8 = takesInt8;
  format.hasTensorFactor = hasTensorFactor;
  format.hasTiles = true;
  format.scale = kScale;
  return format;
}

/// Formats of folded 8-bit elements.
template <FloatFormat kScale>
static BlockFormat makeFolded(int64_t blockRows, int64_t blockSize) {
  BlockFormat format = makeFormat<kScale>(blockSize, /*takesInt8=*/false,
                                          /*hasTensorFactor=*/false);
  format.elements = {FloatFormat::E4M3, FloatFormat::E5M2};
  format.isFolded = true;
  format.blockRows = blockRows;
  format.hasTiles = blockRows == 1;
  return format;
}

static BlockFormat makeF32(int64_t blockRows, int64_t blockSize) {
  BlockFormat format;
  format.getScaleType = [](MLIRContext *context) -> Type {
    return Float32Type::get(context);
  };
  format.blockRows = blockRows;
  format.blockSize = blockSize;
  format.elements = {FloatFormat::E4M3, FloatFormat::E5M2};
  format.hasMNMajor = blockRows == 1;
  format.isExact = true;
  format.codec = &getF32Codec(/*isCeil=*/false);
  format.ceilCodec = &getF32Codec(/*isCeil=*/true);
  return format;
}

ArrayRef<BlockFormat> mx::getBlockFormats() {
  static const BlockFormat kFormats[] = {
#define MX_BLOCK_FORMAT(scale, blockSize, takesInt8, hasTensorFactor)          \
  makeFormat<FloatFormat::scale>(blockSize, takesInt8, hasTensorFactor),
#define MX_FOLDED_FORMAT(scale, blockRows, blockSize)                          \
  makeFolded<FloatFormat::scale>(blockRows, blockSize),
#define MX_F32_FORMAT(blockRows, blockSize) makeF32(blockRows, blockSize),
#include "mx/BlockFormats/Formats.def"
#undef MX_BLOCK_FORMAT
#undef MX_FOLDED_FORMAT
#undef MX_F32_FORMAT
  };
  return kFormats;
}

/// Formats a list as "a, b or c".
static std::string join(ArrayRef<StringRef> names) {
  return names.size() == 1
             ? names[0].str()
             : (llvm::join(names.drop_back(), ", ") + " or " + names.back())
                   .str();
}

static StringRef getTypeName(FloatFormat format) {
  return getInfo(format).typeName;
}

bool BlockFormat::takes(Type element, bool withIntegers) const {
  if (element.isSignlessInteger(8))
    return takesInt8 && withIntegers;
  std::optional<FloatFormat> found = getFloatFormat(element);
  return found && llvm::is_contained(elements, *found);
}

std::string BlockFormat::listElements(bool withIntegers) const {
  SmallVector<StringRef> names = llvm::map_to_vector(elements, getTypeName);
  if (takesInt8 && withIntegers)
    names.push_back("i8");
  return join(names);
}

std::string BlockFormat::describeBlock() const {
  if (blockSize == kWhole)
    return blockRows == kWhole ? "a whole matrix" : "a whole row";
  return std::to_string(blockRows) + " x " + std::to_string(blockSize) +
         " elements";
}

SmallVector<int64_t>
BlockFormat::getScaleShape(ArrayRef<int64_t> elements) const {
  SmallVector<int64_t> shape(elements);
  int64_t &rows = shape[shape.size() - 2], &columns = shape.back();
  if (blockRows == kWhole)
    rows = 1;
  else if (!ShapedType::isDynamic(rows))
    rows = llvm::divideCeil(rows, blockRows);
  if (blockSize == kWhole)
    columns = 1;
  else if (!ShapedType::isDynamic(columns))
    columns /= blockSize;
  return shape;
}

bool BlockShape::isValid(Attribute attribute) {
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute))
    return array.size() == 2;
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(64);
}

BlockShape BlockShape::get(Attribute attribute) {
  if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute))
    return BlockShape(array[1], array[0]);
  return BlockShape(cast<IntegerAttr>(attribute).getInt());
}

Attribute BlockShape::getAttr(MLIRContext *context) const {
  Builder builder(context);
  if (rows)
    return builder.getDenseI64ArrayAttr({rows, columns});
  return builder.getI64IntegerAttr(columns);
}

std::string mx::spellBlockSize(BlockShape shape) {
  std::string columns = shape.columns == BlockFormat::kWhole
                            ? "row"
                            : std::to_string(shape.columns);
  return shape.rows ? std::to_string(shape.rows) + "x" + columns : columns;
}

int64_t mx::getKernelMultiple(int64_t blockSize) {
  return blockSize == BlockFormat::kWhole ? kPowerOfTwoBlockSize : blockSize;
}

Type OperandFormat::getElementType(MLIRContext *context) const {
  return getFloatType(context, element);
}

const BlockFormat &OperandFormat::getBlockFormat() const {
  return *llvm::find_if(getBlockFormats(), [&](const BlockFormat &format) {
    return format.scale == scale;
  });
}

static bool hasShape(const BlockFormat &format, BlockShape shape) {
  return format.blockSize == shape.columns &&
         (!shape.rows || format.blockRows == shape.rows);
}

const BlockFormat *mx::findBlockFormat(Type scale,
                                       std::optional<BlockShape> shape) {
  MLIRContext *context = scale.getContext();
  auto isFound = [&](const BlockFormat &format) {
    return format.getScaleType(context) == scale &&
           (!shape || hasShape(format, *shape));
  };
  for (const BlockFormat &format : getBlockFormats())
    if (isFound(format))
      return &format;
  for (Dialect *dialect : context->getLoadedDialects())
    if (auto *brought = dialect->getRegisteredInterface<BlockFormatInterface>())
      for (const BlockFormat *format : brought->getFormats())
        if (isFound(*format))
          return format;
  return nullptr;
}

const BlockFormat &mx::getBlockFormat(Type scale,
                                      std::optional<BlockShape> shape) {
  const BlockFormat *format = findBlockFormat(scale, shape);
  assert(format && "expected a verified type of scales");
  return *format;
}

int64_t mx::getBlockRows(Type scale, BlockShape shape) {
  const BlockFormat *format = findBlockFormat(scale, shape);
  return format ? format->blockRows : 1;
}

const BlockFormat *mx::findBlockFormat(BlockShape shape) {
  for (const BlockFormat &format : getBlockFormats())
    if (hasShape(format, shape))
      return &format;
  return nullptr;
}

const BlockFormat &mx::getPowerOfTwoFormat() { return getBlockFormats()[0]; }

bool mx::isPowerOfTwoScale(Type scale) {
  return scale && findBlockFormat(scale) == &getPowerOfTwoFormat();
}

bool mx::isMatrixScale(Type scale) {
  const BlockFormat *format = findBlockFormat(scale);
  return format && format->scale;
}

std::string mx::listScaleTypes() {
  SmallVector<StringRef> names;
  for (const BlockFormat &format : getBlockFormats())
    if (format.scale && !format.isFolded)
      names.push_back(getTypeName(*format.scale));
  names.push_back("f32");
  return join(names);
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

/// MLIR types of the formats. UE4M3 follows E4M3 and has the same type, so
/// type lookups return E4M3.
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
