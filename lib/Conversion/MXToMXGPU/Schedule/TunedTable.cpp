//===- TunedTable.cpp - The file of measured schedules --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// JSON, read strictly: a schedule of a damaged file would be a slow program
// that nothing explains.
//
//===----------------------------------------------------------------------===//

#include "mlir/Support/FileUtilities.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mxsim/io/InputFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <tuple>

using namespace mx::mxgpu;
using llvm::StringRef;
namespace json = llvm::json;

/// What the file says it is, and the version of its form.
static constexpr StringRef kTableFormat = "mx-tuned-schedules";
static constexpr int64_t kTableVersion = 2;

bool TunedKey::operator==(const TunedKey &other) const {
  return std::tie(chip, gpu, compiler, matmul) ==
         std::tie(other.chip, other.gpu, other.compiler, other.matmul);
}

std::string TunedEntry::describe() const {
  std::string text = llvm::formatv(
      "{0} {1} on {2}",
      StringRef(key.gpu).starts_with(kModelOf) ? "modelled" : "measured", date,
      key.gpu);
  if (sizes.size() != 1)
    return text;
  for (const TimedSchedule &one : sizes.front().candidates)
    if (one.schedule == schedule)
      text += llvm::formatv(": {0:f2} us", one.microseconds);
  const TimedSchedule &first = sizes.front().candidates.front();
  if (first.schedule != schedule && first.microseconds > 0)
    text += llvm::formatv(", the model's choice {0:f2} us", first.microseconds);
  return text;
}

void TunedTable::put(TunedEntry entry) {
  for (TunedEntry &other : entries)
    if (other.key == entry.key) {
      other = std::move(entry);
      return;
    }
  entries.push_back(std::move(entry));
}

const TunedEntry *TunedTable::find(const TunedKey &key) const {
  for (const TunedEntry &entry : entries)
    if (entry.key == key)
      return &entry;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// To and from JSON
//===----------------------------------------------------------------------===//

// One list of members for each struct, which reads and writes them.

namespace {

/// Takes the members of an object out of it.
class Reader {
public:
  Reader(const json::Object &object, json::Path path)
      : object(object), path(path) {}

  template <typename T>
  void operator()(StringRef name, T &value) {
    if (const json::Value *found = object.get(name)) {
      isGood &= fromJSON(*found, value, path.field(name));
      return;
    }
    path.field(name).report("expected a value");
    isGood = false;
  }
  bool isGood = true;

private:
  const json::Object &object;
  json::Path path;
};

/// Puts them into one.
class Writer {
public:
  template <typename T>
  void operator()(StringRef name, T &value) {
    object[name] = json::Value(value);
  }
  json::Object object;
};

} // namespace

namespace mx::mxgpu {

template <typename Visitor>
static void visit(TunedKey &key, Visitor &visitor) {
  visitor("chip", key.chip);
  visitor("gpu", key.gpu);
  visitor("compiler", key.compiler);
  visitor("matmul", key.matmul);
}
template <typename Visitor>
static void visit(TimedSchedule &timed, Visitor &visitor) {
  visitor("schedule", timed.schedule);
  visitor("microseconds", timed.microseconds);
  visitor("left_out", timed.leftOut);
}
template <typename Visitor>
static void visit(TunedSizes &sizes, Visitor &visitor) {
  visitor("m", sizes.m);
  visitor("n", sizes.n);
  visitor("k", sizes.k);
  visitor("groups", sizes.groups);
  visitor("candidates", sizes.candidates);
}
template <typename Visitor>
static void visit(TunedEntry &entry, Visitor &visitor) {
  visitor("key", entry.key);
  visitor("schedule", entry.schedule);
  visitor("date", entry.date);
  visitor("asked", entry.count);
  visitor("rows", entry.rows);
  visitor("sizes", entry.sizes);
}

template <typename T>
static bool readStruct(const json::Value &value, T &read, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected an object");
    return false;
  }
  Reader reader(*object, path);
  visit(read, reader);
  return reader.isGood;
}

template <typename T>
static json::Value writeStruct(const T &written) {
  T copy = written;
  Writer writer;
  visit(copy, writer);
  return std::move(writer.object);
}

#define MX_JSON_STRUCT(type)                                                   \
  static bool fromJSON(const json::Value &value, type &read,                   \
                       json::Path path) {                                      \
    return readStruct(value, read, path);                                      \
  }                                                                            \
  static json::Value toJSON(const type &written) {                             \
    return writeStruct(written);                                               \
  }
MX_JSON_STRUCT(TunedKey)
MX_JSON_STRUCT(TimedSchedule)
MX_JSON_STRUCT(TunedSizes)
MX_JSON_STRUCT(TunedEntry)
#undef MX_JSON_STRUCT

} // namespace mx::mxgpu

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static llvm::Error refuseTable(const std::string &path,
                               const llvm::Twine &found) {
  return llvm::createStringError(
      path + ": expected a table of tuned schedules (" + kTableFormat +
      ", version " + llvm::Twine(kTableVersion) + "), found " + found +
      ": name another file, or delete it and tune again");
}

/// Whether brackets, also those of schedules in strings, are nested deeper than
/// parsers should recurse.
static bool isTooDeep(llvm::StringRef text) {
  constexpr int64_t kMostDepth = 200;
  int64_t depth = 0;
  for (char c : text) {
    if (llvm::StringRef("[{(<").contains(c))
      ++depth;
    else if (llvm::StringRef("]})>").contains(c))
      --depth;
    if (depth > kMostDepth)
      return true;
  }
  return false;
}

llvm::Expected<TunedTable> TunedTable::read(const std::string &path,
                                            bool replacesOld) {
  if (std::string why = checkInputFile(path); !why.empty())
    return llvm::createStringError(why);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError(
        path + ": cannot read: " + file.getError().message());
  if (isTooDeep((*file)->getBuffer()))
    return refuseTable(path, "brackets nested more than 200 deep");
  llvm::Expected<json::Value> value = json::parse((*file)->getBuffer());
  if (!value) {
    // Its place, which llvm::json puts first, and what it is.
    std::string why = llvm::toString(value.takeError());
    return refuseTable(path, "no JSON (" + StringRef(why).trim() + ")");
  }
  const json::Object *object = value->getAsObject();
  std::optional<StringRef> format =
      object ? object->getString("format") : std::nullopt;
  if (format != kTableFormat)
    return refuseTable(path, "JSON of another kind");
  std::optional<int64_t> version = object->getInteger("version");
  if (version && version != kTableVersion && replacesOld)
    return TunedTable();
  if (version != kTableVersion)
    return refuseTable(path, version ? "version " + std::to_string(*version)
                                     : std::string("no version"));
  TunedTable table;
  json::Path::Root root("table");
  const json::Value *entries = object->get("entries");
  if (!entries)
    return refuseTable(path, "no entries");
  if (!fromJSON(*entries, table.entries, json::Path(root).field("entries")))
    return refuseTable(path, "an entry of another form (" +
                                 llvm::toString(root.getError()) + ")");
  for (const TunedEntry &entry : table.entries)
    for (const TunedSizes &sizes : entry.sizes)
      if (sizes.candidates.empty())
        return refuseTable(path, "sizes without candidates");
  return table;
}

llvm::Error TunedTable::write(const std::string &path) const {
  json::Value value = json::Object{{"format", kTableFormat},
                                   {"version", kTableVersion},
                                   {"entries", entries}};
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    stream << llvm::formatv("{0:2}\n", value);
    return llvm::Error::success();
  });
  if (error)
    return llvm::createStringError(
        path + ": cannot write: " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}
