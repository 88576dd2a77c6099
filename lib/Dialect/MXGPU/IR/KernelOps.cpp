//===- KernelOps.cpp - Kernels, roles and launches ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

bool mx::mxgpu::isContiguous(MemRefType type) {
  if (type.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  int64_t inner = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t size = type.getDimSize(dim);
    if (size == 1)
      continue;
    if (ShapedType::isDynamic(inner) || strides[dim] != inner)
      return false;
    inner = ShapedType::isDynamic(size) ? size : inner * size;
  }
  return true;
}

Type mx::mxgpu::getParameterType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !isContiguous(memref))
    return type;
  return MemRefType::get(memref.getShape(), memref.getElementType(),
                         MemRefLayoutAttrInterface(), memref.getMemorySpace());
}

SmallVector<KernelParameter> mx::mxgpu::getKernelParameters(Type type) {
  if (isa<TensorMapType>(type))
    return {{KernelParameter::TensorMap}};
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return {{KernelParameter::Number}};
  SmallVector<KernelParameter> parameters = {{KernelParameter::Pointer}};
  auto addOpen = [&](KernelParameter::Kind kind, ArrayRef<int64_t> numbers) {
    for (auto [dim, number] : llvm::enumerate(numbers))
      if (ShapedType::isDynamic(number))
        parameters.push_back({kind, unsigned(dim)});
  };
  addOpen(KernelParameter::Size, memref.getShape());
  if (memref.getLayout().isIdentity())
    return parameters;
  auto [strides, offset] = memref.getStridesAndOffset();
  addOpen(KernelParameter::Stride, strides);
  addOpen(KernelParameter::Offset, offset);
  return parameters;
}

//===----------------------------------------------------------------------===//
// Kernels and roles
//===----------------------------------------------------------------------===//

/// Returns true if convert-mxgpu-to-nvvm supports a parameter of this type.
static bool isParameter(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return memref.isStrided() && !memref.getMemorySpace();
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && integer.getWidth() <= 64 &&
           llvm::isPowerOf2_32(integer.getWidth());
  return isa<TensorMapType, IndexType, Float16Type, BFloat16Type, Float32Type,
             Float64Type>(type);
}

LogicalResult KernelOp::verify() {
  if (getFunctionType().getNumResults()) // kernel C1
    return emitOpError("expected no results, found ")
           << getFunctionType().getNumResults();
  // kernel C2
  if (getBody().getArgumentTypes() != getFunctionType().getInputs())
    return emitOpError("expected body arguments that match the kernel's type ")
           << getFunctionType() << ", found (" << getBody().getArgumentTypes()
           << ")";
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) // kernel C3
    if (!isParameter(type))
      return emitOpError("expected tensor maps, memrefs with strides in the "
                         "default memory space, indices, integers or floats, "
                         "found argument ")
             << index << " of type " << type;
  if (getCluster() != 1 && getCluster() != 2) // kernel C4
    return emitOpError("expected a cluster of 1 or 2 CTAs, found ")
           << getCluster();
  if (getClusterSplits() != 1 &&
      (!isClusterSplitCount(getClusterSplits()) || isPair())) // kernel C69
    return emitOpError(
               "expected cluster_splits from 2 to 8, and no CTA pairs, found ")
           << getClusterSplits();
  // kernel C6
  if (IntegerAttr ctas = getMinCtasAttr(); ctas && ctas.getInt() < 1)
    return emitOpError("expected min_ctas of at least 1, found ")
           << ctas.getInt();
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (getJoinedAttr()) {
    if (!getBody().front().empty()) // kernel C76
      return emitOpError("expected an empty body of joined kernels, found ")
             << getBody().front().front().getName();
    return success();
  }
  if (getNumThreads() == 0) // kernel C10
    return emitOpError("expected at least 1 role, found none");
  if (getNumThreads() > target::kMaxThreadsPerCta) // kernel C11
    return emitOpError("expected at most ")
           << target::kMaxThreadsPerCta << " threads, found "
           << getNumThreads();
  llvm::SmallDenseSet<StringAttr> names;
  for (RoleOp role : getBody().getOps<RoleOp>()) {
    if (!names.insert(role.getSymNameAttr()).second) // role C5
      return role.emitOpError("expected roles with different names, found ")
             << role.getSymNameAttr() << " twice";
    if (role.getOnLeader() && !isPair()) // role C7
      return role.emitOpError("'on_leader' requires a kernel with cluster(2), "
                              "found cluster(")
             << getCluster() << ')';
  }
  for (auto assign : getBody().getOps<AssignWarpsOp>())
    if (!names.erase(assign.getRoleAttr())) // assign_warps C1
      return assign.emitOpError("expected a role of the kernel that no other "
                                "mxgpu.assign_warps names, found ")
             << assign.getRoleAttr();
  return success();
}

std::string mx::mxgpu::explainNotJoined(KernelOp a, KernelOp b) {
  auto explain = [](StringRef what, int64_t ofA, int64_t ofB) {
    return llvm::formatv("{0}, found {1} and {2}", what, ofA, ofB).str();
  };
  if (a.getNumThreads() != b.getNumThreads())
    return explain("numbers of threads", a.getNumThreads(), b.getNumThreads());
  if (a.getClusterSize() != b.getClusterSize())
    return explain("cluster sizes", a.getClusterSize(), b.getClusterSize());
  int64_t ofA = a.getLaunchRegisters().value_or(0),
          ofB = b.getLaunchRegisters().value_or(0);
  return ofA == ofB ? "" : explain("registers at launch", ofA, ofB);
}

LogicalResult KernelOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getJoinedAttr())
    return success();
  if (getJoined()->size() < 2) // kernel C77
    return emitOpError("expected at least 2 joined kernels, found ")
           << getJoined()->size();
  SmallVector<Type> types(getJoined()->size() - 1,
                          IndexType::get(getContext()));
  KernelOp first;
  for (auto name : getJoined()->getAsRange<FlatSymbolRefAttr>()) {
    Operation *found = symbolTable.lookupSymbolIn((*this)->getParentOp(), name);
    auto kernel = dyn_cast_if_present<KernelOp>(found);
    if (!kernel && isa_and_present<FunctionOpInterface>(found))
      return success();                    // lowered
    if (!kernel || kernel.getJoinedAttr()) // kernel C78
      return emitOpError("expected an mxgpu.kernel with roles, found ")
             << (found ? found->getName().getStringRef() : "nothing")
             << " named " << name;
    if (!first)
      first = kernel;
    // kernel C79
    if (std::string why = explainNotJoined(first, kernel); !why.empty())
      return emitOpError("expected joined kernels with equal ") << why;
    llvm::append_range(types, kernel.getArgumentTypes());
  }
  if (getArgumentTypes() != ArrayRef(types)) // kernel C80
    return emitOpError("expected arguments (")
           << types << ") of the joined kernels, found (" << getArgumentTypes()
           << ")";
  return success();
}

SmallVector<KernelOp> mx::mxgpu::getParts(KernelOp kernel) {
  if (!kernel.getJoinedAttr())
    return {kernel};
  return llvm::map_to_vector(
      kernel.getJoined()->getAsRange<FlatSymbolRefAttr>(), [&](auto name) {
        return SymbolTable::lookupNearestSymbolFrom<KernelOp>(kernel, name);
      });
}

bool KernelOp::waitsForDependencies() {
  return llvm::all_of(getParts(*this), [](KernelOp kernel) {
    return !kernel.getBody().getOps<WaitDependenciesOp>().empty();
  });
}

int64_t KernelOp::getNumThreads() {
  if (getJoinedAttr())
    return getParts(*this)[0].getNumThreads();
  int64_t warps = 0;
  ScheduleAttr schedule = getScheduleAttr();
  bool dividesRegisters = schedule && !schedule.getRegisters().empty();
  for (RoleOp role : getBody().getOps<RoleOp>()) {
    warps += role.getWarps();
    dividesRegisters |= role.getRegisters().has_value();
  }
  if (dividesRegisters)
    warps = llvm::alignTo(warps, target::kWarpGroupWarps);
  return warps * target::kWarpSize;
}

std::optional<int64_t> KernelOp::getLaunchRegisters() {
  llvm::SmallDenseMap<int64_t, int64_t> groups; // registers per warpgroup
  for (auto role : getBody().getOps<RoleOp>()) {
    std::optional<int64_t> registers = role.getRegisters();
    if (!registers)
      return std::nullopt;
    for (int64_t warp = 0; warp < int64_t(role.getWarps()); ++warp)
      groups[(role.getFirstWarp() + warp) / target::kWarpGroupWarps] =
          *registers;
  }
  int64_t sum = 0;
  for (auto [group, registers] : groups)
    sum += registers;
  return llvm::alignTo(llvm::divideCeil(sum, groups.size()),
                       target::kSetMaxNRegStep);
}

LogicalResult RoleOp::verify() {
  constexpr int64_t kMaxWarps = target::kMaxThreadsPerCta / target::kWarpSize;
  if (getWarps() > kMaxWarps) // role C1
    return emitOpError("expected at most ")
           << kMaxWarps << " warps, found " << getWarps();
  if (getElected() && getWarps() != 1) // role C3
    return emitOpError("expected 1 warp in an elected role, found ")
           << getWarps();
  return success();
}

bool RoleOp::needsBarrier() {
  return getBody()
      .walk([](ProducerAcquireOp acquire) {
        RingType ring = acquire.getRing().getType();
        return ring.isStaging() && ring.getScope() != Scope::Warp
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<SmallVector<RoleOp>> mx::mxgpu::getRolesByWarp(KernelOp kernel) {
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  for (RoleOp role : roles)
    if (!role.getAssignment()) // assign_warps C3
      return role.emitOpError(
          "expected an mxgpu.assign_warps for the role, found none: run "
          "mxgpu-assign-warps to assign warps to all roles");
  llvm::sort(roles, [](RoleOp a, RoleOp b) {
    return a.getFirstWarp() < b.getFirstWarp();
  });
  return roles;
}

/// The number of a warp modulo 4 determines which tensor memory lanes the warp
/// can access (PTX ISA, tcgen05 access restrictions). A warpgroup starts at a
/// multiple of 4.
int64_t RoleOp::getWarpMultiple() {
  int64_t multiple = 1;
  walk([&](LoadAccumulatorOp) { multiple = target::kWarpGroupWarps; });
  walk([&](MmaOp mma) {
    int64_t threads = mma.getKind().getRoles().threads;
    multiple = std::max<int64_t>(multiple,
                                 llvm::divideCeil(threads, target::kWarpSize));
  });
  return multiple;
}

AssignWarpsOp RoleOp::getAssignment() {
  for (auto assign : (*this)->getBlock()->getOps<AssignWarpsOp>())
    if (assign.getRoleAttr() == getSymNameAttr())
      return assign;
  return {};
}

int64_t RoleOp::getFirstWarp() { return getAssignment().getFirstWarp(); }

std::optional<int64_t> RoleOp::getRegisters() {
  AssignWarpsOp assign = getAssignment();
  return assign ? assign.getRegisters() : std::nullopt;
}

int64_t RoleOp::getNamedBarrier() {
  auto roles = (*this)->getBlock()->getOps<RoleOp>();
  return std::distance(roles.begin(), llvm::find(roles, *this)) + 1;
}

/// Checks the counts that setmaxnreg accepts.
LogicalResult AssignWarpsOp::verify() {
  int64_t count = getRegisters().value_or(target::kSetMaxNRegMin);
  if (count >= target::kSetMaxNRegMin && count <= target::kSetMaxNRegMax &&
      count % target::kSetMaxNRegStep == 0)
    return success();
  // assign_warps C2
  return emitOpError("expected a register count that is a multiple of ")
         << target::kSetMaxNRegStep << " from " << target::kSetMaxNRegMin
         << " to " << target::kSetMaxNRegMax << ", found " << count;
}

//===----------------------------------------------------------------------===//
// In kernels and roles
//===----------------------------------------------------------------------===//

bool mx::mxgpu::isInPair(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel && kernel.isPair();
}

LogicalResult mx::mxgpu::verifyInKernel(Operation *op) {
  if (isa_and_present<KernelOp, FunctionOpInterface>(op->getParentOp()))
    return success();
  // shared C6
  return op->emitOpError("expected to be directly inside a kernel");
}

LogicalResult mx::mxgpu::verifyInRole(Operation *op) {
  if (getRole(op) || !op->getParentOfType<KernelOp>())
    return success();
  return op->emitOpError("expected to be inside a role"); // shared C7
}

int64_t mx::mxgpu::getClusterSplits(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getClusterSplits() : 1;
}

LogicalResult CtaRankOp::verify() {
  if (isInPair(*this) || getClusterSplits(*this) > 1 ||
      !(*this)->getParentOfType<KernelOp>())
    return success();
  // cta_rank C1
  return emitOpError(
      "expected to be inside a kernel with cluster(2) or cluster_splits(n)");
}

/// Returns true if `op` accesses only memory of the CTA.
static bool isLocal(Operation &op) {
  auto effects = getEffectsRecursively(&op);
  return isa<RingOp>(op) ||
         (effects && llvm::all_of(*effects, [](const auto &effect) {
            return isa<SharedMemory, TensorMemory, Barriers>(
                effect.getResource());
          }));
}

/// Fails if an earlier operation accesses global memory. Rings use memory of
/// the CTA, and tensor maps are kernel parameters, so both may come first.
LogicalResult WaitDependenciesOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  if (!isa<KernelOp>((*this)->getParentOp()))
    return success(); // a lowered kernel, which contains the set-up
  for (Operation &op : *(*this)->getBlock()) {
    if (&op == getOperation())
      break;
    if (isLocal(op))
      continue;
    // wait_dependencies C1
    InFlightDiagnostic error = emitOpError(
        "expected no role and no memory access before the op, found ");
    error << op.getName();
    error.attachNote(op.getLoc()) << "here";
    return error;
  }
  return success();
}

LogicalResult LaunchDependentsOp::verify() {
  if (isa_and_present<KernelOp>((*this)->getParentOp()))
    return success();
  return verifyInRole(*this); // launch_dependents C1
}

LogicalResult ThreadIdOp::verify() { return verifyInRole(*this); }

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

/// Allows only `%lld` and `%%`. Other conversions would read missing arguments.
LogicalResult RequireOp::verify() {
  StringRef rest = getMessage();
  if (rest.contains('\0')) // require C1
    return emitOpError("expected a message without zero bytes");
  size_t places = 0;
  for (size_t at; (at = rest.find('%')) != StringRef::npos;) {
    rest = rest.drop_front(at);
    if (!rest.consume_front("%%") && !rest.consume_front("%lld")) // require C2
      return emitOpError("expected only %lld and %% in the message, found \"")
             << rest.take_front(4) << '"';
    places += rest.data()[-1] == 'd';
  }
  if (places != getValues().size()) // require C3
    return emitOpError("expected ")
           << places << " values for the message, found " << getValues().size();
  return success();
}

/// Erases a check with a true condition, or with the condition of an earlier
/// check in the same or an enclosing block.
LogicalResult RequireOp::canonicalize(RequireOp op, PatternRewriter &rewriter) {
  auto isEarlier = [&](Operation *user) {
    Operation *self = user->getBlock()->findAncestorOpInBlock(*op);
    return isa<RequireOp>(user) && self && user->isBeforeInBlock(self);
  };
  if (!matchPattern(op.getCondition(), m_One()) &&
      llvm::none_of(op.getCondition().getUsers(), isEarlier))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto *callee =
      symbolTable.lookupNearestSymbolFrom(getOperation(), getKernelAttr());
  // Launches are lowered before kernels become llvm.func.
  auto kernel = dyn_cast_if_present<KernelOp>(callee);
  if (!kernel) // launch C1
    return emitOpError("expected an mxgpu.kernel, found ")
           << (callee ? callee->getName().getStringRef() : "nothing")
           << " named " << getKernelAttr();
  if (kernel.getArgumentTypes().size() != getArgs().size()) // launch C2
    return emitOpError("expected ") << kernel.getArgumentTypes().size()
                                    << " arguments, found " << getArgs().size();
  // launch C3
  for (auto [index, expected, found] :
       llvm::enumerate(kernel.getArgumentTypes(), getArgs().getTypes()))
    if (expected != found && expected != getParameterType(found))
      return emitOpError("expected argument ")
             << index << " of type " << expected << ", found " << found;
  return success();
}
