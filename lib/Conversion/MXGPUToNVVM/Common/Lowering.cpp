//===- Lowering.cpp - Common code of kernel lowerings ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes global addresses, splits vectors into words, and builds memrefs from
// kernel parameters.
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

const target::TargetInfo *mx::mxgpu::getKernelTarget(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!module || !module.getTargetsAttr())
    return nullptr;
  for (Attribute attr : module.getTargetsAttr())
    if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(attr))
      if (auto *target = target::lookupTarget(nvvm.getChip().str()))
        return target;
  return nullptr;
}

Value mx::mxgpu::getCachePolicy(NVVMBuilder &builder, CacheHint hint) {
  switch (hint) {
  case CacheHint::None:
    return {};
  case CacheHint::EvictFirst:
    return builder.i64(target::kEvictFirstPolicy);
  case CacheHint::EvictLast:
    return builder.i64(target::kEvictLastPolicy);
  }
  llvm_unreachable("all hints are listed");
}

//===----------------------------------------------------------------------===//
// Global addresses
//===----------------------------------------------------------------------===//

Value mx::mxgpu::getGlobalAddress(NVVMBuilder &builder, Value memref,
                                  Value bytes) {
  Value base = arith::IndexCastOp::create(
      builder, builder.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(builder, memref));
  Type generic = LLVM::LLVMPointerType::get(builder.getContext());
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  Value pointer = LLVM::AddrSpaceCastOp::create(
      builder, global, LLVM::IntToPtrOp::create(builder, generic, base));
  Value offset =
      arith::IndexCastOp::create(builder, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, global, builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value mx::mxgpu::getGlobalAddress(NVVMBuilder &builder, Value matrix, Value row,
                                  Value column, int64_t bytes) {
  Value stride, element = column;
  if (cast<MemRefType>(matrix.getType()).getLayout().isIdentity()) {
    stride = memref::DimOp::create(builder, matrix, 1);
  } else {
    auto view = memref::ExtractStridedMetadataOp::create(builder, matrix);
    stride = view.getStrides()[0];
    element = builder.add(element, view.getOffset());
  }
  element = builder.add(builder.mul(row, stride), element);
  return getGlobalAddress(builder, matrix,
                          builder.mul(element, builder.index(bytes)));
}

/// Adds the distance to the window of the rank.
static Values lowerPeerView(NVVMBuilder &builder, PeerViewOp op,
                            PeerViewOp::Adaptor adaptor) {
  Type generic = LLVM::LLVMPointerType::get(builder.getContext());
  Type global = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  auto toNumber = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  };
  Value peers = toNumber(adaptor.getPeers()), zero = builder.i64(0);
  auto ifOp = scf::IfOp::create(builder, builder.getI64Type(),
                                builder.isEqual(peers, zero),
                                /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(builder, zero);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    Value place =
        builder.add(peers, builder.mul(toNumber(adaptor.getRank()), 8));
    Value loaded =
        builder.loadGlobal(LLVM::IntToPtrOp::create(builder, global, place),
                           VectorType::get(1, builder.getI64Type()));
    Value distance =
        vector::ExtractOp::create(builder, loaded, ArrayRef<int64_t>{0});
    scf::YieldOp::create(builder, distance);
  }
  Value address =
      builder.add(toNumber(memref::ExtractAlignedPointerAsIndexOp::create(
                      builder, op.getArray())),
                  ifOp.getResult(0));
  Value pointer = LLVM::AddrSpaceCastOp::create(
      builder, generic, LLVM::IntToPtrOp::create(builder, global, address));
  auto type = cast<MemRefType>(op.getType());
  return {buildMemRef(builder, type, pointer,
                      getDynamicNumbers(builder, op.getArray(), type))};
}

void mx::mxgpu::populatePeerPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter) {
  addPatterns<lowerPeerView>(converter, patterns);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

SmallVector<Value> mx::mxgpu::getWords(NVVMBuilder &builder, Value vector,
                                       int64_t first, int64_t count) {
  Type element = getElementTypeOrSelf(vector.getType());
  auto extract = [&](Value from, int64_t position) -> Value {
    return vector::ExtractOp::create(builder, from,
                                     ArrayRef<int64_t>{position});
  };
  SmallVector<Value> words;
  if (element.getIntOrFloatBitWidth() == 32) {
    for (int64_t i = first; i < first + count; ++i)
      words.push_back(
          builder.bitcast(builder.getI32Type(), extract(vector, i)));
    return words;
  }
  // Convert two f32 values with a single instruction. LLVM would first move
  // them to a register pair.
  auto rounding = vector.getDefiningOp<arith::TruncFOp>();
  bool isF32 = rounding && getElementTypeOrSelf(rounding.getIn()).isF32();
  for (int64_t i = first; i < first + count; i += 2) {
    if (isF32) {
      words.push_back(builder.convertToHalves(extract(rounding.getIn(), i + 1),
                                              extract(rounding.getIn(), i),
                                              element));
      continue;
    }
    Value pair = vector::FromElementsOp::create(
        builder, VectorType::get({2}, element),
        ValueRange{extract(vector, i), extract(vector, i + 1)});
    words.push_back(
        LLVM::BitcastOp::create(builder, builder.getI32Type(), pair));
  }
  return words;
}

SmallVector<Value> mx::mxgpu::splitWords(NVVMBuilder &builder, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type element = type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  if (!element.isInteger())
    vector = builder.bitcast(
        VectorType::get(type.getShape(), builder.getIntegerType(bits)), vector);
  int64_t count = type.getNumElements() * bits / 32;
  auto wordType = VectorType::get(count, builder.getI32Type());
  if (vector.getType() != wordType)
    vector = vector::BitCastOp::create(builder, wordType, vector);
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(
        vector::ExtractOp::create(builder, vector, ArrayRef<int64_t>{i}));
  return words;
}

Value mx::mxgpu::joinWords(NVVMBuilder &builder, ArrayRef<Value> words,
                           VectorType type) {
  auto wordType = VectorType::get(int64_t(words.size()), builder.getI32Type());
  Value vector = vector::FromElementsOp::create(builder, wordType, words);
  Type element = type.getElementType();
  int64_t bits = element.getIntOrFloatBitWidth();
  auto integers =
      VectorType::get(type.getShape(), builder.getIntegerType(bits));
  if (integers != wordType)
    vector = vector::BitCastOp::create(builder, integers, vector);
  return integers == type ? vector : builder.bitcast(type, vector);
}

//===----------------------------------------------------------------------===//
// Narrow elements, packed into bytes or words
//===----------------------------------------------------------------------===//

int64_t mx::mxgpu::getPacking(Type element) {
  return element.getIntOrFloatBitWidth() == 4 ? 2 : 1;
}

void mx::mxgpu::addNarrowVectorConversions(TypeConverter &converter) {
  converter.addConversion([](VectorType type) -> Type {
    Type element = type.getElementType();
    if (!isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(element))
      return type;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = shape.back() / getPacking(element) / 4;
    return VectorType::get(shape, IntegerType::get(type.getContext(), 32));
  });
}

static bool isNarrow(Type element) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(element);
}

static VectorType getBytes(NVVMBuilder &builder, int64_t count) {
  return VectorType::get({count}, builder.getI8Type());
}

/// Splits each byte of a word into its two nibbles, and appends the nibbles in
/// order as the bytes of two words.
static void splitHalves(NVVMBuilder &builder, Value word,
                        SmallVectorImpl<Value> &words) {
  Value halves = builder.i32(0x0F0F0F0F);
  Value low = builder.andBits(word, halves);
  Value high = builder.shiftRight(word, 4);
  high = builder.andBits(high, halves);
  words.push_back(builder.permute(low, high, 0x5140));
  words.push_back(builder.permute(low, high, 0x7362));
}

/// Inverts splitHalves: joins the nibbles of two adjacent bytes to a byte.
static Value joinHalves(NVVMBuilder &builder, Value first, Value second) {
  auto fold = [&](Value word) -> Value {
    Value next = builder.shiftRight(word, 4);
    return builder.orBits(word, next);
  };
  return builder.permute(fold(first), fold(second), 0x6420);
}

Value mx::mxgpu::spreadElements(NVVMBuilder &builder, Value vector,
                                Type element) {
  if (!isNarrow(element))
    return vector;
  SmallVector<Value> words = splitWords(builder, vector), spread;
  if (isa<Float4E2M1FNType>(element))
    for (Value word : words)
      splitHalves(builder, word, spread);
  else
    spread = words;
  return joinWords(builder, spread, getBytes(builder, 4 * spread.size()));
}

Value mx::mxgpu::packElements(NVVMBuilder &builder, Value vector,
                              Type element) {
  if (!isNarrow(element))
    return vector;
  SmallVector<Value> words = splitWords(builder, vector), packed;
  if (isa<Float4E2M1FNType>(element))
    for (size_t i = 0; i < words.size(); i += 2)
      packed.push_back(joinHalves(builder, words[i], words[i + 1]));
  else
    packed = words;
  return joinWords(
      builder, packed,
      VectorType::get({int64_t(packed.size())}, builder.getI32Type()));
}

//===----------------------------------------------------------------------===//
// Memrefs as kernel parameters: a pointer and the dynamic sizes and strides
//===----------------------------------------------------------------------===//

SmallVector<Type> mx::mxgpu::getKernelParameterTypes(Type type) {
  MLIRContext *context = type.getContext();
  return llvm::map_to_vector(
      getKernelParameters(type), [&](KernelParameter parameter) -> Type {
        switch (parameter.kind) {
        case KernelParameter::TensorMap:
        case KernelParameter::Pointer:
          return LLVM::LLVMPointerType::get(context);
        case KernelParameter::Number:
          return type.isIndex() ? IntegerType::get(context, 64) : type;
        case KernelParameter::Size:
        case KernelParameter::Stride:
        case KernelParameter::Offset:
          return IntegerType::get(context, 64);
        }
        llvm_unreachable("all kinds are listed");
      });
}

SmallVector<Value> mx::mxgpu::getDynamicNumbers(NVVMBuilder &builder,
                                                Value memref, MemRefType type) {
  memref::ExtractStridedMetadataOp view;
  if (!type.getLayout().isIdentity())
    view = memref::ExtractStridedMetadataOp::create(builder, memref);
  SmallVector<Value> numbers;
  for (KernelParameter parameter : getKernelParameters(type)) {
    if (parameter.kind == KernelParameter::Size)
      numbers.push_back(memref::DimOp::create(builder, memref, parameter.dim));
    if (parameter.kind == KernelParameter::Stride)
      numbers.push_back(view.getStrides()[parameter.dim]);
    if (parameter.kind == KernelParameter::Offset)
      numbers.push_back(view.getOffset());
  }
  return numbers;
}

Value mx::mxgpu::buildMemRef(NVVMBuilder &builder, MemRefType type,
                             Value pointer, ValueRange numbers) {
  Location loc = builder.getLoc();
  LLVMTypeConverter converter(type.getContext());
  // Descriptors do not depend on the element type.
  MemRefType bytes =
      MemRefType::Builder(type).setElementType(builder.getI8Type());
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, converter.convertType(bytes));
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  // Dynamic entries of the type are passed as arguments.
  auto known = [&](int64_t number) -> Value {
    return ShapedType::isDynamic(number) ? Value() : builder.i64(number);
  };
  auto [typeStrides, typeOffset] = type.getStridesAndOffset();
  SmallVector<Value> sizes = llvm::map_to_vector(type.getShape(), known);
  SmallVector<Value> strides = llvm::map_to_vector(typeStrides, known);
  Value start = known(typeOffset);
  SmallVector<KernelParameter> parameters = getKernelParameters(type);
  for (auto [parameter, number] :
       llvm::zip_equal(ArrayRef(parameters).drop_front(), numbers)) {
    Value word =
        arith::IndexCastOp::create(builder, builder.getI64Type(), number);
    switch (parameter.kind) {
    case KernelParameter::Size:
      sizes[parameter.dim] = word;
      break;
    case KernelParameter::Stride:
      strides[parameter.dim] = word;
      break;
    default:
      start = word;
    }
  }
  if (type.getLayout().isIdentity()) {
    Value stride = builder.i64(1);
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      strides[dim] = stride;
      stride = builder.mul(stride, sizes[dim]);
    }
  }
  descriptor.setOffset(builder, loc, start);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    descriptor.setSize(builder, loc, dim, sizes[dim]);
    descriptor.setStride(builder, loc, dim, strides[dim]);
  }
  return UnrealizedConversionCastOp::create(builder, TypeRange(type),
                                            ValueRange(Value(descriptor)))
      .getResult(0);
}
