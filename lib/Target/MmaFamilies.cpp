//===- MmaFamilies.cpp - what each family of MMAs takes and gives ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The table. A family has one row, and chips name it.
//
//===----------------------------------------------------------------------===//

#include "mx/Target/MmaFamilies.h"
#include "mx/Support/EnumTable.h"

using namespace mx;
using namespace mx::target;

namespace {

constexpr MmaFamilyInfo kFamilies[] = {
    {MmaFamily::Wgmma,
     "wgmma.mma_async",
     {kWarpGroupSize, MmaPlace::SharedMemory | MmaPlace::Registers,
      MmaPlace::SharedMemory, MmaPlace::None, MmaPlace::Registers,
      MmaCompletion::WaitGroup}},
    {MmaFamily::Tcgen05,
     "tcgen05.mma.block_scale",
     {1, MmaPlace::SharedMemory, MmaPlace::SharedMemory, MmaPlace::TensorMemory,
      MmaPlace::TensorMemory, MmaCompletion::Commit}},
    {MmaFamily::MmaSync,
     "mma.sync.block_scale",
     {kWarpSize, MmaPlace::Registers, MmaPlace::Registers, MmaPlace::Registers,
      MmaPlace::Registers, MmaCompletion::Synchronous}},
};
static_assert(isEnumTable<&MmaFamilyInfo::family>(kFamilies));

constexpr EnumName<MmaPlace> kPlaces[kNumMmaPlaces] = {
    {MmaPlace::None, "none"},
    {MmaPlace::SharedMemory, "shared memory"},
    {MmaPlace::TensorMemory, "tensor memory"},
    {MmaPlace::Registers, "registers"},
};
static_assert(isEnumTable<&EnumName<MmaPlace>::value>(kPlaces));

constexpr EnumName<MmaCompletion> kCompletions[] = {
    {MmaCompletion::Commit, "commit"},
    {MmaCompletion::WaitGroup, "wait group"},
    {MmaCompletion::Synchronous, "synchronous"},
};
static_assert(isEnumTable<&EnumName<MmaCompletion>::value>(kCompletions));

} // namespace

const MmaFamilyInfo &mx::target::getInfo(MmaFamily family) {
  return kFamilies[unsigned(family)];
}

const char *mx::target::getName(MmaPlace place) {
  return kPlaces[unsigned(place)].name;
}

std::string mx::target::getName(MmaPlaces places) {
  std::string names;
  for (unsigned place = 0; place < kNumMmaPlaces; ++place)
    if (places.contains(MmaPlace(place)))
      names += std::string(names.empty() ? "" : " or ") + kPlaces[place].name;
  return names;
}

const char *mx::target::getName(MmaCompletion completion) {
  return kCompletions[unsigned(completion)].name;
}

std::string mx::target::checkMmaFamily(const TargetInfo &target,
                                       MmaFamily family) {
  if (target.mmaFamily == family)
    return {};
  return "chip '" + std::string(target.chip) + "' has no " +
         getInfo(family).name + ": it has " + getInfo(target.mmaFamily).name;
}
