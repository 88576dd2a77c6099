//===- FragmentViewOps.cpp - Verifiers and folders of fragment views ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/Matchers.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

LogicalResult mxgpu::verifyHolders(Operation *op, FragmentLayoutAttr layout) {
  RoleOp role = getRole(op);
  int64_t threads = role ? role.getWarps() * target::kWarpSize : 0;
  if (role && threads != layout.getNumThreads()) // shared C26
    return op->emitOpError("expected a role with ")
           << layout.getNumThreads()
           << " threads, as in the layout of the fragment, found " << threads;
  return success();
}

template <typename CoordinateOp>
static LogicalResult verifyCoordinate(CoordinateOp op, int64_t count,
                                      StringRef what) {
  // shared C25
  if (int64_t number = op.getNumber(); number < 0 || number >= count)
    return op.emitOpError("expected the index of a ")
           << what << " to be below " << count << ", found " << number;
  return verifyHolders(op, cast<FragmentType>(op.getFragment()).getLayout());
}

LogicalResult FragmentRowOp::verify() {
  FragmentLayoutAttr layout = cast<FragmentType>(getFragment()).getLayout();
  return verifyCoordinate(*this, layout.getRowOffsets().size(), "row");
}

LogicalResult FragmentColumnOp::verify() {
  FragmentLayoutAttr layout = cast<FragmentType>(getFragment()).getLayout();
  return verifyCoordinate(*this, layout.getRuns().size(), "run");
}

/// Folds to a constant if the column is the same for all threads.
OpFoldResult FragmentColumnOp::fold(FoldAdaptor) {
  FragmentLayoutAttr layout = cast<FragmentType>(getFragment()).getLayout();
  if (llvm::any_of(layout.getThreads(),
                   [](const FragmentMode &mode) { return mode.columns != 0; }))
    return {};
  return Builder(getContext())
      .getIndexAttr(layout.getRuns()[getNumber()].column);
}

static LogicalResult verifyRows(Operation *op, FragmentType fragment,
                                TypeRange rows) {
  size_t count = fragment.getLayout().getRowOffsets().size();
  VectorType expected = fragment.getRowType();
  if (failed(verifyVectorSize(op, expected))) // shared C10
    return failure();
  // Elements of 4 and 6 bits are packed into words.
  Type element = fragment.getElementType();
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 8;
  if (isNarrow && failed(verifyWords(op, expected)))
    return failure();
  if (rows.size() == count &&
      llvm::all_of(rows, [&](Type row) { return row == expected; }))
    return success();
  return op->emitOpError("expected ") // shared C27
         << count << (count == 1 ? " row of " : " rows of ") << expected
         << ", found " << rows;
}

LogicalResult ToRowsOp::verify() {
  return verifyRows(*this, getFragment().getType(), getRows().getTypes());
}

LogicalResult ToRowsOp::fold(FoldAdaptor,
                             SmallVectorImpl<OpFoldResult> &results) {
  auto made = getFragment().getDefiningOp<FromRowsOp>();
  if (!made)
    return failure();
  llvm::append_range(results, made.getRows());
  return success();
}

LogicalResult FromRowsOp::verify() {
  return verifyRows(*this, getFragment().getType(), getRows().getTypes());
}

LogicalResult ExtractColumnsOp::verify() {
  FragmentType from = getFragment().getType(), type = getType();
  FragmentLayoutAttr layout = from.getLayout().withColumns(type.getColumns());
  // extract_columns C1
  if (type.getElementType() != from.getElementType() ||
      from.getColumns() % type.getColumns() || type.getLayout() != layout)
    return emitOpError("expected a slice with the element type and layout of ")
           << from << ", and a column count that divides the fragment's, found "
           << type;
  IntegerAttr column;
  if (!matchPattern(getColumn(), m_Constant(&column)) ||
      (column.getInt() >= 0 && column.getInt() % type.getColumns() == 0 &&
       column.getInt() < from.getColumns())) // extract_columns C2
    return success();
  if (type == from)
    return emitOpError("expected column 0 for a slice of all columns, found ")
           << column.getInt();
  return emitOpError("expected a column from 0 to ")
         << from.getColumns() - type.getColumns() << " in steps of "
         << type.getColumns() << ", found " << column.getInt();
}

LogicalResult RelabelFragmentOp::verify() {
  FragmentType from = getFragment().getType(), type = getType();
  if (type.getElementType() != from.getElementType()) // relabel_fragment C1
    return emitOpError("expected the element type of ")
           << from << ", found " << type;
  FragmentLayoutAttr layout = type.getLayout(), old = from.getLayout();
  if (layout.getNumThreads() != old.getNumThreads() ||
      layout.getNumValues() != old.getNumValues()) // relabel_fragment C2
    return emitOpError("expected ")
           << old.getNumThreads() << " threads with " << old.getNumValues()
           << " registers each, found " << layout.getNumThreads() << " with "
           << layout.getNumValues();
  return success();
}

LogicalResult AddPartialsOp::verify() {
  if (failed(verifyInRole(*this)))
    return failure();
  FragmentType type = getAccumulator().getType();
  if (!type.getElementType().isF32()) // add_partials C1
    return emitOpError("expected an f32 accumulator, found ") << type;
  // add_partials C3
  if (getDistributed() && type.getLayout().getNumValues() % kPartialChunk)
    return emitOpError("'distributed' requires a multiple of ")
           << kPartialChunk << " registers per thread, found "
           << type.getLayout().getNumValues() << " in " << type;
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel)
    return success();
  if (kernel.getClusterSplits() == 1) // add_partials C2
    return emitOpError("expected to be inside a kernel with cluster_splits(n)");
  return verifyHolders(*this, type.getLayout());
}

LogicalResult EndPartialsOp::verify() {
  if (failed(verifyInRole(*this)))
    return failure();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && kernel.getClusterSplits() == 1) // end_partials C1
    return emitOpError("expected to be inside a kernel with cluster_splits(n)");
  return success();
}

/// Fails unless `slice` has the layout of `whole` without a register mode that
/// counts rows, and the size of this mode exceeds `last`.
static LogicalResult verifySliceOfRows(Operation *op, FragmentType whole,
                                       FragmentType slice, int64_t last) {
  std::optional<unsigned> mode =
      whole.getLayout().findRowMode(slice.getLayout());
  // extract_rows C1
  if (!mode || whole.getElementType() != slice.getElementType())
    return op->emitOpError("expected the layout of ")
           << whole << " without one register mode that counts rows, found "
           << slice;
  ArrayRef<FragmentMode> values = whole.getLayout().getValues();
  // extract_rows C2
  if (int64_t size = values[*mode].size; last < 0 || last >= size)
    return op->emitOpError("expected a slice index from 0 to ")
           << size - 1 << ", found " << last;
  int64_t below = 1;
  for (const FragmentMode &mode : values.take_front(*mode))
    below *= mode.size;
  // extract_rows C3
  if (int64_t inWord = whole.getElementsOfWord(); below % inWord != 0)
    return op->emitOpError("expected a register mode that counts rows with a "
                           "stride divisible by ")
           << inWord << ", the element count of a register, found stride "
           << below;
  return success();
}

LogicalResult ExtractRowsOp::verify() {
  return verifySliceOfRows(*this, getFragment().getType(), getType(),
                           getIndex());
}

LogicalResult ConcatRowsOp::verify() {
  FragmentType whole = getType();
  if (getFragments().empty()) // concat_rows C1
    return emitOpError("expected at least one slice, found none");
  FragmentType slice = cast<FragmentType>(getFragments().front().getType());
  for (Type other : getFragments().getTypes()) // concat_rows C2
    if (other != slice)
      return emitOpError("expected slices of the same type, found ")
             << slice << " and " << other;
  int64_t count = getFragments().size();
  if (failed(verifySliceOfRows(*this, whole, slice, count - 1)))
    return failure();
  if (slice.getRows() * count != whole.getRows()) // concat_rows C3
    return emitOpError("expected ")
           << whole.getRows() / slice.getRows() << " slices, found " << count;
  return success();
}

OpFoldResult RelabelFragmentOp::fold(FoldAdaptor) {
  if (getFragment().getType() == getType())
    return getFragment();
  auto first = getFragment().getDefiningOp<RelabelFragmentOp>();
  if (!first)
    return {};
  getFragmentMutable().assign(first.getFragment());
  return getResult();
}
