//===- ExplainSchedule.cpp - Explanation of schedule choices --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the chosen schedule, the best candidates and the memory map. Tests
// rely on the format of the text.
//===----------------------------------------------------------------------===//

#include "../Matmul/Strategies/Strategy.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Number of printed candidates.
static constexpr size_t kShown = 8;

static std::string getSize(int64_t size) {
  return ShapedType::isDynamic(size) ? "?" : std::to_string(size);
}

/// Returns a short form of a schedule for the table.
static std::string getShortForm(const Candidate &candidate) {
  const ScheduleFields &fields = candidate.fields;
  std::string text = llvm::formatv("{0}x{1}x{2}", fields.tile[0],
                                   fields.tile[1], fields.tile[2]);
  text += llvm::formatv(" s{0}", fields.stages);
  text += candidate.strategy->describe(fields);
  if (fields.workspace != Workspace::None)
    text += (" w-" + stringifyWorkspace(fields.workspace)).str();
  if (fields.splitK > 1)
    text += llvm::formatv(" k/{0}{1}", fields.splitK,
                          fields.strategy.getClusterSplit() ? "c" : "");
  if (fields.strategy.getTileLoop() == TileLoop::Clc)
    text += " clc";
  if (fields.rasterOrder == RasterOrder::GroupM)
    text += llvm::formatv(" group_m({0})", fields.rasterGroup);
  else if (fields.rasterOrder == RasterOrder::Hilbert)
    text += " hilbert";
  else if (fields.rasterOrder == RasterOrder::Columns)
    text += " columns";
  if (fields.epilogue == Epilogue::TmaStore)
    text += llvm::formatv(" tma{0}", fields.staging);
  if (fields.l2B == CacheHint::EvictFirst)
    text += " l2";
  if (fields.pdl)
    text += " pdl";
  return text;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {
/// A column of the table, and a possible reason why a candidate is slower.
struct Term {
  StringLiteral name, meaning;
  int64_t ModelledCost::*value;
};
} // namespace

static constexpr Term kTerms[] = {
    {"MMAs", "cycles of the tensor core per work tile", &ModelledCost::mma},
    {"steps", "waits and scale copies between MMAs per work tile",
     &ModelledCost::steps},
    {"port", "shared-memory reads of the MMAs per work tile",
     &ModelledCost::port},
    {"fill", "bytes into shared memory per work tile", &ModelledCost::fill},
    {"ring", "latency of loads over the stages per work tile",
     &ModelledCost::ring},
    {"store", "cycles of the epilogue per work tile", &ModelledCost::epilogue},
    {"exposed", "part of the epilogue that the next work tile waits for",
     &ModelledCost::exposed},
    {"waves", "work tiles one after another", &ModelledCost::waves},
    {"L2", "bytes from L2 in cycles of the chip", &ModelledCost::l2},
    {"HBM", "bytes of memory in cycles of the chip", &ModelledCost::hbm},
    {"ends", "set-up, first load and last epilogue", &ModelledCost::ends},
    {"sum", "adding up the splits of the reduction", &ModelledCost::sum},
    {"before", "kernels before the matmul", &ModelledCost::dequantize},
    {"total", "all together", &ModelledCost::total},
};

static void printTable(raw_ostream &os, ArrayRef<Candidate> candidates) {
  constexpr size_t kTermWidth = 9;
  size_t formWidth = 34;
  for (const Candidate &candidate : candidates.take_front(kShown))
    formWidth = std::max(formWidth, getShortForm(candidate).size());
  // Only problems with workspaces have candidates that dequantize first.
  bool hasBefore = llvm::any_of(
      candidates, [](const Candidate &it) { return it.cost.dequantize != 0; });
  auto terms = llvm::make_filter_range(kTerms, [&](const Term &term) {
    return hasBefore || term.value != &ModelledCost::dequantize;
  });
  os << "   " << llvm::left_justify("candidate", formWidth);
  for (const Term &term : terms)
    os << llvm::right_justify(term.name, kTermWidth);
  os << "  limit\n";
  for (auto [index, candidate] :
       llvm::enumerate(candidates.take_front(kShown))) {
    os << index + 1 << "  "
       << llvm::left_justify(getShortForm(candidate), formWidth);
    for (const Term &term : terms)
      os << llvm::right_justify(std::to_string(candidate.cost.*term.value),
                                kTermWidth);
    os << "  " << candidate.cost.getLimit() << '\n';
  }
}

/// Returns the cycles of a pipe for the whole problem.
static int64_t getPipe(const ModelledCost &cost, StringRef name) {
  if (name == "L2")
    return cost.l2;
  if (name == "HBM")
    return cost.hbm;
  if (name == "epilogue")
    return cost.waves * (cost.epilogue + cost.exposed);
  int64_t perUnit = name == "MMAs"            ? cost.mma + cost.steps
                    : name == "shared memory" ? cost.port
                    : name == "fill"          ? cost.fill
                                              : cost.ring;
  return cost.waves * perUnit;
}

/// Prints the term that accounts for the largest part of the loss.
static void printReason(raw_ostream &os, const ModelledCost &winner,
                        const ModelledCost &loser) {
  int64_t difference = loser.total - winner.total;
  if (difference < 0) {
    os << "  2 is faster by " << -difference
       << " modelled cycles, less than the model can resolve, and takes more "
          "steps "
          "along K: "
       << loser.kSteps << " against " << winner.kSteps << '\n';
    return;
  }
  if (!difference) {
    os << "  2 takes as long and "
       << (loser.hbm != winner.hbm ? "moves more bytes of memory"
           : loser.l2 != winner.l2 ? "moves more bytes from L2"
                                   : "is less simple")
       << "\n";
    return;
  }
  os << "  2 loses by " << difference << " modelled cycles, most by ";
  int64_t loop = loser.getLoop() - winner.getLoop();
  int64_t ends = loser.ends - winner.ends, sum = loser.sum - winner.sum;
  if (int64_t before = loser.dequantize - winner.dequantize;
      before > std::max({loop, ends, sum})) {
    os << "kernels that run before: " << loser.dequantize << " against "
       << winner.dequantize << '\n';
    return;
  }
  if (ends > loop && ends >= sum) {
    os << "its ends (set-up, first load, last epilogue): " << loser.ends
       << " against " << winner.ends << '\n';
    return;
  }
  if (sum > loop) {
    os << "adding up the splits of the reduction: " << loser.sum << " against "
       << winner.sum << '\n';
    return;
  }
  StringRef pipe = loser.getPipe();
  // If the slowest pipe is no slower in `loser`, the time between work tiles
  // differs.
  if (getPipe(loser, pipe) <= getPipe(winner, pipe))
    pipe = loser.l2 > winner.l2 && loser.period <= winner.period ? "L2"
                                                                 : "epilogue";
  os << pipe << ": " << getPipe(loser, pipe) << " against "
     << getPipe(winner, pipe) << " cycles\n";
}

//===----------------------------------------------------------------------===//
// Memory map
//===----------------------------------------------------------------------===//

/// Formats an item, e.g. "in.a: 16384" or "more stages of in: 4 x 34816".
static std::string getLabel(const MemoryItem &item) {
  std::string text = llvm::formatv(
      "{0}{1}: ", item.isRest ? "more stages of " : "", item.getName());
  if (item.count != 1)
    text += llvm::formatv("{0} x ", item.count);
  text += std::to_string(item.size);
  if (item.shared)
    text += llvm::formatv(", {0} shared", item.shared);
  return text;
}

/// Prints the items from top to bottom with their start offsets.
static void printMap(raw_ostream &os, const Memory &memory, int64_t available) {
  ArrayRef<MemoryItem> items = memory.getItems();
  int64_t used = memory.getUsed();
  size_t width = 0;
  SmallVector<std::string> labels;
  for (const MemoryItem &item : items) {
    labels.push_back(getLabel(item));
    width = std::max(width, labels.back().size());
  }
  std::string free = llvm::formatv("free: {0}", available - used);
  width = std::max(width, free.size());
  auto printRule = [&](int64_t offset) {
    os << "  " << llvm::right_justify(std::to_string(offset), 7) << " +"
       << std::string(width + 2, '-') << "+\n";
  };
  auto printBox = [&](StringRef label) {
    os << "          | " << llvm::left_justify(label, width) << " |\n";
  };
  int64_t end = 0;
  for (auto [item, label] : llvm::zip_equal(items, labels)) {
    if (item.offset != end) {
      printRule(end);
      printBox(llvm::formatv("alignment: {0}", item.offset - end).str());
    }
    printRule(item.offset);
    printBox(label);
    end = item.offset + item.getTotal();
  }
  if (used < available) {
    printRule(used);
    printBox(free);
  }
  printRule(available);
}

/// Reports why bulk stores cannot write the result, and sets direct stores.
static void printStores(raw_ostream &os, const MatmulProblem &problem,
                        ScheduleFields &fields) {
  bool isAsked = fields.epilogue == Epilogue::TmaStore;
  if (std::string why = explainDirectStores(problem); !why.empty()) {
    os << "  tma_store is not possible: " << why;
    if (isAsked) {
      os << "; epilogue = direct is used instead";
      fields = withDirectStores(fields);
    }
    os << '\n';
  } else if (ShapedType::isDynamic(problem.n)) {
    os << "  tma_store " << (isAsked ? "needs" : "is not considered: it needs")
       << " result rows of a multiple of 16 bytes, which "
       << (isAsked ? "the launch checks\n"
                   : "unknown sizes do not guarantee\n");
  }
}

/// Returns a subject and verb such as "a and b are".
static StringRef describe(Workspace workspace) {
  return workspace == Workspace::AB  ? "a and b are"
         : workspace == Workspace::A ? "a is"
                                     : "b is";
}

/// Prints the operation, sizes, types and chip.
static void printMatmul(raw_ostream &os, MatmulOpInterface op,
                        const MatmulProblem &problem,
                        const target::TargetInfo &target) {
  os << op->getName();
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    os << " in @" << function.getName();
  os << ": " << getSize(problem.m) << " x " << getSize(problem.n) << " x "
     << getSize(problem.k) << ", " << getName(problem.mma.a->type) << " x "
     << getName(problem.mma.b->type);
  if (problem.hasScales())
    os << " in blocks of " << problem.mma.blockSize;
  os << " (" << problem.mma.getInstruction() << ") to "
     << getElementTypeOrSelf(op.getOut().getType()) << ", ";
  if (problem.where)
    os << "only " << stringifyRowClass(*problem.where) << " elements, ";
  os << target.chip << " with " << target.smCount << " SMs\n";
}

void mx::mxgpu::explainSchedule(raw_ostream &os, MatmulOpInterface op,
                                const MatmulProblem &problem,
                                ScheduleAttr schedule, ScheduleOrigin origin,
                                ArrayRef<Candidate> candidates,
                                const target::TargetInfo &target,
                                StringRef tuned) {
  printMatmul(os, op, problem, target);
  os << "  schedule: " << schedule << '\n';
  os << "  "
     << (origin == ScheduleOrigin::Person ? "written at the operation"
         : origin == ScheduleOrigin::Tuned
             ? tuned.str()
             : llvm::formatv("chosen from {0} candidates by "
                             "the model",
                             candidates.size())
                   .str())
     << "; all cycles are modelled, none is measured\n";
  for (auto [size, name] :
       {std::pair(problem.m, "rows"), std::pair(problem.n, "columns"),
        std::pair(problem.k, "reduction")})
    if (ShapedType::isDynamic(size))
      os << "  unknown " << name << ": modelled as " << kAssumedSize << '\n';
  ScheduleFields fields = schedule.getFields();
  printStores(os, problem, fields);
  if (auto error = checkSchedule(problem, fields, target)) {
    os << "  this schedule is refused: " << error->message << '\n';
    return;
  }
  const Strategy &strategy = getStrategy(problem, fields);
  Candidate chosen = {&strategy, fields,
                      getModelledCost(problem, fields, target)};
  if (fields.workspace != Workspace::None) {
    getRemainder(op, problem, fields.workspace, target)
        ->addBefore(chosen.cost, fields);
    os << "  " << describe(fields.workspace)
       << (getPermuted(fields) != Workspace::None ? " permuted"
                                                  : " dequantized")
       << " to memory before: " << chosen.cost.dequantize
       << " modelled cycles, from here on of " << getWorkspaceType(op) << "\n";
  }
  int64_t permille = getIdealCycles(problem, target) * 1000 /
                     std::max<int64_t>(chosen.cost.total, 1);
  os << "  modelled: " << chosen.cost.total << " cycles, "
     << llvm::formatv("{0}.{1}", permille / 10, permille % 10)
     << " % of the tensor cores' rate; " << chosen.cost.workTiles
     << " work tiles in " << chosen.cost.waves
     << (chosen.cost.waves == 1 ? " wave" : " waves") << ", limited by "
     << chosen.cost.getLimit() << "\n\n";
  if (origin != ScheduleOrigin::Model) {
    bool isRange = origin == ScheduleOrigin::Range;
    os << (isRange                           ? "for all of these sizes:\n"
           : origin == ScheduleOrigin::Tuned ? "as tuned:\n"
                                             : "as written:\n");
    printTable(os, chosen);
    os << (isRange ? "for this one alone:\n" : "the model's own:\n");
  }
  printTable(os, candidates);
  if (candidates.size() > 1)
    printReason(os, candidates[0].cost, candidates[1].cost);

  ScheduleBudget budget = getBudget(problem, fields, target);
  os << "\nshared memory of a CTA, bytes: " << budget.smem.getUsed() << " of "
     << target.smemPerCta << '\n';
  printMap(os, budget.smem, target.smemPerCta);
  if (target.tmemColumns) {
    os << "\ntensor memory, columns of 128 lanes: " << budget.tmem.getUsed()
       << " of " << target.tmemColumns << ", " << budget.tmemAllocated
       << " allocated\n";
    printMap(os, budget.tmem, target.tmemColumns);
  }
  os << "\nthreads of a CTA: " << budget.threads;
  ArrayRef<int64_t> registers = schedule.getRegisters();
  if (registers.empty()) {
    os << ", of up to "
       << std::min<int64_t>(target.registersPerThread,
                            target.registersPerSm / budget.threads / 8 * 8)
       << " registers\n\n";
    return;
  }
  os << ", with ";
  for (auto [i, count, role] :
       llvm::enumerate(registers, strategy.getRoles())) {
    if (i)
      os << (i + 1 < registers.size() ? ", "
             : registers.size() > 2   ? ", and "
                                      : " and ");
    os << count << (i ? " " : " registers ") << role;
  }
  os << "\n\n";
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// Formats thousandths as "2.5 %".
static std::string getPercent(int64_t thousandths) {
  int64_t size = std::abs(thousandths);
  return llvm::formatv("{0}{1}.{2} %", thousandths < 0 ? "-" : "", size / 10,
                       size % 10);
}

/// Formats a case's limits, e.g. "m up to 64, n up to 512" or "all others".
static std::string getLimits(const ScheduleCase &one) {
  std::string text;
  for (SizeName name : kSizeNames)
    if (int64_t limit = one.limits[static_cast<size_t>(name)];
        !ShapedType::isDynamic(limit))
      text += llvm::formatv("{0}{1} up to {2}", text.empty() ? "" : ", ",
                            stringifySizeName(name), limit);
  return text.empty() ? "all others" : text;
}

void mx::mxgpu::explainCases(raw_ostream &os, MatmulOpInterface op,
                             const MatmulProblem &problem,
                             ArrayRef<ScheduleCase> cases,
                             const target::TargetInfo &target) {
  printMatmul(os, op, problem, target);
  os << "  a schedule for each range of sizes; the first that the sizes fit "
        "runs\n";
  // The first range of each schedule provides the example.
  llvm::MapVector<ScheduleAttr, const ScheduleCase *> schedules;
  for (auto [index, one] : llvm::enumerate(cases)) {
    schedules.insert({one.schedule, &one});
    os << "  " << index + 1 << "  " << getLimits(one) << ": schedule "
       << schedules.find(one.schedule) - schedules.begin() + 1
       << ", modelled at " << one.sizes << (one.sizes == 1 ? " size" : " sizes")
       << ", slower than the best schedule there by "
       << getPercent(one.meanLoss) << " on average, "
       << getPercent(one.worstLoss) << " at worst\n";
  }
  os << '\n';
  for (auto [index, entry] : llvm::enumerate(schedules)) {
    const ScheduleCase &one = *entry.second;
    os << "schedule " << index + 1 << ", " << getLimits(one)
       << ", for example\n";
    explainSchedule(
        os, op,
        getRemainder(op, one.example, one.schedule.getWorkspace(), target)
            ->problem,
        one.schedule, ScheduleOrigin::Range,
        rankWithWorkspaces(op, one.example, target), target);
  }
}
