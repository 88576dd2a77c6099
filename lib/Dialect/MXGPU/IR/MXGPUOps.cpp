//===- MXGPUOps.cpp - Operations of the mxgpu dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Syntax and verification of the mxgpu operations.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx::mxgpu;

#define GET_OP_CLASSES
#include "mx/Dialect/MXGPU/IR/MXGPUOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Names in printed IR
//===----------------------------------------------------------------------===//

void WorkSourceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "work");
}

void ThreadIdOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "thread");
}

void RingOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

/// A slot is named after its ring.
static std::string getSlotName(Value ring) {
  if (auto op = ring.getDefiningOp<RingOp>())
    return (op.getName() + "_slot").str();
  return "slot";
}

void AcquireOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getSlot(), getSlotName(getRing()));
}

void ConsumeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getSlot(), getSlotName(getRing()));
}

void CopyScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getField());
}

void LoadAccumulatorOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "fragment");
}

static void setArgumentNames(Region &region, ArrayRef<StringRef> names,
                             OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

void ForEachWorkOp::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
  setArgumentNames(region, {"expert", "row", "column", "start", "end"},
                   setName);
}

void ForEachKOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  setArgumentNames(region, {"k", "extent", "first"}, setName);
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("schedule"))) {
    ScheduleAttr schedule;
    if (parser.parseLParen() ||
        parser.parseCustomAttributeWithFallback(
            schedule, Type(), getScheduleAttrName(result.name).getValue(),
            result.attributes) ||
        parser.parseRParen())
      return failure();
  }
  SmallVector<Type> types;
  for (OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(parser.getBuilder().getFunctionType(
                          types, /*results=*/{})));
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ')';
  if (ScheduleAttr schedule = getScheduleAttr()) {
    printer << " schedule(";
    printer.printStrippedAttrOrType(schedule);
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getFunctionTypeAttrName(), getScheduleAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  if (getFunctionType().getNumResults())
    return emitOpError("expected no results, found ")
           << getFunctionType().getNumResults();
  if (getBody().getArgumentTypes() != getFunctionType().getInputs())
    return emitOpError("expected arguments of the kernel's type");
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    if (auto memref = dyn_cast<MemRefType>(type)) {
      if (!memref.getLayout().isIdentity())
        return emitOpError("expected memref arguments with identity layout, "
                           "found argument ")
               << index << " of type " << type;
      continue;
    }
    if (!isa<TensorMapType, IndexType, IntegerType, FloatType>(type))
      return emitOpError("expected tensor maps, memrefs, indices, integers or "
                         "floats, found argument ")
             << index << " of type " << type;
  }
  if (getNumThreads() == 0)
    return emitOpError("expected at least 1 role, found none");
  if (getNumThreads() > 1024)
    return emitOpError("expected at most 1024 threads, found ")
           << getNumThreads();
  return success();
}

int64_t KernelOp::getNumThreads() {
  int64_t warps = 0;
  for (RoleOp role : getBody().getOps<RoleOp>())
    warps += role.getWarps();
  return warps * 32;
}

LogicalResult RoleOp::verify() {
  if (getElected() && getWarps() != 1)
    return emitOpError("expected 1 warp in an elected role, found ")
           << getWarps();
  return success();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

LogicalResult WorkSourceOp::verify() {
  if (getTile().size() != 2)
    return emitOpError("expected 2 tile sizes, found ") << getTile().size();
  for (int64_t size : getTile())
    if (size < 1)
      return emitOpError("expected tile sizes of at least 1, found ") << size;
  return success();
}

/// Parses `(` names `)` and gives each the type at its position.
static ParseResult
parseBodyArguments(OpAsmParser &parser, ArrayRef<Type> types,
                   SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != types.size())
    return parser.emitError(loc, "expected ")
           << types.size() << " arguments, found " << arguments.size();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return success();
}

static void printBodyArguments(OpAsmPrinter &printer, Region &body) {
  printer << " (";
  llvm::interleaveComma(body.getArguments(), printer);
  printer << ')';
}

static LogicalResult verifyBodyArguments(Operation *op, Region &body,
                                         ArrayRef<Type> types) {
  if (body.getArgumentTypes() != TypeRange(types))
    return op->emitOpError("expected body arguments of types (")
           << types << "), found (" << body.getArgumentTypes() << ")";
  return success();
}

ParseResult ForEachWorkOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  OpAsmParser::UnresolvedOperand work;
  SmallVector<Type> types(5, parser.getBuilder().getIndexType());
  return failure(parseBodyArguments(parser, types, arguments) ||
                 parser.parseKeyword("in") || parser.parseOperand(work) ||
                 parser.resolveOperand(work,
                                       WorkSourceType::get(parser.getContext()),
                                       result.operands) ||
                 parser.parseRegion(*result.addRegion(), arguments) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void ForEachWorkOp::print(OpAsmPrinter &printer) {
  printBodyArguments(printer, getBody());
  printer << " in " << getWork() << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult ForEachWorkOp::verify() {
  return verifyBodyArguments(
      *this, getBody(), SmallVector<Type>(5, IndexType::get(getContext())));
}

ParseResult ForEachKOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  OpAsmParser::UnresolvedOperand start, end;
  IntegerAttr step;
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  return failure(parseBodyArguments(parser, {index, index, builder.getI1Type()},
                                    arguments) ||
                 parser.parseKeyword("from") || parser.parseOperand(start) ||
                 parser.parseKeyword("to") || parser.parseOperand(end) ||
                 parser.parseKeyword("step") ||
                 parser.parseAttribute(step, builder.getI64Type(),
                                       getStepAttrName(result.name),
                                       result.attributes) ||
                 parser.resolveOperands({start, end}, index, result.operands) ||
                 parser.parseRegion(*result.addRegion(), arguments) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void ForEachKOp::print(OpAsmPrinter &printer) {
  printBodyArguments(printer, getBody());
  printer << " from " << getStart() << " to " << getEnd() << " step "
          << getStep() << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(), {getStepAttrName()});
}

LogicalResult ForEachKOp::verify() {
  Builder builder(getContext());
  Type index = builder.getIndexType();
  return verifyBodyArguments(*this, getBody(),
                             {index, index, builder.getI1Type()});
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

LogicalResult RingOp::verify() {
  size_t fields = getType().getBuffers().size();
  if (getOffsets() && getOffsets()->size() != fields)
    return emitOpError("expected ")
           << fields << " offsets, found " << getOffsets()->size();
  return success();
}

/// A slot is a linear token: whoever gives it away must have taken it.
template <typename TakeOp>
static LogicalResult verifyTakenBy(Operation *op, Value slot) {
  if (slot.getDefiningOp<TakeOp>())
    return success();
  return op->emitOpError("expected a slot of ") << TakeOp::getOperationName();
}

LogicalResult PublishOp::verify() {
  return verifyTakenBy<AcquireOp>(*this, getSlot());
}

LogicalResult ReleaseOp::verify() {
  return verifyTakenBy<ConsumeOp>(*this, getSlot());
}

/// The buffer `field` of `slot`, or null after an error.
static BufferType lookUpField(Operation *op, Value slot, StringRef field) {
  RingType ring = cast<SlotType>(slot.getType()).getRing();
  int64_t index = ring.getFieldIndex(field);
  if (index >= 0)
    return ring.getBuffers()[index];
  InFlightDiagnostic diag = op->emitOpError("expected one of ");
  llvm::interleaveComma(ring.getNames(), diag,
                        [&](StringAttr name) { diag << name; });
  diag << ", found \"" << field << '"';
  return {};
}

//===----------------------------------------------------------------------===//
// Loads and the tensor core
//===----------------------------------------------------------------------===//

LogicalResult TmaLoadOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer)
    return failure();
  if (failed(verifyTakenBy<AcquireOp>(*this, getSlot())))
    return failure();
  TensorMapType map = getMap().getType();
  if (getCoords().size() > map.getBox().size())
    return emitOpError("expected at most ")
           << map.getBox().size() << " coordinates, found "
           << getCoords().size();
  if (getSlot().getType().getRing().getProducer() != Agent::Tma)
    return emitOpError("expected a ring with producer tma, found ")
           << stringifyAgent(getSlot().getType().getRing().getProducer());
  if (map.getSwizzle() != buffer.getSwizzle())
    return emitOpError("expected a map with swizzle ")
           << stringifySwizzle(buffer.getSwizzle()) << ", found "
           << stringifySwizzle(map.getSwizzle());
  int64_t bytes = map.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t size : map.getBox())
    bytes *= size;
  if (bytes != buffer.getSizeInBytes())
    return emitOpError("expected a box of ")
           << buffer.getSizeInBytes() << " bytes, found " << bytes;
  return success();
}

LogicalResult CopyScalesOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer)
    return failure();
  int64_t rows = getType().getRows();
  if (rows % 128)
    return emitOpError("expected a multiple of 128 rows, found ") << rows;
  if (buffer.getSpace() != Space::Smem || buffer.getSizeInBytes() != rows * 4)
    return emitOpError("expected ")
           << rows * 4 << " bytes of scales in shared memory, found "
           << buffer.getSizeInBytes() << " in "
           << stringifySpace(buffer.getSpace());
  return success();
}

LogicalResult MmaOp::verify() {
  BufferType a = lookUpField(*this, getInputs(), getA());
  BufferType b = lookUpField(*this, getInputs(), getB());
  BufferType d = lookUpField(*this, getAccumulator(), getD());
  if (!a || !b || !d)
    return failure();
  for (auto [buffer, space, name] :
       {std::tuple(a, Space::Smem, "a"), std::tuple(b, Space::Smem, "b"),
        std::tuple(d, Space::Tmem, "d")})
    if (buffer.getSpace() != space || buffer.getShape().size() != 2)
      return emitOpError("expected ")
             << name << " to be a matrix in " << stringifySpace(space)
             << ", found " << buffer;
  if (a.getShape()[1] != b.getShape()[1])
    return emitOpError("expected a and b with the same reduction, found ")
           << a.getShape()[1] << " and " << b.getShape()[1];
  if (d.getShape()[0] != a.getShape()[0] || d.getShape()[1] != b.getShape()[0])
    return emitOpError("expected an accumulator of ")
           << a.getShape()[0] << "x" << b.getShape()[0] << ", found "
           << d.getShape()[0] << "x" << d.getShape()[1];
  if (getAScales().getType().getRows() != a.getShape()[0])
    return emitOpError("expected scales of ")
           << a.getShape()[0] << " rows for a, found "
           << getAScales().getType().getRows();
  if (getBScales().getType().getRows() != b.getShape()[0])
    return emitOpError("expected scales of ")
           << b.getShape()[0] << " rows for b, found "
           << getBScales().getType().getRows();
  for (BufferType buffer : {a, b})
    if (!isa<Float8E4M3FNType>(buffer.getElementType()) ||
        buffer.getShape()[1] != 128 || buffer.getSwizzle() != Swizzle::Sw128)
      return emitOpError("expected operands of 128 elements of f8E4M3FN with "
                         "swizzle sw128, found ")
             << buffer;
  return success();
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

LogicalResult LoadAccumulatorOp::verify() {
  BufferType buffer = lookUpField(*this, getSlot(), getField());
  if (!buffer)
    return failure();
  if (failed(verifyTakenBy<ConsumeOp>(*this, getSlot())))
    return failure();
  if (buffer.getSpace() != Space::Tmem)
    return emitOpError("expected a buffer in tensor memory, found ") << buffer;
  if (getType().getElementType() != buffer.getElementType())
    return emitOpError("expected a fragment of ")
           << buffer.getElementType() << ", found "
           << getType().getElementType();
  int64_t columns = getType().getColumns();
  if (columns < 1 || columns > 128 || !llvm::isPowerOf2_64(columns))
    return emitOpError("expected a power of two up to 128 columns, found ")
           << columns;
  if (buffer.getShape()[1] % columns)
    return emitOpError("expected a divisor of ")
           << buffer.getShape()[1] << " columns, found " << columns;
  return success();
}

LogicalResult CastFragmentOp::verify() {
  if (getInput().getType().getColumns() != getType().getColumns())
    return emitOpError("expected ")
           << getInput().getType().getColumns() << " columns, found "
           << getType().getColumns();
  auto from = dyn_cast<FloatType>(getInput().getType().getElementType());
  auto to = dyn_cast<FloatType>(getType().getElementType());
  if (!from || !to || from.getWidth() <= to.getWidth())
    return emitOpError("expected a cast to a narrower float, found ")
           << getInput().getType() << " to " << getType();
  return success();
}

/// A matrix whose elements are those of a value in registers.
static LogicalResult verifyMatrix(Operation *op, MemRefType type,
                                  Type elementType) {
  if (type.getRank() != 2 || !type.getLayout().isIdentity())
    return op->emitOpError("expected a matrix with identity layout, found ")
           << type;
  if (type.getElementType() != elementType)
    return op->emitOpError("expected a matrix of ")
           << elementType << ", found " << type.getElementType();
  return success();
}

LogicalResult StoreFragmentOp::verify() {
  return verifyMatrix(*this, cast<MemRefType>(getDest().getType()),
                      getFragment().getType().getElementType());
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

LogicalResult LoadBlockOp::verify() {
  return verifyMatrix(*this, cast<MemRefType>(getSource().getType()),
                      cast<VectorType>(getType()).getElementType());
}

LogicalResult StoreBlockOp::verify() {
  return verifyMatrix(*this, cast<MemRefType>(getDest().getType()),
                      cast<VectorType>(getValue().getType()).getElementType());
}

LogicalResult QuantizeBlockOp::verify() {
  auto input = cast<VectorType>(getInput().getType());
  auto elements = cast<VectorType>(getElements().getType());
  if (input.getShape() != ArrayRef<int64_t>{32})
    return emitOpError("expected a block of 32 elements, found ") << input;
  if (!isa<BFloat16Type, Float16Type, Float32Type>(input.getElementType()))
    return emitOpError("expected elements of bf16, f16 or f32, found ")
           << input.getElementType();
  if (elements.getShape() != input.getShape() ||
      !isa<Float8E4M3FNType>(elements.getElementType()))
    return emitOpError("expected 32 results of f8E4M3FN, found ") << elements;
  if (!isa<Float8E8M0FNUType>(getScale().getType()))
    return emitOpError("expected a scale of f8E8M0FNU, found ")
           << getScale().getType();
  return success();
}

LogicalResult StoreScalesOp::verify() {
  auto dest = cast<MemRefType>(getDest().getType());
  if (dest.getRank() != 5 || !dest.getLayout().isIdentity() ||
      dest.getShape().drop_front(2) != ArrayRef<int64_t>{32, 4, 4})
    return emitOpError("expected tiles of shape ...x32x4x4, found ") << dest;
  if (getScales().size() != 4)
    return emitOpError("expected 4 scales, found ") << getScales().size();
  for (Value scale : getScales())
    if (scale.getType() != dest.getElementType())
      return emitOpError("expected scales of ")
             << dest.getElementType() << ", found " << scale.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Host side
//===----------------------------------------------------------------------===//

LogicalResult EncodeTensorMapOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (!source.getLayout().isIdentity())
    return emitOpError("expected a memref with identity layout, found ")
           << source;
  if (source.getRank() != static_cast<int64_t>(getType().getBox().size()))
    return emitOpError("expected a box of rank ")
           << source.getRank() << ", found rank " << getType().getBox().size();
  if (source.getElementType() != getType().getElementType())
    return emitOpError("expected a map of ")
           << source.getElementType() << ", found "
           << getType().getElementType();
  return success();
}

LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCondition(), m_One()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto *callee =
      symbolTable.lookupNearestSymbolFrom(getOperation(), getKernelAttr());
  // After the kernels are lowered they are llvm.func; launches are by then too.
  auto kernel = dyn_cast_if_present<KernelOp>(callee);
  if (!kernel)
    return emitOpError("expected a mxgpu.kernel, found ")
           << (callee ? callee->getName().getStringRef() : "nothing")
           << " named " << getKernelAttr();
  if (kernel.getArgumentTypes().size() != getArgs().size())
    return emitOpError("expected ") << kernel.getArgumentTypes().size()
                                    << " arguments, found " << getArgs().size();
  for (auto [index, expected, found] :
       llvm::enumerate(kernel.getArgumentTypes(), getArgs().getTypes()))
    if (expected != found)
      return emitOpError("expected argument ")
             << index << " of type " << expected << ", found " << found;
  return success();
}
