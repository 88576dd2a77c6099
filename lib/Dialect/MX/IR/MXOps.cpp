//===- MXOps.cpp - Operations of the mx dialect ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interface implementations, and the syntax of matmul operands.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

#include "mx/Dialect/MX/IR/MXInterfaces.cpp.inc"

/// Minimum and maximum number of operands in `%a, %a_scales, %b, %b_scales`.
/// Each of the two scales may be omitted.
static constexpr size_t kNumbers = 2, kWithScales = 4;

/// Returns true if three operands are `a`, `a_scales` and `b` rather than `a`,
/// `b` and `b_scales`. The element types distinguish these cases.
static bool isScalesOfA(ArrayRef<Type> types) {
  auto element = [&](size_t i) { return getElementTypeOrSelf(types[i]); };
  auto isNumber = [&](size_t i) {
    return isa<BFloat16Type, Float16Type>(element(i));
  };
  if (isPowerOfTwoScale(element(1)))
    return true;
  return isa<Float4E2M1FNType>(element(2)) || (isNumber(2) && !isNumber(0));
}

static ParseResult
parseScaledOperands(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &a,
                    std::optional<OpAsmParser::UnresolvedOperand> &aScales,
                    OpAsmParser::UnresolvedOperand &b,
                    std::optional<OpAsmParser::UnresolvedOperand> &bScales,
                    Type &aType, Type &aScalesType, Type &bType,
                    Type &bScalesType) {
  SmallVector<OpAsmParser::UnresolvedOperand, kWithScales> operands;
  SmallVector<Type, kWithScales> types;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.size() < kNumbers || operands.size() > kWithScales)
    return parser.emitError(start)
           << "expected operands 'a' and 'b', each followed by its scales if "
              "quantized, found "
           << operands.size() << " operands";
  SMLoc typesStart = parser.getCurrentLocation();
  if (parser.parseColonTypeList(types))
    return failure();
  if (types.size() != operands.size())
    return parser.emitError(typesStart) << "expected " << operands.size()
                                        << " types, found " << types.size();
  a = operands.front();
  aType = types.front();
  bool hasScalesOfA = operands.size() == kWithScales ||
                      (operands.size() > kNumbers && isScalesOfA(types));
  if (hasScalesOfA) {
    aScales = operands[1];
    aScalesType = types[1];
  }
  size_t numberOfB = hasScalesOfA ? 2 : 1;
  b = operands[numberOfB];
  bType = types[numberOfB];
  if (operands.size() > numberOfB + 1) {
    bScales = operands.back();
    bScalesType = types.back();
  }
  return success();
}

static void printScaledOperands(OpAsmPrinter &printer, Operation *, Value a,
                                Value aScales, Value b, Value bScales, Type,
                                Type, Type, Type) {
  SmallVector<Value> operands;
  for (Value operand : {a, aScales, b, bScales})
    if (operand)
      operands.push_back(operand);
  printer << operands << " : " << ValueRange(operands).getTypes();
}

/// Parses a block size: a number, `row` for whole rows, or rows x columns.
static ParseResult parseBlockSize(OpAsmParser &parser, Attribute &blockSize) {
  BlockShape shape(BlockFormat::kWhole);
  if (failed(parser.parseOptionalKeyword("row"))) {
    SmallVector<int64_t> sizes;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                  /*withTrailingX=*/false))
      return failure();
    if (sizes.empty() || sizes.size() > 2)
      return parser.emitError(loc, "expected a block size such as 128, row or "
                                   "128x128");
    shape = BlockShape(sizes.back(), sizes.size() == 2 ? sizes.front() : 0);
  }
  blockSize = shape.getAttr(parser.getContext());
  return success();
}

static void printBlockSize(OpAsmPrinter &printer, Operation *,
                           Attribute blockSize) {
  printer << spellBlockSize(BlockShape::get(blockSize));
}

#define GET_OP_CLASSES
#include "mx/Dialect/MX/IR/MXOps.cpp.inc"

/// Adds reads of inputs and writes of destinations for memrefs; operations on
/// tensors have no effects.
static void
getEffects(DestinationStyleOpInterface op, bool readsOuts,
           SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isOut = op.isDpsInit(&operand);
    if (!isOut || readsOuts)
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    if (isOut)
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

/// Returns the shapes of the destinations, which the results share.
static LogicalResult reifyShapes(OpBuilder &builder,
                                 DestinationStyleOpInterface op,
                                 ReifiedRankedShapedTypeDims &shapes) {
  for (OpOperand &init : op.getDpsInitsMutable())
    if (isa<RankedTensorType>(init.get().getType()))
      shapes.push_back(tensor::getMixedSizes(builder, op.getLoc(), init.get()));
  return success();
}

/// Forbids speculation of operations with dynamic sizes or offsets, because
/// their run-time checks may fail.
static Speculation::Speculatability
getSpeculatability(DestinationStyleOpInterface op, Value offsets) {
  if (offsets || !op.hasPureTensorSemantics())
    return Speculation::NotSpeculatable;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<ShapedType>(operand.getType());
        type && !type.hasStaticShape())
      return Speculation::NotSpeculatable;
  return op->getNumRegions() ? Speculation::RecursivelySpeculatable
                             : Speculation::Speculatable;
}

#define MX_DEFINE_INTERFACES(OP, READS_OUTS, OFFSETS)                          \
  Speculation::Speculatability OP::getSpeculatability() {                      \
    return ::getSpeculatability(                                               \
        cast<DestinationStyleOpInterface>(getOperation()), OFFSETS);           \
  }                                                                            \
  void OP::getEffects(                                                         \
      SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {               \
    ::getEffects(cast<DestinationStyleOpInterface>(getOperation()),            \
                 READS_OUTS, effects);                                         \
  }                                                                            \
  LogicalResult OP::reifyResultShapes(OpBuilder &builder,                      \
                                      ReifiedRankedShapedTypeDims &shapes) {   \
    return reifyShapes(                                                        \
        builder, cast<DestinationStyleOpInterface>(getOperation()), shapes);   \
  }
MX_DEFINE_INTERFACES(QuantizeOp, false, getOffsets())
MX_DEFINE_INTERFACES(FusedQuantizeOp, false,
                     getOffsets() ? getOffsets() : getGather())
MX_DEFINE_INTERFACES(AmaxOp, false, Value())
MX_DEFINE_INTERFACES(DequantizeOp, false, getOffsets())
MX_DEFINE_INTERFACES(FoldOp, false, getOffsets())
MX_DEFINE_INTERFACES(RelayoutOp, false, getOffsets())
MX_DEFINE_INTERFACES(PackOperandOp, false, getOffsets())
MX_DEFINE_INTERFACES(RowClassesOp, false, Value())
MX_DEFINE_INTERFACES(MatmulOp, readsOuts(), Value())
MX_DEFINE_INTERFACES(GroupedMatmulOp, readsOuts(), getOffsets())
MX_DEFINE_INTERFACES(CombineOp, true, getRows())
MX_DEFINE_INTERFACES(GatherRowsOp, true, getRows())
MX_DEFINE_INTERFACES(GroupRowsOp, false, Value())
#undef MX_DEFINE_INTERFACES

/// Adds an effect to prevent removal and reordering, because all ranks must
/// execute the same collectives in program order. Missing rows keep their
/// contents, so `outs` are also read.
static void
getCollectiveEffects(DestinationStyleOpInterface op,
                     SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), RankGroupResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), RankGroupResource::get());
  getEffects(op, /*readsOuts=*/true, effects);
}

#define MX_DEFINE_COLLECTIVE(OP)                                               \
  RankGroupOp OP::getGroupOp() {                                               \
    return SymbolTable::lookupNearestSymbolFrom<RankGroupOp>(getOperation(),   \
                                                             getGroupAttr());  \
  }                                                                            \
  void OP::getEffects(                                                         \
      SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {               \
    getCollectiveEffects(cast<DestinationStyleOpInterface>(getOperation()),    \
                         effects);                                             \
  }                                                                            \
  LogicalResult OP::reifyResultShapes(OpBuilder &builder,                      \
                                      ReifiedRankedShapedTypeDims &shapes) {   \
    return reifyShapes(                                                        \
        builder, cast<DestinationStyleOpInterface>(getOperation()), shapes);   \
  }
MX_DEFINE_COLLECTIVE(DispatchOp)
MX_DEFINE_COLLECTIVE(CollectOp)
MX_DEFINE_COLLECTIVE(CollectPairsOp)
MX_DEFINE_COLLECTIVE(AllGatherOp)
MX_DEFINE_COLLECTIVE(AllToAllOp)
#undef MX_DEFINE_COLLECTIVE

/// Returns the rank of the logical shape of B. With ragged rows, B contains a
/// matrix for each expert group.
static int64_t getLogicalRankOfB(MatmulOpInterface op) {
  switch (op.getRaggedOrNone()) {
  case RaggedKind::None:
    return cast<ShapedType>(op.getA().getType()).getRank();
  case RaggedKind::Rows:
    return 3;
  case RaggedKind::Reduction:
    return 2;
  }
  llvm_unreachable("unknown kind of expert groups");
}

static OperandOrderAttrInterface getOrderOf(Value operand,
                                            OperandOrderAttrInterface order) {
  return order ? order : getOrder(operand.getType());
}
OperandOrderAttrInterface mx::getOrderOfA(MatmulOpInterface op) {
  return getOrderOf(op.getA(), op.getAOrderAttr());
}
OperandOrderAttrInterface mx::getOrderOfB(MatmulOpInterface op) {
  return getOrderOf(op.getB(), op.getBOrderAttr());
}
OperandOrderAttrInterface PackOperandOp::getOutOrder() {
  return getOrderOf(getOuts()[0], getOrderAttr());
}

void mx::copyOrders(MatmulOpInterface from, MatmulOpInterface to) {
  to.setAOrderAttr(from.getAOrderAttr());
  to.setBOrderAttr(from.getBOrderAttr());
}

bool mx::hasPackedB(MatmulOpInterface op) {
  OperandOrderAttrInterface order = getOrderOfB(op);
  return order && !order.keepsShape();
}

SmallVector<int64_t> mx::getLogicalShapeOfB(MatmulOpInterface op) {
  auto b = cast<ShapedType>(op.getB().getType());
  int64_t rank = getLogicalRankOfB(op);
  if (!hasPackedB(op) || getOrder(b) || b.getRank() < rank)
    return SmallVector<int64_t>(b.getShape());
  SmallVector<int64_t> shape(b.getShape().take_front(rank - 2));
  int64_t n = cast<ShapedType>(op.getOut().getType()).getShape().back();
  shape.push_back(ShapedType::isDynamic(n) ? n : n * op.getNumB());
  shape.push_back(cast<ShapedType>(op.getA().getType()).getShape().back());
  return shape;
}

BlockShape QuantizeSource::getBlockSize() const {
  auto elements = cast<ShapedType>(tensor.getType());
  auto ofBlocks = cast<ShapedType>(scales.getType());
  Type type = ofBlocks.getElementType();
  BlockShape block(getBlockFormat(type).blockSize);
  int64_t rank = elements.getRank();
  if (ofBlocks.getRank() != rank ||
      getLayoutKind(ofBlocks, rank) != ScaleLayoutKind::Linear)
    return block;
  int64_t columns = elements.getDimSize(rank - 1);
  int64_t blocks = ofBlocks.getDimSize(rank - 1);
  if (ShapedType::isDynamic(columns) || ShapedType::isDynamic(blocks) ||
      blocks == 0 || columns % blocks)
    return block;
  BlockShape found(columns / blocks);
  return findBlockFormat(type, found) ? found : block;
}

SmallVector<QuantizeSource> FusedQuantizeOp::getSources() {
  SmallVector<QuantizeSource> sources;
  auto scales = getInputScales().begin(), end = getInputScales().end();
  Block *prologue = getPrologueBlock();
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    Type type = getElementTypeOrSelf(input);
    if (isa<Float32Type, BFloat16Type, Float16Type>(type)) {
      sources.push_back({input, Value(), type});
      continue;
    }
    // Also called by the verifier, on invalid operations.
    Type numberType = BFloat16Type::get(getContext());
    if (prologue)
      numberType = i < prologue->getNumArguments()
                       ? prologue->getArgument(i).getType()
                       : Type();
    sources.push_back({input, scales != end ? *scales++ : Value(), numberType});
  }
  return sources;
}

QuantizeOut FusedQuantizeOp::getOut(unsigned number) {
  using Kind = QuantizeOut::Kind;
  if (number >= getAmaxNumber(0))
    return {Kind::Amax, number - getAmaxNumber(0)};
  unsigned destination = 0, numAxes = getAxes().size();
  while (number >= getElementsNumber(destination + 1))
    ++destination;
  static constexpr Kind kKinds[] = {Kind::Elements, Kind::Scales,
                                    Kind::Spreads};
  Kind kind = isDequantized(destination)
                  ? Kind::Dequantized
                  : kKinds[number - getElementsNumber(destination)];
  return {kind, destination / numAxes, destination % numAxes};
}

Type FusedQuantizeOp::getDequantizedType(unsigned i) {
  std::optional<ArrayAttr> types = getDequantized();
  if (!types)
    return {};
  Type type = cast<TypeAttr>((*types)[i]).getValue();
  return isa<NoneType>(type) ? Type() : type;
}

/// Returns the number of dequantized destinations among the first `end`.
static unsigned countDequantized(FusedQuantizeOp op, unsigned end) {
  unsigned count = 0;
  if (op.getDequantized())
    for (unsigned i = 0; i < end; ++i)
      count += op.isDequantized(i);
  return count;
}

unsigned FusedQuantizeOp::getNumDequantized() {
  return getDequantized() ? countDequantized(*this, getDequantized()->size())
                          : 0;
}

void FusedQuantizeOp::setDequantizedTypes(ArrayRef<Type> types,
                                          ValueRange decodeFactors) {
  Builder builder(getContext());
  SmallVector<Type> entries;
  for (Type type : types)
    entries.push_back(type ? type : builder.getNoneType());
  if (llvm::any_of(types, [](Type type) { return bool(type); }))
    setDequantizedAttr(builder.getTypeArrayAttr(entries));
  else
    removeDequantizedAttr();
  getDecodeFactorsMutable().assign(decodeFactors);
}

Value FusedQuantizeOp::getDecodeFactor(unsigned i) {
  if (!isDequantized(i) || getDecodeFactors().empty())
    return {};
  return getDecodeFactors()[countDequantized(*this, i)];
}

Type FusedQuantizeOp::getScaleType(unsigned i) {
  if (!isDequantized(i))
    return getElementTypeOrSelf(getScales(i));
  const BlockFormat *format = findBlockFormat(getBlockSize());
  return format ? format->getScaleType(getContext())
                : getPowerOfTwoFormat().getScaleType(getContext());
}

unsigned FusedQuantizeOp::getElementsNumber(unsigned i) {
  return getDestinationSize() * i - countDequantized(*this, i);
}

SmallVector<int64_t> FusedQuantizeOp::getQuantizedShape() {
  SmallVector<int64_t> shape(getInput().getType().getShape());
  if (getGather())
    shape[0] = getGather().getType().getDimSize(0);
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() *= getNumConcatenated();
  return shape;
}

FusedQuantizeOp FusedQuantizeOp::createAlike(
    OpBuilder &builder, Location loc, ValueRange inputs, ValueRange inputScales,
    ArrayRef<int64_t> axes, ValueRange outs, bool hasAmax, bool hasPrologue) {
  TypeRange types;
  if (getNumResults())
    types = outs.getTypes();
  auto alike = FusedQuantizeOp::create(
      builder, loc, types, inputs, inputScales, getGlobalScale(),
      getDecodeFactors(), getSeed(), getGather(), getOffsets(), getIfAny(),
      outs, getRaggedAttr(), builder.getDenseI64ArrayAttr(axes),
      getBlockSizeAttr(), getSpreadsAttr(), getSquareAttr(),
      hasAmax ? builder.getUnitAttr() : UnitAttr(), getConcatAttr(),
      getDequantizedAttr(), getScaleRoundingAttr(),
      /*prologueCount=*/hasPrologue);
  alike->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return alike;
}
