//===- KernelBuilder.cpp - What the builders of kernels share -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "../Utils/MemoryScalars.h"
#include "../Utils/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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

Value mx::mxgpu::collapseLeading(KernelBuilder &host, Value memref,
                                 int64_t count) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  if (count < 2)
    return memref;
  SmallVector<ReassociationIndices> dims(1);
  for (int64_t dim = 0; dim < count; ++dim)
    dims[0].push_back(dim);
  for (int64_t dim = count; dim < rank; ++dim)
    dims.push_back({dim});
  return memref::CollapseShapeOp::create(host, memref, dims);
}

void KernelBuilder::requireSize(Value found, Value expected,
                                const Twine &what) {
  Value isEqual =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, found, expected);
  RequireOp::create(*this, isEqual,
                    ("expected " + what + " to be %lld, found %lld").str(),
                    ValueRange{expected, found});
}

void KernelBuilder::requireAtMost(Value found, int64_t limit,
                                  const Twine &what) {
  Value most = index(limit);
  Value fits =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::ule, found, most);
  RequireOp::create(*this, fits,
                    ("expected at most %lld " + what + ", found %lld").str(),
                    ValueRange{most, found});
}

void KernelBuilder::requireMultiple(Value found, int64_t factor,
                                    const Twine &what) {
  Value rest = rem(found, factor);
  Value isZero =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, rest, index(0));
  Value below = sub(found, rest);
  RequireOp::create(*this, isZero,
                    ("expected " + what + " to be a multiple of " +
                     Twine(factor) +
                     ", found %lld; the nearest are %lld and %lld")
                        .str(),
                    ValueRange{found, below, add(below, factor)});
}

void KernelBuilder::requireGroups(Value offsets) {
  if (!offsets || !cast<MemRefType>(offsets.getType()).isDynamicDim(0))
    return;
  Value groups = dim(offsets, 0);
  Value isAny =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, index(0), groups);
  RequireOp::create(*this, isAny, "expected at least 1 group, found %lld",
                    ValueRange(groups));
}

void mx::mxgpu::requireScaleSizes(KernelBuilder &host, Value scales, Value rows,
                                  Value columns, int64_t block, Value rowTiles,
                                  StringRef name, int64_t batch) {
  if (cast<MemRefType>(scales.getType()).getRank() == batch + 2) {
    host.requireSize(host.dim(scales, batch), rows,
                     "dimension " + Twine(batch) + " of " + name);
    host.requireSize(host.dim(scales, batch + 1), host.div(columns, block),
                     "dimension " + Twine(batch + 1) + " of " + name);
    return;
  }
  if (!rowTiles)
    rowTiles = host.ceilDiv(rows, kScaleTileRows);
  host.requireSize(host.dim(scales, batch), rowTiles,
                   "dimension " + Twine(batch) + " of " + name);
  host.requireSize(host.dim(scales, batch + 1),
                   host.ceilDiv(columns, kScaleTileBlocks * block),
                   "dimension " + Twine(batch + 1) + " of " + name);
}

/// By their bits, zero, negative numbers and NaN are the same. The host does
/// not wait for what follows from memory (docs/Spec.md).
Value mx::mxgpu::checkPositive(KernelBuilder &host, Value scale) {
  Value bits = arith::BitcastOp::create(host, host.getI32Type(), scale);
  Value shown = arith::IndexCastUIOp::create(host, host.getIndexType(), bits);
  auto isAtMost = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(host, arith::CmpIPredicate::ule, a, b);
  };
  Value isAboveZero = isAtMost(host.index(1), shown);
  Value isPositive = arith::AndIOp::create(
      host, isAboveZero, isAtMost(shown, host.index(0x7F800000)));
  if (followsFromMemory(scale)) {
    Value nan = arith::ConstantOp::create(
        host, host.getFloatAttr(host.getF32Type(),
                                APFloat::getNaN(APFloat::IEEEsingle())));
    return arith::SelectOp::create(host, isPositive, scale, nan);
  }
  RequireOp::create(host, isPositive,
                    "expected a global_scale greater than 0, found the "
                    "bits %lld",
                    ValueRange(shown));
  return scale;
}

Value mx::mxgpu::toBytes(KernelBuilder &host, Value elements) {
  auto type = cast<MemRefType>(elements.getType());
  MemRefType bytes = getStorageType(type);
  if (bytes == type)
    return elements;
  return UnrealizedConversionCastOp::create(host, bytes, elements).getResult(0);
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
  if (Value units = work.getDefiningOp<TileSchedulerOp>().getUnits()) {
    auto wait = ConsumerWaitOp::create(*this, units);
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
