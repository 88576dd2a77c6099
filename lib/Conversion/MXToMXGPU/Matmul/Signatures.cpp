//===- Signatures.cpp - Which arguments kernels of products have ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a product does not have is null, and no argument.
//
//===----------------------------------------------------------------------===//

#include "Signatures.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

KernelArguments mx::mxgpu::getProductArguments(ProductKernel &kernel,
                                               const Policies &policies) {
  MatmulOpInterface op = kernel.product.op;
  const Matrices &matrices = kernel.matrices;
  KernelArguments arguments;
  policies.mainLoop->addOperands(arguments);
  arguments.add(Arg::Result, matrices.out);
  arguments.add(Arg::Offsets, op.getGroupOffsets());
  arguments.add(Arg::K, getSize(kernel.host, matrices.a, 1));
  arguments.add(Arg::Alpha, op.getAlpha());
  arguments.addAll(Arg::Captures, policies.epilogue->getCaptures());
  arguments.add(Arg::ResultMap, policies.epilogue->encodeResult());
  arguments.add(Arg::MatrixRows, policies.work->getMatrixRows());
  arguments.add(Arg::ScatterRows, op.getScatterRows());
  arguments.add(Arg::AWindow, kernel.aWindow);
  arguments.add(Arg::BWindow, kernel.bWindow);
  arguments.add(Arg::ResultScales, matrices.outScales);
  return arguments;
}

KernelArguments mx::mxgpu::getSumArguments(ProductKernel &kernel, Value parts,
                                           ElementRegion &region) {
  MatmulOpInterface op = kernel.product.op;
  KernelArguments arguments;
  arguments.add(Arg::Parts, parts);
  arguments.add(Arg::Result, kernel.matrices.out);
  arguments.add(Arg::K, getSize(kernel.host, kernel.matrices.a, 1));
  arguments.add(Arg::Alpha, op.getAlpha());
  arguments.addAll(Arg::Captures, region.getCaptures());
  return arguments;
}
