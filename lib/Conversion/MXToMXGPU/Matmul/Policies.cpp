//===- Policies.cpp - The parts that build a product's kernel -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Epilogue/FragmentEpilogue.h"
#include "Epilogue/QuantizedEpilogue.h"
#include "MatmulKernel.h"
#include "Work/GroupedWork.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static std::unique_ptr<WorkPolicy> createWork(ProductKernel &kernel) {
  MatmulOpInterface op = kernel.product.op;
  switch (op.getRaggedOrNone()) {
  case RaggedKind::None:
    if (kernel.product.schedule.getParts() > 1)
      return std::make_unique<ClusterWork>(kernel);
    if (kernel.product.schedule.getSplitK() > 1)
      return std::make_unique<SplitWork>(kernel);
    return std::make_unique<DenseWork>(kernel);
  case RaggedKind::Rows:
    if (op.isMasked())
      return std::make_unique<MaskedWork>(kernel);
    return std::make_unique<RowsWork>(kernel);
  case RaggedKind::Reduction:
    return std::make_unique<ReductionWork>(kernel);
  }
  llvm_unreachable("a kind of groups without work");
}

static std::unique_ptr<OperandB> createB(ProductKernel &kernel,
                                         WorkPolicy &work) {
  if (kernel.product.problem.numB > 1)
    return std::make_unique<PartsB>(kernel, work);
  return std::make_unique<WholeB>(kernel, work);
}

static std::unique_ptr<EpiloguePolicy> createEpilogue(ProductKernel &kernel,
                                                      WorkPolicy &work) {
  const Product &product = kernel.product;
  if (product.problem.isQuantized)
    return std::make_unique<QuantizedEpilogue>(kernel, work);
  if (product.problem.isScattered)
    return std::make_unique<ScatteredEpilogue>(kernel, work);
  if (product.buffers.staging)
    return std::make_unique<StagedEpilogue>(kernel, work);
  return std::make_unique<DirectEpilogue>(kernel, work);
}

Policies::Policies(ProductKernel &kernel)
    : work(createWork(kernel)), b(createB(kernel, *work)),
      mainLoop(kernel.product.strategy.createMainLoop(kernel, *work, *b)),
      epilogue(createEpilogue(kernel, *work)) {}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

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
  arguments.add(Arg::AScaleRange, kernel.aScaleRange);
  arguments.add(Arg::BScaleRange, kernel.bScaleRange);
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
