//===- OperandB.h - How tiles of B are loaded -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A tile has consecutive rows of B (WholeB), or as many of each of several
// parts, which lie one below the other (PartsB).
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_OPERANDB_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_OPERANDB_H

#include "../Work/WorkPolicy.h"

namespace mx::mxgpu {

class OperandB : public KernelPart {
public:
  // On the host.

  /// Columns of the result for `rows` of a matrix of B, after checks.
  virtual mlir::Value getResultColumns(mlir::Value rows) = 0;
  /// Rows that one box of elements has: those that lie one below the other, of
  /// which a stage has `getBRows() / getBoxRows()` times as many.
  virtual int64_t getBoxRows() { return product.getBRows(); }
  /// The tensor map of packed weights.
  mlir::Value encodePacked();
  /// Shape of the box by which a CTA loads scales, of a stage's field "sfb":
  /// tiles of rows and of blocks, and what of a tile of two rows of 256 bytes.
  virtual llvm::SmallVector<int64_t> getScaleBox() = 0;

  // In the kernel.

  /// Before the loop over the reduction.
  virtual void begin(ForEachWorkTileOp workTile,
                     const OperandOrigin &origin) = 0;
  /// Loads the elements of a stage, from `k` on.
  virtual void loadElements(ProducerAcquireOp stage, mlir::Value k) = 0;
  /// And its scales.
  virtual void loadScales(ProducerAcquireOp stage, mlir::Value kTile) = 0;

protected:
  OperandB(ProductKernel &kernel, WorkPolicy &work)
      : KernelPart(kernel), work(work) {}
  llvm::SmallVector<int64_t> getScaleShape() const;
  /// Whether both CTAs of a pair need the scales of the whole tile, of which
  /// each loads half; else each has those of its own rows, if there are pairs.
  bool sharesScales() const {
    return product.getCtas() > 1 &&
           product.problem.product.instruction->takesScales;
  }
  /// Whether each CTA of a pair multiplies by all rows of a tile, of which each
  /// loads half for both.
  bool sharesElements() const {
    return product.getCtas() > 1 && product.buffers.inputs.isFilledByBoth();
  }
  /// Loads the rows of a box from `row` and `k` on to their place among those
  /// of a stage.
  void loadRows(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                int64_t place);

  WorkPolicy &work;

private:
  void loadPackedRows(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                      int64_t place);
};

class WholeB final : public OperandB {
public:
  WholeB(ProductKernel &kernel, WorkPolicy &work) : OperandB(kernel, work) {}

  mlir::Value getResultColumns(mlir::Value rows) override { return rows; }
  llvm::SmallVector<int64_t> getScaleBox() override;
  void begin(ForEachWorkTileOp workTile, const OperandOrigin &origin) override;
  void loadElements(ProducerAcquireOp stage, mlir::Value k) override;
  void loadScales(ProducerAcquireOp stage, mlir::Value kTile) override;

private:
  mlir::Value column, columnTile;
};

class PartsB final : public OperandB {
public:
  PartsB(ProductKernel &kernel, WorkPolicy &work) : OperandB(kernel, work) {}

  mlir::Value getResultColumns(mlir::Value rows) override;
  int64_t getBoxRows() override;
  llvm::SmallVector<int64_t> getScaleBox() override;
  void begin(ForEachWorkTileOp begun, const OperandOrigin &) override {
    workTile = begun;
  }
  void loadElements(ProducerAcquireOp stage, mlir::Value k) override;
  void loadScales(ProducerAcquireOp stage, mlir::Value kTile) override;

private:
  /// Calls `load` with each part of B that this CTA loads, and where it lies
  /// among those.
  void
  forEachPart(llvm::function_ref<void(mlir::Value part, int64_t place)> load);

  ForEachWorkTileOp workTile;
};

/// The boxes of an operand's tensor map that make up the field of a stage.
struct OperandBoxes {
  OperandBoxes(mlir::Value map, const target::OperandForm &form, int64_t tileK);
  /// Where in the map rows from `row` on begin, and panel `panel` of a tile.
  llvm::SmallVector<mlir::Value> getCoordinates(KernelBuilder &body,
                                                mlir::Value row, mlir::Value k,
                                                int64_t panel) const;
  /// The column of the map where panel `panel` of a tile begins, which begins
  /// at element `k` of the reduction.
  mlir::Value getColumn(KernelBuilder &body, mlir::Value k,
                        int64_t panel) const;

  mlir::Value map;
  int64_t panels;

private:
  int64_t columns, workTile;
};

/// Loads the panels of an operand into the field of a stage, a box each. Of
/// `parts` boxes that a panel has there, it is number `part`, or of two that
/// the CTAs of a pair load for both this one's, `rank`.
void loadPanels(KernelBuilder &body, const OperandBoxes &boxes, mlir::Value row,
                mlir::Value k, ProducerAcquireOp stage, llvm::StringRef field,
                CacheHint cache, int64_t part = 0, int64_t parts = 1,
                mlir::Value rank = {});

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_OPERANDB_H
