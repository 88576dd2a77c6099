//===- Policies.cpp - The parts that build a product's kernel -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Policies.h"
#include "Epilogue/QuantizedEpilogue.h"
#include "Epilogue/ScatteredEpilogue.h"
#include "Epilogue/StagedEpilogue.h"
#include "MainLoop/BlockScaledMainLoop.h"
#include "MainLoop/ConvertedMainLoop.h"
#include "MainLoop/DequantizedMainLoop.h"
#include "MainLoop/NumbersMainLoop.h"
#include "MainLoop/SwappedMainLoop.h"
#include "Work/ClusterWork.h"
#include "Work/MaskedWork.h"
#include "Work/ReductionWork.h"
#include "Work/SplitWork.h"

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

static std::unique_ptr<MainLoop> createMainLoop(ProductKernel &kernel,
                                                WorkPolicy &work, OperandB &b) {
  switch (kernel.product.problem.product.way) {
  case target::ProductWay::BlockScaled:
    return std::make_unique<BlockScaledMainLoop>(kernel, work, b);
  case target::ProductWay::Dequantized:
    if (kernel.product.schedule.getSwapAb())
      return std::make_unique<SwappedMainLoop>(kernel, work, b);
    return std::make_unique<DequantizedMainLoop>(kernel, work, b);
  case target::ProductWay::Converted:
    return std::make_unique<ConvertedMainLoop>(kernel, work, b);
  case target::ProductWay::Numbers:
    return std::make_unique<NumbersMainLoop>(kernel, work, b);
  }
  llvm_unreachable("a way without a main loop");
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
      mainLoop(createMainLoop(kernel, *work, *b)),
      epilogue(createEpilogue(kernel, *work)) {}
