//===- QuantizeTileFragments.cpp - Fragments of quantizer tiles -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fragments of a warp span all banks. They are either 32 rows of a block,
// each at a different swizzle position, or a 128-byte line.
//
// If blocks have several rows, a tile is a block, and the threads of an axis
// read it twice. The first time they find the largest magnitude.
//===----------------------------------------------------------------------===//

#include "QuantizeTile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Number of blocks that a thread copies at once. A block needs 8 registers.
static constexpr int64_t kCopiesAtOnce = 4;

/// Returns the linear index of a slab element in the quantized matrix. The
/// index selects the element's random number. Returns null without a seed.
Value QuantizeTileBuilder::getNumber(const Destination &dest, RowSlab slab,
                                     Value row, Value column) {
  if (!seed)
    return Value();
  row = getLine(body.add(body.add(getInputRow(tile), slab.first), row), rows);
  Value inRow = body.add(getColumn(dest), column);
  return body.add(body.mul(row, getAllColumns()), inRow);
}

/// Loads a block of a row, or of the columns that share a word in each row, or
/// a part of long blocks.
QuantizeTileBuilder::Fragment
QuantizeTileBuilder::loadFragment(const Destination &dest, RowSlab slab,
                                  Value item) {
  auto [fragment, part] = splitItem(item);
  Value row, column, block;
  VectorType type;
  if (dest.axis) {
    row = getLineOf(fragment, getRowsPerStage(), getColumns());
    block = getBlockOf(fragment, getRowsPerStage(), getColumns());
    column = getFirst(block, part);
    type = VectorType::get(getPart(), dest.sourceType);
  } else {
    int64_t inWord = getWordColumns(dest.sourceType);
    int64_t inRow = getColumns() / inWord;
    column = body.mul(getLineOf(fragment, inRow, getRowsPerStage()),
                      body.index(inWord));
    block = getBlockOf(fragment, inRow, getRowsPerStage());
    row = getFirst(block, part);
    type = VectorType::get({getPart(), inWord}, dest.sourceType);
  }
  Value x = LoadSharedOp::create(body, type, slab.source.getBuffer(dest.source),
                                 row, column, slab.rows, getParts());
  return {row, column, block, part, x};
}

/// Quantizes a block of a row, a part of a long block, or a row of a square.
/// Adjacent lanes process the other parts, or the other rows of the square.
/// Returns the source values.
Value QuantizeTileBuilder::buildRowFragment(const Destination &dest,
                                            RowSlab slab, Value item) {
  auto [row, column, block, part, x] = loadFragment(dest, slab, item);
  auto quantized = QuantizeBlockOp::create(
      body,
      TypeRange{VectorType::get(getPart(), dest.elementType), dest.scaleType},
      x, encode, seed, getNumber(dest, slab, row, column), blockAmax,
      op.getRounding(),
      /*lanes=*/
      isTall()         ? 1
      : op.getSquare() ? getBlock()
                       : getParts());
  Value scale = quantized.getScale();
  StoreSharedOp::create(
      body, getStored(dest, quantized.getElements(), scale),
      getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
      ValueRange{row, column});
  if (isTall())
    return x;
  row = body.add(slab.first, row);
  storeScale(dest, slab, clearBehindLines(dest, scale, row), row, block, part);
  storeSpread(dest, x, /*column=*/{}, row, block, part);
  return x;
}

/// Copies `count` quantized blocks of rows per thread, or parts of long blocks,
/// and issues all loads before the first use. Adjacent threads copy adjacent
/// blocks. Returns the maximum magnitude if needed.
Value QuantizeTileBuilder::buildCopies(const Destination &dest, RowSlab slab,
                                       Value item, int64_t count) {
  struct Copy {
    QuantizeInputLoader::Piece piece;
    Value row, block, part, column; // in the slab
  };
  QuantizeInputLoader blocks = pieces.withVector(getPart());
  int64_t inRow = getColumns() / getPart();
  SmallVector<Copy> copies;
  for (int64_t i = 0; i < count; ++i) {
    Value row = body.add(body.div(item, inRow), i * getAxisThreads() / inRow);
    Value place = body.rem(item, inRow);
    Value column = body.mul(place, body.index(getPart()));
    auto [block, part] = splitItem(place);
    Value rowInTensor = body.add(body.add(getInputRow(tile), slab.first), row);
    copies.push_back(
        {blocks.load(rowInTensor, body.add(tile.getColumn(), column),
                     offsets ? tile.getEnd() : rows),
         row, block, part, column});
  }
  Value largest;
  for (const Copy &copy : copies) {
    auto [elements, scale] = copy.piece.inputs[0];
    StoreSharedOp::create(
        body, getStored(dest, elements, scale),
        getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
        ValueRange{copy.row, copy.column});
    storeScale(dest, slab, scale, body.add(slab.first, copy.row), copy.block,
               copy.part);
    if (!raises(dest.axis))
      continue;
    Value next = findThreadAmax(body, op, blocks.produce(copy.piece)[0]);
    largest = largest
                  ? arith::MaximumFOp::create(body, largest, next).getResult()
                  : next;
  }
  return largest;
}

/// Quantizes the columns of a fragment by the scale of the tile.
void QuantizeTileBuilder::buildColumnsOfTall(const Destination &dest,
                                             RowSlab slab,
                                             const Fragment &fragment) {
  int64_t inWord = getWordColumns(dest.sourceType), size = getPart();
  Value flat = vector::ShapeCastOp::create(
      body, VectorType::get(size * inWord, dest.sourceType), fragment.x);
  for (int64_t i = 0; i < inWord; ++i) {
    auto places = llvm::map_to_vector(
        llvm::seq(size), [&](int64_t row) { return row * inWord + i; });
    auto quantized = QuantizeBlockOp::create(
        body,
        TypeRange{VectorType::get(size, dest.elementType), dest.scaleType},
        vector::ShuffleOp::create(body, flat, flat, places), encode,
        /*seed=*/Value(), /*first=*/Value(), blockAmax, op.getRounding(),
        /*lanes=*/1);
    Value line = i ? body.add(fragment.column, i) : fragment.column;
    StoreSharedOp::create(
        body, getStored(dest, quantized.getElements(), quantized.getScale()),
        getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
        ValueRange{line, fragment.row});
  }
}

/// Quantizes the columns of a block, or of a part of a long block, that share a
/// word in each row. Adjacent lanes process the other parts, or the other
/// columns of a square. Returns the source values.
Value QuantizeTileBuilder::buildColumnFragment(const Destination &dest,
                                               RowSlab slab, Value item) {
  int64_t inWord = getWordColumns(dest.sourceType);
  Fragment fragment = loadFragment(dest, slab, item);
  auto [row, column, block, part, x] = fragment;
  if (isTall()) {
    buildColumnsOfTall(dest, slab, fragment);
    return x;
  }
  Value rows;
  if (slab.rows)
    rows = body.sub(slab.rows, row);
  auto quantized = QuantizeColumnsOp::create(
      body,
      TypeRange{VectorType::get({inWord, getPart()}, dest.elementType),
                VectorType::get(inWord, dest.scaleType)},
      x, encode, rows, seed, getNumber(dest, slab, row, column),
      seed ? getAllColumns() : Value(), op.getRounding(),
      /*lanes=*/op.getSquare() ? getBlock() / inWord : getParts(),
      /*folded=*/getParts() > 1);
  StoreSharedOp::create(
      body, getStored(dest, quantized.getElements(), quantized.getScales()),
      getStaged(dest, slab).getBuffer(dest.getElementBuffer()),
      ValueRange{column, isBySlabs(dest) ? row : body.add(slab.first, row)});
  block = body.add(body.div(slab.first, getBlock()), block);
  for (int64_t i = 0; i < inWord; ++i) {
    Value scale = vector::ExtractOp::create(body, quantized.getScales(),
                                            ArrayRef<int64_t>{i});
    Value line = i ? body.add(column, i) : column;
    storeScale(dest, slab, clearBehindLines(dest, scale, line), line, block,
               part);
    storeSpread(dest, x, body.getI64IntegerAttr(i), line, block, part);
  }
  return x;
}

/// Distributes the fragments of a slab over the threads, which process `atOnce`
/// at a time. Returns the maximum of the results of `build` if it `raises`.
Value QuantizeTileBuilder::forEachFragment(
    const Destination &dest, int64_t atOnce, bool raises,
    llvm::function_ref<Value(Value)> build) {
  Value thread = ThreadIdOp::create(body);
  int64_t rounds =
      getNumFragments(dest.axis, dest.sourceType) / getAxisThreads() / atOnce;
  if (rounds == 1)
    return build(thread);
  SmallVector<Value> soFar;
  if (raises)
    soFar.push_back(
        arith::ConstantOp::create(body, body.getF32FloatAttr(0.0f)));
  auto loop = scf::ForOp::create(body, body.index(0), body.index(rounds),
                                 body.index(1), soFar);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  Value first =
      body.mul(loop.getInductionVar(), body.index(atOnce * getAxisThreads()));
  Value next = build(body.add(first, thread));
  if (!raises)
    return Value();
  scf::YieldOp::create(body, ValueRange(arith::MaximumFOp::create(
                                 body, loop.getRegionIterArg(0), next)));
  return loop.getResult(0);
}

/// Processes the fragments of a slab. A tile that is a block is read twice,
/// first to find its largest magnitude.
void QuantizeTileBuilder::buildPass(const Destination &dest, RowSlab slab) {
  bool raises = this->raises(dest.axis);
  int64_t atOnce = 1;
  if (copies(dest.axis))
    atOnce =
        std::gcd(getNumFragments(dest.axis, dest.sourceType) / getAxisThreads(),
                 kCopiesAtOnce);
  if (isTall())
    blockAmax = findRoleMaximum(
        body, forEachFragment(dest, atOnce, /*raises=*/true, [&](Value item) {
          return findThreadAmax(body, op, loadFragment(dest, slab, item).x);
        }));
  Value largest = forEachFragment(
      dest, atOnce, raises && !isTall(), [&](Value item) -> Value {
        if (copies(dest.axis))
          return buildCopies(dest, slab, item, atOnce);
        Value x = dest.axis == 1 ? buildRowFragment(dest, slab, item)
                                 : buildColumnFragment(dest, slab, item);
        return raises && !isTall() ? findThreadAmax(body, op, x) : Value();
      });
  if (isTall())
    storeTallScale(dest);
  if (raises)
    maxima.push_back(isTall() ? blockAmax : largest);
}
