// Whether a text is well-formed XML, of the plain kind that this program writes.
#pragma once

#include <string>
#include <string_view>

namespace maglio::test {

// Empty where every tag is closed in order, attributes are quoted, and no bare & or < is left; else
// what is wrong.
std::string xml_fault(std::string_view text);

}  // namespace maglio::test
