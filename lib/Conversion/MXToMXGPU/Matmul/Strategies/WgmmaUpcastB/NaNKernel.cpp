//===- NaNKernel.cpp - Detection of NaN in operand tiles ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA processes a tile of 128 rows of either operand, and each of its warps
// processes 8 rows. Elements are read only if some tile fits relative bf16 but
// not f16, and then only in tiles that fit relative bf16. Each warp writes one
// byte of the tile's row in a second table, because all warps read the first
// table. The byte is a copy, or 255 if the warp's rows contain NaN. A tile with
// a byte of 255 fits neither type.
//===----------------------------------------------------------------------===//

#include "../../../Builder/Elementwise.h"
#include "../../../Builder/KernelBuilder.h"
#include "F16ScaleRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kNaNWarps = 16, kLanes = 32;
static constexpr int64_t kRowsOfWarp = kScaleTileRows / kNaNWarps;
/// Number of loads that a lane issues before the first use. With one load per
/// lane, a warp reads kOnce elements. With kNaNLoads loads, a warp reads kPiece
/// elements.
static constexpr int64_t kNaNLoads = 8;
static constexpr int64_t kOnce = kLanes * kLoadBytes,
                         kPiece = kNaNLoads * kOnce;
static constexpr int64_t kBytes = 4, kWords = kLoadBytes / kBytes;

namespace {

/// An operand, its elements as a line if contiguous, and both tables.
struct Operand {
  Value elements, line, table, result;
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
        body, DenseElementsAttr::get(
                  words, body.getI32IntegerAttr(int32_t(value)).getValue()));
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(body, arith::CmpIPredicate::ult, a, b);
  }
  Value fits(Value table, Value tile, bool bf16) {
    return LoadScaleRangeOp::create(body, table, tile, bf16).getFits();
  }
  Value someNeedBF16(Value table);
  Value look(Value seen, Value elements, Value row, ArrayRef<Value> columns);
  Value lookAtLine(Value seen, Value elements, Value row, Value begin,
                   Value end);
  Value findNaN(const Operand &operand, Value tile);
  void lookAt(const Operand &operand, Value isNeeded, Value tile);

  KernelBuilder &body;
  VectorType words;
  Value warp, lane;
};

} // namespace

/// Tests every kLanes-th tile. Returns true if some tile fits only bf16.
Value NaNKernel::someNeedBF16(Value table) {
  OpBuilder::InsertionGuard guard(body);
  Value none = arith::ConstantOp::create(body, body.getBoolAttr(false));
  auto loop = scf::ForOp::create(body, lane, body.dim(table, 0),
                                 body.index(kLanes), none);
  body.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  Value notF16 = body.isNot(fits(table, tile, false));
  Value found = arith::AndIOp::create(body, fits(table, tile, true), notF16);
  scf::YieldOp::create(
      body, arith::OrIOp::create(body, loop.getRegionIterArgs()[0], found)
                .getResult());
  return loop.getResult(0);
}

/// Adds one to the magnitudes of the loaded codes, and combines the sums with
/// `seen` in a bitwise OR. Only NaN sets the highest bit of a sum.
Value NaNKernel::look(Value seen, Value elements, Value row,
                      ArrayRef<Value> columns) {
  auto type = VectorType::get(
      {kLoadBytes}, cast<MemRefType>(elements.getType()).getElementType());
  auto bytes = VectorType::get({kLoadBytes}, body.getI8Type());
  SmallVector<Value> loaded;
  for (Value column : columns)
    loaded.push_back(LoadBlockOp::create(body, type, elements, row, column,
                                         /*in_bounds=*/true));
  for (Value codes : loaded) {
    Value word = vector::BitCastOp::create(
        body, words, arith::BitcastOp::create(body, bytes, codes));
    Value code = arith::AndIOp::create(body, word, splat(0x7F7F7F7F));
    Value next = arith::AddIOp::create(body, code, splat(0x01010101));
    seen = arith::OrIOp::create(body, seen, next);
  }
  return seen;
}

/// Lets a warp examine a row, first in whole pieces and then the rest.
Value NaNKernel::lookAtLine(Value seen, Value elements, Value row, Value begin,
                            Value end) {
  OpBuilder::InsertionGuard guard(body);
  Value own = body.mul(lane, body.index(kLoadBytes));
  Value pieces = body.div(arith::SubIOp::create(body, end, begin), kPiece);
  Value rest = body.add(begin, body.mul(pieces, body.index(kPiece)));
  auto loop = scf::ForOp::create(body, begin, rest, body.index(kPiece), seen);
  body.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> columns;
  Value first = body.add(loop.getInductionVar(), own);
  for (int64_t i = 0; i < kNaNLoads; ++i)
    columns.push_back(body.add(first, i * kOnce));
  scf::YieldOp::create(
      body, look(loop.getRegionIterArgs()[0], elements, row, columns));
  body.setInsertionPointAfter(loop);
  loop = scf::ForOp::create(body, body.add(rest, own), end, body.index(kOnce),
                            loop.getResult(0));
  body.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(body, look(loop.getRegionIterArgs()[0], elements, row,
                                  loop.getInductionVar()));
  return loop.getResult(0);
}

/// Returns 255 if a warp's rows of a tile contain NaN, and 0 otherwise.
Value NaNKernel::findNaN(const Operand &operand, Value tile) {
  Value elements = operand.elements, none = splat(0);
  Value first = body.add(body.mul(tile, body.index(kScaleTileRows)),
                         body.mul(warp, body.index(kRowsOfWarp)));
  Value rows = body.dim(elements, 0), columns = body.dim(elements, 1);
  Value begin = arith::MinUIOp::create(body, first, rows);
  Value end = arith::MinUIOp::create(body, body.add(first, kRowsOfWarp), rows);
  Value seen;
  if (operand.line) {
    begin = body.mul(begin, columns);
    end = body.mul(end, columns);
    seen = lookAtLine(none, operand.line, body.index(0), begin, end);
  } else {
    OpBuilder::InsertionGuard guard(body);
    auto loop = scf::ForOp::create(body, begin, end, body.index(1), none);
    body.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(body, lookAtLine(loop.getRegionIterArgs()[0], elements,
                                          loop.getInductionVar(), body.index(0),
                                          columns));
    seen = loop.getResult(0);
  }
  Value all =
      vector::ReductionOp::create(body, vector::CombiningKind::OR, seen);
  Value bits = arith::AndIOp::create(body, all, number(int32_t(0x80808080)));
  Value any =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ne, bits, number(0));
  Value found = arith::SelectOp::create(body, any, number(255), number(0));
  return body.warpMax(found);
}

void NaNKernel::lookAt(const Operand &operand, Value isNeeded, Value tile) {
  Value isRead =
      arith::AndIOp::create(body, isNeeded, fits(operand.table, tile, true));
  auto read =
      scf::IfOp::create(body, TypeRange{body.getI32Type()}, isRead, true);
  {
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(read.thenBlock());
    scf::YieldOp::create(body, findNaN(operand, tile));
    body.setInsertionPointToStart(read.elseBlock());
    scf::YieldOp::create(body, number(0));
  }
  auto first =
      scf::IfOp::create(body, isBelow(lane, body.index(1)), /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(first.thenBlock());
  Value known = memref::LoadOp::create(
      body, operand.table, ValueRange{tile, body.div(warp, kBytes)});
  Value place = arith::IndexCastOp::create(
      body, body.getI32Type(),
      arith::RemUIOp::create(body, warp, body.index(kBytes)));
  Value own = arith::ShRUIOp::create(
      body, known, arith::MulIOp::create(body, place, number(8)));
  Value byte = arith::TruncIOp::create(
      body, body.getI8Type(),
      arith::OrIOp::create(body, own, read.getResult(0)));
  memref::StoreOp::create(body, byte, operand.result, ValueRange{tile, warp});
}

void NaNKernel::build(const Operand &a, const Operand &b) {
  Value ofA = body.dim(a.table, 0);
  Value tiles = body.add(ofA, body.dim(b.table, 0));
  Value work = body.scheduleTiles(tiles, body.index(1), {1, 1});
  body.role("look", kNaNWarps, /*elected=*/false);
  std::tie(warp, lane) = body.warpAndLane();
  Value some = someNeedBF16(a.table), ofB = someNeedBF16(b.table);
  some = arith::OrIOp::create(body, some, ofB);
  some = body.warpMax(arith::ExtUIOp::create(body, body.getI32Type(), some));
  Value isNeeded =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ne, some, number(0));
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value tile = workTile.getRow();
  auto which = scf::IfOp::create(body, isBelow(tile, ofA), /*withElse=*/true);
  body.setInsertionPointToStart(which.thenBlock());
  lookAt(a, isNeeded, tile);
  body.setInsertionPointToStart(which.elseBlock());
  lookAt(b, isNeeded, arith::SubIOp::create(body, tile, ofA));
}

/// Allocates a byte table for the tiles of `table`.
static Value allocateLike(KernelBuilder &host, Value table) {
  auto type = cast<MemRefType>(table.getType());
  SmallVector<Value> sizes;
  if (type.isDynamicDim(0))
    sizes.push_back(host.dim(table, 0));
  return memref::AllocOp::create(
      host, MemRefType::get({type.getDimSize(0), kNaNWarps}, host.getI8Type()),
      sizes);
}

std::pair<Value, Value> mx::mxgpu::excludeNaN(KernelBuilder &host,
                                              gpu::GPUModuleOp module, Value a,
                                              Value b, Value aTable,
                                              Value bTable) {
  Value aResult = allocateLike(host, aTable);
  Value bResult = allocateLike(host, bTable);
  SmallVector<Value> arguments;
  SmallVector<bool> haveLines;
  for (auto [elements, table, result] :
       {std::tuple(a, aTable, aResult), std::tuple(b, bTable, bResult)}) {
    auto type = cast<MemRefType>(elements.getType());
    haveLines.push_back(type.getLayout().isIdentity());
    Value line = haveLines.back() ? toRow(host, elements) : elements;
    arguments.append({elements, line, table, result});
  }
  KernelOp kernel =
      host.kernel(module, "nan", ValueRange(arguments).getTypes());
  KernelBuilder body(host.getLoc(), host.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  auto operand = [&](unsigned i) -> Operand {
    auto get = [&](unsigned k) { return entry.getArgument(4 * i + k); };
    return {get(0), haveLines[i] ? Value(get(1)) : Value(), get(2), get(3)};
  };
  NaNKernel(body).build(operand(0), operand(1));
  Value tiles = host.add(host.dim(aTable, 0), host.dim(bTable, 0));
  host.launch(kernel, tiles, arguments);
  return {aResult, bResult};
}
