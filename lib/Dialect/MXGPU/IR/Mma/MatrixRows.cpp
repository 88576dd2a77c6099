//===- MatrixRows.cpp - Row layouts for ldmatrix --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix loads up to four matrices, each with 8 rows of 16 bytes. Each lane
// of a warp provides the address of a row, and lane t receives word t % 4 of
// row t / 4 of each matrix (PTX ISA, ldmatrix). A second layout describes the
// addressed rows: each lane holds the whole row at its address.
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx::mxgpu;

static constexpr int64_t kWordBits = 32, kRowWords = 4, kMatrixRows = 8,
                         kMostMatrices = 4;

/// Removes the modes of the lowest `count` threads from the front and returns
/// them, or none if a mode crosses the boundary.
static std::optional<SmallVector<FragmentMode>>
takeThreads(ArrayRef<FragmentMode> &modes, int64_t count) {
  SmallVector<FragmentMode> taken;
  while (count > 1) {
    if (modes.empty() || count % modes.front().size)
      return std::nullopt;
    taken.push_back(modes.front());
    count /= modes.front().size;
    modes = modes.drop_front();
  }
  return taken;
}

/// Removes the lowest bits of the register number and returns each as a mode of
/// size 2. These bits count the matrices of an instruction.
static SmallVector<FragmentMode>
takeMatrices(SmallVectorImpl<FragmentMode> &modes) {
  SmallVector<FragmentMode> bits;
  for (FragmentMode &mode : modes)
    while (mode.size > 1) {
      if (mode.size % 2 || int64_t(1) << bits.size() == kMostMatrices)
        return bits;
      bits.push_back({2, mode.rows, mode.columns});
      mode = {mode.size / 2, mode.rows * 2, mode.columns * 2};
    }
  return bits;
}

FragmentLayoutAttr FragmentLayoutAttr::getMatrixRows(int64_t bits) const {
  int64_t word = kWordBits / bits;
  ArrayRef<FragmentMode> threads = getThreads(), values = getValues();
  auto isMode = [](ArrayRef<FragmentMode> modes, FragmentMode mode) {
    return !modes.empty() && modes.front() == mode;
  };
  if (!isMode(values, {word, 0, 1}) || !isMode(threads, {kRowWords, 0, word}))
    return {};
  threads = threads.drop_front();
  std::optional<SmallVector<FragmentMode>> lanes =
      takeThreads(threads, kMatrixRows);
  if (!lanes || llvm::any_of(*lanes, [](auto &mode) { return !mode.rows; }))
    return {};
  SmallVector<FragmentMode> registers(values.drop_front());
  SmallVector<FragmentMode> matrices = takeMatrices(registers);
  // With fewer than four matrices, the remaining lanes repeat addresses.
  int64_t others = kMostMatrices >> matrices.size();
  llvm::append_range(*lanes, matrices);
  if (others > 1)
    lanes->push_back({others, 0, 0});
  llvm::append_range(*lanes, threads);
  registers.insert(registers.begin(), {kRowWords * word, 0, 1});
  llvm::erase_if(registers,
                 [](const FragmentMode &mode) { return mode.size == 1; });
  return get(getContext(), *lanes, registers);
}
