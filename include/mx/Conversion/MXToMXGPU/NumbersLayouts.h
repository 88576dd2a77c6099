//===- NumbersLayouts.h - Who holds what without scales ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The copy engine puts both operands where wgmma reads them, so that rows,
// columns and the reduction are as wgmma has them: a thread has 2 adjacent
// columns of each 8. Only where warps have several blocks of 64 rows are rows
// of A loaded in another order, so that a warp has adjacent ones
// (DequantizedLayouts.h).
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_NUMBERSLAYOUTS_H
#define MX_CONVERSION_MXTOMXGPU_NUMBERSLAYOUTS_H

#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"

namespace mx::mxgpu {

class NumbersLayouts {
public:
  NumbersLayouts(WgmmaAttr mma, int64_t tileK)
      : mma(mma), ofA(mma, tileK, /*readsA=*/false, /*isPackedB=*/false) {}

  /// Rows of a box of A, and for each box of a tile in shared memory the row
  /// where it begins.
  int64_t getRowsOfBox() const { return ofA.getRowsOfBox(); }
  llvm::SmallVector<int64_t> getFirstRows() const { return ofA.getFirstRows(); }
  /// Sums as wgmma gives them, and which elements of the result they are.
  FragmentLayoutAttr getSums() const { return ofA.getSums(); }
  FragmentLayoutAttr getResult() const;

private:
  WgmmaAttr mma;
  DequantizedLayouts ofA;
};

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_NUMBERSLAYOUTS_H
