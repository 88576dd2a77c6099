//===- CollectParts.cpp - Parts of a collect's columns --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Column c of the sums needs only column c of the matmul, so the sums of a part
// of the columns are sent while the matmul computes the next part. Only the
// last part of the wire time is exposed, but each part adds the latency of a
// collective and the tail of a matmul.
//===----------------------------------------------------------------------===//

#include "CollectParts.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Target/MmaShapes.h"
#include "mx/Target/Rates.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;

/// Parts begin at multiples of this number, which tiles of matmuls divide.
static constexpr int64_t kPartColumns = 256;
static constexpr int64_t kMostParts = 8;

GroupedMatmulOp mx::findSplittable(CollectOp op) {
  auto matmul = op.getInput().getDefiningOp<GroupedMatmulOp>();
  auto isOtherUse = [&](Operation *user) {
    return user != op && !isa<tensor::DimOp>(user);
  };
  if (!matmul || llvm::any_of(op.getInput().getUsers(), isOtherUse) ||
      matmul->getBlock() != op->getBlock() || matmul.getColumns() ||
      matmul.getNumB() > 1 || matmul.getScatter() || matmul.getWhere())
    return {};
  return matmul;
}

/// Returns the exposed cycles of `parts` parts.
static double getExposed(CollectOp op, GroupedMatmulOp matmul,
                         const target::Rates &rates, int64_t parts) {
  RankGroupOp group = op.getGroupOp();
  auto input = cast<ShapedType>(op.getInput().getType());
  auto a = cast<ShapedType>(matmul.getA().getType());
  double bytes = double(group.getRows() - group.getRowsOfRank()) *
                 input.getDimSize(1) * op.getWire().getIntOrFloatBitWidth() / 8;
  // On average, half of the SMs wait for the last tile, of 256 columns and 128
  // rows in bf16.
  double k = ShapedType::isDynamic(a.getDimSize(1)) ? 0 : a.getDimSize(1);
  double tail =
      k * 2 / target::kMmaKBytes * target::mmaCycles(rates, kPartColumns) / 2;
  return bytes / rates.linkBytesPerClk / parts +
         parts * (rates.collectiveLatency + tail);
}

SmallVector<int64_t> mx::getPartEnds(CollectOp op, GroupedMatmulOp matmul,
                                     const target::TargetInfo *target) {
  int64_t columns = cast<ShapedType>(op.getInput().getType()).getDimSize(1);
  int64_t tiles = llvm::divideCeil(columns, kPartColumns), parts = 1;
  if (!matmul || op.getGroupOp().getSize() == 1)
    return {columns};
  if (op.getParts())
    parts = *op.getParts();
  else if (target && target->rates)
    for (int64_t more = 2; more <= kMostParts; ++more)
      if (getExposed(op, matmul, *target->rates, more) <
          getExposed(op, matmul, *target->rates, parts))
        parts = more;
  parts = std::clamp<int64_t>(parts, 1, std::max<int64_t>(tiles, 1));
  SmallVector<int64_t> ends;
  for (int64_t part = 1; part <= parts; ++part)
    ends.push_back(std::min<int64_t>(
        llvm::divideCeil(tiles * part, parts) * kPartColumns, columns));
  return ends;
}
