//===- GatherRowsKernel.cpp - Kernel of mx.gather_rows --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread copies a piece of a row, at most 16 bytes.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns an array as a matrix of rows, in bytes if elements are narrower.
static Value toMatrix(KernelBuilder &host, Value array) {
  auto type = cast<MemRefType>(array.getType());
  int64_t rank = type.getRank();
  if (type.getElementType().isInteger(1)) // as mx-store-as-bytes does
    array = UnrealizedConversionCastOp::create(
                host,
                MemRefType(
                    MemRefType::Builder(type).setElementType(host.getI8Type())),
                array)
                .getResult(0);
  array = toBytes(host, array);
  SmallVector<ReassociationIndices> dims(2);
  for (int64_t dim = 0; dim < rank; ++dim)
    dims[dim > 0].push_back(dim);
  return rank == 2 ? array : memref::CollapseShapeOp::create(host, array, dims);
}

/// Copies `count` elements, with one access if both rows are aligned.
static void copyPiece(KernelBuilder &body, Value from, Value to, int64_t count,
                      Value fromRow, Value toRow, Value column) {
  auto type = cast<MemRefType>(to.getType());
  auto copyElements = [&] {
    for (int64_t i = 0; i < count; ++i) {
      Value at = body.add(column, i);
      Value element =
          memref::LoadOp::create(body, from, ValueRange{fromRow, at});
      memref::StoreOp::create(body, element, to, ValueRange{toRow, at});
    }
  };
  if (count == 1)
    return copyElements();
  int64_t bytes = count * getMemoryBits(type) / 8;
  auto ifOp = scf::IfOp::create(
      body, body.both(isAligned(body, from, bytes), isAligned(body, to, bytes)),
      /*withElse=*/true);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  llvm::MaybeAlign alignment(bytes);
  Value piece = vector::LoadOp::create(
      body, VectorType::get(count, type.getElementType()), from,
      ValueRange{fromRow, column}, /*nontemporal=*/false, alignment);
  vector::StoreOp::create(body, piece, to, ValueRange{toRow, column},
                          /*nontemporal=*/false, alignment);
  body.setInsertionPointToStart(ifOp.elseBlock());
  copyElements();
}

LogicalResult mx::mxgpu::convertGatherRows(GatherRowsOp op,
                                           gpu::GPUModuleOp module) {
  for (Value operand : op->getOperands())
    if (auto type = cast<MemRefType>(operand.getType()); !isContiguous(type))
      return op.emitOpError("expected identity layout on the GPU, found ")
             << type;
  KernelBuilder host(op.getLoc(), op), body(op.getLoc(), op.getContext());
  Value from = toMatrix(host, op.getInput());
  Value to = toMatrix(host, op.getOuts()[0]);
  Value count = host.dim(op.getRows(), 0);
  requireSize(host, host.dim(to, 0), count, "dimension 0 of outs");
  auto type = cast<MemRefType>(to.getType());
  int64_t columns = type.getDimSize(1);
  int64_t piece = std::gcd(
      columns, std::max<int64_t>(kLoadBytes * 8 / getMemoryBits(type), 1));
  int64_t pieces = columns / std::max<int64_t>(piece, 1);
  if (columns) {
    requireAtMost(host, count, std::numeric_limits<int32_t>::max() / pieces,
                  "gathered rows");
    launchForEachElement(
        host, body, module, "gather_rows", host.mul(count, pieces),
        {from, to, op.getRows()},
        [&](Block::BlockArgListType given, Value element) {
          Value row = body.div(element, pieces);
          Value source = loadIndex(body, given[2], row);
          // Unsigned comparison also rejects negative rows.
          body.beginIf(body.isBelow(source, body.dim(given[0], 0)));
          Value column = body.mul(body.rem(element, body.index(pieces)), piece);
          copyPiece(body, given[0], given[1], piece, source, row, column);
        });
  }
  op.erase();
  return success();
}
