// SPDX-License-Identifier: Apache-2.0
#include "format/input/ogb_raw.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/touch.h"

// Reads Open Graph Benchmark's raw layouts, of one node type and of several.

namespace graphd::fuzz {
namespace {

const std::string kRelation = "raw/relations/a___to___b/";

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"raw/num-node-list.csv",
                             "raw/num-edge-list.csv",
                             "raw/edge.csv",
                             "raw/node-feat.csv",
                             "raw/node_year.csv",
                             "raw/edge_reltype.csv",
                             "split/s/train.csv",
                             "split/s/valid.csv",
                             "split/s/test.csv",
                             "raw/num-node-dict.csv",
                             "raw/triplet-list.csv",
                             "raw/nodetype-has-feat.csv",
                             "raw/nodetype-has-label.csv",
                             kRelation + "num-edge-list.csv",
                             kRelation + "edge.csv",
                             kRelation + "edge_reltype.csv",
                             "raw/node-feat/a/node-feat.csv",
                             "raw/node-label/b/node-label.csv",
                             "split/s/nodetype-has-split.csv",
                             "split/s/a/train.csv",
                             "split/s/a/valid.csv",
                             "split/s/a/test.csv"});
  folder.Unpack(input);
  TouchGraph(ReadOgbRaw(folder.path()));
}

std::vector<std::string> Seeds() {
  return {
      Pack({{"raw/num-node-list.csv", "4\n"},
            {"raw/num-edge-list.csv", "3\n"},
            {"raw/edge.csv", "0,1\n1,2\n3,0\n"},
            {"raw/node-feat.csv", "0,1.5\n1,0\n0,nan\n1,1\n"},
            {"raw/node_year.csv", "1999\n2001\n1970\n2024\n"},
            {"raw/edge_reltype.csv", "0\n1\n2\n"},
            {"split/s/train.csv", "3\n0\n"},
            {"split/s/valid.csv", "1\n"},
            {"split/s/test.csv", "2\n"}}),
      Pack({{"raw/num-node-dict.csv", "a,b\n2,3\n"},
            {"raw/triplet-list.csv", "a,to,b\n"},
            {"raw/nodetype-has-feat.csv", "a,b\nTrue,False\n"},
            {"raw/nodetype-has-label.csv", "a,b\nFalse,True\n"},
            {kRelation + "num-edge-list.csv", "2\n"},
            {kRelation + "edge.csv", "0,2\n1,0\n"},
            {kRelation + "edge_reltype.csv", "0\n0\n"},
            {"raw/node-feat/a/node-feat.csv", "1,2\n3,4\n"},
            {"raw/node-label/b/node-label.csv", "0\n1\n0\n"},
            {"split/s/nodetype-has-split.csv", "a,b\nTrue,False\n"},
            {"split/s/a/train.csv", "0\n"},
            {"split/s/a/valid.csv", "1\n"},
            {"split/s/a/test.csv", ""}}),
  };
}

}  // namespace graphd::fuzz
