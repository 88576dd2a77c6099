//===- Descriptors.cpp - Decoders of tcgen05 descriptors ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Matrix Descriptors" (tables 40 to 44), "Matrix Shape" (table 39)
// and "Transpose and Negate operations" (tables 51 and 52). Every reserved
// field must be zero.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/Descriptors.h"

using namespace mx::sim;

namespace {

std::string str(uint64_t value) { return std::to_string(value); }

uint64_t field(uint64_t bits, unsigned low, unsigned width) {
  return bits >> low & ((uint64_t{1} << width) - 1);
}

Fault invalid(std::string message) {
  return {FaultKind::Descriptor, std::move(message)};
}

struct Reserved {
  unsigned low, width;
  uint64_t expected;
};

template <unsigned N>
Fault checkReserved(uint64_t bits, const Reserved (&table)[N],
                    const char *what) {
  for (const Reserved &entry : table) {
    uint64_t found = field(bits, entry.low, entry.width);
    if (found != entry.expected)
      return invalid(std::string(what) + " bits " + str(entry.low) + " to " +
                     str(entry.low + entry.width - 1) + " must be " +
                     str(entry.expected) + ", got " + str(found));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Instruction descriptors
//===----------------------------------------------------------------------===//

struct KindInfo {
  std::string_view name;
  unsigned k;
  bool blockScaled;
};
constexpr KindInfo kinds[] = {
    {"f16", 16, false},     {"tf32", 8, false},     {"f8f6f4", 32, false},
    {"i8", 32, false},      {"mxf8f6f4", 32, true}, {"mxf4", 64, true},
    {"mxf4nvf4", 64, true},
};

const KindInfo &info(MmaKind kind) {
  return kinds[static_cast<unsigned>(kind)];
}

constexpr std::string_view elementNames[] = {
    "f16",  "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2",
    "e2m1", "u8",   "s8",   "u4",   "s4",   "b1"};

/// Codes of atype and btype.
struct TypeCode {
  MmaKind kind;
  unsigned code;
  ElementType type;
};
constexpr TypeCode typeCodes[] = {
    {MmaKind::F16, 0, ElementType::F16},
    {MmaKind::F16, 1, ElementType::BF16},
    {MmaKind::TF32, 2, ElementType::TF32},
    {MmaKind::F8F6F4, 0, ElementType::E4M3},
    {MmaKind::F8F6F4, 1, ElementType::E5M2},
    {MmaKind::F8F6F4, 3, ElementType::E2M3},
    {MmaKind::F8F6F4, 4, ElementType::E3M2},
    {MmaKind::F8F6F4, 5, ElementType::E2M1},
    {MmaKind::I8, 0, ElementType::U8},
    {MmaKind::I8, 1, ElementType::S8},
    {MmaKind::MXF8F6F4, 0, ElementType::E4M3},
    {MmaKind::MXF8F6F4, 1, ElementType::E5M2},
    {MmaKind::MXF8F6F4, 3, ElementType::E2M3},
    {MmaKind::MXF8F6F4, 4, ElementType::E3M2},
    {MmaKind::MXF8F6F4, 5, ElementType::E2M1},
    {MmaKind::MXF4, 1, ElementType::E2M1},
    {MmaKind::MXF4NVF4, 1, ElementType::E2M1},
};

Fault decodeType(MmaKind kind, uint64_t code, const char *operand,
                 ElementType &type) {
  for (const TypeCode &entry : typeCodes)
    if (entry.kind == kind && entry.code == code) {
      type = entry.type;
      return {};
    }
  return invalid("instruction descriptor: type code " + str(code) + " of " +
                 operand +
                 " does not exist for kind::" + std::string(name(kind)));
}

/// Row of table 39 (legal M and N). N is a multiple of `nStep` up to `nWide`,
/// and a multiple of `nWideStep` above. With .ws, N is a power of two.
struct ShapeRow {
  unsigned ctaGroup;
  bool blockScaled, integer, weightStationary;
  unsigned m[3];
  unsigned nStep, nWide, nWideStep;
};
constexpr ShapeRow shapeRows[] = {
    {1, false, false, false, {64, 128, 0}, 8, 256, 8},
    {2, false, false, false, {128, 256, 0}, 16, 256, 16},
    {1, false, true, false, {64, 128, 0}, 8, 32, 16},
    {2, false, true, false, {128, 256, 0}, 32, 256, 32},
    {1, true, false, false, {128, 0, 0}, 8, 256, 8},
    {2, true, false, false, {128, 256, 0}, 16, 256, 16},
    {1, false, false, true, {32, 64, 128}, 64, 128, 128},
    {1, false, true, true, {32, 64, 128}, 64, 128, 128},
};

Fault checkShape(const InstrDesc &desc, MmaKind kind, unsigned ctaGroup,
                 MmaVariant variant) {
  if (ctaGroup != 1 && ctaGroup != 2)
    return {FaultKind::Shape, "cta_group must be 1 or 2, got " + str(ctaGroup)};
  std::string subject = "kind::" + std::string(name(kind)) +
                        (variant.weightStationary ? " with .ws" : "") +
                        (variant.sparse ? " and a sparse A" : "") +
                        " with cta_group::" + str(ctaGroup);
  const ShapeRow *row = nullptr;
  for (const ShapeRow &candidate : shapeRows)
    if (candidate.ctaGroup == ctaGroup &&
        candidate.blockScaled == info(kind).blockScaled &&
        candidate.integer == (kind == MmaKind::I8) &&
        candidate.weightStationary == variant.weightStationary)
      row = &candidate;
  if (!row)
    return {FaultKind::Shape, subject + " does not exist"};
  auto illegal = [&](const std::string &what, unsigned got) -> Fault {
    return {FaultKind::Shape, subject + " needs " + what + ", got " + str(got)};
  };
  // A block-scaled sparse A on two CTAs requires M = 256.
  bool only256 = variant.sparse && ctaGroup == 2 && row->blockScaled;
  std::string choices;
  bool found = false;
  for (unsigned m : row->m) {
    if (!m || (only256 && m != 256))
      continue;
    choices += (choices.empty() ? "" : " or ") + str(m);
    found |= desc.m == m;
  }
  if (!found)
    return illegal("M of " + choices, desc.m);
  unsigned step = desc.n > row->nWide ? row->nWideStep : row->nStep;
  // Table 52: a transposed 8-bit B needs twice the step.
  bool byteB = desc.b == ElementType::E4M3 || desc.b == ElementType::E5M2 ||
               desc.b == ElementType::U8 || desc.b == ElementType::S8;
  if (desc.transposeB && byteB && step < 16 * ctaGroup)
    step = 16 * ctaGroup;
  unsigned most = variant.weightStationary && variant.sparse ? 128 : 256;
  if (desc.n == 0 || desc.n > most || desc.n % step)
    return illegal(
        "N of " + str(step) + " to " + str(most) + " in steps of " + str(step) +
            (desc.transposeB && byteB ? " for a transposed 8-bit B" : ""),
        desc.n);
  return {};
}

bool isSubByte(ElementType type) {
  return type == ElementType::E2M3 || type == ElementType::E3M2 ||
         type == ElementType::E2M1;
}

Fault checkTranspose(const InstrDesc &desc, MmaKind kind) {
  struct {
    const char *operand;
    bool transposed;
    ElementType type;
  } const operands[] = {{"A", desc.transposeA, desc.a},
                        {"B", desc.transposeB, desc.b}};
  for (const auto &entry : operands)
    if (entry.transposed && isSubByte(entry.type))
      return invalid("instruction descriptor: " + std::string(entry.operand) +
                     " of type " + std::string(name(entry.type)) +
                     " in kind::" + std::string(name(kind)) +
                     " cannot be transposed");
  return {};
}

/// Decodes the bits for .sp and .ws. Bits 0 and 1 are ignored unless A is
/// sparse, and bits 30 and 31 are ignored without .ws.
Fault decodeVariant(uint32_t bits, MmaKind kind, MmaVariant variant,
                    InstrDesc &desc) {
  if (variant.weightStationary) {
    uint64_t code = field(bits, 30, 2);
    desc.maxShift = code ? 4u << code : 0;
  }
  if (!variant.sparse)
    return {};
  desc.sparsitySelector = static_cast<unsigned>(field(bits, 0, 2));
  // For f16 and tf32, the metadata of a step is a single word, and the selector
  // chooses between the two steps at an address. For other kinds, the metadata
  // of a step is two words.
  unsigned most = kind == MmaKind::F16 || kind == MmaKind::TF32 ? 1 : 0;
  if (desc.sparsitySelector > most)
    return invalid("instruction descriptor: sparsity selector of kind::" +
                   std::string(name(kind)) + " must be 0" +
                   (most ? " or 1" : "") + ", got " +
                   str(desc.sparsitySelector));
  return {};
}

Fault decodePlain(uint32_t bits, MmaKind kind, MmaVariant variant,
                  InstrDesc &desc) {
  static constexpr Reserved reserved[] = {{6, 1, 0}, {23, 1, 0}, {29, 1, 0}};
  if (Fault fault = decodeVariant(bits, kind, variant, desc))
    return fault;
  if (Fault fault = checkReserved(bits, reserved, "instruction descriptor"))
    return fault;
  desc.saturate = field(bits, 3, 1);
  if (desc.saturate && kind != MmaKind::I8)
    return invalid("instruction descriptor: saturation is for kind::i8 only");
  uint64_t d = field(bits, 4, 2);
  bool integer = kind == MmaKind::I8;
  bool halfD = kind == MmaKind::F16 || kind == MmaKind::F8F6F4;
  if (d > 2 || (d == 2) != integer || (d == 0 && !halfD))
    return invalid("instruction descriptor: type code " + str(d) +
                   " of D does not exist for kind::" + std::string(name(kind)));
  desc.d = static_cast<AccumulatorType>(d);
  if (kind == MmaKind::F16 && desc.d == AccumulatorType::F16 &&
      (desc.a != ElementType::F16 || desc.b != ElementType::F16))
    return invalid("instruction descriptor: D of type f16 needs A and B of "
                   "type f16");
  if (integer && (desc.negateA || desc.negateB))
    return invalid("instruction descriptor: kind::i8 cannot negate");
  desc.m = static_cast<unsigned>(field(bits, 24, 5)) << 4;
  return {};
}

Fault decodeScaled(uint32_t bits, MmaKind kind, ScaleVec vec, bool isSparse,
                   InstrDesc &desc) {
  static constexpr Reserved reserved[] = {
      {0, 2, 0}, {3, 1, 0}, {6, 1, 0}, {24, 3, 0}};
  // "Sparsity selector": "is assumed to be 0" for these kinds.
  if (Fault fault = checkReserved(isSparse ? bits & ~3u : bits, reserved,
                                  "instruction descriptor"))
    return fault;
  if (field(bits, 31, 1)) {
    if (kind == MmaKind::MXF8F6F4)
      return invalid("instruction descriptor bit 31 must be 0, got 1");
    return {FaultKind::Unsupported, "instruction descriptor: K = 96 exists on "
                                    "sm_103a only, and is not simulated"};
  }
  if (kind != MmaKind::MXF8F6F4 && (desc.transposeA || desc.transposeB))
    return invalid("instruction descriptor: kind::" + std::string(name(kind)) +
                   " cannot transpose");
  bool ue8m0 = field(bits, 23, 1);
  desc.scale = ue8m0 ? ScaleType::UE8M0 : ScaleType::UE4M3;
  if (vec == ScaleVec::Default) {
    if (kind == MmaKind::MXF4NVF4)
      return invalid("kind::mxf4nvf4 needs an explicit scale vector size");
    vec = kind == MmaKind::MXF8F6F4 ? ScaleVec::X1 : ScaleVec::X2;
  }
  unsigned blocks = vec == ScaleVec::X1 ? 1 : vec == ScaleVec::X2 ? 2 : 4;
  bool legalVec = kind == MmaKind::MXF8F6F4 ? blocks == 1
                  : kind == MmaKind::MXF4   ? blocks == 2
                                            : blocks != 1;
  if (!legalVec)
    return invalid("scale_vec::" + str(blocks) +
                   "X does not exist for kind::" + std::string(name(kind)));
  if (!ue8m0 && blocks != 4)
    return invalid("instruction descriptor: scales of type ue4m3 need "
                   "kind::mxf4nvf4 with scale_vec::4X");
  desc.scaleBlocks = blocks;
  desc.scaleIdA = static_cast<unsigned>(field(bits, 29, 2));
  desc.scaleIdB = static_cast<unsigned>(field(bits, 4, 2));
  for (unsigned id : {desc.scaleIdA, desc.scaleIdB})
    if (id % blocks)
      return invalid("instruction descriptor: scale factor id " + str(id) +
                     " is illegal with scale_vec::" + str(blocks) + "X");
  desc.d = AccumulatorType::F32;
  desc.m = static_cast<unsigned>(field(bits, 27, 2)) << 7;
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Shared-memory descriptor
//===----------------------------------------------------------------------===//

unsigned SmemDesc::span() const {
  switch (layout) {
  case SmemLayout::None:
    return 0;
  case SmemLayout::B32:
    return 32;
  case SmemLayout::B64:
    return 64;
  case SmemLayout::B128:
  case SmemLayout::B128Base32:
    return 128;
  }
  return 0;
}

uint32_t SmemDesc::swizzle(uint32_t address) const {
  // The base offset is the phase of the pattern in 128-byte lines (PTX ISA,
  // "Shared memory descriptor").
  uint32_t line = (address >> 7) - baseOffset;
  switch (layout) {
  case SmemLayout::None:
    return address;
  case SmemLayout::B32:
    return address ^ (line & 1) << 4;
  case SmemLayout::B64:
    return address ^ (line & 3) << 4;
  case SmemLayout::B128:
    return address ^ (line & 7) << 4;
  case SmemLayout::B128Base32:
    return address ^ (line & 3) << 5;
  }
  return address;
}

uint32_t SmemDesc::kMajor(unsigned row, unsigned byteK) const {
  unsigned line = span();
  if (line == 0)
    return start + row / 8 * strideOffset + row % 8 * 16 +
           byteK / 16 * leadingOffset + byteK % 16;
  return swizzle(start + row / 8 * strideOffset + row % 8 * line + byteK);
}

uint32_t SmemDesc::mnMajor(unsigned mn, unsigned k,
                           unsigned elementBytes) const {
  unsigned line = span();
  if (line == 0) {
    // Without swizzle, the two strides exchange roles.
    unsigned perChunk = 16 / elementBytes;
    return start + mn / perChunk * strideOffset + k / 8 * leadingOffset +
           k % 8 * 16 + mn % perChunk * elementBytes;
  }
  // The 32-byte-atom pattern repeats after four lines, and every other pattern
  // after eight.
  unsigned lines = layout == SmemLayout::B128Base32 ? 4 : 8;
  unsigned perLine = line / elementBytes;
  return swizzle(start + mn / perLine * leadingOffset +
                 mn % perLine * elementBytes + k % lines * line +
                 k / lines * strideOffset);
}

/// Decodes the fields common to both formats. The layout must already be set.
static Fault decodePlace(uint64_t bits, SmemDesc &desc) {
  desc.start = static_cast<uint32_t>(field(bits, 0, 14)) << 4;
  desc.leadingOffset = static_cast<uint32_t>(field(bits, 16, 14)) << 4;
  desc.strideOffset = static_cast<uint32_t>(field(bits, 32, 14)) << 4;
  desc.baseOffset = static_cast<unsigned>(field(bits, 49, 3));
  // Table 41 defines the base offset relative to the start of the pattern. The
  // base offset is ignored without swizzle. Base offset 0 selects a pattern by
  // absolute address, as TMA writes it, regardless of the matrix start. Any
  // other value places the start of the pattern at the start of the matrix.
  uint32_t lines = desc.layout == SmemLayout::None   ? 0
                   : desc.layout == SmemLayout::B128 ? 7
                   : desc.layout == SmemLayout::B32  ? 1
                                                     : 3;
  uint32_t phase = desc.start >> 7 & lines;
  if (lines && desc.baseOffset && phase != (desc.baseOffset & lines))
    return invalid("matrix descriptor: start address " + str(desc.start) +
                   " is line " + str(phase) +
                   " of its swizzle pattern, but the base offset is " +
                   str(desc.baseOffset));
  return {};
}

Fault mx::sim::decodeSmemDesc(uint64_t bits, SmemDesc &desc) {
  static constexpr Reserved reserved[] = {
      {14, 2, 0}, {30, 2, 0}, {46, 3, 1}, {53, 8, 0}};
  if (Fault fault = checkReserved(bits, reserved, "matrix descriptor"))
    return fault;
  if (field(bits, 52, 1))
    return {FaultKind::Unsupported,
            "matrix descriptor bit 52 (absolute leading dimension address) "
            "exists on sm_103a only, and is not simulated"};
  uint64_t layout = field(bits, 61, 3);
  if (layout == 3 || layout == 5 || layout == 7)
    return invalid("matrix descriptor: swizzle code " + str(layout) +
                   " is invalid");
  desc.layout = static_cast<SmemLayout>(layout);
  return decodePlace(bits, desc);
}

Fault mx::sim::decodeWgmmaDesc(uint64_t bits, SmemDesc &desc) {
  // The PTX ISA does not define the bits between fields; an H200 ignores them.
  constexpr SmemLayout layouts[] = {SmemLayout::None, SmemLayout::B128,
                                    SmemLayout::B64, SmemLayout::B32};
  desc.layout = layouts[field(bits, 62, 2)];
  return decodePlace(bits, desc);
}

//===----------------------------------------------------------------------===//
// Instruction descriptor
//===----------------------------------------------------------------------===//

bool mx::sim::parseMmaKind(std::string_view name, MmaKind &kind) {
  for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
    if (kinds[i].name == name) {
      kind = static_cast<MmaKind>(i);
      return true;
    }
  return false;
}

std::string_view mx::sim::name(MmaKind kind) { return info(kind).name; }

std::string_view mx::sim::name(ElementType type) {
  return elementNames[static_cast<unsigned>(type)];
}

bool mx::sim::parseScaleVec(std::string_view name, MmaKind kind,
                            ScaleVec &vec) {
  struct {
    std::string_view name;
    ScaleVec vec;
  } const names[] = {
      {"scale_vec::1X", ScaleVec::X1},
      {"scale_vec::2X", ScaleVec::X2},
      {"scale_vec::4X", ScaleVec::X4},
      {"block16", ScaleVec::X4},
      {"block32", kind == MmaKind::MXF8F6F4 ? ScaleVec::X1 : ScaleVec::X2},
  };
  for (const auto &entry : names)
    if (entry.name == name) {
      vec = entry.vec;
      return true;
    }
  return false;
}

Fault mx::sim::decodeInstrDesc(uint32_t bits, MmaKind kind, unsigned ctaGroup,
                               ScaleVec vec, InstrDesc &desc,
                               MmaVariant variant) {
  desc = InstrDesc();
  if (bool(field(bits, 2, 1)) != variant.sparse)
    return invalid(variant.sparse
                       ? "instruction descriptor bit 2 (sparsity) must be 1 "
                         "for tcgen05.mma.sp, got 0"
                       : "instruction descriptor bit 2 (sparsity) must be 0 "
                         "without .sp, got 1");
  // For K = 64 kinds, the type of B has two bits and bit 12 is reserved. Their
  // only legal code is 1, so decoding three bits also rejects a set bit 12.
  if (Fault fault = decodeType(kind, field(bits, 7, 3), "A", desc.a))
    return fault;
  if (Fault fault = decodeType(kind, field(bits, 10, 3), "B", desc.b))
    return fault;
  desc.negateA = field(bits, 13, 1);
  desc.negateB = field(bits, 14, 1);
  desc.transposeA = field(bits, 15, 1);
  desc.transposeB = field(bits, 16, 1);
  desc.n = static_cast<unsigned>(field(bits, 17, 6)) << 3;
  desc.k = info(kind).k * (variant.sparse ? 2 : 1);
  bool scaled = info(kind).blockScaled;
  if (!scaled && vec != ScaleVec::Default)
    return invalid("kind::" + std::string(name(kind)) +
                   " takes no scale vector size");
  if (Fault fault = scaled ? decodeScaled(bits, kind, vec, variant.sparse, desc)
                           : decodePlain(bits, kind, variant, desc))
    return fault;
  if (Fault fault = checkTranspose(desc, kind))
    return fault;
  return checkShape(desc, kind, ctaGroup, variant);
}
