//===- NVVMMemory.cpp - Copies, loads and stores -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of NVVMBuilder for bulk copies, shared and global memory.
//===----------------------------------------------------------------------===//

#include "Registers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mx/NVVM/NVVMBuilder.h"

using namespace mlir;
using namespace mx::mxgpu;

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

void NVVMBuilder::loadTensorToBoth(Value dest, Value map,
                                   ArrayRef<Value> coords, Value barrier,
                                   Value policy) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      *this, inCluster(dest), map, coords, barrier,
      /*im2colOffsets=*/ValueRange(), maskOf(/*both=*/true), policy,
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
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
      NVVM::CTAGroupKindAttr::get(getContext(), toCtaGroup(/*pair=*/true)),
      /*predicate=*/Value());
}

void NVVMBuilder::storeTensor(Value source, Value map, ArrayRef<Value> coords,
                              bool add, Value policy) {
  if (add)
    NVVM::CpAsyncBulkTensorReduceOp::create(
        *this, map, source, NVVM::TMAReduxKind::ADD, NVVM::TMAStoreMode::TILE,
        coords, policy);
  else
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        *this, map, source, coords, policy, NVVM::TMAStoreMode::TILE,
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

SmallVector<Value> NVVMBuilder::loadMatrices(Value pointer, int64_t count) {
  Type word = getI32Type(), result = word;
  if (count > 1)
    result = LLVM::LLVMStructType::getLiteral(getContext(),
                                              SmallVector<Type>(count, word));
  Value loaded = NVVM::LdMatrixOp::create(
      *this, result, pointer, count, NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {loaded};
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(*this, loaded, i));
  return words;
}

void NVVMBuilder::storeMatrices(Value pointer, ArrayRef<Value> words) {
  NVVM::StMatrixOp::create(*this, pointer, words, NVVM::MMALayout::row,
                           NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
                           NVVM::LdStMatrixEltType::B16);
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

void NVVMBuilder::accessGlobal(StringRef instruction, StringRef type,
                               Value pointer, int64_t offset,
                               ArrayRef<Value> words, Value condition,
                               Value policy) {
  size_t count = words.size();
  unsigned bits = words[0].getType().getIntOrFloatBitWidth();
  std::string text, constraints = "l", list;
  for (size_t i = 1; i <= count; ++i) {
    list += (i > 1 ? ", $" : "$") + std::to_string(i);
    constraints += bits == 16 ? ",h" : ",r";
  }
  llvm::raw_string_ostream os(text);
  if (condition)
    os << "@$" << count + (policy ? 2 : 1) << ' ';
  os << instruction;
  if (policy)
    os << ".L2::cache_hint";
  if (count > 1)
    os << ".v" << count;
  os << type << " [$0+" << offset << "], ";
  if (count > 1)
    os << '{' << list << '}';
  else
    os << list;
  if (policy)
    os << ", $" << count + 1;
  os << ';';
  SmallVector<Value> operands = {pointer};
  llvm::append_range(operands, words);
  if (policy) {
    operands.push_back(policy);
    constraints += ",l";
  }
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

// L2 policies and vector reductions have no intrinsic and use inline asm. LLVM
// may duplicate and move inline asm without `.aligned` instructions.
void NVVMBuilder::storeGlobal(Value pointer, int64_t offset,
                              ArrayRef<Value> words, Value condition,
                              Value policy) {
  unsigned bits = words[0].getType().getIntOrFloatBitWidth();
  accessGlobal("st.global.L1::no_allocate", ".b" + std::to_string(bits),
               pointer, offset, words, condition, policy);
}

void NVVMBuilder::addGlobal(Value pointer, int64_t offset,
                            ArrayRef<Value> words, Value condition,
                            Value policy) {
  accessGlobal("red.relaxed.gpu.global.add", ".f32", pointer, offset, words,
               condition, policy);
}

Value NVVMBuilder::loadGlobal(Value pointer, VectorType type) {
  return LLVM::LoadOp::create(
      *this, type, pointer,
      /*alignment=*/type.getNumElements() * type.getElementTypeBitWidth() / 8,
      /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
}
