//===- Scales.cpp - Scales of wgmma_fp8 -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors in f32 of rows and columns, loaded from tiles of E8M0 scales: by each
// thread for itself, or by a warp for all threads if both operands have blocks.
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Exchanges the rows and the columns of a layout.
static FragmentLayoutAttr transpose(FragmentLayoutAttr layout) {
  auto exchange = [](ArrayRef<FragmentMode> modes) {
    return llvm::map_to_vector(modes, [](FragmentMode mode) {
      std::swap(mode.rows, mode.columns);
      return mode;
    });
  };
  return FragmentLayoutAttr::get(layout.getContext(),
                                 exchange(layout.getThreads()),
                                 exchange(layout.getValues()));
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Returns the f32 factors of a vector of E8M0 scales, given as bytes.
static Value decodeBytes(KernelBuilder &body, Value bytes) {
  auto words = cast<VectorType>(bytes.getType()).clone(body.getI32Type());
  Value exponents = arith::ExtUIOp::create(body, words, bytes);
  // Byte e is 2^(e - 127), subnormal for 0, and NaN for 255.
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        body, DenseElementsAttr::get(words, body.getI32IntegerAttr(value)));
  };
  constexpr int32_t kMantissaBits = 23;
  Value bits = arith::MaxUIOp::create(
      body, arith::ShLIOp::create(body, exponents, constant(kMantissaBits)),
      constant(1 << (kMantissaBits - 1)));
  Value isNaN = arith::ShRUIOp::create(
      body, arith::AddIOp::create(body, exponents, constant(1)), constant(8));
  return arith::BitcastOp::create(body, words.clone(body.getF32Type()),
                                  arith::OrIOp::create(body, bits, isNaN));
}

Value WgmmaFP8MainLoop::loadFactors(Value buffer, Value row, Value block,
                                    FragmentType type, int64_t blockSize) {
  int64_t count = getFactors(type).getDimSize(0);
  auto bytes = VectorType::get({count, 1}, body.getI8Type());
  Value scales = LoadFragmentScalesOp::create(
      body, VectorType::get({count, 1}, matmul.problem.scales), buffer, row,
      block, /*extent=*/Value(), /*thread=*/Value(), blockSize, type);
  Value exponents = vector::ShapeCastOp::create(
      body, VectorType::get({count}, body.getI8Type()),
      arith::BitcastOp::create(body, bytes, scales));
  return decodeBytes(body, exponents);
}

VectorType WgmmaFP8MainLoop::getFactors(FragmentType type) {
  return VectorType::get(
      static_cast<int64_t>(type.getLayout().getRowOffsets().size()),
      body.getF32Type());
}

FragmentType WgmmaFP8MainLoop::getRowsOfA() {
  FragmentModes modes =
      mma.getOperandModes(MmaOperand::A, matmul.problem.a, schedule.getTileK());
  return FragmentType::get(
      matmul.problem.a,
      FragmentLayoutAttr::get(body.getContext(), modes.threads, modes.values));
}

Value WgmmaFP8MainLoop::loadFactorsOfA(ConsumerWaitOp stage, Value k,
                                       ForEachWorkTileOp workTile) {
  if (hasScalesOfRows || promotesBlocks)
    return {};
  if (isExact)
    return loadFactorsOfRows(stage.getBuffer("sfa"), workTile);
  int64_t blockSize = matmul.problem.aBlockSize;
  return loadFactors(
      stage.getBuffer("sfa"),
      getRowInScales(work.getFirstRow(workTile), matmul.getARows()),
      getBlockInTile(k, blockSize), getRowsOfA(), blockSize);
}

Value WgmmaFP8MainLoop::getScaleTile(Value k, int64_t blockSize) {
  return body.div(k, kScaleTileBlocks * blockSize);
}

Value WgmmaFP8MainLoop::getBlockInTile(Value k, int64_t blockSize) {
  Value inTile =
      arith::RemUIOp::create(body, k, body.index(kScaleTileBlocks * blockSize));
  return body.div(inTile, blockSize);
}

FragmentLayoutAttr WgmmaFP8MainLoop::getPlacesOfRows() const {
  FragmentModes modes = mma.getAccumulatorModes(mma.getN());
  SmallVector<FragmentMode> values;
  for (FragmentMode &mode : modes.threads)
    mode.columns = std::exchange(mode.rows, 0);
  for (FragmentMode mode : modes.values)
    if (mode.rows) {
      std::swap(mode.rows, mode.columns);
      values.push_back(mode);
    }
  return FragmentLayoutAttr::get(mma.getContext(), modes.threads, values);
}

FragmentLayoutAttr WgmmaFP8MainLoop::getPlacesOfColumns() const {
  // Four lanes share a row, and each loads four places of every 16: adjacent
  // places that a warp has filled, or two pairs of loaded columns. More columns
  // at a time would not fit in registers.
  int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
  SmallVector<FragmentMode> values = {columns(4, 1)};
  if (isExact)
    values = {columns(2, 1), columns(2, 8)};
  return FragmentLayoutAttr::get(
      mma.getContext(),
      {columns(4, isExact ? 2 : 4), mxgpu::rows(threads / 4, 0)}, values);
}

Value WgmmaFP8MainLoop::loadConverted(Value buffer, FragmentLayoutAttr places,
                                      int64_t first) {
  auto type = FragmentType::get(body.getF32Type(), places);
  int64_t inMatrix = cast<BufferType>(buffer.getType()).getShape().back();
  Value fragment =
      LoadFragmentOp::create(body, type, buffer, body.index(first / inMatrix),
                             body.index(first % inMatrix), /*thread=*/Value());
  return ToRowsOp::create(body, fragment).getRows().front();
}

Value WgmmaFP8MainLoop::loadFactorsOfRows(Value buffer,
                                          ForEachWorkTileOp workTile) {
  FragmentLayoutAttr places = getPlacesOfRows();
  if (cast<BufferType>(buffer.getType()).getShape().back() == matmul.getARows())
    return loadConverted(buffer, places);
  // The box begins up to 3 rows before the tile.
  Value place = arith::RemUIOp::create(body, work.getFirstRow(workTile),
                                       body.index(kMNMajorRows));
  Value thread = ThreadIdOp::create(body);
  for (FragmentMode mode : places.getThreads()) {
    if (mode.columns)
      place = body.add(place, body.mul(arith::RemUIOp::create(
                                           body, thread, body.index(mode.size)),
                                       body.index(mode.columns)));
    thread = body.div(thread, mode.size);
  }
  SmallVector<Value> factors;
  for (FragmentMode mode : places.getValues())
    for (int64_t i = 0; i < mode.size; ++i)
      factors.push_back(vector::ExtractOp::create(
          body,
          LoadSharedOp::create(body, VectorType::get(1, body.getF32Type()),
                               buffer, body.index(0),
                               body.add(place, i * mode.columns),
                               /*rows=*/Value()),
          int64_t(0)));
  return vector::FromElementsOp::create(
      body,
      VectorType::get(static_cast<int64_t>(factors.size()), body.getF32Type()),
      factors);
}

Value WgmmaFP8MainLoop::loadTileFactors(Value buffer, Value row,
                                        FragmentLayoutAttr rows) {
  auto type = FragmentType::get(body.getF32Type(), rows);
  return loadFactors(
      buffer, row, body.index(0), type,
      static_cast<int64_t>(llvm::PowerOf2Ceil(type.getColumns())));
}

Value WgmmaFP8MainLoop::loadFactorsOfB(Value buffer,
                                       ForEachWorkTileOp workTile) {
  int64_t columns = schedule.getTileN();
  Value first = getRowInScales(workTile.getColumn(), columns);
  // Columns of the accumulator are rows of its transpose. A tile that may begin
  // within a tile of scales is loaded in halves of such tiles.
  int64_t box = columns % kScaleTileRows ? kScaleTileRows / 2 : columns;
  FragmentLayoutAttr layout = transpose(getAccumulator(box));
  if (box == columns)
    return loadTileFactors(buffer, first, layout);
  Value all = arith::ConstantOp::create(
      body, body.getZeroAttr(getFactors(FragmentType::get(
                body.getF32Type(), transpose(getAccumulator(columns))))));
  for (int64_t column = 0; column < columns; column += box) {
    Value factors = loadTileFactors(buffer, body.add(first, column), layout);
    int64_t size = cast<VectorType>(factors.getType()).getDimSize(0);
    all = vector::InsertStridedSliceOp::create(
        body, factors, all, ArrayRef<int64_t>{column / box * size},
        ArrayRef<int64_t>{1});
  }
  return all;
}

Value WgmmaFP8MainLoop::scaleTile(Value accumulator,
                                  ForEachWorkTileOp workTile) {
  if (!tileScales || promotesBlocks)
    return accumulator;
  auto stage = ConsumerWaitOp::create(body, tileScales);
  Value ofColumns = loadFactorsOfB(stage.getBuffer("sfb"), workTile);
  Value ofRows;
  if (hasScalesOfRows)
    ofRows = loadTileFactors(
        stage.getBuffer("sfa"),
        getRowInScales(work.getFirstRow(workTile), matmul.getARows()),
        getAccumulator(schedule.getTileN()));
  ConsumerReleaseOp::create(body, stage.getStage());
  SmallVector<Value> rows;
  for (auto [i, row] :
       llvm::enumerate(ToRowsOp::create(body, accumulator).getRows())) {
    Value scaled = row;
    if (ofRows)
      scaled = arith::MulFOp::create(
          body, scaled,
          vector::BroadcastOp::create(
              body, row.getType(),
              vector::ExtractOp::create(body, ofRows,
                                        static_cast<int64_t>(i))));
    rows.push_back(arith::MulFOp::create(body, scaled, ofColumns));
  }
  return FromRowsOp::create(body, accumulator.getType(), rows);
}

//===----------------------------------------------------------------------===//
// Scales in f32 and of blocks of several rows
//===----------------------------------------------------------------------===//

Value WgmmaFP8MainLoop::encodeFactors(Value scales, int64_t rows) {
  Value matrix = memref::CollapseShapeOp::create(
      host, scales, ArrayRef<ReassociationIndices>{{0}, {1, 2}});
  auto type = TensorMapType::get(op->getContext(), {1, rows}, body.getF32Type(),
                                 Swizzle::None);
  return EncodeTensorMapOp::create(host, type, matrix);
}

Value WgmmaFP8MainLoop::getRowOfBlocks(Value matrix, Value k) {
  Value block = body.div(k, target::kFoldedTileK);
  if (!matrix)
    return block;
  Value blocks = body.div(arguments.get(Arg::K), target::kFoldedTileK);
  return body.add(body.mul(matrix, blocks), block);
}

void WgmmaFP8MainLoop::loadExactScalesOfA(ForEachWorkTileOp workTile, Value k,
                                          ProducerAcquireOp stage,
                                          StringRef field) {
  MatrixOrigin origin = work.getMatrices(workTile);
  Value buffer = stage.getBuffer(field), row = origin.row;
  if (cast<BufferType>(buffer.getType()).getShape().back() > matmul.getARows())
    row = body.mul(body.div(row, kMNMajorRows), body.index(kMNMajorRows));
  TmaLoadOp::create(body, arguments.get(Arg::AScalesMap),
                    ValueRange{getRowOfBlocks(origin.a, k), row},
                    stage.getBuffer(field), stage.getStage());
}

void WgmmaFP8MainLoop::loadExactScales(ForEachWorkTileOp workTile, Value k) {
  auto stage = ProducerAcquireOp::create(body, factors);
  loadExactScalesOfA(workTile, k, stage, "fa");
  MatrixOrigin origin = work.getMatrices(workTile);
  int64_t numB = matmul.problem.numB;
  for (int64_t i = 0; i < numB; ++i) {
    Value column = workTile.getColumn();
    if (i)
      column =
          body.add(column, body.mul(work.getResultColumns(), body.index(i)));
    TmaLoadOp::create(body, arguments.get(Arg::BScalesMap),
                      ValueRange{getRowOfBlocks(origin.b, k), column},
                      stage.getBuffer("fb"), stage.getStage(),
                      numB > 1 ? body.index(i) : Value(), /*multicast=*/false,
                      CacheHint::None);
  }
  ProducerCommitOp::create(body, stage.getStage(), Value());
}

int64_t WgmmaFP8MainLoop::getColumnsOfBlock() const {
  return std::gcd(matmul.getTileColumns(), matmul.problem.bBlockRows);
}

int64_t WgmmaFP8MainLoop::getReductionOfBlocks() {
  return getInput(matmul.buffers.factors, "fb").getShape().back() *
         matmul.problem.promote;
}

SmallVector<Value> WgmmaFP8MainLoop::loadBlocksOfB(ForEachWorkTileOp workTile,
                                                   Value block) {
  Value scales = arguments.get(Arg::BScales);
  int64_t tile = matmul.getTileColumns(), rows = matmul.problem.bBlockRows;
  Value columns = work.getResultColumns();
  Value matrix = work.getMatrices(workTile).b;
  SmallVector<Value> factors;
  for (int64_t first = 0; first < schedule.getTileN();
       first += getColumnsOfBlock()) {
    Value column = workTile.getColumn();
    if (int64_t inTile = first % tile)
      column = body.add(column, inTile);
    Value row = body.div(column, rows);
    // Several matrices have whole blocks (MatricesB::getResultColumns).
    if (int64_t number = first / tile)
      row =
          body.add(row, body.mul(body.div(columns, rows), body.index(number)));
    if (matrix)
      row = body.add(
          row, body.mul(matrix, body.mul(body.ceilDiv(columns, rows),
                                         body.index(matmul.problem.numB))));
    Value scale =
        LoadScaleOp::create(body, matmul.problem.scales, scales, row, block);
    if (!isExact) {
      auto byte = VectorType::get({1}, body.getI8Type());
      scale = decodeBytes(
          body, vector::BroadcastOp::create(
                    body, byte,
                    arith::BitcastOp::create(body, body.getI8Type(), scale)));
      scale = vector::ExtractOp::create(body, scale, int64_t(0));
    }
    factors.push_back(scale);
  }
  return factors;
}

void WgmmaFP8MainLoop::buildBlocks() {
  OpBuilder::InsertionGuard guard(body);
  body.role("blocks", 1, /*elected=*/false);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  auto [start, end] = getReduction(workTile);
  Value k = body.forEachK(start, end, getReductionOfBlocks()).getK();
  auto stage = ProducerAcquireOp::create(body, factors);
  Value buffer = stage.getBuffer("fb"), lane = ThreadIdOp::create(body);
  int64_t intervals = cast<BufferType>(buffer.getType()).getShape().back();
  for (int64_t first = 0; first < intervals; first += target::kWarpSize) {
    Value column = body.add(lane, first);
    Value block = body.add(body.div(k, matmul.problem.promote), column);
    for (auto [row, factor] : llvm::enumerate(loadBlocksOfB(workTile, block)))
      StoreSharedOp::create(
          body,
          vector::BroadcastOp::create(
              body, VectorType::get(1, body.getF32Type()), factor),
          buffer, ValueRange{body.index(static_cast<int64_t>(row)), column},
          /*thread=*/Value());
  }
  ProducerCommitOp::create(body, stage.getStage(), Value());
}

SmallVector<Value> WgmmaFP8MainLoop::takeBlocks(ConsumerWaitOp stage, Value k) {
  Value buffer = stage.getBuffer("fb");
  Value column = body.div(k, matmul.problem.promote);
  int64_t blocks = cast<BufferType>(buffer.getType()).getShape().front();
  return llvm::map_to_vector(llvm::seq(blocks), [&](int64_t row) -> Value {
    Value factor =
        LoadSharedOp::create(body, VectorType::get(1, body.getF32Type()),
                             buffer, body.index(row), column, /*rows=*/Value());
    return vector::ExtractOp::create(body, factor, int64_t(0));
  });
}

//===----------------------------------------------------------------------===//
// Conversion of scales
//===----------------------------------------------------------------------===//

void WgmmaFP8MainLoop::buildConvert() {
  OpBuilder::InsertionGuard guard(body);
  body.role("convert", 1, /*elected=*/false);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  auto [start, end] = getReduction(workTile);
  Value k = body.forEachK(start, end, matmul.problem.promote).getK();
  auto scales = ConsumerWaitOp::create(body, tileScales);
  auto written = ProducerAcquireOp::create(body, factors);
  int64_t rows = matmul.getARows(), columns = schedule.getTileN();
  convertScales(scales, "sfa", written, "fa",
                getRowInScales(work.getFirstRow(workTile), rows), rows, k,
                matmul.problem.aBlockSize);
  convertScales(scales, "sfb", written, "fb",
                getRowInScales(workTile.getColumn(), columns), columns, k,
                matmul.problem.bBlockSize);
  ProducerCommitOp::create(body, written.getStage(), Value());
  ConsumerReleaseOp::create(body, scales.getStage());
}

/// Bits 0, 3, 1, 2 of the number of a column become bits 0 to 3 of its place,
/// so that a thread loads its columns of the accumulator 16 bytes at a time.
static Value getPlaceOfColumn(KernelBuilder &body, Value column) {
  auto move = [&](int64_t bits, int64_t factor, int64_t divisor) {
    Value moved = arith::AndIOp::create(body, column, body.index(bits));
    return body.div(body.mul(moved, body.index(factor)), divisor);
  };
  return body.add(body.add(move(0b10001, 1, 1), move(0b00110, 2, 1)),
                  move(0b01000, 1, 4));
}

void WgmmaFP8MainLoop::convertScales(ConsumerWaitOp scales, StringRef from,
                                     ProducerAcquireOp written, StringRef to,
                                     Value row, int64_t count, Value k,
                                     int64_t blockSize) {
  // A tile may begin in the middle of a tile of scales, at a multiple of a box.
  constexpr int64_t kBox = kScaleTileRows / 2, kLanes = target::kWarpSize;
  auto box = FragmentType::get(
      body.getF32Type(),
      FragmentLayoutAttr::get(body.getContext(), mxgpu::rows(kLanes, 1),
                              mxgpu::rows(kBox / kLanes, kLanes)));
  Value lane = ThreadIdOp::create(body);
  Value place = to == "fb" ? getPlaceOfColumn(body, lane) : lane;
  Value block = getBlockInTile(k, blockSize);
  for (int64_t first = 0; first < count; first += kBox) {
    Value loaded = loadFactors(scales.getBuffer(from), body.add(row, first),
                               block, box, blockSize);
    for (int64_t i = 0; i < kBox / kLanes; ++i)
      StoreSharedOp::create(
          body,
          vector::ExtractStridedSliceOp::create(
              body, loaded, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1},
              ArrayRef<int64_t>{1}),
          written.getBuffer(to),
          ValueRange{body.index(0), body.add(place, first + i * kLanes)},
          /*thread=*/Value());
  }
}
