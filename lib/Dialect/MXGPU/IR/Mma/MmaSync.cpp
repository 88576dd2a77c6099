//===- MmaSync.cpp - mma.sync ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands, scales and accumulators are in registers. Each warp issues an
// instruction for 16 rows, 8 columns and 16, 32 or 64 reduction elements.
//
// Selectors choose the lanes whose scales are used. The 16 rows use lanes 0 and
// 1 or lanes 2 and 3 of each quad, and the 8 columns use a single lane of each
// quad. So a register in all lanes holds scales of 32 rows or columns without
// duplicates (PTX ISA, mma, Block scaling for mma.sync: thread-id and byte-id).
//===----------------------------------------------------------------------===//

#include "../OpChecks.h"
#include "Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Target/MmaShapes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// An instruction computes kRows rows and kColumns columns. A register in all
/// lanes holds the scales of kScaled rows or columns, kWordScales scales per
/// lane.
static constexpr int64_t kRows = 16, kColumns = 8, kScaled = 32,
                         kWordScales = 4;

static int64_t getK(MmaKind kind) { return target::getInfo(toTarget(kind)).k; }

/// Returns the number of scales per row that an instruction reads.
static int64_t getScalesOfStep(MmaSyncAttr kind) {
  return getK(kind.getKind()) / kind.getBlock();
}

/// Returns true if the kernel first expands 4-bit elements to bytes.
static bool isSpread(MmaSyncAttr kind, Type element) {
  return kind.getKind() == MmaKind::MXF8F6F4 && isa<Float4E2M1FNType>(element);
}

/// Returns true if `warps` warps divide the `size` rows or columns into equal
/// parts, and each part is `least` times a power of two.
static bool isDivided(int64_t size, int64_t warps, int64_t least) {
  return warps > 0 && size > 0 && size % (warps * least) == 0 &&
         llvm::isPowerOf2_64(size / (warps * least)) &&
         llvm::isPowerOf2_64(warps);
}

LogicalResult MmaSyncAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  MmaKind kind, int64_t m, int64_t n,
                                  int64_t warps, int64_t columnWarps,
                                  int64_t block, int64_t firstScale) {
  bool isScaled = target::getInfo(toTarget(kind)).blockScaled;
  if (!isScaled && (block || firstScale)) // mma_sync C1
    return emitError() << "expected block = 0 and first_scale = 0 with kind::"
                       << stringifyMmaKind(kind)
                       << ", which has no scales, found " << block << " and "
                       << firstScale;
  if (isScaled && llvm::none_of(target::getScaleVectorRules(), [&](auto &rule) {
        return rule.kind == toTarget(kind) && rule.blockSize == block;
      })) // mma_sync C2
    return emitError() << "expected a block size that kind::"
                       << stringifyMmaKind(kind) << " supports, found "
                       << block;
  constexpr int64_t kMostWarps = target::kMaxThreadsPerCta / target::kWarpSize;
  // mma_sync C3
  if (warps < 1 || columnWarps < 1 || warps > kMostWarps ||
      columnWarps > kMostWarps || warps * columnWarps > kMostWarps)
    return emitError() << "expected 1 to " << kMostWarps << " warps, found "
                       << warps << " row warps and " << columnWarps
                       << " column warps";
  // mma_sync C4
  if (!isDivided(m, warps, kRows) || !isDivided(n, columnWarps, kScaled))
    return emitError() << "expected " << kRows << " rows and " << kScaled
                       << " columns per warp, or a power of two times these "
                          "counts, found m = "
                       << m << " with " << warps << " warps and n = " << n
                       << " with " << columnWarps << " warps";
  // Registers of a thread (PTX ISA, Register State Space).
  constexpr int64_t kMostAccumulators = 255, kMost = 4096;
  int64_t perWarp =
      m > kMost || n > kMost ? kMost * kMost : m * n / (warps * columnWarps);
  if (int64_t accumulators = perWarp / target::kWarpSize;
      accumulators > kMostAccumulators) // mma_sync C5
    return emitError() << "expected an accumulator with at most "
                       << kMostAccumulators << " registers per thread, found "
                       << accumulators << ": divide m or n among more warps";
  if (int64_t step = isScaled ? getK(kind) / block : 1;
      firstScale < 0 || firstScale > kMost || firstScale % step) // mma_sync C6
    return emitError() << "expected first_scale from 0 to " << kMost
                       << " in steps of " << step << ", found " << firstScale;
  return success();
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

MmaSyncAttr MmaSyncAttr::withFirstScale(int64_t scale) const {
  return get(getContext(), getKind(), getM(), getN(), getWarps(),
             getColumnWarps(), getBlock(), scale);
}

target::MmaRoles MmaSyncAttr::getRoles() const {
  target::MmaRoles roles = target::getInfo(target::MmaFamily::MmaSync).roles;
  if (!getBlock())
    roles.scales = target::MmaPlace::None;
  return roles;
}

MmaShape MmaSyncAttr::getMmaShape() const {
  return {getM(), getN(), getK(getKind())};
}

/// Source: PTX ISA, mma, Matrix Fragments for mma.m16n8k32: C and D. The last
/// modes count columns, so a slice of columns is a range of registers.
FragmentModes MmaSyncAttr::getAccumulatorModes(int64_t columns) const {
  int64_t ofWarp = columns / getColumnWarps();
  return makeModes({{{4, 0, 2},
                     {8, 1, 0},
                     {getWarps(), getWarpRows(), 0},
                     {getColumnWarps(), 0, ofWarp}},
                    {{2, 0, 1},
                     {2, 8, 0},
                     {getWarpRows() / kRows, kRows, 0},
                     {ofWarp / kColumns, 0, kColumns}}});
}

/// Source: PTX ISA, mma, Matrix Fragments for mma.m16n8k32 and mma.m16n8k64: A
/// and B. A word holds an eighth of the elements that an instruction reads from
/// a row. If elements are expanded, a word holds a quarter, and its elements
/// alternate between both halves of the reduction.
static FragmentModes getElementModes(MmaSyncAttr kind, bool isA, bool isSpread,
                                     int64_t columns) {
  int64_t k = getK(kind.getKind()), word = k / 8;
  FragmentMode warps = {kind.getWarps(), isA ? kind.getWarpRows() : 0, 0};
  FragmentMode columnWarps = {kind.getColumnWarps(),
                              isA ? 0 : kind.getWarpColumns(), 0};
  FragmentMode halves = {2, 0, k / 2};
  FragmentModes modes = {{{4, 0, word}, {8, 1, 0}, warps, columnWarps}, {}};
  if (isSpread)
    modes.values.push_back(halves);
  modes.values.push_back({word, 0, 1});
  if (isA)
    modes.values.push_back({2, 8, 0});
  if (!isSpread)
    modes.values.push_back(halves);
  modes.values.push_back({columns / k, 0, k});
  modes.values.push_back(
      isA ? FragmentMode{kind.getWarpRows() / kRows, kRows, 0}
          : FragmentMode{kind.getWarpColumns() / kColumns, kColumns, 0});
  return makeModes(modes);
}

/// A warp with only 16 rows holds their scales twice: in lanes 0 and 1 and in
/// lanes 2 and 3 of each quad.
static FragmentModes getScaleModes(MmaSyncAttr kind, bool isA, int64_t scales) {
  int64_t rows = isA ? kind.getWarpRows() : kind.getWarpColumns();
  int64_t lanes = std::min(rows, kScaled) / 8;
  FragmentMode warps = {kind.getWarps(), isA ? kind.getWarpRows() : 0, 0};
  FragmentMode columnWarps = {kind.getColumnWarps(),
                              isA ? 0 : kind.getWarpColumns(), 0};
  return makeModes(
      {{{lanes, 8, 0}, {4 / lanes, 0, 0}, {8, 1, 0}, warps, columnWarps},
       {{scales, 0, 1}, {rows / kScaled, kScaled, 0}}});
}

FragmentModes MmaSyncAttr::getOperandModes(MmaOperand operand, Type element,
                                           int64_t columns) const {
  bool isA = operand == MmaOperand::A || operand == MmaOperand::AScales;
  if (operand == MmaOperand::AScales || operand == MmaOperand::BScales) {
    if (!getBlock() || columns < 1 || columns % kWordScales ||
        !isMatrixScale(element))
      return {};
    return getScaleModes(*this, isA, columns);
  }
  std::optional<target::MmaType> type = mxgpu::getMmaType(element);
  int64_t k = getK(getKind());
  if (!type || columns < k || columns % k ||
      !target::checkMmaTypes(toTarget(getKind()), *type, *type,
                             target::AccumulatorType::F32)
           .empty())
    return {};
  return getElementModes(*this, isA, isSpread(*this, element), columns);
}

std::string MmaSyncAttr::checkTarget(const target::TargetInfo &target) const {
  return target::checkMmaFamily(target, target::MmaFamily::MmaSync);
}

/// Rates are per SM. Each of the four tensor cores of an SM serves a single
/// warp. The bf16 rate is a quarter of the E4M3 rate (flashinfer, issue 3628:
/// 253 and 993 TFLOP/s on an RTX 5090). A bf16 instruction performs half as
/// many multiplications, so it takes twice as long.
int64_t MmaSyncAttr::getCycles(const target::Rates &rates) const {
  constexpr int64_t kCores = 4;
  int64_t busy = std::min(kCores, getWarps() * getColumnWarps());
  int64_t slower = getBlock() ? 1 : 2;
  return target::mmaCycles(rates, getN()) * (getM() / kRows) * slower * kCores /
         busy;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static Type getElement(Value fragment) {
  return cast<FragmentType>(fragment.getType()).getElementType();
}

static LogicalResult verifyMmaScales(MmaSyncAttr kind, MmaOp op) {
  Type type = getElement(op.getAScales());
  std::string error;
  // mma_sync C9
  if (getElement(op.getBScales()) != type || !isMatrixScale(type) ||
      !target::lookupScaleVector(toTarget(kind.getKind()), kind.getBlock(),
                                 *findBlockFormat(type)->scale, error))
    return op.emitOpError("expected the scales of 'a' and 'b' to have the same "
                          "type, which kind::")
           << stringifyMmaKind(kind.getKind())
           << " supports for a block size of " << kind.getBlock() << ", found "
           << type << " and " << getElement(op.getBScales());
  int64_t end = kind.getFirstScale() + op.getReduction() / kind.getBlock();
  for (auto [scales, name] : {std::pair(Value(op.getAScales()), "'a'"),
                              std::pair(Value(op.getBScales()), "'b'")}) {
    int64_t found = cast<FragmentType>(scales.getType()).getColumns();
    if (found < end) // mma_sync C10
      return op.emitOpError("expected scales for at least ")
             << end << " blocks of " << name << ", found " << found;
  }
  return success();
}

LogicalResult MmaSyncAttr::verifyMma(MmaOp &op) const {
  if (op.getAccumulate() || op.getBOffset()) // mma_sync C7
    return op.emitOpError("expected neither 'accumulate' nor 'b_offset': begin "
                          "with mxgpu.zero_fragment");
  FragmentType expected =
      op.getKind().getAccumulatorType(Float32Type::get(getContext()), getN());
  if (op.getD().getType() != expected) // mma_sync C8
    return op.emitOpError("expected an accumulator of type ")
           << expected << ", found " << op.getD().getType();
  if (getBlock() && failed(verifyMmaScales(*this, op)))
    return failure();
  int64_t warps = getWarps() * getColumnWarps();
  if (RoleOp role = getRole(op);
      role && static_cast<int64_t>(role.getWarps()) != warps) // mma_sync C11
    return op.emitOpError("expected a role with ")
           << warps << " warps, found " << role.getWarps();
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Registers with a warp's A or B, in the order of instructions.
class WarpOperand {
public:
  WarpOperand(NVVMBuilder &builder, bool isSpread, Value vector,
              int64_t wordsOfStep)
      : wordsOfStep(wordsOfStep) {
    words = builder.getWords(vector);
    if (isSpread)
      spread(builder);
  }

  ArrayRef<Value> at(int64_t number) const {
    return ArrayRef(words).slice(number * wordsOfStep, wordsOfStep);
  }

private:
  /// Expands the elements to bytes. For each instruction, the words of the
  /// first half of the reduction precede the words of the second half.
  void spread(NVVMBuilder &builder) {
    SmallVector<Value> packed = std::move(words);
    words.assign(2 * packed.size(), Value());
    int64_t rows = wordsOfStep / 2;
    for (auto [i, word] : llvm::enumerate(packed)) {
      int64_t first = int64_t(i) / rows * wordsOfStep + int64_t(i) % rows;
      std::tie(words[first], words[first + rows]) = builder.spreadE2M1(word);
    }
  }

  SmallVector<Value> words;
  int64_t wordsOfStep;
};

class WarpScales {
public:
  WarpScales(NVVMBuilder &builder, Value scales, Value vector)
      : words(builder.getWords(vector)),
        wordsOfRow(cast<FragmentType>(scales.getType()).getColumns() /
                   kWordScales) {}

  /// Returns the scales of `rows` rows (or columns), starting at `block *
  /// rows`. The first returned scale of each row is scale `scale`.
  MmaSyncScales at(int64_t block, int64_t rows, int64_t scale) const {
    int64_t first = block * rows;
    return {words[first / kScaled * wordsOfRow + scale / kWordScales],
            scale % kWordScales, first % kScaled / rows};
  }

private:
  SmallVector<Value> words;
  int64_t wordsOfRow;
};

} // namespace

static MmaSyncShape getShape(MmaSyncAttr kind, MmaOp op) {
  const BlockFormat &format = op.getAScales()
                                  ? getBlockFormat(getElement(op.getAScales()))
                                  : getPowerOfTwoFormat();
  return {toTarget(kind.getKind()), *mxgpu::getMmaType(getElement(op.getA())),
          *mxgpu::getMmaType(getElement(op.getB())),
          static_cast<unsigned>(kind.getBlock()), *format.scale};
}

/// Issues all instructions for step `step` of the reduction.
static Value multiplyStep(NVVMBuilder &builder, MmaSyncAttr kind, MmaOp op,
                          const MmaOperands &values, Value accumulators,
                          int64_t step) {
  WarpOperand a(builder, isSpread(kind, getElement(op.getA())), values.a,
                /*wordsOfStep=*/4);
  WarpOperand b(builder, isSpread(kind, getElement(op.getB())), values.b,
                /*wordsOfStep=*/2);
  std::optional<WarpScales> aScales, bScales;
  int64_t scale = 0;
  if (kind.getBlock()) {
    aScales.emplace(builder, op.getAScales(), values.aScales);
    bScales.emplace(builder, op.getBScales(), values.bScales);
    scale = kind.getFirstScale() + step * getScalesOfStep(kind);
  }
  int64_t steps = op.getReduction() / getK(kind.getKind());
  int64_t rowBlocks = kind.getWarpRows() / kRows;
  SmallVector<MmaSyncStep> instructions;
  constexpr int64_t kOwn = 4; // accumulators per instruction
  for (int64_t column = 0; column < kind.getWarpColumns() / kColumns; ++column)
    for (int64_t row = 0; row < rowBlocks; ++row) {
      MmaSyncStep &own = instructions.emplace_back();
      own.a = a.at(row * steps + step);
      own.b = b.at(column * steps + step);
      own.accumulator = (column * rowBlocks + row) * kOwn;
      if (!aScales)
        continue;
      own.aScales = aScales->at(row, kRows, scale);
      own.bScales = bScales->at(column, kColumns, scale);
    }
  return builder.mmaSync(getShape(kind, op), accumulators, instructions);
}

/// Skips the steps beyond the extent, because elements there may be NaN.
Value MmaSyncAttr::emit(NVVMBuilder &builder, MmaOp &op,
                        const MmaOperands &values) const {
  int64_t k = getK(getKind()), first = getFirstScale() * getBlock();
  Value accumulators = values.d;
  for (int64_t step = 0; step < op.getReduction() / k; ++step) {
    int64_t start = first + step * k;
    // Step 0 needs no test, because the extent is at least 1.
    if (!values.extent || !start) {
      accumulators =
          multiplyStep(builder, *this, op, values, accumulators, step);
      continue;
    }
    Value isWithin = arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt,
                                           values.extent, builder.index(start));
    auto ifOp = scf::IfOp::create(builder, accumulators.getType(), isWithin,
                                  /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value sum = multiplyStep(builder, *this, op, values, accumulators, step);
    scf::YieldOp::create(builder, sum);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(builder, accumulators);
    accumulators = ifOp.getResult(0);
  }
  return accumulators;
}
