//===- MainLoop.h - From operands to an accumulator ----------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How tiles of B are loaded, and the roles that load operands and multiply
// them. Each strategy has a main loop of its own (Strategies/); this is what
// they have in common.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H

#include "../Epilogue/EpiloguePolicy.h"
#include "../Work/WorkPolicy.h"

namespace mx::mxgpu {

//===----------------------------------------------------------------------===//
// Loads of B
//===----------------------------------------------------------------------===//

/// How tiles of B are loaded. A tile has consecutive rows of B (WholeB), or as
/// many of each of several matrices, which lie one below the other (MatricesB).
class OperandB : public KernelComponent {
public:
  OperandB(MatmulKernel &kernel, WorkPolicy &work)
      : KernelComponent(kernel), work(work) {}

  // On the host.

  /// Columns of the result for `rows` of a matrix of B, after checks.
  virtual mlir::Value getResultColumns(mlir::Value rows) = 0;
  /// Rows that one box of elements has: those that lie one below the other, of
  /// which a stage has `getBRows() / getBoxRows()` times as many.
  virtual int64_t getBoxRows();
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
  llvm::SmallVector<int64_t> getScaleShape() const;
  /// Whether both CTAs of a pair need the scales of the whole tile, of which
  /// each loads half; else each has those of its own rows, if there are pairs.
  bool sharesScales() const;
  /// Whether each CTA of a pair multiplies by all rows of a tile, of which each
  /// loads half for both.
  bool sharesElements() const;
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
  /// Calls `load` with each matrix of B that this CTA loads, and where it lies
  /// among those.
  void forEachMatrix(
      llvm::function_ref<void(mlir::Value matrix, int64_t place)> load);

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
  /// Elements of the map in a box's row, and those of the operand in one of
  /// them: a byte may hold two.
  int64_t columns, packed;
};

/// Loads the panels of an operand into the field of a stage, a box each. Of
/// `boxesOfPanel` boxes that a panel has there, it is `first`, or of two that
/// the CTAs of a pair load for both this one's, `rank`.
void loadPanels(KernelBuilder &body, const OperandBoxes &boxes, mlir::Value row,
                mlir::Value k, ProducerAcquireOp stage, llvm::StringRef field,
                CacheHint cache, int64_t first = 0, int64_t boxesOfPanel = 1,
                mlir::Value rank = {});

//===----------------------------------------------------------------------===//
// Main loops
//===----------------------------------------------------------------------===//

class MainLoop : public KernelComponent {
public:
  // On the host.

  /// Requires sizes that this strategy needs, and no other.
  virtual void checkSizes();
  /// Adds the operands, as the kernel reads them.
  virtual void addOperands(KernelArguments &signature) = 0;
  /// Frees what `addOperands` allocated.
  virtual void freeTemporaries();

  // In the kernel.

  virtual void createRings() = 0;
  /// Builds all roles that work tiles go through; accumulators are for
  /// `epilogue`.
  virtual void buildRoles(EpiloguePolicy &epilogue) = 0;

protected:
  MainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b);

  /// Adds the tensor maps of the scales that operands have.
  void addScales(KernelArguments &signature);
  /// The field of a stage.
  static BufferType getInput(RingType ring, llvm::StringRef field);
  /// The role that stores accumulators from a ring in tensor memory.
  void buildEpilogue(EpiloguePolicy &epilogue, mlir::Value accumulators);
  /// The role whose threads hold the accumulator that `multiply` gives of a
  /// work tile, and store the result.
  void buildMultiply(
      EpiloguePolicy &epilogue,
      llvm::function_ref<mlir::Value(ForEachWorkTileOp workTile)> multiply);

  /// What a role knows of a work tile from here on; `multiplies` says that its
  /// threads have rows of A.
  virtual void enterWorkTile(ForEachWorkTileOp workTile, bool multiplies);
  /// The slice of the reduction of a work tile that this kernel multiplies.
  virtual std::pair<mlir::Value, mlir::Value>
  getReduction(ForEachWorkTileOp workTile);
  /// The accumulator as the epilogue takes it.
  virtual mlir::Value finishAccumulator(mlir::Value accumulator);

  /// Tiles of the reduction of a work tile; the insertion point moves into the
  /// loop.
  ForEachKOp forEachTile(ForEachWorkTileOp workTile,
                         mlir::ValueRange initial = {});
  /// Starts the MMAs of a tile, which add to `accumulator`. An A in registers
  /// may be a slice of it that begins at `column` of B.
  mlir::Value start(MmaAttrInterface mma, mlir::Value a, mlir::Value b,
                    mlir::Value accumulator, mlir::IntegerAttr column = {});
  /// The same registers under another layout.
  mlir::Value relabel(mlir::Value fragment, FragmentLayoutAttr layout);
  /// Whether the MMAs of a step are added to those before in an accumulator.
  mlir::Value isAdded(ForEachKOp step);

  /// The tensor map of an operand, by boxes of `rows` rows.
  mlir::Value encodeElements(mlir::Value operand, RingType ring,
                             llvm::StringRef field, int64_t rows);
  /// Loads a tile of A that the tensor core reads, in boxes that begin at such
  /// rows of it.
  void loadBoxesOfA(ProducerAcquireOp stage, mlir::Value row, mlir::Value k,
                    llvm::ArrayRef<int64_t> firstRows);
  /// The role of one thread that loads A, B and the scales of both into the
  /// stages of `inputs`: their fields are "a", "sfa", "b" and "sfb".
  void buildScaledLoads(mlir::Value inputs);
  /// Where the loads of a CTA end: after the loop over its work tiles.
  void launchDependents(ForEachWorkTileOp workTile);
  /// Whether every tile of the reduction is full.
  bool areTilesWhole();

  WorkPolicy &work;
  OperandB &b;

private:
  /// Whether this CTA has a rank in its cluster.
  mlir::Value isRank(int64_t rank);
  /// Stores what was multiplied, or what the CTA with `rank` has of a sum that
  /// all CTAs of a cluster share.
  void storeAccumulator(EpiloguePolicy &epilogue, ForEachWorkTileOp workTile,
                        mlir::Value multiplied, mlir::Value empty,
                        std::optional<int64_t> rank = std::nullopt);
  void storeShares(EpiloguePolicy &epilogue, ForEachWorkTileOp workTile,
                   mlir::Value multiplied, mlir::Value empty);
  mlir::Value addPartialsOfCluster(mlir::Value accumulator);
  mlir::Value encodeScales(mlir::Value scales, llvm::ArrayRef<int64_t> box);
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MAINLOOP_MAINLOOP_H
