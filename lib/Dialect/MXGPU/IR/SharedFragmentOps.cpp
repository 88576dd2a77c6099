//===- SharedFragmentOps.cpp - Fragments in shared memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Covers loads of operands and scales by the threads of a role. Box, thread and
// register numbers determine disjoint address bits, so additions never carry.
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Returns the number of fragment elements per buffer element.
static int64_t getPerElement(BufferType buffer, Type element) {
  return buffer.getElementType().getIntOrFloatBitWidth() /
         getStoredBits(element);
}

SmallVector<int64_t, 2> mxgpu::getMatrixShape(BufferType buffer, Type element) {
  ArrayRef<int64_t> shape = buffer.getShape();
  int64_t columns = shape.back() * getPerElement(buffer, element);
  if (shape.size() == 2)
    return {shape[0], columns};
  return {shape[1], shape[0] * columns};
}

/// Fails unless the fragment's columns fit a panel or span whole panels.
static LogicalResult verifyBoxShape(Operation *op, BufferType buffer,
                                    FragmentType type) {
  auto [rows, columns] = std::pair(type.getRows(), type.getColumns());
  SmallVector<int64_t, 2> matrix =
      getMatrixShape(buffer, type.getElementType());
  int64_t panel =
      buffer.getShape().back() * getPerElement(buffer, type.getElementType());
  bool fitsPanel = panel % columns == 0;
  if (matrix[0] % rows || matrix[1] % columns ||
      (!fitsPanel && columns % panel != 0)) // load_fragment C2
    return op->emitOpError(
               "expected a fragment whose rows divide the rows of the buffer, "
               "and whose columns divide a panel or span whole panels, found ")
           << type << " and " << buffer;
  if (!fitsPanel && !llvm::isPowerOf2_64(panel)) // load_fragment C3
    return op->emitOpError(
               "expected panel rows whose length is a power of two, because "
               "the fragment spans several panels, found ")
           << buffer;
  if (buffer.getSwizzle() == mxgpu::Swizzle::None)
    return success();
  bool isPanels = buffer.getShape().size() == 3;
  if ((!llvm::isPowerOf2_64(rows) && rows % kSwizzleRows) ||
      (isPanels && matrix[0] % kSwizzleRows)) // load_fragment C7
    return op->emitOpError(
               "expected a row count that is a power of two or a multiple of ")
           << kSwizzleRows
           << " with a swizzle, and a row count per panel that is a "
           << "multiple of " << kSwizzleRows << ", found " << type << " and "
           << buffer;
  return success();
}

LogicalResult mxgpu::verifyBox(Operation *op, BufferType buffer,
                               FragmentType type) {
  if (buffer.getSpace() != Space::Smem || buffer.getShape().size() < 2 ||
      buffer.getShape().size() > 3 || buffer.getPadded()) // shared C20
    return op->emitOpError("expected a matrix, or the panels of a matrix, in "
                           "shared memory, found ")
           << buffer;
  Type element = type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  bool inBytes = bits < 8 && buffer.getElementType().isInteger(8);
  bool isSame = element == buffer.getElementType() && bits != 6 && bits <= 32;
  if (!isSame && !inBytes) // load_fragment C1
    return op->emitOpError("expected fragment elements of type ")
           << buffer.getElementType()
           << " with 4, 8, 16 or 32 bits, or 4-bit or 6-bit elements in a "
              "buffer of bytes (i8), found "
           << element;
  if (failed(verifySwizzledRows(op, buffer)))
    return failure();
  if (failed(verifyBoxShape(op, buffer, type)))
    return failure();
  FragmentLayoutAttr layout = type.getLayout();
  if (layout.getNumValues() * getStoredBits(element) % 32) // load_fragment C4
    return op->emitOpError("expected the registers of a thread to fill 32-bit "
                           "words, found ")
           << layout.getNumValues() << " of " << element;
  auto isCount = [](const FragmentMode &mode) { return mode.size > 1; };
  const FragmentMode *first = llvm::find_if(layout.getValues(), isCount);
  if (bits == 4 && (first->columns != 1 || first->size % 2)) // load_fragment C5
    return op->emitOpError("expected registers whose lowest mode counts an "
                           "even number of adjacent columns, because a byte "
                           "holds two 4-bit elements, found ")
           << layout;
  return success();
}

/// Fails if a constant coordinate is not the start of a box.
static LogicalResult verifyCoordinate(Operation *op, Value coordinate,
                                      int64_t step, int64_t end,
                                      StringRef name) {
  std::optional<int64_t> known = getConstantIntValue(coordinate);
  if (!known || (*known >= 0 && *known < end && *known % step == 0))
    return success();
  return op->emitOpError("expected a ") // load_fragment C6
         << name << " that is a multiple of " << step << " below " << end
         << ", found " << *known;
}

/// Verifies a load by ldmatrix. Row addresses must be multiples of 16 bytes.
static LogicalResult verifyMatrices(LoadFragmentOp op, BufferType buffer,
                                    FragmentType type) {
  int64_t bits = getStoredBits(type.getElementType());
  int64_t rowBytes = buffer.getShape().back() *
                     buffer.getElementType().getIntOrFloatBitWidth() / 8;
  // load_fragment C8
  if (!type.getLayout().getMatrixRows(bits) || rowBytes % kChunkBytes)
    return op.emitOpError("expected a row size that is a multiple of ")
           << kChunkBytes
           << " bytes and a layout in which lane t of a warp holds word t % 4 "
              "of row t / 4 of every 8 rows, found "
           << buffer << " and " << type.getLayout();
  RoleOp role = getRole(op);
  if (role && role.getElected()) // load_fragment C9
    return op.emitOpError(
        "'matrices' requires all lanes of a warp, found an elected role");
  return success();
}

LogicalResult LoadFragmentOp::verify() {
  BufferType buffer = getBuffer().getType();
  FragmentType type = getType();
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getBuffer())) ||
      failed(verifyHolders(*this, type.getLayout())) ||
      failed(verifyBox(*this, buffer, type)))
    return failure();
  if (getMatrices() && failed(verifyMatrices(*this, buffer, type)))
    return failure();
  SmallVector<int64_t, 2> matrix =
      getMatrixShape(buffer, type.getElementType());
  if (failed(
          verifyCoordinate(*this, getRow(), type.getRows(), matrix[0], "row")))
    return failure();
  return verifyCoordinate(*this, getColumn(), type.getColumns(), matrix[1],
                          "column");
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

std::optional<std::pair<int64_t, int64_t>>
mxgpu::getScaleTiles(BufferType buffer) {
  ArrayRef<int64_t> shape = buffer.getShape();
  int64_t bytes = shape.back() * getStoredBits(buffer.getElementType()) / 8;
  if (bytes == kScaleTileBytes)
    shape = shape.drop_back();
  else if (shape.size() > 1 && bytes == kScaleTileBytes / 2 &&
           shape[shape.size() - 2] == 2)
    shape = shape.drop_back(2);
  else
    return {};
  if (shape.empty())
    return std::pair<int64_t, int64_t>(1, 1);
  if (shape.size() != 2)
    return {};
  return std::pair(shape[0], shape[1]);
}

/// Returns true if a box divides a tile or consists of whole tiles, and the box
/// divides the matrix.
static bool isBoxOf(int64_t size, int64_t tile, int64_t matrix) {
  return (tile % size == 0 || size % tile == 0) && matrix % size == 0;
}

/// Returns true if the rows of a fragment may start in the middle of a tile.
/// The fragment covers whole tiles and half a tile, and the matrix contains the
/// other half. The rows of a thread are less than half a tile apart, so their
/// distances in memory do not depend on the first row.
static bool mayBeginInTile(FragmentLayoutAttr layout, int64_t allRows) {
  constexpr int64_t kHalf = kScaleTileRows / 2;
  int64_t rows = layout.getShape().first;
  return rows > kScaleTileRows && rows % kScaleTileRows == kHalf &&
         rows + kHalf <= allRows &&
         llvm::all_of(layout.getRowOffsets(),
                      [](int64_t offset) { return offset < kHalf; });
}

LogicalResult LoadFragmentScalesOp::verify() {
  auto type = cast<FragmentType>(getFragment());
  FragmentLayoutAttr layout = type.getLayout();
  BufferType buffer = getBuffer().getType();
  if (failed(verifyBufferOf<ConsumerWaitOp>(*this, getBuffer())) ||
      failed(verifyHolders(*this, layout)))
    return failure();
  auto tiles = getScaleTiles(buffer);
  if (buffer.getSpace() != Space::Smem || !tiles ||
      buffer.getSwizzle() != mxgpu::Swizzle::None ||
      !findBlockFormat(buffer.getElementType())) // load_fragment_scales C1
    return emitOpError("expected a tile of ")
           << kScaleTileBytes << " scales of type " << listScaleTypes()
           << ", or a matrix of tiles, found " << buffer;
  int64_t bytes = getStoredBits(buffer.getElementType()) / 8;
  int64_t block = getBlockSize(), columns = type.getColumns();
  bool isFragment = isa<FragmentType>(getType());
  // load_fragment_scales C5
  if (isFragment && (block != 1 || getType() != type ||
                     type.getElementType() != buffer.getElementType()))
    return emitOpError("expected block(1), and a result and a fragment of the "
                       "same type with elements of type ")
           << buffer.getElementType() << ", found "
           << "block(" << block << ") for " << type << " and " << getType();
  // load_fragment_scales C2
  if (!isFragment && (block < 16 || !llvm::isPowerOf2_64(block) ||
                      (block < columns && columns % block)))
    return emitOpError("expected a power-of-two block size of at least 16 that "
                       "divides or covers the fragment's columns, ")
           << columns << ", found " << block;
  int64_t rows = type.getRows(), blocks = std::max<int64_t>(columns / block, 1);
  int64_t allRows = tiles->first * kScaleTileRows;
  int64_t inTile = kScaleTileBlocks / bytes;
  int64_t allBlocks = tiles->second * inTile;
  bool isBoxOfRows = isBoxOf(rows, kScaleTileRows, allRows);
  if ((!isBoxOfRows && !mayBeginInTile(layout, allRows)) ||
      !isBoxOf(blocks, inTile, allBlocks)) // load_fragment_scales C3
    return emitOpError("expected the rows and blocks of the fragment to divide "
                       "a tile of ")
           << kScaleTileRows << "x" << inTile
           << " or to span whole tiles, and to divide the buffer's " << allRows
           << "x" << allBlocks << ", found " << rows << "x" << blocks;
  if (!isFragment) {
    auto expected = VectorType::get({int64_t(layout.getRowOffsets().size()),
                                     int64_t(layout.getBlocks(block).size())},
                                    buffer.getElementType());
    if (getType() != expected) // load_fragment_scales C4
      return emitOpError("expected one scale for each row and block of a "
                         "thread, of type ")
             << expected << ", found " << getType();
  }
  if (failed(verifyCoordinate(*this, getRow(),
                              isBoxOfRows ? rows : kScaleTileRows / 2, allRows,
                              "row")))
    return failure();
  return verifyCoordinate(*this, getBlock(), blocks, allBlocks, "block");
}
