//===- SimpleLoops.cpp - Parallel loops for simple kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's lowering keeps accumulators in memory and nests parallel loops in
// sequential loops. Threads have registers, and launches are expensive, so this
// lowering maps loops that index every result to threads. The other loops are
// nested inside and carry the results in registers.
//===----------------------------------------------------------------------===//

#include "../Builder/ElementRegion.h"
#include "../Builder/HostChecks.h"
#include "Linalg.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mx/Dialect/MX/IR/Place.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Supported operations
//===----------------------------------------------------------------------===//

/// Returns true for elements that a thread can copy but not compute with.
static bool isByte(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

static LogicalResult verifyOperand(linalg::GenericOp op, OpOperand &operand) {
  Type type = operand.get().getType();
  auto memref = dyn_cast<MemRefType>(type);
  Type element = getElementTypeOrSelf(type);
  if ((!memref || (memref.isStrided() && !memref.getMemorySpace())) &&
      (isKernelNumber(element) || isByte(element)))
    return success();
  return op.emitOpError("expected numbers, or strided memrefs of f16, bf16, "
                        "f32, f64, 8-bit floats, i1, i8, i16, i32, i64 or "
                        "index, in a simple kernel on the GPU, found operand ")
         << operand.getOperandNumber() << " of type " << type;
}

static LogicalResult verifyInside(Operation *op) {
  bool isControl = isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op) ||
                   op->hasTrait<OpTrait::IsTerminator>();
  bool isAccess = isa<memref::LoadOp, memref::DimOp, linalg::IndexOp>(op);
  bool isArith = isa_and_present<arith::ArithDialect>(op->getDialect());
  if (isa<arith::RemFOp>(op))
    return op->emitOpError("expected an operation that GPUs compute exactly, "
                           "found arith.remf; subtract a multiple instead");
  if (!isControl && !isAccess && !isArith && !hasKernelInstruction(op))
    return op->emitOpError("expected arith, math and scf operations and "
                           "memref.load in a simple kernel on the GPU, found "
                           "an operation that a thread cannot compute");
  if (isa<linalg::YieldOp>(op))
    return success();
  for (Type type : llvm::concat<const Type>(
           SmallVector<Type>(op->getOperandTypes()), op->getResultTypes()))
    if (!isKernelNumber(type) && !(isAccess && isa<MemRefType>(type) &&
                                   isKernelNumber(getElementTypeOrSelf(type))))
      return op->emitOpError("expected operands and results of f16, bf16, f32, "
                             "f64, i1, i8, i16, i32, i64 or index in a simple "
                             "kernel on the GPU, found ")
             << type << "; " << adviseOnNarrowFloats(op);
  return success();
}

LogicalResult mx::mxgpu::verifySimple(linalg::GenericOp op) {
  for (OpOperand &operand : op->getOpOperands())
    if (failed(verifyOperand(op, operand)))
      return failure();
  WalkResult result = op.getBody()->walk(
      [](Operation *inside) -> WalkResult { return verifyInside(inside); });
  return failure(result.wasInterrupted());
}

namespace {
struct AssertListener final : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto assertion = dyn_cast<cf::AssertOp>(op))
      assertions.push_back(assertion);
  }

  SmallVector<cf::AssertOp> assertions;
};
} // namespace

void mx::mxgpu::requireAccesses(Operation *op) {
  auto accesses = dyn_cast<RuntimeVerifiableOpInterface>(op);
  if (!accesses)
    return;
  AssertListener listener;
  OpBuilder builder(op, &listener);
  accesses.generateRuntimeVerification(
      builder, op->getLoc(), [](Operation *op, StringRef message) {
        return ("'" + op->getName().getStringRef() +
                "' op expected an access inside of its array: " + message)
            .str();
      });
  for (cf::AssertOp assertion : listener.assertions) {
    OpBuilder at(assertion);
    // Escape percent signs, because the message of a requirement is a format.
    std::string text = assertion.getMsg().str();
    for (size_t i = 0; (i = text.find('%', i)) != std::string::npos; i += 2)
      text.insert(i, "%");
    RequireOp::create(at, assertion.getLoc(), assertion.getArg(), text,
                      ValueRange());
    assertion.erase();
  }
}

void mx::mxgpu::requireSizes(linalg::GenericOp op) {
  // Upstream computes the bounds of other index expressions.
  if (!llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return requireAccesses(op);
  KernelBuilder host(op.getLoc(), op);
  SmallVector<Range, 4> ranges = cast<linalg::LinalgOp>(op.getOperation())
                                     .createLoopRanges(host, op.getLoc());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      requireSize(host, host.dim(operand.get(), i),
                  getValueOrCreateConstantIndexOp(
                      host, op.getLoc(), ranges[map.getDimPosition(i)].size),
                  "dimension " + Twine(i) + " of operand " +
                      Twine(operand.getOperandNumber()) + " of '" +
                      op->getName().getStringRef() + "'");
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

scf::ParallelOp mx::mxgpu::createSimpleLoop(KernelBuilder &host,
                                            ValueRange sizes, StringRef name) {
  // scf.parallel requires at least one loop.
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
  /// Returns true if inner loops keep the positions of a thread's results.
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

/// Loads initial results if the body reads them or a loop may not run.
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

/// Emits the loops that are not mapped to threads, starting at `dim`.
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
