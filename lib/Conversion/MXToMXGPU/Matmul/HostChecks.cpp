//===- HostChecks.cpp - Sizes that only the launch knows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "HostChecks.h"

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
  requireScaleSizes(host, matrices.bScales, n, k, form.blockSize, bTiles,
                    "b_scales");
  requireRows(host, matrices.a, form.a->rowMultiple, form.a->alignment, "a");
  requireRows(host, op.getB(), form.b->rowMultiple, form.b->alignment, "b");
}

void mx::mxgpu::checkSizes(ProductKernel &kernel, const Policies &policies) {
  KernelBuilder &host = kernel.host;
  const Matrices &matrices = kernel.matrices;
  MatmulOpInterface op = kernel.product.op;
  // Of groups that have matrices, sizes of one.
  Value m = getSizeFromLast(host, op.getA(), 2);
  Value n = getSizeFromLast(host, op.getB(), 2);
  Value k = host.dim(matrices.a, 1);
  host.requireAtMost(host.dim(matrices.a, 0), kMaxExtent, "rows of a");
  host.requireAtMost(host.dim(matrices.b, 0), kMaxExtent, "rows of b");
  host.requireAtMost(k, kMaxExtent, "columns of a");
  int64_t lastOfA = cast<MemRefType>(op.getA().getType()).getRank() - 1;
  host.requireMultiple(k, kernel.product.problem.product.reductionMultiple,
                       "dimension " + Twine(lastOfA) + " of a");
  Value columns = policies.b->getResultColumns(n);
  policies.epilogue->checkColumns(columns);
  int64_t last = cast<MemRefType>(op.getB().getType()).getRank() - 1;
  host.requireSize(host.dim(op.getB(), last), k,
                   "dimension " + Twine(last) + " of b");
  policies.epilogue->checkSizes(m, columns);
  policies.work->checkGroups();
  checkOperands(kernel, *policies.work, m, n, k);
  policies.mainLoop->checkSizes();
}
