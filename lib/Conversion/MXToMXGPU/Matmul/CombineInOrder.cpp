//===- CombineInOrder.cpp - Kernels of mx.combine in fixed order ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds the rows of each token in ascending order, independent of scheduling.
// Four kernels list the rows of each token:
//
//   count   number each row within its token
//   start   allocate a range of the list for each token
//   place   store each row at its number in the range of its token
//   order   sort each range by row
//
// Atomic integer additions assign the numbers and ranges, which may vary
// between runs, but the contents of the sorted ranges do not vary. In a fifth
// kernel, each warp adds up to 512 columns of a token's rows, row by row, and
// stores the sum.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Builder/KernelBuilder.h"
#include "Combine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kTokens = 8; // tokens of a CTA; one warp per token
/// Maximum number of four-column pieces that a lane adds at once. Registers
/// limit this number.
static constexpr int64_t kMostPieces = 4;
static constexpr int64_t kPieceColumns = kCombineVector * target::kWarpSize;
/// Tokens for which each thread of `start` allocates ranges. All threads of
/// `start` update the same counter.
static constexpr int64_t kTokensTogether = 16;

namespace {

/// Sum that a lane computes. Entries [begin, end) of `list` are the rows of the
/// token. The lane adds these rows in pieces of four columns.
struct Sum {
  Value input, out, list;
  Value token, begin, end;
  Value column;      ///< first column of the first piece
  Value peers, rank; ///< null if the input is not in windows of peers
};

class InOrderBuilder {
public:
  InOrderBuilder(CombineOp op, gpu::GPUModuleOp module)
      : op(op), module(module), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()) {}

  void build(CombineLists &shared);

private:
  using Arguments = Block::BlockArgListType;

  void allocate();
  void countRows();
  void takePlaces();
  void placeRows();
  void orderRows();
  void sumRows();

  /// Launches a kernel with a thread for each row added to a token.
  void launchEachRow(StringRef name, ArrayRef<Value> arguments,
                     llvm::function_ref<void(Arguments, Value, Value)> emit);

  void buildSum(Arguments given);
  Value areRowsAligned(const Sum &sum);
  std::pair<Value, Value> findRow(const Sum &sum, Value row);
  void emitSum(const Sum &sum, bool isWhole);
  Value loadPiece(Value matrix, Value row, Value column, bool isWhole);
  Value loadPresent(Value matrix, Value column,
                    function_ref<Value(Value)> load);

  int64_t getColumns() const { return pieces * kPieceColumns; }

  CombineOp op;
  gpu::GPUModuleOp module;
  KernelBuilder host, body;
  Value rows, tokens, columns; ///< sizes
  int64_t pieces;              ///< pieces per lane added at once
  RowLists lists;
};

} // namespace

/// Returns the number of pieces per lane that divides the columns of a row
/// equally among warps.
static int64_t selectPieces(int64_t columns) {
  if (ShapedType::isDynamic(columns) || columns == 0)
    return kMostPieces;
  int64_t all = llvm::divideCeil(columns, kPieceColumns);
  return llvm::divideCeil(all, llvm::divideCeil(all, kMostPieces));
}

static Value getBase(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Returns true if `op` may write or pass on the buffer `base`.
static bool mayWrite(Operation *op, Value base) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return isa<RegionBranchOpInterface>(op) ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return getBase(operand) == base && !isa<ViewLikeOpInterface>(op) &&
                  (!effects || isa<LaunchOp>(op) ||
                   effects.getEffectOnValue<MemoryEffects::Write>(operand));
         });
}

/// Returns the number of tokens, or `outs` if only its memref stores the
/// number.
static OpFoldResult getTokens(CombineOp op) {
  Value out = op.getOuts()[0];
  if (auto slice = out.getDefiningOp<memref::SubViewOp>())
    return slice.getMixedSizes()[0];
  int64_t tokens = cast<MemRefType>(out.getType()).getDimSize(0);
  if (ShapedType::isDynamic(tokens))
    return out;
  return Builder(op.getContext()).getIndexAttr(tokens);
}

/// Returns later operations that add the rows of the same list to as many
/// tokens, such as the parts of a collect.
static SmallVector<CombineOp> findSharing(CombineOp op) {
  SmallVector<CombineOp> sharing;
  Value base = getBase(op.getRows());
  if (!base.getDefiningOp<memref::AllocOp>() || op.getOffsets())
    return sharing;
  for (Operation *next = op->getNextNode(); next && !mayWrite(next, base);
       next = next->getNextNode())
    if (auto other = dyn_cast<CombineOp>(next);
        other && other.getRows() == op.getRows() && !other.getOffsets() &&
        other.getOrder() == op.getOrder() && getTokens(other) == getTokens(op))
      sharing.push_back(other);
  return sharing;
}

void InOrderBuilder::build(CombineLists &shared) {
  rows = host.dim(op.getInput(), 0);
  columns = host.dim(op.getInput(), 1);
  tokens = host.dim(op.getOuts()[0], 0);
  pieces =
      selectPieces(cast<MemRefType>(op.getInput().getType()).getDimSize(1));
  if (auto known = shared.find(op); known != shared.end()) {
    lists = known->second;
    return sumRows();
  }
  requireAtMost(host, rows, std::numeric_limits<int32_t>::max(),
                "rows that are added in order");
  allocate();
  countRows();
  takePlaces();
  placeRows();
  orderRows();
  sumRows();
  for (CombineOp other : findSharing(op)) {
    shared[other] = lists;
    host.setInsertionPointAfter(other);
  }
  for (Value list : {lists.counts, lists.starts, lists.places, lists.unordered})
    memref::DeallocOp::create(host, list);
}

void InOrderBuilder::allocate() {
  lists.counts = allocateList(host, host.add(tokens, 1));
  lists.starts = allocateList(host, tokens);
  lists.places = allocateList(host, rows);
  lists.unordered = allocateList(host, rows);
  clearMemory(host, lists.counts);
}

//===----------------------------------------------------------------------===//
// Lists of rows
//===----------------------------------------------------------------------===//

void InOrderBuilder::launchEachRow(
    StringRef name, ArrayRef<Value> arguments,
    llvm::function_ref<void(Arguments, Value, Value)> emit) {
  SmallVector<Value> all = {op.getRows()};
  if (op.getOffsets())
    all.push_back(op.getOffsets());
  size_t known = all.size();
  llvm::append_range(all, arguments);
  all.push_back(tokens);
  launchForEachElement(
      host, body, module, name, rows, all, [&](Arguments given, Value row) {
        Value list = given[0], offsets = known > 1 ? given[1] : Value();
        body.beginIf(
            body.isBelow(row, getListEnd(body, body.dim(list, 0), offsets)));
        Value token = loadIndex(body, list, row);
        // Unsigned comparison also rejects negative tokens.
        body.beginIf(body.isBelow(token, given[all.size() - 1]));
        emit(given.drop_front(known), row, token);
      });
}

void InOrderBuilder::countRows() {
  auto emit = [&](Arguments given, Value row, Value token) {
    Value counts = given[0], places = given[1];
    Value number = memref::AtomicRMWOp::create(body, arith::AtomicRMWKind::addi,
                                               body.i32(1), counts, token);
    memref::StoreOp::create(body, number, places, row);
  };
  launchEachRow("combine_count", {lists.counts, lists.places}, emit);
}

/// Allocates the ranges. The last count is the number of allocated entries.
void InOrderBuilder::takePlaces() {
  auto emit = [&](Arguments given, Value thread) {
    Value counts = given[0], starts = given[1];
    Value allTokens = body.dim(starts, 0);
    Value begin = body.mul(thread, kTokensTogether);
    Value end = body.min(body.add(begin, kTokensTogether), allTokens);
    // Adds the counts of the thread's tokens to `initial`.
    auto addCounts = [&](Value initial, bool stores) -> Value {
      auto loop = scf::ForOp::create(body, begin, end, body.index(1), initial);
      OpBuilder::InsertionGuard guard(body);
      body.setInsertionPointToStart(loop.getBody());
      Value token = loop.getInductionVar(), before = loop.getRegionIterArg(0);
      if (stores)
        memref::StoreOp::create(body, before, starts, token);
      Value count = memref::LoadOp::create(body, counts, ValueRange(token));
      scf::YieldOp::create(body, ValueRange(body.add(before, count)));
      return loop.getResult(0);
    };
    Value sum = addCounts(body.i32(0), /*stores=*/false);
    addCounts(memref::AtomicRMWOp::create(body, arith::AtomicRMWKind::addi, sum,
                                          counts, allTokens),
              /*stores=*/true);
  };
  launchForEachElement(host, body, module, "combine_start",
                       host.ceilDiv(tokens, kTokensTogether),
                       {lists.counts, lists.starts}, emit);
}

void InOrderBuilder::placeRows() {
  auto emit = [&](Arguments given, Value row, Value token) {
    Value starts = given[0], places = given[1], unordered = given[2];
    Value place =
        body.add(loadIndex(body, starts, token), loadIndex(body, places, row));
    storeIndex(body, row, unordered, place);
  };
  launchEachRow("combine_place", {lists.starts, lists.places, lists.unordered},
                emit);
}

void InOrderBuilder::orderRows() {
  auto emit = [&](Arguments given, Value row, Value token) {
    Value counts = given[0], starts = given[1], unordered = given[2];
    Value begin = loadIndex(body, starts, token);
    Value end = body.add(begin, loadIndex(body, counts, token));
    Value place;
    {
      auto loop = scf::ForOp::create(body, begin, end, body.index(1), begin);
      OpBuilder::InsertionGuard guard(body);
      body.setInsertionPointToStart(loop.getBody());
      Value other = loadIndex(body, unordered, loop.getInductionVar());
      Value isBefore = arith::ExtUIOp::create(body, body.getI64Type(),
                                              body.isBelow(other, row));
      Value step =
          arith::IndexCastOp::create(body, body.getIndexType(), isBefore);
      scf::YieldOp::create(
          body, ValueRange(body.add(loop.getRegionIterArg(0), step)));
      place = loop.getResult(0);
    }
    storeIndex(body, row, given[3], place);
  };
  launchEachRow("combine_order",
                {lists.counts, lists.starts, lists.unordered, lists.places},
                emit);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void InOrderBuilder::sumRows() {
  SmallVector<Value> arguments = {op.getInput(), op.getOuts()[0], lists.counts,
                                  lists.starts, lists.places};
  if (auto view = op.getInput().getDefiningOp<FromPeersOp>()) {
    arguments.push_back(PeersOp::create(host, view.getGroup()));
    arguments.push_back(RankOp::create(host, view.getGroup()));
  }
  KernelOp kernel =
      host.kernel(module, "combine", ValueRange(arguments).getTypes());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  buildSum(entry.getArguments());
  Value workTiles = host.mul(host.ceilDiv(tokens, kTokens),
                             host.ceilDiv(columns, getColumns()));
  requireAtMost(host, workTiles, kMaxWorkTiles, "work tiles");
  host.launch(kernel, workTiles, arguments);
}

void InOrderBuilder::buildSum(Arguments given) {
  Value out = given[1], counts = given[2], starts = given[3];
  Value work = body.scheduleTiles(body.dim(out, 0), body.dim(out, 1),
                                  {kTokens, getColumns()});
  body.role("combine", kTokens, /*elected=*/false);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  auto [warp, lane] = body.warpAndLane();
  Value token = body.add(workTile.getRow(), warp);
  body.beginIf(body.isBelow(token, body.dim(out, 0)));
  Value count = loadIndex(body, counts, token);
  // Keep the value of a token without rows, because adding 0 would change -0.
  body.beginIf(body.isBelow(body.index(0), count));
  Value begin = loadIndex(body, starts, token);
  Sum sum{given[0],
          out,
          given[4],
          token,
          begin,
          body.add(begin, count),
          body.add(workTile.getColumn(), body.mul(lane, kCombineVector)),
          /*peers=*/Value(),
          /*rank=*/Value()};
  if (given.size() > 5)
    std::tie(sum.peers, sum.rank) = std::tuple(given[5], given[6]);
  Value isAligned = areRowsAligned(sum);
  if (!isAligned)
    return emitSum(sum, /*isWhole=*/false);
  auto ifOp = scf::IfOp::create(body, isAligned, /*withElse=*/true);
  for (bool isWhole : {true, false}) {
    body.setInsertionPointToStart(isWhole ? ifOp.thenBlock()
                                          : ifOp.elseBlock());
    emitSum(sum, isWhole);
  }
}

/// Returns whether all pieces allow vector accesses, or null if they never do.
Value InOrderBuilder::areRowsAligned(const Sum &sum) {
  auto type = cast<MemRefType>(sum.input.getType());
  int64_t columns = type.getDimSize(1);
  if (!ShapedType::isDynamic(columns) && columns % kCombineVector)
    return {};
  for (Value matrix : {sum.input, sum.out}) {
    auto type = cast<MemRefType>(matrix.getType());
    auto [strides, offset] = type.getStridesAndOffset();
    auto isUnaligned = [](int64_t elements) {
      return ShapedType::isDynamic(elements) || elements % kCombineVector;
    };
    if (!isContiguous(type) && (isUnaligned(strides[0]) || isUnaligned(offset)))
      return {};
  }
  auto isVectorAligned = [&](Value matrix) {
    auto type = cast<MemRefType>(matrix.getType());
    return isAligned(body, matrix,
                     kCombineVector * type.getElementTypeBitWidth() / 8);
  };
  return body.both(isVectorAligned(sum.input), isVectorAligned(sum.out));
}

/// Returns the array that contains a row of the input, and the row in it.
std::pair<Value, Value> InOrderBuilder::findRow(const Sum &sum, Value row) {
  auto view = op.getInput().getDefiningOp<FromPeersOp>();
  if (!view)
    return {sum.input, row};
  int64_t rows =
      SymbolTable::lookupNearestSymbolFrom<RankGroupOp>(op, view.getGroupAttr())
          .getRowsOfRank();
  Value own = body.add(body.mul(sum.rank, rows), body.rem(row, rows));
  Value isHere = body.isEqual(sum.peers, body.index(0));
  return {PeerViewOp::create(body, sum.input, body.div(row, rows), sum.peers),
          body.select(isHere, row, own)};
}

/// Loads four columns of a row. Values past the last column are undefined.
Value InOrderBuilder::loadPiece(Value matrix, Value row, Value column,
                                bool isWhole) {
  auto type = cast<MemRefType>(matrix.getType());
  Value columns = body.dim(matrix, 1);
  Value loaded;
  if (isWhole)
    loaded = vector::LoadOp::create(
        body, VectorType::get(kCombineVector, type.getElementType()), matrix,
        ValueRange{row, body.min(column, body.sub(columns, kCombineVector))},
        /*nontemporal=*/false,
        llvm::MaybeAlign(kCombineVector * type.getElementTypeBitWidth() / 8));
  else
    loaded = loadColumns(body, matrix, row,
                         {column, kCombineVector, body.sub(columns, 1), {}});
  if (type.getElementType().isF32())
    return loaded;
  return arith::ExtFOp::create(
      body, VectorType::get(kCombineVector, body.getF32Type()), loaded);
}

/// Skips the load of a piece past the last column, because it would read a
/// column that another lane writes.
Value InOrderBuilder::loadPresent(Value matrix, Value column,
                                  function_ref<Value(Value)> load) {
  auto type = VectorType::get(kCombineVector, body.getF32Type());
  Value isPresent = arith::CmpIOp::create(body, arith::CmpIPredicate::ult,
                                          column, body.dim(matrix, 1));
  auto ifOp = scf::IfOp::create(body, type, isPresent, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(body, load(column));
  body.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(
      body,
      arith::ConstantOp::create(body, body.getZeroAttr(type)).getResult());
  return ifOp.getResult(0);
}

void InOrderBuilder::emitSum(const Sum &sum, bool isWhole) {
  // Initial value of the sum, and the first entry to add.
  Value matrix = sum.out, row = sum.token, begin = sum.begin;
  if (op.getOverwrite()) {
    std::tie(matrix, row) = findRow(sum, loadIndex(body, sum.list, sum.begin));
    begin = body.add(sum.begin, 1);
  }
  SmallVector<Value> columns, sums;
  auto load = [&](Value column) {
    return loadPiece(matrix, row, column, isWhole);
  };
  for (int64_t i = 0; i < pieces; ++i) {
    columns.push_back(body.add(sum.column, i * kPieceColumns));
    sums.push_back(op.getOverwrite()
                       ? load(columns.back())
                       : loadPresent(matrix, columns.back(), load));
  }
  auto loop = scf::ForOp::create(body, begin, sum.end, body.index(1), sums);
  {
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(loop.getBody());
    auto [input, row] =
        findRow(sum, loadIndex(body, sum.list, loop.getInductionVar()));
    SmallVector<Value> terms;
    for (Value column : columns)
      terms.push_back(loadPiece(input, row, column, isWhole));
    for (auto [term, total] : llvm::zip_equal(terms, loop.getRegionIterArgs()))
      term = arith::AddFOp::create(body, total, term);
    scf::YieldOp::create(body, terms);
  }
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  int64_t bytes =
      cast<MemRefType>(sum.out.getType()).getElementTypeBitWidth() / 8;
  IntegerAttr alignment =
      isWhole ? body.getI64IntegerAttr(kCombineVector * bytes) : IntegerAttr();
  Type element = cast<MemRefType>(sum.out.getType()).getElementType();
  for (auto [column, total] : llvm::zip_equal(columns, loop.getResults())) {
    Value rounded = total;
    if (!element.isF32())
      rounded = arith::TruncFOp::create(
          body, VectorType::get(kCombineVector, element), total);
    StoreFragmentOp::create(
        body, rounded, sum.out, sum.token, column,
        isWhole ? body.isBelow(column, body.dim(sum.out, 1)) : yes, alignment,
        /*add=*/false);
  }
}

void mx::mxgpu::buildCombineInOrder(CombineOp op, gpu::GPUModuleOp module,
                                    CombineLists &lists) {
  InOrderBuilder(op, module).build(lists);
}
