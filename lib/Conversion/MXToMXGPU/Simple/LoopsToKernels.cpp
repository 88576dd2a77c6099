//===- LoopsToKernels.cpp - Parallel loops become kernels -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All iterations of a nest are one long row, of which a work tile is a piece
// and a thread takes an element: neighbours in the last loop are neighbours in
// a warp.
//
//===----------------------------------------------------------------------===//

#include "Simple.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXLOOPSTOKERNELS
#include "mx/Conversion/MXToMXGPU/Passes.h.inc"
} // namespace mx::mxgpu

static constexpr int64_t kThreads = 256;

static bool isBits(Value value) {
  return getElementTypeOrSelf(value.getType()).isInteger(1);
}

/// What a kernel is given for a value of the host: bits have bytes.
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

/// Reads and writes of bits, in a kernel that was given bytes.
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
  Value work = TileSchedulerOp::create(
      body, body.index(1), all, /*reduction=*/body.index(0),
      ArrayRef<int64_t>{1, kThreads},
      RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  body.role("elements", kThreads / target::kWarpSize, /*elected=*/false);
  Value thread = ThreadIdOp::create(body);
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value rest = body.add(unit.getColumn(), thread);
  Value exists =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ult, rest, all);
  auto ifOp = scf::IfOp::create(body, exists, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  SmallVector<Value> indices = loop.getInductionVars();
  for (size_t dim = indices.size() - 1; dim; --dim) {
    inKernel.map(indices[dim],
                 arith::RemUIOp::create(body, rest, sizes[dim]).getResult());
    rest = arith::DivUIOp::create(body, rest, sizes[dim]);
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
  host.launch(kernel, host.ceilDiv(all, kThreads), arguments);
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
    std::string error;
    const target::TargetInfo *target = target::lookupKernelTarget(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    gpu::GPUModuleOp module = getKernelModule(getOperation(), *target);
    for (scf::ParallelOp loop : loops) {
      if (failed(verify(loop)))
        return signalPassFailure();
      SimpleKernelBuilder(loop, module).build();
    }
  }

  /// Whoever writes the attribute by hand is told what it asks for.
  static LogicalResult verify(scf::ParallelOp loop) {
    auto is = [](int64_t number) {
      return [=](Value value) { return getConstantIntValue(value) == number; };
    };
    if (llvm::all_of(loop.getLowerBound(), is(0)) &&
        llvm::all_of(loop.getStep(), is(1)) && loop.getInitVals().empty() &&
        loop->getParentOfType<FunctionOpInterface>())
      return success();
    return loop.emitOpError("expected loops from 0 by 1 without results, in a "
                            "function of the host, as a kernel");
  }
};
} // namespace
