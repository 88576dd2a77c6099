//===- SimpleLoops.cpp - linalg operations as parallel loops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream's loops keep what they accumulate in memory, and run a parallel loop
// within a sequential one. A thread has registers, and a launch costs much: the
// loops that every result has an index for are the threads, the others are
// inside and carry the results.
//
//===----------------------------------------------------------------------===//

#include "Simple.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

scf::ParallelOp mx::mxgpu::createSimpleLoop(KernelBuilder &host,
                                            ValueRange sizes, StringRef name) {
  // scf.parallel has no form for a single iteration.
  SmallVector<Value> ends(sizes);
  if (ends.empty())
    ends.push_back(host.index(1));
  SmallVector<Value> starts(ends.size(), host.index(0));
  SmallVector<Value> steps(ends.size(), host.index(1));
  auto loop = scf::ParallelOp::create(host, starts, ends, steps);
  loop->setAttr(kSimpleKernelAttrName, host.getStringAttr(name));
  host.setInsertionPointToStart(loop.getBody());
  return loop;
}

namespace {

class LoopEmitter {
public:
  explicit LoopEmitter(linalg::GenericOp op)
      : op(op), builder(op.getLoc(), op), indices(op.getNumLoops()),
        isThread(op.getNumLoops()) {}

  void emit(StringRef name);

private:
  using Results = SmallVector<Value>;

  void findThreads();
  /// Whether a thread's results stay where they are in the loops inside.
  bool keepsPlaces();
  SmallVector<Value> getPlace(OpOperand &operand);
  Value load(OpOperand &operand);
  Results loadResults();
  void store(ValueRange results);
  Results emitLoops(unsigned dim, ValueRange results);
  Results emitBody(ValueRange results);

  linalg::GenericOp op;
  KernelBuilder builder;
  SmallVector<Value> sizes, indices;
  llvm::BitVector isThread;
  bool inRegisters = false;
};

} // namespace

void LoopEmitter::findThreads() {
  for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    AffineExpr expr = getAffineDimExpr(dim, op.getContext());
    bool isEverywhere =
        llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
          AffineMap map = op.getMatchingIndexingMap(&init);
          return llvm::is_contained(map.getResults(), expr);
        });
    if (iterator == utils::IteratorType::parallel && isEverywhere)
      isThread.set(dim);
  }
}

bool LoopEmitter::keepsPlaces() {
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    return llvm::all_of(llvm::seq<unsigned>(0, op.getNumLoops()),
                        [&](unsigned dim) {
                          return isThread[dim] || !map.isFunctionOfDim(dim);
                        });
  });
}

SmallVector<Value> LoopEmitter::getPlace(OpOperand &operand) {
  std::optional<SmallVector<Value, 8>> place = affine::expandAffineMap(
      builder, builder.getLoc(), op.getMatchingIndexingMap(&operand), indices);
  return llvm::to_vector_of<Value>(*place);
}

Value LoopEmitter::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(builder, operand.get(), getPlace(operand));
}

/// What nothing reads is not loaded, unless loops that may not run carry it.
LoopEmitter::Results LoopEmitter::loadResults() {
  Results results;
  for (OpOperand &init : op.getDpsInitsMutable())
    results.push_back(op.payloadUsesValueFromOperand(&init) || !isThread.all()
                          ? load(init)
                          : Value());
  return results;
}

void LoopEmitter::store(ValueRange results) {
  for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), results))
    memref::StoreOp::create(builder, result, init.get(), getPlace(init));
}

LoopEmitter::Results LoopEmitter::emitBody(ValueRange results) {
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands())
    if (BlockArgument element = op.getMatchingBlockArgument(input);
        !element.use_empty())
      mapping.map(element, load(*input));
  for (auto [element, result] :
       llvm::zip_equal(op.getRegionOutputArgs(), results))
    if (result)
      mapping.map(element, result);
  for (Operation &inside : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inside)) {
      mapping.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    builder.clone(inside, mapping)->walk([&](linalg::IndexOp index) {
      index.replaceAllUsesWith(indices[index.getDim()]);
      index.erase();
    });
  }
  return llvm::map_to_vector(
      op.getBody()->getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// The loops from `dim` on that are not threads.
LoopEmitter::Results LoopEmitter::emitLoops(unsigned dim, ValueRange results) {
  while (dim < sizes.size() && isThread[dim])
    ++dim;
  if (dim == sizes.size()) {
    if (inRegisters)
      return emitBody(results);
    store(emitBody(loadResults()));
    return {};
  }
  auto loop = scf::ForOp::create(builder, builder.index(0), sizes[dim],
                                 builder.index(1), results);
  indices[dim] = loop.getInductionVar();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Results carried = emitLoops(dim + 1, loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, carried);
  return Results(loop.getResults());
}

void LoopEmitter::emit(StringRef name) {
  findThreads();
  inRegisters = keepsPlaces();
  SmallVector<Value> threads;
  for (const Range &range : cast<linalg::LinalgOp>(op.getOperation())
                                .createLoopRanges(builder, op.getLoc()))
    sizes.push_back(
        getValueOrCreateConstantIndexOp(builder, op.getLoc(), range.size));
  for (unsigned dim : isThread.set_bits())
    threads.push_back(sizes[dim]);
  scf::ParallelOp loop = createSimpleLoop(builder, threads, name);
  for (auto [dim, index] :
       llvm::zip(isThread.set_bits(), loop.getInductionVars()))
    indices[dim] = index;
  Results before = inRegisters ? loadResults() : Results();
  Results results = emitLoops(0, before);
  if (inRegisters)
    store(results);
  op.erase();
}

void mx::mxgpu::emitLoops(linalg::GenericOp op, StringRef name) {
  LoopEmitter(op).emit(name);
}
