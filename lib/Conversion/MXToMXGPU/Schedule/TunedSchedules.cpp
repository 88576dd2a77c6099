//===- TunedSchedules.cpp - Lookup of tuned schedules ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

std::string mx::mxgpu::getMatmulForm(MatmulOpInterface op,
                                     int64_t maxSchedules) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << " ins(";
  // Narrow elements take the schedule of all elements.
  SmallVector<Value> operands(op->getOperands());
  for (Value classes : op.getRowClasses())
    operands.erase(llvm::find(operands, classes));
  llvm::interleaveComma(ValueRange(operands).getTypes(), os);
  os << ")";
  if (op->getNumResults()) {
    os << " -> (";
    llvm::interleaveComma(op->getResultTypes(), os);
    os << ")";
  }
  if (op.getAScales() || op.getBScales())
    os << " block_size = " << spellBlockSize(op.getBlockSize());
  if (std::optional<BlockShape> size = op.getBBlockSize())
    os << " b_block_size = " << spellBlockSize(*size);
  if (std::optional<uint64_t> interval = op.getPromote())
    os << " promote = " << *interval;
  if (op.getRaggedOrNone() != RaggedKind::None)
    os << " ragged = " << stringifyRaggedKind(op.getRaggedOrNone());
  if (op.getNumB() > 1)
    os << " num_b = " << op.getNumB();
  if (op.getResultScales())
    os << " scale_rounding = "
       << stringifyScaleRounding(op.getResultScaleRounding());
  for (auto [has, name] :
       {std::pair(op.isMasked(), " masked"),
        std::pair(op.getInOrder(), " in_order"),
        std::pair(op.getAlpha() != nullptr, " alpha"),
        std::pair(op.getScatterRows() != nullptr, " scatter"),
        std::pair(op.getWhere() == RowClass::Wide, " wide"),
        std::pair(op.getAccumulate(), " accumulate"),
        std::pair(op.getEpilogueBlock() != nullptr, " epilogue")})
    if (has)
      os << name;
  bool hasOpenSizes = llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && !shaped.hasStaticShape();
  });
  if (hasOpenSizes)
    os << " cases = " << maxSchedules;
  return text;
}

llvm::Expected<TunedSchedules>
TunedSchedules::read(const std::string &path, StringRef chip, StringRef gpu) {
  llvm::Expected<TunedTable> table = TunedTable::read(path);
  if (!table)
    return table.takeError();
  TunedSchedules schedules;
  schedules.table = std::move(*table);
  schedules.path = path;
  schedules.chip = chip.str();
  schedules.gpu = gpu.str();
  if (!gpu.empty())
    return schedules;
  for (const TunedEntry &entry : schedules.table.getEntries()) {
    if (entry.key.chip != chip || entry.key.compiler != getVersion())
      continue;
    if (schedules.gpu.empty())
      schedules.gpu = entry.key.gpu;
    if (schedules.gpu != entry.key.gpu)
      return llvm::createStringError(
          path + ": expected schedules that were measured on one GPU of " +
          chip + ", found schedules for " + schedules.gpu + " and for " +
          entry.key.gpu + ": set tuned-gpu to one of these GPUs");
  }
  return schedules;
}

const TunedEntry *TunedSchedules::find(MatmulOpInterface op,
                                       int64_t maxSchedules) const {
  return table.find({chip, gpu, getVersion(), getMatmulForm(op, maxSchedules)});
}

std::string TunedSchedules::explainNoEntry() const {
  std::string others;
  for (const TunedEntry &entry : table.getEntries()) {
    if (entry.key.chip == chip && entry.key.compiler == getVersion() &&
        entry.key.gpu == gpu)
      return {};
    others =
        entry.key.chip + ", " + entry.key.gpu + ", mx " + entry.key.compiler;
  }
  std::string wanted = chip + (gpu.empty() ? "" : ", " + gpu);
  return path + ": expected schedules for " + wanted + ", mx " + getVersion() +
         ", found " + (others.empty() ? "none" : "those for " + others) +
         ": the model chooses; tune again";
}

/// Returns true if mx-select-schedule can set `attribute`.
static bool isScheduleOrCases(Attribute attribute) {
  if (isa_and_nonnull<ScheduleAttr>(attribute))
    return true;
  auto cases = dyn_cast_or_null<ArrayAttr>(attribute);
  return cases && !cases.empty() && llvm::all_of(cases, [](Attribute one) {
           return isa<ScheduleCaseAttr>(one);
         });
}

Attribute TunedSchedules::parse(MatmulOpInterface op,
                                const TunedEntry &entry) const {
  std::string why;
  Attribute attribute;
  {
    // The locations of parser diagnostics refer to the attribute's text, so
    // report only the message.
    ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &found) {
      if (why.empty())
        why = " (" + found.str() + ")";
      return success();
    });
    attribute = parseAttribute(entry.schedule, op->getContext());
  }
  if (isScheduleOrCases(attribute))
    return attribute;
  op->emitOpError() << path << ": expected #mxgpu.schedule or an array of "
                    << "#mxgpu.schedule_case, found '" << entry.schedule << "'"
                    << why << ": delete the entry, or tune again";
  return {};
}
