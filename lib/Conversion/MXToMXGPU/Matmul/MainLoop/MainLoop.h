//===- MainLoop.h - Main loops of matmul kernels -------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of B, and the common part of the roles that load and multiply. Each
// strategy derives its own main loop (Strategies/).
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H

#include "../Epilogue/EpiloguePolicy.h"
#include "../Work/WorkPolicy.h"

namespace mx::mxgpu {

//===----------------------------------------------------------------------===//
// Loads of B
//===----------------------------------------------------------------------===//

/// Loads B. A tile contains consecutive rows of B (WholeB), or an equal number
/// of rows from each of several stacked matrices (MatricesB).
class OperandB : public KernelComponent {
public:
  OperandB(MatmulKernel &kernel, WorkPolicy &work)
      : KernelComponent(kernel), work(work) {}

  // Host code.

  /// Returns the number of result columns for `rows` rows of a B matrix. Emits
  /// run-time checks of `rows`.
  virtual mlir::Value getResultColumns(mlir::Value rows) = 0;
  /// Returns the number of consecutive rows of a box. A stage contains
  /// `getBRows() / getBoxRows()` boxes.
  virtual int64_t getBoxRows();
  mlir::Value encodePacked();
  /// Returns the box in which a CTA loads scales to field "sfb". The dimensions
  /// are row tiles, block tiles, and the two 256-byte rows of a tile.
  virtual llvm::SmallVector<int64_t> getScaleBox() = 0;

  // Kernel code.

  /// Emits code before the loop over the reduction.
  virtual void begin(ForEachWorkTileOp workTile,
                     const OperandOrigin &origin) = 0;
  /// Loads the elements of a stage, starting at `k`.
  virtual void loadElements(ProducerAcquireOp stage, mlir::Value k) = 0;
  virtual void loadScales(ProducerAcquireOp stage, mlir::Value kTile) = 0;

protected:
  llvm::SmallVector<int64_t> getScaleShape() const;
  /// Returns true if both CTAs of a pair need the scales of the whole tile. In
  /// this case each CTA loads half of the scales for both CTAs. Otherwise each
  /// CTA loads the scales of its own rows.
  bool sharesScales() const;
  /// Returns true if each CTA of a pair multiplies by all rows of a tile. In
  /// this case each CTA loads half of the rows for both CTAs.
  bool sharesElements() const;
  /// Loads the box at `row` and `k` to position `place` of a stage.
  void loadRows(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                int64_t place);

  WorkPolicy &work;

private:
  void loadPackedRows(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                      int64_t place);
};

class WholeB final : public OperandB {
public:
  using OperandB::OperandB;

  mlir::Value getResultColumns(mlir::Value rows) override { return rows; }
  llvm::SmallVector<int64_t> getScaleBox() override;
  void begin(ForEachWorkTileOp workTile, const OperandOrigin &origin) override;
  void loadElements(ProducerAcquireOp stage, mlir::Value k) override;
  void loadScales(ProducerAcquireOp stage, mlir::Value kTile) override;

private:
  mlir::Value column, columnTile;
};

class MatricesB final : public OperandB {
public:
  using OperandB::OperandB;

  mlir::Value getResultColumns(mlir::Value rows) override;
  int64_t getBoxRows() override;
  llvm::SmallVector<int64_t> getScaleBox() override;
  void begin(ForEachWorkTileOp begun, const OperandOrigin &) override {
    workTile = begun;
  }
  void loadElements(ProducerAcquireOp stage, mlir::Value k) override;
  void loadScales(ProducerAcquireOp stage, mlir::Value kTile) override;

private:
  /// Calls `load` with each B matrix of this CTA and its position in the stage.
  void forEachMatrix(
      llvm::function_ref<void(mlir::Value matrix, int64_t place)> load);

  ForEachWorkTileOp workTile;
};

/// Tensor map boxes that form the field of a stage.
struct OperandBoxes {
  OperandBoxes(mlir::Value map, const target::OperandForm &form, int64_t tileK);
  /// Returns the coordinates of panel `panel` of the tile at `row` and `k`.
  llvm::SmallVector<mlir::Value> getCoordinates(KernelBuilder &body,
                                                mlir::Value row, mlir::Value k,
                                                int64_t panel) const;
  /// Returns the first map column of panel `panel` of a tile at reduction
  /// element `k`.
  mlir::Value getColumn(KernelBuilder &body, mlir::Value k,
                        int64_t panel) const;

  mlir::Value map;
  int64_t panels;

private:
  /// Map elements per box row, and operand elements per map element. A byte
  /// may contain two operand elements.
  int64_t columns, packed;
};

/// Loads one box of each operand panel into a field of a stage. A panel
/// consists of `boxesOfPanel` boxes, and `first` is the index of the box. If
/// each CTA of a pair loads one of two boxes for both CTAs, the index is
/// `rank`.
void loadPanels(KernelBuilder &body, const OperandBoxes &boxes, mlir::Value row,
                mlir::Value k, ProducerAcquireOp stage, llvm::StringRef field,
                CacheHint cache, int64_t first = 0, int64_t boxesOfPanel = 1,
                mlir::Value rank = {});

//===----------------------------------------------------------------------===//
// Main loops
//===----------------------------------------------------------------------===//

class MainLoop : public KernelComponent {
public:
  // Host code.

  /// Requires sizes specific to this strategy.
  virtual void checkSizes();
  /// Adds the operands in the form that the kernel reads.
  virtual void addOperands(KernelArguments &signature) = 0;
  /// Frees memory allocated by `addOperands`.
  virtual void freeTemporaries();

  // Kernel code.

  virtual void createRings() = 0;
  /// Builds the roles with their work tile loops, and passes accumulators to
  /// `epilogue`.
  virtual void buildRoles(EpiloguePolicy &epilogue) = 0;

protected:
  MainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b);

  /// Returns the tensor map of tiles of scales, in boxes of shape `box`.
  mlir::Value encodeScales(mlir::Value scales, llvm::ArrayRef<int64_t> box);
  /// Adds the tensor maps of the operands' scales.
  void addScales(KernelArguments &signature);
  /// Returns the row of a work tile of `tile` rows within its first tile of
  /// scales.
  mlir::Value getRowInScales(mlir::Value first, int64_t tile);
  static BufferType getInput(RingType ring, llvm::StringRef field);
  /// Builds the role that stores accumulators from tensor memory.
  void buildEpilogue(EpiloguePolicy &epilogue, mlir::Value accumulators);
  /// Builds the role that computes accumulators in registers with `multiply`
  /// and stores the result.
  void buildMultiply(
      EpiloguePolicy &epilogue,
      llvm::function_ref<mlir::Value(ForEachWorkTileOp workTile)> multiply);

  /// Called when a role enters a work tile. `multiplies` is true for roles that
  /// hold rows of A.
  virtual void enterWorkTile(ForEachWorkTileOp workTile, bool multiplies);
  /// Returns the slice of the work tile's reduction that this kernel computes.
  virtual std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile);
  /// Converts the accumulator to the form that the epilogue expects.
  virtual mlir::Value finishAccumulator(mlir::Value accumulator);

  /// Creates the loop over K tiles and moves the insertion point into it.
  ForEachKOp forEachTile(ForEachWorkTileOp workTile,
                         mlir::ValueRange initial = {});
  /// Starts the MMAs of a tile, which add to `accumulator`. A register operand
  /// may be a slice that starts at `column` of B.
  mlir::Value start(MmaAttrInterface mma, mlir::Value a, mlir::Value b,
                    mlir::Value accumulator, mlir::IntegerAttr column = {});
  /// Reinterprets the registers of a fragment in another layout.
  mlir::Value relabel(mlir::Value fragment, FragmentLayoutAttr layout);
  /// Returns whether the MMAs of a step add to an existing accumulator.
  mlir::Value isAdded(ForEachKOp step);

  /// Returns the tensor map of an operand in boxes of `rows` rows.
  mlir::Value encodeElements(mlir::Value operand, RingType ring,
                             llvm::StringRef field, int64_t rows);
  /// Loads a tile of A in boxes that start at `firstRows` of the tile.
  void loadBoxesOfA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                    llvm::ArrayRef<int64_t> firstRows);
  /// Builds the role of one thread that loads A, B and their scales to the
  /// fields "a", "sfa", "b" and "sfb" of `inputs`.
  void buildScaledLoads(mlir::Value inputs);
  /// Launches dependent kernels after the load loop over work tiles.
  void launchDependents(ForEachWorkTileOp workTile);
  /// Returns true if every K tile is full.
  bool areTilesWhole();

  WorkPolicy &work;
  OperandB &b;

private:
  mlir::Value isRank(int64_t rank);
  /// Stores an accumulator, or the share of CTA `rank` in a cluster's sum.
  void storeAccumulator(EpiloguePolicy &epilogue, ForEachWorkTileOp workTile,
                        mlir::Value multiplied, mlir::Value empty,
                        std::optional<int64_t> rank = std::nullopt);
  void storeShares(EpiloguePolicy &epilogue, ForEachWorkTileOp workTile,
                   mlir::Value multiplied, mlir::Value empty);
  mlir::Value addPartialsOfCluster(mlir::Value accumulator);

  mlir::Operation *classified = nullptr; ///< work tile of `isNarrow`
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
