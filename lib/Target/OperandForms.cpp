//===- OperandForms.cpp - Operand layouts of block-scaled MMAs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Target/OperandForms.h"
#include "mx/Target/MmaFamilies.h"
#include "mx/Target/Wgmma.h"
#include <algorithm>
#include <cassert>

using namespace mx;
using namespace mx::target;

namespace {

// Row lengths are strides of tensor maps, so they are multiples of 16 bytes.
// Rows of padded types are multiples of 32 bytes and of 128 elements.
// Repacking pads rows and reads 32 elements at a time.
constexpr OperandForm kForms[] = {
    // kind, type, padded, repacked, row multiple, alignment
    {MmaKind::MXF8F6F4, MmaType::E4M3, false, false, 16, 16},
    {MmaKind::MXF8F6F4, MmaType::E5M2, false, false, 16, 16},
    {MmaKind::MXF8F6F4, MmaType::E2M3, true, true, 32, 16},
    {MmaKind::MXF8F6F4, MmaType::E3M2, true, true, 32, 16},
    {MmaKind::MXF8F6F4, MmaType::E2M1, true, false, 128, 32},
    {MmaKind::MXF4, MmaType::E2M1, false, false, 32, 16},
    {MmaKind::MXF4NVF4, MmaType::E2M1, false, false, 32, 16},
};

// Row lengths are strides of a byte tensor map, so they are multiples of 16.
constexpr OperandForm kDequantizedForms[] = {
    {MmaKind::MXF8F6F4, MmaType::E4M3, false, false, 16, 16},
    {MmaKind::MXF8F6F4, MmaType::E5M2, false, false, 16, 16},
    {MmaKind::MXF8F6F4, MmaType::E2M3, false, false, 16, 16},
    {MmaKind::MXF8F6F4, MmaType::E3M2, false, false, 16, 16},
    {MmaKind::MXF8F6F4, MmaType::E2M1, false, false, 32, 16},
    // Unscaled operand.
    {MmaKind::F16, MmaType::BF16, false, false, 8, 16},
};

/// Returns the form of `type` that satisfies `isOf`.
template <typename Pick>
const OperandForm &findForm(Table<OperandForm> forms, MmaType type, Pick isOf) {
  const OperandForm *found =
      std::find_if(forms.begin(), forms.end(), [&](const OperandForm &form) {
        return form.type == type && isOf(form);
      });
  assert(found != forms.end() && "not an operand of an MMA");
  return *found;
}

} // namespace

// Represents all block-scaled kinds of tcgen05.mma. Messages name the kind.
const MmaInstruction mx::target::kTcgen05BlockScaled = {
    nullptr, /*takesScales=*/true, /*k=*/0, /*wholeK=*/0, kTmemLanes};
const MmaInstruction mx::target::kTcgen05F16 = {"kind::f16",
                                                /*takesScales=*/false, /*k=*/16,
                                                kDequantizedTileK, kTmemLanes};
const MmaInstruction mx::target::kWgmmaBF16 = {"wgmma.mma_async",
                                               /*takesScales=*/false, /*k=*/16,
                                               kDequantizedTileK, kWgmmaM};
const MmaInstruction mx::target::kWgmmaFP8 = {"wgmma.mma_async",
                                              /*takesScales=*/false,
                                              /*k=*/32,
                                              kFoldedTileK,
                                              kWgmmaM,
                                              /*readsRegisters=*/false,
                                              /*promotes=*/true};

// Represents all block-scaled kinds of mma.sync.
const MmaInstruction mx::target::kMmaSyncBlockScaled = {
    nullptr,     /*takesScales=*/true,   /*k=*/0, /*wholeK=*/0,
    /*rows=*/16, /*readsRegisters=*/true};

const MmaInstruction mx::target::kMmaSyncBF16 = {
    "mma.sync", /*takesScales=*/false, /*k=*/16, kDequantizedTileK,
    /*rows=*/16};

const char *MmaForm::getInstruction() const {
  return instruction->name ? instruction->name : getInfo(kind).name;
}

std::string MmaForm::describeInstruction() const {
  return instruction->name ? instruction->name
                           : "kind::" + std::string(getInfo(kind).name);
}

unsigned MmaForm::getK() const {
  return instruction->k ? instruction->k : getInfo(kind).k;
}

Table<OperandForm> mx::target::getOperandForms() { return kForms; }

const OperandForm &mx::target::getOperandForm(MmaKind kind, MmaType type) {
  return findForm(getOperandForms(), type,
                  [&](const OperandForm &form) { return form.kind == kind; });
}

const OperandForm &mx::target::getDequantizedForm(MmaType type) {
  return findForm(kDequantizedForms, type,
                  [](const OperandForm &) { return true; });
}

/// Returns the kind that supports the operand and scale formats. If operands
/// are dequantized to bf16, the other operand may be bf16, and scales may have
/// formats that no kind supports.
static std::optional<MmaKind> selectKind(const MmaInstruction &instruction,
                                         MmaType a, MmaType b,
                                         unsigned blockSize,
                                         std::optional<FloatFormat> format) {
  if (!format && instruction.takesScales)
    return std::nullopt;
  if (!format)
    return MmaKind::F16;
  return selectBlockScaledKind(a == MmaType::BF16 ? b : a,
                               b == MmaType::BF16 ? a : b, blockSize, *format);
}

std::optional<MmaForm>
mx::target::lookupMma(const MmaInstruction &instruction, MmaType a, MmaType b,
                      unsigned blockSize, std::optional<FloatFormat> format) {
  std::optional<MmaKind> kind =
      selectKind(instruction, a, b, blockSize, format);
  if (!kind)
    return std::nullopt;
  bool isDirect = instruction.takesScales;
  bool isInMemory = isDirect && !instruction.readsRegisters;
  auto getForm = [&](MmaType type) {
    return isInMemory ? &getOperandForm(*kind, type)
                      : &getDequantizedForm(type);
  };
  MmaForm mma{&instruction, *kind,     getForm(a),
              getForm(b),   blockSize, /*reductionMultiple=*/0};
  // Dequantized operands need whole blocks only. All multiples are powers of
  // two, so the maximum is a multiple of each.
  mma.reductionMultiple = std::max({isDirect ? mma.getK() : blockSize,
                                    mma.a->rowMultiple, mma.b->rowMultiple});
  return mma;
}

MmaForm mx::target::getFP8Mma(MmaType a, MmaType b, unsigned blockSize) {
  const OperandForm &ofA = getDequantizedForm(a), &ofB = getDequantizedForm(b);
  return {&kWgmmaFP8, MmaKind::MXF8F6F4, &ofA,
          &ofB,       blockSize,         std::max(blockSize, kFoldedTileK)};
}

MmaForm mx::target::getBF16Mma(const MmaInstruction &instruction) {
  const OperandForm &form = getDequantizedForm(MmaType::BF16);
  return {&instruction, MmaKind::F16,     &form,
          &form,        /*blockSize=*/32, form.rowMultiple};
}
