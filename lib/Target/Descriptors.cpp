//===- Descriptors.cpp - Matrix and instruction descriptors ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler defines the bit positions of descriptors only in this file.
//===----------------------------------------------------------------------===//

#include "mx/Target/Descriptors.h"
#include <cassert>

using namespace mx;
using namespace mx::target;

namespace {

std::string hex(uint64_t value) {
  const char *digits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[value & 15]);
    value >>= 4;
  } while (value);
  return "0x" + text;
}

//===----------------------------------------------------------------------===//
// Shared-memory matrix descriptor
//===----------------------------------------------------------------------===//

constexpr unsigned kNoLayout = ~0u;

/// Codes of a swizzle in bits 61-63 for tcgen05 (PTX ISA, "Shared memory
/// descriptor layout") and 62-63 for wgmma ("Matrix Descriptor Format").
struct LayoutCode {
  Swizzle swizzle;
  unsigned tcgen05;
  unsigned wgmma;
};
constexpr LayoutCode kLayoutCodes[kNumSwizzles] = {
    {Swizzle::None, 0, 0},
    {Swizzle::B32, 6, 3},
    {Swizzle::B64, 4, 2},
    {Swizzle::B128, 2, 1},
    {Swizzle::B128Atom32, 1, kNoLayout},
    // The remaining swizzles are supported only by tensor maps.
    {Swizzle::B128Atom32Flip8, kNoLayout, kNoLayout},
    {Swizzle::B128Atom64, kNoLayout, kNoLayout},
};
static_assert(isEnumTable<&LayoutCode::swizzle>(kLayoutCodes));

LayoutCode layoutCode(Swizzle swizzle) {
  return kLayoutCodes[unsigned(swizzle)];
}

uint64_t encodeAddress(uint32_t bytes) {
  return (bytes & kDescriptorAddressMask) / kDescriptorUnit;
}

std::string checkAddress(const char *what, uint32_t bytes) {
  if (bytes % kDescriptorUnit != 0)
    return "expected " + std::string(what) + " to be a multiple of " +
           std::to_string(kDescriptorUnit) + ", found " + std::to_string(bytes);
  if (bytes > kDescriptorAddressMask)
    return "expected " + std::string(what) + " below " +
           hex(kDescriptorAddressMask + 1) + ", found " + hex(bytes);
  return {};
}

uint64_t encodeOffsets(const SmemDescriptor &desc) {
  return encodeAddress(desc.address) |
         encodeAddress(desc.leadingByteOffset) << 16 |
         encodeAddress(desc.strideByteOffset) << 32 |
         uint64_t(desc.baseOffset & 7) << 49;
}

} // namespace

std::string mx::target::check(const SmemDescriptor &desc) {
  if (layoutCode(desc.swizzle).tcgen05 == kNoLayout)
    return "expected a swizzle that matrix descriptors support, found " +
           std::string(getInfo(desc.swizzle).name);
  for (auto [what, bytes] :
       {std::pair<const char *, uint32_t>{"start address", desc.address},
        {"leading byte offset", desc.leadingByteOffset},
        {"stride byte offset", desc.strideByteOffset}})
    if (std::string error = checkAddress(what, bytes); !error.empty())
      return error;
  if (desc.baseOffset > 7)
    return "expected a base offset of at most 7, found " +
           std::to_string(desc.baseOffset);
  return {};
}

uint64_t mx::target::encode(const SmemDescriptor &desc) {
  assert(check(desc).empty() && "invalid matrix descriptor");
  return encodeOffsets(desc) | uint64_t(1) << 46 |
         uint64_t(layoutCode(desc.swizzle).tcgen05) << 61;
}

uint64_t mx::target::encodeWgmma(const SmemDescriptor &desc) {
  assert(layoutCode(desc.swizzle).wgmma != kNoLayout &&
         "wgmma has no such swizzle");
  return encodeOffsets(desc) | uint64_t(layoutCode(desc.swizzle).wgmma) << 62;
}

SmemDescriptor mx::target::kMajorDescriptor(Swizzle swizzle) {
  SmemDescriptor desc;
  desc.swizzle = swizzle;
  desc.strideByteOffset = 8 * getInfo(swizzle).span;
  if (swizzle == Swizzle::None) {
    // The two core matrices (eight 16-byte rows) of a K slice are adjacent.
    desc.leadingByteOffset = 8 * 16;
    desc.strideByteOffset = 2 * 8 * 16;
  }
  return desc;
}

SmemDescriptor mx::target::scaleTileDescriptor() {
  SmemDescriptor desc;
  desc.strideByteOffset = 8 * 16;
  return desc;
}

//===----------------------------------------------------------------------===//
// Instruction descriptor
//===----------------------------------------------------------------------===//

namespace {

/// Codes of operand types, indexed by MmaType (PTX ISA, atype and btype in the
/// instruction descriptors). Kinds for E2M1 only use a single code.
constexpr uint32_t kOperandCodes[kNumMmaTypes] = {
    0 /*F16*/,  1 /*BF16*/, 2 /*TF32*/, 0 /*E4M3*/, 1 /*E5M2*/,
    3 /*E2M3*/, 4 /*E3M2*/, 5 /*E2M1*/, 0 /*U8*/,   1 /*S8*/};

uint32_t operandCode(MmaKind kind, MmaType type) {
  bool isE2M1 = kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4;
  return isE2M1 ? 1 : kOperandCodes[unsigned(type)];
}

std::string checkScaling(const InstrDescriptor &desc) {
  if (!getInfo(desc.kind).blockScaled) {
    if (desc.blockSize || desc.scaleIdA || desc.scaleIdB)
      return "kind::" + std::string(getInfo(desc.kind).name) +
             " takes no scales";
    return {};
  }
  std::string error;
  const ScaleVectorRule *rule =
      lookupScaleVector(desc.kind, desc.blockSize, desc.scaleFormat, error);
  if (!rule)
    return error;
  for (unsigned id : {desc.scaleIdA, desc.scaleIdB})
    if (error = checkScaleId(*rule, id); !error.empty())
      return error;
  return {};
}

} // namespace

std::string mx::target::check(const InstrDescriptor &desc) {
  const MmaKindInfo &kind = getInfo(desc.kind);
  std::string name = "kind::" + std::string(kind.name);
  std::string error = checkMmaShape(desc.kind, desc.ctaGroup, desc.m, desc.n);
  if (error.empty())
    error = checkMmaTypes(desc.kind, desc.a, desc.b, desc.d);
  if (error.empty())
    error = checkScaling(desc);
  if (!error.empty())
    return error;
  if ((desc.transposeA || desc.transposeB) && !kind.transpose)
    return name + " takes K-major operands only";
  if ((desc.negateA || desc.negateB) && !kind.negate)
    return name + " cannot negate its operands";
  if (desc.saturate && desc.kind != MmaKind::I8)
    return "only kind::i8 saturates, found " + name;
  if ((desc.transposeA && getBits(desc.a) < 8) ||
      (desc.transposeB && getBits(desc.b) < 8))
    return "expected 4-bit and 6-bit operands to be K-major";
  if (desc.transposeB && getBits(desc.b) == 8)
    return checkTransposedB8(desc.ctaGroup, desc.n);
  return {};
}

uint32_t mx::target::encode(const InstrDescriptor &desc) {
  assert(check(desc).empty() && "invalid instruction descriptor");
  uint32_t word = operandCode(desc.kind, desc.a) << 7 |
                  operandCode(desc.kind, desc.b) << 10 |
                  uint32_t(desc.negateA) << 13 | uint32_t(desc.negateB) << 14 |
                  uint32_t(desc.transposeA) << 15 |
                  uint32_t(desc.transposeB) << 16 | (desc.n >> 3) << 17;
  if (getInfo(desc.kind).blockScaled)
    return word | scaleIdBits(desc.scaleIdA, desc.scaleIdB) |
           uint32_t(desc.scaleFormat == kPowerOfTwoScale) << 23 |
           (desc.m >> 7) << 27;
  // The codes of D types equal AccumulatorType (F16 0, F32 1, S32 2).
  return word | uint32_t(desc.saturate) << 3 | uint32_t(desc.d) << 4 |
         (desc.m >> 4) << 24;
}
