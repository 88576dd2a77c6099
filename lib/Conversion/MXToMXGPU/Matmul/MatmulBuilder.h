//===- MatmulBuilder.h - Builds the kernel of one matmul --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread loads tiles and scales by bulk tensor copies, one issues scale
// copies and MMAs, four warps move finished accumulators out. Two rings join
// them. Each role is built in a file of its own; what they share is here.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMULBUILDER_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMULBUILDER_H

#include "../ElementRegion.h"
#include "../KernelBuilder.h"
#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/Support/MathExtras.h"

namespace mx::mxgpu {

/// Says at `op` what kernels support where it asks for more.
llvm::LogicalResult verifyMatmulSupport(MatmulOpInterface op);
/// The same for a schedule of `op`, which itself is supported.
llvm::LogicalResult verifyScheduleSupport(MatmulOpInterface op,
                                          ScheduleAttr schedule,
                                          const target::TargetInfo &target);

class MatmulBuilder {
public:
  MatmulBuilder(MatmulOpInterface op, mlir::gpu::GPUModuleOp module,
                ScheduleAttr schedule, const target::TargetInfo &target)
      : op(op), module(module), schedule(schedule), target(target),
        host(op->getLoc(), op), body(op->getLoc(), op),
        problem(*getMatmulProblem(op)),
        buffers(getBuffers(problem, schedule.getFields())),
        product(problem.product), region(op.getEpilogueBlock()) {}

  void build() {
    viewGroups();
    if (schedule.getSplitK() > 1)
      return buildSplit();
    checkSizes();
    buildProduct();
  }

private:
  // Host side (MatmulHost.cpp).
  void viewGroups();
  void checkSizes();
  mlir::Value getGroupTiles(mlir::Value rows);
  void checkGroups();
  void checkColumns();
  mlir::Value encodeOperand(mlir::Value operand,
                            const target::OperandForm &form,
                            llvm::StringRef field, int64_t rows);
  mlir::Value encodeScales(mlir::Value scales, llvm::ArrayRef<int64_t> box);
  mlir::Value encodeResult();
  void freeTemporaries();
  mlir::Value getUnits();

  // A reduction in parts (MatmulSplit.cpp).
  void buildSplit();
  void buildSum(mlir::Value parts);
  void buildSumRole(mlir::Value parts);
  mlir::Value addParts(mlir::Value parts, mlir::Value row,
                       const Columns &columns);
  void storeSums(mlir::Value sums, mlir::Value row, mlir::Value column,
                 mlir::Value empty);

  // The kernel (MatmulKernel.cpp).
  void buildProduct();
  void appendCaptures(llvm::SmallVectorImpl<mlir::Value> &arguments);
  void mapCaptures();
  void buildKernel(mlir::TypeRange arguments);
  /// Passes the size of the reduction to the kernel unless it is known, and
  /// finds it there, where it is argument `index` then.
  void appendReduction(llvm::SmallVectorImpl<mlir::Value> &arguments);
  mlir::Value getReduction(unsigned index);
  void divideRegisters();
  /// The field of a stage of the inputs.
  BufferType getInput(llvm::StringRef field) const {
    return buffers.inputs.getBuffers()[buffers.inputs.getFieldIndex(field)];
  }
  void createWork(mlir::Value units);

  void buildSchedule(mlir::Value units);

  // Its roles (MatmulLoad.cpp, MatmulMma.cpp, MatmulEpilogue.cpp).
  void buildLoad();
  void loadBScales(ProducerAcquireOp stage, mlir::Value columnTile,
                   mlir::Value kTile);
  void forEachPart(llvm::function_ref<void(mlir::Value, int64_t)> load);
  void loadBParts(ProducerAcquireOp stage, ForEachWorkTileOp unit,
                  mlir::Value k);
  void loadBPartScales(ProducerAcquireOp stage, ForEachWorkTileOp unit,
                       mlir::Value kTile);
  void loadOperand(ProducerAcquireOp stage, mlir::StringRef field,
                   mlir::Value map, mlir::Value row, mlir::Value k,
                   CacheHint cache);
  void buildMma();
  void buildEpilogue();

  // Parts of the epilogue (MatmulEpilogue.cpp).
  struct Row {
    /// The thread's row of the result, and the nearest that exists.
    mlir::Value own, clamped;
    /// That of the matrix that the epilogue region sees.
    mlir::Value inMatrix;
    mlir::Value isPresent;
  };
  Row getEpilogueRow(ForEachWorkTileOp unit);
  Row getRowOfGroup(ForEachWorkTileOp unit, mlir::Value own,
                    mlir::Value inMatrix);
  mlir::Value isWhole(ForEachWorkTileOp unit, mlir::Value empty);
  int64_t getFragmentColumns();
  mlir::Value finish(mlir::ValueRange sums, const Row &row,
                     const Columns &columns, mlir::Value empty);
  void storeColumns(ForEachWorkTileOp unit, ConsumerWaitOp stage,
                    mlir::Value empty, const Row &row, bool whole,
                    int64_t begin, int64_t end);
  /// The sums of each part in the columns that are read from `place` on.
  llvm::SmallVector<mlir::Value> loadSums(ConsumerWaitOp stage,
                                          mlir::Value place, int64_t count,
                                          mlir::Value empty);
  mlir::Value getEpilogueColumn(ConsumerWaitOp stage, mlir::Value place,
                                int64_t part);
  void redirectRow(Row &row);

  // A quantized result (MatmulQuantize.cpp).
  using PackedRegs = llvm::SmallVector<mlir::Value>;
  /// Quantizes and stores columns `begin` to `end`, and adds their scales to
  /// the words of the row.
  PackedRegs quantizeColumns(ForEachWorkTileOp unit, ConsumerWaitOp stage,
                             mlir::Value empty, const Row &row, int64_t begin,
                             int64_t end, PackedRegs words);
  void storeScaleWords(ForEachWorkTileOp unit, const Row &row,
                       const PackedRegs &words);
  void buildQuantizingEpilogue(ForEachWorkTileOp unit, ConsumerWaitOp stage,
                               mlir::Value empty, const Row &row);
  void storeStaged(ForEachWorkTileOp unit, const Row &own, mlir::Value finished,
                   mlir::Value column, mlir::Value empty);
  bool isStaged() const { return buffers.staging != RingType(); }

  /// Columns of the result that a tile has: those of each part of B.
  int64_t getTileColumns() const { return schedule.getTileN() / numB; }
  /// Columns of the result, on the host and in the kernel.
  mlir::Value getColumns(KernelBuilder &builder, mlir::Value result);
  bool isQuantized() { return op.getResultScales() != nullptr; }

  /// Matrices: those of groups lie one below the other.
  mlir::Value getA() { return a ? a : op.getA(); }
  mlir::Value getAScales() { return aScales ? aScales : op.getAScales(); }
  mlir::Value getB() { return b ? b : op.getB(); }
  mlir::Value getBScales() { return bScales ? bScales : op.getBScales(); }
  mlir::Value getOut() { return out ? out : op.getResultTensor(); }
  mlir::Value getOutScales() {
    return outScales ? outScales : op.getResultScales();
  }
  /// The tile of scales where the rows of a unit begin that this CTA has: each
  /// group has tiles of its own.
  mlir::Value getRowTile(ForEachWorkTileOp unit);
  /// Whether the launch says how many rows the matrices of masked groups have.
  bool hasUnknownMatrixRows();
  /// Where the matrix of a group begins in A.
  mlir::Value getMatrixRow(ForEachWorkTileOp unit);
  /// An argument of the kernel.
  mlir::Value getMap(unsigned index) {
    return kernel.getBody().getArgument(index);
  }
  /// The first row of C, and of A, that this CTA computes of a unit.
  mlir::Value getFirstRow(ForEachWorkTileOp unit);
  /// The row of the result where what this CTA computes of a unit begins: parts
  /// of the reduction lie one below the other.
  mlir::Value getResultRow(ForEachWorkTileOp unit);
  /// The part of the reduction that a unit has.
  std::pair<mlir::Value, mlir::Value> getReductionOf(ForEachWorkTileOp unit);
  /// Whether it has nothing to multiply.
  mlir::Value isEmpty(ForEachWorkTileOp unit);

  bool isGrouped() const { return ragged != RaggedKind::None; }

  /// Rows of scales that a tile's rows of B may touch: whole scale tiles, also
  /// where it begins in the middle of one.
  int64_t getBScaleRows() const { return buffers.bScales.getRows(); }
  /// Whether tiles of B can begin in the middle of a scale tile. Tiles of fewer
  /// columns than half a scale tile have no second one.
  bool startsWithinScaleTile() const {
    return schedule.getTileN() % kScaleTileRows == kScaleTileRows / 2;
  }
  /// Rows of A, and of B, that one CTA holds of a tile.
  int64_t getARows() const { return schedule.getTileM() / schedule.getCtas(); }
  int64_t getBRows() const { return schedule.getTileN() / schedule.getCtas(); }
  /// Rows of B that one box has: those of a part, where a CTA loads several.
  int64_t getBBoxRows() const { return std::min(getBRows(), getTileColumns()); }
  /// Shape of the box by which a CTA loads scales: tiles of rows and of blocks,
  /// and what of a tile of two rows of 256 bytes. Of a pair, each CTA loads
  /// half of the scales of B.
  llvm::SmallVector<int64_t> getAScaleBox() const;
  llvm::SmallVector<int64_t> getBScaleBox() const;
  /// Reduction elements that the scales of a scale tile cover.
  int64_t getScaleTileK() const { return problem.getScaleTileK(); }

  MatmulOpInterface op;
  RaggedKind ragged = op.getRaggedOrNone();
  int64_t numB = op.getNumB();
  mlir::gpu::GPUModuleOp module;
  ScheduleAttr schedule;
  const target::TargetInfo &target;
  KernelBuilder host, body;
  MatmulProblem problem;
  MatmulBuffers buffers;
  target::ProductForm product;
  KernelOp kernel;
  /// What of groups is seen as one matrix.
  mlir::Value a, aScales, b, bScales, out, outScales;
  /// Rows of each group's matrix in the kernel, of masked groups.
  mlir::Value matrixRows;
  /// Device memory that only this product needs.
  llvm::SmallVector<mlir::Value> temporaries;
  /// The result as an argument of the kernel.
  mlir::Value result;
  ElementRegion region;
  /// The kernel's first argument for alpha and values that the region captures.
  unsigned firstCapture = 0;
  /// The factor of the sums in the kernel, if the operation has one.
  mlir::Value alpha;
  /// The row of the result that each row is added to, and the scales of a
  /// quantized result.
  mlir::Value scatter, resultScales;
  /// Of groups: their ends, and the rows of a matrix of the result.
  mlir::Value offsets, groupRows;
  /// The size of the reduction in the kernel.
  mlir::Value reduction;
  mlir::Value work, inputs, accumulators;
  /// Number of this CTA in its pair, or null.
  mlir::Value rank;
  /// The result's tensor map and the rows on their way to it, of an epilogue
  /// that stores through shared memory.
  mlir::Value resultMap, staging;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMULBUILDER_H
