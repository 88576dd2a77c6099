//===- MmaShapes.cpp - Shapes and types of tcgen05.mma --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contains the PTX ISA's tables of kinds, shapes and scale vectors, and
// computes sizes in tensor memory.
//===----------------------------------------------------------------------===//

#include "mx/Target/MmaShapes.h"
#include "mx/Support/EnumTable.h"

using namespace mx;
using namespace mx::target;

namespace {

template <typename... Enum>
constexpr unsigned mask(Enum... values) {
  return ((1u << unsigned(values)) | ...);
}

constexpr unsigned kNarrowFloats = mask(
    MmaType::E4M3, MmaType::E5M2, MmaType::E2M3, MmaType::E3M2, MmaType::E2M1);
constexpr unsigned kF32 = mask(AccumulatorType::F32);

// PTX ISA, tables "Various combinations of .kind and shapes" (K, types) and
// "Transpose and Negate operation for various MMA-Kind".
constexpr MmaKindInfo kKinds[kNumMmaKinds] = {
    // kind, name, K, scaled, operands, accumulators, transpose, negate
    {MmaKind::F16, "f16", 16, false, mask(MmaType::F16, MmaType::BF16),
     mask(AccumulatorType::F16, AccumulatorType::F32), true, true},
    {MmaKind::TF32, "tf32", 8, false, mask(MmaType::TF32), kF32, true, true},
    {MmaKind::F8F6F4, "f8f6f4", 32, false, kNarrowFloats,
     mask(AccumulatorType::F16, AccumulatorType::F32), true, true},
    {MmaKind::I8, "i8", 32, false, mask(MmaType::U8, MmaType::S8),
     mask(AccumulatorType::S32), true, false},
    {MmaKind::MXF8F6F4, "mxf8f6f4", 32, true, kNarrowFloats, kF32, true, true},
    {MmaKind::MXF4, "mxf4", 64, true, mask(MmaType::E2M1), kF32, false, true},
    {MmaKind::MXF4NVF4, "mxf4nvf4", 64, true, mask(MmaType::E2M1), kF32, false,
     true},
};
static_assert(isEnumTable<&MmaKindInfo::kind>(kKinds));

struct TypeInfo {
  MmaType type;
  const char *name;
  unsigned bits;
};
constexpr TypeInfo kTypes[kNumMmaTypes] = {
    {MmaType::F16, "f16", 16},   {MmaType::BF16, "bf16", 16},
    {MmaType::TF32, "tf32", 32}, {MmaType::E4M3, "e4m3", 8},
    {MmaType::E5M2, "e5m2", 8},  {MmaType::E2M3, "e2m3", 6},
    {MmaType::E3M2, "e3m2", 6},  {MmaType::E2M1, "e2m1", 4},
    {MmaType::U8, "u8", 8},      {MmaType::S8, "s8", 8}};
static_assert(isEnumTable<&TypeInfo::type>(kTypes));

constexpr EnumName<AccumulatorType> kAccumulators[] = {
    {AccumulatorType::F16, "f16"},
    {AccumulatorType::F32, "f32"},
    {AccumulatorType::S32, "s32"},
};
static_assert(isEnumTable<&EnumName<AccumulatorType>::value>(kAccumulators));

// PTX ISA, table "Various combinations of .kind and shapes", dense, no .ws.
constexpr MmaShapeRule kShapes[] = {
    // kind, cta_group, M, N from, to, step, preferred step
    {MmaKind::F16, 1, 64, 8, 256, 8, 8},
    {MmaKind::F16, 1, 128, 8, 256, 8, 16},
    {MmaKind::F16, 2, 128, 16, 256, 16, 32},
    {MmaKind::F16, 2, 256, 16, 256, 16, 32},
    {MmaKind::TF32, 1, 64, 8, 256, 8, 8},
    {MmaKind::TF32, 1, 128, 8, 256, 8, 16},
    {MmaKind::TF32, 2, 128, 16, 256, 16, 32},
    {MmaKind::TF32, 2, 256, 16, 256, 16, 32},
    {MmaKind::F8F6F4, 1, 64, 8, 256, 8, 8},
    {MmaKind::F8F6F4, 1, 128, 8, 256, 8, 16},
    {MmaKind::F8F6F4, 2, 128, 16, 256, 16, 32},
    {MmaKind::F8F6F4, 2, 256, 16, 256, 16, 32},
    {MmaKind::I8, 1, 64, 8, 32, 8, 8},
    {MmaKind::I8, 1, 64, 48, 256, 16, 16},
    {MmaKind::I8, 1, 128, 8, 32, 8, 16},
    {MmaKind::I8, 1, 128, 48, 256, 16, 16},
    {MmaKind::I8, 2, 128, 32, 256, 32, 32},
    {MmaKind::I8, 2, 256, 32, 256, 32, 32},
    {MmaKind::MXF8F6F4, 1, 128, 8, 256, 8, 16},
    {MmaKind::MXF8F6F4, 2, 128, 16, 256, 16, 32},
    {MmaKind::MXF8F6F4, 2, 256, 16, 256, 16, 32},
    {MmaKind::MXF4, 1, 128, 8, 256, 8, 16},
    {MmaKind::MXF4, 2, 128, 16, 256, 16, 32},
    {MmaKind::MXF4, 2, 256, 16, 256, 16, 32},
    {MmaKind::MXF4NVF4, 1, 128, 8, 256, 8, 16},
    {MmaKind::MXF4NVF4, 2, 128, 16, 256, 16, 32},
    {MmaKind::MXF4NVF4, 2, 256, 16, 256, 16, 32},
};

// PTX ISA, tables "Valid combinations of scale_vectorsize and shapes" and
// "... with types and MMA-Kind".
constexpr ScaleVectorRule kScaleVectors[] = {
    // kind, format, block size, id step, qualifier
    {MmaKind::MXF8F6F4, FloatFormat::E8M0, 32, 1, ".block32"},
    {MmaKind::MXF4, FloatFormat::E8M0, 32, 2, ".block32"},
    {MmaKind::MXF4NVF4, FloatFormat::E8M0, 32, 2, ".block32"},
    {MmaKind::MXF4NVF4, FloatFormat::E8M0, 16, 4, ".block16"},
    {MmaKind::MXF4NVF4, FloatFormat::UE4M3, 16, 4, ".block16"},
};

std::string kindName(MmaKind kind) {
  return "kind::" + std::string(getInfo(kind).name);
}

/// Returns a string like "e4m3, e5m2" for a bit mask over an enumeration.
template <typename Enum>
std::string listNames(unsigned bits) {
  std::string list;
  for (unsigned i = 0; bits >> i; ++i)
    if (bits >> i & 1)
      list += (list.empty() ? "" : ", ") + std::string(getName(Enum(i)));
  return list;
}

/// Returns a string like "8 to 256 in steps of 8".
std::string describeN(const MmaShapeRule &rule) {
  return std::to_string(rule.nMin) + " to " + std::to_string(rule.nMax) +
         " in steps of " + std::to_string(rule.nStep);
}

std::string checkOperand(MmaKind kind, const char *operand, MmaType type) {
  unsigned legal = getInfo(kind).operands;
  if (legal >> unsigned(type) & 1)
    return {};
  return "expected " + std::string(operand) + " of " + kindName(kind) +
         " to be one of " + listNames<MmaType>(legal) + ", found " +
         getName(type);
}

} // namespace

const MmaKindInfo &mx::target::getInfo(MmaKind kind) {
  return kKinds[unsigned(kind)];
}

const char *mx::target::getName(MmaType type) {
  return kTypes[unsigned(type)].name;
}

const char *mx::target::getName(AccumulatorType type) {
  return kAccumulators[unsigned(type)].name;
}

unsigned mx::target::getBits(MmaType type) {
  return kTypes[unsigned(type)].bits;
}

std::optional<MmaType> mx::target::getMmaType(FloatFormat format) {
  for (const TypeInfo &info : kTypes)
    if (std::string_view(info.name) == mx::getInfo(format).name)
      return info.type;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Shapes and types
//===----------------------------------------------------------------------===//

Table<MmaShapeRule> mx::target::getShapeRules() { return kShapes; }

const MmaShapeRule *mx::target::lookupShape(MmaKind kind, unsigned ctaGroup,
                                            unsigned m) {
  for (const MmaShapeRule &rule : getShapeRules())
    if (rule.kind == kind && rule.ctaGroup == ctaGroup && rule.m == m)
      return &rule;
  return nullptr;
}

std::string mx::target::checkMmaShape(MmaKind kind, unsigned ctaGroup,
                                      unsigned m, unsigned n) {
  std::string rows, columns;
  unsigned previousM = 0;
  for (const MmaShapeRule &rule : getShapeRules()) {
    if (rule.kind != kind || rule.ctaGroup != ctaGroup)
      continue;
    if (rule.m != previousM)
      rows += (rows.empty() ? "" : " or ") + std::to_string(rule.m);
    previousM = rule.m;
    if (rule.m != m)
      continue;
    if (n >= rule.nMin && n <= rule.nMax && (n - rule.nMin) % rule.nStep == 0)
      return {};
    columns += (columns.empty() ? "" : " or ") + describeN(rule);
  }
  std::string where =
      " with " + kindName(kind) + " and cta_group::" + std::to_string(ctaGroup);
  if (rows.empty())
    return "expected cta_group 1 or 2, found " + std::to_string(ctaGroup);
  if (columns.empty())
    return "expected M = " + rows + where + ", found " + std::to_string(m);
  return "expected N = " + columns + where + " and M = " + std::to_string(m) +
         ", found " + std::to_string(n);
}

std::string mx::target::checkTransposedB8(unsigned ctaGroup, unsigned n) {
  // PTX ISA, table "N shape with .cta_group qualifier for 8bit transpose B".
  unsigned step = 16 * ctaGroup;
  if (n >= step && n <= 256 && n % step == 0)
    return {};
  return "expected N = " + std::to_string(step) + " to 256 in steps of " +
         std::to_string(step) +
         " with MN-major 8-bit B and cta_group::" + std::to_string(ctaGroup) +
         ", found " + std::to_string(n);
}

std::string mx::target::checkMmaTypes(MmaKind kind, MmaType a, MmaType b,
                                      AccumulatorType d) {
  if (std::string error = checkOperand(kind, "A", a); !error.empty())
    return error;
  if (std::string error = checkOperand(kind, "B", b); !error.empty())
    return error;
  unsigned legal = getInfo(kind).accumulators;
  // bf16 operands require an f32 D, although kind::f16 also supports an f16 D.
  if (kind == MmaKind::F16 && (a == MmaType::BF16 || b == MmaType::BF16))
    legal = kF32;
  if (legal >> unsigned(d) & 1)
    return {};
  return "expected D of " + kindName(kind) + " with " + getName(a) + " and " +
         getName(b) + " to be one of " + listNames<AccumulatorType>(legal) +
         ", found " + getName(d);
}

std::string mx::target::checkMmaKind(const TargetInfo &target, MmaKind kind) {
  if (std::string error = checkTcgen05(target); !error.empty())
    return error;
  if (kind == MmaKind::I8 && !target.hasI8Mma)
    return "chip '" + std::string(target.chip) + "' has no " + kindName(kind);
  return {};
}

//===----------------------------------------------------------------------===//
// Scale vectors
//===----------------------------------------------------------------------===//

Table<ScaleVectorRule> mx::target::getScaleVectorRules() {
  return kScaleVectors;
}

const ScaleVectorRule *mx::target::lookupScaleVector(MmaKind kind,
                                                     unsigned blockSize,
                                                     FloatFormat format,
                                                     std::string &error) {
  std::string legal;
  for (const ScaleVectorRule &rule : getScaleVectorRules()) {
    if (rule.kind != kind)
      continue;
    if (rule.blockSize == blockSize && rule.format == format)
      return &rule;
    legal += (legal.empty() ? "" : ", ") + std::to_string(rule.blockSize) +
             " x " + getInfo(rule.format).name;
  }
  error = legal.empty()
              ? kindName(kind) + " takes no scales"
              : "expected scales of " + kindName(kind) + " to be one of " +
                    legal + ", found " + std::to_string(blockSize) + " x " +
                    getInfo(format).name;
  return nullptr;
}

std::string mx::target::checkScaleId(const ScaleVectorRule &rule,
                                     unsigned scaleId) {
  if (scaleId < 4 && scaleId % rule.scaleIdStep == 0)
    return {};
  std::string legal;
  for (unsigned id = 0; id < 4; id += rule.scaleIdStep)
    legal += (id ? ", " : "") + std::to_string(id);
  return "expected scale id " + legal + " with " + kindName(rule.kind) +
         rule.block + ", found " + std::to_string(scaleId);
}

std::optional<MmaKind> mx::target::selectBlockScaledKind(MmaType a, MmaType b,
                                                         unsigned blockSize,
                                                         FloatFormat format) {
  // Kinds with K = 64 run at twice the rate of mxf8f6f4.
  for (MmaKind kind : {MmaKind::MXF4, MmaKind::MXF4NVF4, MmaKind::MXF8F6F4}) {
    std::string error;
    if (lookupScaleVector(kind, blockSize, format, error) &&
        checkMmaTypes(kind, a, b, AccumulatorType::F32).empty())
      return kind;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Layouts in tensor memory
//===----------------------------------------------------------------------===//

namespace {

/// Returns true if a CTA pair shares 128 rows. Each CTA then has 64, and its
/// lanes 64 to 127 contain the second half of N (PTX ISA, data path layout B).
bool splitsColumns(unsigned ctaGroup, unsigned m) {
  return ctaGroup == 2 && m == 128;
}

unsigned groupColumns(unsigned rows) {
  return (rows + kScaleRowsPerGroup - 1) / kScaleRowsPerGroup *
         kScaleColumnsPerGroup;
}

} // namespace

unsigned mx::target::accumulatorColumns(unsigned ctaGroup, unsigned m,
                                        unsigned n) {
  return splitsColumns(ctaGroup, m) ? n / 2 : n;
}

unsigned mx::target::scaleAColumns(unsigned ctaGroup, unsigned m) {
  // With 64 rows per CTA, scales use half of a column group.
  return splitsColumns(ctaGroup, m) ? kScaleColumnsPerGroup / 2
                                    : groupColumns(m / ctaGroup);
}

unsigned mx::target::scaleBColumns(unsigned ctaGroup, unsigned m, unsigned n) {
  return groupColumns(splitsColumns(ctaGroup, m) ? n / 2 : n);
}
