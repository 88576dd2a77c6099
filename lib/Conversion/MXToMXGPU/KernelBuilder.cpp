//===- KernelBuilder.cpp - What the builders of kernels share -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "../Utils/HostCode.h"
#include "../Utils/Storage.h"
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
  RequireOp::create(*this, fits, (kAtMostMessage + what + kFoundMessage).str(),
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

/// Compares bits as unsigned integers: those of finite positive numbers are 1
/// to 0x7F7FFFFF. The host does not wait for numbers in memory
/// (docs/reference/Spec.md).
Value mx::mxgpu::checkPositive(KernelBuilder &host, Value scale) {
  Value bits = arith::BitcastOp::create(host, host.getI32Type(), scale);
  Value shown = arith::IndexCastUIOp::create(host, host.getIndexType(), bits);
  auto isAtMost = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(host, arith::CmpIPredicate::ule, a, b);
  };
  Value isAboveZero = isAtMost(host.index(1), shown);
  Value isPositive = arith::AndIOp::create(
      host, isAboveZero, isAtMost(shown, host.index(0x7F7FFFFF)));
  if (followsFromMemory(scale)) {
    Value nan = arith::ConstantOp::create(
        host, host.getFloatAttr(host.getF32Type(),
                                APFloat::getNaN(APFloat::IEEEsingle())));
    return arith::SelectOp::create(host, isPositive, scale, nan);
  }
  RequireOp::create(host, isPositive,
                    "expected a finite global_scale greater than 0, found the "
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

//===----------------------------------------------------------------------===//
// Matrices that are slices of wider ones
//===----------------------------------------------------------------------===//

// The copy engine, and threads that load 16 bytes at a time, take rows that
// begin at multiples of some bytes and do not overlap (CUDA driver API,
// cuTensorMapEncodeTiled).

bool mx::mxgpu::isKernelNumber(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() &&
           (integer.getWidth() == 1 || integer.getWidth() == 8 ||
            integer.getWidth() == 16 || integer.getWidth() == 32 ||
            integer.getWidth() == 64);
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type>(
      type);
}

bool mx::mxgpu::hasKernelInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
             math::IsNaNOp, math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

bool mx::mxgpu::mayHaveStride(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return (type.getElementType().isIndex() ||
          type.getElementTypeBitWidth() >= 8) &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

LogicalResult mx::mxgpu::verifyRowStride(Operation *op, MemRefType type,
                                         int64_t multiple, StringRef name) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t stride = strides[0], length = type.getDimSize(1);
  int64_t least =
      ShapedType::isDynamic(length) ? multiple : roundUp(length, multiple);
  if (ShapedType::isDynamic(stride) ||
      (stride % multiple == 0 && stride >= least))
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected rows of ")
                            << name << " at a stride of a multiple of "
                            << multiple << " elements, at least " << least
                            << ", on the GPU, found " << stride;
  int64_t below = stride / multiple * multiple;
  if (below < least)
    diag.attachNote() << "the nearest is " << least;
  else
    diag.attachNote() << "the nearest are " << below << " and "
                      << below + multiple;
  return diag;
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

void mx::mxgpu::requireRows(KernelBuilder &host, Value matrix, int64_t multiple,
                            int64_t alignment, const Twine &name) {
  auto type = cast<MemRefType>(matrix.getType());
  if (!isContiguous(type)) {
    auto view = memref::ExtractStridedMetadataOp::create(host, matrix);
    Value stride = view.getStrides()[0], length = host.dim(matrix, 1);
    host.requireMultiple(stride, multiple, "the stride of rows of " + name);
    Value fits =
        arith::CmpIOp::create(host, arith::CmpIPredicate::uge, stride, length);
    RequireOp::create(host, fits,
                      ("expected the stride of rows of " + name +
                       " to be at least their %lld elements, found %lld")
                          .str(),
                      ValueRange{length, stride});
  }
  host.requireMultiple(getAddress(host, matrix), alignment,
                       "the address of " + name);
}

//===----------------------------------------------------------------------===//
// Fills of device memory
//===----------------------------------------------------------------------===//

// The runtime, and launch plans, fill memory with equal bytes: zeros.

void mx::mxgpu::clearMemory(KernelBuilder &host, Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  // E8M0 has no 0; its smallest number has these bits.
  auto float_ = dyn_cast<FloatType>(element);
  TypedAttr zero =
      float_ ? TypedAttr(host.getFloatAttr(
                   element, APFloat(float_.getFloatSemantics(),
                                    APInt::getZero(float_.getWidth()))))
             : TypedAttr(host.getIntegerAttr(element, 0));
  gpu::MemsetOp::create(host, TypeRange(), ValueRange(), memref,
                        arith::ConstantOp::create(host, zero));
}

/// Whether all bytes of the memref are elements of it alone.
static bool ownsItsBytes(MemRefType type) {
  bool isNarrow = getElementBits(type) < 8;
  return type.getLayout().isIdentity() && !type.getElementType().isInteger(1) &&
         (!isNarrow || type.getRank() == 2);
}

bool mx::mxgpu::isMemset(linalg::FillOp op) {
  auto type = dyn_cast<MemRefType>(op.getDpsInits()[0].getType());
  return type && isZeroBits(op.getInputs()[0]) && ownsItsBytes(type);
}

LogicalResult mx::mxgpu::convertFill(linalg::FillOp op) {
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  if (!isZeroBits(op.getInputs()[0]))
    return op.emitOpError("expected a constant whose bits are all 0 on the "
                          "GPU, which fills memory with zeros; found another "
                          "value: make the tensor an argument of the function, "
                          "or add the value where it is used");
  if (!ownsItsBytes(type))
    return op.emitOpError("expected whole tensors of elements of whole bytes, "
                          "or matrices of fewer bits, on the GPU, found ")
           << type;
  KernelBuilder host(op.getLoc(), op);
  clearMemory(host, toBytes(host, op.getDpsInits()[0]));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles that threads share
//===----------------------------------------------------------------------===//

TileThreads TileThreads::get(KernelBuilder &body, int64_t threads,
                             int64_t columns, int64_t vector) {
  int64_t inRow = columns / vector;
  Value thread = ThreadIdOp::create(body);
  Value row = body.div(thread, inRow);
  Value piece = arith::RemUIOp::create(body, thread, body.index(inRow));
  return {threads / inRow, row, body.mul(piece, body.index(vector))};
}

void KernelBuilder::beginIf(Value condition) {
  auto ifOp = scf::IfOp::create(*this, condition, /*withElse=*/false);
  setInsertionPointToStart(ifOp.thenBlock());
}

Value mx::mxgpu::forEachElement(KernelBuilder &body, StringRef role,
                                Value count) {
  Value work = TileSchedulerOp::create(
      body, body.index(1), count, /*reduction=*/body.index(0),
      ArrayRef<int64_t>{1, kElementThreads},
      RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  body.role(role, kElementThreads / target::kWarpSize, /*elected=*/false);
  Value thread = ThreadIdOp::create(body);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value element = body.add(workTile.getColumn(), thread);
  Value exists =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ult, element, count);
  body.beginIf(exists);
  return element;
}

void mx::mxgpu::launchForEachElement(
    KernelBuilder &host, KernelBuilder &body, gpu::GPUModuleOp module,
    StringRef name, Value count, ArrayRef<Value> arguments,
    llvm::function_ref<void(Block::BlockArgListType, Value)> emit) {
  SmallVector<Value> all(arguments);
  all.push_back(count);
  KernelOp kernel = host.kernel(module, name, ValueRange(all).getTypes());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value element = forEachElement(body, "elements", entry.getArguments().back());
  emit(entry.getArguments(), element);
  host.launch(kernel, host.ceilDiv(count, kElementThreads), all);
}

Value mx::mxgpu::allocateList(KernelBuilder &host, Value size) {
  return memref::AllocOp::create(
      host, MemRefType::get({ShapedType::kDynamic}, host.getI32Type()),
      ValueRange(size));
}

Value mx::mxgpu::loadIndex(KernelBuilder &body, Value list, Value place) {
  return arith::IndexCastOp::create(
      body, body.getIndexType(),
      memref::LoadOp::create(body, list, ValueRange{place}));
}

void mx::mxgpu::storeIndex(KernelBuilder &body, Value number, Value list,
                           ValueRange place) {
  memref::StoreOp::create(
      body, arith::IndexCastOp::create(body, body.getI32Type(), number), list,
      place);
}

TileThreads mx::mxgpu::forEachTile(KernelBuilder &body, StringRef role,
                                   Value rows, Value columns,
                                   ArrayRef<int64_t> tile, int64_t threads,
                                   int64_t vector, RasterAttr raster) {
  Value work =
      TileSchedulerOp::create(body, rows, columns,
                              /*reduction=*/body.index(0), tile, raster);
  body.role(role, threads / 32, /*elected=*/false);
  auto inTile = TileThreads::get(body, threads, tile[1], vector);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value row = body.add(workTile.getRow(), inTile.row);
  return {inTile.step, row, body.add(workTile.getColumn(), inTile.column)};
}
