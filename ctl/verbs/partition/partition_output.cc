// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/partition/partition_output.h"

#include <cstdio>

#include "base/strings.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {

void PartitionOutput::AddOptions(CLI::App& verb) {
  verb.add_option(Flags("format"), format_,
                  "native or dgl (files for DGL's load_partition and servers)")
      ->capture_default_str();
  verb.add_option(Flags("edge_orig_id"), edge_orig_id_,
                  "native: yes, or no to leave out the original ids of edges, 4 bytes or more each")
      ->check(CLI::IsMember({"yes", "no"}))
      ->option_text("yes|no [yes]");
  verb.add_option(Flags("store_as"), store_as_,
                  "native: [TYPE/]NAME=DTYPE stores the float32 feature NAME as float16, bfloat16 "
                  "or int8; readers get float32")
      ->option_text("TEXT ...");
  verb.add_option(Flags("num_hops"), num_hops_,
                  "dgl: depth of the halo around each partition; native partitions need none")
      ->capture_default_str();
  verb.add_option(Flags("graph_formats"), graph_formats_,
                  "dgl: matrices to store, any of coo,csc,csr (default: coo)");
}

void PartitionOutput::Apply(PartitionOptions& options) const {
  options.storage = {.edge_orig_id = edge_orig_id_ == "yes", .store_as = store_as_};
  options.dgl = {.num_hops = num_hops_, .formats = DglFormatsFromNames(graph_formats_)};
  if (format_ == "dgl") {
    options.format = PartFormat::kDgl;
    return;
  }
  if (format_ != "native") {
    Throw(ErrorCode::kInvalid, "--format '", format_, "', expected native or dgl");
  }
  options.format = PartFormat::kNative;
  if (num_hops_ < 0) Throw(ErrorCode::kInvalid, "--num_hops ", num_hops_, " is below 0");
  if (num_hops_ != 1) {
    std::fprintf(stderr,
                 "graphctl: --num_hops %d changes nothing: native partitions store no halo nodes, "
                 "as a node's id tells which partition owns it\n",
                 num_hops_);
  }
  if (!graph_formats_.empty()) {
    std::fprintf(stderr,
                 "graphctl: --graph_formats %s changes nothing: native partitions store the "
                 "in-edges of each node and need no other matrix\n",
                 graph_formats_.c_str());
  }
}

}  // namespace graphd::ctl
