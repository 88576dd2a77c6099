//===- MmaFamiliesTest.cpp - Operands and results of MMA families ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tests the table of MMA families and compares docs/reference/Chips.md with it.
//===----------------------------------------------------------------------===//

#include "mx/Target/MmaFamilies.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sstream>
#include <vector>

using namespace mx::target;

namespace {

/// All families; add a new family to the table of docs/reference/Chips.md.
constexpr MmaFamily kFamilies[] = {MmaFamily::Wgmma, MmaFamily::Tcgen05,
                                   MmaFamily::MmaSync};

/// The table is indexed by the family's number, and each chip names a single
/// family.
TEST(MmaFamilies, RowsFollowTheEnumeration) {
  for (MmaFamily family : kFamilies)
    EXPECT_EQ(getInfo(family).family, family);
  for (const TargetInfo &target : getTargets()) {
    EXPECT_EQ(getInfo(target.mmaFamily).family, target.mmaFamily)
        << target.chip;
    // A family uses tensor memory if and only if the chip has it.
    const MmaRoles &roles = getInfo(target.mmaFamily).roles;
    EXPECT_EQ(roles.accumulator == MmaPlace::TensorMemory ||
                  roles.scales == MmaPlace::TensorMemory,
              target.tmemColumns != 0)
        << target.chip;
  }
}

TEST(MmaFamilies, Chips) {
  for (const TargetInfo &target : getTargets())
    for (MmaFamily family : kFamilies)
      EXPECT_EQ(checkMmaFamily(target, family).empty(),
                target.mmaFamily == family)
          << target.chip << " " << getInfo(family).name;
  EXPECT_EQ(checkMmaFamily(*lookupTarget("sm_90a"), MmaFamily::Tcgen05),
            "chip 'sm_90a' has no tcgen05.mma.block_scale: it has "
            "wgmma.mma_async");
  EXPECT_EQ(checkMmaFamily(*lookupTarget("sm_100f"), MmaFamily::Wgmma),
            "chip 'sm_100f' has no wgmma.mma_async: it has "
            "tcgen05.mma.block_scale");
  EXPECT_EQ(checkMmaFamily(*lookupTarget("sm_103a"), MmaFamily::MmaSync),
            "chip 'sm_103a' has no mma.sync.block_scale: it has "
            "tcgen05.mma.block_scale");
}

/// Returns a row of the page without its last column, which lists users and is
/// not part of the table.
std::string getRow(const MmaFamilyInfo &info) {
  std::stringstream row;
  row << "| `" << info.name << "` | ";
  const char *separator = "";
  for (const TargetInfo &target : getTargets())
    if (target.mmaFamily == info.family) {
      row << separator << "`" << target.chip << "`";
      separator = ", ";
    }
  const MmaRoles &roles = info.roles;
  row << " | " << roles.threads << " | " << getName(roles.a) << " | "
      << getName(roles.b) << " | " << getName(roles.scales) << " | "
      << getName(roles.accumulator) << " | " << getName(roles.completion)
      << " | ";
  return row.str();
}

TEST(MmaFamilies, DocsShowTheTable) {
  std::ifstream page(MX_CHIPS_PAGE);
  ASSERT_TRUE(page);
  std::vector<std::string> rows;
  bool isSection = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("## ", 0) == 0)
      isSection = line == "## Matrix instructions";
    if (isSection && line.rfind("| `", 0) == 0)
      rows.push_back(line);
  }
  ASSERT_EQ(rows.size(), std::size(kFamilies));
  for (MmaFamily family : kFamilies) {
    const MmaFamilyInfo &info = getInfo(family);
    const std::string &row = rows[unsigned(family)];
    EXPECT_EQ(row.substr(0, getRow(info).size()), getRow(info)) << row;
  }
}

} // namespace
