// Renders templates for tests/jinja/oracle.py: each line of stdin is {"template": path,
// "context": {...}, "now": seconds}; each line of stdout {"text": ...} or {"error": ...}.
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "chat/jinja/evaluator.h"
#include "chat/jinja/parser.h"
#include "chat/json_value.h"
#include "maglio/error.h"

namespace {

using maglio::jinja::Dict;
using maglio::jinja::Program;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string answer(const Dict& request, std::map<std::string, Program>& programs) {
  boost::json::object out;
  try {
    const std::string& path = request.find("template")->as_string()->bytes();
    auto known = programs.find(path);
    if (known == programs.end()) {
      known = programs.emplace(path, maglio::jinja::parse(read(path))).first;
    }
    out["text"] =
        maglio::jinja::render(known->second, *request.find("context")->as_dict(),
                              static_cast<std::time_t>(*request.find("now")->as_integer()))
            .bytes();
  } catch (const maglio::Error& error) {
    out["error"] = error.code() + ": " + error.message();
  }
  return boost::json::serialize(out);
}

}  // namespace

int main() {
  std::map<std::string, Program> programs;
  for (std::string line; std::getline(std::cin, line);) {
    const maglio::jinja::Value request = maglio::chat::parse_json(line);
    std::cout << answer(*request.as_dict(), programs) << '\n';
  }
}
