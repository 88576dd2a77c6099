//===- RunOptions.cpp - Options of simulated launches as text -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/RunOptions.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace mx::sim;

namespace {

struct OptionName {
  const char *name;
  const char *variable;
};

const OptionName kOptions[] = {
    {"seed", "MX_SIM_SEED"},
    {"checks", "MX_SIM_CHECKS"},
    {"sm-count", "MX_SIM_SM_COUNT"},
    {"instruction-limit", "MX_SIM_INSTRUCTION_LIMIT"},
    {"jobs", "MX_SIM_JOBS"},
    {"tensor-sums", "MX_SIM_TENSOR_SUMS"},
    {"warnings", "MX_SIM_WARNINGS"},
    {"report", "MX_SIM_REPORT"},
    {"record", "MX_SIM_RECORD"},
    {"time", "MX_SIM_TIME"},
    {"machine-code", "MX_SIM_MACHINE_CODE"},
    {"data", "MX_SIM_DATA"},
    {"clock", "MX_SIM_CLOCK"},
    {"time-figure", "MX_SIM_TIME_FIGURE"},
    {"time-without", "MX_SIM_TIME_WITHOUT"},
    {"time-lines", "MX_SIM_TIME_LINES"},
};

/// Parses decimal digits within [low, high].
bool parseNumber(std::string_view text, uint64_t low, uint64_t high,
                 uint64_t &value) {
  value = 0;
  for (char c : text)
    if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10u, &value) ||
        __builtin_add_overflow(value, uint64_t(c - '0'), &value))
      return false;
  return !text.empty() && value >= low && value <= high;
}

/// Reads a file; returns "" or the reason for failure.
std::string readWholeFile(const std::string &path, std::string &text) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  text = all.str();
  return file ? std::string() : path + ": " + strerror(errno);
}

std::string badValue(std::string_view option, const std::string &expected,
                     std::string_view found) {
  return "simulator option " + std::string(option) + ": expected " + expected +
         ", found '" + std::string(found) + "'";
}

} // namespace

bool mx::sim::parseChecks(std::string_view text, uint32_t &checks,
                          std::string &error) {
  // "-race" removes the check "race". A list that starts with '-' removes from
  // the set of all checks.
  checks = text.substr(0, 1) == "-" ? kCheckAll : kCheckNone;
  if (text == "none")
    return true;
  for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    std::string_view part = text.substr(begin, end - begin), wanted = part;
    bool isOff = wanted.substr(0, 1) == "-";
    wanted.remove_prefix(isOff);
    bool isFound = wanted == "all" && !isOff;
    if (isFound)
      checks = kCheckAll;
    for (auto &[name, bit] : kCheckNames)
      if (wanted == name) {
        checks = isOff ? checks & ~bit : checks | bit;
        isFound = true;
      }
    if (!isFound) {
      error = "unknown check '" + std::string(part) +
              "', expected all, none or a list of";
      for (auto &[name, bit] : kCheckNames)
        error.append(" ").append(name);
      return false;
    }
  }
  return true;
}

std::string RunOptions::set(std::string_view option, std::string_view value) {
  uint64_t number = 0;
  if (option == "seed") {
    if (!parseNumber(value, 0, UINT64_MAX, number))
      return badValue(option, "a number from 0 to 2^64-1", value);
    seed = number;
    return {};
  }
  if (option == "sm-count") {
    if (!parseNumber(value, 1, 1024, number))
      return badValue(option, "a number from 1 to 1024", value);
    smCount = number;
    return {};
  }
  if (option == "instruction-limit") {
    if (!parseNumber(value, 1, UINT64_MAX, number))
      return badValue(option, "a number from 1 to 2^64-1", value);
    maxInstructions = number;
    return {};
  }
  if (option == "jobs") {
    if (!parseNumber(value, 0, UINT32_MAX, number))
      return badValue(option, "a number of threads, or 0 for one per core",
                      value);
    threads = unsigned(number);
    return {};
  }
  if (option == "tensor-sums") {
    if (value != "exact" && value != "truncated")
      return badValue(option, "exact or truncated", value);
    truncatesTensorSums = value == "truncated";
    return {};
  }
  if (option == "warnings") {
    if (value != "print" && value != "error" && value != "none")
      return badValue(option, "print, error or none", value);
    warnings = value == "print"   ? Warnings::Print
               : value == "error" ? Warnings::Error
                                  : Warnings::None;
    return {};
  }
  if (option == "report") {
    report = value;
    return {};
  }
  if (option == "record") {
    record = value;
    return {};
  }
  if (option == "machine-code") {
    std::string why = readWholeFile(std::string(value), machineCode);
    return why;
  }
  if (option == "data") {
    if (value != "values" && value != "none")
      return badValue(option, "values or none", value);
    skipsMmas = value == "none";
    return {};
  }
  if (option == "time") {
    uint32_t count = smsOfTimedChip(value);
    if (!count)
      return badValue(option, listOfTimedChips(), value);
    timedChip = value;
    smCount = count;
    return {};
  }
  if (option == "time-lines") {
    if (!parseNumber(value, 1, UINT32_MAX, number))
      return badValue(option, "a number of lines, at least 1", value);
    timeLines = uint32_t(number);
    return {};
  }
  if (option == "clock" || option == "time-figure" || option == "time-without")
    return setTimeChange(option, value);
  if (option == "checks") {
    uint32_t parsed = kCheckAll;
    std::string names = "default, all, none or a list of", error;
    for (const CheckName &check : kCheckNames)
      names.append(" ").append(check.name);
    if (value != "default" && !parseChecks(value, parsed, error))
      return badValue(option, names, value);
    checks = parsed;
    looksForBugs = value != "default" && value != "none";
    return {};
  }
  return "expected one of the simulator options seed, checks, sm-count, "
         "instruction-limit, jobs, tensor-sums, warnings, report, record, "
         "time, machine-code, data, clock, time-figure, time-without or "
         "time-lines, found '" +
         std::string(option) + "'";
}

std::string RunOptions::setTimeChange(std::string_view option,
                                      std::string_view value) {
  std::string why;
  if (option == "time-without")
    why = setWithout(timeChanges, value);
  else if (option == "clock")
    why = setClock(timeChanges, value);
  // The value is a comma-separated list.
  for (size_t begin = 0;
       option == "time-figure" && why.empty() && begin <= value.size();) {
    size_t end = std::min(value.find(',', begin), value.size());
    why = setFigure(timeChanges, value.substr(begin, end - begin));
    begin = end + 1;
  }
  return why.empty() ? why
                     : "simulator option " + std::string(option) + ": " + why;
}

std::string RunOptions::readEnvironment() {
  for (const OptionName &option : kOptions)
    if (const char *value = getenv(option.variable); value && *value)
      if (std::string why = set(option.name, value); !why.empty())
        return std::string(option.variable) + ": " + why;
  return {};
}

std::string RunOptions::variableOf(std::string_view option) {
  for (const OptionName &known : kOptions)
    if (option == known.name)
      return known.variable;
  return {};
}

void RunOptions::apply(LaunchConfig &config) const {
  config.smCount = smCount;
  config.timedChip = timedChip;
  config.timeChanges = timeChanges;
  config.timeLines = timeLines > 0;
  config.skipsMmas = skipsMmas;
  config.machineCode = machineCode;
  config.seed = seed;
  config.checks = checks;
  config.maxInstructions = maxInstructions;
  config.threads = threads;
  config.truncatesTensorSums = truncatesTensorSums;
  config.profile = !report.empty();
}
