//===- Strategy.cpp - Strategy tcgen05_block_scaled -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor core reads operands and scales unmodified, with accumulators in
// tensor memory. Each CTA of a pair holds half of the rows of A and of B, the
// scales of its rows of A, and the scales of all columns.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RingTypes.h"
#include "MainLoop.h"
#include "mx/Support/ScaleLayout.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Ring types of tensor cores that support block scales.
struct BlockScaledTypes : RingTypes {
  using RingTypes::RingTypes;

  /// Returns a buffer with rows as long as the swizzle's span, at most 128
  /// bytes. A longer reduction uses several panels.
  BufferType getOperand(int64_t rows, Type type,
                        const target::OperandForm &form) const {
    int64_t bits = getSharedBits(type, form.padded);
    int64_t elements =
        std::min(tileK, static_cast<int64_t>(mxgpu::Swizzle::Sw128) * 8 / bits);
    SmallVector<int64_t> shape = {rows, elements};
    if (tileK > elements)
      shape.insert(shape.begin(), tileK / elements);
    return BufferType::get(context, Space::Smem, shape, type,
                           getSwizzle(elements * bits / 8), form.padded);
  }

  ScalesType getTmemScales(int64_t rows) const {
    return ScalesType::get(context, roundUp(rows, kScaleTileRows),
                           getScaleTiles(), problem.scales);
  }

  RingType getInputs() const {
    return getRing(fields.stages, {"a", "b", "sfa", "sfb"},
                   {getOperand(tileM / ctas, problem.a, *problem.mma.a),
                    getOperand(tileN / ctas, problem.b, *problem.mma.b),
                    getScales(tileM / ctas), getScales(tileN)},
                   {AsyncKind::BulkCopy}, {AsyncKind::MmaCommit}, scope);
  }

  MmaAttrInterface getMma() const {
    auto kind = static_cast<mxgpu::MmaKind>(problem.mma.kind);
    return Tcgen05MmaAttr::get(context, kind, tileM, tileN, ctas,
                               problem.mma.blockSize);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Accumulator width at which two accumulators and the scales fit in tensor
/// memory only if the accumulators overlap.
static constexpr int64_t kOverlapping = 256;

/// Checks the rows, columns and reduction elements of a tile.
static std::optional<ScheduleError>
checkBlockScaledTile(const ScheduleFields &fields, int64_t ctas) {
  int64_t rows = target::kTmemLanes * ctas;
  if (fields.tile[0] != rows)
    return refuse("expected a tile of {0} rows {1}, found {2}", rows,
                  ctas > 1 ? "for two CTAs" : "for one CTA", fields.tile[0]);
  // MMAs can start only at halves of the 128-row scale tiles (PTX ISA, scale
  // factor layouts). All block-scaled kinds support the same N.
  constexpr int64_t kHalfTile = kScaleTileRows / 2;
  const target::MmaShapeRule &rule =
      *target::lookupShape(target::MmaKind::MXF8F6F4, ctas, rows);
  int64_t step = rule.nStepPreferred, columns = fields.tile[1];
  bool isWhole = columns % kHalfTile == 0;
  bool isSmall = columns % step == 0 && columns < kHalfTile;
  if (!isWhole && !isSmall)
    return refuse(
        "expected a tile of 64, 128, 192 or 256 columns, or a smaller "
        "multiple of {0}, found {1}",
        step, columns);
  // The scales of 4 blocks fill a column of tensor memory.
  constexpr int64_t kScaledElements = kScaleTileBlocks * kPowerOfTwoBlockSize;
  if (fields.tile[2] != kScaledElements &&
      fields.tile[2] != 2 * kScaledElements)
    return refuse("expected a tile of {0} or {1} reduction elements, found {2}",
                  kScaledElements, 2 * kScaledElements, fields.tile[2]);
  return std::nullopt;
}

/// Fails if a tile narrower than 64 columns does not cover the matrix. A second
/// tile would start within a half of a scale tile of B, where MMAs cannot
/// start. Dynamic sizes are checked at the launch.
static std::optional<ScheduleError> checkColumns(const MatmulProblem &problem,
                                                 int64_t tileN) {
  if (tileN % 64 == 0 || ShapedType::isDynamic(problem.n) || problem.n <= tileN)
    return std::nullopt;
  return refuse(
      "expected a tile of 64, 128, 192 or 256 columns, or a tile that "
      "covers all {0} columns of the matrix, found {1}",
      problem.n, tileN);
}

/// Checks the overlap of two accumulators. Accumulators may overlap only if
/// tensor memory cannot hold both. The overlap is limited to the columns of a B
/// matrix, which the epilogue reads first.
static std::optional<ScheduleError> checkOverlap(const MatmulProblem &problem,
                                                 const ScheduleFields &fields,
                                                 Tcgen05BlockScaledAttr own) {
  int64_t columns = fields.tile[1], overlap = own.getOverlap();
  if (overlap && own.getAccumulators() != 2)
    return refuse("expected 2 accumulators with an overlap, found {0}",
                  own.getAccumulators());
  if (overlap && columns != kOverlapping)
    return refuse(
        "expected accumulators of {0} columns with an overlap, found {1}",
        kOverlapping, columns);
  if (overlap <= columns / problem.numB)
    return std::nullopt;
  return refuse("expected accumulators to overlap by at most the {0} columns "
                "of a B matrix, found {1}",
                columns / problem.numB, overlap);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns candidate tile widths, including the width of a narrow matrix.
static SmallVector<int64_t> getColumnChoices(const MatmulProblem &problem,
                                             int64_t ctas) {
  SmallVector<int64_t> choices = {64, 128, 192, 256};
  if (ShapedType::isDynamic(problem.n))
    return choices;
  int64_t covering = roundUp(std::max<int64_t>(problem.n, 1), 16 * ctas);
  if (covering < choices.front())
    choices.insert(choices.begin(), covering);
  return choices;
}

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

namespace {

class Tcgen05BlockScaled final
    : public StrategyOf<Tcgen05BlockScaledAttr, BlockScaledMainLoop,
                        target::kTcgen05BlockScaled> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    BlockScaledTypes types(problem, fields);
    Tcgen05BlockScaledAttr own = getOwn(fields);
    MatmulBuffers buffers;
    buffers.mma = types.getMma();
    buffers.inputs = types.getInputs();
    buffers.accumulators =
        types.getAccumulators(own.getAccumulators(), own.getOverlap());
    buffers.aScales = types.getTmemScales(fields.tile[0] / types.ctas);
    buffers.bScales = types.getTmemScales(fields.tile[1]);
    buffers.scaleStages = own.getScaleStages();
    buffers.otherWarps = 2; // loads and MMAs
    types.addEpilogue(buffers, types.getTmemAccumulator(), kEpilogueWarps);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    if (std::string error = target::checkMmaKind(target, problem.mma.kind);
        !error.empty())
      return ScheduleError{error};
    Tcgen05BlockScaledAttr own = getOwn(fields);
    if (auto error = checkBlockScaledTile(fields, own.getCtas()))
      return error;
    if (std::string error = target::checkMmaShape(
            problem.mma.kind, own.getCtas(), fields.tile[0], fields.tile[1]);
        !error.empty())
      return ScheduleError{error};
    if (auto error = checkOverlap(problem, fields, own))
      return error;
    // The copies of a step complete before its stage is released.
    if (fields.stages && own.getScaleStages() > fields.stages)
      return refuse(
          "expected at most as many scale stages as stages ({0}), found {1}",
          fields.stages, own.getScaleStages());
    return checkColumns(problem, fields.tile[1]);
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &, const ScheduleFields &fields,
                 const target::TargetInfo &) const override {
    constexpr int64_t kEpilogue = target::kEpilogueRegisters;
    constexpr int64_t kOther = target::kIssueRegisters;
    ArrayRef<int64_t> registers = fields.registers;
    // The launch allocates the mean of both counts, which must be below 256.
    constexpr int64_t kSum =
        2 * (target::kSetMaxNRegMax - target::kSetMaxNRegStep);
    if (registers.size() == 2 && registers[0] >= kEpilogue &&
        registers[1] >= kOther && registers[0] + registers[1] <= kSum)
      return std::nullopt;
    return refuse("expected at least {0} registers for the epilogue and {1} "
                  "for the other "
                  "roles, at most {2} together, found registers = [{3:$[, ]}]",
                  kEpilogue, kOther, kSum,
                  llvm::make_range(registers.begin(), registers.end()));
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    // With fewer rows, the second CTA of a pair would be idle.
    bool hasPairs = ShapedType::isDynamic(problem.m) || problem.m > 128;
    for (int64_t ctas : {1, 2}) {
      if (ctas > 1 && !hasPairs)
        continue;
      for (int64_t columns : getColumnChoices(problem, ctas))
        for (int64_t depth : {128, 256}) {
          ScheduleFields fields;
          fields.strategy =
              Tcgen05BlockScaledAttr::get(problem.out.getContext(), ctas);
          fields.tile = {128 * ctas, columns, depth};
          add(fields);
        }
    }
  }

  void forEachLoop(const MatmulProblem &, ScheduleFields fields,
                   bool isPersistent, AddCandidate add) const override {
    struct Slots {
      int64_t accumulators, overlap;
    };
    int64_t ctas = fields.strategy.getCtas();
    constexpr Slots kSlots[] = {{1, 0}, {2, 0}, {2, 64}, {2, 128}};
    for (Slots slots : kSlots) {
      if (slots.overlap && fields.tile[1] != kOverlapping)
        continue;
      // With a single work tile per worker, no next accumulator exists.
      if (slots.accumulators > 1 && !isPersistent)
        continue;
      for (int64_t scaleStages : {1, 2})
        for (TileLoop loop : {TileLoop::Static, TileLoop::Clc}) {
          if (loop == TileLoop::Clc && !isPersistent)
            continue;
          fields.strategy = Tcgen05BlockScaledAttr::get(
              fields.strategy.getContext(), ctas, slots.accumulators,
              slots.overlap, scaleStages, loop);
          add(fields);
        }
    }
  }

  int64_t getPortCycles(const MatmulProblem &, const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getMmaPortCycles(fields, buffers, rates);
  }

  /// Returns the cycles of waits and exposed scale copies.
  int64_t getStepCycles(const MatmulProblem &, const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    int64_t cycles = rates.stepCycles;
    if (buffers.scaleStages > 1)
      return cycles;
    cycles += rates.copyLatency;
    for (ScalesType scales : {buffers.aScales, buffers.bScales})
      cycles += scales.getColumns() / target::kScaleColumnsPerGroup *
                rates.scaleTileCycles;
    return cycles;
  }

  std::string describe(const ScheduleFields &fields) const override {
    Tcgen05BlockScaledAttr own = getOwn(fields);
    std::string text = llvm::formatv(" a{0}", own.getAccumulators());
    if (own.getOverlap())
      text += llvm::formatv("-{0}", own.getOverlap());
    return text + llvm::formatv(" f{0}", own.getScaleStages()).str();
  }

  ArrayRef<StringLiteral> getRoles() const override {
    static constexpr StringLiteral kRoles[] = {"in the epilogue",
                                               "in other warps"};
    return kRoles;
  }
};

} // namespace

const Strategy &mx::mxgpu::getTcgen05BlockScaled() {
  static const Tcgen05BlockScaled strategy;
  return strategy;
}
