//===- RankGroups.cpp - Rank groups of a process --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process of mx-launch is one rank. Rank 0 listens, the others connect.
//===----------------------------------------------------------------------===//

#include "RankGroups.h"
#include "Report.h"

#include <algorithm>

using namespace mx;

RankGroups::~RankGroups() {
  for (mxGroup group : groups)
    (void)mxGroupDestroy(group);
}

/// Which groups are named must be known before a rank waits for others.
static ExitStatus checkNames(const std::vector<std::string> &known,
                             const std::vector<LaunchRankGroup> &named) {
  std::string names;
  for (const std::string &name : known)
    names += (names.empty() ? "" : ", ") + name;
  std::vector<std::string> seen;
  for (const LaunchRankGroup &group : named) {
    if (known.empty())
      return report("--group: expected a program of several ranks, found one "
                    "that has no groups");
    if (std::find(known.begin(), known.end(), group.name) == known.end())
      return report("--group: expected one of [" + names + "], found '" +
                    group.name + "'");
    if (std::find(seen.begin(), seen.end(), group.name) != seen.end())
      return report("--group: the group '" + group.name +
                    "' stands here twice");
    seen.push_back(group.name);
  }
  return kExitClean;
}

ExitStatus RankGroups::bind(const LaunchOptions &options) {
  std::vector<mxProgramGroupInfo> infos(size_t(mxProgramGroupCount(program)),
                                        mxSized<mxProgramGroupInfo>());
  std::vector<std::string> names;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (mxProgramGetGroup(program, int32_t(i), &infos[i]))
      return reportLastError();
    names.push_back(infos[i].name);
  }
  if (ExitStatus status = checkNames(names, options.groups))
    return status;
  // In the order of the program, which all ranks have.
  for (const mxProgramGroupInfo &info : infos)
    if (ExitStatus status = bind(info, options))
      return status;
  return kExitClean;
}

ExitStatus RankGroups::bind(const mxProgramGroupInfo &info,
                            const LaunchOptions &options) {
  std::string name = info.name;
  auto place = std::find_if(
      options.groups.begin(), options.groups.end(),
      [&](const LaunchRankGroup &group) { return group.name == name; });
  if (place == options.groups.end())
    return report("expected --group=" + name +
                  "@HOST:PORT --rank=R for group '" + name + "' of " +
                  std::to_string(info.size) +
                  " ranks, found none: start mx-launch once for each rank");
  if (place->rank < 0 || place->rank >= info.size)
    return report("--rank: expected 0 to " + std::to_string(info.size - 1) +
                  " for group '" + name + "', found " +
                  std::to_string(place->rank));
  mxGroupConfig config = mxSized<mxGroupConfig>();
  config.name = info.name;
  config.rank = place->rank;
  config.size = info.size;
  mxGroup group = nullptr;
  if (mxGroupConnect(&group, &config, place->address.c_str()))
    return reportLastError();
  groups.push_back(group);
  if (mxProgramBindGroup(program, info.name, group))
    return reportLastError();
  return kExitClean;
}
