//===- LoopNest.h - Loop nests of mx operations -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps each operand dimension to the loop that indexes it and a divisor: 1 for
// elements, the block size for scales, 128 rows or 4 blocks for tiles of
// scales, and the tile size of the order for tiled operands.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_TILING_LOOPNEST_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_TILING_LOOPNEST_H

#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Support/ScaleLayout.h"

namespace mx::tiling {

/// Operand dimension. A tile spans every dimension that no loop indexes.
struct DimMap {
  static constexpr int64_t kWhole = -1;
  int64_t loop = kWhole;
  int64_t factor = 1;
};

struct OperandMap {
  mlir::OpOperand *operand;
  llvm::SmallVector<DimMap> dims;

  mlir::Value getValue() const { return operand->get(); }
};

/// Loop nest of an operation.
struct LoopNest {
  llvm::SmallVector<llvm::StringRef> names; ///< loop names for messages
  llvm::SmallVector<OperandMap> operands;
  /// Loops that cannot be tiled, with the reason.
  llvm::SmallVector<std::pair<int64_t, llvm::StringRef>> whole;
  int64_t reduction = DimMap::kWhole;
  /// Rows and columns that share a scale.
  int64_t squares = 1;

  void add(mlir::OpOperand &operand, llvm::ArrayRef<int64_t> loops) {
    OperandMap map{&operand, {}};
    for (int64_t loop : loops)
      map.dims.push_back({loop, 1});
    operands.push_back(std::move(map));
  }

  /// Adds the scales of elements with dimensions `loops`.
  void addScales(mlir::OpOperand &operand, llvm::ArrayRef<int64_t> loops,
                 BlockShape block) {
    add(operand, loops);
    llvm::SmallVector<DimMap> &dims = operands.back().dims;
    auto type = mlir::cast<mlir::ShapedType>(operand.get().getType());
    auto divide = [](DimMap &dim, int64_t size) {
      dim = size == BlockFormat::kWhole ? DimMap{} : DimMap{dim.loop, size};
    };
    divide(dims.back(), block);
    divide(dims[loops.size() - 2], getBlockRows(type.getElementType(), block));
    ScaleLayoutKind layout = getLayoutKind(type, loops.size());
    if (layout == ScaleLayoutKind::MNMajor) {
      std::swap(dims.back(), dims[loops.size() - 2]);
      dims.back().factor = kMNMajorRows;
      dims.append(1, DimMap{});
    } else if (isMaterialized(type, loops.size())) {
      dims.back().factor *= kScaleTileBlocks;
      dims[loops.size() - 2].factor = kScaleTileRows;
      dims.append(kScaleTileRank, DimMap{});
    }
  }

  /// Adds elements with dimensions `loops`, in `order` or row-major.
  void addOrdered(mlir::OpOperand &operand, llvm::ArrayRef<int64_t> loops,
                  OperandOrderAttrInterface order) {
    add(operand, loops);
    if (!order)
      return;
    OperandTiles tiles = order.getTiles();
    int64_t rank = loops.size();
    llvm::SmallVector<DimMap> &dims = operands.back().dims;
    for (auto [dim, tile] :
         {std::pair(rank - 2, tiles.rows), {rank - 1, tiles.columns}}) {
      if (!tiles.stored.empty())
        dims[dim].factor = tile;
      else if (tile > 1 && loops[dim] != DimMap::kWhole)
        whole.push_back({loops[dim], "the operand order permutes elements"});
    }
    dims.append(tiles.stored.size(), DimMap{});
  }

  const OperandMap *find(mlir::OpOperand &operand) const {
    for (const OperandMap &map : operands)
      if (map.operand == &operand)
        return &map;
    return nullptr;
  }

  /// Returns the multiple at which tiles of a loop must start and end, so that
  /// no operand element is split. All factors are powers of two.
  int64_t getGranularity(int64_t loop) const {
    int64_t granularity =
        loop + 2 >= static_cast<int64_t>(names.size()) ? squares : 1;
    for (const OperandMap &map : operands)
      for (DimMap dim : map.dims)
        if (dim.loop == loop)
          granularity = std::max(granularity, dim.factor);
    return granularity;
  }
};

LoopNest getLoopNest(QuantizeOp op);
LoopNest getLoopNest(AmaxOp op);
LoopNest getLoopNest(DequantizeOp op);
LoopNest getLoopNest(RelayoutOp op);
LoopNest getLoopNest(PackOperandOp op);
LoopNest getLoopNest(MatmulOp op);
LoopNest getLoopNest(GroupedMatmulOp op);

/// Returns the operand dimension with the length of a loop.
std::pair<mlir::Value, int64_t> findBound(const LoopNest &nest, int64_t loop);

/// Returns the length of a loop, or ShapedType::kDynamic.
int64_t getStaticBound(const LoopNest &nest, int64_t loop);

// Divisibility of tile offsets and sizes (TileMultiples.cpp).

/// Returns true if constants and loop counters prove divisibility by `divisor`.
bool isMultipleOf(mlir::OpFoldResult value, int64_t divisor);

/// Returns true if a tile is a multiple of `divisor`, or ends with the loop.
bool isWholeTile(mlir::OpFoldResult offset, mlir::OpFoldResult size,
                 int64_t bound, int64_t divisor);

bool isWholeLoop(mlir::OpFoldResult offset, mlir::OpFoldResult size,
                 int64_t bound);

} // namespace mx::tiling

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_TILING_LOOPNEST_H
