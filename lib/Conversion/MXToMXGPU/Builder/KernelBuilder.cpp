//===- KernelBuilder.cpp - Utilities for building kernels -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "../../Utils/HostCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

/// Converts text to a valid PTX identifier (PTX ISA, Identifiers). Underscores
/// replace all invalid characters.
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
  return RingOp::create(*this, type, name);
}

std::pair<Value, Value> KernelBuilder::warpAndLane() {
  Value thread = ThreadIdOp::create(*this);
  Value warp = div(thread, target::kWarpSize);
  Value lane = arith::RemUIOp::create(*this, thread, index(target::kWarpSize));
  return {warp, lane};
}

RoleOp KernelBuilder::role(StringRef name, int64_t warps, bool elected,
                           bool onLeader) {
  auto role = RoleOp::create(*this, name, warps, elected, onLeader);
  setInsertionPointToStart(&role.getBody().emplaceBlock());
  return role;
}

Value KernelBuilder::scheduleTiles(Value rows, Value columns,
                                   ArrayRef<int64_t> tile) {
  return TileSchedulerOp::create(
      *this, rows, columns, /*reduction=*/index(0), tile,
      RasterAttr::get(getContext(), RasterOrder::Linear, 1));
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

const target::TargetInfo *mx::mxgpu::lookupTarget(ModuleOp module,
                                                  std::string_view chip) {
  std::string error;
  const target::TargetInfo *target = target::lookupKernelTarget(chip, error);
  if (!target)
    module.emitError() << error;
  return target;
}

gpu::GPUModuleOp mx::mxgpu::getKernelModule(ModuleOp module,
                                            const target::TargetInfo &target) {
  constexpr llvm::StringLiteral kName = "kernels";
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (kernels.getName() == kName)
      return kernels;
  // MLIR 22 accepts tcgen05 for sm_100a only, so skip its check. TargetInfo has
  // already verified the chip.
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

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

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

Value mx::mxgpu::toBytes(KernelBuilder &host, Value elements) {
  auto type = cast<MemRefType>(elements.getType());
  MemRefType bytes = getStorageType(type);
  if (bytes == type)
    return elements;
  return UnrealizedConversionCastOp::create(host, bytes, elements).getResult(0);
}

Value mx::mxgpu::getAddress(KernelBuilder &host, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(host, memref);
  if (cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return address;
  memref = toBytes(host, memref);
  auto type = cast<MemRefType>(memref.getType());
  auto view = memref::ExtractStridedMetadataOp::create(host, memref);
  Value bytes = host.index(type.getElementTypeBitWidth() / 8);
  return host.add(address, host.mul(view.getOffset(), bytes));
}

void mx::mxgpu::clearMemory(KernelBuilder &host, Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  // E8M0 cannot represent 0, but its smallest value is encoded as zero bits.
  auto float_ = dyn_cast<FloatType>(element);
  TypedAttr zero =
      float_ ? TypedAttr(host.getFloatAttr(
                   element, APFloat(float_.getFloatSemantics(),
                                    APInt::getZero(float_.getWidth()))))
             : TypedAttr(host.getIntegerAttr(element, 0));
  gpu::MemsetOp::create(host, TypeRange(), ValueRange(), memref,
                        arith::ConstantOp::create(host, zero));
}

Value mx::mxgpu::allocateList(KernelBuilder &host, Value size) {
  return memref::AllocOp::create(
      host, MemRefType::get({ShapedType::kDynamic}, host.getI32Type()),
      ValueRange(size));
}

Value mx::mxgpu::toRow(KernelBuilder &host, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() > 1) {
    auto all = llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
    memref = memref::CollapseShapeOp::create(
        host, memref, ArrayRef<ReassociationIndices>{all});
  }
  type = cast<MemRefType>(memref.getType());
  OpFoldResult one = host.getIndexAttr(1);
  SmallVector<int64_t> shape = {1};
  SmallVector<OpFoldResult> sizes = {one};
  llvm::append_range(shape, type.getShape());
  llvm::append_range(sizes, memref::getMixedSizes(host, host.getLoc(), memref));
  shape.resize(2, 1); // for a scalar
  sizes.resize(2, one);
  SmallVector<ReassociationIndices> reassociation;
  if (type.getRank())
    reassociation.push_back({0, 1});
  return memref::ExpandShapeOp::create(
      host, MemRefType::get(shape, type.getElementType()), memref,
      reassociation, sizes);
}

//===----------------------------------------------------------------------===//
// Loads of consecutive columns
//===----------------------------------------------------------------------===//

bool Columns::areWhole() const { return !last; }

static int64_t getBytes(MemRefType type) {
  return type.getElementTypeBitWidth() / 8;
}

int64_t mx::mxgpu::getRowAlignment(MemRefType type, int64_t dynamic) {
  if (!isContiguous(type))
    return 0; // strided: read element by element
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    return dynamic;
  int64_t bytes =
      type.getRank() > 1 ? type.getShape().back() * getBytes(type) : 0;
  return bytes % 32 == 0 ? 32 : bytes % 16 == 0 ? 16 : 0;
}

Value mx::mxgpu::isAligned(KernelBuilder &builder, Value memref,
                           int64_t alignment, Value offset) {
  auto type = cast<MemRefType>(memref.getType());
  Value bits = memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  auto include = [&](Value elements) {
    Value bytes = builder.mul(elements, builder.index(getBytes(type)));
    bits = arith::OrIOp::create(builder, bits, bytes);
  };
  if (type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
    include(builder.dim(memref, type.getRank() - 1));
  if (offset)
    include(offset);
  Value low =
      arith::AndIOp::create(builder, bits, builder.index(alignment - 1));
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, low,
                               builder.index(0));
}

int64_t mx::mxgpu::getLoadAlignment(MemRefType type, int64_t count) {
  int64_t alignment = getRowAlignment(type, /*dynamic=*/16);
  while (alignment && count * getBytes(type) % alignment)
    alignment = alignment == 32 ? 16 : 0;
  return alignment;
}

static Value loadPresentColumns(KernelBuilder &builder, Value source,
                                ValueRange indices, const Columns &columns,
                                Value offset, Value end) {
  auto type = cast<MemRefType>(source.getType());
  auto vector = VectorType::get({columns.count}, type.getElementType());
  auto getPlace = [&](Value column) {
    SmallVector<Value> place(indices);
    Value last = offset ? builder.add(column, offset) : column;
    if (end)
      last = arith::MaxSIOp::create(builder,
                                    arith::MinSIOp::create(builder, last, end),
                                    builder.index(0));
    place.push_back(last);
    return place;
  };
  int64_t alignment = getLoadAlignment(type, columns.count);
  if (columns.areWhole() && alignment && !end)
    return vector::LoadOp::create(
        builder, vector, source, getPlace(columns.first), /*nontemporal=*/false,
        llvm::MaybeAlign(alignment));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < columns.count; ++i) {
    Value column = builder.add(columns.first, i);
    if (!columns.areWhole())
      column = arith::MinUIOp::create(builder, column, columns.last);
    elements.push_back(
        memref::LoadOp::create(builder, source, getPlace(column)));
  }
  return vector::FromElementsOp::create(builder, vector, elements);
}

Value mx::mxgpu::loadColumns(KernelBuilder &builder, Value source,
                             ValueRange indices, const Columns &columns,
                             Value offset, Value end) {
  if (!columns.isPresent || indices.empty())
    return loadPresentColumns(builder, source, indices, columns, offset, end);
  auto type = VectorType::get(
      {columns.count}, cast<MemRefType>(source.getType()).getElementType());
  auto ifOp = scf::IfOp::create(builder, type, columns.isPresent,
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, loadPresentColumns(builder, source, indices,
                                                   columns, offset, end));
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(
      builder, arith::ConstantOp::create(builder, builder.getZeroAttr(type))
                   .getResult());
  return ifOp.getResult(0);
}
