// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include "graphd/ids.h"

// Converts ids of types and partitions to Python's int and back.
template <class Kind>
struct pybind11::detail::type_caster<graphd::TypedId<Kind>> {
  PYBIND11_TYPE_CASTER(graphd::TypedId<Kind>, const_name("int"));

  bool load(handle source, bool convert) {
    make_caster<int32_t> number;
    if (!number.load(source, convert)) return false;
    value = cast_op<int32_t>(number);
    return true;
  }
  static handle cast(graphd::TypedId<Kind> id, return_value_policy policy, handle parent) {
    return make_caster<int32_t>::cast(int32_t{id}, policy, parent);
  }
};
