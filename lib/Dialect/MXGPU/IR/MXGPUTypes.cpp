//===- MXGPUTypes.cpp - Types of the mxgpu dialect ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses, prints and verifies tensor maps, buffers and scales. The ring type is
// in Rings.cpp.
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/TensorMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

#define GET_TYPEDEF_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUTypes.cpp.inc"

void MXGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Dialect/MXGPU/IR/MXGPUTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {
/// Syntax shared by maps and buffers: `<` dimensions `x` type (`,` swizzle)?
/// (`,` `padded`)? `>`.
struct ShapedBody {
  SmallVector<int64_t> shape;
  Type elementType;
  mxgpu::Swizzle swizzle = mxgpu::Swizzle::None;
  bool padded = false;
};
} // namespace

static ParseResult parseShapedBody(AsmParser &parser, ShapedBody &body) {
  if (parser.parseLess() ||
      parser.parseDimensionList(body.shape, /*allowDynamic=*/false) ||
      parser.parseType(body.elementType))
    return failure();
  while (!body.padded && succeeded(parser.parseOptionalComma())) {
    body.padded = succeeded(parser.parseOptionalKeyword("padded"));
    if (body.padded || body.swizzle != mxgpu::Swizzle::None)
      continue;
    FailureOr<mxgpu::Swizzle> swizzle =
        FieldParser<mxgpu::Swizzle>::parse(parser);
    if (failed(swizzle))
      return failure();
    body.swizzle = *swizzle;
  }
  return parser.parseGreater();
}

static void printShapedBody(AsmPrinter &printer, ArrayRef<int64_t> shape,
                            Type elementType, mxgpu::Swizzle swizzle,
                            bool padded) {
  printer << '<';
  for (int64_t size : shape)
    printer << size << 'x';
  printer << elementType;
  if (swizzle != mxgpu::Swizzle::None)
    printer << ", " << stringifySwizzle(swizzle);
  if (padded)
    printer << ", padded";
  printer << '>';
}

int64_t mx::mxgpu::getSharedBits(Type elementType, bool padded) {
  return padded ? 8 : elementType.getIntOrFloatBitWidth();
}

/// Returns the bits of all elements of a shape, without overflow checks.
static int64_t getBits(ArrayRef<int64_t> shape, int64_t elementBits) {
  for (int64_t size : shape)
    elementBits *= size;
  return elementBits;
}

static constexpr int64_t kMaxBytes = int64_t(1) << 30;

static LogicalResult verifyShape(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 mxgpu::Swizzle swizzle, bool padded) {
  if (shape.empty()) // shared C28
    return emitError() << "expected at least 1 dimension, found none";
  for (int64_t size : shape) // shared C29
    if (size < 1)
      return emitError() << "expected dimensions of at least 1, found " << size;
  bool isPackable =
      isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(elementType);
  if (padded && !isPackable) // shared C30
    return emitError() << "'padded' requires 4-bit or 6-bit elements, found "
                       << elementType;
  if (!elementType.isIntOrFloat() ||
      (elementType.getIntOrFloatBitWidth() % 8 && !isPackable)) // shared C31
    return emitError() << "expected elements that fill whole bytes, found "
                       << elementType;
  // The limit exceeds any memory, but sums of such sizes do not overflow.
  int64_t bits = getSharedBits(elementType, padded);
  for (int64_t size : shape) // shared C32
    if (llvm::MulOverflow(bits, size, bits) || bits > 8 * kMaxBytes)
      return emitError() << "expected at most " << kMaxBytes
                         << " bytes, found more";
  int64_t rowBits = shape.back() * getSharedBits(elementType, padded);
  if (rowBits % 8) // shared C33
    return emitError() << "expected rows that fill whole bytes, found "
                       << shape.back() << " elements of " << elementType;
  if (padded && shape.back() % 16) // shared C34
    return emitError() << "expected the length of padded rows to be a multiple "
                          "of 16 elements, found "
                       << shape.back();
  int64_t rowBytes = rowBits / 8;
  if (swizzle != mxgpu::Swizzle::None &&
      rowBytes > static_cast<int64_t>(swizzle)) // shared C35
    return emitError() << "expected rows of at most "
                       << static_cast<int64_t>(swizzle)
                       << " bytes with swizzle " << stringifySwizzle(swizzle)
                       << ", found " << rowBytes;
  return success();
}

//===----------------------------------------------------------------------===//
// TensorMapType
//===----------------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) {
  ShapedBody body;
  if (parseShapedBody(parser, body))
    return {};
  return parser.getChecked<TensorMapType>(parser.getContext(), body.shape,
                                          body.elementType, body.swizzle,
                                          body.padded);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printShapedBody(printer, getBox(), getElementType(), getSwizzle(),
                  getPadded());
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> box, Type elementType,
                      mxgpu::Swizzle swizzle, bool padded) {
  if (failed(verifyShape(emitError, box, elementType, swizzle, padded)))
    return failure();
  // Limits of the driver's cuTensorMapEncodeTiled.
  // tensor_map C1
  if (box.size() > target::kTensorMapMaxRank)
    return emitError() << "expected a box of at most "
                       << target::kTensorMapMaxRank << " dimensions, found "
                       << box.size();
  for (int64_t size : box) // tensor_map C2
    if (size > target::kTensorMapMaxBox)
      return emitError() << "expected box dimensions of at most "
                         << target::kTensorMapMaxBox << ", found " << size;
  // 6-bit elements are never dense in shared memory. Copies of padded types
  // move whole rows.
  // tensor_map C3
  if (elementType.getIntOrFloatBitWidth() == 6 && !padded)
    return emitError() << "6-bit elements require 'padded'";
  if (padded && box.back() != target::kTensorMapPaddedBox) // tensor_map C4
    return emitError() << "expected padded box rows of "
                       << target::kTensorMapPaddedBox << " elements, found "
                       << box.back();
  int64_t rowBytes = box.back() * getSharedBits(elementType, padded) / 8;
  if (rowBytes % 16) // tensor_map C5
    return emitError() << "expected the size of box rows to be a multiple of "
                          "16 bytes, found "
                       << rowBytes;
  return success();
}

int64_t TensorMapType::getSizeInBytes() const {
  return getBits(getBox(), getSharedBits(getElementType(), getPadded())) / 8;
}

//===----------------------------------------------------------------------===//
// BufferType
//===----------------------------------------------------------------------===//

FailureOr<BufferType> BufferType::parseBody(AsmParser &parser) {
  FailureOr<Space> space = FieldParser<Space>::parse(parser);
  ShapedBody body;
  if (failed(space) || parseShapedBody(parser, body))
    return failure();
  auto type = parser.getChecked<BufferType>(parser.getContext(), *space,
                                            body.shape, body.elementType,
                                            body.swizzle, body.padded);
  if (!type)
    return failure();
  return type;
}

void BufferType::printBody(AsmPrinter &printer) const {
  printer << stringifySpace(getSpace());
  printShapedBody(printer, getShape(), getElementType(), getSwizzle(),
                  getPadded());
}

Type BufferType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<BufferType> type = parseBody(parser);
  if (failed(type) || parser.parseGreater())
    return {};
  return *type;
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Space space, ArrayRef<int64_t> shape,
                                 Type elementType, mxgpu::Swizzle swizzle,
                                 bool padded) {
  if (failed(verifyShape(emitError, shape, elementType, swizzle, padded)))
    return failure();
  if (space == Space::Smem)
    return success();
  if (swizzle != mxgpu::Swizzle::None) // buffer C1
    return emitError() << "expected no swizzle in tensor memory, found "
                       << stringifySwizzle(swizzle);
  if (!elementType.isF32()) // buffer C2
    return emitError() << "expected f32 in tensor memory, found "
                       << elementType;
  if (shape.size() != 2 || shape[0] != target::kTmemLanes) // buffer C3
    return emitError()
           << "expected " << target::kTmemLanes
           << " lanes by any number of columns in tensor memory, found shape ["
           << shape << "]";
  return success();
}

int64_t BufferType::getSizeInBytes() const {
  return getBits(getShape(), getSharedBits(getElementType(), getPadded())) / 8;
}

int64_t BufferType::getTransactionBytes() const {
  return getBits(getShape(), getElementType().getIntOrFloatBitWidth()) / 8;
}

//===----------------------------------------------------------------------===//
// ScalesType
//===----------------------------------------------------------------------===//

Type ScalesType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType = getPowerOfTwoFormat().getScaleType(parser.getContext());
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                /*withTrailingX=*/false) ||
      (succeeded(parser.parseOptionalComma()) &&
       parser.parseType(elementType)) ||
      parser.parseGreater())
    return {};
  if (shape.empty() || shape.size() > 2) {
    parser.emitError(
        loc, "expected a row count, or a row count and a tile count, found ")
        << shape.size() << " sizes";
    return {};
  }
  return parser.getChecked<ScalesType>(parser.getContext(), shape[0],
                                       shape.size() > 1 ? shape[1] : 1,
                                       elementType);
}

void ScalesType::print(AsmPrinter &printer) const {
  printer << '<' << getRows();
  if (getTiles() != 1)
    printer << 'x' << getTiles();
  if (!isPowerOfTwoScale(getElementType()))
    printer << ", " << getElementType();
  printer << '>';
}

LogicalResult ScalesType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t tiles,
                                 Type elementType) {
  // scales C1
  if (rows < 1 || rows % target::kScaleRowsPerGroup || rows > kMaxBytes)
    return emitError() << "expected a multiple of "
                       << target::kScaleRowsPerGroup << " rows, found " << rows;
  if (tiles < 1 || tiles > kMaxStages) // scales C2
    return emitError() << "expected 1 to " << kMaxStages << " tiles, found "
                       << tiles;
  if (!isMatrixScale(elementType)) // scales C3
    return emitError() << "expected scales of type " << listScaleTypes()
                       << ", found " << elementType;
  return success();
}
