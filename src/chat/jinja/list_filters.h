// Filters that go through the items of a value.
#pragma once

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

Value first_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value last_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value list_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value join_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value items_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value dictsort_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value sort_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value unique_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value reverse_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value map_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value select_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value reject_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value selectattr_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value rejectattr_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value min_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value max_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value sum_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value batch_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value slice_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value groupby_filter(Meter& meter, const Value& value, const Arguments& arguments);
Value attr_filter(Meter& meter, const Value& value, const Arguments& arguments);

}  // namespace maglio::jinja
