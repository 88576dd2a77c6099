//===- RowReduction.cpp - Analysis of linalg row reductions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Builder/ElementRegion.h"
#include "../Builder/HostChecks.h"
#include "Linalg.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the supported operation that updates the accumulator, or null.
static Operation *findCombiner(linalg::LinalgOp op) {
  BlockArgument accumulator = op.getRegionOutputArgs()[0];
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  bool isKnown =
      isa_and_present<arith::AddFOp, arith::MaximumFOp, arith::MinimumFOp>(
          combiner);
  if (!isKnown || combiner->getBlock() != op.getBlock() ||
      !combiner->hasOneUse() || !accumulator.hasOneUse() ||
      *accumulator.getUsers().begin() != combiner)
    return nullptr;
  return combiner;
}

/// Returns true if an operation reduces along rows and has a single result.
static bool isAlongRows(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> expected = {utils::IteratorType::parallel,
                                               utils::IteratorType::reduction};
  return op.getIteratorTypesArray() == expected && op.getNumDpsInits() == 1;
}

static ReduceKind getKind(Operation *combiner) {
  return llvm::TypeSwitch<Operation *, ReduceKind>(combiner)
      .Case([](arith::AddFOp) { return ReduceKind::Add; })
      .Case([](arith::MaximumFOp) { return ReduceKind::Maximum; })
      .Case([](arith::MinimumFOp) { return ReduceKind::Minimum; });
}

static bool isMatrixMap(AffineMap map) {
  return map.getNumDims() == 2 && map.isIdentity();
}

static LogicalResult verifyInput(linalg::GenericOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  auto fail = [&] {
    return op.emitOpError(
               "expected a reduction on the GPU to read bf16, f16 or "
               "f32 matrices with contiguous rows, values indexed by "
               "row or column, or scalars; found ")
           << operand.get().getType() << " indexed by "
           << AffineMapAttr::get(map) << " as input "
           << operand.getOperandNumber();
  };
  if (!type || !isMatrixMap(map))
    return map.getNumResults() <= 1 && map.isProjectedPermutation()
               ? success()
               : LogicalResult(fail());
  if (!isa<BFloat16Type, Float16Type, Float32Type>(type.getElementType()) ||
      !mayHaveStride(type))
    return fail();
  return success();
}

LogicalResult mx::mxgpu::verifyRowReduction(linalg::GenericOp op) {
  if (!isAlongRows(op))
    return op.emitOpError(
               "expected iterator types parallel, reduction and one "
               "result on the GPU, where linalg operations other than fills "
               "reduce rows of matrices, found ")
           << llvm::map_range(op.getIteratorTypesArray(),
                              utils::stringifyIteratorType)
           << " and " << op.getNumDpsInits()
           << (op.getNumParallelLoops() == op.getNumLoops()
                   ? "; elementwise operations become part of matmuls and "
                     "quantizations by mx-fuse-epilogues and "
                     "mx-fuse-prologues"
                   : "");
  auto out = cast<MemRefType>(op.getDpsInits()[0].getType());
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!out.getElementType().isF32() || !out.getLayout().isIdentity() ||
      out.getRank() != 1 || outMap.getDimPosition(0) != 0)
    return op.emitOpError("expected an f32 result with identity layout and one "
                          "number per row on the GPU, found ")
           << out << " indexed by " << AffineMapAttr::get(outMap);
  if (!findCombiner(op))
    return op.emitOpError("expected a reduction on the GPU to end in "
                          "arith.addf, arith.maximumf or arith.minimumf, which "
                          "must be the only use of the accumulator");
  bool hasMatrix = false;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (failed(verifyInput(op, *operand)))
      return failure();
    hasMatrix |= isMatrixMap(op.getMatchingIndexingMap(operand));
  }
  if (!hasMatrix)
    return op.emitOpError("expected a matrix as input of a reduction on the "
                          "GPU, found none");
  return success();
}

bool mx::mxgpu::isRowSum(linalg::LinalgOp op) {
  return isAlongRows(op) &&
         getElementTypeOrSelf(op.getDpsInits()[0].getType()).isF32() &&
         isa_and_present<arith::AddFOp>(findCombiner(op));
}

RowReduction mx::mxgpu::makeRowReduction(linalg::GenericOp op) {
  Block *block = op.getBody();
  BlockArgument accumulator = op.getRegionOutputArgs()[0];
  Operation *combiner = findCombiner(op);
  ReduceKind kind = getKind(combiner);
  bool isLeft = combiner->getOperand(0) == accumulator;
  block->getTerminator()->setOperand(0, combiner->getOperand(isLeft));
  combiner->erase();

  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value places[] = {block->addArgument(builder.getIndexType(), loc),
                    block->addArgument(builder.getIndexType(), loc)};
  for (auto index :
       llvm::make_early_inc_range(block->getOps<linalg::IndexOp>())) {
    index.replaceAllUsesWith(places[index.getDim()]);
    index.erase();
  }
  builder.setInsertionPointToStart(block);
  SmallVector<Value> matrices;
  llvm::BitVector elsewhere(block->getNumArguments());
  elsewhere.set(accumulator.getArgNumber());
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    Value source = operand->get();
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (isMatrixMap(map)) {
      matrices.push_back(source);
      continue;
    }
    elsewhere.set(argument.getArgNumber());
    if (isa<MemRefType>(source.getType())) {
      SmallVector<Value> indices;
      for (unsigned i = 0; i < map.getNumResults(); ++i)
        indices.push_back(places[map.getDimPosition(i)]);
      source = memref::LoadOp::create(builder, loc, source, indices);
    }
    argument.replaceAllUsesWith(source);
  }
  block->eraseArguments(elsewhere);
  return {kind, matrices};
}

bool mx::mxgpu::hasReductionKernel(linalg::GenericOp op) {
  // Callers have a fallback, so suppress the diagnostic.
  ScopedDiagnosticHandler quiet(op.getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(verifyRowReduction(op)))
    return false;
  OpBuilder builder(op);
  auto copy = cast<linalg::GenericOp>(builder.clone(*op));
  makeRowReduction(copy);
  bool isSupported = succeeded(ElementRegion(copy.getBody()).verify());
  copy.erase();
  return isSupported;
}
