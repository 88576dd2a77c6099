//===- MainLoop.h - Main loop of wgmma_fp8 -------------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma reads folded 8-bit operands from shared memory and adds `promote`
// elements of the reduction in reduced precision. Threads scale such a partial
// sum by the scales of A and add it to the accumulator in f32. Meanwhile the
// tensor core multiplies for other warpgroups. If B has blocks too, a warp
// converts the scales of both operands to f32 once for all threads; f32 scales
// are loaded without conversion. Blocks of 128 rows of B have a scale for many
// columns, which threads load an interval ahead.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAFP8_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAFP8_MAINLOOP_H

#include "../../MainLoop/MainLoop.h"

namespace mx::mxgpu {

class WgmmaFP8MainLoop final : public MainLoop {
public:
  WgmmaFP8MainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b);

  void addOperands(KernelArguments &signature) override;
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  void buildLoads();
  /// Loads the scales of a whole work tile, or of the interval
  /// that starts at `k`.
  void loadTileScales(const OperandOrigin &origin, mlir::Value k = {});
  /// Returns the tensor map of f32 scales in layout mn_major, in boxes of
  /// `rows` scales of a block.
  mlir::Value encodeFactors(mlir::Value scales, int64_t rows);
  /// Loads f32 scales of A for the interval that starts at `k`.
  void loadExactScalesOfA(ForEachWorkTileOp workTile, mlir::Value k,
                          ProducerAcquireOp stage, llvm::StringRef field);
  /// Loads f32 scales of both operands for the interval that starts at `k`.
  void loadExactScales(ForEachWorkTileOp workTile, mlir::Value k);
  /// Returns the row of blocks at `k` in a stack of matrices of f32 scales.
  mlir::Value getRowOfBlocks(mlir::Value matrix, mlir::Value k);
  /// Builds the role that converts the scales of both operands to f32.
  void buildConvert();
  /// Builds the role that loads factors of blocks of several rows of B.
  void buildBlocks();
  /// Returns the reduction elements of a stage of such factors.
  int64_t getReductionOfBlocks();
  /// Loads such factors for the interval at element `k` of a stage.
  llvm::SmallVector<mlir::Value> takeBlocks(ConsumerWaitOp stage,
                                            mlir::Value k);
  /// Converts the scales of `count` rows for the interval that starts at `k`.
  void convertScales(ConsumerWaitOp scales, llvm::StringRef from,
                     ProducerAcquireOp factors, llvm::StringRef to,
                     mlir::Value row, int64_t count, mlir::Value k,
                     int64_t blockSize);

  /// Returns the accumulator of a work tile.
  mlir::Value multiply(ForEachWorkTileOp workTile);
  /// Adds the products of an interval of one step to the accumulators of the
  /// slices, with the factors `blocks` of blocks of several rows of B, if any.
  llvm::SmallVector<mlir::Value> addSlices(ForEachKOp interval,
                                           mlir::ValueRange blocks,
                                           ForEachWorkTileOp workTile);
  /// Adds the products of an interval of several steps, up to `end`, to the
  /// accumulator.
  mlir::Value addSteps(ForEachKOp interval, mlir::Value end,
                       ForEachWorkTileOp workTile);
  /// Iterates over the steps of an iteration of another loop, up to `end`.
  ForEachKOp forEachStep(ForEachKOp interval, mlir::Value end,
                         mlir::ValueRange initial = {});
  mlir::Value createZeroSlice();
  bool hasSeveralSteps() const {
    return matmul.problem.promote > schedule.getTileK();
  }
  /// Starts MMAs of a slice of B that overwrite the previous sum.
  mlir::Value startSlice(ConsumerWaitOp stage, int64_t slice,
                         mlir::Value overwritten);
  /// Loads the scales of a fragment's rows as a vector of f32 factors.
  mlir::Value loadFactors(mlir::Value buffer, mlir::Value row,
                          mlir::Value block, FragmentType type,
                          int64_t blockSize);
  /// Returns the type of the factors of a fragment's rows.
  mlir::VectorType getFactors(FragmentType type);
  /// Returns a fragment of A, with the rows of the accumulator.
  FragmentType getRowsOfA();
  /// Returns the tile of scales, and the block in the tile, of reduction
  /// element `k`.
  mlir::Value getScaleTile(mlir::Value k, int64_t blockSize);
  mlir::Value getBlockInTile(mlir::Value k, int64_t blockSize);
  /// Returns the factors of A's rows for the reduction from `k` on, or null if
  /// the stage of the operands contains no scales.
  mlir::Value loadFactorsOfA(ConsumerWaitOp stage, mlir::Value k,
                             ForEachWorkTileOp workTile);
  /// Loads the converted factors at a thread's places from `first` on.
  mlir::Value loadConverted(mlir::Value buffer, FragmentLayoutAttr places,
                            int64_t first = 0);
  /// Loads the factors of a thread's rows from loaded f32 scales or from
  /// converted factors.
  mlir::Value loadFactorsOfRows(mlir::Value buffer, ForEachWorkTileOp workTile);
  /// Returns the places of a thread's rows in "fa", and of its columns among
  /// some columns in "fb".
  FragmentLayoutAttr getPlacesOfRows() const;
  FragmentLayoutAttr getPlacesOfColumns() const;
  /// Loads the factors of the rows of a layout that apply to a whole work tile.
  mlir::Value loadTileFactors(mlir::Value buffer, mlir::Value row,
                              FragmentLayoutAttr rows);
  /// Returns the factors of the columns of a thread.
  mlir::Value loadFactorsOfB(mlir::Value buffer, ForEachWorkTileOp workTile);
  /// Returns a number of columns of a tile within one block of several rows of
  /// B.
  int64_t getColumnsOfBlock() const;
  /// Loads the factors of all such columns for a block along K.
  llvm::SmallVector<mlir::Value> loadBlocksOfB(ForEachWorkTileOp workTile,
                                               mlir::Value block);
  /// Adds a partial sum of a slice, multiplied by factors of rows and of blocks
  /// of columns, if any, to an accumulator.
  mlir::Value promote(mlir::Value accumulator, mlir::Value sum,
                      mlir::Value ofRows, mlir::ValueRange ofColumns = {});
  /// Adds a partial sum of a slice, multiplied by the factors of rows and of
  /// columns, to an accumulator.
  mlir::Value promoteBlocks(mlir::Value accumulator, mlir::Value sum,
                            ConsumerWaitOp converted,
                            ForEachWorkTileOp workTile, int64_t slice);
  /// Joins the accumulators of the slices.
  mlir::Value joinSlices(mlir::ValueRange slices);
  /// Multiplies the accumulator by the scales of a whole work tile.
  mlir::Value scaleTile(mlir::Value accumulator, ForEachWorkTileOp workTile);

  /// Returns the layout of the accumulator of `columns` columns.
  FragmentLayoutAttr getAccumulator(int64_t columns) const;

  WgmmaAttr mma; ///< of a slice
  int64_t slices;
  bool hasScalesOfRows; ///< a row of A has a single scale
  bool promotesBlocks;  ///< both operands have scales of blocks of rows
  bool hasSquares;      ///< several rows of B have a single scale
  bool isExact;         ///< scales are f32
  mlir::Value inputs, tileScales, factors;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_WGMMAFP8_MAINLOOP_H
