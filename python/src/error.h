// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd::python {

// Makes graphd::Error come out as the exception of graphd.errors that its code names.
void TranslateErrors();

}  // namespace graphd::python
