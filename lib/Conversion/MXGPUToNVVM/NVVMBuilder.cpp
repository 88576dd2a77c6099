//===- NVVMBuilder.cpp - Every NVVM instruction that mx emits -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "NVVMBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

static NVVM::CTAGroupKind toGroup(bool pair) {
  return pair ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

//===----------------------------------------------------------------------===//
// Numbers and addresses
//===----------------------------------------------------------------------===//

Value NVVMBuilder::i1(bool value) {
  return arith::ConstantOp::create(*this, getBoolAttr(value));
}
Value NVVMBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}
Value NVVMBuilder::i64(uint64_t value) {
  return arith::ConstantOp::create(
      *this, getI64IntegerAttr(static_cast<int64_t>(value)));
}
Value NVVMBuilder::index(int64_t value) {
  return arith::ConstantOp::create(*this, getIndexAttr(value));
}
Value NVVMBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(*this, a, b);
}
Value NVVMBuilder::mul(Value a, Value b) {
  return arith::MulIOp::create(*this, a, b);
}
Value NVVMBuilder::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, a, b);
}
Value NVVMBuilder::both(Value a, Value b) {
  return arith::AndIOp::create(*this, a, b);
}

Value NVVMBuilder::toI32(Value value) {
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(*this, getI32Type(), value);
  if (value.getType().isInteger(64))
    return arith::TruncIOp::create(*this, getI32Type(), value);
  return value;
}

Value NVVMBuilder::shared(Value offset) {
  auto type = LLVM::LLVMPointerType::get(getContext(), 3);
  Value base = LLVM::AddressOfOp::create(*this, type, kDynamicSharedName);
  return LLVM::GEPOp::create(*this, type, getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value NVVMBuilder::offset(Value pointer, Value bytes) {
  // Offsets from the start of shared memory are added first, in 32 bits.
  auto start = pointer.getDefiningOp<LLVM::GEPOp>();
  if (start && start.getBase().getDefiningOp<LLVM::AddressOfOp>() &&
      start.getIndices().size() == 1 && start.getElemType().isInteger(8)) {
    auto index = start.getIndices()[0];
    auto constant = dyn_cast<IntegerAttr>(index);
    return shared(
        add(constant ? i32(constant.getInt()) : cast<Value>(index), bytes));
  }
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value NVVMBuilder::offset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      *this, pointer.getType(), getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value NVVMBuilder::shared(int64_t offset) { return shared(i32(offset)); }

Value NVVMBuilder::sharedAddress(Value pointer) {
  return LLVM::PtrToIntOp::create(*this, getI32Type(), pointer);
}

Value NVVMBuilder::keep(Value pointer) {
  return LLVM::InlineAsmOp::create(
             *this, pointer.getType(), ValueRange(pointer), "mov.b64 $0, $1;",
             "=l,l",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

Value NVVMBuilder::after(Value value, Value earlier) {
  Value zero = LLVM::InlineAsmOp::create(
                   *this, getI32Type(), ValueRange(earlier),
                   "shr.u32 $0, $1, 31;", "=r,r", /*has_side_effects=*/false,
                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                   /*asm_dialect=*/LLVM::AsmDialectAttr(),
                   /*operand_attrs=*/ArrayAttr())
                   .getRes();
  return add(value, arith::ExtUIOp::create(*this, value.getType(), zero));
}

Value NVVMBuilder::tensorPointer(Value address) {
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 6), address);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value NVVMBuilder::threadId() {
  return NVVM::ThreadIdXOp::create(*this, getI32Type());
}
Value NVVMBuilder::warpInCta() {
  Value thread = threadId();
  return arith::ShRUIOp::create(*this, thread,
                                i32(llvm::Log2_32(mx::target::kWarpSize)));
}
Value NVVMBuilder::ctaId() {
  return NVVM::BlockIdXOp::create(*this, getI32Type());
}
Value NVVMBuilder::ctaCount() {
  return NVVM::GridDimXOp::create(*this, getI32Type());
}
Value NVVMBuilder::clusterId() {
  return NVVM::ClusterIdXOp::create(*this, getI32Type());
}
Value NVVMBuilder::clusterCount() {
  return NVVM::ClusterDimXOp::create(*this, getI32Type());
}
Value NVVMBuilder::ctaRank() {
  return NVVM::ClusterId::create(*this, getI32Type());
}
Value NVVMBuilder::isLeader() {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, ctaRank(),
                               i32(0));
}

// Not nvvm.barrier: printed with locations it does not parse in LLVM 22.
void NVVMBuilder::syncCta() { NVVM::Barrier0Op::create(*this); }
void NVVMBuilder::syncWarp() { NVVM::SyncWarpOp::create(*this, i32(-1)); }

void NVVMBuilder::syncThreads(int64_t number, int64_t count) {
  LLVM::CallIntrinsicOp::create(
      *this, getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.count"),
      ValueRange{i32(number), i32(count)});
}

void NVVMBuilder::syncCluster() {
  NVVM::ClusterArriveOp::create(*this, getUnitAttr());
  NVVM::ClusterWaitOp::create(*this, getUnitAttr());
}

void NVVMBuilder::setRegisters(int64_t count, bool more) {
  NVVM::SetMaxRegisterOp::create(*this, count,
                                 more ? NVVM::SetMaxRegisterAction::increase
                                      : NVVM::SetMaxRegisterAction::decrease);
}

void NVVMBuilder::waitForGrids() {
  NVVM::GriddepcontrolOp::create(*this, NVVM::GridDepActionKind::wait);
}

void NVVMBuilder::launchDependentGrids() {
  NVVM::GriddepcontrolOp::create(*this,
                                 NVVM::GridDepActionKind::launch_dependents);
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

void NVVMBuilder::initBarrier(Value barrier, Value count) {
  NVVM::MBarrierInitOp::create(*this, barrier, count, /*predicate=*/Value());
}

void NVVMBuilder::fenceBarrierInit() {
  NVVM::FenceMbarrierInitOp::create(*this);
}

/// How often an instruction arrives, where that is not once.
static Value getArrivals(NVVMBuilder &builder, int64_t count) {
  return count == 1 ? Value() : builder.i32(count);
}

void NVVMBuilder::arrive(Value barrier, int64_t count) {
  NVVM::MBarrierArriveOp::create(*this, getI64Type(), barrier,
                                 getArrivals(*this, count));
}

void NVVMBuilder::arriveExpectBytes(Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      *this, /*res=*/Type(), barrier, i32(bytes), NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, /*predicate=*/Value());
}

Value NVVMBuilder::inCluster(Value pointer) {
  Value address = LLVM::PtrToIntOp::create(*this, getI64Type(), pointer);
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 7), address);
}

Value NVVMBuilder::atLeader(Value pointer) {
  Value address = LLVM::PtrToIntOp::create(*this, getI64Type(), pointer);
  Value leader = arith::AndIOp::create(*this, address,
                                       i64(mx::target::kLeaderAddressMask));
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 3), leader);
}

void NVVMBuilder::arriveInCluster(Value barrier, int64_t count) {
  NVVM::MBarrierArriveOp::create(*this, /*res=*/Type(), inCluster(barrier),
                                 getArrivals(*this, count),
                                 NVVM::MemScopeKind::CLUSTER,
                                 /*relaxed=*/false);
}

void NVVMBuilder::arriveExpectBytesInCluster(Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      *this, /*res=*/Type(), inCluster(barrier), i32(bytes),
      NVVM::MemScopeKind::CLUSTER, /*relaxed=*/false, /*predicate=*/Value());
}

void NVVMBuilder::arriveAt(Value barrier, int64_t rank) {
  Value remote = NVVM::MapaOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), 7), barrier, i32(rank));
  NVVM::MBarrierArriveOp::create(*this, /*res=*/Type(), remote,
                                 /*count=*/Value(), NVVM::MemScopeKind::CLUSTER,
                                 /*relaxed=*/false);
}

void NVVMBuilder::wait(Value barrier, Value parity, bool cluster) {
  // try_wait may give up before the phase completes, so it stands in a loop.
  scf::WhileOp::create(
      *this, TypeRange(), ValueRange(),
      [&](OpBuilder &builder, Location loc, ValueRange) {
        Value done = NVVM::MBarrierTryWaitOp::create(
            builder, loc, builder.getI1Type(), barrier, parity,
            /*ticks=*/Value(),
            cluster ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA);
        Value yes =
            arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
        Value again = arith::XOrIOp::create(builder, loc, done, yes);
        scf::ConditionOp::create(builder, loc, again, ValueRange());
      },
      [](OpBuilder &builder, Location loc, ValueRange) {
        scf::YieldOp::create(builder, loc);
      });
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

void NVVMBuilder::requestCluster(Value answer, Value barrier, bool multicast) {
  NVVM::ClusterLaunchControlTryCancelOp::create(*this, multicast, answer,
                                                barrier);
}

Value NVVMBuilder::loadAnswer(Value address) {
  return LLVM::LoadOp::create(*this, getIntegerType(128), address,
                              /*alignment=*/16);
}

Value NVVMBuilder::isCluster(Value answer) {
  return NVVM::ClusterLaunchControlQueryCancelOp::create(
      *this, getI1Type(), NVVM::ClusterLaunchControlQueryType::IS_CANCELED,
      answer);
}

Value NVVMBuilder::getFirstCta(Value answer) {
  return NVVM::ClusterLaunchControlQueryCancelOp::create(
      *this, getI32Type(),
      NVVM::ClusterLaunchControlQueryType::GET_FIRST_CTA_ID_X, answer);
}

void NVVMBuilder::fenceAsyncShared() {
  NVVM::FenceProxyOp::create(
      *this,
      NVVM::ProxyKindAttr::get(getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
}

//===----------------------------------------------------------------------===//
// Bulk tensor copies
//===----------------------------------------------------------------------===//

Value NVVMBuilder::maskOf(bool both) {
  return both ? arith::ConstantOp::create(*this, getI16IntegerAttr(0b11))
                    .getResult()
              : Value();
}

void NVVMBuilder::prefetchTensorMap(Value map) {
  NVVM::PrefetchOp::create(*this, /*cacheLevel=*/NVVM::PrefetchCacheLevelAttr(),
                           /*evictPriority=*/NVVM::CacheEvictionPriorityAttr(),
                           map, /*predicate=*/Value(), /*tensormap=*/true,
                           /*uniform=*/false, /*in_param_space=*/false);
}

void NVVMBuilder::loadTensor(Value dest, Value map, ArrayRef<Value> coords,
                             Value barrier, Value policy) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      *this, dest, map, coords, barrier, /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), policy, NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/true,
      /*group=*/NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

void NVVMBuilder::loadTensorOfPair(Value dest, Value map,
                                   ArrayRef<Value> coords, Value barrier,
                                   Value policy, bool multicast) {
  Value mask = maskOf(multicast);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      *this, inCluster(dest), map, coords, barrier,
      /*im2colOffsets=*/ValueRange(), mask, policy, NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr::get(getContext(), toGroup(/*pair=*/true)),
      /*predicate=*/Value());
}

void NVVMBuilder::storeTensor(Value source, Value map, ArrayRef<Value> coords,
                              bool add) {
  if (add)
    NVVM::CpAsyncBulkTensorReduceOp::create(*this, map, source,
                                            NVVM::TMAReduxKind::ADD,
                                            NVVM::TMAStoreMode::TILE, coords,
                                            /*l2CacheHint=*/Value());
  else
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        *this, map, source, coords, /*l2CacheHint=*/Value(),
        NVVM::TMAStoreMode::TILE,
        /*predicate=*/Value());
}

void NVVMBuilder::storeBulk(Value source, Value address, int64_t bytes) {
  Type global = LLVM::LLVMPointerType::get(getContext(), 1);
  NVVM::CpAsyncBulkSharedCTAToGlobalOp::create(
      *this, LLVM::IntToPtrOp::create(*this, global, address), source,
      i32(bytes),
      /*l2CacheHint=*/Value(), /*byteMask=*/Value());
}

void NVVMBuilder::commitStores() {
  NVVM::CpAsyncBulkCommitGroupOp::create(*this);
}

void NVVMBuilder::waitStores(int64_t groups, bool read) {
  NVVM::CpAsyncBulkWaitGroupOp::create(*this, getI32IntegerAttr(groups),
                                       read ? getUnitAttr() : UnitAttr());
}

SmallVector<Value> NVVMBuilder::loadShared(Value pointer, int64_t words) {
  if (words == 1)
    return {
        LLVM::LoadOp::create(*this, getI32Type(), pointer, /*alignment=*/4)};
  Value vector =
      LLVM::LoadOp::create(*this, VectorType::get({words}, getI32Type()),
                           pointer, /*alignment=*/words * 4);
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < words; ++i)
    loaded.push_back(LLVM::ExtractElementOp::create(*this, vector, i32(i)));
  return loaded;
}

void NVVMBuilder::storeShared(Value pointer, ArrayRef<Value> words) {
  if (words.size() == 1) {
    LLVM::StoreOp::create(*this, words[0], pointer, /*alignment=*/4);
    return;
  }
  auto type =
      VectorType::get({static_cast<int64_t>(words.size())}, getI32Type());
  Value vector = LLVM::PoisonOp::create(*this, type);
  for (auto [i, word] : llvm::enumerate(words))
    vector = LLVM::InsertElementOp::create(*this, vector, word, i32(i));
  LLVM::StoreOp::create(*this, vector, pointer, /*alignment=*/words.size() * 4);
}

//===----------------------------------------------------------------------===//
// tcgen05
//===----------------------------------------------------------------------===//

void NVVMBuilder::allocTensorMemory(Value slot, int64_t columns, bool pair) {
  NVVM::Tcgen05AllocOp::create(*this, slot, i32(columns), toGroup(pair));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(*this, toGroup(pair));
}

void NVVMBuilder::freeTensorMemory(Value address, int64_t columns, bool pair) {
  Value start = tensorPointer(address);
  NVVM::Tcgen05DeallocOp::create(*this, start, i32(columns), toGroup(pair));
}

void NVVMBuilder::fenceBeforeSync() {
  NVVM::Tcgen05FenceOp::create(*this,
                               NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}

void NVVMBuilder::fenceAfterSync() {
  NVVM::Tcgen05FenceOp::create(*this,
                               NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

void NVVMBuilder::copyScaleTile(Value address, Value descriptor, bool pair) {
  NVVM::Tcgen05CpOp::create(*this, NVVM::Tcgen05CpShape::SHAPE_32x128b,
                            toGroup(pair), NVVM::Tcgen05CpMulticast::WARPX4,
                            NVVM::Tcgen05CpSrcFormatAttr(),
                            tensorPointer(address), descriptor);
}

static NVVM::MMABlockScaleKind getBlockScaleKind(mx::target::MmaKind kind) {
  using mx::target::MmaKind;
  switch (kind) {
  case MmaKind::MXF8F6F4:
    return NVVM::MMABlockScaleKind::MXF8F6F4;
  case MmaKind::MXF4:
    return NVVM::MMABlockScaleKind::MXF4;
  case MmaKind::MXF4NVF4:
    return NVVM::MMABlockScaleKind::MXF4NVF4;
  case MmaKind::F16:
  case MmaKind::TF32:
  case MmaKind::F8F6F4:
  case MmaKind::I8:
    break;
  }
  llvm_unreachable("the verifier lets only kinds with scales pass");
}

void NVVMBuilder::mmaBlockScaled(const mx::target::InstrDescriptor &instruction,
                                 Value d, Value a, Value b, Value accumulate,
                                 Value aScales, Value bScales) {
  // The spelling .block16 or .block32, which all chips of the family have.
  auto blockScale = instruction.blockSize == 16
                        ? NVVM::Tcgen05MMABlockScale::BLOCK16
                        : NVVM::Tcgen05MMABlockScale::BLOCK32;
  Value accumulator = tensorPointer(d);
  Value word = i32(static_cast<int32_t>(mx::target::encode(instruction)));
  Value aScalesStart = tensorPointer(aScales);
  Value bScalesStart = tensorPointer(bScales);
  NVVM::Tcgen05MMABlockScaleOp::create(
      *this, getBlockScaleKind(instruction.kind),
      toGroup(instruction.ctaGroup == 2), blockScale,
      NVVM::Tcgen05MMACollectorOp::DISCARD, accumulator, a, b, word, accumulate,
      aScalesStart, bScalesStart);
}

void NVVMBuilder::commit(Value barrier, bool pair) {
  NVVM::Tcgen05CommitOp::create(*this, barrier, maskOf(pair), toGroup(pair));
}

Value NVVMBuilder::loadTensorMemory(Value address, int64_t columns) {
  auto type = VectorType::get({columns}, getI32Type());
  Value loaded = NVVM::Tcgen05LdOp::create(
      *this, type, /*pack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B,
      tensorPointer(address), /*offset=*/Value());
  NVVM::Tcgen05WaitOp::create(*this, NVVM::Tcgen05WaitKind::LOAD);
  // LLVM does not know that the registers are filled by the wait, and would
  // pack or even use them between the two. An empty asm that takes and gives
  // each register stands after the wait, since both have side effects; what
  // follows uses its results.
  SmallVector<Value> words;
  SmallVector<Type> types(columns, getI32Type());
  std::string constraints;
  for (int64_t i = 0; i < columns; ++i)
    words.push_back(LLVM::ExtractElementOp::create(*this, loaded, i32(i)));
  for (int64_t i = 0; i < columns; ++i)
    constraints += "=r,";
  for (int64_t i = 0; i < columns; ++i)
    constraints += std::to_string(i) + (i + 1 < columns ? "," : "");
  Type structType = LLVM::LLVMStructType::getLiteral(getContext(), types);
  Value tied = LLVM::InlineAsmOp::create(
                   *this, columns == 1 ? Type(getI32Type()) : structType, words,
                   "", constraints, /*has_side_effects=*/true,
                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                   /*asm_dialect=*/LLVM::AsmDialectAttr(),
                   /*operand_attrs=*/ArrayAttr())
                   .getRes();
  Value result = LLVM::PoisonOp::create(*this, type);
  for (int64_t i = 0; i < columns; ++i) {
    Value word =
        columns == 1
            ? tied
            : LLVM::ExtractValueOp::create(*this, tied, ArrayRef<int64_t>{i})
                  .getResult();
    result = LLVM::InsertElementOp::create(*this, result, word, i32(i));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

void NVVMBuilder::accessGlobal(StringRef instruction, StringRef type,
                               Value pointer, int64_t offset,
                               ArrayRef<Value> words, Value condition) {
  size_t count = words.size();
  unsigned bits = words[0].getType().getIntOrFloatBitWidth();
  std::string text, constraints = "l", list;
  for (size_t i = 1; i <= count; ++i) {
    list += (i > 1 ? ", $" : "$") + std::to_string(i);
    constraints += bits == 16 ? ",h" : ",r";
  }
  llvm::raw_string_ostream os(text);
  if (condition)
    os << "@$" << count + 1 << ' ';
  os << instruction;
  if (count > 1)
    os << ".v" << count;
  os << type << " [$0+" << offset << "], ";
  if (count > 1)
    os << '{' << list << "};";
  else
    os << list << ';';
  SmallVector<Value> operands = {pointer};
  llvm::append_range(operands, words);
  if (condition) {
    operands.push_back(condition);
    constraints += ",b";
  }
  LLVM::InlineAsmOp::create(
      *this, TypeRange(), operands, text, constraints + ",~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
      /*operand_attrs=*/ArrayAttr());
}

// Cache eviction priorities of plain stores, and reductions of vectors, have no
// intrinsic. An inline asm without `.aligned` instructions may be copied and
// moved.
void NVVMBuilder::storeGlobal(Value pointer, int64_t offset,
                              ArrayRef<Value> words, Value condition) {
  unsigned bits = words[0].getType().getIntOrFloatBitWidth();
  accessGlobal("st.global.L1::no_allocate", ".b" + std::to_string(bits),
               pointer, offset, words, condition);
}

void NVVMBuilder::addGlobal(Value pointer, int64_t offset,
                            ArrayRef<Value> words, Value condition) {
  accessGlobal("red.relaxed.gpu.global.add", ".f32", pointer, offset, words,
               condition);
}

Value NVVMBuilder::loadGlobal(Value pointer, VectorType type) {
  return LLVM::LoadOp::create(
      *this, type, pointer,
      /*alignment=*/type.getNumElements() * type.getElementTypeBitWidth() / 8,
      /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value NVVMBuilder::approximateReciprocal(Value x) {
  return NVVM::RcpApproxFtzF32Op::create(*this, getF32Type(), x);
}

Value NVVMBuilder::clampMagnitude(Value x, Value limit) {
  return LLVM::CallIntrinsicOp::create(
             *this, getF32Type(),
             getStringAttr("llvm.nvvm.fmin.nan.xorsign.abs.f"),
             ValueRange{x, limit})
      .getResult(0);
}
