#include "chat/jinja/filters.h"

#include <algorithm>
#include <array>

#include "chat/jinja/list_filters.h"
#include "chat/jinja/text_filters.h"

namespace maglio::jinja {
namespace {

struct Entry {
  std::string_view name;
  Filter filter;
};

constexpr std::array<Entry, 46> kFilters = {{
    {"upper", upper_filter},
    {"lower", lower_filter},
    {"title", title_filter},
    {"capitalize", capitalize_filter},
    {"trim", trim_filter},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"center", center_filter},
    {"wordcount", wordcount_filter},
    {"string", string_filter},
    {"safe", safe_filter},
    {"escape", escape_filter},
    {"e", escape_filter},
    {"format", format_filter},
    {"tojson", tojson_filter},
    {"int", int_filter},
    {"float", float_filter},
    {"abs", abs_filter},
    {"round", round_filter},
    {"default", default_filter},
    {"d", default_filter},
    {"length", length_filter},
    {"count", length_filter},
    {"first", first_filter},
    {"last", last_filter},
    {"list", list_filter},
    {"join", join_filter},
    {"items", items_filter},
    {"dictsort", dictsort_filter},
    {"sort", sort_filter},
    {"unique", unique_filter},
    {"reverse", reverse_filter},
    {"map", map_filter},
    {"select", select_filter},
    {"reject", reject_filter},
    {"selectattr", selectattr_filter},
    {"rejectattr", rejectattr_filter},
    {"min", min_filter},
    {"max", max_filter},
    {"sum", sum_filter},
    {"batch", batch_filter},
    {"slice", slice_filter},
    {"groupby", groupby_filter},
    {"attr", attr_filter},
    {"forceescape", escape_filter},
    {"urlencode", urlencode_filter},
}};

}  // namespace

Filter find_filter(std::string_view name) {
  const auto found = std::find_if(kFilters.begin(), kFilters.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == kFilters.end() ? nullptr : found->filter;
}

}  // namespace maglio::jinja
