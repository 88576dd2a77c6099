//===- Template.cpp - Templates of launch files ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills in the values that the PTX implies. All other values are "?". The
// reader of launch files rejects a file with "?".
//===----------------------------------------------------------------------===//

#include "LaunchFileImpl.h"
#include "mxsim/Report.h"
#include "mxsim/io/JsonWriter.h"

using namespace mx::sim;
using mx::Json, mx::JsonReader, mx::JsonWriter;

static constexpr const char *kOpen = "?";

//===----------------------------------------------------------------------===//
// Unfilled values
//===----------------------------------------------------------------------===//

static void findOpen(const JsonReader &json, std::vector<JsonReader> &open) {
  Json::Kind kind = json.raw().kind;
  if (kind == Json::String && json.raw().text == kOpen)
    open.push_back(json);
  if (kind == Json::Object)
    for (auto &[name, member] : json.members())
      if (!json.where().empty() || name != "notes")
        findOpen(member, open);
  if (kind == Json::Array)
    for (const JsonReader &element : json.elements())
      findOpen(element, open);
}

bool LaunchFile::isFilledIn(const JsonReader &json) {
  std::vector<JsonReader> open;
  findOpen(json, open);
  if (open.empty())
    return true;
  std::string others;
  for (size_t k = 1; k < open.size(); ++k)
    others += (k > 1 ? ", " : "") + open[k].where();
  open.front().fail("expected a value in place of \"?\"" +
                    (others.empty() ? "" : ", also at " + others));
  return false;
}

//===----------------------------------------------------------------------===//
// Template
//===----------------------------------------------------------------------===//

namespace {

/// Value in an argument, classified by its use.
struct Value {
  ParameterUse use;
  uint32_t bytes;
  std::string type;  ///< type of a number
  std::string name;  ///< name of a buffer or tensor map
  unsigned rank = 0; ///< rank of a tensor map; 0 if unknown
};

class Template {
public:
  explicit Template(const KernelInfo &kernel) : kernel(kernel) {}
  std::string write();

private:
  const KernelInfo &kernel;
  JsonWriter json;

  std::string nameOf(const ParameterInfo &p) const;
  Value valueOf(const ParameterInfo &p, const ParameterWord &w) const;
  bool isStruct(const ParameterInfo &p) const;
  std::vector<Value> valuesOf(const ParameterInfo &p) const;
  std::string aBuffer() const;
  std::string note(const ParameterInfo &p) const;
  void writeNotes();
  void writeValue(const Value &v);
  void writeArgument(const ParameterInfo &p);
  void writeShape(const char *key, const std::array<uint32_t, 3> &known);
  void writeMemory();
};

} // namespace

/// Returns the name without the prefix that compilers derive from the kernel.
std::string Template::nameOf(const ParameterInfo &p) const {
  std::string prefix = kernel.name + "_";
  return p.name.compare(0, prefix.size(), prefix) == 0 &&
                 p.name.size() > prefix.size()
             ? p.name.substr(prefix.size())
             : p.name;
}

Value Template::valueOf(const ParameterInfo &p, const ParameterWord &w) const {
  std::string type = std::string(w.type);
  // If instructions use the word in packed form or in another width, treat the
  // value as an integer.
  std::string integer = "i" + std::to_string(8 * w.bytes);
  bool isFloat =
      w.use == ParameterUse::Number &&
      ((w.bytes == 2 && (type == "f16" || type == "bf16")) ||
       (w.bytes == 4 && type == "f32") || (w.bytes == 8 && type == "f64"));
  std::string name = nameOf(p);
  if (isStruct(p))
    name += "_at_" + std::to_string(w.offset);
  return {w.use, w.bytes, isFloat ? type : integer, name, w.rank};
}

/// Returns true for a parameter of more than one word.
bool Template::isStruct(const ParameterInfo &p) const {
  return p.use != ParameterUse::TensorMap &&
         (p.type.find('[') != std::string::npos || p.bytes > 8);
}

/// Returns false for a vector wider than 8 bytes, as JSON has no such value.
static bool isValue(const ParameterWord &w) {
  return w.bytes <= 8 || w.use == ParameterUse::TensorMap;
}

std::vector<Value> Template::valuesOf(const ParameterInfo &p) const {
  if (p.use == ParameterUse::TensorMap)
    return {
        {p.use, p.bytes, "", nameOf(p), p.words.empty() ? 0 : p.words[0].rank}};
  std::vector<Value> values;
  for (const ParameterWord &w : p.words)
    if (isValue(w))
      values.push_back(valueOf(p, w));
  if (values.empty() && !isStruct(p))
    values.push_back({ParameterUse::Unknown, p.bytes,
                      "i" + std::to_string(8 * p.bytes), nameOf(p)});
  return values;
}

/// Returns the name of the last buffer passed as an address, because
/// kernels usually write to the last buffer.
std::string Template::aBuffer() const {
  std::string name = "name";
  for (const ParameterInfo &p : kernel.parameters)
    for (const Value &v : valuesOf(p))
      if (v.use == ParameterUse::Address)
        name = v.name;
  return name;
}

static const char *describe(ParameterUse use) {
  switch (use) {
  case ParameterUse::Address:
    return "used as an address";
  case ParameterUse::TensorMap:
    return "a tensor map";
  case ParameterUse::Number:
    return "a number";
  case ParameterUse::Unknown:
    return "an integer, or never used";
  }
  return "";
}

std::string Template::note(const ParameterInfo &p) const {
  std::string s = nameOf(p) + ": ." + p.type + ", " + std::to_string(p.bytes) +
                  (p.bytes == 1 ? " byte" : " bytes") + " at offset " +
                  std::to_string(p.offset) + ", aligned to " +
                  std::to_string(p.align) + "; ";
  if (!isStruct(p))
    return s + describe(valuesOf(p).front().use);
  if (p.words.empty())
    return s + "no field is known: write fields such as {\"offset\": 0, "
               "\"i32\": 1}, {\"offset\": 8, \"buffer\": \"A\"}, ...";
  return s + "contains only the fields that the kernel uses";
}

/// Writes the members of an argument or a field.
void Template::writeValue(const Value &v) {
  switch (v.use) {
  case ParameterUse::Address:
    return json.member("buffer", v.name);
  case ParameterUse::TensorMap:
    return json.member("tensor_map", v.name);
  case ParameterUse::Number:
  case ParameterUse::Unknown:
    return json.member(v.type, kOpen);
  }
}

void Template::writeArgument(const ParameterInfo &p) {
  std::vector<Value> values = valuesOf(p);
  if (!isStruct(p))
    return json.object([&] { writeValue(values.front()); });
  json.beginObject();
  json.object("struct", [&] {
    json.member("size", p.bytes);
    json.member("align", p.align);
    if (values.empty())
      return json.row("fields", std::array<const char *, 1>{kOpen});
    size_t k = 0;
    json.list("fields", p.words, [&](const ParameterWord &w) {
      if (!isValue(w))
        return;
      json.object([&] {
        json.member("offset", w.offset);
        writeValue(values[k++]);
      });
    });
  });
  json.endObject();
}

void Template::writeShape(const char *key,
                          const std::array<uint32_t, 3> &known) {
  if (known[0])
    return json.row(key, known);
  json.key(key);
  json.beginArray();
  json.value(kOpen);
  json.value(1);
  json.value(1);
  json.endArray();
}

/// Writes a buffer for each address and tensor map, then the tensor maps.
void Template::writeMemory() {
  std::vector<Value> maps;
  auto open = [&](const char *key, unsigned count) {
    json.row(key, std::vector<const char *>(count, kOpen));
  };
  json.object("buffers", [&] {
    for (const ParameterInfo &p : kernel.parameters)
      for (const Value &v : valuesOf(p)) {
        bool isMap = v.use == ParameterUse::TensorMap;
        if (isMap)
          maps.push_back(v);
        if (isMap || v.use == ParameterUse::Address)
          json.object(v.name, [&] {
            json.member("bytes", kOpen);
            json.member("fill", "poison");
          });
      }
  });
  if (maps.empty())
    return;
  json.object("tensor_maps", [&] {
    for (const Value &map : maps)
      json.object(map.name, [&] {
        unsigned dims = std::max(map.rank, 1u);
        json.member("buffer", map.name);
        json.member("type", kOpen);
        open("dims", dims);
        // The innermost dimension has no stride entry.
        open("strides", map.rank ? dims - 1 : dims);
        open("box", dims);
        json.member("swizzle", kOpen);
      });
  });
}

void Template::writeNotes() {
  std::vector<std::string> notes = {
      demangled(kernel.name),
      "Put a value in place of each \"?\". A buffer may have {\"file\": "
      "\"a.npy\"} in place of bytes and fill. The uses of parameters are "
      "inferred from the instructions and may be wrong.",
      "outputs: the buffers to write when the run has ended, such as {\"" +
          aBuffer() +
          "\": {\"file\": \"out.npy\", \"dtype\": \"f32\", \"shape\": [128, "
          "32]}}"};
  for (const ParameterInfo &p : kernel.parameters)
    notes.push_back(note(p));
  const auto &most = kernel.maximumBlock;
  if (most[0])
    notes.push_back("block: at most " + std::to_string(most[0]) + "x" +
                    std::to_string(most[1]) + "x" + std::to_string(most[2]) +
                    " (.maxntid)");
  if (kernel.usesDynamicShared)
    notes.push_back("dynamic_smem: the module declares shared memory with a "
                    "size that the launch sets");
  json.list("notes", notes, [&](const std::string &text) { json.value(text); });
}

std::string Template::write() {
  json.beginObject();
  writeNotes();
  json.member("kernel", kernel.name);
  writeShape("grid", {});
  writeShape("block", kernel.requiredBlock);
  if (kernel.requiredCluster[0])
    writeShape("cluster", kernel.requiredCluster);
  if (kernel.usesDynamicShared)
    json.member("dynamic_smem", kOpen);
  writeMemory();
  json.list("args", kernel.parameters,
            [&](const ParameterInfo &p) { writeArgument(p); });
  json.object("outputs", [] {});
  json.endObject();
  return json.text + "\n";
}

std::string mx::sim::launchTemplate(const KernelInfo &kernel) {
  return Template(kernel).write();
}
