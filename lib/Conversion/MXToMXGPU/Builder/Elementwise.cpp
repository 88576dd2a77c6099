//===- Elementwise.cpp - Loops of threads over elements and tiles ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/BlockFormats/BlockFormat.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

TileThreads TileThreads::get(KernelBuilder &body, int64_t threads,
                             int64_t columns, int64_t vector) {
  int64_t inRow = columns / vector;
  Value thread = ThreadIdOp::create(body);
  Value row = body.div(thread, inRow);
  Value piece = arith::RemUIOp::create(body, thread, body.index(inRow));
  return {threads / inRow, row, body.mul(piece, body.index(vector))};
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

Value mx::mxgpu::forEachElement(KernelBuilder &body, StringRef role,
                                Value count) {
  Value work = body.scheduleTiles(body.index(1), count, {1, kElementThreads});
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

bool mx::mxgpu::isMNMajor(Value scales, int64_t batch) {
  return getLayoutKind(cast<ShapedType>(scales.getType()), batch + 2) ==
         ScaleLayoutKind::MNMajor;
}

Value mx::mxgpu::viewScales(KernelBuilder &host, Value scales, int64_t batch) {
  if (!isMNMajor(scales, batch))
    return collapseLeading(host, scales, batch + 1);
  SmallVector<ReassociationIndices> dims = {
      llvm::to_vector<2>(llvm::seq<int64_t>(0, batch + 1)),
      {batch + 1, batch + 2}};
  return memref::CollapseShapeOp::create(host, scales, dims);
}

Value mx::mxgpu::loadScale(KernelBuilder &body, Value scales, Value row,
                           Value block, BlockShape blockSize, bool isMNMajor) {
  auto type = cast<MemRefType>(scales.getType());
  int64_t blockRows = getBlockRows(type.getElementType(), blockSize);
  if (blockRows > 1 && type.getRank() == 2)
    row = body.div(row, blockRows);
  if (isMNMajor)
    std::swap(row, block);
  return LoadScaleOp::create(body, type.getElementType(), scales, row, block);
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
