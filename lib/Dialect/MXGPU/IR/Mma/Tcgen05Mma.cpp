//===- Tcgen05Mma.cpp - tcgen05.mma ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are in shared memory. Accumulators and scales, if any, are in tensor
// memory. One thread issues an instruction for each 32 bytes of the reduction.
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/Descriptors.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

target::MmaKind mx::mxgpu::toTarget(MmaKind kind) {
  static_assert(int(MmaKind::F16) == int(target::MmaKind::F16) &&
                int(MmaKind::MXF8F6F4) == int(target::MmaKind::MXF8F6F4) &&
                int(MmaKind::MXF4) == int(target::MmaKind::MXF4) &&
                int(MmaKind::MXF4NVF4) == int(target::MmaKind::MXF4NVF4));
  return static_cast<target::MmaKind>(kind);
}

static bool hasScales(MmaKind kind) {
  return target::getInfo(toTarget(kind)).blockScaled;
}

LogicalResult
Tcgen05MmaAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       MmaKind kind, int64_t m, int64_t n, int64_t ctas,
                       int64_t block) {
  if (ctas != 1 && ctas != 2) // tcgen05_mma C1
    return emitError() << "expected 1 or 2 CTAs, found " << ctas;
  constexpr int64_t kMost = 1024; // beyond the rows and columns of any kind
  if (m < 1 || m > kMost || n < 1 || n > kMost) // tcgen05_mma C2
    return emitError() << "expected m and n from 1 to " << kMost << ", found "
                       << m << " and " << n;
  if (std::string error = target::checkMmaShape(toTarget(kind), ctas, m, n);
      !error.empty()) // tcgen05_mma C3
    return emitError() << error;
  if (!hasScales(kind) && block) // tcgen05_mma C17
    return emitError() << "expected block = 0 with kind::"
                       << stringifyMmaKind(kind)
                       << ", which has no scales, found " << block;
  if (!hasScales(kind))
    return success();
  for (const target::ScaleVectorRule &rule : target::getScaleVectorRules())
    if (rule.kind == toTarget(kind) && rule.blockSize == block)
      return success();
  // tcgen05_mma C4
  return emitError() << "expected a block size that kind::"
                     << stringifyMmaKind(kind) << " supports, found " << block;
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

target::MmaRoles Tcgen05MmaAttr::getRoles() const {
  target::MmaRoles roles = target::getInfo(target::MmaFamily::Tcgen05).roles;
  if (!hasScales(getKind()))
    roles.scales = target::MmaPlace::None;
  return roles;
}

MmaShape Tcgen05MmaAttr::getMmaShape() const {
  return {getM(), getN(), target::getInfo(toTarget(getKind())).k};
}

std::string
Tcgen05MmaAttr::checkTarget(const target::TargetInfo &target) const {
  return target::checkMmaKind(target, toTarget(getKind()));
}

int64_t Tcgen05MmaAttr::getCycles(const target::Rates &rates) const {
  return target::mmaCycles(rates, getN());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static ScalesType getScalesType(Value scales) {
  return cast<ScalesType>(scales.getType());
}

/// Returns the instruction with scales at id 0. Fails with an error at the
/// operation if its operands break a rule.
static FailureOr<target::InstrDescriptor> getInstruction(Tcgen05MmaAttr kind,
                                                         MmaOp op) {
  BufferType a = op.getABuffer(), b = op.getBBuffer();
  std::optional<target::MmaType> aType = mxgpu::getMmaType(a.getElementType());
  std::optional<target::MmaType> bType = mxgpu::getMmaType(b.getElementType());
  const BlockFormat *format = &getPowerOfTwoFormat();
  if (op.getAScales())
    format = findBlockFormat(getScalesType(op.getAScales()).getElementType());
  if (!aType || !bType || !format || !format->scale) // tcgen05_mma C10
    return op.emitOpError("expected element types that the tensor core ")
           << (op.getAScales() ? "supports with scales"
                               : "supports without scales")
           << " in " << a << " and " << b;
  target::InstrDescriptor instruction;
  instruction.kind = toTarget(kind.getKind());
  instruction.ctaGroup = kind.getCtas();
  instruction.m = kind.getM();
  instruction.n = kind.getN();
  instruction.a = *aType;
  instruction.b = *bType;
  instruction.blockSize = kind.getBlock();
  instruction.scaleFormat = *format->scale;
  // tcgen05_mma C11
  if (std::string error = target::check(instruction); !error.empty())
    return op.emitOpError() << error << " in " << a << " and " << b;
  return instruction;
}

/// Kinds with 64 elements in 32 bytes of K read dense 4-bit elements. The other
/// kinds read one-byte or padded elements.
static LogicalResult verifyDense(Tcgen05MmaAttr kind, MmaOp op) {
  bool takesDense = kind.getMmaShape().k > 32;
  for (BufferType buffer : {op.getABuffer(), op.getBBuffer()}) {
    bool isDense = buffer.getElementType().getIntOrFloatBitWidth() < 8 &&
                   !buffer.getPadded();
    if (isDense != takesDense) // tcgen05_mma C9
      return op.emitOpError("expected ")
             << (takesDense ? "dense 4-bit elements"
                            : "one-byte or padded elements")
             << " for kind::" << stringifyMmaKind(kind.getKind()) << ", found "
             << buffer;
  }
  return success();
}

static LogicalResult
verifyMmaScales(MmaOp op, const target::InstrDescriptor &instruction) {
  bool hasOffset = static_cast<bool>(op.getBOffset());
  // A CTA of a pair holds the scales of its own rows of A and of all rows of B.
  unsigned ctas = instruction.ctaGroup, m = instruction.m, n = instruction.n;
  int64_t bRows = n;
  if (hasOffset && bRows % 128 != 64) // tcgen05_mma C12
    return op.emitOpError("'b_offset' requires the rows of 'b' to end in the "
                          "middle of a 128-row tile, found ")
           << bRows << " rows";
  IntegerAttr offset;
  if (hasOffset && matchPattern(op.getBOffset(), m_Constant(&offset)) &&
      offset.getInt() != 0 && offset.getInt() != 64) // tcgen05_mma C13
    return op.emitOpError("expected a 'b_offset' of 0 or 64 rows, found ")
           << offset.getInt();
  ScalesType aType = getScalesType(op.getAScales());
  ScalesType bType = getScalesType(op.getBScales());
  for (auto [type, columns, name] :
       {std::tuple(aType, target::scaleAColumns(ctas, m), "'a'"),
        std::tuple(bType, target::scaleBColumns(ctas, m, n), "'b'")}) {
    int64_t expected =
        columns / target::kScaleColumnsPerGroup * target::kScaleRowsPerGroup;
    if (type.getRows() != expected) // tcgen05_mma C14
      return op.emitOpError("expected scales for ")
             << expected << " rows of " << name << ", found " << type.getRows();
    if (type.getElementType() != aType.getElementType()) // tcgen05_mma C15
      return op.emitOpError("expected the scales of 'a' and 'b' to have the "
                            "same type, found ")
             << aType.getElementType() << " and " << type.getElementType();
    int64_t scales = type.getTiles() * kScaleTileBlocks * instruction.blockSize;
    if (scales != op.getReduction()) // tcgen05_mma C16
      return op.emitOpError("expected scales for ")
             << op.getReduction() << " reduction elements of " << name
             << ", found scales for " << scales;
  }
  return success();
}

/// Checks that each CTA of a pair holds half of the rows of A and of B.
static LogicalResult verifyShapes(Tcgen05MmaAttr kind, MmaOp op) {
  BufferType a = op.getABuffer(), b = op.getBBuffer();
  int64_t ctas = kind.getCtas();
  // tcgen05_mma C7
  for (auto [buffer, rows, name] :
       {std::tuple(a, kind.getM(), "'a'"), std::tuple(b, kind.getN(), "'b'")})
    if (getOperandRows(buffer) * ctas != rows)
      return op.emitOpError("expected ")
             << rows / ctas << " rows of " << name << " in each CTA, found "
             << getOperandRows(buffer);
  auto d = cast<BufferType>(op.getD().getType());
  int64_t rows = getOperandRows(a);
  int64_t columns = target::accumulatorColumns(ctas, kind.getM(), kind.getN());
  if (d.getShape() != ArrayRef<int64_t>{rows, columns}) // tcgen05_mma C8
    return op.emitOpError("expected an accumulator of shape ")
           << rows << "x" << columns << ", found " << d.getShape()[0] << "x"
           << d.getShape()[1];
  return success();
}

LogicalResult Tcgen05MmaAttr::verifyMma(MmaOp &op) const {
  if (auto kernel = op->getParentOfType<KernelOp>();
      kernel && kernel.isPair() != (getCtas() == 2)) // tcgen05_mma C5
    return op.emitOpError("expected 'ctas' to match the size of the kernel's "
                          "cluster, found ctas = ")
           << getCtas();
  if (failed(verifyShapes(*this, op)) || failed(verifyDense(*this, op)))
    return failure();
  FailureOr<target::InstrDescriptor> instruction = getInstruction(*this, op);
  if (failed(instruction))
    return failure();
  if (op.getAScales())
    return verifyMmaScales(op, *instruction);
  if (op.getBOffset()) // tcgen05_mma C6
    return op.emitOpError("'b_offset' requires scales");
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Common operands of the instructions of a tile.
struct Issue {
  target::InstrDescriptor instruction;
  int64_t scalesPerStep; ///< for kinds with scales
  DescribedOperand a, b;
  Value d, aScales, bScales, accumulate;
  int64_t aTileColumns, bTileColumns;

  /// Issues instruction `step` of the tile.
  void step(NVVMBuilder &builder, int64_t step) const {
    if (!aScales) {
      builder.mma(instruction, d, a.at(builder, step), b.at(builder, step),
                  isAdded(builder, step));
      return;
    }
    int64_t scale = step * scalesPerStep;
    target::InstrDescriptor word = instruction;
    word.scaleIdA = word.scaleIdB = scale % kScaleTileBlocks;
    int64_t tile = scale / kScaleTileBlocks;
    auto atTile = [&](Value column, int64_t columns) {
      return tile ? builder.add(column, builder.i32(tile * columns)) : column;
    };
    builder.mmaBlockScaled(word, d, a.at(builder, step), b.at(builder, step),
                           isAdded(builder, step),
                           atTile(aScales, aTileColumns),
                           atTile(bScales, bTileColumns));
  }

private:
  /// Returns true if the MMA adds to the accumulator.
  Value isAdded(NVVMBuilder &builder, int64_t step) const {
    return step == 0 && accumulate ? accumulate : builder.i1(step > 0);
  }
};

} // namespace

static Issue getIssue(NVVMBuilder &builder, MmaOp op, const MmaOperands &values,
                      const target::InstrDescriptor &instruction) {
  Value bScales = values.bScales;
  if (Value offset = values.bOffset) // 32 rows per column
    bScales = builder.add(
        bScales,
        arith::ShRUIOp::create(builder, builder.toI32(offset), builder.i32(5)));
  auto getTileColumns = [](Value scales) -> int64_t {
    if (!scales)
      return 0;
    ScalesType type = getScalesType(scales);
    return type.getColumns() / type.getTiles();
  };
  int64_t k = target::getInfo(instruction.kind).k;
  int64_t block = instruction.blockSize;
  return {instruction,
          block ? k / block : 0,
          {builder, op.getABuffer(), values.a, target::encode},
          {builder, op.getBBuffer(), values.b, target::encode},
          values.d,
          values.aScales,
          bScales,
          values.accumulate,
          getTileColumns(op.getAScales()),
          getTileColumns(op.getBScales())};
}

static void enterIfWithin(NVVMBuilder &builder, Value extent, int64_t start) {
  Value isWithin = arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt,
                                         extent, builder.index(start));
  auto ifOp = scf::IfOp::create(builder, isWithin, /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
}

Value Tcgen05MmaAttr::emit(NVVMBuilder &builder, MmaOp &op,
                           const MmaOperands &values) const {
  // The verifier already checked that getInstruction succeeds.
  Issue issue = getIssue(builder, op, values, *getInstruction(*this, op));
  int64_t k = getMmaShape().k;
  int64_t steps = op.getReduction() / k;
  auto issueAll = [&] {
    for (int64_t step = 0; step < steps; ++step)
      issue.step(builder, step);
  };
  if (!values.extent || steps == 1) {
    issueAll();
    return {};
  }
  // Test a full tile once; in the last tile, blocks beyond the extent are
  // padding and must not be multiplied.
  OpBuilder::InsertionGuard guard(builder);
  Value isFull = arith::CmpIOp::create(builder, arith::CmpIPredicate::uge,
                                       values.extent, builder.index(steps * k));
  auto ifOp = scf::IfOp::create(builder, isFull, /*withElse=*/true);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  issueAll();
  builder.setInsertionPointToStart(ifOp.elseBlock());
  for (int64_t step = 0; step + 1 < steps; ++step) {
    if (step > 0)
      enterIfWithin(builder, values.extent, step * k);
    issue.step(builder, step);
  }
  return {};
}
