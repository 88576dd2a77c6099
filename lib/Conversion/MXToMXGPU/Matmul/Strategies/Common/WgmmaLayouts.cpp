//===- WgmmaLayouts.cpp - Register layouts of wgmma kernels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index of an element within 64 reduction elements has modes (2, 2, 4, 4).
// From the lowest, they select the element of a pair, the pair of an
// instruction, the step and the thread. In the instruction's operands, the
// order is element, thread, pair and step, with sizes (2, 4, 2, 4). Within each
// 32 result columns, the same permutation applies to all modes except the step.
//===----------------------------------------------------------------------===//

#include "WgmmaLayouts.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Target/Wgmma.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getWgmmaWarpgroups(int64_t rows) {
  return rows >= 2 * target::kWgmmaM ? 2 : 1;
}

int64_t mx::mxgpu::getDequantizeWarps(int64_t rows, int64_t columns) {
  bool hasRoom = getWgmmaWarpgroups(rows) == 1 &&
                 columns >= static_cast<int64_t>(target::kWarpGroupSize);
  return (hasRoom ? 2 : 1) * target::kWarpGroupWarps;
}

int64_t UpcastLayouts::getDequantizeThreads() const {
  return getDequantizeWarps(mma.getM(), mma.getN()) * target::kWarpSize;
}

int64_t UpcastLayouts::getThreadsOfRow() const {
  return std::max<int64_t>(getDequantizeThreads() / mma.getN(), 1);
}

FragmentLayoutAttr UpcastLayouts::get(ArrayRef<FragmentMode> threads,
                                      ArrayRef<FragmentMode> values) const {
  return FragmentLayoutAttr::getWithoutUnits(mma.getContext(), threads, values);
}

UpcastLayouts UpcastLayouts::getBlock() const {
  auto ofBlock =
      WgmmaAttr::get(mma.getContext(), target::kWgmmaM * mma.getWarpgroups(),
                     mma.getN(), mma.getK(), mma.getWarpgroups());
  return {ofBlock, tileK, readsA, isPackedB};
}

/// Returns A's thread modes, first over reduction elements, then over rows.
static SmallVector<FragmentMode> getThreadsOfA(WgmmaAttr mma, int64_t tileK) {
  int64_t blocks = mma.getBlocks(), groups = mma.getWarpgroups();
  return {columns(4, tileK / 4), rows(8, 1), rows(4, 16 * blocks),
          rows(groups, mma.getM() / groups)};
}

/// Keeps the elements of a row together, as in the bytes of a word.
FragmentLayoutAttr UpcastLayouts::getALoad() const {
  return get(getThreadsOfA(mma, tileK),
             {columns(2, 1), columns(2, 2), columns(tileK / 16, 4), rows(2, 8),
              rows(mma.getBlocks(), 16)});
}

FragmentLayoutAttr UpcastLayouts::getAOrder() const {
  return get(getThreadsOfA(mma, tileK),
             {columns(2, 1), rows(2, 8), columns(2, 2), columns(tileK / 16, 4),
              rows(mma.getBlocks(), 16)});
}

FragmentLayoutAttr UpcastLayouts::getAOperand() const {
  FragmentModes modes = mma.getOperandModes(
      MmaOperand::A, BFloat16Type::get(mma.getContext()), tileK);
  return FragmentLayoutAttr::get(mma.getContext(), modes.threads, modes.values);
}

int64_t UpcastLayouts::getRowsOfBox() const {
  return readsA || mma.getBlocks() == 1 ? mma.getM() : kWgmmaWarpRows;
}

SmallVector<int64_t> UpcastLayouts::getFirstRows() const {
  if (getRowsOfBox() == mma.getM())
    return {0};
  SmallVector<int64_t> rows;
  int64_t blocks = mma.getBlocks();
  for (int64_t group = 0; group < mma.getWarpgroups(); ++group)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t warp = 0; warp < target::kWarpGroupWarps; ++warp)
        rows.push_back(group * target::kWgmmaM * blocks +
                       (warp * blocks + block) * kWgmmaWarpRows);
  return rows;
}

FragmentLayoutAttr UpcastLayouts::getBLoad() const {
  if (isPackedB)
    return getPackedWeights(mma.getContext(), getDequantizeThreads(),
                            mma.getN(), tileK);
  return FragmentLayoutAttr::getRowsOfThreads(
      mma.getContext(), getDequantizeThreads(), mma.getN(), tileK);
}

FragmentLayoutAttr UpcastLayouts::getBOperand() const {
  if (isPackedB)
    return getPackedOperand(mma.getContext(), getDequantizeThreads(),
                            mma.getN(), tileK);
  int64_t shared = getThreadsOfRow(),
          perThread = getDequantizeThreads() / shared;
  if (!readsA)
    return get(
        {rows(2, 1), rows(4, 8), rows(4, 2), rows(perThread / 32, 32),
         columns(shared, tileK / shared)},
        {columns(tileK / shared, 1), rows(mma.getN() / perThread, perThread)});
  return get({rows(2, 1), rows(4, 8), rows(4, 2), rows(perThread / 32, 32),
              columns(shared, 8 / shared)},
             {columns(2, 1), columns(2, 8), columns(tileK / 16, 16),
              columns(4 / shared, 2), rows(mma.getN() / perThread, perThread)});
}

FragmentLayoutAttr UpcastLayouts::getAccumulator() const {
  FragmentModes modes = mma.getAccumulatorModes(mma.getN());
  return FragmentLayoutAttr::get(mma.getContext(), modes.threads, modes.values);
}

FragmentLayoutAttr UpcastLayouts::getResult() const {
  int64_t blocks = mma.getBlocks(), groups = mma.getWarpgroups();
  return get({columns(4, 8), rows(8, 1), rows(4, 16 * blocks),
              rows(groups, mma.getM() / groups)},
             {columns(2, 1), rows(2, 8), rows(blocks, 16), columns(4, 2),
              columns(mma.getN() / 32, 32)});
}
