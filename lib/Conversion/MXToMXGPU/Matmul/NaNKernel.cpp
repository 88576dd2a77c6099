//===- NaNKernel.cpp - Which tiles have elements that are NaN -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A CTA has a tile of 128 rows of either operand, a warp 32 rows of it. Elements
// are read only if there are units for bf16 relative to references, those with
// a tile that fits this and not f16, and then of all tiles that such units may
// have. A tile with NaN gets the scale 255, which is NaN too, and so fits
// nothing. It gets it in another table than the one that was read, which
// therefore says the same to all.
//
//===----------------------------------------------------------------------===//

#include "WindowedProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kWarps = 4, kLanes = 32;
static constexpr int64_t kRowsOfWarp = kScaleTileRows / kWarps;
/// Rows that a lane reads of, kLoadBytes elements each, before it looks at the
/// first.
static constexpr int64_t kRowsAtOnce = 16;
static constexpr int64_t kWords = kLoadBytes / 4;

namespace {

/// An operand's elements, what is known of its tiles, and what will be.
struct Operand {
  Value elements, table, result;
};

class NaNKernel {
public:
  explicit NaNKernel(KernelBuilder &body)
      : body(body), words(VectorType::get({kWords}, body.getI32Type())) {}

  void build(const Operand &a, const Operand &b);

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  }
  Value splat(uint32_t value) {
    return arith::ConstantOp::create(
        body,
        DenseElementsAttr::get(
            words, body.getI32IntegerAttr(int32_t(value)).getValue()));
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, a, b);
  }
  Value fits(Value table, Value tile, bool bf16) {
    return LoadWindowOp::create(body, table, tile, bf16).getFits();
  }
  Value someNeedBF16(Value table);
  Value load(Value elements, Value row, Value column);
  Value findNaN(Value elements, Value tile);
  void lookAt(const Operand &operand, Value isNeeded, Value tile);

  KernelBuilder &body;
  VectorType words;
  Value warp, lane;
};

} // namespace

/// Whether a lane sees a tile that fits bf16 and not f16.
Value NaNKernel::someNeedBF16(Value table) {
  OpBuilder::InsertionGuard guard(body);
  Value none = arith::ConstantOp::create(body, body.getBoolAttr(false));
  Value always = arith::ConstantOp::create(body, body.getBoolAttr(true));
  auto loop = scf::ForOp::create(body, lane, body.dim(table, 0),
                                 body.index(kLanes), none);
  body.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  Value notF16 = arith::XOrIOp::create(body, fits(table, tile, false), always);
  Value found = arith::AndIOp::create(body, fits(table, tile, true), notF16);
  scf::YieldOp::create(
      body, arith::OrIOp::create(body, loop.getRegionIterArgs()[0], found)
                .getResult());
  return loop.getResult(0);
}

/// Elements of a row, of the last one if there is none of this number.
Value NaNKernel::load(Value elements, Value row, Value column) {
  Value last = body.add(body.dim(elements, 0), -1);
  auto type = cast<MemRefType>(elements.getType()).getElementType();
  Value codes = LoadBlockOp::create(
      body, VectorType::get({kLoadBytes}, type), elements,
      arith::MinUIOp::create(body, row, last), column, /*in_bounds=*/true);
  auto bytes = VectorType::get({kLoadBytes}, body.getI8Type());
  return vector::BitCastOp::create(
      body, words, arith::BitcastOp::create(body, bytes, codes));
}

/// 255 if a warp's rows of a tile have an element that is NaN, else 0.
Value NaNKernel::findNaN(Value elements, Value tile) {
  OpBuilder::InsertionGuard guard(body);
  Value first = body.add(body.mul(tile, body.index(kScaleTileRows)),
                         body.mul(warp, body.index(kRowsOfWarp)));
  auto rows = scf::ForOp::create(body, body.index(0), body.index(kRowsOfWarp),
                                 body.index(kRowsAtOnce), splat(0));
  body.setInsertionPointToStart(rows.getBody());
  Value row = body.add(first, rows.getInductionVar());
  auto columns = scf::ForOp::create(
      body, body.mul(lane, body.index(kLoadBytes)), body.dim(elements, 1),
      body.index(kLanes * kLoadBytes), rows.getRegionIterArgs()[0]);
  scf::YieldOp::create(body, columns.getResult(0));
  body.setInsertionPointToStart(columns.getBody());
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < kRowsAtOnce; ++i)
    loaded.push_back(
        load(elements, body.add(row, i), columns.getInductionVar()));
  // NaN is 0x7F below the sign: one more sets the highest bit of the byte.
  Value seen = columns.getRegionIterArgs()[0];
  for (Value each : loaded) {
    Value code = arith::AndIOp::create(body, each, splat(0x7F7F7F7F));
    Value next = arith::AddIOp::create(body, code, splat(0x01010101));
    seen = arith::OrIOp::create(body, seen, next);
  }
  scf::YieldOp::create(body, seen);
  body.setInsertionPointAfter(rows);
  Value all = vector::ReductionOp::create(body, vector::CombiningKind::OR,
                                          rows.getResult(0));
  Value bits = arith::AndIOp::create(body, all, number(int32_t(0x80808080)));
  Value any =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ne, bits, number(0));
  Value found = arith::SelectOp::create(body, any, number(255), number(0));
  return WarpMaxOp::create(body, found);
}

void NaNKernel::lookAt(const Operand &operand, Value isNeeded, Value tile) {
  Value isRead =
      arith::AndIOp::create(body, isNeeded, fits(operand.table, tile, true));
  auto read =
      scf::IfOp::create(body, TypeRange{body.getI32Type()}, isRead, true);
  {
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(read.thenBlock());
    scf::YieldOp::create(body, findNaN(operand.elements, tile));
    body.setInsertionPointToStart(read.elseBlock());
    scf::YieldOp::create(body, number(0));
  }
  auto first =
      scf::IfOp::create(body, isBelow(lane, body.index(1)), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(first.thenBlock());
  // The largest scale is in the upper half.
  Value found = arith::ShLIOp::create(body, read.getResult(0), number(16));
  Value known =
      memref::LoadOp::create(body, operand.table, ValueRange{tile, warp});
  memref::StoreOp::create(body, arith::OrIOp::create(body, known, found),
                          operand.result, ValueRange{tile, warp});
}

void NaNKernel::build(const Operand &a, const Operand &b) {
  Value ofA = body.dim(a.table, 0);
  Value tiles = body.add(ofA, body.dim(b.table, 0));
  Value work = TileSchedulerOp::create(
      body, tiles, body.index(1), /*reduction=*/body.index(0),
      ArrayRef<int64_t>{1, 1},
      RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  body.role("look", kWarps, /*elected=*/false);
  std::tie(warp, lane) = body.warpAndLane();
  Value some = arith::OrIOp::create(body, someNeedBF16(a.table),
                                    someNeedBF16(b.table));
  some = WarpMaxOp::create(
      body, arith::ExtUIOp::create(body, body.getI32Type(), some));
  Value isNeeded =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ne, some, number(0));
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value tile = unit.getRow();
  auto which = scf::IfOp::create(body, isBelow(tile, ofA), /*withElse=*/true);
  body.setInsertionPointToStart(which.thenBlock());
  lookAt(a, isNeeded, tile);
  body.setInsertionPointToStart(which.elseBlock());
  lookAt(b, isNeeded, arith::SubIOp::create(body, tile, ofA));
}

/// A table of as many tiles.
static Value allocateLike(KernelBuilder &host, Value table) {
  auto type = cast<MemRefType>(table.getType());
  SmallVector<Value> sizes;
  if (type.isDynamicDim(0))
    sizes.push_back(host.dim(table, 0));
  return memref::AllocOp::create(host, type, sizes);
}

std::pair<Value, Value> mx::mxgpu::excludeNaN(KernelBuilder &host,
                                              gpu::GPUModuleOp module, Value a,
                                              Value b, Value aTable,
                                              Value bTable) {
  Value aResult = allocateLike(host, aTable);
  Value bResult = allocateLike(host, bTable);
  SmallVector<Value> arguments = {a, aTable, aResult, b, bTable, bResult};
  KernelOp kernel =
      host.kernel(module, "nan", ValueRange(arguments).getTypes());
  KernelBuilder body(host.getLoc(), host.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  auto operand = [&](unsigned i) -> Operand {
    return {entry.getArgument(i), entry.getArgument(i + 1),
            entry.getArgument(i + 2)};
  };
  NaNKernel(body).build(operand(0), operand(3));
  Value tiles = host.add(host.dim(aTable, 0), host.dim(bTable, 0));
  host.launch(kernel, tiles, arguments);
  return {aResult, bResult};
}
