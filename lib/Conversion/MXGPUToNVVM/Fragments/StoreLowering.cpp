//===- StoreLowering.cpp - Stores of fragments ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A direct store writes consecutive columns of a thread's row. The condition
// becomes a predicate and the column an immediate, so a row needs only one
// address. A staged store writes rows to shared memory, and bulk copies write
// them to global memory.
//===----------------------------------------------------------------------===//

#include "FragmentPlaces.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Direct stores
//===----------------------------------------------------------------------===//

/// Splits `value` (index) into the sum of a variable and a constant.
static std::pair<Value, int64_t> splitConstant(NVVMBuilder &builder,
                                               Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {builder.index(0), constant.getSExtValue()};
  auto add = value.getDefiningOp<arith::AddIOp>();
  if (add && matchPattern(add.getRhs(), m_ConstantInt(&constant)))
    return {add.getLhs(), constant.getSExtValue()};
  if (add && matchPattern(add.getLhs(), m_ConstantInt(&constant)))
    return {add.getRhs(), constant.getSExtValue()};
  return {value, 0};
}

/// Extracts an element as an integer.
static Value getBits(NVVMBuilder &builder, Value fragment, int64_t position) {
  Value element =
      vector::ExtractOp::create(builder, fragment, ArrayRef<int64_t>{position});
  Type bits = builder.getIntegerType(element.getType().getIntOrFloatBitWidth());
  return builder.bitcast(bits, element);
}

static int64_t getBytes(StoreFragmentOp op) {
  return getElementTypeOrSelf(op.getFragment().getType())
             .getIntOrFloatBitWidth() /
         8;
}

static void store(NVVMBuilder &builder, StoreFragmentOp op, Value address,
                  int64_t offset, ArrayRef<Value> words, Value condition) {
  Value policy = getCachePolicy(builder, op.getCache());
  if (op.getAdd())
    builder.addGlobal(address, offset, words, condition, policy);
  else
    builder.storeGlobal(address, offset, words, condition, policy);
}

/// Returns the size of a vector store in bytes. Vector reductions are at most
/// 16 bytes.
static int64_t getVectorBytes(StoreFragmentOp op) {
  const mx::target::TargetInfo *target = getKernelTarget(op);
  int64_t most = target && !op.getAdd() ? target->getVectorBytes() : 16;
  return std::min<int64_t>(*op.getAlignment(), most);
}

static void storeWhole(NVVMBuilder &builder, StoreFragmentOp op,
                       StoreFragmentOp::Adaptor adaptor) {
  int64_t bytes = getBytes(op);
  int64_t step = getVectorBytes(op) / bytes;
  auto [column, offset] = splitConstant(builder, adaptor.getColumn());
  Value address =
      getGlobalAddress(builder, op.getDest(), adaptor.getRow(), column, bytes);
  Value condition = adaptor.getPresent();
  if (matchPattern(condition, m_One()))
    condition = {};
  int64_t count = cast<VectorType>(op.getFragment().getType()).getNumElements();
  for (int64_t i = 0; i < count; i += step)
    store(builder, op, address, (offset + i) * bytes,
          getWords(builder, op.getFragment(), i, step), condition);
}

/// Stores 16 bytes at a time while rows are aligned and at least 16 bytes of
/// columns remain. Then, and in slices, stores single elements.
static void storeExisting(NVVMBuilder &builder, StoreFragmentOp op,
                          StoreFragmentOp::Adaptor adaptor) {
  int64_t bytes = getBytes(op);
  Value dest = op.getDest(), column = adaptor.getColumn();
  Value columns = memref::DimOp::create(builder, dest, 1);
  Value address =
      getGlobalAddress(builder, dest, adaptor.getRow(), column, bytes);
  Value zero = builder.index(0);
  Value left =
      builder.select(adaptor.getPresent(), builder.sub(columns, column), zero);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, dest);
  Value bits = builder.orBits(base, builder.mul(columns, builder.index(bytes)));
  Value low = builder.andBits(bits, 15);
  Value isAligned = builder.isEqual(low, zero);
  Value leftAligned = builder.select(isAligned, left, zero);
  auto isMore = [&](Value a, int64_t than) {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, a,
                                 builder.index(than));
  };
  int64_t count = cast<VectorType>(op.getFragment().getType()).getNumElements();
  bool isWhole = cast<MemRefType>(dest.getType()).getLayout().isIdentity();
  for (int64_t i = 0, step = 16 / bytes; i < count; i += step) {
    OpBuilder::InsertionGuard guard(builder);
    int64_t end = std::min(i + step, count);
    if (end == i + step && isWhole) {
      auto ifOp = scf::IfOp::create(builder, isMore(leftAligned, end - 1),
                                    /*withElse=*/true);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      store(builder, op, address, i * bytes,
            getWords(builder, op.getFragment(), i, step), /*condition=*/{});
      builder.setInsertionPointToStart(ifOp.elseBlock());
    }
    for (int64_t k = i; k < end; ++k)
      store(builder, op, address, k * bytes,
            getBits(builder, adaptor.getFragment(), k), isMore(left, k));
  }
}

static Values lowerStoreFragment(NVVMBuilder &builder, StoreFragmentOp op,
                                 StoreFragmentOp::Adaptor adaptor) {
  if (op.getAlignment())
    storeWhole(builder, op, adaptor);
  else
    storeExisting(builder, op, adaptor);
  return {};
}

//===----------------------------------------------------------------------===//
// Staged stores
//===----------------------------------------------------------------------===//

/// Rematerializes a pointer at its use, so only 32 bits stay live.
static Value startAtUse(NVVMBuilder &builder, Value pointer) {
  auto start = pointer.getDefiningOp<LLVM::GEPOp>();
  if (!start || !start.getBase().getDefiningOp<LLVM::AddressOfOp>())
    return pointer;
  return builder.clone(*start)->getResult(0);
}

/// Returns the address of a column, `bytes` behind the first column, and of a
/// row in the first panel of `buffer` at the swizzled offset `permuted`.
static Value getPlace(NVVMBuilder &builder, Value start, BufferType buffer,
                      Value permuted, int64_t bytes) {
  int64_t elementBytes = buffer.getElementType().getIntOrFloatBitWidth() / 8;
  ArrayRef<int64_t> panel = buffer.getShape().take_back(2);
  int64_t rowBytes = panel.back() * elementBytes;
  Value place = builder.xorBits(permuted, bytes % rowBytes);
  int64_t first = bytes / rowBytes * panel.front() * rowBytes;
  return builder.offset(first ? builder.offset(start, first) : start, place);
}

/// Adds the constant column offsets by exclusive or, so all stages share
/// the swizzled offset `permuted`. This is correct because columns and rows
/// occupy disjoint bits, and stages are aligned to the period of the swizzle.
static void storeRow(NVVMBuilder &builder, Value start, BufferType buffer,
                     Value permuted, Value values, FragmentLayoutAttr layout) {
  auto type = cast<VectorType>(values.getType());
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t taken = 0;
  for (const FragmentRun &run : layout.getRuns()) {
    int64_t piece = std::min(run.size, kChunkBytes / elementBytes);
    for (int64_t i = 0; i < run.size; i += piece, taken += piece) {
      SmallVector<Value> words = getWords(builder, values, taken, piece);
      builder.storeShared(getPlace(builder, start, buffer, permuted,
                                   (run.column + i) * elementBytes),
                          words);
    }
  }
}

/// Rows and columns of a matrix of stmatrix.
static constexpr int64_t kMatrixRows = 8;

/// Returns the distance of a thread's rows if stmatrix can store them by twos:
/// registers are distributed over the lanes like its matrices of 16-bit
/// elements (PTX ISA, stmatrix). Returns 0 otherwise.
static int64_t getMatrixDistance(FragmentLayoutAttr layout,
                                 int64_t elementBytes) {
  ArrayRef<FragmentMode> threads = layout.getThreads();
  SmallVector<int64_t> rows(layout.getRowOffsets());
  SmallVector<FragmentRun> runs(layout.getRuns());
  if (elementBytes != 2 || threads.size() < 2 ||
      !(threads[0] == columns(4, 2) && threads[1] == mxgpu::rows(8, 1)) ||
      rows.size() != 2 || rows[0] || rows[1] % kMatrixRows || runs.size() % 2)
    return 0;
  for (auto [i, run] : llvm::enumerate(runs))
    if (run.size != 2 || run.column != static_cast<int64_t>(i) * kMatrixRows)
      return 0;
  return rows[1];
}

/// Stores four matrices at a time: rows 0 and `distance`, and two chunks of 16
/// bytes. Lane 8 * i + j passes the address of row j of matrix i.
static void storeMatrices(NVVMBuilder &builder, Value start, BufferType buffer,
                          ValueRange rows, FragmentLayoutAttr layout,
                          int64_t distance, int64_t rowBytes, int64_t mask) {
  Value lane = builder.andBits(builder.threadId(), 31);
  Value row = builder.mul(builder.andBits(lane, kMatrixRows - 1), rowBytes);
  Value isSecond = builder.andBits(builder.shiftRight(lane, 3), 1);
  row = builder.add(row, builder.mul(isSecond, distance * rowBytes));
  Value place =
      builder.xorBits(row, builder.andBits(builder.shiftRight(row, 3), mask));
  place = builder.xorBits(
      place, builder.mul(builder.shiftRight(lane, 4), kChunkBytes));
  int64_t chunks = static_cast<int64_t>(layout.getRuns().size());
  for (int64_t chunk = 0; chunk < chunks; chunk += 2) {
    SmallVector<Value> words;
    for (int64_t i = chunk; i < chunk + 2; ++i)
      for (Value values : rows)
        llvm::append_range(words, getWords(builder, values, 2 * i, 2));
    builder.storeMatrices(
        getPlace(builder, start, buffer, place, chunk * kChunkBytes), words);
  }
}

/// Swizzles 16-byte chunks within 8 rows: address bits 7 and up are xored into
/// bits 4 and up (PTX ISA, Swizzling modes). The stores of a warp then use all
/// banks equally.
static LogicalResult lowerStoreShared(StoreSharedOp op,
                                      StoreSharedOp::Adaptor adaptor,
                                      ConversionPatternRewriter &rewriter) {
  auto fragment = dyn_cast<FragmentType>(op.getValue().getType());
  if (!fragment || op.getThread())
    return rewriter.notifyMatchFailure(
        op, "a vector in a tile, or a fragment of a role");
  NVVMBuilder builder(op.getLoc(), rewriter);
  BufferType buffer = op.getBuffer().getType();
  FragmentLayoutAttr layout = fragment.getLayout();
  int64_t elementBytes = fragment.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t rowBytes = buffer.getShape().back() * elementBytes;
  int64_t mask = 0;
  if (buffer.getSwizzle() != mx::mxgpu::Swizzle::None)
    mask = static_cast<int64_t>(buffer.getSwizzle()) - kChunkBytes;
  // Build words of 16-bit values from the rows before their conversion.
  SmallVector<Value> rows;
  if (auto made = op.getValue().getDefiningOp<FromRowsOp>())
    rows = made.getRows();
  else
    rows = takeRows(builder, adaptor.getValue(), fragment);
  if (int64_t distance = getMatrixDistance(layout, elementBytes)) {
    storeMatrices(builder, adaptor.getBuffer(), buffer, rows, layout, distance,
                  rowBytes, mask);
    rewriter.eraseOp(op);
    return success();
  }
  Value lane = builder.andBits(builder.threadId(), 31);
  auto addModes = [&](auto step) {
    return addThreadModes(builder, lane, mx::target::kWarpSize, layout, step);
  };
  Value row = addModes([&](auto &mode) { return mode.rows * rowBytes; });
  if (!row) // the lanes of a warp share each row
    row = builder.i32(0);
  Value column =
      addModes([&](auto &mode) { return mode.columns * elementBytes; });
  for (auto [offset, values] : llvm::zip(layout.getRowOffsets(), rows)) {
    Value inRow = row;
    if (offset)
      inRow = builder.add(row, builder.i32(offset * rowBytes));
    Value permutation = builder.andBits(builder.shiftRight(inRow, 3), mask);
    Value permuted = builder.xorBits(inRow, permutation);
    if (column)
      permuted = builder.xorBits(permuted, column);
    storeRow(builder, adaptor.getBuffer(), buffer, permuted, values, layout);
  }
  rewriter.eraseOp(op);
  return success();
}

/// Lowers to a bulk copy, started by the executing thread.
static Values lowerTmaStore(NVVMBuilder &builder, TmaStoreOp op,
                            TmaStoreOp::Adaptor adaptor) {
  SmallVector<Value> coords; // innermost first
  for (Value coord : llvm::reverse(adaptor.getCoords()))
    coords.push_back(builder.toI32(coord));
  int64_t first =
      op.getBox().value_or(0) * op.getMap().getType().getSizeInBytes();
  builder.storeTensor(
      builder.offset(startAtUse(builder, adaptor.getBuffer()), first),
      adaptor.getMap(), coords, op.getAdd(),
      getCachePolicy(builder, op.getCache()));
  return {};
}

static Values lowerBulkStore(NVVMBuilder &builder, BulkStoreOp op,
                             BulkStoreOp::Adaptor adaptor) {
  auto type = cast<MemRefType>(op.getDest().getType());
  // Linearizes the coordinates by Horner's rule.
  Value position = builder.index(0);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    position = builder.mul(position,
                           memref::DimOp::create(builder, op.getDest(), dim));
    if (static_cast<size_t>(dim) < adaptor.getCoords().size())
      position = builder.add(position, adaptor.getCoords()[dim]);
  }
  Value bytes =
      builder.mul(position, builder.index(type.getElementTypeBitWidth() / 8));
  Value start = arith::IndexCastOp::create(
      builder, builder.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(builder, op.getDest()));
  Value address = builder.add(
      start, arith::IndexCastOp::create(builder, builder.getI64Type(), bytes));
  BufferType buffer = op.getBuffer().getType();
  int64_t size = buffer.getSizeInBytes();
  if (op.getTile())
    size /= ShapedType::getNumElements(buffer.getShape().drop_back());
  int64_t first = op.getTile().value_or(0) * size;
  builder.storeBulk(
      builder.offset(startAtUse(builder, adaptor.getBuffer()), first), address,
      size);
  return {};
}

void mx::mxgpu::populateStorePatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter) {
  addPatterns<lowerStoreFragment, lowerStoreShared, lowerTmaStore,
              lowerBulkStore>(converter, patterns);
}
