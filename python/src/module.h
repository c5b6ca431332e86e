// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include "typed_id.h"

// Each function defines a part of the module graphd._graphd, which only the package's Python code
// uses.

namespace graphd::python {

namespace py = pybind11;

void DefineArrowTable(py::module_& m);      // arrow_table.cc
void DefineBook(py::module_& m);            // book.cc
void DefineCheckpoint(py::module_& m);      // checkpoint.cc
void DefineGraph(py::module_& m);           // graph.cc
void DefineInference(py::module_& m);       // inference.cc
void DefineLocalPartition(py::module_& m);  // local_partition.cc
void DefinePartition(py::module_& m);       // partition.cc
void DefinePartWriter(py::module_& m);      // part_writer.cc
void DefineSamplers(py::module_& m);        // samplers.cc
void DefineTables(py::module_& m);          // tables.cc
void DefineLoaders(py::module_& m);         // loaders.cc
void DefineWalks(py::module_& m);           // walks.cc

}  // namespace graphd::python
