//===- LinalgToLoops.cpp - What no other kernel computes ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Which operations of the host on device memory become loops of their own, and
// the remark that says so.
//
//===----------------------------------------------------------------------===//

#include "../Reduce/RowReduction.h"
#include "Simple.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXLINALGTOLOOPS
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

static bool isPart(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  return type && !type.getLayout().isIdentity();
}

/// The location says where; what the operation looks like by now does not help.
static void explain(Operation *op, StringRef name, bool hasThreads) {
  InFlightDiagnostic diag = emitRemark(op->getLoc());
  diag << "'" << name << "' runs as a simple kernel, "
       << (hasThreads ? "one thread for each element of its result"
                      : "in one thread");
  if (auto why = op->getAttrOfType<StringAttr>(kApartAttr))
    diag << ", since " << why.getValue();
}

static LogicalResult convertCopy(memref::CopyOp op) {
  auto type = cast<MemRefType>(op.getTarget().getType());
  if (isa<Float4E2M1FNType>(type.getElementType()))
    return op.emitOpError("expected copies of whole tensors of f4E2M1FN on the "
                          "GPU, which share bytes, found one of a part, as a "
                          "slice that is returned, inserted or put beside "
                          "another is: return the whole tensor");
  explain(op, "memref.copy", /*hasThreads=*/type.getRank() > 0);
  KernelBuilder host(op.getLoc(), op);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    sizes.push_back(host.dim(op.getTarget(), dim));
    host.requireSize(host.dim(op.getSource(), dim), sizes.back(),
                     "dimension " + Twine(dim) + " of what is copied");
  }
  Value from = toBytes(host, op.getSource()),
        to = toBytes(host, op.getTarget());
  scf::ParallelOp loop = createSimpleLoop(host, sizes, "copy");
  SmallVector<Value> indices(loop.getInductionVars());
  indices.truncate(sizes.size());
  Value element = memref::LoadOp::create(host, from, indices);
  memref::StoreOp::create(host, element, to, indices);
  op.erase();
  return success();
}

static LogicalResult convertStore(memref::StoreOp op) {
  if (!isKernelNumber(op.getValueToStore().getType()))
    return op.emitOpError("expected elements of f16, bf16, f32, f64, i1, i8, "
                          "i16, i32, i64 or index where a kernel writes one on "
                          "the GPU, found ")
           << op.getValueToStore().getType();
  explain(op, "memref.store", /*hasThreads=*/false);
  requireAccesses(op);
  KernelBuilder host(op.getLoc(), op);
  createSimpleLoop(host, {}, "store");
  host.clone(*op);
  op.erase();
  return success();
}

static LogicalResult convertLinalg(linalg::LinalgOp op) {
  StringRef name = op->getName().getStringRef();
  Attribute why = op->getAttr(kApartAttr);
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic) {
    IRRewriter rewriter(op);
    FailureOr<linalg::GenericOp> general =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(general))
      return op.emitOpError("expected an operation that becomes a "
                            "linalg.generic on the GPU");
    generic = *general;
    if (why)
      generic->setAttr(kApartAttr, why);
  }
  if (hasReductionKernel(generic))
    return success();
  if (failed(verifySimple(generic)))
    return failure();
  bool hasThreads = generic.getNumParallelLoops();
  explain(generic, name, hasThreads);
  requireSizes(generic);
  std::string kernel = name.str();
  std::replace(kernel.begin(), kernel.end(), '.', '_');
  emitLoops(generic, kernel);
  return success();
}

static LogicalResult convert(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return isPart(copy.getSource()) || isPart(copy.getTarget())
               ? convertCopy(copy)
               : success();
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return convertStore(store);
  if (auto fill = dyn_cast<linalg::FillOp>(op); fill && isMemset(fill))
    return success();
  return convertLinalg(cast<linalg::LinalgOp>(op));
}

static bool isOnDevice(Operation *op) {
  return isa<linalg::LinalgOp, memref::CopyOp, memref::StoreOp>(op) &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
}

namespace {
struct LinalgToLoops final
    : mx::mxgpu::impl::MXLinalgToLoopsBase<LinalgToLoops> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      if (!isOnDevice(op))
        return isa_and_present<MXDialect>(op->getDialect())
                   ? WalkResult::skip()
                   : WalkResult::advance();
      if (op->getParentOfType<FunctionOpInterface>())
        ops.push_back(op);
      return WalkResult::skip();
    });
    for (Operation *op : ops)
      if (failed(convert(op)))
        return signalPassFailure();
  }
};
} // namespace
