// SPDX-License-Identifier: Apache-2.0
#pragma once

// GRAPHD_EXPORT marks what libgraphclient.so exports: the declarations of the public headers, each
// of which opens the namespace as `namespace GRAPHD_EXPORT graphd {`. The library is compiled with
// hidden visibility, so that everything else stays out of its dynamic symbol table.

#if defined(__GNUC__)
#define GRAPHD_EXPORT [[gnu::visibility("default")]]
#else
#define GRAPHD_EXPORT
#endif
