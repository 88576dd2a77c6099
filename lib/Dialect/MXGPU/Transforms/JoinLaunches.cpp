//===- JoinLaunches.cpp - Join launches of small kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MXGPU/IR/LaunchArrays.h"
#include "mx/Dialect/MXGPU/Transforms/Passes.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_MXGPUJOINLAUNCHES
#include "mx/Dialect/MXGPU/Transforms/Passes.h.inc"
} // namespace mx::mxgpu

/// Maximum number of work tiles of joined kernels.
static constexpr int64_t kMostTiles = 1024;

/// Returns the number of work tiles, or none. `tiles` limited by a number of
/// CTAs count as that number if they are unknown.
static std::optional<int64_t> getWorkTiles(Value tiles, int64_t sms) {
  APInt number;
  if (matchPattern(tiles, m_ConstantInt(&number)))
    return number.getSExtValue();
  Operation *op = tiles.getDefiningOp();
  if (isa_and_present<SmCountOp>(op))
    return sms;
  if (!isa_and_present<arith::MinSIOp, arith::MinUIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<int64_t> a = getWorkTiles(op->getOperand(0), sms),
                         b = getWorkTiles(op->getOperand(1), sms);
  if (isa<arith::MulIOp>(op))
    return a && b ? std::optional(*a * *b) : std::nullopt;
  return a && b ? std::max(*a, *b) : a ? a : b;
}

namespace {
/// Launch that can be joined with later launches of its block.
struct Candidate {
  LaunchOp launch;
  KernelOp kernel;
  int64_t tiles;
};
} // namespace

static std::optional<Candidate> getCandidate(LaunchOp launch, int64_t sms) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      launch, launch.getKernelAttr());
  std::optional<int64_t> tiles = getWorkTiles(launch.getGrid(), sms);
  if (!kernel || kernel.getJoinedAttr() || !tiles)
    return std::nullopt;
  return Candidate{launch, kernel, *tiles};
}

/// Returns true if neither launch may write an array that the other accesses.
static bool areIndependent(Candidate a, Candidate b) {
  for (auto [first, inA] :
       llvm::zip_equal(a.launch.getArgs(), a.kernel.getBody().getArguments()))
    for (auto [second, inB] : llvm::zip_equal(
             b.launch.getArgs(), b.kernel.getBody().getArguments())) {
      if (!isa<BaseMemRefType, TensorMapType>(first.getType()) ||
          !(mayBe(second, findArray(first)) || mayBe(first, findArray(second))))
        continue;
      if (mayWrite(inA) || mayWrite(inB))
        return false;
    }
  return true;
}

static bool canJoin(ArrayRef<Candidate> joined, Candidate next) {
  int64_t tiles = next.tiles;
  for (Candidate one : joined) {
    tiles += one.tiles;
    if (one.kernel->getParentOp() != next.kernel->getParentOp() ||
        !explainNotJoined(one.kernel, next.kernel).empty() ||
        !areIndependent(one, next))
      return false;
  }
  return tiles <= kMostTiles;
}

/// Returns true if launches can move past `op`. Launches after a failed
/// requirement have no effect.
static bool canPass(Operation *op) {
  return isMemoryEffectFree(op) || isa<memref::AllocOp, RequireOp>(op);
}

/// Returns the sets of at least two launches to join, in order.
static SmallVector<SmallVector<Candidate>> findSets(Block &block, int64_t sms) {
  SmallVector<SmallVector<Candidate>> sets(1);
  for (Operation &op : block) {
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch && canPass(&op))
      continue;
    std::optional<Candidate> next;
    if (launch)
      next = getCandidate(launch, sms);
    if (next && !sets.back().empty() && canJoin(sets.back(), *next)) {
      sets.back().push_back(*next);
      continue;
    }
    sets.emplace_back();
    if (next)
      sets.back().push_back(*next);
  }
  llvm::erase_if(sets, [](const auto &set) { return set.size() < 2; });
  return sets;
}

/// Returns the joined kernel of `set`, an existing kernel if possible.
static KernelOp getJoined(ArrayRef<Candidate> set) {
  auto module = set[0].kernel->getParentOfType<gpu::GPUModuleOp>();
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  std::string name;
  SmallVector<Attribute> kernels;
  SmallVector<Location> locations;
  SmallVector<Type> types(set.size() - 1, builder.getIndexType());
  for (Candidate one : set) {
    name += (name.empty() ? "" : "_and_") + one.kernel.getSymName().str();
    kernels.push_back(FlatSymbolRefAttr::get(one.kernel.getSymNameAttr()));
    locations.push_back(one.kernel.getLoc());
    llvm::append_range(types, one.kernel.getArgumentTypes());
  }
  ArrayAttr wanted = builder.getArrayAttr(kernels);
  for (auto kernel : module.getOps<KernelOp>())
    if (kernel.getJoinedAttr() == wanted)
      return kernel;
  Location loc = builder.getFusedLoc(locations);
  auto joined = KernelOp::create(builder, loc, TypeRange(), ValueRange());
  joined.setSymName(name);
  joined.setFunctionType(builder.getFunctionType(types, {}));
  joined.setJoinedAttr(wanted);
  Block &body = joined.getBody().emplaceBlock();
  body.addArguments(types, SmallVector<Location>(types.size(), loc));
  SymbolTable(module).insert(joined);
  return joined;
}

static void join(ArrayRef<Candidate> set) {
  LaunchOp last = set.back().launch;
  OpBuilder builder(last);
  SmallVector<Location> locations;
  SmallVector<Value> counts, arguments;
  Value grid;
  for (Candidate one : set) {
    LaunchOp launch = one.launch;
    locations.push_back(launch.getLoc());
    if (grid)
      grid = arith::AddIOp::create(builder, launch.getLoc(), grid,
                                   launch.getGrid());
    else
      grid = launch.getGrid();
    if (launch != last)
      counts.push_back(launch.getGrid());
    llvm::append_range(arguments, launch.getArgs());
  }
  counts.append(arguments);
  KernelOp joined = getJoined(set);
  auto module = joined->getParentOfType<gpu::GPUModuleOp>();
  LaunchOp::create(
      builder, builder.getFusedLoc(locations),
      SymbolRefAttr::get(module.getNameAttr(),
                         FlatSymbolRefAttr::get(joined.getSymNameAttr())),
      grid, counts);
  for (Candidate one : set)
    one.launch.erase();
}

namespace {
struct JoinLaunchesPass final
    : mxgpu::impl::MXGPUJoinLaunchesBase<JoinLaunchesPass> {
  using MXGPUJoinLaunchesBase::MXGPUJoinLaunchesBase;

  void runOnOperation() override {
    std::string error;
    const target::TargetInfo *target = target::lookupKernelTarget(chip, error);
    if (!target) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    SmallVector<SmallVector<Candidate>> sets;
    getOperation().walk([&](Block *block) {
      llvm::append_range(sets, findSets(*block, target->smCount));
    });
    if (sets.empty())
      return markAllAnalysesPreserved();
    llvm::SetVector<KernelOp> kernels;
    for (ArrayRef<Candidate> set : sets) {
      for (Candidate one : set)
        kernels.insert(one.kernel);
      join(set);
    }
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
              launch, launch.getKernelAttr()))
        kernels.remove(kernel);
    });
    for (KernelOp kernel : kernels)
      SymbolTable::setSymbolVisibility(kernel,
                                       SymbolTable::Visibility::Private);
  }
};
} // namespace
