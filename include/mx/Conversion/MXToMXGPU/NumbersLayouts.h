//===- NumbersLayouts.h - Who holds what without scales ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The copy engine puts both operands where wgmma reads them, so that rows,
// columns and the reduction are as wgmma has them: a thread has 2 adjacent
// columns of each 8. Only where warps have several blocks of 64 rows are rows
// of A loaded in another order, so that a warp has adjacent ones
// (DequantizedLayouts.h). And where the result is quantized, rows of B are
// loaded in the order that gives a thread 8 adjacent columns of each 32: a
// tensor map has a dimension for each digit of a row's number.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_NUMBERSLAYOUTS_H
#define MX_CONVERSION_MXTOMXGPU_NUMBERSLAYOUTS_H

#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"

namespace mx::mxgpu {

class NumbersLayouts {
public:
  /// Rows of B that are loaded in another order are so many at a time.
  static constexpr int64_t kInterleaved = 32;

  NumbersLayouts(WgmmaAttr mma, int64_t tileK, bool isAdjacent)
      : mma(mma), isAdjacent(isAdjacent),
        ofA(mma, tileK, /*readsA=*/false, /*isPackedB=*/false) {}

  bool hasAdjacentColumns() const { return isAdjacent; }
  /// Rows of a box of A, and for each box of a tile in shared memory the row
  /// where it begins.
  int64_t getRowsOfBox() const { return ofA.getRowsOfBox(); }
  llvm::SmallVector<int64_t> getFirstRows() const { return ofA.getFirstRows(); }
  /// Sums as wgmma gives them, and which elements of the result they are.
  FragmentLayoutAttr getSums() const { return ofA.getSums(); }
  FragmentLayoutAttr getResult() const;

private:
  WgmmaAttr mma;
  bool isAdjacent;
  DequantizedLayouts ofA;
};

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_NUMBERSLAYOUTS_H
