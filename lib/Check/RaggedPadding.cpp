//===- RaggedPadding.cpp - Padding of ragged quantizers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows after the last expert group, scale tiles that belong to no expert group,
// and columns after the last expert group of a ragged reduction are undefined
// (docs/reference/Spec.md). A device need not write these elements, so they are
// not compared.
//===----------------------------------------------------------------------===//

#include "RaggedPadding.h"
#include <cstring>

using namespace mlir;
using namespace mx;

std::vector<int64_t> mx::readEnds(const NpyArray &offsets) {
  std::vector<int64_t> ends;
  size_t size = npyItemSize(offsets.dtype);
  for (size_t i = 0; i < offsets.data.size(); i += size) {
    int32_t narrow;
    int64_t wide;
    if (size == 4)
      std::memcpy(&narrow, offsets.data.data() + i, size);
    else
      std::memcpy(&wide, offsets.data.data() + i, size);
    ends.push_back(size == 4 ? narrow : wide);
  }
  return ends;
}

std::vector<int64_t> mx::clampEnds(ArrayRef<int64_t> offsets, int64_t total) {
  int64_t last = offsets.empty() ? 0 : std::min(offsets.back(), total);
  std::vector<int64_t> ends;
  for (int64_t offset : offsets)
    ends.push_back(std::max(ends.empty() ? 0 : ends.back(),
                            std::min(offset, std::max<int64_t>(last, 0))));
  return ends;
}

/// Returns the size of the dimension that is divided into expert groups: rows,
/// or the reduction. Returns the maximum integer if the input is unknown.
static int64_t getTotal(FusedQuantizeOp op, const IntermediateArrays &arrays) {
  Value source = op.getGather() ? Value(op.getGather()) : op.getInput();
  const NpyArray *array =
      arrays.operands[llvm::find(op->getOperands(), source).getIndex()];
  if (!array || array->shape.empty())
    return std::numeric_limits<int64_t>::max();
  if (op.getGather() || op.getRaggedOrNone() == RaggedKind::Rows)
    return array->shape.front();
  bool isPacked = isa<Float4E2M1FNType>(getElementTypeOrSelf(source));
  return array->shape.back() * (isPacked ? 2 : 1);
}

/// Returns a flag for each of `count` rows or scale-tile rows. The flag is true
/// if the row belongs to an expert group.
static std::vector<bool> getRows(ArrayRef<int64_t> ends, int64_t count,
                                 bool areTiles) {
  std::vector<bool> defined(count);
  int64_t begin = 0;
  for (auto [group, end] : llvm::enumerate(ends)) {
    int64_t first = areTiles ? raggedRowsTileRow(begin, int64_t(group)) : begin;
    int64_t lines =
        areTiles ? ceilDiv(end - begin, kScaleTileRows) : end - begin;
    for (int64_t i = first; i < std::min(first + lines, count); ++i)
      defined[i] = true;
    begin = end;
  }
  return defined;
}

int64_t mx::countSegmentColumns(ArrayRef<int64_t> ends) {
  int64_t all = 0, begin = 0;
  for (int64_t end : ends) {
    all += roundUp(end - begin, kRaggedReductionAlign);
    begin = end;
  }
  return all;
}

/// Returns a flag for each of `count` columns, true if the column is defined.
/// Each column represents `width` positions of the reduction.
static std::vector<bool> getColumns(ArrayRef<int64_t> ends, int64_t count,
                                    int64_t width) {
  int64_t all = countSegmentColumns(ends);
  std::vector<bool> defined(count);
  for (int64_t i = 0; i < std::min(ceilDiv(all, width), count); ++i)
    defined[i] = true;
  return defined;
}

void mx::ignorePadding(FusedQuantizeOp op, const IntermediateArrays &arrays,
                       unsigned result, NpyArray &device,
                       const NpyArray &reference) {
  QuantizeOut out = op.getOut(result);
  if (!op.getOffsets() || out.kind == QuantizeOut::Kind::Amax ||
      device.shape != reference.shape || device.shape.size() < 2)
    return;
  const NpyArray *offsets =
      arrays.operands[op.getOffsetsMutable()[0].getOperandNumber()];
  if (!offsets)
    return;
  std::vector<int64_t> ends =
      clampEnds(readEnds(*offsets), getTotal(op, arrays));
  bool isScales = out.kind == QuantizeOut::Kind::Scales ||
                  out.kind == QuantizeOut::Kind::Spreads;
  bool areTiles = device.shape.size() == 2 + kScaleTileRank;
  bool isMNMajor = isScales && device.shape.size() == 3;
  int64_t rows = device.shape[0],
          columns = device.shape[1] * (isMNMajor ? kMNMajorRows : 1);
  bool isReduction =
      op.getRaggedOfAxis(op.getAxes()[out.axis]) == RaggedKind::Reduction;
  Type element = getElementTypeOrSelf(op.getElements(op.getDestinationOf(out)));
  int64_t packing = isa<Float4E2M1FNType>(element) ? 2 : 1;
  int64_t width = !isScales  ? packing
                  : areTiles ? kScaleTileBlocks * op.getBlockSize()
                             : op.getBlockSize();
  std::vector<bool> definedRows(rows, true), definedColumns(columns, true);
  // Rows of spreads along columns, and of scales in layout mn_major, are
  // blocks.
  bool isTransposed = isMNMajor || out.kind == QuantizeOut::Kind::Spreads;
  if (isReduction && isTransposed)
    definedRows = getColumns(ends, rows, width);
  else if (isReduction)
    definedColumns = getColumns(ends, columns, width);
  else if (isMNMajor)
    definedColumns = getRows(ends, columns, /*areTiles=*/false);
  else
    definedRows = getRows(ends, rows, areTiles);
  if (rows == 0 || columns == 0)
    return;
  size_t bytes = device.data.size() / (rows * columns);
  auto ignore = [&](size_t begin, size_t size) {
    std::memcpy(device.data.data() + begin, reference.data.data() + begin,
                size);
  };
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (!definedRows[i] || !definedColumns[j])
        ignore((i * columns + j) * bytes, bytes);
  if (!isReduction || !areTiles)
    return;
  // Long blocks may fill only a part of the last scale tile. The bytes of a
  // tile are words of four blocks.
  int64_t blocks = countSegmentColumns(ends) / op.getBlockSize();
  int64_t last = blocks / kScaleTileBlocks, filled = blocks % kScaleTileBlocks;
  for (int64_t i = 0; filled && last < columns && i < rows; ++i)
    for (size_t word = 0; word < bytes; word += kScaleTileBlocks)
      ignore((i * columns + last) * bytes + word + filled,
             kScaleTileBlocks - filled);
}
