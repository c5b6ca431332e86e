// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd::python {

// Registers the translation of graphd::Error to the exception of graphd.errors for its code.
void TranslateErrors();

}  // namespace graphd::python
