//===- Chip.cpp - Lookup of chips -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures are in chips/.
//===----------------------------------------------------------------------===//

#include "Facts.h"

using namespace mx::sim;
using namespace mx::sim::time;

namespace {

constexpr const Chip *kChips[] = {&kH200, &kB200};

} // namespace

std::string_view mx::sim::toString(Origin origin) {
  static constexpr std::string_view names[] = {"measured", "published",
                                               "derived", "assumed"};
  return names[unsigned(origin)];
}

const Chip *mx::sim::time::findChip(std::string_view name) {
  for (const Chip *chip : kChips)
    if (chip->name == name || chip->target == name)
      return chip;
  return nullptr;
}

std::vector<std::string_view> mx::sim::namesOfTimedChips() {
  std::vector<std::string_view> names;
  for (const Chip *chip : kChips)
    names.push_back(chip->name);
  return names;
}

uint32_t mx::sim::smsOfTimedChip(std::string_view name) {
  const Chip *chip = findChip(name);
  return chip ? uint32_t(chip->cycles(Fact::Multiprocessors)) : 0;
}

std::string mx::sim::listOfTimedChips() {
  std::string all;
  for (std::string_view name : namesOfTimedChips())
    all += (all.empty() ? "'" : ", '") + std::string(name) + "'";
  return all;
}

std::vector<Figure> mx::sim::figuresOfChip(std::string_view name) {
  std::vector<Figure> figures;
  if (const Chip *chip = findChip(name))
    for (unsigned k = 0; k < kFacts; ++k)
      if (!chip->figures[k].name.empty()) {
        figures.push_back(chip->figures[k]);
        figures.back().key = infoOf(Fact(k)).key;
      }
  return figures;
}
