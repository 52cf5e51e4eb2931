// Boost.JSON is used header-only: this unit holds its code.
#include <boost/json/src.hpp>
