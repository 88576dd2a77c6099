//===- HostChecks.cpp - Sizes that only the launch knows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "HostChecks.h"
#include "mx/Support/WeightLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// The size of a matrix's, or of a batch of matrices', dimension from the last.
static Value getSizeFromLast(KernelBuilder &host, Value memref,
                             int64_t fromLast) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  return host.dim(memref, rank - fromLast);
}

/// Operands and their scales are `m` x `k` and `n` x `k`.
static void checkOperands(ProductKernel &kernel, WorkPolicy &work, Value m,
                          Value n, Value k) {
  KernelBuilder &host = kernel.host;
  const Matrices &matrices = kernel.matrices;
  const target::ProductForm &form = kernel.product.problem.product;
  MatmulOpInterface op = kernel.product.op;
  Value aTiles = work.getRowTiles(m), bTiles = work.getColumnTiles(n);
  if (matrices.aScales)
    requireScaleSizes(host, matrices.aScales, m, k, form.blockSize, aTiles,
                      "a_scales");
  if (matrices.bScales)
    requireScaleSizes(host, matrices.bScales, n, k, form.blockSize, bTiles,
                      "b_scales");
  requireRows(host, matrices.a, form.a->rowMultiple, form.a->alignment, "a");
  requireRows(host, op.getB(), form.b->rowMultiple, form.b->alignment, "b");
}

/// The rows of a matrix of B. Packed weights do not tell: they have the columns
/// of the result.
static Value getRowsOfB(ProductKernel &kernel) {
  MatmulOpInterface op = kernel.product.op;
  KernelBuilder &host = kernel.host;
  if (!kernel.product.problem.isPackedB)
    return getSizeFromLast(host, op.getB(), 2);
  return host.mul(getSizeFromLast(host, op.getResultTensor(), 1),
                  host.index(kernel.product.problem.numB));
}

/// B has rows of `k` elements, or tiles of such.
static void checkRowsOfB(ProductKernel &kernel, Value n, Value k) {
  KernelBuilder &host = kernel.host;
  MatmulOpInterface op = kernel.product.op;
  Value b = op.getB();
  int64_t last = cast<MemRefType>(b.getType()).getRank() - 1;
  if (!kernel.product.problem.isPackedB) {
    host.requireSize(host.dim(b, last), k,
                     "dimension " + Twine(last) + " of b");
    return;
  }
  last -= kWeightTileRank;
  Value rowTiles = host.ceilDiv(n, kWeightTileRows);
  Value columnTiles = host.ceilDiv(k, kWeightTileColumns);
  host.requireSize(host.dim(b, last - 1), rowTiles,
                   "dimension " + Twine(last - 1) + " of b");
  host.requireSize(host.dim(b, last), columnTiles,
                   "dimension " + Twine(last) + " of b");
}

void mx::mxgpu::checkSizes(ProductKernel &kernel, const Policies &policies) {
  KernelBuilder &host = kernel.host;
  const Matrices &matrices = kernel.matrices;
  MatmulOpInterface op = kernel.product.op;
  host.requireGroups(op.getGroupOffsets());
  // Of groups that have matrices, sizes of one.
  Value m = getSizeFromLast(host, op.getA(), 2);
  Value n = getRowsOfB(kernel);
  Value k = host.dim(matrices.a, 1);
  host.requireAtMost(host.dim(matrices.a, 0), kMaxExtent, "rows of a");
  host.requireAtMost(host.dim(matrices.b, 0), kMaxExtent, "rows of b");
  host.requireAtMost(k, kMaxExtent, "columns of a");
  int64_t lastOfA = cast<MemRefType>(op.getA().getType()).getRank() - 1;
  host.requireMultiple(k, kernel.product.problem.product.reductionMultiple,
                       "dimension " + Twine(lastOfA) + " of a");
  Value columns = policies.b->getResultColumns(n);
  policies.epilogue->checkColumns(columns);
  checkRowsOfB(kernel, n, k);
  policies.epilogue->checkSizes(m, columns);
  policies.work->checkGroups();
  checkOperands(kernel, *policies.work, m, n, k);
  policies.mainLoop->checkSizes();
}
