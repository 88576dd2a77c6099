//===- Roles.cpp - Roles of warps -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels assign different work to warps by index. The role of a warp index is
// inferred from the bytes that its warps move and the MMAs that they execute in
// all CTAs.
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "mxsim/Report.h"

#include <algorithm>
#include <cstdio>

using namespace mx::sim;

WarpProfile &WarpProfile::operator+=(const WarpProfile &o) {
  for (auto &[key, n] : o.classes)
    classes[key] += n;
  for (auto &[key, n] : o.mmas)
    mmas[key] += n;
  for (auto &[line, n] : o.lines)
    lines[line] += n;
  failedTests += o.failedTests;
  failedInstructions += o.failedInstructions;
  return *this;
}

/// Warps that move fewer bytes per CTA only read parameters and addresses.
static constexpr uint64_t kFewBytes = 1024;

static std::string roleOf(const WarpStatistics &s, uint64_t ctas) {
  std::string name;
  auto add = [&](bool does, const char *what) {
    if (does)
      name += (name.empty() ? "" : " + ") + std::string(what);
  };
  add(s.bulkLoadBytes, "tma load");
  add(s.copyBytes, "cp.async load");
  add(s.mmas, "mma");
  bool stores = s.globalStoreBytes || s.bulkStoreBytes || s.sharedStoreBytes;
  add(s.tensorLoadBytes && stores, "epilogue");
  add(s.tensorLoadBytes && !stores, "tensor load");
  add(s.bulkStoreBytes && !s.tensorLoadBytes, "tma store");
  if (!name.empty())
    return name;
  uint64_t bytes = s.globalLoadBytes + s.globalStoreBytes + s.sharedLoadBytes +
                   s.sharedStoreBytes + s.tensorStoreBytes + s.tensorCopyBytes;
  if (bytes >= kFewBytes * ctas)
    return "compute";
  return s.mbarrierWaits ? "control" : "idle";
}

std::vector<Role> mx::sim::rolesOf(const LaunchReport &report) {
  const LaunchStatistics &s = report.statistics;
  uint64_t ctas = std::max<uint64_t>(1, report.facts.grid.count());
  std::vector<Role> roles;
  for (size_t w = 0; w < s.warps.size(); ++w) {
    std::string name = roleOf(s.warps[w], ctas);
    auto it = std::find_if(roles.begin(), roles.end(),
                           [&](const Role &r) { return r.name == name; });
    if (it == roles.end()) {
      it = roles.emplace(roles.end());
      it->name = name;
    }
    it->warps.push_back(uint32_t(w));
    it->counts += s.warps[w];
    if (w < s.profiles.size())
      it->profile += s.profiles[w];
  }
  return roles;
}

std::string mx::sim::listOf(const std::vector<uint32_t> &warps) {
  std::string s;
  for (size_t k = 0; k < warps.size();) {
    size_t end = k + 1;
    while (end < warps.size() && warps[end] == warps[end - 1] + 1)
      ++end;
    s += (s.empty() ? "" : ",") + std::to_string(warps[k]);
    if (end > k + 1)
      s += (end > k + 2 ? "-" : ",") + std::to_string(warps[end - 1]);
    k = end;
  }
  return s;
}

std::string mx::sim::bytesText(uint64_t n) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = double(n);
  unsigned unit = 0;
  for (; v >= 10000 && unit < 4; ++unit)
    v /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", v,
                units[unit]);
  return n ? text : "-";
}

std::string
mx::sim::tableText(const std::vector<std::vector<std::string>> &table,
                   size_t first) {
  std::string s;
  // Omit empty columns.
  std::vector<size_t> width(table[0].size());
  for (size_t k = 0; k < width.size(); ++k) {
    bool isEmpty = k > first;
    for (size_t r = 0; r < table.size(); ++r) {
      width[k] = std::max(width[k], table[r][k].size());
      isEmpty &= r == 0 || table[r][k] == "-";
    }
    if (isEmpty)
      width[k] = 0;
  }
  for (auto &row : table) {
    std::string line = " ";
    for (size_t k = 0; k < row.size(); ++k) {
      if (!width[k])
        continue;
      std::string pad(width[k] - row[k].size(), ' ');
      line += " " + (k < first ? row[k] + pad : pad + row[k]) + " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    s += line + "\n";
  }
  return s;
}

std::string mx::sim::statisticsText(const LaunchReport &report) {
  const LaunchFacts &f = report.facts;
  auto dims = [](const Dim3 &d) {
    return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" +
           std::to_string(d.z);
  };
  std::string s =
      "kernel " + shortName(f.kernel) +
      (f.device < 0 ? "" : " on device " + std::to_string(f.device)) +
      ": grid " + dims(f.grid) + ", block " + dims(f.block) + ", cluster " +
      dims(f.cluster) + ", " +
      std::to_string(f.staticSharedBytes + f.dynamicSharedBytes) +
      " bytes of shared memory, " +
      std::to_string(report.statistics.residentCtas) + " CTAs resident\n";
  std::vector<std::vector<std::string>> table = {
      {"role", "warps", "instructions", "mma", "tma load", "tma store",
       "cp.async", "ld.global", "st.global", "ld.shared", "st.shared",
       "tcgen05.cp", "tcgen05.ld", "tcgen05.st", "waits"}};
  for (const Role &r : rolesOf(report)) {
    const WarpStatistics &c = r.counts;
    std::vector<std::string> row = {r.name, listOf(r.warps),
                                    std::to_string(c.instructions),
                                    c.mmas ? std::to_string(c.mmas) : "-"};
    for (uint64_t n :
         {c.bulkLoadBytes, c.bulkStoreBytes, c.copyBytes, c.globalLoadBytes,
          c.globalStoreBytes, c.sharedLoadBytes, c.sharedStoreBytes,
          c.tensorCopyBytes, c.tensorLoadBytes, c.tensorStoreBytes})
      row.push_back(bytesText(n));
    row.push_back(
        std::to_string(c.mbarrierWaits + c.barrierWaits + c.clusterWaits));
    table.push_back(std::move(row));
  }
  s += tableText(table, /*first=*/2);
  for (const Role &r : rolesOf(report))
    for (auto &[shape, n] : r.profile.mmas)
      s += "  " + r.name + ": " + std::to_string(n) + " x " + shape + "\n";
  return s;
}
