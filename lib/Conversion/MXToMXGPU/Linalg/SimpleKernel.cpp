//===- SimpleKernel.cpp - Simple kernels of remaining operations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations without another kernel become loops, with a remark, and then
// kernels. The iterations form one long row, divided into work tiles. Adjacent
// lanes run adjacent iterations of the last loop, one per thread.
//===----------------------------------------------------------------------===//

#include "../Builder/ElementRegion.h"
#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "Linalg.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXLINALGTOLOOPS
#define GEN_PASS_DEF_MXLOOPSTOKERNELS
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static bool isSlice(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  return type && !type.getLayout().isIdentity();
}

/// Emits the remark at the location only, because the operation no longer
/// resembles the source.
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
    return op.emitOpError("expected whole tensors of f4E2M1FN to be copied on "
                          "the GPU, because elements share bytes, found a copy "
                          "of a slice that is returned, inserted or "
                          "concatenated: return the whole tensor");
  explain(op, "memref.copy", /*hasThreads=*/type.getRank() > 0);
  KernelBuilder host(op.getLoc(), op);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    sizes.push_back(host.dim(op.getTarget(), dim));
    requireSize(host, host.dim(op.getSource(), dim), sizes.back(),
                "dimension " + Twine(dim) + " of the copied tensor");
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
    return op.emitOpError("expected a kernel to store an element of f16, bf16, "
                          "f32, f64, i1, i8, i16, i32, i64 or index on the "
                          "GPU, found ")
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
    return isSlice(copy.getSource()) || isSlice(copy.getTarget())
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
    locateBodies(getOperation());
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

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static bool isBits(Value value) {
  return getElementTypeOrSelf(value.getType()).isInteger(1);
}

/// Converts a host value to a kernel argument. Bits become bytes.
static Value toArgument(KernelBuilder &host, Value value) {
  Type i8 = host.getI8Type();
  if (!isBits(value))
    return value;
  auto memref = dyn_cast<MemRefType>(value.getType());
  if (!memref)
    return arith::ExtUIOp::create(host, i8, value);
  MemRefType bytes = MemRefType::Builder(memref).setElementType(i8);
  return UnrealizedConversionCastOp::create(host, bytes, value).getResult(0);
}

/// Rewrites loads and stores of bits to bytes.
static void accessBytes(KernelOp kernel) {
  SmallVector<Operation *> accesses;
  kernel.walk([&](Operation *op) {
    auto isOfBytes = [](Value memref, Type element) {
      return element.isInteger(1) && !isBits(memref);
    };
    if (auto load = dyn_cast<memref::LoadOp>(op);
        load && isOfBytes(load.getMemRef(), load.getType()))
      accesses.push_back(op);
    if (auto store = dyn_cast<memref::StoreOp>(op);
        store &&
        isOfBytes(store.getMemRef(), store.getValueToStore().getType()))
      accesses.push_back(op);
  });
  for (Operation *op : accesses) {
    KernelBuilder builder(op->getLoc(), op);
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      Value byte =
          memref::LoadOp::create(builder, load.getMemRef(), load.getIndices());
      Value zero = arith::ConstantOp::create(
          builder, builder.getZeroAttr(byte.getType()));
      load.replaceAllUsesWith(
          arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, byte, zero)
              .getResult());
    } else {
      auto store = cast<memref::StoreOp>(op);
      Value byte = arith::ExtUIOp::create(builder, builder.getI8Type(),
                                          store.getValueToStore());
      memref::StoreOp::create(builder, byte, store.getMemRef(),
                              store.getIndices());
    }
    op->erase();
  }
}

namespace {

class SimpleKernelBuilder {
public:
  SimpleKernelBuilder(scf::ParallelOp loop, gpu::GPUModuleOp module)
      : loop(loop), host(loop.getLoc(), loop),
        body(loop.getLoc(), loop.getContext()), module(module) {}

  void build();

private:
  void pass(Value value);
  void buildBody(KernelOp kernel);

  scf::ParallelOp loop;
  KernelBuilder host, body;
  gpu::GPUModuleOp module;
  SmallVector<Value> passed, arguments;
  SmallVector<Operation *> constants;
  IRMapping inKernel;
};

} // namespace

void SimpleKernelBuilder::pass(Value value) {
  if (matchPattern(value, m_Constant())) {
    constants.push_back(value.getDefiningOp());
    return;
  }
  passed.push_back(value);
  arguments.push_back(toArgument(host, value));
}

void SimpleKernelBuilder::buildBody(KernelOp kernel) {
  body.setInsertionPointToStart(&kernel.getBody().front());
  for (Operation *constant : constants)
    body.clone(*constant, inKernel);
  for (auto [value, argument] :
       llvm::zip_equal(passed, kernel.getBody().getArguments())) {
    Value known = argument;
    if (value.getType().isInteger(1))
      known = arith::TruncIOp::create(body, value.getType(), argument);
    inKernel.map(value, known);
  }
  SmallVector<Value> sizes;
  Value all = body.index(1);
  for (Value size : loop.getUpperBound()) {
    sizes.push_back(inKernel.lookup(size));
    all = body.mul(all, sizes.back());
  }
  Value rest = forEachElement(body, "elements", all);
  SmallVector<Value> indices = loop.getInductionVars();
  for (size_t dim = indices.size() - 1; dim; --dim) {
    inKernel.map(indices[dim], body.rem(rest, sizes[dim]));
    rest = body.div(rest, sizes[dim]);
  }
  inKernel.map(indices[0], rest);
  for (Operation &op : loop.getBody()->without_terminator())
    body.clone(op, inKernel);
  accessBytes(kernel);
}

void SimpleKernelBuilder::build() {
  llvm::SetVector<Value> used;
  used.insert(loop.getUpperBound().begin(), loop.getUpperBound().end());
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  llvm::for_each(used, [&](Value value) { pass(value); });
  auto name = loop->getAttrOfType<StringAttr>(kSimpleKernelAttrName);
  KernelOp kernel = host.kernel(module, name, ValueRange(arguments).getTypes());
  buildBody(kernel);
  Value all = host.index(1);
  for (Value size : loop.getUpperBound())
    all = host.mul(all, size);
  host.launch(kernel, host.ceilDiv(all, kElementThreads), arguments);
  loop.erase();
}

namespace {
struct LoopsToKernelsPass final
    : mx::mxgpu::impl::MXLoopsToKernelsBase<LoopsToKernelsPass> {
  using MXLoopsToKernelsBase::MXLoopsToKernelsBase;

  void runOnOperation() override {
    SmallVector<scf::ParallelOp> loops;
    getOperation().walk([&](scf::ParallelOp loop) {
      if (loop->hasAttr(kSimpleKernelAttrName))
        loops.push_back(loop);
    });
    if (loops.empty())
      return;
    const target::TargetInfo *target = lookupTarget(getOperation(), chip);
    if (!target)
      return signalPassFailure();
    gpu::GPUModuleOp module = getKernelModule(getOperation(), *target);
    for (scf::ParallelOp loop : loops) {
      if (failed(verify(loop)))
        return signalPassFailure();
      SimpleKernelBuilder(loop, module).build();
    }
  }

  /// Checks the loop, since the attribute may be written by hand.
  static LogicalResult verify(scf::ParallelOp loop) {
    auto is = [](int64_t number) {
      return [=](Value value) { return getConstantIntValue(value) == number; };
    };
    if (llvm::all_of(loop.getLowerBound(), is(0)) &&
        llvm::all_of(loop.getStep(), is(1)) && loop.getInitVals().empty() &&
        loop->getParentOfType<FunctionOpInterface>())
      return success();
    return loop.emitOpError("expected a kernel loop to start at 0, step by 1, "
                            "return no results and be in a host function");
  }
};
} // namespace
