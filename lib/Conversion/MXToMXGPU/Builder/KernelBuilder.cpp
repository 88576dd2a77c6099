//===- KernelBuilder.cpp - What the builders of kernels share -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "../../Utils/HostCode.h"
#include "../../Utils/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static llvm::TrackingStatistic numKernels("convert-mx-to-mxgpu", "numKernels",
                                          "Kernels made");

Value KernelBuilder::packedTiles(Value rows, int64_t tile, Value offsets) {
  return add(div(rows, tile), dim(offsets, 0));
}

Value KernelBuilder::dim(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  return memref::DimOp::create(*this, memref, dim);
}

/// A name that PTX can have (PTX ISA, Identifiers), unlike all of MLIR's: with
/// an underscore for each character that it cannot.
static std::string getPtxIdentifier(StringRef text) {
  std::string name = text.empty() || llvm::isDigit(text[0]) ? "_" : "";
  for (char c : text)
    name += llvm::isAlnum(c) || c == '$' ? c : '_';
  return name;
}

KernelOp KernelBuilder::kernel(gpu::GPUModuleOp module, StringRef what,
                               TypeRange arguments, ScheduleAttr schedule) {
  auto function =
      getInsertionBlock()->getParent()->getParentOfType<FunctionOpInterface>();
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToEnd(module.getBody());
  auto kernel = KernelOp::create(*this, getLoc(), TypeRange(), ValueRange());
  ++numKernels;
  kernel.setSymName(getPtxIdentifier(function.getName()) + "_" + what.str());
  auto types = llvm::map_to_vector(arguments, getParameterType);
  kernel.setFunctionType(getFunctionType(types, {}));
  if (schedule)
    kernel.setScheduleAttr(schedule);
  Block &body = kernel.getBody().emplaceBlock();
  for (Type type : types)
    body.addArgument(type, getLoc());
  SymbolTable(module).insert(kernel); // makes the name unique
  return kernel;
}

void KernelBuilder::launch(KernelOp kernel, Value grid, ValueRange arguments) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  auto symbol = SymbolRefAttr::get(
      module.getNameAttr(), {SymbolRefAttr::get(kernel.getSymNameAttr())});
  LaunchOp::create(*this, symbol, grid, arguments);
}

Value KernelBuilder::ring(RingType type, StringRef name) {
  return RingOp::create(*this, type, name, DenseI64ArrayAttr(), IntegerAttr(),
                        IntegerAttr());
}

std::pair<Value, Value> KernelBuilder::warpAndLane() {
  Value thread = ThreadIdOp::create(*this);
  Value warp = div(thread, target::kWarpSize);
  Value lane = arith::RemUIOp::create(*this, thread, index(target::kWarpSize));
  return {warp, lane};
}

RoleOp KernelBuilder::role(StringRef name, int64_t warps, bool elected,
                           bool onLeader) {
  auto role = RoleOp::create(*this, name, warps, elected, onLeader,
                             /*registers=*/IntegerAttr(),
                             /*first_warp=*/IntegerAttr(),
                             /*barrier=*/IntegerAttr());
  setInsertionPointToStart(&role.getBody().emplaceBlock());
  return role;
}

ForEachWorkTileOp KernelBuilder::forEachWorkTile(Value work) {
  auto loop = ForEachWorkTileOp::create(*this, work);
  Block &body = loop.getBody().emplaceBlock();
  for (int i = 0; i < 5; ++i)
    body.addArgument(getIndexType(), getLoc());
  setInsertionPointToStart(&body);
  if (Value workTiles = work.getDefiningOp<TileSchedulerOp>().getWorkTiles()) {
    auto wait = ConsumerWaitOp::create(*this, workTiles);
    NextWorkTileOp::create(*this, wait.getBuffers().front());
    ConsumerReleaseOp::create(*this, wait.getStage());
    setInsertionPointToStart(&body);
  }
  return loop;
}

ForEachKOp KernelBuilder::forEachK(Value start, Value end, int64_t step,
                                   ValueRange initial) {
  auto loop =
      ForEachKOp::create(*this, initial.getTypes(), start, end, initial, step);
  Block &body = loop.getBody().emplaceBlock();
  SmallVector<Type> types = {getIndexType(), getIndexType(), getI1Type()};
  llvm::append_range(types, initial.getTypes());
  body.addArguments(types, SmallVector<Location>(types.size(), getLoc()));
  setInsertionPointToStart(&body);
  setInsertionPoint(
      mxgpu::YieldOp::create(*this, body.getArguments().drop_front(3)));
  return loop;
}

void KernelBuilder::beginIf(Value condition) {
  auto ifOp = scf::IfOp::create(*this, condition, /*withElse=*/false);
  setInsertionPointToStart(ifOp.thenBlock());
}

gpu::GPUModuleOp mx::mxgpu::getKernelModule(ModuleOp module,
                                            const target::TargetInfo &target) {
  constexpr llvm::StringLiteral kName = "kernels";
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (kernels.getName() == kName)
      return kernels;
  // MLIR 22 verifies tcgen05 for sm_100a only; our own table was asked.
  auto attr = NVVM::NVVMTargetAttr::get(
      module.getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", target.chip,
      target.features, /*targetFlags=*/DictionaryAttr(),
      /*linkFiles=*/ArrayAttr(), /*verifyTarget=*/false);
  OpBuilder builder(module.getContext());
  auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(), kName);
  kernels.setTargetsAttr(builder.getArrayAttr({attr}));
  SymbolTable(module).insert(kernels);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
  return kernels;
}
